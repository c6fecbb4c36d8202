/* The couplings film: whom a spin listens to at recorded steps of training, what is read, and what one mode holds. */

const CURVES = Object.entries(kit.constants.CURVES), KINDS = Object.entries(kit.constants.KINDS), { TICKS, LEAST, BEND } = kit.constants;

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

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Find the step at which one mode holds most.", ({ film }, { mode }) => mode === Math.max(...film.mode)],
  ["Find a patch, and a step, whose strongest coupling is the one to the class spin.",
    ({ spin }, { norms }) => spin > 0 && norms[0] === Math.max(...norms)],
];

const PLOT = { height: 232, left: 36, right: 14, top: 26, bottom: 38 };
const NET = 300, GAP = 3, CLASS = 19, ABOVE = 54;
const COLOURS = { right: "b", mode: "a" };
const PICTURE_MS = 160, SLOW_MS = 1000; // slow: for readers who asked for less motion

const STYLE = `
.score { background: var(--field); border: 1px solid var(--rule); border-radius: 99px; font-size: 12.5px; padding: 1px 9px; }
.curves { align-content: start; display: grid; gap: 8px; min-width: 0; }
.curves > svg { cursor: ew-resize; touch-action: pan-y; width: 100%; }
.site { cursor: pointer; }
.site .paper { fill: var(--ground); stroke: var(--rule); }
.site .ink { fill: var(--a); }
.site.own .ink { fill: var(--b); }
.site:hover .paper { stroke: var(--ink); }
svg .number { fill: var(--ink); font-size: 11.5px; pointer-events: none; text-anchor: middle; }
svg .number.light { fill: var(--ground); }
svg .number.own { font-weight: 700; }
.player { align-items: center; display: flex; gap: 12px; }
.player button { min-width: 68px; }
.now { stroke: var(--ink); stroke-dasharray: 3 3; }
.mark { stroke: var(--ground); stroke-width: 1.5; }
p { margin: 4px 0 0; }
`;

const nameOf = (spin) => (spin ? `patch ${spin}` : "class");

