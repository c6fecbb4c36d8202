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

/* Every number that the figure shows. Sigma is the standard deviation of beta times the logits, over the keys. */
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
    norm: spectralNorm(weights),
    norm_low: low,
    norm_high: Math.min(2 * low, 0.5),
    sigma: beta * Math.sqrt(variance),
    sigma_c: Math.sqrt(2 * Math.log(keys)),
  };
}

/* Standard Gaussian logits; the first ones do not depend on how many are asked for. */
export function gaussianLogits(keys, seed) {
  const { normal } = kit.generator(seed);
  return Array.from({ length: keys }, () => Math.round(100 * normal()) / 100);
}

const FOUR = [1.0, 0.8, 0.3, -0.2];
const MOST_KEYS = 128;
const PLOT = { left: 30, right: 4, top: 30, logits: 168, gap: 60, weights: 128, bottom: 8 };
const HEIGHT = PLOT.top + PLOT.logits + PLOT.gap + PLOT.weights + PLOT.bottom;
const BASE = HEIGHT - PLOT.bottom;

const STYLE = `
.head { align-items: center; display: flex; gap: 8px; justify-content: space-between; margin-bottom: 6px; }
.phase { background: var(--field); border: 1px solid var(--rule); border-radius: 99px; font-size: 12.5px; padding: 1px 9px; }
.phase::before {
  background: var(--b); border-radius: 50%; content: ""; display: inline-block; height: 8px; margin-right: 6px; width: 8px;
}
.frozen .phase::before { background: var(--a); border-radius: 1px; }
.columns { display: flex; flex-wrap: wrap; gap: 14px 22px; margin-bottom: 12px; }
.plots { flex: 999 1 300px; min-width: 0; position: relative; }
.plots svg { width: 100%; }
.grid { stroke: var(--grid); }
.zero { stroke: var(--quiet); }
.even { stroke: var(--quiet); stroke-dasharray: 3 3; }
.logit { fill: var(--a); }
.grip { fill: var(--ink); }
.weight { fill: var(--b); }
svg .word { paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
svg .name { fill: var(--ink); font-size: 12.5px; font-weight: 600; }
.key { border-radius: 5px; cursor: ns-resize; position: absolute; touch-action: none; }
.key:hover { background: color-mix(in srgb, var(--accent) 8%, transparent); }
.key:focus-visible { outline-offset: -2px; }
.side { align-items: center; display: flex; flex: 1 1 296px; gap: 10px; min-width: 0; }
.side svg { flex: none; }
.glass { fill: var(--field); stroke: var(--rule); }
.ice { fill: var(--tint); }
.mercury, .bulb { fill: var(--b); }
.frozen .mercury, .frozen .bulb { fill: var(--a); }
.tick { stroke: var(--quiet); }
.freezing { stroke: var(--ink); stroke-width: 1.5; }
svg .freezing-name { fill: var(--ink); font-weight: 600; }
dl { display: grid; flex: 1; gap: 11px; margin: 0; min-width: 0; }
dl > div { display: grid; gap: 0 8px; grid-template-columns: 1fr auto; }
dt, dd { margin: 0; }
dd { font-weight: 600; text-align: right; }
dd.quiet, dd.bar { font-weight: 400; grid-column: 1 / -1; text-align: left; }
dd.bar { background: var(--field); border-radius: 3px; height: 6px; margin: 3px 0 2px; overflow: hidden; position: relative; }
dd.bar i { background: var(--c); height: 100%; left: 0; position: absolute; top: 0; }
dd.bar i + i { background: var(--ink); margin-left: -1.5px; width: 3px; }
.buttons { gap: 8px; margin-top: 8px; }
.glide rect { transition: y 0.25s, height 0.25s; }
`;

/* A row of numbers: a name, a value, a bar from 0 to 1 with an optional mark, and a remark. */
function row(name) {
  const value = kit.html("dd"), fill = kit.html("i"), mark = kit.html("i"), remark = kit.html("dd", { class: "quiet" });
  const bar = kit.html("dd", { class: "bar", "aria-hidden": "true" }, fill, mark);
  const element = kit.html("div", {}, kit.html("dt", {}, name), value, bar, remark);
  const set = (text, note, from, to, at) => {
    value.textContent = text;
    remark.textContent = note;
    fill.style.left = `${100 * from}%`;
    fill.style.width = `${100 * Math.max(to - from, 0)}%`;
    mark.hidden = at === undefined;
    mark.style.left = `${100 * (at ?? 0)}%`;
  };
  return { element, set };
}

