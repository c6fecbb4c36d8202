"""Softmax over random scores, the random energy model: where it freezes, and its averages without sampling."""

import math
import sys
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import Scalar, check_beta, check_choice, check_count, check_floating, check_number, check_vectors
from attnlib._core.numerics import open_mask, widened
from attnlib._core.values import check_result, check_visible, refuted
from attnlib.softmax.records import RandomEnergy

WIDEST = 40.0
"""The integrals of :func:`random_energy` take four seconds at this standard deviation and grow with its square."""


def freezing_scale(m: int) -> float:
    r"""Standard deviation of independent Gaussian scores at which softmax over m of them freezes.

    .. math:: \sigma_c = \sqrt{2 \ln m}

    Below it, as m grows, ever more keys share the weight; above it a few hold a finite share. Returns a number in units of
    ``1/beta``. Raises ValueError unless ``m >= 1``.

    Source: Derrida 1981, the critical temperature of the random energy model.

    >>> round(freezing_scale(128), 3)
    3.115
    """
    return math.sqrt(2 * math.log(check_count("m", m)))


def relative_spread(
    scores: Float[Tensor, "*batch m"], *, beta: Scalar = 1.0, mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch"]:
    r"""How far scores are spread at inverse temperature beta, in units of the spread at which as many Gaussian scores freeze.

    .. math:: \frac{\beta}{\sqrt{2 \ln m}} \sqrt{\frac1m \sum_i (s_i - \bar s)^2}, \qquad \bar s = \frac1m \sum_i s_i

    Far below one the softmax of Gaussian scores is nearly uniform, far above one it is nearly one-hot. Of a trained model it
    says whether the scale is too hot or too cold; in a long context look at the entropy too: one of a thousand scores that
    stands far above the rest takes nine tenths of the weight at a spread of 0.1.

    Args:
        scores: ``[*batch, m]``, finite, ``m >= 2``.
        beta: as for :func:`softmax`, but finite.
        mask: boolean, broadcasts to the scores; True means: takes part. Then m counts what does, in each row.

    Returns:
        ``[*batch]``, without a unit. Where all scores are equal it is 0 and has the gradient 0.

    Raises:
        ValueError: as :func:`softmax`; also a row in which less than two scores take part, and a spread that overflows.

    Source: the scale is that of :func:`freezing_scale`.

    >>> scores = torch.randn(1000, 128, generator=torch.Generator().manual_seed(0))
    >>> round(relative_spread(3.115 * scores).mean().item(), 2)  # nearly one: 128 have .996 of the spread they are drawn with
    1.0
    """
    check_vectors("scores", scores)
    beta = check_beta(beta, limits=(0,), like=scores, shape=scores.shape[:-1])
    seen = open_mask(mask, scores.shape, "error", scores)
    wide = widened(scores)
    allowed = torch.ones_like(wide, dtype=torch.bool) if seen.allowed is None else seen.allowed.expand(wide.shape)
    count = allowed.sum(-1)
    if scores.shape[-1] < 2 or refuted(lambda: (count > 1).all()):
        raise ValueError("scores, or what the mask leaves of them, have a row with less than two; expected at least two")
    part = torch.where(allowed, wide, 0.0)
    size = part.detach().abs().amax(-1, keepdim=True)
    share = part / torch.where(size > 0, size, 1.0)  # no square overflows
    mean = share.sum(-1, keepdim=True) / count[..., None]
    variance = torch.where(allowed, share - mean, 0.0).square().sum(-1) / count
    spread = size[..., 0] * torch.where(variance > 0, torch.where(variance > 0, variance, 1.0).sqrt(), 0.0)
    found = beta * spread / (2 * count.to(wide.dtype).log()).sqrt()
    return check_result(found.to(scores.dtype)[..., None], "scores are, or beta is,")[..., 0]


def freezing_width(m: int, *, beta: float | int = 1.0, entries: Literal["gaussian", "sign"] = "gaussian") -> float:
    r"""Width d of query and keys above which softmax(beta q.k) over m keys freezes.

    .. math:: d_c = \frac{\ln m}{\beta^2 / 2} \quad \text{(Gaussian entries)}, \qquad
        d_c = \frac{\ln m}{\beta \tanh \beta - \ln \cosh \beta} \quad \text{(entries of } \pm 1)

    The denominator is what one component pays, in the large-deviation rate of a key's score, to reach the score that
    dominates the partition function.

    Args:
        m: number of keys, at least 1.
        beta: a finite number above zero.
        entries: ``"gaussian"`` (independent, of unit variance) or ``"sign"`` (independent, plus or minus one).

    Raises:
        ValueError: ``m < 1``, ``beta <= 0`` or so small that the width overflows, unknown entries.

    >>> round(freezing_width(1000), 2), round(freezing_width(1000, entries="sign"), 2)
    (13.82, 21.07)
    """
    keys = math.log(check_count("m", m))
    beta = check_number("beta", beta, above=0)
    check_choice("entries", entries, ("gaussian", "sign"))
    rate = _rate(beta) if entries == "sign" else beta * min(beta, 1e150) / 2
    if keys > rate * sys.float_info.max:
        raise ValueError(f"beta is {beta}; expected a larger one: the width overflows")
    return keys / rate if keys else 0.0


def _rate(beta: float | int) -> float:
    """The large-deviation rate of a sum of signs at the tilt beta, ``beta tanh(beta) - ln cosh(beta)``."""
    if beta < 0.01:  # where the difference would cancel
        return beta**2 / 2 - beta**4 / 4 + beta**6 / 9
    cold = min(beta, 30.0)  # where the rate is ln 2 to double precision
    return cold * math.tanh(cold) - math.log1p(math.sinh(cold) ** 2) / 2


def random_energy(m: int, sigma: Float[Tensor, "*batch"] | float | int) -> RandomEnergy:
    r"""Softmax over m independent Gaussian scores of standard deviation sigma, averaged over the scores without sampling.

    With ``G(t) = E exp(-t exp(s))`` of one score,

    .. math:: E \ln Z = \int_0^\infty \frac{e^{-t} - G(t)^m}{t}\,dt, \qquad
        E Y_2 = m \int_0^\infty t\, G''(t)\, G(t)^{m-1}\,dt, \qquad E H = E \ln Z - \sigma^2 (1 - E Y_2)

    .. math:: E Y_2^2 = \frac m6 \int_0^\infty t^3 \big[ G''''(t)\, G(t)^{m-1} + (m - 1)\, G''(t)^2\, G(t)^{m-2} \big] dt

    Args:
        m: number of scores, at least 1.
        sigma: a number or tensor ``[*batch]`` between 0 and 40; the results differentiate in it.

    Returns:
        :class:`RandomEnergy` of sigma's shape and dtype (torch's default dtype for a number), computed in float64 to about
        twelve digits; the variance to as many digits of ``E Y2^2``. Memory grows with sigma, time with its square: some 50
        milliseconds at sigma = 20, 200 at 40.

    Raises:
        ValueError: ``m < 1``, a sigma that is not a number or a floating tensor, or lies outside 0 to 40.

    Source: the model is Derrida 1981; Gaussian integration by parts gives the entropy. Beyond freezing the variance tends to
    ``Y (1 - Y) / 3`` as m grows, Y being the limit of ``E Y2``: Derrida and Toulouse 1985.

    >>> random_energy(1000, torch.tensor([1.0, 3.0, 9.0])).participation  # that two draws agree, through the freezing
    tensor([0.0027, 0.1361, 0.6450])
    """
    m = check_count("m", m, most=10**300)
    sigmas = sigma if isinstance(sigma, Tensor) else torch.tensor(check_number("sigma", sigma), device="cpu")
    check_floating(sigma=sigmas)
    check_visible(sigma=sigmas)
    if refuted(lambda: ((sigmas >= 0) & (sigmas <= WIDEST)).all()):
        raise ValueError(f"sigma is {sigma}; expected numbers between 0 and {WIDEST:g}")
    each = [_random_energy(m, one) for one in sigmas.double().flatten()]
    found = torch.stack(each) if each else sigmas.new_empty(0, 3, dtype=torch.float64)
    log_partition, participation, square = found.reshape(*sigmas.shape, 3).unbind(-1)
    average = log_partition - sigmas.double() ** 2 * (1 - participation)
    variance = (square - participation**2).clamp(min=0.0)
    return RandomEnergy(*(x.to(sigmas.dtype) for x in (log_partition, average, participation, variance)))


def _random_energy(m: int, sigma: Tensor) -> Tensor:
    """E ln Z, E Y2 and E Y2^2 by the trapezoidal rule in u = ln t and in the scores.

    Every integrand is analytic and bounded for imaginary parts below pi/2, whatever m, and falls off fast at both ends. So the
    rule converges exponentially in 1/step, and the steps follow from the number of digits. ``1 - G`` is a sum of positive
    terms, which keeps its relative precision where m multiplies it.
    """
    many = float(m)  # an integer of any size
    digits = 40 + math.log(many)  # of the natural logarithm: e^-40 relative to 1/m
    u, step, terms, gauss = _on_one_grid(sigma, digits) or _on_two_grids(sigma, digits)
    # at t = e^u: 1 - G, and t^2 and t^4 times its second and fourth derivative
    missing, curvature, fourth = torch.cat([part @ (gauss / gauss.sum()) for part in terms.split(256, 1)], -1)
    log_g = torch.log1p(-missing.clamp(max=1 - 1e-16))
    log_partition = step * (torch.exp(-u.exp()) - torch.exp(many * log_g)).sum()
    participation = step * many * (curvature * torch.exp((many - 1) * log_g)).sum()
    one_key = many * fourth * torch.exp((many - 1) * log_g)
    two_keys = (1 - 1 / many) * (many * curvature * torch.exp((many / 2 - 1) * log_g)) ** 2
    return torch.stack([log_partition, participation, step * (one_key + two_keys).sum() / 6])


Grids = tuple[Tensor, float, Tensor, Tensor]
"""Places u and their step, terms ``[3, u, scores]`` at each of them, and weights of the scores before they are normalised."""
COARSEST = 0.25
"""The step of u."""


def _on_two_grids(sigma: Tensor, digits: float) -> Grids:
    """Scores as finely as a narrow Gaussian asks."""
    reach, spread = math.sqrt(2 * digits), sigma.item()
    x = torch.arange(-reach, reach, math.pi * math.sqrt(2 / digits), dtype=torch.float64, device=sigma.device)
    u = torch.arange(-spread * reach - digits, 9 * spread + 4, COARSEST, dtype=torch.float64, device=sigma.device)
    return u, COARSEST, _terms(u[:, None] + sigma * x), torch.exp(-(x**2) / 2)


def _on_one_grid(sigma: Tensor, digits: float) -> Grids | None:
    """Scores on the grid of u, as finely as the terms ask: these depend on ``u + s`` alone and are computed once for all u.

    None where the Gaussian is so narrow that it asks for more.
    """
    reach, spread, finest = math.sqrt(2 * digits), sigma.item(), math.pi**2 / digits
    if spread * math.pi * math.sqrt(2 / digits) < finest:
        return None
    every = max(1, int(COARSEST / finest))
    low, high = math.floor((-spread * reach - digits) / finest), math.ceil((9 * spread + 4) / finest)
    wide = math.ceil(spread * reach / finest)
    y = finest * torch.arange(low - wide, high + wide + 1, dtype=torch.float64, device=sigma.device)
    x = finest * torch.arange(-wide, wide + 1, dtype=torch.float64, device=sigma.device) / sigma
    gauss = torch.exp(-(x**2) / 2)
    return y[wide : len(y) - wide : every], every * finest, _terms(y).unfold(1, 2 * wide + 1, every), gauss


def _terms(y: Tensor) -> Tensor:
    """What is averaged over scores s, of ``y = ln t + s`` and ``w = e^y``: ``1 - e^-w``, ``w^2 e^-w``, ``w^4 e^-w``."""
    w = y.clamp(max=40.0).exp()
    square = w**2 * torch.exp(-w)
    return torch.stack([-torch.expm1(-w), square, w**2 * square])
