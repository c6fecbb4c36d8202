"""Search by section, with no server: the sections of the built pages as one script, read when somebody begins to search.

A Sphinx extension; ``_config.yml`` names it. Sphinx's own search finds pages, and no formula. Search engines for static sites
fetch their index, which a browser refuses to a page that was opened from a file. The text of this book is small enough to be
looked through as a whole at each key; ``_static/search.js`` does that. What is written here is a list of pages, each with its
address, its title, its sections as anchor, heading, text, in which formulas stand as one would write them in a line, and the
words that readers bring along, from ``search_words.yml``. What a page imports, its set-up, and the code of folds are not
looked through.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup, NavigableString, PageElement, Tag

INDEX = "_static/sections.js"
PAGE = """<h1>Search</h1>
<form class="bd-search" action="search.html" method="get"><input class="form-control" type="search" name="q" autocomplete="off"
 autocapitalize="off" spellcheck="false" placeholder="A word, a sign, a name" aria-label="Search this book" /></form>
<noscript><p>Searching needs JavaScript. Without it there are the contents at the side and the search of your browser.</p>
</noscript>"""
WORDS = Path(__file__).with_name("search_words.yml")
_IMPORTS = re.compile(r"^(?:import .*|from \S+ import (?:\([^)]*\)|.*))$", re.MULTILINE)
_SILENT = {"script", "style", "noscript", "svg"}
_UNREAD = {"tag_hide-input", "tag_proof"}
_SILENT_CLASSES = {"headerlink", "copybtn", "eqno", "viewcode-link"}
_NAMED = {"varepsilon": "ε", "varphi": "φ", "phi": "ϕ", "sum": "Σ", "prod": "Π", "int": "∫", "infty": "∞", "partial": "∂"}
_NAMED |= {"nabla": "∇", "cdot": "·", "le": "≤", "ge": "≥", "approx": "≈", "propto": "∝", "to": "→", "in": "∈", "pm": "±"}
_NAMED |= {"ne": "≠", "times": "×", "ll": "≪", "gg": "≫", "gets": "←", "mapsto": "↦", "langle": "⟨", "rangle": "⟩"}
_NAMED |= {"leftarrow": "←", "rightarrow": "→", "Rightarrow": "⇒", "lambda": "λ", "top": "ᵀ", "neg": "¬", "star": "*"}
_LAYOUT = r"\\(?:left|right|[bB]igg?[lr]?|limits|math\w+|operatorname|text\w*|displaystyle|q?quad)\b\*?"
_ARTICLE = re.compile(r'<article class="bd-article".*</article>', re.DOTALL)
_COLOUR = re.compile(r'<span class="[a-z]{1,2}[a-z0-9]?">([^<]*)</span>')
_TYPED = re.compile(r"\$([^$]*\\[a-zA-Z][^$]*)\$")  # a formula in the code of a cell
_LINES = ("p", "div", "li", "td", "th", "dt", "dd", "pre", "figcaption", "summary")  # after these a word ends


def plain(tex: str) -> str:
    """A formula in a line: ``\\\\frac\\\\beta2 |x_i|^2`` becomes ``β/2 |x_i|^2``."""
    words = re.sub(r"\\(?:begin|end)\{\w+\*?\}|&|\\\\|\\[,;:! ]|\\[\[\]()]", " ", tex)
    words = re.sub(_LAYOUT, " ", words)
    part = r"\s*(?:\{([^{}]*)\}|(\\[a-zA-Z]+|\w))"
    for _ in range(4):  # from the inside to the outside
        words = re.sub(rf"\\[dt]?frac{part}{part}", lambda f: f"{_whole(f[1] or f[2])}/{_whole(f[3] or f[4])} ", words)
        words = re.sub(rf"\\sqrt{part}", lambda f: f"√({f[1] or f[2]})", words)
        words = re.sub(r"([_^])\{([^{}]*)\}", lambda f: f[1] + (f[2] if len(f[2]) < 4 else _whole(f[2])), words)
    words = re.sub(r"\\([a-zA-Z]+)", lambda found: _sign(found[1]), words)
    words = " ".join(re.sub(r"[{}$\\]", "", words).split())
    return re.sub(r"(?<=\() | (?=[),])", "", words)


def _whole(part: str) -> str:
    """A part of a fraction, in brackets if it is more than one thing."""
    part = part.strip()
    return part if re.fullmatch(r"\\?\w+", part) else f"({part})"


def _sign(name: str) -> str:
    """The character for a command, or its name."""
    if name in _NAMED:
        return _NAMED[name]
    try:
        return unicodedata.lookup(f"GREEK {'CAPITAL' if name[0].isupper() else 'SMALL'} LETTER {name.upper()}")
    except KeyError:
        return f" {name} "


def uncoloured(page: str) -> str:
    """A page without the elements that colour its code: to parse the rest takes a third of the time."""
    return _COLOUR.sub(r"\1", page)


def _silent(tag: Tag) -> bool:
    """Whether an element says nothing that one would search for."""
    if tag.name in _SILENT or "data-live" in tag.attrs or not _SILENT_CLASSES.isdisjoint(tag.get("class") or ()):
        return True
    if "tag_setup" in (tag.get("class") or ()):
        return True
    if tag.name == "pre" and tag.find_parent(class_="cell_output"):  # numbers that a cell printed
        return True
    if "cell_input" in (tag.get("class") or ()):  # how a picture is drawn, and how a claim is put to the test
        return not _UNREAD.isdisjoint(tag.find_parent(class_="cell").get("class") or ())
    if tag.name == "tr":  # of the list of all claims: where it leads, its card says the same
        return tag.select_one('td:first-child > a[href*="#claim-"], td:first-child > p > a[href*="#claim-"]') is not None
    return tag.name == "summary" and tag.parent.name == "details" and "hide" in (tag.parent.get("class") or ())


def sections(page: str) -> list[tuple[str, str, str]]:
    """The sections of a built page, and the entries of the reference on it: anchor, heading, text."""
    found_article = _ARTICLE.search(page)
    if found_article is None:
        return []
    article = BeautifulSoup(uncoloured(found_article[0]), "html.parser")
    for silent in article.find_all(_silent):
        silent.decompose()
    for code in article.find_all("pre"):
        code.string = _IMPORTS.sub("", code.get_text())
    for formula in [tag for tag in article.find_all(["span", "div"]) if "math" in (tag.get("class") or ())]:
        formula.replace_with(f" {plain(formula.get_text())} ")
    found: list[tuple[str, str, list[str]]] = []

    def walk(node: PageElement, own: list[str]) -> None:
        if isinstance(node, NavigableString):
            own.append(str(node))
        elif isinstance(node, Tag):
            heading = node.find(re.compile(r"^h\d$"), recursive=False) if node.name == "section" else None
            if node.name == "section" and heading is not None:
                own = _begin(found, str(node["id"]), heading.get_text())
                heading.decompose()
            call = node.find("dt", id=True, recursive=False) if "py" in (node.get("class") or []) else None
            if call is not None:  # an entry of the reference: what it says comes before how it is called
                name = str(call["id"])
                own = _begin(found, name, ".".join(name.split(".")[2:]) or name)
                called = call.extract().get_text()
            for child in list(node.children):
                walk(child, own)
            if call is not None:
                own.append(called)
            if node.name in _LINES:
                own.append(" ")

    walk(article, [])
    words = ((anchor, heading, " ".join("".join(own).split())) for anchor, heading, own in found)
    return [(anchor, heading, _TYPED.sub(lambda formula: plain(formula[1]), text)) for anchor, heading, text in words]


def _begin(found: list[tuple[str, str, list[str]]], anchor: str, heading: str) -> list[str]:
    found.append((anchor, " ".join(heading.split()), []))
    return found[-1][2]


def brought() -> dict[str, dict[str, str]]:
    """Words that readers bring along: by page, by anchor; the page itself has none."""
    found: dict[str, dict[str, str]] = {}
    for place, words in yaml.safe_load(WORDS.read_text(encoding="utf-8")).items():
        page, _, anchor = place.partition("#")
        found.setdefault(page, {})[anchor] = words
    return found


def index(site: Path, pages: list[str]) -> str:
    """The script that holds all sections; a page without text has none."""
    words = brought()
    read = ((page, sections((site / f"{page}.html").read_text(encoding="utf-8"))) for page in pages)
    book = [[f"{page}.html", found[0][1], found, words.get(page, {})] for page, found in read if found]
    return f"window.bookSections = {json.dumps(book, ensure_ascii=False, separators=(',', ':'))};\n"


def without(app: Any) -> None:
    """No index of Sphinx's: nothing would read it."""
    app.builder.search = False


def page(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "search", {"title": "Search", "body": PAGE}, "page.html"


def finish(app: Any, trouble: Exception | None) -> None:
    if trouble or app.builder.name != "html":
        return
    site = Path(app.outdir)
    (site / INDEX).write_text(index(site, sorted(app.env.found_docs)), encoding="utf-8")
    for unused in ("searchindex.js", "_static/searchtools.js", "_static/language_data.js"):
        (site / unused).unlink(missing_ok=True)


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", without)
    app.connect("html-collect-pages", page)
    app.connect("build-finished", finish, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
