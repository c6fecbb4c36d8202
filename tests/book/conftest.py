"""What the tests of the book share: its address, and a tab of the browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.built_book import Book


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
