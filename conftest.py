"""For every test and every kernel that runs a notebook, wherever pytest is started: one thread, no progress bars, patience."""

import os

os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")

import pytest
import torch

PATIENCE = 1800
"""Seconds that only a hang can take, however busy the machine is."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: tests in a browser wait half of their time for a page to come to rest."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def _torch_in_examples(doctest_namespace: dict[str, object]) -> None:
    """The examples in docstrings may say torch without importing it."""
    doctest_namespace["torch"] = torch


def pytest_configure() -> None:
    """A kernel may take as long to answer as a busy machine makes it: nbval waits ten seconds when it starts one."""
    try:
        from nbval.kernel import RunningKernel
    except ImportError:
        return
    await_reply = RunningKernel.await_reply

    def patiently(self: object, msg_id: str, timeout: float | None = None) -> object:
        return await_reply(self, msg_id, timeout=None if timeout is None else max(timeout, PATIENCE))

    RunningKernel.await_reply = patiently


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """And what a cell has printed may come late: nbval gives up five seconds after the kernel's reply."""
    for item in items:
        if hasattr(item, "output_timeout"):
            item.output_timeout = PATIENCE
