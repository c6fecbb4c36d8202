"""What the tests of scripts share: of those of a script that take long make test runs one in four, one at least."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "experiments" in item.path.parts and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.some(0.25))
