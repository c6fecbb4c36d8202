"""What an exercise is: a reference, inputs to try it on, and the wrong answers that people give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, ParamSpec, final

from torch import Tensor

P = ParamSpec("P")
"""The arguments of an answer, ``Exercise[[Tensor, float]]``. The docstrings below name their arguments themselves, because the
reference pages of the book cannot link to a ParamSpec."""


@dataclass(frozen=True)
class Mistake(Generic[P]):
    """Mistake(message, answer)

    A wrong answer worth recognising.

    Args:
        message: what to tell its author.
        answer: a function that makes the mistake; it takes the same arguments as the reference.

    >>> halved = Mistake("You took half of it.", lambda x: x / 2)
    >>> halved.message
    'You took half of it.'
    """

    message: str
    answer: Callable[P, Tensor]


@dataclass(frozen=True)
class Exercise(Generic[P]):
    """Exercise(reference, inputs, mistakes, title="", alternatives=(), compare_as=None)

    A task that can be checked.

    :func:`attnlib.course.exercises.check` tries an answer on the inputs. It raises a ValueError for an exercise that could not
    tell right from wrong: without inputs, or with a mistake that returns the reference's numbers, or another mistake's, on all
    of them.

    Args:
        reference: the right answer, a function that returns a tensor.
        inputs: returns the inputs, a tuple of arguments for each call. Tensors are best float64 and drawn from a seed.
        mistakes: the wrong answers, by name. Each must differ from the reference on at least one input.
        title: stands in the line that ``check`` prints, and in errors.
        alternatives: functions with other numbers that are equally right. An answer agrees with one of them on all inputs.
        compare_as: what of an answer counts, where that is less than its numbers: it takes the returned tensor, and its results
            are compared. For an eigenvector, whose sign is free: ``compare_as=torch.abs``.

    >>> import torch
    >>> from attnlib.course.exercises import check
    >>> half = Exercise(
    ...     reference=lambda x: x / 2,
    ...     inputs=lambda: [(torch.tensor([1.0, 3.0], dtype=torch.float64),)],
    ...     mistakes={"doubled": Mistake("You took twice the number.", lambda x: 2 * x)},
    ...     title="half of it",
    ... )
    >>> check(half, lambda x: x + x)
    exercise half of it: not yet. You took twice the number.
    """

    reference: Callable[P, Tensor]
    inputs: Callable[[], Sequence[tuple[object, ...]]]
    mistakes: Mapping[str, Mistake[P]]
    title: str = ""
    alternatives: tuple[Callable[P, Tensor], ...] = ()
    compare_as: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class Verdict:
    """What the checker found.

    Args:
        right: whether the answer is right.
        message: one line for its author, ``"right."`` or ``"not yet. ..."`` with what probably went wrong.
        mistake: the name of the mistake in ``Exercise.mistakes``, None where the answer is right or the mistake has no name.

    >>> Verdict(False, "not yet. You took half of it.", "halved").right
    False
    """

    right: bool
    message: str
    mistake: str | None = None


@final
class Misuse(Exception):
    """Raised by an input that sees how it is used, where the numbers would not show it; holds the name of the mistake."""

    def __init__(self, mistake: str):
        super().__init__(mistake)
        self.mistake = mistake
