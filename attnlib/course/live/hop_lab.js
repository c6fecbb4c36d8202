/* The hop lab: hide, change and move the facts of a story, and see what each hop of a trained network reads. */

const { MOST_FACTS, BETA_RANGE, WORDS, FIRST, COUNT } = kit.constants;
const [IS, ARE, A] = ["is", "are", "a"].map((word) => WORDS.indexOf(word));

const total = (values) => values.reduce((sum, value) => sum + value, 0);
const dot = (one, two) => one.reduce((sum, value, i) => sum + value * two[i], 0);

/* Whole numbers in 8 bits times a scale: rows of so many columns. */
export function unpack({ scale, parts }, columns) {
  const text = atob(parts);
  const numbers = Array.from(text, (sign) => (scale * (sign.charCodeAt(0) << 24)) / 2 ** 24);
  return Array.from({ length: numbers.length / columns }, (_, row) => numbers.slice(row * columns, (row + 1) * columns));
}

const known = new Map();

/* The tables of a recorded network, unpacked once. */
function tables(record, network) {
  const { tables: stored } = record.networks[network];
  const name = stored.key.parts;
  if (!known.has(name)) {
    const { question, key, value, maps, answer, bias } = stored, wide = (table) => unpack(table, record.dim);
    known.set(name, {
      question: wide(question), key: wide(key), value: wide(value), maps: maps.map(wide),
      answer: wide(answer), bias: unpack(bias, 1).flat(),
    });
  }
  return known.get(name);
}

/* Weights that fall off as exp(score); where `seen` is false they are zero. */
export function softmax(scores, seen = scores.map(() => true)) {
  const top = Math.max(...scores.filter((_, i) => seen[i]));
  const exponentials = scores.map((score, i) => (seen[i] ? Math.exp(score - top) : 0));
  const sum = total(exponentials);
  return exponentials.map((exponential) => exponential / sum);
}

/* Colours of the one asked for with the facts they rest on; a colour that is said needs no chain. */
export function follows(facts, hidden, asked) {
  const seen = facts.map((fact, place) => [place, ...fact]).filter(([place]) => !hidden.includes(place));
  const said = seen.filter(([, , verb, what]) => verb === IS && what !== A);
  const animals = seen.filter(([, , , what]) => what === A), rules = seen.filter(([, , verb]) => verb === ARE);
  const mine = animals.filter(([, who]) => who === asked);
  const direct = said.filter(([, who]) => who === asked).map(([place, , , what]) => [what, place]);
  const by_rule = mine.flatMap(([i, , , , its]) => {
    return rules.filter(([, of]) => of - FIRST.kind === its - FIRST.animal).map(([j, , , what]) => [what, i, j]);
  });
  const by_example = mine.flatMap(([i, , , , its]) => {
    const others = animals.filter(([, who, , , same]) => same === its && who !== asked);
    return others.flatMap(([j, other]) => said.filter(([, who]) => who === other).map(([k, , , what]) => [what, i, j, k]));
  });
  const chains = direct.length ? direct : [...by_rule, ...by_example];
  return chains.filter(([colour], place) => !chains.slice(0, place).some(([other]) => other === colour));
}

/* What the network would say with every fact in sight. */
const whole = (now) => measure({ ...now, hidden: [] }).answer;

/* What can be tried: of the state and its numbers, whether it is done. */
export const CHALLENGES = [
  [
    "Take one fact away, so that no colour follows and the network says the same as before.",
    (now, { follows: chains, answer }) => now.hidden.length === 1 && !chains.length && answer === whole(now),
  ],
  [
    "Take away a fact that the network does miss: no colour follows, and it says another.",
    (now, { follows: chains, answer }) => now.hidden.length === 1 && !chains.length && answer !== whole(now),
  ],
  [
    "Add bystanders until a network with three hops says another colour than the one that follows.",
    (now, { follows: chains, answer, weights }) => weights.length === 3 && now.facts.length > 10 && chains.length === 1 && chains[0][0] !== answer && now.beta === 1,
  ],
];

