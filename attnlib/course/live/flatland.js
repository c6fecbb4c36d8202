/* Flatland: memories are valleys in the plane, queries roll down. The energy is |xi|^2 / 2 - ln(sum_i exp(beta x_i.xi)) / beta. */

const { EDGE, MOST_MEMORIES, MOST_QUERIES, MOST_STEPS, MOST_TO_REST, LARGEST_BETA, LARGEST_STEP, HOTTEST, COLDEST, TOGETHER, UNCHANGED, PLANE, SCENES } =
  kit.constants;
const { html, numeral, store, svg } = kit;
const SIZE = 200, TILE = 20, LEVELS = 22, ARROWS = 15;

/* A place of the grid along an axis, from -3 to 3. */
const GAP = (2 * EDGE) / (SIZE - 1);
const along = (index) => -EDGE + (2 * EDGE * index) / (SIZE - 1);

const distance = ([a, b], [x, y]) => Math.hypot(a - x, b - y);

/* What attention returns at (x, y): the weights' average of the memories, and the energy there. */
export function attend(x, y, memories, beta, weighing = false) {
  let top = -Infinity;
  for (const [a, b] of memories) top = Math.max(top, a * x + b * y);
  let [total, sumX, sumY] = [0, 0, 0];
  const weights = weighing ? [] : null;
  for (const [a, b] of memories) {
    const weight = Math.exp(beta * (a * x + b * y - top));
    total += weight;
    if (weighing) weights.push(weight);
    sumX += weight * a;
    sumY += weight * b;
  }
  if (weighing) weights.forEach((weight, i) => (weights[i] = weight / total));
  return { weights, x: sumX / total, y: sumY / total, energy: (x * x + y * y) / 2 - top - Math.log(total) / beta };
}

/* The way down: the points of each step and their energies. */
export function descend([x, y], memories, beta, steps, size) {
  const states = [], energies = [];
  for (let step = 0; ; step += 1) {
    const there = attend(x, y, memories, beta);
    states.push([x, y]);
    energies.push(there.energy);
    if (step === steps) return { states, energies };
    x -= size * (x - there.x);
    y -= size * (y - there.y);
  }
}

/* Where full steps lead in the end: the point, how many memories share it (0 while it still moves), the one nearest to it. */
export function settle([x, y], memories, beta) {
  const unit = Math.max(...memories.map(([a, b]) => Math.hypot(a, b)));
  let rests = false;
  for (let step = 0; ; step += 1) {
    const there = attend(x, y, memories, beta);
    rests = Math.hypot(x - there.x, y - there.y) <= 2 ** (-104 / 3) * unit;
    if (rests || step === MOST_TO_REST) break;
    [x, y] = [there.x, there.y];
  }
  const scores = memories.map(([a, b]) => a * x + b * y), top = Math.max(...scores);
  const sharing = rests ? scores.filter((score) => beta * (score - top) >= -Math.LN2).length : 0;
  return { rest: [x, y], sharing, nearest: scores.indexOf(top) };
}

/* Tokens that attend to each other and move together: with each step the landscape is that of where they are by now. */
export function gather(tokens, beta, steps, size) {
  const states = [tokens], energies = [];
  for (let step = 0; ; step += 1) {
    const now = states[step], there = now.map(([x, y]) => attend(x, y, now, beta));
    energies.push(there.map(({ energy }) => energy));
    if (step === steps) break;
    states.push(now.map(([x, y], i) => [x - size * (x - there[i].x), y - size * (y - there[i].y)]));
  }
  return tokens.map((_, i) => ({ states: states.map((now) => now[i]), energies: energies.map((now) => now[i]) }));
}

/* Every number that the figure shows, one entry for each query, or token. */
export function measure({ memories, queries, beta, step_size, steps, out_map, self_attention }) {
  const ways = self_attention
    ? gather(memories, beta, steps, step_size)
    : queries.map((start) => descend(start, memories, beta, steps, step_size));
  const ends = ways.map(({ states }) => states[steps]), [a, b, c, d] = out_map;
  const places = self_attention
    ? ends.map((end, i) => ({ rest: end, sharing: ends.filter((other) => distance(end, other) <= TOGETHER).length, nearest: i }))
    : ends.map((end) => settle(end, memories, beta));
  return {
    states: ways.map(({ states }) => states),
    energies: ways.map(({ energies }) => energies),
    outputs: ends.map(([x, y]) => [a * x + b * y, c * x + d * y]),
    rest: places.map(({ rest }) => rest),
    sharing: places.map(({ sharing }) => sharing),
    nearest: places.map(({ nearest }) => nearest),
  };
}

/* Full steps from a point until the slope is small, then Newton's steps: the place of rest, or null. */
function rest([x, y], memories, beta, unit) {
  for (let step = 0; step < 3000; step += 1) {
    const there = attend(x, y, memories, beta), slope = Math.hypot(x - there.x, y - there.y);
    if (slope < 1e-11 * unit) return [x, y];
    [x, y] = [there.x, there.y];
    if (slope > 1e-2 * unit) continue;
    const end = polish([x, y], memories, beta, unit);
    if (end) return end;
  }
  return null;
}

