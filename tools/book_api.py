"""The reference of the package, tied to its source and to the pages that use it.

A Sphinx extension; ``_config.yml`` names it. Each entry says which pages use it and leads to its lines in the repository.
On the pages, the first use of a name in a section, in code and in the text, leads to the name's entry. What a page uses is read
from its imports, so that nothing has to be kept up by hand.
"""

import ast
import dataclasses
import html
import importlib
import inspect
import re
import typing
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import course
from docutils import nodes
from docutils.parsers.rst import Directive

import attnlib

_CELL = re.compile(
    r'<section\b|(?<=<div class="highlight-ipython3 notranslate"><div class="highlight"><pre>).*?(?=</pre>)', re.DOTALL
)
_PIECES = re.compile(r"(<[^>]*>)")
_MAGIC = re.compile(r"^(\s*)[%!].*", re.MULTILINE)


def is_module(path: str) -> bool:
    """Whether there is such a module; a class is none, and its methods have no entry of their own."""
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:
        return False


@cache
def key(module: str, name: str) -> str | None:
    """What a name in a module of attnlib stands for: where it is defined, or, for what cannot tell, where it was found."""
    try:
        owner = importlib.import_module(module)
        thing = getattr(owner, name) if name else owner
    except (ImportError, AttributeError):
        return key(f"{module}.{name}", "") if name and is_module(module) else None
    if inspect.ismodule(thing):
        return thing.__name__
    home = getattr(thing, "__module__", None) or ""
    return (
        f"{home}.{thing.__qualname__}" if home.startswith("attnlib") and hasattr(thing, "__qualname__") else f"{module}.{name}"
    )


