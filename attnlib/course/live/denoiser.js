/* The denoiser: drag a noisy query among memories, count the steps it takes, and read the thermometer. */

const {
  MOST_STEPS, COPIES, EDGE, SIGHT, GOLDEN, FIRST, MEMORIES_RANGE, SIGMA_RANGE, BETA_RANGE, DRAWN, SCENES,
} = kit.constants;
const range = (count) => Array.from({ length: count }, (_, i) => i);

/* The memories on their circle, of squared length 2. */
export function circle(memories) {
  return range(memories).map((j) => [Math.cos(FIRST + j * GOLDEN), Math.sin(FIRST + j * GOLDEN)].map((x) => Math.SQRT2 * x));
}

/* What noise puts on a memory, as even as it can be: radii at the quantiles of Rayleigh's law, one golden angle after another. */
const NOISE = (() => {
  const squares = range(COPIES).map((i) => -Math.log1p(-(i + 0.5) / COPIES));
  const mean = squares.reduce((sum, square) => sum + square, 0) / COPIES;
  return squares.map((square, i) => [Math.cos(i * GOLDEN), Math.sin(i * GOLDEN)].map((x) => Math.sqrt((2 * square) / mean) * x));
})();

/* Softmax weights of the memories at a point, written into `weights`. */
function weigh(x, y, places, beta, weights) {
  let top = -Infinity, total = 0;
  for (let j = 0; j < places.length; j += 1) {
    weights[j] = beta * (places[j][0] * x + places[j][1] * y);
    top = Math.max(top, weights[j]);
  }
  for (let j = 0; j < places.length; j += 1) total += weights[j] = Math.exp(weights[j] - top);
  for (let j = 0; j < places.length; j += 1) weights[j] /= total;
  return weights;
}

/* The states after 0 to `count` steps of a length. */
function descend(query, places, beta, length, count, weights) {
  const states = [query];
  let [x, y] = query;
  for (let step = 0; step < count; step += 1) {
    weigh(x, y, places, beta, weights);
    let [across, up] = [0, 0];
    for (let j = 0; j < places.length; j += 1) {
      across += weights[j] * places[j][0];
      up += weights[j] * places[j][1];
    }
    x += length * (across - x);
    y += length * (up - y);
    states.push([x, y]);
  }
  return states;
}

/* Every number that the figure shows; see the readout in Python. */
export function measure({ query, steps, half, sigma, beta, memories }) {
  const places = circle(memories), length = half ? 0.5 : 1, weights = new Array(memories), errors = new Array(MOST_STEPS + 1).fill(0);
  let [bayes, sure, right] = [0, 0, 0];
  const off = ([x, y], truth) => (x - truth[0]) ** 2 + (y - truth[1]) ** 2, count = 2 * COPIES * memories;
  for (let target = 0; target < memories; target += 1) {
    const truth = places[target];
    for (const noise of NOISE) {
      const asked = truth.map((x, axis) => x + sigma * noise[axis]);
      weigh(...asked, places, beta, weights);
      for (const weight of weights) sure += weight * weight;
      right += weights[target];
      descend(asked, places, beta, length, MOST_STEPS, weights).forEach((state, step) => (errors[step] += off(state, truth)));
      bayes += off(descend(asked, places, sigma ** -2, 1, 1, weights)[1], truth);
    }
  }
  return {
    places,
    states: descend(query, places, beta, length, MOST_STEPS, weights),
    weights: [...weigh(...query, places, beta, weights)],
    posterior: descend(query, places, sigma ** -2, 1, 1, weights)[1],
    errors: errors.map((error) => error / count),
    bayes: bayes / count,
    sure: (2 * sure) / count,
    right: (2 * right) / count,
    ratio: sure / right,
  };
}

/* The energy |x|^2 / 2 - ln(sum of exp(beta x.x_j)) / beta at the middles of `side` by `side` squares, rows from the top down. */
export function landscape(memories, beta, side) {
  const places = circle(memories), at = (i) => ((2 * i + 1) / side - 1) * SIGHT, heights = new Float64Array(side * side);
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      const x = at(column), y = -at(row);
      let [top, total] = [-Infinity, 0];
      for (const place of places) top = Math.max(top, place[0] * x + place[1] * y);
      for (const place of places) total += Math.exp(beta * (place[0] * x + place[1] * y - top));
      heights[row * side + column] = (x * x + y * y) / 2 - top - Math.log(total) / beta;
    }
  }
  return heights;
}

