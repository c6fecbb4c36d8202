"""Exercises that answer: ``check("3b.1", your_function)`` says whether it is right, and if not, what probably went wrong."""

from attnlib.exercises._check import Exercise, Mistake, check, exercises

__all__ = ["Exercise", "Mistake", "check", "exercises"]
