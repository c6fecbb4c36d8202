/* A stack of blocks: six tokens as driven spins, sampled, as naive means and as moments; the epsilon of each norm. */

const { TOKENS, FILMS, MOST_BLOCKS, TRIES, BETA_RANGE, WIDTHS, DRIVE, PLACES, KINDS } = kit.constants;

const places = Array.from({ length: TOKENS }, (_, i) => i), MOST_WIDTH = Number(WIDTHS.at(-1));
const table = (fill) => places.map((i) => places.map((j) => fill(i, j)));
const sum = (values) => values.reduce((total, one) => total + one, 0);
const dot = (a, b) => {
  let total = 0;
  for (let c = 0; c < a.length; c += 1) total += a[c] * b[c];
  return total;
};

/* Scores and directions, from one seed. */
const drawn = (() => {
  const { normal } = kit.generator(PLACES);
  return Float64Array.from({ length: TOKENS * (TOKENS + MOST_WIDTH) }, normal);
})();

export function weights(kind) {
  const sharp = kind === "even" ? 0 : kind === "sharp" ? 4 : 1;
  return places.map((i) => {
    const row = places.map((j) => (kind === "causal" && j > i ? 0 : Math.exp(sharp * drawn[TOKENS * i + j]))), total = sum(row);
    return row.map((part) => part / total);
  });
}

function directions(d) {
  return places.map((i) => {
    const from = TOKENS * TOKENS + MOST_WIDTH * i, row = drawn.slice(from, from + d), size = Math.sqrt(dot(row, row) / d);
    return row.map((part) => part / size);
  });
}

/* I_{d/2}(z) / (z I_{d/2-1}(z)) at x = z^2: the recurrence from an order so high that Amos' root is right there. */
function ratio(d, x) {
  const least = d / 2 - 1, steps = 30 + Math.ceil(Math.sqrt(x));
  let order = least + steps, found = 1 / (order + 0.5 + Math.sqrt((order + 1.5) ** 2 + x));
  for (; order > least + 0.5; order -= 1) found = 1 / (2 * order + x * found);
  return found;
}

/* How much of a field of this square by component, beta inside, a mean is. */
const gain = (d, felt) => d * ratio(d, d * d * felt);

/* The random numbers of the films of a seed: those that propose cosines, and as many normal ones as a setting has asked for so far,
   since those of fewer components or blocks come first. */
const COUNT = (MOST_BLOCKS - 1) * FILMS * TOKENS, across = new Float64Array(COUNT * MOST_WIDTH), tries = new Float64Array(COUNT * TRIES * 3);
let noise = { seed: null, drawn: 0 };
function draw_noise(seed, count) {
  if (noise.seed !== seed) {
    noise = { seed, drawn: 0, normal: kit.generator(seed).normal };
    const { uniform } = kit.generator(seed + 1);
    for (let k = 0; k < tries.length; k += 1) tries[k] = uniform();
  }
  const { normal } = noise;
  for (; noise.drawn < count; noise.drawn += 1) across[noise.drawn] = normal();
}

/* The cosine of a spin with its field, by Wood's rejection: the first proposal that is accepted. */
function cosine(kappa, d, from) {
  const k = d - 1, b = k / (2 * kappa + Math.sqrt(4 * kappa * kappa + k * k)), middle = (1 - b) / (1 + b);
  let first = null;
  for (let n = 0; n < TRIES; n += 1) {
    const at = from + 3 * n, t = Math.cos(2 * Math.PI * tries[at]) * Math.sqrt(1 - tries[at + 1] ** (2 / (d - 2)));
    const w = (1 - ((1 + b) * (1 + t)) / 2) / (1 - ((1 - b) * (1 + t)) / 2);
    first ??= w;
    if (kappa * (w - middle) + k * Math.log((1 - middle * w) / (1 - middle * middle)) >= Math.log(tries[at + 2])) return w;
  }
  return first;
}

const h = new Float64Array(MOST_WIDTH), side = new Float64Array(MOST_WIDTH);

/* The field of a spin in a film, into h, and its square. */
function feel(drive, row, spins, film, d) {
  for (let c = 0; c < d; c += 1) h[c] = drive[c];
  for (let j = 0; j < TOKENS; j += 1) {
    const weight = row[j], from = (film * TOKENS + j) * d;
    if (weight) for (let c = 0; c < d; c += 1) h[c] += weight * spins[from + c];
  }
  let square = 0;
  for (let c = 0; c < d; c += 1) square += h[c] * h[c];
  return square;
}

