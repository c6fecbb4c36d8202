/* Mends what the theme's markup gets wrong: for the keyboard, for screen readers, and for punctuation after a formula. */
(() => {
  // A signature with one parameter a line comes as a list without terms: make it plain lines.
  for (const list of document.querySelectorAll("dt.sig dl")) {
    const lines = document.createElement("span");
    lines.className = "sig-lines";
    for (const item of [...list.children]) {
      const line = document.createElement("span");
      line.className = "sig-line";
      line.append(...item.childNodes);
      lines.append(line);
    }
    list.replaceWith(lines);
  }

  // Search comes when it is asked for: its script, and the text of the book, which a page opened from a file may load too.
  let searching = false;
  const search = (event) => {
    if (searching || !event.target.matches?.("form.bd-search input")) return;
    searching = true;
    for (const name of ["sections.js", "search.js"]) {
      const script = document.createElement("script");
      script.src = event.target.form.getAttribute("action").replace("search.html", `_static/${name}`);
      script.async = false;
      document.head.append(script);
    }
  };
  document.addEventListener("focusin", search);
  const own = document.querySelector(".bd-article form.bd-search input");
  if (own) search({ target: own });

  // The bibliography says that it is a list, but its entries are not list items.
  for (const list of document.querySelectorAll(".citation-list[role=list]")) list.removeAttribute("role");

  // A full stop stays on the line of the formula before it.
  for (const formula of document.querySelectorAll("span.math")) {
    const after = formula.nextSibling;
    const marks = after?.nodeType === Node.TEXT_NODE && after.data.match(/^[.,;:!?)\]]+/);
    if (!marks) continue;
    after.splitText(marks[0].length);
    const both = document.createElement("span");
    both.className = "keep";
    formula.replaceWith(both);
    both.append(formula, after);
  }

  // The page of all claims gets a filter: by chapter, by words, key claims only.
  const filter = (page) => {
    const sections = [...page.querySelectorAll(":scope > section")];
    const rows = [...page.querySelectorAll("tbody tr")].map((row) => ({ row, section: row.closest("section"), words: row.textContent.toLowerCase(), key: Boolean(row.querySelector(".claim-mark")) }));
    const form = document.createElement("form");
    form.className = "claims-filter";
    form.role = "search";
    form.innerHTML = `<label>Chapter <select><option value="">all</option></select></label>
      <label>Words <input type="search" autocomplete="off" spellcheck="false"></label>
      <label><input type="checkbox"> key claims only</label> <output aria-live="polite"></output>`;
    const [chapter, wanted, key] = form.elements;
    for (const section of sections) chapter.add(new Option(section.querySelector("h2").firstChild.data, section.id));
    const show = () => {
      const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const one of rows) one.row.hidden = (chapter.value && one.section.id !== chapter.value) || (key.checked && !one.key) || !words.every((word) => one.words.includes(word));
      for (const section of sections) section.hidden = !section.querySelector("tbody tr:not([hidden])");
      form.querySelector("output").value = `${rows.filter((one) => !one.row.hidden).length} of ${rows.length} claims`;
    };
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    sections[0].before(form);
    show();
  };
  const claims = document.querySelector("section#all-claims");
  if (claims) filter(claims);

  // A sentence may set a figure: <span data-sets="Walker" data-to='{"steps": 3}'>three steps</span>. Where that figure is alive its
  // words are a button, which puts the figure as it stood on the page, but for what data-to says. Elsewhere they are words.
  const heard = document.createElement("div");
  heard.className = "sets-heard";
  heard.role = "status";
  const inside = (box, part) => box.firstElementChild.shadowRoot.querySelectorAll(part);
  const inSight = (box) => {
    const { top, bottom } = (inside(box, ".picture")[0] ?? box).getBoundingClientRect();
    return Math.min(bottom, innerHeight) - Math.max(top, 0) > 0.6 * Math.min(bottom - top, innerHeight);
  };
  const put = (box, changes) => {
    for (const button of inside(box, "button")) if (button.textContent === "Pause") button.click();
    const { model } = box.figure;
    for (const [name, value] of Object.entries({ ...JSON.parse(box.dataset.state), ...changes })) model.set(name, value);
    model.save_changes();
    if (!inSight(box)) {
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      box.scrollIntoView({ behavior: calm ? "instant" : "smooth", block: box.clientHeight < innerHeight ? "center" : "start" });
    }
    box.classList.add("sets-now");
    box.addEventListener("animationend", () => box.classList.remove("sets-now"), { once: true });
    heard.textContent = "";
    setTimeout(() => (heard.textContent = `${inside(box, ".card")[0].ariaLabel}: set.`), 100);
  };
  document.addEventListener("DOMContentLoaded", () => {
    for (const words of document.querySelectorAll(".bd-article span[data-sets]")) {
      const box = document.querySelector(`[data-live="${words.dataset.sets}"]`);
      if (!box?.figure) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sets";
      button.append(...words.childNodes);
      const changes = JSON.parse(words.dataset.to);
      button.addEventListener("click", () => put(box, changes));
      words.replaceWith(button);
      if (/^[.,;:)]/.test(button.nextSibling?.data ?? "")) button.after("\u2060"); // the sign stays on its line
      document.body.append(heard);
    }
  });

  // A wide equation breaks: after a wide space, before a relation, before a plus or minus, rather outside brackets than in them.
  const relations = new Set([..."=<>≤≥≈≠≡∼≃≅∝∈→←↔⇒⇐⇔⟶⟹≪≫≲≳↦⪅⪆"]);
  const sums = new Set([..."+−±"]);
  const character = (item) => {
    const drawn = item.matches("mjx-mo, mjx-texatom") && item.querySelectorAll("mjx-c");
    const code = drawn?.length === 1 && drawn[0].className.match(/mjx-c([0-9A-F]+)/);
    return code ? String.fromCodePoint(parseInt(code[1], 16)) : "";
  };
  const row = (box) => {
    while (box.children.length === 1 && box.firstElementChild.matches("mjx-mrow, mjx-texatom, mjx-mstyle, mjx-mpadded")) box = box.firstElementChild;
    return box;
  };
  const places = (line) => {
    let depth = 0;
    const found = [];
    const items = [...line.children];
    for (const [index, item] of items.entries()) {
      const sign = character(item);
      if (index && "([{⟨".includes(sign || "·")) depth += 1;
      const cost = 0.55 * Math.min(depth, 1);
      const space = item.matches("mjx-mspace, mjx-mstyle:has(> mjx-mspace:only-child)") && (item.querySelector("mjx-mspace") ?? item);
      if (space && parseFloat(space.style.width) >= 1) found.push({ item: items[index + 1], space: item, cost: cost + (parseFloat(space.style.width) >= 2 ? -0.25 : 0.1) });
      else if (index && relations.has(sign)) found.push({ item, cost: cost + 0.2 });
      else if (index && sums.has(sign) && item.hasAttribute("space")) found.push({ item, cost: cost + 0.35 });
      else if (index && items[index - 1] && character(items[index - 1]) === "," && depth) found.push({ item, cost: cost + 0.25 });
      if (")]}⟩".includes(sign || "·") || item.querySelector(":scope > mjx-mo:first-child > mjx-c.mjx-c29")) depth = Math.max(0, depth - 1);
    }
    return found.filter((place) => place.item);
  };
  const broken = (line, most) => {
    const indent = 1.5 * parseFloat(getComputedStyle(line).fontSize);
    let start = line.getBoundingClientRect().left;
    let room = most;
    let left = places(line).map((place) => ({ ...place, at: place.item.getBoundingClientRect().left }));
    const end = line.lastElementChild.getBoundingClientRect().right;
    const chosen = [];
    while (end - start > room) {
      const could = left.filter((place) => place.at > start + 1 && (place.space?.getBoundingClientRect().left ?? place.at) - start <= room);
      if (!could.length) break;
      const best = could.reduce((a, b) => ((a.at - start) / room - a.cost > (b.at - start) / room - b.cost ? a : b));
      chosen.push(best);
      start = best.at;
      room = best.space ? most : most - indent;
      left = left.filter((place) => place.at > best.at);
    }
    for (const place of chosen) {
      const gap = document.createElement("span");
      gap.className = "eq-break";
      place.space?.classList.add("eq-space");
      const shift = document.createElement("span");
      shift.className = place.space ? "" : "eq-indent";
      place.item.before(gap, shift);
    }
  };
  // Written first, measured next, written again: a long page is laid out a few times, not once for each equation.
  const fit = (most = Infinity) => {
    const boxes = [...document.querySelectorAll(".bd-article div.math:has(mjx-container)")];
    for (const old of document.querySelectorAll(".eq-break, .eq-break + span")) old.remove();
    for (const old of document.querySelectorAll(".eq-space")) old.classList.remove("eq-space");
    for (const box of boxes) box.style.fontSize = "";
    const measured = (box) => {
      const formula = box.querySelector("mjx-container");
      return { box, formula, room: Math.min(most, formula.clientWidth), width: formula.firstElementChild.getBoundingClientRect().width };
    };
    const wide = boxes.map(measured).filter(({ width, room }) => room > 0 && width > room);
    for (const { formula, room } of wide) {
      const cells = [...formula.querySelectorAll("mjx-mtd")];
      if (formula.querySelector("mjx-mtr > mjx-mtd + mjx-mtd")) continue;
      for (const line of cells.length ? cells : [formula.firstElementChild]) if (row(line).lastElementChild) broken(row(line), room);
    }
    for (const { box, room, width } of wide.map(({ box }) => measured(box))) {
      if (width > room) box.style.fontSize = `${Math.max(75, Math.floor((97 * room) / width))}%`;
    }
  };

  // What scrolls sideways must be reachable with the keyboard, and nothing else is a stop: MathJax makes one of each formula.
  const reach = () => {
    const formulas = [...document.querySelectorAll(".bd-article mjx-container")];
    for (const formula of formulas) {
      formula.classList.remove("wide");
      formula.removeAttribute("tabindex");
    }
    const wide = formulas.filter((formula) => {
      let around = formula;
      while (around && !formula.hasAttribute("display") && (around === formula || !around.clientWidth)) {
        around = around.parentElement.closest("p, li, td, th, dd, dt, figcaption, summary, h1, h2, h3"); // a box has a width, a paragraph within a line none
      }
      return around && formula.firstElementChild?.getBoundingClientRect().width > around.clientWidth + 1;
    });
    const boxes = [...document.querySelectorAll(".bd-article :is(pre, .output, .pst-scrollable-table-container)")];
    const scrolls = boxes.map((box) => /auto|scroll/.test(getComputedStyle(box).overflowX) && box.scrollWidth > box.clientWidth);
    for (const formula of wide) {
      formula.classList.add("wide");
      formula.tabIndex = 0;
    }
    for (const [index, box] of boxes.entries()) {
      if (scrolls[index]) box.tabIndex = 0;
      else if (box.tabIndex === 0) box.removeAttribute("tabindex");
    }
  };
  const arrange = () => {
    fit();
    reach();
  };

  // The formula engine is larger than a picture: one that stands near the top comes first, so that on a slow line it has the line
  // to itself. The page says where the engine is, in a script that is not one yet. `formulas` is kept when all are set.
  const engine = document.querySelector("script[data-later]");
  const picture = document.querySelector(".bd-article img");
  const waits = engine && picture && !picture.naturalWidth && picture.getBoundingClientRect().top < 2 * innerHeight;
  const first = new Promise((call) => {
    if (!waits) return call();
    for (const end of ["load", "error"]) picture.addEventListener(end, call, { once: true });
    setTimeout(call, 4000);
  });
  const loaded = (script) => new Promise((call) => {
    const real = Object.assign(document.createElement("script"), { src: script.dataset.later, onload: call, onerror: call });
    script.replaceWith(real);
  });
  window.formulas = engine ? first.then(() => loaded(engine)).then(() => window.MathJax?.startup?.promise) : Promise.resolve();
  const settled = () => window.formulas.then(arrange);
  window.addEventListener("load", settled);
  let asked = 0;
  const again = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(arrange);
  };
  window.addEventListener("resize", again);
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", again);

  // A table of three or more columns is a list of cards on a phone: each cell says which column it is of.
  const lists = "#all-claims, #what-it-explains, #where-a-physical-reading-stops, #what-we-foresaw-wrongly";
  for (const table of document.querySelectorAll(".bd-article table.table:has(th:nth-child(3))")) {
    if (table.closest(lists)) continue;
    const columns = [...table.querySelectorAll("thead th")].map((head) => head.textContent.replace(/\\[()]/g, "").trim()); // formulas as they are typed
    table.classList.add("cards");
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => {
      if (!cell.textContent.trim()) cell.classList.add("nothing");
      else if (columns[i]) cell.dataset.column = columns[i];
    });
  }

  // A link to something inside a fold opens it; not every browser does so by itself. It is gone to when nothing moves any more.
  const reveal = () => {
    const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folds = [...document.querySelectorAll("details:not([open])")].filter((fold) => wanted && fold.contains(wanted));
    for (const fold of folds) fold.open = true;
    if (!folds.length) return;
    const loaded = new Promise((call) => (document.readyState === "complete" ? call() : window.addEventListener("load", call)));
    loaded.then(settled).then(() => wanted.scrollIntoView());
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  // On paper nothing can be opened or scrolled: folds are open and equations as wide as the paper, until printing is over.
  let closed = [];
  let theme = "";
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    fit(600);
  });
  window.addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    document.documentElement.dataset.theme = theme;
    arrange();
  });
})();
