"""Spins whose couplings come in part from the context: means by brute force, the floor by another road, references in order."""

import itertools

import pytest
import torch

from attnlib.course.data.seeds import over_runs
from attnlib.course.data.spins import (
    blind_floor,
    context_couplings,
    fixed_couplings,
    share,
    spin_references,
    spin_systems,
)
from attnlib.mean_field import exact_ising


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_means_are_those_of_all_states_and_couplings_those_of_the_formula():
    found = spin_systems(3, 4, context=0.4, width=2, gain=1.5, generator=generator())
    J0 = fixed_couplings(4, gain=1.5)
    for h, x, J, m in zip(found.h, found.x, found.J, found.m, strict=True):
        total, means = 0.0, torch.zeros(4, dtype=torch.float64)
        for i, j in itertools.combinations(range(4), 2):
            expected = 0.6**0.5 * J0[i, j] + 0.4**0.5 * 1.5 * (x[i] * x[j]).sum() / (2 * 4) ** 0.5
            assert J[i, j].item() == pytest.approx(expected.item(), abs=1e-12)
        for signs in itertools.product((-1.0, 1.0), repeat=4):
            s = torch.tensor(signs, dtype=torch.float64)
            weight = torch.exp(sum(J[i, j] * s[i] * s[j] for i, j in itertools.combinations(range(4), 2)) + (h * s).sum())
            total, means = total + weight, means + weight * s
        assert torch.allclose(m, means / total, atol=1e-12)


def test_both_parts_of_the_couplings_are_equally_strong():
    pairs = torch.ones(10, 10, dtype=torch.bool).triu(1)
    x = torch.randn(20_000, 10, 4, generator=generator(), dtype=torch.float64)
    own = context_couplings(x, context=1.0)[:, pairs]
    assert over_runs(own.square().mean(1)).mean == pytest.approx(1.2**2 / 10, rel=0.02)
    assert context_couplings(x[:1], context=0.0)[0].equal(fixed_couplings())


@pytest.mark.slow
def test_the_floor_is_what_a_regression_on_all_fields_leaves():
    """Nested sampling against the variance that is left between systems with the same fields, pair by pair."""
    floor = blind_floor(0.3, draws=300, inner=16, n=5, generator=generator(1))
    h = 0.5**0.5 * torch.randn(20_000, 5, generator=generator(2), dtype=torch.float64)
    one, two = (
        exact_ising(context_couplings(torch.randn(20_000, 5, 4, generator=generator(s), dtype=torch.float64), context=0.3), h).m
        for s in (3, 4)
    )
    expected = share((one - two).square().mean(1) / 2, (one.square() + two.square()).mean(1) / 2)
    assert floor.mean == pytest.approx(expected.mean, abs=4 * (floor.error**2 + expected.error**2) ** 0.5)


@pytest.mark.slow
def test_the_floors_of_page_7a_are_these():
    found = [blind_floor(context, draws=400, inner=32, generator=generator()) for context in (0.01, 0.1, 1.0)]
    for one, expected in zip(found, (0.0100, 0.118, 0.661), strict=True):
        assert one.mean == pytest.approx(expected, abs=4 * one.error + 0.0005)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::attnlib.ConvergenceWarning")
def test_theories_with_the_true_couplings_are_in_order():
    found = spin_references(spin_systems(600, context=1.0, generator=generator()), max_steps=300)
    for name, expected in (("independent", 0.704), ("naive", 0.382), ("tap", 0.158)):
        error, solved = found[name]
        assert error.mean == pytest.approx(expected, abs=4 * error.error)
        assert solved > 0.8


def test_without_couplings_each_spin_answers_its_field():
    systems = spin_systems(5, context=0.5, gain=0.0, generator=generator())
    assert torch.allclose(systems.m, systems.h.tanh())
    assert spin_references(systems)["naive"][0].mean < 1e-12


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"context": 1.5}, "context"), ({"context": -0.1}, "context"), ({"count": 0}, "count"), ({"variance": -1.0}, "variance")],
    ids=str,
)
def test_what_is_no_share_or_no_count_is_refused(settings, name):
    with pytest.raises(ValueError, match=rf"^{name} is "):
        spin_systems(**({"count": 1, "context": 0.5} | settings))


def test_fixed_couplings_of_another_size_are_refused():
    with pytest.raises(ValueError, match="fixed has shape"):
        context_couplings(torch.zeros(1, 3, 2), context=0.5, fixed=torch.zeros(2, 2))
