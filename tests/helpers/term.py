"""A class of twelve and what they hand in to assignment 1: a zip as Moodle makes it, and Moodle's grading worksheet.

The page *Classroom* walks through a term with them. Its tables are compared with what comes out.
"""

import csv
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from classroom import build
from classroom.master import Master
from helpers.submissions import begins, first, last

LOG = "log_weights = lambda scores, beta: torch.softmax(beta * scores, -1).log()"
MEAN = "def merge(a, Z, o, b, W, u):\n    return (o + u) / 2"
SQUARES = """\
def heat_capacity(scores, beta):
    p = torch.softmax(beta * scores, -1)
    return beta**2 * ((p * scores**2).sum(-1) - (p * scores).sum(-1) ** 2)"""
UNDIVIDED = """\
def collapse(draws, sigmas):
    return torch.softmax(sigmas[:, None, None] * draws, -1).square().sum(-1).mean(-1)"""
FROZEN = (
    "At a spread of three: half of the weight lies on few keys there. The largest of 64 normal numbers is near 2.9, so that it "
    "outweighs the sum of all others. With 4096 keys it is 4.1. The spread is beta times that of the products of query and key."
)


@dataclass(frozen=True)
class Student:
    """A student: cells they add, what they write to the open question, when they hand in and in which form."""

    name: str
    mine: tuple[str, ...] = ()
    written: str = FROZEN
    when: str = "Tuesday, 1 December 2026, 9:15 PM"
    form: str = "0.ipynb"


CLASS = [
    Student("Ada Berg"),
    Student("Ben Cole", (LOG, MEAN)),
    Student("Cleo Diaz", (SQUARES,), "It freezes at three."),
    Student("Dana Engel", (LOG,), when="Wednesday, 2 December 2026, 12:40 AM"),
    Student("Eli Frank", (UNDIVIDED, SQUARES)),
    Student("Fay Gruber", form="two"),
    Student("Gus Hall", form="0.ipynb.txt"),
    Student("Hana Ito", ("loop",)),
    Student("Ivo Jung", ("error", LOG), "", form="zip"),
    Student("Jo Kern", form="unsolved", written=""),
    Student("Kim Lund", form="pdf"),
    Student("Lea Meyer", form="nothing"),
]


def notebook(student: Student, master: Master) -> str:
    """What a student hands in."""
    nb = json.loads(build.student(master, solved=student.form != "unsolved"))
    place = build.YOURS.format("5")
    for cell in nb["cells"]:
        if cell["source"] == place or "".join(cell["source"]) == place:
            cell["source"] = student.written or place  # written in place of the line
    for mine in student.mine:
        if mine == "loop":
            begins("merge", "while True: pass")(nb)
        elif mine == "error":
            first("scores = torch.randn(3)")(nb)  # before torch is imported
        else:
            last(mine)(nb)
    return json.dumps(nb)


def zipped(files: dict[str, str]) -> bytes:
    """A zip of these texts."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return content.getvalue()


def hand_in(folder: Path, master: Master) -> tuple[Path, Path]:
    """Write the zip and the worksheet."""
    inbox, sheet = folder / "softmax.zip", folder / "worksheet.csv"
    with zipfile.ZipFile(inbox, "w", zipfile.ZIP_DEFLATED) as packed:
        for number, student in enumerate(CLASS, start=301):
            place, text = f"{student.name}_{number}_assignsubmission_file_", notebook(student, master)
            if student.form == "two":
                packed.writestr(f"{place}/1-softmax.ipynb", build.student(master))
                packed.writestr(f"{place}/1-softmax_v2.ipynb", text)
            elif student.form == "zip":
                packed.writestr(f"{place}/mine.zip", zipped({"mine/1-softmax.ipynb": text, "mine/figure.png": ""}))
            elif student.form == "pdf":
                packed.writestr(f"{place}/1-softmax.pdf", "%PDF")
            elif student.form != "nothing":
                packed.writestr(
                    f"{place}/1-softmax{student.form.removeprefix('0') if student.form[0] == '0' else '.ipynb'}", text
                )
    columns = ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"]
    columns += ["Last modified (submission)", "Last modified (grade)", "Feedback comments"]
    with sheet.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for number, student in enumerate(CLASS, start=301):
            mail, there = f"{student.name.split()[0].lower()}@university.example", student.form != "nothing"
            row = [f"Participant {number}", student.name, mail, "Submitted for grading" if there else "No submission"]
            writer.writerow([*row, "", "20.00", "Yes", student.when if there else "-", "-", ""])
    return inbox, sheet


RELAXED = (
    ('"hot": Case(2, ', '"hot": Case(3, '),
    ('        "far from zero": Case(1, lambda draw: [(draw(4, 6) + 1e7, draw.number(0.5, 0.8))]),\n', ""),
)


def corrected(master: Master) -> Master:
    """Assignment 1 without the case of question 2 that asks for digits, and without the wrong answer it was there for."""
    text = master.text
    for before, after in RELAXED:
        assert text.count(before) == 1
        text = text.replace(before, after)
    start = text.index('        "difference of squares": Wrong(')
    stop = text.index("        ),\n", start) + len("        ),\n")
    return Master(master.name, text[:start] + text[stop:])
