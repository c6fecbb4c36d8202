/* What the live figures share. This text stands in front of each figure's own module, which finds it as `kit`. */
const kit = (() => {
  // Colours: those of attnlib.plots, lighter in the dark. --a: what the reader sets; --b: how the system answers.
  const sheet = `
:host { all: initial; display: block; }
* { box-sizing: border-box; }
.card {
  --ground: #fcfcfa; --ink: #1d2733; --quiet: #525e6d; --rule: #d8d8d0; --grid: #e6e6e0; --field: #f0f0ea;
  --accent: #0f548c; --a: #0072b2; --b: #d55e00; --c: #009e73; --d: #cc79a7; --tint: #dcedf8; color-scheme: light;
  background: var(--ground); border: 1px solid var(--rule); border-radius: 12px; color: var(--ink);
  font: 14px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; margin: 4px 0; max-width: 780px; padding: 14px 16px 16px; position: relative;
}
.card[data-theme="dark"] {
  --ground: #171d26; --ink: #e8edf3; --quiet: #aab5c4; --rule: #3a4656; --grid: #2b3543; --field: #242d3a;
  --accent: #8fc1ee; --a: #56b4e9; --b: #e69f00; --c: #2fc596; --d: #e6a5c8; --tint: #1b3448; color-scheme: dark;
}
.title { font-size: 15px; font-weight: 650; letter-spacing: -0.005em; }
.quiet { color: var(--quiet); font-size: 12.5px; }
.row { align-items: center; display: flex; flex-wrap: wrap; gap: 8px 20px; }
.slider { align-items: baseline; display: grid; flex: 1 1 220px; gap: 0 8px; grid-template-columns: 1fr auto; min-width: 0; }
.slider b { font-weight: 600; }
.slider input {
  accent-color: var(--accent); cursor: pointer; grid-column: 1 / -1; height: 24px; margin: 0; min-width: 0; width: 100%;
}
button {
  background: var(--field); border: 1px solid var(--rule); border-radius: 8px; color: var(--ink); cursor: pointer;
  font: inherit; font-size: 13px; min-height: 32px; padding: 4px 12px;
}
button:hover { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
svg { display: block; overflow: visible; }
svg text { fill: var(--quiet); font-size: 11.5px; }
.hidden { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; white-space: nowrap; width: 1px; }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
`;

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
  const svg = (name, attributes = {}, ...children) =>
    put(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  /* Is the page dark? The book says it in data-theme, JupyterLab and VS Code on the body, Colab in theme. */
  const preference = matchMedia("(prefers-color-scheme: dark)");
  function dark() {
    const page = document.documentElement, body = document.body;
    if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
    const theme = page.dataset.theme ?? body.dataset.vscodeThemeKind ?? page.getAttribute("theme");
    return theme ? /dark/.test(theme) : preference.matches;
  }

  /* The ground of a figure: { body, stop }. Styles do not leak in or out. Append to the body; call stop at the end. */
  function card(el, title, css = "") {
    const host = html("div", { "data-lm-suppress-shortcuts": "true" }); // JupyterLab leaves the arrow keys to the figure
    const body = html("div", { class: "card", role: "group", "aria-label": title });
    host.attachShadow({ mode: "open" }).append(html("style", {}, sheet + css), body);
    el.append(host);
    const follow = () => (body.dataset.theme = dark() ? "dark" : "light");
    const observer = new MutationObserver(follow);
    for (const node of [document.documentElement, document.body]) {
      observer.observe(node, { attributeFilter: ["data-theme", "theme", "data-jp-theme-light", "data-vscode-theme-kind"] });
    }
    preference.addEventListener("change", follow);
    follow();
    const stop = () => {
      observer.disconnect();
      preference.removeEventListener("change", follow);
      host.remove();
    };
    return { body, stop };
  }

  /* A labelled range: { element, set }. With log the scale is logarithmic and a step is about 2 %. */
  function slider({ label, min, max, step = 1, log = false, format = String, change }) {
    const [to, from] = log ? [Math.log10, (place) => Number((10 ** place).toPrecision(4))] : [Number, Number];
    const moved = () => change(from(Number(input.value)));
    const input = html("input", { type: "range", min: to(min), max: to(max), step: log ? 0.01 : step, oninput: moved });
    const shown = html("b", { "aria-hidden": "true" });
    const set = (value) => {
      input.value = to(value);
      input.setAttribute("aria-valuetext", format(value));
      shown.textContent = format(value);
    };
    return { element: html("label", { class: "slider" }, html("span", {}, label), shown, input), set };
  }

  const button = (label, onclick) => html("button", { type: "button", onclick }, label);

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

  /* Write to the model, and so to Python where there is one. */
  function store(model, changes) {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  }

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

  return { html, svg, card, slider, button, frame, store, generator, numeral };
})();

