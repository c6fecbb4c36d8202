/* The context lab: turn the share of the couplings that the tokens' contents make, and see what a blind one cannot know. */

const { SPINS, WIDTH, GAIN, VARIANCE, LEAST, LAST_DRAW, CONTEXTS, KINDS, SCENES, J0 } = kit.constants;
const SITES = Array.from({ length: SPINS }, (_, i) => i), STATES = 2 ** SPINS;
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;

/* What the tokens of some contexts say: [contexts][spin][component], from one seed. */
function contents(seed, contexts) {
  const { normal } = kit.generator(seed);
  return Array.from({ length: contexts }, () => SITES.map(() => Array.from({ length: WIDTH }, normal)));
}

const fieldsOf = (field) => {
  const { normal } = kit.generator(2 * field + 1);
  return SITES.map(() => Math.sqrt(VARIANCE) * normal());
};
const contentsOf = (context) => contents(2 * context, 1)[0];
const OTHERS = contents(2 * LAST_DRAW + 2, CONTEXTS);

/* x_i.x_j g / sqrt(d N), without the diagonal: what contents alone would couple. */
const overlaps = (x) => SITES.map((i) => Float64Array.from(SITES, (j) => {
  let sum = 0;
  for (let a = 0; a < WIDTH; a += 1) sum += x[i][a] * x[j][a];
  return i === j ? 0 : (GAIN * sum) / Math.sqrt(WIDTH * SPINS);
}));
const OTHER_OVERLAPS = OTHERS.map(overlaps), FIXED = J0.map((row) => Float64Array.from(row)), both = FIXED.map((row) => row.slice());

/* Both parts together, in the rows of `both`. */
function couplings(own, share) {
  const fixed = Math.sqrt(1 - share), told = Math.sqrt(share);
  for (let i = 0; i < SPINS; i += 1) for (let j = 0; j < SPINS; j += 1) both[i][j] = fixed * FIXED[i][j] + told * own[i][j];
  return both;
}

const tree = new Float64Array(STATES), feels = new Float64Array(STATES / 2);

/* Exact means over all states. Spins join one by one: the weight of a state is multiplied by e^field where the new spin is up,
   and divided by it where it is down; and e^field doubles in the same way with each spin that it feels. So there are no more
   exponentials than numbers in J and h. No weight passes e^200. */
export function enumerate(J, h) {
  const m = new Float64Array(SPINS);
  tree[0] = 1;
  for (let k = 0, size = 1; k < SPINS; k += 1, size *= 2) {
    feels[0] = Math.exp(h[k]);
    for (let j = 0, half = 1; j < k; j += 1, half *= 2) join(feels, half, Math.exp(J[k][j]));
    for (let state = 0; state < size; state += 1) {
      tree[state + size] = tree[state] * feels[state];
      tree[state] /= feels[state];
    }
  }
  for (let i = SPINS - 1, size = STATES / 2; i >= 0; i -= 1, size /= 2) { // sum out the last spin, and so on
    for (let state = 0; state < size; state += 1) {
      m[i] += tree[state + size] - tree[state];
      tree[state] += tree[state + size];
    }
  }
  return Array.from(m, (sum) => sum / tree[0]);
}

/* The first numbers of a table twice: times a factor behind them, over it in their place. */
function join(table, half, factor) {
  for (let state = 0; state < half; state += 1) {
    table[state + half] = table[state] * factor;
    table[state] /= factor;
  }
}

/* What a blind one knows at best: over contexts with these fields, the average of each mean, its spread, and how much is left. */
function sight(share, h) {
  const all = OTHER_OVERLAPS.map((own) => enumerate(couplings(own, share), h));
  const blind = SITES.map((i) => mean(all.map((m) => m[i])));
  const variance = SITES.map((i) => all.reduce((sum, m) => sum + (m[i] - blind[i]) ** 2, 0) / (CONTEXTS - 1));
  const whole = mean(all.map((m) => mean(m.map((value) => value ** 2))));
  return { blind, spread: variance.map(Math.sqrt), whole, floor: mean(variance) / whole };
}

