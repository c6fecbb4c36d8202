"""What all tests share: one thread, one hypothesis profile, attnlib without run-time checks, the summary."""

from collections import defaultdict

import jaxtyping
import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long each test file and each notebook took, slowest first, and where to look."""
    seconds: dict[str, float] = defaultdict(float)
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.split("::")[0]] += report.duration
    terminalreporter.section("seconds per file")
    for name, total in sorted(seconds.items(), key=lambda item: -item[1]):
        terminalreporter.line(f"{total:8.1f}  {name}")
    terminalreporter.line(f"{sum(seconds.values()):8.1f}  together, over all workers")
    terminalreporter.line("Where to look: failures stand above; one file alone: .venv/bin/python -m pytest FILE")
