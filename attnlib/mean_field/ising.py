"""Ising systems solved exactly, by visiting all states: the oracle that every approximation is measured against."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar
from attnlib._core.systems import all_states, check_system
from attnlib._core.values import check_result
from attnlib.mean_field.records import IsingRecord

MOST = 20
"""The largest number of spins: a million states."""

_STATES_AT_ONCE = 2**18
"""Systems are taken in groups with so many states in all, 2 MiB in float64: what fits a cache takes a third of the time."""


def exact_ising(J: Float[Tensor, "*batch n n"], h: Float[Tensor, "..."] | None = None, *, beta: Scalar = 1.0) -> IsingRecord:
    r"""Free energy, magnetisations and covariances of up to 20 spins of plus and minus one, over all their states.

    .. math:: F = -\tfrac1\beta \ln \sum_s e^{-\beta E(s)}, \qquad E(s) = -\tfrac12 \sum_{ij} J_{ij} s_i s_j - \sum_i h_i s_i

    The spins are split into two halves. The energy is then a sum of one term for each half and a product of matrices, and so
    are the moments: a million states take some ten milliseconds. All results differentiate, as often as is asked for; systems
    are visited in groups that are computed again for the gradient, so that memory stays bounded.

    Args:
        J: couplings ``[*batch, n, n]``, symmetric with a zero diagonal, at most 20 spins.
        h: fields, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.

    Returns:
        :class:`IsingRecord`.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled J, more than 20 spins,
            ``beta <= 0``.

    >>> found = exact_ising(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0.5, 0.0]))
    >>> found.m, found.chi[0, 1]
    (tensor([0.4621, 0.3519]), tensor(0.5990))
    """
    system = check_system(J, h, beta, most=MOST)
    with working(J):
        n = system.n
        couplings, fields = system.couplings.reshape(-1, n, n), system.fields.reshape(-1, n)
        size = max(1, _STATES_AT_ONCE >> n)
        groups = zip(couplings.split(size), fields.split(size), strict=True)
        again = len(couplings) > size and torch.is_grad_enabled() and (couplings.requires_grad or fields.requires_grad)
        parts = [checkpoint(_enumerate, *group, use_reentrant=False) if again else _enumerate(*group) for group in groups]
        log_partition, m, chi = (torch.cat(tensors).reshape(system.batch + tensors[0].shape[1:]) for tensors in zip(*parts))
        found = (-log_partition / system.beta, m, chi)
    return IsingRecord(*(check_result(one.to(J.dtype), "J, h or 1/beta are") for one in found))


def _enumerate(J: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log partition, means and covariances of systems ``[b, n, n]``, ``[b, n]`` with beta multiplied in."""
    n = J.shape[-1]
    low, high = (all_states(half, J.dtype, J.device) for half in (n // 2, n - n // 2))
    cut = n // 2
    own = [(half @ part * half).sum(-1) / 2 for half, part in ((low, J[:, :cut, :cut]), (high, J[:, cut:, cut:]))]
    ends = [h[:, :cut] @ low.mT + own[0], h[:, cut:] @ high.mT + own[1]]
    exponent = low @ J[:, :cut, cut:] @ high.mT + ends[0][:, :, None] + ends[1][:, None, :]
    top = exponent.detach().amax((-2, -1), keepdim=True)
    weights = (exponent - top).exp()
    total = weights.sum((-2, -1), keepdim=True)
    log_partition = (top + total.log())[:, 0, 0]
    weights = weights / total
    of_low, of_high = weights.sum(-1), weights.sum(-2)
    m = torch.cat([of_low @ low, of_high @ high], -1)
    a, b = low - m[:, None, :cut], high - m[:, None, cut:]  # centred first: a covariance near zero keeps its digits
    across = a.mT @ weights @ b
    upper = torch.cat([a.mT @ (of_low[..., None] * a), across], -1)
    lower = torch.cat([across.mT, b.mT @ (of_high[..., None] * b)], -1)
    return log_partition, m, torch.cat([upper, lower], -2)
