"""What is published: the wheel and the source distribution, what they say of themselves, what they ask for."""

import ast
import email
import json
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import course
import pytest
import versions

import attnlib

ROOT = course.ROOT
BUILD = "import sys; from setuptools import build_meta as b; print(getattr(b, f'build_{sys.argv[1]}')(sys.argv[2]))"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALLED_AS = {
    "bs4": "beautifulsoup4",
    "fontTools": "fonttools",
    "IPython": "ipython",
    "PIL": "pillow",
    "matplotlib_inline": "matplotlib-inline",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
INSTALLED_AS["axe_playwright_python"] = "axe-playwright-python"


def run(*arguments, cwd=None):
    done = subprocess.run([str(a) for a in arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def tracked(*below):
    listed = run("git", "ls-files", "-co", "--exclude-standard", "--", *below, cwd=ROOT).splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution of the working tree, and the wheel built from it alone."""
    folder = tmp_path_factory.mktemp("built")
    for name in tracked():
        (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tree" / name).write_bytes((ROOT / name).read_bytes())
    sdist = folder / run(sys.executable, "-c", BUILD, "sdist", folder, cwd=folder / "tree").splitlines()[-1]
    with tarfile.open(sdist) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    source = next((folder / "unpacked").iterdir())
    wheel = folder / run(sys.executable, "-c", BUILD, "wheel", folder, cwd=source).splitlines()[-1]
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The Python of an environment that holds attnlib from the wheel, and sees torch and the like where the tests find them."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", built[1], cwd=folder)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.mark.slow
def test_source_distribution_holds_the_package_and_nothing_else(built):
    sdist, _ = built
    with tarfile.open(sdist) as packed:
        held = {name.partition("/")[2] for name in packed.getnames() if packed.getmember(name).isfile()}
    made = {"PKG-INFO", "setup.cfg"} | {name for name in held if name.startswith("attnlib.egg-info/")}
    around = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"}
    assert held - made == around | set(tracked("attnlib"))


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(built):
    _, wheel = built
    about = f"attnlib-{PROJECT['version']}.dist-info"
    files = ["METADATA", "RECORD", "WHEEL", "licenses/LICENSE", "top_level.txt"]
    assert set(zipfile.ZipFile(wheel).namelist()) == {f"{about}/{name}" for name in files} | set(tracked("attnlib"))


@pytest.mark.slow
def test_wheel_says_where_the_project_lives(built):
    _, wheel = built
    about = zipfile.ZipFile(wheel).read(f"attnlib-{PROJECT['version']}.dist-info/METADATA").decode()
    said, where = email.message_from_string(about), course.repository()
    addresses = dict(line.split(", ") for line in said.get_all("Project-URL"))
    assert addresses["Source"] == where.url
    assert addresses["Homepage"] == where.site
    assert said["License-Expression"] == PROJECT["license"]


def test_readme_works_where_the_repository_is_not():
    """On a package index nothing lies beside the text: each of its links and pictures has a full address."""
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.findall(r"\]\((?!https://)[^)]*\)", front)
    targets = [*re.findall(r"^\[[^\]]+\]: (\S+)$", front, re.MULTILINE), *re.findall(r"\]\((\S+)\)", front)]
    where, contents = course.repository(), (ROOT / "_toc.yml").read_text(encoding="utf-8")
    files = [re.sub(rf"^{re.escape(where.url)}/(blob|raw)/{re.escape(where.branch)}/", "", target) for target in targets]
    assert sum((ROOT / path).is_file() for path in files) >= 5
    for path in files:
        page = path.removeprefix(where.site).partition("#")[0].removesuffix(".html")
        assert (ROOT / path).is_file() or (path.startswith(where.site) and f" {page}\n" in contents)


@pytest.mark.slow
def test_installed_package_finds_its_files(installed, tmp_path):
    script = """
import attnlib, attnlib.course.live
from attnlib.course import plots
from attnlib.course.data.recorded import recorded
plots.use_style()
attnlib.course.live.SoftmaxThermometer().page()
print(attnlib.__file__, attnlib.__version__)"""
    file, version = run(installed, "-c", script, cwd=tmp_path).split()
    assert Path(file).is_relative_to(installed.parent.parent)
    assert version == PROJECT["version"]


# One version, in pyproject.toml


def test_version_is_the_same_everywhere():
    assert attnlib.__version__ == PROJECT["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## ([\w.]+)", changes, re.MULTILINE)[1] == PROJECT["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [PROJECT["version"]]


def test_pythons_are_those_of_the_classifiers():
    named = versions.pythons()
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert [int(name.split(".")[1]) for name in named] == list(range(11, 11 + len(named)))


# What is asked for


NEEDED = {
    "matplotlib": "import attnlib.course.plots",
    "anywidget": "import attnlib.course.live",
    "traitlets": "import attnlib.course.live",
    "joblib": "from attnlib.course.models import storage_sweep; storage_sweep([])",
    "sacrebleu": "from attnlib.course.models import bleu; bleu([['a']], [['a']])",
    "tqdm": "from attnlib.course.models.lessons import endless; endless(list, 1, 'a bar')",
    "safetensors": "import attnlib; attnlib.load('tests/transformer/folders/gpt2')",
}
"""Packages of the extra, and a line that needs each."""

WITHOUT = """
import json, os, sys, attnlib
for package, script in json.loads(sys.argv[1]).items():
    out, into = os.pipe()
    if os.fork():
        os.wait(), os.close(into)
        print(package, os.read(out, 10_000).decode().replace("\\n", " "))
        continue
    sys.modules[package] = None
    try:
        exec(script)
    except ModuleNotFoundError as error:
        os.write(into, str(error).encode())
    os._exit(0)"""
"""Each line in a process that has loaded attnlib, and lacks the package."""


@pytest.fixture(scope="module")
def complaints():
    """What is said where a package is missing."""
    said = run(sys.executable, "-c", WITHOUT, json.dumps(NEEDED), cwd=ROOT)
    return dict(line.split(" ", 1) for line in said.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("package", NEEDED)
def test_a_missing_extra_says_how_to_get_it(complaints, package):
    assert re.match(rf"[\w. ]+ needs {package}, which is missing", complaints[package])
    assert complaints[package].endswith('pip install "attnlib[book]"')


def imported(source):
    """The packages that a program imports, anywhere in it, by the name to install, those of Python itself left out."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {
        INSTALLED_AS.get(top, top) for top in (name.partition(".")[0] for name in names) if top not in sys.stdlib_module_names
    }


def named(requirements):
    return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}


@pytest.mark.slow
def test_everything_that_is_imported_is_asked_for():
    package = named(versions.asked_of_a_reader()) | {"attnlib"}
    for name in tracked("attnlib/*.py"):
        assert imported((ROOT / name).read_text(encoding="utf-8")) <= package, name
    for path in course.notebooks():
        for cell in course.code_cells(course.read(path)):
            plain = re.sub(r"^(\s*)[%!].*", r"\1pass", cell.source, flags=re.MULTILINE)
            assert imported(plain) <= package | {"google"}, f"{path.name}: {cell.source}"
    ours = {Path(name).stem for name in tracked("tools", "experiments")} | {"benchmarks", "classroom", "experiments", "helpers"}
    for name in tracked("tests/*.py", "tools/*.py", "benchmarks/*.py", "experiments/*.py"):
        assert imported((ROOT / name).read_text(encoding="utf-8")) <= named(versions.requirements()) | ours | {"attnlib"}, name
