"""Beam search: keep the most probable beginnings at every step, and of the ends return the best per word."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlib._core.numerics import widened

Step = Callable[[Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]]
"""Words ``[rows]`` and states, each ``[rows, ...]``, in; logits of the next words ``[rows, words]`` and new states out."""


def beam_search(
    step: Step,
    state: list[Tensor],
    *,
    begin: int,
    end: int,
    pad: int,
    width: int,
    longest: int,
    length_power: float | int,
) -> Tensor:
    """The best sentences found, ``[batch, n]``, padded after the end; states are ``[batch, ...]``, one row per sentence.

    No sentence says the token that begins one, nor padding before its end. A sentence of ``L`` tokens (its end counts) and
    log-probability ``l`` is worth ``l / L ** length_power``. Errors are those of the step.
    """
    batch, device = len(state[0]), state[0].device
    state = [rows.repeat_interleave(width, 0) for rows in state]
    total = torch.full((batch, width), -math.inf, dtype=widened(state[0]).dtype, device=device)
    total[:, 0] = 0.0  # all beams begin alike: count the beginning once
    done, length = torch.zeros_like(total, dtype=torch.bool), torch.zeros_like(total)
    said = torch.full((batch, width, 1), begin, device=device)
    for _ in range(longest):
        logits, state = step(said[:, :, -1].reshape(-1), state)
        gain = widened(logits).log_softmax(-1).unflatten(0, (batch, width))
        words = gain.shape[-1]
        number = torch.arange(words, device=device)
        stay = torch.where(number == pad, 0.0, -math.inf)  # an ended sentence goes on for free
        gain = torch.where((number == pad) | (number == begin), -math.inf, gain)
        total, choice = (total[..., None] + torch.where(done[..., None], stay.to(gain), gain)).flatten(1).topk(width)
        parent, word = choice // words, choice % words
        rows = (torch.arange(batch, device=device)[:, None] * width + parent).reshape(-1)
        state = [kept[rows] for kept in state]
        done, length = done.gather(1, parent), length.gather(1, parent)
        length = length + ~done
        said = torch.cat([said.gather(1, parent[..., None].expand_as(said)), word[..., None]], -1)
        done = done | (word == end)
        if done.all():
            break
    best = (total / length**length_power).argmax(1)
    return said[torch.arange(batch, device=device), best, 1:]
