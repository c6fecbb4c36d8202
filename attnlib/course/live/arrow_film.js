/* The arrow film: eight driven spins, all 256 states exactly; a film of them forwards and backwards, and the odds of which is which. */

const { SPINS, FRAMES, BETA_RANGE, SHARPEST, SCORES, DRIVE } = kit.constants;

const STATES = 2 ** SPINS, places = Array.from({ length: SPINS }, (_, i) => i);
const REACH = 6.5, MOST = 4000, CLOSE = 1e-11;
const up = (state, i) => (state >> i) & 1 ? 1 : -1;
const table = (fill) => places.map((i) => places.map((j) => fill(i, j)));

/* Softmax weights of the scores, with so much of their antisymmetric part taken away. */
export function couplings({ sharpness, symmetric, causal }) {
  const A = SCORES.map((row, i) => {
    const seen = row.map((z, j) => (causal && j > i ? 0 : Math.exp(sharpness * z)));
    const total = seen.reduce((sum, part) => sum + part, 0);
    return seen.map((part) => part / total);
  });
  return table((i, j) => A[i][j] - (symmetric / 2) * (A[i][j] - A[j][i]));
}

/* The mean of tanh under a Gaussian, and its slope, by the trapezoidal rule: the nearer the poles, the finer. Both sides of the
   middle at once, with tanh(g + x) from tanh g and tanh x, and weights e^(-z^2/2) each from the one before. */
function smeared(g, width) {
  const spread = Math.sqrt(width), step = Math.min(0.8, Math.PI ** 2 / (22 * spread + 1e-9)), count = Math.ceil(REACH / step), middle = Math.tanh(g);
  let [mean, slope, total, weight, fall] = [middle, 1 - middle * middle, 1, 1, Math.exp((-step * step) / 2)];
  const faster = fall * fall;
  for (let k = 1; k <= count; k += 1) {
    weight *= fall;
    fall *= faster;
    const t = Math.tanh(spread * k * step), above = (middle + t) / (1 + middle * t), below = (middle - t) / (1 - middle * t);
    mean += weight * (above + below);
    slope += weight * (2 - above * above - below * below);
    total += 2 * weight;
  }
  return [mean / total, slope / total];
}

/* Where a closure comes to rest, K being beta J: means, and the entropy production that it takes for true. Its step of means and
   covariances is closure_step of the package. */
function rest(J, beta, naive) {
  const K = J.flatMap((row) => row.map((entry) => beta * entry)), drive = DRIVE.map((x) => beta * x), KC = new Float64Array(SPINS * SPINS);
  const m = Float64Array.from(drive, Math.tanh), next = new Float64Array(SPINS), gain = new Float64Array(SPINS);
  const C = Float64Array.from(KC, (_, at) => (at % (SPINS + 1) ? 0 : 1 - m[at % SPINS] ** 2));
  const times = (a, i, b, j) => { // row i of a times row j of b
    let sum = 0;
    for (let k = 0; k < SPINS; k += 1) sum += a[i * SPINS + k] * b[j * SPINS + k];
    return sum;
  };
  for (let turn = 0, off = 1; turn < MOST && off > CLOSE; turn += 1) {
    off = 0;
    for (let i = 0; i < SPINS; i += 1) {
      for (let j = 0; j < SPINS; j += 1) KC[i * SPINS + j] = times(K, i, C, j); // C is symmetric
    }
    for (let i = 0; i < SPINS; i += 1) {
      let g = drive[i];
      for (let j = 0; j < SPINS; j += 1) g += K[i * SPINS + j] * m[j];
      const width = naive ? 0 : Math.max(0, times(KC, i, K, i)), t = Math.tanh(g);
      [next[i], gain[i]] = width ? smeared(g, width) : [t, 1 - t * t];
      off = Math.max(off, Math.abs(next[i] - m[i]));
    }
    for (let i = 0; i < SPINS; i += 1) for (let j = 0; j < SPINS; j += 1) {
      const at = i * SPINS + j, later = i === j ? 1 - next[i] ** 2 : gain[i] * gain[j] * times(KC, i, K, j);
      off = Math.max(off, Math.abs(later - C[at]));
      C[at] = later;
    }
    m.set(next);
  }
  let arrow = 0;
  for (let i = 0; i < SPINS; i += 1) for (let j = 0; j < SPINS; j += 1) arrow += (K[i * SPINS + j] - K[j * SPINS + i]) * gain[i] * KC[i * SPINS + j];
  return { m: [...m], arrow };
}

