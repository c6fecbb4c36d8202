/* The walker: a trained block is applied as often as asked for, and walks along a permutation, or does not. */

const { PLACES, DIM, HEADS, TRAINED_STEPS, MOST_STEPS, BETA_RANGE, LETTERS, LEAST_ORDER, WALKS } = kit.constants;
const WIDE = DIM / HEADS, HALF = DIM / 2;

const places = Array.from({ length: PLACES }, (_, i) => i), heads = Array.from({ length: HEADS }, (_, h) => h);
const total = (values) => values.reduce((sum, value) => sum + value, 0);
const dot = (one, two) => one.reduce((sum, value, i) => sum + value * two[i], 0);
const times = (matrix, vector) => matrix.map((row) => dot(row, vector));
const best = (values) => values.indexOf(Math.max(...values));

/* Whole numbers in 8 bits times a scale: a list, or rows of it. */
export function unpack({ scale, parts, shape }) {
  const numbers = Array.from(atob(parts), (sign) => (scale * (sign.charCodeAt(0) << 24)) / 2 ** 24);
  if (shape.length < 2) return numbers;
  return Array.from({ length: shape[0] }, (_, row) => numbers.slice(row * shape[1], (row + 1) * shape[1]));
}

const known = new Map();

/* The tables of a walker by their last words, unpacked once. */
function tables(stored) {
  const key = stored["out.weight"].parts;
  if (!known.has(key)) {
    known.set(key, Object.fromEntries(Object.entries(stored).map(([name, table]) => {
      return [name.replace(/^stack\.blocks\.0\.(mixer\.)?/, ""), unpack(table)];
    })));
  }
  return known.get(key);
}

function softmax(scores) {
  const top = Math.max(...scores), exponentials = scores.map((score) => Math.exp(score - top)), sum = total(exponentials);
  return exponentials.map((exponential) => exponential / sum);
}

function normalised(x, weight, bias) {
  const mean = total(x) / DIM, variance = total(x.map((value) => (value - mean) ** 2)) / DIM, root = Math.sqrt(variance + 1e-5);
  return x.map((value, i) => ((value - mean) / root) * weight[i] + bias[i]);
}

/* What is read of a fact: with values tied to keys, what was read of one that leads to itself. */
const tied = (row) => row.map((value, i) => (i < HALF ? value + row[i + HALF] : 0));

/* Eight steps from each place: for each step and place its scores and weights by head, and the logits after it. */
export function walk({ record, network, image, beta, tie }) {
  const net = tables(record.walkers[network].tables), { vectors } = net, sharp = beta / Math.sqrt(WIDE);
  const facts = places.map((a) => [...vectors[a], ...vectors[image[a]]]);
  const parts = (row) => heads.map((h) => row.slice(h * WIDE, (h + 1) * WIDE));
  const keys = facts.map((fact) => parts(times(net["to_key.weight"], fact)));
  const reader = tie ? net["to_value.weight"].map(tied) : net["to_value.weight"];
  const values = facts.map((fact) => times(reader, fact));
  let states = places.map((a) => [...vectors[a], ...vectors[a].map(() => 0)]);
  return Array.from({ length: MOST_STEPS }, () => {
    const seen = states.map((x) => {
      const query = parts(times(net["to_query.weight"], x));
      const scores = heads.map((h) => keys.map((key) => sharp * dot(query[h], key[h])));
      const weights = scores.map(softmax);
      const read = Array.from({ length: DIM }, (_, i) => total(values.map((v, j) => weights[Math.floor(i / WIDE)][j] * v[i])));
      const state = normalised(times(net["to_out.weight"], read), net["mixer_norm.weight"], net["mixer_norm.bias"]);
      return { scores, weights, state, logits: times(net["out.weight"], state).map((z, i) => z + net["out.bias"][i]) };
    });
    states = seen.map(({ state }) => state);
    return seen;
  });
}

/* The lengths of the cycles, ascending. */
export function cycles(image) {
  const found = [], left = new Set(places);
  for (const place of places) {
    let length = 0;
    for (let there = place; left.delete(there); there = image[there]) length += 1;
    if (length) found.push(length);
  }
  return found.sort((one, other) => one - other);
}

