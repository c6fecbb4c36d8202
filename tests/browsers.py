"""The browser of all tests that need one: the smallest Chromium there is."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e .[dev]")

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Debian's shell draws pages and nothing else. It needs about 0.6 of the time of a whole browser that shows no window."""

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
needed = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser found: install Debian's chromium-headless-shell to run these tests"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()