/* What does not depend on the film: solved once for each setting. */
let solved = { key: "" };
function solve({ beta, sharpness, symmetric, causal }) {
  const key = [beta, sharpness, symmetric, causal].join();
  if (solved.key === key) return solved;
  const J = couplings({ sharpness, symmetric, causal }), fields = driven.fields(J, beta, DRIVE);
  const law = driven.stationary(driven.moves(fields, SPINS), STATES), m = driven.sums(law.slice());
  const now = places.map((i) => driven.sums(law.map((part, s) => part * Math.tanh(fields[s * SPINS + i]))));
  let e_p = 0;
  for (const i of places) for (const j of places) e_p += beta * (J[i][j] - J[j][i]) * (now[i][j] - m[i] * m[j]);
  const [naive, correlated] = [true, false].map((plain) => rest(J, beta, plain));
  solved = { key, J, fields, law, e_p, m, naive: naive.m, correlated: correlated.m, closed: [naive.arrow, correlated.arrow] };
  return solved;
}

/* The film of a seed as numbers of states, and which strip shows it backwards. */
function filmed({ fields, law }, seed) {
  const { uniform } = kit.generator(seed), backwards = uniform() < 0.5 ? "A" : "B", first = uniform();
  let [state, below] = [0, law[0]];
  while (below <= first && state < STATES - 1) below += law[(state += 1)];
  const numbers = [state];
  for (let t = 0; t < FRAMES; t += 1) {
    let next = 0;
    for (const i of places) if (uniform() < 1 / (1 + Math.exp(-2 * fields[state * SPINS + i]))) next |= 1 << i;
    numbers.push((state = next));
  }
  return { numbers, backwards };
}

/* Every number that the figure shows; see the readout in Python. */
export function measure(now) {
  const found = solve(now), { J, fields, law, e_p, m, naive, correlated, closed } = found, { numbers, backwards } = filmed(found, now.seed);
  const told = (from, to) => places.reduce((sum, i) => {
    const h = fields[from * SPINS + i], size = Math.abs(h);
    return sum + h * up(to, i) - size - Math.log(1 + Math.exp(-2 * size));
  }, 0);
  let grown = 0;
  const odds = numbers.map((state, t) => {
    if (t) grown += told(numbers[t - 1], state) - told(state, numbers[t - 1]);
    return grown + Math.log(law[numbers[0]] / law[state]);
  });
  return {
    J, e_p, m, naive, correlated, closed, frames: numbers.map((state) => places.map((i) => up(state, i))), backwards, odds,
    right: now.guess === backwards,
  };
}

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Say which strip runs backwards at \u03b2 = 0.5, or hotter.", ({ beta }, { right }) => right && beta <= 0.5],
  [
    "Take the arrow away, and leave \u03b2 and the sharpness as they are.",
    ({ beta, sharpness }, { e_p }) => Math.abs(beta - 1) < 1e-6 && Math.abs(sharpness - 2) < 1e-6 && Math.abs(e_p) < 1e-9,
  ],
  ["Give equal weights an arrow of half a nat or more.", ({ sharpness }, { e_p }) => sharpness === 0 && e_p >= 0.5],
];

const NAMES = ["beta", "sharpness", "symmetric", "causal", "seed", "guess"];
const STRIP = { left: 22, row: 11, gap: 26, top: 20 }, HIGH = 2 * (SPINS * STRIP.row + STRIP.gap) + 4;
const CHART = { left: 40, top: 30, height: 110, bottom: 36, right: 8 }, BARS = { top: 44, row: 15, left: 46, right: 6, bottom: 22 };

const STYLE = `
.layout > .picture { grid-column: 1 / -1; }
.layout > .side { grid-column: 1 / -1; order: 2; }
.side { display: grid; gap: 12px 22px; grid-template-columns: minmax(0, 1fr); }
@container (min-width: 560px) { .side { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
.side svg { width: 100%; }
.side dl { grid-column: 1 / -1; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.still { fill: var(--field); }
.up { fill: var(--a); }
.back .up { fill: var(--b); }
.theory { stroke-dasharray: 6 4; }
.exact { fill: var(--b); opacity: 0.75; }
.naive { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.near { fill: var(--ink); }
.guess button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.calm .phase::before { background: var(--a); border-radius: 1px; }
`;

