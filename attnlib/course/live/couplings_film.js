/* The couplings film: strengths of the couplings between spins at recorded steps of training, and curves of the whole. */

const CURVES = Object.entries(kit.constants.CURVES), { TICKS } = kit.constants;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/* All pictures: frames of symmetric tables of strengths, stored as bytes, upper triangles row by row. */
export function frames({ at, grid, norms, largest }) {
  const text = atob(norms), n = 1 + grid[0] * grid[1];
  let next = 0;
  return at.map(() => {
    const table = Array.from({ length: n }, () => Array(n).fill(0));
    for (let i = 0; i < n; i += 1) for (let j = i + 1; j < n; j += 1) {
      table[i][j] = table[j][i] = (text.charCodeAt(next) * largest) / 255;
      next += 1;
    }
    return table;
  });
}

/* Which kind of pair two spins are: class spin and patch, patches with a common edge, or others. */
export function kind([, columns], i, j) {
  if (i === 0 || j === 0) return "class";
  const [a, b] = [i - 1, j - 1];
  const apart = Math.abs(Math.floor(a / columns) - Math.floor(b / columns)) + Math.abs((a % columns) - (b % columns));
  return apart === 1 ? "near" : "far";
}

/* The mean strength of each kind of pair. */
function strengths(grid, table) {
  const found = { class: [], near: [], far: [] };
  table.forEach((row, i) => row.forEach((value, j) => j > i && found[kind(grid, i, j)].push(value)));
  return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, mean(values)]));
}

/* The last recorded step up to this one. */
const frameOf = (at, step) => at.filter((recorded) => recorded <= step).length - 1;

/* Every number that the figure shows. */
export function measure({ film, spin, step }, tables = frames(film)) {
  const frame = frameOf(film.at, step), table = tables[frame];
  let strongest = [0, 1];
  table.forEach((row, i) => row.forEach((value, j) => {
    if (j > i && value > table[strongest[0]][strongest[1]]) strongest = [i, j];
  }));
  return { step: film.at[frame], norms: table[spin], strongest, right: film.right[frame], mode: film.mode[frame], ...strengths(film.grid, table) };
}

const PANEL = { height: 86, top: 28, bottom: 18, left: 30, right: 12 };
const NET = 300, DOT = 15;
const PICTURE_MS = 160, SLOW_MS = 1000; // slow: for readers who asked for less motion

const STYLE = `
.score { background: var(--field); border: 1px solid var(--rule); border-radius: 99px; font-size: 12.5px; padding: 1px 9px; }
.curves { min-width: 0; }
.curves svg { cursor: ew-resize; touch-action: pan-y; width: 100%; }
.pair { stroke: var(--a); stroke-linecap: round; }
.pair.own { stroke: var(--b); }
.dot { fill: var(--field); stroke: var(--ink); stroke-width: 1.2; cursor: pointer; }
.dot.own { fill: var(--b); }
svg .number { fill: var(--ink); font-size: 11.5px; pointer-events: none; text-anchor: middle; }
svg .number.own { fill: var(--ground); font-weight: 700; }
.player { align-items: center; display: flex; gap: 12px; }
.player button { min-width: 68px; }
.now { stroke: var(--b); }
.mark { fill: var(--b); stroke: var(--ground); stroke-width: 1.5; }
p { margin: 8px 0 0; }
`;

const nameOf = (spin) => (spin ? `patch ${spin}` : "class");

