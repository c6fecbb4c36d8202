"""A notebook as Colab runs it: a machine with torch but without attnlib, and the set-up cell as it stands.

The repository's address is redirected to a copy of the working tree, so that what is tested is what would be published. Needs
git, and pip must reach its index.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import course
import pytest

# What Colab has before the first cell runs (August 2026). Its torch is the newest that requirements.txt allows here.
COLAB = ["ipython==7.34.0", "ipykernel==6.17.1", "matplotlib==3.10.0", "numpy==2.1.3", "tqdm==4.67.3", "einops==0.8.2"]

RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient

nb = nbformat.read(sys.argv[1], as_version=4)
again = next(cell for cell in nb.cells if "setup" in cell.metadata.get("tags", []))
nb.cells.append(nbformat.v4.new_code_cell(again.source))
nb.cells.append(nbformat.v4.new_code_cell("import attnlib\\nprint(attnlib.__file__)"))
NotebookClient(nb, timeout=600, kernel_name="python3").execute()
print(json.dumps({"first": again.outputs, "again": nb.cells[-2].outputs, "file": nb.cells[-1].outputs[0].text.strip()}))
"""


def run(*arguments, cwd, env=None):
    done = subprocess.run([str(a) for a in arguments], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The working tree, committed or not, as the main branch of a repository of its own."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    there = tmp_path_factory.mktemp("published")
    for name in run("git", "ls-files", "-co", "--exclude-standard", cwd=course.ROOT).splitlines():
        if (course.ROOT / name).is_file():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(course.ROOT / name, there / name)
    run("git", "init", "-q", "-b", course.repository().branch, cwd=there)
    run("git", "add", "-A", "-f", cwd=there)
    run("git", "-c", "user.name=a test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "As it is", cwd=there)
    return there


@pytest.fixture(scope="module")
def colab(tmp_path_factory, published):
    """An empty folder with an environment as Colab's, in which the repository's address leads to the copy."""
    probe = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--retries=1", COLAB[-1]]
    if subprocess.run(probe, cwd=tmp_path_factory.mktemp("probe"), capture_output=True).returncode:
        pytest.skip("needs the network: pip cannot reach its index")
    machine = tmp_path_factory.mktemp("colab")
    run(sys.executable, "-m", "venv", machine / "python", cwd=machine)
    torch = next(line for line in (course.ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch"))
    run(machine / "python/bin/python", "-m", "pip", "install", "--quiet", torch, *COLAB, "nbclient", cwd=machine)
    (machine / "content").mkdir()
    kept = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV", "MPLBACKEND"}}
    return machine, {
        **kept,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{published.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": course.repository().url,
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def freeze(machine):
    lines = run(machine / "python/bin/python", "-m", "pip", "freeze", "--all", cwd=machine).splitlines()
    return {line for line in lines if not line.startswith("attnlib")}


def test_first_page_runs_as_in_colab(colab):
    machine, env = colab
    page = shutil.copy(course.notebooks()[0], machine / "content")
    before = freeze(machine)
    told = json.loads(run(machine / "python/bin/python", "-c", RUN, page, cwd=machine / "content", env=env).splitlines()[-1])
    assert Path(told["file"]).is_relative_to(machine / "python"), "attnlib was not installed by the set-up cell"
    assert before <= freeze(machine), f"the set-up cell replaced {before - freeze(machine)}"
    said = "".join(output["text"] for output in told["first"]).splitlines()
    ours = [line for line in said if "WARNING: Location" not in line]  # a mirror of this machine that lacks a package
    assert len(ours) == 1, said
    assert "you may need to restart the kernel" in ours[0]  # Jupyter's own note, which Colab does not print
    assert told["again"] == []