/* Every number that the figure shows. */
export function measure({ record, network, facts, hidden, asked, beta, keep }) {
  const { question, key, value, maps, answer, bias } = tables(record, network), { dim, rows } = record;
  const embed = (table, kind, sentence) => {
    const picked = sentence.map((word, place) => table[rows[kind].indexOf(place * WORDS.length + word)]);
    return picked[0].map((_, i) => total(picked.map((row) => row[i])));
  };
  const asking = [WORDS.indexOf("what"), WORDS.indexOf("colour"), IS, asked];
  const keys = facts.map((fact) => embed(key, "fact", fact)), values = facts.map((fact) => embed(value, "fact", fact));
  const seen = facts.map((_, place) => !hidden.includes(place));
  let query = embed(question, "question", asking), reading = [];
  const scores = [], weights = [];
  for (const map of [...maps, null]) {
    scores.push(keys.map((row) => (beta * dot(row, query)) / Math.sqrt(dim)));
    weights.push(softmax(scores.at(-1), seen));
    reading = values[0].map((_, i) => total(values.map((row, j) => weights.at(-1)[j] * row[i])));
    if (map) query = map.map((row, i) => dot(row, reading) + (keep ? query[i] : 0));
  }
  const answers = softmax(answer.map((row, i) => dot(row, reading) + bias[i]));
  return {
    scores, weights, answers, answer: answers.indexOf(Math.max(...answers)), follows: follows(facts, hidden, asked),
  };
}

const CHART = { height: 196, top: 34, bottom: 24, side: 30 };

const STYLE = `
.verdict { background: var(--field); border: 1px solid var(--rule); border-radius: 99px; font-size: 12.5px; padding: 1px 9px; }
.verdict::before {
  background: var(--b); border-radius: 1px; content: ""; display: inline-block; height: 8px; margin-right: 6px; width: 8px;
}
.right .verdict::before { background: var(--c); border-radius: 50%; }
.side { min-width: 0; }
.side svg { width: 100%; }
table { --cell: #000; border-collapse: separate; border-spacing: 2px; font-size: 13.5px; width: 100%; }
[data-theme="dark"] table { --cell: #fff; }
th, td { font-weight: 400; height: 30px; padding: 0 3px; text-align: left; }
thead th { color: var(--quiet); font-size: 12.5px; height: 20px; }
thead th + th { text-align: center; }
th.fact { cursor: pointer; border-radius: 4px; }
th.fact.chosen { box-shadow: inset 0 0 0 1px var(--accent); }
.out th.fact { color: var(--quiet); text-decoration: line-through; }
.support th.fact { font-weight: 650; }
td.weight {
  background: color-mix(in srgb, var(--a) calc(80% * var(--share)), var(--field)); border-radius: 4px; color: var(--cell);
  text-align: center; width: 52px;
}
td.weight.none { color: var(--quiet); }
td.weight.deep { color: #000; }
td.weight.need { box-shadow: inset 0 0 0 2.5px var(--b); }
td.tick { width: 34px; }
td input { accent-color: var(--accent); cursor: pointer; height: 26px; margin: 0; vertical-align: middle; width: 26px; }
.says { margin: 0; }
.says b { font-weight: 650; }
.probable { display: grid; gap: 3px 8px; grid-template-columns: max-content 1fr max-content; margin: 6px 0 16px; }
.probable span { align-self: center; }
.probable i { background: var(--c); border-radius: 3px; display: block; height: 8px; }
.path { fill: none; opacity: 0.75; stroke: var(--quiet); stroke-width: 1; }
.path.support { opacity: 1; stroke: var(--b); stroke-width: 2.5; }
.dot { fill: var(--quiet); }
.dot.support { fill: var(--b); }
.dot.read { fill: var(--a); }
svg .number { fill: var(--ink); font-size: 11.5px; paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
`;

const range = (from, count) => Array.from({ length: count }, (_, i) => from + i);
const told = (fact) => fact.map((word) => WORDS[word]).filter(Boolean).join(" ");
const pairs = (numbers) => numbers.map((number) => [number, WORDS[number]]);
const nameOf = ({ hops, told: helped }) => `${hops} hop${hops > 1 ? "s" : ""}, ${helped ? "told the facts" : "answers alone"}`;

