"""Break what a page imports, one function and one way at a time, and say which breaks its claims do not notice.

    python tools/break_pages.py [--jobs N] [--only NAME ...] [--verbose] [NOTEBOOK ...]

A page that shows a function should fail when the function is wrong. Each function and class that a notebook imports from the
package is broken where the page calls it: a number that it returns is one per cent too large (a whole number one too large, a
truth reversed), or an argument that the page gives is ignored. The notebook then runs on from the first cell that uses the
name, in a process of its own, until a claim fails or an error is raised. A break of one per cent that nobody notices is tried
again with the number doubled: some claims are about samples. Fails when a break is not noticed, or one of a name given with
--only. A page takes minutes, so no test runs this over the course.

Left alone: data sets, figures, exercises and their checks; how far a search goes, what it says of itself, and where random
numbers come from.
"""

import argparse
import ast
import contextlib
import dataclasses
import functools
import inspect
import io
import os
import re
import signal
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import course
import matplotlib.pyplot as plt
import torch
from broken_numbers import changed, fields, numbers, watched

from attnlib.course import plots

ASIDE = (
    "attnlib.course.claims",
    "attnlib.course.data",
    "attnlib.course.exercises",
    "attnlib.course.live",
    "attnlib.course.plots",
)
HOW_FAR = {"burn_in", "chains", "generator", "max_steps", "n_jobs", "on_failure", "seed", "sweeps", "tolerance"}
EVIDENCE = {"consistency", "converged", "iterations", "residual", "stability"}
ONE_PER_CENT, DOUBLED = 1.01, 2.0
PATIENCE = 10
"""How many times as long as the whole page a broken one may take; then it counts as noticed, for a reader would notice."""

Key = tuple[str, str]
"""A name that the page imports and, of a class, the method; nothing for a function."""


@dataclasses.dataclass(frozen=True)
class Break:
    """One thing wrong: an argument that is ignored or, with none, a number at a place in what is returned, times a factor."""

    key: Key
    argument: str = ""
    place: tuple[str, ...] = ()
    factor: float = ONE_PER_CENT

    def __str__(self) -> str:
        name = ".".join(filter(None, self.key))
        if self.argument:
            return f"{name} ignores {self.argument}"
        return f"{name}{''.join(f'.{part}' for part in self.place)} is changed"


# --- a page whose functions can be broken ---


class Page:
    """The code of a notebook, each of its functions behind a switch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.broken: Break | None = None
        self.arguments: dict[Key, set[str]] = {}
        self.places: dict[Key, set[tuple[str, ...]]] = {}
        self.fields: dict[Key, set[tuple[str, ...]]] = {}
        self.seen: dict[Key, set[tuple[str, ...]]] = {}
        self.cells = [tree for tree in map(self._cell, course.code_cells(course.read(path))) if tree is not None]
        loads = [{node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} for tree in self.cells]
        self.first = {name: index for index in reversed(range(len(loads))) for name in loads[index]}
        self.read = {node.attr for tree in self.cells for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        self.cells = [ast.fix_missing_locations(Imports().visit(tree)) for tree in self.cells]  # once: a truth can be undone

    def _cell(self, cell: Any) -> ast.Module | None:
        if course.has_tag(cell, "setup"):
            return None
        tree = ast.parse(cell.source)
        calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        if any(node.module == "attnlib.course.live" for node in imports):
            return ast.Module(imports, [])  # a later cell may read a figure's values
        return None if "check" in calls else tree

    def run(self, before: Callable[[int], None] = lambda index: None) -> None:
        """From the first cell to the last; what is given is called before each."""
        space: dict[str, Any] = {"__name__": "__main__", "_switched": self._switched, "plots": plots}  # as set-up leaves it
        for index, tree in enumerate(self.cells):
            before(index)
            self._execute(tree, space)
            self.space = space

    def resume(self, index: int, space: dict[str, Any]) -> None:
        for tree in self.cells[index:]:
            self._execute(tree, space)

    def _execute(self, tree: ast.Module, space: dict[str, Any]) -> None:
        code = compile(tree, str(self.path), "exec")
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            exec(code, space)
        plt.close("all")

    def _switched(self, name: str, value: Any) -> Any:
        """What a page imported, behind its switch."""
        home = getattr(value, "__module__", "") or ""
        if not home.startswith("attnlib") or home.startswith(ASIDE):
            return value
        if isinstance(value, types.FunctionType):
            return self._behind((name, ""), value)
        if not isinstance(value, type) or issubclass(value, BaseException) or issubclass(value, tuple):
            return value
        body = {"__doc__": value.__doc__, "__module__": value.__module__}
        for method, function in inspect.getmembers(value, inspect.isfunction):
            own = function.__module__.startswith("attnlib") and (not method.startswith("_") or method == "__init__")
            if own or (method == "__init__" and dataclasses.is_dataclass(value)):
                static = isinstance(inspect.getattr_static(value, method), staticmethod)
                switched = self._behind((name, method), function)
                body[method] = staticmethod(switched) if static else switched
        return type(value.__name__, (value,), body)

    def _behind(self, key: Key, function: Callable) -> Callable:
        signature = inspect.signature(function)
        optional = {k for k, p in signature.parameters.items() if p.default is not p.empty} - HOW_FAR

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            here = self.broken if self.broken is not None and self.broken.key == key else None
            if self.broken is None:
                given = signature.bind(*args, **kwargs).arguments
                said = {k for k, v in given.items() if k in optional and not same(v, signature.parameters[k].default)}
                self.arguments.setdefault(key, set()).update(said)
            elif here and here.argument:
                bound = signature.bind(*args, **kwargs)
                bound.arguments.pop(here.argument, None)
                args, kwargs = bound.args, bound.kwargs
            found = function(*args, **kwargs)
            if self.broken is None:
                self.places.setdefault(key, set()).update(numbers(found))
                self.fields.setdefault(key, set()).update(fields(found))
                return watched(found, str(self.path), self.seen.setdefault(key, set()))
            return changed(found, here.place, here.factor) if here and not here.argument else found

        return call

    def breaks(self, only: set[str]) -> list[Break]:
        """What can be wrong with what a whole run has called; of a record, the parts that the page reads."""
        found = [Break(key, argument=argument) for key, said in self.arguments.items() for argument in sorted(said)]
        found += [
            Break(key, place=place)
            for key, places in self.places.items()
            for place in sorted(places)
            if not place or place[0].isdecimal() or place[0] == "items" or self._is_read(key, place)
        ]
        shown = {"", "__init__", "forward"} | self.read
        return [one for one in found if one.key[1] in shown and (not only or one.key[0] in only) and one.key[0] in self.first]

    def _is_read(self, key: Key, place: tuple[str, ...]) -> bool:
        """Whether the page reads what stands there; of a record in a record that it hands on whole, everything."""
        seen, where = self.seen[key], [place[:depth] for depth in range(1, len(place) + 1) if place[:depth] in self.fields[key]]
        handed_on = [len(at) > 1 and not any(one[:-1] == at[:-1] for one in seen) for at in where]
        return bool(where) and all(at[-1] not in EVIDENCE and (at in seen or whole) for at, whole in zip(where, handed_on))


class Imports(ast.NodeTransformer):
    """``from attnlib import name`` puts a name behind its switch."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if not (node.module or "").startswith("attnlib"):
            return node
        names = [alias.asname or alias.name for alias in node.names]
        return [node, *(ast.parse(f"{name} = _switched({name!r}, {name})").body[0] for name in names)]


