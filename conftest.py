"""For every test and every kernel that runs a notebook, wherever pytest is started: one thread, no progress bars."""

import os

os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")

import pytest
import torch


@pytest.fixture(autouse=True)
def _torch_in_examples(doctest_namespace: dict[str, object]) -> None:
    """The examples in docstrings may say torch without importing it."""
    doctest_namespace["torch"] = torch
