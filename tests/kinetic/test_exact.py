"""Driven spins: all moves against products over spins, laws against power iteration, response against a kick."""

import itertools
import math

import pytest
import torch
from helpers.draw import close, normal
from torch.autograd import gradcheck

from attnlib import exact_ising
from attnlib.kinetic import exact_kinetic, exact_response, peretto_law, spin_states, transition_matrix


def system(n, batch=(), seed=0, size=1.0):
    J = size * normal(*batch, n, n, seed=seed) / math.sqrt(n)
    return J, 0.4 * normal(*batch, n, seed=seed + 1)


def symmetric(J):
    return (J + J.mT) / 2


def by_hand(J, x, beta, single=False):
    """All moves of one system, spin by spin, from the definition."""
    n = len(x)
    states = [[1 if number >> i & 1 else -1 for i in range(n)] for number in range(2**n)]
    P = torch.zeros(2**n, 2**n, dtype=torch.float64)
    for (a, s), (b, t) in itertools.product(enumerate(states), repeat=2):
        up = [math.exp(beta * (x[i] + sum(J[i][j] * s[j] for j in range(n))).item()) for i in range(n)]
        chance = [up[i] ** t[i] / (up[i] + 1 / up[i]) for i in range(n)]
        differ = [i for i in range(n) if s[i] != t[i]]
        if not single:
            P[a, b] = math.prod(chance)
        elif len(differ) == 1:
            P[a, b] = chance[differ[0]] / n
        elif not differ:
            P[a, b] = sum(chance) / n
    return P


@pytest.mark.parametrize("updates", ["parallel", "single"])
def test_moves_are_products_over_spins(updates):
    J, x = system(3, (2,))
    found = transition_matrix(J, x, beta=torch.tensor([0.7, 1.3], dtype=torch.float64), updates=updates)
    for sample, beta in enumerate((0.7, 1.3)):
        close(found[sample], by_hand(J[sample], x[sample], beta, updates == "single"), atol=1e-14)
    close(found.sum(-1), torch.ones(2, 8).double(), atol=1e-14)


def test_states_are_numbered_by_their_bits():
    states = spin_states(4)
    assert ((states > 0) * 2 ** torch.arange(4)).sum(-1).tolist() == list(range(16))


@pytest.mark.parametrize("updates", ["parallel", "single"])
def test_the_law_is_where_powers_lead_and_correlations_are_its_sums(updates):
    J, x = system(4)
    found = exact_kinetic(J, x, beta=0.8, updates=updates, lags=3)
    P, states = by_hand(J, x, 0.8, updates == "single"), spin_states(4, dtype=J.dtype)
    law = torch.linalg.matrix_power(P, 4096)[0]
    close(found.law, law, atol=1e-12)
    close(found.m, law @ states, atol=1e-12)
    for lag in range(4):
        joint = law[:, None] * torch.linalg.matrix_power(P, lag)  # now in rows, later in columns
        close(found.C[lag], (states.mT @ joint @ states).mT - torch.outer(found.m, found.m), atol=1e-12)
    flow = law[:, None] * P
    there = flow > 0
    close(found.entropy_production, (flow[there] * (flow[there] / flow.mT[there]).log()).sum(), atol=1e-12)
    close(found.current, (flow - flow.mT).abs().max(), atol=1e-12)


def test_entropy_production_is_a_sum_over_delayed_correlations():
    J, x = system(6, (3,), size=1.5)
    beta = torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64)
    found = exact_kinetic(J, x, beta=beta)
    close(found.entropy_production, beta * ((J - J.mT) * found.C[:, 1]).sum((-2, -1)), atol=1e-12)
    assert (found.entropy_production > 0.01).all()


def test_parallel_updates_balance_where_couplings_are_symmetric_whatever_the_diagonal():
    J, x = system(5, (2,), size=1.5)
    for couplings, still in ((symmetric(J), True), (J, False)):
        found = exact_kinetic(couplings, x, beta=1.2)
        assert (found.current < 1e-15).all() == still
        assert (found.entropy_production.abs() < 1e-12).all() == still
    apart = symmetric(J) - torch.diag_embed(J.diagonal(dim1=-2, dim2=-1))
    for couplings, still in ((apart, True), (symmetric(J), False)):  # with one at a time the diagonal counts
        found = exact_kinetic(couplings, x, beta=1.2, updates="single")
        assert (found.current < 1e-15).all() == still
        assert (found.entropy_production.abs() < 1e-12).all() == still


