/* The alignment film: attention of a translator at recorded steps of its training, and curves of the whole. */

const CURVES = Object.entries(kit.constants.CURVES);

const total = (values) => values.reduce((sum, value) => sum + value, 0);

/* All pictures of a run and a sentence, or one: frames of rows of weights, stored as bytes, 255 to a row. */
const texts = new Map();
export function film({ runs, sentences }, run, sentence, only = null) {
  const stored = runs[run].films[sentence], text = texts.get(stored) ?? atob(stored), { source, target } = sentences[sentence];
  const weight = (frame, i, j) => text.charCodeAt((frame * target.length + i) * source.length + j) / 255;
  texts.set(stored, text);
  const wanted = only === null ? runs[run].at.map((_, frame) => frame) : [only];
  return wanted.map((frame) => target.map((_, i) => source.map((_, j) => weight(frame, i, j))));
}

/* What one picture says: the largest weight of each row, how many of these links are gold, error and entropy. */
export function judge(weights, gold) {
  const links = weights.map((row) => row.indexOf(Math.max(...row)));
  const right = gold.filter(([i, j]) => links[i] === j).length;
  const entropies = weights.map((row) => -total(row.map((weight) => (weight > 0 ? weight * Math.log(weight) : 0))));
  return {
    links,
    right,
    sentence_aer: 1 - (2 * right) / (links.length + gold.length),
    sentence_entropy: total(entropies) / entropies.length / Math.log(weights[0].length),
  };
}

/* The last recorded step up to this one. */
export const frameOf = (at, step) => at.filter((recorded) => recorded <= step).length - 1;

/* Every number that the figure shows. */
export function measure({ record, run, sentence, step }) {
  const now = record.runs[run], frame = frameOf(now.at, step), weights = film(record, run, sentence, frame)[0];
  const curves = Object.fromEntries(CURVES.map(([name]) => [name, now[name][frame]]));
  return { step: now.at[frame], weights, ...judge(weights, record.sentences[sentence].gold), ...curves };
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Find a step at which every gold link has a row's largest weight.", ({ record, sentence }, { right }) => right === record.sentences[sentence].gold.length],
  ["Find attention that is frozen, its entropy below 0.1 of ln T, and right in more than half of its rows.",
    ({ record, sentence }, { right, sentence_entropy: entropy }) => entropy < 0.1 && 2 * right > record.sentences[sentence].target.length],
];

const ROWS = 280; // height of the map without its words: the player below it does not jump
const MAP = { left: 72, top: 74, right: 26 };
const PANEL = { height: 128, top: 32, bottom: 20, left: 26, right: 10 };
const PICTURE_MS = 220, SLOW_MS = 1000; // slow: for readers who asked for less motion

const STYLE = `
.score { background: var(--field); border: 1px solid var(--rule); border-radius: 99px; font-size: 12.5px; padding: 1px 9px; }
.curves { min-width: 0; }
.curves svg { cursor: ew-resize; touch-action: pan-y; width: 100%; }
.weight { fill: var(--a); }
.cell { fill: var(--field); }
.gold { fill: none; stroke: var(--b); stroke-width: 2.5; }
.link { fill: var(--ink); stroke: var(--ground); stroke-width: 1; }
svg .german, svg .english { fill: var(--ink); font-size: 12.5px; }
.player { align-items: center; display: flex; gap: 12px; }
.player button { min-width: 68px; }
svg .one { stroke-dasharray: 4 3; stroke-width: 1; }
svg .own { stroke-dasharray: 2 3; stroke-width: 1.2; }
.now { stroke: var(--b); }
.mark { fill: var(--b); stroke: var(--ground); stroke-width: 1.5; }
p { margin: 8px 0 0; }
`;

const nameOf = ({ score, seed, steps }) => `${score === "dot" ? "unscaled" : "scaled"}, seed ${seed}, ${steps} steps`;
const numbered = (names) => names.map((name, place) => [place, name]);

