/* The iteration: m -> m + gamma (<S> - m) for eight coupled spins, and what it does to an error along each eigenvector. */

const { SPINS, STEPS, TOLERANCE, SEEN, EDGE, LARGEST_SCALE, SHORTEST_STEP, LONGEST_STEP, LAST_SEED, SCENES } = kit.constants;

const places = Array.from({ length: SPINS }, (_, i) => i);
const largest = (values) => values.reduce((most, value) => Math.max(most, value), -Infinity);
const length = (vector) => Math.hypot(...vector);

/* Eigenvalues of a symmetric matrix, ascending, by Jacobi's rotations. */
export function eigenvalues(matrix) {
  const a = matrix.map((row) => [...row]), n = a.length;
  for (let sweep = 0; sweep < 40; sweep += 1) {
    let off = 0;
    for (let p = 0; p < n; p += 1) for (let q = p + 1; q < n; q += 1) {
      off += a[p][q] ** 2;
      if (Math.abs(a[p][q]) < 1e-300) continue;
      const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
      const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1)), c = 1 / Math.hypot(t, 1), s = t * c;
      for (let k = 0; k < n; k += 1) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
      for (let k = 0; k < n; k += 1) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
    }
    if (off < 1e-30) break;
  }
  return a.map((row, i) => row[i]).sort((one, other) => one - other);
}

/* Couplings with a largest eigenvalue of one, and fields. */
export function system(seed) {
  const { normal } = kit.generator(seed), J = places.map(() => places.map(() => 0));
  for (const i of places) for (const j of places) if (j > i) J[i][j] = J[j][i] = normal();
  const h = places.map(() => normal()), top = eigenvalues(J).at(-1);
  return { J: J.map((row) => row.map((value) => value / top)), h };
}

/* By what a step multiplied the residual: the mean over the last ten steps before only rounding was left. */
function pace(residuals) {
  const last = residuals.reduce((found, residual, at) => (at && residual > SEEN ? at : found), 0), first = Math.max(0, last - 10);
  return last ? (residuals[last] / residuals[first]) ** (1 / (last - first)) : 0;
}

/* Every number that the figure shows. */
export function measure({ prior, scale, step, seed }) {
  const { J, h } = system(seed), answer = prior === "binary" ? Math.tanh : Number;
  const image = (m) => places.map((i) => answer(h[i] + scale * J[i].reduce((sum, value, j) => sum + value * m[j], 0)));
  const residuals = [];
  let m = h.map(answer), evaluations = -1, size = 0, least = Infinity;
  for (let at = 0; at <= STEPS; at += 1) {
    const after = image(m), error = after.map((value, i) => value - m[i]);
    residuals.push(length(error));
    const left = largest(error.map(Math.abs));
    if (left < least) { // the size is that of a state which is the best so far, or of the first step
      size = Math.max(size, largest(m.map(Math.abs)), at ? 0 : left);
      least = left;
      if (evaluations < 0 && left <= TOLERANCE * size) evaluations = at + 1;
    }
    if (at < STEPS) m = m.map((value, i) => value + step * error[i]);
  }
  const root = image(m).map((value) => (prior === "binary" ? Math.sqrt(1 - value ** 2) : 1));
  const values = eigenvalues(J.map((row, i) => row.map((value, j) => scale * root[i] * value * root[j])));
  const factors = values.map((value) => Math.abs(1 - step * (1 - value)));
  return {
    residuals, m, eigenvalues: values, factors, rate: largest(factors), measured: pace(residuals),
    longest: values.at(-1) < 1 - EDGE ? 2 / (1 - values[0]) : 0, evaluations,
  };
}

/* A residual: as powers of ten, zero as zero. */
const shortly = (value) => (value === 0 ? "0" : value.toExponential(1).replaceAll("-", "\u2212").replace("+", ""));

const TALL = { top: 34, height: 196, bottom: 36, left: 46, right: 8 };
const LOW = 1e-12, HIGH = 1e4, MOST_FACTOR = 2, FROM = -2.5, TO = 2.2;

