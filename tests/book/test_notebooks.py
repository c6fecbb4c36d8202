"""The chapters' notebooks: their form, their measures, their claims, and that executing them again changes no byte."""

import ast
import base64
import io
import itertools
import json
import re
import shutil
import statistics
import subprocess

import course
import execute_notebooks
import make_claims
import nbformat
import pytest
import reading
import sync_pages
import yaml
from execute_notebooks import tidy, written
from PIL import Image

PAGES = course.notebooks()
every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def lines(cell):
    return len(cell.source.splitlines())


def lines_of_code(cell):
    """A claim counts as one line, however long its sentence is: that is prose."""
    plain = re.sub(r"(?m)^(\s*)[%!].*", r"\1pass", cell.source)
    calls = [
        node for node in ast.walk(ast.parse(plain)) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "claim"
    ]
    return lines(cell) - sum(call.end_lineno - call.lineno for call in calls)


def pictures(cell):
    return [output for output in cell.outputs if "image/png" in output.get("data", {})]


def test_there_are_pages():
    assert PAGES


@every_page
def test_was_executed_in_order_and_without_errors(path):
    cells = course.code_cells(course.read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]


@every_page
def test_is_as_the_executor_writes_it(path):
    assert course.text(tidy(course.read(path))) == path.read_text(encoding="utf-8"), "run: make notebooks"
    assert path.stat().st_size < 2_000_000


@every_page
def test_names_no_place_on_a_machine(path):
    found = re.findall(
        r"(?<![\w.:/])/(?:home|root|usr|tmp|var|work|opt|Users|private)/[\w./-]+", path.read_text(encoding="utf-8")
    )
    assert not found


@every_page
def test_every_figure_has_a_caption_and_an_alternative_text(path):
    for cell in course.code_cells(course.read(path)):
        if pictures(cell) or "plt.show()" in cell.source:
            said = cell.metadata.get("mystnb", {})
            caption, alt = said.get("figure", {}).get("caption", ""), said.get("image", {}).get("alt", "")
            assert len(caption.split()) >= 6, f"caption of\n{cell.source}"
            assert len(alt.split()) >= 8, f"alternative text of\n{cell.source}"
            assert caption != alt


@every_page
def test_pictures_have_two_pixels_for_one_and_say_so(path):
    """And few colours, which keeps them small."""
    for cell in course.code_cells(course.read(path)):
        for output in pictures(cell):
            with Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))) as picture:
                shown = output.metadata["image/png"]
                assert picture.size == pytest.approx((2 * shown["width"], 2 * shown["height"]), abs=1)
                assert picture.mode == "P"


@every_page
def test_style_sheet_is_the_only_place_of_fonts_and_colours(path):
    for cell in course.code_cells(course.read(path)):
        found = re.findall(r"#[0-9a-fA-F]{6}\b|\bdpi\b|fontsize|fontfamily|rcParams", cell.source)
        assert not found, cell.source
        if "plt." in cell.source:
            words = [
                n.value for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Constant) and isinstance(n.value, str)
            ]
            assert not [said for said in words if re.search(r"\b(?:beta|sigma|sqrt)\b", said)], cell.source


@every_page
def test_ends_at_the_bibliography(path):
    last = course.read(path).cells[-1].source
    assert re.search(r"Full entries(:| are in the) \[bibliography\]\(../book/bibliography.md\)\.", last)


@every_page
def test_keeps_the_measures_of_a_page(path):
    nb = course.read(path)
    assert 15 <= len(course.code_cells(nb)) <= 80
    assert max(map(lines, course.code_cells(nb))) <= 25
    assert 1500 <= course.words(nb) <= 3500


# Two layers: argument and proof


@every_page
def test_cells_of_a_page_are_short(path):
    visible = [n for cell in course.code_cells(course.read(path)) if (n := reading.visible(cell))]
    assert max(visible) <= 14
    assert statistics.median(visible) <= 8
    assert sum(visible) <= 150


