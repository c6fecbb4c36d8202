"""A term with twelve: what the page *Classroom* shows is what comes out."""

import csv
import re

import course
import grade_submissions
import pytest
from classroom import build
from classroom.master import Master
from helpers.term import CLASS, corrected, hand_in

pytestmark = pytest.mark.whole

FIRST = Master.read(course.ROOT / "assignments" / "1-softmax" / "master.py")
PAGE = (course.ROOT / "book" / "classroom.md").read_text(encoding="utf-8")
RULE = ["--due", "2026-12-01T23:59+01:00", "--grace", "10m", "--late", "10%/day", "--late-most", "50%"]
ENTERED = {"Ada Berg": "4", "Ben Cole": "3", "Cleo Diaz": "1", "Dana Engel": "4", "Eli Frank": "2,5", "Fay Gruber": "4"}
ENTERED |= {"Gus Hall": "3", "Hana Ito": "3", "Ivo Jung": "0", "Jo Kern": "0", "Kim Lund": "0"}
"""Points of question 5."""


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The term: what was printed and what the table was, after each of its three steps."""
    folder = tmp_path_factory.mktemp("term")
    _, pack = build.write(FIRST, folder)
    inbox, sheet = hand_in(folder, FIRST)
    command = [str(pack), str(inbox), str(folder / "marks"), "--roster", str(sheet), *RULE, "--seconds", "6"]
    steps = []

    def step(*more):
        with pytest.MonkeyPatch.context() as patch:
            said = []
            patch.setattr("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words))))
            assert grade_submissions.main([*command, *more]) == 0
        steps.append((said, {row["name"]: row for row in table(folder / "marks" / "grades.csv")}))

    step("--seed", "7")
    digest = (folder / "marks" / "digest.md").read_text(encoding="utf-8")
    rows = [row | {"5": ENTERED.get(name, row["5"])} for name, row in steps[0][1].items()]
    rows = [row | ({"adjustment": "1", "remarks": "For the figure."} if row["name"] == "Gus Hall" else {}) for row in rows]
    with (folder / "marks" / "grades.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    step("--resume")
    build.write(corrected(FIRST), folder)
    step()
    return steps, digest, folder / "marks"


def blocks():
    """The printed texts of the page, each a list of lines."""
    return [block.strip("\n").splitlines() for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)]


def test_table_of_the_page(term):
    """Twelve rows, each with the points that its author was to get."""
    (_, rows), *_ = term[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
    head = next(line for line in lines if line[0] == "name")
    shown = [dict(zip(head, line, strict=True)) for line in lines if len(line) == len(head) and line[0] in rows]
    assert [line["name"] for line in shown] == [student.name for student in CLASS]
    for line in shown:
        row = rows[line["name"]]
        assert {name: row[name] for name in head[:-1]} == {name: line[name] for name in head[:-1]}
        assert line["notes"].replace("\\", "") in row["notes"]
        assert bool(line["notes"]) == bool(row["notes"])


def test_digest_of_the_page(term):
    _, digest, _ = term
    assert len(blocks()[0]) >= 4
    assert "\n".join(blocks()[0]) in digest


def test_points_entered_by_hand(term):
    said, rows = term[0][1]
    assert "12 rows, nothing to grade, 10 graded before" in said[0]
    assert [line for line in blocks()[1] if line != "..."] == [line for line in said if line in blocks()[1]]
    assert len(blocks()[1]) >= 4
    assert rows["Gus Hall"]["final"] == "20"
    assert rows["Dana Engel"]["deduction"] == "1.9"  # a tenth of 19


def test_a_corrected_check_changes_two_grades(term):
    (_, before), (said, rows) = term[0][1:]
    changed = [line for line in said if "->" in line]
    assert changed == blocks()[2]
    assert [name for name in rows if rows[name]["final"] != before[name]["final"]] == ["Cleo Diaz", "Eli Frank"]
    assert {name: row["5"] for name, row in rows.items() if name in ENTERED} == ENTERED
    assert len(list((term[2] / "earlier").glob("grades-*.csv"))) == 2


def test_table_for_moodle_is_complete(term):
    rows = {row["Full name"]: row for row in table(term[2] / "moodle.csv")}
    assert len(rows) == 12
    assert {name: row["Grade"] for name, row in rows.items()} == {name: row["final"] for name, row in term[0][2][1].items()}
    assert {row["Maximum Grade"] for row in rows.values()} == {"20"}
