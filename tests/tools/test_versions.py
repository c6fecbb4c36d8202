"""The ends of what is supported, and an environment on a machine that is not as it should be."""

import re
import subprocess
import sys
from pathlib import Path

import course
import make_environment
import pytest
import versions
import yaml

ROOT = course.ROOT
OLD_PYTHON = """#!{shell}
exec {python} -c 'import runpy, sys; sys.version_info = (3, 10, 2); runpy.run_path(sys.argv[1], run_name="__main__")' "$@"
"""


@pytest.fixture
def stated(tmp_path):
    """A folder with requirements of its own."""
    (tmp_path / "pyproject.toml").write_text("""
[project]
classifiers = ["Programming Language :: Python :: 3.11", "Programming Language :: Python :: 3.12"]
dependencies = ["torch>=2.6", "numpy>=1.9"]
[project.optional-dependencies]
book = ["dask[distributed]>=2024.8", "numpy>=1.26"]
""")
    (tmp_path / "requirements.txt").write_text("# a remark\ntorch>=2.6,<2.14\nipywidgets>=8 # another\n")
    return tmp_path


def test_oldest_end_holds_everything_to_the_highest_floor_that_is_stated(stated):
    oldest = versions.end("oldest", stated)
    assert oldest.python == "3.11"
    assert oldest.constraints == ("dask==2024.8", "ipywidgets==8", "numpy==1.26", "torch==2.6")


def test_newest_end_holds_nothing_back(stated):
    assert versions.end("newest", stated) == versions.End("3.12", ())


def test_a_requirement_without_a_floor_is_refused(stated):
    (stated / "requirements.txt").write_text("torch\n")
    with pytest.raises(ValueError, match="torch states no lowest version"):
        versions.floors(stated)


def test_constraints_are_printed_for_pip():
    script = [sys.executable, ROOT / "tools" / "versions.py", "--constraints"]
    lines = subprocess.run([*script, "oldest"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(versions.floors())
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in lines)
    colab = subprocess.run([*script, "colab"], capture_output=True, text=True, check=True).stdout
    assert colab == f"torch=={versions.COLAB_TORCH}.*\n"


def test_workflow_runs_at_the_same_ends():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8"))["jobs"]
    there = {row["end"]: row["python"] for row in jobs["tests"]["strategy"]["matrix"]["include"]}
    assert there == {name: versions.end(name).python for name in versions.ENDS}


def test_finds_this_python_and_none_that_does_not_exist():
    here = "{}.{}".format(*sys.version_info[:2])
    assert versions.find(here)
    assert versions.find("3.99") is None


def test_an_end_whose_python_is_missing_is_skipped_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(versions, "find", lambda version: None)
    good, said = versions.run("oldest", tmp_path, [])
    assert good
    assert said.startswith("oldest: skipped, there is no Python 3.11 here")


def test_newest_end_takes_the_newest_python_there_is(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(versions, "find", lambda version: asked.append(version))
    versions.run("newest", tmp_path, [])
    assert asked == versions.pythons()[::-1]


@pytest.mark.parametrize(("name", "types"), [("oldest", False), ("newest", True)])
def test_an_end_runs_what_needs_no_browser_and_the_oldest_no_types(monkeypatch, tmp_path, name, types):
    asked = []

    class Pretend(subprocess.Popen):
        def __init__(self, command, **_):
            asked.extend(map(str, command))
            super().__init__([sys.executable, "-c", "print('1 passed')"], stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(versions, "find", lambda version: Path(sys.executable))
    monkeypatch.setattr(versions, "environment", lambda *_: Path(sys.executable))
    monkeypatch.setattr(versions.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, stdout="2.11"))
    monkeypatch.setattr(versions.subprocess, "Popen", Pretend)
    good, said = versions.run(name, tmp_path, ["tests/live"])
    assert good
    assert said.endswith("torch 2.11: 1 passed")
    assert asked[asked.index("-m", 2) + 1] == "not browser"  # the first -m is python's
    assert not any("ignore-glob" in argument for argument in asked)
    assert ("--ignore=tests/house/test_types.py" not in asked) is types
    assert asked[-1] == "tests/live"


def test_an_environment_is_made_once_for_the_same_requirements(monkeypatch, tmp_path):
    asked = []

    def pretend(command, **_):
        asked.append([str(part) for part in command])
        if "venv" in command:
            (tmp_path / "oldest").mkdir()

    monkeypatch.setattr(versions.subprocess, "run", pretend)
    for _ in range(2):
        assert versions.environment("oldest", "3.11", Path("python3.11"), tmp_path) == tmp_path / "oldest" / "bin" / "python"
    made, filled = asked
    assert made == ["python3.11", "-m", "venv", str(tmp_path / "oldest")]
    assert filled[filled.index("--constraint") + 1] == str(tmp_path / "oldest.txt")
    held = (tmp_path / "oldest.txt").read_text().splitlines()
    assert [line for line in held if line[0] != "#"] == [*versions.end("oldest").constraints]
    monkeypatch.setattr(versions, "floors", lambda root: {"torch": "2.7"})
    versions.environment("oldest", "3.11", Path("python3.11"), tmp_path)
    assert len(asked) == 4


# The environment that make makes


def make(folder, *arguments):
    """What ``make .venv/installed`` does before pip, with a copy of the files that it reads."""
    for name in ("Makefile", "pyproject.toml", "requirements.txt", "tools/make_environment.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    command = ["make", "-C", folder, *arguments, ".venv/installed"]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1"})


def test_an_old_python_is_refused_before_anything_is_made(tmp_path):
    old = tmp_path / "old"
    old.write_text(OLD_PYTHON.format(shell="/bin/sh", python=sys.executable))
    old.chmod(0o755)
    done = make(tmp_path, f"PYTHON={old}")
    assert done.returncode
    assert "is Python 3.10; the course needs Python 3.11 or newer" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.slow
def test_a_broken_environment_is_made_again(tmp_path, capfd):
    folder = tmp_path / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)  # half made: no pip, no configuration
    assert not make_environment.works(str(tmp_path / "nothing"))
    assert make_environment.main(str(folder)) is None
    assert "half-made" in capfd.readouterr().out
    assert make_environment.works(str(folder))
    assert make_environment.main(str(folder)) is None
    assert not capfd.readouterr().out


def test_a_python_that_cannot_make_environments_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(make_environment.subprocess, "call", lambda command: Path(command[-1]).mkdir() or 1)
    assert "python3-venv" in make_environment.main(str(tmp_path / "venv"))
    assert not (tmp_path / "venv").exists()


def test_any_python_can_read_the_script_that_complains():
    """Nothing in it is newer than Python 2.7 can parse: no f-string, no annotation, no keyword-only argument."""
    source = (ROOT / "tools" / "make_environment.py").read_text(encoding="ascii")
    compile(source, "make_environment.py", "exec")
    assert not re.search(r"\bf[\"']|->|: (str|int|bool)\b|:=|^from __future__", source, re.MULTILINE)
