/* Belief propagation between six spins: messages, sweep by sweep, and beliefs beside the exact averages. */

const { SPINS, MOST_SWEEPS, REACH, SETTLED, SCENES } = kit.constants;

const spins = Array.from({ length: SPINS }, (_, i) => i);
const both = [0, 1];

/* What every spin tells its neighbours next: [edge][0] from the first to the second, [edge][1] back. */
export function sweep(edges, fields, coupling, told) {
  const heard = fields.slice();
  edges.forEach((edge, e) => both.forEach((way) => (heard[edge[1 - way]] += told[e][way])));
  return edges.map((edge, e) => both.map((way) => {
    const cavity = heard[edge[way]] - told[e][1 - way];
    return Math.atanh(Math.tanh(coupling) * Math.tanh(cavity));
  }));
}

/* Averages by going through all states. */
export function enumerate(edges, fields, coupling) {
  const sums = spins.map(() => 0);
  let total = 0;
  for (let state = 0; state < 2 ** SPINS; state += 1) {
    const s = spins.map((i) => (state >> i) & 1 ? 1 : -1);
    const pull = edges.reduce((sum, [i, j]) => sum + coupling * s[i] * s[j], 0);
    const weight = Math.exp(spins.reduce((sum, i) => sum + fields[i] * s[i], pull));
    total += weight;
    for (const i of spins) sums[i] += weight * s[i];
  }
  return sums.map((sum) => sum / total);
}

export function loops(edges) {
  let group = spins.slice(), extra = 0;
  for (const [i, j] of edges) {
    const [one, other] = [group[i], group[j]];
    if (one === other) extra += 1;
    group = group.map((g) => (g === other ? one : g));
  }
  return extra;
}

const chance = (field) => 1 / (1 + Math.exp(-2 * field));

/* Every number that the figure shows. */
export function measure({ edges, fields, coupling, damping, sweeps }) {
  let told = edges.map(() => [0, 0]);
  for (let t = 0; t < sweeps; t += 1) {
    const next = sweep(edges, fields, coupling, told);
    told = told.map((old, e) => both.map((way) => (1 - damping) * next[e][way] + damping * old[way]));
  }
  const heard = fields.slice();
  edges.forEach((edge, e) => both.forEach((way) => (heard[edge[1 - way]] += told[e][way])));
  const next = sweep(edges, fields, coupling, told), believed = heard.map(Math.tanh);
  const exact = enumerate(edges, fields, coupling);
  const moves = next.flatMap((pair, e) => both.map((way) => Math.abs(chance(pair[way]) - chance(told[e][way]))));
  return {
    messages: told, believed, exact,
    change: Math.max(0, ...moves),
    error: Math.max(...spins.map((i) => Math.abs(believed[i] - exact[i]))),
    loops: loops(edges),
  };
}

const STYLE = `
.layout > .picture, .layout > .side { grid-column: 1 / -1; }
.layout > .side { order: 2; }
.picture { display: grid; gap: 4px 22px; }
.side dl { display: grid; gap: 10px 22px; margin: 0; }
@container (min-width: 560px) {
  .picture, .side dl { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  .side dl { grid-template-columns: repeat(3, minmax(0, 1fr)); }
}
.graph { height: 290px; position: relative; }
.graph svg { height: 290px; left: 0; position: absolute; top: 0; width: 100%; }
.graph button { border-radius: 50%; font-weight: 600; height: 36px; margin: -18px 0 0 -18px; min-height: 36px; padding: 0; position: absolute; width: 36px; }
.graph button { background: color-mix(in srgb, var(--sign) calc(70% * var(--size)), var(--field)); }
.graph button[aria-pressed="true"] { border: 3px solid var(--ink); }
.wire { stroke: var(--rule); stroke-width: 1.5; }
.box { fill: var(--quiet); }
.plus { fill: var(--b); stroke: var(--b); }
.minus { fill: var(--a); stroke: var(--a); }
.belief { stroke: none; }
.exact { fill: var(--ink); }
.ends button { min-width: 32px; padding: 4px 6px; }
.chips button[aria-pressed="true"], .ends button[aria-pressed="true"] { background: var(--tint); border-color: var(--accent); font-weight: 600; }
.go { background: var(--accent); color: var(--ground); font-weight: 600; }
`;

