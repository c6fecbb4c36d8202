/* Attention on a graph: who points at a node, what they offer, and what it gathers. */

const { NODES, WIDTH, LAST_SEED, LEAST_BETA, SCENES } = kit.constants;

const nodes = Array.from({ length: NODES }, (_, i) => i);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const times = (matrix, vector) => matrix.map((row) => dot(row, vector));

/* The nodes' data and the three maps: what is looked for, what is offered, what is passed on. */
export function system(seed) {
  const { normal } = kit.generator(seed), table = (rows) => Array.from({ length: rows }, () => Array.from({ length: WIDTH }, normal));
  const data = table(NODES);
  return { data, toQuery: table(WIDTH), toKey: table(WIDTH), toValue: table(WIDTH) };
}

/* Every number that the figure shows. */
export function measure({ edges, node, beta, seed }) {
  const { data, toQuery, toKey, toValue } = system(seed);
  const neighbours = edges.filter(([, target]) => target === node).map(([source]) => source).sort((a, b) => a - b);
  const query = times(toQuery, data[node]), keys = neighbours.map((j) => times(toKey, data[j]));
  const values = neighbours.map((j) => times(toValue, data[j]));
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
.graph button.from { border-color: var(--b); border-width: 2px; }
.graph button[aria-pressed="true"] { background: var(--a); border-color: var(--a); color: var(--ground); }
.faint { opacity: 0.45; stroke: var(--quiet); stroke-width: 1; }
.strong { stroke: var(--b); }
.head-of { fill: var(--b); }
.tip { fill: var(--quiet); opacity: 0.6; }
.weight { fill: var(--b); }
.plus { fill: var(--b); }
.minus { fill: var(--a); }
.frame { fill: none; stroke: var(--rule); }
.loop { fill: none; }
.sources { gap: 6px; }
.sources button { min-width: 32px; padding: 4px 6px; }
.chips button[aria-pressed="true"], .sources button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
dl { margin-top: 10px; }
`;

/* A score with one decimal, however small. */
const tenth = (value) => value.toFixed(1).replace("-", "\u2212");

const NAMES = ["edges", "node", "beta", "seed"];
const HEIGHT = 300, RING = 118, ROUND = 17, LINE = 22;

function render({ model, el }) {
  const ground = kit.card(el, "Attention on a graph", STYLE), initial = kit.read(model, NAMES);
  let readout = null;
  const change = (changes) => kit.store(model, changes);

  const phase = kit.html("span", { class: "phase" });
  const arrows = kit.svg("svg", { role: "img" });
  const places = nodes.map((i) => kit.html("button", { type: "button", onclick: () => change({ node: i }) }, String(i)));
  const graph = kit.html("div", { class: "graph" }, arrows, ...places);
  const picture = kit.html("div", { class: "picture" }, graph);
  const table = kit.svg("svg", { role: "img", width: "100%" }), side = kit.html("div", {}, table);
  const scale = kit.slider({
    label: "\u03b2: scores are multiplied by", min: LEAST_BETA, max: 1, log: true, format: (value) => kit.numeral(value, 3),
    change: (value) => change({ beta: value }),
  });
  const chips = Object.entries(SCENES).map(([name, beta]) => ({ beta, chip: kit.button(name, () => change({ beta })) }));
  const again = kit.button("New numbers", () => change({ seed: (model.get("seed") + 1) % (LAST_SEED + 1) }));
  const reset = kit.button("Reset", () => change(initial));
  const sources = nodes.map((j) => kit.html("button", { type: "button", onclick: () => flip(j) }, String(j)));
  const said = kit.html("span", {});
  const rows = {
    spread: kit.reading("Spread of the scores"),
    threshold: kit.reading("They freeze around"),
    effective: kit.reading("Neighbours that count"),
  };
  const numbers = kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element));
  side.append(numbers);
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      kit.html("div", { class: "row" }, scale.element),
      kit.html("div", { class: "row chips", role: "group", "aria-label": "Scores" }, ...chips.map(({ chip }) => chip), again, reset),
      kit.html("div", { class: "row sources", role: "group", "aria-label": "Edges to the chosen node" }, said, ...sources),
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
      const [x, y] = spot(middle, k), at = readout.neighbours.indexOf(k);
      places[k].style.left = `${x}px`;
      places[k].style.top = `${y}px`;
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

  /* Query, then a line for each neighbour: its score, its weight, its value; last what is gathered. */
  function lines(width) {
    const { neighbours, query, scores, weights, values, mix } = readout, left = 180, cell = (width - left) / WIDTH;
    const strip = (numbers, top) => {
      const most = Math.max(...numbers.map(Math.abs), 1e-12);
      return [
        ...numbers.map((value, a) => kit.svg("rect", {
          class: value < 0 ? "minus" : "plus", x: left + a * cell, y: top, width: Math.max(0, cell - 0.5), height: 14,
          "fill-opacity": Math.abs(value) / most,
        })),
        kit.svg("rect", { class: "frame", x: left, y: top, width: Math.max(0, width - left), height: 14 }),
      ];
    };
    const text = (kind, x, y, words, anchor = "start") => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, words);
    const top = (k) => 42 + LINE * k, last = top(neighbours.length) + 6;
    table.setAttribute("height", last + 30);
    return [
      text("name", 0, 12, "query"), ...strip(query, 0),
      text("", 0, 33, "from"), text("", 98, 33, "score", "end"), text("", 106, 33, "weight"), text("", left, 33, "value"),
      ...neighbours.flatMap((j, k) => [
        text("word", 0, top(k) + 11, `node ${j}`), text("word", 98, top(k) + 11, tenth(scores[k]), "end"),
        kit.svg("rect", { class: "weight", x: 106, y: top(k), width: 62 * weights[k], height: 14 }),
        kit.svg("rect", { class: "frame", x: 106, y: top(k), width: 62, height: 14 }),
        ...strip(values[k], top(k)),
      ]),
      text("name", 0, last + 12, "gathered"), ...strip(mix, last),
    ];
  }

  function tell(now) {
    const { neighbours, weights, effective, spread, threshold } = readout, frozen = neighbours.length > 1 && effective < 1.5;
    phase.textContent = !neighbours.length ? "nothing reaches it" : neighbours.length === 1 ? "one neighbour" : frozen ? "one decides" : "they share";
    ground.body.classList.toggle("frozen", frozen);
    rows.spread.set(kit.numeral(spread, 1), "standard deviation among the neighbours");
    rows.threshold.set(kit.numeral(threshold), "\u221a(2 ln K) for K neighbours, chapter 1");
    rows.effective.set(`${kit.numeral(effective)} of ${neighbours.length}`, "1 / \u2211 p\u00b2");
    said.textContent = `Node ${now.node} gathers from`;
    for (const j of nodes) {
      sources[j].setAttribute("aria-pressed", String(neighbours.includes(j)));
      sources[j].setAttribute("aria-label", `Edge from node ${j} to node ${now.node}`);
    }
    scale.set(now.beta);
    scale.mark(spread ? (now.beta * threshold) / spread : 0, "around this, so many Gaussian scores freeze");
    for (const { beta, chip } of chips) chip.setAttribute("aria-pressed", String(beta === now.beta));
    const best = neighbours[weights.indexOf(Math.max(...weights))];
    const told = neighbours.length
      ? `Node ${now.node} gathers from ${neighbours.length} of ${NODES} nodes; node ${best} has the most weight, ${kit.numeral(Math.max(...weights))}`
      : `Nothing reaches node ${now.node}: it keeps its data`;
    arrows.setAttribute("aria-label", told);
    table.setAttribute("aria-label", `Query of node ${now.node}, and of each neighbour the score, the weight and the value`);
    ground.say(`${told}.`);
  }

  function draw() {
    const now = kit.read(model, NAMES);
    readout = measure(now);
    if (picture.clientWidth > 0) arrows.replaceChildren(...ring(now));
    if (side.clientWidth > 0) table.replaceChildren(...lines(side.clientWidth));
    tell(now);
  }

  return kit.run({ model, el, ground, names: NAMES, draw, watch: [picture, side], readout: () => readout }).close;
}

export default { render };
