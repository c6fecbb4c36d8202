"""Types: mypy (strictly) and basedpyright find nothing in the package, nor in a script as a user writes it.

A checker takes most of its time to read torch. So each runs once, on what must be clean and on what must not.
"""

import re
import subprocess
import sys

import course
import pytest
from helpers import typed_script

WRONG = "from attnlib import SoftmaxAttention, softmax\n\nsoftmax('scores')\nSoftmaxAttention(8, head=2)\n"
"""Two lines that a user gets wrong, the third and the fourth."""


@pytest.fixture(scope="module", params=["mypy", pytest.param("basedpyright", marks=pytest.mark.whole)])
def found(request, tmp_path_factory):
    """What a checker complains of, by file and line. It sees what this Python sees, wherever its environment lies."""
    wrong = tmp_path_factory.mktemp("types") / "wrong.py"
    wrong.write_text(WRONG)
    there = ["--pythonpath", sys.executable] if request.param == "basedpyright" else ["--python-executable", sys.executable]
    command = [sys.executable, "-m", request.param, *there, "attnlib", "tests/helpers/typed_script.py", str(wrong)]
    done = subprocess.run(command, cwd=course.ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    complaints = re.findall(r"^ *(\S+\.pyi?):(\d+):.*?\b(?:error|warning)\b.*$", done.stdout, re.MULTILINE)
    number = re.search(r"^(?:Found )?(\d+) errors", done.stdout, re.MULTILINE)
    assert number, done.stdout + done.stderr
    assert len(complaints) == int(number[1]), done.stdout
    return complaints, wrong.name, done.stdout


def test_package_and_script_are_clean(found):
    complaints, wrong, said = found
    assert not [file for file, _ in complaints if not file.endswith(wrong)], said


def test_wrong_types_are_found(found):
    """A checker that sees nothing of the package would find nothing wrong either."""
    complaints, wrong, said = found
    assert {line for file, line in complaints if file.endswith(wrong)} == {"3", "4"}, said


@pytest.mark.slow
def test_the_script_runs():
    typed_script.main()
