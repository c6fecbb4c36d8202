"""The book builds without a warning, and its pages keep together: links, figures, examples, notation."""

import contextlib
import dataclasses
import inspect
import io
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import course
import pytest
from bs4 import Tag
from helpers.built_book import PAGES, ROOT, Book, parsed, places
from helpers.hostile import packages

import attnlib

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "link": "href"}
STYLE_LOADS = re.compile(r"""(url\(|@import)\s*["']?(https?:)?//[^)"']+""")
SITE = urlsplit(course.repository().site).path
OUTSIDE = re.compile(r"^(https?:)?//")


def example(page: str) -> str:
    """The first Python example of a Markdown page."""
    found = re.search(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found, f"{page} has no Python example"
    return found[1]


def place(book: Book, page: Path, path: str) -> Path:
    """The file that a page's link leads to. The page for wrong addresses is shown at any depth: its links begin at the root."""
    path = unquote(path)
    return book.html / path.removeprefix(SITE) if path.startswith(SITE) else (page.parent / path).resolve()


def leads_away(tag: Tag) -> bool:
    return tag.has_attr("href") or tag.has_attr("src")


def test_builds_without_a_warning(book):
    assert book.returncode == 0, book.log[-6000:]
    assert "build succeeded." in book.log, book.log[-6000:]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_the_contents_is_built(book, page):
    heading = parsed(book.html / page).select_one("article h1")
    assert heading is not None
    assert heading.get_text(strip=True)


def test_no_dead_link_inside(book):
    dead = []
    for page in book.pages:
        leads = {tag.get("href") or tag.get("src") or "" for tag in parsed(page).find_all(leads_away)}
        for link in leads - {"#"}:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = place(book, page, address.path) if address.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                dead.append(f"{page.relative_to(book.html)}: {link} is not there")
            elif address.fragment and target.suffix == ".html" and unquote(address.fragment) not in places(target):
                dead.append(f"{page.relative_to(book.html)}: {link} has no such place in it")
    assert not dead, "\n".join(dead)


def test_every_picture_says_what_it_shows(book):
    """A figure takes a sentence. Sphinx puts the file's name where the author said nothing."""
    silent = [
        f"{page.relative_to(book.html)}: {image.get('src')}"
        for page in book.pages
        for image in parsed(page).find_all("img")
        if not image.get("alt") or "_images/" in image["alt"] or (image.find_parent("article") and len(image["alt"]) < 30)
    ]
    shown = [image for page in book.pages for image in parsed(page).select("article img")]
    assert len(shown) > 1
    assert not silent, "\n".join(silent)


def test_nothing_is_loaded_from_outside(book):
    """Links may lead away; scripts, styles, fonts and pictures must be here. Style sheets are read too."""
    outside, sheets = [], set()
    for page in book.pages:
        for tag in parsed(page).find_all(list(LOADS)):
            address = tag.get(LOADS[tag.name])
            if address is None or "canonical" in tag.get("rel", []):
                continue
            if OUTSIDE.match(address):
                outside.append(f"{page.relative_to(book.html)}: {address}")
            elif "stylesheet" in tag.get("rel", []):
                sheets.add(place(book, page, urlsplit(address).path))
    assert sheets
    for sheet in sheets:
        rules = sheet.read_text(encoding="utf-8")
        outside += [
            f"{sheet.name}: {found[0]}" for found in re.finditer(r"""(url\(|@import)\s*["']?(https?:)?//[^)"']+""", rules)
        ]
    assert not outside, "\n".join(outside)


@pytest.mark.parametrize("page", ["README.md", "book/index.md", "book/how_to_use.md"])
def test_examples_run(page):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example(page), page, "exec"), {})  # the example is ours: it stands in the repository
    expected = {"book/how_to_use.md": "torch.Size([2, 10, 64])"}.get(page, "True")
    assert printed.getvalue().strip() == expected


def test_notation_names_exist():
    """Each code name is something in attnlib, or a parameter or field of something in attnlib."""
    things = {name: getattr(package, name) for package in (attnlib, *packages()) for name in package.__all__}
    names = set(things)
    for name, thing in things.items():
        assert callable(thing), name
        if (isinstance(thing, type) and not issubclass(thing, Exception)) or inspect.isfunction(thing):
            names |= set(inspect.signature(thing).parameters)
        names |= {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    table = (ROOT / "book" / "notation.md").read_text(encoding="utf-8").split("## Signs")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if line.startswith("| ")]
    assert rows[0][1].strip() == "code name"
    code = [found for row in rows[1:] for found in re.findall(r"`([^`]+)`", row[1])]
    assert len(code) >= 20
    assert not set(code) - names
