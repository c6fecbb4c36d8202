"""How far the closures of driven spins are off, and whether they came to rest.

Nothing to run here: ``driven_attention.py`` asks for it.
"""

import math
import warnings

from torch import Tensor

from attnlib.kinetic import stationary_closure

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
