"""Reads a submission's notebook: its cells, what in them is Python, and which cell answers which question.

Nothing here trusts the file: it runs in the cage.
"""

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

CHECKS = "# @title The checks."
"""How the cell with the public checks begins. It is left out: a check would call a function that hangs."""
OTHER_LANGUAGES = frozenset(
    ("bash", "sh", "script", "system", "sx", "html", "HTML", "javascript", "js", "latex", "markdown", "svg", "SVG")
) | {"writefile", "file", "perl", "ruby", "cmd", "pypy", "python2", "cython"}
"""Cell magics below which there is no Python to run here. Below others, such as ``%%time`` and ``%%capture``, there is."""
_CELL_MAGIC = re.compile(r"\s*%%(\w+|!)[^\n]*\n?")
_GRADE_ID = re.compile(r"(?:question|answer)-(\d{1,3})")


@dataclass(frozen=True)
class Cell:
    """A cell: ``code``, ``markdown`` or another kind, its source, and the question that its metadata says it answers."""

    kind: str
    source: str
    question: str = ""


def cells_of(text: str) -> list[Cell]:
    """The cells of a notebook, of one from before 2014 too. Raises ValueError for what is no notebook."""
    try:
        notebook = json.loads(text)
        sheets = notebook.get("worksheets") or [notebook]
        return [_cell(cell) for sheet in sheets for cell in sheet["cells"]]
    except (AttributeError, KeyError, TypeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}"[:200]) from None


def _cell(cell: dict[str, Any]) -> Cell:
    source = "".join(cell.get("source", cell.get("input", "")))
    metadata = cell.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    named = _GRADE_ID.fullmatch(str(about.get("grade_id"))) if isinstance(about, dict) else None
    return Cell(str(cell.get("cell_type")), source, named[1] if named else "")


def python(source: str) -> str:
    """The Python in a cell: without its cell magic, and with lines for the shell and IPython as calls of ``get_ipython()``.

    Text that is Python as it stands is not touched: a line of a long expression may begin with ``% 3``.
    """
    if source.lstrip().startswith(CHECKS):
        return ""
    magic = _CELL_MAGIC.match(source)
    if magic:
        return "" if magic[1] in OTHER_LANGUAGES or magic[1] == "!" else python(source[magic.end() :])
    try:
        ast.parse(source)
    except SyntaxError:
        return TransformerManager().transform_cell(source)
    return source


def statements(source: str, name: str) -> list[tuple[ast.stmt, int]]:
    """The statements of a cell, with the flags that its ``from __future__`` lines ask of the compiler. Raises SyntaxError."""
    flags, found = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, list[tuple[ast.stmt, int]]()
    tree = compile(source, name, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            flags |= sum(getattr(__import__("__future__"), alias.name).compiler_flag for alias in statement.names)
        found.append((statement, flags))
    return found


def defines(statement: ast.stmt) -> bool:
    """Whether a statement is one that an answer needs and that does nothing by itself."""
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