/* A recorded line at lambda, straight between logarithms; -1 where nothing is recorded. */
export function between(at, errors, share) {
  for (let k = 0; k + 1 < at.length; k += 1) {
    if (at[k] <= share && share <= at[k + 1]) {
      return errors[k] * (errors[k + 1] / errors[k]) ** (Math.log(share / at[k]) / Math.log(at[k + 1] / at[k]));
    }
  }
  return -1;
}

let last = { key: "" };

/* Every number that the figure shows; see the readout in Python. */
export function measure({ share, context, field, record }) {
  const h = fieldsOf(field), x = contentsOf(context), J = couplings(overlaps(x), share).map((row) => [...row]), m = enumerate(both, h);
  const key = `${share} ${field}`;
  if (key !== last.key) last = { key, ...sight(share, h) };
  const { blind, spread, whole, floor } = last;
  return {
    h, x, J, m, blind, spread, floor,
    error: mean(m.map((value, i) => (value - blind[i]) ** 2)) / whole,
    lines: record.lines.map(({ errors }) => between(record.at, errors, share)),
  };
}

/* The best recorded line of a kind: its place, or -1. */
const best = (record, errors, kind) => record.lines.reduce((found, line, i) => {
  return line.kind === kind && errors[i] > 0 && (found < 0 || errors[i] < errors[found]) ? i : found;
}, -1);

/* Challenges: what to do, and whether the numbers shown say that it is done. */
export const CHALLENGES = [
  ["Find where one who reads just catches up with the blind.", ({ record }, { lines }) => {
    const [blind, reads] = ["blind", "reads"].map((kind) => best(record, lines, kind));
    return blind >= 0 && reads >= 0 && Math.abs(Math.log(lines[reads] / lines[blind])) < 0.06;
  }],
  ["Find where half of what the means do is out of sight of the blind.", (now, { floor }) => Math.abs(floor - 0.5) < 0.02],
];

const NAMES = ["share", "context", "field", "record"];
const GRID = { top: 22, row: 23, strip: 40, gap: 10, means: 0.34 }, CHART = { left: 40, top: 30, height: 206, bottom: 34 };
const HEIGHT = GRID.top + GRID.row * SPINS + 4, STRONG = 0.8;
const COLOURS = { bound: "quiet", blind: "b", reads: "a", steps: "c" };
const DASHES = { bound: "2 4", blind: "", reads: "7 3", steps: "1 0" };

const STYLE = `
.chips { gap: 8px 10px; margin-bottom: 10px; }
.chips button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.plus { fill: var(--b); }
.minus { fill: var(--a); }
.frame { fill: none; stroke: var(--rule); }
.mark { stroke: var(--ink); stroke-width: 3; }
.unsure { stroke: var(--quiet); stroke-width: 1.5; opacity: 0.7; }
.axis { stroke: var(--rule); }
.here { stroke: var(--ink); stroke-dasharray: 4 3; }
.side svg { width: 100%; }
.steps { stroke-width: 3; }
.legend { font-size: 12.5px; margin: 4px 0 0; }
.reading .phase::before { background: var(--a); }
`;

