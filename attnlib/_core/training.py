"""The loop of a training: the optimiser, its schedule, gradients that are held, and what may be watched."""

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

from attnlib._core.checks import check_count, check_number

Lesson = TypeVar("Lesson")

FASTEST = 1e3
"""The highest learning rate: no network survives a step of Adam that long."""


def learn(
    model: nn.Module,
    lessons: Iterable[Lesson],
    loss_of: Callable[[Lesson], Tensor],
    name: str,
    steps: int,
    learning_rate: float,
    clip: float | int,
    watch: Callable[[int], None] | None,
    warm_up: int | None = None,
) -> list[float]:
    """Adam on the loss of every lesson; settings are checked here, and an error says that a lesson or the rate may be wrong."""
    learning_rate, clip = check_number("learning_rate", learning_rate, above=0), check_number("clip", clip, above=0)
    if learning_rate > FASTEST:
        raise ValueError(f"learning_rate is {learning_rate}; expected at most {FASTEST:g}")
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    warm = max(1, steps // 20) if warm_up is None else check_count("warm_up", warm_up, 0, steps)

    def rate(step: int) -> float:
        return (step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    losses: list[float] = []
    watch = watch or (lambda step: None)
    watch(0)
    for lesson in lessons:
        try:
            loss = loss_of(lesson)
        except ValueError as error:
            cause = f", or learning_rate {learning_rate:g} is too high" if losses else ""
            raise ValueError(f"{name} has something that cannot be learnt from{cause}: {error}") from error
        optimiser.zero_grad()
        loss.backward()
        _clip(list(model.parameters()), clip)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        watch(len(losses))
    return losses


def _clip(parameters: list[nn.Parameter], most: float) -> None:
    """Hold the gradient's norm to at most this, in place; also one that overflows, of which torch would leave nothing."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    if not torch.isfinite(norm):
        largest = max(gradient.abs().amax() for gradient in gradients if gradient.numel())
        for gradient in gradients:
            gradient.mul_(most / largest)
        norm = nn.utils.get_total_norm(gradients)
    nn.utils.clip_grads_with_norm_(parameters, most, norm)
