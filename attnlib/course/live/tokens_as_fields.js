/* Tokens as fields: three fields in a plane, and the responses of three vector spins, with both of their terms. */

const { TOKENS, COMPONENTS, EDGE, MOST_STRENGTH, LEAST_BETA, MOST_BETA, COUPLINGS } = kit.constants;
const SITES = Array.from({ length: TOKENS }, (_, i) => i);
const LENGTH = Math.sqrt(COMPONENTS), ROOT = Math.sqrt(COMPONENTS);
const sum = (list) => list.reduce((total, value) => total + value, 0);
const dot = (one, two) => sum(one.map((value, i) => value * two[i]));
const matrix = (entry) => SITES.map((i) => SITES.map((j) => entry(i, j)));
const times = (A, rows) => A.map((row) => rows[0].map((_, a) => sum(row.map((value, j) => value * rows[j][a]))));

/* Couplings, and the weights W of the second term, given what pairs of spins do. */
export function coupled({ tokens: h, couplings, strength: g }) {
  const scores = matrix((i, j) => dot(h[i], h[j]) / ROOT), scale = g / Math.sqrt(TOKENS);
  if (couplings === "fixed") return { J: matrix((i, j) => (i === j ? 0 : scale)), weights: () => matrix(() => 0) };
  if (couplings === "tanh") {
    const J = matrix((i, j) => (i === j ? 0 : scale * Math.tanh(scores[i][j])));
    const slope = matrix((i, j) => (i === j ? 0 : scale * (1 - Math.tanh(scores[i][j]) ** 2)));
    return { J, weights: (pairs) => matrix((i, j) => pairs[i][j] * slope[i][j]) };
  }
  const shares = SITES.map((i) => {
    const top = Math.max(...scores[i].filter((_, j) => j !== i));
    const row = scores[i].map((score, j) => (i === j ? 0 : Math.exp(score - top)));
    return row.map((value) => value / sum(row));
  });
  const weights = (pairs) => {
    const moved = shares.map((row, i) => row.map((share, j) => (g / 2) * share * (pairs[i][j] - dot(row, pairs[i]))));
    return matrix((i, j) => moved[i][j] + moved[j][i]);
  };
  return { J: matrix((i, j) => (g / 2) * (shares[i][j] + shares[j][i])), weights };
}

/* The inverse of a symmetric matrix of three rows and the logarithm of its determinant; null where it is not positive definite. */
export function inverse([[a, b, c], [, d, e], [, , f]]) {
  const [A, B, C] = [d * f - e * e, c * e - b * f, b * e - c * d], det = a * A + b * B + c * C;
  if (!(a > 0 && a * d - b * b > 0 && det > 0)) return null;
  const rows = [[A, B, C], [B, a * f - c * c, b * c - a * e], [C, b * c - a * e, a * d - b * b]];
  return { rows: rows.map((row) => row.map((value) => value / det)), logarithm: Math.log(det) };
}

/* The saddle point by Newton's method: beta is in J and h, z is beta times what it is outside. */
export function saddle(J, h, beta) {
  const hot = J.map((row) => row.map((value) => beta * value)), field = h.map((row) => row.map((value) => beta * value));
  const resolve = (z) => {
    const at = inverse(matrix((i, j) => (i === j ? z[i] : 0) - hot[i][j]));
    if (!at) return null;
    const m = times(at.rows, field);
    return { chi: at.rows, m, phi: (sum(z) - at.logarithm + sum(m.map((row, i) => dot(row, field[i]))) / COMPONENTS) / 2 };
  };
  let z = hot.map((row, i) => sum(row.map(Math.abs)) + 1 + Math.sqrt(dot(field[i], field[i]) / COMPONENTS));
  let here = resolve(z);
  for (let round = 0; round < 60; round += 1) {
    const { chi, m } = here, pair = (i, j) => dot(m[i], m[j]) / COMPONENTS;
    const slope = SITES.map((i) => (1 - chi[i][i] - pair(i, i)) / 2);
    if (Math.max(...slope.map(Math.abs)) < 1e-14) break;
    const curved = inverse(matrix((i, j) => chi[i][j] * (chi[i][j] / 2 + pair(i, j))));
    if (!curved) break;
    const step = curved.rows.map((row) => -dot(row, slope));
    let [length, there] = [2, null];
    do {
      length /= 2;
      there = resolve(z.map((value, i) => value + length * step[i]));
    } while (!(there && there.phi <= here.phi + 1e-13) && length > 1e-9);
    if (!there) break;
    z = z.map((value, i) => value + length * step[i]);
    here = there;
  }
  return { z: z.map((value) => value / beta), m: here.m, chi: here.chi };
}