@every_page
def test_claims_are_made_in_proofs_and_in_nothing_else(path):
    """A proof makes claims, or prepares the proof below it; it draws nothing."""
    cells = [cell for cell in course.read(path).cells if not course.has_tag(cell, "generated")]
    for cell, below in itertools.pairwise(cells):
        if cell.cell_type == "code":
            claims = bool(course.claims_asked(cell))
            prepares = not cell.outputs and below.cell_type == "code" and course.has_tag(below, reading.PROOF)
            assert course.has_tag(cell, reading.PROOF) == claims or (course.has_tag(cell, reading.PROOF) and prepares), (
                cell.source
            )
            assert not (claims and reading.is_figure(cell))


@every_page
def test_the_argument_needs_no_proof(path):
    """What stands open, and what is drawn, reads no name that only a proof has bound."""
    shown: set[str] = set()
    proved: set[str] = set()
    for cell in course.code_cells(course.read(path)):
        bound, read = reading.names(cell.source)
        if course.has_tag(cell, reading.PROOF):
            proved |= bound - shown
        else:
            assert not read & proved - bound, cell.source
            shown |= bound
            proved -= bound


@every_page
def test_a_live_figure_comes_early(path):
    """In the first fifth of its page, by words; code that is not folded counts with its lines as ten words each."""
    nb = course.read(path)
    length, place = 0, None
    for cell in nb.cells:
        if cell.cell_type == "code":
            if place is None and any(
                "data-live" in str(output.get("data", {}).get("text/html", "")) for output in cell.outputs
            ):
                place = length
            length += 10 * reading.visible(cell)
        else:
            length += course.words(nbformat.v4.new_notebook(cells=[cell]))
    assert place is not None
    assert place <= length / 5


@every_page
def test_reads_well_in_colab(path):
    prose = [cell.source for cell in course.read(path).cells if cell.cell_type == "markdown"]
    shown_raw = re.compile(
        r"^\s*(?:```|:::+|~~~)\s*\{[\w:-]+\}|\{(?:eq|ref|numref|doc|cite\w*|math|term|prf:ref)(?::\w+)?\}`", re.MULTILINE
    )
    assert not [source for source in prose if shown_raw.search(source)]


@every_page
def test_title_carries_the_number_of_the_file(path):
    number, letter = re.match(r"0*(\d+)([a-z]?)_", path.name).groups()
    assert course.title(course.read(path)).startswith(f"{number}{letter}. ")


@every_page
def test_sections_are_numbered_in_order(path):
    prose = "\n".join(cell.source for cell in course.read(path).cells if cell.cell_type == "markdown")
    found = [int(number) for number in re.findall(r"^## (\d+)\. ", prose, re.MULTILINE)]
    assert found == list(range(1, len(found) + 1))
    assert len(found) >= 3


@every_page
def test_begins_with_title_generated_line_and_set_up(path):
    nb = course.read(path)
    assert nb.cells[0].source.startswith("# ")
    assert course.has_tag(nb.cells[1], "generated")
    setup = course.code_cells(nb)[0]
    assert course.has_tag(setup, "setup")
    assert lines(setup) <= 6
    assert not setup.outputs


@every_page
def test_trains_on_one_thread(path):
    """For small matrices two threads take three times the processor time of one, and no test would notice: all run on one."""
    _, imports, *rest = course.code_cells(course.read(path))
    if any(re.search(r"\boptim\.|\bteach\(", cell.source) for cell in rest):
        assert "torch.set_num_threads(1)" in imports.source


def test_set_up_cell_is_the_same_on_every_page():
    assert len({course.code_cells(course.read(path))[0].source for path in PAGES}) == 1


def test_generated_lines_and_addresses_are_up_to_date():
    assert not sync_pages.stale(), "run: make pages"


