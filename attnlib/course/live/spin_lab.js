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

/* Cholesky's factor of a matrix, or null where it is not positive definite. */
function cholesky(A) {
  const L = A.map((row) => row.map(() => 0));
  for (let i = 0; i < A.length; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let value = A[i][j];
      for (let k = 0; k < j; k += 1) value -= L[i][k] * L[j][k];
      if (i === j && !(value > 0)) return null;
      L[i][j] = i === j ? Math.sqrt(value) : value / L[j][j];
    }
  }
  return L;
}

function solve(L, b) {
  const x = [...b], n = b.length;
  for (let i = 0; i < n; i += 1) {
    for (let k = 0; k < i; k += 1) x[i] -= L[i][k] * x[k];
    x[i] /= L[i][i];
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < n; k += 1) x[i] -= L[k][i] * x[k];
    x[i] /= L[i][i];
  }
  return x;
}

/* (L L^T)^-1 from the factor: first the inverse of L, then its product with its transpose. */
function inverse(L) {
  const n = L.length, inner = L.map((row) => row.map(() => 0)), out = L.map((row) => row.map(() => 0));
  for (let j = 0; j < n; j += 1) {
    inner[j][j] = 1 / L[j][j];
    for (let i = j + 1; i < n; i += 1) {
      let value = 0;
      for (let k = j; k < i; k += 1) value -= L[i][k] * inner[k][j];
      inner[i][j] = value / L[i][i];
    }
  }
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let value = 0;
      for (let k = i; k < n; k += 1) value += inner[k][i] * inner[k][j];
      out[i][j] = out[j][i] = value;
    }
  }
  return out;
}

/* Smallest and largest eigenvalue of a symmetric matrix: Householder's tridiagonal form, then bisection by sign changes. */
const WORK = Array.from({ length: 7 }, () => new Float64Array(SPINS)), FULL = SITES.map(() => new Float64Array(SPINS));
export function extremes(A) {
  const n = A.length, a = FULL, [v, w, p, diagonal, below, square] = WORK;
  for (let i = 0; i < n; i += 1) for (let j = 0; j < n; j += 1) a[i][j] = A[i][j];
  for (let k = 0; k < n - 2; k += 1) {
    let size = 0;
    for (let i = 0; i < n; i += 1) {
      v[i] = i > k ? a[i][k] : 0;
      size += v[i] * v[i];
    }
    if (size === 0) continue;
    size = Math.sqrt(size);
    v[k + 1] += v[k + 1] < 0 ? -size : size;
    let long = 0, inner = 0;
    for (let i = k + 1; i < n; i += 1) long += v[i] * v[i];
    for (let i = 0; i < n; i += 1) {
      let value = 0;
      for (let j = k + 1; j < n; j += 1) value += a[i][j] * v[j];
      p[i] = (2 / long) * value;
      inner += p[i] * v[i];
    }
    for (let i = 0; i < n; i += 1) w[i] = p[i] - (inner / long) * v[i];
    for (let i = 0; i < n; i += 1) for (let j = 0; j < n; j += 1) a[i][j] -= v[i] * w[j] + w[i] * v[j];
  }
  let least = Infinity, most = -Infinity;
  for (let i = 0; i < n; i += 1) {
    diagonal[i] = a[i][i];
    below[i] = i ? a[i][i - 1] : 0;
    square[i] = below[i] * below[i];
  }
  for (let i = 0; i < n; i += 1) {
    const radius = Math.abs(below[i]) + (i + 1 < n ? Math.abs(below[i + 1]) : 0);
    least = Math.min(least, diagonal[i] - radius);
    most = Math.max(most, diagonal[i] + radius);
  }
  const smaller = (x) => { // how many eigenvalues lie below x
    let count = 0, q = 1;
    for (let i = 0; i < n; i += 1) {
      q = diagonal[i] - x - (i ? square[i] / (q || EPS) : 0);
      if (q < 0) count += 1;
    }
    return count;
  };
  const find = (wanted) => {
    let low = least, high = most;
    for (let step = 0; step < 60 && high - low > 1e-15 * (Math.abs(low) + Math.abs(high)); step += 1) {
      const middle = (low + high) / 2;
      if (smaller(middle) >= wanted) high = middle;
      else low = middle;
    }
    return (low + high) / 2;
  };
  return [find(1), find(n)];
}

