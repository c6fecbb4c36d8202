"""Writes what teachers and students read: a table of grades, and a page of feedback for each student."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from classroom.build import YOURS
from classroom.grade import Grade
from classroom.judge import Exam
from classroom.question import ByHand

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def cell(value: object) -> str:
    """A value for a table; what a spreadsheet would take for a formula is quoted."""
    text = " ".join(str("" if value is None else value).split())
    return f"'{text}" if text.startswith(_FORMULA) and not re.fullmatch(r"-?\d+", text) else text


def table(grades: Sequence[Grade], exam: Exam, path: Path) -> None:
    """Write ``grades.csv``: points for each question, blank where a teacher gives them, total, status, notes."""
    numbers = [question.number for question in exam.master.questions]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["student", *numbers, "total", "status", "notes", "file"])
        for grade in grades:
            row = [grade.submission.student, *(mark.points for mark in grade.marks), grade.total, grade.status]
            writer.writerow(map(cell, [*row, "; ".join(grade.notes), grade.submission.path.name]))


def feedback(grade: Grade, title: str) -> str:
    """A student's page."""
    lines = [f"# {title}", "", f"Status: {grade.status}.", ""]
    for mark in grade.marks:
        points = "by hand" if mark.points is None else mark.points
        lines += [f"## Question {mark.number}: {points} of {mark.of}", "", _quoted(mark.message), ""]
        if mark.right and mark.points != mark.of:
            lines += [f"Right: {', '.join(mark.right)}.", ""]
    if grade.notes:
        lines += ["## While it ran", "", *(f"- {_quoted(note)}" for note in grade.notes), ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Text of a submission's making, without effect in Markdown."""
    return re.sub(r"([\\`*_<>\[\]#|$])", r"\\\1", "".join(sign if sign.isprintable() else " " for sign in text))


def by_hand(texts: Sequence[str], number: str) -> str:
    """What a student has written to an open question: from the place for it on, to the next heading."""
    place = YOURS.format(number)
    begin = place.partition(" *")[0]
    found = list[str]()
    for text in texts:
        if found and text.startswith("## "):
            break
        if text.startswith(begin) and not found:
            text = text.removeprefix(place).removeprefix(begin)
            found.append("")
        if found:
            found.append(text)
    return "\n\n".join(found).strip()


def write(grades: Sequence[Grade], exam: Exam, folder: Path) -> None:
    """Write table, pages, and one file for each open question with what everyone wrote."""
    (folder / "feedback").mkdir(parents=True, exist_ok=True)
    ordered = sorted(grades, key=lambda grade: (grade.submission.student, grade.submission.path))
    table(ordered, exam, folder / "grades.csv")
    names = set[str]()
    for grade in ordered:
        name = re.sub(r"[^\w.-]", "_", grade.submission.student).lstrip(".") or "_"
        while name in names:
            name += "_"
        names.add(name)
        (folder / "feedback" / f"{name}.md").write_text(feedback(grade, exam.master.title), encoding="utf-8")
    for question in exam.master.questions:
        if isinstance(question, ByHand):
            parts = [f"# Question {question.number}, {question.points} points", ""]
            for grade in ordered:
                text = by_hand(grade.written, question.number) or "*nothing*"
                parts += [f"## {_quoted(grade.submission.student)}", "", text, ""]
            (folder / f"question_{question.number}.md").write_text("\n".join(parts), encoding="utf-8")
