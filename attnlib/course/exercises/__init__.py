"""Exercises that answer: ``check("3b.1", your_function)`` says whether it is right, and if not, what probably went wrong.

A page calls :func:`check`, which prints one line. A grader calls :func:`verdict`, which returns the same as a
:class:`Verdict`: right or not, the line, and the name of the mistake. Both take the id of a page's exercise or an
:class:`Exercise` of your own.
"""

from attnlib.course.exercises._check import check, exercises, verdict
from attnlib.course.exercises._exercise import Exercise, Mistake, Verdict

__all__ = ["Exercise", "Mistake", "Verdict", "check", "exercises", "verdict"]
