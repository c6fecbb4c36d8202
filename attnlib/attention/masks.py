"""Masks: which keys each query may attend to. True means: may be attended to."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnlib._core.checks import WHOLE, check_count, check_device, check_tensors
from attnlib._core.numerics import causal_order
from attnlib._core.values import refuted


def causal_mask(n: int, m: int | None = None, *, device: torch.device | str | None = None) -> Bool[Tensor, "queries keys"]:
    """Let query i attend to keys 0..i: a boolean ``[n, m]``, lower triangular, ``m = n`` unless given.

    With ``m > n`` the last query is aligned with the last key, as when earlier keys are cached.

    Raises:
        ValueError: a number that is not an integer of at least 1, or ``m < n`` (the first queries would see nothing).

    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    n = check_count("n", n)
    check_device(device)
    return causal_order(n, n if m is None else check_count("m", m, least=n), device)


def padding_mask(lengths: Int[Tensor, "batch"], m: int) -> Bool[Tensor, "batch 1 {m}"]:
    """Let only the first ``lengths[b]`` of m keys be attended to, by every query: a boolean ``[batch, 1, m]``.

    For queries with heads, ``[batch, heads, n, d]``, give :func:`attend` the mask as ``padding_mask(lengths, m)[:, None]``;
    the modules do this themselves.

    Raises:
        ValueError: lengths that are not integers in ``[0, m]``.

    >>> padding_mask(torch.tensor([1, 3]), 3)
    tensor([[[ True, False, False]],
    <BLANKLINE>
            [[ True,  True,  True]]])
    """
    m = check_count("m", m)
    check_tensors(lengths=lengths)
    if lengths.ndim != 1 or lengths.dtype not in WHOLE:
        raise ValueError(f"lengths is {lengths.dtype} of shape {tuple(lengths.shape)}; expected integers [batch]")
    if refuted(lambda: ((lengths >= 0) & (lengths <= m)).all()):
        raise ValueError(
            f"lengths run from {int(lengths.min())} to {int(lengths.max())}; expected 0 <= lengths <= {m}, which is m"
        )
    return torch.arange(m, device=lengths.device) < lengths[:, None, None]
