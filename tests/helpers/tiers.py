"""Three tiers of tests, and what a run says at its end. A plugin of pytest, loaded by the conftest at the root.

- ``--tier check``: no page executed, no book built, no browser, nothing marked ``slow``; of what tests the course and not the
  library a tenth, and of many cases of one test an eighth.
- ``--tier test`` (default): each page once; of a test marked ``sweep`` a sample; of a file's tests marked ``some`` a sample, of
  a folder's marked ``slow`` a sixteenth, unless files or folders are named; nothing marked ``whole``.
- ``--tier all``: everything, and that executing a page again changes no byte.

A sample is chosen by a hash of the names, so that it is the same everywhere. A test that is named on the command
line, ``FILE::test``, is run in any tier.
"""

import os
import time
import zlib
from collections import defaultdict
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import pytest

TIERS = ("check", "test", "all")
BUDGETS = {"check": 90, "test": 600}
"""Seconds of wall time on two quiet cores."""

MARKS = (
    "slow: takes a second or more; left out of make check, of a folder's make test runs a sixteenth, make test-all all",
    "sweep(share): many cases of one kind; make test runs this share of them, make check an eighth of that, make test-all all",
    "some(share): several tests of a file; make test runs this share of those that bear it, make test-all all",
    "whole: runs in make test-all only",
    "double: says something that holds in double precision only",
    "browser: asks for the fixture of that name; a test bears it by itself",
)
SLOW = 1 / 16
"""How many of a folder's slow tests ``make test`` runs."""
COURSE = ("classroom", "course", "experiments", "live", "tools")
"""Folders of which ``make check`` runs a tenth of each file."""
REASONS = {
    "some": "tests of one kind",
    "slow": "slow tests",
    "sweep": "cases of sweeps",
    "course": "tests of the course",
    "case": "cases of one test",
}
FOLDERS = {path.name for path in Path(__file__).parents[1].iterdir() if path.is_dir()}

BEGIN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, default="test", help="how much is tested: check, test (default) or all")


def pytest_configure(config: pytest.Config) -> None:
    for mark in MARKS:
        config.addinivalue_line("markers", mark)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what needs a browser, by its fixture: ``-m "not browser"`` leaves it out, and a report tells its stage by it."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker("browser")


def is_page(item: pytest.Item) -> bool:
    """Whether it is a cell of a notebook that is executed."""
    return item.path.suffix == ".ipynb"


def left_out(items: list[pytest.Item], tier: str, named: bool = False) -> dict[pytest.Item, str]:
    """What a tier does not run, and why. Of a file that somebody has ``named`` all tests are run that are no sweeps."""
    out: dict[pytest.Item, str] = {}
    samples: dict[tuple[str, Path, float], list[pytest.Item]] = defaultdict(list)
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        dear = is_page(item) or bool({"browser", "book"} & set(fixtures))
        slow, some, sweep = map(item.get_closest_marker, ("slow", "some", "sweep"))
        if item.get_closest_marker("whole") and tier != "all":
            out[item] = "for make test-all"
        elif (slow or dear) and tier == "check":
            out[item] = "pages, book, browser and slow tests"
        elif sweep and tier != "all":
            name = f"sweep {getattr(item, 'originalname', item.name)}"
            samples[name, item.path, sweep.args[0] / (8 if tier == "check" else 1)].append(item)
        elif some and tier == "test" and not named:
            samples["some", item.path, some.args[0]].append(item)
        elif slow and not dear and tier == "test" and not named:
            samples["slow", item.path.parent, SLOW].append(item)
        elif tier == "check" and not named:
            folder = next((part for part in item.nodeid.split("::")[0].split("/")[-2::-1] if part in FOLDERS), "")
            if folder in COURSE:
                samples["course", item.path, 1 / 10].append(item)
            elif folder not in ("house", "book"):
                samples[f"case {getattr(item, 'originalname', item.name)}", item.path, 1 / 8].append(item)
    for (kind, _, share), cases in samples.items():
        cases.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        out |= dict.fromkeys(cases[ceil(share * len(cases)) :], REASONS.get(kind.split()[0], ""))
    return out


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.getoption("tier")
    if tier == "all" or any("::" in argument for argument in config.args):
        return
    out = left_out(items, tier, named=config.args != config.getini("testpaths"))
    config.stash[LEFT] = dict.fromkeys(sorted(set(out.values())), 0)
    for reason in out.values():
        config.stash[LEFT][reason] += 1
    config.hook.pytest_deselected(items=list(out))
    items[:] = [item for item in items if item not in out]


LEFT: pytest.StashKey[dict[str, int]] = pytest.StashKey()
"""How many items were left out, by reason."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells the one who asked what it left out: all workers leave out the same."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left"] = session.config.stash.get(LEFT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if left := getattr(node, "workeroutput", {}).get("left"):
        node.config.stash[LEFT] = left


@cache
def stage(file: str, browser: bool = False) -> str:
    """What kind of test it is, by its file and whether it needs a browser."""
    path = Path(file)
    if path.suffix == ".ipynb":
        return "pages, executed and compared"
    if path.parts[0] != "tests":
        return "examples in docstrings"
    if browser:
        return "browser"
    return {"book": "book: built and read", "house": "house: lint, types, rules, hostile calls"}.get(
        path.parts[1], f"{path.parts[1]}"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how long each stage, each test file and each notebook took, slowest first, what was covered, and where to look."""
    seconds: dict[str, float] = defaultdict(float)
    stages: dict[str, float] = defaultdict(float)
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if isinstance(report, pytest.TestReport):
            file = report.nodeid.split("::")[0]
            seconds[file] += report.duration
            stages[stage(file, "browser" in report.keywords)] += report.duration
    many = 12 if config.get_verbosity() <= 0 else len(seconds)
    for title, times in ((f"seconds per file, the slowest {many}", seconds), ("seconds per stage", stages)):
        terminalreporter.section(title)
        for name, total in sorted(times.items(), key=lambda item: -item[1])[: many if times is seconds else None]:
            terminalreporter.line(f"{total:8.1f}  {name}")
    terminalreporter.line(f"{sum(seconds.values()):8.1f}  together, over all workers")
    covered(terminalreporter, config)
    terminalreporter.line("Where to look: failures stand above; one file alone: .venv/bin/python -m pytest FILE")


def covered(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line: what this tier ran and what it left for another; and what that cost."""
    tier, left = config.getoption("tier"), config.stash.get(LEFT, {})
    ran = sum(len(terminalreporter.stats.get(kind, ())) for kind in ("passed", "failed"))
    rest = ", ".join(f"{number} {reason}" for reason, number in left.items())
    terminalreporter.line(f"Covered in the tier {tier}: {ran} tests; left out: {rest or 'nothing'}.")
    times, wall = os.times(), time.monotonic() - BEGIN
    spent = times.user + times.system + times.children_user + times.children_system
    bar = f" of {BUDGETS[tier]}" if tier in BUDGETS else ""
    terminalreporter.line(f"Time: {wall:.0f}{bar} s of wall time, {spent:.0f} s of processor time.")
