"""What is known of each submission, written as it comes: a line of JSON for each, so that a run that is stopped loses nothing.

The first line says which assignment it is, with which inputs. Everything that a submission has said is cleaned here, once: what
cannot be encoded is replaced, what is too long is cut. All that is written later comes from here.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from classroom.grade import FAILED, Grade
from classroom.hand_ins import NOTHING, Submission
from classroom.judge import Exam, Mark
from classroom.names import clean
from classroom.open_answers import LONGEST, answers

SENTENCE, NOTES = 500, 20
"""Letters of a message or a note, and notes, that are kept."""


@dataclass
class Result:
    """What became of a submission, clean.

    Args:
        submission: the submission.
        status: what became of it.
        marks: a mark for each question; points are None where a teacher gives them.
        notes: what went wrong while it ran.
        answers: what was written to the open questions, by number.
        content: a hash of the notebook, empty where there is none.
    """

    submission: Submission
    status: str
    marks: list[Mark]
    notes: list[str] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    content: str = ""

    @property
    def key(self) -> str:
        """What tells the student from others."""
        return self.submission.key or self.submission.student


def digest(path: Path) -> str:
    """A hash of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _clean(mark: Mark) -> Mark:
    right = tuple(clean(name, SENTENCE) for name in mark.right)
    return replace(mark, message=clean(mark.message, SENTENCE), right=right)


def _notes(notes: Sequence[str]) -> list[str]:
    kept = [clean(" ".join(note.split()), SENTENCE) for note in notes[:NOTES]]
    return kept + ([f"and {len(notes) - NOTES} more"] if len(notes) > NOTES else [])


def result(grade: Grade, exam: Exam, content: str = "") -> Result:
    """What to keep of a grade. Of a submission on which the grader failed no point is known."""
    marks = [_clean(mark) for mark in grade.marks]
    if grade.status == FAILED:
        marks = [replace(mark, points=None, message="The grader failed; your teacher looks at this.") for mark in marks]
    return Result(grade.submission, grade.status, marks, _notes(grade.notes), answers(grade.written, exam.master), content)


def not_run(submission: Submission, exam: Exam) -> Result:
    """What to say of a hand-in that holds nothing to run. Who handed in nothing has no points, in open questions too."""
    points = 0 if submission.status == NOTHING else None
    message = "Nothing was handed in." if submission.status == NOTHING else "There is no notebook in what was handed in."
    by_hand = {question.number for question in exam.master.questions} - {question.number for question in exam.master.automatic}
    marks = [
        Mark(question.number, points if question.number in by_hand else 0, question.points, message)
        for question in exam.master.questions
    ]
    return Result(submission, submission.status, marks)


class Ledger:
    """The file, open to be written to. What was there is replaced when what is kept of it has been written."""

    def __init__(self, path: Path, about: Mapping[str, Any], kept: Sequence[Result] = ()):
        beside = path.with_name(f".{path.name}.new")
        self.file: TextIO = beside.open("w", encoding="utf-8")
        self._line({"about": dict(about)})
        for known in kept:
            self.write(known)
        os.replace(beside, path)

    def _line(self, thing: object) -> None:
        self.file.write(json.dumps(thing) + "\n")
        self.file.flush()

    def write(self, known: Result) -> None:
        """Write down a result. It is in the file when this returns."""
        self._line(
            {
                "key": clean(known.key),
                "student": known.submission.student,
                "content": known.content,
                "status": known.status,
                "marks": [asdict(mark) for mark in known.marks],
                "notes": known.notes,
                "answers": known.answers,
            }
        )

    def close(self) -> None:
        """Say that the run came to its end, and close it."""
        self._line({"done": True})
        self.file.close()


def recorded(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What an earlier run was about, and its lines; a line that was cut off is passed over. Empty where there was none.

    ``done`` among the first is whether it came to its end.
    """
    about, lines = dict[str, Any](), list[dict[str, Any]]()
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                thing = json.loads(line)
            except ValueError:
                continue
            if "about" in thing:
                about = {**thing["about"], "done": False}
            elif "done" in thing:
                about["done"] = True
            else:
                lines.append(thing)
    return about, lines


def known(lines: Sequence[Mapping[str, Any]], there: Sequence[Submission]) -> dict[str, Result]:
    """Of these submissions those that were graded before, by key: the notebook is the same, and the grader did not fail."""
    before = {line["key"]: line for line in lines}
    found = dict[str, Result]()
    for submission in there:
        line = before.get(clean(submission.key or submission.student))
        if not line or submission.status or line["status"] == FAILED or not line["content"]:
            continue
        if line["content"] == digest(submission.path):
            marks = [Mark(**{**mark, "right": tuple(mark["right"])}) for mark in line["marks"]]
            notes, texts = list(line["notes"]), {number: text[:LONGEST] for number, text in line["answers"].items()}
            again = Result(submission, line["status"], marks, notes, texts, line["content"])
            found[again.key] = again
    return found
