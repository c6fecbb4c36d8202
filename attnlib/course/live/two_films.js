/* Two films, one noise: films of 32 driven spins that share their noise, and the law of a layer of eight such tokens, exactly. */

const { SPINS, FRAMES, FIRST, BETA_RANGE, SPREAD, KINDS, SCORE_SEED } = kit.constants;

const STATES = 2 ** FIRST, HALF = STATES / 2, REACH = 7.5, STEP = 0.15;
const until = (size) => Array.from({ length: size }, (_, i) => i);
const scores = (() => {
  const { normal } = kit.generator(SCORE_SEED);
  return Float64Array.from({ length: 2 * SPINS * SPINS }, normal);
})();

/* Couplings of the first n tokens alone, row by row. */
export function couplings({ kind, causal }, n) {
  return until(n).map((i) => {
    const row = until(n).map((j) => scores[i * SPINS + j]), seen = (j) => !causal || j <= i;
    if (kind === "independent") return row.map((z, j) => (seen(j) ? z / Math.sqrt(n) : 0));
    const parts = row.map((z, j) => (seen(j) ? Math.exp(SPREAD * z) : 0)), total = parts.reduce((sum, part) => sum + part, 0);
    return parts.map((part, j) => (part / total) * (kind === "signed" ? Math.sign(scores[SPINS * SPINS + i * SPINS + j]) : 1));
  });
}

function dot(a, b) {
  let sum = 0;
  for (let j = 0; j < a.length; j += 1) sum += a[j] * b[j];
  return sum;
}

/* Three films with one noise, frame by frame: from all up, from all down, and up and down in turn. */
function filmed({ beta, seed, ...kind }) {
  const J = couplings(kind, SPINS).map((row) => Float64Array.from(row)), { uniform } = kit.generator(seed);
  const films = [(i) => 1, (i) => -1, (i) => (i % 2 ? -1 : 1)].map((begin) => [Float64Array.from({ length: SPINS }, (_, i) => begin(i))]);
  for (let t = 0; t < FRAMES; t += 1) {
    const before = films.map((film) => film[t]), after = films.map(() => new Float64Array(SPINS));
    for (let i = 0; i < SPINS; i += 1) {
      const noise = uniform();
      for (let k = 0; k < films.length; k += 1) after[k][i] = noise < 1 / (1 + Math.exp(-2 * beta * dot(J[i], before[k]))) ? 1 : -1;
    }
    films.forEach((film, k) => film.push(after[k]));
  }
  return films;
}

/* The distance of the law from the stationary one, step by step from all up: without a drive its even and its odd part move apart. */
function forgotten(J, beta) {
  const P = driven.moves(driven.fields(J, beta), FIRST, HALF), parts = [1, -1].map((sign) => driven.halved(P, STATES, sign));
  const [together, against] = parts.map((part) => driven.rowsOf(part, HALF)), rest = driven.stationary(parts[0].slice(), HALF), found = [];
  let even = new Float64Array(HALF), odd = new Float64Array(HALF);
  [even[0], odd[0]] = [1, -1]; // all up is the opposite of state 0, all down
  for (let t = 0; t <= FRAMES; t += 1) {
    let gap = 0;
    for (let s = 0; s < HALF; s += 1) gap += Math.abs(even[s] + odd[s] - rest[s]) + Math.abs(even[s] - odd[s] - rest[s]);
    found.push(gap / 4);
    [even, odd] = [driven.step(even, together), driven.step(odd, against)];
  }
  return found;
}

