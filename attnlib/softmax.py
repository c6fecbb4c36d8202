"""Softmax as a Boltzmann distribution over scores: weights, free energy, Jacobian, parts, and where it freezes (chapter 1)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._checks import (
    Empty,
    Scalar,
    check_beta,
    check_choice,
    check_count,
    check_finite,
    check_floating,
    usable_rows,
)


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


def softmax_jacobian_norm(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""Spectral norm of :func:`softmax_jacobian`: how far the weights can move per unit of change in the scores.

    .. math:: \max_i p_i (1 - p_i) \le \lambda_{\max} \le 2 \max_i p_i (1 - p_i) \le \tfrac12

    Takes weights ``[*batch, m]``, returns ``[*batch]``; it diagonalises an ``[m, m]`` matrix for each row.

    Raises:
        ValueError: non-finite, negative or empty weights.
    """
    _check_weights(weights)
    return torch.linalg.eigvalsh(softmax_jacobian(_wide(weights)))[..., -1].to(weights.dtype)


def entropy(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""Entropy of the weights in nats, between 0 (one key has everything) and ``ln m`` (all share equally).

    .. math:: H = -\sum_i p_i \ln p_i, \qquad 0 \ln 0 = 0

    Takes weights ``[*batch, m]``, returns ``[*batch]``. A weight of exactly zero contributes no gradient, so that the
    entropy of a masked softmax differentiates.

    Raises:
        ValueError: non-finite, negative or empty weights.
    """
    _check_weights(weights)
    wide = _wide(weights)
    return -(wide * torch.where(wide > 0, wide, 1.0).log()).sum(-1).to(weights.dtype)


def participation_ratio(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""The chance that two draws from the weights agree, between ``1/m`` and 1.

    .. math:: Y_2 = \sum_i p_i^2

    Takes weights ``[*batch, m]``, returns ``[*batch]``. Raises ValueError on non-finite, negative or empty weights.
    """
    _check_weights(weights)
    return _wide(weights).square().sum(-1).to(weights.dtype)


def effective_number(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    r"""How many keys share the weight: the number of equal weights that would have the same participation ratio.

    .. math:: 1 / Y_2 = 1 / \sum_i p_i^2

    Takes weights ``[*batch, m]``, returns ``[*batch]``.

    Raises:
        ValueError: non-finite, negative or empty weights; a row of zeros.

    >>> effective_number(torch.tensor([0.5, 0.5, 0.0]))
    tensor(2.)
    """
    _check_weights(weights)
    squares = _wide(weights).square().sum(-1)
    if _any(squares == 0):
        raise ValueError("weights has a row of zeros; expected at least one positive weight per row")
    return (1 / squares).to(weights.dtype)


def sparsemax(scores: Float[Tensor, "*batch m"], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch m"]:
    r"""The probability vector nearest to the scores: unlike softmax it reaches zero, and one, at finite scores.

    .. math:: p = \arg\min_{p \in \Delta} |p - \beta s|^2 = \max(\beta s - \tau, 0), \qquad \sum_i p_i = 1

    Args:
        scores: ``[*batch, m]``, finite, ``m >= 1``.
        beta: a finite number above zero, or a tensor that broadcasts to ``[*batch, 1]``.

    Returns:
        Weights ``[*batch, m]`` of the scores' dtype.

    Raises:
        ValueError: non-finite or empty scores, ``beta <= 0``.

    Source: Martins and Astudillo 2016, algorithm 1.

    >>> sparsemax(torch.tensor([2.0, 1.0, 0.5]))
    tensor([1., 0., 0.])
    """
    _check_scores(scores)
    check_beta(beta, like=scores, shape=(*scores.shape[:-1], 1))
    wide = _wide(scores)
    shifted = (beta * (wide - wide.detach().amax(-1, keepdim=True))).clamp(min=-2.0)  # one below the top is out
    ordered = shifted.sort(-1, descending=True).values
    sums, rank = ordered.cumsum(-1), torch.arange(1, scores.shape[-1] + 1, device=scores.device)
    kept = (1 + rank * ordered > sums).sum(-1, keepdim=True)
    threshold = (sums.gather(-1, kept - 1) - 1) / kept
    return (shifted - threshold).clamp(min=0.0).to(scores.dtype)


@dataclass(frozen=True)
class PartialSoftmax:
    """What softmax attention over some of the keys leaves behind: average ``[*batch, n, c]``, log_partition ``[*batch, n]``.

    The log partition function is the logarithm of the sum of the exponentials. Nothing else is needed to add more keys.
    Half precision is kept as float32 here, so that merging does not round.
    """

    average: Float[Tensor, "*batch n c"]
    log_partition: Float[Tensor, "*batch n"]


def partial_softmax(
    scores: Float[Tensor, "*batch n m"], value: Float[Tensor, "*batch m c"], *, beta: float | int = 1.0
) -> PartialSoftmax:
    r"""Average the values of one part of the keys, and remember the logarithm of the sum of its Boltzmann factors.

    .. math:: a = \sum_j p_j v_j, \qquad p = \mathrm{softmax}(\beta s), \qquad \ln Z = \ln \sum_j e^{\beta s_j}

    Args:
        scores, value: ``[*batch, n, m]`` and ``[*batch, m, c]``, finite, of one dtype, ``m >= 1``.
        beta: a finite number above zero.

    Raises:
        ValueError: shapes that do not fit, mixed dtypes, non-finite entries, ``beta <= 0``.
    """
    check_beta(beta)
    expected = (*scores.shape[:-2], scores.shape[-1] if scores.ndim else 0)
    if scores.ndim < 2 or value.ndim < 2 or value.shape[:-1] != expected:
        shapes = f"scores has shape {tuple(scores.shape)} and value {tuple(value.shape)}"
        raise ValueError(f"{shapes}; expected [*batch, n, m] and [*batch, m, c]")
    _check_scores(scores)
    check_floating(scores=scores, value=value)
    check_finite(value=value)
    wide = _wide(scores)
    return PartialSoftmax(_softmax(wide, beta, None) @ _wide(value), beta * _smooth_max(wide, beta, None))


def merge(first: PartialSoftmax, second: PartialSoftmax) -> PartialSoftmax:
    r"""Softmax over both parts together: each part's average, weighted by the part's share of the partition function.

    .. math:: a = \frac{Z_1 a_1 + Z_2 a_2}{Z_1 + Z_2}, \qquad \ln Z = \ln(e^{\ln Z_1} + e^{\ln Z_2})

    The parts have the same shapes, ``[*batch, n, c]`` and ``[*batch, n]``. The order does not matter, and no exponential
    of a positive number is taken.

    Raises:
        ValueError: averages of different shapes.

    Source: Milakov and Gimelshein 2018, section 3.1, for the sums; here for normalised averages.
    """
    if first.average.shape != second.average.shape:
        shapes = f"first has averages of shape {tuple(first.average.shape)}, second of {tuple(second.average.shape)}"
        raise ValueError(f"{shapes}; expected the same shape")
    log_partition = torch.logaddexp(first.log_partition, second.log_partition)
    shares = [(part.log_partition - log_partition).exp()[..., None] for part in (first, second)]
    return PartialSoftmax(shares[0] * first.average + shares[1] * second.average, log_partition)


def online_softmax(parts: Iterable[tuple[Tensor, Tensor]], *, beta: float | int = 1.0) -> PartialSoftmax:
    """Softmax attention over keys that arrive in parts, each seen once and then forgotten.

    Args:
        parts: any iterable of scores ``[*batch, n, m]`` and values ``[*batch, m, c]``; m may differ from part to part.
        beta: a finite number above zero.

    Returns:
        The average of all values, ``[*batch, n, c]``, and the log partition function, ``[*batch, n]``.

    Raises:
        ValueError: no parts; otherwise as :func:`partial_softmax` and :func:`merge`.

    Source: Milakov and Gimelshein 2018; Rabe and Staats 2021.
    """
    states = (partial_softmax(scores, value, beta=beta) for scores, value in parts)
    start = next(states, None)
    if start is None:
        raise ValueError("parts is empty; expected at least one pair of scores and values")
    return reduce(merge, states, start)


def freezing_scale(count: int) -> float:
    r"""Standard deviation of independent Gaussian scores at which softmax over ``count`` of them freezes.

    .. math:: \sigma_c = \sqrt{2 \ln K}

    Below it, as K grows, ever more keys share the weight; above it a few hold a finite share. Returns a number in units of
    ``1/beta``. Raises ValueError unless ``count >= 1``.

    Source: Derrida 1981, the critical temperature of the random energy model.

    >>> round(freezing_scale(128), 3)
    3.115
    """
    check_count("count", count)
    return math.sqrt(2 * math.log(count))


def freezing_width(count: int, *, beta: float | int = 1.0, entries: str = "gaussian") -> float:
    r"""Width d of query and keys above which softmax(beta q.k) over ``count`` keys freezes.

    .. math:: d_c = \frac{\ln K}{\beta^2 / 2} \quad \text{(Gaussian entries)}, \qquad
        d_c = \frac{\ln K}{\beta \tanh \beta - \ln \cosh \beta} \quad \text{(entries of } \pm 1)

    The denominator is what one component pays, in the large-deviation rate of a key's score, to reach the score that
    dominates the partition function.

    Args:
        count: number of keys K, at least 1.
        beta: a finite number above zero.
        entries: ``"gaussian"`` (independent, of unit variance) or ``"sign"`` (independent, plus or minus one).

    Raises:
        ValueError: ``count < 1``, ``beta <= 0``, unknown entries.

    >>> round(freezing_width(1000), 2), round(freezing_width(1000, entries="sign"), 2)
    (13.82, 21.07)
    """
    check_count("count", count)
    check_beta(beta)
    check_choice("entries", entries, ("gaussian", "sign"))
    if entries == "gaussian":
        return 2 * math.log(count) / beta**2
    cold = min(beta, 30.0)  # where the rate is ln 2 to double precision
    return math.log(count) / (cold * math.tanh(cold) - math.log1p(math.sinh(cold) ** 2) / 2)


@dataclass(frozen=True)
class RandomEnergy:
    """Averages over Gaussian scores: log_partition ``E ln Z``, entropy ``E H``, participation ``E Y2``, each ``[*batch]``."""

    log_partition: Float[Tensor, "*batch"]
    entropy: Float[Tensor, "*batch"]
    participation: Float[Tensor, "*batch"]


def random_energy(count: int, sigma: Float[Tensor, "*batch"] | float | int) -> RandomEnergy:
    r"""Softmax over K independent Gaussian scores of standard deviation sigma, averaged over the scores without sampling.

    With ``G(t) = E exp(-t exp(s))`` of one score,

    .. math:: E \ln Z = \int_0^\infty \frac{e^{-t} - G(t)^K}{t}\,dt, \qquad
        E Y_2 = K \int_0^\infty t\, G''(t)\, G(t)^{K-1}\,dt, \qquad E H = E \ln Z - \sigma^2 (1 - E Y_2)

    Args:
        count: number of scores K, at least 1.
        sigma: a finite number or tensor ``[*batch]``, not negative; the results differentiate in it.

    Returns:
        :class:`RandomEnergy` of sigma's shape and dtype (torch's default dtype for a number), computed in float64 to about
        twelve digits. Memory grows with sigma, time with its square: a second at sigma = 20.

    Raises:
        ValueError: ``count < 1``, a negative or non-finite sigma.

    Source: the model is Derrida 1981; Gaussian integration by parts gives the entropy.
    """
    check_count("count", count)
    sigmas = sigma if isinstance(sigma, Tensor) else torch.tensor(float(sigma))
    if not sigmas.is_floating_point() or not bool((torch.isfinite(sigmas) & (sigmas >= 0)).all()):
        raise ValueError(f"sigma is {sigma}; expected finite floating point numbers, not negative")
    pairs = [_random_energy(count, one) for one in sigmas.double().flatten()]
    both = torch.tensor(pairs) if not pairs else torch.stack(pairs)
    log_partition, participation = both.reshape(*sigmas.shape, 2).unbind(-1)
    average = log_partition - sigmas.double() ** 2 * (1 - participation)
    return RandomEnergy(*(x.to(sigmas.dtype) for x in (log_partition, average, participation)))


def _random_energy(count: int, sigma: Tensor) -> Tensor:
    """E ln Z and E Y2 by the trapezoidal rule in u = ln t and in x = s / sigma.

    Every integrand is analytic and bounded for |Im(u + sigma x)| < pi/2, whatever K, and falls off fast at both ends. So the
    rule converges exponentially in 1/step, and the steps follow from the number of digits. ``1 - G`` is a sum of positive
    terms, which keeps its relative precision where K multiplies it.
    """
    many = float(count)  # an integer of any size
    digits = 40 + math.log(many)  # of the natural logarithm: e^-40 relative to 1/K
    reach, spread = math.sqrt(2 * digits), sigma.item()
    step = min(math.pi * math.sqrt(2 / digits), math.pi**2 / digits / max(spread, 1e-9))
    x = torch.arange(-reach, reach, step, dtype=torch.float64, device=sigma.device)
    u = torch.arange(-spread * reach - digits, 9 * spread + 4, 0.25, dtype=torch.float64, device=sigma.device)
    gauss = torch.exp(-(x**2) / 2) / torch.exp(-(x**2) / 2).sum()

    def single(u: Tensor) -> Tensor:  # 1 - G and t^2 G'' at t = e^u
        w = (u[:, None] + sigma * x).clamp(max=40.0).exp()
        return torch.stack([-torch.expm1(-w) @ gauss, (w**2 * torch.exp(-w)) @ gauss])

    missing, curvature = torch.cat([single(part) for part in u.split(256)], -1)
    log_g = torch.log1p(-missing.clamp(max=1 - 1e-16))
    log_partition = 0.25 * (torch.exp(-u.exp()) - torch.exp(many * log_g)).sum()
    participation = 0.25 * many * (curvature * torch.exp((many - 1) * log_g)).sum()
    return torch.stack([log_partition, participation])


def _check_scores(scores: Tensor, name: str = "scores") -> None:
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"{name} has shape {tuple(scores.shape)}; expected [*batch, m] with m >= 1")
    check_floating(**{name: scores})
    check_finite(**{name: scores})


def _check_weights(weights: Tensor) -> None:
    _check_scores(weights, "weights")
    if _any(weights < 0):
        raise ValueError("weights has negative entries; expected weights, which are not")


def _any(wrong: Tensor) -> bool:
    try:
        return not torch.compiler.is_compiling() and bool(wrong.any())
    except RuntimeError:  # torch.func.vmap: no value can be looked at
        return False


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
