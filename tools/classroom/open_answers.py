"""Open answers: found in what a student wrote, cleaned, and cut to what fits a page."""

import re
from collections.abc import Sequence

from classroom.build import YOURS
from classroom.master import Master
from classroom.names import clean
from classroom.question import ByHand

LONGEST, LINES = 8000, 120
"""Letters and lines of an answer that are kept."""
_HEADING = re.compile(r"## Question (\S+)\. ")


def by_hand(texts: Sequence[str], number: str, ours: Sequence[str] = ()) -> str:
    """What a student wrote to an open question: from its heading, or from the place for the answer, to the next text of ours.

    Args:
        texts: the text cells of the notebook.
        number: of the question.
        ours: the text cells of the assignment.

    >>> ours = ["## Question 5. Why?", "## Question 6. So?"]
    >>> by_hand([ours[0], "**Your answer to question 5.** Because.", "## Mine", ours[1], "No."], "5", ours)
    'Because.\\n\\n## Mine'
    """
    place = YOURS.format(number)
    begin = place.partition(" *")[0]
    asked = next((text for text in ours if text.startswith(f"## Question {number}.")), "")
    found, inside = list[str](), False
    for text in texts:
        heading = _HEADING.match(text)
        if heading or text in ours:
            inside = bool(heading) and heading[1] == number
        elif text.startswith(begin):
            inside = True
        if inside:
            rest = text.removeprefix(asked) if asked else text
            rest = rest.partition("\n")[2] if heading and rest == text else rest
            found.append(rest.replace(place, "").replace(begin, "", 1).strip())
    return "\n\n".join(filter(None, found))


def answers(texts: Sequence[str], master: Master) -> dict[str, str]:
    """What a student wrote to each open question of an assignment, clean and cut."""
    ours = [cell.source for cell in master.cells if cell.kind == "markdown" and "teacher" not in cell.tags]
    there = [question.number for question in master.questions if isinstance(question, ByHand)]
    return {number: cut(by_hand(texts, number, ours)) for number in there}


def rubric(master: Master, number: str) -> str:
    """The rubric of an open question: the teacher's text between it and the next question."""
    inside, found = False, list[str]()
    for cell in master.cells:
        if cell.kind == "markdown":
            heading = _HEADING.match(cell.source)
            inside = heading[1] == number if heading else inside
            if inside and "teacher" in cell.tags:
                found.append(cell.source)
    return "\n\n".join(found).replace("**Rubric.** ", "", 1)


def cut(text: str) -> str:
    """A text that fits a page, with a note where it was cut."""
    text = clean(text, 2 * LONGEST)
    lines = text.splitlines()
    short = "\n".join(lines[:LINES])[:LONGEST]
    return text if short == text or short == "\n".join(lines) else f"{short}\n[cut here: the rest is in the notebook]"
