"""What a response of vector spins was, head by head."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class VectorSpinRecord:
    """What a response was, head by head: the module's output, the fields h, means m and second terms ``[*batch, heads, n, d]``.

    ``feedback`` is the second term, zero where the couplings are free. The couplings, with beta, ``J [*batch, heads, n, n]``;
    beta times z, ``[*batch, heads, n]``, of each spin in its own system. The evidence, each ``[*batch, heads]``: the largest
    component of the gradient, the factorisations it took, whether it converged.

    >>> import torch
    >>> from attnlib.free_energy import VectorSpinAttention
    >>> found = VectorSpinAttention(4, sites=3).explain(torch.zeros(2, 3, 4))
    >>> found.J.shape, found.z.shape, bool(found.converged.all())
    (torch.Size([2, 1, 3, 3]), torch.Size([2, 1, 3]), True)
    """

    output: Float[Tensor, "*batch n dim"]
    m: Float[Tensor, "*batch heads n d"]
    feedback: Float[Tensor, "*batch heads n d"]
    h: Float[Tensor, "*batch heads n d"]
    J: Float[Tensor, "*batch heads n n"]
    z: Float[Tensor, "*batch heads n"]
    residual: Float[Tensor, "*batch heads"]
    iterations: Int[Tensor, "*batch heads"]
    converged: Bool[Tensor, "*batch heads"]
