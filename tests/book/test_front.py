"""The way in: the map says what the pages say, its links lead there, minutes add up, the equations fit on two sheets."""

import json
import re
from typing import Any

import book_front
import course
import pypdfium2
import pytest
from docutils.core import publish_doctree
from helpers import site
from helpers.built_book import parsed


def test_the_map_has_each_page_once_and_a_word_for_it():
    pages = book_front.pages()
    assert [page.file for page in pages.values()] == [path.stem for path in course.notebooks()]
    assert set(pages) <= set(book_front.SHORT)
    assert max(map(len, book_front.SHORT.values())) <= 12
    assert len(set(book_front.SHORT.values())) == len(book_front.SHORT)


def test_what_a_page_builds_on_comes_before_it():
    """So that there is no circle, and both orders of the landing page can be read."""
    order = list(book_front.pages())
    for page in book_front.pages().values():
        assert all(order.index(needed) < order.index(page.number) for needed in page.needs), page


def test_needs_are_those_of_the_pages_own_sentences():
    pages = book_front.pages()
    assert pages["2b"].needs == ("2a", "1")
    assert pages["3a"].needs == ()  # "The next page, 3b" stands in the sentence after
    assert set(book_front.before("2b")) == {"2b", "2a", "1"}


def test_an_arrow_is_lit_for_those_whose_way_it_is_on():
    drawn = book_front.drawn("")
    lines = dict.fromkeys(re.findall(r'<path class="([^"]*)" d=', drawn))
    assert sum(len(page.needs) for page in book_front.pages().values()) == drawn.count('<path class="to-')
    assert any({"to-2a", "to-2b"} <= set(line.split()) for line in lines)  # 1 to 2a is on the way to 2b
    assert not any({"to-3d", "to-2a"} <= set(line.split()) for line in lines)


