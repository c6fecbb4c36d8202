"""What the tests of live figures share: a desk to put them on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks a browser the same of many states, widths or keys is a sweep: ``make test`` asks a quarter of it."""
    for item in items:
        if "live" in item.path.parts and hasattr(item, "callspec") and "browser" in item.fixturenames:
            item.add_marker(pytest.mark.sweep(0.25))


@pytest.fixture
def desk(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A desk; parametrise it indirectly with a browser context's settings. At the end nothing may have gone wrong."""
    from helpers.live import Desk

    context = browser.new_context(
        **{"viewport": {"width": 800, "height": 900}, "offline": True} | getattr(request, "param", {})
    )
    desk = Desk(context, tmp_path)
    yield desk
    context.close()
    assert not desk.wrong