def test_a_new_address_reaches_every_file(tmp_path):
    where = course.repository()
    (tmp_path / "notebooks").mkdir()
    shutil.copy(PAGES[0], tmp_path / "notebooks")
    (tmp_path / "README.md").write_text(f"{where.url} and {where.slug.replace('/', '.github.io/')}")
    moved = {"repository": {"url": "https://github.com/someone/elsewhere", "branch": "next"}}
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(moved))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    found = {path.name: content for path, content in sync_pages.stale(tmp_path).items()}
    assert found["README.md"] == "https://github.com/someone/elsewhere and someone.github.io/elsewhere"
    assert "git+https://github.com/someone/elsewhere@next" in found[PAGES[0].name]
    assert where.slug not in found[PAGES[0].name]


# What a reader is shown: folds, predictions, captions, numbers


def section(cells):
    """The place of the first heading below the title."""
    return next(
        i for i, cell in enumerate(cells) if cell.cell_type == "markdown" and re.search("^## ", cell.source, re.MULTILINE)
    )


@every_page
def test_set_up_and_drawing_fold_and_nothing_else_does(path):
    cells = course.read(path).cells
    for i, cell in enumerate(cells):
        if cell.cell_type == "code":
            draws = cell.source.endswith("plt.show()") or "caption" in cell.metadata.get("mystnb", {}).get("figure", {})
            folds = i < section(cells) or (draws and "claim(" not in cell.source)
            assert course.has_tag(cell, "hide-input") == folds, cell.source
            hidden = cell.source.splitlines()[reading.open_lines(cell.source) :] if folds and i > section(cells) else []
            assert not [line for line in hidden if re.match(r"(?:def|class) |\s*claim\(", line)], cell.source


@every_page
def test_what_is_to_be_predicted_waits(path):
    """From each question to its folded answer, the cells from the first with an output on have the tag; no others have it."""
    waits, wanted = [], []
    asked = shown = False
    for cell in course.read(path).cells:
        if cell.cell_type == "code":
            waits.append(course.has_tag(cell, "predict"))
            shown = asked and (shown or bool(cell.outputs))
            wanted.append(shown)
        elif not course.has_tag(cell, "generated"):
            assert not asked or cell.source.startswith("<details><summary>Answer</summary>")
            asked, shown = "Predict, then run" in cell.source, False
    assert waits == wanted
    assert not asked
    assert sum(waits) >= 3


@every_page
def test_each_figure_is_followed_by_its_caption(path):
    cells = course.read(path).cells
    named = [i for i, cell in enumerate(cells) if cell.cell_type == "code" and reading.named(cell)]
    assert named
    assert [i + 1 for i in named] == [i for i, cell in enumerate(cells) if course.has_tag(cell, "caption")]
    for i in named:
        number, said = re.fullmatch(r"> \*\*Fig\. (\d+\.\d+)\.\*\* (.+)", cells[i + 1].source).groups()
        assert number.startswith(reading.chapter(path.stem) + ".")
        assert said == cells[i].metadata.mystnb.figure.caption
        assert {"generated", "remove-cell"} <= {*cells[i + 1].metadata.tags}


def test_numbers_run_through_each_chapter_and_links_show_them():
    prose = {path: "\n".join(c.source for c in course.read(path).cells if c.cell_type == "markdown") for path in PAGES}
    counts = {}
    for path, text in prose.items():
        for kind, mark in (("eq", r"\\tag\{(\d+)\.(\d+)\}"), ("fig", r"\*\*Fig\. (\d+)\.(\d+)\.\*\*")):
            for chapter, number in re.findall(mark, text):
                counts[kind, chapter] = counts.get((kind, chapter), 0) + 1
                assert (chapter, int(number)) == (reading.chapter(path.stem), counts[kind, chapter])
        at = dict(re.findall(r'<a id="(eq[\w-]*)"></a>\n\n\$\$\n(?:(?!\$\$).)*\\tag\{([\d.]+)\}\n\$\$', text, re.DOTALL))
        assert len(at) == text.count("\\tag{") == text.count('<a id="eq')
        said = re.findall(r"\[eq\. ([\d.]+)\]\(#([\w-]+)\)", text)
        assert said
        assert [(number, name) for number, name in said if at[name] != number] == []
        assert not re.search(r"\(eq-[\w-]+\)|\[eq-", text), "run: make pages"
    assert min(counts.values()) >= 8