def same(value: Any, default: Any) -> bool:
    """Whether an argument says what is so without it; a tensor never does."""
    return value is default or (isinstance(value, bool | int | float | str) and value == default)


# --- who notices ---


def noticed(page: Page, breaks: list[Break], jobs: int, seconds: float) -> dict[Break, str]:
    """What stopped the page with each break; an empty string where nothing did."""
    running: dict[int, Break] = {}
    found: dict[Break, str] = {}
    with tempfile.TemporaryDirectory() as folder:

        def reap() -> None:
            child, status = os.wait()
            one, said = running.pop(child), Path(folder, str(child))
            found[one] = said.read_text(encoding="utf-8") if said.exists() else f"took too long, or died ({status})"

        def fork(index: int) -> None:
            for one in (b for b in breaks if page.first[b.key[0]] == index):
                while len(running) >= jobs:
                    reap()
                child = os.fork()
                if child:
                    running[child] = one
                    continue
                signal.alarm(round(PATIENCE * seconds) + 60)
                page.broken = one
                Path(folder, str(os.getpid())).write_text(verdict(page, index), encoding="utf-8")
                os._exit(0)

        page.run(fork)
        while running:
            reap()
    return found


def verdict(page: Page, index: int) -> str:
    try:
        page.resume(index, page.space)
    except BaseException as error:  # whatever it is, the reader sees it
        return (re.match(r"claim \S+(?=:)", str(error)) or [f"{type(error).__name__}: {error}"[:100]])[0]
    return ""


def examine(path: Path, only: set[str], jobs: int, verbose: bool) -> list[Break]:
    """Print what one page notices, and return what it does not."""
    page = Page(path)
    begin = time.monotonic()
    page.run()
    seconds = time.monotonic() - begin
    found = noticed(page, page.breaks(only), jobs, seconds)
    again = [dataclasses.replace(b, factor=DOUBLED) for b, why in found.items() if not why and not b.argument]
    late = noticed(page, again, jobs, seconds) if again else {}
    silent = [b for b, why in found.items() if not why and not late.get(dataclasses.replace(b, factor=DOUBLED))]
    print(f"{path.stem}: {len(found)} breaks, {len(found) - len(silent)} noticed", flush=True)
    for one, why in found.items():
        after = late.get(dataclasses.replace(one, factor=DOUBLED), "")
        said = why or (f"only when doubled: {after}" if after else "NOT NOTICED")
        if verbose or not why:
            print(f"    {one}: {said}", flush=True)
    return silent


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="broken pages that run at the same time")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="break these functions and classes")
    parser.add_argument("--verbose", action="store_true", help="name the claim that noticed, too")
    parser.add_argument("notebook", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    plt.switch_backend("Agg")
    torch.set_num_threads(1)
    silent = 0
    for path in options.notebook or course.notebooks():
        before = torch.get_default_dtype()
        silent += len(examine(path.resolve(), set(options.only), options.jobs, options.verbose))
        torch.set_default_dtype(before)
    return bool(silent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