function render({ model, el }) {
  const names = ["record", "run", "sentence", "step"];
  const ground = kit.card(el, "Alignment film", STYLE);
  const { runs, sentences } = model.get("record");
  let readout = null, films = [], shown = "", playing = 0;

  const score = kit.html("span", { class: "score" });
  const map = kit.svg("svg", { role: "img" }), curves = kit.svg("svg", { height: 2 * PANEL.height, role: "img" });
  const picture = kit.html("div", { class: "picture" }, map);
  const beside = kit.html("div", { class: "curves" }, curves, kit.html("p", { class: "quiet" },
    "Curves: a hundred sentences; dotted: the one on show. Rings: gold links. Dots: the largest weight of a row."));
  const at = () => runs[model.get("run")].at, frame = () => frameOf(at(), model.get("step"));
  const go = (step) => kit.store(model, { step });
  const play = kit.button("Play", () => (playing ? pause() : start()));
  const slider = kit.slider({
    label: "Training step", min: 0, max: 1, format: (place) => String(at()[place]),
    change: (place) => {
      pause();
      go(at()[place]);
    },
  });
  const range = slider.element.querySelector("input");
  const run = kit.choice({ label: "Run", change: (place) => kit.store(model, { run: Number(place) }) });
  const sentence = kit.choice({ label: "Sentence", change: (place) => kit.store(model, { sentence: Number(place) }) });
  const controls = [
    kit.html("div", { class: "player" }, play, slider.element),
    kit.html("div", { class: "row" }, run.element, sentence.element),
    kit.html("div", { class: "quiet" }, "The learning rate warms up for a twentieth of the steps and then falls: a run of 2000 "
      + "steps is not a run of 400 steps continued."),
  ];
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(score);
  ground.body.append(kit.layout(picture, controls, beside, "1.1fr"), tasks.element);

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.textContent = "Play";
  }

  /* One recorded step after the other; from the beginning if it stands at the end. */
  function start() {
    if (frame() === at().length - 1) go(0);
    play.textContent = "Pause";
    playing = setInterval(() => {
      go(at()[frame() + 1]);
      if (frame() === at().length - 1) pause();
    }, kit.reducedMotion() ? SLOW_MS : PICTURE_MS);
  }

  /* English downwards, German across: cells for weights, rings for gold links, dots for the links that attention draws. */
  function cells(width, { source, target, gold }) {
    const { left, top } = MAP, free = width - left - MAP.right, size = Math.min(free / source.length, ROWS / target.length);
    const center = (i, j) => ({ cx: left + (j + 0.5) * size, cy: top + (i + 0.5) * size });
    const box = (kind, i, j, opacity) => kit.shape("rect", {
      class: kind, x: left + j * size, y: top + i * size, width: size - 1, height: size - 1, rx: 2, "fill-opacity": opacity,
    });
    map.setAttribute("height", top + Math.min(ROWS, free) + 4);
    return [
      ...target.map((word, i) => kit.shape("text", {
        class: "english", x: left - 6, y: top + (i + 0.5) * size + 4, "text-anchor": "end",
      }, word)),
      ...source.map((word, j) => kit.shape("text", {
        class: "german", transform: `translate(${left + (j + 0.5) * size} ${top - 6}) rotate(-48)`,
      }, word)),
      ...readout.weights.flatMap((row, i) => row.flatMap((weight, j) => {
        return [box("cell", i, j, 1), box("weight", i, j, weight.toFixed(4))];
      })),
      ...gold.map(([i, j]) => kit.shape("circle", { class: "gold", ...center(i, j), r: 0.36 * size })),
      ...readout.links.map((j, i) => kit.shape("circle", { class: "link", ...center(i, j), r: 3 })),
    ];
  }

  /* Four curves in two rows, each from zero, with a mark at the step. */
  function panels(width, now) {
    const record = runs[now.run], wide = width / 2, { left, right, bottom } = PANEL;
    const own = { aer: films.map((one) => one.sentence_aer), entropy: films.map((one) => one.sentence_entropy) };
    return CURVES.flatMap(([key, name], place) => {
      const top = Math.floor(place / 2) * PANEL.height + PANEL.top, tall = own[key] ? 1 : Math.ceil(Math.max(...record[key]));
      const plot = kit.plot({
        make: kit.shape, left: (place % 2) * wide + left, top, width: wide - left - right, height: PANEL.height - PANEL.top - bottom,
        x: { from: 0, to: record.steps, ticks: [0, record.steps], format: String },
        y: { from: 0, to: tall, ticks: key === "spread" ? [...new Set([0, 1, tall])] : [0, tall], format: String },
      });
      const { toX, toY, axes, line } = plot, points = (values) => record.at.map((step, i) => [step, values[i]]);
      const [x, y] = [toX(readout.step), toY(readout[key])];
      return [
        kit.shape("text", {
          class: "name", x: (place % 2) * wide, y: top - 18, style: `font-size: ${Math.min(12.5, wide / 12.5)}px`,
        }, `${name}: ${kit.numeral(readout[key])}`),
        ...axes(),
        ...(key === "spread" ? [line([[0, 1], [record.steps, 1]], "quiet", { class: "line one" })] : []),
        ...(own[key] ? [line(points(own[key]), "quiet", { class: "line own" })] : []),
        line(points(record[key]), "a"),
        kit.shape("line", { class: "now", x1: x, x2: x, y1: toY(tall), y2: toY(0) }),
        kit.shape("circle", { class: "mark", cx: x, cy: y, r: 4 }),
      ];
    });
  }

  /* A press or a drag in the curves leads to that step. */
  function scrub(event) {
    if (event.type === "pointermove" && !curves.hasPointerCapture(event.pointerId)) return;
    if (event.type === "pointerdown") curves.setPointerCapture(event.pointerId);
    const box = curves.getBoundingClientRect(), wide = box.width / 2, x = (event.clientX - box.left) % wide;
    const share = Math.max(0, Math.min(1, (x - PANEL.left) / (wide - PANEL.left - PANEL.right)));
    pause();
    go(Math.round(share * runs[model.get("run")].steps));
  }
  curves.addEventListener("pointerdown", scrub);
  curves.addEventListener("pointermove", scrub);

  function tell(now) {
    const short = (value) => kit.numeral(value), { target } = sentences[now.sentence];
    const links = `${readout.right} of ${target.length} largest weights on gold links`;
    const about = `after step ${readout.step}: ${links}, entropy ${short(readout.sentence_entropy)} of ln T`;
    const measured = CURVES.map(([key, name]) => `${name} ${short(readout[key])}`).join(", ");
    score.textContent = `${readout.right} of ${target.length} on gold`;
    map.setAttribute("aria-label", `Attention for \u201c${target.join(" ")}\u201d ${about}`);
    curves.setAttribute("aria-label", `At step ${readout.step}: ${measured}`);
    if (!playing) ground.say(`${nameOf(runs[now.run])}, ${about}`);
  }

  function draw(arriving) {
    const now = { ...kit.read(model, names), ...arriving }, { gold } = sentences[now.sentence];
    const [wide, width] = [picture.clientWidth, beside.clientWidth];
    readout = measure(now);
    if (shown !== `${now.run} ${now.sentence}`) films = film(now.record, now.run, now.sentence).map((one) => judge(one, gold));
    shown = `${now.run} ${now.sentence}`;
    range.max = at().length - 1;
    slider.set(frameOf(at(), now.step));
    run.set(now.run, numbered(runs.map(nameOf)));
    sentence.set(now.sentence, numbered(sentences.map(({ source }) => source.join(" "))));
    if (wide > 0) kit.fill(map, cells(wide, sentences[now.sentence]));
    if (width > 0) kit.fill(curves, panels(width, now));
    tell(now);
    tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names, draw, watch: [picture], end: pause, arrive: { step: 0 }, readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
