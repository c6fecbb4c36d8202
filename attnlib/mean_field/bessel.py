"""Ratios of modified Bessel functions, stable for orders from 0 to hundreds and arguments from 0 to millions.

The ratio ``I_{mu+1}(z) / I_mu(z)`` obeys a recurrence that forgets errors on its way down. It starts at an order so high that
Debye's expansion, uniform in the argument, is exact to double precision. All is written in ``x = z^2`` and divided by ``z``,
so that nothing is singular at zero, and plain operations are all there is to differentiate, as often as is asked for.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor

_START = 24.0
"""The recurrence starts at an order of at least this."""


def _debye_polynomials(most: int) -> tuple[tuple[float, ...], ...]:
    """Debye's polynomials ``u_k(p)``, divided by ``p^k``, in powers of ``p^2``, for k from 0 to ``most``.

    By their recurrence ``u_{k+1} = p^2 (1 - p^2) u_k' / 2 + (1/8) integral_0^p (1 - 5 t^2) u_k dt``.
    """
    rows = [[Fraction(1)]]
    for k in range(most):
        row = [Fraction(0)] * (k + 2)
        for j, c in enumerate(rows[-1]):  # the term c p^(k + 2 j)
            power = k + 2 * j
            row[j] += c * (Fraction(power, 2) + Fraction(1, 8 * (power + 1)))
            row[j + 1] -= c * (Fraction(power, 2) + Fraction(5, 8 * (power + 3)))
        rows.append(row)
    return tuple(tuple(map(float, row)) for row in rows)


_DEBYE = _debye_polynomials(9)


def ratio(order: float, x: Tensor) -> Tensor:
    """``I_{order+1}(z) / (z I_order(z))`` at ``x = z^2``: even, smooth, ``1 / (2 order + 2)`` at zero."""
    return _descend(order, x)[0]


def ratio_and_slope(order: float, x: Tensor) -> tuple[Tensor, Tensor]:
    """The same, and the derivative of ``I_{order+1}(z) / I_order(z)`` with respect to z."""
    found, slope, _ = _descend(order, x)
    return found, slope


def log_bessel(order: float, x: Tensor) -> Tensor:
    """``ln (Gamma(order + 1) (2/z)^order I_order(z))`` at ``x = z^2``: zero at zero."""
    return _descend(order, x)[2]


def _descend(order: float, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ratio, slope and logarithm, from a high order down, one order at a time."""
    steps = max(0, int(_START - order) + 1)
    found, slope, total = _debye(order + steps, x)
    for mu in (order + k for k in reversed(range(steps))):
        total = total + torch.log1p(x * found / (2 * (mu + 1)))
        found = 1 / (2 * (mu + 1) + x * found)
        slope = found.square() * (2 * (mu + 1) - x * slope)
    return found, slope, total


def _debye(mu: float, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same three at a high order, from Debye's expansion and its derivatives."""
    s = (mu * mu + x).sqrt()
    q = (mu / s).square()
    w = x / (s + mu)  # s - mu, without cancellation
    # each term is P(q) / s^k; with respect to z its slope is z/s^2 times (-2 q P' - k P) / s^k, and so on once more
    polynomials = ([_polynomial(_turned(row, k, times), q) for k, row in enumerate(_DEBYE)] for times in range(3))
    series, first, second = (_polynomial(rows, 1 / s) for rows in polynomials)  # powers of s itself would overflow float32
    start = sum(sum(row) / mu**k for k, row in enumerate(_DEBYE))
    found = 1 / (mu + s) - 1 / (2 * s * s) + first / series / (s * s)
    # slope of the ratio r = z * found: found + z * d(found)/dz, where z d/dz s^-2 = -2 x / s^4
    bend = (second - first.square() / series) / series / (s * s)
    slope = found + (x / (s * s)) * (-s / (mu + s).square() + 1 / (s * s) + bend - 2 * first / series / (s * s))
    logarithm = w - mu * torch.log1p(w / (2 * mu)) - torch.log1p(w / mu) / 2 + series.log() - math.log(start)
    a = mu + 1
    small = x.clamp(max=1.0)  # where it is not used, it must not overflow either: the gradient would be zero times infinity
    near = small * (1 / (4 * a) - small * (1 / (32 * a * a * (a + 1)) - small / (96 * a**3 * (a + 1) * (a + 2))))
    return found, slope, torch.where(x < 1, near, logarithm)  # near zero the differences would cancel


def _turned(row: tuple[float, ...], k: int, times: int) -> tuple[float, ...]:
    """Coefficients after the operator ``-2 q d/dq - k``, applied some times: each power of q has a factor of its own."""
    return tuple(c * (-2.0 * power - k) ** times for power, c in enumerate(row))


def _polynomial(row: Sequence[float | Tensor], q: Tensor) -> Tensor:
    value = torch.zeros_like(q)
    for c in reversed(row):
        value = value * q + c
    return value