/* Newton's method on the slope, as long as it ends in a minimum close by; otherwise null. */
function polish([x, y], memories, beta, unit) {
  const start = [x, y];
  for (let round = 0; round < 12; round += 1) {
    const { x: meanX, y: meanY, weights } = attend(x, y, memories, beta, true);
    let [xx, xy, yy] = [1, 0, 1];
    memories.forEach(([a, b], i) => {
      xx -= beta * weights[i] * (a - meanX) ** 2;
      xy -= beta * weights[i] * (a - meanX) * (b - meanY);
      yy -= beta * weights[i] * (b - meanY) ** 2;
    });
    const area = xx * yy - xy * xy, [slopeX, slopeY] = [x - meanX, y - meanY];
    if (xx <= 0 || area <= 0) return null;
    if (Math.hypot(slopeX, slopeY) < 1e-11 * unit) return [x, y];
    x -= (yy * slopeX - xy * slopeY) / area;
    y -= (xx * slopeY - xy * slopeX) / area;
    if (distance([x, y], start) > 0.1 * unit) return null;
  }
  return null;
}

/* Do the memories, as starts, come to rest in more than one place? */
function splits(memories, beta, unit) {
  let first = null;
  return memories.some((memory) => {
    const end = rest(memory, memories, beta, unit);
    first ??= end;
    return end && distance(end, first) > 1e-4 * unit;
  });
}

/* The smallest inverse temperature at which starts at the memories come to rest in more than one place, to one part in ten
   thousand, or null if none up to the coldest does. A distribution between two points that lie D apart has at most the variance
   D^2 / 4 along any line, so below 4 / D^2 attention contracts and there is one place only: begin there. */
export function splitting(memories) {
  const unit = Math.max(...memories.map(([a, b]) => Math.hypot(a, b)));
  const apart = Math.max(...memories.map((one) => Math.max(...memories.map((other) => distance(one, other)))));
  let [low, high] = [4 / apart ** 2, 0];
  if (!(low < COLDEST)) return null;
  for (high = low; !splits(memories, high, unit); high *= 1.1) {
    if (high > COLDEST) return null;
    low = high;
  }
  while (high / low > 1.0001) {
    const middle = Math.sqrt(low * high);
    if (splits(memories, middle, unit)) high = middle;
    else low = middle;
  }
  return Math.sqrt(low * high);
}

const SLOPES = [new Float64Array(SIZE * SIZE), new Float64Array(SIZE * SIZE)];

/* To which place of rest does each point of the grid belong? Small blocks whose corners agree are filled: the borders alone cost.
   What attention returns is the place less the slope, here that of the grid's heights, straight on from the last but one. */
export function basins(memories, beta, heights, into = new Int16Array(SIZE * SIZE)) {
  const unit = Math.max(...memories.map(([a, b]) => Math.hypot(a, b))) || 1, places = [], last = SIZE - 1, cell = (2 * EDGE) / last;
  into.fill(-1);
  for (let at = SIZE; at < heights.length - SIZE; at += 1) {
    SLOPES[0][at] = (heights[at + 1] - heights[at - 1]) / (2 * cell);
    SLOPES[1][at] = (heights[at + SIZE] - heights[at - SIZE]) / (2 * cell);
  }
  const slope = (field, at, s, r) =>
    (1 - r) * ((1 - s) * field[at] + s * field[at + 1]) + r * ((1 - s) * field[at + SIZE] + s * field[at + SIZE + 1]);
  const label = (column, row) => {
    const at = row * SIZE + column;
    if (into[at] >= 0) return into[at];
    let x = along(column), y = along(row), found = -1;
    for (let step = 0; step < 200 && found < 0; step += 1) {
      const across = (x + EDGE) / cell, up = (y + EDGE) / cell;
      const i = Math.max(1, Math.min(Math.floor(across), last - 2)), j = Math.max(1, Math.min(Math.floor(up), last - 2));
      const dx = slope(SLOPES[0], j * SIZE + i, across - i, up - j), dy = slope(SLOPES[1], j * SIZE + i, across - i, up - j);
      x -= dx;
      y -= dy;
      const far = Math.sqrt(dx * dx + dy * dy);
      if (far > 0.03 * unit) continue;
      for (let k = 0; k < places.length && found < 0; k += 1) {
        if ((places[k][0] - x) ** 2 + (places[k][1] - y) ** 2 < (0.05 * unit) ** 2) found = k;
      }
      const end = found < 0 && far < 0.01 * unit && step % 4 === 0 ? polish([x, y], memories, beta, unit) : null;
      if (end) found = places.findIndex((place) => distance(place, end) < 1e-4 * unit);
      if (end && found < 0) found = places.push(end) - 1;
    }
    return (into[at] = Math.max(found, 0));
  };
  const fill = (left, low, right, high) => {
    const one = label(left, low), same = label(right, low) === one && label(left, high) === one && label(right, high) === one;
    if (same && right - left <= 8) {
      for (let row = low; row <= high; row += 1) into.fill(one, row * SIZE + left, row * SIZE + right + 1);
    } else if (Math.max(right - left, high - low) > 1) {
      const [middle, half] = [(left + right) >> 1, (low + high) >> 1];
      fill(left, low, middle, half);
      fill(middle, low, right, half);
      fill(left, half, middle, high);
      fill(middle, half, right, high);
    }
  };
  fill(0, 0, SIZE - 1, SIZE - 1);
  return { into, places };
}

