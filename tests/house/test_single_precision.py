"""Every numeric test again in single precision, which is what users have in their hands.

The test files are copied with float32 in place of float64. Tests marked ``double`` stay behind: derivatives by finite
differences, bounds of double precision, and what is said about dtypes themselves. ``make test`` takes a sample of each file.
"""

import os
import re
import subprocess
import sys

import course
import pytest

TESTS = course.ROOT / "tests"
NUMERIC = [
    *("test_softmax", "test_online_softmax", "test_random_energy", "test_scores", "test_attention", "test_memory"),
    *("test_hopfield", "test_associative"),
    *("test_ising", "test_priors", "test_free_energy"),
    *("test_graphs", "test_beliefs", "test_amp"),
]
SUPPORT = ["helpers/draw.py", "helpers/samples.py", "conftest.py"]
SAMPLED = """

def pytest_collection_modifyitems(items):
    from itertools import groupby

    from helpers import draw, samples

    assert draw.SINGLE
    files = [list(file) for _, file in groupby(items, key=lambda item: item.path)]
    items[:] = [item for file in files for item in samples.sample(file, {share}, {tier!r}, lambda item: item.nodeid)]
"""
"""What the copy of the conftest adds."""


@pytest.mark.slow
def test_the_numeric_tests_in_single_precision(tmp_path, request):
    tier, share = request.config.getoption("tier"), 0.06
    for path in [*(next(TESTS.glob(f"*/{name}.py")) for name in NUMERIC), *(TESTS / name for name in SUPPORT)]:
        text = path.read_text(encoding="utf-8").replace("torch.float64", "torch.float32").replace(".double()", ".float()")
        text += SAMPLED.format(share=share, tier=tier) if path.name == "conftest.py" else ""
        copy = tmp_path / path.relative_to(TESTS.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace("SINGLE = False", "SINGLE = True"))
    examples = f"--hypothesis-profile={'all' if tier == 'all' else 'test'}"
    kinds = "not double" if tier == "all" else "not double and not whole"
    options = ["-q", examples, "-m", kinds, "-o", "addopts=", "-c", str(course.ROOT / "pyproject.toml")]
    without = ["-p", "no:cacheprovider", "-p", "no:nbval"]  # which takes longer to load than torch
    command = [sys.executable, "-m", "pytest", *options, *without, "--rootdir", str(tmp_path), str(tmp_path)]
    env = os.environ | {"PYTHONPATH": str(course.ROOT / "tools")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 300 * (1 if tier == "all" else share), done.stdout
