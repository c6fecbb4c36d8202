"""The book as one PDF: every sheet has its number, the contents tell the truth, pictures and figures at rest are there."""

import re
import subprocess
import sys

import course
import make_pdf
import pytest
from helpers import browsers
from helpers.built_book import parsed
from pypdf import PdfReader

PAGES = ["book/index", "book/summary", "notebooks/07c_collectives_of_spins"]


def test_all_is_printed_but_the_reference():
    book = make_pdf.parts()
    pages = [page for part in book for page in part.pages]
    assert pages[0] == "book/index"
    assert {"notebooks/01_softmax_limits", "book/errata", "book/bibliography"} < set(pages)
    assert not [page for page in pages if page.startswith("book/api")]
    assert book[0].title == ""
    assert "Chapter 7. Transformers as collectives" in [part.title for part in book]


def test_pages_are_chosen_by_their_names():
    found = make_pdf.chosen(make_pdf.parts(), PAGES)
    assert [page for part in found for page in part.pages] == PAGES
    with pytest.raises(ValueError, match="'nowhere' is not in the table of contents"):
        make_pdf.chosen(make_pdf.parts(), ["nowhere"])


def test_it_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make_pdf, "BROWSERS", ("no-such-browser",))
    assert make_pdf.main([str(tmp_path)]) == 2
    assert "no browser; install one of no-such-browser" in capsys.readouterr().err


def run(*words):
    """The tool in a process of its own: a worker of these tests has a browser of its own already."""
    call = [sys.executable, str(course.ROOT / "tools" / "make_pdf.py"), *map(str, words)]
    return subprocess.run(call, text=True, capture_output=True, timeout=600, check=False)


@browsers.needed
@pytest.mark.slow
def test_a_page_that_is_not_built(tmp_path, browser):
    done = run(tmp_path)
    assert done.returncode == 2
    assert "index.html has not been built" in done.stderr


@pytest.mark.whole
@browsers.needed
def test_three_pages(book, browser, tmp_path):
    target = tmp_path / "book.pdf"
    done = run(book.html, "--output", target, "--pages", *PAGES)
    assert done.returncode == 0, done.stderr
    paper = PdfReader(target)
    words = [sheet.extract_text() for sheet in paper.pages]
    for number, text in enumerate(words, 1):
        assert re.search(rf"(^|\n)\s*{number}\s*($|\n)", text), f"sheet {number} has no number"
    marks = [mark for mark in paper.outline if not isinstance(mark, list)]
    below = [mark for part in paper.outline if isinstance(part, list) for mark in part]
    titles = {mark.title: paper.get_destination_page_number(mark) + 1 for mark in (*marks, *below)}
    walker = "7c. Collectives of spins"
    assert {"Attention as Physics", "The course on two sheets", walker} < set(titles)
    for title in ("Attention as Physics", "The course on two sheets", walker):
        assert title in words[titles[title] - 1]
        assert re.search(rf"{re.escape(title)}\s*{titles[title]}\b", words[0])
    shown = parsed(book.html / f"{PAGES[2]}.html").select("article figure > a img")
    drawn = sum(len(sheet.images) for sheet in paper.pages[titles[walker] - 1 :])
    assert drawn >= len(shown) > 3
    assert "Steps T" in "".join(words[titles[walker] - 1 :])  # the live figure, at rest