/* Challenges: what to do, and whether the numbers shown say that it is done. */
export const CHALLENGES = [
  ["Lead a query to an average of exactly four memories.", ({ self_attention }, { sharing }) => !self_attention && sharing.includes(4)],
  [
    "Let a query rest far from every memory: one unit at least.",
    ({ self_attention, memories }, { rest: ends, sharing }) =>
      !self_attention && ends.some((end, i) => sharing[i] && memories.every((memory) => distance(memory, end) >= 1)),
  ],
  [
    "Give each of six memories, or more, a valley of its own.",
    ({ memories, beta }) => memories.length > 5 && memories.every((memory, i) => {
      const { sharing, nearest } = settle(memory, memories, beta);
      return sharing === 1 && nearest === i;
    }),
  ],
  ["Make a query climb.", ({ self_attention }, { energies }) => !self_attention && energies.some((way) => way.some((energy, i) => energy > way[i - 1] + 1e-9))],
];

/* The energy on the grid, rows from y = -3 upwards. An exponential of a sum is a product: in each tile of the grid every memory
   gets its weight at the tile's middle, relative to the largest there, times a factor for x and one for y. That takes
   m (400 + 100) exponentials instead of 40,000 m; within a tile the factors cannot overflow. */
export function landscape(memories, beta, into = new Float64Array(SIZE * SIZE)) {
  const count = memories.length, tiles = SIZE / TILE;
  const middle = (tile) => (along(tile * TILE) + along(tile * TILE + TILE - 1)) / 2;
  const factors = [0, 1].map((axis) => {
    const table = new Float64Array(count * SIZE);
    for (let i = 0; i < count; i += 1) {
      for (let at = 0; at < SIZE; at += 1) {
        table[i * SIZE + at] = Math.exp(beta * memories[i][axis] * (along(at) - middle(Math.floor(at / TILE))));
      }
    }
    return table;
  });
  const scores = new Float64Array(count), line = new Float64Array(TILE);
  for (let tile = 0; tile < tiles * tiles; tile += 1) {
    const left = (tile % tiles) * TILE, low = Math.floor(tile / tiles) * TILE;
    const x = middle(tile % tiles), y = middle(Math.floor(tile / tiles));
    let top = -Infinity;
    for (let i = 0; i < count; i += 1) {
      scores[i] = memories[i][0] * x + memories[i][1] * y;
      top = Math.max(top, scores[i]);
    }
    for (let i = 0; i < count; i += 1) scores[i] = Math.exp(beta * (scores[i] - top));
    for (let row = low; row < low + TILE; row += 1) {
      line.fill(0);
      for (let i = 0; i < count; i += 1) {
        const weight = scores[i] * factors[1][i * SIZE + row];
        if (weight === 0) continue;
        const from = i * SIZE + left;
        for (let k = 0; k < TILE; k += 1) line[k] += weight * factors[0][from + k];
      }
      const square = along(row) ** 2;
      for (let k = 0; k < TILE; k += 1) {
        into[row * SIZE + left + k] = (along(left + k) ** 2 + square) / 2 - top - Math.log(line[k]) / beta;
      }
    }
  }
  return into;
}

// What is painted

/* One hue, in degrees, for each basin; saturation, and lightness at the bottom and at the top. */
const HUES = [208, 28, 160, 320, 52, 262, 100, 0];
const TINT = { light: [0.5, 0.56, 0.97], dark: [0.4, 0.1, 0.36] };
const TONES = 64;

/* 32-bit pixels, TONES for each hue, from the bottom up. */
function palette(theme) {
  const pixel = ([r, g, b]) => (255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
  const [strong, deep, high] = TINT[theme];
  const ramp = (hue) => Array.from({ length: TONES }, (_, tone) => {
    const light = deep + (tone / (TONES - 1)) * (high - deep), size = strong * Math.min(light, 1 - light);
    const turns = [0, 8, 4].map((turn) => (turn + hue / 30) % 12);
    return pixel(turns.map((at) => 255 * (light - size * Math.max(-1, Math.min(at - 3, 9 - at, 1)))));
  });
  return Int32Array.from(HUES.flatMap(ramp));
}

/* The levels of the contours lie closer together near the bottom, where the valleys are: a height's share of the whole, bent. */
const bend = (share) => share ** (1 / 1.7), unbend = (place) => place ** 1.7;
const TABLE = Float32Array.from({ length: 4096 }, (_, at) => bend((at + 0.5) / 4096));

function range(heights) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < heights.length; i += 1) {
    if (heights[i] < low) low = heights[i];
    if (heights[i] > high) high = heights[i];
  }
  return [low, high];
}

/* Shade each point of the grid, highest row first; the browser smooths between them. */
function paint(context, heights, [low, high], colours, labels, image) {
  const scale = 4095.99 / (high - low || 1), pixels = new Int32Array(image.data.buffer);
  for (let row = 0; row < SIZE; row += 1) {
    const from = row * SIZE, to = (SIZE - 1 - row) * SIZE;
    for (let column = 0; column < SIZE; column += 1) {
      const tone = (TABLE[(heights[from + column] - low) * scale | 0] * (TONES - 0.01)) | 0;
      pixels[to + column] = colours[(labels ? labels[from + column] % HUES.length : 0) * TONES + tone];
    }
  }
  context.putImageData(image, 0, 0);
}

