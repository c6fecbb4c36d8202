"""The built book in a browser: a server, a tab that writes down what goes wrong, and what is asked of many pages."""

import contextlib
import functools
import http.server
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from helpers import browsers
from helpers.built_book import NOTEBOOKS, PAGES

pytestmark = browsers.needed

ALL_PAGES = [*PAGES, "search.html"]
CHAPTER = "notebooks/04c_one_spin_reads_digits.html"
"""It has all that a chapter has, and less of it than most: the first one, with most formulas, costs twice as much to open."""
HEAVIEST = f"{NOTEBOOKS[0]}.html"
"""The chapter with most formulas and pictures, for what grows with them."""
PLAIN = "book/how_to_use.html"
"""A page without formulas and figures, for what any page would show."""
LANDING, CLAIMS, REFERENCE = "book/index.html", "book/claims.html", "book/api/attention.html"
KINDS = (LANDING, CHAPTER, CLAIMS, REFERENCE)
"""A page of each kind: what all pages share is asked of these in make test, and of every page in make test-all."""


def each(paths: Iterable[str], *kept: str) -> list[Any]:
    """Pages as parameters: those that make test looks at, a page of each kind unless told, and the others for make test-all."""
    mine = kept or KINDS
    return [path if path in mine else pytest.param(path, marks=pytest.mark.whole) for path in paths]


UNSET = """{
  const place = (how) => Object.defineProperty(window, "MathJax", { configurable: true, ...how });
  const set = (asked) => place({ value: { ...asked, startup: { typeset: false } }, writable: true });
  place({ get: () => undefined, set });
}"""
"""What a page is told before it begins: set no formula. That is two thirds of what it costs to open a chapter."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing: what matters is recorded in the browser."""


