"""Where lines end on the built pages, how large the words of pictures are on a phone, how numbers are written."""

import base64
import io
import re

import book_lines
import course
import matplotlib as mpl
import pytest
import reading
from bs4 import NavigableString, Tag
from helpers.built_book import NOTEBOOKS, ROOT, parsed
from PIL import Image

PHONE = 390  # CSS pixels, all of which a figure takes
WIDE = 88  # characters in a line of code
LEAST = 8  # of them, in the height of a letter's line
STYLE = mpl.rc_params_from_file(ROOT / "attnlib/course/plots.mplstyle", use_default_template=False)
TYPE = min(size for name, size in STYLE.items() if name.endswith("size") and "marker" not in name and isinstance(size, float))
SILENT = ("pre", "code", "script", "style", "svg")
CHAPTERS = [f"{source}.html" for source in NOTEBOOKS]
every_chapter = pytest.mark.parametrize("path", CHAPTERS)


def pictures(path):
    """Each picture of a notebook: its cell, and how wide it is in inches and in CSS pixels."""
    for cell in course.code_cells(course.read(ROOT / path.replace(".html", ".ipynb"))):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                with Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))) as picture:
                    yield cell, picture.width / picture.info["dpi"][0], output.metadata["image/png"]["width"]


def points(source):
    """The smallest type of a cell, in points: the style's, or what the cell asks for itself."""
    own = re.findall(r"(?:font_?size|label_?size|title_?size)\W{0,3}=?\s*([\d.]+)", source)
    return min([TYPE, *map(float, own)])


def height(source, inches, shown):
    """Of its smallest type on a phone, in CSS pixels: a point is a 72nd of an inch, a wide picture shrinks to the screen."""
    return points(source) / 72 * min(shown, PHONE) / inches


@every_chapter
def test_words_of_pictures_can_be_read_on_a_phone(path):
    assert min(height(cell.source, inches, shown) for cell, inches, shown in pictures(path)) >= LEAST


def test_a_picture_of_two_panels_side_by_side_could_not():
    assert height("plt.subplots(1, 2, figsize=(7.2, 3))", 7.31, 804) < LEAST < height("plt.subplots()", 6.51, 716)
    assert height('ax.text(0, 0, "a", fontsize=9)', 6.51, 716) < LEAST
    assert height("nx.draw(graph, font_size=8)", 6.51, 716) < LEAST


@pytest.mark.parametrize(("written", "kept"), [
    ("off by 3.3 % of", "off by 3.3\u00a0% of"),
    ("4 ± 2 %, 20 ms a step", "4\u00a0±\u00a02\u00a0%, 20\u00a0ms a step"),
    ("2 × 10", "2\u00a0×\u00a010"),
    ("3 steps, 5 spins; a % b", "3 steps, 5 spins; a\u00a0% b"),
    ("at β = 2 and z ≤ −1; beta = 2", "at β\u00a0=\u00a02 and z\u00a0≤\u00a0−1; beta = 2"),
    ("at β g = 0.75 all", "at β\u00a0g\u00a0=\u00a00.75 all"),
])  # fmt: skip
def test_a_number_keeps_its_unit_and_a_letter_what_it_is_equal_to(written, kept):
    assert book_lines.kept(written) == kept


@pytest.mark.parametrize(("printed", "kind"), [
    ("0.5 of 8", None),
    ("a sentence of more than thirty-seven letters", "sentences"),
    ("name               300 steps   1,000 steps\nsoftmax                 0.5           0.4", "columns-44"),
    ("a line of over forty letters, and another\nline of over forty letters, and a third one", "columns-44"),
    ("tensor([[0.0, 0.1, 0.2, 0.3, 0.4, 0.5],\n        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]])", "columns-40"),
    ("one line of columns  that is too wide for any table " + 20 * "-", "sentences"),
    ("two  columns that are\nwider  than a phone can show " + 40 * "-", None),
])  # fmt: skip
def test_what_is_printed_wraps_or_shrinks(printed, kind):
    assert book_lines.printed(printed) == kind


def texts(html):
    """What a page says outside code, formulas, scripts and live figures."""
    return [*said_in(html.select_one("article"))]


def said_in(tag):
    for part in tag.children:
        if type(part) is NavigableString:
            yield str(part)
        elif isinstance(part, Tag) and part.name not in SILENT and "math" not in part.get("class", ()):
            yield from said_in(part) if "data-live" not in part.attrs else ()


@pytest.mark.parametrize("path", [*CHAPTERS, "book/claims.html", "book/summary.html", "book/errata.html", "book/index.html"])
def test_no_line_of_the_page_ends_between_a_number_and_its_unit(book, path):
    torn = [text for text in texts(parsed(book.html / path)) if re.search(r"\d (?:%|±|ms\b)|± \d| %", text)]
    assert not torn


@pytest.mark.parametrize("path", [*CHAPTERS, "book/claims.html", "book/summary.html", "book/errata.html", "book/index.html"])
def test_thousands_have_a_comma(book, path):
    """Everywhere the same, but in formulas, years, and what has a number for a name."""
    said = " ".join(texts(parsed(book.html / path)))
    said = re.sub(r"https?://\S+|\d{4}\.\d{4,5}|\b(?:1[6-9]|20)\d\d\b|#\d+", "", said)
    assert not re.findall(r"\b\d{1,3}[ \u00a0\u202f\u2009]000\b", said)
    assert not re.findall(r"(?<![\d.,/\w-])\d{4,}\b(?!\.\d)", said)


@every_chapter
def test_what_a_page_prints_fits_a_phone(book, path):
    """It wraps, or it is no wider than the smallest type can show."""
    wide = []
    for block in parsed(book.html / path).select(".cell_output .output pre"):
        text = block.get_text().rstrip()
        table = not block.find_parent(class_="sentences")
        if table and max(map(len, text.splitlines()), default=0) > book_lines.WIDEST:
            wide += [text]
    assert not wide


@every_chapter
def test_lines_of_the_argument_fit_a_page(path):
    """Code that is not folded has at most as many columns as the site shows beside its contents."""
    for cell in course.code_cells(course.read(ROOT / path.replace(".html", ".ipynb"))):
        assert max(map(len, cell.source.splitlines()[: reading.visible(cell)]), default=0) <= WIDE, cell.source


@every_chapter
def test_what_a_proof_prints_says_what_it_is(path):
    """Its code is folded away on the site: the first line is a sentence, or the heading of the lines below it."""
    for cell in course.code_cells(course.read(ROOT / path.replace(".html", ".ipynb"))):
        if course.has_tag(cell, "proof"):
            for printed in (output.text for output in cell.outputs if output.output_type == "stream"):
                assert re.match(r"[A-Z].*(:|\bby|\.)$", printed.splitlines()[0]), printed
