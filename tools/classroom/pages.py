"""Pages in HTML: feedback for each student, and what everyone wrote to an open question for the teacher.

A page needs nothing beside it and runs nothing. All that a student has made is escaped, cut, and shut into a box of its own.
"""

from collections.abc import Sequence

from classroom.judge import Mark
from classroom.names import NOTEBOOK
from classroom.question import ByHand
from classroom.rows import REMARKS, Row
from classroom.writing import number, page, safe

STATUSES = {
    "graded": "Everything ran.",
    "incomplete": "Something did not run to its end; it was left out, and the rest graded without it.",
    "unreadable": "What was handed in is not a notebook.",
    "too large": "The notebook is too large to be opened.",
    "failed": "The grader failed on this one; your teacher looks at it.",
    "not a notebook": "There is no notebook in what was handed in.",
    "nothing handed in": "Nothing was handed in.",
}
"""What a status means, for a student."""


def of_question(row: Row, mark: Mark) -> str:
    """Points of a question, in words: ``3 of 4``, or that they are still to come."""
    given = row.points[mark.number]
    return f"{number(given)} of {mark.of}" if given is not None else f"{mark.of} points, still to be given"


def sentences(row: Row, mark: Mark) -> list[str]:
    """What to say of a question to the student."""
    given = row.points[mark.number]
    if mark.points is None:
        return ["Your teacher reads this one."] if given is None else []
    message = mark.message[:1].upper() + mark.message[1:]
    said = [message] if given == mark.points or not row.hand.get(mark.number) else ["Your teacher has set these points."]
    if mark.right and mark.points != mark.of:
        said.append(f"Right: {', '.join(mark.right)}.")
    return said


def sums(row: Row) -> list[str]:
    """The grade in words."""
    said = [f"{number(row.total)} of {row.maximum} points" + (" so far." if row.open else ".")]
    if row.deduction:
        said.append(f"Late by {row.late}: {number(row.deduction)} points are taken off.")
    if row.adjustment:
        said.append(
            f"Your teacher adds {number(row.adjustment)}." if row.adjustment > 0 else f"Adjusted by {number(row.adjustment)}."
        )
    if row.final is not None and (row.deduction or row.adjustment):
        said.append(f"In the end: {number(row.final)} of {row.maximum}.")
    return said


def feedback(row: Row, title: str) -> str:
    """A student's page."""
    result, submission = row.result, row.result.submission
    parts = [f"<h1>{safe(title)}</h1>", f"<p><bdi>{safe(row.student)}</bdi></p>"]
    parts += [f'<p class="{"sum" if place == 0 else ""}">{safe(text)}</p>' for place, text in enumerate(sums(row))]
    parts.append(f'<p class="soft">{safe(STATUSES.get(result.status, result.status))}</p>')
    over = [_inside(name) for name in submission.passed_over if NOTEBOOK.search(name)]
    if over and not submission.status:
        names = ", ".join(over[:5])
        mine = safe(_inside(submission.entry))
        parts.append(f'<p class="soft">Graded: <bdi>{mine}</bdi>. Passed over: <bdi>{safe(names)}</bdi>.</p>')
    if remarks := row.hand.get(REMARKS):
        parts.append(f"<section><h2>From your teacher</h2><pre>{safe(remarks)}</pre></section>")
    for mark in result.marks:
        given = row.points[mark.number]
        kind = "soft" if given is None else "right" if given >= mark.of else "partly" if given > 0 else "wrong"
        head = f'<h2>Question {safe(mark.number)}: <span class="{kind}">{safe(of_question(row, mark))}</span></h2>'
        parts.append(f"<section>{head}{''.join(f'<p>{safe(text)}</p>' for text in sentences(row, mark))}</section>")
    if result.notes:
        notes = "".join(f"<li>{safe(note)}</li>" for note in result.notes)
        parts.append(f"<section><h2>While it ran</h2><ul>{notes}</ul></section>")
    return page(title, "\n".join(parts))


def _inside(entry: str) -> str:
    """A place in the inbox as its student knows it: without the name that a platform has put before it."""
    return entry.partition("/")[2] or entry


def plain(row: Row) -> str:
    """A student's feedback as one short text in HTML without markup but line breaks, for a platform's comment."""
    lines = [
        *sums(row),
        *(f"Question {mark.number}: {of_question(row, mark)}. {' '.join(sentences(row, mark))}" for mark in row.result.marks),
    ]
    if remarks := row.hand.get(REMARKS):
        lines.insert(1, remarks)
    return "<br>".join(safe(line.strip()) for line in lines)


def open_page(rows: Sequence[Row], question: ByHand, text: str, title: str) -> str:
    """What everyone wrote to an open question, with its rubric."""
    heading = f"Question {question.number}, {question.points} points"
    parts = [f"<h1>{safe(title)}. {safe(heading)}</h1>"]
    if text:
        parts.append(f"<section><h2>Rubric</h2><pre>{safe(text)}</pre></section>")
    parts.append(f'<p class="soft">Enter points into column {safe(question.number)} of grades.csv.</p>')
    for place, row in enumerate(rows, start=1):
        answer = row.result.answers.get(question.number, "")
        given = row.points[question.number]
        points = f"{number(given)} points" if given is not None else "no points yet"
        head = (
            f'<h2>{place} of {len(rows)}. <bdi>{safe(row.student)}</bdi> <span class="soft">{safe(row.id)} {points}</span></h2>'
        )
        parts.append(f"<section>{head}{f'<pre>{safe(answer)}</pre>' if answer else '<p class=soft>nothing</p>'}</section>")
    return page(heading, "\n".join(parts))