def page_of(*cells):
    new = nbformat.v4
    return new.new_notebook(cells=[new.new_code_cell(c[1:]) if c.startswith("!") else new.new_markdown_cell(c) for c in cells])


QUESTION = "**Predict, then run.** How much?"
ANSWER = "<details><summary>Answer</summary>\n\nMuch.\n\n</details>"


def test_a_new_page_gets_its_marks():
    nb = page_of(
        "# 9. A page", "!import torch", "## A section\n\n$$\nx\n$$ (eq-new)\n\nSee [eq-new](#eq-new).",
        "!x = 1\n\nplt.plot(x)\nplt.show()", "!plt.show()\nclaim('9.1', 'one', 1, below=2)",
        QUESTION, "!def f(x):\n    return x", "!y = f(1)\nprint(y)", "!z = y", ANSWER, "!y",
    )  # fmt: skip
    nb.cells[3].metadata["mystnb"] = {"figure": {"caption": "What to see.", "name": "fig-new"}}
    known = reading.numbers([("09_page", nb)])
    assert known == {"eq-new": "9.1", "fig-new": "9.1"}
    for _ in range(2):
        reading.complete(nb, known)
        assert [cell.metadata.get("tags", []) for cell in course.code_cells(nb)] == [
            ["hide-input"], ["hide-input"], [], [], ["predict"], ["predict"], [],
        ]  # fmt: skip
        text = '## A section\n\n<a id="eq-new"></a>\n\n$$\nx \\tag{9.1}\n$$\n\nSee [eq. 9.1](#eq-new).'
        assert nb.cells[2].source == text
        assert nb.cells[4].source == "> **Fig. 9.1.** What to see."
        assert reading.labelled(text) == "## A section\n\n$$\nx\n$$ (eq-new)\n\nSee [eq. 9.1](#eq-new)."


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("plot()", 0),
        ("import a\n\nplot()", 0),
        ("x = 1\n\nplot()", 2),
        ("def f():\n    x = 1\n\n    return x\n\n\nplot()\nplot()", 6),
        ("x = 1\n\ny = 2\n\n# why\nplot()", 4),
        ("%pip install x\nplot()", 0),
    ],
    ids=["one line", "imports", "blank line", "function", "comment", "magic"],
)
def test_code_above_the_last_blank_line_stays_open(source, count):
    assert reading.open_lines(source) == count


def test_sentences_of_claims_leave_the_code_of_a_proof():
    first = 'é = "β"; claim("9.1", r"One "\n      "two.", é, below=2)\n'
    source = first + 'claim("9.2", "Three.", 1); claim("9.3", "Four.", 1,\n      key=True)\n'
    left = 'é = "β"; claim("9.1", "…", é, below=2)\nclaim("9.2", "…", 1); claim("9.3", "…", 1,\n      key=True)\n'
    assert reading.without_sentences(source) == left


def test_lines_of_proofs_and_of_the_set_up_are_not_visible():
    nb = page_of(
        "# 9. A page",
        "!import a\nimport b",
        "## A section",
        "!x = 1\n\nplt.show()",
        "!x\ny",
        "!claim('9.1', 'one', 1, below=2)",
    )
    nb.cells[-1].metadata["tags"] = ["proof"]
    reading.complete(nb, {})
    assert [reading.visible(cell) for cell in course.code_cells(nb)] == [0, 2, 2, 0]


