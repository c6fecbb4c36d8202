"""What several rooms compute with, without checks: widening, columns, masks without empty rows, the masked softmax, attention.

One rule for a tensor beta: one inverse temperature for each distribution, of the shape of the free energies, ``[*batch, n]``.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import dropout as drop

from attnlib._core.autocast import autocasting
from attnlib._core.checks import Empty, Scalar, check_broadcast, check_choice, check_flag, check_tensors
from attnlib._core.fused import fused
from attnlib._core.transforms import in_forward_mode
from attnlib._core.values import refuted, verdict

COLD = 1e20
"""Beyond this inverse temperature a fused kernel's product of beta and a score may overflow; the explicit formula does not."""
STEEP = 2.0**-7
"""Rounding of ``beta`` times a score beyond which a fused kernel does not differentiate: see :func:`is_steep`."""


def widened(tensor: Tensor) -> Tensor:
    """Half precision as float32, so that a score beyond 65504 does not overflow; the rest as it is."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def differentiable(tensor: Tensor) -> Tensor:
    """A tensor that a gradient can pass through: no gradient passes through one that was made in inference mode."""
    if torch.compiler.is_compiling() or not tensor.is_inference():
        return tensor
    with torch.inference_mode(False):
        return tensor.clone()


def inverse_of(factor: Tensor) -> Tensor:
    """The inverse of a matrix from its Cholesky factor. Torch's own has a wrong forward derivative (2.6 to 2.13)."""
    if in_forward_mode():
        eye = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
        return torch.cholesky_solve(eye.expand(factor.shape), factor)
    return torch.cholesky_inverse(factor)


def column(beta: Scalar) -> Scalar:
    """One inverse temperature per distribution, as a column beside what it multiplies."""
    return beta.unsqueeze(-1) if isinstance(beta, Tensor) and beta.ndim else beta


def is_limit(beta: Scalar, limit: float | int) -> bool:
    """Whether beta is this number; a tensor never is."""
    return not isinstance(beta, Tensor) and beta == limit


