"""Writes what teachers, students and platforms read, from what the grader found and what a teacher has entered by hand."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from classroom import digest, hand, platforms
from classroom.judge import Exam
from classroom.late import LateRule
from classroom.ledger import Result
from classroom.open_answers import rubric
from classroom.pages import feedback, open_page
from classroom.question import ByHand
from classroom.roster import Roster
from classroom.rows import Row, state
from classroom.writing import as_table, file_names, save, save_table

TABLE, STATE, CHANGES = "grades.csv", "table.json", "changes.csv"


def remembered(folder: Path) -> dict[str, Any]:
    """What the last run has written. Raises ValueError where that cannot be read."""
    path = folder / STATE
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {"about": dict(found["about"]), "rows": dict(found["rows"])}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}): give another folder, or move this one away"
        ) from None


def readable(folder: Path) -> None:
    """Raise ValueError where the table that is there is not one that the grader wrote, before anything is graded."""
    hand.entered(folder / TABLE, remembered(folder))


def made(results: Sequence[Result], rule: LateRule | None, entered: Mapping[str, Mapping[str, str]]) -> list[Row]:
    """The rows of the table, in its order."""
    names = file_names([result.key for result in results], [result.submission.student for result in results])
    return [Row(result, rule, name, dict(entered.get(result.key, {}))) for result, name in zip(results, names, strict=True)]


def write(
    results: Sequence[Result],
    exam: Exam,
    folder: Path,
    about: Mapping[str, Any],
    *,
    rule: LateRule | None = None,
    roster: Roster | None = None,
    column: str = "",
) -> list[str]:
    """Write everything, and say what has changed and what a teacher should know.

    Args:
        results: what the grader found, in the order of the table.
        exam: the exam.
        folder: where to.
        about: which assignment, with which inputs; what is compared with the next time.
        rule: the rule for late work.
        roster: who is in the class.
        column: what the assignment is called in Canvas.

    Raises:
        ValueError: where the table that is there is not the grader's. Nothing has been written then.
    """
    before = remembered(folder)
    entered, lost = hand.entered(folder / TABLE, before)
    rows, title = made(results, rule, entered), exam.master.title
    (folder / "feedback").mkdir(parents=True, exist_ok=True, mode=0o700)
    said = _changed(lost + hand.changes(rows, before, about), folder)
    shown = [row.shown() for row in rows]
    _keep(folder)
    if shown:
        save_table(folder / TABLE, [list(shown[0]), *(list(line.values()) for line in shown)])
    save(folder / STATE, json.dumps(state(rows, dict(about)), indent=1) + "\n")
    _feedback(rows, title, folder / "feedback", before)
    for question in exam.master.questions:
        if isinstance(question, ByHand):
            text = rubric(exam.master, question.number)
            save(folder / f"question_{question.number}.html", open_page(rows, question, text, title))
    counted = digest.digest(rows, exam.master)
    save(folder / "digest.html", digest.html(counted, title))
    save(folder / "digest.md", digest.markdown(counted, title))
    save(folder / "digest_names.md", digest.markdown(counted, title, names=True))
    return [*said, *_platforms(rows, roster, column or title, folder), *_open(rows)]


def _feedback(rows: Sequence[Row], title: str, folder: Path, before: Mapping[str, Any]) -> None:
    """Write the pages of feedback; those of an earlier run that nobody has now go."""
    for row in rows:
        save(folder / f"{row.feedback}.html", feedback(row, title))
    now = {f"{row.feedback}.html" for row in rows}
    for was in before.get("rows", {}).values():
        name = str(was["shown"]["feedback"])
        if name not in now and Path(name).name == name:
            (folder / name).unlink(missing_ok=True)


def _platforms(rows: Sequence[Row], roster: Roster | None, column: str, folder: Path) -> list[str]:
    people = [row.result.submission for row in rows]
    said = list[str]()
    if any(
        (one.named and one.named.platform == "canvas") or (one.person and (one.person.id or one.person.login)) for one in people
    ):
        said.append(platforms.canvas(rows, column, folder / "canvas.csv"))
    if any((one.named and one.named.platform == "moodle") or (one.person and one.person.number) for one in people):
        said.append(platforms.moodle(rows, roster, folder / "moodle.csv"))
    return said


def _open(rows: Sequence[Row]) -> list[str]:
    """Which questions wait for a teacher."""
    asked = dict.fromkeys(question for row in rows for question in row.open)
    return [
        f"question {question} waits for the points of {sum(question in row.open for row in rows)} students"
        for question in asked
    ]


def _keep(folder: Path) -> None:
    """Keep the table that is there: nothing that somebody has written is lost."""
    there = folder / TABLE
    if there.is_file():
        earlier = folder / "earlier"
        earlier.mkdir(exist_ok=True, mode=0o700)
        shutil.copyfile(there, earlier / f"grades-{len(list(earlier.glob('grades-*'))) + 1}.csv")


def _changed(found: Sequence[hand.Change], folder: Path) -> list[str]:
    """Write what has changed below what had changed before, and say it."""
    path, columns = folder / CHANGES, ["run", "student", "question", "before", "after", "why"]
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    run = 1 + max(
        (int(line.partition(",")[0]) for line in old.splitlines()[1:] if line.partition(",")[0].isdecimal()), default=0
    )
    if found:
        lines = [[run, one.student, one.question, one.before, one.after, one.why] for one in found]
        save(path, (old or as_table([columns])) + as_table(lines))
    return [str(one) for one in found]
