/* The spin lab: ten spins with exp(g sum J s s + sum h s), summed over 1024 states, and three mean-field theories. */

const { SPINS, MOST_STRENGTH, MOST_FIELD, MOST_STEPS, KINDS, THEORIES, TOLERANCE } = kit.constants;
const EPS = 2 ** -52, SITES = Array.from({ length: SPINS }, (_, i) => i);
const sum = (list) => list.reduce((total, value) => total + value, 0);

function dot(one, two) {
  let total = 0;
  for (let i = 0; i < one.length; i += 1) total += one[i] * two[i];
  return total;
}

function matrix(entry) {
  const rows = [];
  for (let i = 0; i < SPINS; i += 1) {
    const row = [];
    for (let j = 0; j < SPINS; j += 1) row.push(entry(i, j));
    rows.push(row);
  }
  return rows;
}

/* Couplings of a kind at strength 1. */
export function couplings(kind, seed) {
  const { normal } = kit.generator(seed), J = matrix(() => 0);
  for (const i of SITES) {
    for (let j = i + 1; j < SPINS; j += 1) {
      const near = j === i + 1 || j === i + SPINS - 1;
      const one = { glass: () => normal() / Math.sqrt(SPINS), friends: () => 1 / (SPINS - 1), rivals: () => -1 / 3 };
      J[i][j] = J[j][i] = kind === "ring" ? 0.7 * near : one[kind]();
    }
  }
  return J;
}

/* Exact magnetisations. Each state differs from the one before in one spin: its exponent changes by twice that spin's field, and
   the sum of weights with a spin up is what tells its mean. */
const exponents = new Float64Array(2 ** SPINS);
export function enumerate(J, h) {
  const s = SITES.map(() => -1), felt = SITES.map((i) => h[i] - sum(J[i]));
  let exponent = sum(SITES.map((i) => s[i] * (felt[i] + h[i]))) / 2, top = -Infinity;
  for (let state = 0; state < 2 ** SPINS; state += 1) {
    exponents[state] = exponent;
    if (exponent > top) top = exponent;
    const turn = 31 - Math.clz32((state + 1) & -(state + 1));
    if (turn >= SPINS) break;
    exponent -= 2 * s[turn] * felt[turn];
    s[turn] *= -1;
    for (let j = 0; j < SPINS; j += 1) felt[j] += 2 * s[turn] * J[j][turn];
  }
  const m = new Float64Array(SPINS);
  let total = 0;
  for (let state = 0; state < 2 ** SPINS; state += 1) {
    const weight = Math.exp(exponents[state] - top), up = state ^ (state >> 1); // Gray's code: the spins that are up
    total += weight;
    for (let i = 0; i < SPINS; i += 1) m[i] += (up >> i) & 1 ? weight : -weight;
  }
  return Array.from(m, (value) => value / total);
}

// What the theories work with, row by row; a step makes nothing anew.
const list = () => new Float64Array(SPINS), table = () => SITES.map(list);
const [FULL, FORM, FACTOR, INNER, CHI] = Array.from({ length: 5 }, table);
const [v, w, p, diagonal, below, squared, slope, move] = Array.from({ length: 8 }, list);

/* Cholesky's factor of a matrix, into L; says whether it is positive definite. */
function cholesky(A, L) {
  for (let i = 0; i < SPINS; i += 1) {
    const row = L[i];
    for (let j = 0; j <= i; j += 1) {
      const other = L[j];
      let value = A[i][j];
      for (let k = 0; k < j; k += 1) value -= row[k] * other[k];
      if (i === j && !(value > 0)) return false;
      row[j] = i === j ? Math.sqrt(value) : value / other[j];
    }
  }
  return true;
}

/* L L^T x = b, into x. */
function solve(L, b, x) {
  for (let i = 0; i < SPINS; i += 1) {
    x[i] = b[i];
    for (let k = 0; k < i; k += 1) x[i] -= L[i][k] * x[k];
    x[i] /= L[i][i];
  }
  for (let i = SPINS - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < SPINS; k += 1) x[i] -= L[k][i] * x[k];
    x[i] /= L[i][i];
  }
}

