"""Grading again: what a teacher has entered in the table stays, and what has changed is said.

A cell that differs from what the grader wrote there is the teacher's. It stays until it is emptied. Columns that follow from
others are computed anew, and where one had been changed by hand this is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classroom.roster import table
from classroom.rows import FOLLOWS, REMARKS, Row, editable
from classroom.writing import bare, cell, points

State = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """What has changed since the table was last written."""

    student: str
    question: str
    before: str
    after: str
    why: str

    def __str__(self) -> str:
        return f"{self.student}, {spoken(self.question)}: {self.before or 'nothing'} -> {self.after or 'nothing'} ({self.why})"


def spoken(column: str) -> str:
    """A column in words."""
    return f"question {column}" if column[:1].isdecimal() else column


def same(one: str, other: str) -> bool:
    """Whether two cells say the same: a spreadsheet writes numbers its own way."""
    one, other = bare(one.strip()), bare(other.strip())
    first, second = points(one), points(other)
    return first == second if first is not None and second is not None else cell(one) == cell(other)


def entered(path: Path, before: State) -> tuple[dict[str, dict[str, str]], list[Change]]:
    """What a teacher has entered in a table since it was written, by student and column; and what will not stay.

    Raises:
        ValueError: where the table is not one that the grader wrote.
    """
    if not path.is_file():
        return {}, []
    if not before:
        raise ValueError(f"{path} is there, and table.json beside it is not: move the table away, or give another folder")
    columns, lines = table(path)
    owners = {row["shown"]["feedback"]: key for key, row in before["rows"].items()}
    if "feedback" not in columns:
        raise ValueError(f"{path} has the columns {columns}; the column feedback, which says whose row it is, is missing")
    hand, lost, there = dict[str, dict[str, str]](), list[Change](), set[str]()
    for line in lines:
        key = owners.get(bare(line.get("feedback", "")))
        name = bare(line.get("name", ""))
        if key is None:
            text = "; ".join(filter(None, line.values()))[:300]
            lost.append(Change(name, "row", text, "", "a row that the grader did not write"))
            continue
        there.add(key)
        row = before["rows"][key]
        hand[key] = _by_hand(row["found"], line)
        for column in FOLLOWS:
            if column in line and not same(line[column], row["shown"][column]):
                lost.append(Change(name, column, line[column], row["shown"][column], "entered by hand, and computed anew"))
    for key, row in before["rows"].items():
        if key not in there:
            hand[key] = _by_hand(row["found"], row["shown"])
            lost.append(
                Change(row["shown"]["name"], "row", "", "", "the row was taken out of the table by hand, and is there again")
            )
    return hand, lost


def _by_hand(found: Mapping[str, str], line: Mapping[str, str]) -> dict[str, str]:
    """What in a line differs from what the grader found."""
    texts = {column: bare(line.get(column, found[column])) for column in found}
    return {column: text for column, text in texts.items() if text and not same(text, found[column])}


def changes(rows: Sequence[Row], before: State, about: Mapping[str, Any]) -> list[Change]:
    """What has changed since the table was last written, and why."""
    if not before:
        return []
    found, old = list[Change](), before["rows"]
    asked = [column for column in editable(rows) if column != REMARKS]
    for row in rows:
        key, now = row.result.key, row.shown()
        if key not in old:
            found.append(Change(row.student, "row", "", now["status"], "not there before"))
            continue
        was, causes = old[key], list[str]()
        why = _why(row, was, before["about"], about)
        for column in asked:
            by_hand = column in row.hand
            if not same(was["shown"].get(column, ""), now[column]):
                reason = "entered by hand" if by_hand or not _moved(was, row, column) else why
                found.append(Change(row.student, column, was["shown"].get(column, ""), now[column], reason))
                causes.append(spoken(column))
            elif by_hand and _moved(was, row, column):
                text = f"{why}; {now[column]} was entered by hand and stays"
                found.append(Change(row.student, column, was["found"].get(column, ""), row.found()[column], text))
        for column in ("deduction", "final", "status"):
            if not same(was["shown"].get(column, ""), now[column]):
                follows = f"follows from {', '.join(causes)}" if causes else "the late rule or the time of hand-in is another"
                reason = why if column == "status" else follows
                found.append(Change(row.student, column, was["shown"].get(column, ""), now[column], reason))
                causes += [column] if column == "deduction" and not causes else []
    there = {row.result.key for row in rows}
    for key, was in old.items():
        if key not in there:
            text = "; ".join(
                f"{column} {value}" for column, value in was["shown"].items() if value and column in (*asked, "final")
            )
            found.append(Change(was["shown"]["name"], "row", text, "", "not among the submissions any more"))
    return found


def _moved(was: Mapping[str, Any], row: Row, column: str) -> bool:
    """Whether the grader itself says something else than before."""
    return not same(was["found"].get(column, ""), row.found()[column])


def _why(row: Row, was: Mapping[str, Any], before: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Why the grader says something else than before."""
    if was["content"] != row.result.content:
        return "another notebook was handed in"
    if before.get("master") != about.get("master"):
        return "the assignment's questions or checks have changed"
    if before.get("seed") != about.get("seed"):
        return "other inputs"
    return "it ran otherwise"