/* Contours as lines, for the pen: in each cell of every second point of the grid a level crosses two sides, or all four. */
function contours(pen, heights, [low, high], side) {
  const cell = (2 * side) / (SIZE - 1), scale = 4095.99 / (high - low || 1), half = SIZE / 2;
  const levels = Array.from({ length: LEVELS }, (_, i) => low + unbend(i / LEVELS) * (high - low)), band = new Uint8Array(half * half);
  for (let row = 0; row < half; row += 1) {
    for (let column = 0; column < half; column += 1) {
      band[row * half + column] = TABLE[(heights[2 * (row * SIZE + column)] - low) * scale | 0] * LEVELS;
    }
  }
  let begun = false;
  const point = (x, y) => {
    if (begun) pen.lineTo(x, y);
    else pen.moveTo(x, y);
    begun = !begun;
  };
  const share = (one, two, level) => Math.max(0, Math.min(1, (level - one) / (two - one)));
  for (let row = 0; row < half - 1; row += 1) {
    for (let column = 0; column < half - 1; column += 1) {
      const at = row * half + column, a = band[at], b = band[at + 1], c = band[at + half + 1], d = band[at + half];
      if (a === b && b === c && c === d) continue;
      const from = 2 * (row * SIZE + column), p = heights[from], q = heights[from + 2];
      const r = heights[from + 2 * SIZE + 2], s = heights[from + 2 * SIZE], x = column * cell, y = side - row * cell;
      for (let k = Math.min(a, b, c, d) + 1; k <= Math.max(a, b, c, d); k += 1) {
        begun = false;
        if (a >= k !== b >= k) point(x + cell * share(p, q, levels[k]), y);
        if (b >= k !== c >= k) point(x + cell, y - cell * share(q, r, levels[k]));
        if (d >= k !== c >= k) point(x + cell * share(s, r, levels[k]), y - cell);
        if (a >= k !== d >= k) point(x, y - cell * share(p, s, levels[k]));
      }
    }
  }
}

// The address: whole numbers only, so that it can stand in any link

const packed = (points) => points.flat().map((x) => String(Math.round(100 * (x + EDGE))).padStart(3, "0")).join("");

export function toAddress({ memories, queries, beta, step_size, steps, out_map, self_attention }) {
  const map = out_map.map((entry) => String(Math.round(1e4 * entry)).replace("-", "n")).join("_");
  const parts = { m: packed(memories), q: packed(queries), b: Math.round(1e4 * beta), g: Math.round(100 * step_size), s: steps };
  return Object.entries({ ...parts, o: map, a: Number(self_attention) }).map(([name, value]) => name + value).join("-");
}

/* The state that an address holds, or null for one that is malformed or leads out of the figure's limits. */
export function fromAddress(text) {
  const found = /^m((?:\d{6})+)-q((?:\d{6})*)-b(\d{1,7})-g(\d{1,3})-s(\d{1,3})-o((?:n?\d{1,7}_?){4})-a([01])$/.exec(text);
  if (!found) return null;
  const [memories, queries] = [found[1], found[2]].map((places) =>
    (places.match(/.{6}/g) ?? []).map((pair) => [pair.slice(0, 3), pair.slice(3)].map((x) => (Number(x) - 100 * EDGE) / 100)));
  const [beta, step_size, steps] = [Number(found[3]) / 1e4, Number(found[4]) / 100, Number(found[5])];
  const out_map = found[6].split("_").map((entry) => Number(entry.replace("n", "-")) / 1e4);
  const inside = [...memories, ...queries].flat().every((x) => Math.abs(x) <= EDGE) && memories.length <= MOST_MEMORIES;
  const good = inside && queries.length <= MOST_QUERIES && beta > 0 && beta <= LARGEST_BETA && step_size <= LARGEST_STEP;
  if (!good || steps > MOST_STEPS || out_map.length !== 4) return null;
  return { memories, queries, beta, step_size, steps, out_map, self_attention: found[7] === "1" };
}

const STYLE = `
.row.chips { gap: 6px; margin: 0 0 10px; }
.chips button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.plane { aspect-ratio: 1; border-radius: 8px; max-width: 440px; overflow: hidden; touch-action: manipulation; width: 100%; }
canvas { height: 100%; inset: 0; pointer-events: none; position: absolute; width: 100%; }
.point {
  background: none; border: 0; border-radius: 50%; cursor: grab; height: 32px; margin: -16px 0 0 -16px; min-height: 0; padding: 0;
  position: absolute; touch-action: none; width: 32px;
}
.point.lit, .point:focus-visible { box-shadow: 0 0 0 2px var(--ink); }
.point svg { height: 32px; pointer-events: none; width: 32px; }
.cross { stroke: var(--ink); stroke-width: 2.2; }
svg .number { fill: var(--ink); font-size: 11px; font-weight: 700; paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
.disk { fill: var(--ground); stroke: var(--b); stroke-width: 2.2; }
svg .disk + .number { stroke: none; }
.side { align-content: start; display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
caption { text-align: left; }
th, td { border-bottom: 1px solid var(--grid); font-weight: 400; padding: 2px 6px 2px 0; text-align: right; }
th:first-child, td:last-child { text-align: left; }
td:last-child, thead th:last-child { padding-left: 8px; text-align: left; }
thead th { color: var(--quiet); }
tbody tr.lit { background: var(--tint); }
.strip svg, .depth svg { width: 100%; }
.depth { margin-top: 4px; max-width: 440px; }
`;

const SETTINGS = ["memories", "queries", "beta", "step_size", "steps", "out_map", "self_attention"];
const KINDS = { memories: "memory", queries: "query" };
const PACE = 5; // steps a second
const mapped = (map) => map.some((entry, i) => entry !== UNCHANGED[i]);
const inside = (point) => point.map((x) => Math.round(100 * Math.max(-EDGE, Math.min(EDGE, x))) / 100);
const number = (value) => String(Number(value.toPrecision(4)));