/* (L L^T)^-1 from the factor, into `out`: first the inverse of L, column by column, then its product with its transpose. */
function inverse(L, out) {
  for (let j = 0; j < SPINS; j += 1) {
    const column = INNER[j];
    column[j] = 1 / L[j][j];
    for (let i = j + 1; i < SPINS; i += 1) {
      const row = L[i];
      let value = 0;
      for (let k = j; k < i; k += 1) value -= row[k] * column[k];
      column[i] = value / row[i];
    }
  }
  for (let i = 0; i < SPINS; i += 1) {
    const one = INNER[i];
    for (let j = 0; j <= i; j += 1) {
      const other = INNER[j];
      let value = 0;
      for (let k = i; k < SPINS; k += 1) value += one[k] * other[k];
      out[i][j] = out[j][i] = value;
    }
  }
}

/* How many eigenvalues of the tridiagonal form lie below x. */
function smaller(x) {
  let count = 0, q = 1;
  for (let i = 0; i < SPINS; i += 1) {
    q = diagonal[i] - x - (i ? squared[i] / (q || EPS) : 0);
    if (q < 0) count += 1;
  }
  return count;
}

/* The eigenvalue of this place from below, between two bounds. */
function find(wanted, low, high) {
  for (let step = 0; step < 60 && high - low > 1e-15 * (Math.abs(low) + Math.abs(high)); step += 1) {
    const middle = (low + high) / 2;
    if (smaller(middle) >= wanted) high = middle;
    else low = middle;
  }
  return (low + high) / 2;
}

/* Smallest and largest eigenvalue of a symmetric matrix: Householder's tridiagonal form, then bisection by sign changes. */
export function extremes(A) {
  const n = SPINS, a = FULL;
  for (let i = 0; i < n; i += 1) for (let j = 0; j < n; j += 1) a[i][j] = A[i][j];
  for (let k = 0; k < n - 2; k += 1) {
    let size = 0;
    for (let i = k; i < n; i += 1) {
      v[i] = i > k ? a[i][k] : 0;
      size += v[i] * v[i];
    }
    if (size === 0) continue;
    size = Math.sqrt(size);
    v[k + 1] += v[k + 1] < 0 ? -size : size;
    let long = 0, inner = 0;
    for (let i = k + 1; i < n; i += 1) long += v[i] * v[i];
    for (let i = k; i < n; i += 1) {
      const row = a[i];
      let value = 0;
      for (let j = k + 1; j < n; j += 1) value += row[j] * v[j];
      p[i] = (2 / long) * value;
      inner += p[i] * v[i];
    }
    for (let i = k; i < n; i += 1) w[i] = p[i] - (inner / long) * v[i];
    for (let i = k; i < n; i += 1) {
      const row = a[i], [one, other] = [v[i], w[i]];
      for (let j = k; j < n; j += 1) row[j] -= one * w[j] + other * v[j];
    }
  }
  let least = Infinity, most = -Infinity;
  for (let i = 0; i < n; i += 1) {
    diagonal[i] = a[i][i];
    below[i] = i ? a[i][i - 1] : 0;
    squared[i] = below[i] * below[i];
  }
  for (let i = 0; i < n; i += 1) {
    const radius = Math.abs(below[i]) + (i + 1 < n ? Math.abs(below[i + 1]) : 0);
    least = Math.min(least, diagonal[i] - radius);
    most = Math.max(most, diagonal[i] + radius);
  }
  return [find(1, least, most), find(n, least, most)];
}

/* The reaction of adaptive TAP: V for which (V + 1/c - J)^-1 has c on its diagonal, by damped Newton steps from the V given, which
   it changes. */
function match(J, c, V, safe) {
  for (let step = 0; step < 60; step += 1) {
    for (let i = 0; i < SPINS; i += 1) {
      for (let j = 0; j < i; j += 1) FORM[i][j] = -J[i][j];
      FORM[i][i] = V[i] + 1 / c[i];
    }
    let found = cholesky(FORM, FACTOR);
    if (found) {
      inverse(FACTOR, CHI);
      for (let i = 0; i < SPINS; i += 1) {
        slope[i] = CHI[i][i] - c[i];
        for (let j = 0; j <= i; j += 1) FORM[i][j] = CHI[i][j] * CHI[i][j];
      }
      found = cholesky(FORM, FACTOR);
    }
    if (!found) {
      V.set(safe);
      continue;
    }
    solve(FACTOR, slope, move);
    const decrement = Math.sqrt(Math.max(0, dot(slope, move))), length = decrement < 0.25 ? 1 : 1 / (1 + decrement);
    let off = 0;
    for (let i = 0; i < SPINS; i += 1) {
      V[i] += length * move[i];
      off = Math.max(off, Math.abs(slope[i]) / c[i]);
    }
    if (off <= Math.sqrt(EPS)) break;
  }
}

