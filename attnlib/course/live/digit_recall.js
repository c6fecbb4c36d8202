/* Digit recall: 64 spins, each taking in turn the value that the energy prefers. A picture is 16 hexadecimal digits, 1 for ink. */

const { SIDE, PIXELS, DEGREES } = kit.constants;
const SCALE = 2 ** Math.ceil(Math.log2(PIXELS + 2));

const parsed = new Map();
export function spins(picture) {
  if (parsed.size > 500) parsed.clear();
  if (!parsed.has(picture)) parsed.set(picture, [...picture].flatMap((digit) => [8, 4, 2, 1].map((bit) => (parseInt(digit, 16) & bit ? 1 : -1))));
  return [...parsed.get(picture)];
}

export function written(state) {
  const nibble = (from) => [8, 4, 2, 1].reduce((sum, bit, i) => sum + (state[from + i] > 0 ? bit : 0), 0);
  return Array.from({ length: PIXELS / 4 }, (_, i) => nibble(4 * i).toString(16)).join("");
}

/* A whole power by multiplication, as attnlib does it. */
function power(base, degree) {
  let product = base;
  for (let i = 1; i < degree; i += 1) product *= base;
  return product;
}

const dot = (one, two) => one.reduce((sum, value, i) => sum + value * two[i], 0);

/* -(d/a) sum (z/d)^a or -ln sum exp z, of the overlaps z with the stored pictures. */
export function energy(overlaps, degree) {
  if (degree !== "exp") return (-PIXELS / degree) * overlaps.reduce((sum, z) => sum + power(z / PIXELS, degree), 0);
  const top = Math.max(...overlaps);
  return -top - Math.log(overlaps.reduce((sum, z) => sum + Math.exp(z - top), 0));
}

/* How strongly each stored picture pulls, and the state on itself. Together, up to a factor, they are the field of a spin. */
export function pulls(overlaps, degree) {
  if (degree === "exp") {
    const top = Math.max(...overlaps), factors = overlaps.map((z) => Math.exp(z - top));
    const total = factors.reduce((sum, factor) => sum + factor, 0);
    return { pull: factors.map((factor) => factor / total), own: -Math.tanh(1) };
  }
  const [here, up, down] = [0, 2, -2].map((shift) => overlaps.map((z) => power((z + shift) / SCALE, degree)));
  const own = here.reduce((sum, value, i) => sum + value - (up[i] + down[i]) / 2, 0);
  return { pull: up.map((value, i) => (value - down[i]) / 2), own };
}

/* An endless supply of shuffles of 0 to 63, one for each sweep. */
export function shuffles(seed) {
  const { uniform } = kit.generator(seed);
  return () => {
    const order = Array.from({ length: PIXELS }, (_, i) => i);
    for (let last = PIXELS - 1; last > 0; last -= 1) {
      const other = Math.floor(uniform() * (last + 1));
      [order[last], order[other]] = [order[other], order[last]];
    }
    return order;
  };
}

/* The whole recall: sweep until a sweep changes nothing. A field below its rounding error has no sign: such a spin stays. */
export function recall({ patterns, stored, cue, degree, seed }) {
  const memory = patterns.slice(0, stored).map(spins), state = spins(cue), next = shuffles(seed);
  const overlaps = memory.map((pattern) => dot(pattern, state));
  const orders = [], energies = [energy(overlaps, degree)], turned = [];
  for (let moving = true; moving; ) {
    const order = next(), heights = [], turns = [];
    for (const k of order) {
      const { pull, own } = pulls(overlaps, degree);
      const field = pull.reduce((sum, strength, i) => sum + strength * memory[i][k], 0) + own * state[k];
      const rounding = Number.EPSILON * pull.reduce((sum, strength) => sum + Math.abs(strength), 0);
      const turning = Math.abs(field) > rounding && Math.sign(field) !== state[k];
      if (turning) {
        state[k] = -state[k];
        for (let i = 0; i < stored; i += 1) overlaps[i] += 2 * state[k] * memory[i][k];
      }
      turns.push(turning ? k : -1);
      heights.push(energy(overlaps, degree));
    }
    moving = turns.some((k) => k >= 0);
    if (moving) {
      orders.push(order);
      energies.push(...heights);
      turned.push(...turns);
    }
  }
  const places = overlaps.map((z) => z / PIXELS);
  return { sweeps: orders.length, orders, energies, turned, found: places.indexOf(1), negative: places.indexOf(-1) };
}