/* The error function, by a series whose terms are all positive. */
function erf(x) {
  if (x > 6) return 1;
  let term = x, sum = x;
  for (let n = 1; term > 1e-17 * sum; n += 1) sum += (term *= (2 * x * x) / (2 * n + 1));
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/* The damage: d = E tanh(beta z) erf(z sqrt(d / (2 - 2 d))) of a normal z, by halves; the right side is above d before it, below after. */
export function damage(beta) {
  const places = until(Math.round(REACH / STEP) + 1).map((k) => k * STEP);
  const parts = places.map((z) => Math.exp((-z * z) / 2) * Math.tanh(beta * z) * STEP * Math.sqrt(2 / Math.PI));
  let [low, high] = [0, 0.5];
  for (let turn = 0; turn < 50; turn += 1) {
    const d = (low + high) / 2, slope = Math.sqrt(d / (2 - 2 * d));
    const right = places.reduce((sum, z, k) => sum + parts[k] * erf(z * slope), 0);
    [low, high] = right > d ? [d, high] : [low, d];
  }
  return (low + high) / 2;
}

/* What does not depend on the noise: solved once for each setting. */
let solved = { key: "" };
function solve({ beta, kind, causal }) {
  const key = [beta, kind, causal].join();
  if (solved.key === key) return solved;
  const J = couplings({ kind, causal }, FIRST);
  solved = { key, J, law: forgotten(J, beta), damage: damage(beta) };
  return solved;
}

function share(a, b) {
  let differ = 0;
  for (let i = 0; i < SPINS; i += 1) differ += Number(a[i] !== b[i]);
  return differ / SPINS;
}

/* Every number that the figure shows; see the readout in Python. `films` is for drawing. */
function look(now) {
  const { J, law, damage: kept } = solve(now), films = filmed(now), [first, second, third] = films;
  const apart = first.map((frame, t) => share(frame, second[t])), up = (frame) => frame.reduce((sum, spin) => sum + (spin > 0), 0);
  const readout = {
    J, law, apart, met: apart.indexOf(0), third: first.findIndex((frame, t) => share(frame, third[t]) === 0), damage: kept,
    up: first.map((frame, t) => [up(frame), up(second[t])]),
  };
  return { readout, films };
}
export const measure = (now) => look(now).readout;

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Let the films meet, with independent couplings.", ({ kind }, { met }) => kind === "independent" && met >= 0],
  ["Keep them apart to the end, with softmax weights.", ({ kind }, { met }) => kind === "softmax" && met < 0],
  ["Let the two meet while the third, from alternating spins, is still apart.", (_, { met, third }) => met >= 0 && (third < 0 || third > met)],
];

const NAMES = ["beta", "kind", "causal", "seed"];
const STRIP = { left: 0, row: 3, gap: 24, top: 18 }, HIGH = 3 * (SPINS * STRIP.row + STRIP.gap);
const CHART = { left: 40, top: 30, height: 150, bottom: 36, right: 8 };

const STYLE = `
.layout > .picture { grid-column: 1 / -1; }
.layout > .side { grid-column: 1 / -1; order: 2; }
.side { display: grid; gap: 12px 22px; grid-template-columns: minmax(0, 1fr); }
.side svg { width: 100%; }
.side dl { grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.still { fill: var(--field); }
.up { fill: var(--a); }
.differ { fill: var(--b); }
.theory { stroke-dasharray: 6 4; }
.key { font-size: 12.5px; }
.key i { border-radius: 2px; display: inline-block; height: 4px; margin: 0 6px 3px 0; vertical-align: middle; width: 20px; }
.calm .phase::before { background: var(--a); border-radius: 1px; }
`;

