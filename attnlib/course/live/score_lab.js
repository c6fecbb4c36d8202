/* The score lab: one query, K keys, and what their width, a correlation and the scale make of scores and weights. */

const { LEAST, MOST, MOST_BARS, REACH } = kit.constants;
let table = { seed: -1 };

/* Rows of 512 normal numbers, the query's and then the keys': a wider or a longer draw begins with the smaller one. Of each row
   its uniform numbers are drawn when it is asked for, and as many of them made normal as are asked for. */
export function draws(seed, rows = MOST + 1, width = MOST) {
  if (table.seed !== seed) {
    const { uniform } = kit.generator(seed), pairs = new Float64Array(2 * MOST * (MOST + 1));
    table = { seed, uniform, pairs, drawn: 0, made: new Int32Array(MOST + 1), normals: new Float64Array(MOST * (MOST + 1)) };
  }
  const { uniform, pairs, made, normals } = table;
  for (; table.drawn < rows; table.drawn += 1) {
    for (let at = 2 * MOST * table.drawn; at < 2 * MOST * (table.drawn + 1); at += 1) pairs[at] = uniform();
  }
  for (let row = 0; row < rows; row += 1) {
    for (; made[row] < width; made[row] += 1) {
      const at = row * MOST + made[row];
      normals[at] = Math.sqrt(-2 * Math.log(pairs[2 * at])) * Math.cos(2 * Math.PI * pairs[2 * at + 1]);
    }
  }
  return normals;
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Freeze it without a match: with \u03c1 = 0 one of 64 keys or more has nine tenths of the weight.",
    ({ correlation, count }, { largest }) => correlation === 0 && count >= 64 && largest >= 0.9],
  ["Find the match under the scale: among 256 keys or more, divided by \u221ad, the marked key has nine tenths.",
    ({ count, scaled }, { weights }) => scaled && count >= 256 && weights[0] >= 0.9],
];

/* Every number that the figure shows. The marked key comes first; `others` leaves it out. */
export function measure({ dimension, count, correlation, scaled, seed }) {
  const numbers = draws(seed, count + 1, dimension), beta = scaled ? 1 / Math.sqrt(dimension) : 1, law = beta * Math.sqrt(dimension);
  const dot = (row) => {
    let sum = 0;
    for (let i = 0; i < dimension; i += 1) sum += numbers[i] * numbers[row * MOST + i];
    return sum;
  };
  const square = dot(0), own = Math.sqrt(1 - correlation ** 2);
  const scores = Array.from({ length: count }, (_, j) => beta * (j ? dot(j + 1) : correlation * square + own * dot(1)));

  const total = (list) => list.reduce((sum, value) => sum + value, 0);
  const top = Math.max(...scores), exponents = scores.map((score) => score - top), boltzmann = exponents.map(Math.exp);
  const partition = total(boltzmann), weights = boltzmann.map((factor) => factor / partition);
  const entropy = Math.log(partition) - total(weights.map((weight, i) => weight * exponents[i]));
  const participation = total(weights.map((weight) => weight ** 2));

  const others = scores.slice(1), mean = total(others) / others.length, sigma_c = Math.sqrt(2 * Math.log(count));
  const bins = scores.map((score) => Math.floor((2 * score) / law));
  const marked_law = beta * dimension * correlation, marked_sigma = law * Math.sqrt(1 + correlation * correlation);
  const first_bin = Math.min(-8, ...bins), last = Math.max(7, ...bins, Math.floor((2 * (marked_law + marked_sigma)) / law));
  const counts = new Array(last - first_bin + 1).fill(0);
  for (const bin of bins.slice(1)) counts[bin - first_bin] += 1;
  return {
    scores,
    weights,
    mean,
    mean_error: law / Math.sqrt(others.length),
    sigma: Math.sqrt(total(others.map((score) => (score - mean) ** 2)) / others.length),
    sigma_law: law,
    sigma_query: beta * Math.sqrt(square),
    sigma_c,
    first_bin,
    counts,
    marked_law,
    marked_sigma,
    rank: 1 + others.filter((score) => score > scores[0]).length,
    largest: Math.max(...weights),
    participation,
    effective_keys: 1 / participation,
    liquid: -Math.log(participation) / Math.log(count),
    entropy,
    entropy_ratio: entropy / Math.log(count),
  };
}

const PLOT = { left: 34, right: 8, top: 60, scores: 140, gap: 62, weights: 118, bottom: 20 };
const FLOOR = PLOT.top + PLOT.scores;
const BASE = FLOOR + PLOT.gap + PLOT.weights;
const HEIGHT = BASE + PLOT.bottom;

const STYLE = `
.even { stroke: var(--quiet); stroke-dasharray: 3 3; }
.count { fill: var(--a); opacity: 0.8; }
.law { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.freezing { stroke: var(--ink); stroke-dasharray: 2 3; }
.weight { fill: var(--b); }
.marked { fill: var(--c); stroke: var(--c); }
line.marked { stroke-width: 2.5; }
.range { stroke: var(--c); stroke-width: 5; opacity: 0.45; }
.phase { background: linear-gradient(90deg, var(--field) var(--liquid), var(--tint) var(--liquid)); }
.phase::before { background: color-mix(in oklab, var(--b) var(--liquid), var(--a)); }
`;

