"""Tied blocks of page 7d's networks that go on for hundreds of steps under noise: what films forget, and what their law does.

Nothing to run here: ``driven_specimens.py`` asks for it.
"""

from typing import Any

import torch
from examinations import Asked
from torch import Tensor

from attnlib.transformer import LanguageModel, films_under_noise, nearby_starts


def exponent(
    model: LanguageModel, start: Tensor, real: Tensor, sigma: float, settings: dict[str, Any], seed: int
) -> list[float]:
    """The rate at which films under one noise part or meet, for each string: ``[count]``."""
    generator, (burn, steps) = torch.Generator().manual_seed(seed), settings["exponent"]
    growth = nearby_starts(model.stack, start, sigma, mask=real, steps=burn + steps, generator=generator)
    return growth[burn:].mean(0).tolist()


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


def met(model: LanguageModel, network: str, sigma: float, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Films from two strings under one noise, and their law: how far apart, and in units of the law's sampling error."""
    asked, pairs = pairs_of(network, settings)
    found = films_under_noise(
        model.stack,
        model.embed(asked.tokens[pairs.T]),  # [2, pairs, n, dim]
        sigma,
        mask=asked.real[pairs[:, 0]],  # alike in both
        films=settings["noises"],
        steps=settings["steps"],
        last=settings["last"],
        close=settings["close"],
        generator=torch.Generator().manual_seed(seed),
    )
    read = {"films": found.apart, "met": found.met, "law": found.law, "law over error": found.law_over_error}
    return {name: one.tolist() for name, one in read.items() if one is not None}


def films_of(model: LanguageModel, network: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """By sigma: exponents, films and the law."""
    asked, found = Asked(network, settings, settings["pairs"]), {}
    start = torch.where(asked.real[..., None], model.embed(asked.tokens), 0.0)
    for sigma in settings["sigmas"]:
        rate = exponent(model, start, asked.real, sigma, settings, seed)
        found[str(sigma)] = {"exponent": rate} | met(model, network, sigma, settings, seed)
    return found