const NAMES = ["edges", "fields", "coupling", "damping", "sweeps", "node"];
const HEIGHT = 290, RING = 104, ROUND = 18, LINE = 32, CHART = { left: 46, top: 44, right: 84 };

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  ["Step until all six bars meet their marks.", ({ edges }, { error }) => edges.length >= SPINS - 1 && error < 1e-6],
  [
    "Close one loop, and let the beliefs come to rest 0.1 from an exact average, or further.",
    (_, { loops: closed, change, error }) => closed === 1 && change < SETTLED && error >= 0.1,
  ],
  [
    "Join everyone with a coupling of \u22120.5 or below, and bring the messages to rest.",
    ({ edges, coupling }, { change }) => edges.length === (SPINS * (SPINS - 1)) / 2 && coupling <= -0.5 && change < SETTLED,
  ],
];

function render({ model, el }) {
  const ground = kit.card(el, "Messages on a factor graph", STYLE), initial = kit.read(model, NAMES);
  let readout = null;
  const change = (changes) => kit.store(model, changes);
  const anew = (changes) => {
    running.stop();
    change({ ...changes, sweeps: 0 });
  };

  const phase = kit.html("span", { class: "phase" });
  const arrows = kit.svg("svg", { role: "img" });
  const places = spins.map((i) => kit.html("button", { type: "button", onclick: () => change({ node: i }) }, String(i)));
  const graph = kit.html("div", { class: "graph" }, arrows, ...places);
  const bars = kit.svg("svg", { role: "img", width: "100%", height: CHART.top + LINE * SPINS + 24 }), beside = kit.html("div", {}, bars);
  const picture = kit.html("div", { class: "picture" }, graph, beside), side = kit.html("div", { class: "side" });
  const signed = (value) => kit.numeral(value, 2);
  const strength = kit.slider({ label: "Coupling of each edge", min: -REACH, max: REACH, step: 0.05, format: signed, change: (value) => anew({ coupling: value }) });
  const pull = kit.slider({
    label: "Field of the chosen spin", min: -REACH, max: REACH, step: 0.05, format: signed,
    change: (value) => anew({ fields: model.get("fields").map((field, i) => (i === model.get("node") ? value : field)) }),
  });
  const keep = kit.slider({ label: "Damping", min: 0, max: 0.9, step: 0.1, format: (value) => kit.numeral(value, 1), change: (value) => anew({ damping: value }) });
  const step = () => change({ sweeps: Math.min(MOST_SWEEPS, model.get("sweeps") + 1) });
  let [begun, made] = [0, 0];
  const running = kit.loop((seconds) => {
    if (model.get("sweeps") !== made) return false; // a sentence has set it
    made = Math.min(MOST_SWEEPS, begun + Math.floor(seconds * 5));
    if (made !== model.get("sweeps")) change({ sweeps: made });
    return made < MOST_SWEEPS;
  });
  const go = () => {
    if (kit.reducedMotion()) return change({ sweeps: MOST_SWEEPS });
    begun = made = model.get("sweeps");
    return running.start();
  };
  const stepping = kit.button("Step", () => (running.stop(), step())), going = kit.button("Run", go);
  stepping.className = "go";
  const begin = kit.button("Start over", () => anew({})), reset = kit.button("Reset", () => (running.stop(), change(initial)));
  const chips = Object.entries(SCENES).map(([name, edges]) => ({ edges, chip: kit.button(name, () => anew({ edges })) }));
  const ends = spins.map((j) => kit.html("button", { type: "button", onclick: () => flip(j) }, String(j)));
  const said = kit.html("span", {}), tasks = kit.challenges(CHALLENGES);
  const more = kit.more(
    kit.html("div", { class: "row ends", role: "group", "aria-label": "Edges of the chosen spin" }, said, ...ends),
    kit.html("div", { class: "row" }, pull.element, keep.element),
  );
  const rows = {
    sweeps: kit.reading("Sweeps"),
    change: kit.reading("The next one changes a message by"),
    error: kit.reading("Largest error of a belief"),
  };
  side.append(kit.html("dl", {}, ...Object.values(rows).map(({ element }) => element)), tasks.element);
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      kit.html("div", { class: "row", role: "group", "aria-label": "Sweeps" }, stepping, going, begin, more.button, reset),
      kit.html("div", { class: "row chips", role: "group", "aria-label": "Graphs" }, ...chips.map(({ chip }) => chip)),
      kit.html("div", { class: "row" }, strength.element),
      more.element,
    ], side),
  );

  /* Join the chosen spin to another, or part them. */
  function flip(j) {
    const { edges, node } = kit.read(model, NAMES), pair = [Math.min(j, node), Math.max(j, node)];
    const rest = edges.filter(([a, b]) => a !== pair[0] || b !== pair[1]);
    const next = rest.length === edges.length ? [...edges, pair] : rest;
    anew({ edges: next.sort((a, b) => a[0] - b[0] || a[1] - b[1]) });
  }

  const text = (kind, x, y, words, anchor = "start") => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const spot = (middle, k, radius = RING) => {
    const angle = (2 * Math.PI * k) / SPINS - Math.PI / 2;
    return [middle + radius * Math.cos(angle), HEIGHT / 2 + radius * Math.sin(angle)];
  };

  /* The message from one spin to another: an arrow in the second half of their edge, as wide as the field it stands for. */
  function arrow(from, to, field) {
    const wide = Math.min(1, Math.abs(field) / 1.5);
    if (wide < 1e-9) return [];
    const long = Math.hypot(to[0] - from[0], to[1] - from[1]), way = both.map((axis) => (to[axis] - from[axis]) / long);
    const at = (along, across) => [from[0] + along * way[0] - across * way[1], from[1] + along * way[1] + across * way[0]];
    const half = 2 + 5 * wide, head = 8 + 5 * wide, tip = long - ROUND - 1, start = long / 2 + 8, base = Math.max(start, tip - head);
    const corners = [at(start, -half / 2), at(base, -half / 2), at(base, -2 - half), at(tip, 0), at(base, 2 + half), at(base, half / 2), at(start, half / 2)];
    return [kit.svg("path", { class: `message ${field < 0 ? "minus" : "plus"}`, d: `M${corners.map((point) => point.map((size) => size.toFixed(1))).join("L")}Z`, "fill-opacity": 0.85 })];
  }

  /* Spins on a ring, as full of colour as their beliefs are sure; outside of it the fields that pull at them. */
  function ring(now) {
    const middle = graph.clientWidth / 2, at = spins.map((k) => spot(middle, k));
    for (const k of spins) {
      const { style } = places[k], m = readout.believed[k];
      style.left = `${at[k][0]}px`;
      style.top = `${at[k][1]}px`;
      style.setProperty("--sign", `var(--${m < 0 ? "a" : "b"})`);
      style.setProperty("--size", Math.abs(m).toFixed(3));
      places[k].setAttribute("aria-pressed", String(k === now.node));
      places[k].setAttribute("aria-label", `Spin ${k}, belief ${kit.numeral(m)}, exact ${kit.numeral(readout.exact[k])}`);
    }
    const pulls = spins.filter((k) => now.fields[k] !== 0).map((k) => {
      const [x, y] = spot(middle, k, RING + 24), side = Math.abs(x - middle) < 1 ? "middle" : x < middle ? "end" : "start";
      return text("word", x, y + (side === "middle" ? Math.sign(y - HEIGHT / 2) * 5 + 4 : 4), `field ${kit.numeral(now.fields[k])}`, side);
    });
    return [
      ...now.edges.map(([i, j]) => kit.svg("line", { class: "wire", x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1] })),
      ...now.edges.flatMap(([i, j], e) => [...arrow(at[i], at[j], readout.messages[e][0]), ...arrow(at[j], at[i], readout.messages[e][1])]),
      ...now.edges.map(([i, j]) => kit.svg("rect", { class: "box", x: (at[i][0] + at[j][0]) / 2 - 5, y: (at[i][1] + at[j][1]) / 2 - 5, width: 10, height: 10 })),
      ...pulls,
    ];
  }

  /* A bar for each belief, from the middle, a mark for the exact average, and both in numbers. */
  function lines(width) {
    const { left, top, right } = CHART, { toX, axes } = kit.plot({
      left, top, width: width - left - right, height: LINE * SPINS, y: { from: 0, to: 1, ticks: [] },
      x: { from: -1, to: 1, ticks: [-1, 0, 1], format: (value) => kit.numeral(value, 0) },
    });
    return [
      text("name", 0, 12, "average of each spin"), text("", 0, 30, "bar: belief, mark: exact"),
      text("", width - 44, 38, "belief", "end"), text("", width, 38, "exact", "end"),
      ...[-1, -0.5, 0, 0.5, 1].map((value) => kit.svg("line", { class: value ? "grid" : "zero", x1: toX(value), x2: toX(value), y1: top, y2: top + LINE * SPINS })),
      ...axes(),
      ...spins.flatMap((k) => {
        const m = readout.believed[k], exact = readout.exact[k], y = top + LINE * k + 6, middle = y + 14;
        return [
          text("word", 0, middle, `spin ${k}`),
          kit.svg("rect", { class: `belief ${m < 0 ? "minus" : "plus"}`, x: Math.min(toX(m), toX(0)), y, width: Math.abs(toX(m) - toX(0)), height: 20 }),
          kit.svg("rect", { class: "exact", x: toX(exact) - 1.5, y: y - 3, width: 3, height: 26 }),
          text("word", width - 44, middle, kit.numeral(m), "end"), text("word", width, middle, kit.numeral(exact), "end"),
        ];
      }),
    ];
  }

  function tell(now) {
    const { change: moving, error, loops: closed } = readout, rest = moving < SETTLED;
    const state = !rest ? "still talking" : error < 1e-6 ? "at rest and exact" : "at rest and wrong";
    phase.textContent = now.sweeps === MOST_SWEEPS && !rest ? "no rest" : state;
    ground.body.classList.toggle("frozen", rest);
    rows.sweeps.set(`${now.sweeps}`, `of ${MOST_SWEEPS} at most`);
    rows.change.set(kit.numeral(moving, 4), "as a probability; 0 is rest");
    rows.error.set(kit.numeral(error, 3), closed ? `${closed} loop${closed > 1 ? "s" : ""} in the graph` : "no loop: a tree ends exact");
    said.textContent = `Spin ${now.node} is joined to`;
    for (const j of spins) {
      const joined = now.edges.some(([a, b]) => a === Math.min(j, now.node) && b === Math.max(j, now.node));
      ends[j].disabled = j === now.node;
      ends[j].setAttribute("aria-pressed", String(joined));
      ends[j].setAttribute("aria-label", `Edge between spins ${now.node} and ${j}`);
    }
    strength.set(now.coupling);
    pull.set(now.fields[now.node]);
    keep.set(now.damping);
    for (const one of [stepping, going]) one.disabled = now.sweeps === MOST_SWEEPS;
    for (const { edges, chip } of chips) chip.setAttribute("aria-pressed", String(JSON.stringify(edges) === JSON.stringify(now.edges)));
    const told = `${now.sweeps} sweeps, ${closed} loops: beliefs are up to ${kit.numeral(error)} from the exact averages`;
    arrows.setAttribute("aria-label", `Six spins with ${now.edges.length} edges; ${told}`);
    bars.setAttribute("aria-label", `Beliefs ${readout.believed.map((m) => kit.numeral(m)).join(", ")}; exact ${readout.exact.map((m) => kit.numeral(m)).join(", ")}`);
    ground.say(`${told}.`);
  }

  function draw(arriving) {
    const now = { ...kit.read(model, NAMES), ...arriving };
    readout = measure(now);
    if (graph.clientWidth > 0) arrows.replaceChildren(...ring(now));
    if (beside.clientWidth > 0) bars.replaceChildren(...lines(beside.clientWidth));
    tell(now);
    if (now.sweeps) tasks.judge(now, readout);
  }

  return kit.run({
    model, el, ground, names: NAMES, draw, watch: [graph, beside], end: running.stop, arrive: { fields: spins.map(() => 0) },
    readout: () => readout, solved: tasks.solved,
  }).close;
}

export default { render };
