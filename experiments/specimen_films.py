"""Tied blocks of page 7d's networks that go on for hundreds of steps under noise: what films forget, and what their law does.

Nothing to run here: ``driven_specimens.py`` asks for it.
"""

from collections.abc import Callable
from typing import Any

import torch
from examinations import Asked
from torch import Tensor

from attnlib.transformer import LanguageModel, lyapunov_exponent

Step = Callable[[Tensor, Tensor], Tensor]
"""The next state ``[..., count, n, dim]`` of a state and of noise of that shape."""


def step_of(model: LanguageModel, real: Tensor, sigma: float) -> Step:
    """A step of a tied block whose input is shaken: each token by sigma times its own root mean square."""
    kept = real[..., None]

    def step(x: Tensor, noise: Tensor) -> Tensor:
        shaken = x + sigma * x.square().mean(-1, keepdim=True).sqrt() * noise if sigma else x
        flat = torch.where(kept, shaken, 0.0).flatten(0, -3)
        rows = real.expand(x.shape[:-1]).flatten(0, -2)
        return torch.where(kept, model.stack.step(flat, 0, mask=rows[:, None]).reshape(x.shape), 0.0)

    return step


def exponent(
    model: LanguageModel, start: Tensor, real: Tensor, sigma: float, settings: dict[str, Any], seed: int
) -> list[float]:
    """The rate at which films under one noise part or meet, for each string: ``[count]``."""
    generator, step = torch.Generator().manual_seed(seed), step_of(model, real, sigma)

    def moved(flat: Tensor) -> Tensor:
        x = flat.reshape(start.shape)
        return step(x, torch.randn(start.shape, generator=generator)).flatten(1)

    burn, steps = settings["exponent"]
    return lyapunov_exponent(moved, start.flatten(1), steps=steps, burn_in=burn).tolist()


def pairs_of(network: str, settings: dict[str, Any]) -> tuple[Asked, Tensor]:
    """Strings in pairs of one length, and places ``[pairs, 2]`` of theirs."""
    asked = Asked(network, settings, 20 * settings["pairs"])
    lengths, pairs, waiting = asked.real.sum(-1).tolist(), [], {}
    for place, length in enumerate(lengths):
        if length in waiting:
            pairs.append([waiting.pop(length), place])
        else:
            waiting[length] = place
    return asked, torch.tensor(pairs[: settings["pairs"]])


def apart(one: Tensor, other: Tensor) -> Tensor:
    """How far two states are apart, in units of their size: root mean squares over tokens and components."""
    size = (one.square() + other.square()).sum((-2, -1)) / 2
    return ((one - other).square().sum((-2, -1)) / size).sqrt()


def met(model: LanguageModel, network: str, sigma: float, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Films from two strings under one noise, and their law: how far apart, and in units of the law's sampling error.

    The law's means are over one half of the noises for the first string, over the other half for the second.
    """
    asked, pairs = pairs_of(network, settings)
    real = asked.real[pairs[:, 0]]  # alike in both
    noises = settings["noises"] if sigma else 1
    start = torch.where(real[:, :, None], model.embed(asked.tokens[pairs.T]), 0.0)  # [2, pairs, n, dim]
    x = start[:, None].expand(-1, noises, -1, -1, -1)
    step, generator = step_of(model, real, sigma), torch.Generator().manual_seed(seed)
    half, squared, expected, gap = noises // 2, 0.0, 0.0, 0.0
    for t in range(settings["steps"]):
        x = step(x, torch.randn(x.shape[1:], generator=generator).expand(x.shape))
        if sigma and t >= settings["steps"] - settings["last"]:
            one, other = x[0, :half], x[1, half:]
            difference = one.mean(0) - other.mean(0)
            gap = gap + apart(one.mean(0), other.mean(0)) / settings["last"]
            squared = squared + difference.square().sum((-2, -1))
            expected = expected + ((one.var(0) + other.var(0)) / half).sum((-2, -1))
    films = apart(*x)  # [noises, pairs]
    found = {"films": films.mean(0).tolist(), "met": (films < settings["close"]).double().mean(0).tolist()}
    if sigma:
        found |= {"law": gap.tolist(), "law over error": (squared / expected).sqrt().tolist()}
    return found


def films_of(model: LanguageModel, network: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """By sigma: exponents, films and the law."""
    asked, found = Asked(network, settings, settings["pairs"]), {}
    start = torch.where(asked.real[..., None], model.embed(asked.tokens), 0.0)
    for sigma in settings["sigmas"]:
        rate = exponent(model, start, asked.real, sigma, settings, seed)
        found[str(sigma)] = {"exponent": rate} | met(model, network, sigma, settings, seed)
    return found
