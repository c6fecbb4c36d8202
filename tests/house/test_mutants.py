"""The tests are tested: a dozen formulas of the library are broken, one at a time, and the tests of their chapter must fail."""

import os
import shutil
import subprocess
import sys

import course
import pytest
from helpers.mutants import CHANGES, chosen, mutants

ROOT = course.ROOT
COPIED = ("attnlib", "tests", "tools", "conftest.py", "pyproject.toml")
LONGEST = 1800
"""Seconds after which a formula that broke has made a loop without an end; that is noticed, too."""


def every():
    """All changes of the library's formulas."""
    paths = [path for room in course.LIBRARY for path in sorted((ROOT / "attnlib" / room).glob("*.py"))]
    return [one for path in paths for one in mutants(ROOT, path.relative_to(ROOT))]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The house again: a package and tests of its own, all else where it is."""
    there = tmp_path_factory.mktemp("house")
    for path in ROOT.iterdir():
        if path.name in COPIED:
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, there / path.name, **({"ignore": shutil.ignore_patterns("__pycache__")} if path.is_dir() else {}))
        elif not path.name.startswith("."):
            (there / path.name).symlink_to(path)
    return there


def outcome(house, room):
    """How the tests of a room end; nothing that was compiled before counts."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{room}"]
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=house, env=env, capture_output=True, text=True, timeout=LONGEST)


def noticed(house, mutant):
    """Whether a test fails because of a change; that the tests cannot even begin does not count."""
    path = house / mutant.path
    text = path.read_bytes()
    path.write_bytes(mutant.applied(text))
    try:
        done = outcome(house, mutant.path.parts[1])
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_bytes(text)
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
    return done.returncode == 1


def test_there_are_formulas_to_break():
    """Of each kind many, and each can be read again."""
    found = every()
    for kind in CHANGES:
        assert len([one for one in found if one.kind == kind]) >= 10
    for one in chosen(found, 10):
        text = (ROOT / one.path).read_bytes()
        compile(one.applied(text), one.path, "exec")
        assert text != one.applied(text)


def test_changes_are_where_they_are_meant(tmp_path):
    lines = [
        "def energy(x, beta):",
        "    if x < 0:",
        '        raise ValueError(f"{x + 1}")',
        "    é = x / 2 + beta",
        "    return é if len(x) > 1 and x > é else 0.5 * é",
        "def _check_energy(x):",
        "    return x - 1",
        "def first_guess(x):",
        "    return x - 1",
    ]
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    found = mutants(tmp_path, (tmp_path / "a.py").relative_to(tmp_path))
    assert {(one.kind, one.before, one.after) for one in found} == {
        ("another sign", "x / 2 + beta", "x / 2 - beta"),
        ("no half", "x / 2", "x"),
        ("no half", "0.5 * é", "é"),
        ("another bound", "len(x) > 1", "len(x) >= 1"),
        ("no beta", "beta", "1"),
    }
    (half,) = (one for one in found if one.before == "0.5 * é")
    assert "    return é if len(x) > 1 and x > é else (é)\n" in half.applied((tmp_path / "a.py").read_bytes()).decode()


@pytest.mark.whole
def test_the_copy_is_in_order(house):
    """Where nothing is changed no test fails: else a change would count as noticed that is not."""
    done = outcome(house, "softmax")
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.whole
def test_nine_in_ten_are_noticed(house):
    tried = chosen(every(), 3)
    unnoticed = [str(one) for one in tried if not noticed(house, one)]
    assert len(unnoticed) <= len(tried) / 10, "\n".join(unnoticed)
