"""A small assignment and its class, for what is around the judging: no cage, no torch in a process of its own.

Two functions and an open question, seven points. ``by_hand`` stands for the grader: it reads what is to become of a submission
from the notebook itself, ``{"points": [2, 3], ...}``.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grade_submissions
from classroom import build
from classroom.grade import Grade
from classroom.hand_ins import Submission
from classroom.judge import Exam, Mark
from classroom.master import Master

TEXT = '''\
# %% [markdown]
# # Assignment 0. Small
#
# 7 points.

# %% tags=["answer"]
import torch


def twice(x):
    """Twice a number, [n]."""
    # solution
    return 2 * x
    # end


# %% tags=["teacher"]
from classroom.question import ByHand, Case, Question, Wrong

# %% [markdown]
# ## Question 1. Twice (2 points)

# %% tags=["teacher"]
QUESTION_1 = Question(
    "1",
    twice,
    shown=[(torch.tensor([1.0, 3.0]).double(),)],
    cases={"small": Case(1, lambda draw: [(draw(3),)]), "large": Case(1, lambda draw: [(1000 + draw(3),)])},
    wrong={"once": Wrong("You returned the number itself.", lambda x: x)},
)

# %% [markdown]
# ## Question 2. Square (3 points)


# %% tags=["answer"]
def square(x):
    """The square of a number, [n]."""
    # solution
    return x * x
    # end


# %% tags=["teacher"]
QUESTION_2 = Question(
    "2",
    square,
    shown=[(torch.tensor([1.5, 3.0]).double(),)],
    cases={"any": Case(3, lambda draw: [(draw(3),)])},
    wrong={"cube": Wrong("That is the cube.", lambda x: x**3), "double": Wrong("That is twice the number.", lambda x: 2 * x)},
)

# %% [markdown] tags=["by-hand"]
# ## Question 3. Why? (2 points)

# %% [markdown] tags=["teacher"]
# **Rubric.** Any reason.

# %% tags=["teacher"]
QUESTION_3 = ByHand("3", 2)
'''
SMALL = Master("0-small", TEXT)


def pack(folder: Path, text: str = TEXT) -> Path:
    """The teacher's pack."""
    return build.write(Master("0-small", text), folder)[1]


def notebook(*points: int, **more: Any) -> str:
    """A notebook that says what becomes of it: points of both questions, and what else a grade has."""
    answer = more.pop("answer", "It is so.")
    cells = [{"cell_type": "markdown", "source": f"{build.YOURS.format('3').partition(' *')[0]} {answer}"}]
    return json.dumps({"cells": cells, "becomes": {"points": points, **more}})


def by_hand(exam: Exam, there: Sequence[Submission], every: object = None) -> Iterator[Grade]:
    """Grades, without running anything."""
    for submission in there:
        nb = json.loads(submission.path.read_text(encoding="utf-8"))
        given = nb["becomes"]
        marks = [
            Mark("1", given["points"][0], 2, given.get("message", "right."), ("small", "large")[: given["points"][0]]),
            Mark("2", given["points"][1], 3, "right.", ("any",) if given["points"][1] else (), given.get("mistake")),
            Mark("3", None, 2, "Your teacher reads this one."),
        ]
        notes = given.get("notes", [])
        written = [cell["source"] for cell in nb["cells"]]
        yield Grade(submission, given.get("status", "graded"), marks, notes, written)


@contextmanager
def without_a_cage(*_: object, **__: object) -> Iterator[list[Any]]:
    """Keepers that keep nothing."""
    with nullcontext():
        yield [SimpleNamespace(cage="no cage", refused=[], program=None, empty={"megabytes": 0}, close=lambda: None)]


def grades(monkeypatch: Any, *arguments: object, grading: Any = by_hand) -> int:
    """The command, with :func:`by_hand` for the grader."""
    monkeypatch.setattr(grade_submissions, "grade", grading)
    monkeypatch.setattr(grade_submissions, "keepers", without_a_cage)
    return grade_submissions.main([str(argument) for argument in arguments])
