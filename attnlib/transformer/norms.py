"""What the epsilon of a norm is worth beside what comes to it, and the temperature that would be the same."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnlib.transformer.examination import NormReading

PLACES = {"mixer": "mixer_norm", "feed_forward": "feed_forward_norm"}
"""The norms of a block: what each belongs to, and its name there."""


def norms_of(block: nn.Module) -> dict[str, nn.LayerNorm | nn.RMSNorm]:
    """The norms of a block that divide each token by a length of its own, by what they belong to."""
    found = {}
    for place, name in PLACES.items():
        norm = getattr(block, name, None)
        if isinstance(norm, nn.LayerNorm | nn.RMSNorm) and len(norm.normalized_shape) == 1:
            found[place] = norm
    return found


@contextmanager
def listening(block: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Within it, everything that comes to the norms of a block is kept, by what they belong to."""
    heard: dict[str, list[Tensor]] = {place: [] for place in norms_of(block)}
    hooks = []
    try:
        for place, norm in norms_of(block).items():
            hooks.append(norm.register_forward_pre_hook(lambda _, given, kept=heard[place]: kept.extend(given[:1])))
        yield heard
    finally:
        for hook in hooks:
            hook.remove()


def read_norms(block: nn.Module, heard: dict[str, list[Tensor]], real: Tensor, *, step: int, place: int) -> list[NormReading]:
    """A row for each norm that was asked once; ``real [batch, n]``: what is a token. Steps and places count from 1."""
    rows = []
    for name, norm in norms_of(block).items():
        came = heard[name]
        if len(came) == 1 and came[0].shape[:-1] == real.shape:
            rows.append(_read(name, norm, came[0], real, step, place))
    return rows


def _read(name: str, norm: nn.LayerNorm | nn.RMSNorm, came: Tensor, real: Tensor, step: int, place: int) -> NormReading:
    wide, epsilon = came.double(), norm.eps
    if epsilon is None:  # an RMSNorm's own
        epsilon = torch.finfo(came.dtype).eps
    k = (wide.var(-1, correction=0) if isinstance(norm, nn.LayerNorm) else wide.square().mean(-1))[real]
    share = torch.where(k + epsilon > 0, epsilon / (k + epsilon), 0.0)
    mean = float(k.mean())
    temperature = epsilon / (mean + epsilon) ** 0.5 if mean + epsilon > 0 else 0.0
    return NormReading(step, place, name, mean, epsilon, float(share.mean()), temperature)
