/* The mapper: where a head of a trained transformer looks from each token of a product, at any step and temperature. */

const { STEPS, BETA_RANGE, WORDS, ARROW, NEAR, EVEN, HEIGHT, BOX, TOP, BOTTOM, BARS } = kit.constants;

const total = (values) => values.reduce((sum, value) => sum + value, 0);
const known = new Map();

/* Whole numbers in 12 bits, two in three bytes, times a power of two: unpacked once. */
export function unpack({ unit, size, parts }) {
  if (!known.has(parts)) {
    const bytes = Array.from(atob(parts), (sign) => sign.charCodeAt(0)), whole = [];
    for (let i = 0; i < bytes.length; i += 3) {
      whole.push((bytes[i] << 4) | (bytes[i + 1] >> 4), ((bytes[i + 1] & 15) << 8) | bytes[i + 2]);
    }
    known.set(parts, whole.slice(0, size).map((number) => unit * number));
  }
  return known.get(parts);
}

/* What was packed as a table: one row of it. */
function row(table, at, count) {
  const numbers = unpack(table), wide = numbers.length / count;
  return numbers.slice(at * wide, (at + 1) * wide);
}

function softmax(lacks, beta) {
  const exponentials = lacks.map((lack) => Math.exp(-beta * lack)), sum = total(exponentials);
  return exponentials.map((exponential) => exponential / sum);
}

/* Of each token of the product the copies that are seen, where it is hidden; else none. */
function seen({ tokens, hidden, origins }) {
  const first = tokens.length - 1 - origins.length;
  return origins.map((keys, i) => (hidden.includes(first + i) ? keys.filter((key) => !hidden.includes(key)) : []));
}

/* U of the rows that have a right key. */
function thermometer(rows, right) {
  const told = right.flatMap((key, i) => (key < 0 ? [] : [[rows[i], key]]));
  const target = total(told.map(([weights, key]) => weights[key]));
  return total(told.map(([weights]) => total(weights.map((p) => p * p)))) / target;
}

function between({ log2_betas: powers, ...record }, name, step, beta) {
  const curve = row(record[name], step - 1, STEPS), power = Math.log2(beta);
  const left = Math.max(0, Math.min(powers.length - 2, powers.filter((each) => each <= power).length - 1));
  return curve[left] + ((power - powers[left]) / (powers[left + 1] - powers[left])) * (curve[left + 1] - curve[left]);
}

/* The beta nearest to 1 at which U is one, at the mapper's best step. */
function crossing({ log2_betas: powers, U, step }) {
  const curve = row(U, step - 1, STEPS), found = [];
  for (let k = 0; k + 1 < curve.length; k += 1) {
    const [below, above] = [curve[k], curve[k + 1]];
    if ((below - 1) * (above - 1) <= 0 && below !== above) {
      found.push(powers[k] + ((1 - below) / (above - below)) * (powers[k + 1] - powers[k]));
    }
  }
  const nearest = found.reduce((best, each) => (Math.abs(each) < Math.abs(best) ? each : best), Infinity);
  return Number.isFinite(nearest) ? 2 ** nearest : null;
}

/* Every number that the figure shows. */
export function measure({ record, string, step, beta }) {
  const given = record.strings[string], { tokens, origins, right } = given, arrow = tokens.indexOf(ARROW), copies = seen(given);
  const flat = row(given.lacks, step - 1, STEPS);
  const lacks = origins.map((_, i) => flat.slice(i * tokens.length, (i + 1) * tokens.length));
  const weights = lacks.map((each) => softmax(each, beta)), best = lacks.map((each) => each.indexOf(Math.min(...each)));
  const one = crossing(record), U = between(record, "U", step, beta);
  return {
    weights,
    rest: weights.map((each) => total(each.slice(arrow + 1))),
    best,
    asked: copies.filter((keys) => keys.length).length,
    right: copies.filter((keys, i) => keys.includes(best[i])).length,
    U: thermometer(weights, right),
    curve: record.log2_betas.map((power) => thermometer(lacks.map((each) => softmax(each, 2 ** power)), right)),
    sample_U: U,
    sample_target: between(record, "target", step, beta),
    one,
    solved: step === record.step && one !== null && (Math.abs(U - 1) < EVEN || Math.abs(Math.log2(beta / one)) <= NEAR),
  };
}

