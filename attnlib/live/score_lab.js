/* The score lab: one query, K keys, and what their width, a correlation and the scale make of scores and weights. */

const [LEAST, MOST, BARS] = [2, 512, 32];
let table = { seed: -1, normals: [] };

/* Rows of 512 normal numbers, the query's and then the keys': a wider or a longer draw begins with the smaller one. */
export function draws(seed) {
  if (table.seed !== seed) {
    const { normal } = kit.generator(seed);
    table = { seed, normals: Float64Array.from({ length: MOST * (MOST + 1) }, normal) };
  }
  return table.normals;
}

/* Every number that the figure shows. The marked key comes first; `others` leaves it out. */
export function measure({ dimension, count, correlation, scaled, seed }) {
  const numbers = draws(seed), beta = scaled ? 1 / Math.sqrt(dimension) : 1, law = beta * Math.sqrt(dimension);
  const dot = (row) => {
    let sum = 0;
    for (let i = 0; i < dimension; i += 1) sum += numbers[i] * numbers[row * MOST + i];
    return sum;
  };
  const square = dot(0), own = Math.sqrt(1 - correlation ** 2);
  const scores = Array.from({ length: count }, (_, j) => beta * (j ? dot(j + 1) : correlation * square + own * dot(1)));

  const total = (list) => list.reduce((sum, value) => sum + value, 0);
  const exponents = scores.map((score) => score - Math.max(...scores)), boltzmann = exponents.map(Math.exp);
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
    frozen: law > sigma_c,
    first_bin,
    counts,
    marked_law,
    marked_sigma,
    rank: 1 + others.filter((score) => score > scores[0]).length,
    largest: Math.max(...weights),
    participation,
    effective_keys: 1 / participation,
    entropy,
    entropy_ratio: entropy / Math.log(count),
  };
}

const PLOT = { left: 34, right: 8, top: 60, scores: 140, gap: 62, weights: 118, bottom: 20 };
const FLOOR = PLOT.top + PLOT.scores;
const BASE = FLOOR + PLOT.gap + PLOT.weights;
const HEIGHT = BASE + PLOT.bottom;

const STYLE = `
.head { align-items: center; display: flex; gap: 8px; justify-content: space-between; margin-bottom: 6px; }
.phase { background: var(--field); border: 1px solid var(--rule); border-radius: 99px; font-size: 12.5px; padding: 1px 9px; }
.phase::before {
  background: var(--b); border-radius: 50%; content: ""; display: inline-block; height: 8px; margin-right: 6px; width: 8px;
}
.frozen .phase::before { background: var(--a); border-radius: 1px; }
.columns { display: flex; flex-wrap: wrap; gap: 14px 22px; margin-bottom: 12px; }
.plots { flex: 999 1 270px; min-width: 0; }
.plots svg { width: 100%; }
.grid { stroke: var(--grid); }
.zero { stroke: var(--quiet); }
.even { stroke: var(--quiet); stroke-dasharray: 3 3; }
.count { fill: var(--a); opacity: 0.8; }
.law { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.freezing { stroke: var(--ink); stroke-dasharray: 2 3; }
.weight { fill: var(--b); }
.marked { fill: var(--c); stroke: var(--c); }
line.marked { stroke-width: 2.5; }
.range { stroke: var(--c); stroke-width: 5; opacity: 0.45; }
svg .name { fill: var(--ink); font-size: 12.5px; font-weight: 600; }
svg .word { fill: var(--ink); paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
dl { align-content: start; display: grid; flex: 1 1 230px; gap: 10px; margin: 0; min-width: 0; }
dl > div { display: grid; gap: 0 8px; grid-template-columns: 1fr auto; }
dt, dd { margin: 0; }
dd { font-weight: 600; text-align: right; }
dd.quiet, dd.bar { font-weight: 400; grid-column: 1 / -1; text-align: left; }
dd.bar { background: var(--field); border-radius: 3px; height: 6px; margin: 3px 0 2px; overflow: hidden; position: relative; }
dd.bar i { background: var(--b); height: 100%; left: 0; position: absolute; top: 0; }
dd.bar i + i { background: var(--ink); left: 50%; margin-left: -1.5px; width: 3px; }
.switch { align-items: center; cursor: pointer; display: flex; gap: 8px; min-height: 32px; }
.switch input { accent-color: var(--accent); cursor: pointer; height: 20px; margin: 0; width: 20px; }
.buttons { gap: 8px 12px; margin-top: 8px; }
`;

/* A row of numbers: a name, a value, a remark and, where asked for, a bar from 0 to 1, with a mark in its middle. */
function row(name, bar, mark) {
  const value = kit.html("dd"), fill = kit.html("i"), remark = kit.html("dd", { class: "quiet" });
  const track = kit.html("dd", { class: "bar", "aria-hidden": "true" }, fill, ...(mark ? [kit.html("i")] : []));
  const element = kit.html("div", {}, kit.html("dt", {}, name), value, ...(bar ? [track] : []), remark);
  const set = (text, note, share = 0) => {
    value.textContent = text;
    remark.textContent = note;
    fill.style.width = `${100 * Math.min(share, 1)}%`;
  };
  return { element, set };
}

