"""Films of driven spins against exact sums, and against the theory of many spins."""

import itertools
import math

import numpy as np
import pytest
import torch
from helpers.draw import close, normal

from attnlib.kinetic import damage, exact_kinetic, film, from_the_past, ordered_sweep, spin_states, transition_matrix


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def shares(states):
    """How often each state was seen, by its number."""
    n = states.shape[-1]
    return torch.bincount(((states > 0) * 2 ** torch.arange(n)).sum(-1).flatten(), minlength=2**n) / states[..., 0].numel()


def chi_square(drawn, law):
    """The sum of squared deviations by their variance: as large as there are states, give or take the root of twice that."""
    return (drawn[..., 0].numel() * (shares(drawn) - law).square() / law).sum()


def test_a_step_of_a_film_is_a_row_of_the_matrix():
    J, x = normal(3, 3), 0.3 * normal(3, seed=1)
    P, count = transition_matrix(J, x, beta=0.8), 20_000
    for number, start in enumerate(spin_states(3, dtype=J.dtype)):
        frames = film(J, x, beta=0.8, steps=1, start=start.expand(count, 3), generator=seeded(number))
        assert frames.shape == (2, count, 3)
        assert torch.equal(frames[0], start.expand(count, 3))
        assert chi_square(frames[1], P[number]) < 7 + 5 * math.sqrt(14)


@pytest.mark.slow
def test_films_without_a_start_begin_anywhere_and_settle_in_the_law():
    J, x = normal(4, 4) / 2, 0.3 * normal(4, seed=1)
    frames = film(J, x, steps=20_000, generator=seeded())
    close(frames[100:].mean(0), exact_kinetic(J, x).m, atol=0.05)


def test_shared_noise_makes_films_that_have_met_one_film():
    """And keeps films in order where no coupling is negative: monotone, one below the other."""
    J = torch.rand(6, 6, generator=seeded(), dtype=torch.float64).softmax(-1)
    start = torch.stack([torch.ones(6), -torch.ones(6), torch.tensor([1.0, -1, 1, -1, 1, -1])]).double()
    frames = film(J, beta=0.5, steps=60, start=start, shared=True, generator=seeded(1))
    top, bottom, middle = frames.unbind(1)
    assert (top >= middle).all()
    assert (middle >= bottom).all()
    met = (top == bottom).all(-1)
    first = met.nonzero()[0].item()
    assert 0 < first < 60
    assert met[first:].all()
    apart = film(J, beta=0.5, steps=60, start=start, generator=seeded(1))
    assert not (apart[first:, 0] == apart[first:, 1]).all()


def test_coupling_from_the_past_draws_from_the_law():
    J, x = normal(4, 4).softmax(-1), 0.4 * normal(4, seed=1)
    drawn, back = from_the_past(J, x, beta=1.2, samples=20_000, generator=seeded())
    assert chi_square(drawn, exact_kinetic(J, x, beta=1.2).law) < 15 + 5 * math.sqrt(30)
    assert set(back.tolist()) <= {2**k for k in range(16)}
    assert 1 < back.double().mean() < 30


def test_it_is_not_the_state_in_which_films_first_meet():
    """What a reader would write first, two films forwards until they meet, draws from another law."""
    J, x = torch.tensor([[0.0, 0.0], [1.0, 0.0]]).double(), torch.tensor([0.5, 0.0]).double()
    ends = torch.tensor([[1.0, 1.0], [-1.0, -1.0]]).double()
    frames = film(J, x, steps=1, start=ends[:, None].expand(2, 1000, 2), shared=True, generator=seeded())
    assert (frames[1, 0, :, 0] == frames[1, 1, :, 0]).all()  # the first spin feels no other: it meets at once
    drawn, back = from_the_past(J, x, samples=4000, generator=seeded())
    assert back.min() == 1  # the second meets where the noise says the same of both
    assert back.max() == 2
    assert chi_square(drawn, exact_kinetic(J, x).law) < 3 + 5 * math.sqrt(6)


