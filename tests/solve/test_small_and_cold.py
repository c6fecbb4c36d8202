"""What says ``converged`` has solved: solutions that are small, that have parts of two sizes, that lie at low temperature."""

import math

import pytest
import torch
from helpers.draw import close, normal
from scipy.optimize import brentq

from attnlib.free_energy import saddle_point
from attnlib.mean_field import Gaussian, Spherical, adaptive_tap, naive_mean_field, sherrington_kirkpatrick, tap
from attnlib.solve import fixed_point


def everyone(strength, n=5, dtype=torch.float64):
    return strength * (torch.ones(n, n, dtype=dtype) - torch.eye(n, dtype=dtype))


def by_bisection(equation, low, high=1 - 1e-12):
    return brentq(equation, low, high, xtol=1e-30, rtol=1e-13)


def local_field(theory, m, j, n, field):
    """What each of n spins feels, all coupled by j and with the magnetisation m; the adaptive V is found by bisection."""
    if theory is naive_mean_field:
        V = 0.0
    elif theory is tap:
        V = (n - 1) * j**2 * (1 - m**2)
    else:
        c = 1 - m**2  # the response has two eigenvalues, of the mean and of all differences
        V = by_bisection(lambda L: (1 / (L - (n - 1) * j) + (n - 1) / (L + j)) / n - c, (n - 1) * j + 1e-13, 1e6) - 1 / c
    return (n - 1) * j * m - V * m + field


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("field", [1e-5, 1e-12])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("theory", [naive_mean_field, tap, adaptive_tap])
@pytest.mark.parametrize("where", [None, 0.9])
def test_a_small_field_is_not_taken_for_the_end(theory, dtype, field, where):
    """Weak couplings: an answer as small as the field, also from afar. Strong ones: at every step the change looks small."""
    for j, low, high in ((0.2, field / 10, 1e3 * field), *(((0.5, 0.5, 1 - 1e-12),) if theory is naive_mean_field else ())):
        h = torch.full((5,), field, dtype=dtype)
        found = theory(everyone(j, dtype=dtype), h, start=None if where is None else torch.full_like(h, where))
        assert found.converged
        m = by_bisection(lambda m, j=j: m - math.tanh(local_field(theory, m, j, 5, field)), low, high)
        close(found.m.double() / m, torch.ones(5).double(), atol=2e-4 if dtype == torch.float32 else 1e-9)


