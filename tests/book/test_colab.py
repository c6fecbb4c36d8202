"""A notebook as Colab runs it: a machine with torch but without attnlib, and the set-up cell as it stands.

The repository's address is redirected to a copy of the working tree, so that what is tested is what would be published. Needs
git.

``make test`` runs the set-up cell alone, beside the packages that the tests have. ``make test-all`` runs a page, beside
the packages listed here; pip must reach its index. COLAB_PAGES=all runs every page. COLAB_LIST names a file as
``pip freeze`` writes it, such as the one that Colab publishes: its packages take the place of those listed here.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import course
import nbformat
import pytest
import versions

PAGES = course.notebooks() if os.environ.get("COLAB_PAGES") == "all" else course.notebooks()[-1:]
LIST = os.environ.get("COLAB_LIST")
# What Colab has before the first cell runs (August 2026). Its torch is the newest that requirements.txt allows here.
COLAB = ["ipython==7.34.0", "ipykernel==6.17.1", "matplotlib==3.10.0", "numpy==2.1.3", "tqdm==4.67.3", "einops==0.8.2"]
OUR_OWN = {"OMP_NUM_THREADS", "TQDM_DISABLE", "MPLBACKEND", "PYTHONPATH", "VIRTUAL_ENV", "PIP_CONSTRAINT"}
"""Settings of the tests and their environment, which a reader does not have."""

SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"
RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient

nb = nbformat.read(sys.argv[1], as_version=4)
again = next(cell for cell in nb.cells if "setup" in cell.metadata.get("tags", []))
nb.cells.append(nbformat.v4.new_code_cell(again.source))
nb.cells.append(nbformat.v4.new_code_cell("import attnlib\\nprint(attnlib.__file__)"))
NotebookClient(nb, timeout=7200, startup_timeout=1800, kernel_name="python3").execute()
print(json.dumps({"first": again.outputs, "again": nb.cells[-2].outputs, "file": nb.cells[-1].outputs[0].text.strip()}))
"""


