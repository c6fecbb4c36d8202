"""What a reader is shown of a page: code that folds, results that wait for a prediction, captions, numbers by chapter.

Nothing of this is kept by hand. ``make pages`` writes it into the notebooks, for those who read them in Jupyter or Colab, and
``book_view`` makes the pages of the site from the same marks:

- ``hide-input`` for the set-up, which is all code before the first section, and for code that only draws;
- ``proof`` for the cells that make claims about what stands above them; a cell that prepares one may have the tag too;
- ``predict`` for the cells whose results answer a *Predict, then run*;
- a cell below each figure with its number and its caption, which the site leaves out, having a caption of its own;
- a number and an anchor at each equation that has a name, and the number in each link to it.
"""

import ast
import math
import re
import symtable
from collections import Counter
from collections.abc import Iterable
from typing import Any

import course
import nbformat

FOLDED, WAITING, PROOF = "hide-input", "predict", "proof"
PREDICT = "**Predict, then run"
ANSWER = re.compile(r"<details>\s*<summary>.*?</summary>")
EQUATION = re.compile(
    r'(?:<a id="(?P<anchor>eq[\w-]*)"></a>\n\n)?'
    r"^\$\$\n(?P<body>.*?)(?:\s*\\tag\{[^{}]*\})?\n\$\$(?: \((?P<label>eq[\w-]*)\))?$",
    re.DOTALL | re.MULTILINE,
)
_LINK = re.compile(r"\[eq(?:-[\w-]+|\. [\d.]*)\]\(#(?P<label>eq[\w-]*)\)")


class PageError(ValueError):
    """A page is not built as the course's pages are."""


def chapter(name: str) -> str:
    """``"3"`` for ``03b_attention``, nothing for a page outside the chapters."""
    found = re.match(r"0*(\d+)[a-z]?_", name)
    return found[1] if found else ""


# Code


def is_figure(cell: Any) -> bool:
    """Whether a cell is there to draw: it shows a figure at its end, or a live figure with a caption, and claims nothing."""
    last = [ast.unparse(part) for part in course.syntax(cell.source).body[-1:]]
    return (last == ["plt.show()"] or bool(named(cell))) and not course.claims_asked(cell)


def shows(cell: Any) -> bool:
    """Whether anything comes out of a cell: a claim, a print, a figure, the value of its last line."""
    tree = course.syntax(cell.source)
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return bool(called & {"claim", "print", "plt.show"}) or (bool(tree.body) and isinstance(tree.body[-1], ast.Expr))


def open_lines(source: str) -> int:
    """How many lines of a folded cell stay open: what stands above its last blank line, if more than imports.

    Blank lines inside a function do not count.
    """
    lines, parts = source.splitlines(), course.syntax(source).body
    for count in range(len(parts) - 1, 0, -1):
        end = parts[count - 1].end_lineno
        gap = [not line.strip() for line in lines[end : parts[count].lineno - 1]]
        if any(gap):
            only_imports = all(isinstance(part, ast.Import | ast.ImportFrom) for part in parts[:count])
            return 0 if only_imports else end + len(gap) - gap[::-1].index(True)
    return 0


