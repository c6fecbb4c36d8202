"""Search: sections are found by words, signs and names, by mouse, keyboard and phone, on a server and from a file."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

import book_search
import pytest
from helpers import site
from helpers.built_book import NOTEBOOKS, PAGES, Book, parsed

pytestmark = site.pytestmark


def sections(book: Book) -> list[Any]:
    script = (book.html / "_static/sections.js").read_text(encoding="utf-8")
    return json.loads(script.removeprefix("window.bookSections = ").removesuffix(";\n"))


def asked(page: Any, query: str) -> list[tuple[str, str, str]]:
    """What the open search finds: addresses, headings, excerpts."""
    field = page.locator("form.bd-search input:visible")
    field.fill(query)
    page.wait_for_function(
        "[...document.querySelectorAll('.found-count')].some(said => said.checkVisibility() && said.textContent)"
    )
    return page.evaluate(
        """() => [...document.querySelectorAll('ol.found a')].filter(link => link.checkVisibility()).map(link =>
        [link.href, link.querySelector('.found-heading').textContent, link.querySelector('.found-text').textContent])"""
    )


def opened(tab: site.Tab, path: str = site.PLAIN) -> Any:
    page = tab.open(path, formulas=False)
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").wait_for()
    return page


@pytest.fixture(scope="module", params=[1280, pytest.param(390, marks=pytest.mark.whole)], ids=["screen", "phone"])
def searching(browser, base, request):
    """A tab in which the search is open: to fill its list costs more than to look for a word, and one question more or less
    leaves nothing behind.
    """
    context = browser.new_context(viewport={"width": request.param, "height": 844})
    tab = site.Tab(context.new_page(), base)
    opened(tab)
    yield tab
    context.close()


def test_every_section_is_in_the_list_once_and_its_place_is_there(book):
    found = sections(book)
    assert [page for page, *_ in found] == sorted(PAGES)
    for page, title, parts, words in found:
        html = parsed(book.html / page)
        wanted = [part["id"] for part in html.select("article section[id]")]
        wanted += [line["id"] for line in html.select("article dt.sig[id]")]
        assert sorted(anchor for anchor, _, _ in parts) == sorted(wanted)
        assert parts[0][1] == title
        assert all(heading for _, heading, _ in parts)
        assert set(words) <= {"", *wanted[1:]}
    text = " ".join(text for _, _, parts, _ in found for _, _, text in parts)
    assert "importlib.util.find_spec" not in text
    printed = parsed(book.html / f"{NOTEBOOKS[0]}.html").select(".cell_output pre")
    printed = [words for out in printed if len(words := " ".join(out.get_text().split())) > 30]
    assert printed
    assert not [out for out in printed if out in text]
    assert not re.search(r"\\[a-zA-Z]+\{|\\\[|\\\(", text)
    assert (book.html / "_static/sections.js").stat().st_size < 1_500_000


def test_a_claim_is_found_where_it_is_proved_and_not_in_the_list_of_all(book):
    sentence = "A second draw from a posterior agrees with the first as often as the first agrees with the truth"
    said = {page: " ".join(text for _, _, text in parts) for page, _, parts, _ in sections(book)}
    assert [page for page, text in said.items() if sentence in text] == ["notebooks/07b_one_step_or_many.html"]
    assert not re.search(r"measured (Δ )?[−\d]\S* bound", " ".join(said.values()))
    assert "A claim is a sentence with a number in it" in said[site.CLAIMS]


@pytest.mark.parametrize(
    ("tex", "line"),
    [
        (r"\(\frac\beta2 |x_i|^2\)", "β/2 |x_i|^2"),
        (r"\[ d_c = \frac{\ln m}{\beta^2 / 2} \]", "d_c = (ln m)/(β^2 / 2)"),
        (r"\(\mathrm{softmax}(\beta X^{\top} \xi)\)", "softmax(β X^ᵀ ξ)"),
        (r"\(\sqrt{2 \ln m} \le \Gamma\)", "√(2 ln m) ≤ Γ"),
        (r"\[\begin{aligned} a &= b \\ &\approx \tfrac12 \end{aligned}\]", "a = b ≈ 1/2"),
    ],
)
def test_a_formula_is_written_in_a_line(tex, line):
    assert book_search.plain(tex) == line


@pytest.mark.parametrize(
    ("query", "address", "words"),
    [
        ("freezing", "01_softmax_limits.html#", "freezing"),
        ("hopfield_energy", "book/api/hopfield.html#attnlib.hopfield.hopfield_energy", "hopfield_energy"),
        ("β", "html", "beta"),
        ("beta ξ", "html", "ξ"),
        ("log-sum-exp convex", "03b_attention_is_a_gradient_step.html#how-long-a-step", "log-sum-exp"),
        ("padding_mask(", "html", "padding_mask("),
        ("Ramsauer", "html", "Ramsauer"),
        ("where it breaks flatland", "03c_flatland.html#", "breaks"),
    ],
)
def test_words_signs_and_names_are_found_with_their_sections(searching, query, address, words):
    found = asked(searching.page, query)
    assert found
    assert any(address in where for where, *_ in found[:5]), found[:5]
    assert words.lower() in " ".join(found[0][1:]).lower()
    assert not searching.wrong


def test_words_that_readers_bring_belong_to_pages_and_to_one_place_each():
    places = book_search.brought()
    assert {f"{page}.html" for page in places} <= set(PAGES)
    words = [word for sections in places.values() for line in sections.values() for word in line.lower().split(", ")]
    assert len(words) == len(set(words))


QUERIES = {
    "sqrt d": "02a_scaled_dot_product.html",
    "square root of d": "02a_scaled_dot_product.html",
    "softmax1": "01_softmax_limits.html#sinks-a-key-that-says-nothing",
    "attention sink": "01_softmax_limits.html#sinks-a-key-that-says-nothing",
    "entmax": "01_softmax_limits.html#from-the-page-to-the-package",
    "temperature": "01_softmax_limits.html",
    "QK norm": "02a_scaled_dot_product.html#where-it-breaks-entropy-collapse",
    "entropy collapse": "02a_scaled_dot_product.html#where-it-breaks-entropy-collapse",
    "soft capping": "01_softmax_limits.html#soft-caps-and-clips",
    "RoPE": "02c_hops_and_heads.html#order",
    "positional encoding": "02c_hops_and_heads.html#order",
    "multi-head attention": "02c_hops_and_heads.html#from-one-controller-to-one-per-token",
    "Hopfield network": "03a_associative_memory.html",
    "modern hopfield network": "03b_attention_is_a_gradient_step.html",
    "energy-based": "03b_attention_is_a_gradient_step.html",
    "flatland": "03c_flatland.html",
    "TAP": "04a_mean_field_tap.html",
    "mean field": "04a_mean_field_tap.html",
    "onsagr": "04a_mean_field_tap.html",  # a slip
    "DEQ": "04b_deep_implicit_attention.html",
    "free energy": "05a_vector_spin_free_energy.html",
    "linear attention": "03d_energy_attention.html#other-energies",
    "graph attention network": "06a_attention_on_graphs.html",
    "belief propagation": "06b_beliefs_and_attention.html",
    "beleif propagation": "06b_beliefs_and_attention.html",  # codespell:ignore beleif
    "translation": "02b_translation.html",
    "calibration": "07b_one_step_or_many.html",
    "induction head": "07c_collectives_of_spins.html",
    "collectives of spins": "07c_collectives_of_spins.html",
    "cheat sheet": "book/summary.html",
    "notation": "book/notation.html",
    "prerequisites": "book/index.html#where-to-start",
    "proof": "book/how_to_use.html#read",
    "solutions": "book/how_to_use.html#exercises",
    "install": "book/how_to_use.html#run-on-your-machine",
    "SDPA": "book/how_to_use.html#use-the-package",
    "GPT-2": "book/how_to_use.html#examine-a-transformer",
    "licence": "book/how_to_use.html#cite-and-use-again",
    "bibtex": "book/how_to_use.html#cite-and-use-again",
    "slides": "book/how_to_use.html#cite-and-use-again",
    "homework": "book/classroom.html",
    "syllabus": "book/classroom.html#what-to-hand-out-and-when",
    "grading": "book/classroom.html#grade",
    "errata": "book/errata.html",
}
"""What readers type, and the place that stands first."""


def test_what_readers_type_leads_where_it_should(searching):
    page = searching.page
    first = {query: (asked(page, query) or [("nothing",)])[0][0] for query in QUERIES}
    assert not {query: where for query, where in first.items() if not where.endswith(QUERIES[query])}


def test_a_slip_is_forgiven_and_said(searching):
    page = searching.page
    assert asked(page, "onsagr")
    said = page.locator(".found-count:visible").inner_text()
    assert said.startswith("Nothing has \u201consagr\u201d in it. With \u201consager\u201d: ")
    assert not asked(page, "xqzvwk")  # and nothing is made of what is no slip
    assert page.locator(".found-count:visible").inner_text() == "Nothing has \u201cxqzvwk\u201d in it."


def test_greek_letters_are_found_by_name_and_by_sign(searching):
    page = searching.page
    by_sign, by_name = asked(page, "β"), asked(page, "beta")
    assert by_sign == by_name
    assert len(by_sign) == 40
    assert {mark.lower() for mark in page.locator("ol.found mark").all_inner_texts()} == {"β", "beta"}


def test_nothing_is_loaded_until_somebody_searches(tab):
    requests: list[str] = []
    tab.page.on("request", lambda request: requests.append(request.url))
    page = tab.open(site.CHAPTER, formulas=False)
    tab.rest()
    before = len(requests)
    assert not [url for url in requests if re.search(r"search|sections\.js", url)]
    page.keyboard.press("Control+k")
    assert asked(page, "entropy")
    assert sorted(url.split("/")[-1] for url in requests[before:]) == ["search.js", "sections.js"]


def test_the_keyboard_goes_through_what_was_found(tab):
    page = opened(tab)
    found = asked(page, "downhill energy")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.href") == found[1][0]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Enter")
    page.wait_for_url(found[0][0])
    page.wait_for_function(
        "id => (id ? document.getElementById(id) : document.querySelector('h1')).getBoundingClientRect().top < innerHeight",
        arg=urlsplit(found[0][0]).fragment,
    )
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    assert page.locator("#pst-search-dialog[open]").count() == 0
    assert not tab.wrong


def test_what_is_on_this_page_is_reached_without_leaving_it(tab):
    page = opened(tab, site.CHAPTER)
    found = [where for where, *_ in asked(page, "digits exercises") if site.CHAPTER + "#" in where]
    page.locator(f"ol.found a[href$='{found[0].split('/')[-1]}']").click()
    assert page.locator("#pst-search-dialog[open]").count() == 0
    page.wait_for_url(found[0])


def test_what_is_not_there_is_said(searching):
    page = searching.page
    assert asked(page, "zyzzyva") == []
    assert "zyzzyva" in page.locator(".found-count").inner_text()
    assert page.locator(".found-count").get_attribute("role") == "status"


def test_search_works_from_a_file(tab, book):
    page = opened(tab, (book.html / site.CHAPTER).as_uri())
    found = asked(page, "hopfield_update")
    page.locator("ol.found a").first.click()
    page.wait_for_url(found[0][0])
    assert page.locator(f"[id='{found[0][0].split('#')[1]}']").count() == 1
    assert not tab.wrong


def test_the_search_page_is_the_same_search_with_an_address(tab):
    page = tab.open("search.html?q=partition")
    page.locator("article ol.found a").first.wait_for()
    assert page.locator("article input[type=search]").input_value() == "partition"
    asked(page, "partition function")
    assert page.evaluate("location.search") == "?q=partition%20function"
    assert not tab.wrong


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("tab", [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")], indirect=True, ids=str)
def test_found_sections_are_readable_on_a_phone_and_in_the_dark(tab):
    page = opened(tab)
    assert len(asked(page, "energy")) > 10
    box = page.locator("#pst-search-dialog").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    assert box["y"] + box["height"] <= page.viewport_size["height"]
    wide = page.evaluate(
        "[...document.querySelectorAll('ol.found, ol.found a')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
    )
    assert wide == 0
    shown = page.evaluate("document.querySelector('ol.found').scrollHeight > document.querySelector('ol.found').clientHeight")
    assert shown
    assert not site.serious_faults(page)
