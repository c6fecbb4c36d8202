"""Assignments: what students get and what they cannot get, and that the questions tell right from wrong."""

import ast
import json
import re

import build_assignments
import pytest
import torch
from classroom import build
from classroom.judge import Exam
from classroom.master import Master, cells
from classroom.question import ByHand

MASTERS = {path.parent.name: Master.read(path) for path in build_assignments.masters()}
FIRST = MASTERS["1-softmax"]
every_assignment = pytest.mark.parametrize("master", MASTERS.values(), ids=MASTERS)


def code(notebook):
    return ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]


def run(notebook, capsys):
    """Run a notebook's code from top to bottom in one namespace, as a kernel would."""
    space = {"__name__": "__main__"}
    for source in code(notebook):
        exec(compile(source, "cell", "exec"), space)
    return space, capsys.readouterr().out.splitlines()


# Every assignment


@every_assignment
def test_has_its_questions(master):
    assert 4 <= len(master.questions) <= 6
    assert [question.number for question in master.questions] == [str(n + 1) for n in range(len(master.questions))]
    assert sum(isinstance(question, ByHand) for question in master.questions) == 1
    assert f"{sum(question.points for question in master.questions)} points." in master.cells[0].source
    for question in master.questions:
        heading = rf"^## Question {question.number}\. .* \({question.points} points\)$"
        assert re.search(heading, "\n".join(cell.source for cell in master.cells), re.MULTILINE)
    assert all(len(question.wrong) >= 3 for question in master.automatic)


@pytest.mark.slow
@pytest.mark.sweep(0.5)
@every_assignment
@pytest.mark.parametrize("seed", [0, pytest.param(31337, marks=pytest.mark.whole)])
def test_reference_gets_all_points_nothing_none_and_every_wrong_answer_what_it_should(master, seed):
    assert Exam(master, seed).faults() == []


@every_assignment
def test_inputs_are_fresh(master):
    jobs = [json.dumps(Exam(master, seed).job()) for seed in (0, 0, 1)]
    assert jobs[0] == jobs[1] != jobs[2]


@every_assignment
@pytest.mark.sweep(1 / 2)
def test_public_checks_name_the_mistake(master, capsys):
    space, said = run(build.student(master), capsys)
    assert said == [
        f"question {question.number}: not yet. It returns nothing: replace the dots." for question in master.automatic
    ]
    for question in master.automatic:
        space["check"](question.number, question.answer)
        assert capsys.readouterr().out.endswith("right on these numbers. Others are used for grading.\n")
        for name, wrong in question.wrong.items():
            space["check"](question.number, wrong.answer)
            expected = f"question {question.number}: not yet. {wrong.message}\n"
            assert (capsys.readouterr().out == expected) == wrong.shown, name


@every_assignment
def test_a_single_precision_answer_is_right_in_the_notebook_too(master, capsys):
    space, _ = run(build.student(master), capsys)
    for question in master.automatic:
        space["check"](question.number, lambda *a, q=question: q.answer(*a).float())
        assert "right on these" in capsys.readouterr().out


@every_assignment
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.sweep(1 / 2)
def test_what_the_grader_refuses_is_not_called_right_in_the_notebook(master, capsys, kind):
    space, _ = run(build.student(master), capsys)
    for question in master.automatic:
        if question.answer(*question.shown[0]).is_floating_point():
            space["check"](question.number, lambda *a, q=question: q.answer(*a).to(kind))
            assert f"It returns {kind}, which is too coarse" in capsys.readouterr().out


@every_assignment
@pytest.mark.sweep(1 / 2)
def test_solved_notebook_runs(master, capsys):
    _, said = run(build.student(master, solved=True), capsys)
    assert len(said) == len(master.automatic)
    assert all("right on these numbers" in line for line in said)


@every_assignment
@pytest.mark.sweep(1 / 2)
def test_nothing_of_the_solutions_or_hidden_checks_is_in_the_students_notebook(master):
    student = build.student(master)
    lines = student.split("\\n")
    for cell in master.cells:
        for solution in re.findall(r"# solution\n(.*?)# end", cell.source, re.DOTALL):
            for line in filter(None, map(str.strip, solution.splitlines())):
                assert json.dumps(line)[1:-1] not in student, line
        if "teacher" in cell.tags and cell.kind == "code":
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Lambda | ast.FunctionDef):
                    body = node.body if isinstance(node.body, list) else [node.body]
                    for part in body:
                        text = ast.get_source_segment(cell.source, part)
                        assert len(text) < 12 or json.dumps(text)[1:-1] not in student, text
        if "teacher" in cell.tags and cell.kind == "markdown":
            assert not [line for line in cell.source.splitlines() if len(line) > 20 and json.dumps(line)[1:-1] in student]
    for question in master.automatic:
        assert not [name for name in question.cases if f'"{name}"' in student]
        assert [line for line in lines if f"def {question.answer.__name__}(" in line]
    assert "attnlib." not in student
    assert "teacher" not in {tag for cell in json.loads(student)["cells"] for tag in cell["metadata"].get("tags", [])}


