"""What the epsilon of a norm is worth beside what comes to it, and the temperature that would be the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnlib._core.checks import check_floating, check_kind, check_tensors
from attnlib._core.values import check_visible
from attnlib.transformer.examination import NormReading
from attnlib.transformer.stack import Stack

PLACES = {"mixer": "mixer_norm", "feed_forward": "feed_forward_norm"}
"""The norms of a block: what each belongs to, and its name there."""


def norm_readings(
    stack: Stack, x: Float[Tensor, "*batch n dim"], *, mask: Bool[Tensor, "*batch n"] | None = None
) -> tuple[NormReading, ...]:
    """What the epsilon of each norm in a stack is worth beside what comes to it, step by step.

    Read are a block's ``mixer_norm`` and ``feed_forward_norm``, as :class:`Block` has them, where they are layer norms or
    ``torch.nn.RMSNorm`` over the last axis and are asked once in a step. The formula is that of :class:`NormReading`.

    Args:
        stack: the blocks. It is run as it is, without gradients.
        x: what comes to the first, ``[*batch, n, dim]``.
        mask: ``[*batch, n]``, True for what is a token and no padding, which counts nowhere.

    Returns:
        A row for each norm at each step; none of blocks without norms, and none of no tokens.

    Raises:
        ValueError: what is no stack, x that is not ``[*batch, n, dim]``, a mask that does not fit, and what the blocks
            raise.

    Source: :class:`NormReading` says it.

    >>> from attnlib.attention import SoftmaxAttention
    >>> from attnlib.transformer import Block
    >>> rows = norm_readings(Stack(Block(SoftmaxAttention(4), epsilon=0.5), steps=2), torch.tensor([[[1.0, 1.0, -1.0, -1.0]]]))
    >>> [(row.step, row.norm) for row in rows], round(rows[0].share, 4)  # of a variance of one
    ([(1, 'mixer'), (2, 'mixer')], 0.3333)
    """
    check_kind("stack", stack, Stack, "a Stack")
    check_floating(x=x)
    check_visible(x=x)
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise ValueError(f"x has shape {tuple(x.shape)}; expected [*batch, n, dim] with n >= 1 and dim >= 1")
    real = torch.ones(x.shape[:-1], dtype=torch.bool, device=x.device)
    if mask is not None:
        check_tensors(mask=mask)
        check_visible(mask=mask)
        if mask.dtype != torch.bool or mask.shape != real.shape or mask.device != x.device:
            came = f"mask is {mask.dtype} of shape {tuple(mask.shape)} on {mask.device}"
            raise ValueError(f"{came}; expected booleans {tuple(real.shape)} on {x.device}")
        real = mask
    rows = []
    with torch.no_grad():
        for step in range(stack.steps):
            place = 0 if stack.tied else step
            with listening(stack.blocks[place]) as heard:
                x = stack.step(x, step, mask=None if mask is None else mask.unsqueeze(-2))
            rows += read_norms(stack.blocks[place], heard, real, step=step + 1, place=place + 1)
    return tuple(rows)


def norms_of(block: nn.Module) -> dict[str, nn.LayerNorm | nn.RMSNorm]:
    """The norms of a block that divide each token by a length of its own, by what they belong to."""
    found = {}
    for place, name in PLACES.items():
        norm = getattr(block, name, None)
        if isinstance(norm, nn.LayerNorm | nn.RMSNorm) and len(norm.normalized_shape) == 1:
            found[place] = norm
    return found


def _keep(kept: list[Tensor], norm: nn.Module, given: tuple[Any, ...]) -> None:
    kept.extend(given[:1])


@contextmanager
def listening(block: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Within it, everything that comes to the norms of a block is kept, by what they belong to."""
    heard: dict[str, list[Tensor]] = {place: [] for place in norms_of(block)}
    hooks = []
    try:
        for place, norm in norms_of(block).items():
            hooks.append(norm.register_forward_pre_hook(partial(_keep, heard[place])))
        yield heard
    finally:
        for hook in hooks:
            hook.remove()


def read_norms(block: nn.Module, heard: dict[str, list[Tensor]], real: Tensor, *, step: int, place: int) -> list[NormReading]:
    """A row for each norm that was asked once; ``real [*batch, n]``: what is a token. Steps and places count from 1."""
    rows = []
    for name, norm in norms_of(block).items():
        came = heard[name]
        if len(came) == 1 and came[0].shape[:-1] == real.shape and real.any():
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