@contextlib.contextmanager
def served(folder: Path, handler: type[http.server.SimpleHTTPRequestHandler] = Quiet) -> Iterator[str]:
    """The address of a server of this folder."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@dataclass
class Tab:
    """A tab that writes down whatever goes wrong, and what asks for anything outside, which the browser does not let out."""

    page: Any
    base: str
    wrong: list[str] = field(default_factory=list)
    underway: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.on("request", self._asked)
        self.page.on("requestfinished", lambda request: self.underway.discard(request))
        self.page.on("requestfailed", lambda request: self.underway.discard(request))
        self.page.on("console", lambda said: said.type == "error" and self.wrong.append(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        self.page.on("requestfailed", lambda request: self.wrong.append(f"failed: {request.url}"))
        self.page.on("response", lambda got: got.status >= 400 and self.wrong.append(f"{got.status}: {got.url}"))

    def _asked(self, request: Any) -> None:
        self.underway.add(request)
        if not request.url.startswith((self.base, "data:", "blob:", "file:")):
            self.wrong.append(f"outside: {request.url}")

    def open(self, path: str, *, formulas: bool = True) -> Any:
        """The page when its scripts have run and its formulas are set; what the one before still fetched is not broken off.

        Without formulas it shows them as they are written: for what has nothing to do with them. Pages that it leads to have
        theirs.
        """
        self.rest()
        if not formulas:
            self.page.add_init_script(f"if (location.pathname.endsWith({json.dumps(urlsplit(path).path)})) {UNSET}")
        self.page.goto(path if path.startswith("file:") else self.base + path, wait_until="load")
        self.ready()
        return self.page

    def ready(self) -> None:
        """Wait until the formulas of a page that has been loaded are set, and their letters are there."""
        self.page.evaluate("async () => { await window.formulas; await document.fonts.ready; }")

    def rest(self) -> None:
        """Wait until everything that was asked for is there: leaving earlier breaks off what the page still fetches."""
        for _ in range(60_000):
            if not self.underway:
                return
            self.page.wait_for_timeout(10)
        raise AssertionError(f"still under way: {[request.url for request in self.underway]}")


def open_folds(page: Any) -> None:
    page.evaluate("document.querySelectorAll('article details').forEach(fold => fold.open = true)")
    drawn(page)


def resize(page: Any, width: int) -> None:
    """Wait until the page knows its new width and is laid out in it."""
    page.set_viewport_size({"width": width, "height": 844})
    page.wait_for_function("width => innerWidth === width", arg=width)
    drawn(page)


def drawn(page: Any) -> None:
    """Wait until the page has answered to what was done, by its own clock: its events, some frames; transitions are ended."""
    page.evaluate(
        """async () => {
          const frames = async () => {
            for (let frame = 0; frame < 3; frame++) await new Promise(done => requestAnimationFrame(done));
          };
          await new Promise(done => setTimeout(done));  // behind the events that were under way
          await frames();
          document.getAnimations().filter(one => one.effect.getComputedTiming().endTime < Infinity)
            .forEach(one => one.finish());  // waiting may take for ever: out of sight the clock of a transition can stand still
          await frames();
        }"""
    )


ALIKE = """() => {
  const rows = new Set(), parts = ':scope *:not(mjx-container *)';
  for (const row of document.querySelectorAll('article tbody tr')) {
    const told = (part) => `${part.tagName}.${part.className}(${part.getAttribute('style')}, ${part.getAttributeNames()})`;
    const said = (part) => told(part) + Boolean(part.textContent.trim());
    const kind = [row.closest('table'), row, ...row.querySelectorAll(parts)].map(said).join();
    if (rows.has(kind)) row.remove();
    rows.add(kind);
  }
  const seen = new Set(), code = 'div.highlight pre span[class], dt.sig span[class]';
  const others = 'mjx-container, [data-live], svg, a, button, label, summary';
  for (const part of document.querySelectorAll('article *')) {
    if (part.children.length || !part.textContent.trim() || part.closest(others)) continue;
    const isCode = part.matches(code);
    if (!isCode && part.getAttributeNames().some(name => name !== 'class')) continue;
    let kind = '';
    for (let at = part; at.tagName !== 'ARTICLE'; at = at.parentElement) {
      kind += `${at.tagName}.${at.className}(${at.getAttribute('style')}) `;
    }
    if (seen.has(kind)) isCode ? part.remove() : part.replaceChildren();
    seen.add(kind);
  }
  [...document.querySelectorAll('mjx-math')].slice(3).forEach(formula => formula.replaceWith(''));
}"""


WORDS = """() => {
  const seen = new Set(), names = new Set(['id', 'href', 'title', 'name']);
  for (const part of document.querySelectorAll('article *')) {
    const words = [...part.childNodes].filter(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!words.length || part.closest('mjx-container, [data-live], svg')) continue;
    let kind = '';
    for (let at = part; at.tagName !== 'ARTICLE'; at = at.parentElement) {
      const said = [...at.attributes].filter(one => !names.has(one.name)).map(one => `${one.name}=${one.value}`);
      kind += `${at.tagName} ${said.join(' ')}, `;
    }
    if (seen.has(kind)) words.forEach(node => { node.data = ' '; });
    seen.add(kind);
  }
}"""


def serious_faults(page: Any, *looks: Callable[[], None]) -> list[str]:
    """What axe finds serious, in each of the looks that are given. Of words and signs styled alike, one is looked at.

    Alike are words inside the same elements of the same classes and inline styles, without an attribute of their own, and rows
    of tables whose elements have the same classes, styles and attributes, and words in the same places. The
    others are taken away and not put back, which would take as long again: let this be a page's last test. The contrast of
    colours takes most of the time and asks for nothing but words: it comes last, when also those of links and between formulas
    are thinned out, of which all attributes count that can have a style.
    """
    page.evaluate(ALIKE)
    contrast, found = "color-contrast", []
    for look in looks or (lambda: None,):
        look()
        found.append(browsers.axe(page, rules={contrast: {"enabled": False}}))
        assert len(found[-1]["passes"]) > 10
    page.evaluate(WORDS)
    for look in reversed(looks or (lambda: None,)):
        look()
        found.append(browsers.axe(page, runOnly=[contrast]))
        assert [rule["id"] for rule in found[-1]["passes"]] == [contrast]
    return [
        f"{fault['id']}: {place['target']} {place['html'][:120]}"
        for one in found
        for fault in one["violations"]
        if fault["impact"] in ("serious", "critical")
        for place in fault["nodes"]
    ]


def background(page: Any, selector: str) -> list[float]:
    """Red, green, blue and opacity of the first such element's background."""
    colour = page.locator(selector).first.evaluate("element => getComputedStyle(element).backgroundColor")
    channels = [float(number) for number in re.findall(r"[\d.]+", colour)]
    return channels if len(channels) == 4 else [*channels, 1.0]
