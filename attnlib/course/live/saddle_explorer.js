/* The saddle explorer: the potential of two vector spins over (z1, z2), a descent to its minimum, and the spins on the way. */

const { MOST_Z, MOST_J, MOST_FIELD, LEAST_BETA, MOST_BETA, MARGIN, MOST_STEPS, TOLERANCE, LEVELS, RULES } = kit.constants;

/* What one inverse of V = diag(z) - J gives; null outside the domain. */
export function resolve([z1, z2], { beta, coupling, fields: [b1, b2] }) {
  const det = z1 * z2 - coupling ** 2;
  if (!(z1 > 0 && z2 > 0 && det > 0)) return null;
  const inverse = [z2 / det, coupling / det, z1 / det];
  const m = [inverse[0] * b1 + inverse[1] * b2, inverse[1] * b1 + inverse[2] * b2];
  const own = inverse.map((value) => value ** 2 / 2);
  return {
    m, own,
    chi: inverse.map((value) => value / beta),
    phi: (beta * (z1 + z2) - Math.log(det) + beta * (b1 * m[0] + b2 * m[1])) / 2,
    slope: [0, 1].map((i) => (beta - inverse[2 * i] - beta * m[i] ** 2) / 2),
    hessian: [m[0] ** 2, m[0] * m[1], m[1] ** 2].map((pair, k) => own[k] + beta * inverse[k] * pair),
  };
}

/* The step that a rule makes of a gradient. */
function step({ slope: [g1, g2], hessian, own }, rule) {
  if (rule === "slope") return [-g1, -g2];
  let [a, b, c] = hessian;
  if (rule === "printed") [a, b, c] = [a + b - own[1], own[1], c + b - own[1]]; // the same sums of rows
  const det = a * c - b * b;
  return [(b * g2 - c * g1) / det, (b * g1 - a * g2) / det];
}

const largest = (pair) => Math.max(...pair.map(Math.abs));

/* Down to the minimum: each step halved until it stays inside and does not go up. */
export function descend(state, rule = state.rule, most = MOST_STEPS, tolerance = TOLERANCE) {
  const [s1, s2] = state.start, least = (s1 + s2) / 2 - Math.hypot((s1 - s2) / 2, state.coupling);
  const lift = Math.max(0, MARGIN - least), path = [], left = [];
  let z = [s1 + lift, s2 + lift], here = resolve(z, state);
  for (let count = 0; ; count += 1) {
    path.push(z);
    left.push(largest(here.slope));
    if (left.at(-1) <= tolerance || count === most) return { path, left, here };
    const move = step(here, rule);
    let [length, there, next] = [2, null, z];
    do {
      length /= 2;
      next = z.map((value, i) => value + length * move[i]);
      there = resolve(next, state);
    } while (!(there && there.phi <= here.phi + 1e-12) && length > 1e-12);
    [z, here] = there ? [next, there] : [z, here];
  }
}

/* The potential alone, and the slope along one z alone: asked for at thousands of places a move, they make no lists. */
function height(z1, z2, { beta, coupling, fields: [b1, b2] }) {
  const det = z1 * z2 - coupling * coupling;
  if (!(z1 > 0 && z2 > 0 && det > 0)) return Infinity;
  return (beta * (z1 + z2) - Math.log(det) + (beta * (b1 * b1 * z2 + 2 * b1 * b2 * coupling + b2 * b2 * z1)) / det) / 2;
}

function rises(own, other, mine, others, { beta, coupling }) {
  const det = own * other - coupling * coupling, mean = (other * mine + coupling * others) / det;
  return own > 0 && other > 0 && det > 0 && beta > other / det + beta * mean * mean;
}

/* Lines of equal height. What lies below a height is convex: each ray from the minimum leaves it once. */
export function rings(z, state, rays = 120) {
  const [z1, z2] = z, bottom = height(z1, z2, state);
  return LEVELS.map((level) => Array.from({ length: rays + 1 }, (_, k) => {
    const across = Math.cos((2 * Math.PI * k) / rays), up = Math.sin((2 * Math.PI * k) / rays);
    let [low, high] = [0, 3 * MOST_Z];
    for (let round = 0; round < 26; round += 1) {
      const middle = (low + high) / 2;
      if (height(z1 + middle * across, z2 + middle * up, state) < bottom + level) low = middle;
      else high = middle;
    }
    return [z1 + low * across, z2 + low * up];
  }));
}