@every_assignment
def test_students_notebook_is_one_small_file_that_needs_torch_only(master):
    notebook = build.student(master)
    assert len(notebook) < 200_000
    nodes = [node for source in code(notebook) for node in ast.walk(ast.parse(source))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} <= {"itertools", "json", "math", "torch", "matplotlib"}


# The format


def test_a_marker_that_is_none_is_refused():
    with pytest.raises(ValueError, match="line 2 is '# %% tags=answer'"):
        cells("# %%\n# %% tags=answer\n")
    with pytest.raises(ValueError, match="expected"):
        cells('# %% tags=["reply"]\n')


SPOILT = {
    "no end": ("    # end\n", "", "a solution needs both its marks"),
    "no beginning": ("    # solution\n", "", "a solution needs both its marks"),
    "a heading": ("The logarithm of the weights (4 points)", "The logarithm of the weights (3 points)", "its heading says 3"),
    "the sum": ("# 20 points.", "# 21 points.", "together are worth 20 and the first cell says 21"),
}


@pytest.mark.parametrize(("there", "instead", "complaint"), SPOILT.values(), ids=SPOILT)
def test_what_gives_a_solution_away_or_does_not_add_up_is_not_built(tmp_path, monkeypatch, capsys, there, instead, complaint):
    path = tmp_path / FIRST.name / "master.py"
    path.parent.mkdir()
    path.write_text(FIRST.text.replace(there, instead, 1), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != FIRST.text
    monkeypatch.setattr(build_assignments, "masters", lambda: [path])
    assert build_assignments.main(["--to", str(tmp_path / "built")]) == 1
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "built").exists()


BLIND = {
    "zeros": (", (draw(2, 3), draw.number(2, 3))]),\n    },", "]),\n    },", "zero in torch.float64 is right in ('one key',)"),
    "nearly right": (
        '"1",\n    log_weights,',
        '"1",\n    log_weights,\n    tolerance=0.3,',
        "1.03 times the reference in torch.float32",
    ),
}


@pytest.mark.parametrize(("there", "instead", "complaint"), BLIND.values(), ids=BLIND)
def test_a_question_that_gives_points_for_no_thought_is_none(there, instead, complaint):
    master = Master("blind", FIRST.text.replace(there, instead, 1))
    assert master.text != FIRST.text
    assert any(complaint in fault for fault in Exam(master, 0).faults())


def test_a_dtype_too_coarse_to_tell_right_from_wrong_is_found(monkeypatch):
    """As it was: a judge whose tolerance is that of the dtype which a student chooses."""

    def follows(self, arguments, found):
        exact = self.answer(*arguments)
        if found is None or found.shape != exact.shape:
            return False
        loose = 64 * torch.finfo(found.dtype).eps if found.dtype.is_floating_point else 0.0
        return torch.allclose(found.double(), exact.double(), rtol=loose, atol=loose)

    monkeypatch.setattr("classroom.question.Question.agrees", follows)
    assert any("the reference in torch.bfloat16 is right in" in fault for fault in Exam(FIRST, 0).faults())


def test_stub_and_solution_of_a_cell():
    (cell,) = cells('# %% tags=["answer"]\ndef f(x):\n    """Doc."""\n    # solution\n    y = x\n    return y\n    # end\n')
    assert cell.stub == 'def f(x):\n    """Doc."""\n    ...'
    assert cell.solved == 'def f(x):\n    """Doc."""\n    y = x\n    return y'


def test_tools_build_what_the_make_targets_say(tmp_path, capsys):
    assert build_assignments.main(["--to", str(tmp_path), FIRST.name]) == 0
    assert (tmp_path / "student" / "1-softmax.ipynb").is_file()
    pack = tmp_path / "teacher" / "1-softmax"
    assert {path.name for path in pack.iterdir()} == {"master.py", "pack.json", "solutions.ipynb"}
    assert pack.stat().st_mode & 0o777 == 0o700
    about = json.loads((pack / "pack.json").read_text(encoding="utf-8"))
    assert [question["points"] for question in about["questions"]] == [question.points for question in FIRST.questions]
    assert "for teachers" in capsys.readouterr().out
