"""Where attention comes to rest: what is found is fixed, and against solvable magnets."""

import dataclasses
import math
import warnings

import pytest
import torch
from helpers.draw import close, examples, normal, seeds
from hypothesis import given
from hypothesis import strategies as st

from attnlib import ConvergenceError, ConvergenceWarning, hopfield_energy, hopfield_gradient
from attnlib.hopfield import find_fixed_points

ONE = torch.tensor([[1.0, 0.0]], dtype=torch.float64)


def bisect(f, low, high):
    positive = f(low) > 0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if (f(middle) > 0) == positive else (low, middle)
    return middle


def orthogonal(n, d, length, seed=0):
    """n orthogonal memories of a squared length."""
    frame, _ = torch.linalg.qr(normal(d, n, seed=seed))
    return math.sqrt(length) * frame.T


# The finder


@pytest.mark.slow
@given(st.integers(1, 12), st.integers(1, 4), st.floats(0.05, 20), seeds)
@examples(30)
def test_what_is_found_is_fixed_and_belongs_to_its_starts(m, d, beta, seed):
    memory, starts = normal(m, d, seed=seed), normal(9, d, seed=seed + 1, scale=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a case close to a transition
        found = find_fixed_points(starts, memory, beta=beta, on_failure="warn")
    unit = memory.norm(dim=-1).max()
    close(found.residual, hopfield_gradient(found.states, memory, beta=beta).norm(dim=-1), atol=1e-12)
    assert (found.residual[found.converged] <= 4e-11 * unit).all()
    assert (found.iterations[~found.converged] == 10_000).all()
    close(found.energies, hopfield_energy(found.points, memory, beta=beta))
    close(found.weights, torch.softmax(beta * found.points @ memory.T, -1))
    assert (found.energies.diff() >= 0).all()
    assert found.sharing.tolist() == [sum(w >= max(row) / 2 for w in row) for row in found.weights.tolist()]
    mine = found.points[found.reached[found.converged]]
    assert ((mine - found.states[found.converged]).norm(dim=-1) <= 1e-4 * unit).all()
    assert set(found.reached[found.converged].tolist()) == set(range(len(found.points)))
    energy_before = hopfield_energy(starts, memory, beta=beta)
    assert (hopfield_energy(found.states, memory, beta=beta) <= energy_before + 1e-10).all()


@pytest.mark.slow
def test_curvature_is_the_smallest_eigenvalue_of_the_hessian():
    memory = normal(6, 3)
    found = find_fixed_points(normal(40, 3, seed=1, scale=2.0), memory, beta=4)
    for point, curvature in zip(found.points, found.curvatures, strict=True):
        hessian = torch.func.hessian(lambda xi: hopfield_energy(xi[None], memory, beta=4).sum())(point)
        close(torch.linalg.eigvalsh(hessian)[0], curvature)
    assert len(found.points) > 1


def test_a_ridge_is_told_from_a_valley():
    pair = torch.cat([ONE, -ONE])
    found = find_fixed_points(torch.tensor([[0.0, 0.5], [0.1, 0.0], [-0.1, 0.3]], dtype=torch.float64), pair, beta=3)
    ridge = found.reached[0]
    close(found.points[ridge], torch.zeros(2, dtype=torch.float64))
    assert found.curvatures[ridge] == pytest.approx(1 - 3)
    assert (found.curvatures > 0).sum() == 2
    assert found.sharing.tolist() == [1, 1, 2]


def test_a_start_does_not_depend_on_its_company():
    memory, starts = normal(7, 3), normal(20, 3, seed=1, scale=2.0)
    together = find_fixed_points(starts, memory, beta=1.3)
    for i in (0, 7, 19):
        alone = find_fixed_points(starts[i : i + 1], memory, beta=1.3)
        close(alone.states[0], together.states[i], atol=1e-12)
        close(alone.points[0], together.points[together.reached[i]], atol=1e-9)
        assert abs(int(alone.iterations[0]) - int(together.iterations[i])) <= 1


def test_a_start_at_rest_takes_no_step_and_comes_back_as_it_was():
    memory = normal(5, 2)
    first = find_fixed_points(normal(8, 2, seed=1), memory, beta=2)
    again = find_fixed_points(first.points, memory, beta=2)
    assert (again.iterations == 0).all()
    assert torch.equal(again.points, first.points)
    assert again.reached.tolist() == list(range(len(first.points)))


def test_one_memory_is_reached_in_one_step():
    found = find_fixed_points(normal(3, 4), normal(1, 4, seed=1))
    close(found.points, normal(1, 4, seed=1))
    assert found.iterations.tolist() == [1, 1, 1]
    assert found.sharing.tolist() == [1]


def test_memories_at_zero():
    found = find_fixed_points(normal(3, 2), torch.zeros(4, 2, dtype=torch.float64))
    assert torch.equal(found.points, torch.zeros(1, 2, dtype=torch.float64))
    assert found.sharing.tolist() == [4]


def test_who_has_half_of_the_largest_weight_shares_a_point():
    weights = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.25, 0.25], [0.6, 0.2, 0.2]], dtype=torch.float64)
    found = find_fixed_points(3 * torch.eye(3, dtype=torch.float64), 3 * torch.eye(3, dtype=torch.float64))
    assert dataclasses.replace(found, weights=weights).sharing.tolist() == [2, 3, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_the_dtype_and_the_callers_tensors(dtype):
    state, memory = normal(6, 2, dtype=dtype, grad=True), normal(4, 2, seed=1, dtype=dtype, grad=True)
    before = state.detach().clone()
    found = find_fixed_points(state, memory, beta=3)
    reals = (found.points, found.energies, found.weights, found.curvatures, found.states, found.residual)
    assert {tensor.dtype for tensor in reals} == {dtype}
    assert not any(tensor.requires_grad for tensor in reals)
    assert torch.equal(state.detach(), before)


def test_not_converging_is_said():
    pair = torch.cat([ONE, -ONE])  # critical at beta = 1
    with pytest.raises(ConvergenceError, match="1 of 2 starts still move after 100 steps") as failed:
        find_fixed_points(torch.cat([ONE, 0 * ONE]), pair, beta=1, max_steps=100)
    assert failed.value.iterations == 100
    assert 1e-4 < failed.value.residual < 1e-2
    with pytest.warns(ConvergenceWarning, match="1 of 2 starts"):
        found = find_fixed_points(torch.cat([ONE, 0 * ONE]), pair, beta=1, max_steps=100, on_failure="warn")
    assert found.reached.tolist() == [-1, 0]
    assert found.converged.tolist() == [False, True]
    assert found.residual[0].item() == failed.value.residual
    with pytest.warns(ConvergenceWarning):
        none = find_fixed_points(ONE, pair, beta=1, max_steps=1, on_failure="warn")
    assert none.points.shape == (0, 2)
    assert none.weights.shape == (0, 2)
    assert none.sharing.tolist() == []


@pytest.mark.double
@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_what_counts_as_one_point_grows_with_the_memories(unit):
    """Two of three cold memories lie within the distance, whatever the unit; the third is far from both."""
    angle = torch.tensor([0.0, 0.2, math.pi], dtype=torch.float64)
    memory = unit * torch.stack([angle.cos(), angle.sin()], -1)
    found = find_fixed_points(memory, memory, beta=2000 / unit**2, merge=0.3)
    assert len(found.points) == 2
    assert found.reached[0] == found.reached[1] != found.reached[2]
    close(found.states / unit, memory / unit, atol=1e-6)


def test_tolerance_and_merge_are_what_they_say():
    memory = normal(5, 2)
    starts = normal(30, 2, seed=1, scale=2.0)
    loose = find_fixed_points(starts, memory, beta=2, tolerance=1e-3)
    unit = memory.norm(dim=-1).max()
    exact = find_fixed_points(starts, memory, beta=2)
    assert loose.residual.max() <= 1e-13 * unit  # what came near enough was polished
    assert (loose.iterations <= exact.iterations).all()
    assert loose.iterations.sum() < exact.iterations.sum()
    close(loose.points, exact.points, atol=1e-12)
    cold = find_fixed_points(memory, memory, beta=50)
    assert len(cold.points) > 1
    assert len(find_fixed_points(memory, memory, beta=50, merge=10).points) == 1


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": torch.zeros(2, 3, 2).double()}, r"state has shape \(2, 3, 2\) and memory"),
        ({"state": normal(2, 3, 2), "memory": normal(2, 4, 2)}, r"state has shape \(2, 3, 2\); expected \[n, d\] with n >= 1"),
        ({"state": torch.zeros(0, 2).double()}, r"state has shape \(0, 2\); expected \[n, d\] with n >= 1"),
        ({"state": torch.zeros(2, 3).double()}, r"state has shape \(2, 3\) and memory"),
        ({"state": torch.zeros(2, 2)}, "torch.float64"),
        ({"state": torch.full((2, 2), math.nan).double()}, "state has non-finite entries"),
        ({"memory": torch.full((2, 2), math.inf).double()}, "memory has non-finite entries"),
        ({"beta": 0}, "beta is 0; expected a finite number above 0"),
        ({"beta": math.inf}, "beta is inf"),
        ({"tolerance": 0}, "tolerance is 0; expected a finite number above 0"),
        ({"merge": -1}, "merge is -1; expected a finite number above 0"),
        ({"merge": math.nan}, "merge is nan"),
        ({"max_steps": 0}, "max_steps is 0; expected an integer of at least 1"),
        ({"on_failure": "hope"}, "on_failure is 'hope'; expected one of 'error', 'warn'"),
    ],
)
def test_bad_arguments(change, words):
    given = {"state": normal(2, 2), "memory": normal(3, 2)} | change
    with pytest.raises(ValueError, match=words):
        find_fixed_points(**given)


