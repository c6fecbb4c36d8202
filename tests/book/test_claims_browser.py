"""Claims and figures in a real browser: quiet lines folded behind the key claim, the filter, links, figures on a phone."""

import re

import course
import make_claims
import pytest
from helpers import site
from helpers.built_book import NOTEBOOKS, parsed

pytestmark = site.pytestmark


@pytest.fixture(scope="module")
def pages():
    """The claims of each page, read when a test asks for them, and not by every worker."""
    return make_claims.collect(course.notebooks())


@pytest.fixture(scope="module")
def claims(pages):
    return [claim for page in pages.values() for claim in page]


SHOWN = """() => [...document.querySelectorAll('#all-claims tbody tr')].filter(row => row.checkVisibility())
  .map(row => row.querySelector('a').textContent)"""


def shown(page):
    site.drawn(page)
    return page.evaluate(SHOWN)


@pytest.mark.parametrize("tab", [(1280, "light"), pytest.param((390, "dark"), marks=pytest.mark.whole)], indirect=True, ids=str)
def test_filter_by_words_by_chapter_and_by_key_with_the_keyboard(tab, pages, claims):
    page = tab.open("book/claims.html", formulas=False)
    everything = [claim.id for claim in claims]
    assert shown(page) == everything
    page.locator(".claims-filter input[type=search]").focus()
    page.keyboard.type("softmax WEIGHTS")
    found = [claim.id for claim in claims if {"softmax", "weights"} <= set(re.findall(r"\w+", claim.sentence.lower()))]
    assert found
    assert shown(page) == found
    assert page.locator(".claims-filter output").inner_text() == f"{len(found)} of {len(claims)} claims"
    left = [path for path, its in pages.items() if {claim.id for claim in its} & {*found}]
    assert page.locator("#all-claims section:visible").count() == len(left)
    page.keyboard.press("Enter")  # submits nothing
    assert page.evaluate("location.search") == ""
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    assert shown(page) == everything
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    key = [claim.id for claim in claims if claim.key]
    assert shown(page) == key
    page.keyboard.press("Space")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    chapter = page.locator(".claims-filter select option:checked").inner_text()
    assert chapter.startswith("2a.")
    (first,) = (path for path in course.notebooks() if path.name.startswith("02a"))
    assert shown(page) == [claim.id for claim in make_claims.collect([first])[first]]
    assert not site.serious_faults(page)
    assert not tab.wrong


@pytest.mark.whole
def test_without_a_script_the_whole_table_is_there(browser, base, claims):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(base + "book/claims.html")
    assert page.locator("#all-claims tbody tr:visible").count() == len(claims)
    assert page.locator(".claims-filter").count() == 0
    context.close()


def test_a_link_leads_to_its_claim_even_inside_a_fold(tab, book):
    """The last of a chapter, from the page of all claims."""
    folded = parsed(book.html / site.CHAPTER).select("details.checks:not([open]) div.claim")[-1]["id"]
    page = tab.open(site.CLAIMS, formulas=False)
    page.locator(f"a[href$='#{folded}']").click()
    page.wait_for_url(f"**/*#{folded}")
    page.wait_for_function(f"document.getElementById('{folded}').checkVisibility()")
    page.wait_for_function(
        "id => [document.getElementById(id).getBoundingClientRect().top].every(top => 0 <= top && top < innerHeight)",
        arg=folded,
    )
    assert not tab.wrong


@pytest.mark.parametrize("path", site.each([f"{source}.html" for source in NOTEBOOKS], site.CHAPTER))
def test_key_claims_stand_out_the_others_are_quiet_and_figures_can_be_read(tab, book, path):
    page = tab.open(path, formulas=False)
    (path,) = (one for one in course.notebooks() if one.stem in path)
    ids = {f"claim-{claim.id.replace('.', '-')}" for claim in make_claims.collect([path])[path]}
    assert set(page.eval_on_selector_all("div.claim", "all => all.map(one => one.id)")) == ids
    assert page.locator("div.claim[style], div.claim [style]:not(mjx-container, mjx-container *)").count() == 0
    size = "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))"
    loud, quiet = (page.eval_on_selector_all(which, size) for which in ("div.claim.key", "div.claim:not(.key)"))
    assert min(loud) > max(quiet)
    page.locator("details.predict").evaluate_all("folds => folds.forEach(fold => fold.open = true)")
    assert page.locator("div.claim.key").count() == page.locator("div.claim.key:visible").count()
    folds = page.eval_on_selector_all("details.checks", "all => all.map(one => one.querySelectorAll('.claim').length)")
    assert min(folds, default=2) > 1
    words_in_figures_can_be_read_on_a_phone(page)


def words_in_figures_can_be_read_on_a_phone(page):
    """The style sheet's smallest letters are about seven and a half pixels high; a figure of many panels scrolls instead."""
    site.resize(page, 390)
    style = (course.ROOT / "attnlib" / "course" / "plots.mplstyle").read_text(encoding="utf-8")
    points, inch = (
        float(re.search(rf"^{name}: ([\d.]+)", style, re.MULTILINE)[1]) for name in ("xtick.labelsize", "figure.dpi")
    )
    shrunk = page.evaluate(
        """[...document.querySelectorAll('.cell_output figure img')]
        .map(one => one.getBoundingClientRect().width / one.getAttribute('width'))"""
    )
    assert shrunk
    assert min(shrunk) * points * inch / 72 >= 7.4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
