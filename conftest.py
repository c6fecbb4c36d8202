"""For every test and every kernel that runs a notebook, wherever pytest is started: one thread, no progress bars, patience.

And in the last tier, after the cells of each page, that executing it again changes no byte.
"""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")

import course
import pytest
import torch
from helpers import forked_kernels

gc.disable()  # until all is collected, of which nothing is garbage: looking for some was a fifth of that
pytest_plugins = ["helpers.tiers"]
if "nbval.plugin" not in sys.modules:  # pyproject.toml leaves it to this file, after what course keeps out of every process
    pytest_plugins += ["nbval.plugin"]

PATIENCE = 1800
"""Seconds that only a hang can take, however busy the machine is."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as there are cores: what waits for the browser waits for what keeps a core busy.

    A worker costs ten seconds of processor time before its first test, and twice as much where nothing has been compiled yet.
    """
    return os.cpu_count() or 1


@pytest.fixture(autouse=True)
def _torch_in_examples(doctest_namespace: dict[str, object]) -> None:
    """The examples in docstrings may say torch without importing it."""
    doctest_namespace["torch"] = torch


def pytest_configure(config: pytest.Config) -> None:
    """A kernel may take as long to answer as a busy machine makes it: nbval waits ten seconds when it starts one.

    But in the last tier, it is a fork of a process that has torch already: to import it is what many pages take longest for.
    """
    try:
        from nbval import kernel
    except ImportError:
        return
    RunningKernel, start = kernel.RunningKernel, kernel.start_new_kernel
    await_reply = RunningKernel.await_reply

    def patiently(self: object, msg_id: str, timeout: float | None = None) -> object:
        return await_reply(self, msg_id, timeout=None if timeout is None else max(timeout, PATIENCE))

    RunningKernel.await_reply = patiently

    def forking(*arguments: object, **named: object) -> object:
        with forked_kernels.forked():
            return start(*arguments, **named)

    if sys.platform == "linux" and config.getoption("tier") != "all":
        kernel.start_new_kernel = forking


def pytest_sessionfinish() -> None:
    """What the kernels took is counted."""
    forked_kernels.end()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What a cell has printed may come late: nbval gives up five seconds after the kernel's reply.

    In the last tier, after a page, its bytes.
    """
    pages: dict[pytest.Collector, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "output_timeout"):
            item.output_timeout = PATIENCE
            pages.setdefault(item.parent, []).append(item)
    items.sort(key=begins)
    for page, cells in pages.items() if config.getoption("tier") == "all" else ():
        items.insert(items.index(cells[-1]) + 1, SameBytes.from_parent(page, name="the same bytes again", cells=cells))


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, but not among what has been collected."""
    gc.freeze()
    gc.enable()


FIRST = (
    *("tests/book/test_site_browser", "tests/live/test_every_figure", "tests/book/test_colab", "tests/house/test_types"),
    *("tests/house/test_hostile", "notebooks/", "tests/classroom/test_cages", "tests/classroom/test_grading"),
    *("tests/book/", "tests/house/test_traced", "tests/course/test_exercises", "tests/live/", "tests/house/test_packaging"),
    *("tests/experiments/", "tests/classroom/", "tests/house/"),
)
"""Files and folders that take longest, by how their tests' names begin, the longest first."""


def begins(item: pytest.Item) -> int:
    """The place of a test's file among :data:`FIRST`, or after them: one that began last would keep other workers waiting."""
    return next((place for place, name in enumerate(FIRST) if item.nodeid.startswith(name)), len(FIRST))


class SameBytes(pytest.Item):
    """Executing a page again changes no byte of it. The run is the one in which nbval has just compared its cells.

    Where a byte differs, another processor has perhaps made the committed file: measured values and pictures may differ between
    processors. Then the page is executed twice here, and these two are compared; whatever else differs, nbval has found.
    """

    def __init__(self, *, cells: list[pytest.Item], **given: object) -> None:
        super().__init__(**given)
        self.cells = cells

    def runtest(self) -> None:
        """Compare the file as nbval's run would write it with the file that is there."""
        from execute_notebooks import written

        ran = [cell.test_outputs for cell in self.cells]
        if None not in ran and written(self.path, ran) == self.path.read_text(encoding="utf-8"):
            return
        with tempfile.TemporaryDirectory() as folder:
            first, again = (executed(self.path, Path(folder)) for _ in range(2))
        assert again == first

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands, for pytest's report."""
        return self.path, 0, f"{self.path.name}: {self.name}"


def executed(page: Path, folder: Path) -> str:
    """The file of a page that is executed anew, without touching it."""
    tool, other = course.ROOT / "tools" / "execute_notebooks.py", Path(shutil.copy(page, folder))
    done = subprocess.run([sys.executable, tool, "--patient", other], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return other.read_text(encoding="utf-8")
