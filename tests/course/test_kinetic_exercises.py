"""The references of chapter 8's exercises, against products over spins, flows between states, kicks and films."""

import itertools
import math

import pytest
import torch

from attnlib.course.exercises import verdict
from attnlib.course.exercises.arrow_of_time import ARROW, MOVES, PRODUCTION, RESPONSE
from attnlib.kinetic import exact_kinetic, film, spin_states, transition_matrix


def compare(exercise, independent, atol=1e-10):
    """Reference and independent answer on all inputs."""
    for arguments in exercise.inputs():
        torch.testing.assert_close(exercise.reference(*arguments), independent(*arguments), atol=atol, rtol=1e-9)


def test_moves_spin_by_spin():
    def by_hand(J, x, beta):
        states = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
        P = torch.zeros(4, 4, dtype=torch.float64)
        for (a, s), (b, t) in itertools.product(enumerate(states), repeat=2):
            h = [x[i].item() + sum(J[i, j].item() * s[j] for j in (0, 1)) for i in (0, 1)]
            P[a, b] = math.prod(1 / (1 + math.exp(-2 * beta * t[i] * h[i])) for i in (0, 1))
        return P

    compare(MOVES, by_hand)


def test_moves_are_those_of_films():
    J, x, beta = MOVES.inputs()[0]
    P, count = MOVES.reference(J, x, beta), 20_000
    for number, start in enumerate(spin_states(2, dtype=torch.float64)):
        later = film(J, x, beta=beta, steps=1, start=start.expand(count, 2), generator=torch.Generator().manual_seed(number))[1]
        seen = torch.bincount(((later > 0) * torch.tensor([1, 2])).sum(-1), minlength=4) / count
        assert ((seen - P[number]).abs() < 4.5 * (P[number] / count).sqrt()).all()


def test_the_production_is_the_sum_over_flows():
    """Of a system of four spins, by its law and its moves."""
    J, x = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).split((4, 1))
    found, P = exact_kinetic(J, x[0], beta=0.8), transition_matrix(J, x[0], beta=0.8)
    flow = found.law[:, None] * P
    by_flows = (flow * (flow / flow.mT).log()).sum()
    torch.testing.assert_close(PRODUCTION.reference(J, found.C, 0.8), by_flows, atol=1e-12, rtol=0)


@pytest.mark.parametrize("beta", [0.5, 1.5])
def test_the_production_of_a_pair_by_formula(beta):
    J = torch.tensor([[0.0, 0.9], [-0.4, 0.0]], dtype=torch.float64)
    C = exact_kinetic(J, beta=beta).C
    by_formula = beta * 1.3 * (math.tanh(0.9 * beta) - math.tanh(-0.4 * beta))
    assert PRODUCTION.reference(J, C, beta).item() == pytest.approx(by_formula, abs=1e-6)


def test_an_arrow_is_an_entropy_production():
    def produced(J):
        return (exact_kinetic(J, 0.3 * torch.arange(4.0, dtype=J.dtype), beta=0.7).entropy_production > 1e-9).to(J)

    compare(ARROW, produced)


def test_answers_with_truth_values_or_other_tolerances_are_right():
    for answer in (
        lambda J: (J.mT != J).any(-1).any(-1),
        lambda J: torch.tensor([float(not torch.allclose(one, one.mT)) for one in J]).double(),
        lambda J: (torch.linalg.matrix_norm(J - J.mT) > 1e-6).int(),
    ):
        assert verdict("8a.3", answer).right


def test_the_response_is_what_a_kick_does():
    """A drive that acts at one step shifts the law a step later; the master equation carries it on."""
    for P, law, s, h, beta, lag in RESPONSE.inputs():
        found, n, step = RESPONSE.reference(P, law, s, h, beta, lag), s.shape[1], 1e-5
        for j in range(n):
            ends = []
            for sign in (1, -1):
                kicked = h + sign * step * torch.eye(n).to(h)[j]
                moved = torch.stack([torch.sigmoid(2 * beta * kicked[:, i, None] * s[:, i]) for i in range(n)]).prod(0)
                ends.append(law @ moved @ torch.linalg.matrix_power(P, lag) @ s)
            torch.testing.assert_close(found[:, j], (ends[0] - ends[1]) / (2 * step), atol=1e-8, rtol=0)
