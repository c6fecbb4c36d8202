"""What comes out: the table and what a teacher enters in it, late work, pages, the digest, tables for platforms, the ledger."""

import csv
import doctest
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import course
import grade_submissions
import pytest
from classroom import late
from classroom.files import Private
from classroom.hand_ins import collected
from classroom.ledger import recorded
from classroom.open_answers import by_hand, cut
from classroom.writing import cell, page, safe
from helpers.small_class import SMALL, TEXT, grades, notebook, pack
from helpers.small_class import by_hand as grading

DOCTESTS = ("names", "roster", "late", "writing", "open_answers")


@pytest.mark.parametrize("name", DOCTESTS)
def test_examples_in_docstrings(name):
    tried = doctest.testmod(importlib.import_module(f"classroom.{name}"))
    assert tried.attempted
    assert not tried.failed


class Desk:
    """A teacher's desk: an inbox, a pack, a folder of results, and the command."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        self.inbox, self.out, self.pack = folder / "inbox", folder / "out", pack(folder)
        self.inbox.mkdir()
        self.said = self.complained = ""

    def hand_in(self, student, *points, **more):
        (self.inbox / f"{student}.ipynb").write_text(notebook(*points, **more), encoding="utf-8")

    def grade(self, *options, grading=grading):
        """Grade; say what came of it."""
        code = grades(self.monkeypatch, self.pack, self.inbox, self.out, *options, grading=grading)
        self.said, self.complained = self.capsys.readouterr()
        return code

    def table(self, name="grades.csv"):
        with (self.out / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def rows(self):
        return {row["name"]: row for row in self.table()}

    def enter(self, student, **cells):
        """Write into the table as a teacher does."""
        rows = self.table()
        for row in rows:
            if row["name"] == student:
                row |= {name.strip("_"): text for name, text in cells.items()}
        with (self.out / "grades.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def read(self, name):
        return (self.out / name).read_text(encoding="utf-8")


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    return Desk(tmp_path, monkeypatch, capsys)


# Whatever comes in


def test_one_submission_does_not_cost_the_results_of_all(desk):
    """Finding 3: a half character, a name in Latin-1, a folder of 255 letters each ended the run without a table."""
    desk.hand_in("right", 2, 3)
    desk.hand_in("half", 0, 3, message="not yet. It raised ValueError: \ud800", notes=["cell 1: ValueError: \ud800"])
    desk.hand_in("half in words", 2, 0, answer="It is \ud800 so.")
    latin = os.fsdecode(b"M\xfcller.ipynb")
    (desk.inbox / latin).write_text(notebook(1, 3), encoding="utf-8")
    (desk.inbox / ("x" * 255)).mkdir()
    (desk.inbox / ("x" * 255) / "a.ipynb").write_text(notebook(0, 3), encoding="utf-8")
    assert desk.grade() == 0
    rows = desk.rows()
    assert {name[:13]: row["total"] for name, row in rows.items()} == {
        "right": "5",
        "half": "3",
        "half in words": "2",
        "M\ufffdller": "4",
        "x" * 13: "3",
    }
    assert max(map(len, rows)) == 80
    assert rows["half"]["notes"] == "cell 1: ValueError: \ufffd"
    assert "It is \ufffd so." in desk.read("question_3.html")
    for path in desk.out.rglob("*"):
        if path.is_file():
            path.read_bytes().decode("utf-8")  # strictly


def test_results_are_written_as_they_come(desk):
    """Finding 3: the grader fails in the middle, and what was graded before is kept."""
    for place in range(5):
        desk.hand_in(f"s{place}", 2, 3)

    def breaks(exam, there, every):
        yield from grading(exam, there[:3])
        raise OSError("the disk is full")

    assert desk.grade("--seed", 4, grading=breaks) == 1
    assert "the disk is full" in desk.complained
    about, lines = recorded(desk.out / "ledger.jsonl")
    assert (about["seed"], about["done"], [line["student"] for line in lines]) == (4, False, ["s0", "s1", "s2"])
    asked = []

    def counting(exam, there, every):
        asked.extend(one.student for one in there)
        return grading(exam, there)

    desk.hand_in("s1", 1, 3)  # has changed since
    assert desk.grade("--resume", grading=counting) == 0
    assert asked == ["s1", "s3", "s4"]
    assert [row["total"] for row in desk.table()] == ["5", "4", "5", "5", "5"]
    assert json.loads(desk.read("run.json"))["seed"] == 4
    assert recorded(desk.out / "ledger.jsonl")[0]["done"]


def test_a_line_that_was_cut_off_is_graded_again(desk):
    desk.hand_in("a", 2, 3)
    desk.hand_in("b", 2, 3)
    desk.grade()
    ledger = desk.out / "ledger.jsonl"
    text = ledger.read_text(encoding="utf-8")
    ledger.write_text(text[: text.index('"student": "b"') + 5], encoding="utf-8")
    desk.grade("--resume")
    assert "1 to grade, 1 graded before" in desk.said


def test_a_run_without_resume_says_what_it_leaves(desk):
    desk.hand_in("a", 2, 3)

    def breaks(exam, there, every):
        yield from grading(exam, there)
        raise OSError("no")

    desk.grade(grading=breaks)
    desk.grade()
    assert "A run that was stopped had graded 1: it begins anew." in desk.said
    assert len(list((desk.out / "earlier").glob("ledger-*.jsonl"))) == 1


def test_resume_refuses_another_assignment(desk):
    desk.hand_in("a", 2, 3)
    desk.grade()
    assert desk.grade("--resume", "--seed", json.loads(desk.read("run.json"))["seed"] + 1) == 1
    assert "grade without --resume" in desk.complained
    about = json.loads((desk.pack / "pack.json").read_text(encoding="utf-8"))
    (desk.pack / "pack.json").write_text(json.dumps(about | {"assignment": "9-other"}), encoding="utf-8")
    assert desk.grade() == 1
    assert "holds 0-small: give another folder" in desk.complained


STOPPABLE = """\
import sys, time
from concurrent.futures import ThreadPoolExecutor
sys.path[:0] = [{tools!r}, {tests!r}]
import grade_submissions
from helpers import small_class

