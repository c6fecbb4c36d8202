"""Types: mypy (strictly) and basedpyright find nothing in the package, nor in a script as a user writes it."""

import subprocess
import sys

import course
import pytest
from helpers import typed_script

ROOT = course.ROOT
SCRIPT = "tests/helpers/typed_script.py"


def run(checker, *arguments):
    """Run a checker on what this Python sees, wherever its environment lies."""
    there = ["--pythonpath", sys.executable] if checker == "basedpyright" else ["--python-executable", sys.executable]
    command = [sys.executable, "-m", checker, *there, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("checker", [("mypy",), ("basedpyright",)], ids=lambda checker: checker[0])
def test_package_and_script_are_clean(checker):
    code, said = run(*checker, "attnlib", SCRIPT)
    assert code == 0, said


@pytest.mark.parametrize("checker", [("mypy",), ("basedpyright",)], ids=lambda checker: checker[0])
def test_wrong_types_are_found(checker, tmp_path):
    """A checker that sees nothing of the package would find nothing wrong either."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from attnlib import SoftmaxAttention, softmax\n\nsoftmax('scores')\nSoftmaxAttention(8, head=2)\n")
    code, said = run(*checker, str(wrong))
    assert code == 1
    assert "wrong.py:3" in said
    assert "wrong.py:4" in said


def test_the_script_runs():
    typed_script.main()
