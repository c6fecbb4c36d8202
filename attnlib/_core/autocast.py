"""Autocast: whether it is on, and how to compute as if it were off."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.amp.autocast_mode import is_autocast_available


def autocasting(device: torch.device) -> bool:
    """Whether autocast is on for this kind of device."""
    # torch 2.6 cannot trace the question whether a kind of device has it, and meta, which has not, raises at the other one
    has_it = device.type != "meta" if torch.compiler.is_compiling() else is_autocast_available(device.type)
    return has_it and torch.is_autocast_enabled(device.type)


def working(tensor: Tensor) -> AbstractContextManager[object]:
    """Compute as if autocast were off: these equations are solved to many digits."""
    return torch.autocast(tensor.device.type, enabled=False) if autocasting(tensor.device) else nullcontext()
