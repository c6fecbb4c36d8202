"""Associative memories with states of plus and minus one: the energies of classical and dense Hopfield networks.

An energy is lowered spin by spin: each spin takes the value that the energy prefers, given all others. What differs between
the networks is the energy: pairs of spins (Hopfield 1982), a power of the overlap with each memory (Krotov and Hopfield
2016), or an exponential of it (Demircigil et al. 2017).
"""

import math
from functools import reduce
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count, check_field, check_rows, check_states
from attnlib._core.numerics import widened
from attnlib._core.values import check_result, check_signs, refuted

Degree = int | Literal["exp"]
"""How steeply a dense memory's energy grows with the overlap, as a power of at least 2 or exponentially."""

MOST = 1000
"""The largest degree: far steeper than any network that can be told from a hard choice of the nearest memory."""


def hebb_weights(patterns: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch d d"]:
    r"""Couplings that store patterns: the correlation of each pair of spins over the patterns.

    .. math:: J_{jk} = \frac1d \sum_i x_{ij} x_{ik}, \qquad J_{jj} = 0

    Takes ``[*batch, m, d]``, returns symmetric ``[*batch, d, d]`` with a zero diagonal.
    Raises ValueError on patterns that are not finite floating point numbers, or none at all.

    Source: Hopfield 1982, divided by the number of spins.

    >>> hebb_weights(torch.tensor([[1.0, 1.0, -1.0]]))
    tensor([[ 0.0000,  0.3333, -0.3333],
            [ 0.3333,  0.0000, -0.3333],
            [-0.3333, -0.3333,  0.0000]])
    """
    check_rows("patterns", patterns)
    wide = widened(patterns)
    couplings = wide.mT @ wide / wide.shape[-1]
    couplings = (couplings + couplings.mT) / 2  # a matrix product need not be symmetric to the last digit
    couplings = couplings - torch.diag_embed(couplings.diagonal(dim1=-2, dim2=-1))
    return check_result(couplings.to(patterns.dtype), "patterns are")


def classical_energy(
    state: Float[Tensor, "*batch n d"], J: Float[Tensor, "*batch d d"], h: Float[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch n"]:
    r"""Energy of states under pairwise couplings; each pair counts once.

    .. math:: E(\xi) = -\tfrac12 \sum_{jk} J_{jk} \xi_j \xi_k - \sum_k h_k \xi_k

    Args:
        state: ``[*batch, n, d]``, finite; any real numbers.
        J: couplings ``[*batch, d, d]``, symmetric with a zero diagonal, of the same dtype.
        h: field, broadcasts to ``[*batch, n, d]``; default none. A threshold or bias ``b`` is ``-h``.

    Returns:
        ``[*batch, n]``.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled J.

    Source: Hopfield 1982; the Ising model.

    >>> J = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> classical_energy(torch.tensor([[1.0, 1.0], [1.0, -1.0]]), J)  # spins that are coupled like to agree
    tensor([-1.,  1.])
    """
    check_network(state, J, h)
    wide = widened(state)
    felt = wide @ widened(J) / 2 if h is None else wide @ widened(J) / 2 + h
    return check_result(-(wide * felt).sum(-1).to(state.dtype), "state, J or h are")


def classical_local_field(
    state: Float[Tensor, "*batch n d"], J: Float[Tensor, "*batch d d"], h: Float[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch n d"]:
    r"""What each spin feels, the negative gradient of :func:`classical_energy`: its sign is the value the energy prefers.

    .. math:: -\partial E / \partial \xi_k = \sum_j J_{kj} \xi_j + h_k

    It is also half of what turning a spin from +1 to -1 costs. Shapes and errors as :func:`classical_energy`;
    returns ``[*batch, n, d]``.

    >>> J = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> classical_local_field(torch.tensor([[1.0, -1.0]]), J)  # each feels the other
    tensor([[-1.,  1.]])
    """
    check_network(state, J, h)
    felt = widened(state) @ widened(J)
    return check_result((felt if h is None else felt + h).to(state.dtype), "state, J or h are")


def dense_energy(
    state: Float[Tensor, "*batch n d"], memory: Float[Tensor, "*batch m d"], *, degree: Degree
) -> Float[Tensor, "*batch n"]:
    r"""Energy of states among memories, each of which attracts with a power or an exponential of its overlap.

    .. math:: E(\xi) = -\frac da \sum_i \Big(\frac{x_i \cdot \xi}{d}\Big)^a
        \qquad\text{or}\qquad E(\xi) = -\ln \sum_i e^{x_i \cdot \xi}

    With degree 2 and patterns of plus and minus one this is :func:`classical_energy` with :func:`hebb_weights`, less ``m/2``.
    The exponential energy is given by its logarithm: the order of states is the same, and nothing overflows.

    Args:
        state, memory: ``[*batch, n, d]`` and ``[*batch, m, d]``, finite, of one dtype.
        degree: the power ``a``, an integer of at least 2, or ``"exp"``.

    Returns:
        ``[*batch, n]``.

    Raises:
        ValueError: shapes that do not fit, mixed dtypes, non-finite entries, another degree.

    Source: Krotov and Hopfield 2016, with a scale; Demircigil et al. 2017.

    >>> memory = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    >>> dense_energy(torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, -1.0]]), memory, degree=3)
    tensor([-1.3333, -0.1667])
    """
    check_states("state", state, "memory", memory)
    _check_degree(degree)
    overlaps, d = widened(state) @ widened(memory).mT, state.shape[-1]
    energy = -overlaps.logsumexp(-1) if degree == "exp" else -d / degree * _power(overlaps / d, degree).sum(-1)
    return check_result(energy.to(state.dtype), "state, memory or degree are")


def dense_local_field(
    state: Float[Tensor, "*batch n d"], memory: Float[Tensor, "*batch m d"], *, degree: Degree
) -> Float[Tensor, "*batch n d"]:
    r"""Half of what turning each spin from +1 to -1 costs: its sign is the value that :func:`dense_energy` prefers.

    .. math:: f_k = \tfrac12 \big[ E(\xi_k = -1) - E(\xi_k = +1) \big]

    All spins at once cost two matrix products: with ``F`` the power and ``z`` the overlaps,
    ``f`` is ``(F(z + 2) - F(z - 2)) / 4`` times the memories, plus a multiple of the state. For the exponential,

    .. math:: f_k = -\tfrac12 \xi_k \ln(\cosh 2 - \sinh 2\; \xi_k a_k), \qquad a = \mathrm{softmax}(X \xi)\, X

    which has the sign of ``a - tanh(1) state``: attention, less a part of the state itself.

    Args:
        state, memory: as in :func:`dense_energy`, with entries -1 and 1.
        degree: as in :func:`dense_energy`.

    Returns:
        ``[*batch, n, d]``.

    Raises:
        ValueError: as :func:`dense_energy`; also entries other than -1 and 1.

    Source: Krotov and Hopfield 2016.

    >>> memory = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    >>> dense_local_field(torch.tensor([[1.0, 1.0, 1.0, -1.0]]), memory, degree=3)  # the last spin feels that it is wrong
    tensor([[0.0833, 0.0833, 0.0833, 0.5833]])
    """
    check_dense(state, memory, degree)
    d, wide, patterns = state.shape[-1], widened(state), widened(memory)
    pull, own = pulls(wide @ patterns.mT, degree, d)
    felt = pull @ patterns + own * wide
    if degree == "exp":
        field = -0.5 * wide * (-math.sinh(2) * wide * felt).log1p()
    else:
        field = felt * (d / (2 * degree) * math.exp(min(700.0, degree * math.log(_scale(d) / d))))
    return check_result(field.to(state.dtype), "degree is")


def pulls(overlaps: Tensor, degree: Degree, d: int) -> tuple[Tensor, Tensor]:
    """How strongly each memory pulls, ``[*, m]``, and the state on itself, ``[*, 1]``: together the field, up to a factor.

    For spins, the difference between the energies of both values of a spin is linear in the spin and in the memory's entry.
    """
    if degree == "exp":
        return overlaps.softmax(-1), torch.full_like(overlaps[..., :1], -math.tanh(1))
    here, up, down = (_power((overlaps + shift) / _scale(d), degree) for shift in (0, 2, -2))
    return (up - down) / 2, (here - (up + down) / 2).sum(-1, keepdim=True)


def _power(base: Tensor, degree: int) -> Tensor:
    """A whole power by multiplication: exact as long as the numbers are whole and fit the dtype."""
    return reduce(torch.mul, [base] * int(degree))


def _scale(d: int) -> int:
    """The power of two that overlaps are divided by: no power of them overflows, and the division is exact."""
    return 2 ** math.ceil(math.log2(d + 2))


def check_network(state: Tensor, J: Tensor, h: Tensor | None) -> None:
    """Raise unless J is symmetric with a zero diagonal, and h fits the state."""
    check_states("state", state, "J", J)
    if J.shape[-2] != J.shape[-1]:
        raise ValueError(f"J has shape {tuple(J.shape)}; expected [*batch, d, d]")
    slack = 8 * torch.finfo(J.dtype).eps
    if J.numel() and refuted(lambda: ((J - J.mT).abs() <= slack * J.abs().max()).all()):
        raise ValueError("J is not symmetric; expected J[j, k] == J[k, j]")
    if refuted(lambda: (J.diagonal(dim1=-2, dim2=-1) == 0).all()):
        raise ValueError("J couples a spin to itself; expected a zero diagonal")
    if h is not None:
        check_field("h", h, state.shape, state)


def check_dense(state: Tensor, memory: Tensor, degree: Degree) -> None:
    """Raise unless state and memory are spins, and the degree is one."""
    check_states("state", state, "memory", memory)
    _check_degree(degree)
    check_signs("state", state)
    check_signs("memory", memory)


def _check_degree(degree: Degree) -> None:
    if isinstance(degree, str):
        if degree != "exp":
            raise ValueError(f'degree is {degree!r}; expected "exp" or an integer of at least 2')
    else:
        check_count("degree", degree, least=2, most=MOST)
