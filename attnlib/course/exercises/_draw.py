"""Normal random inputs for the exercises, from a seed of their own."""

import torch
from torch import Tensor


def draw(*shape: int, seed: int) -> Tensor:
    """Standard normal numbers in float64, ``[*shape]``, the same for the same seed and shape."""
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def draws(*shapes: tuple[int, ...], seed: int) -> tuple[Tensor, ...]:
    """Several tensors of standard normal numbers, one for each shape, drawn one after the other from one seed."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes)