function render({ model, el }) {
  const names = ["record", "network", "facts", "hidden", "asked", "beta", "keep"];
  const ground = kit.card(el, "Hop lab", STYLE);
  const { record: { networks, stories }, ...initial } = kit.read(model, names);
  let readout = null, chosen = 0, story = 0;

  const store = (changes) => kit.store(model, changes);
  const verdict = kit.html("span", { class: "verdict" });
  const asked = kit.choice({ label: "What colour is", change: (name) => store({ asked: Number(name) }) });
  const network = kit.choice({ label: "Network", change: (place) => store({ network: Number(place) }) });
  const header = kit.html("tr"), list = kit.html("tbody"), rows = [];
  const picture = kit.html("div", { class: "picture" }, kit.html("table", {}, kit.html("thead", {}, header), list));
  const says = kit.html("p", { class: "says" }), probable = kit.html("div", { class: "probable", "aria-hidden": "true" });
  const chart = kit.svg("svg", { height: CHART.height, role: "img" });
  const side = kit.html("div", { class: "side" }, says, probable, chart);
  const beta = kit.slider({
    label: "Inverse temperature, in training 1", min: BETA_RANGE[0], max: BETA_RANGE[1], log: true,
    format: (value) => String(Number(value.toPrecision(2))),
    change: (value) => store({ beta: value }),
  });
  const keep = kit.toggle({ label: "a hop keeps the question", change: (on) => store({ keep: on }) });
  const which = kit.choice({ label: "Change fact", change: (place) => choose(Number(place)) });
  const who = kit.choice({ label: "its subject", change: (word) => rewrite(Number(word)), aside: true });
  const what = kit.choice({ label: "what is said", change: (rest) => put([fact()[0], ...rest.split(",").map(Number)]), aside: true });
  const up = kit.button("Up", () => move(-1)), down = kit.button("Down", () => move(1));
  const bystander = kit.button("Add a bystander", add);
  const more = kit.more(
    kit.html("div", { class: "row" }, which.element, who.element, what.element, up, down),
    kit.html("div", { class: "row" }, keep.element, beta.element),
  ), tasks = kit.challenges(CHALLENGES);
  const controls = [
    kit.html("div", { class: "row" }, bystander, kit.button("Another story", another), more.button, kit.button("Reset", () => store(initial))),
    more.element,
  ];
  ground.head.append(verdict);
  ground.body.append(kit.html("div", { class: "row" }, asked.element, network.element), kit.layout(picture, controls, side, "1.35fr"), tasks.element);

  const fact = () => model.get("facts")[chosen];

  function choose(place) {
    chosen = place;
    redraw();
  }

  function put(fact) {
    store({ facts: model.get("facts").map((old, place) => (place === chosen ? fact : old)) });
  }

  /* Another subject: names are or have an animal or a colour, kinds have a colour. */
  function rewrite(subject) {
    const [, , old, last] = fact();
    if (subject < FIRST.kind) put(old === A ? [subject, IS, A, last] : [subject, IS, old, 0]);
    else put([subject, ARE, old === A ? FIRST.colour : old, 0]);
  }

  function move(step) {
    const facts = [...model.get("facts")], other = chosen + step;
    [facts[chosen], facts[other]] = [facts[other], facts[chosen]];
    const hidden = model.get("hidden").map((place) => (place === chosen ? other : place === other ? chosen : place));
    chosen = other;
    store({ facts, hidden: hidden.sort((one, two) => one - two) });
  }

  /* Somebody new with a colour of their own, as far as there are any. */
  function add() {
    const facts = model.get("facts"), used = new Set(facts.flat());
    const free = (from, count) => range(from, count).find((word) => !used.has(word)) ?? from + (facts.length % count);
    chosen = facts.length;
    store({ facts: [...facts, [free(FIRST.name, COUNT.name), IS, free(FIRST.colour, COUNT.colour), 0]] });
  }

  function another() {
    story = (story + 1) % stories.length;
    chosen = 0;
    store({ hidden: [], facts: stories[story].facts, asked: stories[story].asked });
  }

  function toggle(place) {
    const hidden = model.get("hidden");
    const now = hidden.includes(place) ? hidden.filter((other) => other !== place) : [...hidden, place];
    store({ hidden: now.sort((one, two) => one - two) });
  }

  /* A line of the table: whether the network may read the fact, the fact, a cell for each hop. */
  function line(place) {
    const tick = kit.html("input", { type: "checkbox", onchange: () => toggle(place) });
    const name = kit.html("th", { class: "fact", scope: "row", onclick: () => choose(place) });
    const element = kit.html("tr", {}, kit.html("td", { class: "tick" }, tick), name);
    const cells = [];
    return { element, tick, name, cells };
  }

  function table(now) {
    const hops = readout.weights.length, chain = readout.follows.length === 1 ? readout.follows[0].slice(1) : [];
    header.replaceChildren(
      kit.html("td", {}), kit.html("th", { scope: "col" }, "fact"),
      ...readout.weights.map((_, hop) => kit.html("th", { scope: "col" }, `hop ${hop + 1}`)),
    );
    while (rows.length > now.facts.length) rows.pop().element.remove();
    while (rows.length < now.facts.length) {
      rows.push(line(rows.length));
      list.append(rows.at(-1).element);
    }
    rows.forEach(({ element, tick, name, cells }, place) => {
      const seen = !now.hidden.includes(place);
      element.className = `${seen ? "" : "out"} ${chain.includes(place) ? "support" : ""}`;
      name.className = place === chosen ? "fact chosen" : "fact";
      name.textContent = `${place}. ${told(now.facts[place])}`;
      tick.checked = seen;
      tick.disabled = seen && now.hidden.length === now.facts.length - 1;
      tick.setAttribute("aria-label", `the network may read fact ${place}`);
      while (cells.length > hops) cells.pop().remove();
      while (cells.length < hops) {
        cells.push(kit.html("td"));
        element.append(cells.at(-1));
      }
      cells.forEach((cell, hop) => {
        const weight = readout.weights[hop][place];
        cell.className = `weight ${weight > 0.73 ? "deep" : weight < 0.005 ? "none" : ""} ${chain[hop] === place ? "need" : ""}`;
        cell.style.setProperty("--share", weight.toFixed(3));
        cell.textContent = seen ? weight.toFixed(2) : "";
      });
    });
  }

  /* The scores of the facts, hop by hop: the query moves, what was read falls, what is wanted next rises. */
  function paths(now, width) {
    const { scores, weights } = readout, seen = now.facts.map((_, place) => !now.hidden.includes(place));
    const all = scores.flatMap((row) => row.filter((_, place) => seen[place]));
    const [low, high] = [Math.min(...all), Math.max(...all)], spread = high - low || 1;
    const toX = (hop) => (scores.length > 1 ? CHART.side + (hop * (width - 2 * CHART.side)) / (scores.length - 1) : width / 2);
    const toY = (score) => CHART.top + ((high - score) / spread) * (CHART.height - CHART.top - CHART.bottom);
    const chain = readout.follows.length === 1 ? readout.follows[0].slice(1) : [];
    const order = now.facts.map((_, place) => place).filter((place) => seen[place]);
    order.sort((one, two) => chain.includes(one) - chain.includes(two));
    /* Outside the bend of its line, so that the line does not cross it; two that are as high stand beside each other. */
    const numbers = (hop, places) => {
      const spots = places.map((place) => {
        const [own, ...beside] = [hop, hop - 1, hop + 1].filter((at) => scores[at]).map((at) => toY(scores[at][place]));
        return [place, own > CHART.height - 45 || total(beside) / beside.length >= own ? own - 9 : own + 17];
      });
      return spots.sort(([, one], [, two]) => one - two).map(([place, y], i) => {
        const near = spots.some(([other, at]) => other !== place && Math.abs(at - y) < 13), aside = near ? (i % 2 ? 10 : -10) : 0;
        return kit.svg("text", { class: "number", x: toX(hop) + aside, y, "text-anchor": "middle" }, String(place));
      });
    };
    return [
      kit.svg("text", { class: "name", x: 0, y: 11 }, "scores \u03b2 k\u00b7q of the facts"),
      ...scores.flatMap((_, hop) => [
        kit.svg("line", { class: "grid", x1: toX(hop), x2: toX(hop), y1: CHART.top - 6, y2: CHART.height - 18 }),
        kit.svg("text", { x: toX(hop), y: CHART.height - 5, "text-anchor": "middle" }, `hop ${hop + 1}`),
      ]),
      ...order.map((place) => kit.svg("path", {
        class: chain.includes(place) ? "path support" : "path",
        d: `M${scores.map((row, hop) => `${toX(hop).toFixed(1)} ${toY(row[place]).toFixed(1)}`).join("L")}`,
      })),
      ...scores.flatMap((row, hop) => order.map((place) => {
        const read = weights[hop][place] > 0.5, kind = read ? "dot read" : chain.includes(place) ? "dot support" : "dot";
        return kit.svg("circle", { class: kind, cx: toX(hop), cy: toY(row[place]), r: read ? 5 : 2.5 });
      })),
      ...scores.flatMap((_, hop) => numbers(hop, order.filter((place) => weights[hop][place] > 0.5 || (chain.includes(place) && scores.length > 1)))),
    ];
  }

  function tell(now) {
    const { answer, answers, follows: chains } = readout, word = WORDS[answer], share = kit.numeral(answers[answer]);
    const allowed = chains.map(([colour]) => WORDS[colour]), places = chains.length ? chains[0].slice(1).join(", ") : "";
    const true_answer = chains.length === 1 && chains[0][0] === answer;
    const law = !chains.length ? "From the facts in sight no colour follows."
      : chains.length > 1 ? `The facts in sight allow ${allowed.join(" or ")}.`
        : `From ${chains[0].length > 2 ? "facts" : "fact"} ${places} follows ${allowed[0]}.`;
    const before = now.hidden.length ? whole(now) : answer;
    const then = !now.hidden.length ? "" : ` With all facts in sight it says ${before === answer ? `${word} too` : WORDS[before]}.`;
    says.replaceChildren("The network says ", kit.html("b", {}, word), `, with probability ${share}. ${law}${then}`);
    verdict.textContent = true_answer ? "right" : chains.length === 1 ? "wrong" : "does not follow";
    ground.body.classList.toggle("right", true_answer);
    const best = answers.map((p, i) => [p, i]).sort(([one], [two]) => two - one).slice(0, 3);
    probable.replaceChildren(...best.flatMap(([p, i]) => {
      const bar = kit.html("i");
      bar.style.width = `${100 * p}%`;
      return [kit.html("span", {}, WORDS[i]), kit.html("span", {}, bar), kit.html("span", {}, p.toFixed(2))];
    }));
    const reads = readout.weights.map((row, hop) => {
      const top = row.indexOf(Math.max(...row));
      return `hop ${hop + 1} gives ${kit.numeral(row[top])} to fact ${top}`;
    });
    chart.setAttribute("aria-label", `Scores of the facts at each hop: ${reads.join(", ")}`);
    ground.say(`${says.textContent} ${reads.join(", ")}`);
  }

  function turn(now) {
    chosen = Math.min(chosen, now.facts.length - 1);
    const [subject, ...rest] = now.facts[chosen], plural = subject >= FIRST.kind;
    const colours = range(FIRST.colour, COUNT.colour).map((colour) => [plural ? ARE : IS, colour, 0]);
    const animals = plural ? [] : range(FIRST.animal, COUNT.animal).map((animal) => [IS, A, animal]);
    asked.set(now.asked, pairs(range(FIRST.name, COUNT.name)));
    network.set(now.network, networks.map((net, place) => [place, nameOf(net)]));
    which.set(chosen, now.facts.map((_, place) => [place, String(place)]));
    who.set(subject, pairs([...range(FIRST.name, COUNT.name), ...range(FIRST.kind, COUNT.animal)]));
    what.set(rest.join(","), [...animals, ...colours].map((said) => [said.join(","), told(said)]));
    up.disabled = chosen === 0;
    down.disabled = chosen === now.facts.length - 1;
    bystander.disabled = now.facts.length >= MOST_FACTS;
    keep.set(now.keep);
    beta.set(now.beta);
  }

  function draw(arriving) {
    const now = { ...kit.read(model, names), ...arriving }, width = side.clientWidth;
    readout = measure(now);
    turn(now);
    table(now);
    tell(now);
    if (width > 0) chart.replaceChildren(...paths(now, width));
    tasks.judge(now, readout);
  }

  const { redraw, close } = kit.run({ model, el, ground, names, draw, watch: [side], arrive: { beta: BETA_RANGE[0] }, readout: () => readout, solved: tasks.solved });
  return close;
}

export default { render };
