"""Search by section, with no server: the sections of the built pages as one script, read when somebody begins to search.

A Sphinx extension; ``_config.yml`` names it. Sphinx's own search finds pages, and no formula. Search engines for static sites
fetch their index, which a browser refuses to a page that was opened from a file. The text of this book is small enough to be
looked through as a whole at each key; ``_static/search.js`` does that. What is written here is a list of pages, each with its
address, its title, its sections as anchor, heading, text, in which formulas stand as one would write them in a line, and the
words that readers bring along, from ``search_words.yml``. What a page imports, its set-up, the code of folds, what a cell
printed, and what a claim measured are not looked through.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lxml.html
import yaml
from lxml import etree
from lxml.html import HtmlElement

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
_SILENT_CLASSES = {"headerlink", "copybtn", "eqno", "viewcode-link", "claim-measured", "claim-bound", "claim-tick"}
_NAMED = {"varepsilon": "ε", "varphi": "φ", "phi": "ϕ", "sum": "Σ", "prod": "Π", "int": "∫", "infty": "∞", "partial": "∂"}
_NAMED |= {"nabla": "∇", "cdot": "·", "le": "≤", "ge": "≥", "approx": "≈", "propto": "∝", "to": "→", "in": "∈", "pm": "±"}
_NAMED |= {"ne": "≠", "times": "×", "ll": "≪", "gg": "≫", "gets": "←", "mapsto": "↦", "langle": "⟨", "rangle": "⟩"}
_NAMED |= {"leftarrow": "←", "rightarrow": "→", "Rightarrow": "⇒", "lambda": "λ", "top": "ᵀ", "neg": "¬", "star": "*"}
_LAYOUT = r"\\(?:left|right|[bB]igg?[lr]?|limits|math\w+|operatorname|text\w*|displaystyle|q?quad)\b\*?"
_ARTICLE = re.compile(r'<article class="bd-article".*</article>', re.DOTALL)
_COLOUR = re.compile(r'<span class="[a-z]{1,2}[a-z0-9]?">([^<]*)</span>')
_LISTS = re.compile(r"(</?)(d[dlt])\b")  # inside a dt lxml has no lists, as a call has them: read by another name
_TYPED = re.compile(r"\$([^$]*\\[a-zA-Z][^$]*)\$")  # a formula in the code of a cell
_LINES = ("p", "div", "li", "td", "th", "x-dt", "x-dd", "pre", "figcaption", "summary")  # after these a word ends


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


def _classes(tag: HtmlElement) -> set[str]:
    return set(tag.get("class", "").split())


def _silent(tag: HtmlElement) -> bool:
    """Whether an element says nothing that one would search for."""
    classes, above = _classes(tag), tag.getparent()
    if tag.tag in _SILENT or "data-live" in tag.attrib or not _SILENT_CLASSES.isdisjoint(classes) or "tag_setup" in classes:
        return True
    if tag.tag == "pre":  # numbers that a cell printed
        return any("cell_output" in _classes(around) for around in tag.iterancestors())
    if "cell_input" in classes:  # how a picture is drawn, and how a claim is put to the test
        return not _UNREAD.isdisjoint(next(around for around in map(_classes, tag.iterancestors()) if "cell" in around))
    if tag.tag == "tr":  # of the list of all claims: where it leads, its card says the same
        return bool(tag.xpath("td[1][a[contains(@href, '#claim-')] or p/a[contains(@href, '#claim-')]]"))
    return tag.tag == "summary" and above.tag == "details" and "hide" in _classes(above)


def _say(tag: HtmlElement, words: str) -> None:
    """Let an element say these words, and nothing else."""
    tag[:] = []
    tag.text = words


def sections(page: str) -> list[tuple[str, str, str]]:
    """The sections of a built page, and the entries of the reference on it: anchor, heading, text."""
    found_article = _ARTICLE.search(page)
    if found_article is None:
        return []
    article = lxml.html.fromstring(_LISTS.sub(r"\1x-\2", uncoloured(found_article[0])))
    for silent in [tag for tag in article.iter(etree.Element) if _silent(tag)]:
        silent.drop_tree()
    for code in article.iter("pre"):
        _say(code, _IMPORTS.sub("", code.text_content()))
    for formula in [tag for tag in article.iter("span", "div") if "math" in _classes(tag)]:
        _say(formula, f" {plain(formula.text_content())} ")
    found: list[tuple[str, str, list[str]]] = []

    def walk(node: HtmlElement, own: list[str]) -> None:
        heading = next(node.iterchildren("h1", "h2", "h3", "h4", "h5", "h6"), None) if node.tag == "section" else None
        if heading is not None:
            own = _begin(found, node.get("id"), heading.text_content())
            heading.drop_tree()
        call = next((dt for dt in node.iterchildren("x-dt") if dt.get("id")), None) if "py" in _classes(node) else None
        if call is not None:  # an entry of the reference: what it says comes before how it is called
            name = call.get("id")
            own = _begin(found, name, ".".join(name.split(".")[2:]) or name)
            call.drop_tree()
        own.append(node.text or "")
        for child in node:
            if isinstance(child.tag, str):  # and no comment
                walk(child, own)
            own.append(child.tail or "")
        if call is not None:
            own.append(call.text_content())
        if node.tag in _LINES:
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