const common = (one, other) => (other ? common(other, one % other) : one);
const order = (image) => cycles(image).reduce((all, length) => (all * length) / common(all, length), 1);

/* Every number that the figure shows. */
export function measure(now) {
  const { image, start, steps, tie } = now, walked = walk(now), hops = [places];
  for (let k = 0; k < MOST_STEPS; k += 1) hops.push(hops.at(-1).map((place) => image[place]));
  const said = walked.map((seen) => seen.map(({ logits }) => best(logits))), answers = said[steps - 1];
  const same = (one, other) => total(places.map((q) => Number(one[q] === other[q])));
  const each = (number) => walked.slice(0, steps).map((seen, t) => heads.map((h) => number(seen, h, t)));
  const right = (seen, h, t) => total(places.map((q) => seen[q].weights[h][hops[t][q]]));
  const squares = (seen, h) => total(places.map((q) => dot(seen[q].weights[h], seen[q].weights[h])));
  const spread = (scores) => {
    const mean = total(scores) / PLACES;
    return Math.sqrt(total(scores.map((score) => (score - mean) ** 2)) / PLACES / (2 * Math.log(PLACES)));
  };
  const home = same(answers, places), back = order(image);
  return {
    path: said.slice(0, steps).map((row) => row[start]),
    truth: hops.slice(1, steps + 1).map((row) => row[start]),
    weights: walked.slice(0, steps).map((seen) => seen[start].weights),
    probability: softmax(walked[steps - 1][start].logits),
    answers,
    right: same(answers, hops[steps]),
    profile: said.map((row, t) => same(row, hops[t + 1])),
    hits: hops.map((row) => same(answers, row)),
    expected: hops.map((row) => same(hops[steps], row)),
    order: back,
    home,
    solved: home === PLACES && steps === back && !tie,
    U: each((seen, h, t) => squares(seen, h) / right(seen, h, t)),
    target: each((seen, h, t) => right(seen, h, t) / PLACES),
    spread: each((seen, h) => total(places.map((q) => spread(seen[q].scores[h]))) / PLACES),
  };
}

/* A shuffle of the places from a seed. */
export function shuffle(seed) {
  const { uniform } = kit.generator(seed), image = [...places];
  for (let last = PLACES - 1; last > 0; last -= 1) {
    const other = Math.floor(uniform() * (last + 1));
    [image[last], image[other]] = [image[other], image[last]];
  }
  return image;
}

const HEIGHT = 308, RING = 114, ROUND = 18, TIP = 8, BEND = 0.13;
const CHART = { height: 158, top: 26, bottom: 22, left: 22 };
const NEXT_MS = 1000, SLOW_MS = 1800;

