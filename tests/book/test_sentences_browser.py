"""Sentences that set a figure, pressed in a real browser: the figure shows what attnlib says there, and the page stays calm."""

import pytest
from helpers import live, sentences, site

pytestmark = site.pytestmark

PAGES = [pytest.param(page, id=page.name) for page in sentences.pages()]
FIRST = f"{sentences.pages()[0].name}.html"
FILM = next(page for page in sentences.pages() if "AlignmentFilm" in page.figures)
IN_SIGHT = """name => {
    const box = document.querySelector(`[data-live="${name}"]`).firstElementChild.shadowRoot.querySelector(".picture");
    const { top, bottom } = box.getBoundingClientRect();
    return Math.min(bottom, innerHeight) - Math.max(top, 0) > 0.6 * Math.min(bottom - top, innerHeight);
}"""


@pytest.mark.sweep(1 / 30)
@pytest.mark.parametrize("source", PAGES)
def test_pressed_it_sets_the_figure(tab, source):
    """By mouse and by key in turn: every trait and every number is attnlib's for the figure on the page with what was said."""
    page = tab.open(f"{source.name}.html")
    buttons = page.locator("button.sets")
    said = [words.replace("\xa0", " ") for words in buttons.all_inner_texts()]  # a number keeps its unit beside it
    assert said == [one.words.replace("\xa0", " ") for one in source.sentences]
    for i, one in enumerate(source.sentences):
        figure = sentences.led_to(one)
        if i % 2:
            buttons.nth(i).press("Enter")
        else:
            buttons.nth(i).click()
        box = page.locator(f"[data-live={one.figure}]")
        state, shown, _ = box.evaluate(live.LOOK)
        assert state == {name: value for name, value in figure.state().items() if name not in ("record", "film")}
        live.same_numbers(shown, figure.readout, sentences.ROWS[one.figure].atol)
        assert buttons.nth(i).evaluate("button => button === document.activeElement")
    assert not tab.wrong


@pytest.mark.sweep(1 / 30)
@pytest.mark.parametrize("tab", [(390, "dark")], indirect=True, ids=str)
@pytest.mark.parametrize("source", PAGES)
def test_on_a_phone_it_is_as_high_as_a_finger_and_covers_nothing(tab, source):
    page = tab.open(f"{source.name}.html")
    boxes = [button.bounding_box() for button in page.locator("button.sets").all()]
    assert len(boxes) == len(source.sentences)
    for one, box in enumerate(boxes):
        assert box["height"] >= 24
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
        for other in boxes[:one]:
            apart = box["y"] - other["y"] >= other["height"] or other["y"] - box["y"] >= box["height"]
            assert apart or box["x"] >= other["x"] + other["width"] or other["x"] >= box["x"] + box["width"]


def test_the_figure_comes_into_sight_only_if_it_is_out_of_it(tab):
    page, (first, *_) = tab.open(FIRST), sentences.pages()
    one = first.sentences[0]
    button, seen = page.locator("button.sets").first, "name => ({ name, y: scrollY, seen: (IN)(name) })".replace("IN", IN_SIGHT)
    page.evaluate(
        "name => document.querySelector(`[data-live=${name}]`).scrollIntoView({ block: 'center', behavior: 'instant' })",
        one.figure,
    )
    before = page.evaluate(seen, one.figure)
    assert before["seen"]
    button.evaluate("button => button.click()")
    assert page.evaluate(seen, one.figure) == before
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    assert not page.evaluate(IN_SIGHT, one.figure)
    button.evaluate("button => button.click()")
    page.wait_for_function(IN_SIGHT, arg=one.figure)


def test_where_less_motion_is_asked_for_nothing_glides(tab):
    page, one = tab.page, sentences.pages()[0].sentences[0]
    page.emulate_media(reduced_motion="reduce")
    tab.open(FIRST)
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    button = page.locator("button.sets").first
    assert button.evaluate(f"button => {{ button.click(); return ({IN_SIGHT})('{one.figure}'); }}")
    assert page.locator(f"[data-live={one.figure}]").evaluate("box => getComputedStyle(box).animationName") == "none"


def test_a_screen_reader_is_told(tab):
    page = tab.open(FIRST)
    page.locator("button.sets").first.press("Space")
    page.locator(".sets-heard", has_text="Softmax thermometer: set.").wait_for(state="attached")


def test_a_film_that_plays_stops_where_a_sentence_leads(tab):
    page = tab.open(f"{FILM.name}.html")
    film = page.locator("[data-live=AlignmentFilm]")
    film.get_by_role("button", name="Play").click()
    film.get_by_role("button", name="Pause").wait_for()
    page.locator("button.sets").first.click()
    assert film.get_by_role("button", name="Play").is_visible()
    assert film.evaluate("box => box.figure.model.get('step')") == FILM.sentences[0].changes["step"]


@pytest.mark.whole
def test_axe_finds_nothing_in_the_dark(tab):
    page = tab.open(FIRST)
    page.emulate_media(color_scheme="dark")
    page.locator("html[data-theme=dark]").wait_for(state="attached")
    page.locator("button.sets").first.focus()
    from helpers import browsers

    found = browsers.axe(page, runOnly=["color-contrast", "button-name", "target-size", "nested-interactive"])
    faults = [place["html"] for fault in found["violations"] for place in fault["nodes"]]
    assert not [fault for fault in faults if "sets" in fault]


def test_on_paper_it_is_words(tab):
    page = tab.open(FIRST)
    page.emulate_media(media="print")
    drawn = page.locator("button.sets").first.evaluate("button => [getComputedStyle(button).display, button.innerText]")
    assert drawn == ["contents", sentences.pages()[0].sentences[0].words]


def test_without_a_script_it_is_words(browser, base):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(base + FIRST)
    assert page.locator("button.sets").count() == 0
    assert page.get_by_text(sentences.pages()[0].sentences[0].words, exact=True).is_visible()
    context.close()
