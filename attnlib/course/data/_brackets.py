"""Random strings with balanced brackets, drawn and weighed by a transfer matrix.

A string of letters and brackets has the weight ``w^pairs``, w being the weight of a pair, and zero if its brackets do not
balance, hold nothing, or nest deeper than :data:`DEEPEST`. Strings of one length are drawn in proportion to it. What has been
written so far matters only through a state: how many brackets are open, and whether the last token has opened one.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

LETTER, OPEN, CLOSE = 0, 1, 2
"""The kinds of token of a fragment."""

DEEPEST = 2
"""So many brackets may be open at once."""

STATES = 2 * (DEEPEST + 1)
"""Two for each number of open brackets: the second one right after a bracket has opened."""


def transfer() -> Float[Tensor, "kinds states states"]:
    """One where a token of a kind leads from a state to a state, else zero. The first state is where strings start and end."""
    leads = torch.zeros(3, STATES, STATES, dtype=torch.float64)
    for depth in range(DEEPEST + 1):
        for opened in (0, 1) if depth else (0,):
            here = 2 * depth + opened
            leads[LETTER, here, 2 * depth] = 1
            if depth < DEEPEST:
                leads[OPEN, here, 2 * depth + 3] = 1
            if depth and not opened:
                leads[CLOSE, here, 2 * depth - 2] = 1
    return leads


def weighed(kinds: Float[Tensor, "*batch length kinds"]) -> Float[Tensor, "*batch"]:
    """The summed weight of all balanced strings, where place k has weight ``kinds[k, c]`` for a token of kind c."""
    state = torch.zeros(*kinds.shape[:-2], STATES, dtype=torch.float64)
    state[..., 0] = 1
    steps = torch.einsum("...lc,cst->...lst", kinds, transfer())
    for step in steps.unbind(-3):
        state = (state.unsqueeze(-2) @ step).squeeze(-2)
    return state[..., 0]


def totals(letters: int, pair: float | int, longest: int) -> Float[Tensor, "lengths states"]:
    """The summed weight of all ways to end a string, by the number of tokens that are left and the state."""
    step = torch.einsum("c,cst->st", torch.tensor([letters, pair, 1.0], dtype=torch.float64), transfer())
    found = [torch.eye(STATES, dtype=torch.float64)[0]]
    for _ in range(longest):
        found.append(step @ found[-1])
    return torch.stack(found)


def draw_kinds(
    lengths: Int[Tensor, "count"], letters: int, pair: float | int, longest: int, generator: torch.Generator | None
) -> Int[Tensor, "count {longest}"]:
    """The kinds of token of one string for each length; beyond its length nothing is meant."""
    left, leads = totals(letters, pair, longest), transfer()
    weight = torch.tensor([letters, pair, 1.0], dtype=torch.float64)
    state, kinds = torch.zeros_like(lengths), []
    for place in range(longest):
        to_go = (lengths - place - 1).clamp(min=0)
        ahead = torch.einsum("csi,ni->ncs", leads, left[to_go])  # what is left to write, after a token of each kind
        chance = ahead.gather(-1, state[:, None, None].expand(-1, 3, 1))[..., 0] * weight
        chance[place >= lengths] = 1.0
        # who comes first, at these rates: what torch.multinomial draws differs from version to version
        waits = -torch.log1p(-torch.rand(chance.shape, generator=generator, dtype=chance.dtype))
        kind = (chance / waits).argmax(-1)
        state = torch.where(place < lengths, leads[kind, state].argmax(-1), state)
        kinds.append(kind)
    return torch.stack(kinds, -1)


def entropy_of(length: int, letters: int, pair: float | int) -> float:
    r"""Entropy of a string of a length, in nats: ``ln Z - <pairs> ln w``, with the mean number of pairs ``d ln Z / d ln w``."""
    field = torch.tensor(math.log(pair), dtype=torch.float64, requires_grad=True)
    place = torch.stack([torch.full_like(field, letters), field.exp(), torch.ones_like(field)])
    partition = weighed(place.expand(length, 3)).log()
    (pairs,) = torch.autograd.grad(partition, field)
    return float(partition.detach() - pairs * field.detach())
