"""How far apart two films of many spins stay that share their noise."""

import math

import numpy as np

from attnlib._core.checks import check_count, check_number


def damage(gain: float | int, *, nodes: int = 128) -> float:
    r"""How far apart two films with shared noise stay, for independent couplings of many spins and no drive.

    .. math:: d = \tfrac12\, \mathbb{E}\, |\tanh h - \tanh h'|, \qquad
        h, h' \sim \mathcal{N}(0, g^2), \quad \mathrm{corr}(h, h') = 1 - 2 d

    d is the share of spins that differ. It is never zero: the law of the spins forgets where it began, two films do not.

    Args:
        gain: ``g``, beta times the root mean square of a spin's field: of couplings of variance ``J^2 / n``, beta J. Above 0.
        nodes: of the rule of Gauss and Legendre, for each of two integrals; default 128.

    Returns:
        The share, between 0 and one half.

    Raises:
        ValueError: a gain that is not above 0, or too few nodes.

    Source: Derrida 1987.

    >>> round(damage(1.0), 4)
    0.2461
    """
    gain, nodes = check_number("gain", gain, above=0), check_count("nodes", nodes, least=2)
    rule = np.polynomial.legendre.leggauss(nodes)
    low, high = 0.0, 0.5
    for _ in range(60):  # the map goes from 0 with an infinite slope to one half, concave: above d before, below it after
        middle = (low + high) / 2
        low, high = (middle, high) if _apart(middle, gain, *rule) > middle else (low, middle)
    return (low + high) / 2


def _apart(share: float, gain: float, places: np.ndarray, weights: np.ndarray) -> float:
    """The right side of the equation of :func:`damage`, over the sum and the (positive) difference of the two fields."""
    widest = 9.0
    a, b = widest * places[:, None], widest * (1 + places) / 2
    density = np.exp(-(a**2 + b**2) / 2) / (2 * math.pi)
    gain = min(gain, 1e100)  # where tanh has long been a sign
    alike, unlike = gain * math.sqrt(1 - share) * a, gain * math.sqrt(share) * b
    gaps = np.tanh(alike + unlike) - np.tanh(alike - unlike)
    return float((widest * weights) @ (density * gaps) @ (widest / 2 * weights))  # twice the half, halved
