"""What the site shows of a page, and when, in a real browser: folded code, results that wait for a prediction."""

import course
import pytest
import reading
from helpers import site
from helpers.built_book import NOTEBOOKS, ROOT

pytestmark = site.pytestmark
CHAPTERS = [f"{source}.html" for source in NOTEBOOKS]
every_chapter = pytest.mark.parametrize("path", site.each(CHAPTERS, site.CHAPTER))


@every_chapter
def test_results_are_out_of_sight_until_the_fold_is_opened(tab, path):
    """Pictures, claims and answers alike, and the code that states them; the paragraph that asks stays to be seen."""
    page = tab.open(path, formulas=False)
    asked = [cell for cell in course.code_cells(course.read(ROOT / path.replace(".html", ".ipynb"))) if reading.waits(cell)]
    assert page.locator(".tag_predict").count() == len(asked)
    outputs = page.locator(".tag_predict :is(.cell_output, .claim, figure img, pre)")
    seen = "parts => parts.map(part => part.checkVisibility({contentVisibilityAuto: true}) && part.getClientRects().length > 0)"
    assert outputs.count() >= len(asked)
    assert not any(outputs.evaluate_all(seen))
    questions = page.locator("article p", has_text="Predict, then run")
    assert all(questions.evaluate_all(seen))
    folds = page.locator("details.predict")
    assert folds.count() == questions.count() >= 2
    for fold in folds.all():
        assert fold.inner_text().startswith("Run it")
        fold.locator("> summary").click()
        last = fold.locator("> p").last
        assert last.evaluate_all(seen) == [True], "the answer"
    page.locator("details:is(.code, .checks)").evaluate_all("folds => folds.forEach(fold => fold.open = true)")
    assert all(outputs.evaluate_all(seen))


@pytest.fixture
def scriptless(browser, base):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    yield context.new_page(), base
    context.close()


def test_folds_need_no_script(scriptless):
    page, base = scriptless
    page.goto(base + CHAPTERS[0])
    fold = page.locator("details.predict").first
    assert not fold.locator("figure").is_visible()
    fold.locator("> summary").click()
    assert fold.locator("figure").is_visible()


@pytest.mark.parametrize("tab", [(390, "light")], indirect=True, ids=str)
@every_chapter
def test_first_screen_shows_title_and_claim_and_on_a_wide_one_the_first_result(tab, path):
    page = tab.open(path)
    assert not page.locator("article pre").first.is_visible()
    wanted = ["article h1", "article p strong >> nth=0"]
    for width, more in ((390, []), (1280, ["article :is(figure, .cell_output) >> nth=0"])):
        site.resize(page, width)
        for part in wanted + more:
            assert page.locator(part).bounding_box()["y"] < 844 - 20, (width, part)


def test_a_link_to_a_claim_opens_the_fold_it_stands_in(tab):
    chapter = ROOT / site.CHAPTER.replace(".html", ".ipynb")
    hidden = [cell for cell in course.code_cells(course.read(chapter)) if course.has_tag(cell, "predict")]
    number = next(id for cell in hidden for id in course.claims_asked(cell))
    page = tab.open(site.CLAIMS, formulas=False)
    page.get_by_role("link", name=number, exact=True).click()
    claim = page.locator(f"#claim-{number.replace('.', '-')}")
    claim.wait_for(state="visible")
    assert claim.evaluate("claim => Boolean(claim.closest('details.predict[open]'))")
    page.wait_for_function(
        "id => [document.getElementById(id).getBoundingClientRect().top].every(y => 0 <= y && y < innerHeight)",
        arg=f"claim-{number.replace('.', '-')}",
    )
