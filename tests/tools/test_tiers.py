"""The plugin of the three tiers, in a run of its own."""

import os
import subprocess
import sys

import course
import pytest

TESTS = """
import pytest

@pytest.fixture
def browser():
    return "a browser"

@pytest.fixture
def desk(browser):
    return browser

def test_number(): pass
def test_screen(desk): pass
"""


@pytest.fixture
def asked(tmp_path):
    """The lines of a run of two tests, of which one needs a browser, though its file's name does not say so."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (tmp_path / "tests" / "live").mkdir(parents=True)
    (tmp_path / "tests" / "live" / "test_lab.py").write_text(TESTS)

    def run(*arguments):
        command = [sys.executable, "-m", "pytest", "-p", "helpers.tiers", "-p", "no:cacheprovider", "--strict-markers"]
        settings = os.environ | {"PYTHONPATH": str(course.ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run([*command, *arguments], cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    return run


@pytest.mark.slow
def test_a_browser_test_is_told_by_its_fixture(asked):
    everything = asked()
    stages = everything[everything.index(next(line for line in everything if "seconds per stage" in line)) + 1 :][:2]
    assert {line.split()[1] for line in stages} == {"browser", "live"}
    assert "Covered in the tier test: 2 tests; left out: nothing." in everything
    assert any("1 passed, 1 deselected" in line for line in asked("-m", "not browser"))
    assert any("Covered in the tier check: 1 tests" in line for line in asked("--tier", "check"))


MANY = """
import pytest

pytestmark = pytest.mark.some(1 / 4)

""" + "".join(f"def test_{name}(): pass\n" for name in "abcdefgh")


@pytest.mark.slow
def test_some_tests_of_a_file_stand_for_all(asked, tmp_path):
    """The same ones whoever asks; all of them in the last tier."""
    (tmp_path / "tests" / "live" / "test_lab.py").write_text(MANY)
    first, again = ([line for line in asked("-v", *more) if "PASSED" in line] for more in ((), ("-p", "no:randomly")))
    assert len(first) == 2
    assert first == again
    assert any("left out: 6 tests of one kind" in line for line in asked())
    assert any("Covered in the tier all: 8 tests" in line for line in asked("--tier", "all"))


@pytest.mark.slow
def test_a_sixteenth_of_a_folders_slow_tests_stands_for_all_unless_their_file_is_named(asked, tmp_path):
    slow = "import pytest\n\n" + "".join(f"@pytest.mark.slow\ndef test_{name}(): pass\n" for name in "abcdefghijklmnop")
    (tmp_path / "tests" / "live" / "test_lab.py").write_text(slow)
    assert any("Covered in the tier test: 1 tests; left out: 15 slow tests." in line for line in asked())
    assert any("Covered in the tier test: 16 tests; left out: nothing." in line for line in asked("tests/live"))


@pytest.mark.slow
def test_what_is_checked_while_one_works_is_a_tenth_of_the_course_and_an_eighth_of_many_cases(asked, tmp_path):
    few = "".join(f"def test_{name}(): pass\n" for name in "abcdefgh")
    many = "import pytest\n\n@pytest.mark.parametrize('n', range(40))\ndef test_number(n): pass\n"
    (tmp_path / "tests" / "softmax").mkdir()
    (tmp_path / "tests" / "live" / "test_lab.py").write_text(few)
    (tmp_path / "tests" / "softmax" / "test_weights.py").write_text(many + few)
    said = next(line for line in asked("--tier", "check") if "Covered" in line)
    assert said == "Covered in the tier check: 14 tests; left out: 35 cases of one test, 7 tests of the course."
    assert any(
        "Covered in the tier check: 48 tests; left out: nothing." in line for line in asked("--tier", "check", "tests/softmax")
    )
