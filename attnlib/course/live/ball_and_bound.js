/* Ball and bound: a step of size gamma down E(x) = x^2 / 2 - ln(sum_i exp(beta x_i x)) / beta, and the parabola above E. */

const { EDGE, MOST_MEMORIES, MOST_STEPS, LARGEST_STEP, SCENES, SPARE } = kit.constants;

/* Attention to the memories at x: weights, what it returns, their variance under the weights; energy, slope and curvature. */
export function attend(x, memories, beta) {
  const scores = memories.map((memory) => memory * x), top = Math.max(...scores);
  const factors = scores.map((score) => Math.exp(beta * (score - top)));
  const total = factors.reduce((sum, factor) => sum + factor, 0), weights = factors.map((factor) => factor / total);
  const attended = weights.reduce((sum, weight, i) => sum + weight * memories[i], 0);
  const variance = weights.reduce((sum, weight, i) => sum + weight * (memories[i] - attended) ** 2, 0);
  const energy = x ** 2 / 2 - top - Math.log(total) / beta;
  return { weights, attended, energy, slope: x - attended, curvature: 1 - beta * variance };
}

/* The energy alone, without a list of weights: the curve asks for it at many places. */
function height(x, memories, beta) {
  let top = -Infinity, total = 0;
  for (let i = 0; i < memories.length; i += 1) top = Math.max(top, memories[i] * x);
  for (let i = 0; i < memories.length; i += 1) total += Math.exp(beta * (memories[i] * x - top));
  return (x * x) / 2 - top - Math.log(total) / beta;
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Let the ball fall by a step longer than 2.", ({ step_size }, { real }) => step_size > 2 && real.at(-1) > 1e-6],
  [
    "Use up the bound: a fall of 0.05 or more, and at most 1 % more than is guaranteed.",
    (_, { real, guaranteed }) => guaranteed.at(-1) >= 0.05 && real.at(-1) <= 1.01 * guaranteed.at(-1),
  ],
];

/* Every number that the figure shows; the last state is where the next step leads. */
export function measure({ memories, ball, beta, step_size, steps }) {
  const states = [ball], places = [];
  for (let step = 0; step <= steps + 1; step += 1) {
    places.push(attend(states[step], memories, beta));
    if (step <= steps) states.push(states[step] - step_size * places[step].slope);
  }
  const moves = states.slice(1).map((state, i) => state - states[i]);
  const { weights, attended, curvature } = places[steps];
  return {
    states,
    energies: places.map(({ energy }) => energy),
    slopes: places.map(({ slope }) => slope),
    guaranteed: moves.map((_, i) => step_size * (1 - step_size / 2) * places[i].slope ** 2),
    real: moves.map((_, i) => places[i].energy - places[i + 1].energy),
    ahead: moves.map((move, i) => places[i + 1].slope * move),
    weights,
    attended,
    curvature,
  };
}

const PLOT = { left: 52, right: 8, top: 24, height: 244, lane: 84 };
const SIGHT = EDGE + 0.2;
const BARS = { left: 40, top: 30, height: 92, bottom: 20 };

const STYLE = `
.chips { gap: 6px; margin: 0 0 6px; }
.chips button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.sure .phase::before { background: var(--a); border-radius: 1px; }
.handle {
  border-radius: 50%; cursor: ew-resize; height: 44px; margin: -22px 0 0 -22px; position: absolute; touch-action: none; width: 44px;
}
.handle:focus-visible { outline-offset: -8px; }
.handle svg { height: 44px; pointer-events: none; width: 44px; }
.cross { stroke: var(--ink); stroke-width: 2.4; }
.disk { fill: var(--b); stroke: var(--ground); stroke-width: 2; }
.curve { stroke: var(--ink); stroke-width: 2; }
.bound { stroke: var(--a); stroke-dasharray: 6 4; }
.level { stroke: var(--quiet); stroke-dasharray: 2 3; }
.sure-fall { stroke: var(--a); stroke-width: 4; }
.real-fall { stroke: var(--b); stroke-width: 4; }
.landing { fill: var(--ground); stroke: var(--b); stroke-width: 2.4; }
.bottom { fill: var(--ground); stroke: var(--a); stroke-width: 2; }
.trail { fill: none; opacity: 0.55; stroke: var(--b); stroke-width: 1.2; }
.past { fill: var(--b); opacity: 0.55; }
.on { stroke: var(--c); stroke-width: 3; }
.back { stroke: var(--d); stroke-width: 3; }
.blue { --key: var(--a); fill: var(--a); }
.orange { --key: var(--b); fill: var(--b); }
dl .blue dt::before, dl .orange dt::before {
  background: var(--key); border-radius: 2px; content: ""; display: inline-block; height: 9px; margin-right: 6px; width: 9px;
}
dl { margin-top: 10px; }
`;

