"""The stationary law of a chain, by taking out its states one after another without a subtraction."""

from typing import Any

import torch
from torch import Tensor

from attnlib._core.values import refuted

BLOCK = 32
"""How many states are taken out before what they leave is added to all others in one product."""
SETTLE = 8
"""After how many steps from anywhere the state is looked for that is visited most."""


def stationary_law(P: Tensor) -> Tensor:
    r"""The law that ``P`` leaves as it is, ``[*batch, states]``, of chances ``[*batch, states, states]``.

    .. math:: P_{ij} \leftarrow P_{ij} + \frac{P_{ik} P_{kj}}{\sum_{l < k} P_{kl}} \quad (i, j < k)

    A chain that is looked at only while it is in the first states is a chain again. Its chances are sums, products and
    quotients of what is not negative, so that each share of the law is exact to rounding, however seldom the chain gets from
    one of its states to another. The derivative is ``law dP (1 - P + 1 law)^{-1}``, which rounding does reach: it is refused
    where the chain takes longer to forget than one over the root of that rounding.

    Raises:
        ValueError: some states are never left for the others in this precision; a derivative of so slow a chain.

    Source: Grassmann, Taksar and Heyman 1985.
    """
    law = _Law.apply(P)
    if refuted(lambda: law.isfinite().all()):
        raise ValueError(
            f"J, x or beta are too large for {P.dtype}; expected spins that are not frozen, and have one stationary law"
        )
    return law


def _eliminate(P: Tensor) -> Tensor:
    """The law; 0/0 where states are not left for those before them."""
    size = P.shape[-1]
    order = _order(P)
    P = P.gather(-2, order.unsqueeze(-1).expand_as(P)).gather(-1, order.unsqueeze(-2).expand_as(P))
    for high in range(size, 0, -BLOCK):
        low = max(high - BLOCK, 0)
        for k in range(high - 1, max(low, 1) - 1, -1):
            column, row = P[..., :k, k], P[..., k, :k]
            column /= row.sum(-1, keepdim=True)
            P[..., :k, low:k] += column.unsqueeze(-1) * row[..., low:].unsqueeze(-2)
            P[..., low:k, :low] += column[..., low:].unsqueeze(-1) * row[..., :low].unsqueeze(-2)
        P[..., :low, :low] += P[..., :low, low:high] @ P[..., low:high, :low]
    first = torch.zeros_like(P[..., :1, :])
    first[..., 0] = 1
    law = torch.linalg.solve_triangular(-P, first, upper=True, left=False, unitriangular=True).squeeze(-2)  # only sums
    return (law / law.sum(-1, keepdim=True)).gather(-1, order)


def _order(P: Tensor) -> Tensor:
    """The first state and one that is often visited, exchanged, ``[*batch, states]``.

    What is taken out last must be reached from everywhere. A strong drive leaves states that are never entered.
    """
    number = torch.arange(P.shape[-1], device=P.device)
    share = torch.full_like(P[..., :1, :], 1 / P.shape[-1])
    for _ in range(SETTLE):
        share = share @ P
    often = share.squeeze(-2).argmax(-1, keepdim=True)
    return torch.where(number == 0, often, torch.where(number == often, 0, number))


def _fundamental(P: Tensor, law: Tensor) -> Tensor:
    """``1 - P + 1 law``, the matrix whose inverse carries a change of P to the law; refused if rounding would fill it."""
    eye = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    matrix = eye - P + law.unsqueeze(-2)
    with torch.no_grad():
        probe = (1 + torch.arange(P.shape[-1], dtype=P.dtype, device=P.device)).square().cos().unsqueeze(-1)
        once = torch.linalg.solve_ex(matrix, probe.expand(*P.shape[:-1], 1)).result
        once = once / once.norm(dim=-2, keepdim=True)
        steps = torch.linalg.solve_ex(matrix, once).result.norm(dim=-2)
    if refuted(lambda: (steps < torch.finfo(P.dtype).eps ** -0.5).all()):
        raise ValueError(
            f"J, x or beta are too large to differentiate in {P.dtype}; expected spins that forget within"
            f" {torch.finfo(P.dtype).eps ** -0.5:.0e} steps"
        )
    return matrix


class _Law(torch.autograd.Function):
    """The law by elimination, with the derivative of a stationary law (Schweitzer 1968)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(P: Tensor) -> Tensor:
        return _eliminate(P)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        P, law = ctx.saved_tensors
        answer = torch.linalg.solve(_fundamental(P, law), gradients[0].unsqueeze(-1))
        return law.unsqueeze(-1) * answer.mT

    @staticmethod
    def jvp(ctx: Any, *changes: Tensor) -> Tensor:
        P, law = ctx.saved_tensors
        pushed = law.unsqueeze(-2) @ changes[0]
        return torch.linalg.solve(_fundamental(P, law), pushed, left=False).squeeze(-2)