/* What there is to see after so many visits of a recall. */
export function after(visits, whole, { patterns, stored, digit, cue }) {
  const state = spins(cue);
  for (const k of whole.turned.slice(0, visits)) if (k >= 0) state[k] = -state[k];
  const meant = spins(patterns[digit]);
  return {
    picture: written(state),
    overlaps: patterns.slice(0, stored).map((pattern) => dot(spins(pattern), state) / PIXELS),
    wrong: state.filter((spin, k) => spin !== meant[k]).length,
  };
}

/* Every number that the figure shows. */
export const measure = (now, whole = recall(now)) => ({ ...whole, ...after(now.visits, whole, now) });

/* What can be tried: of the state and its numbers, whether it is done. */
const rested = ({ visits }, { sweeps }) => sweeps > 0 && visits >= PIXELS * sweeps;
export const CHALLENGES = [
  [
    "Recall a digit from its upper half, with ten pictures stored or more.",
    (now, said) => rested(now, said) && now.stored >= 10 && said.found === now.digit && now.cue === now.patterns[now.digit].slice(0, 8).padEnd(16, "0"),
  ],
  ["Let a recall come to rest in a shape that nobody stored.", (now, said) => rested(now, said) && said.found < 0 && said.negative < 0],
];

const STYLE = `
.digit {
  aspect-ratio: 1; border: 1px solid var(--rule); display: grid; grid-template: repeat(8, 1fr) / repeat(8, 1fr);
  max-width: 272px; touch-action: none; width: 100%;
}
.digit button {
  background: var(--ground); border: 1px solid var(--grid); border-radius: 0; min-height: 0; padding: 0; position: relative;
}
.digit button[aria-pressed="true"] { background: var(--ink); }
.digit button.wrong::after {
  background: var(--b); border-radius: 50%; content: ""; height: 30%; left: 35%; position: absolute; top: 35%; width: 30%;
}
.digit button.here { outline: 3px solid var(--a); outline-offset: -3px; z-index: 1; }
.digit button:focus-visible { outline: 3px solid var(--accent); outline-offset: -2px; z-index: 2; }
.stored { display: grid; gap: 4px; grid-template-columns: repeat(5, minmax(40px, 1fr)); margin: 2px 0 10px; }
.stored button { display: grid; gap: 2px; justify-items: center; min-height: 0; padding: 3px 2px 2px; }
.stored button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); }
.stored svg { fill: var(--ink); height: 24px; width: 24px; }
.stored b { font-size: 11px; font-weight: 400; }
.stored .same { border-color: var(--c); box-shadow: 0 0 0 1px var(--c); }
.overlap { background: var(--field); height: 5px; position: relative; width: 100%; }
.overlap i { background: var(--b); height: 100%; left: 50%; position: absolute; }
.digit + .buttons { margin-top: 8px; }
.buttons button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.go { background: var(--accent); color: var(--ground); font-weight: 600; }
.now { stroke: var(--ink); stroke-dasharray: 2 3; }
`;

const NAMES = ["patterns", "stored", "digit", "cue", "degree", "seed", "visits"];
const RULES = { 2: "pairs (Hebb)", 3: "cubes", 10: "power 10", exp: "exponential" };
const SPEED = 32; // visits a second

