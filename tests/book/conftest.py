"""What the tests of the book share: its address, and a tab of the browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.built_book import Book


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of what one thing of the site does in a browser, its search, its sentences, its folds, make test asks an eighth.

    What all pages are held to stands in test_site_browser.py, and is asked whole.
    """
    for item in items:
        if "book" in item.path.parts and "browser" in item.fixturenames and item.path.stem != "test_site_browser":
            item.add_marker(pytest.mark.some(1 / 8))


@pytest.fixture(scope="session")
def base(book: Book) -> Iterator[str]:
    from helpers.site import served

    with served(book.html) as address:
        yield address


@pytest.fixture
def tab(browser: Any, base: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A fresh tab; parametrise it indirectly with (width, colour scheme)."""
    from helpers.site import Tab

    width, scheme = getattr(request, "param", (1280, "light"))
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    yield Tab(context.new_page(), base)
    context.close()