function render({ model, el, page = false }) {
  const ground = kit.card(el, "Flatland", STYLE), { body } = ground, compact = Boolean(model.get("compact"));
  const state = () => kit.read(model, SETTINGS);
  const initial = state();
  const heights = new Float64Array(SIZE * SIZE), moving = new Float64Array(SIZE * SIZE), labels = new Int16Array(SIZE * SIZE);
  const points = { memories: [], queries: [] };
  let [readout, colours, ink, time, beta_c, asked, settled, sizes, shaded] = [null, null, {}, null, null, "", 0, [0, 0, 0], ""];

  const relief = html("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" }), sheet = kit.canvas();
  const context = relief.getContext("2d"), image = context.createImageData(SIZE, SIZE);
  const handles = html("div", {
    role: "group",
    "aria-label": "Memories and queries. The arrow keys move a point, with shift further; delete takes it away",
    style: "inset: 0; position: absolute",
    onkeydown: remove_by_key,
    ondblclick: (event) => !find(event.target) && !compact && add("queries", place(event)),
    onpointerover: (event) => light(find(event.target)),
    onpointerout: () => light(null),
    onfocusin: (event) => light(find(event.target)),
    onfocusout: () => light(null),
  });
  const plane = html("div", { class: "picture plane" }, relief, sheet.element, handles);

  const rows = html("tbody", {
    onpointerover: (event) => light(owner([...rows.children].indexOf(event.target.closest("tr")))),
    onpointerout: () => light(null),
  });
  const caption = html("caption", { class: "quiet" });
  const heads = ["query", "energy", "after", "bound for"].map((name) => html("th", { scope: "col" }, name));
  const table = html("table", {}, caption, html("thead", {}, html("tr", {}, ...heads)), rows);
  const graph = svg("svg", { height: 124, role: "img" }), strip = html("div", { class: "strip" }, graph);
  const bar = svg("svg", { height: 30, role: "img", "aria-label": "Energies of the shades" }), depth = html("div", { class: "depth" }, bar);
  const hint = html("div", { class: "quiet" });
  const tasks = kit.challenges(CHALLENGES);

  const chips = Object.entries(SCENES).map(([name, scene]) => {
    const settings = { ...initial, out_map: UNCHANGED, self_attention: false, ...PLANE, ...scene };
    return { settings, chip: kit.button(name, () => store(model, settings)) };
  });
  const whole = { step: 1, format: String };
  const sliders = {
    beta: kit.slider({ label: "Inverse temperature \u03b2", min: HOTTEST, max: COLDEST, log: true, format: number, change: set("beta") }),
    step_size: kit.slider({ label: "Step size \u03b3", min: 0, max: LARGEST_STEP, step: 0.01, format: number, change: set("step_size") }),
    steps: kit.slider({ label: "Steps", min: 0, max: 40, ...whole, change: set("steps") }),
    memories: kit.slider({ label: "Memories", min: 1, max: MOST_MEMORIES, ...whole, change: resize }),
  };
  const play = kit.button("\u25b6 Descend", () => descent.start());
  const adds = [["Add a memory", "memories"], ["Add a query", "queries"]].map(([label, kind]) => kit.button(label, () => add(kind)));
  const link = kit.button("Copy a link", copy);
  const row = (...parts) => html("div", { class: "row" }, ...parts);
  const more = kit.more(
    row(sliders.steps.element, sliders.step_size.element), sliders.memories.element, row(...adds, ...(page ? [link] : [])),
  );
  if (compact) {
    ground.head.remove();
    body.append(kit.layout(plane, [sliders.beta.element, hint]));
  } else {
    body.append(
      html(
        "div",
        { class: "row chips", role: "group", "aria-label": "Scenarios" },
        ...chips.map(({ chip }) => chip),
        kit.button("Reset", () => store(model, initial)),
      ),
      kit.layout(
        html("div", {}, plane, depth),
        [sliders.beta.element, row(play, more.button), more.element],
        html("div", { class: "side" }, table, strip, hint),
        "1.4fr",
      ),
      tasks.element,
    );
  }

  // What the reader does

  function set(name) {
    return (value) => store(model, { [name]: value });
  }

  const drawn = (seed, count) => {
    const { normal } = kit.generator(seed);
    return Array.from({ length: count }, () => inside([normal(), normal()]));
  };

  function resize(count) {
    store(model, { memories: drawn(0, MOST_MEMORIES).slice(0, count).map((point, i) => model.get("memories")[i] ?? point) });
  }

  /* A new point, where the reader wants it or somewhere, and the keyboard's focus on it. */
  function add(kind, where) {
    const old = model.get(kind);
    if (old.length >= { memories: MOST_MEMORIES, queries: MOST_QUERIES }[kind]) return;
    store(model, { [kind]: [...old, inside(where ?? drawn(old.length + 41, 1)[0])] });
    draw();
    points[kind].at(-1)?.focus({ preventScroll: true });
  }

  function remove_by_key(event) {
    const point = find(event.target), least = { memories: 1, queries: 0 };
    if (!point || compact || !["Delete", "Backspace"].includes(event.key) || model.get(point.kind).length <= least[point.kind]) return;
    event.preventDefault();
    store(model, { [point.kind]: model.get(point.kind).filter((_, i) => i !== point.index) });
    draw();
    (points[point.kind][point.index] ?? points[point.kind].at(-1) ?? points.memories[0]).focus({ preventScroll: true });
  }

  function move({ kind, index }, point) {
    store(model, { [kind]: model.get(kind).map((old, i) => (i === index ? inside(point) : old)) });
  }

  function find(element) {
    for (const kind of Object.keys(KINDS)) {
      const index = points[kind].indexOf(element);
      if (index >= 0) return { kind, index };
    }
    return null;
  }

  function place(event) {
    const { left, top, width, height } = plane.getBoundingClientRect();
    return [EDGE * (((event.clientX - left) / width) * 2 - 1), EDGE * (1 - ((event.clientY - top) / height) * 2)];
  }

  /* The nearest point within a finger's reach; of two at the same place the one with the focus, or the upper. */
  function nearest(event) {
    const reach = (2 * EDGE * (event.pointerType === "touch" ? 26 : 18)) / plane.clientWidth, here = place(event);
    const near = Object.keys(KINDS).flatMap((kind) => points[kind].map((element, index) => {
      const upper = element.matches(":focus") ? 2e-6 : kind === "queries" ? 1e-6 : 0;
      return { kind, index, element, far: distance(here, model.get(kind)[index]) - upper };
    })).filter(({ far }) => far <= reach);
    return near.sort((one, two) => one.far - two.far)[0] ?? null;
  }

  kit.drag(handles, {
    find,
    take(event) {
      const point = nearest(event);
      point?.element.focus({ preventScroll: true });
      return point;
    },
    move: (point, event) => move(point, place(event)),
    push: (point, way) => move(point, model.get(point.kind)[point.index].map((x, i) => x + 0.1 * way[i])),
  });

  // The address of a static page can hold the state

  const name = `flatland${[...document.querySelectorAll("[data-live='Flatland']")].indexOf(el) || ""}`;

  function visit() {
    const [key, text] = location.hash.slice(1).split("--"), found = key === name && text ? fromAddress(text) : null;
    if (found) store(model, found);
  }

  async function copy() {
    history.replaceState(null, "", `#${name}--${toAddress(state())}`);
    try {
      await navigator.clipboard.writeText(location.href);
      link.textContent = "Link copied";
    } catch {
      link.textContent = "See the address";
    }
    setTimeout(() => (link.textContent = "Copy a link"), 2000);
  }

  // Points, rows and what lights them

  const owner = (index) => (index < 0 ? null : { kind: model.get("self_attention") ? "memories" : "queries", index });

  /* A point and its row light up together, and with a query the memory that it is bound for. */
  function light(point) {
    const lit = (kind, index) => point && point.kind === kind && point.index === index;
    const goal = (i) => !model.get("self_attention") && readout.sharing[i] === 1 && readout.nearest[i];
    const bound = point?.kind === "queries" ? goal(point.index) : null;
    points.memories.forEach((element, i) => element.classList.toggle("lit", Boolean(lit("memories", i)) || bound === i));
    points.queries.forEach((element, i) => element.classList.toggle("lit", Boolean(lit("queries", i))));
    [...rows.children].forEach((line, i) => {
      const { kind } = owner(i);
      const to = point?.kind === "memories" && kind === "queries" && goal(i) === point.index;
      line.classList.toggle("lit", Boolean(lit(kind, i)) || to);
    });
  }

  /* As many buttons as there are points. The queries come last and lie on top. */
  function arrange(kind, count) {
    const label = (index) => {
      const [x, y] = kind === "memories" ? [26, 12] : [16, 20];
      return svg("text", { class: "number", x, y, "text-anchor": "middle" }, String(index + 1));
    };
    const shape = kind === "memories"
      ? () => svg("path", { class: "cross", d: "M11 11l10 10m0 -10l-10 10" })
      : () => svg("circle", { class: "disk", cx: 16, cy: 16, r: 8.5 });
    while (points[kind].length > count) points[kind].pop().remove();
    while (points[kind].length < count) {
      const drawing = svg("svg", { "aria-hidden": "true" }, shape(), label(points[kind].length));
      const point = html("button", { type: "button", class: "point" }, drawing);
      if (kind === "memories") handles.insertBefore(point, points.queries[0] ?? null);
      else handles.append(point);
      points[kind].push(point);
    }
  }

  function put(kind, places, called) {
    arrange(kind, places.length);
    places.forEach(([x, y], i) => {
      const { style } = points[kind][i], label = `${called} ${i + 1} at ${numeral(x)}, ${numeral(y)}`;
      style.left = `${(50 * (x + EDGE)) / EDGE}%`;
      style.top = `${(50 * (EDGE - y)) / EDGE}%`;
      if (points[kind][i].getAttribute("aria-label") !== label) points[kind][i].setAttribute("aria-label", label);
    });
  }

  // What the figure shows

  /* Where the ways are at a time, in steps: between two steps on the line that joins them. */
  const at = (states, step) => {
    const from = Math.min(Math.floor(step), states.length - 1), to = Math.min(from + 1, states.length - 1);
    return states[from].map((x, i) => x + (step - from) * (states[to][i] - x));
  };

  const descent = kit.loop((seconds) => {
    const steps = model.get("steps"), calm = kit.reducedMotion(), gone = seconds * Math.max(PACE, steps / 6);
    time = calm ? steps : Math.min(gone, steps);
    const over = gone > (calm ? 0 : steps + PACE / 2);
    if (over) time = null;
    show();
    return !over;
  });

  function arrow(pen, fromX, fromY, toX, toY, head) {
    const angle = Math.atan2(toY - fromY, toX - fromX);
    pen.moveTo(fromX, fromY);
    pen.lineTo(toX, toY);
    for (const turn of [2.6, -2.6]) {
      pen.moveTo(toX, toY);
      pen.lineTo(toX + head * Math.cos(angle + turn), toY + head * Math.sin(angle + turn));
    }
  }

  /* Contours, arrows against the gradient, the ways down and, where there is an output map, where it leads. */
  function overlay({ out_map }, relief_now, limits) {
    const side = sizes[0];
    if (side === 0) return;
    const pen = sheet.fit(side), scale = side / (2 * EDGE), toX = (x) => scale * (x + EDGE), toY = (y) => scale * (EDGE - y);
    const stroke = (colour, width, trace) => {
      pen.beginPath();
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      trace();
      pen.stroke();
    };
    stroke(ink.contour, 1, () => contours(pen, relief_now, limits, side));
    if (!compact) stroke(ink.flow, 1, () => {
      for (let cell = 0; cell < ARROWS * ARROWS; cell += 1) {
        const x = ((2 * (cell % ARROWS) + 1) / ARROWS - 1) * EDGE, y = ((2 * Math.floor(cell / ARROWS) + 1) / ARROWS - 1) * EDGE;
        const [column, row] = [x, y].map((place) => Math.round(((place + EDGE) * (SIZE - 1)) / (2 * EDGE))), here = row * SIZE + column;
        const dx = (relief_now[here - 1] - relief_now[here + 1]) / (2 * GAP), dy = (relief_now[here - SIZE] - relief_now[here + SIZE]) / (2 * GAP);
        const share = (0.8 * EDGE) / ARROWS / (0.4 + Math.hypot(dx, dy));
        arrow(pen, toX(x - share * dx), toY(y - share * dy), toX(x + share * dx), toY(y + share * dy), 3.5);
      }
    });
    const shown = time ?? Infinity;
    stroke(ink.way, 2, () => {
      for (const states of readout.states) {
        states.forEach(([x, y], i) => i <= shown && pen[i ? "lineTo" : "moveTo"](toX(x), toY(y)));
        if (time !== null) pen.lineTo(...at(states, time).map((z, i) => (i ? toY(z) : toX(z))));
      }
    });
    pen.fillStyle = ink.way;
    for (const states of readout.states) {
      states.forEach(([x, y], i) => i <= shown && pen.fillRect(toX(x) - 2, toY(y) - 2, 4, 4));
      const [x, y] = at(states, Math.min(shown, states.length - 1));
      pen.beginPath();
      pen.arc(toX(x), toY(y), time === null ? 3.5 : 6, 0, 2 * Math.PI);
      pen.fill();
    }
    if (!mapped(out_map) || time !== null) return;
    stroke(ink.output, 2, () => {
      readout.outputs.forEach(([x, y], i) => {
        const [endX, endY] = readout.states[i].at(-1);
        arrow(pen, toX(endX), toY(endY), toX(x), toY(y), 8);
      });
    });
  }

  /* The landscape. Tokens that move take it with them: while they do, it is that of where they are. */
  function show() {
    const now = state(), moved = now.self_attention && time !== null;
    const memories = moved ? readout.states.map((states) => at(states, time)) : now.memories;
    const here = landscape(memories, now.beta, moved ? moving : heights), limits = range(here);
    const coloured = !now.self_attention && basins(memories, now.beta, here, labels).places.length > 1;
    paint(context, here, limits, colours, coloured && labels, image);
    overlay(now, here, limits);
    if (!compact) {
      chart(now);
      scale(limits);
    }
  }

  /* Energy against step, one line for each way; a dot runs along while they descend. */
  function chart({ steps }) {
    const width = sizes[1], ways = readout.energies, all = ways.flat();
    if (width === 0 || !all.length) return graph.replaceChildren();
    const [low, high] = range(all), rise = high - low || 1;
    const frame = kit.plot({
      left: 40, top: 24, width: width - 50, height: 70, title: "energy, step by step",
      x: { from: 0, to: Math.max(steps, 1), ticks: kit.ticks({ from: 0, to: Math.max(steps, 1) }).filter((step) => step % 1 === 0) },
      y: { from: low - 0.05 * rise, to: high + 0.05 * rise, ticks: kit.ticks({ from: low, to: high }, 3), format: (e) => numeral(e, rise < 4 ? 1 : 0) },
    });
    const upto = time ?? steps;
    graph.replaceChildren(
      ...frame.axes(),
      ...ways.map((way) => frame.line(way.map((energy, step) => [step, energy]), "b", { opacity: 0.55 })),
      frame.dots(ways.map((way) => [upto, at(way.map((energy) => [energy]), upto)[0]])),
    );
    graph.setAttribute("aria-label", `Energies from ${numeral(high)} to ${numeral(low)}`);
  }

  /* What the shades mean, in units of the energy. */
  function scale([low, high]) {
    const width = sizes[2], parts = 24, look = `${width} ${colours[0]}`;
    const hex = (pixel) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`, shares = [0, 0.33, 0.67, 1];
    if (look !== shaded) {
      shaded = look;
      bar.replaceChildren(
        ...Array.from({ length: parts }, (_, i) => svg("rect", {
          x: (i * width) / parts, width: width / parts + 0.5, height: 10, fill: hex(colours[Math.floor(((i + 0.5) / parts) * TONES)]),
        })),
        ...shares.map((share) => svg("text", { x: share * width, y: 25, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" })),
      );
    }
    shares.forEach((share, i) => {
      const words = numeral(low + unbend(share) * (high - low), 1);
      bar.children[parts + i].textContent = share === 0 ? `energy ${words}` : words;
    });
  }

  function tell({ memories, steps, out_map, self_attention }) {
    const kind = self_attention ? "token" : "query", count = memories.length;
    caption.textContent = self_attention ? "Energies of the tokens" : "Energies of the queries";
    [heads[0].textContent, heads[2].textContent] = [kind, `after ${steps}`];
    heads[3].textContent = self_attention ? "place" : "bound for";
    const lines = readout.sharing.map((sharing, i) => {
      const average = sharing === count ? `average of all ${count}` : `average of ${sharing}`;
      const single = `memory ${readout.nearest[i] + 1}`;
      const bound = sharing === 0 ? "still moving" : sharing === 1 ? single : average;
      const where = sharing === 1 ? "its own" : `one for ${sharing}`;
      const [first, last] = [readout.energies[i][0], readout.energies[i][steps]];
      return [`${kind} ${i + 1}`, numeral(first), numeral(last), self_attention ? where : bound];
    });
    while (rows.children.length > lines.length) rows.lastChild.remove();
    while (rows.children.length < lines.length) {
      rows.append(html("tr", {}, html("th", { scope: "row" }), ...[1, 2, 3].map(() => html("td"))));
    }
    lines.forEach((line, i) => line.forEach((text, j) => {
      const cell = rows.children[i].children[j];
      if (cell.textContent !== text) cell.textContent = text;
    }));
    const what = self_attention ? "a token" : "a cross (memory) or a circle (query)", green = mapped(out_map) ? " Green: the output." : "";
    const many = self_attention && steps > 1 ? " All tokens move at once and the landscape with them: descend, and see it change." : "";
    hint.textContent = `Drag ${what}, or use the arrow keys; the delete key takes it away.${green}${many}`;
    const [single, shared] = [readout.sharing.filter((s) => s === 1).length, readout.sharing.filter((s) => s > 1).length];
    ground.say(self_attention
      ? `Of ${lines.length} tokens, ${single} have a place of their own`
      : `Of ${lines.length}, ${single} bound for one memory, ${shared} for an average`);
  }

  /* The mark on the slider takes longer to find than a frame: look for it when the memories stand still. */
  function mark({ memories, self_attention }) {
    const key = JSON.stringify([memories, self_attention]);
    if (key === asked) return;
    asked = key;
    beta_c = null;
    sliders.beta.mark(NaN, "");
    clearTimeout(settled);
    if (self_attention) return;
    settled = setTimeout(() => {
      beta_c = splitting(memories);
      if (beta_c !== null) sliders.beta.mark(beta_c, `\u03b2c = ${number(beta_c)}: a second valley appears`);
    }, 80);
  }

  function draw() {
    const now = state();
    if (descent.running()) descent.stop();
    time = null;
    sizes = [plane, strip, depth].map((part) => part.clientWidth); // before anything is written: to ask later is to lay out twice
    readout = measure(now);
    put("memories", now.memories, now.self_attention ? "token" : "memory");
    put("queries", now.self_attention ? [] : now.queries, "query");
    show();
    if (compact) say(now);
    else {
      tell(now);
      tasks.judge(now, readout);
    }
    mark(now);
    for (const name of ["beta", "step_size", "steps"]) sliders[name].set(now[name]);
    sliders.memories.set(now.memories.length);
    adds[0].disabled = now.memories.length >= MOST_MEMORIES;
    adds[1].disabled = now.queries.length >= MOST_QUERIES || now.self_attention;
    const shown = JSON.stringify(now);
    for (const { settings, chip } of chips) chip.setAttribute("aria-pressed", JSON.stringify({ ...now, ...settings }) === shown);
  }

  /* A sentence below the small figure. */
  function say({ memories }) {
    const [sharing] = readout.sharing, all = sharing === memories.length ? `all ${sharing} memories` : `${sharing} memories`;
    const end = sharing === 0 ? "It is still moving." : sharing === 1 ? `It recalls memory ${readout.nearest[0] + 1}.` : `It averages ${all}.`;
    hint.textContent = sharing === undefined ? "" : `Drag the circle: it rolls downhill. ${end}`;
    ground.say(end);
  }

  function dress() {
    const dark = body.dataset.theme === "dark";
    colours = palette(body.dataset.theme);
    ink = {
      contour: dark ? "rgba(255, 255, 255, 0.14)" : "rgba(255, 255, 255, 0.65)",
      flow: dark ? "rgba(255, 255, 255, 0.35)" : "rgba(20, 35, 55, 0.4)",
      way: ground.colour("b"),
      output: ground.colour("c"),
    };
  }

  ground.themed(dress);
  dress();
  if (page && !compact) visit();
  if (page && !compact) addEventListener("hashchange", visit);
  const shown = { readout: () => readout, landscape: () => heights, beta_c: () => beta_c, time: () => time, solved: tasks.solved };
  /* On arrival the queries roll down once, after the frame that the first sizes ask for. */
  const descend = () => requestAnimationFrame(() => requestAnimationFrame(() => descent.start()));
  const end = () => {
    descent.stop();
    clearTimeout(settled);
    removeEventListener("hashchange", visit);
  };
  return kit.run({ model, el, ground, names: SETTINGS, draw, watch: [plane], end, arrive: () => compact || descend(), ...shown }).close;
}

export default { render };