@pytest.mark.parametrize(
    ("source", "bound", "read"),
    [
        ("x = y", {"x"}, {"y"}),
        ("import a.b as c, d.e\nfrom f import g", {"c", "d", "g"}, set()),
        ("def f(x, n=k):\n    y = x + z\n    return y", {"f"}, {"k", "z"}),
        ("[i for i in row if i > low]", set(), {"row", "low"}),
        ("%pip install x\ny[0] = lambda x: x + w", set(), {"y", "w"}),
    ],
    ids=["name", "imports", "function", "comprehension", "lambda"],
)
def test_names_that_code_binds_and_looks_up(source, bound, read):
    assert reading.names(source) == (bound, read)


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ((QUESTION, "!print(1)", "And now?"), "no folded answer"),
        ((QUESTION, ANSWER), "no result"),
        ((QUESTION, "!x = 1", ANSWER), "no result"),
        (("See [eq-lost](#eq-lost).",), "no equation eq-lost"),
        (("$$\nx\n$$ (eq-twice)\n\n$$\nx\n$$ (eq-twice)",), "eq-twice for a second time"),
    ],
    ids=["no answer", "no cell", "nothing shown", "no equation", "one name, two equations"],
)
def test_a_page_that_cannot_be_marked_is_refused(cells, complaint):
    nb = page_of("# 9. A page", "## A section", *cells)
    with pytest.raises(reading.PageError, match=complaint):
        reading.complete(nb, reading.numbers([("09_page", nb)]))


def test_a_new_figure_and_equation_renumber_no_other_chapter():
    pages = [(path.stem, course.read(path)) for path in PAGES]
    before = reading.numbers(pages)
    cells = next(nb for name, nb in pages if name.startswith("02a")).cells
    cells.insert(5, nbformat.v4.new_markdown_cell("$$\nx\n$$ (eq-new)"))
    cells.insert(
        6, nbformat.v4.new_code_cell("plt.show()", metadata={"mystnb": {"figure": {"caption": "c", "name": "fig-new"}}})
    )
    after = reading.numbers(pages)
    moved = {name for name, number in before.items() if after[name] != number}
    assert len(moved) > 20
    assert {before[name].partition(".")[0] for name in moved} == {"2"}


# Claims


def test_page_of_claims_is_up_to_date():
    assert (course.ROOT / make_claims.PAGE).read_text(encoding="utf-8") == make_claims.page(), "run: make notebooks"


LEANS = re.compile(r"(?:And|Which|Where it|It|Its|There|Then|This|These|They|So|But)\b")
IN_LETTERS = re.compile(r"(?<![\\\w])(?:beta|sigma|rho|lambda|kappa)\b|\bsqrt|\^")


@every_page
def test_sentences_of_claims_stand_alone(path):
    """As far as a program can tell: a sentence, not a fragment that leans on the claim before it, short enough to be read."""
    shown = [one for cell in course.code_cells(course.read(path)) for one in course.claims_shown(cell)]
    for claim in shown:
        assert re.match(r"[A-Z$].{12,138}\.$", claim.sentence), claim
        assert not LEANS.match(claim.sentence), claim
        assert not IN_LETTERS.search(re.sub(r"\$[^$]*\$", "", claim.sentence)), claim
    assert len({claim.sentence for claim in shown}) == len(shown)


def place(id):
    """Chapter, number and letter of a claim: 3.10a comes after 3.10 and before 3.11."""
    chapter, number, letter = re.fullmatch(r"(\d+)\.(\d+)([a-z]?)", id).groups()
    return int(chapter), int(number), letter


def test_numbers_of_claims_ascend_through_the_pages():
    ids = [id for path in PAGES for cell in course.code_cells(course.read(path)) for id in course.claims_asked(cell)]
    assert len(ids) > 500
    assert ids == sorted(ids, key=place)


