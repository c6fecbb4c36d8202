"""The built book in a real browser, outside requests blocked: quiet, whole, readable on a phone, in the dark, by keyboard."""

import json
from typing import Any

import pytest
from helpers import site
from helpers.built_book import CONFIG, NOTEBOOKS, ROOT, parsed
from helpers.site import CHAPTER, background, drawn, open_folds, serious_faults

pytestmark = site.pytestmark


def test_a_request_to_the_outside_is_written_down_and_goes_nowhere(tab):
    page = tab.open(site.PLAIN)
    assert page.evaluate("fetch('http://example.org/', {mode: 'no-cors'}).then(() => 'came', () => 'failed')") == "failed"
    assert "outside: http://example.org/" in tab.wrong
    assert page.evaluate("fetch('index.html').then(answer => answer.status)") == 200


@pytest.mark.parametrize("parent", [False, True], ids=["its own", "its parent's"])
def test_axe_sees_what_an_inline_style_does(tab, parent):
    page = tab.open(site.PLAIN)
    open_folds(page)
    assert page.locator("article p strong, article p em").count() > 2
    page.locator("article p em").last.evaluate(
        "(word, parent) => { (parent ? word.parentElement : word).style.cssText = 'color: #888; background: #999'; }", parent
    )
    assert any("color-contrast" in fault for fault in serious_faults(page))


def test_a_button_without_a_name_is_found(tab):
    page = tab.open(site.PLAIN)
    page.locator("article").evaluate("article => article.append(document.createElement('button'))")
    assert any(fault.startswith("button-name") for fault in serious_faults(page))


def test_formulas_are_there_to_be_set(book):
    assert len(parsed(book.html / CHAPTER).select("span.math, div.math")) > 20


def test_page_works_from_a_file(tab, book):
    page = tab.open((book.html / CHAPTER).as_uri())
    assert not tab.wrong
    assert page.locator("mjx-container").count() > 20
    assert page.locator("figure img").first.evaluate("image => image.naturalWidth") > 100


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_colab_and_download_lead_to_the_notebook(book, source):
    (buttons,) = parsed(book.html / f"{source}.html").select(".article-header-buttons")
    repository = CONFIG["repository"]
    slug = repository["url"].removeprefix("https://github.com/")
    expected = f"https://colab.research.google.com/github/{slug}/blob/{repository['branch']}/{source}.ipynb"
    assert buttons.select_one("a[href*=colab]")["href"] == expected
    downloaded = (book.html / source).parent / buttons.select_one(".dropdown-download-buttons a[href$='.ipynb']")["href"]
    assert json.loads(downloaded.read_text(encoding="utf-8")) == json.loads(
        (ROOT / f"{source}.ipynb").read_text(encoding="utf-8")
    )


def test_theme_switch_darkens_the_page_and_dims_the_figures(tab):
    """Captions name colours, and "dark is low": figures keep both, on paper that glares no more."""
    page = tab.open(CHAPTER, formulas=False)
    seen = {}
    for _ in range(3):  # the switch goes round: system, light, dark
        page.locator("button.theme-switch-button:visible").first.click()
        drawn(page)
        seen[page.locator("html").get_attribute("data-theme")] = background(page, "body")[0]
        figure = page.locator(".cell_output img").first
        *colour, opacity = background(page, ".cell_output img")
        assert min(colour) > 240
        assert opacity == 1
        dark = page.locator("html").get_attribute("data-theme") == "dark"
        assert figure.evaluate("element => getComputedStyle(element).filter") == ("brightness(0.8)" if dark else "none")
    assert seen["dark"] < 60
    assert seen["light"] > 200


def focused(page: Any) -> str:
    return page.evaluate("document.activeElement.outerHTML.slice(0, 300)")


def test_keyboard_reaches_the_text_and_the_contents(tab):
    page = tab.open(CHAPTER, formulas=False)
    page.keyboard.press("Tab")
    assert "skip" in focused(page).lower()
    page.keyboard.press("Enter")
    page.wait_for_url("**/*#main-content")
    tab.open(CHAPTER)
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("Boolean(document.activeElement.closest('.bd-sidebar-primary nav'))"))
    assert any(reached)
