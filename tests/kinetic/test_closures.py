"""Closures of driven spins, against the exact moves of few and films of many."""

import math

import pytest
import torch
from helpers.draw import close, normal
from scipy.integrate import quad
from scipy.optimize import brentq
from torch.autograd import gradcheck, gradgradcheck

from attnlib import ConvergenceError
from attnlib.kinetic import closure_step, exact_kinetic, film, stationary_closure, transition_matrix
from attnlib.kinetic.closures import smeared

KINDS = ["naive", "tap", "gaussian", "correlated"]
kinds = pytest.mark.parametrize("closure", KINDS)


def glass(n, seed=0, symmetric=False, size=1.0):
    J = size * normal(n, n, seed=seed) / math.sqrt(n)
    return (J + J.mT) / math.sqrt(2) if symmetric else J


def random_state(n, seed=0):
    """Means and covariances that spins can have: of a random law over a hundred states."""
    states = normal(100, n, seed=seed).sign()
    weights = normal(100, seed=seed + 1).softmax(-1)
    m = weights @ states
    return m, (states - m).mT @ (weights[:, None] * (states - m))


@kinds
def test_one_spin_by_number(closure):
    """The formulas of a step, for the second of two spins, with scipy's integrals and roots."""
    m, C = random_state(2)
    J, x, beta = normal(2, 2, seed=3), normal(2, seed=4), 0.8
    after, covariance, delayed = closure_step(m, C, J, x, beta=beta, closure=closure)
    g = (x[1] + J[1] @ m).item()
    alone, together = (J[1].square() @ (1 - m.square())).item(), (J[1] @ C @ J[1]).item()
    width = {"naive": 0.0, "tap": alone, "gaussian": alone, "correlated": together}[closure]
    if closure == "tap":
        expected = brentq(lambda y: y - math.tanh(beta * (g - beta * width * y)), -1, 1, xtol=1e-15)
        gain = beta * (1 - expected**2) / (1 + beta**2 * width * (1 - expected**2))
    else:
        weigh = lambda f: quad(lambda z: math.exp(-z * z / 2) * f(z), -10, 10, epsabs=1e-13)[0] / math.sqrt(2 * math.pi)  # noqa: E731
        expected = weigh(lambda z: math.tanh(beta * (g + math.sqrt(width) * z)))
        gain = weigh(lambda z: beta / math.cosh(beta * (g + math.sqrt(width) * z)) ** 2)
    close(after[1], torch.tensor(expected, dtype=torch.float64), atol=1e-11)
    close(delayed[1], gain * (J @ C)[1], atol=1e-11)
    close(covariance[1, 1], 1 - after[1].square(), atol=1e-14)
    other = closure_step(m.flip(0), C.flip(0, 1), J.flip(0, 1), x.flip(0), beta=beta, closure=closure)[2][1]  # the first spin
    gains = torch.tensor([(other.flip(0)[0] / (J @ C)[0, 0]).item(), gain], dtype=torch.float64)
    close(covariance[0, 1], gains.prod() * (J @ C @ J.mT)[0, 1], atol=1e-11)


def test_from_a_definite_state_all_are_exact():
    """Nothing fluctuates in the field: one step is a row of the matrix of all moves."""
    J, x = glass(4), 0.3 * normal(4, seed=1)
    start = torch.tensor([1.0, -1.0, -1.0, 1.0]).double()
    number = int(((start > 0) * 2 ** torch.arange(4)).sum())
    frames = transition_matrix(J, x, beta=1.3)[number]
    for closure in ("naive", "gaussian", "correlated"):
        after, covariance, delayed = closure_step(start, torch.zeros(4, 4).double(), J, x, beta=1.3, closure=closure)
        m = frames @ torch.stack([(2.0 * (torch.arange(16) >> i & 1) - 1).double() for i in range(4)], -1)
        close(after, m, atol=1e-13)
        close(covariance, torch.diag(1 - m.square()), atol=1e-13)
        assert not delayed.any()


