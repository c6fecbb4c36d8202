"""The numbers that ``kit.generator`` in ``kit.js`` draws from a seed, drawn here: bit by bit the same."""

import functools
import math

import torch
from torch import Tensor

WORD = 2**32 - 1


def words(number: int, seed: int) -> list[int]:
    """The first 32-bit words of a xorshift started from a seed. ``kit.generator(seed).uniform()`` is (word + 1/2) / 2^32."""
    bits = (seed + 1) * 2654435769 & WORD or 1
    drawn = []
    for _ in range(16 + number):
        bits ^= bits << 13 & WORD
        bits ^= bits >> 17
        bits ^= bits << 5 & WORD
        drawn.append(bits)
    return drawn[16:]


@functools.lru_cache(maxsize=16)
def normals(number: int, seed: int) -> Tensor:
    """The first normal numbers of ``kit.generator(seed)``, up to rounding, by Box and Muller: ``[number]`` in float64."""
    drawn = torch.tensor(words(2 * number, seed), dtype=torch.float64)
    radius, angle = ((drawn + 0.5) / 2**32).reshape(-1, 2).unbind(-1)
    return (-2 * radius.log()).sqrt() * (2 * math.pi * angle).cos()


def shuffles(size: int, number: int, seed: int) -> list[list[int]]:
    """So many shuffles of 0 to size - 1, one after the other from one seed."""
    drawn = iter(words((size - 1) * number, seed))
    found = []
    for _ in range(number):
        order = list(range(size))
        for last in range(size - 1, 0, -1):
            other = (2 * next(drawn) + 1) * (last + 1) >> 33
            order[last], order[other] = order[other], order[last]
        found.append(order)
    return found