/* A spin in the field h, by the random numbers of this place, into the numbers `to` from `from` on. */
function turn(beta, square, d, at, to, from) {
  const root = Math.sqrt(d), size = Math.sqrt(square), w = cosine(beta * root * size, d, at * TRIES * 3);
  let [along, rest] = [0, 0];
  for (let c = 0; c < d; c += 1) along += across[at * d + c] * h[c];
  along /= square;
  for (let c = 0; c < d; c += 1) {
    side[c] = across[at * d + c] - along * h[c];
    rest += side[c] * side[c];
  }
  const on = (root * w) / size, out = (root * Math.sqrt(1 - w * w)) / Math.sqrt(rest);
  for (let c = 0; c < d; c += 1) to[from + c] = on * h[c] + out * side[c];
}

/* Means of the spins after each block, over films. */
function filmed(J, drive, start, d, { beta, blocks, seed }) {
  const means = [], size = TOKENS * d;
  let [spins, later] = [0, 1].map(() => new Float64Array(FILMS * size));
  draw_noise(seed, (blocks - 1) * FILMS * size);
  for (let film = 0; film < FILMS; film += 1) for (const i of places) spins.set(start[i], film * size + i * d);
  for (let block = 0; block < blocks; block += 1) {
    const mean = places.map(() => new Float64Array(d));
    for (let film = 0; film < FILMS; film += 1) {
      for (let i = 0; i < TOKENS; i += 1) {
        const square = feel(drive[i], J[i], spins, film, d), a = (beta * gain(d, (beta * beta * square) / d)) / FILMS, row = mean[i];
        for (let c = 0; c < d; c += 1) row[c] += a * h[c];
        if (block + 1 < blocks) turn(beta, square, d, (block * FILMS + film) * TOKENS + i, later, film * size + i * d);
      }
    }
    means.push(mean);
    [spins, later] = [later, spins];
  }
  return means;
}

/* Naive means and moments after each block: moments_step of the package. */
function closed({ beta, blocks, width, couplings }) {
  const d = Number(width), J = weights(couplings), start = directions(d), drive = start.map((row) => row.map((part) => DRIVE * part));
  const felt = (m) => places.map((i) => {
    const h = drive[i].slice();
    for (const j of places) for (let c = 0; c < d; c += 1) h[c] += J[i][j] * m[j][c];
    return h;
  });
  const turned = (h, extra) => {
    const a = beta * gain(d, beta * beta * (dot(h, h) / d + extra));
    return [h.map((part) => a * part), a];
  };
  let naive = start, m = start, C = table(() => 0);
  const path = [];
  for (let block = 0; block < blocks; block += 1) {
    const h = felt(m), JC = table((i, j) => dot(J[i], C[j])), epsilon = places.map((i) => Math.max(0, dot(JC[i], J[i])));
    naive = felt(naive).map((field) => turned(field, 0)[0]);
    const next = h.map((field, i) => turned(field, epsilon[i])), before = JC;
    m = next.map(([mean]) => mean);
    C = table((i, j) => (i === j ? 1 - dot(m[i], m[i]) / d : next[i][1] * next[j][1] * dot(before[i], J[j])));
    const apart = sum(m.map((row, i) => sum([...row].map((part, c) => (naive[i][c] - part) ** 2))));
    path.push({ naive, m, field: h.map((row) => dot(row, row) / d), epsilon, off: Math.sqrt(apart / sum(m.map((row) => dot(row, row)))) });
  }
  return { path, J, drive, start, d };
}

/* Every number that the figure shows; see the readout in Python. */
export function measure(state) {
  const { path, J, drive, start, d } = closed(state), size = (row) => Math.sqrt(dot(row, row) / d);
  const seen = filmed(J, drive, start, d, state);
  return {
    naive: path.map(({ naive }) => naive.map(size)),
    moments: path.map(({ m }) => m.map(size)),
    sampled: path.map(({ m }, block) => m.map((row, i) => dot(seen[block][i], row) / d / size(row))),
    field: path.map(({ field }) => field),
    epsilon: path.map(({ epsilon }) => epsilon),
    off: path.map(({ off }) => off),
  };
}

/* Is naive mean field off by less at both temperatures beside this one? */
const worst = (state, here) => here > 0 && [-0.1, 0.1].every((more) => closed({ ...state, beta: state.beta + more }).path.at(-1).off <= here);

