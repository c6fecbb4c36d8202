"""Driven vector spins: the response of one against Bessel functions, moments against chapter 5 and against samples."""

import math

import pytest
import torch
from helpers.draw import close, normal
from scipy.special import ive
from torch.autograd import gradcheck, gradgradcheck

from attnlib import ConvergenceError, saddle_point
from attnlib.course.oracles import vector_film
from attnlib.kinetic import moments_step, stationary_moments, vector_response
from attnlib.kinetic.vectors import STRONG


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def couplings(n, seed=0, size=0.5):
    return size * normal(n, n, seed=seed) / math.sqrt(n)


@pytest.mark.parametrize("d", [2, 3, 16, 64])
@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
def test_the_exact_response_is_a_ratio_of_bessel_functions(d, beta):
    h = normal(6, d) * torch.logspace(-2, 1, 6, dtype=torch.float64)[:, None]
    length = h.norm(dim=-1, keepdim=True)
    z = (beta * math.sqrt(d) * length).numpy()
    ratio = torch.from_numpy(ive(d / 2, z) / ive(d / 2 - 1, z))
    close(vector_response(h, beta=beta), math.sqrt(d) * ratio * h / length, atol=1e-12)


def test_square_roots_are_near_and_all_end_as_rms_norm():
    """The bound at the half is off by .09 / d at most, that of many components by .25 / d; cold, each is h over its size."""
    for d in (8, 64, 512):
        h = torch.linspace(0.02, 10, 500, dtype=torch.float64)[:, None, None].expand(500, 1, d)
        exact = vector_response(h)
        for gain, most in (("half", 0.095), ("limit", 0.25)):
            off = ((vector_response(h, gain=gain) - exact).norm(dim=-1) / exact.norm(dim=-1)).max()
            assert 0.8 * most < off * d < most
    h = normal(4, 16)
    for gain in ("exact", "half", "limit"):
        far = [
            (vector_response(h, beta=beta, gain=gain) - torch.nn.functional.rms_norm(h, (16,))).abs().max()
            for beta in (1e3, 1e4)
        ]
        assert far[0] < 5e-3
        assert 9 < far[0] / far[1] < 11  # falls as 1 / beta


def test_symmetric_couplings_rest_at_the_saddle_point_of_the_doubled_graph():
    """Chapter 5 solves 12 spins of two times; z is one over the gain, its response the covariances, delayed ones included."""
    J, x = couplings(6), 0.3 * normal(6, 5, seed=1)
    J = (J + J.mT) / 2 + 0.1 * torch.eye(6)
    found = stationary_moments(J, x, beta=1.1, gain="limit", tolerance=1e-14)
    zero = torch.zeros(6, 6).double()
    doubled = torch.cat([torch.cat([zero, J], -1), torch.cat([J, zero], -1)])
    saddle = saddle_point(doubled, torch.cat([x, x]), beta=1.1)
    close(found.m, saddle.m[:6], atol=1e-10)
    close(found.C[0], saddle.chi[:6, :6], atol=1e-10)
    close(found.C[1], saddle.chi[6:, :6], atol=1e-10)
    close((x + J @ found.m) / found.m, saddle.z[:6, None].expand(6, 5), atol=1e-9)
    close(found.entropy_production, torch.tensor(0.0).double(), atol=1e-12)


@pytest.mark.slow
def test_moments_against_samples_err_less_the_more_components_there_are():
    """Four spins, couplings of no symmetry: four times as many components, at most half the error of delayed covariances.

    Errors fall as one over the components; the samples' own errors are less than a fifth of what is measured of few.
    """
    J, off, noise = 1.5 * couplings(4, size=1.0), [], []
    for d in (4, 16):
        x = 0.3 * normal(4, 1, seed=1).expand(4, d)
        sampled = vector_film(J, x, films=600, steps=250, burn_in=20, generator=seeded(d))
        found = stationary_moments(J, x, gain="half")
        off.append((found.C[1] - sampled.C[1]).norm() / sampled.C[1].norm())
        noise.append(sampled.C_error[1].norm() / sampled.C[1].norm())
    assert off[1] < off[0] / 2
    assert noise[0] < off[0] / 5
    assert off[0] < 0.1


def test_at_rest_it_solves_its_equations():
    J, x, beta = couplings(5), 0.4 * normal(5, 3, seed=1), 0.9
    for gain in ("exact", "half", "limit"):
        found = stationary_moments(J, x, beta=beta, gain=gain, tolerance=1e-14)
        after, covariance, delayed = moments_step(found.m, found.C[0], J, x, beta=beta, gain=gain)
        close(after, found.m, atol=1e-12)
        close(covariance, found.C[0], atol=1e-12)
        close(delayed, found.C[1], atol=1e-12)
        gains = (found.m / (x + J @ found.m))[:, 0]
        close(torch.linalg.solve(torch.diag(1 / gains) - J, x), found.m, atol=1e-11)
        close(found.C[0].diagonal(), 1 - found.m.square().mean(-1), atol=1e-12)
        flow = beta * ((J - J.mT) * found.C[1]).sum()
        close(found.entropy_production, flow, atol=1e-12)
        assert flow > 0


def test_one_step_from_definite_spins_is_the_response():
    """Whatever the couplings: nothing fluctuates yet. Then the covariance is what the length leaves."""
    J, x = couplings(4), normal(4, 8, seed=1)
    s = normal(4, 8, seed=2)
    s = math.sqrt(8) * s / s.norm(dim=-1, keepdim=True)
    after, covariance, delayed = moments_step(s, torch.zeros(4, 4).double(), J, x, beta=1.2, gain="exact")
    close(after, vector_response(x + J @ s, beta=1.2), atol=1e-13)
    close(covariance, torch.diag(1 - after.square().mean(-1)), atol=1e-13)
    assert not delayed.any()