@pytest.mark.parametrize("width", [0.0, 1e-5, 1.99e-4, 2.01e-4, 0.5, 8.0, 60.0])
def test_a_smeared_tanh_and_its_slope(width):
    g = torch.linspace(-4, 4, 9, dtype=torch.float64)
    value, slope, own = smeared(g, torch.full_like(g, width))

    def weighed(z, one, of):
        return math.exp(-z * z / 2) * of(one + math.sqrt(width) * z) / math.sqrt(2 * math.pi)

    close(own, 1 - value.square(), atol=1e-13)
    for one, at, tilt in zip(g.tolist(), value.tolist(), slope.tolist()):
        for of, found in ((math.tanh, at), (lambda y: 1 - math.tanh(y) ** 2, tilt)):
            assert abs(found - quad(weighed, -12, 12, (one, of), limit=400, epsabs=1e-13)[0]) < 1e-11


@pytest.mark.parametrize("closure", KINDS)
def test_the_variance_of_a_spin_that_hardly_turns_is_no_difference_of_ones(closure):
    """Of spins in fields of 12: 4 exp(-24) of each is left, 1.5e-10, where in single precision 1 - m^2 is zero or 1e-7."""
    x = torch.tensor([12.0, -12.0])
    J = torch.tensor([[0.0, 0.1], [-0.2, 0.0]])
    _, single, _ = closure_step(torch.zeros(2), torch.eye(2), J, x, closure=closure)
    _, double, _ = closure_step(torch.zeros(2).double(), torch.eye(2).double(), J.double(), x.double(), closure=closure)
    close(single.double().diagonal() / double.diagonal(), torch.ones(2).double(), atol=1e-4)
    left = 1.0 if closure == "naive" else math.exp(2 * 0.2**2)  # the mean of exp(2 z), or the reaction
    assert double[1, 1] == pytest.approx(4 * math.exp(-24) * left, rel=0.02)


def errors(J, x, beta):
    """Mean squared errors of the means of each closure, against films."""
    start = torch.where(torch.rand(200, len(J), generator=torch.Generator().manual_seed(0)) < 0.5, 1.0, -1.0).double()
    m = film(J, x, beta=beta, steps=800, start=start, generator=torch.Generator().manual_seed(1))[100:].mean((0, 1))
    return {closure: (stationary_closure(J, x, beta=beta, closure=closure).m - m).square().mean() for closure in KINDS}


@pytest.mark.slow
def test_tap_is_for_symmetric_couplings_and_the_gaussian_for_independent_ones():
    """The result of Sakellariou, Roudi, Mezard and Hertz 2012, at 100 spins: each at least twice as near as the other."""
    x = 0.3 * normal(100, seed=5)
    independent, symmetric = errors(glass(100), x, 1.0), errors(glass(100, symmetric=True), x, 0.5)
    assert independent["gaussian"] < independent["tap"] / 2
    assert symmetric["tap"] < symmetric["gaussian"] / 2
    assert independent["naive"] > independent["tap"]
    assert symmetric["naive"] > symmetric["gaussian"]
    assert independent["correlated"] < independent["tap"] / 2
    assert symmetric["correlated"] < symmetric["gaussian"] / 2


def test_at_rest_it_is_its_own_next_step_and_says_what_follows():
    J, x = glass(6), 0.4 * normal(6, seed=1)
    exact = exact_kinetic(J, x, beta=0.7)
    for closure in KINDS:
        found = stationary_closure(J, x, beta=0.7, closure=closure, tolerance=1e-13)
        after, covariance, delayed = closure_step(found.m, found.C[0], J, x, beta=0.7, closure=closure)
        close(after, found.m, atol=1e-11)
        close(covariance, found.C[0], atol=1e-11)
        close(delayed, found.C[1], atol=1e-11)
        close(found.entropy_production, 0.7 * ((J - J.mT) * delayed).sum(), atol=1e-11)
        assert found.converged
    best = stationary_closure(J, x, beta=0.7)
    assert (best.m - exact.m).abs().max() < 0.02
    assert (best.C - exact.C).abs().max() < 0.05


