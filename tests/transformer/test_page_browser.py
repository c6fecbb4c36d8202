"""The page of an examination in a real browser: it asks for nothing, fits a phone, and axe finds no fault in it."""

import pytest
import torch

from attnlib.transformer import Block, Embedding, LanguageModel, Stack, examine

browsers = pytest.importorskip("helpers.browsers")
pytestmark = [browsers.needed, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page of a small model."""
    from attnlib import SoftmaxAttention

    torch.manual_seed(0)
    stack = Stack(Block(SoftmaxAttention(8, heads=2, causal=True), feed_forward=8), steps=3)
    model = LanguageModel(Embedding(11, 8, places=9), stack, torch.nn.Linear(8, 11))
    found = examine(model, torch.tensor([[3, 1, 4, 1, 5, 9]]), torch.tensor([[0, 0, 1, 2, 0, 3]]), progress=False)
    path = tmp_path_factory.mktemp("page") / "examination.html"
    path.write_text(found.page("A small model"), encoding="utf-8")
    return path.as_uri()


@pytest.mark.sweep(0.25)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_page_is_whole_and_axe_finds_no_fault(browser, address, scheme, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        assert [url for url in asked if not url.startswith("data:")] == [address]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("[...document.images].every(picture => picture.naturalWidth > 0)")
        found = browsers.axe(page)
        assert len(found["passes"]) > 10
        assert not [(fault["id"], fault["nodes"][0]["html"][:120]) for fault in found["violations"]]
    finally:
        page.close()
