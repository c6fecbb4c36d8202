"""Derivatives of messages that have settled: those of the fixed point, not of the way there.

A sample that has settled stops, perhaps at once, where it began: what is returned then says nothing of how it would move. With
no field on any spin the first messages are already the last, and their derivatives by the fields must be found all the same.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlib._convergence import OnFailure
from attnlib._values import in_forward_mode, looking, transforming, verdict
from attnlib.mean_field.implicit import Map, attach
from attnlib.mean_field.iterate import Iterate
from attnlib.mean_field.solve import linear_solver


def through_steps() -> bool:
    """Whether derivatives go through all steps: under ``torch.func``, in forward mode, and where nothing is looked at."""
    return transforming() or in_forward_mode() or (torch.is_grad_enabled() and not looking())


def settled(done: Tensor) -> bool:
    """Whether all samples can be seen to be done."""
    return verdict(lambda: done.all()) is True


def kept(value: Tensor, moving: Tensor, done: Tensor) -> Tensor:
    """What a sample settled at, with the derivatives of one that went on; of a sample that did not settle, where it is now."""
    held = torch.where(value > -torch.inf, value.detach() + (moving - moving.detach()), value)
    return torch.where(done, held, moving)


def with_derivatives(function: Map, solution: Tensor, max_steps: int, on_failure: OnFailure) -> Tensor:
    """The solution ``[*batch, k]`` of ``z = f(z)`` with the derivatives by what f closes over, the second ones too."""
    slack = 256 * torch.finfo(solution.dtype).eps
    return attach(function, solution, _linear(slack, max_steps, on_failure), 100 * slack)


def _linear(tolerance: float, max_steps: int, on_failure: OnFailure) -> Callable[[Map, Tensor], Tensor]:
    """What solves the linear equation of a gradient: by the messages' own sweeps first, which settle as the messages did."""

    def solve(linear: Map, start: Tensor) -> Tensor:
        unit = start.abs().amax(-1, keepdim=True)
        unit = torch.where(unit > 0, unit, 1.0)
        found = Iterate("damped", 1.0, tolerance, max_steps, 1, 1.0)(lambda u: linear(u * unit) / unit, start / unit)
        solution = found.solution * unit
        return solution if found.converged.all() else linear_solver(tolerance, max_steps, on_failure)(linear, solution)

    return solve
