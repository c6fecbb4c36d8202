"""The reference: each public name has one entry, with an example that runs, its source, and links from and to the pages."""

import ast
import doctest
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import book_api
import course
import pytest
import torch
from helpers.built_book import ROOT, Book, parsed

import attnlib

REFERENCE = sorted((ROOT / "book" / "api").rglob("*.md"))


def names(module: ModuleType) -> list[str]:
    """What a module makes public: what it lists, or else what it defines."""
    listed = getattr(module, "__all__", None)
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return listed or [name for name in own if not name.startswith("_")]


@cache
def imported() -> dict[tuple[str, str], set[str]]:
    """What the notebooks import from attnlib, by module and name, and which do."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in course.notebooks():
        source = "\n".join(
            re.sub(r"^(\s*)[%!].*", r"\1pass", c.source, flags=re.M) for c in course.code_cells(course.read(path))
        )
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attnlib"):
                for alias in node.names:
                    found.setdefault((node.module, alias.name), set()).add(path.stem)
    return found


@cache
def public() -> dict[tuple[str, str], Any]:
    taught = ("claims", "models", "oracles", "data", "exercises", "live", "plots")
    rooms = (*course.LIBRARY, "course", *(f"course.{name}" for name in taught))
    modules = [attnlib, *(importlib.import_module(f"attnlib.{name}") for name in rooms)]
    wanted = {(module.__name__, name) for module in modules for name in names(module)} | set(imported())
    things = {(module, name): getattr(importlib.import_module(module), name, None) for module, name in wanted}
    return {where: thing for where, thing in things.items() if not inspect.ismodule(thing)}


def entries(book: Book) -> list[tuple[str, Any, Any]]:
    """Each entry of the reference: what it is about, its line and its text."""
    found = []
    for page in REFERENCE:
        for line in parsed(book.html / page.relative_to(ROOT).with_suffix(".html")).select("dl.py > dt.sig[id]"):
            module, _, name = line["id"].rpartition(".")
            if line.find_parent("dl", class_="py").find_parent("dl", class_="py") is None:
                found.append((line["id"], getattr(importlib.import_module(module), name), line))
    return found


@cache
def links_in_code(book: Book, page: str) -> list[tuple[str, str]]:
    """Where the links in the code of a page lead to, and what they stand on."""
    html = parsed(book.html / "notebooks" / f"{page}.html")
    return [(link["href"], link.get_text()) for link in html.select("div.cell_input a.to-entry")]


def test_every_public_name_has_one_entry_with_an_example_its_source_and_the_pages_that_import_it(book):
    listed, wrong = entries(book), []
    assert len(public()) > 100
    for (module, name), thing in sorted(public().items()):
        lines = [line for _, entry, line in listed if entry is thing]
        if len(lines) != 1:
            wrong.append(f"{module}.{name} has {len(lines)} entries on the pages of book/api; expected one")
            continue
        text = lines[0].find_next_sibling("dd")
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and ">>>" not in text.get_text():
            wrong.append(f"{module}.{name} has no example: add >>> lines to its docstring")
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and not lines[0].select_one("a .viewcode-link"):
            wrong.append(f"{module}.{name} has no link to its source")
        leads = [link["href"] for link in text.find_all("a", href=True)]
        for page in imported().get((module, name), set()):
            if not any(to.endswith(f"notebooks/{page}.html") for to in leads):
                wrong.append(f"{module}.{name} does not say that it is used in {page}")
    assert not wrong, "\n".join(wrong)


DOCUMENTED = (
    "stories",
    "recorded",
    "seeds",
    "translation_runs",
    "denoising",
    "spins",
    "markov",
    "joining",
    "examined_specimens",
)
"""Modules of attnlib.course.data whose entries name what the package does not export."""


def test_every_entry_is_public(book):
    known = [id(thing) for thing in public().values()]
    documented = [
        importlib.import_module(f"attnlib.course.{name}")
        for name in (*(f"data.{name}" for name in DOCUMENTED), "models.walkers", "models.specimens", "models.interventions")
    ]
    known += [id(vars(module)[name]) for module in documented for name in vars(module)]
    assert not [where for where, thing, _ in entries(book) if id(thing) not in known]


def test_every_name_that_a_page_imports_leads_to_its_entry(book):
    at = {id(thing): where for where, thing, _ in entries(book)}
    lost = []
    for (module, name), pages in imported().items():
        thing = getattr(importlib.import_module(module), name, None)
        anchor = f"module-{thing.__name__}" if inspect.ismodule(thing) else at[id(thing)]
        for page in pages:
            links = [said for to, said in links_in_code(book, page) if to.endswith(f"#{anchor}")]
            if not links or set(links) != {name}:
                lost.append(f"{page}: {module}.{name}")
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("path", course.notebooks(), ids=lambda path: path.stem)
def test_the_section_from_the_page_to_the_package_leads_there(book, path):
    page = parsed(book.html / "notebooks" / f"{path.stem}.html")
    heading = next(heading for heading in page.select("article h2") if "From the page to the package" in heading.get_text())
    assert heading.parent.select('a[href*="book/api/"]')


def test_a_link_to_the_source_leads_to_the_lines_of_the_definition(book):
    prefix = f"{course.repository().url}/blob/{course.repository().branch}/"
    links = [
        link for _, _, line in entries(book) for link in line.select("a.reference.external") if link.select(".viewcode-link")
    ]
    assert len(links) > 100
    for link in links:
        file, first, last = re.fullmatch(rf"{re.escape(prefix)}(.+)#L(\d+)-L(\d+)", link["href"]).groups()
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
        name = link.find_parent("dt")["id"].split(".")[-1]
        assert any(re.match(rf"(?:def|class) {name}\b", line) for line in lines[:3]), link["href"]


@pytest.mark.parametrize("path", REFERENCE, ids=lambda path: path.stem)
def test_examples_on_the_pages_run(path: Path):
    examples = doctest.DocTestParser().get_doctest(path.read_text(encoding="utf-8"), {"torch": torch}, path.name, str(path), 0)
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_names_are_read_in_the_order_of_the_cells():
    """A name is the package's from its import until the page writes one of its own; what a function takes is its own too."""
    page = book_api.Page()
    first = "attend = 3\nattend"
    assert list(page.cell(first)) == []
    second = "%pip install x\nfrom attnlib import attend as look, hopfield\nhopfield.descend(look)"
    where = [(line, column, name) for line, column, name, _ in page.cell(second)]
    assert where == [(2, 20, "attend"), (2, 36, "hopfield"), (3, 0, "hopfield"), (3, 9, "descend"), (3, 17, "look")]
    assert [name for *_, name, _ in page.cell("β, look_ = 1, look")] == ["look"]
    assert list(page.cell("def f(look):\n    return look(1)")) == []
    assert list(page.cell("look")) == []
    of_a_class = "from attnlib import SoftmaxAttention\nSoftmaxAttention.from_torch"  # a method has no entry of its own
    assert [name for *_, name, _ in page.cell(of_a_class)] == ["SoftmaxAttention"] * 2


def test_links_stand_on_the_name_and_nowhere_else():
    code = '<span class="n">ab</span><span class="p">(</span><span class="s">&quot;ab&quot;</span>\n<span class="n">ab</span>'
    assert book_api.linked(code, {(2, 0): ("ab", "x.html#ab"), (1, 0): ("other", "y.html")}) == code[:-9] + (
        '<a class="to-entry" href="x.html#ab">ab</a></span>'
    )


def test_the_table_of_mixers_has_all_of_them_and_what_they_ask_and_tell(book):
    html = parsed(book.html / "book/api.html")
    rows = {row.td.get_text(): [cell.get_text() for cell in row.select("td")[1:]] for row in html.select("tbody tr")}
    mixers = {name for name in attnlib.__all__ if name.endswith("Attention")}
    assert set(rows) == mixers
    assert len(mixers) == 6
    assert rows["MeanFieldAttention"][0].startswith("sites (needed), prior, ")
    assert rows["GraphAttention"][1] == "edge_index, edge_bias"
    assert rows["SoftmaxAttention"][:2] == ["twice_differentiable", "nothing more"]
    assert all(tells.startswith("output") for *_, tells in rows.values())
    assert "residual, iterations, converged" in rows["MeanFieldAttention"][2]
