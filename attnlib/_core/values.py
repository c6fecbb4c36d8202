"""Looks at values: is a tensor finite, can its products overflow, did a result; each raises a ValueError that names it.

They are skipped where no value can be seen: while compiling or exporting, under ``torch.func.vmap``, on the meta device, and
inside :func:`no_value_checks`.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from attnlib._core.transforms import beneath, in_forward_mode, transforming

FOLLOWED = 512
"""How many components a state may have whose Jacobian is taken as a whole."""
_look_at_values: ContextVar[bool] = ContextVar("look_at_values", default=True)


@contextmanager
def no_value_checks() -> Iterator[None]:
    """Inside this block nothing looks at values: no check for NaN, infinity, signs or rows of a mask that allow nothing.

    On a processor the looks cost a pass over each input; on a GPU each makes the host wait. Types, shapes, dtypes and devices
    are still checked. A row of a mask that allows nothing gives NaN where it would have been an error.

    >>> with no_value_checks():
    ...     check_finite(x=torch.tensor([math.nan]))
    (0.0,)
    """
    token = _look_at_values.set(False)
    try:
        yield
    finally:
        _look_at_values.reset(token)


def looking() -> bool:
    """Whether values may be looked at: not while compiling or exporting, nor inside :func:`no_value_checks`."""
    return not torch.compiler.is_compiling() and _look_at_values.get()


def verdict(condition: Callable[[], Tensor | bool]) -> bool | None:
    """Whether a condition on values holds; None where no value can be seen."""
    if not looking():
        return None
    try:
        return bool(condition())
    except RuntimeError:  # under torch.func.vmap or on the meta device
        return None


def refuted(condition: Callable[[], Tensor | bool]) -> bool:
    """Whether a condition on values can be seen to be false."""
    return verdict(condition) is False


def check_finite(**tensors: Tensor) -> tuple[float, ...]:
    """Raise on NaN or infinity. Returns the largest magnitude in each tensor, 0 where no value can be seen."""
    if not looking():
        return (0.0,) * len(tensors)
    return tuple(_magnitude(name, tensor.detach()) for name, tensor in tensors.items())


def _magnitude(name: str, tensor: Tensor) -> float:
    if not tensor.numel():
        return 0.0
    try:
        low, high = torch.aminmax(tensor)
        largest = max(-float(low), float(high))  # a NaN is both
    except RuntimeError:  # under torch.func.vmap or on the meta device no value can be seen
        return 0.0
    if not largest < math.inf:
        raise ValueError(f"{name} has non-finite entries; expected finite numbers")
    return largest


def check_signs(name: str, spins: Tensor) -> None:
    """Raise unless every entry is -1 or 1."""
    if refuted(lambda: (spins.abs() == 1).all()):
        raise ValueError(f"{name} has entries other than -1 and 1; expected spins")


def check_logarithms(**tensors: Tensor) -> None:
    """Raise on NaN and plus infinity: a logarithm may be minus infinity."""
    for name, tensor in tensors.items():
        _check_logarithm(name, tensor)


def _check_logarithm(name: str, tensor: Tensor) -> None:
    if refuted(lambda: ~(tensor.isnan() | (tensor == torch.inf)).any()):
        raise ValueError(f"{name} has entries that are NaN or infinity; expected numbers, or minus infinity")


def check_products(first: str, a: Tensor, second: str, b: Tensor) -> None:
    """Raise on NaN or infinity, and where a dot product of rows of a and b could overflow the dtype it is computed in."""
    (large,) = check_finite(**{first: a})
    other = large if b is a else check_finite(**{second: b})[0]
    limit = _wide_limit(a)
    if large * other * a.shape[-1] > limit:
        raise ValueError(
            f"{first} has entries up to {large:.2g} and {second} up to {other:.2g}; "
            f"expected products that stay below {limit:.2g}, or a wider dtype"
        )


def check_result(result: Tensor, names: str) -> Tensor:
    """Return the result of finite arguments; raise if it overflowed its dtype."""
    try:
        check_finite(result=result)
    except ValueError:
        overflow = f"{names} too large: the result overflows {result.dtype}"
        raise ValueError(f"{overflow}; expected smaller numbers, or a wider dtype") from None
    return result


def check_visible(**tensors: Tensor) -> None:
    """Raise on a tensor without values, for what looks at values to go on."""
    for name, tensor in tensors.items():
        if tensor.is_meta:
            raise ValueError(f"{name} is on meta; expected a device that holds values, which decide what is done")


def _wide_limit(tensor: Tensor) -> float:
    """A quarter of the largest number in the dtype that this one is computed in: half precision is widened."""
    return torch.finfo(torch.promote_types(tensor.dtype, torch.float32)).max / 4


def through_steps(size: int | None = None) -> bool:
    """Whether derivatives go through all steps: under ``torch.func``, in forward mode, and where nothing is looked at.

    What solves for states of a ``size`` that is not too large follows the solution in the first two cases, by its Jacobian.
    """
    if (transforming() or in_forward_mode()) and not (looking() and size is not None and size <= FOLLOWED):
        return True
    return torch.is_grad_enabled() and not looking()


def settled(done: Tensor) -> bool:
    """Whether all samples can be seen to be done, also beneath the transforms of ``torch.func``: then a loop may end."""
    return verdict(lambda: beneath(done).all()) is True
