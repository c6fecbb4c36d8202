"""Every live figure of the book is alive on its page, in light and in dark."""

import pytest
from helpers import browsers
from helpers.built_book import NOTEBOOKS, ROOT

pytestmark = browsers.needed

LIVE = [name for name in NOTEBOOKS if "attnlib.course.live" in (ROOT / f"{name}.ipynb").read_text(encoding="utf-8")]


@pytest.mark.sweep(1 / 12)
@pytest.mark.parametrize("source", [*LIVE, "book/index"])
def test_every_figure_of_the_book_is_alive(tab, source):
    """And it stands on the page itself, not on the pale ground that the theme gives to HTML in the dark."""
    page = tab.open(f"{source}.html", formulas=False)
    boxes = page.locator("[data-live]")
    assert boxes.count() > 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-theme={scheme}]").wait_for(state="attached")
        for box in boxes.all():
            assert box.locator(".card").is_visible()
            assert box.evaluate("box => Object.values(box.figure.readout()).length > 0")
            assert box.evaluate("box => getComputedStyle(box.parentElement).backgroundColor") == "rgba(0, 0, 0, 0)"
    assert not tab.wrong
