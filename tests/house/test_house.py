"""The house itself: layout and spelling of everything, the facts that stand in two places, the files that must be there."""

import importlib
import inspect
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import course
import pytest
import sync_pages
import yaml

import attnlib

ROOT = course.ROOT


def tracked(*suffixes):
    """The files of the repository, as git sees them, also those not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return sorted(path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes))


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff(arguments):
    run("ruff", *arguments, ".")


def test_spelling_of_files():
    run(
        "codespell_lib",
        *[str(path.relative_to(ROOT)) for path in tracked(".md", ".py", ".yml", ".toml", ".cff", ".css", ".js")],
    )


def test_spelling_of_notebooks(tmp_path):
    """All pages in one run: to read its list of words takes the program longer than to read a page."""
    for path in course.notebooks():
        (tmp_path / f"{path.stem}.txt").write_text("\n\n".join(cell.source for cell in course.read(path).cells))
    run("codespell_lib", str(tmp_path))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "LICENSE-text", "CHANGELOG.md"])
def test_is_there_and_says_something(name):
    assert len((ROOT / name).read_text(encoding="utf-8").split()) >= 20


def test_ci_runs_make_test():
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert re.search(r"^make test\b", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_make_target_that_is_mentioned_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in tracked(".md", ".yml", ".py"):
        asked = set(re.findall(r"(?:`|run: |\brun )make ([a-z-]+)", path.read_text(encoding="utf-8")))
        assert asked <= targets, path


# Workflows, which run elsewhere: what can be said about them without running them


def test_workflows_are_safe():
    """Actions pinned by digest, no more rights than needed, no text of a stranger in a shell."""
    zizmor = Path(sysconfig.get_path("scripts"), "zizmor")
    done = subprocess.run([zizmor, "--offline", "--no-progress", ".github"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_are_valid():
    if shutil.which("actionlint") is None:
        pytest.skip("needs actionlint, whose only package fetches a program while it is installed; the workflow itself has it")
    done = subprocess.run(["actionlint"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def test_book_is_published_after_all_tests_by_a_job_that_installs_nothing():
    jobs = workflow("book.yml")["jobs"]
    assert jobs["deploy"]["needs"] == "build"
    assert set(jobs["build"]["needs"]) == set(jobs) - {"build", "deploy"}
    assert [name for name, job in jobs.items() if "permissions" in job] == ["deploy"]
    assert not [step for step in jobs["deploy"]["steps"] if "run" in step or "checkout" in step["uses"]]


def test_workflows_may_only_read():
    for path in tracked(".yml"):
        if path.parent.name == "workflows":
            assert workflow(path.name)["permissions"] == {"contents": "read"}


# One address


def test_no_other_address_of_this_repository():
    where = course.repository()
    owner, name = where.slug.split("/")
    for path in tracked():
        if path.suffix not in {".png", ".svg", ".ico", ".json", ".safetensors"}:
            content = path.read_text(encoding="utf-8")
            near = re.findall(r"github\.com/(?:repos/)?([\w.-]+/[\w.-]+?)(?:\.git)?(?![\w-]|\.\w)", content)
            mine = {slug for slug in near if slug.split("/")[0] == owner or slug.split("/")[1] == name}
            assert mine <= {where.slug}, path
            branches = re.findall(rf"{re.escape(where.slug)}/(?:blob|raw|tree|edit)/([\w.-]+)", content)
            assert set(branches) <= {where.branch}, path


def test_address_is_written_by_hand_in_one_place():
    """Only generated text repeats it: with another address in _config.yml, ``make pages`` leaves none of this one."""
    here = course.repository()
    elsewhere = course.Repository("https://github.com/someone/elsewhere", "next")
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in tracked(".md", ".py", ".yml", ".toml", ".js", ".css", ".cff", ".in", "")
    }
    written = {**texts, **sync_pages.repeated(ROOT, elsewhere, texts)}
    assert [path for path, content in written.items() if here.slug in content] == [ROOT / "_config.yml"]


def test_no_place_on_a_machine():
    place = re.compile(r"(?<![\w.:/}$])/(?:home|root|work|Users|private)/\w")
    assert not [
        path
        for path in tracked(".md", ".py", ".yml", ".toml", ".cff", ".txt", "")
        if place.search(path.read_text(encoding="utf-8"))
    ]


# The book


def pages_of_contents():
    def files(entry):
        if isinstance(entry, dict):
            yield from [entry[key] for key in ("root", "file") if key in entry]
            yield from [page for value in entry.values() for page in files(value)]
        elif isinstance(entry, list):
            yield from [page for value in entry for page in files(value)]

    return list(files(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))


def test_library_of_the_first_six_chapters_stays_small():
    """What pages alone need lives in the course; what several chapters need is said once."""
    rooms = [ROOT / "attnlib" / name for name in course.ROOMS if name not in ("kinetic", "transformer", "course")]
    files = [ROOT / "attnlib" / "__init__.py", *(path for room in rooms for path in room.rglob("*.py"))]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 10_500


def test_contents_list_every_page_once():
    listed = pages_of_contents()
    assert len(listed) == len(set(listed))
    there = [
        path
        for folder in ("book", "book/api", "book/api/course", "notebooks")
        for path in (ROOT / folder).glob("*")
        if path.suffix in {".md", ".ipynb"}
    ]
    assert set(listed) == {path.relative_to(ROOT).with_suffix("").as_posix() for path in there}


def code_names():
    """The backticked names in the column "code name" of the notation table."""
    rows = [
        line.split("|")
        for line in (ROOT / "book" / "notation.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    column = [cell.strip() for cell in rows[0]].index("code name")
    return [name for row in rows[2:] for name in re.findall(r"`([^`]+)`", row[column])]


def public_names():
    """Everything that ``attnlib`` and its modules export, and the names of its parameters and fields."""
    names = set()
    rooms = (*course.LIBRARY, "course.models", "course.oracles")
    modules = [attnlib, *(importlib.import_module(f"attnlib.{name}") for name in rooms)]
    for module in modules:
        for name, thing in vars(module).items():
            if not name.startswith("_") and getattr(thing, "__module__", "").startswith("attnlib"):
                names.add(name)
                if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Exception)):
                    names.update(inspect.signature(thing).parameters)
    return names


def test_notation_table_uses_the_names_of_the_code():
    listed, known = code_names(), public_names()
    assert len(listed) >= 10
    assert not [name for name in listed if name not in known]
