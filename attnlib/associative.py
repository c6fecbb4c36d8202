"""Associative memories with states of plus and minus one: classical and dense Hopfield networks (chapter 3).

An energy is lowered spin by spin: each spin takes the value that the energy prefers, given all others. What differs between
the networks is the energy: pairs of spins (Hopfield 1982), a power of the overlap with each memory (Krotov and Hopfield
2016), or an exponential of it (Demircigil et al. 2017).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._checks import check_choice, check_count, check_finite, check_floating, check_states

Degree = int | Literal["exp"]
"""How steeply a dense memory's energy grows with the overlap, as a power of at least 2 or exponentially."""

Mode = Literal["asynchronous", "synchronous"]
"""Spins one after the other, each seeing the changes before it, or all at once."""


def hebb_weights(patterns: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch d d"]:
    r"""Couplings that store patterns: the correlation of each pair of spins over the patterns.

    .. math:: W_{jk} = \frac1d \sum_i x_{ij} x_{ik}, \qquad W_{jj} = 0

    Takes ``[*batch, m, d]``, returns symmetric ``[*batch, d, d]`` with a zero diagonal.
    Raises ValueError on patterns that are not finite floating point numbers, or none at all.

    Source: Hopfield 1982, divided by the number of spins.
    """
    _check_rows("patterns", patterns)
    weights = patterns.mT @ patterns / patterns.shape[-1]
    weights = (weights + weights.mT) / 2  # a matrix product need not be symmetric to the last digit
    return weights - torch.diag_embed(weights.diagonal(dim1=-2, dim2=-1))


def classical_energy(
    state: Float[Tensor, "*batch n d"], weights: Float[Tensor, "*batch d d"], field: Float[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch n"]:
    r"""Energy of states under pairwise couplings; each pair counts once.

    .. math:: E(\xi) = -\tfrac12 \sum_{jk} W_{jk} \xi_j \xi_k - \sum_k h_k \xi_k

    Args:
        state: ``[*batch, n, d]``, finite; any real numbers.
        weights: ``[*batch, d, d]``, symmetric with a zero diagonal, of the same dtype.
        field: ``h``, broadcasts to ``[*batch, n, d]``; default none. A threshold or bias ``b`` is ``-h``.

    Returns:
        ``[*batch, n]``.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled weights.

    Source: Hopfield 1982; the Ising model.
    """
    _check_network(state, weights, field)
    pairs = -(state * (state @ weights)).sum(-1) / 2
    return pairs if field is None else pairs - (state * field).sum(-1)


def classical_local_field(
    state: Float[Tensor, "*batch n d"], weights: Float[Tensor, "*batch d d"], field: Float[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch n d"]:
    r"""What each spin feels, the negative gradient of :func:`classical_energy`: its sign is the value the energy prefers.

    .. math:: -\partial E / \partial \xi_k = \sum_j W_{kj} \xi_j + h_k

    It is also half of what turning a spin from +1 to -1 costs. Shapes and errors as :func:`classical_energy`;
    returns ``[*batch, n, d]``.
    """
    _check_network(state, weights, field)
    felt = state @ weights
    return felt if field is None else felt + field


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
    """
    check_states("state", state, "memory", memory)
    _check_degree(degree)
    overlaps, d = state @ memory.mT, state.shape[-1]
    if degree == "exp":
        return -overlaps.logsumexp(-1)
    return -d / degree * _power(overlaps / d, degree).sum(-1)


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
    """
    _check_dense(state, memory, degree)
    d = state.shape[-1]
    pull, own = _pulls(state @ memory.mT, degree, d)
    felt = pull @ memory + own * state
    if degree == "exp":
        return -0.5 * state * (-math.sinh(2) * state * felt).log1p()
    return felt * (d / (2 * degree) * (_scale(d) / d) ** degree)


@dataclass(frozen=True)
class Recall:
    """Where states came to rest, with the evidence for each. Shapes: ``state [*batch, n, d]``, the others ``[*batch, n]``.

    ``steps`` counts the sweeps that changed the state. ``period`` is 1 for a fixed point, 2 for a state that synchronous
    sweeps take to another and back, and 0 where the sweeps ran out before either was seen.
    """

    state: Float[Tensor, "*batch n d"]
    steps: Int[Tensor, "*batch n"]
    period: Int[Tensor, "*batch n"]

    @property
    def converged(self) -> Bool[Tensor, "*batch n"]:
        """Whether the state is a fixed point, which one more sweep does not change."""
        return self.period == 1


def classical_recall(
    state: Float[Tensor, "*batch n d"],
    weights: Float[Tensor, "*batch d d"],
    field: Float[Tensor, "..."] | None = None,
    *,
    mode: Mode = "asynchronous",
    max_steps: int = 100,
    generator: torch.Generator | None = None,
) -> Recall:
    """Let spins follow the sign of :func:`classical_local_field` until nothing changes; a spin that feels nothing stays.

    Asynchronous sweeps never raise the energy and end in a fixed point. Synchronous sweeps may end in a cycle of two states.
    All probes take part in one vectorised sweep, and none affects another.

    Args:
        state: ``[*batch, n, d]``, entries -1 and 1.
        weights, field: as in :func:`classical_energy`.
        mode: ``"asynchronous"`` visits the spins one after the other, ``"synchronous"`` turns them all at once.
        max_steps: how many sweeps at most, default 100. A state that is still moving then comes back with period 0.
        generator: where asynchronous sweeps draw the order of their visits from, one order for all probes; default the
            spins' own order.

    Returns:
        :class:`Recall`, with states ``[*batch, n, d]``.

    Raises:
        ValueError: as :func:`classical_energy`; also states other than -1 and 1, another mode, ``max_steps < 0``.

    Source: Hopfield 1982.
    """
    _check_network(state, weights, field)
    _check_spins("state", state)
    outside = torch.zeros_like(state[..., :1, :]) if field is None else field.expand_as(state)
    rounding = torch.finfo(state.dtype).eps * math.sqrt(state.shape[-1]) * (weights.abs().sum(-2, keepdim=True) + outside.abs())

    def all_at_once(state: Tensor) -> Tensor:
        return _turn(state, state @ weights + outside, rounding)

    def one_by_one(state: Tensor) -> Tensor:
        columns = state.mT.clone(memory_format=torch.contiguous_format)  # one row per spin, changed in place
        spins, fields, limits = (t.unsqueeze(-2).unbind(-3) for t in (columns, outside.mT, rounding.mT))
        rows = weights.unsqueeze(-2).unbind(-3)
        for k in _visits(state, generator):
            spins[k].copy_(_turn(spins[k], rows[k] @ columns + fields[k], limits[k]))
        return columns.mT

    return _settle(state, all_at_once, one_by_one, mode, max_steps)


def dense_recall(
    state: Float[Tensor, "*batch n d"],
    memory: Float[Tensor, "*batch m d"],
    *,
    degree: Degree,
    mode: Mode = "asynchronous",
    max_steps: int = 100,
    generator: torch.Generator | None = None,
) -> Recall:
    """Let each spin take the value that :func:`dense_energy` prefers until nothing changes; a spin without preference stays.

    Asynchronous sweeps keep the overlaps up to date: a visit costs one product of ``[n, m]`` with ``[m]`` for all probes.

    Args:
        state, memory: ``[*batch, n, d]`` and ``[*batch, m, d]``, entries -1 and 1.
        degree: as in :func:`dense_energy`.
        mode, max_steps, generator: as in :func:`classical_recall`.

    Returns:
        :class:`Recall`, with states ``[*batch, n, d]``.

    Raises:
        ValueError: as :func:`dense_local_field`; also another mode, ``max_steps < 0``.

    Source: Krotov and Hopfield 2016; Demircigil et al. 2017.
    """
    _check_dense(state, memory, degree)
    d, eps = state.shape[-1], torch.finfo(state.dtype).eps

    def all_at_once(state: Tensor) -> Tensor:
        pull, own = _pulls(state @ memory.mT, degree, d)
        return _turn(state, pull @ memory + own * state, eps * pull.abs().sum(-1, keepdim=True))

    def one_by_one(state: Tensor) -> Tensor:
        state = state.clone()
        overlaps = state @ memory.mT
        pull, own = _pulls(overlaps, degree, d)
        rounding = eps * pull.abs().sum(-1, keepdim=True)
        for k in _visits(state, generator):
            spin, column = state[..., k : k + 1], memory[..., k : k + 1]
            new = _turn(spin, pull @ column + own * spin, rounding)
            turned = (new != spin)[..., 0]
            if bool(turned.any()):  # only the probes that turned this spin need new overlaps
                overlaps[turned] += 2 * (new * column.mT)[turned]
                pull[turned], own[turned] = _pulls(overlaps[turned], degree, d)
                rounding[turned] = eps * pull[turned].abs().sum(-1, keepdim=True)
                spin.copy_(new)
        return state

    return _settle(state, all_at_once, one_by_one, mode, max_steps)


def _pulls(overlaps: Tensor, degree: Degree, d: int) -> tuple[Tensor, Tensor]:
    """How strongly each memory pulls, ``[*, m]``, and the state on itself, ``[*, 1]``: together the field, up to a factor.

    For spins, the difference between the energies of both values of a spin is linear in the spin and in the memory's entry.
    """
    if degree == "exp":
        return overlaps.softmax(-1), torch.full_like(overlaps[..., :1], -math.tanh(1))
    here, up, down = (_power((overlaps + shift) / _scale(d), degree) for shift in (0, 2, -2))
    return (up - down) / 2, (here - (up + down) / 2).sum(-1, keepdim=True)


def _turn(spin: Tensor, felt: Tensor, rounding: Tensor) -> Tensor:
    """Follow the sign of what is felt. The sign of a sum below its rounding error means nothing: such a spin stays."""
    return torch.copysign(spin, torch.where(felt.abs() > rounding, felt, spin))


def _power(base: Tensor, degree: int) -> Tensor:
    """A whole power by multiplication: exact as long as the numbers are whole and fit the dtype."""
    return reduce(torch.mul, [base] * degree)


def _scale(d: int) -> int:
    """The power of two that overlaps are divided by: no power of them overflows, and the division is exact."""
    return 2 ** math.ceil(math.log2(d + 2))


def _visits(state: Tensor, generator: torch.Generator | None) -> list[int]:
    d = state.shape[-1]
    return list(range(d)) if generator is None else torch.randperm(d, generator=generator).tolist()


@torch.no_grad()
def _settle(
    state: Tensor, all_at_once: Callable[[Tensor], Tensor], one_by_one: Callable[[Tensor], Tensor], mode: Mode, max_steps: int
) -> Recall:
    """Sweep until each state repeats itself. A state that has come to rest is not touched again."""
    check_choice("mode", mode, ("asynchronous", "synchronous"))
    check_count("max_steps", max_steps, least=0)
    sweep = one_by_one if mode == "asynchronous" else all_at_once
    steps = torch.zeros(state.shape[:-1], dtype=torch.int64, device=state.device)
    period, moving = torch.zeros_like(steps), torch.ones_like(steps, dtype=torch.bool)
    state, before = state.detach(), torch.zeros_like(state)  # before the first sweep there is no state to return to
    for _ in range(max_steps):
        if not bool(moving.any()):
            break
        after = sweep(state)
        rests, returns = (after == state).all(-1), (after == before).all(-1)
        period = torch.where(moving & returns, 2, torch.where(moving & rests, 1, period))
        moving = moving & ~rests & ~returns
        before, state = (torch.where(moving[..., None], new, old) for new, old in ((state, before), (after, state)))
        steps = steps + moving
    return Recall(state, steps, period)


def _check_rows(name: str, rows: Tensor) -> None:
    if rows.ndim < 2 or 0 in rows.shape[-2:]:
        raise ValueError(f"{name} has shape {tuple(rows.shape)}; expected [*batch, m, d] with m >= 1 and d >= 1")
    check_floating(**{name: rows})
    check_finite(**{name: rows})


def _check_network(state: Tensor, weights: Tensor, field: Tensor | None) -> None:
    check_states("state", state, "weights", weights)
    if weights.shape[-2] != weights.shape[-1]:
        raise ValueError(f"weights has shape {tuple(weights.shape)}; expected [*batch, d, d]")
    if bool(((weights - weights.mT).abs() > 8 * torch.finfo(weights.dtype).eps * weights.abs().max()).any()):
        raise ValueError("weights are not symmetric; expected weights[j, k] == weights[k, j]")
    if bool(weights.diagonal(dim1=-2, dim2=-1).any()):
        raise ValueError("weights couple a spin to itself; expected a zero diagonal")
    if field is None:
        return
    check_floating(state=state, field=field)
    check_finite(field=field)
    try:
        fits = torch.broadcast_shapes(field.shape, state.shape) == state.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"field has shape {tuple(field.shape)}; expected one that broadcasts to {tuple(state.shape)}")


def _check_dense(state: Tensor, memory: Tensor, degree: Degree) -> None:
    check_states("state", state, "memory", memory)
    _check_degree(degree)
    _check_spins("state", state)
    _check_spins("memory", memory)


def _check_spins(name: str, spins: Tensor) -> None:
    if bool((spins.abs() != 1).any()):
        raise ValueError(f"{name} has entries other than -1 and 1; expected spins")


def _check_degree(degree: Degree) -> None:
    if degree != "exp":
        if isinstance(degree, str):
            raise ValueError(f'degree is {degree!r}; expected "exp" or an integer of at least 2')
        check_count("degree", degree, least=2)