/* The noise that a seed hides. */
export function hidden(seed) {
  return Math.round(100 * DRAWN[0] * (DRAWN[1] / DRAWN[0]) ** kit.generator(seed).uniform()) / 100;
}

/* What the thermometer says: within half a percent of one, above or below. */
export const feels = (ratio) => (Math.abs(ratio - 1) < 0.005 ? "as sure as right" : ratio > 1 ? "too cold" : "too hot");

const NAMES = ["query", "steps", "half", "sigma", "beta", "memories", "blind", "seed"];
const CHART = { left: 34, top: 30, height: 150, bottom: 36 }, GAUGE = { height: 66, least: 0.5, most: 2 }, NEAR = 0.05;
const SIDE = 80, BANDS = 12;

const STYLE = `
.chips { gap: 8px 10px; margin-bottom: 10px; }
.chips button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.plane { aspect-ratio: 1; margin: 0 auto; max-width: 370px; touch-action: manipulation; width: 100%; }
.plane svg { height: 100%; overflow: hidden; position: relative; }
.plane canvas { border-radius: 8px; height: 100%; inset: 0; position: absolute; width: 100%; }
.ring { fill: none; stroke: var(--quiet); opacity: 0.45; }
.memory { fill: var(--a); }
.pull { stroke: var(--a); opacity: 0.5; }
.noise { fill: none; stroke: var(--quiet); stroke-dasharray: 3 4; }
.path { fill: none; stroke: var(--b); stroke-width: 2; }
.state { fill: var(--b); }
.ahead { fill: none; stroke: var(--b); opacity: 0.5; }
.here { stroke: var(--ground); stroke-width: 1.5; }
.posterior { fill: none; stroke: var(--c); stroke-width: 2.5; }
.handle {
  background: none; border: 0; border-radius: 50%; cursor: grab; height: 44px; margin: -22px; min-height: 0; padding: 0;
  position: absolute; touch-action: none; width: 44px;
}
.handle circle { fill: var(--ground); stroke: var(--ink); stroke-width: 2.2; }
.handle svg { height: 44px; pointer-events: none; width: 44px; }
.side { align-content: start; display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
.side svg, .scale svg { width: 100%; }
.scale { flex: 1 1 220px; min-width: 0; }
.side dl { margin-top: 2px; }
.bayes { stroke: var(--c); stroke-dasharray: 5 4; stroke-width: 2; }
.glass { fill: var(--field); stroke: var(--rule); }
.mercury { fill: var(--b); }
.cold { fill: var(--a); }
.even { fill: var(--c); }
.one { stroke: var(--ink); stroke-width: 2; }
.more { border-top: 1px solid var(--rule); display: grid; gap: 8px; padding-top: 8px; }
.more[hidden], label[hidden], dl > div[hidden] { display: none; }
.task { font-size: 13px; }
.sure .phase::before { background: var(--c); }
.cool .phase::before { background: var(--a); border-radius: 1px; }
`;

