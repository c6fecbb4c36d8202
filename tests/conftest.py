"""What all tests share: one thread, two hypothesis profiles, attnlib unchecked where asked, patience, a browser, the book."""

import inspect
import math
from collections.abc import Callable, Iterator
from functools import cache, wraps
from types import SimpleNamespace
from typing import Any

import jaxtyping
import pytest
import torch
from beartype import beartype
from helpers.draw import EXAMPLES
from hypothesis import HealthCheck, settings

collect_ignore = ["helpers"]
torch.set_num_threads(1)
CHECKS = SimpleNamespace(test=0, most=8.0)
"""Which test is running, counted, and how many calls of a function it checks against what is stated of shapes and types."""


def _sparing(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """jaxtyping's decorator for classes; for functions too, or beartype's own where no shape is stated, but sparingly.

    jaxtyping binds every argument by name before it checks a call: a third of the tests' time, where an iteration calls one
    small function a thousand times. So a test checks the first calls of each function, and ``make test-all`` all of them.
    Where jaxtyping is told to be silent, so is beartype.
    """

    def chosen(**given: Any) -> Callable[[Any], Any]:
        shapes = decorator(**given)

        def decorate(thing: Any) -> Any:
            if inspect.isclass(thing):
                return shapes(thing)
            made = cache(shapes if "jaxtyping" in str(thing.__annotations__) else beartype)  # where it is called at all
            counted = [-1, 0]  # which test it is, and how many calls it has made

            @wraps(thing)
            def call(*arguments: Any, **named: Any) -> Any:
                if jaxtyping.config.jaxtyping_disable or torch.compiler.is_compiling():
                    return thing(*arguments, **named)
                if counted[0] != CHECKS.test:
                    counted[:] = CHECKS.test, 0
                counted[1] += 1
                return (made(thing) if counted[1] <= CHECKS.most else thing)(*arguments, **named)

            return call

        return decorate

    return chosen


jaxtyping.jaxtyped = _sparing(jaxtyping.jaxtyped)
for tier, share in (("check", 0.1), ("test", 0.3), ("all", 1)):
    number = int(share * EXAMPLES)
    settings.register_profile(
        tier, deadline=None, derandomize=True, max_examples=number, suppress_health_check=[HealthCheck.too_slow]
    )


def pytest_configure(config: pytest.Config) -> None:
    """All examples of hypothesis in the last tier, fewer in the others; or those that ``--hypothesis-profile`` asks for."""
    CHECKS.most = math.inf if config.getoption("tier", "test") == "all" else CHECKS.most
    settings.load_profile(config.getoption("hypothesis_profile", None) or config.getoption("tier", "test"))


def pytest_runtest_setup() -> None:
    """Each test counts its own calls."""
    CHECKS.test += 1


@pytest.fixture
def in_double():
    """Seed 0, and double precision where nothing else is said."""
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def unchecked():
    """Call attnlib as its users do: without jaxtyping's checks, which would speak before attnlib's own errors."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def registry_as_before(monkeypatch):
    """Whatever a test registers is forgotten afterwards."""
    from attnlib.transformer import registry

    monkeypatch.setattr(registry, "_entries", dict(registry._entries))


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests of a worker."""
    from helpers import browsers

    with browsers.playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browsers.CHROMIUM, args=[browsers.NOTHING_OUTSIDE])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The built book, made once for all workers; a test that asks for it fails where the build did."""
    from helpers.built_book import build

    made = build(tmp_path_factory)
    assert made.returncode == 0, made.log[-6000:]
    return made
