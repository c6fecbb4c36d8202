"""The table of grades: what the grader found, what a teacher entered by hand, and what follows from both."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from classroom.hand_ins import NOTHING
from classroom.late import LateRule, spoken
from classroom.ledger import Result
from classroom.writing import number, points

ADJUSTMENT, REMARKS = "adjustment", "remarks"
FOLLOWS = ("total", "deduction", "final", "status")
"""Columns that follow from others."""


@dataclass
class Row:
    """A student's row.

    Args:
        result: what the grader found.
        rule: the rule for late work, if there is one.
        feedback: the name of the page of feedback.
        hand: what a teacher has entered, by column: questions, ``adjustment``, ``remarks``.
    """

    result: Result
    rule: LateRule | None = None
    feedback: str = ""
    hand: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The number by which a platform knows the student."""
        person, named = self.result.submission.person, self.result.submission.named
        return (person.id or person.sis or person.number if person else "") or (named.id if named else "")

    @property
    def student(self) -> str:
        """The name."""
        return self.result.submission.student

    @property
    def points(self) -> dict[str, Fraction | None]:
        """Points by question; None where nobody has given any."""
        found = dict[str, Fraction | None]()
        for mark in self.result.marks:
            entered = points(self.hand.get(mark.number, ""))
            found[mark.number] = entered if entered is not None else None if mark.points is None else Fraction(mark.points)
        return found

    @property
    def maximum(self) -> int:
        """What can be reached."""
        return sum(mark.of for mark in self.result.marks)

    @property
    def open(self) -> list[str]:
        """Questions that nobody has given points for."""
        return [question for question, given in self.points.items() if given is None]

    @property
    def total(self) -> Fraction:
        """Points reached so far, without adjustment and lateness."""
        return sum((given for given in self.points.values() if given is not None), Fraction(0))

    @property
    def deduction(self) -> Fraction:
        """What lateness costs."""
        return self.rule.deduction(self.result.submission.when, self.total) if self.rule else Fraction(0)

    @property
    def adjustment(self) -> Fraction:
        """What a teacher adds in the end."""
        return points(self.hand.get(ADJUSTMENT, "")) or Fraction(0)

    @property
    def final(self) -> Fraction | None:
        """The grade: total less deduction, with adjustment, not below nothing; None while a question is open."""
        return None if self.open else max(Fraction(0), self.total - self.deduction + self.adjustment)

    @property
    def late(self) -> str:
        """By how much it was late, in words."""
        if not self.rule or self.result.submission.status == NOTHING:
            return ""
        by = self.rule.late(self.result.submission.when)
        return "unknown" if by is None else spoken(by) if by else "no"

    @property
    def notes(self) -> list[str]:
        """All that a teacher should know."""
        submission = self.result.submission
        over = [f"passed over: {', '.join(submission.passed_over[:5])}"] if submission.passed_over else []
        if len(submission.passed_over) > 5:
            over[0] += f" and {len(submission.passed_over) - 5} more"
        unread = [
            f"{column}: {text!r} is no number"
            for column, text in self.hand.items()
            if column != REMARKS and text and points(text) is None
        ]
        high = [
            f"question {mark.number}: {number(given)} of {mark.of} points"
            for mark in self.result.marks
            if (given := self.points[mark.number]) is not None and not 0 <= given <= mark.of
        ]
        return [*submission.notes, *over, *unread, *high, *self.result.notes]

    def shown(self) -> dict[str, str]:
        """The row as it is written, by column."""
        submission = self.result.submission
        when = f"{submission.when.isoformat(sep=' ', timespec='minutes')} ({submission.clock})" if submission.when else ""
        return {
            "id": self.id,
            "name": self.student,
            **{mark.number: self.hand.get(mark.number) or number(self.points[mark.number]) for mark in self.result.marks},
            "total": number(self.total),
            "maximum": number(self.maximum),
            "handed in": when,
            "late": self.late,
            "deduction": number(self.deduction) if self.rule else "",
            ADJUSTMENT: self.hand.get(ADJUSTMENT, ""),
            "final": number(self.final),
            "status": self.result.status,
            REMARKS: self.hand.get(REMARKS, ""),
            "notes": "; ".join(self.notes),
            "file": submission.entry,
            "feedback": f"{self.feedback}.html",
        }

    def found(self) -> dict[str, str]:
        """What the grader alone says in the columns that a teacher may change."""
        return {**{mark.number: number(mark.points) for mark in self.result.marks}, ADJUSTMENT: "", REMARKS: ""}


def editable(rows: Sequence[Row]) -> list[str]:
    """The columns that a teacher may change."""
    return list(rows[0].found()) if rows else [ADJUSTMENT, REMARKS]


def state(rows: Sequence[Row], about: dict[str, Any]) -> dict[str, Any]:
    """What to remember of a table, so that the next run knows what was entered by hand and what has changed."""
    return {
        "about": about,
        "rows": {row.result.key: {"found": row.found(), "shown": row.shown(), "content": row.result.content} for row in rows},
    }