const NAMES = ["memories", "ball", "beta", "step_size", "steps"];

function render({ model, el }) {
  const ground = kit.card(el, "Ball and bound", STYLE), initial = kit.read(model, NAMES);
  let [readout, frame, gliding] = [null, null, null];

  const phase = kit.html("span", { class: "phase" });
  const picture = kit.svg("svg", { height: PLOT.top + PLOT.height + PLOT.lane, role: "img" });
  const handles = kit.html("div", { role: "group", "aria-label": "Ball and memories. Arrow keys move them, with shift further" });
  const plots = kit.html("div", { class: "picture" }, picture, handles);
  const bars = kit.svg("svg", { height: BARS.top + BARS.height + BARS.bottom, role: "img", width: "100%" });
  const rows = {
    sure: kit.reading("Guaranteed fall"),
    real: kit.reading("Real fall"),
    ahead: kit.reading("Slope on landing"),
    attention: kit.reading("Softmax attention"),
    slope: kit.reading("Slope at the ball"),
  };
  rows.sure.element.className = "blue";
  rows.real.element.className = "orange";
  const side = kit.html("div", {}, bars, kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element)));

  const number = (value) => String(Number(value.toPrecision(4))), digits = (value) => number(value).replace("-", "\u2212");
  const set = (name) => (value) => change({ [name]: value });
  const sliders = {
    step_size: kit.slider({
      label: "Step size \u03b3", min: 0, max: LARGEST_STEP, step: 0.01, change: set("step_size"),
      format: (value) => (value === 1 ? "1: attention" : number(value)),
    }),
    beta: kit.slider({ label: "Inverse temperature \u03b2", min: 0.1, max: 10, log: true, format: number, change: set("beta") }),
    memories: kit.slider({ label: "Memories", min: 1, max: MOST_MEMORIES, change: resize }),
  };
  sliders.step_size.mark(2, "up to 2 the energy cannot rise");
  const onward = kit.button("Take the step", () => walk(model.get("steps") + 1));
  const back = kit.button("Back", () => walk(model.get("steps") - 1));
  const chips = Object.entries(SCENES).map(([name, scene]) => ({ scene, chip: kit.button(name, () => change(scene)) }));
  const more = kit.more(kit.html("div", { class: "row" }, sliders.beta.element, sliders.memories.element));
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(
    kit.html("div", { class: "row chips", role: "group", "aria-label": "Scenes" }, ...chips.map(({ chip }) => chip)),
    kit.layout(plots, [
      sliders.step_size.element,
      kit.html("div", { class: "row" }, onward, back, more.button, kit.button("Reset", () => change(initial)),
        kit.html("span", { class: "quiet" }, "Drag the ball or a cross, a memory; or use the arrow keys.")),
      more.element,
    ], side, "1.5fr"),
    tasks.element,
  );

  // What the reader does

  function change(changes) {
    glide.stop();
    gliding = null;
    kit.store(model, changes);
  }

  function resize(count) {
    change({ memories: Array.from({ length: count }, (_, i) => model.get("memories")[i] ?? SPARE[i]) });
  }

  /* Put the ball or a memory somewhere. The ball begins anew from there. */
  function put(index, x) {
    const place = Math.round(100 * Math.max(-EDGE, Math.min(EDGE, x))) / 100;
    if (index < 0) change({ ball: place, steps: 0 });
    else change({ memories: model.get("memories").map((memory, i) => (i === index ? place : memory)) });
  }

  /* The ball rolls to where the step leads; the step is taken when it arrives, or at once where motion is not wanted. */
  const glide = kit.loop((seconds) => {
    const share = Math.min(seconds / 0.4, 1), ease = share * share * (3 - 2 * share);
    gliding.now = gliding.from + ease * (gliding.to - gliding.from);
    if (share === 1) gliding = null;
    redraw();
    return share < 1;
  });

  function walk(steps) {
    if (steps < 0 || steps > MOST_STEPS) return;
    const from = readout.states[model.get("steps")];
    change({ steps });
    if (kit.reducedMotion()) return;
    gliding = { from, now: from, to: measure(kit.read(model, NAMES)).states[steps] };
    glide.start();
  }

  const ball = handle("ball", kit.svg("circle", { class: "disk", cx: 22, cy: 22, r: 9 })), crosses = [];
  handles.append(ball);

  function handle(name, shape) {
    const settings = { class: "handle", role: "slider", tabindex: 0, "aria-valuemin": -EDGE, "aria-valuemax": EDGE };
    return kit.html("div", { ...settings, "aria-label": name }, kit.svg("svg", { "aria-hidden": "true" }, shape));
  }

  /* Which handle an element is: the number of a memory, -1 for the ball, null for anything else. */
  function find(element) {
    const index = crosses.indexOf(element);
    return element === ball ? -1 : index < 0 ? null : index;
  }

  kit.drag(handles, {
    find,
    take(event) {
      event.target.focus({ preventScroll: true });
      return find(event.target);
    },
    move: (index, event) => put(index, frame.fromX(event.clientX - plots.getBoundingClientRect().left)),
    push(index, [right, up]) {
      put(index, (index < 0 ? readout.states[model.get("steps")] : model.get("memories")[index]) + 0.1 * (right + up));
    },
  });

  // What the figure shows

  const text = (kind, x, y, words, anchor = "middle") => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const line = (kind, x1, y1, x2, y2) => kit.svg("line", { class: kind, x1, y1, x2, y2 });
  const dot = (kind, x, y, r) => kit.svg("circle", { class: kind, cx: x, cy: y, r });
  const visible = (x) => Math.abs(x) <= SIGHT;
  const within = (value, low, high) => Math.max(low, Math.min(high, value));

  function place(part, x, top, words) {
    part.style.left = `${frame.toX(within(x, -SIGHT, SIGHT))}px`;
    part.style.top = `${top}px`;
    part.setAttribute("aria-valuenow", within(x, -EDGE, EDGE).toFixed(2));
    part.setAttribute("aria-valuetext", `at ${kit.numeral(x)}, ${words}`);
  }

  function arrange(memories, x, energy) {
    while (crosses.length > memories.length) crosses.pop().remove();
    while (crosses.length < memories.length) {
      const cross = kit.svg("path", { class: "cross", d: "M16.5 16.5l11 11m0 -11l-11 11" });
      crosses.push(handle(`memory ${crosses.length + 1}`, cross));
      handles.insertBefore(crosses.at(-1), ball);
    }
    const floor = PLOT.top + PLOT.height;
    memories.forEach((memory, i) => {
      place(crosses[i], memory, floor + 38, `attention weight ${kit.numeral(readout.weights[i])}`);
    });
    place(ball, x, within(frame.toY(energy), PLOT.top, floor), `energy ${kit.numeral(energy)}`);
  }

  /* The scales: all of the curve's lowest part, the ball, and the step with its bound as far as they are in sight. */
  function scales(width, curve, now) {
    const { states, energies, guaranteed } = readout;
    const low = Math.min(...curve.map(([, energy]) => energy));
    const high = Math.max(low + 1, ...states.flatMap((x, i) => {
      const bound = i === now.steps + 1 ? energies[now.steps] - guaranteed[now.steps] : energies[i];
      return visible(x) ? [energies[i], bound] : [];
    }));
    const spare = 0.1 * (high - low);
    return kit.plot({
      left: PLOT.left, top: PLOT.top, width: width - PLOT.left - PLOT.right, height: PLOT.height,
      x: { from: -SIGHT, to: SIGHT, ticks: [-3, -2, -1, 0, 1, 2, 3], format: (value) => kit.numeral(value, 0) },
      y: { from: low - spare, to: high + 1.5 * spare },
    });
  }

  /* The parabola that touches the curve at the ball, and where the step leads on it and on the curve. */
  function step(now) {
    const { states, energies, slopes, guaranteed, attended, ahead } = readout, { toX, toY } = frame;
    const [x, end] = states.slice(-2), [energy, landed] = energies.slice(-2), slope = slopes[now.steps];
    const bound = Array.from({ length: 97 }, (_, i) => -SIGHT + (i * SIGHT) / 48)
      .map((at) => [at, energy + slope * (at - x) + (at - x) ** 2 / 2]);
    const across = toX(end), sure = toY(energy - guaranteed[now.steps]), tilt = slopes[now.steps + 1];
    const reach = 0.32 / Math.hypot(1, tilt / 2), went = Math.sign(end - x) || 1;
    const tangent = [0, reach * went].map((way) => [toX(end + way), toY(landed + tilt * way)]);
    return [
      frame.line(bound, "a", { class: "line bound" }),
      line("level", toX(x), toY(energy), across, toY(energy)),
      line("sure-fall", across - 3, toY(energy), across - 3, sure),
      line("real-fall", across + 3, toY(energy), across + 3, toY(landed)),
      line(ahead[now.steps] > 0 ? "back" : "on", ...tangent.flat()),
      dot("bottom", toX(attended), toY(energy - slope ** 2 / 2), 4),
      dot("landing", across, toY(landed), 5),
    ];
  }

  let [curve, drawn] = [[], ""];
  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving }, width = plots.clientWidth, wide = bars.clientWidth;
    readout = measure(now);
    const key = JSON.stringify([now.memories, now.beta]);
    if (key !== drawn) {
      drawn = key;
      curve = Array.from({ length: 193 }, (_, i) => -SIGHT + (i * SIGHT) / 96).map((x) => [x, height(x, now.memories, now.beta)]);
    }
    if (width > 0) {
      frame = scales(width, curve, now);
      const x = gliding ? gliding.now : readout.states[now.steps], inside = kit.svg("clipPath", { id: "inside" });
      inside.append(kit.svg("rect", { x: PLOT.left, y: 0, width: width - PLOT.left - PLOT.right, height: PLOT.top + PLOT.height }));
      const way = readout.states.slice(0, now.steps + 1).map((at, i) => [at, readout.energies[i]]);
      picture.replaceChildren(
        inside,
        ...frame.axes(),
        kit.svg(
          "g", { "clip-path": "url(#inside)" },
          frame.line(curve, "ink", { class: "line curve" }),
          frame.line(way, "b", { class: "trail" }),
          ...way.slice(0, -1).filter(([at]) => visible(at)).map(([at, up]) => dot("past", frame.toX(at), frame.toY(up), 3.5)),
          ...(gliding ? [] : step(now)),
        ),
        ...names(now),
      );
      arrange(now.memories, x, attend(x, now.memories, now.beta).energy);
      bars.replaceChildren(...falls(wide));
    }
    tell(now);
    tasks.judge(now, readout);
  }

  /* The memories' weights below them, where there is room, and what has left the picture. */
  function names(now) {
    const found = [], floor = PLOT.top + PLOT.height, [x, end] = readout.states.slice(-2);
    now.memories.forEach((memory, i) => {
      const across = frame.toX(memory), words = `${i + 1}: ${kit.numeral(readout.weights[i])}`;
      if (found.every((other) => Math.abs(other.across - across) > 44)) found.push({ across, words });
    });
    const gone = [["lands at", end, 10], ["ball at", x, 26]].filter(([, at]) => !visible(at)).map(([word, at, down]) =>
      text("word", frame.toX(Math.sign(at) * 2.6), PLOT.top + down, `${word} ${kit.numeral(at, 1)}`));
    return [
      text("name", 0, 12, "energy", "start"),
      text("", 0, floor + 42, "memory", "start"),
      text("", 0, floor + 70, "weight", "start"),
      ...found.map(({ across, words }) => text("", across, floor + 70, words)),
      ...gone,
    ];
  }

  /* By how much each step lets the energy fall, guaranteed and real; the last pair is the next step. */
  function falls(width) {
    const { guaranteed, real } = readout, all = [...guaranteed, ...real];
    const top = Math.max(...all, 1e-3), bottom = Math.min(...all, 0), spare = 0.05 * (top - bottom);
    const { toX, toY, axes } = kit.plot({
      left: BARS.left, top: BARS.top, width: width - BARS.left - 4, height: BARS.height, title: "fall of the energy, step by step",
      x: { from: 0.5, to: Math.max(real.length, 4) + 0.5, ticks: real.map((_, i) => i + 1), format: String },
      y: { from: bottom - (bottom && spare), to: top + spare, ticks: kit.ticks({ from: bottom, to: top }, 3), format: digits },
    });
    const bar = Math.min(0.4 * (toX(1) - toX(0)), 16);
    const rect = (kind, x, fall) => kit.svg("rect", {
      class: kind, x, width: bar, y: Math.min(toY(fall), toY(0)), height: Math.abs(toY(fall) - toY(0)),
    });
    return [
      ...axes(),
      line("zero", BARS.left, toY(0), width - 4, toY(0)),
      ...guaranteed.map((fall, i) => rect("blue", toX(i + 1) - bar, fall)),
      ...real.map((fall, i) => rect("orange", toX(i + 1), fall)),
    ];
  }

  function tell(now) {
    const { states, slopes, attended, curvature } = readout, long = (value) => kit.numeral(Math.abs(value) < 1e-12 ? 0 : value, 3);
    const [sure, real, ahead] = [readout.guaranteed, readout.real, readout.ahead].map((list) => list.at(-1));
    const safe = now.step_size <= 2, still = now.step_size === 0 || Math.abs(slopes[now.steps]) < 1e-9;
    const does = Math.abs(real) < 1e-12 ? "it keeps its height" : real < 0 ? "it climbs" : "it falls";
    phase.textContent = `${safe ? "guaranteed" : "no guarantee"}: ${does}`;
    ground.body.classList.toggle("sure", safe);
    rows.sure.set(long(sure), `\u03b3(1 \u2212 \u03b3/2) \u00d7 slope\u00b2${safe ? "" : ": below zero, so it allows a climb"}`);
    rows.real.set(long(real), `${long(real - sure)} more than guaranteed`);
    const went = still ? "no step" : ahead > 1e-12
      ? "uphill from there on: it went past a bottom" : "downhill from there on: no overshoot";
    rows.ahead.set(long(slopes.at(-1)), went);
    const same = now.step_size === 1 ? "this step is attention: \u03b3 = 1" : "the bottom of the parabola, where \u03b3 = 1 leads";
    rows.attention.set(long(attended), same);
    rows.slope.set(long(slopes[now.steps]), `curvature ${kit.numeral(curvature)}; that of the parabola is 1`);
    const step = `The next step leads from ${kit.numeral(states.at(-2))} to ${kit.numeral(states.at(-1))}`;
    const may = sure < 0 ? `may rise by up to ${long(-sure)}` : `is sure to fall by ${long(sure)}`;
    const fall = `the energy ${may} and ${real < 0 ? "rises" : "falls"} by ${long(Math.abs(real))}`;
    picture.setAttribute("aria-label", `Energy along a line, with a parabola above it that touches it at the ball. ${step}`);
    bars.setAttribute("aria-label", `Fall of the energy in each step, guaranteed and real. In step ${now.steps + 1} ${fall}`);
    ground.say(`${step}; ${fall}.`);
    for (const name of ["step_size", "beta"]) sliders[name].set(now[name]);
    sliders.memories.set(now.memories.length);
    onward.disabled = now.steps === MOST_STEPS;
    back.disabled = now.steps === 0;
    for (const { scene, chip } of chips) {
      chip.setAttribute("aria-pressed", JSON.stringify({ ...now, ...scene }) === JSON.stringify(now));
    }
  }

  const { redraw, close } = kit.run({
    model, el, ground, names: NAMES, draw, watch: [plots], arrive: { step_size: 0 }, readout: () => readout, solved: tasks.solved,
    end: () => glide.stop(),
  });
  return close;
}

export default { render };