def slow(exam, there, every):
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(lambda one: list(small_class.by_hand(exam, [one]))[0], one) for one in there[:2]]
        yield from (ready.result() for ready in running)
        print("waiting", flush=True)
        yield pool.submit(time.sleep, 300).result()

grade_submissions.grade, grade_submissions.keepers = slow, small_class.without_a_cage
code = grade_submissions.main(sys.argv[1:])
sys.stdout.flush()
grade_submissions.os._exit(code)
"""


@pytest.mark.slow
def test_ctrl_c_does_not_wait(desk):
    """Finding 9: it went on for 38 s and wrote nothing."""
    for place in range(20):
        desk.hand_in(f"s{place}", 2, 3)
    script = STOPPABLE.format(tools=str(course.ROOT / "tools"), tests=str(course.ROOT / "tests"))
    command = [sys.executable, "-c", script, desk.pack, desk.inbox, desk.out]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(course.ROOT)}, **pipes) as running:
        while running.stdout.readline().strip() != "waiting":
            assert running.poll() is None
        begin = time.monotonic()
        running.send_signal(signal.SIGINT)
        code = running.wait(200)
        seconds = time.monotonic() - begin
        assert code == 130
        assert "--resume goes on" in running.stderr.read()
    assert seconds < 60  # a second on a quiet machine; what runs would take 300
    assert [line["student"] for line in recorded(desk.out / "ledger.jsonl")[1]] == ["s0", "s1"]
    assert desk.grade("--resume") == 0
    assert "18 to grade, 2 graded before" in desk.said


# Points by hand


def test_points_by_hand_survive_and_what_has_changed_is_said(desk):
    """Finding 9: grading again wrote over points entered by hand, without a word."""
    desk.hand_in("ada", 2, 3)
    desk.hand_in("emmy", 1, 0)
    desk.grade()
    assert "question 3 waits for the points of 2 students" in desk.said
    assert [row["final"] for row in desk.table()] == ["", ""]
    desk.enter("ada", _3="2", remarks="Well seen; -1 would be hard")
    desk.enter("emmy", _3="1,5", _1="2", adjustment="-0.5")
    desk.grade()
    rows = desk.rows()
    assert [rows["ada"][name] for name in ("1", "2", "3", "total", "final")] == ["2", "3", "2", "7", "7"]
    assert rows["ada"]["remarks"].replace("'", "") == "Well seen; -1 would be hard"
    assert [rows["emmy"][name] for name in ("1", "2", "3", "total", "adjustment", "final")] == [
        "2",
        "0",
        "1,5",
        "3.5",
        "-0.5",
        "3",
    ]
    changes = [(row["student"], row["question"], row["before"], row["after"], row["why"]) for row in desk.table("changes.csv")]
    assert changes == [
        ("ada", "3", "", "2", "entered by hand"),
        ("ada", "final", "", "7", "follows from question 3"),
        ("emmy", "1", "1", "2", "entered by hand"),
        ("emmy", "3", "", "1,5", "entered by hand"),
        ("emmy", "adjustment", "", "-0.5", "entered by hand"),
        ("emmy", "final", "", "3", "follows from question 1, question 3, adjustment"),
    ]
    assert "emmy, question 1: 1 -> 2 (entered by hand)" in desk.said
    desk.grade()
    assert desk.table("changes.csv") == [*desk.table("changes.csv")]
    assert len(desk.table("changes.csv")) == 6  # nothing new
    assert desk.rows() == rows


def test_another_notebook_changes_the_graders_points_and_not_the_teachers(desk):
    desk.hand_in("ada", 1, 0)
    desk.grade()
    desk.enter("ada", _1="2", _3="1")
    desk.grade()
    desk.hand_in("ada", 0, 3)
    desk.grade()
    row = desk.rows()["ada"]
    assert [row[name] for name in ("1", "2", "3", "final")] == ["2", "3", "1", "6"]
    assert "ada, question 1: 1 -> 0 (another notebook was handed in; 2 was entered by hand and stays)" in desk.said
    assert "ada, question 2: 0 -> 3 (another notebook was handed in)" in desk.said
    desk.enter("ada", _1="")  # emptied: the grader's again
    desk.grade()
    assert desk.rows()["ada"]["1"] == "0"


def test_a_corrected_check_is_named_as_the_reason(desk):
    desk.hand_in("ada", 1, 3)
    desk.grade()
    seed = json.loads(desk.read("run.json"))["seed"]
    pack(desk.folder, TEXT.replace("1000 + draw(3)", "100 + draw(3)"))

    def kinder(exam, there, every):
        for grade in grading(exam, there):
            yield type(grade)(grade.submission, grade.status, [type(grade.marks[0])("1", 2, 2, "right."), *grade.marks[1:]])

    desk.grade(grading=kinder)
    assert "ada, question 1: 1 -> 2 (the assignment's questions or checks have changed)" in desk.said
    assert json.loads(desk.read("run.json"))["seed"] == seed  # the same inputs, so that nothing else differs


def test_what_is_computed_is_computed_anew_and_what_was_there_is_kept(desk):
    desk.hand_in("ada", 2, 3)
    desk.grade()
    desk.enter("ada", _3="2", final="99", total="7")
    desk.grade()
    assert desk.rows()["ada"]["final"] == "7"
    assert "ada, final: 99 -> nothing (entered by hand, and computed anew)" in desk.said
    kept = [path.read_text(encoding="utf-8") for path in sorted((desk.out / "earlier").glob("grades-*.csv"))]
    assert len(kept) == 1
    assert "99" in kept[0]


def test_a_spreadsheet_may_have_saved_the_table(desk):
    desk.hand_in("ada", 2, 3)
    desk.hand_in("007", 1, 0)
    desk.grade()
    text = desk.read("grades.csv").replace("007,", "7,", 1).replace("007,", "7,", 1)
    lines = [line.split(",") for line in text.splitlines()]
    place = lines[0].index("3")
    for line in lines[1:]:
        line[place] = "1,5"
    (desk.out / "grades.csv").write_bytes("\r\n".join(";".join(line) for line in lines).encode("cp1252"))
    desk.grade()
    assert [row["3"] for row in desk.table()] == ["1,5", "1,5"]
    assert [row["final"] for row in desk.table()] == ["2.5", "6.5"]


def test_what_is_no_number_is_said_and_not_counted(desk):
    desk.hand_in("ada", 2, 3)
    desk.grade()
    desk.enter("ada", _3="good", _2="9")
    desk.grade()
    row = desk.rows()["ada"]
    assert (row["3"], row["final"]) == ("good", "")
    assert "3: 'good' is no number" in row["notes"]
    assert "question 2: 9 of 3 points" in row["notes"]


def test_rows_that_come_and_go(desk):
    desk.hand_in("ada", 2, 3)
    desk.hand_in("emmy", 2, 3)
    desk.grade()
    desk.enter("ada", _3="2")
    desk.enter("emmy", _3="1")
    desk.grade()
    text = desk.read("grades.csv")
    (desk.out / "grades.csv").write_text(
        "".join(line for line in text.splitlines(True) if "emmy" not in line), encoding="utf-8"
    )
    desk.grade()
    assert desk.rows()["emmy"]["3"] == "1"
    assert "emmy, row: nothing -> nothing (the row was taken out of the table by hand, and is there again)" in desk.said
    (desk.inbox / "ada.ipynb").unlink()
    desk.hand_in("marie", 0, 0)
    desk.grade()
    assert set(desk.rows()) == {"emmy", "marie"}
    assert "ada, row: 1 2; 2 3; 3 2; final 7 -> nothing (not among the submissions any more)" in desk.said
    assert "marie, row: nothing -> graded (not there before)" in desk.said
    assert not (desk.out / "feedback" / "ada.html").exists()


def test_a_table_of_somebody_elses_is_not_written_over(desk):
    desk.hand_in("ada", 2, 3)
    desk.out.mkdir()
    (desk.out / "grades.csv").write_text("my,own\n1,2\n", encoding="utf-8")
    assert desk.grade() == 1
    assert "move the table away" in desk.complained
    assert desk.read("grades.csv") == "my,own\n1,2\n"
    (desk.out / "table.json").write_text("{}", encoding="utf-8")
    assert desk.grade() == 1
    assert "cannot be read" in desk.complained


# Late work


def test_late_rule():
    rule = late.rule_from("2026-12-01T23:59+01:00", "10m", "10%/day", "25%")
    points = Fraction(20)

    def cost(**by):
        return rule.deduction(rule.due + timedelta(**by), points)

    assert [cost(minutes=-1), cost(minutes=10), cost(minutes=11), cost(hours=24), cost(hours=25), cost(days=90)] == [
        0,
        0,
        2,
        2,
        4,
        5,
    ]
    assert rule.deduction(None, points) == 0
    assert rule.deduction(datetime(2026, 12, 1, 23, 30, tzinfo=UTC), points) == 2  # half past midnight there
    assert rule.sentence == (
        "due 2026-12-01 23:59+01:00, 10 min of grace; each day begun costs 10% of the points reached, 25% at most"
    )
    assert late.rule_from("2026-12-01T12:00Z", late="0.5%/hour").deduction(
        datetime(2026, 12, 1, 14, 30, tzinfo=UTC), Fraction(7)
    ) == Fraction(10, 100)  # 1.5% of 7 is 0.105; the half hundredth is the student's


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--due", "tomorrow"], "--due is 'tomorrow'"),
        (["--due", "2026-12-01", "--late", "10"], "--late is '10'"),
        (["--due", "2026-12-01", "--late", "110%/day"], "between 0% and 100%"),
        (["--due", "2026-12-01", "--late-most", "half"], "--late-most has 'half'"),
        (["--due", "2026-12-01", "--grace", "a while"], "--grace is 'a while'"),
        (["--roster", "nobody.csv"], "nobody.csv"),
    ],
)
def test_rules_that_say_nothing_are_refused(desk, words, complaint):
    desk.hand_in("ada", 2, 3)
    assert desk.grade(*words) == 1
    assert complaint in desk.complained
    assert not (desk.out / "grades.csv").exists()


def test_late_needs_due(desk):
    with pytest.raises(SystemExit):
        desk.grade("--late", "10%/day")


def test_late_columns(desk, tmp_path):
    (tmp_path / "roster.csv").write_text(
        "name,login,handed in\nAda,ada,2026-12-02T01:00+01:00\nEmmy,emmy,2026-12-01T20:00+01:00\nMarie,marie,\nLise,lise,\n",
        encoding="utf-8",
    )
    for name in ("ada", "emmy", "marie"):
        desk.hand_in(name, 2, 3)
    rule = ["--due", "2026-12-01T23:59+01:00", "--late", "10%/day", "--roster", tmp_path / "roster.csv"]
    desk.grade(*rule)
    for name in ("Ada", "Emmy", "Marie"):
        desk.enter(name, _3="2")
    desk.enter("Ada", adjustment="0.2")
    desk.grade(*rule)
    columns = ("handed in", "late", "deduction", "total", "final", "status")
    assert {name: [row[column] for column in columns] for name, row in desk.rows().items()} == {
        "Ada": ["2026-12-02 01:00+01:00 (roster)", "1 h 1 min", "0.7", "7", "6.5", "graded"],
        "Emmy": ["2026-12-01 20:00+01:00 (roster)", "no", "0", "7", "7", "graded"],
        "Marie": ["", "unknown", "0", "7", "7", "graded"],
        "Lise": ["", "", "0", "0", "0", "nothing handed in"],
    }
    assert "Late by 1 h 1 min: 0.7 points are taken off." in desk.read("feedback/Ada.html")
    assert json.loads(desk.read("run.json"))["late"].endswith("10% of the points reached, 100% at most")


# Pages


def test_feedback_has_a_name_of_its_own_which_the_table_knows(desk):
    """Finding 8: the feedback of dup? was dup_.md, that of dup_ was dup__.md."""
    for place, name in enumerate(("dup?", "dup_", "Dup_", "dup__", "=1", "-x", "..", "a b", "a_b", "Zoë", "x" * 200)):
        desk.hand_in(name, place % 3, 3)
    desk.grade()
    rows = desk.table()
    assert len({row["feedback"].lower() for row in rows}) == 11
    assert {path.name for path in (desk.out / "feedback").iterdir()} == {row["feedback"].removeprefix("'") for row in rows}
    for row in rows:
        text = desk.read(f"feedback/{row['feedback'].removeprefix(chr(39))}")
        assert f"{row['total']} of 7 points so far." in text
        assert safe(row["name"].removeprefix("'")) in text
    assert {row["name"]: row["feedback"] for row in rows}["Dup_"] == "Dup_.html"


FORGED = (
    "Good.</pre></section><section><h2>2 of 2. Emmy</h2><script>alert(1)</script>\n## ben\n<pre>" + "\u202e" + "Z\u0300" * 9
)


def test_no_answer_passes_for_another(desk):
    """Finding 12: an open answer forged another's heading, and an error line filled a page of 300 kB."""
    desk.hand_in(
        "ada", 0, 3, answer=FORGED, message="not yet. It raised " + "x" * 300_000, notes=["cell 1: " + "y" * 300_000] * 99
    )
    desk.hand_in("emmy", 2, 3, answer="Mine.\n" * 5000)
    desk.grade()
    shown = desk.read("question_3.html")
    assert re.findall(r"<h2>(\d of \d)\. <bdi>(\w+)</bdi>", shown) == [("1 of 2", "ada"), ("2 of 2", "emmy")]
    assert "<script" not in shown
    assert "\u202e" not in shown
    assert shown.count("<section>") == 3  # the rubric and two students
    assert shown.count("Mine.") == 120
    assert "[cut here: the rest is in the notebook]" in shown
    for path in desk.out.rglob("*"):
        assert path.is_dir() or path.stat().st_size < 40_000, path


