"""The checker: an exercise is a reference, inputs to try it on, and the wrong answers that people give."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

PAGES = {
    "1": "attnlib.exercises.softmax_limits",
    "2a": "attnlib.exercises.scaled_dot_product",
    "2b": "attnlib.exercises.translation",
    "2c": "attnlib.exercises.hops_and_heads",
    "3a": "attnlib.exercises.associative_memory",
    "3b": "attnlib.exercises.gradient_step",
    "3c": "attnlib.exercises.flatland",
}
"""Page number to the module with its exercises; a page registers itself here."""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer worth recognising: what to tell its author, and the function it leads to."""

    message: str
    answer: Callable[..., Tensor]


@dataclass(frozen=True)
class Exercise:
    """A task: its reference solution, inputs on which every mistake differs from it, and those mistakes by name."""

    reference: Callable[..., Tensor]
    inputs: Callable[[], Sequence[tuple[Any, ...]]]
    mistakes: dict[str, Mistake]


def exercises(page: str) -> dict[str, Exercise]:
    """Return the exercises of a page such as ``"3b"``, by number. Raises ValueError for a page that has none."""
    if page not in PAGES:
        raise ValueError(f"page is {page!r}; expected one of {', '.join(map(repr, PAGES))}")
    return importlib.import_module(PAGES[page]).EXERCISES


def check(id: str, answer: Callable[..., Tensor]) -> None:
    """Compare an answer with the reference and print one line: right, or what probably went wrong.

    Args:
        id: page and number, such as ``"3b.1"``.
        answer: the function asked for; it is called with float64 tensors and must return one.

    Raises:
        ValueError: an unknown id. A wrong answer raises nothing, so that a page runs through before it is solved.
    """
    page, _, number = id.partition(".")
    known = exercises(page)
    if number not in known:
        raise ValueError(f"id is {id!r}; expected one of {', '.join(f'{page}.{n}' for n in known)}")
    print(f"exercise {id}: {verdict(known[number], answer)}")


def verdict(exercise: Exercise, answer: Callable[..., Tensor]) -> str:
    """Say in one line what is right or wrong with an answer."""
    inputs = exercise.inputs()
    expected = [exercise.reference(*arguments) for arguments in inputs]
    found = []
    for arguments, target in zip(inputs, expected, strict=True):
        copies = [a.clone() if isinstance(a, Tensor) else a for a in arguments]
        try:
            result = answer(*copies)
        except Exception as error:  # whatever the reader's code raises is part of the answer
            return f"not yet. It raised {type(error).__name__}: {error}"
        if result is None or result is Ellipsis:
            return "not yet. It returns nothing: replace the dots."
        if not isinstance(result, Tensor):
            return f"not yet. It returns a {type(result).__name__}; a tensor was expected."
        if result.shape != target.shape:
            return f"not yet. It returns shape {tuple(result.shape)}; {tuple(target.shape)} was expected."
        found.append(result.detach().to(target.dtype))
    if _same(found, expected):
        return "right."
    for mistake in exercise.mistakes.values():
        if _same(found, [mistake.answer(*arguments) for arguments in inputs]):
            return f"not yet. {mistake.message}"
    if not all(bool(torch.isfinite(f).all()) for f in found):
        return "not yet. The shape is right, but some of the numbers are NaN or infinite."
    worst = max((f - e).abs().max().item() for f, e in zip(found, expected, strict=True))
    return f"not yet. The shape is right, the numbers are not: the largest deviation is {worst:.3g}."


def _same(found: list[Tensor], expected: list[Tensor]) -> bool:
    """Agree to 1e-6 everywhere, also in what is NaN: loose enough for another order of summation, tighter than any mistake."""
    pairs = zip(found, expected, strict=True)
    return all(f.shape == e.shape and torch.allclose(f, e.to(f.dtype), rtol=1e-6, atol=1e-8, equal_nan=True) for f, e in pairs)
