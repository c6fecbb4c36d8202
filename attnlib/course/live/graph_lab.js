/* Attention on a graph: who points at a node, what they offer, and what it gathers. */

const { NODES, WIDTH, LAST_SEED, LEAST_BETA, SCENES } = kit.constants;

const nodes = Array.from({ length: NODES }, (_, i) => i);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const times = (matrix, vector) => matrix.map((row) => dot(row, vector));

/* Of the nodes' data and three maps: what each looks for, what it offers, what it passes on. Kept for the last seed. */
let known = { seed: -1 };
export function system(seed) {
  if (known.seed === seed) return known;
  const { normal } = kit.generator(seed), table = (rows) => Array.from({ length: rows }, () => Array.from({ length: WIDTH }, normal));
  const data = table(NODES), [queries, keys, values] = [0, 1, 2].map(() => table(WIDTH)).map((map) => data.map((row) => times(map, row)));
  known = { seed, queries, keys, values };
  return known;
}

/* Every number that the figure shows. */
export function measure({ edges, node, beta, seed }) {
  const { queries, keys: all, values: passed } = system(seed);
  const neighbours = edges.filter(([, target]) => target === node).map(([source]) => source).sort((a, b) => a - b);
  const query = queries[node], keys = neighbours.map((j) => all[j]), values = neighbours.map((j) => passed[j]);
  const scores = keys.map((key) => beta * dot(query, key)), top = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - top)), total = parts.reduce((sum, part) => sum + part, 0);
  const weights = parts.map((part) => part / total);
  const mix = Array.from({ length: WIDTH }, (_, a) => weights.reduce((sum, weight, k) => sum + weight * values[k][a], 0));
  const count = scores.length, mean = scores.reduce((sum, score) => sum + score, 0) / (count || 1);
  return {
    neighbours, query, scores, weights, values, mix,
    effective: count ? 1 / dot(weights, weights) : 0,
    spread: count ? Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / count) : 0,
    threshold: count > 1 ? Math.sqrt(2 * Math.log(count)) : 0,
  };
}

const STYLE = `
.graph { height: 300px; position: relative; }
.graph svg { height: 300px; left: 0; position: absolute; top: 0; width: 100%; }
.graph button { border-radius: 50%; font-weight: 600; height: 34px; margin: -17px 0 0 -17px; min-height: 34px; padding: 0; position: absolute; width: 34px; }
.graph button.from { background: color-mix(in srgb, var(--b) calc(60% * var(--share)), var(--field)); border-color: var(--b); border-width: 2px; }
.graph button[aria-pressed="true"] { background: var(--a); border-color: var(--a); color: var(--ground); }
.faint { opacity: 0.45; stroke: var(--quiet); stroke-width: 1; }
.strong { stroke: var(--b); }
.head-of { fill: var(--b); }
.tip { fill: var(--quiet); opacity: 0.6; }
.weight { fill: var(--b); }
.room { fill: var(--field); }
.plus { fill: var(--b); }
.minus { fill: var(--a); }
.frame { fill: none; stroke: var(--rule); }
.loop { fill: none; }
.sources { gap: 6px; }
.sources button { min-width: 32px; padding: 4px 6px; }
.chips button[aria-pressed="true"], .sources button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.side { align-content: start; display: grid; gap: 10px; grid-template-columns: minmax(0, 1fr); }
.says { margin: 0; min-height: 2.8em; }
`;

/* A score with one decimal, however small; a factor as one over so many. */
const tenth = (value) => value.toFixed(1).replace(/^-0\.0$/, "0.0").replace("-", "\u2212");
const over = (value) => (value > 0.999 ? "1" : `1/${Number((1 / value).toPrecision(3))}`);

const NAMES = ["edges", "node", "beta", "seed"];
const HEIGHT = 300, RING = 118, ROUND = 17, LINE = 26;
const TABLE = { top: 44, score: 104, left: 118, right: 40, bottom: 20 };

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Find a node that hears three neighbours or more at once.", (_, { effective }) => effective >= 3],
  [
    "Divide by \u221a20 and no more, and still let two of three neighbours, or more, be heard: 1.5 at least must count.",
    ({ beta }, { effective, neighbours }) => neighbours.length > 2 && effective >= 1.5 && Math.abs(beta / SCENES["divided by \u221a20"] - 1) < 1e-3,
  ],
];

