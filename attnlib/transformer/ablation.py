"""What a head is worth: the loss where it says its mean to every token, instead of what it reads."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from attnlib.attention import Heads, Mixer

Loss = Callable[[Tensor], Tensor]
"""A loss of logits ``[*batch, n, words]``."""


@contextmanager
def replaced(mixer: Mixer, heads: Sequence[int], means: Tensor) -> Iterator[None]:
    """Within the block one head of the mixer says the same to every query, another one in each part of the batch.

    ``heads``: those heads, counted from 0. ``means [len(heads), d]``: what they say. The batch has a part for each of them.
    """
    before = mixer.mix

    def mix(given: Heads) -> Tensor:
        mixed = before(given).clone()
        for part, head, mean in zip(mixed.chunk(len(heads)), heads, means, strict=True):
            part[..., head, :, :] = mean.to(mixed)
        return mixed

    kept = mixer.__dict__.get("mix")
    mixer.__dict__["mix"] = mix
    try:
        yield
    finally:
        del mixer.__dict__["mix"]
        if kept is not None:
            mixer.__dict__["mix"] = kept


def standard_loss(targets: Tensor) -> Loss:
    """The mean cross entropy in nats of targets ``[*batch, n]``; -100 where nothing is asked. ValueError: what is no word."""

    def loss(logits: Tensor) -> Tensor:
        rows, wanted = logits.flatten(0, -2), targets.flatten()
        strange = wanted[(wanted != -100) & ((wanted < 0) | (wanted >= rows.shape[-1]))]
        if strange.numel():
            last = rows.shape[-1] - 1
            raise ValueError(f"targets has {int(strange[0])}; expected 0 to {last}, or -100 where nothing is asked")
        return torch.nn.functional.cross_entropy(rows.float() if rows.dtype != torch.float64 else rows, wanted)

    return loss


def next_tokens(tokens: Tensor, real: Tensor) -> Tensor:
    """The token that follows each, ``[*batch, n]``; -100 at the last and where padding follows or asks."""
    targets = torch.full_like(tokens, -100, dtype=torch.long)
    asked = real[..., 1:] & real[..., :-1]
    targets[..., :-1] = torch.where(asked, tokens[..., 1:].long(), -100)
    return targets
