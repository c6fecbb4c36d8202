"""Small changes of the library's formulas, one at a time: does a test of the chapter notice?

What is changed: a sum becomes a difference and back, a half is forgotten, ``<`` becomes ``<=`` and back where things are
counted, ``beta`` becomes 1. Left alone: what is refused and how it is said, which the hostile calls try; where a search begins,
which changes no answer; and what is written beside the functions.
"""

import ast
import copy
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add}
BOUNDS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


@dataclass(frozen=True)
class Mutant:
    """A change of a file: the bytes from ``start`` to ``end`` become ``after``."""

    kind: str
    path: Path
    function: str
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.as_posix()}, {self.function}: {self.before} becomes {self.after}"

    def applied(self, text: bytes) -> bytes:
        """The file with the change."""
        return text[: self.start] + f"({self.after})".encode() + text[self.end :]


def mutants(root: Path, path: Path) -> list[Mutant]:
    """All changes of a file below ``root``."""
    text = (root / path).read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for function, node in _formulas(ast.parse(text)):
        for kind, change in CHANGES.items():
            if (after := change(node)) is not None:
                start, end = (starts[line - 1] + at for line, at in _ends(node))
                found.append(Mutant(kind, path, function, start, end, ast.unparse(node), ast.unparse(after)))
    return found


def chosen(every: list[Mutant], each: int) -> list[Mutant]:
    """Of each kind of change so many, by a hash of what they say."""
    ordered = sorted(every, key=lambda one: (zlib.crc32(str(one).encode()), one.start))
    return [one for kind in CHANGES for one in [other for other in ordered if other.kind == kind][:each]]


def _ends(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _formulas(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.expr]]:
    """Expressions in the bodies of functions, with the names of these; no checks and no sentences."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            if not node.name.strip("_").startswith("check") and "guess" not in node.name:
                for line in node.body:
                    yield from _formulas(ast.Module([line], []), node.name)
        elif isinstance(node, ast.ClassDef):
            yield from _formulas(ast.Module(list(node.body), []))
        elif not _refuses(node):
            if function and isinstance(node, ast.expr):
                yield function, node
            yield from _formulas(node, function)


def _refuses(node: ast.AST) -> bool:
    """Whether it is a sentence, an annotation, or a condition under which something is refused."""
    conditional = isinstance(node, ast.If) and any(isinstance(line, ast.Raise) for line in node.body)
    return conditional or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.arguments)


def _another_sign(node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.BinOp) or type(node.op) not in SWAPPED:
        return None
    changed = copy.deepcopy(node)
    changed.op = SWAPPED[type(node.op)]()
    return changed


def _no_half(node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Div) and _is(node.right, 2):
        return node.left
    if isinstance(node.op, ast.Mult):
        return node.right if _is(node.left, 0.5) else node.left if _is(node.right, 0.5) else None
    return None


def _is(node: ast.expr, number: float) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == number


def _another_bound(node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in BOUNDS or not any(map(_counts, ast.walk(node))):
        return None  # two numbers that are real are never equal
    changed = copy.deepcopy(node)
    changed.ops[0] = BOUNDS[type(node.ops[0])]()
    return changed


def _counts(node: ast.AST) -> bool:
    named = isinstance(node, ast.Attribute) and node.attr in ("ndim", "shape")
    return named or (isinstance(node, ast.Name) and node.id in ("len", "arange"))


def _no_beta(node: ast.expr) -> ast.expr | None:
    known = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == "beta"
    return ast.Constant(1) if known else None


CHANGES: dict[str, Callable[[ast.expr], ast.expr | None]] = {
    "another sign": _another_sign,
    "no half": _no_half,
    "another bound": _another_bound,
    "no beta": _no_beta,
}
