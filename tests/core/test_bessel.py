"""Ratios of Bessel functions and their logarithm, against fifty digits."""

from decimal import Decimal, localcontext

import pytest
import torch

from attnlib._core.bessel import log_bessel, ratio, ratio_and_slope


def by_series(order, x):
    """``ln (Gamma(order + 1) (2/z)^order I_order(z))`` from its series, all of whose terms are positive."""
    term = total = Decimal(1)
    k = 0
    while term > total * Decimal(10) ** -40:
        k += 1
        term *= x / (4 * k * (order + k))
        total += term
    return total.ln()


def by_recurrence(order, x):
    """``I_{order+1} / (z I_order)``, from so far above that the start does not matter."""
    found = Decimal(0)
    for k in range(200 + int(12 * float(x) ** 0.25), -1, -1):
        found = 1 / (2 * (order + k + 1) + x * found)
    return found


@pytest.mark.double
@pytest.mark.parametrize("d", [2, 3, 8, 61, 64, 256, 1024])
def test_bessel_ratios_to_many_digits(d):
    with localcontext(prec=50):
        order = Decimal(d) / 2 - 1
        for b in (1e-6, 1e-3, 0.03, 0.5, 1, 3, 10, 30, 100, 1e3):
            x = torch.tensor(d * b * b, dtype=torch.float64)
            square = Decimal(x.item())
            quotient, logarithm = by_recurrence(order, square), by_series(order, square)
            slope = 1 - square * quotient**2 - (2 * order + 1) * quotient
            assert torch.equal(ratio(float(order), x), ratio_and_slope(float(order), x)[0])
            found = (*ratio_and_slope(float(order), x), log_bessel(float(order), x))
            for one, wanted, digits in zip(found, (quotient, slope, logarithm), (1e-14, 1e-11, 1e-10)):
                assert abs(Decimal(one.item()) / wanted - 1) < digits, (b, one, wanted)
