"""Random graphs whose nodes are on one of two sides: the side is drawn first, the edges after it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import check_count


def planted_graphs(
    count: int, n: int, *, inside: float, between: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "count n"], Bool[Tensor, "count n n"]]:
    """Sides of plus and minus one, each with the same chance, and which nodes are joined: symmetric, no node with itself.

    Args:
        count, n: number of graphs, and of nodes in each.
        inside, between: the chance that two nodes of one side are joined, and two of different sides.
        generator: where random numbers come from; default torch's own.

    Returns:
        The sides ``[count, n]``, and who is joined ``[count, n, n]``.

    Raises:
        ValueError: counts that are not integers of at least 1, chances outside 0 and 1.

    Source: Holland, Laskey and Leinhardt 1983, stochastic blockmodels.

    >>> sides, joined = planted_graphs(2, 4, inside=1.0, between=0.0, generator=torch.Generator().manual_seed(0))
    >>> bool((joined == ((sides[:, :, None] == sides[:, None]) & ~torch.eye(4, dtype=torch.bool))).all())
    True
    """
    count, n = check_count("count", count), check_count("n", n)
    for name, chance in (("inside", inside), ("between", between)):
        if not 0 <= chance <= 1:
            raise ValueError(f"{name} is {chance!r}; expected a chance from 0 to 1")
    sides = 2.0 * torch.randint(2, (count, n), generator=generator) - 1
    chances = torch.where(sides[:, :, None] == sides[:, None], inside, between)
    joined = (torch.rand(count, n, n, generator=generator) < chances).triu(1)
    return sides, joined | joined.mT
