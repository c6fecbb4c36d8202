"""What a master says about a question: the answer, inputs to show, inputs to grade with, and the wrong answers people give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor

from attnlib.course.exercises import Exercise, Mistake, Verdict, verdict

ACCEPTED = (torch.float64, torch.float32)
"""Numbers that an answer may be made of. What is coarser is refused, not excused."""

Arguments = tuple[object, ...]


class Draw:
    """Fresh inputs from a seed."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int) -> Tensor:
        """Standard normal numbers in float64, ``[*shape]``."""
        return torch.randn(shape, dtype=torch.float64, generator=self.generator)

    def number(self, low: float, high: float) -> float:
        """A number between two."""
        return low + (high - low) * torch.rand((), dtype=torch.float64, generator=self.generator).item()

    def spins(self, *shape: int) -> Tensor:
        """Numbers +1 and -1."""
        return torch.where(self(*shape) > 0, 1.0, -1.0).double()


@cache
def remembered(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that computes once for the same numbers: all submissions are compared on the same inputs."""
    known = dict[tuple[object, ...], Tensor]()

    def call(*arguments: object) -> Tensor:
        numbers = tuple(_key(argument) for argument in arguments)
        if numbers not in known:
            known[numbers] = function(*arguments)
        return known[numbers].clone()

    return call


def _key(argument: object) -> object:
    """An argument as something that can be looked up."""
    if not isinstance(argument, Tensor):
        return type(argument), argument
    numbers = argument.detach().contiguous()
    return numbers.dtype, numbers.shape, numbers.flatten().view(torch.uint8).numpy().tobytes()


@dataclass(frozen=True)
class Case:
    """Inputs that are worth points together: ``inputs(draw)`` returns a tuple of arguments for each call."""

    points: int
    inputs: Callable[[Draw], Sequence[Arguments]]


@dataclass(frozen=True)
class Wrong:
    """A wrong answer with the sentence it gets.

    Args:
        message: what its author probably did, and what to do.
        answer: the answer as they write it.
        right_in: the cases in which it is right all the same, and gets their points.
        shown: whether the public check can see it. Where not, the numbers shown do not tell it from the right answer.
    """

    message: str
    answer: Callable[..., Tensor]
    right_in: tuple[str, ...] = ()
    shown: bool = True


@dataclass(frozen=True)
class Question:
    """A question that is graded by running it.

    Args:
        number: as in the notebook.
        answer: the reference; its name is the name the student's function must have.
        shown: inputs of the public check, a tuple of arguments for each call.
        cases: the hidden checks, by name.
        wrong: wrong answers, by name.
        tolerance: how far each number may be off: such a share of itself and of a tenth of the largest, whatever the dtype.
    """

    number: str
    answer: Callable[..., Tensor]
    shown: Sequence[Arguments]
    cases: Mapping[str, Case]
    wrong: Mapping[str, Wrong] = field(default_factory=dict)
    tolerance: float = 1e-4

    @property
    def points(self) -> int:
        """Points of all cases."""
        return sum(case.points for case in self.cases.values())

    def drawn(self, seed: int) -> dict[str, list[Arguments]]:
        """Inputs of each case. Every question and every case has its own."""
        return {
            name: list(case.inputs(Draw(seed + 1009 * place + 7919 * sum(map(ord, self.number)))))
            for place, (name, case) in enumerate(self.cases.items())
        }

    def agrees(self, arguments: Arguments, found: Tensor | None) -> bool:
        """Whether a tensor is what the reference returns, within the tolerance: no less for an answer of another dtype."""
        if found is None:
            return False
        exact = remembered(self.answer)(*arguments)
        if found.dtype not in ACCEPTED and (found.dtype.is_floating_point or exact.is_floating_point()):
            return False
        if found.shape != exact.shape:
            return False
        f, e = found.detach().double(), exact.detach().double()
        size = e[e.isfinite()].abs().max().item() if e.isfinite().any() else 0.0
        close = (f - e).abs() <= self.tolerance * (e.abs() + (size or 1.0) / 10)
        return bool(((f.isfinite() & e.isfinite() & close) | (f == e) | (f.isnan() & e.isnan())).all())

    def verdict(self, inputs: Sequence[Arguments], found: Callable[..., object]) -> Verdict:
        """What to tell about an answer: which of the known mistakes it is. Whether it is right, :meth:`agrees` says."""
        mistakes = {name: Mistake(wrong.message, remembered(wrong.answer)) for name, wrong in self.wrong.items()}
        return verdict(Exercise(remembered(self.answer), lambda: inputs, mistakes, f"question {self.number}"), found)


@dataclass(frozen=True)
class ByHand:
    """A question that a teacher grades: its number and its points. The rubric stands beside it in the master."""

    number: str
    points: int
