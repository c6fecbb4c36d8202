/* Flatland: memories are valleys in the plane, queries roll down. The energy is |xi|^2 / 2 - ln(sum_i exp(beta x_i.xi)) / beta. */

const { EDGE, MOST_MEMORIES, MOST_TO_REST, LARGEST_STEP, UNCHANGED, SCENARIOS } = kit.constants;
const SIZE = 200, TILE = 20, BANDS = 21, ARROWS = 15;

/* A place of the grid along an axis, from -3 to 3. */
const along = (index, size = SIZE) => -EDGE + (2 * EDGE * index) / (size - 1);

/* What attention returns at (x, y): the weights' average of the memories, and the energy there. */
export function attend(x, y, memories, beta) {
  let top = -Infinity;
  for (const [a, b] of memories) top = Math.max(top, a * x + b * y);
  let [total, sumX, sumY] = [0, 0, 0];
  for (const [a, b] of memories) {
    const weight = Math.exp(beta * (a * x + b * y - top));
    total += weight;
    sumX += weight * a;
    sumY += weight * b;
  }
  return { x: sumX / total, y: sumY / total, energy: (x * x + y * y) / 2 - top - Math.log(total) / beta };
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

/* Every number that the figure shows, one entry for each query, or token. */
export function measure({ memories, queries, beta, step_size, steps, out_map, self_attention }) {
  const ways = (self_attention ? memories : queries).map((start) => descend(start, memories, beta, steps, step_size));
  const ends = ways.map(({ states }) => states[steps]);
  const places = ends.map((end) => settle(end, memories, beta));
  const [a, b, c, d] = out_map;
  return {
    states: ways.map(({ states }) => states),
    energies: ways.map(({ energies }) => energies),
    outputs: ends.map(([x, y]) => [a * x + b * y, c * x + d * y]),
    rest: places.map(({ rest }) => rest),
    sharing: places.map(({ sharing }) => sharing),
    nearest: places.map(({ nearest }) => nearest),
  };
}

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

const SHADES = {
  light: ["3083be", "4292c6", "6baed6", "9ecae1", "c6dbef", "deebf7", "f7fbff"],
  dark: ["08111c", "0d1d30", "142c47", "1d3d60", "294f78", "386390", "4a78a6"],
};
const RULE = { light: 0.4, dark: 0.12 };

/* Colours of the bands, and those of the lines between them, as 32-bit pixels. */
function palette(theme) {
  const stops = SHADES[theme].map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const mix = (one, two, share) => one.map((value, i) => value + share * (two[i] - value));
  const pixel = ([r, g, b]) => (255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
  const colours = Array.from({ length: BANDS }, (_, band) => {
    const place = (band / (BANDS - 1)) * (stops.length - 1), from = Math.min(Math.floor(place), stops.length - 2);
    return mix(stops[from], stops[from + 1], place - from);
  });
  return {
    bands: Int32Array.from(colours, pixel),
    lines: Int32Array.from(colours, (colour) => pixel(mix(colour, [255, 255, 255], RULE[theme]))),
  };
}

/* The bands lie closer together near the bottom, where the valleys are. */
const BAND = Uint8Array.from({ length: 4096 }, (_, level) => Math.min(BANDS - 1, BANDS * ((level + 0.5) / 4096) ** (1 / 1.7)));

/* Paint the landscape, highest row first, with a light line where the band changes. */
function paint(context, heights, { bands, lines }, image, band) {
  let [low, high] = [Infinity, -Infinity];
  for (const height of heights) {
    if (height < low) low = height;
    if (height > high) high = height;
  }
  const scale = 4095.99 / (high - low || 1);
  for (let at = 0; at < heights.length; at += 1) band[at] = BAND[(heights[at] - low) * scale | 0];
  const pixels = new Int32Array(image.data.buffer);
  for (let row = 0; row < SIZE; row += 1) {
    const from = row * SIZE, to = (SIZE - 1 - row) * SIZE, above = row < SIZE - 1 ? SIZE : 0;
    for (let column = 0; column < SIZE; column += 1) {
      const here = band[from + column], right = column < SIZE - 1 ? 1 : 0;
      const edge = here !== band[from + column + right] || here !== band[from + column + above];
      pixels[to + column] = edge ? lines[here] : bands[here];
    }
  }
  context.putImageData(image, 0, 0);
}

const STYLE = `
.chips { gap: 6px; margin: 8px 0 10px; }
.chips button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.plane { aspect-ratio: 1; border-radius: 8px; max-width: 440px; overflow: hidden; width: 100%; }
canvas { height: 100%; inset: 0; pointer-events: none; position: absolute; width: 100%; }
.point {
  background: none; border: 0; border-radius: 50%; cursor: grab; height: 28px; margin: -14px 0 0 -14px; min-height: 0; padding: 0;
  position: absolute; touch-action: none; width: 28px;
}
.point:active { cursor: grabbing; }
.point:focus-visible { outline: 2px solid var(--ink); outline-offset: -3px; }
.point svg { height: 28px; pointer-events: none; width: 28px; }
.cross { stroke: var(--ink); stroke-width: 2.2; }
.disk { fill: var(--ground); stroke: var(--b); stroke-width: 2.2; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
caption { text-align: left; }
th, td { border-bottom: 1px solid var(--grid); font-weight: 400; padding: 2px 6px 2px 0; text-align: right; }
th:first-child, td:last-child { text-align: left; }
td:last-child { padding-left: 8px; }
thead th { color: var(--quiet); }
thead th:last-child { padding-left: 8px; text-align: left; }
`;

const SETTINGS = ["memories", "queries", "beta", "step_size", "steps", "out_map", "self_attention"];
const mapped = (map) => map.some((entry, i) => entry !== UNCHANGED[i]);

function render({ model, el }) {
  const ground = kit.card(el, "Flatland", STYLE), { body } = ground;
  const state = () => kit.read(model, SETTINGS);
  const initial = state();
  const heights = new Float64Array(SIZE * SIZE), band = new Uint8Array(SIZE * SIZE);
  let [readout, colours, ink, pen] = [null, null, {}, null];

  const relief = kit.html("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
  const sheet = kit.canvas();
  const handles = kit.html("div", {
    role: "group",
    "aria-label": "Memories and queries. The arrow keys move a point, with shift further",
  });
  const plane = kit.html("div", { class: "picture plane" }, relief, sheet.element, handles);
  const context = relief.getContext("2d");
  const image = context.createImageData(SIZE, SIZE);
  const points = { memories: [], queries: [] };

  const rows = kit.html("tbody");
  const caption = kit.html("caption", { class: "quiet" });
  const heads = ["start", "energy", "after", "bound for"].map((name) => kit.html("th", { scope: "col" }, name));
  const table = kit.html("table", {}, caption, kit.html("thead", {}, kit.html("tr", {}, ...heads)), rows);
  const hint = kit.html("div", { class: "quiet" });

  const chips = Object.entries(SCENARIOS).map(([name, scenario]) => {
    const settings = { ...initial, out_map: UNCHANGED, self_attention: false, ...scenario };
    return { settings, chip: kit.button(name, () => kit.store(model, settings)) };
  });
  const number = (value) => String(Number(value.toPrecision(4)));
  const whole = { step: 1, format: String };
  const sliders = {
    beta: kit.slider({ label: "Inverse temperature \u03b2", min: 0.05, max: 50, log: true, format: number, change: set("beta") }),
    step_size: kit.slider({ label: "Step size \u03b3", min: 0, max: LARGEST_STEP, step: 0.01, format: number, change: set("step_size") }),
    steps: kit.slider({ label: "Steps", min: 0, max: 40, ...whole, change: set("steps") }),
    memories: kit.slider({ label: "Memories", min: 1, max: MOST_MEMORIES, ...whole, change: resize }),
  };
  const side = kit.html("div", {}, table, hint);
  body.append(
    kit.html(
      "div",
      { class: "row chips", role: "group", "aria-label": "Scenarios" },
      ...chips.map(({ chip }) => chip),
      kit.button("Reset", () => kit.store(model, initial)),
    ),
    kit.layout(plane, [kit.html("div", { class: "row" }, ...Object.values(sliders).map(({ element }) => element))], side, "1.4fr"),
  );

  // What the reader does

  function set(name) {
    return (value) => kit.store(model, { [name]: value });
  }

  function resize(count) {
    const { normal } = kit.generator(0);
    const drawn = Array.from({ length: MOST_MEMORIES }, () => [normal(), normal()]);
    kit.store(model, { memories: drawn.slice(0, count).map((point, i) => model.get("memories")[i] ?? inside(point)) });
  }

  const inside = (point) => point.map((x) => Math.round(100 * Math.max(-EDGE, Math.min(EDGE, x))) / 100);

  function move({ kind, index }, point) {
    kit.store(model, { [kind]: model.get(kind).map((old, i) => (i === index ? inside(point) : old)) });
  }

  function find(element) {
    for (const kind of ["memories", "queries"]) {
      const index = points[kind].indexOf(element);
      if (index >= 0) return { kind, index };
    }
    return null;
  }

  kit.drag(handles, {
    find,
    take(event) {
      const point = find(event.target);
      if (point) event.target.focus({ preventScroll: true });
      return point;
    },
    move(point, event) {
      const { left, top, width, height } = plane.getBoundingClientRect();
      const x = ((event.clientX - left) / width) * 2 - 1, y = 1 - ((event.clientY - top) / height) * 2;
      move(point, [EDGE * x, EDGE * y]);
    },
    push: (point, way) => move(point, model.get(point.kind)[point.index].map((x, i) => x + 0.1 * way[i])),
  });

  // What the figure shows

  /* As many buttons as there are points. The queries come last and lie on top. */
  function arrange(kind, count) {
    const shape = kind === "memories"
      ? () => kit.svg("path", { class: "cross", d: "M9 9l10 10m0 -10l-10 10" })
      : () => kit.svg("circle", { class: "disk", cx: 14, cy: 14, r: 5.5 });
    while (points[kind].length > count) points[kind].pop().remove();
    while (points[kind].length < count) {
      const point = kit.html("button", { type: "button", class: "point" }, kit.svg("svg", { "aria-hidden": "true" }, shape()));
      if (kind === "memories") handles.insertBefore(point, points.queries[0] ?? null);
      else handles.append(point);
      points[kind].push(point);
    }
  }

  function place(kind, places, name) {
    arrange(kind, places.length);
    places.forEach(([x, y], i) => {
      const { style } = points[kind][i], label = `${name} ${i + 1} at ${kit.numeral(x)}, ${kit.numeral(y)}`;
      style.left = `${(50 * (x + EDGE)) / EDGE}%`;
      style.top = `${(50 * (EDGE - y)) / EDGE}%`;
      if (points[kind][i].getAttribute("aria-label") !== label) points[kind][i].setAttribute("aria-label", label);
    });
  }

  function arrow(fromX, fromY, toX, toY, head) {
    const angle = Math.atan2(toY - fromY, toX - fromX);
    pen.moveTo(fromX, fromY);
    pen.lineTo(toX, toY);
    for (const turn of [2.6, -2.6]) {
      pen.moveTo(toX, toY);
      pen.lineTo(toX + head * Math.cos(angle + turn), toY + head * Math.sin(angle + turn));
    }
  }

  function stroke(colour, width, trace) {
    pen.beginPath();
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    trace();
    pen.stroke();
  }

  /* Arrows against the gradient, the ways down and, where there is an output map, where it leads. */
  function overlay({ memories, beta, out_map }) {
    const side = plane.clientWidth;
    if (side === 0) return;
    pen = sheet.fit(side);
    const scale = side / (2 * EDGE), toX = (x) => scale * (x + EDGE), toY = (y) => scale * (EDGE - y);
    stroke(ink.flow, 1, () => {
      for (let cell = 0; cell < ARROWS * ARROWS; cell += 1) {
        const x = ((2 * (cell % ARROWS) + 1) / ARROWS - 1) * EDGE, y = ((2 * Math.floor(cell / ARROWS) + 1) / ARROWS - 1) * EDGE;
        const there = attend(x, y, memories, beta), [dx, dy] = [there.x - x, there.y - y];
        const share = (0.8 * EDGE) / ARROWS / (0.4 + Math.hypot(dx, dy));
        arrow(toX(x - share * dx), toY(y - share * dy), toX(x + share * dx), toY(y + share * dy), 3.5);
      }
    });
    stroke(ink.way, 2, () => {
      for (const states of readout.states) states.forEach(([x, y], i) => pen[i ? "lineTo" : "moveTo"](toX(x), toY(y)));
    });
    pen.fillStyle = ink.way;
    for (const states of readout.states) {
      for (const [x, y] of states) pen.fillRect(toX(x) - 2, toY(y) - 2, 4, 4);
    }
    if (!mapped(out_map)) return;
    stroke(ink.output, 2, () => {
      readout.outputs.forEach(([x, y], i) => {
        const [endX, endY] = readout.states[i].at(-1);
        arrow(toX(endX), toY(endY), toX(x), toY(y), 8);
      });
    });
  }

  function tell({ memories, steps, out_map, self_attention }) {
    const kind = self_attention ? "token" : "query", count = memories.length;
    caption.textContent = self_attention ? "Energies of the tokens" : "Energies of the queries";
    heads[2].textContent = `after ${steps}`;
    const lines = readout.sharing.map((sharing, i) => {
      const average = sharing === count ? `average of all ${count}` : `average of ${sharing}`;
      const single = `${self_attention ? "token" : "memory"} ${readout.nearest[i] + 1}`;
      const bound = sharing === 0 ? "still moving" : sharing === 1 ? single : average;
      const [first, last] = [readout.energies[i][0], readout.energies[i][steps]];
      return [`${kind} ${i + 1}`, kit.numeral(first), kit.numeral(last), bound];
    });
    while (rows.children.length > lines.length) rows.lastChild.remove();
    while (rows.children.length < lines.length) {
      rows.append(kit.html("tr", {}, kit.html("th", { scope: "row" }), ...[1, 2, 3].map(() => kit.html("td"))));
    }
    lines.forEach((line, i) => line.forEach((text, j) => {
      const cell = rows.children[i].children[j];
      if (cell.textContent !== text) cell.textContent = text;
    }));
    const what = self_attention ? "a token" : "a cross (memory) or a circle (query)", green = mapped(out_map) ? " Green: the output." : "";
    hint.textContent = `Drag ${what}, or use the arrow keys.${green}`;
    const [single, shared] = [readout.sharing.filter((s) => s === 1).length, readout.sharing.filter((s) => s > 1).length];
    ground.say(`Of ${lines.length}, ${single} bound for one memory, ${shared} for an average`);
  }

  function draw() {
    const now = state();
    readout = measure(now);
    paint(context, landscape(now.memories, now.beta, heights), colours, image, band);
    overlay(now);
    place("memories", now.memories, now.self_attention ? "token" : "memory");
    place("queries", now.self_attention ? [] : now.queries, "query");
    tell(now);
    for (const name of ["beta", "step_size", "steps"]) sliders[name].set(now[name]);
    sliders.memories.set(now.memories.length);
    const shown = JSON.stringify(now);
    for (const { settings, chip } of chips) chip.setAttribute("aria-pressed", JSON.stringify({ ...now, ...settings }) === shown);
  }

  function dress() {
    const theme = body.dataset.theme;
    colours = palette(theme);
    ink = {
      flow: theme === "dark" ? "rgba(255, 255, 255, 0.35)" : "rgba(20, 35, 55, 0.4)",
      way: ground.colour("b"),
      output: ground.colour("c"),
    };
  }

  ground.themed(dress);
  dress();
  const shown = { readout: () => readout, landscape: () => heights };
  return kit.run({ model, el, ground, names: SETTINGS, draw, watch: [plane], ...shown }).close;
}

export default { render };