const CHALLENGES = [
  ["Find the \u03b2 at which naive means are off the most after five blocks of softmax couplings.",
    (state, { off }) => state.blocks === 5 && state.couplings === "softmax" && worst(state, off.at(-1))],
  ["Make naive means wrong by over 40 % after the last block.", (state, { off }) => off.at(-1) > 0.4],
  ["Leave \u03b2 at 1 or below, and make them right.", ({ beta }, { off }) => beta <= 1 && off.at(-1) < 1e-9],
];

const NAMES = ["beta", "blocks", "width", "couplings", "seed"];
const WORDS = { softmax: "softmax of scores", sharp: "sharp: scores times 4", causal: "softmax, causal", even: "even" };
const TOP = 40, ROW = 46, MOST_ROW = 92, FOOT = 34, LEFT = 48, RIGHT = 42, BETWEEN = 16, HIGH = TOP + MOST_BLOCKS * ROW + FOOT;

const STYLE = `
.phase { flex: none; white-space: nowrap; }
.layout > .picture { grid-column: 1 / -1; }
.layout > .side { grid-column: 1 / -1; order: 2; }
.side { grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.seen { fill: var(--a); opacity: 0.8; }
.naive { stroke: var(--b); stroke-width: 3; }
.near { fill: var(--ink); }
.field { fill: var(--field); stroke: var(--quiet); }
.epsilon { fill: var(--b); }
.calm .phase::before { background: var(--a); border-radius: 1px; }
`;