function variance(field) {
  const decay = Math.exp(-2 * Math.abs(field));
  return (4 * decay) / (1 + decay) ** 2;
}

function largest(values) {
  let top = 0;
  for (let i = 0; i < values.length; i += 1) top = Math.max(top, Math.abs(values[i]));
  return top;
}

/* One theory, solved: m = tanh(J m + h - V m) by steps that stay below the bound of stability, until each part of the state,
   magnetisations and with adaptive TAP local variances, moves by less than the tolerance, relative to itself or to the spins alone
   in their fields, where that is larger. */
export function theory(name, given, h) {
  const [tap, adaptive] = [name === "tap", name === "adaptive"];
  const J = given.map((row) => Float64Array.from(row)), squares = J.map((row) => row.map((value) => value * value));
  const safe = Float64Array.from(J, (row) => sum(row.map(Math.abs)));
  const m = Float64Array.from(h, Math.tanh), c = Float64Array.from(h, variance), V = adaptive ? safe.slice() : list();
  const [free, field, root, error, shift] = Array.from({ length: 5 }, list), alone = [largest(m) || 1, largest(c) || 1];

  /* V and the field of each spin, and by how much the state is off. */
  const look = () => {
    if (tap) {
      for (let i = 0; i < SPINS; i += 1) free[i] = 1 - m[i] * m[i];
      for (let i = 0; i < SPINS; i += 1) V[i] = dot(squares[i], free);
    }
    if (adaptive) match(J, c, V, safe);
    for (let i = 0; i < SPINS; i += 1) {
      field[i] = dot(J[i], m) + h[i] - V[i] * m[i];
      error[i] = Math.tanh(field[i]) - m[i];
      shift[i] = variance(field[i]) - c[i];
    }
  };

  /* The ends of D^(1/2) (Lambda - J) D^(1/2), with what moves V in TAP. */
  const stiffness = () => {
    for (let i = 0; i < SPINS; i += 1) root[i] = Math.sqrt(variance(field[i]));
    for (let i = 0; i < SPINS; i += 1) {
      for (let j = 0; j < SPINS; j += 1) {
        const moved = tap ? -2 * squares[i][j] * m[i] * m[j] : 0;
        FORM[i][j] = Number(i === j) + root[i] * root[j] * ((i === j ? V[i] : 0) + moved - J[i][j]);
      }
    }
    return extremes(FORM);
  };

  for (let step = 0; step < MOST_STEPS; step += 1) {
    look();
    const settled = largest(error) <= TOLERANCE * Math.max(alone[0], largest(m));
    if (settled && (!adaptive || largest(shift) <= TOLERANCE * Math.max(alone[1], largest(c)))) {
      return { m: [...m], V: sum(V) / SPINS, stability: stiffness()[0] };
    }
    const [least, most] = stiffness(), top = Math.max(most, 1e-3), length = Math.min(1, 2 / (top + Math.max(least, 0, 0.1 * top)));
    for (let i = 0; i < SPINS; i += 1) {
      m[i] += length * error[i];
      c[i] += adaptive ? length * shift[i] : 0;
    }
  }
  return { m: [], V: -1, stability: -1 };
}

/* The share of triangles whose couplings cannot all be satisfied. */
function frustrated(J) {
  let [all, bad] = [0, 0];
  for (const i of SITES) for (let j = i + 1; j < SPINS; j += 1) for (let k = j + 1; k < SPINS; k += 1) {
    const loop = J[i][j] * J[j][k] * J[k][i];
    all += Number(loop !== 0);
    bad += Number(loop < 0);
  }
  return all ? bad / all : 0;
}

