"""What a page weighs, told from its files: text on a slow line, scripts that wait, pictures that come when they are near."""

import gzip
import shutil
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import book_search
import book_site
import pytest
from helpers.built_book import NOTEBOOKS, PAGES, parsed
from helpers.slow_line import DRAWN, LATENCY, RATE, READ, STYLE, last_of_the_text

CHAPTERS = [f"{source}.html" for source in NOTEBOOKS]


@cache
def packed(path: Path) -> int:
    """Bytes of a file as a host sends text: compressed."""
    return len(gzip.compress(path.read_bytes(), 6))


@pytest.mark.parametrize("path", PAGES)
def test_text_waits_for_one_style_sheet_which_is_there_in_two_seconds_on_slow_4g(book, path):
    """A browser sees the same of a page of each kind, and in the last tier of each page: test_site_browser."""
    html = parsed(book.html / path)
    (sheet,) = html.select("link[rel=stylesheet]")
    assert sheet["href"].split("?")[0].endswith(STYLE)
    scripts = html.select("script[src]")
    assert all(script.has_attr("defer") for script in scripts)
    assert last_of_the_text(packed(book.html / path), packed(book.html / STYLE)) < READ - DRAWN
    engine = [script["data-later"] for script in html.select("script[data-later]")]
    own = [(book.html / path).parent / name.split("?")[0] for name in [*(script["src"] for script in scripts), *engine]]
    fonts = (book.html / "_static/mathjax").rglob("*.woff")
    letters = sum(file.stat().st_size for file in fonts) if html.select(".math") else 0
    fetched = sum(map(packed, [book.html / path, book.html / STYLE, *(file.resolve() for file in own)]))
    assert fetched + letters < 900_000


@pytest.mark.parametrize("path", CHAPTERS)
def test_the_first_picture_is_there_in_four_seconds_on_slow_4g(book, path):
    """All that is fetched before it shares the line: text, style and scripts, but not the engine that sets formulas.

    Where a live figure comes first it is part of the text.
    """
    html, place = parsed(book.html / path), (book.html / path).parent
    first = html.select_one("article img[src*=_images], article [data-live]")
    picture = 0 if first.has_attr("data-live") else (place / first["src"]).stat().st_size
    scripts = [place / script["src"].split("?")[0] for script in html.select("script[src]")]
    assert not [script for script in scripts if "mathjax" in str(script)]
    fetched = sum(map(packed, [book.html / path, book.html / STYLE, *(script.resolve() for script in scripts)]))
    assert 3 * LATENCY + (fetched + picture) / RATE < 4 - DRAWN


@pytest.mark.parametrize("path", CHAPTERS)
def test_pictures_come_when_they_are_near(book, path):
    lazy = [image.get("loading") for image in parsed(book.html / path).select("article img[src*=_images]")]
    assert set(lazy) == {"lazy"}


@pytest.mark.whole
def test_a_build_in_which_nothing_changed_changes_nothing(book, tmp_path):
    def everything() -> dict[str, bytes]:
        return {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}

    site = shutil.copytree(book.html, tmp_path / "html")
    before = everything()
    settings = SimpleNamespace(mathjax_path="mathjax/tex-chtml.js")
    env = SimpleNamespace(found_docs=[page.removesuffix(".html") for page in PAGES])
    app = SimpleNamespace(builder=SimpleNamespace(name="html"), outdir=site, config=settings, env=env)
    for extension in (book_site, book_search):
        extension.finish(app, None)
    assert [name for name, content in everything().items() if content != before.get(name)] == []
    assert len(before["_static/book.css"]) > 300_000