/* The largest |eigenvalue| of a symmetric matrix of three rows, by Jacobi's rotations. */
export function radius(A) {
  const a = A.map((row) => [...row]);
  for (let sweep = 0; sweep < 12; sweep += 1) for (const [p, q] of [[0, 1], [0, 2], [1, 2]]) {
    if (a[p][q] === 0) continue;
    const turn = Math.atan2(2 * a[p][q], a[q][q] - a[p][p]) / 2, [c, s] = [Math.cos(turn), Math.sin(turn)];
    for (const k of SITES) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
    for (const k of SITES) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
  }
  return Math.max(...SITES.map((i) => Math.abs(a[i][i])));
}

/* Every number that the figure shows. */
export function measure(state) {
  const { J, weights } = coupled(state), { z, m, chi } = saddle(J, state.tokens, state.beta);
  const pairs = matrix((i, j) => dot(m[i], m[j]) + COMPONENTS * chi[i][j]);
  const more = times(weights(pairs), state.tokens).map((row) => row.map((value) => value / ROOT));
  return {
    J: [J[0][1], J[0][2], J[1][2]],
    z, m, more,
    chi: SITES.map((i) => chi[i][i]),
    series: radius(matrix((i, j) => J[i][j] / Math.sqrt(z[i] * z[j]))),
  };
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  [
    "Let two answers be longer than a spin, each 1.2 of its length or more.",
    (_, { m, more }) => m.filter((row, i) => Math.hypot(...row.map((value, a) => value + more[i][a])) >= 1.2 * LENGTH).length >= 2,
  ],
  ["Let the Neumann series diverge.", (_, { series }) => series >= 1],
];

const STYLE = `
.circle { fill: none; stroke: var(--quiet); }
.axis { stroke: var(--grid); }
.pull { stroke-dasharray: 3 4; stroke-width: 1.5; }
.more { stroke-width: 3.5; stroke-linecap: round; }
.whole { fill: var(--ground); stroke-width: 2.5; }
.bond { stroke: var(--quiet); opacity: 0.5; }
.bond.differ { stroke-dasharray: 6 4; }
.plane { touch-action: pan-y; }
.point {
  background: none; border: 0; border-radius: 50%; cursor: grab; height: 36px; margin: -18px 0 0 -18px; min-height: 0; padding: 0;
  position: absolute; touch-action: none; width: 36px;
}
.point:focus-visible { box-shadow: 0 0 0 2px var(--ink); }
.point svg { height: 36px; pointer-events: none; width: 36px; }
.disk { fill: var(--ground); stroke-width: 2.5; }
svg .number { fill: var(--ink); font-size: 11px; font-weight: 700; }
.held .phase::before { background: var(--c); }
.side { align-content: start; display: grid; gap: 8px; }
`;

const NAMES = ["tokens", "couplings", "strength", "beta"];
const INKS = ["a", "b", "c"];

