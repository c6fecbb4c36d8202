"""Checks of arguments, shared by every module: each raises a ValueError naming the argument, what came, what was expected."""

import math
import warnings
from typing import Literal

import torch
from jaxtyping import Bool
from torch import Tensor

Scalar = float | int | Tensor
"""A real number: integers are accepted where floats are meant, and a tensor where the caller wants a gradient."""

Empty = Literal["error", "zero"]
"""What to do with a row of a mask that allows nothing: raise, or return zeros."""

OnFailure = Literal["error", "warn"]
"""What a solver does when it does not converge: raise a ConvergenceError, or warn and return what it has."""


class ConvergenceError(RuntimeError):
    """A solver stopped short of its tolerance. It carries the ``iterations`` done and the largest ``residual`` left."""

    def __init__(self, message: str, *, iterations: int, residual: float) -> None:
        super().__init__(message)
        self.iterations, self.residual = iterations, residual


class ConvergenceWarning(UserWarning):
    """A solver that was asked to go on with ``on_failure="warn"`` stopped short of its tolerance."""


def report_failure(message: str, *, iterations: int, residual: float, on_failure: OnFailure) -> None:
    """Raise a ConvergenceError or warn, as the caller chose: a solver never returns quietly."""
    if on_failure == "error":
        raise ConvergenceError(message, iterations=iterations, residual=residual)
    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def check_finite(**tensors: Tensor) -> None:
    """Raise on NaN or infinity. One sum per tensor: it is finite unless an entry is not, or the sum itself overflows."""
    if torch.compiler.is_compiling():
        return
    for name, tensor in tensors.items():
        try:
            fine = math.isfinite(tensor.detach().sum()) or bool(torch.isfinite(tensor.detach()).all())
        except RuntimeError:  # torch.func.vmap: no value can be looked at
            return
        if not fine:
            raise ValueError(f"{name} has non-finite entries; expected finite numbers")


def check_floating(**tensors: Tensor) -> None:
    """Raise unless all are floating point tensors of one dtype on one device."""
    (first, reference), *_ = tensors.items()
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise ValueError(f"{name} has dtype {tensor.dtype}; expected a floating point dtype")
        if tensor.dtype != reference.dtype or tensor.device != reference.device:
            raise ValueError(
                f"{name} is {tensor.dtype} on {tensor.device}, {first} is {reference.dtype} on {reference.device}; "
                "expected the same dtype and device"
            )


def check_beta(beta: Scalar, *, limits: bool = False, like: Tensor | None = None, shape: tuple[int, ...] = ()) -> None:
    """Raise unless beta > 0 and finite; ``limits=True`` also lets the numbers 0 and infinity pass.

    A tensor must broadcast to the shape, and must not widen the dtype of the tensor that it multiplies (``like``).
    """
    if isinstance(beta, Tensor):
        if like is not None and torch.result_type(like, beta) != like.dtype:
            raise ValueError(f"beta has dtype {beta.dtype}; expected {like.dtype}, or a number")
        if not _broadcasts(beta.shape, shape):
            raise ValueError(f"beta has shape {tuple(beta.shape)}; expected one that broadcasts to {tuple(shape)}")
        values = beta.detach()
        try:
            fine = bool(torch.isfinite(values).all()) and bool((values >= 0 if limits else values > 0).all())
        except RuntimeError:  # torch.func.vmap: no value can be looked at
            return
    else:
        fine = beta >= 0 if limits else 0 < beta < math.inf  # a NaN fails both
    if not fine:
        raise ValueError(f"beta is {beta}; expected {'0 <= beta' if limits else 'a finite beta > 0'}")


def check_count(name: str, number: int, least: int = 1) -> None:
    """Raise unless the number is an integer not below the least."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ValueError(f"{name} is {number!r}; expected an integer of at least {least}")


def check_choice(name: str, choice: object, allowed: tuple[object, ...]) -> None:
    """Raise unless the choice is one of those allowed."""
    if choice not in allowed:
        raise ValueError(f"{name} is {choice!r}; expected one of {', '.join(map(repr, allowed))}")


def check_states(first: str, a: Tensor, second: str, b: Tensor, *, one_width: bool = True) -> None:
    """Raise unless a is [*batch, n, d] and b is [*batch, m, d] with m >= 1 and d >= 1, both finite and of one dtype.

    With ``one_width=False`` b may have a width of its own, [*batch, m, c].
    """
    if a.ndim < 2 or b.ndim < 2 or (one_width and a.shape[-1] != b.shape[-1]) or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(
            f"{first} has shape {tuple(a.shape)} and {second} {tuple(b.shape)}; "
            f"expected [*batch, n, d] and [*batch, m, {'d' if one_width else 'c'}]"
        )
    if 0 in b.shape[-2:]:
        raise ValueError(f"{second} has shape {tuple(b.shape)}; expected at least one row and one column")
    check_floating(**{first: a, second: b})
    check_finite(**{first: a, second: b})


def usable_rows(mask: Tensor, shape: tuple[int, ...], empty: Empty) -> Bool[Tensor, "*rows 1"] | None:
    """Say which rows of a mask allow something: None if all do, else (with empty="zero") a boolean column.

    Raises ValueError if the mask is not boolean, does not broadcast to the shape, or has an empty row and empty="error".
    """
    check_choice("empty", empty, ("error", "zero"))
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}; expected torch.bool (True: may be attended to)")
    if not _broadcasts(mask.shape, shape):
        raise ValueError(f"mask has shape {tuple(mask.shape)}; expected one that broadcasts to {tuple(shape)}")
    rows = torch.atleast_1d(mask).any(-1, keepdim=True)
    if bool(rows.all()):
        return None
    if empty == "error":
        raise ValueError('mask has a row that allows nothing; expected one True per row, or empty="zero"')
    return rows


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return torch.broadcast_shapes(shape, target) == tuple(target)
    except RuntimeError:
        return False