def test_both_orders_put_nothing_before_what_it_builds_on_among_its_own():
    text = (course.ROOT / "book" / "index.md").read_text(encoding="utf-8")
    table = text.partition("## Two ways through")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| [")]
    for column in (0, 1):
        way = [place.lstrip("0") for row in rows for place in re.findall(r"notebooks/(\d\d\w?)_", row[column])]
        assert len(way) == len(set(way)) > 8
        for place, number in enumerate(way):
            later = set(book_front.pages()[number].needs) & set(way[place:])
            assert not later, f"{number} stands before {later}"
        said = re.findall(r"\{minutes\}`([^`]*)`", table)[column]
        assert set(said.split()) == set(way)


def test_minutes_add_up():
    pages = book_front.pages()
    assert book_front.time(["all"]) == sum(page.minutes for page in pages.values()) > 400
    assert book_front.time(["1", "2a"]) == pages["1"].minutes + pages["2a"].minutes
    assert [book_front.spoken(n) for n in (0, 45, 60, 155)] == ["no time", "45 minutes", "1 hour", "2 hours and 35 minutes"]


@pytest.mark.parametrize(("text", "said"), [(".. claim:: 99.1", "on no page"), (":minutes:`1 99`", "'99' is not there")])
def test_what_is_not_there_is_an_error(text, said, capsys):
    from docutils.parsers.rst import directives, roles

    directives.register_directive("claim", book_front.Claim)
    roles.register_local_role("minutes", book_front.minutes)
    publish_doctree(text)
    assert said in capsys.readouterr().err


def test_a_claims_card_is_that_of_its_page(book):
    for page, numbers in (("book/hour.html", ("1.30", "3.41", "5.83", "7.36", "7.70")),):
        cards = {card["aria-label"]: card for card in parsed(book.html / page).select("article div.claim")}
        assert list(cards) == [f"Claim {number}" for number in numbers]
        for number in numbers:
            one, path = book_front.claims()[number]
            card = cards[f"Claim {number}"]
            there = parsed(book.html / "notebooks" / f"{path.stem}.html").select_one(f"#claim-{number.replace('.', '-')}")
            assert there is not None
            assert card.select_one(".claim-measured").get_text() == f"measured {one.measured}"
            assert card.select_one(".claim-bound").get_text() == f"bound {one.bound}"


def test_equations_of_the_summary_have_the_numbers_of_their_pages(book):
    links = parsed(book.html / "book/summary.html").select("article td a[href*='#equation-']")
    assert len(links) > 30
    for link in links:
        assert re.fullmatch(r"\(?(eq\. )?\d\.\d+\)?", link.get_text()), link
    source = (course.ROOT / "book" / "summary.md").read_text(encoding="utf-8")
    typed = re.findall(r"\[eq\. (\d\.\d+)\]\(#(eq-[\w-]+)\)", source)
    assert [number for number, _ in typed] == [re.sub(r"[^\d.]", "", link.get_text()).strip(".") for link in links]


@pytest.mark.parametrize("tab", [(1280, "light")], indirect=True, ids=str)
def test_the_equations_fit_on_two_sheets(tab: Any) -> None:
    page = tab.open("book/summary.html")
    site.drawn(page)
    paper = pypdfium2.PdfDocument(page.pdf(format="A4", prefer_css_page_size=True, print_background=True))
    assert len(paper) <= 2
    printed = "".join(sheet.get_textpage().get_text_range() for sheet in paper)
    assert "Symbols" in printed


@pytest.mark.parametrize("tab", [(390, "light")], indirect=True, ids=str)
def test_on_a_phone_the_first_figure_and_its_slider_are_on_the_first_screen(tab: Any) -> None:
    page = tab.open("book/index.html")
    page.set_viewport_size({"width": 390, "height": 844})
    site.drawn(page)
    slider = page.locator(".first-screen [data-live] input[type=range]").first.bounding_box()
    assert slider["y"] + slider["height"] <= 844


@pytest.mark.parametrize("tab", [(390, "dark"), (1280, "light")], indirect=True, ids=str)
def test_the_map_leads_to_its_pages(tab: Any) -> None:
    page = tab.open("book/index.html", formulas=False)
    site.drawn(page)
    boxes = page.locator("svg.course-map a")
    assert boxes.count() == len(book_front.pages())
    words = boxes.nth(0).locator("text").nth(1).bounding_box()
    box = boxes.nth(0).locator("rect").bounding_box()
    assert box["x"] <= words["x"]
    assert words["x"] + words["width"] <= box["x"] + box["width"]
    page.locator('svg.course-map a[data-page="7c"]').hover()
    dim = page.locator('svg.course-map a[data-page="4c"]')
    page.wait_for_function("box => getComputedStyle(box).opacity < 0.3", arg=dim.element_handle())
    near = page.locator('svg.course-map a[data-page="2c"]')
    assert float(near.evaluate("box => getComputedStyle(box).opacity")) == 1
    page.locator('svg.course-map a[data-page="3b"]').click()
    page.wait_for_url("**/03b_attention_is_a_gradient_step.html")


# Numbers in How to use, and in Classroom


def told(page: str) -> str:
    return (course.ROOT / "book" / page).read_text(encoding="utf-8")


def test_every_exercise_has_a_difficulty_a_time_and_a_solution_and_they_are_a_hundred_and_nine():
    count = 0
    for path in course.notebooks():
        text = "\n".join(cell.source for cell in course.read(path).cells).partition("Exercises\n")[2].partition("\n## ")[0]
        said = re.findall(r"^\*\*\d\w?\.\d+\*\* \*\((?:easy|medium|hard), \d+ minutes\)\*", text, re.MULTILINE)
        checks, solutions = re.findall(r"^check\(", text, re.MULTILINE), re.findall("<summary>Solution</summary>", text)
        assert 4 <= len(said) == len(checks) == len(solutions) <= 6, path.stem
        count += len(said)
    assert count == 109
    assert "Each chapter page ends with four to six, a hundred and nine in all." in told("how_to_use.md")


def test_predictions_that_missed_are_counted():
    text = (course.ROOT / "book/what_physics_explains.md").read_text(encoding="utf-8")
    section = text.partition("### What we foresaw wrongly")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    numbers = ("Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen")
    assert f"{numbers[len(rows) - 13]} that missed are here" in section  # the first row is the heads of the columns


def test_how_fast_mixers_are_is_what_was_measured():
    measured = json.loads((course.ROOT / "benchmarks/results/attention_modules.json").read_text(encoding="utf-8"))["cases"]
    assert {case["sizes"]["n"] for case in measured} == {32, 128, 512, 4096}
    said = told("how_to_use.md")
    for name in ("softmax_attention", "energy_one_step", "energy_four_steps"):
        ratios = [case["results"][name]["ratio"] for case in measured]
        assert f"{min(ratios):.2f} to {max(ratios):.2f}" in said, name


def test_the_plan_for_a_class_has_every_page_and_the_points_of_each_assignment():
    plan = told("classroom.md").partition("## What to hand out, and when")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in plan.splitlines() if re.match(r"\| \d\. ", line)]
    masters = sorted((course.ROOT / "assignments").glob("*/master.py"))
    assert len(rows) == len(masters)
    for (title, before, minutes, points), master in zip(rows, masters, strict=True):
        text = master.read_text(encoding="utf-8")
        assert f"# # Assignment {title}\n" in text
        assert sum(int(n) for n in re.findall(r"^# ## Question .* \((\d+) points\)", text, re.MULTILINE)) == int(points)
        here = [number for number in book_front.pages() if number[0] == title[0]]
        assert re.findall(r"\[(\w+)\]", before) == here == minutes.removeprefix("{minutes}`").removesuffix("`").split()
