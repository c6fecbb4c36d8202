/* The softmax thermometer: drag scores, turn beta, and see the weights melt and freeze. */

/* Boltzmann weights of the logits at inverse temperature beta, and their entropy in nats. */
export function boltzmann(logits, beta) {
  const top = Math.max(...logits);
  const exponents = logits.map((logit) => beta * (logit - top));
  const total = exponents.reduce((sum, exponent) => sum + Math.exp(exponent), 0);
  const weights = exponents.map((exponent) => Math.exp(exponent) / total);
  const entropy = Math.log(total) - weights.reduce((sum, weight, i) => sum + weight * exponents[i], 0);
  return { weights, entropy };
}

/* Largest eigenvalue of diag(p) - p p^T. It lies between the two largest weights, a > b, and there it is the only zero of
   the decreasing function 1 - sum p_i^2 / (p_i - x): bisect. With 1 - a as the sum of the others no digit is lost near 1. */
export function spectralNorm(weights) {
  const [a, ...others] = [...weights].sort((one, two) => two - one);
  if (!others.length) return 0;
  const rest = others.reduce((sum, weight) => sum + weight, 0);
  const secular = (x) => (a * rest - x) / (a - x) + others.reduce((sum, weight) => sum + weight ** 2 / (x - weight), 0);
  let [low, high] = [others[0], a];
  for (let step = 0; step < 100; step += 1) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    if (secular(middle) > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/* Every number that the figure shows. Liquid: 1 when all keys share the weight equally, 0 when one key has it all. Sigma: the
   standard deviation of beta times the logits over the keys; sigma_c: where Gaussian scores of as many keys freeze. */
export function measure(logits, beta) {
  const { weights, entropy } = boltzmann(logits, beta);
  const keys = logits.length;
  const participation = weights.reduce((sum, weight) => sum + weight ** 2, 0);
  const mean = logits.reduce((sum, logit) => sum + logit, 0) / keys;
  const variance = logits.reduce((sum, logit) => sum + (logit - mean) ** 2, 0) / keys;
  const top = Math.max(...weights);
  const low = Math.max(...weights.map((weight, i) => {
    return weight < top ? weight * (1 - weight) : top * weights.reduce((sum, other, j) => (j === i ? sum : sum + other), 0);
  }));
  return {
    weights,
    entropy,
    entropy_ratio: keys > 1 ? entropy / Math.log(keys) : 1,
    participation,
    effective_keys: 1 / participation,
    liquid: keys > 1 ? -Math.log(participation) / Math.log(keys) : 1,
    norm: spectralNorm(weights),
    norm_low: low,
    norm_high: Math.min(2 * low, 0.5),
    sigma: beta * Math.sqrt(variance),
    sigma_c: Math.sqrt(2 * Math.log(keys)),
  };
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  [
    "Spread the scores further than where Gaussian ones freeze, and let no key have more than half the weight.",
    (_, { sigma, sigma_c, weights }) => weights.length > 1 && sigma > sigma_c && Math.max(...weights) <= 0.5,
  ],
  [
    "Bring the Jacobian's norm above 0.45 with ten keys or more.",
    (_, { norm, weights }) => weights.length >= 10 && norm > 0.45,
  ],
];

/* Standard Gaussian logits; the first ones do not depend on how many are asked for. */
export function gaussianLogits(keys, seed) {
  const { normal } = kit.generator(seed);
  return Array.from({ length: keys }, () => Math.round(100 * normal()) / 100);
}

const { FOUR, MOST_KEYS } = kit.constants;
const PLOT = { left: 30, right: 4, top: 30, logits: 168, gap: 60, weights: 128, bottom: 8 };
const HEIGHT = PLOT.top + PLOT.logits + PLOT.gap + PLOT.weights + PLOT.bottom;
const BASE = HEIGHT - PLOT.bottom;

const STYLE = `
.even { stroke: var(--quiet); stroke-dasharray: 3 3; }
.logit { fill: var(--a); opacity: 0.8; }
.grip { fill: var(--ink); }
.weight { fill: var(--b); }
svg .value { paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
.keys { display: grid; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column; position: absolute; }
.key { border-radius: 5px; cursor: ns-resize; position: relative; touch-action: pan-y; }
.hold { height: 44px; left: 50%; margin: -22px 0 0 calc(var(--hold) / -2); position: absolute; touch-action: none; width: var(--hold); }
.key:hover { background: color-mix(in srgb, var(--accent) 8%, transparent); }
.key:focus-visible { outline-offset: -2px; }
.side { align-items: center; display: flex; gap: 10px; min-width: 0; }
.side svg { flex: none; }
.glass { fill: var(--field); stroke: var(--rule); }
.ice { fill: url(#ice); }
.ice stop, #ice stop { stop-color: var(--a); }
.mercury, .bulb { fill: color-mix(in oklab, var(--b) var(--liquid), var(--a)); }
.phase { background: linear-gradient(90deg, var(--field) var(--liquid), var(--tint) var(--liquid)); }
.phase::before { background: color-mix(in oklab, var(--b) var(--liquid), var(--a)); }
.tick { stroke: var(--quiet); }
dl { flex: 1; }
dd.bar i { background: var(--c); }
dd.bar i + i { background: var(--ink); }
.layout dl { grid-template-columns: minmax(0, 1fr); }
.gauge { margin-top: 16px; }
.glide rect { transition: y 0.25s, height 0.25s; }
.glide path { transition: d 0.25s; }
`;

/* The thermometer: the effective number of keys, on a logarithmic scale from one key to all. */
function thermometer() {
  const [top, bottom, x] = [24, 250, 20];
  const place = (liquid) => bottom - liquid * (bottom - top);
  const mercury = kit.svg("rect", { class: "mercury", x: x - 4, width: 8 });
  const shares = [0, 0.25, 0.5, 0.75, 1], names = shares.map((share) => kit.svg("text", { x: x + 20, y: place(share) + 4 }));
  const ticks = shares.map((share) => {
    return kit.svg("line", { class: "tick", x1: x + 9, x2: x + 15, y1: place(share), y2: place(share) });
  });
  const element = kit.svg(
    "svg",
    { class: "gauge", width: 80, height: 300, role: "img", "aria-label": "Effective number of keys, from one to all" },
    kit.svg(
      "linearGradient", { id: "ice", x1: 0, x2: 0, y1: 0, y2: 1 },
      kit.svg("stop", { offset: 0.1, "stop-opacity": 0 }), kit.svg("stop", { offset: 1, "stop-opacity": 0.4 }),
    ),
    kit.svg("text", { class: "name", x: -4, y: -8 }, "effective keys"),
    kit.svg("rect", { class: "glass", x: x - 8, y: 4, width: 16, height: 276, rx: 8 }),
    kit.svg("rect", { class: "ice", x: x - 7, y: 5, width: 14, height: 266, rx: 7 }),
    kit.svg("circle", { class: "glass", cx: x, cy: 280, r: 15 }),
    kit.svg("circle", { class: "bulb", cx: x, cy: 280, r: 11 }),
    mercury,
    ...ticks,
    ...names,
    kit.svg("text", { x: x + 20, y: place(1) + 22 }, "liquid"),
    kit.svg("text", { x: x + 20, y: place(0) - 14 }, "frozen"),
  );
  const set = (liquid, keys) => {
    mercury.setAttribute("y", place(liquid));
    mercury.setAttribute("height", 280 - place(liquid));
    names.forEach((name, i) => (name.textContent = String(i === 4 ? keys : Number((keys ** shares[i]).toPrecision(2)))));
  };
  return { element, set };
}

function render({ model, el }) {
  const names = ["logits", "beta", "seed"];
  const ground = kit.card(el, "Softmax thermometer", STYLE), { body } = ground;
  const initial = kit.read(model, names);
  let [range, current, drawn, columns, height, place, bar, readout] = [3, 0, "", [], null, null, 0, null];

  const phase = kit.html("span", { class: "phase" });
  const shown = Object.fromEntries(["axes", "bars", "words"].map((name) => [name, kit.svg("g")]));
  const crowd = ["logit", "grip", "weight"].map((name) => kit.svg("path", { class: name })); // of many keys, the bars of each kind
  const picture = kit.svg("svg", { height: HEIGHT, "aria-hidden": "true" }, ...Object.values(shown));
  const keys = kit.html("div", {
    class: "keys", role: "group", "aria-label": "Logits. Up and down change a logit, left and right lead to another key", onkeydown: press,
  });
  const plots = kit.html("div", { class: "picture" }, picture, keys);
  const gauge = thermometer();
  const rows = {
    entropy: kit.reading("Entropy", true),
    effective: kit.reading("Effective keys", true),
    norm: kit.reading("Jacobian norm", true),
    spread: kit.reading("Spread \u03c3 of \u03b2s"),
  };
  const list = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));
  const beta = kit.slider({
    label: "Inverse temperature \u03b2", min: 0.01, max: 100, log: true,
    format: (value) => String(Number(value.toPrecision(4))),
    change: (value) => kit.store(model, { beta: value }),
  });
  const number = kit.slider({ label: "Number of keys K", min: 1, max: MOST_KEYS, change: resize });
  const tasks = kit.challenges(CHALLENGES), more = kit.more(
    number.element,
    kit.html("div", { class: "row" }, kit.button("Four logits", () => glide({ logits: FOUR })),
      kit.button("Equal", () => glide({ logits: model.get("logits").map(() => 0) }))),
  );
  const controls = [
    beta.element,
    kit.html(
      "div", { class: "row" },
      kit.button(`${MOST_KEYS} Gaussian scores`, drawAgain), more.button, kit.button("Reset", () => glide(initial)),
      kit.html("span", { class: "quiet" }, "Drag a logit, or use the arrow keys."),
    ),
    more.element,
  ];
  ground.head.append(phase);
  body.append(kit.layout(plots, controls, kit.html("div", { class: "side" }, gauge.element, list)), tasks.element);

  // What the reader does

  function setLogit(index, value) {
    const logits = [...model.get("logits")];
    if (index >= logits.length) return;
    logits[index] = Math.round(100 * Math.max(-range, Math.min(range, value))) / 100;
    kit.store(model, { logits });
  }

  function resize(size) {
    const logits = model.get("logits"), draws = gaussianLogits(size, model.get("seed"));
    const same = logits.length > 1 && logits.every((logit) => logit === logits[0]);
    kit.store(model, { logits: draws.map((draw, i) => (i < logits.length ? logits[i] : same ? logits[0] : draw)) });
  }

  function drawAgain() {
    const seed = (model.get("seed") + 1) % 2 ** 31;
    glide({ seed, logits: gaussianLogits(MOST_KEYS, seed), beta: 1 });
  }

  function glide(changes) {
    body.classList.add("glide");
    setTimeout(() => body.classList.remove("glide"), 300);
    kit.store(model, changes);
  }

  function valueAt(event) {
    const y = event.clientY - picture.getBoundingClientRect().top - PLOT.top;
    return range * (1 - (2 * y) / PLOT.logits);
  }

  const find = (element) => {
    const index = columns.findIndex(({ key }) => key.contains(element));
    return index < 0 ? null : index;
  };

  /* A mouse takes a logit wherever its column is pressed. A finger takes its grip; elsewhere it taps, or scrolls the page. */
  const { held } = kit.drag(keys, {
    find,
    take(event) {
      const index = find(event.target), tap = event.pointerType === "touch" && !event.target.matches(".hold");
      if (index === null) return null;
      focus(index);
      if (!tap) setLogit(index, valueAt(event));
      return { index, tap, from: event.clientX };
    },
    move: ({ index, tap }, event) => tap || setLogit(index, valueAt(event)),
    drop({ index, tap, from }, event) {
      if (tap && event.type === "pointerup" && Math.abs(event.clientX - from) < 10) setLogit(index, valueAt(event));
      draw();
    },
    push(index, [right, up]) {
      if (up) setLogit(index, model.get("logits")[index] + 0.1 * up);
      else focus(Math.max(0, Math.min(columns.length - 1, index + right)));
    },
  });

  function press(event) {
    const index = find(event.target), value = model.get("logits")[index];
    const steps = { PageUp: value + 1, PageDown: value - 1, Home: -range, End: range };
    if (!(event.key in steps)) return;
    setLogit(index, steps[event.key]);
    event.preventDefault();
  }

  function focus(index) {
    columns[current]?.key.setAttribute("tabindex", -1);
    current = index;
    columns[current].key.setAttribute("tabindex", 0);
    columns[current].key.focus({ preventScroll: true });
  }

  // What the figure shows

  /* Axes, and one column per key: laid out again only when the width, the range or the number of keys changes. */
  function build(width, count) {
    const step = [1, 2, 5, 10, 25, 50].find((size) => range / size <= 4);
    const box = { left: PLOT.left, width: width - PLOT.left - PLOT.right, x: { from: 0, to: count, ticks: [] } };
    const logits = kit.plot({
      ...box, top: PLOT.top, height: PLOT.logits, title: "logits s", rise: 19,
      y: { from: -range, to: range, ticks: kit.ticks({ from: -range, to: range }, (2 * range) / step) },
    });
    const weights = kit.plot({
      ...box, top: BASE - PLOT.weights, height: PLOT.weights, title: "weights p = softmax(\u03b2s)", rise: 24,
      y: { from: 0, to: 1, ticks: [0, 0.5, 1], format: String },
    });
    const slot = box.width / count, hold = Math.min(44, Math.max(slot, 28));
    const [worded, held] = [slot >= 38, slot >= 14];
    const had = keys.contains(body.getRootNode().activeElement);
    [height, place, bar] = [logits.toY, (i) => logits.toX(i + 0.5), Math.min(0.72 * slot, 46)];
    // Columns that are there stay: what comes, whole, and goes is at the end.
    for (const { key, bars } of columns.splice(count)) for (const part of [key, ...bars]) part.remove();
    const added = Array.from({ length: count - columns.length }, column);
    columns.push(...added);
    current = Math.min(current, count - 1);
    columns.forEach((one, i) => {
      const x = place(i);
      if (held && !one.bars.length) one.bars = rects();
      if (!held) for (const rect of one.bars.splice(0)) rect.remove();
      one.bars.forEach((rect, kind) => {
        write(rect, "x", x - bar / 2);
        write(rect, "width", bar);
        write(rect, "rx", [0, Math.min(2.5, bar / 2), Math.min(3, bar / 4)][kind]);
      });
      one.words = worded ? [0, 1].map(() => kit.svg("text", { class: "value", x, "text-anchor": "middle" })) : [];
      write(one.key, "tabindex", i === current ? 0 : -1);
      write(one.key, "aria-label", `logit of key ${i + 1} of ${count}`);
      write(one.key, "aria-valuemin", -range);
      write(one.key, "aria-valuemax", range);
      if (held && !one.hold.parentNode) one.key.append(one.hold);
      else if (!held && one.hold.parentNode) one.hold.remove();
    });
    keys.append(...added.map(({ key }) => key));
    shown.bars.append(...columns.flatMap(({ bars }) => bars).filter((rect) => !rect.parentNode));
    if (held) for (const path of crowd) path.remove();
    else if (!crowd[0].parentNode) shown.bars.append(...crowd);
    keys.style.cssText = `--hold: ${hold}px; left: ${PLOT.left}px; width: ${box.width}px; top: ${PLOT.top - 6}px; height: ${PLOT.logits + 12}px`;
    shown.axes.replaceChildren(...logits.axes(), ...weights.axes());
    shown.words.replaceChildren(
      weights.line([[0, 1 / count], [count, 1 / count]], "quiet", { class: "even" }), ...columns.flatMap(({ words }) => words),
    );
    if (had) columns[current].key.focus({ preventScroll: true });
  }

  function write(node, name, value) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }

  /* Of one key: what takes the mouse and the keyboard, and its bars. */
  function column() {
    const hold = kit.html("div", { class: "hold" });
    return { key: kit.html("div", { class: "key", role: "slider", "aria-orientation": "vertical" }), hold, bars: [] };
  }

  function rects() {
    return [kit.svg("rect", { class: "logit" }), kit.svg("rect", { class: "grip", height: 5 }), kit.svg("rect", { class: "weight" })];
  }

  /* The bars of many keys, which are too narrow to be taken one by one: a path for each kind, from height to height. */
  function drawCrowd(logits) {
    const path = (from, to) => logits.map((_, i) => `M${place(i) - bar / 2} ${from(i)}h${bar}V${to(i)}h${-bar}z`).join("");
    crowd[0].setAttribute("d", path((i) => height(logits[i]), () => height(0)));
    crowd[1].setAttribute("d", path((i) => height(logits[i]) - 2.5, (i) => height(logits[i]) + 2.5));
    crowd[2].setAttribute("d", path((i) => BASE - readout.weights[i] * PLOT.weights, () => BASE));
  }

  function draw(arriving) {
    const now = { ...kit.read(model, names), ...arriving }, { logits } = now, width = plots.clientWidth;
    if (held() === null) range = Math.max(3, Math.ceil(Math.max(...logits.map(Math.abs))));
    readout = measure(logits, now.beta);
    const layout = [width, range, logits.length].join();
    if (width > 0 && layout !== drawn) build(width, logits.length);
    if (width > 0) drawn = layout;

    columns.forEach((column, i) => {
      const { key, hold, bars: [logit, grip, weight], words } = column;
      const y = height(logits[i]), tall = readout.weights[i] * PLOT.weights;
      if (column.y !== y) {
        column.y = y;
        hold.style.top = `${y - PLOT.top + 6}px`;
        key.setAttribute("aria-valuenow", logits[i]);
      }
      key.setAttribute("aria-valuetext", `${kit.numeral(logits[i])}, weight ${kit.numeral(readout.weights[i], 3)}`);
      if (!logit) return;
      write(logit, "y", Math.min(y, height(0))); // a turn of beta moves none of them
      write(logit, "height", Math.abs(y - height(0)));
      write(grip, "y", y - 2.5);
      weight.setAttribute("y", BASE - tall);
      weight.setAttribute("height", tall);
      if (!words.length) return;
      words[0].setAttribute("y", y + (logits[i] < 0 ? 15 : -7));
      words[0].textContent = kit.numeral(logits[i]);
      words[1].setAttribute("y", BASE - tall - 5);
      words[1].textContent = kit.numeral(readout.weights[i]);
    });

    if (crowd[0].parentNode) drawCrowd(logits);

    const { entropy, entropy_ratio, participation, effective_keys, norm, norm_low, norm_high, sigma, sigma_c } = readout;
    const count = logits.length, melted = `${(100 * readout.liquid).toFixed(1)}%`;
    for (const part of [phase, gauge.element]) part.style.setProperty("--liquid", melted); // on the card all would be styled anew
    phase.textContent = `${(100 * (1 - readout.liquid)).toFixed(0)} % frozen`;
    gauge.set(readout.liquid, count);
    const [short, long] = [(value) => kit.numeral(value), (value) => kit.numeral(value, 3)];
    rows.entropy.set(`${long(entropy)} nats`, `${(100 * entropy_ratio).toFixed(0)} % of ln ${count}`, { to: entropy_ratio });
    const share = `${short(effective_keys)} of ${count}`;
    rows.effective.set(share, `1/Y\u2082, Y\u2082 = \u03a3p\u00b2 = ${long(participation)}`, { to: effective_keys / count });
    const bounds = `in [${long(norm_low)}, ${long(norm_high)}]; \u00d7 \u03b2 = ${long(norm * now.beta)}`;
    rows.norm.set(long(norm), bounds, { from: 2 * norm_low, to: 2 * norm_high, at: 2 * norm });
    rows.spread.set(short(sigma), `Gaussian scores freeze at \u221a(2 ln ${count}) = ${short(sigma_c)}`);
    beta.set(now.beta);
    number.set(count);
    tasks.judge(now, readout);
    ground.say(`${phase.textContent}: entropy ${short(entropy)} nats, effective keys ${share}`);
  }

  return kit.run({
    model, el, ground, names, draw, watch: [plots], readout: () => readout, solved: tasks.solved,
    arrive: { beta: (share, to) => Math.max(0.01, to * 10 ** (share - 1)) },
  }).close;
}

export default { render };
