"""All moves of driven spins: how likely each state leads to each."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_choice, check_count, check_device, check_dtype
from attnlib._core.systems import System, all_states
from attnlib.kinetic.given import checked
from attnlib.mean_field import Binary

MOST = 12
"""The largest number of spins: sixteen million moves."""

Updates = Literal["parallel", "single"]
"""Who moves in a step: ``"parallel"``, every spin, as in a layer; ``"single"``, one spin, drawn at random."""


def spin_states(
    n: int, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Float[Tensor, "states n"]:
    """All states of n spins of plus and minus one, ``[2^n, n]``: bit i of a state's number says whether spin i is up.

    Args:
        n: how many spins, at most 12.
        dtype: of real numbers; default torch's own.
        device: default torch's own.

    Raises:
        ValueError: more than 12 spins, or none; a dtype that is not of real numbers.

    >>> spin_states(2)
    tensor([[-1., -1.],
            [ 1., -1.],
            [-1.,  1.],
            [ 1.,  1.]])
    """
    n, dtype = check_count("n", n, most=MOST), check_dtype(dtype)
    check_device(device)
    return all_states(n, dtype, device)


def transition_matrix(
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    updates: Updates = "parallel",
) -> Float[Tensor, "*batch states states"]:
    r"""The probabilities of all moves of driven spins, from the state of the row to that of the column.

    .. math:: P(s \to s') = \prod_i \frac{e^{\beta s'_i h_i(s)}}{2 \cosh \beta h_i(s)}, \qquad h_i(s) = x_i + \sum_j J_{ij} s_j

    All spins move at once, each in the field of what all were: a step of a layer, whose attention is J. With
    ``updates="single"`` one of them, drawn at random, moves, and the rest stay.

    Args:
        J: couplings ``[*batch, n, n]``, ``J[i, j]`` how spin i feels spin j; need not be symmetric, and spins may feel
            themselves. At most 12 spins: the matrix has ``4^n`` entries.
        x: drive, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        updates: ``"parallel"`` (default) or ``"single"``.

    Returns:
        ``[*batch, 2^n, 2^n]``; each row sums to 1. States are ordered as in :func:`spin_states`.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, more than 12 spins, ``beta <= 0``.

    Source: Peretto 1984; Nareddy and Machta 2020 for both kinds of updates.

    >>> transition_matrix(torch.tensor([[0.5]]))  # one spin that feels itself
    tensor([[0.7311, 0.2689],
            [0.2689, 0.7311]])
    """
    check_choice("updates", updates, ("parallel", "single"))
    system = in_double(checked(J, x, beta, MOST))
    with working(J):
        return moves(system, updates)[0].to(J.dtype)


def in_double(system: System) -> System:
    """The same in double precision: what is summed over all states is to be exact."""
    beta = system.beta.double() if isinstance(system.beta, Tensor) else system.beta
    return System(system.couplings.double(), system.fields.double(), beta, system.batch, system.n)


def felt(system: System, states: Tensor) -> Tensor:
    """Local fields with beta multiplied in, ``[*batch, states, n]``."""
    return states @ system.couplings.mT + system.fields.unsqueeze(-2)


def log_norms(fields: Tensor) -> Tensor:
    """``ln 2 cosh`` of fields of any size."""
    return Binary().log_partition(fields.unsqueeze(-1)) + math.log(2)


def moves(system: System, updates: Updates) -> tuple[Tensor, Tensor]:
    """Chances of all moves ``[*batch, states, states]``, and their logarithms; zero where there is no such move."""
    states = all_states(system.n, system.couplings.dtype, system.couplings.device)
    fields = felt(system, states)
    if updates == "parallel":
        logs = fields @ states.mT - log_norms(fields).sum(-1, keepdim=True)
        return logs.exp(), logs
    size, n = states.shape
    flips = -states * fields - log_norms(fields)  # of the one that was drawn
    number = torch.arange(size, device=states.device).unsqueeze(-1)
    target = (number ^ (1 << torch.arange(n, device=states.device))).expand(flips.shape)
    logs = torch.zeros_like(flips[..., :1]).expand(*flips.shape[:-1], size).scatter(-1, target, flips)
    P = torch.zeros_like(logs).scatter(-1, target, flips.exp() / n)
    return P + torch.diag_embed(1 - P.sum(-1)), logs
