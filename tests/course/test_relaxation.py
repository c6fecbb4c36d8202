"""The semidefinite bound of a ground state: against an independent solver, and enumeration."""

import numpy as np
import pytest
import torch
from helpers.draw import close, couplings
from scipy.optimize import minimize

from attnlib.course.oracles import semidefinite_bound
from attnlib.mean_field import exact_ising


def burer_monteiro(J, rank, seed=0):
    """The relaxation by another method: unit vectors of a low rank, moved by scipy's quasi-Newton method."""
    n = len(J)

    def value(flat):
        rows = flat.reshape(n, rank)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = rows / lengths
        slope = J @ unit
        slope = (slope - (slope * unit).sum(1, keepdims=True) * unit) / lengths
        return -np.sum(J * (unit @ unit.T)) / 2, -slope.ravel()

    start = np.random.default_rng(seed).normal(size=n * rank)
    return -minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}).fun


@pytest.mark.sweep(0.5)
@pytest.mark.double
@pytest.mark.parametrize("n", [3, 12, 30])
def test_the_semidefinite_program_against_an_independent_solver(n):
    J = couplings(n, seed=n)
    found = semidefinite_bound(J, gap=1e-6)
    independent = burer_monteiro(J.numpy(), rank=n)
    assert found.lower - 1e-7 <= independent <= found.upper + 1e-7
    total = J.abs().sum() / 2
    close(found.upper - found.lower, 1e-6 * total, atol=1e-8)
    assert (torch.linalg.eigvalsh(torch.diag(found.z) - J) > 0).all()
    close(found.X.diagonal(), torch.ones(n).double(), atol=1e-8)
    if n == 12:
        best = exact_ising(J, beta=200.0)
        assert -best.free_energy <= found.upper


def test_a_gap_of_nothing_is_refused():
    with pytest.raises(ValueError, match="gap is 0"):
        semidefinite_bound(couplings(3), gap=0)
