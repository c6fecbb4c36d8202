"""When two results are the same: the tolerance follows the dtype of the answer, and what that dtype costs the reference."""

import math

import torch
from torch import Tensor


def _precision(dtype: torch.dtype) -> torch.finfo:
    return torch.finfo(dtype if dtype.is_floating_point or dtype.is_complex else torch.float64)


def resolution(dtype: torch.dtype) -> float:
    """Distance between 1 and the next number of a dtype; integers and booleans are exact, and count as float64."""
    return _precision(dtype).eps


def tolerance(dtype: torch.dtype) -> float:
    """The relative deviation that a dtype excuses: two thirds of its digits must be right.

    That is 2.4e-5 in float32 and 1e-2 in float16. For float64 it is 1e-6, not 4e-11: there a constant made in torch's default
    dtype, as in ``torch.tensor(2.0).log()``, costs 1e-7 and is no mistake.
    """
    return max(1e-6, math.pow(resolution(dtype), 2 / 3))


def wide(numbers: Tensor) -> Tensor:
    """The numbers without graph, in double precision, on the CPU."""
    return numbers.detach().to("cpu", torch.complex128 if numbers.is_complex() else torch.float64)


def largest(numbers: Tensor) -> float:
    """The largest absolute value among the finite numbers, 0 if there is none."""
    size = numbers[numbers.isfinite()].abs()
    return size.max().item() if size.numel() else 0.0


def agrees(found: Tensor, dtype: torch.dtype, exact: Tensor, rough: Tensor) -> bool:
    """Whether an answer of a given dtype is a target, up to rounding.

    Each number may deviate by ``tolerance(dtype)`` of itself, plus a tenth of that of the largest number (small differences of
    large numbers), plus four times the largest deviation of the target itself when it is computed in that dtype, plus the
    smallest number of the dtype. NaN and infinities must stand exactly where the target has them.

    Args:
        found: the answer, made ``wide``.
        dtype: what it was before.
        exact: the target in double precision.
        rough: the target from inputs rounded to ``dtype``, made ``wide``.
    """
    size = exact.abs() + (largest(exact) or 1.0) / 10
    allowed = tolerance(dtype) * size + 4 * largest(rough - exact) + _precision(dtype).tiny
    close = found.isfinite() & exact.isfinite() & ((found - exact).abs() <= allowed)
    return bool((close | (found == exact) | (found.isnan() & exact.isnan())).all())
