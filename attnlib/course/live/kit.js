/* What the live figures share. This text stands in front of each figure's own module, which finds it as `kit`. */
const kit = (() => {
  // Colours: those of attnlib.course.plots, lighter in the dark. --a: what the reader sets; --b: how the system answers.
  const sheet = `
:host { all: initial; display: block; }
* { box-sizing: border-box; }
.card {
  --ground: #fcfcfa; --ink: #1d2733; --quiet: #525e6d; --rule: #d8d8d0; --grid: #e6e6e0; --field: #f0f0ea;
  --accent: #0f548c; --a: #0072b2; --b: #d55e00; --c: #009e73; --d: #cc79a7; --tint: #dcedf8; color-scheme: light;
  background: var(--ground); border: 1px solid var(--rule); border-radius: 12px; color: var(--ink);
  container-type: inline-size;
  font: 14px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; margin: 4px 0; max-width: 780px; padding: 14px 16px 16px; position: relative;
}
.card[data-theme="dark"] {
  --ground: #171d26; --ink: #e8edf3; --quiet: #aab5c4; --rule: #3a4656; --grid: #2b3543; --field: #242d3a;
  --accent: #8fc1ee; --a: #56b4e9; --b: #e69f00; --c: #2fc596; --d: #e6a5c8; --tint: #1b3448; color-scheme: dark;
}
.head { align-items: center; display: flex; gap: 8px; justify-content: space-between; margin-bottom: 6px; }
.title { font-size: 15px; font-weight: 650; letter-spacing: -0.005em; }
.quiet { color: var(--quiet); font-size: 12.5px; }
.phase { background: var(--field); border: 1px solid var(--rule); border-radius: 99px; flex: none; font-size: 12.5px; padding: 1px 9px; }
.phase::before {
  background: var(--b); border-radius: 50%; content: ""; display: inline-block; height: 8px; margin-right: 6px; width: 8px;
}
.frozen .phase::before { background: var(--a); border-radius: 1px; }
.row { align-items: center; display: flex; flex-wrap: wrap; gap: 8px 20px; }
.row:has(> button) { gap: 8px 10px; }
.row:has(> .slider) { align-items: flex-start; }
.layout { display: grid; gap: 12px 22px; grid-template-columns: minmax(0, 1fr); }
.controls { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); }
@container (min-width: 560px) {
  .layout { grid-template-columns: minmax(0, var(--share, 1fr)) minmax(0, 1fr); }
  .layout > .controls { grid-column: 1 / -1; order: 1; }
}
@container (min-width: 420px) and (max-width: 559px) {
  .layout dl { gap: 10px 18px; grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
.picture { min-width: 0; position: relative; }
.picture > svg { width: 100%; }
.slider { align-items: baseline; display: grid; flex: 1 1 220px; gap: 0 8px; grid-template-columns: 1fr auto; min-width: 0; }
.slider b { font-weight: 600; }
.slider small { grid-column: 1 / -1; }
.slider span.mark { grid-column: 1 / -1; height: 0; position: relative; }
.slider span.mark i { border-left: 2px solid var(--ink); height: 18px; position: absolute; top: 3px; }
.slider input {
  accent-color: var(--accent); cursor: pointer; grid-column: 1 / -1; height: 24px; margin: 0; min-width: 0; position: relative;
  width: 100%;
}
.choice { align-items: center; display: flex; flex-wrap: wrap; gap: 2px 8px; min-width: 0; }
select {
  background: var(--field); border: 1px solid var(--rule); border-radius: 8px; color: var(--ink); cursor: pointer; font: inherit;
  font-size: 13px; max-width: 100%; min-height: 32px; padding: 3px 6px;
}
.toggle { align-items: center; cursor: pointer; display: flex; gap: 8px; min-height: 32px; }
.toggle input { accent-color: var(--accent); cursor: pointer; height: 20px; margin: 0; width: 20px; }
button {
  background: var(--field); border: 1px solid var(--rule); border-radius: 8px; color: var(--ink); cursor: pointer;
  font: inherit; font-size: 13px; min-height: 32px; padding: 4px 12px;
}
button:hover, select:hover { border-color: var(--accent); }
button:disabled { color: var(--quiet); cursor: default; opacity: 0.6; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
dl { align-content: start; display: grid; gap: 10px; margin: 0; min-width: 0; }
dl > div { align-content: start; display: grid; gap: 0 8px; grid-template-columns: 1fr auto; }
dt, dd { margin: 0; }
dd { font-weight: 600; text-align: right; white-space: nowrap; }
dd.quiet, dd.bar { font-weight: 400; grid-column: 1 / -1; text-align: left; white-space: normal; }
dd.bar { background: var(--field); border-radius: 3px; height: 6px; margin: 3px 0 2px; overflow: hidden; position: relative; }
dd.bar i { background: var(--b); height: 100%; left: 0; position: absolute; top: 0; }
dd.bar i + i { background: var(--ink); margin-left: -1.5px; width: 3px; }
svg { display: block; overflow: visible; }
svg text { fill: var(--quiet); font-size: 11.5px; }
svg .name { fill: var(--ink); font-size: 12.5px; font-weight: 600; }
svg .word { fill: var(--ink); paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
svg .grid { stroke: var(--grid); }
svg .zero { stroke: var(--quiet); }
svg .line { fill: none; stroke-linejoin: round; stroke-width: 2; }
.more { border-top: 1px solid var(--rule); display: grid; gap: 8px; padding-top: 8px; }
.more[hidden] { display: none; }
.tasks { font-size: 13px; margin-top: 10px; }
.tasks ol { display: grid; gap: 2px; list-style: none; margin: 2px 0 0; padding: 0; }
.tasks li { padding-left: 18px; text-indent: -18px; }
.tasks li::before { content: "\u25cb"; display: inline-block; text-indent: 0; width: 18px; }
.tasks li.done::before { color: var(--c); content: "\u2713"; font-weight: 700; }
.hidden { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; white-space: nowrap; width: 1px; }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
@media print { .card .layout, .card .picture { grid-template-columns: minmax(0, 1fr) !important; } }
`;

  // Elements

  const put = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") node.addEventListener(name.replace(/^on/, ""), value);
      else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };

  /* An element with attributes and children. An attribute that is a function is a listener: { onclick: () => ... }. */
  const html = (name, attributes = {}, ...children) => put(document.createElement(name), attributes, children);
  const bare = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const svg = (name, attributes = {}, ...children) => put(bare(name), attributes, children);

  /* What svg would make, described: { name, attributes, children }, without listeners; its children are shapes or one text. */
  const shape = (name, attributes = {}, ...children) => ({ name, attributes, children });

  /* Make the children of a node these shapes. Elements stay from one picture to the next, and only what differs from what the last
     one wrote is written: of a picture that is drawn anew all is styled, laid out and painted again. Shapes are told apart by their
     places in the list; what changes in number stands at its end, or in a group. */
  const filled = new WeakMap();
  function fill(parent, shapes) {
    const had = filled.get(parent) ?? [];
    filled.set(parent, shapes.map(({ name, attributes, children }, place) => {
      const text = typeof children[0] === "string" ? children[0] : null, old = had[place];
      const stays = old?.name === name && (old.text === null) === (text === null);
      const node = stays ? old.node : bare(name), was = stays ? old.attributes : {};
      for (const key in attributes) if (attributes[key] !== was[key]) node.setAttribute(key, attributes[key]);
      for (const key in was) if (!(key in attributes)) node.removeAttribute(key);
      if (text === null) fill(node, children);
      else if (!stays || text !== old.text) node.textContent = text;
      if (!stays && old) old.node.replaceWith(node);
      else if (!old) parent.append(node);
      return { name, attributes, text, node };
    }));
    for (const { node } of had.slice(shapes.length)) node.remove();
  }

  // The ground of a figure, and its life

  /* Is the page dark? The book says it in data-theme, JupyterLab and VS Code on the body, Colab in theme. */
  const preference = matchMedia("(prefers-color-scheme: dark)");
  function dark() {
    const page = document.documentElement, body = document.body;
    if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
    const theme = page.dataset.theme ?? body.dataset.vscodeThemeKind ?? page.getAttribute("theme");
    return theme ? /dark/.test(theme) : preference.matches;
  }

  /* The ground of a figure: { body, head, say, colour, themed, stop }. Styles do not leak in or out. The head bears the title.
     say(text) tells a screen reader, when the figure has stood still for a while. colour("b") is the colour --b of the present
     theme, for a canvas (an SVG writes var(--b)); themed(call) calls when the theme changes. */
  function card(el, title, css = "") {
    const host = html("div", { "data-lm-suppress-shortcuts": "true" }); // JupyterLab leaves the arrow keys to the figure
    const head = html("div", { class: "head" }, html("span", { class: "title" }, title));
    const status = html("div", { class: "hidden", role: "status" });
    const body = html("div", { class: "card", role: "group", "aria-label": title }, head, status);
    host.attachShadow({ mode: "open" }).append(html("style", {}, sheet + css), body);
    el.append(host);
    const calls = [];
    let timer = 0;
    const follow = () => {
      const theme = dark() ? "dark" : "light";
      if (theme === body.dataset.theme) return;
      body.dataset.theme = theme;
      for (const call of calls) call();
    };
    const observer = new MutationObserver(follow);
    for (const node of [document.documentElement, document.body]) {
      observer.observe(node, { attributeFilter: ["data-theme", "theme", "data-jp-theme-light", "data-vscode-theme-kind"] });
    }
    preference.addEventListener("change", follow);
    follow();
    return {
      body,
      head,
      say(text) {
        clearTimeout(timer);
        timer = setTimeout(() => (status.textContent = text), 600);
      },
      colour: (name) => getComputedStyle(body).getPropertyValue(`--${name}`).trim(),
      themed: (call) => calls.push(call),
      stop() {
        clearTimeout(timer);
        observer.disconnect();
        preference.removeEventListener("change", follow);
        host.remove();
      },
    };
  }

  /* The traits of these names, as an object. */
  const read = (model, names) => Object.fromEntries(names.map((name) => [name, model.get(name)]));

  /* Write to the model, and so to Python where there is one. */
  function store(model, changes) {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  }

  /* Ask for a redraw as often as you like: it happens once per frame. */
  function frame(draw) {
    let asked = 0;
    return () => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        draw();
      });
    };
  }

  /* Run a figure: draw now, and again when one of these traits, the size of a watched element or the theme changes. What else is
     given stands in el.figure beside model, constants and draw, for tests: readout above all. Returns { redraw, close }; render
     returns close, which also calls what is given as `end`.

     With `arrive`, traits and where they come from (or a function of the share of the way and of where it leads), the figure moves
     once, when it is seen first: draw({ beta: 1.3 }) is asked to draw as if that were the trait, until it is what it is; a function
     as `arrive` is called then instead. Whoever touches the figure, a trait that changes or figure.arrived() ends it, and who asks for reduced motion sees none of it. */
  let travelling = false; // on its way nothing is solved
  function run({ model, el, ground, names, draw, arrive = null, watch = [], end = () => {}, ...shown }) {
    let open = true, on_the_way = {};
    const redraw = frame(() => open && draw(on_the_way));
    const moved = () => {
      arrived();
      redraw();
    };
    const events = names.map((name) => `change:${name}`).join(" ");
    const sized = new ResizeObserver(redraw);
    const between = (from, to, share) => (typeof from === "function" ? from(share, to) : Array.isArray(to) ? to.map((one, i) => between(from[i] ?? one, one, share))
      : Number.isInteger(from) && Number.isInteger(to) ? Math.round(from + share * (to - from)) : from + share * (to - from));
    const arrival = loop((seconds) => {
      const part = Math.min(1, seconds / 1.2), share = part * part * (3 - 2 * part);
      on_the_way = part < 1
        ? Object.fromEntries(Object.entries(arrive).map(([name, from]) => [name, between(from, model.get(name), share)])) : {};
      travelling = part < 1;
      draw(on_the_way);
      travelling = false;
      return part < 1;
    });
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      if (calm.matches) return;
      if (typeof arrive === "function") arrive();
      else arrival.start();
    }, { threshold: 0.5 });
    const arrived = () => {
      seen.disconnect();
      arrival.stop();
      if (!Object.keys(on_the_way).length) return;
      on_the_way = {};
      draw(on_the_way);
    };
    model.on(events, moved);
    ground.themed(redraw);
    draw(on_the_way);
    for (const element of watch) sized.observe(element);
    if (arrive) {
      seen.observe(watch[0]);
      for (const touch of ["pointerdown", "keydown"]) ground.body.addEventListener(touch, arrived, { capture: true });
    }
    el.figure = { model, draw: () => draw(on_the_way), arrived, constants: kit.constants, ...shown };
    const close = () => {
      open = false;
      model.off(events, moved);
      sized.disconnect();
      seen.disconnect();
      arrival.stop();
      end();
      ground.stop();
    };
    return { redraw, close };
  }

  // Controls and numbers

  /* What a figure is made of: the picture, what turns it, and what can be read. On a phone they stand in this order, one below
     the other; where there is room the readings stand beside the picture. share: the picture's part of the width, as "1.4fr". */
  function layout(picture, controls, side, share = "1fr") {
    const under = html("div", { class: "controls" }, ...controls);
    return html("div", { class: "layout", style: `--share: ${share}` }, picture, under, ...(side ? [side] : []));
  }

  /* A labelled range: { element, set, mark }. With log the scale is logarithmic and a step is about 2 %. mark(value, words) puts
     a line on the scale and words below it, or takes them away when the value is not on the scale. */
  function slider({ label, min, max, step = 1, log = false, format = String, change }) {
    const [to, from] = log ? [Math.log10, (place) => Number((10 ** place).toPrecision(4))] : [Number, Number];
    const moved = () => change(from(Number(input.value)));
    const input = html("input", { type: "range", min: to(min), max: to(max), step: log ? 0.01 : step, oninput: moved });
    const shown = html("b", { "aria-hidden": "true" }), tick = html("i"), track = html("span", { class: "mark" });
    const note = html("small", { class: "quiet" });
    const element = html("label", { class: "slider" }, html("span", {}, label), shown, track, input, note);
    const set = (value) => {
      input.value = to(value);
      input.setAttribute("aria-valuetext", format(value));
      shown.textContent = format(value);
    };
    const mark = (value, words) => {
      const place = (to(value) - to(min)) / (to(max) - to(min)), on = place >= 0 && place <= 1;
      if (on !== track.contains(tick)) track.replaceChildren(...(on ? [tick] : []));
      tick.style.left = `calc(${100 * place}% + ${7 - 16 * place}px)`; // a browser's thumb is 16 wide
      note.textContent = on ? words : "";
    };
    return { element, set, mark };
  }

  const button = (label, onclick) => html("button", { type: "button", onclick }, label);

  /* A box to tick: { element, set }. */
  function toggle({ label, change }) {
    const input = html("input", { type: "checkbox", onchange: () => change(input.checked) });
    return { element: html("label", { class: "toggle" }, input, label), set: (on) => (input.checked = on) };
  }

  /* A list to choose from: { element, set }. set(value, options) chooses; the options are pairs of a value and its words. With
     `aside` the label is for screen readers only. */
  function choice({ label, change, aside = false }) {
    const list = html("select", { onchange: () => change(list.value) });
    const element = html("label", { class: "choice" }, html("span", { class: aside ? "hidden" : "" }, label), list);
    let written = "";
    const set = (value, options) => {
      const text = JSON.stringify(options);
      if (text !== written) list.replaceChildren(...options.map(([key, words]) => html("option", { value: key }, words)));
      written = text;
      list.value = String(value);
    };
    return { element, set };
  }

  /* Controls behind a button: { button, element }. */
  function more(...parts) {
    const element = html("div", { class: "more", hidden: "" }, ...parts);
    const button = html("button", {
      type: "button", "aria-expanded": "false",
      onclick() {
        element.hidden = !element.hidden;
        button.setAttribute("aria-expanded", String(!element.hidden));
        button.textContent = element.hidden ? "More" : "Less";
      },
    }, "More");
    return { button, element };
  }

  /* What a reader can try: { element, judge, solved }. Tasks are pairs of words and a function that says of what judge is given,
     the state and its numbers, whether it is done; what is done once stays so. */
  function challenges(tasks) {
    const lines = tasks.map(([words]) => html("li", {}, words)), done = new Set();
    const element = html("div", { class: "tasks" }, html("b", {}, "Can you \u2026"), html("ol", {}, ...lines));
    const judge = (...shown) => travelling || tasks.forEach(([, test], i) => {
      if (done.has(i) || !test(...shown)) return;
      done.add(i);
      lines[i].classList.add("done");
      lines[i].append(html("span", { class: "hidden" }, " (done)"));
    });
    return { element, judge, solved: () => [...done] };
  }

  /* A line of a <dl>: a name, a value, a remark and, where asked for, a bar between two shares of 1, with a mark. */
  function reading(name, bar = false) {
    const value = html("dd"), remark = html("dd", { class: "quiet" }), fill = html("i"), tick = html("i");
    const track = html("dd", { class: "bar", "aria-hidden": "true" }, fill, tick);
    const element = html("div", {}, html("dt", {}, name), value, ...(bar ? [track] : []), remark);
    const share = (part) => `${100 * Math.max(0, Math.min(1, part))}%`;
    const set = (text, note, { from = 0, to = 0, at } = {}) => {
      value.textContent = text;
      remark.textContent = note;
      fill.style.left = share(from);
      fill.style.width = share(Math.min(to, 1) - from);
      tick.hidden = at === undefined;
      tick.style.left = share(at ?? 0);
    };
    return { element, set };
  }

  /* Move things in an area by mouse, finger and keys. take(event) says which thing lies there; for null the page may scroll.
     move(thing, event) follows the pointer, drop(thing, event) when it lets go, or when the browser takes a finger for a scroll. push(thing, [right, up], event) answers the arrow keys,
     by one or with shift by five, for the thing that find(element) knows by its element. On touch screens give what can be taken
     `touch-action: none`, and the area none of it. */
  function drag(area, { take, move, push, find, drop = () => {} }) {
    let held = null;
    const let_go = (event) => {
      const thing = held;
      held = null;
      if (thing !== null) drop(thing, event);
    };
    put(area, {
      onpointerdown(event) {
        if (event.button !== 0 || (held = take(event)) === null) return;
        event.preventDefault();
        area.setPointerCapture(event.pointerId);
      },
      onpointermove: (event) => held !== null && move(held, event),
      onpointerup: let_go,
      onpointercancel: let_go,
      onkeydown(event) {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
        const thing = way ? find(event.target) : null;
        if (thing === null) return;
        event.preventDefault();
        push(thing, way.map((size) => size * (event.shiftKey ? 5 : 1)), event);
      },
    }, []);
    return { held: () => held };
  }

  // Motion

  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const reducedMotion = () => calm.matches;

  /* A loop over frames: { start, stop, running }. tick(seconds) is called with the time since the start until it returns false.
     start takes the place of a loop that runs. Who asks for reduced motion gets the last picture instead: ask reducedMotion(). */
  function loop(tick) {
    let asked = 0;
    const stop = () => {
      cancelAnimationFrame(asked);
      asked = 0;
    };
    const start = () => {
      stop();
      let begin = null;
      const next = (now) => {
        begin ??= now;
        asked = requestAnimationFrame(next);
        if (tick((now - begin) / 1000) === false) stop();
      };
      asked = requestAnimationFrame(next);
    };
    return { start, stop, running: () => asked !== 0 };
  }

  // Drawing

  /* A canvas as sharp as the screen: { element, fit }. fit(width, height) gives it a size in CSS pixels, clears it and returns
     its pen, whose unit is a CSS pixel. */
  function canvas(attributes = {}) {
    const element = html("canvas", { "aria-hidden": "true", ...attributes }), pen = element.getContext("2d");
    function fit(width, height = width) {
      const dense = window.devicePixelRatio || 1, size = [width, height].map((side) => Math.round(side * dense));
      if (element.width !== size[0] || element.height !== size[1]) [element.width, element.height] = size;
      pen.setTransform(dense, 0, 0, dense, 0, 0);
      pen.clearRect(0, 0, width, height);
      return pen;
    }
    return { element, fit };
  }

  /* A round number of the form 1, 2 or 5 times a power of ten, not below the value. */
  function round(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return Number(([1, 2, 5].map((digit) => digit * power).find((size) => size >= value * 0.999999) ?? 10 * power).toPrecision(1));
  }

  /* Round numbers on an axis, at most about `most`; powers of ten on a logarithmic one. */
  function ticks({ from, to, log = false }, most = 5) {
    const [low, high] = log ? [Math.log10(from), Math.log10(to)] : [from, to];
    const step = log ? Math.max(1, Math.ceil((high - low) / most)) : round((high - low) / most || 1);
    const first = Math.ceil(low / step - 1e-9), count = Math.floor(high / step + 1e-9) - first + 1;
    const places = Array.from({ length: Math.max(count, 0) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
    return log ? places.map((place) => 10 ** place) : places;
  }

  /* A plot inside an SVG, in its pixels: { toX, toY, fromX, fromY, axes, path, line, dots }. An axis is { from, to, log, ticks,
     label, format }. axes() returns the grid, numbers, names and, so much above, the title; line and dots take points and a colour, "b" or any other.
     A point that is not finite breaks the line. All three make elements, or, with make: kit.shape, shapes. */
  function plot({ left, top, width, height, x, y, title, rise = 14, make = svg }) {
    const scale = ({ from, to, log = false }, begin, end) => {
      const [bend, back] = log ? [Math.log, Math.exp] : [Number, Number], low = bend(from), range = bend(to) - low || 1;
      return [
        (value) => begin + ((bend(value) - low) / range) * (end - begin),
        (place) => back(low + ((place - begin) / (end - begin)) * range),
      ];
    };
    const right = left + width, bottom = top + height;
    const [[toX, fromX], [toY, fromY]] = [scale(x, left, right), scale(y, bottom, top)];
    const ink = (colour) => (/^[\w-]+$/.test(colour) ? `var(--${colour})` : colour);
    const text = (kind, across, down, words, anchor) => make("text", { class: kind, x: across, y: down, "text-anchor": anchor }, words);
    const words = ({ format = (value) => numeral(value, value % 1 ? 1 : 0) }, value) => format(value);
    const path = (points) => {
      let pen = "M";
      return points.map(([across, up]) => {
        const place = [toX(across), toY(up)].map((size) => size.toFixed(1)), good = Number.isFinite(toX(across) + toY(up));
        const drawn = good ? `${pen}${place.join(" ")}` : "";
        pen = good ? "L" : "M";
        return drawn;
      }).join("");
    };
    const axes = () => [
      ...(y.ticks ?? ticks(y)).flatMap((value) => [
        make("line", { class: value ? "grid" : "zero", x1: left, x2: right, y1: toY(value), y2: toY(value) }),
        text("", left - 5, toY(value) + 4, words(y, value), "end"),
      ]),
      ...(x.ticks ?? ticks(x)).map((value) => text("", toX(value), bottom + 15, words(x, value), "middle")),
      ...(x.label ? [text("", (left + right) / 2, bottom + 30, x.label, "middle")] : []),
      ...(y.label ? [make("text", { "text-anchor": "middle", transform: `translate(${left - 32} ${(top + bottom) / 2}) rotate(-90)` },
        y.label)] : []),
      ...(title ? [text("name", 0, top - rise, title, "start")] : []),
    ];
    const line = (points, colour = "b", more = {}) => make("path", { class: "line", d: path(points), stroke: ink(colour), ...more });
    const dots = (points, colour = "b", radius = 3.5) =>
      make("g", { fill: ink(colour) }, ...points.map(([across, up]) => make("circle", { cx: toX(across), cy: toY(up), r: radius })));
    return { toX, toY, fromX, fromY, axes, path, line, dots };
  }

  // Numbers

  /* Numbers from a seed, the same everywhere: uniform on (0, 1) by a 32-bit xorshift, normal by Box and Muller. */
  function generator(seed) {
    let bits = Math.imul(seed + 1, 2654435769) || 1;
    const uniform = () => {
      bits ^= bits << 13;
      bits ^= bits >>> 17;
      bits ^= bits << 5;
      return ((bits >>> 0) + 0.5) / 2 ** 32;
    };
    for (let warm = 0; warm < 16; warm += 1) uniform();
    const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
    return { uniform, normal };
  }

  /* A number as text, with a true minus; very small ones as powers of ten. */
  function numeral(value, digits = 2) {
    const small = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
    const plain = small ? value.toExponential(0) : value.toFixed(digits);
    return plain.replaceAll("-", "\u2212");
  }

  return {
    html, svg, shape, fill, card, read, store, frame, run, layout, slider, button, toggle, choice, more, challenges, reading, drag, reducedMotion, loop, canvas,
    round, ticks, plot, generator, numeral, constants: {},
  };
})();