function render({ model, el }) {
  const names = ["film", "spin", "step"];
  const ground = kit.card(el, "Couplings film", STYLE);
  const film = model.get("film"), { at, grid, largest } = film, tables = frames(film);
  const courses = tables.map((table) => strengths(grid, table));
  let readout = null, playing = 0;

  const score = kit.html("span", { class: "score" });
  const net = kit.svg("svg", { role: "img" }), curves = kit.svg("svg", { height: 3 * PANEL.height, role: "img" });
  const picture = kit.html("div", { class: "picture" }, net);
  const beside = kit.html("div", { class: "curves" }, curves, kit.html("p", { class: "quiet" },
    "Lines: couplings stronger than a fifth of the strongest ever; orange those of the chosen spin. One mode: the largest "
    + "eigenvalue's part of all squared strengths. Below it: mean strengths of three kinds of pairs."));
  const frame = () => frameOf(at, model.get("step"));
  const go = (step) => kit.store(model, { step });
  const play = kit.button("Play", () => (playing ? pause() : start()));
  const slider = kit.slider({
    label: "Training step", min: 0, max: at.length - 1, format: (place) => String(at[place]),
    change: (place) => {
      pause();
      go(at[place]);
    },
  });
  const spin = kit.choice({ label: "Spin", change: (place) => kit.store(model, { spin: Number(place) }) });
  const strongest = kit.html("span", { class: "quiet" });
  const controls = [
    kit.html("div", { class: "player" }, play, slider.element),
    kit.html("div", { class: "row" }, spin.element, strongest),
  ];
  ground.head.append(score);
  ground.body.append(kit.layout(picture, controls, beside, "0.9fr"));

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.textContent = "Play";
  }

  /* One recorded step after the other; from the beginning if it stands at the end. */
  function start() {
    if (frame() === at.length - 1) go(0);
    play.textContent = "Pause";
    playing = setInterval(() => {
      go(at[frame() + 1]);
      if (frame() === at.length - 1) pause();
    }, kit.reducedMotion() ? SLOW_MS : PICTURE_MS);
  }

  /* Patches where they lie in the picture, the class spin above them; a line for each strong coupling. */
  function spins(width, now) {
    const [rows, columns] = grid, free = Math.min(width, NET) - 2 * DOT - 8, left = (width - free) / 2, top = 74;
    const down = (NET - top - DOT - 4) / (rows - 1);
    const where = tables[0].map((_, i) => (i === 0 ? [width / 2, 26]
      : [left + (free * ((i - 1) % columns)) / (columns - 1), top + down * Math.floor((i - 1) / columns)]));
    net.setAttribute("height", NET);
    const table = tables[frame()], pairs = [];
    table.forEach((row, i) => row.forEach((value, j) => {
      const share = value / largest, own = i === now.spin || j === now.spin;
      if (j > i && share > 0.2) pairs.push({ i, j, share, own });
    }));
    pairs.sort((one, other) => one.own - other.own || one.share - other.share);
    return [
      ...pairs.map(({ i, j, share, own }) => kit.svg("line", {
        class: own ? "pair own" : "pair", x1: where[i][0], y1: where[i][1], x2: where[j][0], y2: where[j][1],
        "stroke-width": (6 * share).toFixed(2), opacity: share.toFixed(3),
      })),
      ...where.flatMap(([x, y], i) => [
        kit.svg("circle", {
          class: i === now.spin ? "dot own" : "dot", cx: x, cy: y, r: i ? DOT - 3 : DOT + 3, onclick: () => kit.store(model, { spin: i }),
        }),
        kit.svg("text", { class: i === now.spin ? "number own" : "number", x, y: y + 4 }, i ? String(i) : "class"),
      ]),
    ];
  }

  /* Curves in three rows, each from zero, over the recorded steps, which lie closer together at the beginning. */
  function panels(width) {
    const wide = width / 2, { left, bottom } = PANEL;
    return CURVES.flatMap(([key, name], place) => {
      const top = Math.floor(place / 2) * PANEL.height + PANEL.top, tall = film[key] ? 1 : Math.ceil(largest * 20) / 20;
      const plot = kit.plot({
        left: (place % 2) * wide + left, top, width: wide - left - PANEL.right, height: PANEL.height - PANEL.top - bottom,
        x: {
          from: 0, to: at.length - 1, format: (frame) => String(at[frame]),
          ticks: TICKS.map((step) => at.indexOf(step)).filter((frame) => frame >= 0),
        },
        y: { from: 0, to: tall, ticks: [0, tall], format: String },
      });
      const { toX, toY, axes, line } = plot, values = film[key] ?? courses.map((course) => course[key]);
      const x = toX(frame());
      return [
        kit.svg("text", {
          class: "name", x: (place % 2) * wide, y: top - 14, style: `font-size: ${Math.min(12.5, wide / 14)}px`,
        }, `${name}: ${kit.numeral(readout[key])}`),
        ...axes(),
        line(values.map((value, i) => [i, value]), "a"),
        kit.svg("line", { class: "now", x1: x, x2: x, y1: toY(tall), y2: toY(0) }),
        kit.svg("circle", { class: "mark", cx: x, cy: toY(readout[key]), r: 4 }),
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
    go(at[Math.round(share * (at.length - 1))]);
  }
  curves.addEventListener("pointerdown", scrub);
  curves.addEventListener("pointermove", scrub);

  function tell(now) {
    const measured = CURVES.map(([key, name]) => `${name} ${kit.numeral(readout[key])}`).join(", ");
    const pair = readout.strongest.map(nameOf).join(" and ");
    const about = `After step ${readout.step} ${kit.numeral(100 * readout.right, 1)} % of unseen digits are right`;
    score.textContent = `${kit.numeral(100 * readout.right, 1)} % right`;
    strongest.textContent = `strongest pair: ${pair}`;
    net.setAttribute("aria-label", `Spins joined by their couplings, the ${nameOf(now.spin)} spin in orange. ${about}; strongest pair: ${pair}`);
    curves.setAttribute("aria-label", `At step ${readout.step}: ${measured}`);
    if (!playing) ground.say(`${about}; ${measured}.`);
  }

  function draw() {
    const now = kit.read(model, names);
    readout = measure(now, tables);
    slider.set(frame());
    spin.set(now.spin, tables[0].map((_, i) => [i, nameOf(i)]));
    if (picture.clientWidth > 0) net.replaceChildren(...spins(picture.clientWidth, now));
    if (beside.clientWidth > 0) curves.replaceChildren(...panels(beside.clientWidth));
    tell(now);
  }

  return kit.run({ model, el, ground, names, draw, watch: [picture], end: pause, readout: () => readout }).close;
}

export default { render };