def run(*arguments, cwd, env=None):
    done = subprocess.run([str(a) for a in arguments], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def listed(freeze):
    """The packages of a ``pip freeze``, by name, as pip takes them: ``1.0+here``, a build of one's own, becomes ``1.0``."""
    lines = [line.strip() for line in freeze.splitlines() if re.match(r"[\w.-]+(==| @ )", line)]
    return {re.split("==| @ ", line)[0].lower().replace("_", "-"): re.sub(r"(==[^+]*)\+.*", r"\1", line) for line in lines}


def machine_has():
    """What is there before the first cell runs, and what pip is held to while it is put there."""
    if LIST is None:
        torch = next(line for line in (course.ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch"))
        return [torch, *COLAB], []
    there = listed((course.ROOT / LIST).read_text(encoding="utf-8"))
    ours = {re.match(r"[\w.-]+", line)[0] for line in versions.asked_of_a_reader()} | {"ipykernel", "pip"}
    return [there[name] for name in sorted(ours & set(there))], [line for line in there.values() if "==" in line]


def publish(there, *below):
    """The working tree or parts of it, committed or not, as the main branch of a repository of its own."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    there.mkdir(exist_ok=True)
    for name in run("git", "ls-files", "-co", "--exclude-standard", "--", *below, cwd=course.ROOT).splitlines():
        if (course.ROOT / name).is_file():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(course.ROOT / name, there / name)
    run("git", "init", "-q", "-b", course.repository().branch, cwd=there)
    run("git", "add", "-A", "-f", cwd=there)
    run("git", "-c", "user.name=a test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "As it is", cwd=there)
    return there


def settings(published):
    """What a reader's machine has set, with the repository's address leading to the copy."""
    return {
        **{key: value for key, value in os.environ.items() if key not in OUR_OWN},
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{published.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": course.repository().url,
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    """An empty folder with an environment as Colab's, in which the repository's address leads to the copy."""
    probe = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--retries=1", COLAB[-1]]
    if subprocess.run(probe, cwd=tmp_path_factory.mktemp("probe"), capture_output=True).returncode:
        pytest.skip("needs the network: pip cannot reach its index")
    machine = tmp_path_factory.mktemp("colab")
    env = settings(publish(tmp_path_factory.mktemp("published"))) | {"PIP_NO_COMPILE": "1"}
    run(sys.executable, "-m", "venv", machine / "python", cwd=machine)
    there, held = machine_has()
    (machine / "held.txt").write_text("\n".join(held))
    pip = [machine / "python/bin/python", "-m", "pip", "install", "--quiet", "--constraint", machine / "held.txt"]
    if LIST is None:
        run(*pip, "--upgrade", "pip>=24.1", cwd=machine, env=env)  # as there: newer than the one that comes with Python
    run(*pip, *there, "nbclient", cwd=machine, env=env)
    (machine / "content").mkdir()
    return machine, env


def frozen(machine):
    return set(run(machine / "python/bin/python", "-m", "pip", "freeze", "--all", cwd=machine).splitlines())


@pytest.fixture
def before(colab):
    """The packages of the machine, which is given back as it was if another page follows: each installs what it needs."""
    machine, _ = colab
    packages = frozen(machine)
    yield packages
    if len(PAGES) == 1:
        return
    added = [re.split("==| @ ", line)[0] for line in frozen(machine) - packages]
    run(machine / "python/bin/python", "-m", "pip", "uninstall", "--quiet", "--yes", *added, cwd=machine)


def set_up(machine, page, env):
    """Run a page and its set-up cell again: the package is there then, and nothing was said but how to restart."""
    told = json.loads(run(machine / "python/bin/python", "-c", RUN, page, cwd=machine / "content", env=env).splitlines()[-1])
    assert Path(told["file"]).is_relative_to(machine / "python"), "attnlib was not installed by the set-up cell"
    said = "".join(output["text"] for output in told["first"]).splitlines()
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line).strip() for line in said]
    ours = [line for line in plain if line and "WARNING: Location" not in line]  # a mirror that lacks a package
    assert len(ours) == 1, said
    assert "you may need to restart the kernel" in ours[0]  # Jupyter's own note, which Colab does not print
    assert told["again"] == []


@pytest.mark.whole
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_runs_as_in_colab(colab, before, path):
    machine, env = colab
    set_up(machine, shutil.copy(path, machine / "content"), env)
    assert before <= frozen(machine), f"the set-up cell replaced {before - frozen(machine)}"


@pytest.fixture
def furnished(tmp_path):
    """The same, but pip fetches nothing: the environment sees the packages that the tests have, all but attnlib."""
    package = ("attnlib", "*.md", "*.cff", "*.in", "*.toml", "LICENSE*")
    env = settings(publish(tmp_path / "published", *package)) | {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "python", cwd=tmp_path)
    (tmp_path / "content").mkdir()
    (tmp_path / "others").mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "attnlib" not in path.name and path.suffix != ".pth":
            (tmp_path / "others" / path.name).symlink_to(path)
    site = Path(run(tmp_path / "python/bin/python", "-c", SITE, cwd=tmp_path).strip())
    (site / "others.pth").write_text(f"{tmp_path / 'others'}\n")
    return tmp_path, site, env


@pytest.mark.slow
def test_set_up_cell_brings_the_package_and_nothing_else(furnished):
    machine, site, env = furnished
    page = machine / "content" / "page.ipynb"
    cell = next(cell for cell in course.read(PAGES[-1]).cells if course.has_tag(cell, "setup"))
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), page)
    set_up(machine, page, env)
    assert [path.name.partition("-")[0] for path in site.glob("*.dist-info")] == ["attnlib"]


def test_reads_a_list_as_colab_publishes_it():
    freeze = "einops==0.8.2\nScikit_Learn==1.6.1\njax==0.7.2+cuda\ntorch @ file:///wheels/torch.whl\n# remark\n-e .\n"
    assert listed(freeze) == {
        "einops": "einops==0.8.2",
        "scikit-learn": "Scikit_Learn==1.6.1",
        "jax": "jax==0.7.2",
        "torch": "torch @ file:///wheels/torch.whl",
    }