def test_perettos_law_and_the_doubled_graph():
    """Two successive states are one state of a graph in which each spin feels those of the other time: chapter 4 solves it."""
    J, x = system(5, size=1.5)
    J = symmetric(J)
    found = exact_kinetic(J, x, beta=0.9)
    close(found.law, peretto_law(J, x, beta=0.9), atol=1e-13)
    zero = torch.zeros(5, 5).double()
    doubled = exact_ising(torch.cat([torch.cat([zero, J], -1), torch.cat([J, zero], -1)]), torch.cat([x, x]), beta=0.9)
    close(found.m, doubled.m[:5], atol=1e-12)
    close(found.C[0], doubled.chi[:5, :5], atol=1e-12)
    close(found.C[1], doubled.chi[5:, :5], atol=1e-12)
    own = J.diagonal().diag()
    apart = exact_ising(J - own, x, beta=0.9)  # the equilibrium of chapter 4 is another
    assert (apart.m - found.m).abs().max() > 0.01


def test_two_spins_by_formula():
    beta, there, back = 0.7, 0.9, -0.4
    J = torch.tensor([[0.0, there], [back, 0.0]], dtype=torch.float64)
    gap = math.tanh(beta * there) - math.tanh(beta * back)
    close(exact_kinetic(J, beta=beta).entropy_production, torch.tensor(beta * (there - back) * gap).double(), atol=1e-6)
    rotor = transition_matrix(torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64), beta=beta)
    values = sorted(torch.linalg.eigvals(rotor).tolist(), key=lambda z: (round(z.real, 9), z.imag))
    turn = math.tanh(beta)
    for value, expected in zip(values, (-(turn**2), -1j * turn, 1j * turn, 1.0)):
        assert abs(value - expected) < 1e-12


def test_a_hot_system_produces_what_the_square_of_the_antisymmetric_part_says():
    """To second order in beta; what is left falls as its fourth power, or faster than a third: two temperatures tell."""
    J, x = system(5, size=1.0)
    left = []
    for beta in (0.02, 0.04):
        free = 1 - (beta * x).tanh().square()
        expected = beta**2 / 2 * ((J - J.mT).square() * torch.outer(free, free)).sum()
        left.append((exact_kinetic(J, x, beta=beta).entropy_production - expected).abs())
    assert left[0] < 0.01 * 0.02**2
    assert left[1] / left[0] > 2**3 * 0.9


@pytest.mark.slow
def test_the_response_is_what_a_kick_does():
    """The drive acts at one step; the master equation carries the law on. For couplings of any kind."""
    J, x = system(4)
    beta, step = 0.8, 1e-5
    chi = exact_response(J, x, beta=beta, lags=3)
    law, P, states = exact_kinetic(J, x, beta=beta).law, by_hand(J, x, beta), spin_states(4, dtype=J.dtype)
    for j in range(4):
        kick = step * torch.eye(4).double()[j]
        for lag in range(4):
            ends = [law @ by_hand(J, x + sign * kick, beta) @ torch.linalg.matrix_power(P, lag) @ states for sign in (1, -1)]
            close(chi[lag, :, j], (ends[0] - ends[1]) / (2 * step), atol=1e-9)


def test_with_symmetric_couplings_response_is_a_difference_of_correlations_and_else_not():
    J, x = system(4, (2,), size=1.5)
    for couplings, holds in ((symmetric(J), True), (J, False)):
        C, chi = exact_kinetic(couplings, x, beta=0.7, lags=5).C, exact_response(couplings, x, beta=0.7, lags=3)
        gap = (chi - 0.7 * (C[:, :4] - C[:, 2:6])).abs().amax((-3, -2, -1))
        assert (gap < 1e-12).all() == holds
        assert (gap > 1e-3).all() != holds


@pytest.mark.double
def test_it_differentiates():
    J, x = (one.requires_grad_() for one in system(3))

    def parts(J, x):
        found = exact_kinetic(J, x, beta=0.9)
        return found.m, found.C, found.entropy_production, exact_response(J, x, beta=0.9)

    assert gradcheck(parts, (J, x))
    assert gradcheck(lambda J, x: peretto_law((J + J.mT) / 2, x), (J, x))


def test_frozen_spins_are_refused():
    """At beta 400 a pair that agrees never disagrees, in double precision either, and one that disagrees never agrees."""
    pair = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="expected spins that are not frozen"):
        exact_kinetic(pair, beta=400.0)
    close(exact_kinetic(pair, beta=60.0).law, torch.full((4,), 0.25), atol=1e-6)


@pytest.mark.usefixtures("unchecked")
def test_what_is_refused():
    J = torch.eye(3)
    for call, message in (
        (lambda: exact_kinetic(torch.eye(13)), "at most 12 spins"),
        (lambda: exact_kinetic(torch.ones(2, 3)), r"J has shape \(2, 3\)"),
        (lambda: exact_kinetic(J, torch.ones(4)), "x has shape"),
        (lambda: exact_kinetic(J, beta=0), "beta is 0"),
        (lambda: exact_kinetic(J, updates="both"), "updates is"),
        (lambda: exact_kinetic(J, lags=-1), "lags is -1"),
        (lambda: peretto_law(torch.ones(3, 3).triu()), "J is not symmetric"),
        (lambda: spin_states(13), "n is 13"),
        (lambda: exact_kinetic(J, torch.tensor([math.nan, 0, 0])), "x"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
