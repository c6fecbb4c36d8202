"""Students' notebooks in a real kernel: as they are handed out, and with every answer written in its place.

The kernel is Jupyter's, started once for each assignment, and it has no attnlib. Both states run in it, one after the other,
with everything forgotten in between. ``make test`` takes one assignment.
"""

import os

import build_assignments
import nbformat
import pytest
from classroom import build
from classroom.master import Master
from nbclient import NotebookClient

MASTERS = {path.parent.name: Master.read(path) for path in build_assignments.masters()}
ALONE = 'import sys\nsys.modules["attnlib"] = None  # as on a machine that never had it'
ANEW = "%reset -f\n" + ALONE


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """The environment of the kernel: nobody's start-up files, no path to the package, figures as a notebook shows them."""
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MPLBACKEND")}


def ran(master, folder, settings):
    """The cells of both states after they ran, errors and all: unsolved, solved."""
    states = [nbformat.reads(build.student(master, solved), as_version=4) for solved in (False, True)]
    cells = [nbformat.v4.new_code_cell(ALONE), *states[0].cells, nbformat.v4.new_code_cell(ANEW), *states[1].cells]
    for place, cell in enumerate(cells):
        cell.id = f"place-{place}"
    both = nbformat.v4.new_notebook(cells=cells, metadata=states[0].metadata)
    client = NotebookClient(both, timeout=7200, startup_timeout=1800, allow_errors=True)
    client.resources = {"metadata": {"path": str(folder)}}
    client.execute(env=settings)
    return both.cells[1 : len(states[0].cells) + 1], both.cells[-len(states[1].cells) :]


def outputs(cells, kind):
    return [output for cell in cells if cell.cell_type == "code" for output in cell.outputs if output.output_type == kind]


def said(cells):
    return "".join(output.text for output in outputs(cells, "stream")).splitlines()


def pictures(cells):
    return sum("image/png" in output.data for output in outputs(cells, "display_data"))


@pytest.mark.slow
@pytest.mark.sweep(1 / 12)
@pytest.mark.parametrize("master", MASTERS.values(), ids=MASTERS)
def test_runs_unsolved_and_solved(master, tmp_path, settings):
    unsolved, solved = ran(master, tmp_path, settings)
    numbers = [question.number for question in master.automatic]
    assert [output.evalue for output in outputs(unsolved + solved, "error")] == []
    assert said(unsolved) == [f"question {number}: not yet. It returns nothing: replace the dots." for number in numbers]
    assert said(solved) == [f"question {number}: right on these numbers. Others are used for grading." for number in numbers]
    assert pictures(unsolved) == 0
    assert pictures(solved) == sum("show" in cell.tags for cell in master.cells) > 0
