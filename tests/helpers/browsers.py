"""The browser of all tests that need one: the smallest Chromium there is."""

import shutil
from typing import Any

import pytest

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e .[dev]")

axe_api = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Debian's shell draws pages and nothing else. It needs about 0.6 of the time of a whole browser that shows no window."""

NOTHING_OUTSIDE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""Only this machine has an address: cheaper than to hand each request to Python, and the browser keeps its cache."""

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
needed = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser found: install Debian's chromium-headless-shell to run these tests"
)


def axe(page: Any, **options: Any) -> dict[str, Any]:
    """What axe finds: all places of each violation, and one for each rule that a page passes, or does not concern.

    To name thousands of places where nothing is wrong would take twice as long as to look at them.
    """
    return axe_api.Axe().run(page, options={"resultTypes": ["violations"], **options}).response