@pytest.mark.parametrize("field", [1e-4, 1e-6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_small_answer_has_as_many_digits_as_a_large_one(dtype, field):
    """Below the transition the answer is as small as the field; its ratio to the field is what linear response says."""
    J, h = everyone(0.2, dtype=dtype), torch.full((5,), field, dtype=dtype)
    far = normal(5, scale=field, dtype=dtype)
    for solve, ratio in ((naive_mean_field, 1 / (1 - 0.8)), (tap, 1 / (1 - 0.8 + 4 * 0.04))):
        for start in (None, far):
            found = solve(J, h, start=start)
            assert found.converged
            close(found.m.double() / field, torch.full((5,), ratio).double(), atol=2e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_means_that_are_small_beside_their_variances_are_solved_too(dtype):
    """The state of adaptive TAP holds both; to lowest order m is its response times the field."""
    J, h = everyone(0.45, dtype=dtype), torch.full((5,), 1e-6, dtype=dtype)
    found = adaptive_tap(J, h)
    assert found.converged
    response = adaptive_tap(J, 0 * h).chi.double() @ h.double()
    close(found.m.double() / 1e-6, response / 1e-6, atol=1e-3)


def test_parts_are_measured_each_by_its_own_size():
    """One part of order one, settled at once, and one of order 1e-11 that needs hundreds of steps."""
    start = torch.tensor([1.0, 0.0], dtype=torch.float64)
    factor, goal = torch.tensor([0.0, 0.5]).double(), torch.tensor([1.0, 1e-11]).double()

    def walk(z):
        return factor * z + (1 - factor) * goal

    assert fixed_point(walk, start).solution[1] == 0  # for the whole state it is nothing
    close(fixed_point(walk, start, parts=(1, 1)).solution / goal, torch.ones(2).double(), atol=1e-8)
    with pytest.raises(ValueError, match=r"parts is \(1, 2\); expected sizes that sum to the last axis of start, 2"):
        fixed_point(walk, start, parts=(1, 2))


def test_a_solution_of_zero_is_reached_from_afar():
    found = fixed_point(lambda z: z / 2, torch.ones(1, dtype=torch.float64))
    assert found.converged
    assert found.solution < 1e-9


@pytest.mark.parametrize("solve", [naive_mean_field, adaptive_tap])
def test_gaussian_spins_without_a_state_are_refused(solve):
    for strength, field in ((3.0, 1.0), (0.26, 0.0)):
        with pytest.raises(ValueError, match=r"J or beta too large: .* not positive definite"):
            solve(everyone(strength), torch.full((5,), field).double(), prior=Gaussian(1.0))
    close(solve(everyone(0.2), torch.ones(5).double(), prior=Gaussian(1.0)).m, torch.full((5,), 5.0).double(), atol=1e-7)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("beta", [1.0, 100.0, 1e3, 1e4, 1e5, 1e6])
def test_cold_spins_without_fields_reach_their_saddle_point(beta, dtype):
    """The sum rule is the saddle point's own condition, and the number of steps does not grow with beta."""
    J = sherrington_kirkpatrick(12, 3, generator=torch.Generator().manual_seed(0), dtype=dtype)
    found = saddle_point(J, beta=beta)
    assert found.converged.all()
    assert found.iterations.max() <= 60
    close(found.lengths, torch.ones_like(found.z), atol=1e-5 if dtype == torch.float32 else 1e-7)
    if dtype == torch.float64:
        alone = saddle_point(J[1], beta=beta)  # nobody else in the batch matters
        close(alone.z, found.z[1], atol=0)
        assert alone.iterations == found.iterations[1]


def test_three_frustrated_spins_at_low_temperature_stand_at_120_degrees():
    J = -everyone(1.0, 3)
    close(saddle_point(J, beta=1e6).overlaps[0, 1], torch.tensor(-0.5).double(), atol=1e-5)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-4), (torch.float64, 1e-9)])
@pytest.mark.parametrize("beta", [1.0, 1e4, 1e6])
def test_the_reaction_of_cold_spherical_spins(beta, dtype, atol):
    """Three spins with three components in one field: Langevin's function, and a response with four eigenvalues."""
    n, d, j, field = 3, 3, 0.2 * beta, 0.5 * beta

    def alone(b):
        z = math.sqrt(3) * b
        spread = 1 / z**2 - (1 / math.sinh(z) ** 2 if z < 300 else 0.0)
        m = math.sqrt(3) * (1 / math.tanh(z) - 1 / z)
        return m, m / b, 3 * spread  # the mean, the variances across the field and along it

    def reaction(b):
        _, across, along = alone(b)

        def excess(V):
            parts = [(1 / (V + 1 / c - (n - 1) * j) + (n - 1) / (V + 1 / c + j)) / n for c in (across, across, along)]
            return sum(parts) - 2 * across - along

        edge = (n - 1) * j - 1 / across
        return by_bisection(excess, edge + 1e-12 * beta, edge + 100 * beta)

    b = by_bisection(lambda b: ((n - 1) * j - reaction(b)) * alone(b)[0] + field - b, 0.3 * field, 20 * field)
    J = everyone(0.2, n)[:, None, :, None] * torch.eye(d).double()[:, None]
    h = torch.tensor([0.5, 0.0, 0.0]).double().repeat(n)
    found = adaptive_tap(J.reshape(n * d, n * d).to(dtype), h.to(dtype), beta=beta, prior=Spherical(d))
    assert found.converged
    close(found.m[::d].double() / alone(b)[0], torch.ones(n).double(), atol=atol)
    close(found.V.double() / reaction(b), torch.ones(n).double(), atol=atol)


def test_sizes_that_a_caller_knows_hold_for_a_small_solution_from_afar():
    """Relative to its start a state is done long before it is right; relative to a size that is given it is not."""
    far, goal = torch.ones(1).double(), 1e-12

    def walk(z):
        return goal + (z - goal) / 2

    assert fixed_point(walk, far).solution > 10 * goal
    close(fixed_point(walk, far, scale=torch.tensor([goal]).double()).solution / goal, far, atol=1e-9)
    with pytest.raises(ValueError, match="scale has entries that are negative; expected sizes"):
        fixed_point(walk, far, scale=-far)