const STYLE = `
.good .phase::before { background: var(--a); border-radius: 1px; }
.ring { height: 308px; position: relative; }
.ring svg { height: 308px; left: 0; position: absolute; top: 0; width: 100%; }
.ring button {
  border-radius: 50%; font-weight: 650; height: 36px; margin: -18px 0 0 -18px; padding: 0; position: absolute; width: 36px;
}
.ring button[aria-pressed="true"] { background: var(--ink); border-color: var(--ink); color: var(--ground); }
.ring button.end { border: 3px solid var(--a); }
.ring button.end.off { border: 3px dashed var(--b); }
.fact { fill: none; stroke: var(--quiet); stroke-width: 1.2; opacity: 0.55; }
.tip { fill: var(--quiet); opacity: 0.7; }
.look { fill: none; opacity: 0.22; stroke: var(--a); stroke-linecap: butt; }
.went { fill: none; stroke: var(--a); stroke-width: 3; }
.went.off { stroke: var(--b); stroke-dasharray: 6 5; }
.point { fill: var(--a); }
.point.off { fill: var(--b); }
svg .step { fill: var(--ink); font-size: 12px; font-weight: 650; paint-order: stroke; stroke: var(--ground); stroke-width: 4px; }
.new { animation: shown 0.4s ease-out both; }
.went.new:not(.off) { animation-name: drawn; stroke-dasharray: 1; }
@keyframes shown { from { opacity: 0; } }
@keyframes drawn { from { stroke-dashoffset: 1; } }
@media (prefers-reduced-motion: reduce) { .new, .went.new:not(.off) { animation: none; stroke-dasharray: none; } }
.went.off.new { stroke-dasharray: 6 5; }
.says, .task { margin: 0 0 8px; }
.task { border-left: 3px solid var(--rule); margin: 8px 0 0; padding-left: 9px; }
.task.solved { border-color: var(--c); }
.side svg, .also svg { width: 100%; }
.room { fill: var(--field); }
.bar { fill: var(--a); }
.bar.part { fill: var(--b); }
.now { fill: none; stroke: var(--ink); stroke-width: 2; }
.law { stroke: var(--ink); stroke-width: 2.5; }
.also { border-top: 1px solid var(--rule); display: grid; gap: 10px 22px; margin-top: 12px; padding-top: 12px; }
.also[hidden] { display: none; }
@container (min-width: 560px) { .also { grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); } .also > .row { grid-column: 1 / -1; } }
p.quiet { margin: 6px 0 0; }
table { border-collapse: separate; border-spacing: 2px; font-size: 12px; table-layout: fixed; width: 100%; }
caption { font-size: 12.5px; font-weight: 600; padding-bottom: 4px; text-align: left; }
th { color: var(--quiet); font-size: 11.5px; font-weight: 400; text-align: center; }
tbody th { text-align: left; }
thead th:first-child { width: 32px; }
td { background: var(--field); border-radius: 3px; line-height: 1.2; padding: 2px 0; text-align: center; }
td small { color: var(--quiet); display: block; font-size: 10.5px; }
td.cold { box-shadow: inset 0 3px 0 var(--a); }
td.hot { box-shadow: inset 0 -3px 0 var(--b); }
td.froze { font-weight: 700; outline: 2px solid var(--ink); outline-offset: -2px; }
`;

const NAMES = ["record", "network", "image", "start", "steps", "beta", "tie", "more"];
const COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"];

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const capital = (word) => word[0].toUpperCase() + word.slice(1);