function render({ model, el }) {
  const ground = kit.card(el, "Which way does the film run?", STYLE), initial = kit.read(model, NAMES);
  let readout = null;
  const change = (changes) => kit.store(model, changes);
  const phase = kit.html("span", { class: "phase" });
  const film = kit.svg("svg", { role: "img", height: HIGH }), picture = kit.html("div", { class: "picture" }, film);
  const growth = kit.svg("svg", { role: "img", height: CHART.top + CHART.height + CHART.bottom });
  const means = kit.svg("svg", { role: "img", height: BARS.top + SPINS * BARS.row + BARS.bottom });
  const rows = {
    arrow: kit.reading("Entropy production"), odds: kit.reading("Log odds of the truth"), closed: kit.reading("Closures say"),
  };
  const side = kit.html("div", { class: "side" }, kit.html("div", {}, growth), kit.html("div", {}, means),
    kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element)));
  const beta = kit.slider({
    label: "Inverse temperature \u03b2", min: BETA_RANGE[0], max: BETA_RANGE[1], step: 0.05, format: (value) => kit.numeral(value),
    change: (value) => change({ beta: value }),
  });
  const sharp = kit.slider({
    label: "Sharpness of the scores g", min: 0, max: SHARPEST, step: 0.1, format: (value) => kit.numeral(value, 1),
    change: (value) => change({ sharpness: value }),
  });
  const even = kit.slider({
    label: "Antisymmetric part taken away", min: 0, max: 1, step: 0.05, format: (value) => `${(100 * value).toFixed(0)} %`,
    change: (value) => change({ symmetric: value }),
  });
  const mask = kit.toggle({ label: "causal: nobody sees later spins", change: (on) => change({ causal: on }) });
  const guesses = ["A", "B"].map((name) => ({ name, press: kit.button(`${name} runs backwards`, () => change({ guess: name })) }));
  const another = kit.button("Another film", () => change({ seed: (model.get("seed") + 1) % 2 ** 31, guess: "" }));
  const reset = kit.button("Reset", () => change(initial));
  const more = kit.more(kit.html("div", { class: "row" }, sharp.element, even.element), mask.element);
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      kit.html("div", { class: "row guess", role: "group", "aria-label": "Your guess" }, ...guesses.map(({ press }) => press), another),
      kit.html("div", { class: "row" }, beta.element, kit.html("div", { class: "row" }, more.button, reset)),
      more.element,
    ], side),
    tasks.element,
  );

  const text = (kind, x, y, words, anchor = "start") => kit.shape("text", { class: kind, x, y, "text-anchor": anchor }, words);

  /* Both strips, frames from left to right, spins from above; of a film on arrival only a share of the frames. */
  function strips(now, width, share) {
    const wide = (width - STRIP.left) / (FRAMES + 1), cell = `h${(wide - 1).toFixed(2)}v${STRIP.row - 1}h${(1 - wide).toFixed(2)}z`;
    return ["A", "B"].flatMap((name, k) => {
      const back = name === readout.backwards, frames = back ? [...readout.frames].reverse() : readout.frames;
      const top = STRIP.top + k * (SPINS * STRIP.row + STRIP.gap), seen = Math.ceil(share * (FRAMES + 1));
      const squares = frames.slice(0, seen).flatMap((frame, t) => frame.map((spin, i) => (
        spin > 0 ? `M${(STRIP.left + wide * t).toFixed(2)} ${top + STRIP.row * i}${cell}` : "")));
      const truth = now.guess ? (back ? "runs backwards" : "runs forwards") : "", yours = now.guess === name ? (back ? ", as you said" : ", you said backwards") : "";
      return [
        kit.shape("rect", { class: "still", x: STRIP.left, y: top, width: width - STRIP.left, height: SPINS * STRIP.row }),
        kit.shape("g", now.guess && back ? { class: "back" } : {}, kit.shape("path", { class: "up", d: squares.join("") || "M0 0" })),
        text("name", 0, top + SPINS * STRIP.row / 2 + 4, name),
        text("word", STRIP.left, top - 6, `${truth}${yours}` || "frame after frame, from left to right"),
      ];
    });
  }

  /* What the log odds are expected to be after each frame, and, once the guess is made, what they were. */
  function grown(now, width) {
    const { e_p, odds } = readout, high = Math.max(2, e_p * FRAMES, ...(now.guess ? odds : []));
    const low = now.guess ? Math.min(0, ...odds) : 0, plot = kit.plot({
      make: kit.shape, left: CHART.left, top: CHART.top, width: width - CHART.left - CHART.right, height: CHART.height,
      title: now.guess ? "log odds of the truth: film, and its mean" : "mean log odds of the truth",
      x: { from: 0, to: FRAMES, ticks: [0, 8, 16, 24], label: "frames seen" }, y: { from: low, to: high },
    });
    return [
      ...plot.axes(),
      plot.line([[0, 0], [FRAMES, e_p * FRAMES]], "a", { class: "line theory" }),
      ...(now.guess ? [plot.line(odds.map((value, t) => [t, value]), "b")] : []),
    ];
  }

  /* A bar for each exact mean, a ring and a dot for what two closures take it for. */
  function bars(width) {
    const { top, row, left, right } = BARS, { toX, axes } = kit.plot({
      make: kit.shape, left, top, width: width - left - right, height: SPINS * row, y: { from: 0, to: 1, ticks: [] },
      x: { from: -1, to: 1, ticks: [-1, 0, 1], format: (value) => kit.numeral(value, 0) },
    });
    return [
      text("name", 0, 12, "mean of each spin"), text("", 0, 29, "bar: exact, ring: naive, dot: correlated"),
      ...[-1, 0, 1].map((value) => kit.shape("line", { class: value ? "grid" : "zero", x1: toX(value), x2: toX(value), y1: top, y2: top + SPINS * row })),
      ...axes(),
      ...places.flatMap((i) => {
        const y = top + row * i, middle = y + row / 2, exact = readout.m[i];
        return [
          text("", 0, middle + 4, `spin ${i + 1}`),
          kit.shape("rect", { class: "exact", x: Math.min(toX(exact), toX(0)), y: y + 2, width: Math.abs(toX(exact) - toX(0)), height: row - 4 }),
          kit.shape("circle", { class: "naive", cx: toX(readout.naive[i]), cy: middle, r: 4 }),
          kit.shape("circle", { class: "near", cx: toX(readout.correlated[i]), cy: middle, r: 2.5 }),
        ];
      }),
    ];
  }

  const nats = (value) => kit.numeral(Math.abs(value) < 5e-7 ? 0 : value);

  function tell(now) {
    const { e_p, odds, closed: taken, right, backwards } = readout, none = Math.abs(e_p) < 5e-7, said = now.guess !== "";
    phase.textContent = none ? "no arrow" : `${nats(e_p)} nats`;
    ground.body.classList.toggle("calm", none);
    rows.arrow.set(`${nats(e_p)}`, "nats a frame, all 256 states summed");
    rows.odds.set(said ? nats(odds.at(-1)) : "?", said ? `after ${FRAMES} frames; on average ${nats(FRAMES * e_p)}` : `guess first; on average ${nats(FRAMES * e_p)}`);
    rows.closed.set(taken.map(nats).join(", "), "naive mean field, correlated Gaussian");
    beta.set(now.beta);
    sharp.set(now.sharpness);
    even.set(now.symmetric);
    mask.set(now.causal);
    for (const { name, press } of guesses) press.setAttribute("aria-pressed", String(name === now.guess));
    const words = said ? `${backwards} runs backwards${right ? ", as you said" : ", and not as you said"}` : "which of them runs backwards is yours to say";
    film.setAttribute("aria-label", `A film of eight spins, ${FRAMES + 1} frames, once forwards and once backwards; ${words}`);
    growth.setAttribute("aria-label", `The log odds of the truth grow by ${nats(e_p)} a frame on average${said ? `; in this film they are ${nats(odds.at(-1))} at the end` : ""}`);
    means.setAttribute("aria-label", `Exact means ${readout.m.map((value) => kit.numeral(value)).join(", ")}; naive ${readout.naive.map((value) => kit.numeral(value)).join(", ")}`);
    ground.say(`Entropy production ${nats(e_p)} nats a frame; ${words}.`);
  }

  function draw(arriving) {
    const now = kit.read(model, NAMES);
    const [wide, first, second] = [picture, growth, means].map((part) => part.clientWidth); // before anything changes: asked once
    readout = measure(now);
    if (wide > 0) kit.fill(film, strips(now, wide, arriving.reel ?? 1));
    if (first > 0) kit.fill(growth, grown(now, first));
    if (second > 0) kit.fill(means, bars(second));
    tell(now);
    tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names: NAMES, draw, watch: [picture, side], arrive: { reel: (share) => share },
    readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
