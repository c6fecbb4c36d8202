/* The saddle explorer: the potential of two vector spins over (z1, z2), its section along the diagonal, a descent. */

const { MOST_Z, MOST_J, MOST_FIELD, LEAST_BETA, MOST_BETA, MARGIN, MOST_STEPS, TOLERANCE, SECTION, LEVELS, RULES } = kit.constants;

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

/* Potential, slope and curvature along z1 = z2 = z. */
export function section(z, state) {
  const at = resolve([z, z], state);
  if (!at) return null;
  const [a, b, c] = at.hessian;
  return [at.phi, at.slope[0] + at.slope[1], a + 2 * b + c];
}

/* Where the slope along the diagonal is zero. */
function common(state) {
  let low = Math.abs(state.coupling), high = low + 1;
  while (section(high, state)[1] < 0) high *= 2;
  for (let round = 0; round < 100; round += 1) {
    const middle = (low + high) / 2, at = section(middle, state);
    if (at && at[1] > 0) high = middle;
    else low = middle;
  }
  return (low + high) / 2;
}

/* Lines of equal height. What lies below a height is convex: each ray from the minimum leaves it once. */
export function rings(z, state, rays = 120) {
  const bottom = resolve(z, state).phi;
  return LEVELS.map((level) => Array.from({ length: rays + 1 }, (_, k) => {
    const way = [Math.cos((2 * Math.PI * k) / rays), Math.sin((2 * Math.PI * k) / rays)];
    let [low, high] = [0, 3 * MOST_Z];
    for (let round = 0; round < 26; round += 1) {
      const middle = (low + high) / 2, at = resolve(z.map((value, i) => value + middle * way[i]), state);
      if (at && at.phi < bottom + level) low = middle;
      else high = middle;
    }
    return z.map((value, i) => value + low * way[i]);
  }));
}

/* Every number that the figure shows. */
export function measure(state) {
  const { path, left } = descend(state), { path: whole, here } = descend(state, "exact", 200, 1e-14), { beta } = state;
  return {
    path, left,
    z: whole.at(-1),
    m: here.m,
    chi: here.chi,
    free_energy: (1 + Math.log(beta) - here.phi) / beta,
    common: common(state),
    section: SECTION.map((z) => section(z, state)).filter((at) => at),
  };
}

const STYLE = `
.out { fill: color-mix(in srgb, var(--ink) 16%, transparent); }
.ring { fill: none; stroke: var(--a); stroke-opacity: 0.55; }
.way { fill: none; stroke: var(--b); stroke-width: 2; }
.stop { fill: var(--b); stroke: var(--ground); }
.bottom { fill: var(--ink); }
.one { fill: var(--ground); stroke: var(--ink); stroke-width: 2; }
.dashed { stroke: var(--quiet); stroke-dasharray: 4 4; }
.plane { touch-action: pan-y; }
.point {
  background: none; border: 0; border-radius: 50%; cursor: grab; height: 36px; margin: -18px 0 0 -18px; min-height: 0; padding: 0;
  position: absolute; touch-action: none; width: 36px;
}
.point:focus-visible { box-shadow: 0 0 0 2px var(--ink); }
.point svg { height: 36px; pointer-events: none; width: 36px; }
.disk { fill: var(--ground); stroke: var(--b); stroke-width: 3; }
.there .phase::before { background: var(--c); }
.key { display: flex; flex-wrap: wrap; gap: 2px 14px; }
.key i { border-top: 3px solid var(--line); display: inline-block; margin-right: 5px; vertical-align: 4px; width: 16px; }
.side { align-content: start; display: grid; gap: 8px; }
`;

const NAMES = ["beta", "coupling", "fields", "start", "rule"];
const FRAME = { left: 34, right: 8, top: 24, bottom: 34 };
const LINES = [["b", "potential"], ["a", "slope"], ["c", "curvature"]];
const SIDE = 190;