function render({ model, el }) {
  const ground = kit.card(el, "Denoiser", STYLE), initial = kit.read(model, NAMES);
  let [readout, known, painted, gliding, verdict, opened] = [null, "", "", null, "", false];

  const phase = kit.html("span", { class: "phase" });
  const drawing = kit.svg("svg", { role: "img" });
  const relief = kit.html("canvas", { width: SIDE, height: SIDE, "aria-hidden": "true" }), pen = relief.getContext("2d");
  const handle = kit.html("button", { type: "button", class: "handle" }, kit.svg("svg", { "aria-hidden": "true" },
    kit.svg("circle", { cx: 22, cy: 22, r: 8 })));
  const handles = kit.html("div", { role: "group", "aria-label": "The query. The arrow keys move it, with shift further" }, handle);
  const plane = kit.html("div", { class: "picture plane" }, relief, drawing, handles);
  const chart = kit.svg("svg", { role: "img" });
  const gauge = kit.svg("svg", { class: "gauge", height: GAUGE.height, role: "img" });
  const rows = { error: kit.reading("Mean squared error"), ratio: kit.reading("Thermometer U") };
  const side = kit.html("div", { class: "side" }, chart, kit.html("dl", {}, rows.error.element, rows.ratio.element));

  const number = (value) => String(Number(value.toPrecision(3)));
  const steps = kit.slider({ label: "Steps down the energy", min: 0, max: MOST_STEPS, change: (value) => walk({ steps: value }) });
  const half = kit.toggle({ label: "half steps", change: (on) => change({ half: on }) });
  const beta = kit.slider({
    label: "Inverse temperature \u03b2", min: BETA_RANGE[0], max: BETA_RANGE[1], log: true, format: number,
    change: (value) => change({ beta: value }),
  });
  const sigma = kit.slider({ label: "Noise \u03c3", min: SIGMA_RANGE[0], max: SIGMA_RANGE[1], step: 0.01, format: (x) => x.toFixed(2), change: disturb });
  const memories = kit.slider({
    label: "Memories K", min: MEMORIES_RANGE[0], max: MEMORIES_RANGE[1], change: (value) => change({ memories: value }),
  });
  const chips = Object.entries(SCENES).map(([name, scene]) => ({ scene, chip: kit.button(name, () => walk(scene)) }));
  const more = kit.html("div", { class: "more", id: "more", hidden: "" },
    kit.html("div", { class: "row" }, beta.element, kit.html("div", { class: "scale" }, gauge)),
    kit.html("div", { class: "row" }, sigma.element, memories.element, half.element));
  const open = kit.button("More", () => unfold(!opened));
  const task = kit.html("span", { class: "task", "aria-live": "polite" });
  const hide = kit.button("Hide \u03c3", conceal), answer = kit.button("I have it", reveal);
  open.setAttribute("aria-controls", "more");
  ground.head.append(phase);
  ground.body.append(
    kit.html("div", { class: "row chips", role: "group", "aria-label": "Sentences that set the figure" }, ...chips.map(({ chip }) => chip)),
    kit.layout(plane, [
      kit.html("div", { class: "row" }, steps.element, kit.html("div", { class: "row" }, open, kit.button("Reset", () => walk(initial)))),
      more,
      kit.html("div", { class: "row" }, hide, answer, task),
    ], side),
  );

  // What the reader does

  function change(changes) {
    glide.stop();
    gliding = null;
    verdict = "";
    kit.store(model, changes);
  }

  /* The head goes from where it is to where the new number of steps leads. */
  function walk(changes) {
    const from = model.get("steps");
    change(changes);
    roll(from, model.get("steps"), 0.25);
  }

  function roll(from, to, seconds) {
    if (from === to || kit.reducedMotion()) return;
    gliding = { from, to, at: from, seconds: seconds * (1 + Math.abs(to - from)) };
    glide.start();
  }

  const glide = kit.loop((seconds) => {
    const share = Math.min(seconds / gliding.seconds, 1), ease = share * share * (3 - 2 * share);
    gliding.at = gliding.from + ease * (gliding.to - gliding.from);
    if (share === 1) gliding = null;
    redraw();
    return share < 1;
  });

  /* Another noise: beta goes with it, so that it stays the same in units of 1 / sigma^2. */
  function disturb(value) {
    const scaled = model.get("beta") * (model.get("sigma") / value) ** 2;
    change({ sigma: value, beta: Math.max(BETA_RANGE[0], Math.min(BETA_RANGE[1], scaled)) });
  }

  function unfold(on) {
    opened = on;
    redraw();
  }

  /* A noise that only the thermometer tells: beta begins at the cold end. */
  function conceal() {
    const seed = (model.get("seed") + 1) % 2 ** 31;
    unfold(true);
    change({ seed, sigma: hidden(seed), beta: BETA_RANGE[1], blind: true });
  }

  function reveal() {
    const truth = model.get("sigma"), guess = model.get("beta") ** -0.5, off = Math.abs(guess / truth - 1);
    change({ blind: false });
    const far = `${(100 * off).toFixed(0)} % off`;
    verdict = `\u03c3 was ${truth.toFixed(2)}; your 1/\u221a\u03b2 is ${guess.toFixed(2)}, ${far}. ${off < NEAR ? "Found!" : "Try another."}`;
    redraw();
  }

  const inside = (x) => Math.round(100 * Math.max(-EDGE, Math.min(EDGE, x))) / 100;
  kit.drag(handles, {
    find: (element) => (handle.contains(element) ? handle : null),
    take(event) {
      if (!handle.contains(event.target)) return null;
      handle.focus({ preventScroll: true });
      return handle;
    },
    move(_, event) {
      const box = drawing.getBoundingClientRect(), scale = (2 * SIGHT) / box.width;
      change({ query: [(event.clientX - box.left) * scale - SIGHT, SIGHT - (event.clientY - box.top) * scale].map(inside) });
    },
    push: (_, way) => change({ query: model.get("query").map((x, i) => inside(x + 0.1 * way[i])) }),
  });

  // What the figure shows

  function picture(now) {
    const { places, states, weights, posterior } = readout, size = drawing.clientWidth, unit = size / (2 * SIGHT);
    const to = ([x, y]) => [unit * (x + SIGHT), unit * (SIGHT - y)], at = gliding ? gliding.at : now.steps, whole = Math.floor(at);
    const dot = (kind, point, r) => kit.svg("circle", { class: kind, cx: to(point)[0], cy: to(point)[1], r });
    const part = at - whole, next = states[Math.min(whole + 1, MOST_STEPS)];
    const head = states[whole].map((x, axis) => x + part * (next[axis] - x)), way = [...states.slice(0, whole + 1), head];
    const middle = to([0, 0])[0], out = (place) => to(place.map((x) => (x * (Math.SQRT2 * unit + 30)) / (Math.SQRT2 * unit)));
    handle.style.left = `${to(now.query)[0]}px`;
    handle.style.top = `${to(now.query)[1]}px`;
    drawing.replaceChildren(
      kit.svg("circle", { class: "ring", cx: middle, cy: middle, r: Math.SQRT2 * unit }),
      ...(now.blind ? [] : [dot("noise", now.query, now.sigma * unit)]),
      ...places.map((place, j) => {
        const [[x1, y1], [x2, y2]] = [to(now.query), to(place)];
        return kit.svg("line", { class: "pull", x1, y1, x2, y2, "stroke-width": 6 * weights[j] });
      }),
      ...places.map((place, j) => dot("memory", place, 4 + 9 * Math.sqrt(weights[j]))),
      ...places.map((place, j) => {
        const [x, y] = out(place);
        return kit.svg("text", { class: "word", x, y: y + 4, "text-anchor": "middle" }, kit.numeral(weights[j]).replace(/^\d+e.*/, "0.00"));
      }),
      kit.svg("path", { class: "path", d: `M${way.map((point) => to(point).map((x) => x.toFixed(1)).join(" ")).join("L")}` }),
      ...states.slice(1, whole + 1).map((state) => dot("state", state, 3.5)),
      ...(now.blind ? [] : [dot("posterior", posterior, 10)]),
      dot("state here", head, 6),
    );
  }

  /* The energy as bands, the higher the fainter: a valley at the memories, or between them. */
  function paint({ memories: count, beta: cold }) {
    const look = [count, cold, ground.colour("accent")].join();
    if (look === painted) return;
    painted = look;
    const heights = landscape(count, cold, SIDE), low = heights.reduce((least, height) => Math.min(least, height), Infinity);
    const image = pen.createImageData(SIDE, SIDE), [red, green, blue] = [1, 3, 5].map((i) => parseInt(look.slice(-7).slice(i, i + 2), 16));
    heights.forEach((height, i) => {
      const band = Math.floor(BANDS * Math.max(0, 1 - Math.sqrt((height - low) / 3)));
      image.data.set([red, green, blue, (70 * band) / BANDS], 4 * i);
    });
    pen.putImageData(image, 0, 0);
  }

  function errors(now, width) {
    if (now.blind) {
      return [kit.svg("text", { x: width / 2, y: 14, "text-anchor": "middle" }, "errors are hidden: they would tell \u03c3")];
    }
    const { errors: all, bayes } = readout, most = Math.max(...all) * 1.05;
    const { toX, toY, axes, line, dots } = kit.plot({
      left: CHART.left, top: CHART.top, width: width - CHART.left - 8, height: CHART.height, title: "mean squared error after so many steps",
      x: { from: 0, to: MOST_STEPS, ticks: range(MOST_STEPS + 1), format: String }, y: { from: 0, to: most },
    });
    const points = all.map((error, step) => [step, error]);
    return [
      ...axes(),
      line([[0, bayes], [MOST_STEPS, bayes]], "c", { class: "line bayes" }),
      kit.svg("text", { class: "word", x: width - 8, y: toY(bayes) + 15, "text-anchor": "end" }, `Bayes ${kit.numeral(bayes, 3)}`),
      line(points, "quiet"),
      dots(points, "quiet"),
      kit.svg("circle", { class: "state", cx: toX(now.steps), cy: toY(all[now.steps]), r: 6 }),
    ];
  }

  /* The thermometer lies on its side: hot on the left, where U is below one. */
  function thermometer(width) {
    const { least, most } = GAUGE, [left, right] = [10, width - 10];
    const toX = (ratio) => left + ((Math.log(Math.max(least, Math.min(most, ratio)) / least)) / Math.log(most / least)) * (right - left);
    const from = toX(1), to = toX(readout.ratio), kind = { "too cold": "cold", "too hot": "mercury" }[feels(readout.ratio)] ?? "even";
    const text = (x, y, words, anchor, name = "") => kit.svg("text", { class: name, x, y, "text-anchor": anchor }, words);
    return [
      text(0, 11, `thermometer U = ${kit.numeral(readout.ratio)}`, "start", "name"),
      kit.svg("rect", { class: "glass", x: left - 6, y: 22, width: right - left + 12, height: 16, rx: 8 }),
      kit.svg("rect", { class: kind, x: Math.min(from, to), y: 26, width: Math.abs(to - from), height: 8 }),
      kit.svg("line", { class: "one", x1: from, x2: from, y1: 18, y2: 42 }),
      kit.svg("circle", { class: kind, cx: to, cy: 30, r: 7 }),
      text(left - 6, 58, "0.5 too hot", "start"), text(from, 58, "1", "middle"), text(right + 6, 58, "too cold 2", "end"),
    ];
  }

  function tell(now) {
    const { states, errors: all, bayes, ratio, sure, right } = readout, word = feels(ratio), long = (value) => kit.numeral(value, 3);
    const scaled = now.beta * now.sigma ** 2, kind = now.half ? "half " : "", [x, y] = states[now.steps];
    phase.textContent = word;
    ground.body.classList.toggle("sure", word === "as sure as right");
    ground.body.classList.toggle("cool", word === "too cold");
    const over = all[now.steps] / bayes - 1;
    rows.error.element.hidden = now.blind;
    rows.error.set(long(all[now.steps]), over < 5e-7 ? "Bayes: no answer errs less" : `${(100 * over).toFixed(1)} % more than Bayes, ${long(bayes)}`);
    rows.ratio.set(kit.numeral(ratio), `how sure, \u27e8\u03a3p\u00b2\u27e9 = ${long(sure)}; how right, \u27e8p\u27e9 = ${long(right)}`);
    steps.set(now.steps);
    half.set(now.half);
    beta.set(now.beta);
    beta.mark(now.blind ? NaN : now.sigma ** -2, `mark: 1/\u03c3\u00b2; now \u03b2 = ${kit.numeral(scaled)}/\u03c3\u00b2`);
    sigma.set(now.sigma);
    sigma.element.hidden = now.blind;
    memories.set(now.memories);
    more.hidden = !opened;
    open.setAttribute("aria-expanded", String(opened));
    hide.hidden = now.blind;
    answer.hidden = !now.blind;
    task.textContent = verdict || (now.blind
      ? "\u03c3 is hidden. Turn \u03b2 down from the cold end until U reads 1.00."
      : "Can you read \u03c3 off the thermometer?");
    handle.setAttribute("aria-label", `query at ${now.query.map((place) => kit.numeral(place)).join(", ")}`);
    for (const { scene, chip } of chips) {
      chip.setAttribute("aria-pressed", String(JSON.stringify({ ...now, ...scene }) === JSON.stringify(now)));
    }
    const went = `After ${now.steps} ${kind}steps the query is at ${kit.numeral(x)}, ${kit.numeral(y)}`;
    drawing.setAttribute("aria-label", `${now.memories} memories on a circle and a query. ${went}`);
    chart.setAttribute("aria-label", now.blind ? "Errors are hidden" : `Mean squared errors after 0 to ${MOST_STEPS} steps: ${all.map(long).join(", ")}`);
    gauge.setAttribute("aria-label", `Thermometer: U is ${kit.numeral(ratio)}, ${word}`);
    ground.say(`${went}. ${now.blind ? "" : `Mean squared error ${long(all[now.steps])}. `}U is ${kit.numeral(ratio)}, ${word}.`);
  }

  function draw() {
    const now = kit.read(model, NAMES), width = side.clientWidth, key = JSON.stringify([now, width, gauge.clientWidth]), fresh = key !== known;
    if (fresh) readout = measure(now);
    known = key;
    if (drawing.clientWidth > 0) picture(now);
    paint(now);
    if (gliding && !fresh) return;
    if (width > 0) {
      chart.setAttribute("height", now.blind ? 20 : CHART.top + CHART.height + CHART.bottom);
      chart.replaceChildren(...errors(now, width));
      gauge.replaceChildren(...thermometer(gauge.clientWidth || 300));
    }
    tell(now);
  }

  const { redraw, close } = kit.run({
    model, el, ground, names: NAMES, draw, watch: [plane, side, gauge], readout: () => readout,
    end: () => glide.stop(), arrive: () => roll(0, model.get("steps"), 0.6), // On arrival the query goes its way once.
  });
  return close;
}

export default { render };