const WIDEST = 30, THICK = 7, CHART = { left: 34, top: 24, bottom: 22, height: 150 }, SIGHT = [0.4, 2.5];
const NEXT_MS = 1000, SLOW_MS = 1800;

const STYLE = `
.lines path { fill: none; stroke: var(--b); stroke-dasharray: 5 4; transition: stroke-width 0.3s; animation: gather 0.9s ease-out; }
.lines .right { stroke: var(--a); stroke-dasharray: none; }
.lines .shown { opacity: 0.4; }
.alone .lines .shown { display: none; }
@keyframes gather { from { stroke-width: 0.3px; } }
@media (prefers-reduced-motion: reduce) { .lines path { animation: none; } }
.token rect { fill: var(--field); stroke: var(--rule); }
.token.gap rect { stroke: var(--ink); stroke-dasharray: 3 2; }
.token.good rect { stroke: var(--a); stroke-dasharray: none; stroke-width: 2.5; }
.token.bad rect { stroke: var(--b); stroke-dasharray: 3 2; stroke-width: 2.5; }
svg .token text { fill: var(--ink); font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; }
svg .token .truth { font-size: 11.5px; fill: var(--quiet); }
.rest { fill: var(--b); opacity: 0.75; }
.says, .task { margin: 0; }
.task { border-left: 3px solid var(--rule); padding-left: 9px; }
.task.solved { border-color: var(--c); }
.side { align-content: start; display: grid; gap: 10px; min-width: 0; }
.side svg { width: 100%; }
.even { stroke: var(--ink); stroke-dasharray: 2 3; }
.mine { stroke-width: 1.3; }
.here { stroke: var(--ink); stroke-width: 1.5; }
.also { border-top: 1px solid var(--rule); display: grid; gap: 10px; margin-top: 12px; padding-top: 12px; }
.also[hidden] { display: none; }
p.quiet { margin: 0; }
table { border-collapse: separate; border-spacing: 2px; font-size: 12px; max-width: 480px; table-layout: fixed; width: 100%; }
caption { font-size: 12.5px; font-weight: 600; padding-bottom: 4px; text-align: left; }
th { color: var(--quiet); font-size: 11.5px; font-weight: 400; text-align: center; }
thead th:first-child { width: 36px; }
tbody th { text-align: left; }
td { background: var(--field); border-radius: 3px; padding: 2px 0; text-align: center; }
td.many { box-shadow: inset 0 -3px 0 var(--a); }
td.now { font-weight: 700; outline: 2px solid var(--ink); outline-offset: -2px; }
`;

const NAMES = ["record", "string", "step", "beta", "alone", "more"];