function render({ model, el }) {
  const ground = kit.card(el, "Digit recall", STYLE), initial = kit.read(model, NAMES);
  let [readout, whole, key, brush, current, origin] = [null, null, "", null, 0, 0];

  const phase = kit.html("span", { class: "phase" });
  const pixels = Array.from({ length: PIXELS }, () => kit.html("button", { type: "button", tabindex: -1 }));
  const digit = kit.html("div", {
    class: "digit", role: "group", "aria-label": "The picture. Arrow keys lead from pixel to pixel, the space bar turns one",
  }, ...pixels);
  const plot = kit.svg("svg", { height: 150, role: "img", width: "100%" });
  const gallery = kit.html("div", { class: "stored", role: "group", "aria-label": "Stored pictures and their overlaps" });
  const words = "Stored pictures, and how well this one agrees with each. Choose one to start from it.";
  const rows = { energy: kit.reading("Energy"), best: kit.reading("Best overlap"), wrong: kit.reading("Wrong pixels") };
  const list = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));

  const set = (name) => (value) => begin({ [name]: value });
  const play = kit.button("Recall", recallOrPause);
  play.className = "go";
  const meant = () => model.get("patterns")[model.get("digit")];
  const damage = [
    kit.button("Turn 12 pixels", spoil),
    kit.button("Blank the lower half", () => begin({ cue: meant().slice(0, 8).padEnd(16, "0") })),
    kit.button("Mend", () => begin({ cue: meant() })),
  ];
  const more = [
    kit.button("Another order of visits", () => begin({ seed: next() })),
    kit.button("Reset", () => move(initial)),
  ];
  const stored = kit.slider({ label: "Pictures stored", min: 1, max: initial.patterns.length, change: set("stored") });
  const visits = kit.slider({ label: "Visits", min: 0, max: PIXELS, change: (value) => move({ visits: value }) });
  const rules = DEGREES.map((degree) => ({ degree, chip: kit.button(RULES[degree], () => begin({ degree })) }));
  const picture = kit.html("div", { class: "picture" }, digit, kit.html("div", { class: "row buttons" }, play, ...damage));
  const fold = kit.more(visits.element, kit.html("div", { class: "row buttons" }, more[0])), tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(kit.layout(picture, [
    stored.element,
    kit.html("div", { class: "row buttons", role: "group", "aria-label": "Reward of a match" }, ...rules.map(({ chip }) => chip)),
    kit.html("div", { class: "row buttons" }, fold.button, ...more.slice(1)),
    fold.element,
  ], kit.html("div", {}, kit.html("div", { class: "quiet" }, words), gallery, plot, list), "0.7fr"), tasks.element);

  // What the reader does

  function now() {
    return kit.read(model, NAMES);
  }

  function move(changes) {
    show.stop();
    kit.store(model, changes);
  }

  /* Change what is recalled: the recall begins anew. */
  function begin(changes) {
    move({ visits: 0, ...changes });
  }

  /* Turn twelve pixels of the picture that is meant, others each time. */
  function spoil() {
    const seed = next(), picture = spins(meant());
    for (const k of shuffles(2 ** 30 + seed)().slice(0, 12)) picture[k] = -picture[k]; // another draw than the order of visits
    begin({ cue: written(picture), seed });
  }

  function next() {
    return (model.get("seed") + 1) % 2 ** 31;
  }

  /* What is painted on is what is seen: the picture after the visits made so far. */
  function paint(k, spin) {
    const picture = seen();
    if (picture[k] === spin) return;
    picture[k] = spin;
    begin({ cue: written(picture) });
  }

  function seen() {
    return spins(model.get("visits") ? readout.picture : model.get("cue"));
  }

  const total = () => PIXELS * whole.sweeps;

  const show = kit.loop((seconds) => {
    const visit = Math.min(total(), origin + Math.floor(SPEED * seconds));
    kit.store(model, { visits: visit });
    redraw();
    return visit < total();
  });

  /* From the cue, or from where the recall was stopped, to rest; at once where motion is not wanted. */
  function recallOrPause() {
    if (show.running()) {
      show.stop();
      redraw();
    } else if (kit.reducedMotion()) {
      move({ visits: now().visits < total() ? total() : 0 });
    } else {
      origin = now().visits < total() ? now().visits : 0;
      show.start();
      redraw();
    }
  }

  const indexAt = ({ clientX, clientY }) => {
    const { left, top, width, height } = digit.getBoundingClientRect();
    const [column, row] = [(clientX - left) / width, (clientY - top) / height].map((share) => Math.floor(SIDE * share));
    return column >= 0 && column < SIDE && row >= 0 && row < SIDE ? SIDE * row + column : -1;
  };

  function lead(k) {
    pixels[current].tabIndex = -1;
    current = k;
    pixels[k].tabIndex = 0;
    pixels[k].focus({ preventScroll: true });
  }

  kit.drag(digit, {
    find: (element) => (pixels.includes(element) ? pixels.indexOf(element) : null),
    take(event) {
      const k = indexAt(event);
      if (k < 0) return null;
      lead(k);
      brush = -seen()[k];
      paint(k, brush);
      return k;
    },
    move(_, event) {
      const k = indexAt(event);
      if (k >= 0) paint(k, brush);
    },
    push(k, [right, up]) {
      const [column, row] = [(k % SIDE) + right, Math.floor(k / SIDE) - up].map((at) => Math.max(0, Math.min(SIDE - 1, at)));
      lead(SIDE * row + column);
    },
  });
  digit.addEventListener("click", (event) => {
    const k = pixels.indexOf(event.target);
    if (event.detail === 0 && k >= 0) paint(k, -seen()[k]); // by a key; a pointer has painted already
  });
  pixels[0].tabIndex = 0;

  // What the figure shows

  const looks = [];
  function arrange(state) {
    const { patterns } = state;
    looks.length = Math.min(looks.length, state.stored);
    while (gallery.children.length > state.stored) gallery.lastChild.remove();
    while (gallery.children.length < state.stored) {
      const index = gallery.children.length, ink = spins(patterns[index]);
      const path = ink.map((spin, k) => (spin > 0 ? `M${k % SIDE} ${Math.floor(k / SIDE)}h1v1h-1z` : "")).join("");
      const bar = kit.html("div", { class: "overlap" }, kit.html("i"));
      gallery.append(kit.html(
        "button", { type: "button", onclick: () => begin({ digit: index, cue: patterns[index] }) },
        kit.svg("svg", { "aria-hidden": "true", viewBox: "0 0 8 8" }, kit.svg("path", { d: path })),
        bar, kit.html("b", {}, String(index)),
      ));
    }
    readout.overlaps.forEach((overlap, i) => {
      const button = gallery.children[i], { style } = button.querySelector("i"), look = `${overlap} ${i === state.digit}`;
      if (looks[i] === look) return;
      looks[i] = look;
      button.setAttribute("aria-label", `picture ${i}, overlap ${kit.numeral(overlap)}`);
      button.setAttribute("aria-pressed", String(i === state.digit));
      button.classList.toggle("same", overlap === 1);
      style.left = `${50 + 50 * Math.min(overlap, 0)}%`;
      style.width = `${50 * Math.abs(overlap)}%`;
    });
  }

  const dots = [];
  function ink(state) {
    const shown = spins(readout.picture), meant = spins(state.patterns[state.digit]);
    const visited = state.visits > 0 && state.visits < total() ? readout.orders[Math.floor((state.visits - 1) / PIXELS)] : null;
    const here = visited ? visited[(state.visits - 1) % PIXELS] : -1;
    pixels.forEach((pixel, k) => {
      const wrong = shown[k] !== meant[k], look = `${shown[k]} ${wrong} ${k === here}`;
      if (dots[k] === look) return;
      dots[k] = look;
      pixel.setAttribute("aria-pressed", String(shown[k] > 0));
      pixel.setAttribute("aria-label", `row ${Math.floor(k / SIDE) + 1}, column ${(k % SIDE) + 1}${wrong ? ", wrong" : ""}`);
      pixel.className = `${wrong ? "wrong" : ""}${k === here ? " here" : ""}`;
    });
  }

  /* The energy after each visit, all of it pale and what has happened dark. */
  function fall(width, at) {
    const { energies, sweeps } = readout, [low, high] = [energies.at(-1), energies[0]], spare = 0.08 * (high - low || 1);
    const points = energies.map((height, i) => [i / PIXELS, height]);
    const last = Math.max(sweeps, 1), digits = (value) => String(Number(value.toPrecision(6))).replace("-", "\u2212");
    const frame = kit.plot({
      left: 46, top: 26, width: width - 54, height: 88, title: "energy, visit by visit; ticks are sweeps",
      x: { from: 0, to: last, ticks: Array.from({ length: last + 1 }, (_, i) => i), format: String },
      y: { from: low - spare, to: high + spare, ticks: kit.ticks({ from: low - spare, to: high + spare }, 3), format: digits },
    });
    const x = frame.toX(at / PIXELS);
    return [
      ...frame.axes(),
      frame.line(points, "rule"),
      frame.line(points.slice(0, at + 1), "b"),
      kit.svg("line", { class: "now", x1: x, x2: x, y1: 22, y2: 114 }),
      frame.dots([points[at]], "b", 4),
    ];
  }

  function tell(state, at) {
    const { energies, overlaps, wrong, found, negative, sweeps } = readout, best = overlaps.indexOf(Math.max(...overlaps));
    const place = found === state.digit ? `picture ${found}, as meant` : found >= 0 ? `picture ${found}, another one`
      : negative >= 0 ? `negative of picture ${negative}` : "never stored";
    const rests = at === total(), sweep = `sweep ${Math.floor(at / PIXELS) + 1} of ${sweeps}`;
    const word = rests ? `at rest: ${place}` : at ? sweep : "the cue";
    phase.textContent = word;
    ground.body.classList.toggle("frozen", rests && found === state.digit);
    const range = `from ${kit.numeral(energies[0])} down to ${kit.numeral(energies.at(-1))}`;
    rows.energy.set(kit.numeral(energies[at]), `${range}: no visit raises it`);
    rows.best.set(kit.numeral(overlaps[best]), `with picture ${best}; 1 is the same, 0 as good as chance`);
    const meant = state.digit < state.stored ? "" : ", which is not stored";
    rows.wrong.set(`${wrong} of ${PIXELS}`, `orange dots: unlike picture ${state.digit}, the one that is meant${meant}`);
    plot.setAttribute("aria-label", `Energy after each visit, ${range}`);
    const told = `${word}; ${wrong} wrong pixels, best overlap ${kit.numeral(overlaps[best])} with picture ${best}`;
    if (!show.running()) ground.say(told);
  }

  function draw(arriving) {
    const state = { ...now(), ...arriving }, width = plot.clientWidth, started = JSON.stringify({ ...state, visits: 0 });
    if (started !== key) [key, whole] = [started, recall(state)];
    readout = measure(state, whole);
    const at = Math.min(state.visits, total());
    ink(state);
    arrange(state);
    if (width > 0) plot.replaceChildren(...fall(width, at));
    tell(state, at);
    stored.set(state.stored);
    visits.element.querySelector("input").max = Math.max(total(), 1);
    visits.set(at);
    play.textContent = show.running() ? "Pause" : at && at === total() ? "Recall again" : "Recall";
    for (const { degree, chip } of rules) chip.setAttribute("aria-pressed", String(degree === state.degree));
    tasks.judge(state, readout);
  }

  /* On arrival the picture is spoiled, pixel by pixel. */
  function spoiling(share, cue) {
    const picture = spins(cue), clean = spins(meant()), off = picture.flatMap((spin, k) => (spin === clean[k] ? [] : [k]));
    for (const k of off.slice(Math.round(share * off.length))) picture[k] = clean[k];
    return written(picture);
  }

  const { redraw, close } = kit.run({
    model, el, ground, names: NAMES, draw, watch: [plot], arrive: { cue: spoiling }, readout: () => readout, solved: tasks.solved,
    end: () => show.stop(),
  });
  return close;
}

export default { render };