/* Where a spin has its length, for each z of the other: the slope along its own z, which only grows, is zero there. */
export function right(i, state, count = 60) {
  const mine = state.fields[i], others = state.fields[1 - i];
  return Array.from({ length: count + 1 }, (_, k) => {
    const other = 0.02 + ((MOST_Z - 0.02) * k) / count;
    let [low, high] = [state.coupling ** 2 / other, 4 * MOST_Z];
    for (let round = 0; round < 40; round += 1) {
      const middle = (low + high) / 2;
      if (rises(middle, other, mine, others, state)) high = middle;
      else low = middle;
    }
    return i ? [other, low] : [low, other];
  });
}

const lengths = ({ m, chi }) => m.map((mean, i) => Math.sqrt(mean ** 2 + chi[2 * i]));

/* Every number that the figure shows. */
export function measure(state) {
  const { path, left } = descend(state), { path: whole, here } = descend(state, "exact", 200, 1e-14), { beta, taken } = state;
  const at = resolve(path[Math.min(taken, path.length - 1)], state);
  return {
    path, left,
    z: whole.at(-1),
    free_energy: (1 + Math.log(beta) - here.phi) / beta,
    m: at.m,
    chi: at.chi,
    lengths: lengths(at),
  };
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Put the start where both spins are too long.", ({ taken }, { lengths: long }) => taken === 0 && Math.min(...long) > 1.02],
  ["Give both spins fields, unlike by 0.3 or more, and yet one z: to two digits.",
    ({ fields: [a, b] }, { z: [first, second] }) => a * b !== 0 && Math.abs(a - b) >= 0.3 && Math.abs(first - second) < 0.005],
  ["Find a system in which the printed Hessian does not come to the minimum.", ({ rule }, { left }) => rule === "printed" && left.at(-1) > TOLERANCE],
];

const STYLE = `
.layout > .picture { display: grid; gap: 8px 20px; grid-template-columns: minmax(0, 1fr); }
.plane { min-width: 0; position: relative; touch-action: pan-y; }
.pair { min-width: 0; }
.pair p { margin: 4px 0 0; }
@container (min-width: 560px) {
  .layout > .picture { grid-column: 1 / -1; grid-template-columns: minmax(0, 1.2fr) minmax(0, 1fr); }
  .layout > dl { grid-column: 1 / -1; grid-template-columns: repeat(3, minmax(0, 1fr)); order: 2; }
}
.out { fill: color-mix(in srgb, var(--ink) 16%, transparent); }
.ring { fill: none; stroke: var(--quiet); stroke-opacity: 0.4; }
.way { fill: none; stroke: var(--b); stroke-width: 2; }
.stop { fill: var(--b); stroke: var(--ground); }
.ball { fill: var(--b); stroke: var(--ground); stroke-width: 2; }
.bottom { fill: var(--ink); }
.right { stroke-dasharray: 7 3; }
.circle { fill: var(--field); stroke: var(--quiet); }
.fits .circle { stroke: var(--ink); stroke-width: 2; }
.spin, .mean, .rest { stroke: var(--own); }
.spin { stroke-linecap: round; stroke-width: 3; }
.spin.twin { opacity: 0.3; stroke-width: 2; }
.mean { stroke-width: 7; }
.rest { stroke-dasharray: 4 3; stroke-width: 1.5; }
.tip { fill: var(--own); stroke: var(--ground); stroke-width: 1.5; }
.point {
  background: none; border: 0; border-radius: 50%; cursor: grab; height: 36px; margin: -18px 0 0 -18px; min-height: 0; padding: 0;
  position: absolute; touch-action: none; width: 36px;
}
.point:focus-visible { box-shadow: 0 0 0 2px var(--ink); }
.point svg { height: 36px; pointer-events: none; width: 36px; }
.disk { fill: var(--ground); stroke: var(--b); stroke-width: 3; }
.there .phase::before { background: var(--c); }
`;

const NAMES = ["beta", "coupling", "fields", "start", "rule", "taken"];
const FRAME = { left: 34, right: 8, top: 24, bottom: 34 };
const COLOURS = ["a", "c"], MOST_SHOWN = 1.3, PHONE = 172;

