"""The book as one PDF: contents, page numbers, every picture, live figures at rest. ``make book`` first.

    python tools/make_pdf.py [SITE] [--output FILE] [--pages PAGE ...]

Each page of the site is printed by a headless Chromium as a reader would print it, and numbered on; the contents in front lead
to the pages, and so do the bookmarks. The reference of the package is left out: it is for looking things up. A link from a page
to another leads to the site, since paper cannot.
"""

import argparse
import html
import io
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import course
import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SITE = course.ROOT / "_build" / "html"
NAME = "course.pdf"
LEFT_OUT = ("Reference",)
"""Parts of the table of contents that are not printed."""

NUMBERED = "@page {{ @bottom-center {{ content: counter(page); font: 9pt sans-serif; }} }} html {{ counter-reset: page {}; }}"
READY = """async () => {
  document.documentElement.dataset.theme = 'light';
  document.querySelectorAll('article img').forEach(image => { image.loading = 'eager'; });
  await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
  await window.formulas;
  await document.fonts.ready;
}"""
LINKS = """site => document.querySelectorAll('article a[href]').forEach(link => {
  const place = link.getAttribute('href');
  if (place.startsWith('#') || /^[a-z]+:/.test(place)) return;
  link.href = new URL(place, site + document.documentElement.dataset.page).href;
})"""
STYLE = """body { font: 10.5pt/1.5 sans-serif; margin: 0; } h1 { font-size: 26pt; margin: 40mm 0 4mm; } h2 { font-size: 11pt;
  margin: 4mm 0 1mm; } p { margin: 0; } .row { display: flex; } .row span:first-child { flex: 1; } @page { margin: 16mm 15mm;
  size: A4; }"""


@dataclass
class Part:
    """A part of the book, with its pages: where they are, their titles, and the sheets that they begin at."""

    title: str
    pages: list[str]
    titles: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


def parts(root: Path = course.ROOT) -> list[Part]:
    """What is printed, in the order of the table of contents; the landing page is the first."""
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found = [Part("", [contents["root"]])]
    found += [Part(part["caption"], [page["file"] for page in part["chapters"]]) for part in contents["parts"]]
    return [part for part in found if part.title not in LEFT_OUT]


def chosen(asked: list[Part], pages: list[str] | None) -> list[Part]:
    """Only these pages; all where none are named.

    Raises:
        ValueError: a page that is not in the contents.
    """
    known = [page for part in asked for page in part.pages]
    unknown = [page for page in pages or () if page not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not in the table of contents; expected one of {', '.join(known)}")
    found = [Part(part.title, [page for page in part.pages if not pages or page in pages]) for part in asked]
    return [part for part in found if part.pages]


def printed(tab: Any, before: int) -> bytes:
    """What the tab shows, as A4 sheets that are numbered from the next number on."""
    tab.add_style_tag(content=NUMBERED.format(before))
    made: bytes = tab.pdf(format="A4", prefer_css_page_size=True, print_background=True)
    return made


def front(tab: Any, book: list[Part], address: str) -> bytes:
    """The title and the contents."""
    rows = []
    for part in book:
        rows += [f"<h2>{html.escape(part.title)}</h2>"] if part.title else []
        lines = zip(part.titles, part.starts, strict=True)
        rows += [f'<p class="row"><span>{html.escape(title)}</span><span>{start}</span></p>' for title, start in lines]
    site = f'<p>Live figures, code to run and all links: <a href="{address}">{address}</a></p>'
    tab.set_content(f"<html lang=en><style>{STYLE}</style><h1>Attention as Physics</h1>{site}{''.join(rows)}</html>")
    return printed(tab, 0)


def sheets(pdf: bytes) -> int:
    return len(PdfReader(io.BytesIO(pdf)).pages)


def make(site: Path, book: list[Part], say: Callable[[str], None] = print) -> PdfWriter:
    """The book as a PDF that has not been written yet.

    Raises:
        FileNotFoundError: no browser, or a page that has not been built.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise FileNotFoundError(f"no browser; install one of {', '.join(BROWSERS)}")
    address, made = course.repository().site, {}
    with sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=browser)
        tab = window.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light", reduced_motion="reduce")
        for part in book:
            part.titles, part.starts = [f"{page}" for page in part.pages], [0] * len(part.pages)
        before = sheets(front(tab, book, address))  # as long as it will be
        for part in book:
            for place, page in enumerate(part.pages):
                path = site / f"{page}.html"
                if not path.is_file():
                    raise FileNotFoundError(f"{path.name} has not been built; expected make book before")
                tab.goto(path.as_uri())
                tab.evaluate(READY)
                tab.evaluate(f"document.documentElement.dataset.page = {f'{page}.html'!r}")
                tab.evaluate(LINKS, address)
                heading = tab.locator("article h1").first.evaluate("head => head.firstChild.textContent")
                part.titles[place], part.starts[place] = heading.strip(), before + 1
                made[page] = printed(tab, before)
                before += sheets(made[page])
                say(f"{page}: {sheets(made[page])} sheets")
        cover = front(tab, book, address)
        window.close()
    return bound(book, cover, made)


def bound(book: list[Part], cover: bytes, made: dict[str, bytes]) -> PdfWriter:
    """All sheets one after another, with bookmarks."""
    writer = PdfWriter()
    writer.append(io.BytesIO(cover), import_outline=False)
    for part in book:
        for page in part.pages:
            writer.append(io.BytesIO(made[page]), import_outline=False)
    for part in book:
        above = writer.add_outline_item(title=part.title, page_number=part.starts[0] - 1) if part.title else None
        for title, start in zip(part.titles, part.starts, strict=True):
            writer.add_outline_item(title=title, page_number=start - 1, parent=above)
    writer.add_metadata({"/Title": "Attention as Physics", "/Author": "The Attention as Physics authors"})
    return writer


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", nargs="?", type=Path, default=SITE, help="the built site (default: _build/html)")
    parser.add_argument("--output", type=Path, help=f"the PDF (default: {NAME} in the site)")
    parser.add_argument("--pages", nargs="+", metavar="PAGE", help="only these, as they stand in _toc.yml")
    asked = parser.parse_args(arguments)
    target = asked.output or asked.site / NAME
    try:
        writer = make(asked.site.resolve(), chosen(parts(), asked.pages))
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    writer.write(target)
    print(f"{target}: {len(writer.pages)} sheets, {target.stat().st_size // 2**20} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
