"""What the tests of live figures share: desks to put them on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

USUAL = {"viewport": {"width": 800, "height": 900}, "offline": True}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for a browser needs one; others of its file run without. Of a figure's own make test runs a twelfth."""
    asking = [item for item in items if "live" in item.path.parts and "browser" in item.fixturenames]
    for item in asking:
        if item.path.stem != "test_every_figure":
            item.add_marker(pytest.mark.some(1 / 12))
    if asking:
        try:
            from helpers.browsers import needed
        except pytest.skip.Exception as missing:
            needed = pytest.mark.skip(reason=str(missing))
        for item in asking:
            item.add_marker(needed)


@pytest.fixture(scope="session")
def _desks(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Desks by the settings of their browser's context: a page is opened once for all tests that want the same."""
    desks: dict[str, Any] = {}
    yield desks
    for desk in desks.values():
        desk.context.close()


@pytest.fixture
def desk(
    browser: Any, _desks: dict[str, Any], tmp_path: Path, unchecked: None, request: pytest.FixtureRequest
) -> Iterator[Any]:
    """A desk; parametrise it indirectly with a browser context's settings. At the end nothing may have gone wrong.

    Its page is navigated from test to test, and so is as new. What a navigation does not take back, a clock, styles of media,
    asks for a desk of its own: ``{"own": True}``. Numbers come from attnlib as users have it: with the run-time checks of
    shapes, which tests without a browser make, they would take up to three times as long.
    """
    from helpers.live import Desk

    settings = USUAL | getattr(request, "param", {})
    own = settings.pop("own", False)
    kind = json.dumps(settings, sort_keys=True)
    desk = None if own else _desks.pop(kind, None)
    desk = desk or Desk(browser.new_context(**settings), Path(tmp_path))
    failed = request.session.testsfailed
    yield desk
    if own or desk.wrong or request.session.testsfailed > failed:
        desk.context.close()
    else:
        desk.page.mouse.move(0, 0)
        desk.page.set_viewport_size(settings["viewport"])
        _desks[kind] = desk
    assert not desk.wrong