function render({ model, el }) {
  const ground = kit.card(el, "Context lab", STYLE), initial = kit.read(model, NAMES);
  let [readout, known, gliding] = [null, "", null];

  const phase = kit.html("span", { class: "phase" });
  const drawing = kit.svg("svg", { height: HEIGHT, role: "img" });
  const legend = kit.html("p", { class: "legend quiet" }, "Bars: exact means. Marks: best blind answer, and how far means scatter around it.");
  const picture = kit.html("div", { class: "picture" }, drawing, legend);
  const chart = kit.svg("svg", { height: CHART.top + CHART.height + CHART.bottom, role: "img" });
  const rows = { error: kit.reading("The blind answer misses"), ahead: kit.reading("Recorded errors") };
  const side = kit.html("div", { class: "side" }, chart, kit.html("dl", {}, rows.error.element, rows.ahead.element));
  const share = kit.slider({
    label: "\u03bb: share of the couplings' variance that contents make", min: LEAST, max: 1, log: true,
    format: (value) => String(Number(value.toPrecision(3))), change: (value) => change({ share: value }),
  });
  const chips = Object.entries(SCENES).map(([name, scene]) => ({ scene, chip: kit.button(name, () => turn(scene)) }));
  const next = (name) => () => change({ [name]: (model.get(name) + 1) % (LAST_DRAW + 1) });
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(
    kit.html("div", { class: "row chips", role: "group", "aria-label": "Sentences that set the figure" }, ...chips.map(({ chip }) => chip)),
    kit.layout(picture, [
      share.element,
      kit.html("div", { class: "row" }, kit.button("Another context", next("context")), kit.button("Other fields", next("field")),
        kit.button("Reset", () => turn(initial))),
    ], side, "1.15fr"),
    tasks.element,
  );

  // What the reader does

  function change(changes) {
    glide.stop();
    gliding = null;
    kit.store(model, changes);
  }

  /* Couplings pass over to what is asked for. */
  function turn(changes) {
    const from = model.get("share");
    change(changes);
    pass(from, model.get("share"), 0.6);
  }

  function pass(from, to, seconds) {
    if (from === to || kit.reducedMotion()) return;
    gliding = { from: Math.log(from), to: Math.log(to), now: from, seconds };
    glide.start();
  }

  const glide = kit.loop((seconds) => {
    const part = Math.min(seconds / gliding.seconds, 1), ease = part * part * (3 - 2 * part);
    gliding.now = Math.exp(gliding.from + ease * (gliding.to - gliding.from));
    if (part === 1) gliding = null;
    redraw();
    return part < 1;
  });

  // What the figure shows

  /* A row for each spin: what its token says, its couplings, its mean and what the blind know of it. */
  function spinsOf({ x, J, m, blind, spread }, width) {
    const { top, row, strip, gap } = GRID, wide = Math.round(GRID.means * width), left = strip + gap;
    const cell = (width - left - gap - wide) / SPINS, zero = width - wide / 2, reach = wide / 2 - 4;
    const shade = (value, most, across, down, size, tall) => kit.shape("rect", {
      class: value > 0 ? "plus" : "minus", x: across, y: down, width: Math.max(0, size - 1), height: tall,
      "fill-opacity": Math.min(1, Math.abs(value) / most).toFixed(3),
    });
    const name = (across, words, anchor = "start") => kit.shape("text", { class: "name", x: across, y: 12, "text-anchor": anchor }, words);
    const bar = (y, value, kind) => kit.shape("rect", {
      class: kind, x: zero + Math.min(0, value) * reach, y: y + 4, width: Math.abs(value) * reach, height: row - 9,
    });
    return [
      name(0, "says"), name(left, "couplings"), name(zero, "means", "middle"),
      kit.shape("rect", { class: "frame", x: 0, y: top, width: strip, height: row * SPINS }),
      kit.shape("rect", { class: "frame", x: left, y: top, width: Math.max(0, cell * SPINS), height: row * SPINS }),
      kit.shape("line", { class: "axis", x1: zero, x2: zero, y1: top, y2: top + row * SPINS }),
      ...SITES.flatMap((i) => {
        const y = top + row * i, middle = y + row / 2, at = (value) => zero + Math.max(-1, Math.min(1, value)) * reach;
        return [
          ...x[i].map((value, a) => shade(value, 2, (a * strip) / WIDTH, y, strip / WIDTH, row - 1)),
          ...J[i].map((value, j) => shade(value, STRONG, left + j * cell, y, cell, row - 1)),
          bar(y, m[i], m[i] > 0 ? "plus mean" : "minus mean"),
          kit.shape("line", { class: "unsure", x1: at(blind[i] - spread[i]), x2: at(blind[i] + spread[i]), y1: middle, y2: middle }),
          kit.shape("line", { class: "mark", x1: at(blind[i]), x2: at(blind[i]), y1: y + 2, y2: y + row - 3 }),
        ];
      }),
    ];
  }

  /* The recorded lines, in two bundles that cross, and where lambda stands. */
  function bundles({ at, lines }, seen, width) {
    const all = lines.flatMap(({ errors }) => errors), most = Math.max(...all, 0.1), least = Math.min(...all, most / 10);
    const { toX, toY, axes, line, dots } = kit.plot({
      make: kit.shape, left: CHART.left, top: CHART.top, width: width - CHART.left - 8, height: CHART.height, title: "error of trained networks, by \u03bb",
      x: { from: LEAST, to: 1, log: true, format: String }, y: { from: least / 1.3, to: most * 1.3, log: true, format: String },
    });
    const ends = Object.keys(KINDS).filter((kind) => kind !== "bound").flatMap((kind) => {
      const mine = lines.filter((one) => one.kind === kind), last = mine.map(({ errors }) => errors[0]);
      return mine.length ? [[kind, Math.exp(mean(last.map(Math.log)))]] : [];
    });
    return [
      ...axes(),
      kit.shape("line", { class: "here", x1: toX(seen.share), x2: toX(seen.share), y1: CHART.top, y2: CHART.top + CHART.height }),
      ...lines.map(({ kind, errors }) => line(at.map((value, k) => [value, errors[k]]), COLOURS[kind], {
        class: `line ${kind}`, "stroke-dasharray": DASHES[kind], "stroke-width": kind === "bound" ? 1.5 : 2,
      })),
      ...lines.flatMap(({ kind }, i) => (seen.lines[i] > 0 && kind !== "bound" ? [dots([[seen.share, seen.lines[i]]], COLOURS[kind])] : [])),
      ...ends.map(([kind, error], i) => kit.shape("text", {
        class: "word", x: toX(at[0]) - 6, y: toY(error) + (kind === "blind" ? 12 : kind === "reads" ? -3 : 4), "text-anchor": "end",
      }, KINDS[kind])),
    ];
  }

  function tell(now) {
    const { error, floor, lines } = readout, three = (value) => kit.numeral(value, 3), percent = (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
    const [blind, reads, steps] = ["blind", "reads", "steps"].map((kind) => best(now.record, lines, kind));
    const ahead = blind < 0 || reads < 0 ? "nothing recorded" : lines[blind] < lines[reads] ? "the blind are ahead" : "reading is ahead";
    const named = (i) => `${now.record.lines[i].name} ${three(lines[i])}`;
    phase.textContent = ahead;
    ground.body.classList.toggle("reading", ahead === "reading is ahead");
    rows.error.set(percent(error), `of the variance, in this context; ${percent(floor)} on average with these fields`);
    const told = [blind, reads, steps].filter((i) => i >= 0).map((i) => `${KINDS[now.record.lines[i].kind]}: ${named(i)}`);
    rows.ahead.set("", told.length ? `best that is ${told.join("; ")}` : `none below \u03bb = ${now.record.at[0]}`);
    share.set(now.share);
    for (const { scene, chip } of chips) chip.setAttribute("aria-pressed", String(scene.share === now.share));
    tasks.judge(now, readout);
    const misses = `The best blind answer misses ${percent(error)} of the variance of the means`;
    drawing.setAttribute("aria-label", `Ten spins: what their tokens say, their couplings and their exact means. ${misses}`);
    chart.setAttribute("aria-label", `Errors of trained networks by lambda. At ${share.element.querySelector("b").textContent}: ${told.join(", ") || "none"}`);
    ground.say(`${misses}, ${percent(floor)} on average; ${ahead}.`);
  }

  function draw() {
    const now = kit.read(model, NAMES), [wide, width] = [picture.clientWidth, side.clientWidth];
    const key = JSON.stringify([now, wide, width]), fresh = key !== known;
    known = key;
    if (fresh) readout = measure(now);
    const seen = gliding ? { ...measure({ ...now, share: gliding.now }), share: gliding.now } : { ...readout, share: now.share };
    if (wide > 0) kit.fill(drawing, spinsOf(seen, wide));
    if (width > 0) kit.fill(chart, bundles(now.record, seen, width));
    if (fresh) tell(now);
  }

  const { redraw, close } = kit.run({
    model, el, ground, names: NAMES, draw, watch: [picture, side], readout: () => readout,
    end: () => glide.stop(), arrive: () => pass(LEAST, model.get("share"), 1.5), // On arrival the couplings pass once from the fixed ones to those of lambda.
  });
  return close;
}

export default { render };
