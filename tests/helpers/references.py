"""The references of assignments, to be held against answers that come by another road."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import build_assignments
import torch
from classroom.judge import Exam
from classroom.master import Master
from torch import Tensor


class References(dict[str, tuple[Callable[..., Tensor], list[Any]]]):
    """By name: a reference of the assignments with these numbers, and its hidden inputs for a seed."""

    def __init__(self, *numbers: int, seed: int = 2718):
        super().__init__()
        for path in build_assignments.masters():
            if int(path.parent.name.split("-")[0]) in numbers:
                exam = Exam(Master.read(path), seed)
                for question in exam.master.automatic:
                    name, calls = question.answer.__name__, exam.calls(question)
                    tensors = [argument for call in calls for argument in call if isinstance(argument, Tensor)]
                    assert name not in self
                    assert all(tensor.dtype in (torch.float64, torch.int64) for tensor in tensors), name
                    self[name] = question.answer, calls

    def compare(self, name: str, independent: Callable[..., Tensor], atol: float = 1e-9) -> None:
        """Reference and independent answer on all hidden inputs."""
        reference, calls = self[name]
        for arguments in calls:
            torch.testing.assert_close(reference(*arguments), independent(*arguments), atol=atol, rtol=1e-9)

    def forgotten_in(self, tests: str) -> set[str]:
        """References that a file of tests does not name."""
        written = Path(tests).read_text(encoding="utf-8")
        return {name for name in self if f'"{name}"' not in written}


def fresh(*shape: int, seed: int = 5) -> Tensor:
    """Standard normal numbers in double precision."""
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def coupled(n: int, strength: float) -> tuple[Tensor, Tensor]:
    """Couplings and fields."""
    J = strength / n**0.5 * fresh(n, n, seed=6).triu(1)
    return J + J.T, 0.5 * fresh(n, seed=7)