/* The thermometer: temperature in units of the freezing temperature, on a logarithmic scale from 1/8 to 8. */
function thermometer() {
  const [top, bottom, x] = [14, 252, 20];
  const place = (doublings) => top + ((3 - doublings) / 6) * (bottom - top);
  const mercury = kit.svg("rect", { class: "mercury", x: x - 4, width: 8 });
  const ticks = ["1/8", "1/4", "1/2", "1", "2", "4", "8"].flatMap((name, i) => {
    const y = place(i - 3), kind = name === "1" ? "freezing" : "tick";
    return [
      kit.svg("line", { class: kind, x1: name === "1" ? x - 11 : x + 9, x2: x + 15, y1: y, y2: y }),
      kit.svg("text", { class: `${kind}-name`, x: x + 20, y: y + 4 }, name),
    ];
  });
  const element = kit.svg(
    "svg",
    { width: 80, height: 300, role: "img", "aria-label": "Temperature in units of the freezing temperature" },
    kit.svg("rect", { class: "glass", x: x - 8, y: 4, width: 16, height: 276, rx: 8 }),
    kit.svg("rect", { class: "ice", x: x - 7, y: place(0), width: 14, height: 272 - place(0) }),
    kit.svg("circle", { class: "glass", cx: x, cy: 280, r: 15 }),
    kit.svg("circle", { class: "bulb", cx: x, cy: 280, r: 11 }),
    mercury,
    ...ticks,
    kit.svg("text", { x: x + 20, y: place(0) - 14 }, "liquid"),
    kit.svg("text", { x: x + 20, y: place(0) + 22 }, "frozen"),
  );
  const set = (temperature) => {
    const y = place(Math.max(-3, Math.min(3.2, Math.log2(temperature))));
    mercury.setAttribute("y", y);
    mercury.setAttribute("height", 280 - y);
  };
  return { element, set };
}