/* The reaction of adaptive TAP: V for which (V + 1/c - J)^-1 has c on its diagonal, by damped Newton steps. */
function match(J, c, start, safe) {
  let V = start;
  for (let step = 0; step < 60; step += 1) {
    const L = cholesky(matrix((i, j) => (i === j ? V[i] + 1 / c[i] : 0) - J[i][j]));
    if (!L) {
      V = safe;
      continue;
    }
    const chi = inverse(L), slope = SITES.map((i) => chi[i][i] - c[i]);
    const curvature = cholesky(matrix((i, j) => chi[i][j] ** 2));
    if (!curvature) {
      V = safe;
      continue;
    }
    const move = solve(curvature, slope), decrement = Math.sqrt(Math.max(0, dot(slope, move)));
    const length = decrement < 0.25 ? 1 : 1 / (1 + decrement);
    V = V.map((value, i) => value + length * move[i]);
    if (Math.max(...slope.map((value, i) => Math.abs(value) / c[i])) <= Math.sqrt(EPS)) break;
  }
  return V;
}

const variance = (field) => {
  const decay = Math.exp(-2 * Math.abs(field));
  return (4 * decay) / (1 + decay) ** 2;
};

/* The largest magnetisation and the largest local variance of a state. */
const sizes = (state) => [state.slice(0, SPINS), state.slice(SPINS)].map((part) => Math.max(0, ...part.map(Math.abs)));

/* One theory, solved: m = tanh(J m + h - V m) by steps that stay below the bound of stability, until each part of the state
   moves by less than the tolerance, relative to itself or to the spins alone in their fields, where that is larger. */
