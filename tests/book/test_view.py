"""The pages as they were built: folds that say what they hide, and numbers that agree with those in the notebooks."""

import re
import shutil
import subprocess
import sys

import course
import make_claims
import pytest
import reading
from helpers.built_book import NOTEBOOKS, ROOT, parsed

CHAPTERS = [f"{source}.html" for source in NOTEBOOKS]
every_chapter = pytest.mark.parametrize("path", CHAPTERS)


def notebook(path):
    return course.read(ROOT / path.replace(".html", ".ipynb"))


@every_chapter
def test_folds_say_what_they_hide(book, path):
    """One set-up; below each figure its code, but for what stands above a blank line; below claims what measured them."""
    html = parsed(book.html / path)
    said = [" ".join(fold.summary.get_text(" ").split()) for fold in html.select("details.code")]
    folds = ["Show Hide the set-up"]
    for cell in course.code_cells(notebook(path)):
        if course.has_tag(cell, reading.PROOF) and cell.outputs:
            folds.append("Show Hide how this was measured")
        elif course.has_tag(cell, reading.FOLDED) and (cell.outputs or "plt.show()" in cell.source):
            folds.append("Show Hide the code of this figure")
    assert said == folds
    setup = html.select_one("details.code").get_text()
    assert "import importlib.util" in setup
    assert "import matplotlib.pyplot as plt" in setup or "from functools" in setup


@pytest.mark.sweep(1 / 3)
@every_chapter
def test_nothing_of_the_code_is_lost_but_sentences_that_stand_on_cards(book, path):
    html = parsed(book.html / path)
    shown = "\n".join(block.get_text() for block in html.select("div.cell div.highlight"))
    squeezed = re.sub(r"\s", "", shown)
    for cell in course.code_cells(notebook(path)):
        proof = course.has_tag(cell, reading.PROOF)
        code = reading.without_sentences(cell.source) if proof else cell.source
        assert min(squeezed.find(re.sub(r"\s", "", line)) for line in code.splitlines()) >= 0, cell.source
        for claim in course.claims_shown(cell) if proof else ():
            words = re.sub(r"\W|\$[^$]*\$", "", claim.sentence)
            assert words not in re.sub(r"\W", "", shown)
            card = html.find(id=f"claim-{claim.id.replace('.', '-')}")
            assert card.find_parent("details", class_="code") is None


@every_chapter
def test_numbers_on_the_page_are_those_in_the_notebook(book, path):
    """Sphinx counts on its own; what it writes at things and into links agrees with what notebook readers see."""
    html = parsed(book.html / path)
    prose = "\n".join(cell.source for cell in notebook(path).cells if cell.cell_type == "markdown")
    numbers = dict(zip(re.findall(r'<a id="(eq[\w-]*)"></a>', prose), re.findall(r"\\tag\{([\d.]+)\}", prose), strict=True))
    assert numbers
    for name, number in numbers.items():
        assert html.find(id=f"equation-{name}").select_one(".eqno").find(string=True) == f"({number})"
    captions = [span.get_text().strip() for span in html.select("figcaption .caption-number")]
    assert captions == re.findall(r"\*\*(Fig\. [\d.]+)\.\*\*", prose)
    links = html.select('a[href^="#equation-"]:not(.headerlink)')
    assert len(links) == len(re.findall(r"\]\(#eq", prose))
    for link in links:
        name = link["href"].removeprefix("#equation-")
        assert link.get_text() == f"eq. {numbers[name]}" or not re.search(r"\d", link.get_text())
    assert "tag{" not in html.select_one("article").get_text()
    assert not html.select(".tag_caption")


@every_chapter
def test_results_wait_in_closed_folds(book, path):
    """A browser looks at two pages, and in the last tier at each: test_view_browser."""
    html = parsed(book.html / path)
    asked = [cell for cell in course.code_cells(notebook(path)) if reading.waits(cell)]
    waiting = html.select(".tag_predict")
    assert len(waiting) == len(asked)
    assert all(cell.find_parent("details", class_="predict") for cell in waiting)
    assert not html.select("article details[open]")
    questions = [words for words in html.select("article p") if "Predict, then run" in words.get_text()]
    assert not [words for words in questions if words.find_parent("details")]
    folds = html.select("details.predict")
    assert len(folds) == len(questions) >= 2
    for fold in folds:
        assert fold.summary.get_text().startswith("Run it")
        assert fold.find_all("p", recursive=False), "the answer"


@every_chapter
def test_claims_of_a_page_are_there_and_key_ones_in_no_fold_of_checks(book, path):
    html = parsed(book.html / path)
    (page,) = (page for page in course.notebooks() if page.stem in path)
    shown = [claim["id"] for claim in html.select("div.claim")]
    assert sorted(shown) == sorted(f"claim-{claim.id.replace('.', '-')}" for claim in make_claims.collect([page])[page])
    assert not html.select("div.claim[style], div.claim [style]")
    assert not html.select("details.checks div.claim.key")
    assert not {claim["id"] for claim in html.select("details.checks div.claim")} & {*shown[:3]}
    assert all(len(fold.select(".claim")) > 1 for fold in html.select("details.checks"))


def test_captions_stand_once_on_the_page(book):
    html = parsed(book.html / CHAPTERS[0])
    for caption in html.select("figcaption .caption-text"):
        assert html.select_one("article").get_text().count(caption.get_text()[:60]) == 1


FIGURE = """```{{figure}} {0}.png
:name: fig-{0}

What to see.
```
"""
EQUATION = """$$
x
$$ (eq-{0})

See [eq-{0}](#eq-{0}).

"""
SETTINGS = """extensions = ["myst_parser", "book_view"]
numfig = True
math_eqref_format = "eq. {number}"
myst_enable_extensions = ["dollarmath"]
"""


@pytest.mark.slow
def test_a_new_figure_renumbers_its_chapter_only(tmp_path):
    """A small book of two chapters, the first of two pages; a second build, after a figure came, writes again what it must."""
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    (source / "conf.py").write_text(SETTINGS)
    pages = {"2a": "02a_one", "2b": "02b_two", "3": "03_three"}
    listed = "\n".join(pages.values())
    (source / "index.md").write_text(f"# Book\n\n{FIGURE.format('cover')}\n```{{toctree}}\n{listed}\n```\n")
    for one in ("cover", "new", *pages):
        shutil.copy(ROOT / "book/_static/card.png", source / f"{one}.png")
    for one, name in pages.items():
        (source / f"{name}.md").write_text(f"# {one}\n\n## Part\n\n{EQUATION.format(one)}{FIGURE.format(one)}")

    def numbers():
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(source), str(site)]
        done = subprocess.run(command, env={"PYTHONPATH": str(ROOT / "tools")}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        texts = {name: (site / f"{name}.html").read_text(encoding="utf-8") for name in ("index", *pages.values())}
        found = r'<span class="eqno">\(([\d.]+)\)|caption-number">Fig\. ([\d.]+)|>(eq\. [\d.]+)<'
        return {name: ["".join(one) for one in re.findall(found, text)] for name, text in texts.items()}

    def page(chapter, *which):
        return [said for n in which for said in (f"{chapter}.{n}", f"eq. {chapter}.{n}", f"{chapter}.{n}")]

    assert numbers() == {"index": [], "02a_one": page(2, 1), "02b_two": page(2, 2), "03_three": page(3, 1)}
    first = source / "02a_one.md"
    first.write_text(first.read_text() + "\n" + EQUATION.format("new") + FIGURE.format("new"))
    assert numbers() == {"index": [], "02a_one": page(2, 1, 2), "02b_two": page(2, 3), "03_three": page(3, 1)}
