"""Compiling and exporting, in an interpreter where attnlib is as users have it: torch cannot trace run-time shape checks."""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_every_mixer_compiles_and_exports():
    command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "traced_mixers.py"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= 6 * 5, done.stdout