function render({ model, el }) {
  const ground = kit.card(el, "The mapper", STYLE);
  const { record, ...initial } = kit.read(model, NAMES);
  const shares = Array.from({ length: STEPS }, (_, t) => row(record.shares, t, STEPS)), heads = shares[0].map((_, h) => h);
  const share = (t) => shares[t - 1][record.head - 1], percent = (part) => `${(100 * part).toFixed(0)} %`;
  const many = record.count.toLocaleString("en-US");
  const short = (U) => (U < 9.995 ? kit.numeral(U) : "over 10");
  let readout = null, playing = 0, built = "", drawn = "", lines = [];

  const change = (changes) => {
    pause();
    kit.store(model, changes);
  };
  const phase = kit.html("span", { class: "phase" });
  const map = kit.svg("svg", { height: HEIGHT, role: "img" }), key = kit.html("p", { class: "quiet" },
    "Full lines lead to where a token comes from, dashed ones elsewhere; bars: weight that stays in the product. Beside _ stands "
    + "what is hidden; framed in colour: whose copy is seen.");
  const picture = kit.html("div", { class: "picture" }, map, key);
  const says = kit.html("p", { class: "says" }), task = kit.html("p", { class: "task" });
  const chart = kit.svg("svg", { height: CHART.height, role: "img" });
  const side = kit.html("div", { class: "side" }, says, chart, task);
  const step = kit.slider({ label: "Step", min: 1, max: STEPS, change: (value) => change({ step: value }) });
  const heat = kit.slider({
    label: "\u03b2 of this head at this step, in training 1",
    min: Math.log2(BETA_RANGE[0]), max: Math.log2(BETA_RANGE[1]), step: NEAR,
    format: (power) => String(Number((2 ** power).toPrecision(3))), change: (power) => change({ beta: 2 ** power }),
  });
  const play = kit.button("Play", () => (playing ? pause() : run()));
  const more = kit.button("More", () => kit.store(model, { more: !model.get("more") }));
  const which = kit.choice({ label: "String", change: (place) => change({ string: Number(place) }) });
  const alone = kit.toggle({ label: "lines of hidden tokens alone", change: (on) => change({ alone: on }) });
  const table = kit.html("table");
  const also = kit.html(
    "div", { class: "also" }, kit.html("div", { class: "row" }, which.element, alone.element), table,
    kit.html("p", { class: "quiet" }, `Hidden tokens of the product, of which one copy at least is seen, in ${many} other strings: `
      + "how often a head has its largest weight on it. Underlined: in more than half. Framed: the head above, at this step."),
  );
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      kit.html("div", { class: "row" }, step.element, heat.element),
      kit.html("div", { class: "row" }, play, more, kit.button("Reset", () => change(initial))),
    ], side, "1.25fr"),
    also,
  );

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.textContent = "Play";
  }

  /* One step more at a time; from the first if it stands at the last. */
  function run() {
    const go = (at) => kit.store(model, { step: at });
    if (model.get("step") === STEPS) go(1);
    play.textContent = "Pause";
    playing = setInterval(() => {
      go(Math.min(STEPS, model.get("step") + 1));
      if (model.get("step") === STEPS) pause();
    }, kit.reducedMotion() ? SLOW_MS : NEXT_MS);
  }

  const text = (kind, x, y, words, anchor = "middle", more = {}) =>
    kit.svg("text", { class: kind, x, y, "text-anchor": anchor, ...more }, words);
  const label = (kind, x, y, words, anchor) => kit.shape("text", { class: kind, x, y, "text-anchor": anchor }, words);

  /* The parts above, the product below, a line from each token of the product to each of the parts. */
  function build(given, width) {
    const { tokens, hidden, origins } = given, arrow = tokens.indexOf(ARROW), copies = seen(given);
    const cell = Math.min(WIDEST, width / (arrow + 1)), small = Math.min(13, (cell - 3) / 1.25);
    const place = (k, count) => width / 2 + cell * (k - (count - 1) / 2);
    const top = tokens.slice(0, arrow + 1).map((_, k) => place(k, arrow + 1)), low = origins.map((_, i) => place(i, origins.length));
    const token = (at, x, y, away) => {
      const gap = hidden.includes(at), word = WORDS[tokens[at]];
      return kit.svg("g", { class: gap ? "token gap" : "token" },
        kit.svg("rect", { x: x - cell / 2 + 1, y, width: cell - 2, height: BOX, rx: 4 }),
        text("", x, y + 18, gap ? "_" : word, "middle", !gap && word.length > 1 ? { style: `font-size: ${small}px` } : {}), ...(gap ? [text("truth", x, y + away, word)] : []));
    };
    const boxes = origins.map((_, i) => token(arrow + 1 + i, low[i], BOTTOM, BOX + 13));
    const bars = low.map((x) => kit.svg("rect", { class: "rest", x: x - cell / 2 + 3, y: BOTTOM + BOX + 18, width: cell - 6 }));
    const paths = origins.map((keys, i) => top.map((x, j) => {
      const kind = keys.includes(j) ? "right" : "wrong", [y, v] = [BOTTOM, TOP + BOX];
      const d = `M${low[i].toFixed(1)} ${y}C${low[i].toFixed(1)} ${y - 60} ${x.toFixed(1)} ${v + 60} ${x.toFixed(1)} ${v}`;
      return kit.svg("path", { class: `${kind}${copies[i].length ? "" : " shown"}`, d });
    }));
    lines = { boxes, bars, paths, copies };
    map.replaceChildren(
      text("name", 0, 11, "Parts", "start"),
      kit.svg("g", { class: "lines" }, ...paths.flat()), ...top.map((x, k) => token(k, x, TOP, -5)), ...boxes, ...bars,
      text("name", 0, low[0] - cell / 2 > 56 ? BOTTOM + 18 : HEIGHT - 2, "Product", "start"),
    );
  }

  /* Lines as thick as weights, and bars as long as what is left of them. */
  function weigh() {
    const { weights, rest, best } = readout, { boxes, bars, paths, copies } = lines;
    paths.forEach((each, i) => each.forEach((line, j) => line.setAttribute("stroke-width", (THICK * weights[i][j]).toFixed(2))));
    bars.forEach((bar, i) => bar.setAttribute("height", (BARS * rest[i]).toFixed(2)));
    boxes.forEach((box, i) => {
      box.classList.toggle("good", copies[i].includes(best[i]));
      box.classList.toggle("bad", copies[i].length > 0 && !copies[i].includes(best[i]));
    });
  }

  /* U against beta: of the other strings, thin of this one. */
  function curves(now, width) {
    const { left, top, bottom, height } = CHART, [from, to] = SIGHT, betas = record.log2_betas.map((power) => 2 ** power);
    const chart = kit.plot({
      make: kit.shape, left, top, width: width - left - 6, height: height - top - bottom, title: "Thermometer U by \u03b2; thin: this string", rise: 12,
      x: {
        from: BETA_RANGE[0], to: BETA_RANGE[1], log: true, ticks: [0.125, 0.25, 0.5, 1, 2, 4, 8],
        format: (beta) => (beta < 1 ? `1/${1 / beta}` : String(beta)),
      },
      y: { from, to, log: true, ticks: [0.5, 0.7, 1, 1.4, 2], format: String },
    });
    const points = (U) => betas.map((beta, k) => [beta, Math.min(9, Math.max(0.1, U[k]))]);
    const [x, y] = [chart.toX(now.beta), chart.toY(Math.min(to, Math.max(from, readout.sample_U)))];
    const right = width - 6, [high, low] = [chart.toY(to), chart.toY(from)];
    return [
      kit.shape("clipPath", { id: "sight" }, kit.shape("rect", { x: left, y: high, width: right - left, height: low - high })),
      ...chart.axes(), kit.shape("line", { class: "even", x1: left, x2: right, y1: chart.toY(1), y2: chart.toY(1) }),
      kit.shape("g", { "clip-path": "url(#sight)" },
        chart.line(points(readout.curve), "quiet", { class: "line mine" }), chart.line(points(row(record.U, now.step - 1, STEPS)), "c")),
      kit.shape("line", { class: "here", x1: x, x2: x, y1: high, y2: low }), kit.shape("circle", { cx: x, cy: y, r: 5, fill: "var(--c)" }),
      label("word", left + 5, high + 13, "too cold: too sure", "start"), label("word", right - 4, low - 6, "too hot: unsure", "end"),
    ];
  }

  /* How often each head is right at each step. */
  function grid(now) {
    const head = (scope, words) => kit.html("th", { scope }, words);
    const cell = (h, t) => {
      const mine = h + 1 === record.head && t + 1 === now.step;
      return kit.html("td", { class: `${shares[t][h] > 0.5 ? "many" : ""}${mine ? " now" : ""}` }, (100 * shares[t][h]).toFixed(0));
    };
    return [
      kit.html("caption", {}, "Right tokens of every head, in %, step by step"),
      kit.html("thead", {}, kit.html("tr", {}, head("col", "head"), ...shares.map((_, t) => head("col", String(t + 1))))),
      kit.html("tbody", {}, ...heads.map((h) => kit.html("tr", {}, head("row", String(h + 1)), ...shares.map((_, t) => cell(h, t))))),
    ];
  }

  function challenge(now) {
    const { solved, one, sample_U: U } = readout;
    if (one === null) return "No \u03b2 of this slider is the answer.";
    if (solved) return `Solved: U is one at ${kit.numeral(one)} times its own \u03b2.`;
    if (now.step !== record.step) return `That is step ${record.step}.`;
    return U < 1 ? `U is ${kit.numeral(U)}: too hot.` : `U is ${short(U)}: too cold.`;
  }

  function tell(now) {
    const { asked, right, U, sample_U, sample_target, best } = readout, given = record.strings[now.string], copies = seen(given);
    phase.textContent = `${right} of ${asked} right`;
    ground.body.classList.toggle("frozen", right === asked);
    ground.body.classList.toggle("alone", now.alone);
    const kind = sample_U < 0.97 ? "too hot" : sample_U > 1.03 ? "too cold" : "as sure as it is right";
    says.replaceChildren(
      `At step ${now.step} head ${record.head} is right for `, kit.html("b", {}, `${right} of ${asked}`),
      ` hidden tokens here, and for ${percent(share(now.step))} in ${many} other strings. There its right key has ${kit.numeral(sample_target)} of the weight, and it is ${kind}: `,
      kit.html("b", {}, `U${sample_U < 9.995 ? " =" : ""} ${short(sample_U)}`), `; here ${short(U)}.`,
    );
    const done = challenge(now);
    task.replaceChildren(kit.html("b", {}, "Challenge: "), "at which \u03b2 is the head, at its best step, as sure as it is right? ", done);
    task.classList.toggle("solved", readout.solved);
    step.set(now.step);
    step.mark(record.step, `here it is right most often, for ${percent(share(record.step))}`);
    heat.set(Math.log2(now.beta));
    heat.mark(0, "turns how sure it is, not where it looks most");
    more.textContent = now.more ? "Less" : "More";
    more.setAttribute("aria-expanded", String(now.more));
    alone.set(now.alone);
    which.set(now.string, record.strings.map(({ tokens, hidden }, k) => [k, tokens.slice(1, -1).map((token, i) => {
      const word = hidden.includes(i + 1) ? "_" : WORDS[token];
      return [".", ">>"].includes(word) ? ` ${word} ` : word;
    }).join("")]));
    const looks = copies.flatMap((keys, i) => {
      if (!keys.length) return [];
      const { tokens } = given, word = WORDS[tokens[tokens.indexOf(ARROW) + 1 + i]], key = best[i];
      return [`hidden ${word} to ${given.hidden.includes(key) ? "a hidden token" : WORDS[tokens[key]]}, ${keys.includes(key) ? "right" : "wrong"}`];
    });
    map.setAttribute("aria-label", `Largest weights from the product: ${looks.join("; ")}`);
    chart.setAttribute("aria-label", `U is ${short(sample_U)} in ${many} strings, ${short(U)} in this one`);
    if (!playing) ground.say(`${says.textContent} ${done}`);
  }

  function draw(way = {}) {
    const now = { ...kit.read(model, NAMES), ...way }, [width, beside] = [picture.clientWidth, side.clientWidth]; // before anything changes
    now.step = Math.round(now.step); // on arrival it comes from the first step
    const { record: _, ...plain } = now;
    readout = measure(now);
    also.hidden = !now.more;
    tell(now);
    const key = JSON.stringify([plain, width, beside]), place = `${now.string} ${width}`;
    if (key === drawn || width === 0) return; // else what is new would be drawn again
    drawn = key;
    if (place !== built) build(record.strings[now.string], width);
    built = place;
    weigh();
    kit.fill(chart, curves(now, beside));
    if (now.more) table.replaceChildren(...grid(now));
  }

  return kit.run({ model, el, ground, names: NAMES, draw, watch: [picture, side], end: pause, arrive: { step: 1 }, readout: () => readout }).close;
}

export default { render };
