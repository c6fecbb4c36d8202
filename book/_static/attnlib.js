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

  // What scrolls sideways must be reachable with the keyboard.
  const reach = () => {
    for (const box of document.querySelectorAll(".bd-article :is(pre, div.math, mjx-container, .output, .pst-scrollable-table-container)")) {
      const style = getComputedStyle(box);
      if (/auto|scroll/.test(style.overflowX) && box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    }
  };
  const ready = window.MathJax?.startup?.promise ?? Promise.resolve();
  window.addEventListener("load", () => ready.then(reach));
  window.addEventListener("resize", reach);
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", reach);
})();