def without_sentences(source: str) -> str:
    """Code with the sentences of its claims left out: they stand on the claims' cards."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    code = source.encode()
    calls = [node for node in ast.walk(course.syntax(source)) if isinstance(node, ast.Call)]
    said = [call.args[1] for call in calls if getattr(call.func, "id", "") == "claim" and len(call.args) > 1]
    for part in sorted(said, key=lambda part: (part.lineno, part.col_offset), reverse=True):
        begin, end = starts[part.lineno - 1] + part.col_offset, starts[part.end_lineno - 1] + part.end_col_offset
        code = code[:begin] + '"\u2026"'.encode() + code[end:]
    return code.decode()


def visible(cell: Any) -> int:
    """How many lines of a code cell the site shows to someone who opens no fold of code: none of a proof or of the set-up."""
    if course.has_tag(cell, PROOF):
        return 0
    return open_lines(cell.source) if course.has_tag(cell, FOLDED) else len(cell.source.splitlines())


def minutes(nb: Any) -> int:
    """Minutes to read a page: 200 words, or ten lines of code that are not folded, a minute, to the next five."""
    return 5 * math.ceil((course.words(nb) / 200 + sum(map(visible, course.code_cells(nb))) / 10) / 5)


class _Apart(ast.NodeTransformer):
    """Comprehensions as generators: from Python 3.12 on the others lend their own names to what stands around them."""

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self.generic_visit(ast.GeneratorExp(node.elt, node.generators))

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self.generic_visit(ast.GeneratorExp(node.elt, node.generators))

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self.generic_visit(ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators))


def names(source: str) -> tuple[set[str], set[str]]:
    """The names that code binds at its top level, and those that it, its functions included, looks up there."""
    tree = ast.parse(ast.unparse(course.syntax(source)))  # one of its own, to be changed
    top = symtable.symtable(ast.unparse(_Apart().visit(tree)), "cell", "exec")
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    read = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    inner = list(top.get_children())
    for table in inner:
        read |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        inner += table.get_children()
    return bound, read


def waits(cell: Any) -> bool:
    """Whether a cell of its own waits on the site: what prepares a proof stands in the proof."""
    return course.has_tag(cell, WAITING) and (bool(cell.outputs) or not course.has_tag(cell, PROOF))


def waiting(cells: list[Any]) -> list[int]:
    """Places of the cells whose results a reader is asked to predict: up to the answer, from the first that shows something."""
    found = []
    for place in (i for i, cell in enumerate(cells) if cell.cell_type == "markdown" and PREDICT in cell.source):
        asked = []
        for i, cell in enumerate(cells[place + 1 :], place + 1):
            if cell.cell_type == "code":
                asked += [i] * (bool(asked) or shows(cell))
            elif not course.has_tag(cell, "generated"):
                break
        if not asked or not ANSWER.match(cell.source):
            raise PageError(f"no result, or no folded answer below it, follows\n{cells[place].source}")
        found += asked
    return found


def tag(cells: list[Any]) -> None:
    """Give code cells the tags that follow from what they do, and take them from the others."""
    starts = [
        i for i, cell in enumerate(cells) if cell.cell_type == "markdown" and re.search(r"^## ", cell.source, re.MULTILINE)
    ]
    first, waits = min(starts, default=len(cells)), waiting(cells)
    for i, cell in enumerate(cells):
        if cell.cell_type == "code":
            tags = [tag for tag in cell.metadata.get("tags", []) if tag not in (FOLDED, WAITING)]
            tags += [FOLDED] * (i < first or is_figure(cell)) + [WAITING] * (i in waits)
            cell.metadata.pop("tags", None)
            cell.metadata.update({"tags": tags} if tags else {})


# Captions and numbers


def named(cell: Any) -> list[tuple[str, str]]:
    """The figures and equations of a cell that carry a number, each as its kind and its name."""
    if cell.cell_type == "markdown":
        labels = (found["anchor"] or found["label"] for found in EQUATION.finditer(cell.source))
        return [("eq", label) for label in labels if label]
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    return [("fig", figure["name"])] if "name" in figure and "caption" in figure else []


def numbers(pages: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Numbers by name, counted through the pages of each chapter. Two things of one name are an error."""
    counts: Counter[tuple[str, str]] = Counter()
    known: dict[str, str] = {}
    for page, nb in pages:
        for kind, name in (one for cell in nb.cells for one in named(cell)):
            if name in known:
                raise PageError(f"{page} uses the name {name} for a second time")
            counts[kind, chapter(page)] += 1
            known[name] = f"{chapter(page)}.{counts[kind, chapter(page)]}"
    return known


def numbered(source: str, known: dict[str, str]) -> str:
    """Text with the number at each named equation, an anchor above it, and the number in each link to it."""

    def equation(found: re.Match[str]) -> str:
        name = found["anchor"] or found["label"]
        return f'<a id="{name}"></a>\n\n$$\n{found["body"]} \\tag{{{known[name]}}}\n$$' if name else found[0]

    def link(found: re.Match[str]) -> str:
        if found["label"] not in known:
            raise PageError(f"there is no equation {found['label']}")
        return f"[eq. {known[found['label']]}](#{found['label']})"

    return _LINK.sub(link, EQUATION.sub(equation, source))


def labelled(source: str) -> str:
    """What ``numbered`` made, in the form that Sphinx numbers: a name behind the equation."""

    def equation(found: re.Match[str]) -> str:
        name = found["anchor"] or found["label"]
        return f"$$\n{found['body']}\n$$ ({name})" if name else found[0]

    return EQUATION.sub(equation, source)


def captions(cells: list[Any], known: dict[str, str]) -> list[Any]:
    """The cells with a caption below each figure: outside the site nobody would see the one in the metadata."""
    every = []
    for cell in cells:
        every.append(cell)
        if cell.cell_type == "code" and named(cell):
            figure = cell.metadata["mystnb"]["figure"]
            text = f"> **Fig. {known[figure['name']]}.** {figure['caption']}"
            tags = {"tags": ["generated", "caption", "remove-cell"]}
            every.append(nbformat.v4.new_markdown_cell(text, id=f"caption-{figure['name']}"[:64], metadata=tags))
    return every


def complete(nb: Any, known: dict[str, str]) -> None:
    """Tags, captions and numbers of a page as they should be."""
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = numbered(cell.source, known)
    tag(nb.cells)
    nb.cells = captions([cell for cell in nb.cells if not course.has_tag(cell, "caption")], known)
