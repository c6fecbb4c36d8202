"""Checks of arguments, shared by every room: each raises a ValueError naming the argument, what came, what was expected.

Types, shapes, dtypes and devices are checked always; what looks at values, only where they can be seen (``values.py``).
"""

import math
import operator
from numbers import Real
from types import UnionType
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from attnlib._core.values import check_finite, check_products, refuted

Scalar = float | int | Tensor
"""A real number: integers are accepted where floats are meant, and a tensor where the caller wants a gradient."""

FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""The dtypes that can be computed with."""

WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
"""The dtypes of whole numbers."""

Empty = Literal["error", "zero"]
"""What to do with a row of a mask that allows nothing: raise, or return zeros."""

# Types, dtypes, devices


def check_tensors(**tensors: Tensor) -> None:
    """Raise unless all are dense tensors."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"{name} is {_kind(tensor)}; expected a torch.Tensor, as torch.as_tensor makes of arrays and lists"
            )
        if tensor.layout != torch.strided or tensor.is_nested:
            raise ValueError(f"{name} is {'nested' if tensor.is_nested else tensor.layout}; expected a dense tensor")


def check_floating(**tensors: Tensor) -> None:
    """Raise unless all are floating point tensors of one dtype on one device."""
    check_tensors(**tensors)
    (first, reference), *_ = tensors.items()
    for name, tensor in tensors.items():
        if tensor.dtype not in FLOATING:
            raise ValueError(f"{name} has dtype {tensor.dtype}; expected a floating point dtype of 16 bits or more")
        if tensor.dtype != reference.dtype or tensor.device != reference.device:
            raise ValueError(
                f"{name} is {tensor.dtype} on {tensor.device}, {first} is {reference.dtype} on {reference.device}; "
                "expected the same dtype and device"
            )


def check_number(name: str, number: float | int, *, least: float | int = -math.inf, above: float | int = -math.inf) -> float:
    """Return the number as a float; raise unless it is real, finite, at least ``least`` and above ``above``."""
    if isinstance(number, bool) or not isinstance(number, Real):
        raise ValueError(f"{name} is {_kind(number)}; expected a number")
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not (math.isfinite(value) and value >= least and value > above):
        wanted = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""
        raise ValueError(f"{name} is {number}; expected a finite number{wanted}")
    return value


def check_count(name: str, number: int, least: int = 1, most: int | None = None) -> int:
    """Return the number as an int; raise unless it is an integer in the range."""
    try:
        count = None if isinstance(number, (bool, np.bool_)) else operator.index(number)
    except TypeError:
        count = None
    if count is None or not least <= count <= (count if most is None else most):
        raise ValueError(
            f"{name} is {_few(number)}; expected an integer of at least {least}" + (f", at most {most}" if most else "")
        )
    return count


def check_kind(name: str, thing: object, kind: type | UnionType, expected: str) -> None:
    """Raise unless it is an instance of the class."""
    if not isinstance(thing, kind):
        raise ValueError(f"{name} is a {type(thing).__name__}; expected {expected}")


def check_choice(name: str, choice: object, allowed: tuple[object, ...]) -> None:
    """Raise unless the choice is one of those allowed."""
    if not any(choice is one or (type(choice) is type(one) and choice == one) for one in allowed):
        raise ValueError(f"{name} is {_few(choice)}; expected one of {', '.join(map(repr, allowed))}")


def check_flag(**flags: bool) -> None:
    """Raise unless all are True or False."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise ValueError(f"{name} is {_kind(flag)}; expected True or False")


def check_generator(generator: torch.Generator | None, beside: Tensor | None = None) -> None:
    """Raise unless it is a torch.Generator or None, on the device of the tensor beside it."""
    if not isinstance(generator, torch.Generator | None):
        raise ValueError(f"generator is {_kind(generator)}; expected a torch.Generator, or None")
    if generator is not None and beside is not None and generator.device.type != beside.device.type:
        raise ValueError(f"generator is on {generator.device}; expected {beside.device}")


def check_device(device: torch.device | str | None) -> None:
    """Raise unless it is None or a device that torch can put a tensor on here."""
    try:
        if not isinstance(device, torch.device | str | None):
            raise TypeError
        torch.empty(0, device=device)
    except Exception:  # each kind of device has an error of its own
        raise ValueError(f"device is {_kind(device)}; expected a torch.device that is there, its name, or None") from None


def check_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """Return the dtype, by default torch's; raise unless it is a floating one."""
    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype in FLOATING):
        raise ValueError(f"dtype is {dtype!r:.40}; expected a floating point torch.dtype of 16 bits or more")
    return dtype or torch.get_default_dtype()