function render({ model, el }) {
  const ground = kit.card(el, "Saddle explorer", STYLE), initial = kit.read(model, NAMES);
  let [readout, frame] = [null, null];
  const change = (changes) => kit.store(model, changes);

  const phase = kit.html("span", { class: "phase" });
  const picture = kit.svg("svg", { role: "img" });
  const disk = kit.svg("svg", { "aria-hidden": "true" }, kit.svg("circle", { class: "disk", cx: 18, cy: 18, r: 7 }));
  const point = kit.html("button", { type: "button", class: "point" }, disk);
  const plane = kit.html("div", { class: "picture plane" }, picture, point);
  const along = kit.svg("svg", { height: SIDE, role: "img", width: "100%" });
  const key = kit.html("div", { class: "key quiet" }, ...LINES.map(([colour, words]) =>
    kit.html("span", {}, kit.html("i", { style: `--line: var(--${colour})` }), words)));
  const rows = {
    z: "z of the two spins", common: "One z for both", lengths: "Means, of a length of 1", steps: "Steps of the descent",
    energy: "Free energy f",
  };
  for (const [name, words] of Object.entries(rows)) rows[name] = kit.reading(words);
  const side = kit.html("div", { class: "side" }, along, key,
    kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element)));

  const two = (value) => kit.numeral(value);
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
  const rule = kit.choice({ label: "Steps", change: (value) => change({ rule: value }) });
  ground.head.append(phase);
  ground.body.append(kit.layout(plane, [
    kit.html("div", { class: "row" }, beta.element, coupling.element),
    kit.html("div", { class: "row" }, ...fields.map(({ element }) => element)),
    kit.html("div", { class: "row" }, rule.element,
      kit.button("Equal fields", () => change({ fields: [1, 1] })),
      kit.button("Cold, no fields", () => change({ fields: [0, 0], beta: MOST_BETA })),
      kit.button("Reset", () => change(initial)),
      kit.html("span", { class: "quiet" }, "Drag the start, or use the arrow keys.")),
  ], side, "1.15fr"));

  const within = (value) => Math.round(100 * Math.max(0, Math.min(MOST_Z, value))) / 100;
  const put = (place) => change({ start: place.map(within) });
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
  });

  function draw_plane(now, width) {
    const size = Math.min(width, 400), inner = size - FRAME.left - FRAME.right;
    const axis = { from: 0, to: MOST_Z, ticks: [0, 1, 2, 3, 4, 5, 6] };
    frame = kit.plot({
      left: FRAME.left, top: FRAME.top, width: inner, height: inner, title: "z of spin 2", rise: 10,
      x: { ...axis, label: "z of spin 1" }, y: axis,
    });
    const { toX, toY } = frame, height = FRAME.top + inner + FRAME.bottom, square = now.coupling ** 2, { path, z } = readout;
    const low = Math.max(square / MOST_Z, 1e-3);
    const border = Array.from({ length: 41 }, (_, k) => low * (MOST_Z / low) ** (k / 40)).map((x) => [x, square / x]);
    const far = path.map((place) => place.map((value) => Math.min(value, 3 * MOST_Z)));
    const clip = kit.svg("clipPath", { id: "plane" },
      kit.svg("rect", { x: FRAME.left, y: FRAME.top, width: inner, height: inner }));
    picture.setAttribute("height", height);
    picture.replaceChildren(
      ...frame.axes(),
      clip,
      kit.svg("g", { "clip-path": "url(#plane)" },
        kit.svg("path", { class: "out", d: `${frame.path([[0, 0], [0, MOST_Z], ...border, [MOST_Z, 0]])}z` }),
        kit.svg("line", { class: "dashed", x1: toX(0), y1: toY(0), x2: toX(MOST_Z), y2: toY(MOST_Z) }),
        ...rings(z, now).map((ring) => kit.svg("path", { class: "ring", d: frame.path(ring) })),
        kit.svg("path", { class: "way", d: frame.path([now.start, ...far]) }),
        ...far.map(([x, y]) => kit.svg("circle", { class: "stop", cx: toX(x), cy: toY(y), r: 4 })),
        kit.svg("circle", { class: "one", cx: toX(readout.common), cy: toY(readout.common), r: 4.5 }),
        kit.svg("circle", { class: "bottom", cx: toX(z[0]), cy: toY(z[1]), r: 4.5 })),
      ...(square > 0.1 ? [kit.svg("text", { class: "word", x: toX(0) + 6, y: toY(0) - 6 }, "forbidden")] : []),
    );
    const [x, y] = now.start;
    point.style.left = `${toX(x)}px`;
    point.style.top = `${toY(y)}px`;
    point.setAttribute("aria-label", `start at ${two(x)}, ${two(y)}`);
  }

  function draw_section(now, width) {
    const inside = { left: 34, top: 24, width: width - 40, height: SIDE - 60 };
    const plot = kit.plot({
      ...inside, title: "along z of spin 1 = z of spin 2", rise: 10,
      x: { from: 0, to: MOST_Z, ticks: [0, 1, 2, 3, 4, 5, 6], label: "z" }, y: { from: -2, to: 6, ticks: [-2, 0, 2, 4, 6] },
    });
    const { toX, toY } = plot, edge = Math.abs(now.coupling);
    const at = Array.from({ length: 121 }, (_, k) => edge + 0.004 + ((MOST_Z - edge) * k) / 120).map((z) => [z, section(z, now)]);
    const shown = (value) => (value > -2 && value < 6 ? value : NaN);
    along.replaceChildren(
      ...plot.axes(),
      kit.svg("rect", { class: "out", x: toX(0), y: toY(6), width: toX(edge) - toX(0), height: toY(-2) - toY(6) }),
      ...LINES.map(([colour], k) => plot.line(at.map(([z, values]) => [z, shown(values[k])]), colour)),
      kit.svg("line", { class: "dashed", x1: toX(readout.common), x2: toX(readout.common), y1: toY(6), y2: toY(-2) }),
      kit.svg("circle", { class: "one", cx: toX(readout.common), cy: toY(0), r: 4.5 }),
    );
  }

  function tell(now) {
    const { path, left, z, m, common: one, free_energy: f, chi } = readout, steps = path.length - 1;
    const there = left.at(-1) <= TOLERANCE, same = Math.abs(z[0] - z[1]) < 5e-4;
    phase.textContent = there ? `there in ${steps} steps` : "not there yet";
    ground.body.classList.toggle("there", there);
    rows.z.set(`${kit.numeral(z[0], 3)}, ${kit.numeral(z[1], 3)}`, "the full dot, the one minimum");
    rows.common.set(kit.numeral(one, 3), same ? "the same: the spins are alike" : "the ring, on the dashed line");
    rows.lengths.set(m.map(two).join(", "), `the rest fluctuates: ${two(chi[0])}, ${two(chi[2])}`);
    rows.steps.set(String(steps), `gradient left: ${kit.numeral(left.at(-1), 2)}`);
    rows.energy.set(kit.numeral(f, 3), "per component");
    const said = `Minimum at ${kit.numeral(z[0])}, ${kit.numeral(z[1])}. ${steps} steps${there ? "" : ", not there yet"}.`;
    picture.setAttribute("aria-label", `Lines of equal potential over z of spin 1 and z of spin 2. ${said}`);
    along.setAttribute("aria-label", `Potential, slope and curvature along equal z; least at ${kit.numeral(one)}`);
    ground.say(said);
    beta.set(now.beta);
    coupling.set(now.coupling);
    fields.forEach((slider, i) => slider.set(now.fields[i]));
    rule.set(now.rule, Object.entries(RULES));
  }

  function draw() {
    const now = kit.read(model, NAMES);
    readout = measure(now);
    if (plane.clientWidth > 0) draw_plane(now, plane.clientWidth);
    if (along.clientWidth > 0) draw_section(now, along.clientWidth);
    tell(now);
  }

  const { close } = kit.run({ model, el, ground, names: NAMES, draw, watch: [plane, along], readout: () => readout });
  return close;
}

export default { render };
