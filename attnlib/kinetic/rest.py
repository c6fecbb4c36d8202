"""Steps of means and covariances: what the gains of spins make of both, and where they come to rest."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlib._core.convergence import OnFailure, check_solver
from attnlib.solve import FixedPoint, fixed_point

Moments = tuple[Tensor, Tensor, Tensor]
"""Means a step later, covariances a step later, and covariances of the later spins (rows) with the earlier."""


def fluctuation(J: Tensor, JC: Tensor) -> Tensor:
    """The variance of what each spin feels of the others, ``diag(J C J^T)``, from J C, which is made once a step."""
    return (JC * J).sum(-1).clamp(min=0.0)


def carried(gain: Tensor, J: Tensor, JC: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """Covariances a step later and delayed ones, from gains and from the variance of each spin by itself, ``[*batch, n]``."""
    delayed = gain.unsqueeze(-1) * JC
    later = delayed @ J.mT * gain.unsqueeze(-2)
    same = torch.eye(J.shape[-1], dtype=torch.bool, device=J.device)
    return torch.where(same, torch.diag_embed(own), later), delayed


def at_rest(
    step: Callable[[Tensor, Tensor], Moments],
    J: Tensor,
    free: Tensor,
    start: tuple[Tensor, Tensor],
    tolerance: float | int | None,
    max_steps: int,
    on_failure: OnFailure,
) -> tuple[Tensor, Tensor, Tensor, FixedPoint]:
    """Means, covariances of one time and a step apart, entropy production, and the evidence. J has beta in it.

    Means are solved relative to the size of ``free``, those of uncoupled spins, so that a small drive is not taken for none.
    """
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=torch.finfo(J.dtype).eps ** (2 / 3))
    n, axes = J.shape[-1], J.ndim - 2
    shape = free.shape[axes:]

    def apart(state: Tensor) -> tuple[Tensor, Tensor]:
        means, covariances = state.split((shape.numel(), n * n), -1)
        return means.unflatten(-1, shape), covariances.unflatten(-1, (n, n))

    def together(m: Tensor, C: Tensor) -> Tensor:
        return torch.cat([m.flatten(axes), C.flatten(axes)], -1)

    size = free.abs().flatten(axes).amax(-1)
    found = fixed_point(
        lambda state: together(*step(*apart(state))[:2]),
        together(*start).detach(),
        tolerance=tolerance,
        max_steps=max_steps,
        parts=(shape.numel(), n * n),
        scale=torch.stack([torch.where(size > 0, size, 1.0), torch.ones_like(size)], -1),
        on_failure=on_failure,
    )
    m, C = apart(found.solution)
    delayed = step(m, C)[2]
    return m, torch.stack([C, delayed], -3), ((J - J.mT) * delayed).sum((-2, -1)), found
