"""Grading: a class that hands in everything that can go wrong, and the cage in which it runs."""

import csv
import json
import re
from pathlib import Path

import course
import grade_submissions
import pytest
from classroom import build, grade, runner
from classroom.cage import Limits
from classroom.grade import Submission
from classroom.judge import Exam, heard
from classroom.master import Master
from helpers.samples import sample
from helpers.submissions import FILES, HANDED, hand_in, one_of_each

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
    """Who hands in: in ``make test`` one for each outcome, and those whom other tests ask after."""
    asked = {"right", "partly right", "=1+1", "100 MB", *plainly(tier)}
    return list(HANDED) if tier == "all" else [name for name in HANDED if name in asked | one_of_each()]


@pytest.fixture(scope="module")
def graded(tmp_path_factory, handed_in):
    folder = tmp_path_factory.mktemp("class")
    build.write(FIRST, folder)
    pack, out = folder / "teacher" / FIRST.name, folder / "out"
    hand_in(build.student(FIRST, solved=True), build.student(FIRST), folder / "submissions", pack, handed_in)
    assert grade_submissions.main([str(pack), str(folder / "submissions"), str(out), "--seed", "5", "--seconds", "6"]) == 0
    return Class(out)


def named(student):
    return f"'{student}" if student.startswith("=") else student


@pytest.mark.parametrize(
    "student", [name if name in one_of_each() else pytest.param(name, marks=pytest.mark.whole) for name in HANDED]
)
def test_outcome(graded, handed_in, student):
    if student not in handed_in:
        pytest.skip("named by itself; the whole class hands in with --tier all")
    handed, row = HANDED[student], graded.rows[named(student)]
    assert (row["status"], graded.points(named(student))) == (handed.status, handed.points), row
    assert handed.note in row["notes"]
    assert row["5"] == ""
    assert int(row["total"]) == sum(handed.points)


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


# The cage


PROBE = """\
import os, socket, subprocess
def probe(what):
    if what == "environment": return ",".join(sorted(os.environ))
    if what == "network": return open("/proc/net/dev").read()
    if what == "connect": return str(socket.create_connection(("127.0.0.1", 9), 1))
    if what == "home": return os.path.expanduser("~") + " " + os.getcwd()
    if what == "write": return str(open("here", "w").write("x"))
    if what == "program": return subprocess.run(["echo", "x"], capture_output=True, text=True).stdout
    if what == "processes": return " ".join(name for name in os.listdir("/proc") if name.isdigit())
    if what.startswith("read "): return open(what[5:]).read()
    if what.startswith("spoil "): return str(open(what[6:], "a"))
"""


@pytest.fixture(scope="module", params=["the kernel's", "the plain"])
def probe(request, tmp_path_factory):
    """Ask a submission in a cage what it can do: what it returns, or what it raises."""
    folder = tmp_path_factory.mktemp("probe")
    notebook, secret = folder / "probe.ipynb", folder / "closed" / "secret"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": PROBE}]}), encoding="utf-8")
    secret.parent.mkdir()
    secret.write_text("the reference", encoding="utf-8")
    keeper = grade.Keeper(0, Limits(seconds=2), [str(secret.parent)])
    keeper.choices = [cage for cage in keeper.choices if cage.namespaces == (request.param == "the kernel's")]
    if not any(map(keeper._works, keeper.choices)):
        keeper.close()
        pytest.skip("the kernel allows no namespaces here")

    def ask(*asked):
        questions = [{"number": "1", "name": "probe", "calls": [[{"plain": what}] for what in asked]}]
        answers = [message[3] for message in heard(keeper.run(notebook, questions, [])["said"]) if message[0] == "result"]
        return [answer.get("plain") or answer.get("raised") for answer in answers]

    yield ask, keeper.cage, secret
    keeper.close()


def test_cage_has_a_home_of_its_own_and_no_credentials(probe, monkeypatch):
    ask, _, _ = probe
    environment, home, wrote = ask("environment", "home", "write")
    assert set(environment.split(",")) - {"LC_CTYPE"} == {
        *("HOME", "LANG", "MPLBACKEND", "MPLCONFIGDIR", "OMP_NUM_THREADS", "PATH", "PYTHONDONTWRITEBYTECODE", "TMPDIR")
    }
    there, here = home.split()
    assert there == here
    assert not Path(there).exists()
    assert wrote == "1"


def test_cage_has_no_network_and_shows_no_closed_file(probe):
    ask, cage, secret = probe
    connect, read = ask("connect", f"read {secret}")
    assert connect.startswith("PermissionError")
    assert read.startswith("FileNotFoundError" if cage.namespaces else "PermissionError")


def test_the_kernel_closes_what_python_alone_cannot(probe):
    ask, cage, _ = probe
    if not cage.namespaces:
        assert ask("program")[0].startswith("PermissionError")
        return
    network, processes, program, etc, spoil = ask(
        "network", "processes", "program", "read /etc/passwd", f"spoil {runner.torch.__file__}"
    )
    assert re.findall(r"(\w+):", network) == ["lo"]
    assert len(processes.split()) <= 3
    assert program == "x\n"
    assert etc.startswith("FileNotFoundError")
    assert spoil.startswith(("OSError", "PermissionError"))


PLAIN = ["right", "loop at the top", "os._exit", "memory", "forks", "leaves a daemon", "kills its group", "cheat: the pack"]


def plainly(tier):
    """Who is graded in the plain cage too."""
    return sample(PLAIN, 0.4, tier)


def test_outcomes_are_the_same_in_the_plain_cage(probe, graded, tier):
    """Where the kernel allows no namespaces: the same outcomes, for these."""
    _, cage, _ = probe
    if cage.namespaces:
        pytest.skip("graded above")
    there = [Submission(name, graded.out.parent / "submissions" / f"{name}.ipynb") for name in plainly(tier)]
    with grade.keepers(1, Limits(seconds=2), [str(graded.out.parent / "teacher")]) as every:
        every[0].choices = [cage]
        for found in grade.grade(Exam(FIRST, 7), there, every):
            handed = HANDED[found.submission.student]
            points = tuple(mark.points for mark in found.marks[:4])
            assert (found.status, points) == (handed.status, handed.points), found


def test_too_large_is_an_outcome(graded):
    there = [Submission("big", graded.out.parent / "submissions" / "100 MB.ipynb")]
    with grade.keepers(1, Limits(notebook=50), []) as every:
        every[0].choices = every[0].choices[-1:]
        (found,) = grade.grade(Exam(FIRST, 7), there, every)
    assert (found.status, found.total, found.notes) == ("too large", 0, ["95 MB"])


def test_a_lost_keeper_costs_one_submission_at_most(graded, monkeypatch):
    there = [Submission(name, graded.out.parent / "submissions" / f"{name}.ipynb") for name in ("right", "in a folder")]
    there[1] = Submission("again", there[0].path)
    with grade.keepers(1, Limits(), []) as every:
        ask = every[0].ask

        def once(job):
            monkeypatch.setattr(every[0], "ask", ask)
            every[0].program.kill()
            return ask(job)

        monkeypatch.setattr(every[0], "ask", once)
        found = list(grade.grade(Exam(FIRST, 7), there, every))
    assert sorted(grade.status for grade in found) == ["failed", "graded"]
