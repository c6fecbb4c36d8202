"""Training by teacher forcing: the optimiser, its schedule, and a loop that can be watched."""

import math
import os
from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib._checks import check_count, check_number
from attnlib.attention.seq2seq import PAD, Seq2Seq


@runtime_checkable
class Teaching(Protocol):
    """A batch to learn from, such as ``attnlib.data.Batch``: shapes are its, errors are those of the model that gets it."""

    source: Tensor
    mask: Tensor
    given: Tensor
    wanted: Tensor


def teach(
    model: Seq2Seq,
    batches: Callable[[], Iterable[Teaching]],
    steps: int,
    *,
    learning_rate: float = 3e-3,
    clip: float | int = 1.0,
    progress: str = "",
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Train by teacher forcing: Adam, a learning rate that warms up for a twentieth of the steps and then falls along a cosine.

    Args:
        model: trained in place.
        batches: called at the start of every pass over the data.
        steps: how many batches to learn from.
        learning_rate: its highest value.
        clip: the gradient's norm is cut to this.
        progress: name of a progress bar (needs tqdm); none is shown if empty.
        watch: called with the number of steps done, before the first and after each.

    Returns:
        The mean negative log-probability per word, step by step, in nats.

    Raises:
        ValueError: steps below 1, a learning rate or clip that is not above 0; batches that are empty.
    """
    steps, learning_rate = check_count("steps", steps), check_number("learning_rate", learning_rate, above=0)
    clip = check_number("clip", clip, above=0)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    warm = max(1, steps // 20)

    def rate(step: int) -> float:
        return (step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    losses: list[float] = []
    watch = watch or (lambda step: None)
    watch(0)
    for batch in _endless(batches, steps, progress):
        logits = model(batch.source, batch.given, batch.mask)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=PAD)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        watch(len(losses))
    return losses


def _endless(batches: Callable[[], Iterable[Teaching]], steps: int, progress: str) -> Iterable[Teaching]:
    """Pass over the data until so many batches were given."""

    def passes() -> Iterable[Teaching]:
        left = steps
        while left:
            before = left
            for batch in batches():
                yield batch
                left -= 1
                if not left:
                    return
            if left == before:
                raise ValueError("batches is empty; expected at least one batch")

    if not progress:
        return passes()
    from tqdm.auto import tqdm

    silent = os.environ.get("TQDM_DISABLE") == "1"  # tqdm's bars in notebooks do not look there themselves
    return tqdm(passes(), desc=progress, total=steps, disable=silent)