const STYLE = `
.chips { gap: 6px; margin: 0 0 6px; }
.chips button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.good .phase::before { background: var(--a); border-radius: 1px; }
.theory { stroke-dasharray: 6 4; }
.window { fill: var(--tint); }
.edge { stroke: var(--ink); }
.inside { fill: var(--a); stroke: var(--ground); }
.outside { fill: var(--b); stroke: var(--ground); }
.outside, .inside { stroke-width: 1.5; }
dl { margin-top: 10px; }
`;

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Let it be solved at a scale above 1.2.", ({ scale }, { evaluations }) => scale > 1.2 && evaluations > 0],
  [
    "Take the longest step that is still stable, to a hundredth.",
    ({ step, scale }, { longest }) => scale > 0 && step < longest && step + 0.01 >= longest,
  ],
];

const NAMES = ["prior", "scale", "step", "seed"];

function render({ model, el }) {
  const ground = kit.card(el, "The iteration", STYLE), initial = kit.read(model, NAMES);
  let readout = null;
  const change = (changes) => kit.store(model, changes);

  const phase = kit.html("span", { class: "phase" });
  const curve = kit.svg("svg", { height: TALL.top + TALL.height + TALL.bottom, role: "img" });
  const window_ = kit.svg("svg", { height: TALL.top + TALL.height + TALL.bottom, role: "img", width: "100%" });
  const picture = kit.html("div", { class: "picture" }, curve);
  const rows = {
    rate: kit.reading("Factor a step, theory"),
    measured: kit.reading("Factor a step, measured"),
    longest: kit.reading("Longest stable step"),
    evaluations: kit.reading("Each mean to 10\u207b\u2076 after"),
  };
  const side = kit.html("div", {}, window_);
  const numbers = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));
  const scale = kit.slider({
    label: "Scale of J: its largest eigenvalue", min: 0, max: LARGEST_SCALE, step: 0.01,
    format: (value) => kit.numeral(value), change: (value) => change({ scale: value }),
  });
  const step = kit.slider({
    label: "Length of a step \u03b3", min: SHORTEST_STEP, max: LONGEST_STEP, step: 0.01, format: (value) => kit.numeral(value),
    change: (value) => change({ step: value }),
  });
  const prior = kit.choice({ label: "Spins", change: (name) => change({ prior: name }) });
  const again = kit.button("New couplings", () => change({ seed: (model.get("seed") + 1) % (LAST_SEED + 1) }));
  const reset = kit.button("Reset", () => change(initial));
  const chips = Object.entries(SCENES).map(([name, scene]) => ({ scene, chip: kit.button(name, () => change(scene)) }));
  const more = kit.more(step.element, kit.html("div", { class: "row" }, again)), tasks = kit.challenges(CHALLENGES);
  const controls = [
    scale.element,
    kit.html("div", { class: "row" }, prior.element, more.button, reset),
    more.element,
  ];
  ground.head.append(phase);
  ground.body.append(
    kit.html("div", { class: "row chips", role: "group", "aria-label": "Scenes" }, ...chips.map(({ chip }) => chip)),
    kit.layout(picture, controls, side), numbers, tasks.element,
  );

  const clamped = (value) => Math.min(HIGH * 10, Math.max(LOW / 10, value));
  const rectangle = (kind, x, y, width, height) => kit.svg("rect", { class: kind, x, y, width: Math.max(0, width), height });

  /* The residual after each step, and the line that theory draws from the first one. */
  function fall(width) {
    const { residuals, rate } = readout, plot = kit.plot({
      left: TALL.left, top: TALL.top, width: width - TALL.left - TALL.right, height: TALL.height, title: "residual |\u27e8S\u27e9 \u2212 m|",
      x: { from: 0, to: STEPS, ticks: [0, 20, 40, 60], format: String, label: "step" },
      y: {
        from: LOW, to: HIGH, log: true, ticks: [1e-12, 1e-8, 1e-4, 1, 1e4],
        format: (value) => (value === 1 ? "1" : `10${[...`${Math.round(Math.log10(value))}`].map((c) => ({ "-": "\u207b" })[c]
          ?? "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[c]).join("")}`),
      },
    });
    const cut = (values) => values.map((value, at) => [at, value > HIGH || value < LOW ? NaN : clamped(value)]);
    return [
      ...plot.axes(),
      plot.line(cut(residuals.map((_, at) => residuals[0] * rate ** at)), "a", { class: "line theory" }),
      plot.line(cut(residuals), "b"),
    ];
  }

  /* The factor of an error against its eigenvalue: a V, whose sides leave the window where it rises above one. */
  function vee(width, now) {
    const from = 1 - 2 / now.step, plot = kit.plot({
      left: TALL.left - 14, top: TALL.top, width: width - TALL.left + 14 - TALL.right, height: TALL.height,
      title: "factor a step, by eigenvalue \u03bc",
      x: { from: FROM, to: TO, ticks: [-2, -1, 0, 1, 2], format: (value) => String(value).replace("-", "\u2212"), label: "eigenvalue \u03bc of D\u00b9\u141f\u00b2 J D\u00b9\u141f\u00b2" },
      y: { from: 0, to: MOST_FACTOR, ticks: [0, 1, 2], format: String },
    });
    const left = plot.toX(Math.max(FROM, from)), corner = 1 - 1 / now.step;
    const height = (value) => Math.abs(1 - now.step * (1 - value));
    const ends = [FROM, TO].map((end) => {
      const side = Math.sign(end - corner) || 1, reach = corner + (side * MOST_FACTOR) / now.step;
      return side < 0 ? Math.max(end, reach) : Math.min(end, reach);
    });
    const bends = corner > FROM ? [ends[0], corner, ends[1]] : ends;
    return [
      rectangle("window", left, plot.toY(1), plot.toX(1) - left, plot.toY(0) - plot.toY(1)),
      ...plot.axes(),
      kit.svg("line", { class: "edge", x1: plot.toX(FROM), x2: plot.toX(TO), y1: plot.toY(1), y2: plot.toY(1) }),
      plot.line(bends.map((value) => [value, height(value)]), "quiet"),
      ...readout.eigenvalues.map((value, i) => {
        const factor = readout.factors[i], kind = factor >= 1 ? "outside" : "inside";
        const at = { cx: plot.toX(Math.max(FROM, Math.min(TO, value))), cy: plot.toY(Math.min(MOST_FACTOR, factor)), r: 5.5 };
        return kit.svg("circle", { class: kind, ...at });
      }),
    ];
  }

  function tell(now) {
    const { rate, longest, evaluations, residuals } = readout, over = longest === 0;
    const verdict = over ? "no step helps" : now.step >= longest ? "the step is too long" : "it converges";
    const short = (value) => kit.numeral(value, 3);
    phase.textContent = verdict;
    ground.body.classList.toggle("good", rate < 1);
    rows.rate.set(short(rate), "the largest |1 \u2212 \u03b3(1 \u2212 \u03bc)|; below 1 in the shaded window only");
    rows.measured.set(short(readout.measured), now.prior === "binary" ? "theory holds near a solution" : "at the end, where one eigenvector is left");
    rows.longest.set(longest ? short(longest) : "none", "2 / (1 \u2212 smallest \u03bc), while every \u03bc is below 1");
    rows.evaluations.set(evaluations < 0 ? `not in ${STEPS}` : String(evaluations), `residual at the end ${shortly(residuals.at(-1))}`);
    const told = `The residual goes from ${residuals[0].toPrecision(2)} to ${residuals.at(-1).toPrecision(2)} in ${STEPS} steps`;
    curve.setAttribute("aria-label", `${told}. Theory: factor ${short(rate)} a step`);
    window_.setAttribute("aria-label", `Eigenvalues from ${short(readout.eigenvalues[0])} to ${short(readout.eigenvalues.at(-1))}; `
      + `a step shrinks those between ${short(1 - 2 / now.step)} and 1`);
    ground.say(`${verdict}. ${told}.`);
    scale.set(now.scale);
    scale.mark(1, "Gaussian spins are stable below 1");
    step.set(now.step);
    step.mark(longest, "from here on a step is too long");
    prior.set(now.prior, [["gaussian", "Gaussian"], ["binary", "binary"]]);
    for (const { scene, chip } of chips) {
      chip.setAttribute("aria-pressed", String(NAMES.every((name) => scene[name] === now[name])));
    }
  }

  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving }, widths = [picture.clientWidth, side.clientWidth];
    readout = measure(now);
    if (widths[0] > 0) curve.replaceChildren(...fall(widths[0]));
    if (widths[1] > 0) window_.replaceChildren(...vee(widths[1], now));
    tell(now);
    tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names: NAMES, draw, watch: [picture, side], arrive: { scale: 0 }, readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