function render({ model, el }) {
  const { body, stop } = kit.card(el, "Softmax thermometer", STYLE);
  const initial = { logits: model.get("logits"), beta: model.get("beta"), seed: model.get("seed") };
  let [range, held, current, drawn, columns, readout] = [3, null, 0, "", [], null];

  const phase = kit.html("span", { class: "phase" });
  const status = kit.html("div", { class: "hidden", role: "status" });
  const picture = kit.svg("svg", { height: HEIGHT, "aria-hidden": "true" });
  const keys = kit.html("div", {
    role: "group",
    "aria-label": "Logits. Up and down change a logit, left and right lead to another key",
    onpointerdown: grab,
    onpointermove: drag,
    onpointerup: release,
    onpointercancel: release,
    onkeydown: press,
  });
  const plots = kit.html("div", { class: "plots" }, picture, keys);
  const gauge = thermometer();
  const rows = {
    entropy: row("Entropy"),
    effective: row("Effective keys"),
    norm: row("Jacobian norm"),
    spread: row("Spread \u03c3 of \u03b2s"),
  };
  const list = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));
  const beta = kit.slider({
    label: "Inverse temperature \u03b2", min: 0.01, max: 100, log: true,
    format: (value) => String(Number(value.toPrecision(4))),
    change: (value) => kit.store(model, { beta: value }),
  });
  const number = kit.slider({ label: "Number of keys K", min: 1, max: MOST_KEYS, change: resize });
  const hint = kit.html("span", { class: "quiet" }, "Drag a logit, or use the arrow keys.");
  const buttons = [
    kit.button("Four logits", () => glide({ logits: FOUR })),
    kit.button("Equal", () => glide({ logits: model.get("logits").map(() => 0) })),
    kit.button("Gaussian", drawAgain),
    kit.button("Reset", () => glide(initial)),
  ];
  body.append(
    kit.html("div", { class: "head" }, kit.html("span", { class: "title" }, "Softmax thermometer"), phase),
    kit.html("div", { class: "columns" }, plots, kit.html("div", { class: "side" }, gauge.element, list)),
    kit.html("div", { class: "row" }, beta.element, number.element),
    kit.html("div", { class: "row buttons" }, ...buttons, hint),
    status,
  );

  // What the reader does

  function setLogit(index, value) {
    const logits = [...model.get("logits")];
    logits[index] = Math.round(100 * Math.max(-range, Math.min(range, value))) / 100;
    kit.store(model, { logits });
  }

  function resize(size) {
    const logits = model.get("logits"), draws = gaussianLogits(size, model.get("seed"));
    const same = logits.length > 1 && logits.every((logit) => logit === logits[0]);
    kit.store(model, { logits: draws.map((draw, i) => (i < logits.length ? logits[i] : same ? logits[0] : draw)) });
  }

  function drawAgain() {
    const seed = model.get("seed") + 1;
    glide({ seed, logits: gaussianLogits(model.get("logits").length, seed) });
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

  const indexOf = (element) => columns.findIndex(({ key }) => key === element);

  function grab(event) {
    const index = indexOf(event.target);
    if (index < 0 || event.button !== 0) return;
    event.preventDefault();
    held = index;
    columns[index].key.setPointerCapture(event.pointerId);
    focus(index);
    setLogit(index, valueAt(event));
  }

  function drag(event) {
    if (held !== null) setLogit(held, valueAt(event));
  }

  function release() {
    held = null;
    draw();
  }

  function press(event) {
    const index = indexOf(event.target), value = model.get("logits")[index], last = columns.length - 1;
    const steps = {
      ArrowUp: value + 0.1, ArrowDown: value - 0.1, PageUp: value + 1, PageDown: value - 1, Home: -range, End: range,
    };
    const moves = { ArrowLeft: Math.max(index - 1, 0), ArrowRight: Math.min(index + 1, last) };
    if (event.key in moves) focus(moves[event.key]);
    else if (event.key in steps) setLogit(index, steps[event.key]);
    else return;
    event.preventDefault();
  }

  function focus(index) {
    columns[current]?.key.setAttribute("tabindex", -1);
    current = index;
    columns[current].key.setAttribute("tabindex", 0);
    columns[current].key.focus({ preventScroll: true });
  }

  // What the figure shows

  const height = (logit) => PLOT.top + ((range - logit) / (2 * range)) * PLOT.logits;
  const line = (kind, y, width, name) => [
    kit.svg("line", { class: kind, x1: PLOT.left, x2: width - PLOT.right, y1: y, y2: y }),
    ...(name ? [kit.svg("text", { x: PLOT.left - 5, y: y + 4, "text-anchor": "end" }, name)] : []),
  ];

  /* Axes, and one column per key: built again only when the width, the range or the number of keys changes. */
  function build(width, count) {
    const step = [1, 2, 5, 10, 25, 50].find((size) => range / size <= 4);
    const most = Math.floor(range / step), levels = Array.from({ length: 2 * most + 1 }, (_, i) => (i - most) * step);
    const slot = (width - PLOT.left - PLOT.right) / count, bar = Math.min(0.72 * slot, 46);
    const worded = slot >= 38;
    const had = keys.contains(body.getRootNode().activeElement);
    current = Math.min(current, count - 1);
    held = null;
    columns = Array.from({ length: count }, (_, i) => {
      const x = PLOT.left + (i + 0.5) * slot, round = Math.min(3, bar / 4);
      const key = kit.html("div", {
        class: "key", role: "slider", tabindex: i === current ? 0 : -1, "aria-orientation": "vertical",
        "aria-label": `logit of key ${i + 1} of ${count}`, "aria-valuemin": -range, "aria-valuemax": range,
        style: `left: ${x - slot / 2}px; width: ${slot}px; top: ${PLOT.top - 6}px; height: ${PLOT.logits + 12}px`,
      });
      return {
        key,
        logit: kit.svg("rect", { class: "logit", x: x - bar / 2, width: bar, opacity: 0.8 }),
        grip: kit.svg("rect", { class: "grip", x: x - bar / 2, width: bar, height: 5, rx: Math.min(2.5, bar / 2) }),
        weight: kit.svg("rect", { class: "weight", x: x - bar / 2, width: bar, rx: round }),
        words: worded ? [0, 1].map(() => kit.svg("text", { class: "word", x, "text-anchor": "middle" })) : [],
      };
    });
    keys.replaceChildren(...columns.map(({ key }) => key));
    picture.replaceChildren(
      kit.svg("text", { class: "name", x: 0, y: 11 }, "logits s"),
      ...levels.flatMap((level) => line(level === 0 ? "zero" : "grid", height(level), width, kit.numeral(level, 0))),
      kit.svg("text", { class: "name", x: 0, y: BASE - PLOT.weights - 24 }, "weights p = softmax(\u03b2s)"),
      ...[0, 0.5, 1].flatMap((level) => line(level === 0 ? "zero" : "grid", BASE - level * PLOT.weights, width, String(level))),
      ...columns.flatMap(({ logit, grip, weight }) => [logit, grip, weight]),
      ...line("even", BASE - PLOT.weights / count, width),
      ...columns.flatMap(({ words }) => words),
    );
    if (had) columns[current].key.focus({ preventScroll: true });
  }

  function draw() {
    const logits = model.get("logits"), width = plots.clientWidth;
    if (held === null) range = Math.max(3, Math.ceil(Math.max(...logits.map(Math.abs))));
    readout = measure(logits, model.get("beta"));
    const layout = [width, range, logits.length].join();
    if (width > 0 && layout !== drawn) build(width, logits.length);
    if (width > 0) drawn = layout;

    columns.forEach(({ key, logit, grip, weight, words }, i) => {
      const y = height(logits[i]), tall = readout.weights[i] * PLOT.weights;
      logit.setAttribute("y", Math.min(y, height(0)));
      logit.setAttribute("height", Math.abs(y - height(0)));
      grip.setAttribute("y", y - 2.5);
      weight.setAttribute("y", BASE - tall);
      weight.setAttribute("height", tall);
      key.setAttribute("aria-valuenow", logits[i]);
      key.setAttribute("aria-valuetext", `${kit.numeral(logits[i])}, weight ${kit.numeral(readout.weights[i], 3)}`);
      if (!words.length) return;
      words[0].setAttribute("y", y + (logits[i] < 0 ? 15 : -7));
      words[0].textContent = kit.numeral(logits[i]);
      words[1].setAttribute("y", BASE - tall - 5);
      words[1].textContent = kit.numeral(readout.weights[i]);
    });

    const { entropy, entropy_ratio, participation, effective_keys, norm, norm_low, norm_high, sigma, sigma_c } = readout;
    const count = logits.length, frozen = sigma > sigma_c;
    body.classList.toggle("frozen", frozen);
    phase.textContent = frozen ? "frozen" : "liquid";
    gauge.set(sigma > 0 ? sigma_c / sigma : Infinity);
    const [short, long] = [(value) => kit.numeral(value), (value) => kit.numeral(value, 3)];
    rows.entropy.set(`${long(entropy)} nats`, `${(100 * entropy_ratio).toFixed(0)} % of ln ${count}`, 0, entropy_ratio);
    const share = `${short(effective_keys)} of ${count}`;
    rows.effective.set(share, `1/Y\u2082, Y\u2082 = \u03a3p\u00b2 = ${long(participation)}`, 0, effective_keys / count);
    const bounds = `in [${long(norm_low)}, ${long(norm_high)}]; \u00d7 \u03b2 = ${long(norm * model.get("beta"))}`;
    rows.norm.set(long(norm), bounds, 2 * norm_low, 2 * norm_high, 2 * norm);
    const spread = Math.min(sigma / (2 * sigma_c || 1), 1);
    rows.spread.set(short(sigma), `freezes at \u221a(2 ln ${count}) = ${short(sigma_c)}`, 0, spread, 0.5);
    beta.set(model.get("beta"));
    number.set(count);
    clearTimeout(say);
    say = setTimeout(() => {
      status.textContent = `${phase.textContent}: entropy ${short(entropy)} nats, effective keys ${share}`;
    }, 600);
  }

  let say = 0;
  const redraw = kit.frame(draw);
  const events = "change:logits change:beta";
  const observer = new ResizeObserver(redraw);
  model.on(events, redraw);
  observer.observe(plots);
  draw();
  el.figure = { model, readout: () => readout };
  return () => {
    clearTimeout(say);
    model.off(events, redraw);
    observer.disconnect();
    stop();
  };
}

export default { render };