CITED = re.compile(r"""<a href="\.\./notebooks/(\w+)\.html#claim-([\w-]+)">([^<]*)</a>""")
WRITTEN = [
    path
    for path in sorted((course.ROOT / "book").glob("*.md"))
    if path.name != make_claims.PAGE.name and CITED.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_a_claim_that_a_page_in_words_cites_is_made_where_its_number_leads(page):
    home = {
        id: path.stem for path in PAGES for cell in course.code_cells(course.read(path)) for id in course.claims_asked(cell)
    }
    cited = [(*place, words.removeprefix("claim ")) for *place, words in CITED.findall(page.read_text(encoding="utf-8"))]
    assert not [found for found in cited if home.get(found[2]) != found[0] or found[1] != found[2].replace(".", "-")]


def test_each_row_of_the_closing_page_cites_claims():
    """In a table with a column of claims, each row ends with numbers, and each number is a link."""
    text = (course.ROOT / "book" / "what_physics_explains.md").read_text(encoding="utf-8")
    tables = [block.splitlines() for block in text.split("\n\n") if re.match(r"\|.*\| claims \|$", block.splitlines()[0])]
    rows = [line.removesuffix(" |").split(" | ")[-1] for table in tables for line in table[2:]]
    assert len(tables) == 4
    assert not [row for row in rows if set(CITED.split(row)[::4]) - {"", ", "} or not CITED.search(row)]


@every_page
def test_about_one_claim_a_section_is_the_key(path):
    nb = course.read(path)
    prose = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    sections = len(re.findall(r"^##+ \d", prose, re.MULTILINE))
    key = [one.id for cell in course.code_cells(nb) for one in course.claims_shown(cell) if one.key]
    assert sections / 2 <= len(key) <= sections + 1


def code_cell(source, *shown):
    outputs = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"text/plain": f"claim {id} | a sentence | measured 1 | bound < 2 | \u2713"},
        }
        for id in shown
    ]
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": outputs, "source": source}


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ([code_cell('claim("3.1", "a sentence", 1, below=2)')], "its output shows"),
        ([code_cell("for i in ids:\n    claim(i, 'a sentence', 1, below=2)", "3.1")], "makes the claims"),
        ([code_cell('claim("4.1", "a sentence", 1, below=2)', "4.1")], "not one of chapter 3"),
        ([code_cell('claim("3.1", "a sentence", 1, below=2)', "3.1")] * 2, "already made"),
    ],
    ids=["no output", "id not written out", "another chapter", "twice"],
)
def test_page_of_claims_refuses(tmp_path, cells, complaint):
    path = tmp_path / "03b_page.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    with pytest.raises(make_claims.ClaimsError, match=complaint):
        make_claims.collect([path])


def test_sanitizer_masks_what_was_measured_and_nothing_else():
    from attnlib.course.claims import Claim

    rules = re.findall(
        r"^regex: (.*)\nreplace: (.*)$", (course.ROOT / "tests/book/nbval_sanitize.cfg").read_text(), re.MULTILINE
    )

    def masked(id, sentence, measured, bound, key=False):
        made = Claim(id, sentence, measured, bound, key)
        shown = [str(made), made._repr_html_()]
        for regex, replacement in rules:
            shown = [re.sub(regex, replacement, one) for one in shown]
        return shown

    reference = masked("3.2", "a sentence", "1.2e-08", "< 1e-06")
    assert masked("3.2", "a sentence", "0.5", "< 1e-06") == reference
    assert masked("3.2a", "a sentence", "0.5", "< 1e-06") == masked("3.2a", "a sentence", "1", "< 1e-06")
    for other in [("3.3", "a sentence", "1", "< 1e-06"), ("3.2", "another", "1", "< 1e-06"), ("3.2", "a sentence", "1", "< 2")]:
        assert all(one != two for one, two in zip(masked(*other), reference, strict=True))
    assert masked("3.2", "a sentence", "0.5", "< 1e-06", True) == masked("3.2", "a sentence", "−2 × 10⁻⁸", "< 1e-06", True)


# Executing again


@every_page
def test_what_is_not_compared_between_processors_prints_and_claims_nothing(path):
    for cell in course.code_cells(course.read(path)):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            assert "claim(" not in cell.source
            assert {output.output_type for output in cell.outputs} == {"stream"}
            assert "teach" in "".join(other.source for other in course.code_cells(course.read(path)))


