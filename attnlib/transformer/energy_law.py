"""What the participation of random energies would be at many spreads and numbers of keys at once: a table, read between."""

from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlib.softmax import random_energy

SPREADS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 5.0, 6.5, 8.0, 10.0)
"""Standard deviations of the table. Beyond the last the distance to one falls as the inverse of the spread."""

FEW = 3
"""Up to so many different numbers of keys each has a column of its own; of more, columns are read between."""


def participation_law(sigma: Float[Tensor, "*batch"], keys: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """``E Y2`` of so many independent Gaussian scores of standard deviation sigma, each ``[*batch]``, within 0.002.

    It is :func:`attnlib.softmax.random_energy` at the points of a table, and a polynomial of third degree through the four
    nearest between them, in sigma and in the logarithm of the number of keys.

    Args:
        sigma: at least 0, finite.
        keys: at least 1; of one key ``Y2`` is 1.
    """
    spread = sigma.detach().double().cpu()
    number = keys.detach().cpu().clamp(min=2)
    if not spread.numel():
        return torch.ones_like(sigma)
    columns = _columns(number)
    inside = spread.clamp(max=SPREADS[-1])
    last = max(4, min(len(SPREADS), 3 + sum(point < inside.max().item() for point in SPREADS)))
    rows = torch.tensor(SPREADS[:last], dtype=torch.float64, device="cpu")
    numbers = [[_at(m, point) for point in SPREADS[:last]] for m in columns]
    table = torch.tensor(numbers, dtype=torch.float64, device="cpu")
    places = torch.tensor(columns, dtype=torch.float64, device="cpu").log()
    across, weight = _nearest(places, number.double().log())
    along, share = _nearest(rows, inside)
    patch = table[across.unsqueeze(-1), along.unsqueeze(-2)]  # [*batch, 4, 4], or fewer columns
    found = torch.einsum("...kj,...k,...j->...", patch, weight, share)
    found = 1 - (1 - found) * inside / torch.where(spread > inside, spread, inside.clamp(min=1e-9)).clamp(min=1e-9)
    found = torch.where(spread > 0, found, 1 / number.double())
    return torch.where(keys.cpu() > 1, found, 1.0).to(sigma)


def _columns(number: Tensor) -> list[int]:
    """The numbers of keys that the table has a column for: those asked for, or a scale that encloses them."""
    asked = number.unique().tolist()
    if len(asked) <= FEW:
        return asked
    scale = [2, 3, 4, 6, 8]
    while scale[-1] < asked[-1]:
        scale.append(2 * scale[-1])
    first = max(0, sum(m <= asked[0] for m in scale) - 2)
    return scale[first:]


@cache
def _at(m: int, sigma: float) -> float:
    return random_energy(m, torch.tensor(sigma, dtype=torch.float64, device="cpu")).participation.item()


def _nearest(points: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of the four points around each place, and the weights of their values in Lagrange's polynomial."""
    size = min(4, len(points))
    first = (torch.searchsorted(points, at.contiguous()) - size // 2).clamp(0, len(points) - size)
    index = first.unsqueeze(-1) + torch.arange(size, device="cpu")
    near = points[index]
    itself = torch.eye(size, dtype=torch.bool, device="cpu")
    gap = near.unsqueeze(-1) - near.unsqueeze(-2) + itself.to(points.dtype)
    away = (at.unsqueeze(-1) - near).unsqueeze(-2).expand(*gap.shape)
    factors = torch.where(itself, 1.0, away / gap)
    return index, factors.prod(-1)