function render({ model, el }) {
  const ground = kit.card(el, "A block that walks", STYLE);
  const { record: { walkers }, ...initial } = kit.read(model, NAMES);
  let readout = null, draws = 0, playing = 0, drawn = "", shown = [];

  const change = (changes) => {
    pause();
    kit.store(model, changes);
  };
  const phase = kit.html("span", { class: "phase" });
  const arrows = kit.svg("svg", { role: "img" });
  const spots = places.map((k) => {
    return kit.html("button", { type: "button", "aria-label": `Place ${LETTERS[k]}`, onclick: () => change({ start: k }) }, LETTERS[k]);
  });
  const ring = kit.html("div", { class: "ring" }, arrows, ...spots), picture = kit.html("div", { class: "picture" }, ring);
  const says = kit.html("p", { class: "says" }), task = kit.html("p", { class: "task" });
  const chart = kit.svg("svg", { height: CHART.height, role: "img" });
  const side = kit.html("div", { class: "side" }, says, chart, task);
  const steps = kit.slider({ label: "Steps T", min: 1, max: MOST_STEPS, change: (value) => change({ steps: value }) });
  const play = kit.button("Play", () => (playing ? pause() : start()));
  const more = kit.button("More", () => kit.store(model, { more: !model.get("more") }));
  const which = kit.choice({ label: "Walker", change: (place) => change({ network: Number(place) }) });
  const tie = kit.toggle({ label: "tie values to keys", change: (on) => change({ tie: on }) });
  const heat = kit.slider({
    label: "Inverse temperature \u03b2, in training 1", min: Math.log2(BETA_RANGE[0]), max: Math.log2(BETA_RANGE[1]), step: 0.25,
    format: (power) => String(Number((2 ** power).toPrecision(3))), change: (power) => change({ beta: 2 ** power }),
  });
  const table = kit.html("table"), law = kit.svg("svg", { height: CHART.height, role: "img" });
  const remark = kit.html("p", { class: "quiet" }), answers = kit.html("div", {}, law, remark);
  const also = kit.html(
    "div", { class: "also" },
    kit.html("div", { class: "row" }, which.element, tie.element, heat.element),
    kit.html("div", {}, table, kit.html("p", { class: "quiet" },
      "Large: U = \u2211p\u00b2 / p of the right fact, over all eight places. At 1 a head is as sure as it is right; below, underlined, "
      + "too hot; above, overlined, too cold. Small: p of the right fact. Framed: frozen, the scores spread by more than \u221a(2 ln 8).")),
    answers,
  );
  ground.head.append(phase);
  ground.body.append(
    kit.layout(picture, [
      kit.html("div", { class: "row" }, steps.element),
      kit.html("div", { class: "row" }, play, kit.button("New permutation", another), more, kit.button("Reset", () => change(initial))),
    ], side),
    also,
  );

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.textContent = "Play";
  }

  /* One step more at a time; from the first if it stands at the last. */
  function start() {
    const go = (at) => kit.store(model, { steps: at });
    if (model.get("steps") === MOST_STEPS) go(1);
    play.textContent = "Pause";
    playing = setInterval(() => {
      go(Math.min(MOST_STEPS, model.get("steps") + 1));
      if (model.get("steps") === MOST_STEPS) pause();
    }, kit.reducedMotion() ? SLOW_MS : NEXT_MS);
  }

  /* The next one that as many steps as the slider has can bring home, and that takes some. */
  function another() {
    let image = [];
    do {
      image = shuffle(draws);
      draws += 1;
    } while (order(image) < LEAST_ORDER || order(image) > MOST_STEPS);
    change({ image });
  }

  const spot = (middle, k) => {
    const angle = (2 * Math.PI * k) / PLACES - Math.PI / 2;
    return [middle + RING * Math.cos(angle), HEIGHT / 2 + RING * Math.sin(angle)];
  };

  /* A bent line from place to place: its path, its point, and where a number stands; to itself a loop outside of the ring. */
  function bent(middle, j, i) {
    const from = spot(middle, j), to = spot(middle, i);
    if (i === j) {
      const [x, y] = from.map((part, axis) => part + ((part - [middle, HEIGHT / 2][axis]) / RING) * 23);
      return { d: `M${x - 10} ${y}a10 10 0 1 1 20 0a10 10 0 1 1 -20 0`, point: null, at: [x, y] };
    }
    const across = [from[1] - to[1], to[0] - from[0]];
    const control = [0, 1].map((axis) => (from[axis] + to[axis]) / 2 + BEND * across[axis]);
    const toward = (one, other, far) => {
      const long = Math.hypot(other[0] - one[0], other[1] - one[1]);
      return [0, 1].map((axis) => one[axis] + (far * (other[axis] - one[axis])) / long);
    };
    const begin = toward(from, control, ROUND), tip = toward(to, control, ROUND), end = toward(to, control, ROUND + TIP);
    const side = [end[1] - tip[1], tip[0] - end[0]].map((part) => part * 0.55);
    return {
      d: `M${begin}Q${control} ${end}`,
      point: `M${tip}L${[end[0] + side[0], end[1] + side[1]]}L${[end[0] - side[0], end[1] - side[1]]}Z`,
      at: [0, 1].map((axis) => (begin[axis] + 2 * control[axis] + end[axis]) / 4),
    };
  }

  /* The facts as arrows, as wide a shadow on each as a head looks at it in the last step, and the walk. */
  function paths(now, width) {
    const middle = width / 2, { path, truth, weights } = readout, right = path.map((place, t) => place === truth[t]);
    const walked = path.map((place, t) => [t ? path[t - 1] : now.start, place]);
    const keys = walked.map((pair, t) => `${now.network} ${now.image} ${now.start} ${pair} ${right[t]}`);
    const old = keys.findIndex((key, t) => key !== shown[t]), first = old < 0 ? keys.length : old;
    shown = keys;
    const numbers = new Map();
    walked.forEach((pair, t) => numbers.set(String(pair), [...(numbers.get(String(pair)) ?? []), t + 1]));
    const fresh = (t, kind) => ({
      class: `${kind}${right[t] ? "" : " off"}${t < first ? "" : " new"}`, style: t < first ? "" : `animation-delay: ${0.35 * (t - first)}s`,
    });
    return [
      ...now.image.flatMap((there, place) => {
        const { d, point } = bent(middle, place, there), look = Math.max(...weights.at(-1).map((row) => row[place]));
        return [
          kit.svg("path", { class: "look", d, "stroke-width": (18 * look).toFixed(2) }),
          kit.svg("path", { class: "fact", d }), ...(point ? [kit.svg("path", { class: "tip", d: point })] : []),
        ];
      }),
      ...walked.flatMap(([j, i], t) => {
        const { d, point } = bent(middle, j, i), whole = right[t] && t >= first ? { pathLength: 1 } : {};
        return [
          kit.svg("path", { ...fresh(t, "went"), d, ...whole }), ...(point ? [kit.svg("path", { ...fresh(t, "point"), d: point })] : []),
        ];
      }),
      ...[...numbers].map(([pair, steps]) => {
        const [x, y] = bent(middle, ...pair.split(",").map(Number)).at;
        return kit.svg("text", { class: "step", x, y: y + 4, "text-anchor": "middle" }, steps.join(" "));
      }),
    ];
  }

  /* Bars of how many of the eight, one of them framed: blue where they end where they should, at a mark or at the top. */
  function bars(width, title, counts, { from, now, marks = [] }) {
    const { left, top, bottom, height } = CHART, tall = height - top - bottom, cell = (width - left) / counts.length;
    const toY = (count) => top + tall * (1 - count / PLACES), wide = Math.min(cell - 4, 30);
    const box = (kind, k, count) => kit.svg("rect", {
      class: kind, x: left + (k + 0.5) * cell - wide / 2, y: toY(count), width: wide, height: (tall * count) / PLACES,
    });
    const text = (kind, x, y, said, anchor) => kit.svg("text", { class: kind, x, y, "text-anchor": anchor }, said);
    return [
      text("name", 0, 11, title, "start"),
      text("", left - 5, toY(0) + 4, "0", "end"), text("", left - 5, toY(PLACES) + 4, String(PLACES), "end"),
      ...counts.flatMap((count, k) => [
        box("room", k, PLACES), box(count === (marks[k] ?? PLACES) ? "bar" : "bar part", k, count),
        text("", left + (k + 0.5) * cell, height - 8, String(k + from), "middle"),
      ]),
      ...marks.map((count, k) => kit.svg("line", {
        class: "law", x1: left + (k + 0.5) * cell - wide / 2 - 2, x2: left + (k + 0.5) * cell + wide / 2 + 2, y1: toY(count), y2: toY(count),
      })),
      box("now", now - from, PLACES),
    ];
  }

  /* A thermometer for each head at each step. */
  function temperatures() {
    const short = (value) => (value < 9.995 ? value.toFixed(2) : value < 99.5 ? value.toFixed(0) : "99+");
    const cell = (h, t) => {
      const U = readout.U[t][h], kind = U > 1.03 ? "cold" : U < 0.97 ? "hot" : "";
      const small = kit.html("small", {}, readout.target[t][h].toFixed(2).replace("0.", "."));
      return kit.html("td", { class: `${kind}${readout.spread[t][h] > 1 ? " froze" : ""}` }, short(U), small);
    };
    const head = (scope, words) => kit.html("th", { scope }, words);
    return [
      kit.html("caption", {}, "Thermometers U of the heads, step by step"),
      kit.html("thead", {}, kit.html("tr", {}, head("col", "head"), ...readout.U.map((_, t) => head("col", String(t + 1))))),
      kit.html("tbody", {}, ...heads.map((h) => kit.html("tr", {}, head("row", String(h + 1)), ...readout.U.map((_, t) => cell(h, t))))),
    ];
  }

  function challenge(now) {
    const { order: back, home, solved } = readout, lengths = cycles(now.image).filter((length) => length > 1);
    const list = lengths.length > 1 ? `${lengths.slice(0, -1).join(", ")} and ${lengths.at(-1)}` : String(lengths[0] ?? 1);
    if (solved) {
      return `Solved: all eight are home after ${plural(now.steps, "step")}. `
        + (lengths.length > 1 ? `It has cycles of ${list} places, and ${back} is the first number that all of these divide.` : "It is one cycle.");
    }
    if (now.tie) return `${home} of 8 are home. With values tied nobody need have left: that does not count.`;
    if (home === PLACES && now.steps % back === 0) return "All eight are home, but not for the first time.";
    const count = `${home} of 8 are home.`;
    if (home === PLACES) return `${count} So it says: the arrows lead elsewhere.`;
    if (now.steps === back) return `${count} By the arrows all are: the number is right, the walker is not.`;
    return back > MOST_STEPS ? `${count} Here no number up to 8 brings all home: draw another.` : count;
  }

  function tell(now) {
    const { path, truth, probability, right, profile, hits } = readout, end = path.at(-1), good = end === truth.at(-1), T = now.steps;
    phase.textContent = `${right} of 8 right`;
    ground.body.classList.toggle("good", right === PLACES);
    const after = `After ${T === 1 ? "one step" : `${COUNTS[T]} steps`} from ${LETTERS[now.start]} it says `;
    const verdict = `${capital(COUNTS[T])} ${T === 1 ? "hop leads" : "hops lead"} to ${LETTERS[truth.at(-1)]}: ${good ? "right" : "wrong"}.`;
    says.replaceChildren(after, kit.html("b", {}, LETTERS[end]), `, with probability ${kit.numeral(probability[end])}. ${verdict}`);
    const done = challenge(now);
    task.replaceChildren(kit.html("b", {}, "Challenge: "), "with how many steps are all eight home again for the first time? ", done);
    task.classList.toggle("solved", readout.solved);
    spots.forEach((button, k) => {
      button.setAttribute("aria-pressed", String(k === now.start));
      button.className = k === end ? `end${good ? "" : " off"}` : "";
    });
    steps.set(T);
    steps.mark(TRAINED_STEPS, "trained on this number of steps and hops, and on no other");
    more.textContent = now.more ? "Less" : "More";
    more.setAttribute("aria-expanded", String(now.more));
    which.set(now.network, walkers.map(({ seed }, place) => [place, `seed ${seed}, ${WALKS.includes(seed) ? "walks" : "does not walk"}`]));
    tie.set(now.tie);
    heat.set(Math.log2(now.beta));
    remark.textContent = now.tie
      ? `Tied: what is read of ${LETTERS[now.start]} \u2192 ${LETTERS[now.image[now.start]]} is what was read of ${LETTERS[now.start]} \u2192 ${LETTERS[now.start]}. It is found as before, and says nothing of where it leads.`
      : "Lines: a perfect walker, right by chance where the cycles allow it. Fifteen were trained; all read two hops without an error, five walk, ten do not.";
    const way = path.map((place, t) => `${LETTERS[place]}${place === truth[t] ? "" : " (wrong)"}`).join(", ");
    arrows.setAttribute("aria-label", `The walk from ${LETTERS[now.start]}, step by step: ${way}`);
    chart.setAttribute("aria-label", `Right answers of eight after 1 to 8 steps: ${profile.join(", ")}`);
    law.setAttribute("aria-label", `Right answers of eight to 0 to 8 hops after ${plural(T, "step")}: ${hits.join(", ")}`);
    if (!playing) ground.say(`${says.textContent} ${right} of 8 places are answered right. ${done}`);
  }

  function draw() {
    const now = kit.read(model, NAMES), width = picture.clientWidth, { record, ...plain } = now;
    readout = measure(now);
    also.hidden = !now.more;
    tell(now);
    const key = JSON.stringify([plain, width, side.clientWidth, answers.clientWidth]);
    if (key === drawn || width === 0) return; // else what is new would be drawn again
    drawn = key;
    spots.forEach((button, k) => {
      [button.style.left, button.style.top] = spot(width / 2, k).map((size) => `${size}px`);
    });
    arrows.replaceChildren(...paths(now, width));
    chart.replaceChildren(...bars(side.clientWidth, "Right answers of 8, by steps T", readout.profile, { from: 1, now: now.steps }));
    if (!now.more) return;
    table.replaceChildren(...temperatures());
    law.replaceChildren(...bars(answers.clientWidth, "Right answers of 8, by hops k", readout.hits, {
      from: 0, now: now.steps, marks: readout.expected,
    }));
  }

  /* On arrival the walk is drawn once more, step by step. */
  function replay() {
    [drawn, shown] = ["", []];
    draw();
  }

  return kit.run({ model, el, ground, names: NAMES, draw, watch: [picture, side, answers], end: pause, arrive: replay, readout: () => readout }).close;
}

export default { render };