function render({ model, el }) {
  const ground = kit.card(el, "Attention on a graph", STYLE), initial = kit.read(model, NAMES);
  let readout = null;
  const change = (changes) => kit.store(model, changes);

  const phase = kit.html("span", { class: "phase" });
  const arrows = kit.svg("svg", { role: "img" });
  const places = nodes.map((i) => kit.html("button", { type: "button", onclick: () => change({ node: i }) }, String(i)));
  const graph = kit.html("div", { class: "graph" }, arrows, ...places);
  const picture = kit.html("div", { class: "picture" }, graph);
  const table = kit.svg("svg", { role: "img", width: "100%" }), says = kit.html("p", { class: "says" });
  const side = kit.html("div", { class: "side" }, says, table);
  const scale = kit.slider({
    label: "\u03b2: scores are multiplied by", min: LEAST_BETA, max: 1, log: true, format: over, change: (value) => change({ beta: value }),
  });
  const chips = Object.entries(SCENES).map(([name, beta]) => ({ beta, chip: kit.button(name, () => change({ beta })) }));
  const again = kit.button("New numbers", () => change({ seed: (model.get("seed") + 1) % (LAST_SEED + 1) }));
  const reset = kit.button("Reset", () => change(initial));
  const sources = nodes.map((j) => kit.html("button", { type: "button", onclick: () => flip(j) }, String(j)));
  const said = kit.html("span", {}), tasks = kit.challenges(CHALLENGES);
  const rows = { spread: kit.reading("Spread of the scores", true), effective: kit.reading("Neighbours that count", true) };
  const inner = kit.svg("svg", { role: "img", width: "100%" }), strips = kit.html("div", {}, inner);
  const more = kit.more(
    kit.html("div", { class: "row sources", role: "group", "aria-label": "Edges to the chosen node" }, said, ...sources),
    kit.html("div", { class: "row" }, again), strips,
  );
  side.append(kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element)), tasks.element);
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      scale.element,
      kit.html("div", { class: "row chips", role: "group", "aria-label": "Scores" }, ...chips.map(({ chip }) => chip), more.button, reset),
      more.element,
    ], side),
  );

  /* Put in an edge to the chosen node, or take it out. The list stays in order of target and source. */
  function flip(j) {
    const { edges, node } = kit.read(model, NAMES), there = ([source, target]) => source === j && target === node;
    const rest = edges.filter((edge) => !there(edge));
    const next = rest.length === edges.length ? [...edges, [j, node]] : rest;
    change({ edges: next.sort((a, b) => a[1] - b[1] || a[0] - b[0]) });
  }

  /* An arrow from node to node, as wide as asked for; one to itself is a loop outside the ring. */
  function arrow(middle, [j, i], wide, kind, tip) {
    const [from, to] = [j, i].map((k) => spot(middle, k)), size = 5 + 1.1 * wide;
    if (i === j) {
      const out = [to[0] - middle, to[1] - HEIGHT / 2].map((part) => part / RING);
      const centre = to.map((part, axis) => part + 24 * out[axis]);
      return [kit.svg("circle", { class: `${kind} loop`, cx: centre[0], cy: centre[1], r: 10, "stroke-width": wide })];
    }
    const long = Math.hypot(to[0] - from[0], to[1] - from[1]), way = [0, 1].map((axis) => (to[axis] - from[axis]) / long);
    const side = [-way[1], way[0]], at = (along, across) => [0, 1].map((axis) => from[axis] + along * way[axis] + across * side[axis]);
    const begin = at(ROUND, 3), end = at(long - ROUND - size, 3), point = at(long - ROUND, 3);
    const left = at(long - ROUND - size, 3 - size / 2), right = at(long - ROUND - size, 3 + size / 2);
    return [
      kit.svg("line", { class: kind, x1: begin[0], y1: begin[1], x2: end[0], y2: end[1], "stroke-width": wide }),
      kit.svg("path", { class: tip, d: `M${point}L${left}L${right}Z` }),
    ];
  }

  const spot = (middle, k) => {
    const angle = (2 * Math.PI * k) / NODES - Math.PI / 2;
    return [middle + RING * Math.cos(angle), HEIGHT / 2 + RING * Math.sin(angle)];
  };

  function ring(now) {
    const middle = picture.clientWidth / 2;
    for (const k of nodes) {
      const [x, y] = spot(middle, k), at = readout.neighbours.indexOf(k), { style } = places[k];
      style.left = `${x}px`;
      style.top = `${y}px`;
      style.setProperty("--share", (readout.weights[at] ?? 0).toFixed(3));
      places[k].className = at < 0 ? "" : "from";
      places[k].setAttribute("aria-pressed", String(k === now.node));
      places[k].setAttribute("aria-label", `Node ${k}${at < 0 ? "" : `, weight ${kit.numeral(readout.weights[at])}`}`);
    }
    const others = now.edges.filter(([, target]) => target !== now.node);
    return [
      ...others.flatMap((edge) => arrow(middle, edge, 1, "faint", "tip")),
      ...readout.neighbours.flatMap((j, k) => arrow(middle, [j, now.node], 1 + 6 * readout.weights[k], "strong", "head-of")),
    ];
  }

  const text = (kind, x, y, words, anchor = "start") => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const rect = (kind, x, y, width, height, more = {}) => kit.svg("rect", { class: kind, x, y, width: Math.max(0, width), height, ...more });

  /* A line for each neighbour: its score, and its weight as a bar on a scale from 0 to 1. */
  function lines(width) {
    const { neighbours, scores, weights } = readout, { top, score, left, right } = TABLE, long = width - left - right;
    const low = top + LINE * neighbours.length;
    table.setAttribute("height", low + TABLE.bottom);
    return [
      text("name", 0, 12, `whom node ${model.get("node")} hears`),
      text("", 0, 34, "from"), text("", score, 34, "score", "end"), text("", left, 34, "weight"),
      ...neighbours.flatMap((j, k) => [
        text("word", 0, top + LINE * k + 14, `node ${j}`), text("word", score, top + LINE * k + 14, tenth(scores[k]), "end"),
        rect("room", left, top + LINE * k, long, 18), rect("weight", left, top + LINE * k, long * weights[k], 18),
        text("word", width, top + LINE * k + 14, weights[k].toFixed(2), "end"),
      ]),
      ...(neighbours.length ? [0, 0.5, 1] : []).map((share) => text("", left + share * long, low + 14, String(share), "middle")),
    ];
  }

  /* Behind More, twenty numbers as a row of colours: the query, what each neighbour passes on, and their mixture. */
  function within(width) {
    const { neighbours, query, values, mix } = readout, left = 90, cell = (width - left) / WIDTH;
    const strip = (words, numbers, top) => {
      const most = Math.max(...numbers.map(Math.abs), 1e-12);
      return [
        text("word", 0, top + 11, words),
        ...numbers.map((value, a) => rect(value < 0 ? "minus" : "plus", left + a * cell, top, cell - 0.5, 14, { "fill-opacity": Math.abs(value) / most })),
        rect("frame", left, top, width - left, 14),
      ];
    };
    const all = [["its query", query], ...neighbours.map((j, k) => [`node ${j} offers`, values[k]]), ["it gathers", mix]];
    inner.setAttribute("height", 22 * all.length + 18);
    return [text("name", 0, 10, "twenty numbers each: orange +, blue \u2212"), ...all.flatMap(([words, numbers], k) => strip(words, numbers, 22 * k + 18))];
  }

  function tell(now) {
    const { neighbours, weights, effective, spread, threshold } = readout, count = neighbours.length, frozen = count > 1 && effective < 1.5;
    phase.textContent = !count ? "nothing reaches it" : count === 1 ? "one neighbour" : frozen ? "one decides" : "they share";
    ground.body.classList.toggle("frozen", frozen);
    const freezes = threshold ? `mark: ${kit.numeral(threshold)}, where ${count} Gaussian scores freeze` : "one score has no spread";
    rows.spread.set(kit.numeral(spread, spread < 10 ? 2 : 0), freezes, { to: threshold ? spread / threshold / 3 : 0, at: threshold ? 1 / 3 : undefined });
    rows.effective.set(`${kit.numeral(effective)} of ${count}`, "1 / \u2211 p\u00b2", { to: count ? effective / count : 0 });
    said.textContent = `Node ${now.node} hears`;
    for (const j of nodes) {
      sources[j].setAttribute("aria-pressed", String(neighbours.includes(j)));
      sources[j].setAttribute("aria-label", `Edge from node ${j} to node ${now.node}`);
    }
    scale.set(now.beta);
    scale.mark(spread ? (now.beta * threshold) / spread : 0, `around this ${count} Gaussian scores freeze`);
    for (const { beta, chip } of chips) chip.setAttribute("aria-pressed", String(beta === now.beta));
    const order = neighbours.map((j, k) => [Math.round(100 * weights[k]), j]).sort((a, b) => b[0] - a[0]);
    const parts = order.slice(0, 2).filter(([share]) => share).map(([share, j]) => `${share}\u00a0% of node ${j}`);
    const rest = 100 - order.slice(0, 2).reduce((sum, [share]) => sum + share, 0);
    const others = count > 2 && rest > 0 ? `; ${rest}\u00a0% come from ${count > 3 ? `${count - 2} others` : "another"}` : "";
    const told = count
      ? `What node ${now.node} gathers is ${parts.join(" and ")}${others}.`
      : `Nothing reaches node ${now.node}: it keeps its data.`;
    says.textContent = told;
    arrows.setAttribute("aria-label", told);
    table.setAttribute("aria-label", `Score and weight of each of the ${count} neighbours of node ${now.node}`);
    inner.setAttribute("aria-label", `Query of node ${now.node}, value of each neighbour, and what it gathers, as colours`);
    ground.say(told);
  }

  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving };
    readout = measure(now);
    if (picture.clientWidth > 0) arrows.replaceChildren(...ring(now));
    if (side.clientWidth > 0) table.replaceChildren(...lines(side.clientWidth));
    if (strips.clientWidth > 0) inner.replaceChildren(...within(strips.clientWidth));
    tell(now);
    if (JSON.stringify(now) !== began) tasks.judge(now, readout);
  }

  const began = JSON.stringify(initial), arrive = { beta: (share, to) => to ** share };
  return kit.run({
    model, el, ground, names: NAMES, draw, watch: [picture, side, strips], arrive, readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