/* A slider for integers from 2 to 512 on a logarithmic scale, that leads at least one further. */
function sizes(label, now, change) {
  const moved = (place) => {
    const wanted = 2 ** place, size = Math.round(wanted);
    change(size === now() ? Math.max(LEAST, Math.min(MOST, size + Math.sign(wanted - size))) : size);
  };
  const format = (place) => String(Math.round(2 ** place));
  return kit.slider({ label, min: Math.log2(LEAST), max: Math.log2(MOST), step: 0.125, format, change: moved });
}

function render({ model, el }) {
  const names = ["dimension", "count", "correlation", "scaled", "seed"];
  const ground = kit.card(el, "Score lab", STYLE);
  const initial = kit.read(model, names);
  let readout = null;

  const phase = kit.html("span", { class: "phase" });
  const picture = kit.svg("svg", { height: HEIGHT, role: "img" });
  const plots = kit.html("div", { class: "picture" }, picture);
  const rows = {
    mean: kit.reading("Mean score"),
    sigma: kit.reading("Spread \u03c3 of the scores", true),
    marked: kit.reading("Score of the marked key"),
    largest: kit.reading("Largest weight", true),
    effective: kit.reading("Effective keys", true),
    entropy: kit.reading("Entropy", true),
  };
  const list = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));
  const dimension = sizes("Dimension d", () => model.get("dimension"), (size) => kit.store(model, { dimension: size }));
  const count = sizes("Number of keys K", () => model.get("count"), (size) => kit.store(model, { count: size }));
  const correlation = kit.slider({
    label: "Correlation \u03c1", min: 0, max: 1, step: 0.01,
    format: (value) => value.toFixed(2),
    change: (value) => kit.store(model, { correlation: value }),
  });
  const scaled = kit.toggle({ label: "Divide the scores by \u221ad", change: (on) => kit.store(model, { scaled: on }) });
  const tasks = kit.challenges(CHALLENGES), more = kit.more(kit.html("div", { class: "row" }, count.element, correlation.element));
  const controls = [
    dimension.element,
    kit.html(
      "div", { class: "row" },
      scaled.element,
      kit.button("Another draw", () => kit.store(model, { seed: (model.get("seed") + 1) % 2 ** 31 })),
      more.button, kit.button("Reset", () => kit.store(model, initial)),
      kit.html("span", { class: "quiet" }, "One marked key has correlation \u03c1 with the query."),
    ),
    more.element,
  ];
  ground.head.append(phase);
  ground.body.append(kit.layout(plots, controls, list, "1.35fr"), tasks.element);

  const text = (kind, x, y, words, anchor = "start") => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const line = (kind, x1, y1, x2, y2) => kit.svg("line", { class: kind, x1, y1, x2, y2 });

  /* The histogram of the others, its law, the freezing scale on both sides, and the marked key with its own law. The axis of
     the scores is always the same, so that the bell widens with the vectors; what lies beyond it is counted in words. */
  function histogram(width, now) {
    const { counts, first_bin, sigma_law, sigma_c, scores, marked_law, marked_sigma } = readout;
    const expected = (now.count - 1) / Math.sqrt(8 * Math.PI), tall = 1.04 * Math.max(expected, ...counts);
    const [from, to] = [-REACH, REACH], step = Math.max(kit.round(tall / 3), 1);
    const levels = Array.from({ length: Math.floor(tall / step) + 1 }, (_, i) => i * step);
    const frame = kit.plot({
      left: PLOT.left, top: PLOT.top, width: width - PLOT.left - PLOT.right, height: PLOT.scores,
      x: { from, to, ticks: kit.ticks({ from, to }, 5), format: (score) => kit.numeral(score, 0) },
      y: { from: 0, to: tall, ticks: levels, format: String },
    });
    const { toX, toY } = frame, right = width - PLOT.right, inside = (x) => Math.max(PLOT.left, Math.min(right, x));
    const far = Math.min(2 * to / sigma_law, 8), curve = Array.from({ length: 129 }, (_, i) => {
      const bin = ((i - 64) / 64) * far;
      return [(bin * sigma_law) / 2, expected * Math.exp(-(bin ** 2) / 8)];
    });
    const bars = counts.flatMap((number, i) => {
      const [begin, end] = [0.08, 0.92].map((part) => inside(toX(((first_bin + i + part) * sigma_law) / 2)));
      const box = { x: begin, width: end - begin, y: toY(number), height: FLOOR - toY(number) };
      return number && end > begin ? [kit.svg("rect", { class: "count", ...box })] : [];
    });
    const beyond = scores.slice(1).filter((score) => Math.abs(score) > to).length;
    const name = now.scaled ? "scores q\u00b7k/\u221ad: how many keys" : "scores q\u00b7k: how many keys";
    const marked = inside(toX(scores[0])), late = marked > right - 76, out = Math.abs(scores[0]) > to;
    return [
      text("name", 0, 11, beyond ? `${name}; ${beyond} beyond` : name),
      ...frame.axes(),
      ...bars,
      ...[-sigma_c, sigma_c].map((score) => line("freezing", toX(score), 33, toX(score), FLOOR)),
      frame.line(curve, "ink", { class: "law" }),
      line("range", inside(toX(marked_law - marked_sigma)), FLOOR, inside(toX(marked_law + marked_sigma)), FLOOR),
      line("marked", marked, 38, marked, FLOOR),
      text("word", toX(0), 29, "\u00b1\u221a(2 ln K)", "middle"),
      text("word", marked + (late ? -5 : 5), 48, out ? `marked key: ${kit.numeral(scores[0], 0)}` : "marked key", late ? "end" : "start"),
    ];
  }

  /* The largest weights in decreasing order, on an axis that fits them; dashed: what each key would have if all were equal. */
  function bars(width, now) {
    const sorted = [...readout.weights].sort((one, two) => two - one).slice(0, MOST_BARS);
    const top = Math.min(kit.round(readout.largest), 1), slot = (width - PLOT.left - PLOT.right) / sorted.length;
    const frame = kit.plot({
      left: PLOT.left, top: BASE - PLOT.weights, width: slot * sorted.length, height: PLOT.weights,
      x: { from: 0, to: sorted.length, ticks: [] },
      y: { from: 0, to: top, ticks: [0, top / 2, top], format: (weight) => String(Number(weight.toPrecision(2))) },
      title: "weights, largest first",
    });
    const { toX, toY } = frame, bar = Math.min(0.84 * slot, 46);
    const left = Math.max(1 - sorted.reduce((sum, weight) => sum + weight, 0), 0);
    const rest = now.count > MOST_BARS ? `the other ${now.count - MOST_BARS}: ${kit.numeral(left)} together` : `all ${now.count}`;
    return [
      ...frame.axes(),
      ...sorted.map((weight, i) => kit.svg("rect", {
        class: i + 1 === readout.rank ? "weight marked" : "weight",
        x: toX(i + 0.5) - bar / 2, width: bar, y: toY(weight), height: BASE - toY(weight),
      })),
      line("even", PLOT.left, toY(1 / now.count), width - PLOT.right, toY(1 / now.count)),
      text("", width - PLOT.right, BASE + 15, rest, "end"),
    ];
  }

  function tell(now) {
    const [short, long] = [(value) => kit.numeral(value), (value) => kit.numeral(value, 3)];
    const { weights, sigma, sigma_law, sigma_query, sigma_c, marked_law, marked_sigma, effective_keys } = readout;
    const root = now.scaled ? "theory" : "theory \u221ad =", given = now.scaled ? "|q|/\u221ad" : "|q|";
    rows.mean.set(short(readout.mean), `theory 0 \u00b1 ${short(readout.mean_error)}, without the marked key`);
    const spread = `${root} ${short(sigma_law)}, for this query ${given} = ${short(sigma_query)}; freezes at ${short(sigma_c)}`;
    rows.sigma.set(short(sigma), spread, { to: sigma / (2 * sigma_c), at: 0.5 });
    rows.marked.set(short(readout.scores[0]), `theory ${short(marked_law)} \u00b1 ${short(marked_sigma)}`);
    const its = `the marked key has ${long(weights[0])}, rank ${readout.rank} of ${now.count}`;
    rows.largest.set(long(readout.largest), its, { to: readout.largest });
    const share = `${short(effective_keys)} of ${now.count}`;
    rows.effective.set(share, `1/Y\u2082, Y\u2082 = \u03a3p\u00b2 = ${long(readout.participation)}`, { to: effective_keys / now.count });
    const part = `${(100 * readout.entropy_ratio).toFixed(0)} % of ln ${now.count}`;
    rows.entropy.set(`${long(readout.entropy)} nats`, part, { to: readout.entropy_ratio });
    phase.textContent = `${(100 * (1 - readout.liquid)).toFixed(0)} % frozen`;
    phase.style.setProperty("--liquid", `${(100 * readout.liquid).toFixed(1)}%`);
    picture.setAttribute(
      "aria-label", `Histogram of scores, spread ${short(sigma)}, and the weights they give, the largest ${long(readout.largest)}`,
    );
    ground.say(`${phase.textContent}: spread ${short(sigma)}, effective keys ${share}, ${its}`);
  }

  function draw(arriving) {
    const now = { ...kit.read(model, names), ...arriving }, width = plots.clientWidth;
    readout = measure(now);
    if (width > 0) picture.replaceChildren(...histogram(width, now), ...bars(width, now));
    tell(now);
    dimension.set(Math.log2(now.dimension));
    count.set(Math.log2(now.count));
    correlation.set(now.correlation);
    scaled.set(now.scaled);
    tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names, draw, watch: [plots], arrive: { dimension: LEAST }, readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
