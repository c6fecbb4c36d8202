"""The references of page 8b's exercises, against laws by enumeration, double integrals, sums over noise and all moves."""

import itertools
import math

import pytest
import torch

from attnlib.course.exercises.what_is_forgotten import BOUND, DAMAGE, PAST, SWEEP
from attnlib.kinetic import damage, exact_kinetic, from_the_past, spin_states, transition_matrix


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_a_sweep_draws_from_the_law_of_the_belief_net_from_any_start():
    J, x, beta, _, _ = SWEEP.inputs()[0]
    count, states = 40_000, spin_states(4, dtype=torch.float64)
    law = torch.sigmoid(2 * beta * states * (x + states @ J.mT)).prod(-1)
    for start in (torch.ones(count, 4, dtype=torch.float64), -torch.ones(count, 4, dtype=torch.float64)):
        drawn = SWEEP.reference(J, x, beta, start, torch.rand(count, 4, dtype=torch.float64, generator=seeded(1)))
        seen = torch.bincount(((drawn > 0) * 2 ** torch.arange(4)).sum(-1), minlength=16) / count
        assert ((seen - law).abs() < 4.5 * (law / count).sqrt()).all()


def test_the_damage_is_a_double_integral_and_at_rest_that_of_the_package():
    d, gain, z, w = DAMAGE.inputs()[1]
    found = DAMAGE.reference(d, gain, z, w)
    a = torch.linspace(-8, 8, 1601, dtype=torch.float64)
    density = (-a.square() / 2).exp()
    density = density / density.sum()
    for share, value in zip(d.tolist(), found.tolist(), strict=True):
        other = (1 - 2 * share) * a[:, None] + math.sqrt(1 - (1 - 2 * share) ** 2) * a
        gaps = ((gain * a)[:, None].tanh() - (gain * other).tanh()).abs() / 2
        assert (density @ gaps @ density).item() == pytest.approx(value, abs=1e-4)
    rest = torch.tensor([damage(gain)], dtype=torch.float64)
    torch.testing.assert_close(DAMAGE.reference(rest, gain, z, w), rest, atol=1e-8, rtol=0)


def pairs(J, x, beta):
    """All moves of two films with one noise, ``[8, 8, 8, 8]``: spin by spin, up in both, in one, in none."""
    states = spin_states(3, dtype=torch.float64)
    up = torch.sigmoid(2 * beta * (x + states @ J.mT))
    a, b = up[:, None, None, None], up[None, :, None, None]
    first, second = (states > 0)[None, None, :, None], (states > 0)[None, None, None, :]
    both = torch.minimum(a, b)
    each = torch.where(first & second, both, torch.where(first, a - both, torch.where(second, b - both, 1 - a - b + both)))
    return each.prod(-1)


@pytest.mark.slow
def test_the_past_draws_from_the_stationary_law_and_its_mistakes_do_not():
    """Of one input's couplings: laws exactly, from the moves of two films; draws of the answers beside them."""
    J, x, beta, _ = PAST.inputs()[1]
    P, law, count = pairs(J, x, beta), exact_kinetic(J, x, beta=beta).law, 1000
    torch.testing.assert_close(P.sum(3), transition_matrix(J, x, beta=beta)[:, None].expand(8, 8, 8), atol=1e-12, rtol=0)
    now, met = torch.zeros(8, 8, dtype=torch.float64), torch.zeros(8, dtype=torch.float64)
    now[7, 0] = 1.0
    ever, left, fresh, at, power = now, 1.0, torch.zeros_like(met), 1, P.reshape(64, 64)
    for _ in range(400):
        now = (now.reshape(64) @ P.reshape(64, 64)).reshape(8, 8)
        met, now = met + now.diagonal(), now - now.diagonal().diag()
    while at < 128:
        ended = (ever.reshape(64) @ power).reshape(8, 8).diagonal()
        fresh, left = fresh + left * ended, left * (1 - ended.sum())
        power, at = power @ power, 2 * at
    wanted = {"right": law, "forward": met, "fresh noise": fresh / fresh.sum()}
    noise = torch.rand(count, 256, 3, dtype=torch.float64, generator=seeded(2))
    for name, exact in wanted.items():
        answer = PAST.reference if name == "right" else PAST.mistakes[name].answer
        drawn = torch.stack([answer(J, x, beta, each) for each in noise])
        seen = torch.bincount(((drawn > 0) * 2 ** torch.arange(3)).sum(-1), minlength=8) / count
        assert ((seen - exact).abs() < 4.5 * (exact / count).sqrt()).all(), name
    assert (met - law).abs().sum() / 2 > 0.05
    assert (fresh - law).abs().sum() / 2 > 0.005


def test_the_package_draws_from_the_same_law():
    J, x, beta, _ = PAST.inputs()[0]
    law, count = exact_kinetic(J, x, beta=beta).law, 40_000
    drawn, _ = from_the_past(J, x, beta=beta, samples=count, generator=seeded(3))
    seen = torch.bincount(((drawn > 0) * 2 ** torch.arange(3)).sum(-1), minlength=8) / count
    assert ((seen - law).abs() < 4.5 * (law / count).sqrt()).all()


def test_the_bound_is_above_the_second_eigenvalue_and_influences_are_what_one_flip_does():
    for J, beta in BOUND.inputs():
        P = transition_matrix(J, beta=beta)
        second = torch.linalg.eigvals(P).abs().sort().values[-2]
        assert second <= BOUND.reference(J, beta)
        states = spin_states(len(J), dtype=torch.float64)
        up = torch.sigmoid(2 * beta * states @ J.mT)
        for i, j in itertools.product(range(len(J)), repeat=2):
            flipped = torch.arange(len(states)) ^ (1 << j)
            assert (up[:, i] - up[flipped, i]).abs().max() <= math.tanh(beta * abs(J[i, j].item())) + 1e-12