/* Every number that the figure shows. */
export function measure({ strength, kind, seed, fields }) {
  const plain = couplings(kind, seed), J = plain.map((row) => row.map((value) => strength * value));
  const exact = enumerate(J, fields), free = exact.map((m) => 1 - m ** 2);
  const found = Object.fromEntries(Object.keys(THEORIES).map((name) => [name, theory(name, J, fields)]));
  const all = Object.values(found);
  const error = ({ m }) => (m.length ? Math.sqrt(sum(m.map((value, i) => (value - exact[i]) ** 2)) / SPINS) : -1);
  return {
    exact,
    naive: found.naive.m,
    tap: found.tap.m,
    adaptive: found.adaptive.m,
    errors: all.map(error),
    reactions: all.map(({ V }) => V),
    stability: all.map(({ stability }) => stability),
    line: 1 - extremes(matrix((i, j) => free[i] * J[i][j] ** 2 * free[j]))[1],
    frustrated: frustrated(plain),
  };
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Find couplings for which TAP errs more than no correction at all.", (_, { errors }) => errors[0] >= 0 && errors[1] > errors[0]],
  [
    "Make all three theories wrong by 0.3 or more, where no triangle is frustrated.",
    (_, { errors, frustrated: share }) => share === 0 && errors.every((error) => error >= 0.3),
  ],
];

const PLOT = { left: 34, right: 2, top: 26, height: 210, gap: 46, lane: 84, bottom: 20 };
const LANE = PLOT.top + PLOT.height + PLOT.gap;
const HEIGHT = LANE + PLOT.lane + PLOT.bottom;
const CIRCLE = 210;

const STYLE = `
.exact { fill: color-mix(in srgb, var(--ink) 26%, transparent); }
.naive { --key: var(--b); }
.tap { --key: var(--a); }
.adaptive { --key: var(--c); }
.theory { fill: var(--key); stroke: var(--ground); }
.near .phase::before { background: var(--c); }
.lane { fill: var(--field); }
.field { stroke: var(--ink); stroke-width: 4; }
.knob { fill: var(--ink); stroke: var(--ground); stroke-width: 2; }
.handle { border-radius: 6px; cursor: ns-resize; position: absolute; touch-action: none; }
.handle:hover { background: color-mix(in srgb, var(--accent) 10%, transparent); }
.handle:focus-visible { outline-offset: -2px; }
.agree { stroke: var(--a); }
.differ { stroke: var(--b); stroke-dasharray: 5 3; }
.spin { stroke: var(--ink); stroke-width: 1.5; }
.half { fill: var(--ink); }
dt svg { display: inline-block; height: 13px; margin-right: 6px; vertical-align: -2px; width: 13px; }
dl { margin-top: 8px; }
`;

const NAMES = ["strength", "kind", "seed", "fields"];

/* The mark of a theory: a triangle, a square, a dot. */
function mark(name, x, y, size = 5) {
  const kind = `theory ${name}`, side = 2 * size;
  if (name === "adaptive") return kit.shape("circle", { class: kind, cx: x, cy: y, r: size + 0.5 });
  const box = `M${x - size} ${y - size}h${side}v${side}h${-side}z`;
  const tip = `M${x} ${y - size}l${size} ${0.9 * side}h${-side}z`;
  return kit.shape("path", { class: kind, d: name === "tap" ? box : tip });
}

