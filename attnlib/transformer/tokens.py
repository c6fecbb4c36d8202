"""The check of what goes into a block: tokens of the right width, dtype and device, with finite numbers."""

import torch
from torch import Tensor

from attnlib._core.autocast import autocasting
from attnlib._core.checks import check_floating, check_tensors
from attnlib._core.numerics import differentiable
from attnlib._core.values import check_finite, refuted


def check_tokens(x: Tensor, dim: int | None, weight: Tensor | None = None) -> Tensor:
    """Return x ``[*batch, n, dim]`` ready for a gradient; raise ValueError on another width, dtype or device, or on a NaN.

    Under autocast x and the weight may have different dtypes.
    """
    check_tensors(x=x)
    if x.ndim < 2 or (dim is not None and x.shape[-1] != dim):
        raise ValueError(f"x has shape {tuple(x.shape)}; expected [*batch, n, {'dim' if dim is None else dim}]")
    check_floating(x=x, **({} if weight is None or autocasting(x.device) else {"weight": weight}))
    check_finite(x=x)
    return differentiable(x) if torch.is_grad_enabled() else x


def check_some_token(mask: Tensor) -> None:
    """Raise where a mask ``[*batch, n]`` says that all of a text is padding."""
    if refuted(lambda: mask.any(-1).all()):
        raise ValueError("mask leaves no token of a text; expected at least one, all else being padding")
