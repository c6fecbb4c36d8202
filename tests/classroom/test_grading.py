"""Grading: a class that hands in everything that can go wrong."""

import csv
import json
import os
import re
import sys

import course
import grade_submissions
import pytest
from classroom import build, grade, keepers
from classroom.cage import Cage, cages
from classroom.grade import Submission
from classroom.judge import Exam
from classroom.limits import Limits, shortage
from classroom.master import Master
from helpers.submissions import FEW, FILES, HANDED, hand_in

pytestmark = pytest.mark.slow

FIRST = Master.read(course.ROOT / "assignments" / "1-softmax" / "master.py")


def test_what_is_no_pack_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        grade_submissions.main([str(tmp_path), str(tmp_path), str(tmp_path / "out")])
    assert "is to be a teacher's pack" in capsys.readouterr().err


def test_a_question_that_cannot_tell_right_from_wrong_is_no_exam():
    blind = FIRST.text.replace("lambda draw: [(draw(5, 7), draw.number(2, 4))]", "lambda draw: [(0 * draw(5, 7), 1.0)]")
    assert blind != FIRST.text
    with pytest.raises(ValueError, match="question 2"):
        grade_submissions.drawn(Master("blind", blind), None)


# A class


class Class:
    """A graded class: rows of the table by student, and the folder of results."""

    def __init__(self, out):
        self.out = out
        with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
            self.rows = {row["name"]: row for row in csv.DictReader(file)}
        self.run = json.loads((out / "run.json").read_text(encoding="utf-8"))

    def feedback(self, student):
        return (self.out / "feedback" / self.rows[student]["feedback"]).read_text(encoding="utf-8")

    def points(self, student):
        return tuple(int(self.rows[student][number]) for number in "1234")


@pytest.fixture(scope="module")
def tier(request):
    return request.config.getoption("tier")


@pytest.fixture(scope="module")
def handed_in(tier):
    """Who hands in: in ``make test`` a few."""
    return list(HANDED) if tier == "all" else [name for name in HANDED if name in FEW]


@pytest.fixture(scope="module")
def graded(tmp_path_factory, handed_in):
    folder = tmp_path_factory.mktemp("class")
    build.write(FIRST, folder)
    pack, out = folder / "teacher" / FIRST.name, folder / "out"
    hand_in(build.student(FIRST, solved=True), build.student(FIRST), folder / "submissions", pack, handed_in)
    assert (
        grade_submissions.main(
            [str(pack), str(folder / "submissions"), str(out), "--seed", "5", "--seconds", "6", "--unprotected"]
        )
        == 0
    )
    return Class(out)


def named(student):
    return f"'{student}" if student.startswith("=") else student


@pytest.mark.parametrize("student", [name if name in FEW else pytest.param(name, marks=pytest.mark.whole) for name in HANDED])
def test_outcome(graded, handed_in, student):
    if student not in handed_in:
        pytest.skip("named by itself; the whole class hands in with --tier all")
    row, points = graded.rows[named(student)], graded.points(named(student))
    status, expected, note = HANDED[student].outcome("closed by the kernel" in graded.run["cage"])
    assert (row["status"], points) == (status, expected), row
    assert note in row["notes"]
    assert row["5"] == ""
    assert int(row["total"]) == sum(points)


@pytest.mark.parametrize("student", [*FILES, "a pipe", "a link", "notes.txt"])
def test_what_is_no_notebook_says_so(graded, student):
    row = graded.rows[student]
    assert row["status"] == ("unreadable" if student in FILES else "not a notebook")
    assert row["notes"]
    assert int(row["total"]) == 0


def test_unsolved_gets_nothing(graded):
    assert graded.rows["unsolved"]["status"] == "graded"
    assert graded.points("unsolved") == (0, 0, 0, 0)


def test_a_folder_for_each_student_will_do(graded):
    assert graded.rows["in a folder"]["file"] == "in a folder/Untitled.ipynb"
    assert graded.points("in a folder") == (4, 4, 4, 4)


def test_everyone_is_in_the_table_once(graded, handed_in):
    students = {*map(named, handed_in), *FILES, "unsolved", "in a folder", "a link", "a pipe", "notes.txt"}
    assert set(graded.rows) == students
    assert len(list((graded.out / "feedback").iterdir())) == len(students)


def test_the_run_says_how_it_was_graded(graded):
    assert graded.run["seed"] == 5
    assert graded.run["assignment"] == FIRST.name
    assert "closed by" in graded.run["cage"]