def filled(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Put the lowest finite number where the mask is False: its exponential is zero, and no difference is NaN."""
    return scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def lengths(rows: Tensor) -> Tensor:
    """Euclidean lengths along the last axis, with no square that overflows or vanishes."""
    scale = rows.detach().abs().amax(-1, keepdim=True)
    scale = torch.where(scale > 0, scale, 1.0)
    return (rows / scale).norm(dim=-1) * scale[..., 0]


# Masks


@dataclass(frozen=True)
class Mask:
    """A mask in which every row allows something, and what to put where a row of the caller's allowed nothing."""

    allowed: Tensor | None = None
    causal: bool = False
    """Whether the causal order is still to be applied; only where ``allowed`` is None."""
    rows: Tensor | None = None
    """Which rows allow something, as a boolean column ``[*rows, 1]``; None if all do."""
    fill: float = 0.0

    def whole(self, n: int, m: int, device: torch.device) -> Tensor | None:
        """What may be attended to, the causal order included: a boolean that broadcasts to ``[*batch, n, m]``, or None."""
        return causal_order(n, m, device) if self.causal else self.allowed

    def close(self, result: Tensor) -> Tensor:
        """Put the fill in the rows that may not attend to anything: result is ``[*batch, n, c]``."""
        return result if self.rows is None else torch.where(self.rows, result, self.fill)


def open_mask(mask: Tensor | None, shape: tuple[int, ...], empty: Empty, like: Tensor, causal: bool = False) -> Mask:
    """Check a mask and open its empty rows, so that no formula meets one; :meth:`Mask.close` replaces what they give.

    With ``empty="zero"`` such rows give zeros. With ``"error"`` they raise, or give NaN where no value can be seen.

    Raises:
        ValueError: the mask is not boolean, on another device, does not broadcast to the shape, or has an empty row; the
            causal order with fewer keys than queries.
    """
    check_choice("empty", empty, ("error", "zero"))
    check_flag(causal=causal)
    if causal and shape[-2] > shape[-1]:
        raise ValueError(f"causal is True with {shape[-2]} queries and {shape[-1]} keys; expected at least as many keys")
    if mask is None:
        return Mask(causal=causal)
    check_tensors(mask=mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}; expected torch.bool (True: may be attended to)")
    check_broadcast("mask", mask, shape, like.device)
    if causal:
        mask = causal_order(shape[-2], shape[-1], like.device) & mask
    rows = torch.atleast_1d(mask).any(-1, keepdim=True)
    full = verdict(lambda: rows.all())
    if full:
        return Mask(mask)
    if full is False and empty == "error":
        raise ValueError('mask has a row that allows nothing; expected one True per row, or empty="zero"')
    return Mask(mask | ~rows, rows=rows, fill=0.0 if empty == "zero" else math.nan)


def causal_order(n: int, m: int, device: torch.device | str | None) -> Tensor:
    """Query i sees the keys up to its own place, the last query all of them: ``[n, m]``."""
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


# Softmax


def boltzmann(scores: Tensor, beta: Scalar, mask: Tensor | None = None) -> Tensor:
    """Softmax of ``beta`` times the scores along the last axis; every row of the mask allows something."""
    if is_limit(beta, 0):
        exponent = 0 * scores
    elif is_limit(beta, math.inf):
        exponent = filled(0 * scores, scores >= _top(scores, mask))
    else:
        exponent = scores - _top(scores, mask)
        if isinstance(beta, Tensor):
            exponent = exponent.clamp(min=torch.finfo(scores.dtype).min)  # a temperature of zero times infinity is NaN
        exponent = capped(column(beta), scores) * exponent
    return filled(exponent, mask).softmax(-1)


def soft_maximum(scores: Tensor, beta: Scalar, mask: Tensor | None = None) -> Tensor:
    """The smooth maximum ``logsumexp(beta scores) / beta`` along the last axis; every row of the mask allows something."""
    if is_limit(beta, math.inf):
        return filled(scores, mask).amax(-1)
    top, beta = _top(scores, mask), capped(beta, scores)
    return top.squeeze(-1) + filled(column(beta) * (scores - top), mask).logsumexp(-1) / beta


def capped(beta: Scalar, scores: Tensor) -> Scalar:
    """An inverse temperature that the scores' dtype can hold: infinity times a difference of zero would be NaN."""
    most = torch.finfo(scores.dtype).max
    if not isinstance(beta, Tensor):
        return min(float(beta), most)
    return beta if beta.dtype == scores.dtype else beta.to(scores.dtype).clamp(max=most)


def _top(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Largest score that takes part, as a constant: softmax does not depend on it."""
    return filled(scores.detach(), mask).amax(-1, keepdim=True)


# Attention


def attention_weights_of(query: Tensor, key: Tensor, beta: Scalar, seen: Mask, score_bias: Tensor | None = None) -> Tensor:
    """The weights of the keys for each query, ``[*batch, n, m]``, in single precision or better, also under autocast."""
    with torch.autocast(query.device.type, enabled=False) if autocasting(query.device) else nullcontext():
        query, key = widened(query), widened(key)
        scores = query @ key.to(query.dtype).mT
        scores = scores if score_bias is None else scores + score_bias
        return boltzmann(scores, beta, seen.whole(scores.shape[-2], scores.shape[-1], scores.device))


def attention_average(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    beta: Scalar,
    seen: Mask,
    score_bias: Tensor | None = None,
    *,
    dropout: float | int = 0.0,
    explicit: bool = False,
) -> Tensor:
    """Average the values with the weights. The rows of an opened mask are left to :meth:`Mask.close`.

    Torch's fused attention where it can be used. The explicit formula where it is asked for (it differentiates more than
    once), in forward mode, which a fused kernel does not know, and at the temperatures, widths and scores where one fails.
    """
    beta, dropout = beta if isinstance(beta, Tensor) else float(beta), float(dropout)
    extreme = refuted(lambda: (beta < COLD).all()) if isinstance(beta, Tensor) else not 0 < beta < COLD
    explicit = explicit or extreme or value.shape[-1] == 0 or in_forward_mode()
    if explicit or (_differentiates(query, key, value) and is_steep(query, key, beta)):
        weights = attention_weights_of(query, key, beta, seen, score_bias)
        weights = drop(weights, dropout) if dropout else weights
        return (weights.to(widened(value).dtype) @ widened(value)).to(value.dtype)
    kept, scale = value.dtype, 1.0
    on_cpu = query.dtype == torch.float16 and query.device.type == "cpu"
    if isinstance(beta, Tensor) or score_bias is not None or on_cpu:
        query, key, value = widened(query), widened(key), widened(value)
    if isinstance(beta, Tensor):
        query = query * torch.as_tensor(column(beta), dtype=query.dtype)
    else:
        scale = float(beta)
    mask, causal = seen.allowed, seen.causal
    if causal and (score_bias is not None or query.shape[-2] != key.shape[-2]):
        mask, causal = seen.whole(query.shape[-2], key.shape[-2], query.device), False
    if score_bias is not None:
        field = column(beta) * score_bias.to(query.dtype)
        mask = field if mask is None else torch.where(mask, field, -math.inf)
    return fused(query, key, value, mask, causal, scale, dropout).to(kept)


def is_steep(query: Tensor, key: Tensor, beta: Scalar) -> bool:
    """Whether ``beta`` times a score can be so large that its last digit is no small change of a weight.

    For its gradient a fused kernel computes the weights a second time, from scores that are rounded anew, and with the
    sum of the first time: weights that no longer sum to one, and infinity where a score's last digit is large.
    """

    def gentle() -> bool:
        largest = [torch.linalg.vector_norm(tensor.detach(), math.inf) for tensor in (query, key) if tensor.numel()]
        hottest = beta.detach().abs().amax() if isinstance(beta, Tensor) else beta
        score = math.prod(float(one) for one in largest) * query.shape[-1] * float(hottest)
        return score * torch.finfo(widened(query).dtype).eps <= STEEP

    return refuted(gentle)


def _differentiates(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def kept(value: Tensor, moving: Tensor, done: Tensor) -> Tensor:
    """What a sample settled at, with the derivatives of one that went on; of a sample that did not settle, where it is now."""
    held = torch.where(value > -torch.inf, value.detach() + (moving - moving.detach()), value)
    return torch.where(done, held, moving)


def log_sum(terms: Tensor, axes: list[int]) -> Tensor:
    """``ln sum exp`` along axes; minus infinity, with a finite gradient, where all terms are."""
    top = terms.detach().amax(axes, keepdim=True)
    top = torch.where(top > -torch.inf, top, 0.0)
    total = (terms - top).exp().sum(axes)
    some = total > 0
    return torch.where(some, torch.where(some, total, 1.0).log() + top.squeeze(axes), -torch.inf)