function render({ model, el }) {
  const ground = kit.card(el, "Spin lab", STYLE), initial = kit.read(model, NAMES);
  let [readout, frame] = [null, null];
  const change = (changes) => kit.store(model, changes), tasks = kit.challenges(CHALLENGES);

  const phase = kit.html("span", { class: "phase" });
  const picture = kit.svg("svg", { height: HEIGHT, role: "img" });
  const handles = kit.html("div", { role: "group", "aria-label": "Fields. Up and down change a field, with shift further" });
  const plots = kit.html("div", { class: "picture" }, picture, handles);
  const web = kit.svg("svg", { height: CIRCLE, role: "img", width: "100%" });
  const names = Object.keys(THEORIES), rows = { ...THEORIES, line: "Distance to the line", frustrated: "Frustrated triangles" };
  for (const [name, words] of Object.entries(rows)) {
    rows[name] = kit.reading(words);
    if (!THEORIES[name]) continue;
    const sign = kit.svg("svg", { "aria-hidden": "true", class: name });
    kit.fill(sign, [mark(name, 6.5, 6.5)]);
    rows[name].element.firstChild.prepend(sign);
  }
  const side = kit.html("div", {}, web, kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element)));
  const strength = kit.slider({
    label: "Strength g of the couplings", min: 0, max: MOST_STRENGTH, step: 0.01, format: (value) => value.toFixed(2),
    change: (value) => change({ strength: value }),
  });
  const kind = kit.choice({ label: "Couplings", change: (value) => change({ kind: value }) });
  const another = kit.button("Another glass", () => change({ kind: "glass", seed: model.get("seed") + 1 }));
  ground.head.append(phase);
  ground.body.append(kit.layout(plots, [
    kit.html("div", { class: "row" }, strength.element, kind.element),
    kit.html("div", { class: "row" }, another,
      kit.button("Turn the fields", () => change({ fields: model.get("fields").map((field) => -field || 0) })),
      kit.button("One field", () => change({ fields: SITES.map((i) => (i ? 0 : 0.3)) })),
      kit.button("Reset", () => change(initial)),
      kit.html("span", { class: "quiet" }, "Drag a field, or use the arrow keys.")),
  ], side, "1.7fr"), tasks.element);

  function put(index, value) {
    const field = Math.round(100 * Math.max(-MOST_FIELD, Math.min(MOST_FIELD, value))) / 100;
    change({ fields: model.get("fields").map((one, i) => (i === index ? field : one)) });
  }

  const columns = SITES.map((i) => kit.html("div", {
    class: "handle", role: "slider", tabindex: 0, "aria-label": `field of spin ${i + 1}`, "aria-orientation": "vertical",
    "aria-valuemin": -MOST_FIELD, "aria-valuemax": MOST_FIELD,
  }));
  handles.append(...columns);
  const find = (element) => {
    const index = columns.indexOf(element);
    return index < 0 ? null : index;
  };
  const level = (event) => {
    const y = event.clientY - picture.getBoundingClientRect().top - LANE;
    return MOST_FIELD * (1 - (2 * y) / PLOT.lane);
  };
  kit.drag(handles, {
    find,
    take(event) {
      const index = find(event.target);
      if (index === null) return null;
      event.target.focus({ preventScroll: true });
      put(index, level(event));
      return index;
    },
    move: (index, event) => put(index, level(event)),
    push: (index, [right, up]) => put(index, model.get("fields")[index] + 0.05 * (right + up)),
  });

  // What the figure shows

  const text = (kind, x, y, words, anchor = "middle") => kit.shape("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const rect = (kind, x, y, width, height) => kit.shape("rect", { class: kind, x, y, width, height });

  function column(i, now) {
    const { toX, toY } = frame, x = toX(i + 1), wide = toX(2) - toX(1), bar = 0.72 * wide, m = readout.exact[i];
    const middle = LANE + PLOT.lane / 2, end = middle - (now.fields[i] / MOST_FIELD) * (PLOT.lane / 2);
    const style = `left: ${x - wide / 2}px; top: ${LANE}px; width: ${wide}px; height: ${PLOT.lane}px`;
    if (columns[i].getAttribute("style") !== style) columns[i].setAttribute("style", style);
    columns[i].setAttribute("aria-valuenow", now.fields[i].toFixed(2));
    columns[i].setAttribute("aria-valuetext", `${kit.numeral(now.fields[i])}, exact magnetisation ${kit.numeral(m)}`);
    return [
      rect("exact", x - bar / 2, Math.min(toY(m), toY(0)), bar, Math.abs(toY(m) - toY(0))),
      kit.shape("g", {}, ...names.flatMap((name, k) => readout[name].slice(i, i + 1).map((value) =>
        mark(name, x + (k - 1) * Math.min(0.28 * wide, 12), toY(value), Math.min(5, 0.15 * wide))))),
      text("", x, PLOT.top + PLOT.height + 16, String(i + 1)),
      rect("lane", x - bar / 2, LANE, bar, PLOT.lane),
      kit.shape("line", { class: "field", x1: x, x2: x, y1: middle, y2: end }),
      kit.shape("circle", { class: "knob", cx: x, cy: end, r: Math.min(7, bar / 2) }),
    ];
  }

  /* Spins on a circle: lines for the couplings, wider for stronger ones; filled to the height of the mean. */
  function web_of(now, wide) {
    const way = SITES.map((i) => [Math.sin((2 * Math.PI * i) / SPINS), -Math.cos((2 * Math.PI * i) / SPINS)]);
    const place = (i, radius) => [wide / 2 + radius * way[i][0], CIRCLE / 2 + radius * way[i][1]];
    const at = SITES.map((i) => place(i, CIRCLE / 2 - 24)), J = couplings(now.kind, now.seed);
    const lines = SITES.flatMap((i) => SITES.slice(i + 1).filter((j) => J[i][j]).map((j) => kit.shape("line", {
      class: J[i][j] > 0 ? "agree" : "differ", "stroke-width": 5 * Math.abs(J[i][j]),
      x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1], opacity: 0.75,
    })));
    return [kit.shape("g", {}, ...lines), ...at.flatMap(([x, y], i) => {
      const angle = Math.PI * (readout.exact[i] + 1) / 2, [dx, dy] = [9 * Math.sin(angle), 9 * Math.cos(angle)], number = place(i, CIRCLE / 2 - 7);
      return [
        kit.shape("circle", { cx: x, cy: y, r: 9, class: "spin", fill: "var(--ground)" }),
        kit.shape("path", { class: "half", d: `M${x - dx} ${y + dy}A9 9 0 ${Number(dy < 0)} 0 ${x + dx} ${y + dy}z` }),
        text("", number[0], number[1] + 4, String(i + 1)),
      ];
    })];
  }

  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving }, width = plots.clientWidth, wide = web.clientWidth;
    readout = measure(now);
    if (width > 0) {
      frame = kit.plot({
        make: kit.shape, left: PLOT.left, top: PLOT.top, width: width - PLOT.left - PLOT.right, height: PLOT.height, title: "magnetisation",
        x: { from: 0.5, to: SPINS + 0.5, ticks: [] }, y: { from: -1, to: 1, ticks: [-1, -0.5, 0, 0.5, 1] },
      });
      kit.fill(picture, [
        ...frame.axes(),
        text("name", 0, LANE - 10, "field", "start"),
        ...[MOST_FIELD, 0, -MOST_FIELD].map((value, i) =>
          text("", PLOT.left - 5, LANE + 4 + (i * PLOT.lane) / 2, kit.numeral(value, value ? 1 : 0), "end")),
        ...SITES.flatMap((i) => column(i, now)),
      ]);
      kit.fill(web, web_of(now, wide));
    }
    tell(now);
    tasks.judge(now, readout);
  }

  function tell(now) {
    const { errors, reactions, stability, line } = readout, digits = (value) => kit.numeral(value, 3);
    const near = errors[2] >= 0 && errors[2] < 0.05, glass = now.kind === "glass";
    phase.textContent = near ? "adaptive TAP holds" : errors[2] < 0 ? "no solution found" : "adaptive TAP is lost";
    ground.body.classList.toggle("near", near);
    names.forEach((name, k) => {
      const gone = errors[k] < 0, top = stability[k] <= 0 ? "; it rests on a hilltop" : "";
      const why = `error; ${k ? `mean reaction V ${kit.numeral(reactions[k])}` : "no reaction"}${top}`;
      rows[name].set(gone ? "none" : digits(errors[k]), gone ? `did not converge in ${MOST_STEPS} steps` : why);
    });
    const side = line > 0 ? "above 0: one valley" : "below 0: many valleys";
    rows.line.set(glass ? kit.numeral(line) : "none", glass ? `of de Almeida and Thouless, ${side}` : "it is for glasses only");
    rows.frustrated.set(`${Math.round(100 * readout.frustrated)} %`, "blue: wants to agree; orange, dashed: to differ");
    const said = errors.map((error) => (error < 0 ? "did not converge" : digits(error)));
    const far = names.map((name, k) => `${THEORIES[name]} ${said[k]}`).join(", ");
    picture.setAttribute("aria-label", `Exact magnetisations of ten spins as bars, three theories as marks. Errors: ${far}`);
    web.setAttribute("aria-label", `Couplings between ten spins on a circle: ${KINDS[now.kind]}`);
    ground.say(`Strength ${now.strength.toFixed(2)}. Errors: ${far}.`);
    strength.set(now.strength);
    kind.set(now.kind, Object.entries(KINDS));
  }

  const { close } = kit.run({
    model, el, ground, names: NAMES, draw, watch: [plots, web], arrive: { strength: 0 }, readout: () => readout, solved: tasks.solved,
  });
  return close;
}

export default { render };
