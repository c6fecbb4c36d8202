"""The pages of the site as a reader meets them: code folds, results wait for a prediction, numbers carry their chapter.

A Sphinx extension; ``_config.yml`` names it. It works on the marks that ``reading`` puts into the notebooks and needs no script
in the browser. Where a notebook is opened as a notebook, all code and all results are to be seen.
"""

import json
import re
from typing import Any

import reading
from docutils import nodes
from sphinx import addnodes
from sphinx.environment.collectors.toctree import TocTreeCollector

CODE = '<details class="code"><summary><span>Show</span><span>Hide</span> {}</summary>'
SETUP, DRAWING, PROVING = "the set-up", "the code of this figure", "how this was measured"
RUN = "Run it: see what happens, and why"


def names(app: Any, page: str, content: list[str]) -> None:
    """A notebook carries the numbers that its readers see. Here equations get their names back, and Sphinx numbers them."""
    if str(app.env.doc2path(page)).endswith(".ipynb"):
        nb = json.loads(content[0])
        for cell in nb["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = reading.labelled("".join(cell["source"]))
        content[0] = json.dumps(nb)


# Folds


def code_cells(doctree: nodes.document, tag: str) -> list[nodes.container]:
    return [cell for cell in doctree.findall(nodes.container) if f"tag_{tag}" in cell["classes"]]


def beside(node: nodes.Node, step: int) -> nodes.Node | None:
    """The next thing to be seen, after a node or before it, in the same section."""
    every, place = node.parent.children, node.parent.index(node) + step
    while 0 <= place < len(every) and isinstance(every[place], nodes.comment | nodes.target):
        place += step
    return every[place] if 0 <= place < len(every) else None


def head(cell: nodes.container) -> list[nodes.container]:
    """Take from a cell what stays open of its code, as a cell of its own; nothing if all of it folds."""
    block = next(cell.findall(nodes.literal_block))
    lines = block.astext().splitlines()
    count = reading.open_lines(block.astext())
    if not count:
        return []

    def code(part: list[str]) -> nodes.literal_block:
        text = "\n".join(part).strip("\n")
        return nodes.literal_block(text, text, **block.attributes)

    above = nodes.container("", nodes.container("", code(lines[:count]), **cell[0].attributes), classes=["cell"])
    block.replace_self(code(lines[count:]))
    return [above]


def html(text: str) -> nodes.raw:
    return nodes.raw(text, text, format="html")


def fold(doctree: nodes.document) -> None:
    """Fold the set-up, which is all folded code without results, into one; fold the code of a figure, below the figure."""
    setup = None
    for cell in code_cells(doctree, reading.FOLDED):
        del cell["hide_mode"]  # what Jupyter Book would do
        source, results = cell[0], cell[1:]
        if not results and setup is not None and beside(cell, -1) is setup:
            setup[1].extend(source.children)
            cell.parent.remove(cell)
            continue
        if results:
            cell.parent.insert(cell.parent.index(cell), head(cell))
        else:
            setup = cell
        opens = CODE.format(DRAWING if results else SETUP)
        cell.children = []
        cell += [*results, html(opens), source, html("</details>")]


def prove(doctree: nodes.document) -> None:
    """Fold the code of a proof under its claims, with what prepares it; a claim's sentence stands on its card only."""
    prepared: list[nodes.Node] = []
    for cell in code_cells(doctree, reading.PROOF):
        source, results = cell[0], cell[1:]
        for block in list(source.findall(nodes.literal_block)):
            text = reading.without_sentences(block.astext())
            block.replace_self(nodes.literal_block(text, text, **block.attributes))
        if not results:
            prepared += source.children
            cell.parent.remove(cell)
            continue
        source.insert(0, prepared)
        prepared = []
        cell.children = []
        cell += [*results, html(CODE.format(PROVING)), source, html("</details>")]
    if prepared:
        raise reading.PageError(f"no claim follows what prepares a proof:\n{prepared[0].astext()[:200]}")


def wait(doctree: nodes.document) -> None:
    """Put what a reader is to predict into one fold with the answer: it says to run it, and it is read in this order."""
    for cell in code_cells(doctree, reading.WAITING):
        before = beside(cell, -1)
        if before is not None and f"tag_{reading.WAITING}" in before.get("classes", ()):
            continue
        last = cell
        while f"tag_{reading.WAITING}" in last.get("classes", ()):
            last = beside(last, 1)
        if not isinstance(last, nodes.raw) or not reading.ANSWER.match(last.astext()):
            raise reading.PageError(f"no answer follows the prediction at\n{cell.astext()[:200]}")
        last.replace_self(html(reading.ANSWER.sub("", last.astext(), count=1)))
        opens = f'<details class="predict"><summary>{RUN}</summary>'
        above = [] if f"tag_{reading.PROOF}" in cell["classes"] else head(cell)
        cell.parent.insert(cell.parent.index(cell), [*above, html(opens)])


def links(doctree: nodes.document) -> None:
    """A link to an equation shows its number, unless the page says it in words of its own."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        name = link.get("reftarget", "")
        if link.get("reftype") == "myst" and name.startswith("eq-") and not re.match(r"eq\b", link.astext()):
            words = nodes.reference("", "", *link.children, internal=True, refid=nodes.make_id(f"equation-{name}"))
            link.replace_self(words)


def arrange(app: Any, doctree: nodes.document) -> None:
    wait(doctree)
    fold(doctree)
    prove(doctree)
    links(doctree)


# Numbers


def number(app: Any, env: Any) -> list[str]:
    """Number figures and equations within their chapter, through its pages.

    Sphinx does so by itself where sections have numbers. Ours say theirs in their titles, so it learns them only for this.
    A picture outside the chapters, such as the cover, has no number.
    """
    sections = env.toc_secnumbers
    numbered = {page: reading.chapter(page.rpartition("/")[2]) for page in env.found_docs}
    env.toc_secnumbers = {page: {"": (int(chapter),)} for page, chapter in numbered.items() if chapter}
    try:
        changed = TocTreeCollector().assign_figure_numbers(env)
    finally:
        env.toc_secnumbers = sections
    for page in (page for page, chapter in numbered.items() if not chapter):
        env.toc_fignumbers.get(page, {}).pop("figure", None)
    return changed


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", names)
    app.connect("doctree-read", arrange)
    app.connect("env-get-updated", number, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