@every_page
@pytest.mark.sweep(1 / 4)
def test_bytes_of_a_second_run_are_compared(path):
    """After the cells of each page (conftest.py); here, that the comparison sees what it should see."""
    outputs = [cell.outputs for cell in course.code_cells(course.read(path))]
    assert written(path, outputs) == path.read_text(encoding="utf-8")
    for said in (output for cell in outputs for output in cell if "text" in output):
        said.text += " "
    assert written(path, outputs) != path.read_text(encoding="utf-8")


def runs_that_give(monkeypatch, *texts):
    """Let executions of pages give these texts, one after the other."""
    left = list(texts)
    monkeypatch.setattr(execute_notebooks, "execute", lambda path: left.pop(0))
    monkeypatch.setattr(execute_notebooks, "settle", lambda: None)


def test_a_page_whose_second_run_differs_is_not_written(tmp_path, monkeypatch, capsys):
    steady, loose = tmp_path / "01_steady.ipynb", tmp_path / "02_loose.ipynb"
    for page in (steady, loose):
        page.write_text("old")
    runs_that_give(monkeypatch, "a\nb\n", "a\nc\n", "new", "new")
    assert execute_notebooks.main([str(loose), str(steady)]) == 1
    assert (loose.read_text(), steady.read_text()) == ("old", "new")
    assert "02_loose.ipynb is not written: a second run gives other bytes, from line 2: b" in capsys.readouterr().err


def test_a_page_that_would_change_is_named_and_left_alone(tmp_path, monkeypatch, capsys):
    page = tmp_path / "01_page.ipynb"
    page.write_text("old")
    runs_that_give(monkeypatch, "new", "new", "old", "old")
    assert [execute_notebooks.main(["--check", str(page)]) for _ in range(2)] == [1, 0]
    assert page.read_text() == "old"
    assert "01_page.ipynb would change" in capsys.readouterr().err


def test_a_page_has_25_seconds_of_processor_time(tmp_path, monkeypatch, capsys):
    page, clock = tmp_path / "01_page.ipynb", iter([0, 3, 29, 0, 3, 29, 0, 25, 30])
    page.write_text("old")
    runs_that_give(monkeypatch, *["new"] * 6)
    monkeypatch.setattr(execute_notebooks, "spent", lambda: next(clock))
    assert [execute_notebooks.main([*more, str(page)]) for more in ((), ("--patient",), ())] == [1, 0, 0]
    assert "01_page.ipynb took 26 s of processor time; a page may take 25 s" in capsys.readouterr().err


def test_pages_are_found_by_the_beginning_of_their_names(capsys):
    assert [path.stem for path in execute_notebooks.pages(["02b_"])] == ["02b_translation"]
    assert execute_notebooks.pages(["01", "02"]) == [path for path in PAGES if path.name[:2] in ("01", "02")]
    assert execute_notebooks.pages([]) == PAGES
    with pytest.raises(SystemExit):
        execute_notebooks.main(["99"])
    assert "there is no page 99" in capsys.readouterr().err


@pytest.mark.slow
def test_a_page_is_executed_twice_in_kernels_whose_time_counts(tmp_path, monkeypatch):
    for name in ("OMP_NUM_THREADS", "PYTHONHASHSEED", "TQDM_DISABLE", "JUPYTER_PREFER_ENV_PATH", "IPYTHONDIR", "MPLBACKEND"):
        monkeypatch.setenv(name, "")  # what the executor sets is taken back
    page, said = tmp_path / "01_page.ipynb", tmp_path / "said"
    page.write_text(course.text(page_of("# 1. A page", f"!open({str(said)!r}, 'a').write('once ')\n2 + 2")))
    execute_notebooks.settle()
    first, second, seconds = execute_notebooks.twice(page)
    assert said.read_text() == "once once "
    assert first == second != page.read_text()
    assert '"4"' in first
    assert 0.1 < seconds < 10