export function theory(name, J, h) {
  const squares = J.map((row) => row.map((value) => value ** 2));
  const safe = J.map((row) => sum(row.map(Math.abs)));
  let m = h.map(Math.tanh), c = h.map(variance), warm = safe, best = null;
  const alone = sizes([...m, ...c]).map((value) => value || 1);

  /* V and the field of each spin. */
  const local = () => {
    const free = m.map((value) => 1 - value ** 2);
    const V = name === "naive" ? m.map(() => 0)
      : name === "tap" ? squares.map((row) => dot(row, free)) : (warm = match(J, c, warm, safe));
    return { V, field: SITES.map((i) => dot(J[i], m) + h[i] - V[i] * m[i]) };
  };

  /* D^(1/2) (Lambda - J) D^(1/2), with what moves V in TAP. */
  const stiffness = ({ V, field }) => {
    const root = field.map((value) => Math.sqrt(variance(value)));
    return matrix((i, j) => {
      const moved = name === "tap" ? -2 * squares[i][j] * m[i] * m[j] : 0;
      return Number(i === j) + root[i] * root[j] * ((i === j ? V[i] : 0) + moved - J[i][j]);
    });
  };

  for (let step = 0; step < MOST_STEPS; step += 1) {
    const now = local(), state = name === "adaptive" ? [...m, ...c] : m;
    const image = now.field.map(Math.tanh).concat(name === "adaptive" ? now.field.map(variance) : []);
    const error = image.map((value, i) => value - state[i]), left = sizes(error), size = sizes(state);
    if (left.every((value, part) => value <= TOLERANCE * Math.max(alone[part], size[part]))) {
      best = now;
      break;
    }
    const [least, most] = extremes(stiffness(now)), top = Math.max(most, 1e-3);
    const length = Math.min(1, 2 / (top + Math.max(least, 0, 0.1 * top)));
    m = m.map((value, i) => value + length * error[i]);
    if (name === "adaptive") c = c.map((value, i) => value + length * error[SPINS + i]);
  }
  if (!best) return { m: [], V: -1, stability: -1 };
  return { m, V: sum(best.V) / SPINS, stability: extremes(stiffness(best))[0] };
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
  if (name === "adaptive") return kit.svg("circle", { class: kind, cx: x, cy: y, r: size + 0.5 });
  const square = `M${x - size} ${y - size}h${side}v${side}h${-side}z`;
  const tip = `M${x} ${y - size}l${size} ${0.9 * side}h${-side}z`;
  return kit.svg("path", { class: kind, d: name === "tap" ? square : tip });
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
    const sign = () => kit.svg("svg", { "aria-hidden": "true", class: name }, mark(name, 6.5, 6.5));
    if (THEORIES[name]) rows[name].element.firstChild.prepend(sign());
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

  const text = (kind, x, y, words, anchor = "middle") => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const rect = (kind, x, y, width, height) => kit.svg("rect", { class: kind, x, y, width, height });

  function column(i, now) {
    const { toX, toY } = frame, x = toX(i + 1), wide = toX(2) - toX(1), bar = 0.72 * wide, m = readout.exact[i];
    const middle = LANE + PLOT.lane / 2, end = middle - (now.fields[i] / MOST_FIELD) * (PLOT.lane / 2);
    columns[i].style = `left: ${x - wide / 2}px; top: ${LANE}px; width: ${wide}px; height: ${PLOT.lane}px`;
    columns[i].setAttribute("aria-valuenow", now.fields[i].toFixed(2));
    columns[i].setAttribute("aria-valuetext", `${kit.numeral(now.fields[i])}, exact magnetisation ${kit.numeral(m)}`);
    return [
      rect("exact", x - bar / 2, Math.min(toY(m), toY(0)), bar, Math.abs(toY(m) - toY(0))),
      ...names.flatMap((name, k) => readout[name].slice(i, i + 1).map((value) =>
        mark(name, x + (k - 1) * Math.min(0.28 * wide, 12), toY(value), Math.min(5, 0.15 * wide)))),
      text("", x, PLOT.top + PLOT.height + 16, String(i + 1)),
      rect("lane", x - bar / 2, LANE, bar, PLOT.lane),
      kit.svg("line", { class: "field", x1: x, x2: x, y1: middle, y2: end }),
      kit.svg("circle", { class: "knob", cx: x, cy: end, r: Math.min(7, bar / 2) }),
    ];
  }

  /* Spins on a circle: lines for the couplings, wider for stronger ones; filled to the height of the mean. Lines and circles stay
     while couplings and width do. */
  let [woven, halves] = ["", []];
  function draw_web(now, wide) {
    const way = SITES.map((i) => [Math.sin((2 * Math.PI * i) / SPINS), -Math.cos((2 * Math.PI * i) / SPINS)]);
    const place = (i, radius) => [wide / 2 + radius * way[i][0], CIRCLE / 2 + radius * way[i][1]];
    const at = SITES.map((i) => place(i, CIRCLE / 2 - 24)), key = `${now.kind} ${now.seed} ${wide}`;
    if (key !== woven) {
      woven = key;
      const J = couplings(now.kind, now.seed);
      const lines = SITES.flatMap((i) => SITES.slice(i + 1).filter((j) => J[i][j]).map((j) => kit.svg("line", {
        class: J[i][j] > 0 ? "agree" : "differ", "stroke-width": 5 * Math.abs(J[i][j]),
        x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1], opacity: 0.75,
      })));
      halves = SITES.map(() => kit.svg("path", { class: "half" }));
      web.replaceChildren(...lines, ...at.flatMap(([x, y], i) => {
        const number = place(i, CIRCLE / 2 - 7);
        return [kit.svg("circle", { cx: x, cy: y, r: 9, class: "spin", fill: "var(--ground)" }), halves[i], text("", number[0], number[1] + 4, String(i + 1))];
      }));
    }
    at.forEach(([x, y], i) => {
      const angle = Math.PI * (readout.exact[i] + 1) / 2, [dx, dy] = [9 * Math.sin(angle), 9 * Math.cos(angle)];
      halves[i].setAttribute("d", `M${x - dx} ${y + dy}A9 9 0 ${Number(dy < 0)} 0 ${x + dx} ${y + dy}z`);
    });
  }

  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving }, width = plots.clientWidth, wide = web.clientWidth;
    readout = measure(now);
    if (width > 0) {
      frame = kit.plot({
        left: PLOT.left, top: PLOT.top, width: width - PLOT.left - PLOT.right, height: PLOT.height, title: "magnetisation",
        x: { from: 0.5, to: SPINS + 0.5, ticks: [] }, y: { from: -1, to: 1, ticks: [-1, -0.5, 0, 0.5, 1] },
      });
      picture.replaceChildren(
        ...frame.axes(),
        text("name", 0, LANE - 10, "field", "start"),
        ...[MOST_FIELD, 0, -MOST_FIELD].map((value, i) =>
          text("", PLOT.left - 5, LANE + 4 + (i * PLOT.lane) / 2, kit.numeral(value, value ? 1 : 0), "end")),
        ...SITES.flatMap((i) => column(i, now)),
      );
      draw_web(now, wide);
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
