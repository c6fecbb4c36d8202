"""State evolution: what approximate message passing will do at each step, known before it is run."""

import math

import torch

from attnlib._core.checks import check_count, check_dtype, check_kind, check_number
from attnlib.mean_field import Prior
from attnlib.message_passing.records import EvolutionRecord
from attnlib.message_passing.signals import seen_as_field

_MOST = 2**20
"""Points of an integral at most."""


def state_evolution(
    prior: Prior, delta: float | int, noise: float | int, *, steps: int = 20, dtype: torch.dtype | None = None
) -> EvolutionRecord:
    r"""Predict the error of :func:`amp` at each step, for many measurements of a signal with the given prior.

    .. math:: \tau_t^2 = \sigma^2 + \frac{\mathrm{mse}_t}{\delta}, \qquad
        \mathrm{mse}_{t+1} = \mathbb{E}\big[(\eta(X + \tau_t Z) - X)^2\big] = \mathbb{E}\, \mathrm{Var}(X \mid X + \tau_t Z)

    One number says everything: each component is seen with Gaussian noise of variance ``tau2``. Since the denoiser is the
    posterior mean, its error is the posterior variance, averaged over what is seen: one integral for each step, by the
    trapezoidal rule, refined until it no longer changes.

    Args:
        prior: what a component is, one component, such as ``Binary()`` or ``Sparse(0.1)``.
        delta: measurements for each component, ``m / n``, above 0.
        noise: variance of the noise of a measurement, above 0.
        steps: how many, at least 1.
        dtype: of the result; it is computed in double precision.

    Returns:
        :class:`EvolutionRecord`, ``[steps + 1]`` each; at the start nothing is known, and the error is the mean square.

    Raises:
        ValueError: numbers out of range, a prior that is none or has more components, an integral that a million points do not
            resolve (a signal that is very large, or very close to being known).

    Source: Donoho, Maleki and Montanari 2009; proved by Bayati and Montanari 2011.

    >>> from attnlib.mean_field import Binary
    >>> state_evolution(Binary(), 0.8, 0.04, steps=3).mse
    tensor([1.0000, 0.5282, 0.3354, 0.2064])
    """
    check_kind("prior", prior, Prior, "a Prior, such as Binary()")
    if prior.d != 1:
        raise ValueError(f"prior is {prior!r}, with {prior.d} components; expected one")
    delta, noise = check_number("delta", delta, above=0), check_number("noise", noise, above=0)
    steps, dtype = check_count("steps", steps), check_dtype(dtype)
    free = torch.zeros(1, 1, dtype=torch.float64, device="cpu")
    mse = [(prior.mean(free).square().sum() + prior.variance(free).sum()).item()]
    tau2 = [noise + mse[0] / delta]
    for _ in range(steps if math.isfinite(tau2[0]) else 0):
        mse.append(_error(prior, tau2[-1], mse[0]))
        tau2.append(noise + mse[-1] / delta)
    if not math.isfinite(tau2[0]) or tau2[0] > torch.finfo(dtype).max:
        raise ValueError(f"noise is {noise:.2g} and delta {delta:.2g}; expected numbers for which the prior's noise is finite")
    return EvolutionRecord(*(torch.tensor(one, dtype=torch.float64, device="cpu").to(dtype) for one in (tau2, mse)))


def _error(prior: Prior, tau2: float, size: float) -> float:
    """The posterior variance of a component that is seen with noise, averaged over what is seen."""
    tau = math.sqrt(tau2)
    reach, spacing = 12 * (math.sqrt(size) + tau), tau / 2
    before = math.nan
    while 2 * reach / spacing < _MOST:
        seen = torch.arange(-reach, reach, spacing, dtype=torch.float64, device="cpu")
        field, V = seen_as_field(prior, seen, tau2)
        density = (prior.log_partition(field, V) - seen.square() / (2 * tau2)).exp() / math.sqrt(2 * math.pi * tau2)
        mass = (density.sum() * spacing).item()
        value = ((density * prior.variance(field, V)).sum() * spacing).item()
        if abs(mass - 1) < 1e-10 and abs(value - before) <= 1e-10 * size:
            return value
        if mass < 1 - 1e-10 and abs(value - before) <= 1e-10 * size:
            reach *= 2  # the ends are cut off
        else:
            spacing /= 2
        before = value
    raise ValueError(f"prior is {prior!r}, seen with noise of variance {tau2:.2g}; expected what a million points resolve")