function render({ model, el }) {
  const ground = kit.card(el, "Tokens as fields", STYLE), initial = kit.read(model, NAMES);
  let [readout, frame] = [null, null];
  const change = (changes) => kit.store(model, changes);

  const phase = kit.html("span", { class: "phase" });
  const picture = kit.svg("svg", { role: "img" });
  const points = SITES.map((i) => kit.html("button", { type: "button", class: "point" },
    kit.svg("svg", { "aria-hidden": "true" },
      kit.svg("circle", { class: "disk", cx: 18, cy: 18, r: 10, stroke: `var(--${INKS[i]})` }),
      kit.svg("text", { class: "number", x: 18, y: 22, "text-anchor": "middle" }, String(i + 1)))));
  const handles = kit.html("div", { role: "group", "aria-label": "Tokens. The arrow keys move them, with shift further" }, ...points);
  const plane = kit.html("div", { class: "picture plane" }, picture, handles);
  const spins = SITES.map((i) => kit.reading(`Spin ${i + 1}: its mean`, true));
  const rows = { pairs: kit.reading("Couplings 1 2, 1 3, 2 3"), z: kit.reading("Multipliers z"), series: kit.reading("Neumann series") };
  const side = kit.html("div", { class: "side" },
    kit.html("dl", {}, ...[...spins, ...Object.values(rows)].map(({ element }) => element)));
  const two = (value) => kit.numeral(value);
  const strength = kit.slider({
    label: "Strength g of the couplings", min: -MOST_STRENGTH, max: MOST_STRENGTH, step: 0.01, format: two,
    change: (value) => change({ strength: value }),
  });
  const beta = kit.slider({
    label: "Inverse temperature β", min: LEAST_BETA, max: MOST_BETA, log: true, format: two,
    change: (value) => change({ beta: Math.min(MOST_BETA, Math.max(LEAST_BETA, value)) }),
  });
  const kind = kit.choice({ label: "Couplings", change: (value) => change({ couplings: value }) });
  const more = kit.more(beta.element), tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(kit.layout(plane, [
    strength.element,
    kit.html("div", { class: "row" }, kind.element, more.button, kit.button("Reset", () => change(initial)),
      kit.html("span", { class: "quiet" }, "Drag a token, or use the arrow keys.")),
    more.element,
  ], side, "1.15fr"), tasks.element);

  const within = (value) => Math.round(100 * Math.max(-EDGE, Math.min(EDGE, value))) / 100;
  const put = (i, place) => change({ tokens: model.get("tokens").map((one, k) => (k === i ? place.map(within) : one)) });
  kit.drag(plane, {
    find(element) {
      const index = points.indexOf(element);
      return index < 0 ? null : index;
    },
    take(event) {
      const far = points.map((point) => {
        const box = point.getBoundingClientRect();
        return Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
      });
      const index = far.indexOf(Math.min(...far));
      if (far[index] > 22) return null;
      points[index].focus({ preventScroll: true });
      return index;
    },
    move(index, event) {
      const box = picture.getBoundingClientRect();
      put(index, [frame.fromX(event.clientX - box.left), frame.fromY(event.clientY - box.top)]);
    },
    push: (index, way) => put(index, model.get("tokens")[index].map((value, a) => value + 0.1 * way[a])),
  });

  function draw_plane(now, width) {
    const size = Math.min(width, 400), axis = { from: -EDGE, to: EDGE, ticks: [] };
    frame = kit.plot({ left: 1, top: 1, width: size - 2, height: size - 2, x: axis, y: axis });
    const { toX, toY } = frame, place = ([x, y]) => ({ x: toX(x), y: toY(y) });
    const line = (kind, from, to, ink) => kit.svg("line", {
      class: kind, x1: place(from).x, y1: place(from).y, x2: place(to).x, y2: place(to).y, ...(ink ? { stroke: ink } : {}),
    });
    const bonds = [[0, 1], [0, 2], [1, 2]].map(([i, j], k) => {
      const bond = line(`bond${readout.J[k] < 0 ? " differ" : ""}`, now.tokens[i], now.tokens[j]);
      bond.setAttribute("stroke-width", (7 * Math.abs(readout.J[k])).toFixed(2));
      return bond;
    });
    picture.setAttribute("height", size);
    picture.replaceChildren(
      line("axis", [-EDGE, 0], [EDGE, 0]), line("axis", [0, -EDGE], [0, EDGE]),
      kit.svg("circle", { class: "circle", cx: toX(0), cy: toY(0), r: toX(LENGTH) - toX(0) }),
      ...bonds,
      ...SITES.flatMap((i) => {
        const ink = `var(--${INKS[i]})`, m = readout.m[i], whole = m.map((value, a) => value + readout.more[i][a]);
        const moved = Math.hypot(...readout.more[i]) > 1e-9;
        return [
          line("pull", now.tokens[i], m, ink),
          ...(moved ? [line("more", m, whole, ink)] : []),
          kit.svg("circle", { class: "mean", cx: place(m).x, cy: place(m).y, r: 5, fill: ink }),
          ...(moved ? [kit.svg("circle", { class: "whole", cx: place(whole).x, cy: place(whole).y, r: 5, stroke: ink })] : []),
        ];
      }),
      kit.svg("text", { class: "word", x: toX(0) + 5, y: toY(-LENGTH) + 15 }, "a spin's length"),
    );
    now.tokens.forEach((token, i) => {
      points[i].style.left = `${place(token).x}px`;
      points[i].style.top = `${place(token).y}px`;
      points[i].setAttribute("aria-label", `token ${i + 1} at ${two(token[0])}, ${two(token[1])}`);
    });
  }

  function tell(now) {
    const { J, z, m, more, series } = readout;
    const mean = m.map((row) => Math.hypot(...row) / LENGTH);
    const whole = m.map((row, i) => Math.hypot(...row.map((value, a) => value + more[i][a])) / LENGTH);
    spins.forEach((row, i) => {
      const added = now.couplings === "fixed" ? "no second term" : `whole response ${two(whole[i])}`;
      row.set(two(mean[i]), `of its length; ${added}`, { to: mean[i], at: whole[i] });
    });
    rows.pairs.set(J.map(two).join(", "), now.couplings === "fixed" ? "they stay where they are" : "they follow the tokens");
    rows.z.set(z.map(two).join(", "), "a lone token would be divided by its own");
    rows.series.set(two(series), series < 1 ? "below 1: it converges" : "not below 1: it diverges, and the response is finite");
    const longest = Math.max(...whole), over = longest > 1;
    phase.textContent = over ? "longer than a spin" : "within a spin's length";
    ground.body.classList.toggle("held", !over);
    const said = `Responses ${whole.map(two).join(", ")} of a spin's length.`;
    picture.setAttribute("aria-label", `Three tokens in a plane, joined with the means of their spins. ${said}`);
    ground.say(said);
    strength.set(now.strength);
    beta.set(now.beta);
    kind.set(now.couplings, Object.entries(COUPLINGS));
  }

  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving };
    readout = measure(now);
    if (plane.clientWidth > 0) draw_plane(now, plane.clientWidth);
    tell(now);
    tasks.judge(now, readout);
  }

  const { close } = kit.run({
    model, el, ground, names: NAMES, draw, watch: [plane], arrive: { strength: 0 }, readout: () => readout, solved: tasks.solved,
  });
  return close;
}

export default { render };
