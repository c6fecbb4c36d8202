"""What is checked of couplings, drive and states of driven spins."""

from torch import Tensor

from attnlib._core.checks import Scalar, check_floating
from attnlib._core.systems import System, check_system
from attnlib._core.values import check_finite


def checked(J: Tensor, x: Tensor | None, beta: Scalar, most: int | None = None) -> System:
    """Couplings of any kind, drive and inverse temperature, multiplied; raise as the public functions say."""
    check_floating(J=J)
    if x is not None:
        check_beside(J, x=x)
    return check_system(J, x, beta, most, symmetric=False, field_name="x")


def check_beside(J: Tensor, **tensors: Tensor) -> None:
    """Raise unless all are finite, and have the dtype and the device of J."""
    check_floating(J=J, **tensors)
    for name, tensor in tensors.items():
        if tensor.dtype != J.dtype or tensor.device != J.device:
            mine, its = (f"{one.dtype} on {one.device}" for one in (tensor, J))
            raise ValueError(f"{name} is {mine} and J {its}; expected one dtype and one device")
    check_finite(**tensors)


def check_state(J: Tensor, shapes: dict[str, tuple[int, ...]], **tensors: Tensor) -> None:
    """Raise unless each is as :func:`check_beside` asks, and has its shape, which follows from that of J."""
    check_beside(J, **tensors)
    for name, tensor in tensors.items():
        if tuple(tensor.shape) != shapes[name]:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)} and J {tuple(J.shape)}; expected {shapes[name]} of {name}"
            )