class Page:
    """Reads the cells of a page in order and knows which of its names are attnlib's at each place."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # a name of the page to a key
        self.own: set[str] = set()  # names that the page defines itself

    def cell(self, source: str) -> Iterator[tuple[int, int, str, str]]:
        """Where attnlib's names stand in the next cell: line (from 1), column, the name as written, its key."""
        try:
            tree = ast.parse(_MAGIC.sub(r"\1pass", source))
        except SyntaxError:  # a fragment that is shown, not run
            return
        lines = source.encode().splitlines()
        found, written = [], set[str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "attnlib":
                for alias in node.names:
                    of = key(node.module or "", alias.name)
                    if of:
                        self.bound[alias.asname or alias.name] = of
                        found.append((alias.lineno, alias.col_offset, alias.name, of))
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                written.add(node.name)
            elif isinstance(node, ast.arg):
                written.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                written.add(node.id)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in self.bound.keys() - written:
                found.append((node.lineno, node.col_offset, node.id, self.bound[node.id]))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                of = self.bound.get(node.value.id)
                of = of and node.value.id not in written and key(of, node.attr)
                if of:
                    found.append((node.end_lineno, node.end_col_offset - len(node.attr.encode()), node.attr, of))
        self.own |= written
        for name in written:
            self.bound.pop(name, None)
        for line, column, name, of in sorted(found):
            yield line, len(lines[line - 1][:column].decode()), name, of


@cache
def used() -> dict[str, list[str]]:
    """Each name of attnlib, by its key, with the pages that use it."""
    pages = defaultdict(list)
    for path in course.notebooks():
        page = Page()
        for of in dict.fromkeys(of for cell in course.code_cells(course.read(path)) for *_, of in page.cell(cell.source)):
            pages[of].append(path.stem)
    return pages


@cache
def titles() -> dict[str, str]:
    """The notebooks with their titles."""
    return {path.stem: course.title(course.read(path)) for path in course.notebooks()}


def back_links(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Say at the end of an entry which pages use it."""
    if what not in ("function", "class", "exception", "data"):
        return
    module, _, attribute = name.rpartition(".")
    pages = used().get(key(module, attribute) or "", [])
    if pages:
        links = ", ".join(f":doc:`{titles()[page]} </notebooks/{page}>`" for page in pages)
        lines += ["", f":Used in: {links}", ""]
    for path in course.notebooks():
        app.env.note_dependency(str(path))


repository = cache(course.repository)


def source(domain: str, info: dict[str, str]) -> str | None:
    """The address of a thing's lines in the repository."""
    thing: Any = importlib.import_module(info["module"])
    for part in info["fullname"].split("."):
        thing = getattr(thing, part, None)
    thing = inspect.unwrap(thing.fget if isinstance(thing, property) else thing)
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return None
    lines, first = inspect.getsourcelines(thing)
    path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(course.ROOT).as_posix()
    where = repository()
    return f"{where.url}/blob/{where.branch}/{path}#L{first}-L{first + len(lines) - 1}"


def entries(app: Any) -> dict[str, tuple[str, str]]:
    """Where the entry of each key is: page and anchor."""
    if not hasattr(app, "attnlib_entries"):
        app.attnlib_entries = {
            key(name, "") if entry.objtype == "module" else key(*name.rpartition(".")[::2]): (entry.docname, entry.node_id)
            for name, entry in app.env.get_domain("py").objects.items()
            if entry.objtype in ("module", "function", "class", "exception", "data") and name.startswith("attnlib")
        }
    return app.attnlib_entries


def moved(app: Any, env: Any) -> list[str]:
    """The pages to write again: all of them where an entry has moved since the last build."""
    now, before = sorted(entries(app).items()), getattr(env, "attnlib_entries", None)
    env.attnlib_entries = now
    return [] if now == before else sorted(env.found_docs)


def text_links(app: Any, doctree: Any, page: str) -> None:
    """A name of the package in the text leads to its entry, once a section."""
    path = course.ROOT / f"{page}.ipynb"
    known, own, names = entries(app), set(), dict[str, str]()
    if path.exists():
        read = Page()
        for cell in course.code_cells(course.read(path)):
            list(read.cell(cell.source))
            names |= read.bound
        own = read.own
    done = set()
    for literal in list(doctree.findall(nodes.literal)):
        word = literal.astext().removesuffix("()")
        of = key(*word.rpartition(".")[::2]) if re.fullmatch(r"attnlib(\.\w+)+", word) else names.get(word)
        section = next((around for around in _around(literal) if isinstance(around, nodes.section)), None)
        skipped = any(isinstance(around, nodes.reference | nodes.title | nodes.raw) for around in _around(literal))
        if of not in known or known[of][0] == page or skipped or (id(section), of) in done:
            continue
        if word in own and not (section and re.search(rf"import[^\n]*\b{word}\b", section.astext())):
            continue
        done.add((id(section), of))
        to, anchor = known[of]
        link = nodes.reference("", "", internal=True, refuri=f"{app.builder.get_relative_uri(page, to)}#{anchor}")
        literal.replace_self(link)
        link += literal


def _around(node: Any) -> Iterator[Any]:
    while node.parent is not None:
        node = node.parent
        yield node


def linked(code: str, places: dict[tuple[int, int], tuple[str, str]]) -> str:
    """Highlighted code with links at the places (line, column) to (the name there, its address)."""
    line, column, out = 1, 0, []
    for piece in _PIECES.split(code):
        if not piece.startswith("<"):
            text = html.unescape(piece)
            name, to = places.get((line, column), (None, ""))
            line, column = line + text.count("\n"), len(text) - text.rfind("\n") - 1 if "\n" in text else column + len(text)
            piece = f'<a class="to-entry" href="{to}">{piece}</a>' if text == name else piece
        out.append(piece)
    return "".join(out)


def code_links(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The first use of a name in the code of a section leads to its entry."""
    if not (course.ROOT / f"{page}.ipynb").exists():
        return
    known, read, done = entries(app), Page(), set()

    def cell(found: re.Match[str]) -> str:
        places = {}
        if found[0] == "<section":
            done.clear()
            return found[0]
        for line, column, name, of in read.cell(html.unescape(re.sub(r"<[^>]*>", "", found[0]))):
            if of in known and of not in done:
                done.add(of)
                to, anchor = known[of]
                places[line, column] = name, f"{app.builder.get_relative_uri(page, to)}#{anchor}"
        return linked(found[0], places)

    context["body"] = _CELL.sub(cell, context.get("body") or "")


# One table of all mixers


def mixers() -> list[tuple[str, list[str], list[str], list[str]]]:
    """Each mixer with the arguments of its own, what a call of it takes besides, and what ``explain`` tells."""
    base = inspect.signature(attnlib.Mixer.__init__).parameters, inspect.signature(attnlib.Mixer.forward).parameters
    found = []
    for name in attnlib.__all__:
        kind = getattr(attnlib, name)
        if inspect.isclass(kind) and issubclass(kind, attnlib.Mixer) and kind is not attnlib.Mixer:
            own = inspect.signature(kind.__init__).parameters
            calls = inspect.signature(kind.forward).parameters
            record = typing.get_type_hints(kind.explain)["return"]
            mine = {one: what.default is inspect.Parameter.empty for one, what in own.items() if one not in base[0]}
            asks = [one + " (needed)" * needed for one, needed in mine.items()]
            more = [one for one in calls if one not in base[1]]
            found.append((name, asks, more, [field.name for field in dataclasses.fields(record)]))
    return found


class Mixers(Directive):
    """The table of all mixers, read from their signatures."""

    def run(self) -> list[nodes.Node]:
        def cell(words: list[str]) -> nodes.entry:
            text = nodes.paragraph()
            for i, word in enumerate(words):
                name, _, note = word.partition(" ")
                text += [nodes.Text(", ")] * bool(i) + [nodes.literal(name, name), nodes.Text(f" {note}".rstrip())]
            return nodes.entry("", text if words else nodes.paragraph("", "nothing more"))

        heads = ("mixer", "arguments of its own", "a call also takes", "explain tells")
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (20, 35, 15, 30)), cols=4)
        group += nodes.thead("", nodes.row("", *(nodes.entry("", nodes.paragraph("", head)) for head in heads)))
        group += nodes.tbody("", *(nodes.row("", cell([name]), *map(cell, rest)) for name, *rest in mixers()))
        return [nodes.table("", group)]


def configure(app: Any, config: Any) -> None:
    config.linkcode_resolve = source


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("mixers", Mixers)
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("config-inited", configure)
    app.setup_extension("sphinx.ext.linkcode")
    app.connect("autodoc-process-docstring", back_links, priority=900)
    app.connect("env-updated", moved)
    app.connect("doctree-resolved", text_links)
    app.connect("html-page-context", code_links)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
