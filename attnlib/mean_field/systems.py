"""What a mask makes of coupled spins: a system for each query, of the spins that it may see; and the record of a response."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._numerics import differentiable


@dataclass(frozen=True)
class MeanFieldRecord:
    """What a response was, head by head: the module's output, the fields h and means m, ``[*batch, heads, n, d]``.

    The couplings of the first n sites, with beta, ``J [heads, n, n, d, d]``, and their Frobenius norms ``[heads, n, n]``. The
    evidence, each ``[*batch, heads]``: the largest residual, the iterations it took (0: a linear solve), whether it converged.

    >>> from attnlib.mean_field import MeanFieldAttention
    >>> found = MeanFieldAttention(6, sites=5, heads=2).explain(torch.zeros(1, 5, 6))
    >>> found.norms.shape, found.converged
    (torch.Size([2, 5, 5]), tensor([[True, True]]))
    """

    output: Float[Tensor, "*batch n dim"]
    m: Float[Tensor, "*batch heads n d"]
    h: Float[Tensor, "*batch heads n d"]
    J: Float[Tensor, "heads n n d d"]
    norms: Float[Tensor, "heads n n"]
    residual: Float[Tensor, "*batch heads"]
    iterations: Int[Tensor, "*batch heads"]
    converged: Bool[Tensor, "*batch heads"]


def apart_by(mask: Tensor, J: Tensor, h: Tensor, lead: tuple[int, ...], n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Systems in which hidden spins are alone and feel nothing: couplings ``[*lead, systems, k, k]``, fields, and the mask.

    One system for each query; one for all where the mask is the same for all.
    """
    mask = differentiable(mask).expand(*lead, mask.shape[-2] if mask.ndim > 1 else 1, n)
    part = mask.to(J.dtype).repeat_interleave(J.shape[-1] // n, -1)
    return J.unsqueeze(-3) * part.unsqueeze(-1) * part.unsqueeze(-2), h.unsqueeze(-2) * part, mask


def together_by(mask: Tensor, m: Tensor, d: int) -> Tensor:
    """The means of each spin in its own system, ``[*lead, n, d]``: zero where it may not see itself, and so has none."""
    n = mask.shape[-1]
    spins = m.unflatten(-1, (n, d))  # [*lead, systems, n, d]
    spins = spins.squeeze(-3) if spins.shape[-3] == 1 else spins.diagonal(dim1=-3, dim2=-2).mT
    own = mask.expand(*mask.shape[:-2], n, n).diagonal(dim1=-2, dim2=-1)
    return torch.where(own.unsqueeze(-1), spins, 0.0)
