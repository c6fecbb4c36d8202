"""Texts for films under one noise: a second start for each text, and what the films say in a row."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attnlib._core.checks import check_number
from attnlib.transformer.bar import with_bar
from attnlib.transformer.examination import NoiseReading
from attnlib.transformer.noise import films_under_noise, nearby_starts
from attnlib.transformer.run import Run

TEXTS, FILMS, STEPS, BEFORE, LAST = 8, 16, 300, 100, 100
"""How many texts go on under noise, under how many noises, for how many steps; those before an exponent, those of a law."""


def sizes(noises: Sequence[float | int], *, tied: bool) -> list[float]:
    """The sizes of noise that were asked for; raise where they are none, or where no block can go on."""
    if isinstance(noises, str | bytes | Tensor) or not isinstance(noises, Sequence):
        raise ValueError(f"noises is a {type(noises).__name__}; expected a tuple or list of numbers")
    found = [check_number("noises", one, least=0) for one in noises]
    if found and not tied:
        raise ValueError(f"noises is {tuple(found)}, and the stack has blocks of their own; expected a tied stack, or ()")
    return found


def read_noises(
    embed: Callable[[Tensor], Tensor], run: Run, tokens: Tensor, noises: Sequence[float], *, progress: bool
) -> tuple[NoiseReading, ...]:
    """A row for each size of noise: the first texts, each with its partner, go on from the first state."""
    if not noises:
        return ()
    starts = torch.stack([run.x[:TEXTS], _others(embed, run, tokens)])
    mask = run.real[:TEXTS] if run.masked else None
    rows = []
    for sigma in with_bar(noises, "noises", progress):
        try:
            found = films_under_noise(run.stack, starts, sigma, mask=mask, films=FILMS, steps=STEPS, last=LAST)
            growth = nearby_starts(run.stack, starts[0], sigma, mask=mask, steps=STEPS)[BEFORE:]
        except ValueError as error:
            raise ValueError(f"noises has {sigma:g}, and the block cannot go on so: {error}") from error
        law, over = (None if one is None else _mean(one) for one in (found.law, found.law_over_error))
        rows.append(NoiseReading(sigma, _mean(growth), _mean(found.apart), _mean(found.met), law, over))
    return tuple(rows)


def _others(embed: Callable[[Tensor], Tensor], run: Run, tokens: Tensor) -> Tensor:
    """For each text the state of the next one with the same tokens real, or of itself read backwards."""
    real, chosen = run.real, tokens.reshape(*run.real.shape, *tokens.shape[len(run.lead) :])[:TEXTS].clone()
    found = run.x[:TEXTS].clone()
    alone = []
    for text in range(len(found)):
        alike = [(text + k) % len(real) for k in range(1, len(real)) if (real[(text + k) % len(real)] == real[text]).all()]
        if alike:
            found[text] = run.x[alike[0]]
        else:
            alone.append(text)
            places = real[text].nonzero()[:, 0]
            chosen[text, places] = chosen[text, places.flip(0)]
    if alone:
        found[alone] = embed(chosen[alone]).to(found)
    return found


def _mean(numbers: Tensor) -> float:
    return float(numbers.double().mean())