# Two opposite memories: Curie and Weiss


@given(st.floats(1.05, 6), st.floats(0.2, 9), st.integers(1, 5), seeds)
@examples(30)
def test_two_opposite_memories_are_a_magnet(K, length, d, seed):
    direction = normal(1, d, seed=seed)
    x = math.sqrt(length) * direction / direction.norm()
    found = find_fixed_points(x, torch.cat([x, -x]), beta=K / length)
    m = bisect(lambda m: math.tanh(K * m) - m, 1e-6, 1.0)
    close(found.points, m * x, atol=1e-6 * math.sqrt(length))
    energy = length * (m * m / 2 - math.log(2 * math.cosh(K * m)) / K)
    assert found.energies.item() == pytest.approx(energy, abs=1e-6)
    p, q = (1 + m) / 2, (1 - m) / 2
    entropy = -sum(w * math.log(w) for w in (p, q) if w > 0)
    assert energy / length == pytest.approx(-m * m / 2 - entropy / K, abs=1e-6)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("K", [0.3, 0.9, 0.99])
def test_a_hot_magnet_has_no_magnetisation(K):
    found = find_fixed_points(ONE, torch.cat([ONE, -ONE]), beta=K)
    assert found.points.norm() < 1e-8
    assert found.curvatures.item() == pytest.approx(1 - K, abs=1e-9)


