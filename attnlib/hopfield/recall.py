"""Recall: sweeps that let each spin take the value its network's energy prefers, until nothing changes."""

import math
from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_choice, check_count, check_generator
from attnlib._core.numerics import widened
from attnlib._core.values import check_signs, check_visible
from attnlib.hopfield.associative import Degree, check_dense, check_network, pulls
from attnlib.hopfield.records import Recall

Mode = Literal["asynchronous", "synchronous"]
"""Spins one after the other, each seeing the changes before it, or all at once."""


def classical_recall(
    state: Float[Tensor, "*batch n d"],
    J: Float[Tensor, "*batch d d"],
    h: Float[Tensor, "..."] | None = None,
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
        J, h: as in :func:`classical_energy`.
        mode: ``"asynchronous"`` visits the spins one after the other, ``"synchronous"`` turns them all at once.
        max_steps: how many sweeps at most, default 100. A state that is still moving then comes back with period 0.
        generator: where asynchronous sweeps draw the order of their visits from, one order for all probes; default the
            spins' own order.

    Returns:
        :class:`Recall`, with states ``[*batch, n, d]``.

    Raises:
        ValueError: as :func:`classical_energy`; also states other than -1 and 1, another mode, ``max_steps < 0``.

    Source: Hopfield 1982.

    >>> from attnlib.hopfield import hebb_weights
    >>> pattern = torch.tensor([[1.0, 1.0, -1.0, -1.0, 1.0]])
    >>> spoiled = torch.tensor([[1.0, 1.0, -1.0, -1.0, -1.0]])
    >>> classical_recall(spoiled, hebb_weights(pattern)).state
    tensor([[ 1.,  1., -1., -1.,  1.]])
    """
    check_network(state, J, h)
    check_visible(state=state)
    check_signs("state", state)
    _check_sweeps(mode, max_steps, generator)
    kept, state, J = state.dtype, widened(state), widened(J)
    outside = torch.zeros_like(state[..., :1, :]) if h is None else widened(h).expand_as(state)
    eps = torch.finfo(kept).eps
    rounding = eps * math.sqrt(state.shape[-1]) * (J.abs().sum(-2, keepdim=True) + outside.abs())

    def all_at_once(state: Tensor) -> Tensor:
        return _turn(state, state @ J + outside, rounding)

    def one_by_one(state: Tensor) -> Tensor:
        columns = state.mT.clone(memory_format=torch.contiguous_format)  # one row per spin, changed in place
        spins, fields, limits = (t.unsqueeze(-2).unbind(-3) for t in (columns, outside.mT, rounding.mT))
        rows = J.unsqueeze(-2).unbind(-3)
        for k in _visits(state, generator):
            spins[k].copy_(_turn(spins[k], rows[k] @ columns + fields[k], limits[k]))
        return columns.mT

    return _settle(state, all_at_once, one_by_one, mode, max_steps, kept)


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

    >>> memory = torch.tensor([[1.0, 1.0, -1.0, -1.0, 1.0], [-1.0, 1.0, 1.0, -1.0, -1.0]])
    >>> spoiled = torch.tensor([[1.0, 1.0, -1.0, -1.0, -1.0]])
    >>> dense_recall(spoiled, memory, degree="exp").state  # the first memory again
    tensor([[ 1.,  1., -1., -1.,  1.]])
    """
    check_dense(state, memory, degree)
    check_visible(state=state)
    _check_sweeps(mode, max_steps, generator)
    kept, state, memory = state.dtype, widened(state), widened(memory)
    d, eps = state.shape[-1], torch.finfo(state.dtype).eps

    def all_at_once(state: Tensor) -> Tensor:
        pull, own = pulls(state @ memory.mT, degree, d)
        return _turn(state, pull @ memory + own * state, eps * pull.abs().sum(-1, keepdim=True))

    def one_by_one(state: Tensor) -> Tensor:
        state = state.clone()
        overlaps = state @ memory.mT
        pull, own = pulls(overlaps, degree, d)
        rounding = eps * pull.abs().sum(-1, keepdim=True)
        for k in _visits(state, generator):
            spin, column = state[..., k : k + 1], memory[..., k : k + 1]
            new = _turn(spin, pull @ column + own * spin, rounding)
            turned = (new != spin)[..., 0]
            if bool(turned.any()):  # only the probes that turned this spin need new overlaps
                overlaps[turned] += 2 * (new * column.mT)[turned]
                pull[turned], own[turned] = pulls(overlaps[turned], degree, d)
                rounding[turned] = eps * pull[turned].abs().sum(-1, keepdim=True)
                spin.copy_(new)
        return state

    return _settle(state, all_at_once, one_by_one, mode, max_steps, kept)


def _turn(spin: Tensor, felt: Tensor, rounding: Tensor) -> Tensor:
    """Follow the sign of what is felt. The sign of a sum below its rounding error means nothing: such a spin stays."""
    return torch.copysign(spin, torch.where(felt.abs() > rounding, felt, spin))


def _visits(state: Tensor, generator: torch.Generator | None) -> list[int]:
    d = state.shape[-1]
    return list(range(d)) if generator is None else torch.randperm(d, generator=generator, device=generator.device).tolist()


@torch.no_grad()
def _settle(
    state: Tensor,
    all_at_once: Callable[[Tensor], Tensor],
    one_by_one: Callable[[Tensor], Tensor],
    mode: Mode,
    max_steps: int,
    kept: torch.dtype,
) -> Recall:
    """Sweep until each state repeats itself. A state that has come to rest is not touched again."""
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
    return Recall(state.to(kept), steps, period)


def _check_sweeps(mode: Mode, max_steps: int, generator: torch.Generator | None) -> None:
    check_choice("mode", mode, ("asynchronous", "synchronous"))
    check_count("max_steps", max_steps, least=0)
    check_generator(generator)