def test_a_naive_rotor_turns_for_ever_where_the_pair_has_one_law():
    """Two spins that chase each other, beta g above 1: naive mean field does not come to rest off its centre."""
    J = torch.tensor([[0.0, 1.0], [-1.0, 0.0]]).double()
    m, C = torch.tensor([0.5, 0.3]).double(), torch.eye(2).double()
    for _ in range(300):
        m = closure_step(m, C, J, beta=1.5, closure="naive")[0]
    amplitude = brentq(lambda b: b - math.tanh(1.5 * b), 0.1, 1)
    close(m.abs(), torch.full((2,), amplitude, dtype=torch.float64), atol=1e-9)
    with pytest.raises(ConvergenceError, match="did not converge"):
        stationary_closure(J, beta=1.5, closure="naive", start=torch.tensor([0.5, 0.3]).double())
    close(exact_kinetic(J, beta=1.5).m, torch.zeros(2).double(), atol=1e-12)


@pytest.mark.slow
@kinds
@pytest.mark.double
def test_a_step_and_its_rest_differentiate(closure):
    J, x = 0.7 * glass(3), 0.4 * normal(3, seed=1)
    m, C = random_state(3)
    tensors = [one.requires_grad_() for one in (m, C, J, x)]

    def step(m, C, J, x):
        return closure_step(m, (C + C.mT) / 2, J, x, beta=0.9, closure=closure)

    assert gradcheck(step, tensors)
    assert gradgradcheck(step, tensors)

    def rest(J, x):
        found = stationary_closure(J, x, beta=0.9, closure=closure, tolerance=1e-13)
        return found.m, found.C, found.entropy_production

    assert gradcheck(rest, tensors[2:], atol=1e-6)


def test_a_batch_is_its_samples():
    J, x = torch.stack([glass(4), glass(4, seed=9)]), 0.3 * normal(2, 4, seed=1)
    beta = torch.tensor([0.5, 0.9]).double()
    found = stationary_closure(J, x, beta=beta)
    for sample in range(2):
        one = stationary_closure(J[sample], x[sample], beta=beta[sample].item())
        close(found.m[sample], one.m, atol=1e-12)
        close(found.C[sample], one.C, atol=1e-12)
        assert found.iterations[sample] == one.iterations


@pytest.mark.usefixtures("unchecked")
def test_what_is_refused():
    J, m, C = torch.eye(3), torch.zeros(3), torch.eye(3)
    for call, message in (
        (lambda: closure_step(m, C, J, closure="best"), "closure is"),
        (lambda: closure_step(torch.zeros(4), C, J), "m has shape"),
        (lambda: closure_step(m, torch.eye(2), J), "C has shape"),
        (lambda: closure_step(m, C, J, torch.ones(4)), "x has shape"),
        (lambda: closure_step(m.double(), C, J), "m is torch.float64"),
        (lambda: stationary_closure(J, start=torch.zeros(2)), "start has shape"),
        (lambda: stationary_closure(J, beta=-1), "beta is -1"),
        (lambda: stationary_closure(J, tolerance=0), "tolerance is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("closure", KINDS)
@pytest.mark.slow
def test_a_small_drive_in_single_precision_is_not_taken_for_none(closure):
    """Ferromagnetic spins near their transition magnify it twenty times: what is called converged has done so."""
    J, x = 0.95 * torch.full((10, 10), 0.1), torch.full((10,), 1e-5)
    found = stationary_closure(J, x, closure=closure)
    exact = stationary_closure(J.double(), x.double(), closure=closure, tolerance=1e-13)
    assert found.converged
    close(found.m.double() / exact.m, torch.ones(10).double(), atol=2e-3)
    assert (exact.m > 4e-5).all()
