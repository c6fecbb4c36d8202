"""What all tests share: one thread, one hypothesis profile, attnlib without run-time checks, patience, the summary."""

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from beartype import beartype
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)


def _sparing(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """jaxtyping's decorator for classes and for functions that state the shape of an array; beartype's own for all others.

    jaxtyping binds every argument by name before it checks a call. For small helpers that state no shape, of which one file of
    tests makes half a million calls, this took half of the tests' time. Where jaxtyping is told to be silent, so is beartype.
    """

    def chosen(**given: Any) -> Callable[[Any], Any]:
        shapes = decorator(**given)

        def decorate(thing: Any) -> Any:
            if inspect.isclass(thing) or "jaxtyping" in str(thing.__annotations__):
                return shapes(thing)
            checked = beartype(thing)

            @wraps(thing)
            def call(*arguments: Any, **named: Any) -> Any:
                return (thing if jaxtyping.config.jaxtyping_disable else checked)(*arguments, **named)

            return call

        return decorate

    return chosen


jaxtyping.jaxtyped = _sparing(jaxtyping.jaxtyped)
settings.register_profile(
    "attnlib", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("attnlib")


@pytest.fixture
def unchecked():
    """Call attnlib as its users do: without jaxtyping's checks, which would speak before attnlib's own errors."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(autouse=True, scope="session")
def _patient_browsers() -> Iterator[None]:
    """Nothing in a browser fails for taking long, except what hangs."""
    try:
        from playwright.sync_api import Browser
    except ImportError:
        yield
        return

    def patient(make: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(make)
        def made(*args: Any, **settings: Any) -> Any:
            opened = make(*args, **settings)
            opened.set_default_timeout(600_000)
            return opened

        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Browser, "new_context", patient(Browser.new_context))
        patch.setattr(Browser, "new_page", patient(Browser.new_page))
        yield


@cache
def stage(file: str) -> str:
    """What kind of test a file holds."""
    path = Path(file)
    if path.suffix == ".ipynb":
        return "notebooks, run again and compared"
    if not path.match("tests/*.py"):
        return "examples in docstrings"
    if "browser" in path.name:
        return "browser"
    text = (Path(__file__).parent / path.name).read_text(encoding="utf-8")
    return "book: built and read" if "from built_book" in text else "package, exercises, tools"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long each stage, each test file and each notebook took, slowest first, and where to look."""
    seconds: dict[str, float] = defaultdict(float)
    stages: dict[str, float] = defaultdict(float)
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if isinstance(report, pytest.TestReport):
            file = report.nodeid.split("::")[0]
            seconds[file] += report.duration
            stages[stage(file)] += report.duration
    for title, times in (("seconds per file", seconds), ("seconds per stage", stages)):
        terminalreporter.section(title)
        for name, total in sorted(times.items(), key=lambda item: -item[1]):
            terminalreporter.line(f"{total:8.1f}  {name}")
    terminalreporter.line(f"{sum(seconds.values()):8.1f}  together, over all workers")
    terminalreporter.line("Where to look: failures stand above; one file alone: .venv/bin/python -m pytest FILE")
