"""Sampled spins: Ising by heat bath against enumeration, driven vectors against the response of one."""

import math

import pytest
import torch
from helpers.draw import normal

from attnlib import exact_ising
from attnlib.course.oracles import heat_bath, vector_film
from attnlib.kinetic import vector_response
from attnlib.mean_field import sherrington_kirkpatrick


def glass(n, systems):
    return sherrington_kirkpatrick(n, systems, generator=seeded(), dtype=torch.float64)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_sampling_agrees_with_enumeration_within_its_own_errors():
    J, h = glass(8, 3), 0.3 * normal(3, 8, seed=1)
    exact = exact_ising(J, h, beta=0.8)
    found = heat_bath(J, h, beta=0.8, chains=100, sweeps=300, generator=torch.Generator().manual_seed(0))
    pulls = (found.m - exact.m) / found.m_error
    assert 0.5 < pulls.square().mean().sqrt() < 1.6  # 24 draws: the errors are neither too small nor too large
    assert pulls.abs().max() < 4.5
    assert (found.chi - exact.chi).abs().max() < 5 / found.effective_samples.min().sqrt()
    assert (found.spread < 1.02).all()
    assert (found.effective_samples < 100 * 300).all()
    assert (found.effective_samples > 1000).all()
    assert found.states.shape == (3, 100, 8)


def test_independent_spins_have_as_many_effective_samples_as_draws():
    found = heat_bath(torch.zeros(5, 5), chains=50, sweeps=200, burn_in=0, generator=torch.Generator().manual_seed(0))
    assert (found.effective_samples > 0.6 * 50 * 200).all()
    assert (found.m.abs() < 5 / 100).all()


def test_means_of_many_samplings_are_as_far_apart_as_their_errors_say():
    """A strong pair remembers for some sweeps: with each sweep counted as a fresh draw the errors are 1.8 times too small."""
    J = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).expand(200, 2, 2)
    generator = torch.Generator().manual_seed(0)
    found = heat_bath(J, torch.tensor([0.3, 0.0]), chains=8, sweeps=200, burn_in=30, generator=generator)
    apart = found.m.std(0) / found.m_error.square().mean(0).sqrt()
    assert (apart - 1).abs().max() < 5 / math.sqrt(2 * 200)


def test_chains_that_do_not_forget_are_reported():
    """A ferromagnet far below its transition: each chain keeps the sign that it came to first."""
    J = 0.2 * (torch.ones(10, 10) - torch.eye(10))
    found = heat_bath(J, beta=3.0, chains=20, sweeps=50, generator=torch.Generator().manual_seed(0))
    assert (found.spread > 2).all()
    assert (found.effective_samples < 100).all()
    again = heat_bath(J, beta=3.0, chains=20, sweeps=50, generator=torch.Generator().manual_seed(0))
    assert torch.equal(found.m, again.m)


def test_sampled_spins_on_their_own_have_the_mean_of_the_response():
    x = normal(3, 5)
    found = vector_film(torch.zeros(3, 3).double(), x, beta=0.8, films=4000, steps=1, burn_in=1, generator=seeded())
    m = vector_response(x, beta=0.8)
    assert ((found.m - m) / found.m_error).abs().max() < 4.5
    assert ((found.C[0].diagonal() - (1 - m.square().mean(-1))) / found.C_error[0].diagonal()).abs().max() < 4.5
    assert ((found.C[1]) / found.C_error[1]).abs().max() < 4.5


def test_films_from_a_start_are_steps_from_it():
    """A step from definite spins has the exact mean, whatever their length was given as; a second one that of spins."""
    J, x, start = normal(3, 3, seed=4), normal(3, 5), normal(3, 5, seed=5)
    spins = start / start.square().mean(-1, keepdim=True).sqrt()
    m = vector_response(x + J @ spins, beta=0.8)
    settings = {"beta": 0.8, "films": 4000, "steps": 1}
    one = vector_film(J, x, **settings, burn_in=0, start=7 * start, generator=seeded())
    assert ((one.m - m) / one.m_error).abs().max() < 4.5
    assert ((one.C[0] - torch.diag(1 - m.square().mean(-1))) / one.C_error[0]).abs().max() < 4.5  # draws are independent
    assert one.spins.shape == (4000, 3, 5)
    torch.testing.assert_close(one.spins.mean(0), one.m)
    two = vector_film(J, x, **settings, burn_in=1, start=start, generator=seeded())
    assert (two.m - vector_response(x + J @ m, beta=0.8)).norm() / two.m_error.norm() > 3  # means are not spins


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (torch.zeros(3, 5).double(), "start has spins of length 0"),
        (torch.ones(3, 4).double(), "start has shape"),
        (torch.full((3, 5), math.nan).double(), "start"),
        (torch.ones(3, 5).float(), "start is torch.float32"),
    ],
)
def test_a_start_that_is_none_is_refused(start, words):
    with pytest.raises(ValueError, match=words):
        vector_film(torch.zeros(3, 3).double(), normal(3, 5), start=start)
