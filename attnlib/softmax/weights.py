"""Softmax as a Boltzmann distribution over scores: weights, free energy, Jacobian, entropy, and sparsemax beside it."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import Empty, Scalar, check_beta, check_vectors
from attnlib._core.numerics import boltzmann, capped, column, open_mask, soft_maximum, widened
from attnlib._core.spectra import eigenvalues
from attnlib._core.values import check_result, refuted


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
        beta: a number in ``[0, inf]``, or a finite tensor that broadcasts to ``[*batch]``: one for each distribution. ``0``
            gives uniform weights, ``inf`` shares the weight among the largest scores; both have finite gradients.
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
    check_vectors("scores", scores)
    beta = check_beta(beta, limits=(0, math.inf), like=scores, shape=scores.shape[:-1])
    seen = open_mask(mask, scores.shape, empty, scores)
    return seen.close(boltzmann(widened(scores), beta, seen.allowed).to(scores.dtype))


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

    >>> scores = torch.tensor([0.0, 1.0, 3.0])
    >>> [round(smooth_max(scores, beta=beta).item(), 3) for beta in (0.5, 2, 10)]  # falls towards the largest score
    [3.929, 3.01, 3.0]
    """
    check_vectors("scores", scores)
    beta = check_beta(beta, limits=(math.inf,), like=scores, shape=scores.shape[:-1])
    seen = open_mask(mask, scores.shape, empty, scores)
    value = soft_maximum(widened(scores), beta, seen.allowed)[..., None].to(scores.dtype)
    return check_result(seen.close(value)[..., 0], "scores are, or 1/beta is,")


def softmax_jacobian(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m m"]:
    r"""Covariance of a one-hot draw from the weights, and the derivative of softmax at beta = 1.

    .. math:: \partial p_i / \partial s_j = p_i \delta_{ij} - p_i p_j

    At another beta the derivative is beta times this. Takes weights ``[*batch, m]``, returns ``[*batch, m, m]``, which is
    symmetric, positive semidefinite, and has the constant vector in its kernel.

    Raises:
        ValueError: weights that are not finite, are negative, or do not sum to one.

    >>> softmax_jacobian(torch.tensor([0.75, 0.25]))
    tensor([[ 0.1875, -0.1875],
            [-0.1875,  0.1875]])
    """
    _check_weights(weights)
    return _covariance(widened(weights)).to(weights.dtype)


def softmax_jacobian_norm(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""Spectral norm of :func:`softmax_jacobian`: how far the weights can move per unit of change in the scores.

    .. math:: \max_i p_i (1 - p_i) \le \lambda_{\max} \le 2 \max_i p_i (1 - p_i) \le \tfrac12

    Takes weights ``[*batch, m]``, returns ``[*batch]``; it diagonalises an ``[m, m]`` matrix for each row.

    Raises:
        ValueError: weights that are not finite, are negative, or do not sum to one.

    >>> softmax_jacobian_norm(torch.tensor([[0.5, 0.5], [0.9, 0.1]]))  # what is nearly decided hardly moves
    tensor([0.5000, 0.1800])
    """
    _check_weights(weights)
    return eigenvalues(_covariance(widened(weights)))[..., -1].to(weights.dtype)


def entropy(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""Entropy of the weights in nats, between 0 (one key has everything) and ``ln m`` (all share equally).

    .. math:: H = -\sum_i p_i \ln p_i, \qquad 0 \ln 0 = 0

    Takes weights ``[*batch, m]``, returns ``[*batch]``. A weight of exactly zero contributes no gradient, so that the
    entropy of a masked softmax differentiates.

    Raises:
        ValueError: weights that are not finite, are negative, or do not sum to one.

    >>> entropy(torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.97, 0.01, 0.01, 0.01]]))
    tensor([1.3863, 0.1677])
    """
    _check_weights(weights)
    wide = widened(weights)
    return -(wide * torch.where(wide > 0, wide, 1.0).log()).sum(-1).to(weights.dtype)


def participation_ratio(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""The chance that two draws from the weights agree, between ``1/m`` and 1.

    .. math:: Y_2 = \sum_i p_i^2

    Takes weights ``[*batch, m]``, returns ``[*batch]``. Raises ValueError on weights that are not finite, are negative, or do
    not sum to one.

    >>> participation_ratio(torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0]]))
    tensor([0.2500, 0.5000])
    """
    _check_weights(weights)
    return widened(weights).square().sum(-1).to(weights.dtype)


def effective_number(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""How many keys share the weight: the number of equal weights that would have the same participation ratio.

    .. math:: 1 / Y_2 = 1 / \sum_i p_i^2

    Takes weights ``[*batch, m]``, returns ``[*batch]``.

    Raises:
        ValueError: weights that are not finite, are negative, or do not sum to one.

    >>> effective_number(torch.tensor([0.5, 0.5, 0.0]))
    tensor(2.)
    """
    _check_weights(weights)
    return (1 / widened(weights).square().sum(-1)).to(weights.dtype)


def sparsemax(scores: Float[Tensor, "*batch m"], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch m"]:
    r"""The probability vector nearest to the scores: unlike softmax it reaches zero, and one, at finite scores.

    .. math:: p = \arg\min_{p \in \Delta} |p - \beta s|^2 = \max(\beta s - \tau, 0), \qquad \sum_i p_i = 1

    Args:
        scores: ``[*batch, m]``, finite, ``m >= 1``.
        beta: a finite number above zero, or a tensor that broadcasts to ``[*batch]``: one for each distribution.

    Returns:
        Weights ``[*batch, m]`` of the scores' dtype.

    Raises:
        ValueError: non-finite or empty scores, ``beta <= 0``.

    Source: Martins and Astudillo 2016, algorithm 1.

    >>> sparsemax(torch.tensor([2.0, 1.0, 0.5]))
    tensor([1., 0., 0.])
    """
    check_vectors("scores", scores)
    beta = check_beta(beta, like=scores, shape=scores.shape[:-1])
    wide = widened(scores)
    below = wide - wide.detach().amax(-1, keepdim=True)
    shifted = (capped(column(beta), wide) * below).clamp(min=-2.0)  # one below the top is out
    ordered = shifted.sort(-1, descending=True).values
    sums, rank = ordered.cumsum(-1), torch.arange(1, scores.shape[-1] + 1, device=scores.device)
    kept = (1 + rank * ordered > sums).sum(-1, keepdim=True)
    threshold = (sums.gather(-1, kept - 1) - 1) / kept
    return (shifted - threshold).clamp(min=0.0).to(scores.dtype)


def _covariance(weights: Tensor) -> Tensor:
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def _check_weights(weights: Tensor) -> None:
    check_vectors("weights", weights)
    if refuted(lambda: (weights >= 0).all()):
        raise ValueError("weights has negative entries; expected weights, which are not")
    slack = max(1e-3, torch.finfo(weights.dtype).eps ** 0.5)
    if refuted(lambda: ((widened(weights).sum(-1) - 1).abs() <= slack).all()):
        raise ValueError("weights has a row that does not sum to one; expected probabilities")
