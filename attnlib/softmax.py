"""Softmax as a Boltzmann distribution over scores: weights, their smooth maximum, their Jacobian (chapter 1)."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._checks import Empty, Scalar, check_beta, check_finite, check_floating, usable_rows


def softmax(
    scores: Float[Tensor, "*batch m"],
    *,
    beta: Scalar = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
) -> Float[Tensor, "*batch m"]:
    r"""Boltzmann weights of states with energies ``-scores`` at inverse temperature beta.

    .. math:: p_i = \exp(\beta s_i) / \sum_j \exp(\beta s_j)

    Args:
        scores: ``[*batch, m]``, finite, ``m >= 1``.
        beta: a number in ``[0, inf]`` or a finite tensor that broadcasts to ``[*batch, 1]``: one per row. ``0`` gives
            uniform weights, ``inf`` shares the weight among the largest scores; both have finite gradients.
        mask: boolean, broadcasts to the scores; True means: takes part.
        empty: a row in which nothing takes part is an ``"error"`` (default) or gives ``"zero"`` weights.

    Returns:
        Weights ``[*batch, m]`` of the scores' dtype; they sum to one along the last axis.

    Raises:
        ValueError: non-finite or empty scores, negative or NaN beta, a mask of the wrong kind, an empty row.

    The maximum is subtracted before the exponential, and half precision is computed in float32 inside: no score overflows.

    Source: Bridle 1990.

    >>> softmax(torch.tensor([0.0, 1.0]), beta=0)
    tensor([0.5000, 0.5000])
    """
    _check_scores(scores)
    check_beta(beta, limits=True, like=scores, shape=(*scores.shape[:-1], 1))
    rows = None if mask is None else usable_rows(mask, tuple(scores.shape), empty)
    weights = _softmax(_wide(scores), beta, mask).to(scores.dtype)
    return weights if rows is None else torch.where(rows, weights, 0.0)


def _softmax(scores: Tensor, beta: Scalar, mask: Tensor | None) -> Tensor:
    """Softmax without checks; an empty row gives finite weights that the caller replaces."""
    if _is(beta, 0):
        exponent = 0 * scores
    elif _is(beta, math.inf):
        exponent = _fill(0 * scores, scores >= _top(scores, mask))
    else:
        exponent = _capped(beta, scores) * (scores - _top(scores, mask))
    return _fill(exponent, mask).softmax(-1)


def smooth_max(
    scores: Float[Tensor, "*batch m"],
    *,
    beta: Scalar = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
) -> Float[Tensor, "*batch"]:
    r"""The smooth maximum of the scores: minus the free energy of states with energies ``-scores``.

    .. math:: \frac1\beta \ln \sum_i \exp(\beta s_i), \qquad \max_i s_i \le \cdot \le \max_i s_i + \frac{\ln m}{\beta}

    Its gradient with respect to the scores is ``softmax(scores, beta=beta)``.

    Args:
        scores: ``[*batch, m]``, finite, ``m >= 1``.
        beta: a number in ``(0, inf]``, or a finite positive tensor that broadcasts to ``[*batch]``. ``inf`` is the maximum.
        mask: boolean, broadcasts to the scores; True means: takes part.
        empty: a row in which nothing takes part is an ``"error"`` (default) or gives ``"zero"``.

    Returns:
        ``[*batch]``, in the units of the scores.

    Raises:
        ValueError: as :func:`softmax`; also ``beta = 0``, where the free energy diverges.

    Source: Ramsauer et al. 2021, eq. (1) with its definition of lse.
    """
    _check_scores(scores)
    if not _is(beta, math.inf):
        check_beta(beta, like=scores, shape=tuple(scores.shape[:-1]))
    rows = None if mask is None else usable_rows(mask, tuple(scores.shape), empty)
    value = _smooth_max(_wide(scores), beta, mask).to(scores.dtype)
    return value if rows is None else torch.where(rows.squeeze(-1), value, 0.0)


def _smooth_max(scores: Tensor, beta: Scalar, mask: Tensor | None) -> Tensor:
    """The smooth maximum without checks; an empty row gives a finite number that the caller replaces."""
    if _is(beta, math.inf):
        return _fill(scores, mask).amax(-1)
    top, beta = _top(scores, mask), _capped(beta, scores)
    return top.squeeze(-1) + _fill(_column(beta) * (scores - top), mask).logsumexp(-1) / beta


def softmax_jacobian(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m m"]:
    r"""Covariance of a one-hot draw from the weights, and the derivative of softmax at beta = 1.

    .. math:: \partial p_i / \partial s_j = p_i \delta_{ij} - p_i p_j

    At another beta the derivative is beta times this. Takes weights ``[*batch, m]``, returns ``[*batch, m, m]``, which is
    symmetric, positive semidefinite, and has the constant vector in its kernel.

    Raises:
        ValueError: non-finite or empty weights.
    """
    _check_scores(weights, "weights")
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def _check_scores(scores: Tensor, name: str = "scores") -> None:
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"{name} has shape {tuple(scores.shape)}; expected [*batch, m] with m >= 1")
    check_floating(**{name: scores})
    check_finite(**{name: scores})


def _top(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Largest score that takes part, as a constant: softmax does not depend on it."""
    return _fill(scores.detach(), mask).amax(-1, keepdim=True)


def _fill(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Put the lowest finite number where the mask is False: its exponential is zero, and no difference is NaN."""
    return scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def _wide(tensor: Tensor) -> Tensor:
    """Half precision as float32, so that a score beyond 65504 does not overflow; the rest as it is."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _is(beta: Scalar, limit: float | int) -> bool:
    return not isinstance(beta, Tensor) and beta == limit


def _capped(beta: Scalar, scores: Tensor) -> Scalar:
    """A number that the scores' dtype can hold: infinity times a difference of zero would be NaN."""
    return beta if isinstance(beta, Tensor) else min(beta, torch.finfo(scores.dtype).max)


def _column(beta: Scalar) -> Scalar:
    """One inverse temperature per row of scores, as a column beside them."""
    return beta[..., None] if isinstance(beta, Tensor) and beta.ndim else beta
