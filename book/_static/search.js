/* Search by section. attnlib.js loads this file, and the sections beside it, when somebody begins to search. */
(() => {
  const GREEK = Object.fromEntries(
    "αalpha βbeta γgamma δdelta εepsilon ζzeta ηeta θtheta ιiota κkappa λlambda μmu νnu ξxi πpi ρrho σsigma ςsigma τtau υupsilon φphi ϕphi χchi ψpsi ωomega"
      .split(" ")
      .map((pair) => [pair[0], pair.slice(1)]),
  );
  GREEK["√"] = "sqrt";
  GREEK["∞"] = "inf";
  // Small letters without accents, a Greek letter as its name; with it where each of them comes from.
  const fold = (text) => {
    let flat = "";
    const from = [];
    for (let at = 0; at < text.length; at++) {
      const small = text[at].toLowerCase();
      const letter = GREEK[small] ?? small.normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
      flat += letter;
      for (const _ of letter) from.push(at);
    }
    return { flat, from };
  };
  const bare = (heading) => heading.replace(/^\d+[a-z]?\. /, "");
  const sections = window.bookSections.flatMap(([page, title, parts, words]) =>
    parts.map(([anchor, heading, text], first) => ({
      page,
      title,
      anchor,
      heading,
      text,
      first: first === 0,
      flat: fold(text).flat,
      head: fold(heading).flat,
      over: fold(title).flat,
      name: fold(bare(heading)).flat,
      brought: (words[first ? anchor : ""] ?? "").split(", ").filter(Boolean).map((word) => fold(word).flat),
    })),
  );

  const starts = (text, at) => at >= 0 && !/[a-z0-9]/.test(text[at - 1] ?? " ");
  // The name of a sign counts where it begins a word: xi is not in "approximation".
  const SIGNS = new Set(Object.values(GREEK));
  const place = (text, term, from = 0) => {
    let at = text.indexOf(term, from);
    while (at >= 0 && SIGNS.has(term) && !starts(text, at)) at = text.indexOf(term, at + 1);
    return at;
  };
  const count = (text, term) => {
    let whole = 0;
    let inside = 0;
    for (let at = place(text, term); at >= 0 && whole < 5; at = place(text, term, at + term.length)) {
      if (starts(text, at)) whole += 1;
      else inside += 1;
    }
    return whole + Math.min(inside, 5) / 10;
  };
  // Each term must be in the section or over it; in the heading it counts most, in a page's title more, and most of all if the
  // section has it among the words that readers bring along. Who looks for a sign wants to know what it means.
  const worth = (section, terms, phrase) => {
    if (section.brought.includes(phrase)) return 200;
    let sum = section.name === phrase ? 60 : section.head.includes(phrase) ? 15 : 0;
    if (section.first && section.name.includes(phrase)) sum += 50;
    if (section.page === "book/notation.html" && (SIGNS.has(phrase) || phrase.length < 3)) sum += 40;
    if (terms.length > 1 && section.flat.includes(phrase)) sum += 10;
    let here = false;
    for (const term of terms) {
      const heading = place(section.head, term);
      const over = place(section.over, term) >= 0;
      const text = count(section.flat, term);
      if (heading < 0 && !text && !over) return 0;
      here ||= heading >= 0 || text > 0;
      sum += (heading < 0 ? 0 : starts(section.head, heading) ? 20 : 8) + text + (over ? 2 : 0);
    }
    return here ? sum : 0;
  };
  const look = (phrase) => {
    const terms = [...new Set(phrase.split(" "))].filter(Boolean);
    if (!terms.length) return { terms, found: [] };
    const found = sections.map((section) => ({ section, worth: worth(section, terms, phrase) })).filter((one) => one.worth);
    return { terms, found: found.sort((a, b) => b.worth - a.worth).map((one) => one.section) };
  };
  // How often each word of the book stands in it, counted when it is first needed.
  let known = null;
  const words = () => {
    if (known) return known;
    known = new Map();
    for (const { flat, head, brought } of sections) {
      for (const word of `${flat} ${head} ${brought.join(" ")}`.match(/[a-z]{4,}/g) ?? []) known.set(word, (known.get(word) ?? 0) + 1);
    }
    return known;
  };
  // Whether one slip turns one word into the other: a letter too many, too few, another one, or two exchanged.
  const slip = (one, other) => {
    let at = 0;
    while (at < one.length && one[at] === other[at]) at += 1;
    const [rest, wanted] = [one.slice(at), other.slice(at)];
    return (
      rest.slice(1) === wanted.slice(1) || rest.slice(1) === wanted || rest === wanted.slice(1) ||
      (rest[0] === wanted[1] && rest[1] === wanted[0] && rest.slice(2) === wanted.slice(2))
    );
  };
  const mended = (term) => {
    if (term.length < 4 || sections.some(({ flat, head }) => flat.includes(term) || head.includes(term))) return term;
    let best = term;
    for (const [word, often] of words()) if (slip(term, word) && often > (words().get(best) ?? 0)) best = word;
    return best;
  };
  const find = (query) => {
    const phrase = fold(query).flat.trim().replace(/\s+/g, " ");
    const exact = look(phrase);
    if (exact.found.length || !phrase) return exact;
    const other = phrase.split(" ").map(mended).join(" ");
    return other === phrase ? exact : { ...look(other), instead: other };
  };

  // Text with the terms marked.
  const marked = (element, text, terms) => {
    const { flat, from } = fold(text);
    const hits = [];
    for (const term of terms) {
      for (let at = place(flat, term); at >= 0; at = place(flat, term, at + term.length)) hits.push([from[at], from[at + term.length - 1] + 1]);
    }
    let done = 0;
    for (const [start, end] of hits.sort((a, b) => a[0] - b[0])) {
      if (start < done) continue;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(start, end);
      element.append(text.slice(done, start), mark);
      done = end;
    }
    element.append(text.slice(done));
  };
  const excerpt = (text, terms) => {
    const { flat, from } = fold(text);
    const places = terms.map((term) => {
      for (let at = flat.indexOf(term); at >= 0; at = flat.indexOf(term, at + 1)) if (starts(flat, at)) return at;
      return place(flat, term);
    });
    const first = Math.min(...places.filter((at) => at >= 0).map((at) => from[at]));
    if (!Number.isFinite(first)) return text.slice(0, 160) + (text.length > 160 ? " …" : "");
    let start = Math.max(0, first - 60);
    if (start) start = text.indexOf(" ", start) + 1 || start;
    if (start > first) start = first;
    let end = Math.min(text.length, start + 180);
    if (end < text.length) end = Math.max(text.lastIndexOf(" ", end), first);
    return (start ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
  };

  const MOST = 40;
  const attach = (form) => {
    const input = form.querySelector("input[type=search]");
    const dialog = form.closest("dialog");
    const said = document.createElement("p");
    said.className = "found-count";
    said.setAttribute("role", "status");
    const list = document.createElement("ol");
    list.className = "found";
    form.after(said, list);
    const root = form.getAttribute("action").replace("search.html", "");
    const show = () => {
      const query = input.value.trim();
      const { terms, found, instead } = find(query);
      const many = found.length === 1 ? "1 section" : `${found.length} sections`;
      const shown = found.length > MOST ? `${many}, the first ${MOST}` : many;
      const nothing = `Nothing has “${query}” in it.`;
      said.textContent = !query ? "" : !found.length ? nothing : instead ? `${nothing} With “${instead}”: ${shown}` : shown;
      list.replaceChildren(
        ...found.slice(0, MOST).map((section) => {
          const item = document.createElement("li");
          const link = document.createElement("a");
          link.href = `${root}${section.page}${section.first ? "" : `#${section.anchor}`}`;
          const heading = document.createElement("span");
          heading.className = "found-heading";
          marked(heading, section.heading, terms);
          const over = document.createElement("span");
          over.className = "found-page";
          over.textContent = section.first ? "" : section.title;
          const text = document.createElement("span");
          text.className = "found-text";
          marked(text, excerpt(section.text, terms), terms);
          link.append(heading, " ", over, " ", text);
          item.append(link);
          return item;
        }),
      );
      list.scrollTop = 0;
      if (!dialog) history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
    };
    const links = () => [...list.querySelectorAll("a")];
    input.addEventListener("input", show);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      show();
      links()[0]?.click();
    });
    list.addEventListener("click", (event) => event.target.closest("a") && dialog?.close());
    (dialog ?? form.parentElement).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      const all = [input, ...links()];
      const at = all.indexOf(document.activeElement);
      if (at < 0) return;
      event.preventDefault();
      all[Math.min(all.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
    });
    if (!dialog) input.value = new URLSearchParams(location.search).get("q") ?? "";
    if (input.value) show();
  };
  document.querySelectorAll("form.bd-search").forEach(attach);
})();
