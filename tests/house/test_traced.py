"""Compiling and exporting, in an interpreter where attnlib is as users have it: torch cannot trace run-time shape checks.

The first test compiles two mixers, the plain one and that of CONTRIBUTING.md, and a fixed point. The other mixers,
blocks, saddle points, other settings, exports and empty rows are for ``make test-all``.
"""

import inspect
import re
import subprocess
import sys

import course
import pytest

import attnlib

HERE = course.ROOT / "tests" / "helpers"
CHEAPEST = {
    "SoftmaxAttention": "SoftmaxAttention",
    "EnergyAttention": "EnergyAttention",
    "MeanFieldAttention": "MeanFieldAttention",
    "VectorSpinAttention": "VectorSpinAttentionWithOneMultiplier",
    "KineticAttention": "KineticAttention",
    "GraphAttention": "GraphAttention",
    "DistanceAttention": "TheRecipe",
}
"""Each mixer of attnlib, and that of CONTRIBUTING.md, with the suite in ``mixers.py`` that compiles in the least time."""
FIXED_POINT = "test_a_compiled_fixed_point_has_its_derivatives[damped-16-from zero]"


def passed(*tests):
    """How many of these pass, in an interpreter of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    return int(re.search(r"(\d+) passed", done.stdout)[1])


@pytest.mark.slow
def test_two_mixers_and_a_solver_compile():
    suites = [CHEAPEST[name] for name in ("SoftmaxAttention", "DistanceAttention")]
    mixers = [f"traced_mixers.py::Test{suite}Suite::test_it_compiles_without_a_break[all settings]" for suite in suites]
    assert passed(*mixers, f"traced_fixed_points.py::{FIXED_POINT}") == 3


def test_no_mixer_is_forgotten():
    classes = {
        name
        for name in attnlib.__all__
        if inspect.isclass(thing := getattr(attnlib, name)) and issubclass(thing, attnlib.Mixer)
    }
    assert set(CHEAPEST) == classes - {"Mixer"} | {"DistanceAttention"}


@pytest.mark.whole
@pytest.mark.parametrize(("file", "least"), [("traced_mixers.py", 56), ("traced_fixed_points.py", 7), ("traced_blocks.py", 12)])
def test_it_compiles_and_exports(file, least):
    assert passed(file) >= least