def test_cold_spins_do_not_meet_and_signed_couplings_are_refused():
    strong = torch.full((3, 3), 4.0)
    with pytest.raises(ValueError, match="have not met within most, 64 steps"):
        from_the_past(strong, samples=2, most=64, generator=seeded())
    with pytest.raises(ValueError, match="entries below 0"):
        from_the_past(torch.tensor([[-0.1]]), samples=1)


def test_one_ordered_sweep_is_exact_from_any_start():
    """A belief net: probabilities of all states are products in its order. Parallel updates have another law."""
    J, x = 2 * normal(4, 4).tril(-1), 0.3 * normal(4, seed=1)
    drawn = ordered_sweep(J, x, beta=0.7, samples=40_000, generator=seeded())
    law = []
    for state in spin_states(4, dtype=J.dtype).tolist():
        chance = 1.0
        for i in range(4):
            felt = 0.7 * (x[i].item() + sum(J[i, j].item() * state[j] for j in range(i)))
            chance *= math.exp(state[i] * felt) / (2 * math.cosh(felt))
        law.append(chance)
    law = torch.tensor(law, dtype=torch.float64)
    close(law.sum(), torch.tensor(1.0).double(), atol=1e-12)
    assert chi_square(drawn, law) < 15 + 5 * math.sqrt(30)
    assert chi_square(drawn, exact_kinetic(J, x, beta=0.7).law) > 100


@pytest.mark.parametrize("gain", [0.25, 1.0, 2.0])
def test_damage_against_the_plane_of_two_fields(gain):
    """The equation with its share put in, summed over a lattice of both fields under their density."""
    share = damage(gain)
    corr = 1 - 2 * share
    h = np.linspace(-8, 8, 2401) * gain
    a, b = np.meshgrid(h, h)
    density = np.exp(-(a**2 - 2 * corr * a * b + b**2) / (2 * (1 - corr**2) * gain**2))
    found = (density * np.abs(np.tanh(a) - np.tanh(b))).sum() / density.sum() / 2
    assert abs(found - share) < 2e-5


def test_films_of_many_spins_stay_as_far_apart():
    """Within five errors of the share that theory says: shares of fifteen systems of 400 spins scatter, and are averaged."""
    found = []
    for seed in range(15):
        J = torch.randn(400, 400, generator=seeded(seed)) / 20
        start = torch.where(torch.rand(2, 400, generator=seeded(seed)) < 0.5, 1.0, -1.0)
        frames = film(J, beta=1.0, steps=150, start=start, shared=True, generator=seeded(seed + 100))
        found.append((frames[50:, 0] != frames[50:, 1]).float().mean())
    found = torch.stack(found)
    assert (found.mean() - damage(1.0)).abs() < 5 * found.std() / math.sqrt(15)
    assert found.std() / math.sqrt(15) < 0.005


@pytest.mark.usefixtures("unchecked")
def test_what_is_refused():
    J = torch.eye(3)
    for call, message in (
        (lambda: film(J, steps=0), "steps is 0"),
        (lambda: film(J, steps=1, start=torch.zeros(3)), "start has entries other than -1 and 1"),
        (lambda: film(J, steps=1, start=torch.ones(2)), r"start has shape \(2,\)"),
        (lambda: film(J.expand(2, 3, 3), steps=1), "films are of one system"),
        (lambda: film(J, steps=1, shared=1), "shared is"),
        (lambda: film(J, beta=torch.ones(3), steps=1), "beta"),
        (lambda: from_the_past(J, samples=0), "samples is 0"),
        (lambda: ordered_sweep(J, samples=1), "on the diagonal and above"),
        (lambda: damage(0.0), "gain is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_same_noise_in_every_precision():
    J = normal(5, 5)
    frames = [film(J.to(dtype), steps=30, generator=seeded()) for dtype in (torch.float64, torch.float32, torch.bfloat16)]
    assert torch.equal(frames[0].float(), frames[1])
    assert frames[2].dtype == torch.bfloat16
    assert all(set(one.unique().tolist()) == {-1.0, 1.0} for one in frames)
    assert len({tuple(state) for state in itertools.islice(frames[0].tolist(), 10)}) > 1