def check_beta(
    beta: Scalar, *, like: Tensor | None = None, shape: tuple[int, ...] = (), limits: tuple[float | int, ...] = ()
) -> Scalar:
    """Return beta, a number as a float; raise unless it is finite and above 0, or one of the limits 0 and infinity.

    One rule for tensors: beta is one inverse temperature for each distribution, so it broadcasts to the shape of what is
    normalised less its last axis. It must not widen the dtype of the tensor that it multiplies (``like``). With the limit 0 a
    tensor may have zeros; it is never infinite.
    """
    expected = "0 <= beta" if 0 in limits else "a finite beta > 0" + (", or inf" if limits else "")
    if not isinstance(beta, Tensor):
        if isinstance(beta, bool) or not isinstance(beta, Real):
            raise ValueError(f"beta is {_kind(beta)}; expected a number or a torch.Tensor")
        try:
            number = float(beta)
        except OverflowError:
            number = math.nan
        if not (0 < number < math.inf or number in limits):
            raise ValueError(f"beta is {beta!s:.40}; expected {expected}")
        return number
    check_tensors(beta=beta)
    real = beta.dtype in (*FLOATING, *WHOLE)
    if not real or (like is not None and beta.ndim and torch.promote_types(like.dtype, beta.dtype) != like.dtype):
        wanted = "a floating point dtype" if like is None else like.dtype
        raise ValueError(f"beta has dtype {beta.dtype}; expected {wanted}, or a number")
    plain = beta.ndim == 0 and beta.device.type == "cpu"  # torch takes it for a number
    check_broadcast("beta", beta, shape, beta.device if like is None or plain else like.device)
    values = beta.detach()
    if refuted(lambda: torch.isfinite(values).all()) or refuted(lambda: (values >= 0 if 0 in limits else values > 0).all()):
        raise ValueError(f"beta is {beta}; expected {expected}")
    return beta


# Shapes


def check_rows(name: str, rows: Tensor) -> float:
    """Raise unless rows is a finite floating tensor [*batch, m, d] with m, d >= 1. Returns the largest magnitude."""
    check_floating(**{name: rows})
    if rows.ndim < 2 or 0 in rows.shape[-2:]:
        raise ValueError(f"{name} has shape {tuple(rows.shape)}; expected [*batch, m, d] with m >= 1 and d >= 1")
    return check_finite(**{name: rows})[0]


def check_vectors(name: str, rows: Tensor) -> None:
    """Raise unless rows is a finite floating tensor [*batch, m] with m >= 1."""
    check_floating(**{name: rows})
    if rows.ndim == 0 or rows.shape[-1] == 0:
        raise ValueError(f"{name} has shape {tuple(rows.shape)}; expected [*batch, m] with m >= 1")
    check_finite(**{name: rows})


def check_states(first: str, a: Tensor, second: str, b: Tensor, *, one_width: bool = True) -> None:
    """Raise unless a is [*batch, n, d] and b is [*batch, m, d] with m, d >= 1, both finite and of one dtype on one device.

    Their dot products must not overflow. With ``one_width=False`` b may have a width of its own, [*batch, m, c].
    """
    check_tensors(**{first: a, second: b})
    if a.ndim < 2 or b.ndim < 2 or (one_width and a.shape[-1] != b.shape[-1]) or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(
            f"{first} has shape {tuple(a.shape)} and {second} {tuple(b.shape)}; "
            f"expected [*batch, n, d] and [*batch, m, {'d' if one_width else 'c'}]"
        )
    if 0 in b.shape[-2:]:
        raise ValueError(f"{second} has shape {tuple(b.shape)}; expected at least one row and one column")
    if a.shape[-1] == 0:
        raise ValueError(f"{first} has shape {tuple(a.shape)}; expected at least one column")
    check_floating(**{first: a, second: b})
    check_products(first, a, second, b)


def check_field(name: str, field: Tensor, shape: tuple[int, ...], like: Tensor) -> None:
    """Raise unless the field broadcasts to the shape, is finite, and has the dtype and device of ``like``."""
    check_tensors(**{name: field})
    if field.dtype != like.dtype or field.device != like.device:
        raise ValueError(f"{name} is {field.dtype} on {field.device}; expected {like.dtype} on {like.device}")
    check_broadcast(name, field, shape, like.device)
    check_finite(**{name: field})


def check_broadcast(name: str, tensor: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Raise unless it is a tensor on the device that broadcasts to the shape."""
    check_tensors(**{name: tensor})
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}; expected {device}")
    if not broadcasts(tensor.shape, shape):
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected one that broadcasts to {tuple(shape)}")


def broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a tensor of the shape can be expanded to the target."""
    before = len(target) - len(shape)
    return before >= 0 and all(size in (1, wanted) for size, wanted in zip(shape, target[before:], strict=True))


def _kind(thing: object) -> str:
    """What it is, in some words; of an array its shape, not what is in it."""
    shape = getattr(thing, "shape", None)
    said = f"of shape {list(shape)}" if isinstance(shape, tuple) and shape else f"{thing!r:.40}"
    return f"{said} ({type(thing).__name__})"


def _few(thing: object) -> str:
    """A number or a word as it is written; of an array its shape, of all else the beginning."""
    return _kind(thing) if getattr(thing, "shape", ()) else f"{thing!r:.80}"