function render({ model, el }) {
  const names = ["film", "spin", "step"];
  const ground = kit.card(el, "Couplings film", STYLE);
  const film = model.get("film"), { at, grid, largest } = film, tables = frames(film);
  let [readout, playing] = [null, 0];

  const score = kit.html("span", { class: "score" });
  const net = kit.svg("svg", { role: "img", height: NET }), curves = kit.svg("svg", { height: PLOT.height, role: "img" });
  const key = kit.html("p", { class: "quiet" });
  const picture = kit.html("div", { class: "picture" }, net, key);
  const bars = Object.fromEntries(KINDS.map(([name, words]) => [name, kit.reading(words, true)]));
  const beside = kit.html("div", { class: "curves" }, curves,
    kit.html("span", { class: "quiet" }, "How strongly they are coupled, on average"),
    kit.html("dl", {}, ...Object.values(bars).map(({ element }) => element)));
  const frame = () => frameOf(at, model.get("step"));
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
  const more = kit.more(kit.html("div", { class: "row" }, spin.element, strongest),
    kit.html("span", { class: "quiet" }, "One mode: the largest eigenvalue's part of all squared strengths. A press on a patch chooses it."));
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(score);
  ground.body.append(kit.layout(picture, [kit.html("div", { class: "player" }, play, slider.element, more.button), more.element], beside, "0.8fr"),
    tasks.element);

  function go(step) {
    kit.store(model, { step });
  }

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

  /* Patches where they lie in the picture, the class spin above them: the fuller the colour, the stronger the coupling. */
  function spins(width, now, table) {
    const [rows, columns] = grid, tile = Math.min((Math.min(width, NET) - 4) / columns, (NET - ABOVE) / rows);
    const left = (width - tile * columns) / 2;
    return table.map((_, i) => {
      const own = i === now.spin, share = own ? 1 : LEAST + (1 - LEAST) * (table[now.spin][i] / largest) ** BEND;
      const place = i - 1, x = i ? left + tile * (place % columns) : width / 2, y = i ? ABOVE + tile * Math.floor(place / columns) : CLASS + 3;
      const shape = (name, more = {}) => (i
        ? kit.svg("rect", { class: name, x, y, width: tile - GAP, height: tile - GAP, rx: 4, ...more })
        : kit.svg("circle", { class: name, cx: x, cy: y, r: CLASS, ...more }));
      const middle = i ? [x + (tile - GAP) / 2, y + (tile - GAP) / 2 + 4] : [x, y + 4];
      return kit.svg("g", { class: own ? "site own" : "site", onclick: () => kit.store(model, { spin: i }) },
        shape("paper"), shape("ink", { "fill-opacity": share.toFixed(3) }),
        kit.svg("text", { class: `number${own ? " own" : ""}${share > 0.75 ? " light" : ""}`, x: middle[0], y: middle[1] },
          i ? String(i) : "class"));
    });
  }

  /* Both shares over the recorded steps, which lie closer together at the beginning, each with its name where it is high. */
  function shares(width, said, where) {
    const { left, right, top, bottom, height } = PLOT;
    const plot = kit.plot({
      left, top, width: width - left - right, height: height - top - bottom,
      x: {
        from: 0, to: at.length - 1, format: (frame) => String(at[frame]), label: "steps of training",
        ticks: TICKS.map((step) => at.indexOf(step)).filter((frame) => frame >= 0),
      },
      y: { from: 0, to: 1, ticks: [0, 0.5, 1], format: (share) => `${100 * share} %` },
    });
    const { toX, toY, axes, line } = plot;
    const word = (name, text, x, y, anchor) => kit.svg("text", {
      class: "word", x, y, "text-anchor": anchor, style: `fill: var(--${COLOURS[name]}); font-size: 13px; font-weight: 600`,
    }, `${text}: ${(100 * said[name]).toFixed(0)} %`);
    return [
      ...axes(),
      kit.svg("line", { class: "now", x1: toX(where), x2: toX(where), y1: toY(1), y2: toY(0) }),
      ...CURVES.flatMap(([name, text]) => [
        line(film[name].map((value, i) => [i, value]), COLOURS[name]),
        word(name, text, toX(at.length - 1), toY(name === "mode" ? 0.08 : 0.66), "end"),
        kit.svg("circle", { class: "mark", cx: toX(where), cy: toY(said[name]), r: 5, fill: `var(--${COLOURS[name]})` }),
      ]),
    ];
  }

  /* A press or a drag in the curves leads to that step. */
  function scrub(event) {
    if (event.type === "pointermove" && !curves.hasPointerCapture(event.pointerId)) return;
    if (event.type === "pointerdown") curves.setPointerCapture(event.pointerId);
    const box = curves.getBoundingClientRect(), wide = box.width - PLOT.left - PLOT.right;
    const share = Math.max(0, Math.min(1, (event.clientX - box.left - PLOT.left) / wide));
    pause();
    go(at[Math.round(share * (at.length - 1))]);
  }
  curves.addEventListener("pointerdown", scrub);
  curves.addEventListener("pointermove", scrub);

  function tell(now, said) {
    const measured = [...CURVES, ...KINDS].map(([name, words]) => `${words} ${kit.numeral(said[name])}`).join(", ");
    const pair = said.strongest.map(nameOf).join(" and ");
    const about = `After step ${said.step} ${kit.numeral(100 * said.right, 1)} % of unseen digits are right`;
    score.textContent = `${kit.numeral(100 * said.right, 1)} % right`;
    key.textContent = `The fuller the colour, the stronger coupled to the ${now.spin ? `spin of patch ${now.spin}` : "class spin"}, which is orange.`;
    strongest.textContent = `strongest pair: ${pair}`;
    for (const [name, bar] of Object.entries(bars)) bar.set(kit.numeral(said[name]), "", { to: said[name] / largest });
    net.setAttribute("aria-label", `Sixteen patches and the class spin, as dark as they are coupled to the ${nameOf(now.spin)} spin. ${about}; strongest pair: ${pair}`);
    curves.setAttribute("aria-label", `At step ${said.step}: ${measured}`);
    if (!playing) ground.say(`${about}; ${measured}.`);
  }

  /* On the way to its step, when it arrives, the film shows the pictures before it. */
  function draw(arriving) {
    const now = { ...kit.read(model, names), ...arriving }, place = frameOf(at, now.step);
    readout = measure(now, tables);
    slider.set(place);
    spin.set(now.spin, tables[0].map((_, i) => [i, nameOf(i)]));
    if (picture.clientWidth > 0) net.replaceChildren(...spins(picture.clientWidth, now, tables[place]));
    if (beside.clientWidth > 0) curves.replaceChildren(...shares(beside.clientWidth, readout, place));
    tell(now, readout);
    tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names, draw, watch: [picture], end: pause, readout: () => readout, solved: tasks.solved,
    arrive: { step: (share, to) => at[Math.floor(share * frameOf(at, to))] },
  }).close;
}

export default { render };