function render({ model, el }) {
  const ground = kit.card(el, "Saddle explorer", STYLE), initial = kit.read(model, NAMES);
  let [readout, frame, gliding] = [null, null, null];
  const last = () => readout.path.length - 1, reached = () => Math.min(model.get("taken"), last());

  const phase = kit.html("span", { class: "phase" });
  const picture = kit.svg("svg", { role: "img", width: "100%" }), spins = kit.svg("svg", { role: "img", width: "100%" });
  const disk = kit.svg("svg", { "aria-hidden": "true" }, kit.svg("circle", { class: "disk", cx: 18, cy: 18, r: 7 }));
  const point = kit.html("button", { type: "button", class: "point" }, disk);
  const plane = kit.html("div", { class: "plane" }, picture, point);
  const pair = kit.html("div", { class: "pair" }, spins, kit.html("p", { class: "quiet" },
    "Circle: the length a spin must have. Thick: its mean, along the field. Dashed: what fluctuates."));
  const both = kit.html("div", { class: "picture" }, plane, pair);
  const rows = { at: "z here", z: "Lowest", energy: "Free energy f" };
  for (const [name, words] of Object.entries(rows)) rows[name] = kit.reading(words);
  const side = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));

  const two = (value) => kit.numeral(value);
  const taken = kit.slider({
    label: "Steps taken", min: 0, max: 1, format: (value) => `${value} of ${last()}`,
    change: (value) => change({ taken: value === last() ? MOST_STEPS : value }),
  });
  const beta = kit.slider({
    label: "Inverse temperature β", min: LEAST_BETA, max: MOST_BETA, log: true, format: two,
    change: (value) => change({ beta: Math.min(MOST_BETA, Math.max(LEAST_BETA, value)) }),
  });
  const coupling = kit.slider({
    label: "Coupling J", min: -MOST_J, max: MOST_J, step: 0.01, format: two, change: (value) => change({ coupling: value }),
  });
  const fields = [0, 1].map((i) => kit.slider({
    label: `Field on spin ${i + 1}`, min: -MOST_FIELD, max: MOST_FIELD, step: 0.01, format: two,
    change: (value) => change({ fields: model.get("fields").map((one, k) => (k === i ? value : one)) }),
  }));
  const rule = kit.choice({ label: "Rule of a step", change: (value) => change({ rule: value }) });
  const more = kit.more(
    kit.html("div", { class: "row" }, beta.element, coupling.element),
    kit.html("div", { class: "row" }, ...fields.map(({ element }) => element)),
    kit.html("div", { class: "row" }, rule.element,
      kit.button("Equal fields", () => change({ fields: [1, 1] })),
      kit.button("Cold, no fields", () => change({ fields: [0, 0], beta: MOST_BETA }))));
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(kit.layout(both, [
    taken.element,
    kit.html("div", { class: "row" }, kit.button("Go down", go), more.button, kit.button("Reset", () => change(initial)),
      kit.html("span", { class: "quiet" }, "Drag the start, or use the arrow keys.")),
    more.element,
  ], side), tasks.element);

  // What the reader does

  function change(changes) {
    glide.stop();
    gliding = null;
    kit.store(model, changes);
  }

  /* All the way down from the start. */
  function go() {
    change({ taken: MOST_STEPS });
    readout = measure(kit.read(model, NAMES));
    roll(0.3);
  }

  function roll(seconds) {
    const to = reached();
    if (to === 0 || kit.reducedMotion()) return;
    gliding = { at: 0, to, seconds: seconds + 0.3 * Math.min(to, 8), state: JSON.stringify(kit.read(model, NAMES)) };
    glide.start();
  }

  const glide = kit.loop((seconds) => {
    const share = Math.min(seconds / gliding.seconds, 1);
    gliding.at = share * gliding.to;
    if (share === 1) gliding = null;
    redraw();
    return share < 1;
  });

  const within = (value) => Math.round(100 * Math.max(0, Math.min(MOST_Z, value))) / 100;
  const put = (place) => change({ start: place.map(within), taken: 0 });
  kit.drag(plane, {
    find: (element) => (element === point ? point : null),
    take(event) {
      const box = point.getBoundingClientRect();
      if (Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2) > 22) return null;
      point.focus({ preventScroll: true });
      return point;
    },
    move(_, event) {
      const box = picture.getBoundingClientRect();
      put([frame.fromX(event.clientX - box.left), frame.fromY(event.clientY - box.top)]);
    },
    push: (_, way) => put(model.get("start").map((value, i) => value + 0.1 * way[i])),
    drop: go,
  });

  // What the figure shows

  /* Where it stands: at a point of the path, or between two while it goes. */
  function place() {
    const { path } = readout, step = gliding ? Math.min(gliding.at, last()) : reached(), from = Math.floor(step);
    return path[from].map((value, i) => value + (step - from) * (path[Math.min(from + 1, last())][i] - value));
  }

  function draw_plane(now, width) {
    const size = Math.min(width, 400), inner = size - FRAME.left - FRAME.right;
    const axis = { from: 0, to: MOST_Z, ticks: [0, 1, 2, 3, 4, 5, 6] };
    frame = kit.plot({
      left: FRAME.left, top: FRAME.top, width: inner, height: inner, title: "z of spin 2", rise: 10,
      x: { ...axis, label: "z of spin 1" }, y: axis,
    });
    const { toX, toY } = frame, square = now.coupling ** 2, { path, z } = readout, here = place();
    const low = Math.max(square / MOST_Z, 1e-3);
    const border = Array.from({ length: 41 }, (_, k) => low * (MOST_Z / low) ** (k / 40)).map((x) => [x, square / x]);
    const near = (spot) => spot.map((value) => Math.min(value, 3 * MOST_Z)), far = path.map(near);
    const clip = kit.svg("clipPath", { id: "plane" },
      kit.svg("rect", { x: FRAME.left, y: FRAME.top, width: inner, height: inner }));
    const lines = COLOURS.map((_, i) => right(i, now)), [top, side] = [lines[0].at(-1)[0], lines[1][38][1]];
    const word = (i, x, y, anchor) => kit.svg("text", {
      class: "word", x: Math.max(toX(0) + 4, Math.min(toX(MOST_Z) - 4, x)), y, "text-anchor": anchor, style: `fill: var(--${COLOURS[i]})`,
    }, `spin ${i + 1} has its length`);
    picture.setAttribute("height", FRAME.top + inner + FRAME.bottom);
    picture.replaceChildren(
      ...frame.axes(),
      clip,
      kit.svg("g", { "clip-path": "url(#plane)" },
        kit.svg("path", { class: "out", d: `${frame.path([[0, 0], [0, MOST_Z], ...border, [MOST_Z, 0]])}z` }),
        ...rings(z, now).map((ring) => kit.svg("path", { class: "ring", d: frame.path(ring) })),
        ...lines.map((line, i) => frame.line(line, COLOURS[i], { class: "line right" })),
        kit.svg("path", { class: "way", d: frame.path([now.start, ...far]) }),
        ...far.map(([x, y]) => kit.svg("circle", { class: "stop", cx: toX(x), cy: toY(y), r: 3.5 })),
        kit.svg("circle", { class: "ball", cx: toX(near(here)[0]), cy: toY(near(here)[1]), r: 8 }),
        kit.svg("circle", { class: "bottom", cx: toX(z[0]), cy: toY(z[1]), r: 4 })),
      ...(toX(top) + 125 < toX(MOST_Z) ? [word(0, toX(top) + 5, toY(MOST_Z) + 12, "start")] : [word(0, toX(top) - 5, toY(MOST_Z) + 12, "end")]),
      word(1, toX(MOST_Z) - 4, toY(Math.min(side, MOST_Z - 0.8)) - 6, "end"),
      ...(square > 0.1 ? [kit.svg("text", { class: "word", x: toX(0) + 6, y: toY(0) - 6 }, "forbidden")] : []),
    );
    const [x, y] = now.start;
    point.style.left = `${toX(x)}px`;
    point.style.top = `${toY(y)}px`;
    point.setAttribute("aria-label", `start at ${two(x)}, ${two(y)}`);
  }

  /* Each spin in its circle: the mean along the field, at a right angle what fluctuates, and the length that both make. */
  function draw_spins(now, width, tall) {
    const height = tall ? Math.max(280, Number(picture.getAttribute("height")) - 44) : PHONE, cell = tall ? height / 2 : height;
    const radius = Math.min((tall ? width / 2 : width / 4) / 1.4, (cell - 50) / (1 + MOST_SHOWN)), at = resolve(place(), now), size = lengths(at);
    spins.setAttribute("height", height);
    spins.replaceChildren(...COLOURS.map((colour, i) => {
      const x = tall ? width / 2 : (width * (1 + 2 * i)) / 4, y = (tall ? i * cell : 0) + 8 + MOST_SHOWN * radius;
      const [mean, rest] = [at.m[i], Math.sqrt(at.chi[2 * i])].map((part) => radius * Math.max(-MOST_SHOWN, Math.min(MOST_SHOWN, part)));
      const line = (name, x1, y1, x2, y2) => kit.svg("line", { class: name, x1, y1, x2, y2 });
      const off = size[i] - 1, fits = Math.abs(off) < 0.005, judged = fits ? "right" : off > 0 ? "too long" : "too short";
      return kit.svg("g", { class: fits ? "fits" : "", style: `--own: var(--${colour})` },
        kit.svg("circle", { class: "circle", cx: x, cy: y, r: radius }),
        line("spin twin", x, y, x + mean, y + rest),
        line("rest", x + mean, y, x + mean, y - rest),
        line("mean", x, y, x + mean, y),
        line("spin", x, y, x + mean, y - rest),
        kit.svg("circle", { class: "tip", cx: x + mean, cy: y - rest, r: 5.5 }),
        kit.svg("text", { class: "name", x, y: y + radius + 18, "text-anchor": "middle" }, `spin ${i + 1}: length ${two(size[i])}`),
        kit.svg("text", { x, y: y + radius + 33, "text-anchor": "middle" }, judged));
    }));
    const told = size.map((length, i) => `Spin ${i + 1} has length ${two(length)}, mean ${two(at.m[i])}`).join(". ");
    spins.setAttribute("aria-label", `Two spins, each in a circle of radius 1. ${told}`);
  }

  function tell(now) {
    const { path, left, z, free_energy: f, lengths: long } = readout, steps = last(), here = reached();
    const there = left.at(-1) <= TOLERANCE, flat = now.fields.every((field) => field === 0);
    phase.textContent = there ? `there in ${steps} steps` : "not there yet";
    ground.body.classList.toggle("there", there);
    rows.at.set(path[here].map((value) => kit.numeral(value, 3)).join(", "), `gradient left: ${kit.numeral(left[here], 2)}`);
    rows.z.set(z.map((value) => kit.numeral(value, 3)).join(", "), "the full dot, the one minimum");
    rows.energy.set(kit.numeral(f, 3), "per component");
    const said = `Minimum at ${z.map(two).join(", ")}. ${steps} steps${there ? "" : ", not there yet"}.`;
    picture.setAttribute("aria-label", `Lines of equal potential over z of spin 1 and z of spin 2. ${said}`);
    ground.say(`${said} After ${here} steps the spins have lengths ${long.map(two).join(" and ")}.`);
    taken.element.querySelector("input").max = steps;
    taken.set(here);
    beta.set(now.beta);
    coupling.set(now.coupling);
    fields.forEach((slider, i) => slider.set(now.fields[i]));
    // Without fields both Hessians are one: then there is nothing to choose between them.
    rule.set(now.rule, Object.entries(RULES).filter(([name]) => name !== "printed" || !flat || now.rule === name));
  }

  function draw() {
    const now = kit.read(model, NAMES), tall = both.clientWidth >= 520;
    readout = measure(now);
    if (gliding && gliding.state !== JSON.stringify(now)) {
      glide.stop();
      gliding = null;
    }
    if (plane.clientWidth > 0) draw_plane(now, plane.clientWidth);
    if (pair.clientWidth > 0) draw_spins(now, pair.clientWidth, tall);
    tell(now);
    tasks.judge(now, readout);
  }

  const { redraw, close } = kit.run({
    model, el, ground, names: NAMES, draw, watch: [plane, pair], readout: () => readout, solved: tasks.solved, end: () => glide.stop(),
    arrive: () => roll(0.6), // On arrival it goes its way once.
  });
  return close;
}

export default { render };