def test_feedback_names_the_mistake_and_gives_nothing_away(graded):
    text = graded.feedback("partly right")
    assert 'Question 3: <span class="wrong">0 of 4</span>' in text
    assert "You averaged the two with equal weights" in text
    assert "Right: ordinary scores, far from zero, one key." in text
    assert "tensor(" not in text
    right = graded.feedback("right")
    assert right.count("<p>Right.</p>") == 4
    assert 'Question 5: <span class="soft">4 points, still to be given</span>' in right


def test_text_of_a_submission_has_no_effect_in_feedback(graded):
    assert "&lt;b&gt; # no" in graded.feedback("'=1+1")


def test_open_answers_are_collected(graded):
    text = (graded.out / "question_5.html").read_text(encoding="utf-8")
    assert re.search(r"<bdi>unsolved</bdi>.*</h2><p class=soft>nothing</p>", text)
    assert "One point each" in text  # the rubric


def test_a_lost_keeper_costs_one_submission_at_most(graded, monkeypatch):
    there = [Submission(name, graded.out.parent / "submissions" / f"{name}.ipynb") for name in ("right", "in a folder")]
    there[1] = Submission("again", there[0].path)
    with keepers.keepers(1, Limits(), [], unprotected=True) as every:
        ask = every[0].ask

        def once(job, wall):
            monkeypatch.setattr(every[0], "ask", ask)
            every[0].program.kill()
            return ask(job, wall)

        monkeypatch.setattr(every[0], "ask", once)
        found = list(grade.grade(Exam(FIRST, 7), there, every))
    assert sorted(grade.status for grade in found) == ["failed", "graded"]


def test_too_large_is_an_outcome(graded):
    there = [Submission("big", graded.out.parent / "submissions" / "100 MB.ipynb")]
    with keepers.keepers(1, Limits(notebook=50), [], unprotected=True) as every:
        (found,) = grade.grade(Exam(FIRST, 7), there, every)
    assert (found.status, found.total, found.notes) == ("too large", 0, ["95 MB"])


def test_where_no_cage_works_nothing_is_run_and_it_says_why(graded, monkeypatch, tmp_path, capsys):
    none = [Cage(kind, closed=(sys.prefix,)) for kind in ("namespaces", "bubblewrap")]  # in which there would be no Python
    monkeypatch.setattr(keepers, "cages", lambda *_, **__: list(none))
    pack, inbox = graded.out.parent / "teacher" / FIRST.name, graded.out.parent / "submissions"
    assert grade_submissions.main([str(pack), str(inbox), str(tmp_path / "out"), "--seed", "5"]) == 1
    said = capsys.readouterr().err
    assert "Nothing was run: no cage works here." in said
    assert all(f"({cage.kind}): Python itself lies in a closed folder" in said for cage in none)
    assert not (tmp_path / "out" / "grades.csv").exists()


def test_a_weaker_cage_is_taken_only_when_asked_and_says_why_not_a_better_one(graded, monkeypatch, tmp_path, capsys):
    none = Cage("namespaces", closed=(sys.prefix,))  # in which there would be no Python
    monkeypatch.setattr(keepers, "cages", lambda closed, *_, **__: [none, Cage("python", closed=closed)])
    (tmp_path / "inbox").mkdir()
    pack, inbox = graded.out.parent / "teacher" / FIRST.name, tmp_path / "inbox"
    (inbox / "one.ipynb").write_bytes((graded.out.parent / "submissions" / "right.ipynb").read_bytes())
    assert grade_submissions.main([str(pack), str(inbox), str(tmp_path / "out"), "--seed", "5", "--unprotected"]) == 0
    said = capsys.readouterr().out
    assert f"Not used: {none}: Python itself lies in a closed folder" in said
    run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert run["cage"] == "closed by Python only, see the book" + (", as root" if os.getuid() == 0 else "")


def test_without_being_asked_nothing_runs_outside_a_cage_of_the_kernels():
    assert all(cage.walls for cage in cages((), 0))
    assert [cage.kind for cage in cages((), 0, unprotected=True)][-1] == "python"


def test_a_machine_without_the_memory_for_so_many_says_so():
    assert shortage(Limits(memory=1), 1, 100.0) is None
    assert "WORKERS=" in shortage(Limits(memory=10**6), 4, 100.0)