def test_attention_without_drive_ends_in_a_consensus():
    """Softmax couplings above beta 1: one state with no mean, whose spins agree up to 1 / beta, however long it takes."""
    J = normal(64, 64).softmax(-1)
    found = stationary_moments(J, torch.zeros(64, 2).double(), beta=2.0, gain="limit", max_steps=5000)
    apart = ~torch.eye(64, dtype=torch.bool)
    assert not found.m.any()
    assert ((found.C[0][apart] - 0.5).abs() < 0.05 * 0.5).all()
    gains = 1 / (found.C[1].diagonal() / (J @ found.C[0]).diagonal())
    slow = 1 - torch.linalg.eigvals(J / gains[:, None]).abs().max()
    assert abs(slow * 2 * 64 * (2.0 - 1) - 1) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("gain", ["exact", "half", "limit"])
@pytest.mark.double
def test_it_differentiates(gain):
    J, x = couplings(3), 0.4 * normal(3, 2, seed=1)
    m, C = 0.3 * normal(3, 2, seed=2), torch.eye(3).double() * 0.9 + 0.05
    tensors = [one.requires_grad_() for one in (m, C, J, x)]

    def step(m, C, J, x):
        return moments_step(m, (C + C.mT) / 2, J, x, beta=0.9, gain=gain)

    assert gradcheck(step, tensors)
    assert gradgradcheck(step, tensors)

    def rest(J, x):
        found = stationary_moments(J, x, beta=0.9, gain=gain, tolerance=1e-13)
        return found.m, found.C, found.entropy_production

    assert gradcheck(rest, tensors[2:], atol=1e-6)
    assert gradgradcheck(lambda h: vector_response(h, beta=0.9, gain=gain), (normal(2, 3).requires_grad_(),))


def test_strong_couplings_of_both_signs_may_not_come_to_rest():
    with pytest.raises(ConvergenceError, match="did not converge"):
        stationary_moments(6 * couplings(12, size=1.0), 0.5 * normal(12, 2, seed=1), beta=5.0, max_steps=300)


@pytest.mark.usefixtures("unchecked")
def test_what_is_refused():
    J, x = torch.eye(3), torch.zeros(3, 2)
    for call, message in (
        (lambda: vector_response(torch.zeros(3)), r"h has shape \(3,\)"),
        (lambda: vector_response(x, gain="best"), "gain is"),
        (lambda: vector_response(torch.zeros(3, 1)), r"h has shape \(3, 1\); expected .* d >= 2"),
        (lambda: moments_step(torch.zeros(4, 2), J, J), "m has shape"),
        (lambda: moments_step(x, torch.eye(2), J), "C has shape"),
        (lambda: stationary_moments(J, torch.zeros(4, 2)), "x has shape"),
        (lambda: stationary_moments(J, x, start=torch.zeros(2, 2)), "start has shape"),
        (lambda: stationary_moments(J, x, beta=0), "beta is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_small_drive_in_single_precision_is_not_taken_for_none():
    """Spins that agree magnify it: what is called converged has done so."""
    J, x = 0.95 * torch.full((10, 10), 0.1), torch.full((10, 4), 1e-5)
    found = stationary_moments(J, x, beta=0.9)
    exact = stationary_moments(J.double(), x.double(), beta=0.9, tolerance=1e-13)
    assert found.converged
    close(found.m.double() / exact.m, torch.ones(10, 4).double(), atol=2e-3)
    assert (exact.m > 2e-5).all()


@pytest.mark.parametrize("gain", ["exact", "half", "limit"])
@pytest.mark.parametrize("size", [1e3, 1e10, 1e25, 1e37])
def test_no_square_of_a_large_field_overflows(gain, size):
    """In single precision 1e20 squared is no number; a spin in such a field lies along it, and hardly turns."""
    h = normal(3, 8).float()
    m = vector_response(size * h, gain=gain)
    torch.testing.assert_close(m, h / h.square().mean(-1, keepdim=True).sqrt(), atol=2e-3, rtol=2e-3)
    zero = torch.zeros(3, 3)
    C = moments_step(torch.zeros(3, 8), zero, zero, size * h, gain=gain)[1].diagonal()
    exact = moments_step(torch.zeros(3, 8).double(), zero.double(), zero.double(), size * h.double(), gain=gain)[1].diagonal()
    left = {"exact": 7 / 8, "half": 7 / 8, "limit": 1.0}[gain] / (size * h.double().square().mean(-1).sqrt())
    torch.testing.assert_close(C.double() / left, torch.ones(3).double(), atol=5e-3, rtol=0)
    torch.testing.assert_close(exact / left, torch.ones(3).double(), atol=5e-3, rtol=0)


@pytest.mark.parametrize("d", [2, 3, 16])
def test_what_is_left_of_a_spin_is_the_same_where_the_formula_changes(d):
    """Below and above the field from which on two powers of its inverse stand for Bessel functions."""
    zero = torch.zeros(1, 1).double()
    found = []
    for field in (STRONG * (1 - 1e-6), STRONG * (1 + 1e-6)):
        x = torch.full((1, d), field, dtype=torch.float64)
        m, C, _ = moments_step(torch.zeros(1, d).double(), zero, zero, x, gain="exact")
        found.append(torch.stack([1e5 * (1 - m[0, 0]), 1e5 * C[0, 0]]))
    close(found[0], found[1], atol=1e-5)