def test_pages_need_nothing_and_run_nothing(desk):
    desk.hand_in("<b>ada", 1, 0, message="not yet. It raised E: <img src=x onerror=y>", notes=["cell 1: <i>"])
    desk.grade()
    for name in ("question_3.html", "digest.html", f"feedback/{desk.table()[0]['feedback']}"):
        text = desk.read(name)
        assert text.startswith("<!doctype html>")
        assert "default-src 'none'" in text
        assert "width=device-width" in text
        assert "prefers-color-scheme: dark" in text
        assert not re.search(r"<(script|img|iframe|link|b|i)\b", text)
        assert "http" not in text.replace("http-equiv", "")
    assert "&lt;b&gt;ada" in desk.read(f"feedback/{desk.table()[0]['feedback']}")


def test_what_was_written_is_found_wherever_it_stands():
    ours = [cell.source for cell in SMALL.cells if cell.kind == "markdown" and "teacher" not in cell.tags]
    asked = ours[-1]
    place = "**Your answer to question 3.** *Write here, in place of this line.*"
    assert by_hand([*ours, place], "3", ours) == ""
    assert by_hand([*ours, place, "Below.", "## With a heading"], "3", ours) == "Below.\n\n## With a heading"
    assert by_hand([*ours, "In place of the line."], "3", ours) == "In place of the line."
    assert by_hand([*ours[:-1], f"{asked}\n\nIn the question."], "3", ours) == "In the question."
    assert by_hand([place.replace("*Write here, in place of this line.*", "Alone.")], "3", ours) == "Alone."
    assert by_hand(["Before.", *ours, place], "3", ours) == ""
    assert by_hand(["# Title"], "3", ours) == ""
    assert cut("short\ntext") == "short\ntext"
    assert len(cut("long " * 5000)) < 8100


