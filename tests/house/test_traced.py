"""Compiling and exporting, in an interpreter where attnlib is as users have it: torch cannot trace run-time shape checks."""

import re
import subprocess
import sys

import course
import pytest

HERE = course.ROOT / "tests" / "helpers"


@pytest.mark.parametrize(("file", "least"), [("traced_mixers.py", 56), ("traced_fixed_points.py", 7)])
def test_it_compiles_and_exports(file, least):
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", file]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= least, done.stdout