function render({ model, el }) {
  const ground = kit.card(el, "Two films, one noise", STYLE), initial = kit.read(model, NAMES);
  let readout = null;
  const change = (changes) => kit.store(model, changes);
  const phase = kit.html("span", { class: "phase" });
  const film = kit.svg("svg", { role: "img", height: HIGH }), picture = kit.html("div", { class: "picture" }, film);
  const growth = kit.svg("svg", { role: "img", height: CHART.top + CHART.height + CHART.bottom });
  const rows = { films: kit.reading("The two films"), law: kit.reading("The law"), third: kit.reading("A third film") };
  const word = (colour, words) => kit.html("div", { class: "key quiet" }, kit.html("i", { style: `background: var(--${colour})` }), words);
  const side = kit.html("div", { class: "side" },
    kit.html("div", {}, growth, word("b", "spins that differ"), word("a", "distance of the law of eight such spins from rest")),
    kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element)));
  const beta = kit.slider({
    label: "Inverse temperature \u03b2", min: BETA_RANGE[0], max: BETA_RANGE[1], step: 0.05, format: (value) => kit.numeral(value),
    change: (value) => change({ beta: value }),
  });
  const kind = kit.choice({ label: "Couplings", change: (value) => change({ kind: value }) });
  const mask = kit.toggle({ label: "causal: nobody sees later spins", change: (on) => change({ causal: on }) });
  const again = kit.button("New noise", () => change({ seed: (model.get("seed") + 1) % 2 ** 31 }));
  const reset = kit.button("Reset", () => change(initial));
  const more = kit.more(kit.html("div", { class: "row" }, kind.element, again), mask.element);
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      kit.html("div", { class: "row" }, beta.element, kit.html("div", { class: "row" }, more.button, reset)),
      more.element,
    ], side),
    tasks.element,
  );

  /* What is true in frames, as rectangles, neighbours in a row together. */
  function cells(frames, holds, width, top, seen) {
    const wide = width / (FRAMES + 1), parts = [];
    for (let i = 0; i < SPINS; i += 1) {
      for (let t = 0; t < seen; t += 1) {
        if (!holds(t, i)) continue;
        const begin = t;
        while (t + 1 < seen && holds(t + 1, i)) t += 1;
        parts.push(`M${(wide * begin).toFixed(1)} ${top + STRIP.row * i}h${(wide * (t + 1 - begin)).toFixed(1)}v${STRIP.row}h${(-wide * (t + 1 - begin)).toFixed(1)}z`);
      }
    }
    return parts.join("") || "M0 0";
  }

  /* Both films and where they differ, frames from left to right, spins from above; on arrival only a share of the frames. */
  function strips(films, width, part) {
    const [a, b] = films, seen = Math.ceil(part * (FRAMES + 1));
    const shown = [
      ["A, from all up", "up", (t, i) => a[t][i] > 0], ["B, from all down", "up", (t, i) => b[t][i] > 0],
      ["where they differ", "differ", (t, i) => a[t][i] !== b[t][i]],
    ];
    return shown.flatMap(([name, colour, holds], k) => {
      const top = STRIP.top + k * (SPINS * STRIP.row + STRIP.gap);
      return [
        kit.shape("rect", { class: "still", x: 0, y: top, width, height: SPINS * STRIP.row }),
        kit.shape("path", { class: colour, d: cells(a, holds, width, top, seen) }),
        kit.shape("text", { class: "word", x: 0, y: top - 6 }, name),
      ];
    });
  }

  /* The share of spins that differ and the distance of the law, frame by frame; for independent couplings the damage of many spins. */
  function memories(now, width) {
    const plot = kit.plot({
      make: kit.shape, left: CHART.left, top: CHART.top, width: width - CHART.left - CHART.right, height: CHART.height, title: "what is left of the start",
      x: { from: 0, to: FRAMES, ticks: [0, 10, 20, 30, 40], label: "steps" }, y: { from: 0, to: 1, ticks: [0, 0.5, 1] },
    });
    const many = now.kind === "independent" && !now.causal, d = readout.damage;
    return [
      ...plot.axes(),
      plot.line(readout.law.map((value, t) => [t, value]), "a"),
      plot.line(readout.apart.map((value, t) => [t, value]), "b"),
      ...(many ? [plot.line([[0, d], [FRAMES, d]], "b", { class: "line theory" })] : []),
    ];
  }

  function tell(now) {
    const { met, third, law, damage: d } = readout, many = now.kind === "independent" && !now.causal;
    const when = (frame) => (frame < 0 ? "apart" : `step ${frame}`), left = kit.numeral(law[FRAMES] < 5e-4 ? 0 : law[FRAMES], 3);
    phase.textContent = met < 0 ? "apart" : `met at step ${met}`;
    ground.body.classList.toggle("calm", met >= 0);
    rows.films.set(met < 0 ? "apart" : `meet at ${when(met)}`, many ? `many spins keep ${kit.numeral(d, 3)} apart (dashed)` : `followed for ${FRAMES} steps`);
    rows.law.set(left, `from rest after ${FRAMES} steps, all ${STATES} states summed`);
    rows.third.set(third < 0 ? "apart" : `with A from ${when(third)}`, "from alternating spins, under the same noise");
    beta.set(now.beta);
    kind.set(now.kind, Object.entries(KINDS));
    mask.set(now.causal);
    const words = met < 0 ? `are apart after ${FRAMES} steps` : `meet at step ${met}`;
    film.setAttribute("aria-label", `Two films of ${SPINS} spins, from all up and from all down, driven by the same noise, ${words}`);
    growth.setAttribute("aria-label", `The share of spins that differ is ${kit.numeral(readout.apart[FRAMES])} in the end; the law is ${left} from rest`);
    ground.say(`The films ${words}; the law is ${left} from rest.`);
  }

  function draw(arriving) {
    const now = kit.read(model, NAMES), [wide, below] = [picture, growth].map((part) => part.clientWidth); // asked before anything changes
    const seen = look(now);
    readout = seen.readout;
    if (wide > 0) kit.fill(film, strips(seen.films, wide, arriving.reel ?? 1));
    if (below > 0) kit.fill(growth, memories(now, below));
    tell(now);
    tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names: NAMES, draw, watch: [picture, side], arrive: { reel: (part) => part },
    readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