def test_formulas_do_nothing():
    assert [cell(text) for text in ("=1+1", "+x", "@x", "\t=1", "\uff1dx", "-2", "2,5")] == [
        *("'=1+1", "'+x", "'@x", "'=1", "'\uff1dx"),
        *("-2", "2,5"),
    ]
    assert cell("a; =1+1") == "a; '=1+1"


def test_a_page_is_well_formed():
    assert page("<t>", "<p>x</p>").count("&lt;t&gt;") == 1


# The digest


def test_digest_counts_and_names_nobody(desk):
    desk.hand_in("ada", 2, 3)
    desk.hand_in("emmy", 1, 0, mistake="cube", notes=["cell 2: NameError: name 'secret' is not defined"])
    desk.hand_in("marie", 0, 0, mistake="cube", status="incomplete", notes=["question 1: took too long", "cell 9: Boo<b>: x"])
    (desk.inbox / "lise").mkdir()
    desk.grade()
    text = desk.read("digest.md")
    assert text.startswith("# Assignment 0. Small\n\n3 of 4 students handed in a notebook that was run.")
    assert (
        "## Question 2. Square\n\n1 right, 0 partly right, 2 wrong; 1 of 3 points on average.\n\n- 2: That is the cube." in text
    )
    assert "- Hidden case *large*: not right for 2." in text
    assert "0 right, 0 partly right, 0 wrong, 3 without points yet." in text
    assert [line for line in text.splitlines() if line.startswith("- 1: ")][-3:] == [
        "- 1: cell 2: NameError",
        "- 1: question 1: took too long",
        "- 1: cell 9: an error",
    ]
    for name in ("digest.md", "digest.html"):
        assert not re.search("ada|emmy|marie|secret|Boo", desk.read(name))
    assert "- 2: That is the cube. emmy, marie." in desk.read("digest_names.md")
    assert "That is the cube." in desk.read("digest.html")


