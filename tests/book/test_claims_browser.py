"""Claims and figures in a real browser: quiet lines folded behind the key claim, the filter, links, figures on a phone."""

import re

import course
import make_claims
import pytest
from helpers import site
from helpers.built_book import NOTEBOOKS

pytestmark = site.pytestmark

PAGES = make_claims.collect(course.notebooks())
CLAIMS = [claim for claims in PAGES.values() for claim in claims]
SHOWN = """() => [...document.querySelectorAll('#all-claims tbody tr')].filter(row => row.checkVisibility())
  .map(row => row.querySelector('a').textContent)"""


def shown(page):
    site.drawn(page)
    return page.evaluate(SHOWN)


@pytest.mark.parametrize("tab", [(1280, "light"), pytest.param((390, "dark"), marks=pytest.mark.whole)], indirect=True, ids=str)
def test_filter_by_words_by_chapter_and_by_key_with_the_keyboard(tab):
    page = tab.open("book/claims.html")
    everything = [claim.id for claim in CLAIMS]
    assert shown(page) == everything
    page.locator(".claims-filter input[type=search]").focus()
    page.keyboard.type("softmax WEIGHTS")
    found = [claim.id for claim in CLAIMS if {"softmax", "weights"} <= set(re.findall(r"\w+", claim.sentence.lower()))]
    assert found
    assert shown(page) == found
    assert page.locator(".claims-filter output").inner_text() == f"{len(found)} of {len(CLAIMS)} claims"
    pages = [path for path, claims in PAGES.items() if {claim.id for claim in claims} & {*found}]
    assert page.locator("#all-claims section:visible").count() == len(pages)
    page.keyboard.press("Enter")  # submits nothing
    assert page.evaluate("location.search") == ""
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    assert shown(page) == everything
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    key = [claim.id for claim in CLAIMS if claim.key]
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


def test_without_a_script_the_whole_table_is_there(browser, base):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(base + "book/claims.html")
    assert page.locator("#all-claims tbody tr:visible").count() == len(CLAIMS)
    assert page.locator(".claims-filter").count() == 0
    context.close()


def test_a_link_leads_to_its_claim_even_inside_a_fold(tab):
    """The last one of the most crowded cell, from the page of all claims."""
    page = tab.open(site.CHAPTER)
    folded = page.locator("details.checks div.claim").last.get_attribute("id")
    assert not page.locator(f"#{folded}").is_visible()
    page = tab.open("book/claims.html")
    page.locator(f"a[href$='#{folded}']").click()
    page.wait_for_url(f"**/*#{folded}")
    page.wait_for_function(f"document.getElementById('{folded}').checkVisibility()")
    page.wait_for_function(
        "id => [document.getElementById(id).getBoundingClientRect().top].every(top => 0 <= top && top < innerHeight)",
        arg=folded,
    )
    assert not tab.wrong


@pytest.mark.parametrize("source", site.each(NOTEBOOKS, *NOTEBOOKS[:2]))
def test_key_claims_stand_out_the_others_are_quiet_and_figures_can_be_read(tab, book, source):
    page = tab.open(f"{source}.html")
    (path,) = (path for path in course.notebooks() if path.stem in source)
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
