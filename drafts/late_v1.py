"""Mean-field systems that are solved together, and those that are late by themselves."""

import warnings

import torch
from torch import Tensor

from attnlib._core.convergence import ConvergenceWarning
from attnlib._core.transforms import no_derivatives
from attnlib.mean_field.equations import Equations
from attnlib.solve import FixedPoint, Method, fixed_point

TOGETHER = 32
"""Steps after which it is asked who is late."""
FEW = 1 / 8
"""The share of late systems below which they go on by themselves."""


def arrived(equations: Equations, length: Tensor | None, tolerance: float | int | None, max_steps: int) -> FixedPoint:
    """States ``[*batch, k]`` as far as damped steps and, where these do not arrive, as many of Anderson's lead.

    There are no derivatives, and not a word where nothing is reached. ``length`` is the step, ``[...]``; none: that of the
    equations, at each state. A system that arrives early is not computed again while few others are on their way.
    """
    start = equations.start(None)
    nobody = torch.zeros_like(start[..., 0])
    found = FixedPoint(start, nobody, nobody.long(), nobody > 0)
    with no_derivatives(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        left = max_steps
        while left and not found.converged.all():
            few = (~found.converged).sum() <= FEW * found.converged.numel()
            steps = left if few else min(TOGETHER, left)
            found, left = _further(equations, length, tolerance, found, "damped", steps), left - steps
        return _further(equations, length, tolerance, found, "anderson", max_steps)


def _further(
    equations: Equations, length: Tensor | None, tolerance: float | int | None, found: FixedPoint, method: Method, steps: int
) -> FixedPoint:
    """More steps for those that have not arrived."""
    late = ~found.converged
    if not late.any():
        return found
    own, start = (equations, found.solution) if late.all() else (equations.of(late), found.solution[late])
    more = fixed_point(
        own.image,
        start,
        method=method,
        step=own.step if length is None else lambda m: length.expand(late.shape)[late].reshape(m.shape[:-1]),
        tolerance=tolerance,
        max_steps=steps,
        parts=own.parts,
        scale=own.scale(),
        on_failure="warn",
    )
    return FixedPoint(
        found.solution.masked_scatter(late[..., None], more.solution),
        found.residual.masked_scatter(late, more.residual),
        found.iterations + torch.zeros_like(found.iterations).masked_scatter(late, more.iterations),
        found.converged.masked_scatter(late, more.converged),
    )