def test_the_critical_temperature_of_the_magnet():
    x = 1.7 * ONE
    pair = torch.cat([x, -x])
    critical = bisect(lambda beta: find_fixed_points(0 * x, pair, beta=beta).curvatures.item(), 0.01, 5.0)
    assert critical * 1.7**2 == pytest.approx(1, abs=1e-6)


# Orthogonal memories: Potts


def balance(s, n):
    return math.log((1 + (n - 1) * s) / (1 - s)) / s


def marginal(n):
    """The lead at which a single pattern appears, where K(s) is least."""
    return bisect(lambda s: n / ((1 - s) * (1 + (n - 1) * s)) - balance(s, n), 0.05, 0.99)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 10, 24])
@pytest.mark.parametrize("length", [0.5, 2.25])
def test_the_first_order_transition(n, length):
    memory = orthogonal(n, n + 3, length)
    one, average = memory[:1], memory.mean(0, keepdim=True)

    def gap(K):
        places = (find_fixed_points(at, memory, beta=K / length, max_steps=50_000) for at in (average, one))
        return float.__sub__(*(place.energies.item() for place in places))

    appears, expected = balance(marginal(n), n), 2 * (n - 1) * math.log(n - 1) / (n - 2)
    assert appears < expected < n
    assert bisect(gap, (appears + expected) / 2, n) == pytest.approx(expected, abs=1e-6)
    weights = find_fixed_points(one, memory, beta=expected / length).weights[0]
    assert weights.max().item() == pytest.approx((n - 1) / n, abs=1e-6)
    assert weights.min().item() == pytest.approx(1 / (n * (n - 1)), abs=1e-6)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("n", [3, 5, 10, 24])
def test_a_pattern_appears_and_the_average_gives_way(n):
    memory = orthogonal(n, n, 1.0)
    one, average = memory[:1], memory.mean(0, keepdim=True)
    s = marginal(n)
    K = balance(s, n)
    edge = find_fixed_points(average + s * (one - average), memory, beta=K)
    assert edge.iterations.item() == 0
    assert edge.curvatures.item() == pytest.approx(0, abs=1e-6)
    above, below = (find_fixed_points(one, memory, beta=K + shift, max_steps=50_000) for shift in (1e-3, -1e-3))
    assert above.weights.max() > 0.9 * (1 + (n - 1) * s) / n
    close(below.points, average, atol=1e-8)
    gives_way = bisect(lambda K: find_fixed_points(average, memory, beta=K).curvatures.item(), 1.0, 2.0 * n)
    assert gives_way == pytest.approx(n, abs=1e-6)


@given(st.integers(2, 8), st.floats(0.5, 12), st.floats(0.3, 4), seeds)
@examples(30)
def test_energies_at_rest_are_those_of_potts(n, K, length, seed):
    memory = orthogonal(n, n + 1, length, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = find_fixed_points(normal(6, n + 1, seed=seed), memory, beta=K / length, on_failure="warn")
    for energy, p in zip(found.energies.tolist(), found.weights.tolist(), strict=True):
        potts = -sum(w * w for w in p) / 2 + sum(w * math.log(w) for w in p if w > 0) / K
        assert energy / length == pytest.approx(potts, abs=1e-6)


@pytest.mark.slow
def test_three_memories_at_120_degrees_are_a_potts_model():
    angle = 2 * math.pi * torch.arange(3, dtype=torch.float64) / 3
    memory = 1.3 * torch.stack([angle.cos(), angle.sin()], -1)
    unit = 1.5 * 1.3**2

    def gap(K):
        at = torch.cat([0 * memory[:1], memory[:1]])
        found = find_fixed_points(at, memory, beta=K / unit, max_steps=50_000)
        low, high = found.energies[found.reached].tolist()
        return low - high

    assert bisect(gap, 2.75, 2.99) == pytest.approx(4 * math.log(2), abs=1e-6)