function render({ model, el }) {
  const ground = kit.card(el, "A stack of blocks, and the epsilon of its norms", STYLE), initial = kit.read(model, NAMES);
  let readout = null;
  const change = (changes) => kit.store(model, changes);
  const phase = kit.html("span", { class: "phase" });
  const stack = kit.svg("svg", { role: "img", height: HIGH }), picture = kit.html("div", { class: "picture" }, stack);
  const rows = {
    off: kit.reading("Naive means are off by"), epsilon: kit.reading("Epsilon of the last norm"), films: kit.reading("Films and moments"),
  };
  const side = kit.html("dl", { class: "side" }, ...Object.values(rows).map(({ element }) => element));
  const beta = kit.slider({
    label: "Inverse temperature \u03b2", min: BETA_RANGE[0], max: BETA_RANGE[1], step: 0.05, format: (value) => kit.numeral(value),
    change: (value) => change({ beta: value }),
  });
  const blocks = kit.slider({ label: "Blocks", min: 1, max: MOST_BLOCKS, change: (value) => change({ blocks: value }) });
  const width = kit.choice({ label: "Components of a spin", change: (value) => change({ width: value }) });
  const kind = kit.choice({ label: "Couplings", change: (value) => change({ couplings: value }) });
  const another = kit.button("Other films", () => change({ seed: (model.get("seed") + 1) % 2 ** 30 }));
  const reset = kit.button("Reset", () => change(initial));
  const more = kit.more(kit.html("div", { class: "row" }, blocks.element), kit.html("div", { class: "row" }, width.element, kind.element, another));
  const tasks = kit.challenges(CHALLENGES);
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      kit.html("div", { class: "row" }, beta.element, kit.html("div", { class: "row" }, more.button, reset)), more.element,
    ], side),
    tasks.element,
  );

  const text = (kind_, x, y, words, anchor = "start") => kit.shape("text", { class: kind_, x, y, "text-anchor": anchor }, words);

  /* Blocks from below; in each, left, the length of each token's mean, and right, what stands in its norm. */
  function blocks_of(now, wide) {
    const half = (wide - LEFT - RIGHT - BETWEEN) / 2, second = LEFT + half + BETWEEN, step = half / TOKENS, bar = Math.max(5, step - 7);
    const row = Math.min(MOST_ROW, (MOST_BLOCKS * ROW) / now.blocks), tall = row - 12, most = Math.max(1.2, ...readout.field.flatMap((row, b) => row.map((k, i) => k + readout.epsilon[b][i])));
    const bottom = TOP + MOST_BLOCKS * ROW;
    const said = half > 180 ? ["length of means", "inside the norm", "bar: films, line: naive", "|h|\u00b2/d, and on it the epsilon \u0394"]
      : ["means", "norms", "line: naive", "|h|\u00b2/d, on it \u0394"]; // a phone has no room for more
    const top = bottom - tall, parts = [
      ...said.map((words, k) => text(k < 2 ? "name" : "", k % 2 ? second : LEFT, k < 2 ? 14 : 30, words)),
      text("", LEFT - 4, top + 4, "1", "end"), text("", LEFT - 4, bottom + 4, "0", "end"),
      ...places.flatMap((i) => [LEFT, second].map((left) => text("", left + step * (i + 0.5), bottom + 15, `${i + 1}`, "middle"))),
      text("", LEFT + half / 2, bottom + 30, "token", "middle"), text("", second + half / 2, bottom + 30, "token", "middle"),
    ];
    for (let b = 0; b < now.blocks; b += 1) {
      const foot = bottom - b * row;
      parts.push(kit.shape("g", {},
        text("", 0, foot - tall / 2 + 4, `block ${b + 1}`),
        kit.shape("line", { class: "grid", x1: LEFT, x2: LEFT + half, y1: foot - tall, y2: foot - tall }),
        kit.shape("line", { class: "zero", x1: LEFT, x2: LEFT + half, y1: foot, y2: foot }),
        kit.shape("line", { class: "zero", x1: second, x2: second + half, y1: foot, y2: foot }),
        text("", wide, foot - 4, `\u0394 ${kit.numeral(sum(readout.epsilon[b]) / TOKENS)}`, "end"),
        ...places.flatMap((i) => {
          const x = LEFT + step * i + (step - bar) / 2, right = second + step * i + (step - bar) / 2;
          const [seen, naive, moments] = ["sampled", "naive", "moments"].map((name) => tall * readout[name][b][i]);
          const [k, epsilon] = ["field", "epsilon"].map((name) => (tall * readout[name][b][i]) / most);
          return [
            kit.shape("rect", { class: "seen", x, y: foot - seen, width: bar, height: Math.max(0, seen) }),
            kit.shape("line", { class: "naive", x1: x - 2, x2: x + bar + 2, y1: foot - naive, y2: foot - naive }),
            kit.shape("circle", { class: "near", cx: x + bar / 2, cy: foot - moments, r: 2.5 }),
            kit.shape("rect", { class: "field", x: right, y: foot - k, width: bar, height: k }),
            kit.shape("rect", { class: "epsilon", x: right, y: foot - k - epsilon, width: bar, height: epsilon }),
          ];
        }),
      ));
    }
    return parts;
  }

  function tell(now) {
    const off = readout.off.at(-1), epsilon = sum(readout.epsilon.at(-1)) / TOKENS, share = `${kit.numeral(100 * off, 1)} %`;
    const field = sum(readout.field.at(-1)) / TOKENS;
    const gap = Math.max(...readout.moments.at(-1).map((value, i) => Math.abs(value - readout.sampled.at(-1)[i])));
    phase.textContent = off < 1e-9 ? "exact" : share;
    ground.body.classList.toggle("calm", off < 1e-9);
    rows.off.set(share, now.blocks > 1 ? `after ${now.blocks} blocks, over the size of the means` : "one block is exact");
    rows.epsilon.set(kit.numeral(epsilon), `mean of six tokens, beside |h|\u00b2/d of ${kit.numeral(field)}`);
    rows.films.set(kit.numeral(gap, 3), `apart at most, of ${FILMS} films; dots are moments`);
    beta.set(now.beta);
    blocks.set(now.blocks);
    width.set(now.width, WIDTHS.map((name) => [name, name]));
    kind.set(now.couplings, KINDS.map((name) => [name, WORDS[name]]));
    stack.setAttribute("aria-label", `${now.blocks} blocks. After the last one the lengths of the six means are `
      + `${readout.sampled.at(-1).map((value) => kit.numeral(value)).join(", ")} in films, ${readout.naive.at(-1).map((value) => kit.numeral(value)).join(", ")} naive; `
      + `epsilons ${readout.epsilon.map((row) => kit.numeral(sum(row) / TOKENS)).join(", ")}, block by block`);
    ground.say(`Naive means are off by ${share} after ${now.blocks} blocks; the epsilon of the last norm is ${kit.numeral(epsilon)}.`);
  }

  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving }, wide = picture.clientWidth; // before anything changes: asked once
    readout = measure(now);
    if (wide > 0) kit.fill(stack, blocks_of(now, wide));
    tell(now);
    tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names: NAMES, draw, watch: [picture], arrive: { beta: 0.3 }, readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