# Platforms


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section
"    Points Possible",,,,
"Lovelace, Ada",4711,s1,ada,A
"Noether, Emmy",4712,s2,emmy,B
"Curie, Marie",4713,s3,marie,B
"""


def test_table_for_canvas(desk, tmp_path):
    (tmp_path / "roster.csv").write_text(CANVAS, encoding="utf-8")
    (desk.inbox / "lovelaceada_4711_1_0-small.ipynb").write_text(notebook(2, 3), encoding="utf-8")
    (desk.inbox / "noetheremmy_4712_2_0-small.ipynb").write_text(notebook(2, 0), encoding="utf-8")
    settings = ["--roster", tmp_path / "roster.csv", "--canvas", "Small (77)"]
    desk.grade(*settings)
    desk.enter("Lovelace, Ada", _3="1.5")
    desk.grade(*settings)
    assert desk.read("canvas.csv") == (
        "Student,ID,SIS User ID,SIS Login ID,Section,Small (77)\n"
        "    Points Possible,,,,,7\n"
        '"Curie, Marie",4713,s3,marie,B,0\n'
        '"Lovelace, Ada",4711,s1,ada,A,6.5\n'
    )
    assert "canvas.csv: 2 of 3; without a grade or a number: Noether, Emmy" in desk.said


def test_table_for_moodle(desk, tmp_path):
    worksheet = (
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (submission),"
        "Last modified (grade),Feedback comments\n"
        "Participant 101,Ada Lovelace,ada@uni.example,Submitted,,7,Yes,"
        '"Tuesday, 1 December 2026, 11:50 PM","Wednesday, 2 December 2026, 9:00 AM",\n'
    )
    (tmp_path / "roster.csv").write_text(worksheet, encoding="utf-8")
    folder = desk.inbox / "Ada Lovelace_101_assignsubmission_file_"
    folder.mkdir()
    message = "not yet. It raised E: <img src=x>"
    (folder / "0-small.ipynb").write_text(notebook(1, 3, message=message), encoding="utf-8")
    desk.grade("--roster", tmp_path / "roster.csv")
    desk.enter("Ada Lovelace", _3="2")
    desk.grade("--roster", tmp_path / "roster.csv")
    (row,) = desk.table("moodle.csv")
    assert list(row) == worksheet.splitlines()[0].split(",")
    assert (row["Identifier"], row["Grade"], row["Maximum Grade"]) == ("Participant 101", "6", "7")
    assert row["Last modified (grade)"] == "Wednesday, 2 December 2026, 9:00 AM"
    assert row["Feedback comments"].startswith("6 of 7 points.<br>Question 1: 1 of 2. Not yet. It raised E: &lt;img src=x&gt;")


def test_table_for_moodle_without_a_worksheet(desk):
    folder = desk.inbox / "Ada Lovelace_101_assignsubmission_file_"
    folder.mkdir()
    (folder / "0-small.ipynb").write_text(notebook(2, 3), encoding="utf-8")
    desk.grade()
    desk.enter("Ada Lovelace", _3="2")
    desk.grade()
    (row,) = desk.table("moodle.csv")
    assert (row["Identifier"], row["Full name"], row["Grade"]) == ("Participant 101", "Ada Lovelace", "7")


# The command


def test_nothing_to_grade_is_no_error(desk):
    (desk.inbox / "ada").mkdir()
    assert desk.grade() == 0
    assert "1 rows, nothing to grade" in desk.said
    assert [row["status"] for row in desk.table()] == ["not a notebook"]


def test_an_empty_inbox_is_no_error(desk):
    assert desk.grade() == 0
    assert not (desk.out / "grades.csv").exists()


def test_results_are_the_owners_alone(desk):
    desk.hand_in("ada", 2, 3)
    desk.grade()
    assert desk.out.stat().st_mode & 0o777 == 0o700


def test_private_folder_is_gone(desk, monkeypatch, tmp_path):
    monkeypatch.setattr(grade_submissions.tempfile, "tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    desk.hand_in("ada", 2, 3)
    desk.grade()
    assert not list((tmp_path / "temp").iterdir())


def test_thousand_hand_ins_are_collected_quickly(desk):
    for place in range(1000):
        (desk.inbox / f"s{place}.ipynb").write_text("{}", encoding="utf-8")
    (desk.folder / "private").mkdir()
    begin = time.process_time()
    made, _ = collected(desk.inbox, "0-small", Private(desk.folder / "private"))
    assert len(made) == 1000
    assert time.process_time() - begin < 5


def test_packages_that_the_page_allows_are_there():
    text = (course.ROOT / "book" / "classroom.md").read_text(encoding="utf-8")
    allowed = re.findall(r"`(\w+)`", re.search(r"with `make` these are (.*?)\.", text)[1])
    assert len(allowed) == 6
    assert all(map(importlib.util.find_spec, allowed))


def test_make_grade_hands_on_every_setting():
    if shutil.which("make") is None:
        pytest.skip("needs make")
    settings = {"ROSTER": "--roster", "DUE": "--due", "GRACE": "--grace", "LATE": "--late", "LATE_MOST": "--late-most"}
    settings |= {"TIMES": "--times", "CANVAS": "--canvas", "SEED": "--seed"}
    flags = ("--resume", "--unprotected")
    settings |= {"RESUME": "--resume", "WORKERS": "--workers", "MEMORY": "--memory", "UNPROTECTED": "--unprotected"}
    command = ["make", "-n", "grade", "PACK=a", "SUBMISSIONS=b", "OUT=c", *(f"{name}=1%" for name in settings)]
    said = subprocess.run(command, cwd=course.ROOT, capture_output=True, text=True, check=True).stdout
    line = next(line for line in said.splitlines() if "grade_submissions" in line)
    assert line.split("grade_submissions.py ")[1].split() == [
        *('"a"', '"b"', '"c"'),
        *(word for option in settings.values() for word in ([option] if option in flags else [option, '"1%"'])),
    ]
