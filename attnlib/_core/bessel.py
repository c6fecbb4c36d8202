"""Ratios of modified Bessel functions, stable for orders from 0 to hundreds and arguments from 0 to millions.

The ratio ``I_{mu+1}(z) / I_mu(z)`` obeys a recurrence that forgets errors on its way down. It starts at an order so high that
Debye's expansion, uniform in the argument, is exact to double precision. All is written in ``x = z^2`` and divided by ``z``,
so that nothing is singular at zero, and plain operations are all there is to differentiate, as often as is asked for.
"""

import math
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
_TABLE = [
    [[c * (-2.0 * j - k) ** times for k, row in enumerate(_DEBYE) for c in row[j : j + 1] or [0.0]] for j in range(10)]
    for times in range(3)
]
"""Coefficients of ``q^j / s^k`` in Debye's series and after the operator ``-2 q d/dq - k``, once and twice: ``[3, j, k]``."""


def ratio(order: float, x: Tensor) -> Tensor:
    """``I_{order+1}(z) / (z I_order(z))`` at ``x = z^2``: even, smooth, ``1 / (2 order + 2)`` at zero."""
    high, orders = _downwards(order)
    found = _Debye(high, x, 2).ratio()
    for mu in orders:
        found = 1 / (2 * (mu + 1) + x * found)
    return found


def ratio_and_slope(order: float, x: Tensor) -> tuple[Tensor, Tensor]:
    """The same, and the derivative of ``I_{order+1}(z) / I_order(z)`` with respect to z."""
    high, orders = _downwards(order)
    start = _Debye(high, x, 3)
    found = start.ratio()
    slope = start.slope(found)
    for mu in orders:
        found = 1 / (2 * (mu + 1) + x * found)
        slope = found.square() * (2 * (mu + 1) - x * slope)
    return found, slope


def log_bessel(order: float, x: Tensor) -> Tensor:
    """``ln (Gamma(order + 1) (2/z)^order I_order(z))`` at ``x = z^2``: zero at zero."""
    high, orders = _downwards(order)
    start = _Debye(high, x, 2)
    found, total = start.ratio(), start.logarithm()
    for mu in orders:
        total = total + torch.log1p(x * found / (2 * (mu + 1)))
        found = 1 / (2 * (mu + 1) + x * found)
    return total


def _downwards(order: float) -> tuple[float, list[float]]:
    """An order that is high enough for Debye's expansion, and those below it, down to the one that is asked for."""
    steps = max(0, int(_START - order) + 1)
    return order + steps, [order + k for k in reversed(range(steps))]


class _Debye:
    """Debye's expansion at a high order mu.

    Each of its terms is ``P(q) / s^k``, of ``s^2 = mu^2 + x`` and ``q = mu^2 / s^2``; with respect to z its slope is
    ``z / s^2`` times ``(-2 q P' - k P) / s^k``, and so on once more.
    """

    def __init__(self, mu: float, x: Tensor, times: int) -> None:
        self.mu, self.x, self.s = mu, x, (mu * mu + x).sqrt()
        by_q = _powers((mu / self.s).square(), len(_DEBYE))
        by_s = _powers(1 / self.s, len(_DEBYE))  # powers of s itself would overflow float32
        table = torch.tensor(_TABLE[:times], dtype=x.dtype, device=x.device)
        self.terms = ((by_q @ table.movedim(1, 0).flatten(1)).unflatten(-1, table.shape[::2]) * by_s.unsqueeze(-2)).sum(-1)

    def ratio(self) -> Tensor:
        """The ratio divided by z."""
        mu, s, (series, first, *_) = self.mu, self.s, self.terms.unbind(-1)
        return 1 / (mu + s) - 1 / (2 * s * s) + first / series / (s * s)

    def slope(self, found: Tensor) -> Tensor:
        """Of the ratio ``z * found``: found and ``z d(found)/dz``, where ``z d/dz s^-2 = -2 x / s^4``."""
        mu, s, (series, first, second) = self.mu, self.s, self.terms.unbind(-1)
        bend = (second - first.square() / series) / series / (s * s)
        return found + (self.x / (s * s)) * (-s / (mu + s).square() + 1 / (s * s) + bend - 2 * first / series / (s * s))

    def logarithm(self) -> Tensor:
        """As :func:`log_bessel` gives it."""
        mu, x, w = self.mu, self.x, self.x / (self.s + self.mu)  # s - mu, without cancellation
        start = sum(sum(row) / mu**k for k, row in enumerate(_DEBYE))
        value = w - mu * torch.log1p(w / (2 * mu)) - torch.log1p(w / mu) / 2 + self.terms[..., 0].log() - math.log(start)
        a = mu + 1
        small = x.clamp(max=1.0)  # where it is not used, it must not overflow either: the gradient would be zero times infinity
        near = small * (1 / (4 * a) - small * (1 / (32 * a * a * (a + 1)) - small / (96 * a**3 * (a + 1) * (a + 2))))
        return torch.where(x < 1, near, value)  # near zero the differences would cancel


def _powers(number: Tensor, count: int) -> Tensor:
    """Its powers from 0 on, ``[..., count]``."""
    found = [torch.ones_like(number)]
    for _ in range(1, count):
        found.append(found[-1] * number)
    return torch.stack(found, -1)
