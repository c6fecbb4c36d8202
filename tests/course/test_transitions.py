"""Where attention among fixed memories changes its mind: against a grid, attention's own fixed points, and scaling."""

import math

import pytest
import torch
from helpers.draw import normal

from attnlib.course.oracles import potts_couplings, splitting_beta
from attnlib.hopfield import find_fixed_points, hopfield_energy


def couplings_of_leads(m):
    """K(s) on a fine grid of leads, from its formula."""
    s = torch.linspace(1e-4, 1 - 1e-6, 400_001, dtype=torch.float64)
    return s, torch.log((1 + (m - 1) * s) / (1 - s)) / s


@pytest.mark.parametrize("m", [3, 4, 8, 10, 64, 1000])
def test_the_least_coupling_of_a_pattern_is_the_minimum_over_leads(m):
    s, K = couplings_of_leads(m)
    found = potts_couplings(m)
    assert found.spinodal == pytest.approx(K.min().item(), rel=1e-9)
    assert found.lead == pytest.approx(s[K.argmin()].item(), abs=1e-3)
    assert found.spinodal < found.transition < found.stability == m


def test_the_numbers_of_eight_memories():
    found = potts_couplings(8)
    assert (found.spinodal, found.transition) == (pytest.approx(4.249799, abs=5e-7), pytest.approx(4.540457, abs=5e-7))


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("m", [3, 5, 8])
def test_attention_agrees(m):
    """A pattern rests just above the spinodal and not below it, and is as deep as the average at the transition."""
    found, memory = potts_couplings(m), torch.eye(m, dtype=torch.float64)
    average = memory.mean(0, keepdim=True)
    above, below = (
        find_fixed_points(memory[:1], memory, beta=found.spinodal + shift, max_steps=100_000) for shift in (2e-3, -2e-3)
    )
    lead = (above.weights.amax() - above.weights.amin()).item()
    assert lead == pytest.approx(found.lead, abs=0.1)
    assert lead > found.lead
    assert below.weights.amax() - below.weights.amin() < 1e-6
    rest = find_fixed_points(memory[:1], memory, beta=found.transition).points
    deep, flat = (hopfield_energy(place, memory, beta=found.transition) for place in (rest, average))
    torch.testing.assert_close(deep, flat, atol=1e-10, rtol=0)
    gives_way = [find_fixed_points(average, memory, beta=m * factor).curvatures.item() for factor in (0.999, 1.001)]
    assert gives_way[0] > 0 > gives_way[1]


def test_couplings_of_two_and_of_very_many():
    two = potts_couplings(2)
    assert (two.spinodal, two.lead, two.transition, two.stability) == (2, 0, 2, 2)
    many = potts_couplings(10**12)
    assert many.transition == pytest.approx(2 * math.log(10**12), rel=1e-9)
    assert math.log(10**12) < many.spinodal < many.transition
    assert 0.95 < many.lead < 1


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("m", [1, 0, -3, 2.5, "8", None, True])
def test_potts_refuses(m):
    with pytest.raises(ValueError, match=r"m is .*; expected an integer of at least 2"):
        potts_couplings(m)


@pytest.mark.parametrize("m", [3, 6])
def test_orthogonal_memories_split_where_a_pattern_appears(m):
    found = splitting_beta(1.3 * torch.eye(m, dtype=torch.float64))
    assert found == pytest.approx(potts_couplings(m).spinodal / 1.69, rel=3e-4)


@pytest.mark.slow
@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("factor", [1e-3, 0.5, 40.0])
def test_the_split_scales_as_the_square_of_length(factor):
    memory = normal(5, 3, seed=4)
    assert splitting_beta(factor * memory) == pytest.approx(splitting_beta(memory) / factor**2, rel=1e-9)


@pytest.mark.slow
@pytest.mark.slow
def test_the_order_of_memories_and_the_axes_do_not_count():
    memory = normal(5, 3, seed=5)
    turn, _ = torch.linalg.qr(normal(3, 3, seed=6))
    expected = splitting_beta(memory)
    assert splitting_beta(memory.flip(0)) == pytest.approx(expected, rel=2e-4)
    assert splitting_beta(memory @ turn) == pytest.approx(expected, rel=2e-4)
    assert splitting_beta(memory.float()) == pytest.approx(expected, rel=2e-4)


def test_what_never_splits():
    one = torch.tensor([[1.0, 2.0]])
    assert splitting_beta(one) is None
    assert splitting_beta(one.expand(3, 2)) is None
    assert splitting_beta(torch.tensor([[0.1], [0.2]]), coldest=50) is None  # the longer one hides the other
    assert splitting_beta(torch.tensor([[2.0], [-2.0]]), coldest=1) == pytest.approx(0.25, rel=2e-4)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("memory", "coldest", "message"),
    [
        (torch.ones(2, 3, 4), 10, "memory has shape"),
        (torch.ones(3), 10, "memory has shape"),
        (torch.ones(0, 3), 10, "memory has shape"),
        (torch.ones(2, 3, dtype=torch.long), 10, "memory"),
        (torch.tensor([[1.0, float("nan")]]), 10, "memory"),
        (torch.eye(2), 0.5, "coldest is 0.5"),
        (torch.eye(2), math.inf, "coldest is inf"),
    ],
)
def test_the_split_refuses(memory, coldest, message):
    with pytest.raises(ValueError, match=message):
        splitting_beta(memory, coldest=coldest)
