"""What the tests of live figures share: a desk to put them on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


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
