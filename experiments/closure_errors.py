"""How far the closures of driven spins are off, and whether they came to rest; short forms of their arrow.

Nothing to run here: ``driven_attention.py`` asks for it.
"""

import math
import warnings

import torch
from torch import Tensor

from attnlib.kinetic import KineticRecord, stationary_closure

CLOSURES = ("naive", "tap", "gaussian", "correlated")


def off(found: Tensor, truth: Tensor) -> float:
    """The root mean square of the difference over that of the truth."""
    return ((found - truth).square().mean() / truth.square().mean()).sqrt().item()


def off_sampled(found: Tensor, one: Tensor, other: Tensor) -> float:
    """The same for a truth that two independent halves have measured; negative where noise is larger than the difference."""
    square = (((found - one) * (found - other)).mean() / (one * other).mean()).item()
    return math.copysign(abs(square) ** 0.5, square)


def closed(J: Tensor, x: Tensor, name: str, beta: float = 1.0) -> tuple[Tensor, Tensor]:
    """The means of a closure where it came to rest, or after a thousand steps, and whether it did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stationary_closure(J, x, beta=beta, closure=name, on_failure="warn")
    return found.m, found.converged


def source_form(J: Tensor, m: Tensor) -> Tensor:
    """The arrow from couplings and variances alone, without correlations of equal times, at beta 1."""
    own = 1 - m.square()
    return ((J - J.mT) * J * own.unsqueeze(-1) * own.unsqueeze(-2)).sum((-2, -1))


def with_gains(J: Tensor, exact: KineticRecord, C: Tensor) -> Tensor:
    """The arrow from delayed covariances ``a_i (J C)_ij`` with gains that fit the exact ones best for each token, at beta 1."""
    plain = J @ exact.C[..., 0, :, :]
    size = plain.square().sum(-1)
    a = torch.where(size > 0, (exact.C[..., 1, :, :] * plain).sum(-1) / size, 0.0)  # 0 where nothing is read
    return ((J - J.mT) * a.unsqueeze(-1) * (J @ C)).sum((-2, -1))
