"""Tables that platforms take: ``canvas.csv`` for a gradebook of Canvas, ``moodle.csv`` for a grading worksheet of Moodle.

Whoever has a question that is still open is left out of both: an empty grade would delete one that is there.
"""

from collections.abc import Sequence
from pathlib import Path

from classroom.pages import plain
from classroom.roster import Roster
from classroom.rows import Row
from classroom.writing import as_table, number, save, save_table

POINTS_POSSIBLE = "    Points Possible"
MOODLE = (
    "Identifier",
    "Full name",
    "Email address",
    "Grade",
    "Maximum Grade",
    "Last modified (grade)",
    "Feedback comments",
)


def _known(row: Row, what: str) -> str:
    person = row.result.submission.person
    return str(getattr(person, what)) if person else ""


def _number(row: Row, platform: str, what: str) -> str:
    """The platform's number for a student, from the roster or from the name of the hand-in."""
    named = row.result.submission.named
    return _known(row, what) or (named.id if named and named.platform == platform else "")


def _sentence(name: str, ready: Sequence[Row], rows: Sequence[Row]) -> str:
    there = {row.result.key for row in ready}
    left = [row.student for row in rows if row.result.key not in there]
    short = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
    return f"{name}: {len(ready)} of {len(rows)}" + (f"; without a grade or a number: {short}" if left else "")


def canvas(rows: Sequence[Row], column: str, path: Path) -> str:
    """Write what Canvas imports into its gradebook; say how many are in it.

    Args:
        rows: the table.
        column: the heading of the assignment in Canvas, ``TITLE (NUMBER)``; without a number Canvas makes a new assignment.
        path: the file.
    """
    ready = [
        row
        for row in rows
        if row.final is not None and (_number(row, "canvas", "id") or _known(row, "login") or _known(row, "sis"))
    ]
    lines: list[list[object]] = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column]]
    for row in ready:
        known = [_number(row, "canvas", "id"), *(_known(row, what) for what in ("sis", "login", "section"))]
        lines.append([row.student, *known, number(row.final)])
    possible = f"{POINTS_POSSIBLE},,,,,{number(rows[0].maximum) if rows else ''}\n"
    save(path, as_table(lines[:1]) + possible + as_table(lines[1:]))
    return _sentence(path.name, ready, rows)


def moodle(rows: Sequence[Row], roster: Roster | None, path: Path) -> str:
    """Write what Moodle imports as a grading worksheet; say how many are in it.

    Where the roster is a worksheet of Moodle's its columns are kept, since Moodle looks at the time of the last grade.
    """
    ready = [row for row in rows if row.final is not None and _number(row, "moodle", "number")]
    own = list(roster.columns) if roster and "Identifier" in roster.columns else []
    columns = own + [name for name in MOODLE if name not in own]
    lines: list[list[object]] = [list(columns)]
    for row in ready:
        person = row.result.submission.person
        cells = dict(person.row) if person and own else {}
        cells.setdefault("Identifier", f"Participant {_number(row, 'moodle', 'number')}")
        cells.setdefault("Full name", row.student)
        cells.setdefault("Email address", _known(row, "email"))
        cells.setdefault("Last modified (grade)", "-")
        cells |= {"Grade": number(row.final), "Maximum Grade": number(row.maximum), "Feedback comments": plain(row)}
        lines.append([cells.get(name, "") for name in columns])
    save_table(path, lines)
    return _sentence(path.name, ready, rows)