/* A slider for integers from 2 to 512 on a logarithmic scale, that leads at least one further. */
function sizes(label, now, change) {
  const moved = (place) => {
    const wanted = 2 ** place, size = Math.round(wanted);
    change(size === now() ? Math.max(LEAST, Math.min(MOST, size + Math.sign(wanted - size))) : size);
  };
  const format = (place) => String(Math.round(2 ** place));
  return kit.slider({ label, min: Math.log2(LEAST), max: Math.log2(MOST), step: 0.125, format, change: moved });
}

/* A round number of the form 1, 2 or 5 times a power of ten, not below the value. */
function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number(([1, 2, 5].map((digit) => digit * power).find((size) => size >= value * 0.999999) ?? 10 * power).toPrecision(1));
}

function render({ model, el }) {
  const names = ["dimension", "count", "correlation", "scaled", "seed"];
  const state = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const { body, stop } = kit.card(el, "Score lab", STYLE);
  const initial = state();
  let readout = null;

  const phase = kit.html("span", { class: "phase" });
  const status = kit.html("div", { class: "hidden", role: "status" });
  const picture = kit.svg("svg", { height: HEIGHT, role: "img" });
  const plots = kit.html("div", { class: "plots" }, picture);
  const rows = {
    mean: row("Mean score"),
    sigma: row("Spread \u03c3 of the scores", true, true),
    marked: row("Score of the marked key"),
    largest: row("Largest weight", true),
    effective: row("Effective keys", true),
    entropy: row("Entropy", true),
  };
  const list = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));
  const dimension = sizes("Dimension d", () => model.get("dimension"), (size) => kit.store(model, { dimension: size }));
  const count = sizes("Number of keys K", () => model.get("count"), (size) => kit.store(model, { count: size }));
  const correlation = kit.slider({
    label: "Correlation \u03c1", min: 0, max: 1, step: 0.01,
    format: (value) => value.toFixed(2),
    change: (value) => kit.store(model, { correlation: value }),
  });
  const scaled = kit.html("input", { type: "checkbox", onchange: () => kit.store(model, { scaled: scaled.checked }) });
  body.append(
    kit.html("div", { class: "head" }, kit.html("span", { class: "title" }, "Score lab"), phase),
    kit.html("div", { class: "columns" }, plots, list),
    kit.html("div", { class: "row" }, dimension.element, count.element, correlation.element),
    kit.html(
      "div", { class: "row buttons" },
      kit.html("label", { class: "switch" }, scaled, "Divide the scores by \u221ad"),
      kit.button("Another draw", () => kit.store(model, { seed: (model.get("seed") + 1) % 2 ** 31 })),
      kit.button("Reset", () => kit.store(model, initial)),
      kit.html("span", { class: "quiet" }, "One marked key has correlation \u03c1 with the query."),
    ),
    status,
  );

  const text = (kind, x, y, words, anchor = "start") => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const line = (kind, x1, y1, x2, y2) => kit.svg("line", { class: kind, x1, y1, x2, y2 });

  /* The histogram of the others, its law, the freezing scale on both sides, and the marked key with its own law. */
  function histogram(width, now) {
    const { counts, first_bin, sigma_law, sigma_c, scores, marked_law, marked_sigma } = readout;
    const slot = (width - PLOT.left - PLOT.right) / counts.length, expected = (now.count - 1) / Math.sqrt(8 * Math.PI);
    const tall = 1.04 * Math.max(expected, ...counts), step = Math.max(round(tall / 3), 1);
    const right = width - PLOT.right;
    const toX = (score) => PLOT.left + slot * ((2 * score) / sigma_law - first_bin);
    const toY = (number) => FLOOR - (PLOT.scores * number) / tall;
    const inside = (x) => Math.max(PLOT.left, Math.min(right, x));
    const levels = Array.from({ length: Math.floor(tall / step) + 1 }, (_, i) => i * step);
    const tick = round((counts.length * sigma_law) / 2 / (width / 50));
    const [from, to] = [first_bin, first_bin + counts.length].map((bin) => (bin * sigma_law) / 2 / tick);
    const ticks = Array.from({ length: Math.floor(to) - Math.ceil(from) + 1 }, (_, i) => tick * (i + Math.ceil(from)));
    const curve = Array.from({ length: 4 * counts.length + 1 }, (_, i) => {
      const height = expected * Math.exp(-((i / 4 + first_bin) ** 2) / 8);
      return `${(PLOT.left + (slot * i) / 4).toFixed(1)} ${toY(height).toFixed(1)}`;
    });
    const marked = toX(scores[0]), late = marked > (PLOT.left + right) / 2;
    return [
      text("name", 0, 11, now.scaled ? "scores q\u00b7k/\u221ad: how many keys" : "scores q\u00b7k: how many keys"),
      ...levels.flatMap((level) => [
        line(level ? "grid" : "zero", PLOT.left, toY(level), right, toY(level)),
        text("", PLOT.left - 5, toY(level) + 4, String(level), "end"),
      ]),
      ...ticks.map((score) => text("", toX(score), FLOOR + 15, kit.numeral(score, tick < 1 ? 1 : 0), "middle")),
      ...counts.map((number, i) => kit.svg("rect", {
        class: "count", x: PLOT.left + (i + 0.08) * slot, width: 0.84 * slot, y: toY(number), height: FLOOR - toY(number),
      })),
      ...[-sigma_c, sigma_c].map((score) => line("freezing", toX(score), 33, toX(score), FLOOR)),
      kit.svg("path", { class: "law", d: `M${curve.join("L")}` }),
      line("range", inside(toX(marked_law - marked_sigma)), FLOOR, inside(toX(marked_law + marked_sigma)), FLOOR),
      line("marked", marked, 38, marked, FLOOR),
      text("word", toX(0), 29, "\u00b1\u221a(2 ln K)", "middle"),
      text("word", marked + (late ? -5 : 5), 48, "marked key", late ? "end" : "start"),
    ];
  }

  /* The largest weights in decreasing order, on an axis that fits them; dashed: what each key would have if all were equal. */
  function bars(width, now) {
    const sorted = [...readout.weights].sort((one, two) => two - one).slice(0, BARS);
    const top = Math.min(round(readout.largest), 1), slot = (width - PLOT.left - PLOT.right) / sorted.length;
    const toY = (weight) => BASE - (PLOT.weights * weight) / top, bar = Math.min(0.84 * slot, 46);
    const left = Math.max(1 - sorted.reduce((sum, weight) => sum + weight, 0), 0);
    const rest = now.count > BARS ? `the other ${now.count - BARS}: ${kit.numeral(left)} together` : `all ${now.count}`;
    return [
      text("name", 0, BASE - PLOT.weights - 14, "weights, largest first"),
      ...[0, 0.5, 1].flatMap((share) => [
        line(share ? "grid" : "zero", PLOT.left, toY(share * top), width - PLOT.right, toY(share * top)),
        text("", PLOT.left - 5, toY(share * top) + 4, String(Number((share * top).toPrecision(2))), "end"),
      ]),
      ...sorted.map((weight, i) => kit.svg("rect", {
        class: i + 1 === readout.rank ? "weight marked" : "weight",
        x: PLOT.left + (i + 0.5) * slot - bar / 2, width: bar, y: toY(weight), height: BASE - toY(weight),
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
    rows.sigma.set(short(sigma), spread, sigma / (2 * sigma_c));
    rows.marked.set(short(readout.scores[0]), `theory ${short(marked_law)} \u00b1 ${short(marked_sigma)}`);
    const its = `the marked key has ${long(weights[0])}, rank ${readout.rank} of ${now.count}`;
    rows.largest.set(long(readout.largest), its, readout.largest);
    const share = `${short(effective_keys)} of ${now.count}`;
    rows.effective.set(share, `1/Y\u2082, Y\u2082 = \u03a3p\u00b2 = ${long(readout.participation)}`, effective_keys / now.count);
    const part = `${(100 * readout.entropy_ratio).toFixed(0)} % of ln ${now.count}`;
    rows.entropy.set(`${long(readout.entropy)} nats`, part, readout.entropy_ratio);
    phase.textContent = readout.frozen ? "frozen" : "liquid";
    body.classList.toggle("frozen", readout.frozen);
    picture.setAttribute(
      "aria-label", `Histogram of scores, spread ${short(sigma)}, and the weights they give, the largest ${long(readout.largest)}`,
    );
    clearTimeout(said);
    said = setTimeout(() => {
      status.textContent = `${phase.textContent}: spread ${short(sigma)}, effective keys ${share}, ${its}`;
    }, 600);
  }

  function draw() {
    const now = state(), width = plots.clientWidth;
    readout = measure(now);
    if (width > 0) picture.replaceChildren(...histogram(width, now), ...bars(width, now));
    tell(now);
    dimension.set(Math.log2(now.dimension));
    count.set(Math.log2(now.count));
    correlation.set(now.correlation);
    scaled.checked = now.scaled;
  }

  let said = 0;
  const redraw = kit.frame(draw);
  const events = names.map((name) => `change:${name}`).join(" ");
  const observer = new ResizeObserver(redraw);
  model.on(events, redraw);
  observer.observe(plots);
  draw();
  el.figure = { model, readout: () => readout };
  return () => {
    clearTimeout(said);
    model.off(events, redraw);
    observer.disconnect();
    stop();
  };
}

export default { render };
