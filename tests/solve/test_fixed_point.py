"""Fixed points: solutions and evidence, sample by sample, and derivatives against unrolled iterations."""

import math
import warnings

import pytest
import torch
from helpers.draw import close, derivatives, examples, normal
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from attnlib import ConvergenceError, ConvergenceWarning
from attnlib.solve import fixed_point

METHODS = ["damped", "anderson", "newton"]
methods = pytest.mark.parametrize("method", METHODS)


def contraction(k, rate, seed=0):
    """A matrix whose largest singular value is the rate."""
    matrix = normal(k, k, seed=seed)
    return rate * matrix / torch.linalg.matrix_norm(matrix, 2)


@examples(20)
@given(seed=st.integers(0, 2**31), k=st.integers(1, 6), rate=st.floats(0.05, 0.9), method=st.sampled_from(METHODS))
def test_it_solves_and_says_how_well(seed, k, rate, method):
    matrix, offset = contraction(k, rate, seed), normal(3, k, seed=seed + 1)

    def step(z):
        return (z @ matrix.mT + offset).tanh()

    found = fixed_point(step, torch.zeros(3, k, dtype=torch.float64), method=method, tolerance=1e-11, max_steps=400)
    assert found.converged.all()
    close((step(found.solution) - found.solution).abs().amax(-1), found.residual, atol=0.0)
    assert (found.residual <= 1e-11 * (1 + found.solution.abs().amax(-1))).all()
    assert (found.iterations <= 400).all()


@methods
def test_a_sample_does_not_depend_on_who_else_is_in_the_batch(method):
    matrix, offset = contraction(4, 0.95), normal(2, 5, 4, scale=3.0)
    offset[0, 0] = 0.01  # slow ones beside quick ones

    def solve(offset):
        def image(z):  # a sum by itself for each sample, in the same order whatever the batch
            return ((z.unsqueeze(-2) * matrix).sum(-1) + offset).tanh()

        return fixed_point(image, torch.zeros_like(offset), method=method, max_steps=900)

    together = solve(offset)
    assert together.iterations.min() < together.iterations.max()
    for i in range(2):
        for j in range(5):
            alone = solve(offset[i, j])
            close(alone.solution, together.solution[i, j], atol=1e-12)
            assert alone.iterations == together.iterations[i, j]
            assert alone.converged


@pytest.mark.sweep(0.5)
@pytest.mark.double
@derivatives
@methods
def test_derivatives_of_first_and_second_order(method, how):
    matrix, offset = contraction(3, 0.6).requires_grad_(), normal(2, 3, seed=1, grad=True)

    def solve(matrix, offset):
        start = torch.zeros(2, 3, dtype=torch.float64)
        found = fixed_point(lambda z: (z @ matrix.mT + offset).tanh(), start, method=method, tolerance=1e-13)
        return found.solution

    for check in (gradcheck, gradgradcheck):
        assert check(solve, (matrix, offset), atol=1e-6, rtol=0, **how)


@pytest.mark.double
def test_derivatives_are_those_of_the_unrolled_iteration():
    matrix, offset = contraction(4, 0.5).requires_grad_(), normal(2, 4, seed=1, grad=True)
    z = torch.zeros(2, 4, dtype=torch.float64)
    found = fixed_point(lambda z: (z @ matrix.mT + offset).sin(), z, tolerance=1e-14).solution
    for _ in range(70):
        z = (z @ matrix.mT + offset).sin()
    weights = normal(2, 4, seed=2)
    first = [torch.autograd.grad((weights * one).sum(), (matrix, offset), create_graph=True) for one in (found, z)]
    for a, b in zip(*first):
        close(a, b, atol=1e-12)
    second = [torch.autograd.grad(sum(t.cos().sum() for t in slopes), (matrix, offset)) for slopes in first]
    for a, b in zip(*second):
        close(a, b, atol=1e-10)


@pytest.mark.double
@pytest.mark.parametrize("step", [1.0, 0.3, lambda z: torch.tensor([0.2, 0.7], dtype=torch.float64)], ids=["1", "0.3", "each"])
def test_anderson_ends_a_linear_map_of_k_components_after_k_steps(step):
    """Their best combination leaves nothing to do, whatever length a step would have had."""
    matrix, offset = contraction(3, 0.9), normal(2, 3, seed=1)
    settings = {"method": "anderson", "step": step, "tolerance": 1e-7, "ridge": 1e-15}
    found = fixed_point(lambda z: z @ matrix.mT + offset, torch.zeros_like(offset), **settings)
    close(found.solution, torch.linalg.solve(torch.eye(3).double() - matrix, offset.mT).mT, atol=1e-6)
    assert (found.iterations <= 3 + 2).all()


@pytest.mark.filterwarnings("ignore::attnlib.ConvergenceWarning")
@pytest.mark.parametrize("method", ["damped", "anderson", "newton"])
@pytest.mark.parametrize("gap", [1e-3, 1e-4])
def test_an_excursion_does_not_loosen_the_tolerance(method, gap):
    def narrow(state):  # its only fixed point is near 1; near 0 the residual is as small as the gap
        return state + gap + state**2 - state**3

    start = torch.tensor([[-0.5], [-0.1], [-0.01]], dtype=torch.float64)
    found = fixed_point(narrow, start, method=method, on_failure="warn")
    near = (found.solution - 1).abs()[..., 0] < 2 * gap
    assert torch.equal(found.converged, near)
    assert (found.residual[~near] >= 0.9 * gap).all()


@pytest.mark.parametrize(("goal", "scale"), [(1000.0, 1.0), (1.0, 1000.0)])
def test_the_tolerance_is_relative_to_the_larger_of_scale_and_state(goal, scale):
    """Half of the way with each step: the first of which no more than a thousandth of the larger is left."""
    found = fixed_point(
        lambda z: (z + goal) / 2, torch.zeros(1, dtype=torch.float64), tolerance=1e-3, scale=torch.tensor([scale]).double()
    )
    z, evaluations = 0.0, 1
    while (goal - z) / 2 > 1e-3 * max(scale, z):
        z, evaluations = (z + goal) / 2, evaluations + 1
    assert (found.iterations.item(), found.solution.item()) == (evaluations, z)


@pytest.mark.parametrize("method", ["damped", "anderson"])
def test_memory_does_not_grow_with_the_iterations(method):
    matrix, offset = contraction(30, 0.99).requires_grad_(), normal(8, 30, grad=True)
    kept = {}
    for steps in (3, 200):
        total = 0

        def pack(tensor):
            nonlocal total
            total += tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = fixed_point(
                lambda z: (z @ matrix.mT + offset).tanh(),
                torch.zeros_like(offset),
                method=method,
                tolerance=1e-300,
                max_steps=steps,
                on_failure="warn",
            )
        assert found.iterations.max() == steps or (method == "anderson" and found.residual.max() == 0)
        kept[steps] = total
    assert kept[3] == kept[200] > 0


def test_the_slowest_directions_are_quicker_with_memory_or_newton():
    matrix, offset = contraction(6, 0.97), normal(3, 6)
    matrix = 0.97 * torch.diag(torch.linspace(-1, 1, 6).double())
    took = {
        method: fixed_point(lambda z: z @ matrix + offset, torch.zeros_like(offset), method=method, max_steps=5000)
        for method in METHODS
    }
    for found in took.values():
        close(found.solution, offset / (1 - matrix.diagonal()), atol=1e-7)
    steps = {method: int(found.iterations.max()) for method, found in took.items()}
    assert steps["newton"] <= 3 < steps["anderson"] < steps["damped"] / 5


def test_a_step_may_differ_between_samples_and_states():
    stiff = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)

    def solve(step):
        return fixed_point(lambda z: 1 - stiff * z, torch.zeros_like(stiff), step=step, on_failure="warn")

    found = solve(lambda z: 1 / (1 + stiff[..., 0]))
    close(found.solution, 1 / (1 + stiff), atol=1e-12)
    with pytest.warns(ConvergenceWarning):
        assert not solve(1.0).converged[1:].any()


def test_a_step_is_asked_for_again_where_a_state_has_moved_and_for_no_other_sample():
    """Near its end a state hardly moves: what its step costs, as eigenvalues do, is not paid there for nothing."""
    stiff = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)
    asked = []

    def solve(stiff, start):
        def step(z):
            asked.append(z)
            return 0.3 / (1 + stiff[..., 0] + z[..., 0].abs())

        return fixed_point(lambda z: 1 - stiff * z, start, step=step)

    far = torch.tensor([[2.0], [-1.0], [0.5]], dtype=torch.float64)
    found = solve(stiff, far)
    close(found.solution, 1 / (1 + stiff), atol=1e-10)
    assert len(asked) < found.iterations.max() / 2
    for sample, one in enumerate(stiff):  # alone or beside others, a sample takes the same steps
        alone = solve(one, far[sample])
        assert torch.equal(alone.solution, found.solution[sample])
        assert alone.iterations == found.iterations[sample]


def test_rounding_in_a_large_part_does_not_keep_a_small_one_from_its_end():
    """A large part that flickers in its last digit all the time, and a small one that comes to rest slowly."""
    flicker = [0.0, 1.2e-7]

    def step(state):
        flicker.reverse()
        return torch.cat([torch.ones_like(state[..., :1]) + flicker[0], 0.9 * state[..., 1:] + 1e-6], -1)

    start = torch.tensor([[1.0, 1e-6]])
    found = fixed_point(step, start, parts=(1, 1), tolerance=1e-4, scale=torch.tensor([1.0, 1e-6]), max_steps=200)
    assert found.converged
    assert abs(found.solution[0, 1].item() / 1e-5 - 1) < 2e-3


@pytest.mark.parametrize("steps", [1, 3])
def test_a_state_on_the_way_has_the_derivatives_that_the_theorem_gives_there(steps):
    """For a loss before the layer has settled: the linear equation at that state, solved for one sample at a time."""
    w, x, start = contraction(3, 0.9).requires_grad_(), normal(2, 3, seed=1), torch.zeros(2, 3, dtype=torch.float64)
    with pytest.warns(ConvergenceWarning):
        found = fixed_point(lambda z: (z @ w + x).tanh(), start, max_steps=steps, on_failure="warn")
    assert not found.converged.any()
    (grad,) = torch.autograd.grad(found.solution.sum(), w)
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for z, offset in zip(found.solution.detach(), x):
        slope = 1 - (z @ w + offset).tanh().square().detach()
        by_state, by_weight = slope[:, None] * w.detach().mT, torch.einsum("i,j,ik->ijk", slope, z, torch.eye(3).double())
        left = torch.linalg.solve((torch.eye(3) - by_state).mT, torch.ones(3, dtype=torch.float64))
        expected += torch.einsum("i,ijk->jk", left, by_weight)
    close(grad, expected, atol=1e-9)


def test_failure_is_raised_or_warned_of():
    start = torch.full((2, 1), 0.1, dtype=torch.float64)
    grows = torch.tensor([[0.5], [3.0]], dtype=torch.float64)
    with pytest.raises(ConvergenceError, match="1 of 2 samples did not converge in 50 steps by damped") as caught:
        fixed_point(lambda z: grows * z, start, max_steps=50)
    assert caught.value.iterations == 50
    reached = caught.value.found
    assert reached.converged.tolist() == [True, False]
    close(reached.solution[1], start[1], atol=0.0)  # from here another method goes on
    assert fixed_point(lambda z: grows * z, reached.solution, method="anderson").converged.all()
    with pytest.warns(ConvergenceWarning):
        found = fixed_point(lambda z: grows * z, start, max_steps=2000, on_failure="warn")
    assert found.converged.tolist() == [True, False]
    assert bool(torch.isfinite(found.solution).all())
    close(found.solution[1], start[1], atol=0.0)  # the best that was seen
    close(found.residual[1], 2 * start[1, 0], atol=1e-15)


@methods
def test_transforms_and_compiling(method):
    matrix, offset = contraction(3, 0.4), normal(4, 3, seed=1)

    def solve(offset):
        start = torch.zeros_like(offset)
        return fixed_point(lambda z: (z @ matrix.mT + offset).tanh(), start, method=method, max_steps=40).solution

    together = solve(offset)
    close(torch.func.vmap(solve)(offset), together, atol=1e-10)
    slopes = torch.func.jacrev(solve)(offset)
    leaf = offset.clone().requires_grad_()
    (back,) = torch.autograd.grad(solve(leaf)[1, 2], leaf)
    close(slopes[1, 2], back, atol=1e-8)


@pytest.mark.sweep(0.5)
@pytest.mark.double
@methods
def test_where_no_value_can_be_seen_a_start_at_the_solution_knows_how_it_moves(method):
    """Steps that stop at once would carry no derivative: the solution is right, and its gradient would be zero."""
    matrix, offset, weights = contraction(3, 0.4), normal(4, 3, seed=1), normal(4, 3, seed=2)

    def solve(offset, start):
        return fixed_point(lambda z: (z @ matrix.mT + offset).tanh(), start, method=method, max_steps=40).solution

    start = solve(offset, torch.zeros_like(offset))

    def score(offset, start, weights):
        return (weights * solve(offset, start)).sin().sum()

    leaf = offset.clone().requires_grad_()
    (first,) = torch.autograd.grad(score(leaf, start, weights), leaf, create_graph=True)
    (second,) = torch.autograd.grad((weights * first.cos()).sum(), leaf)
    slope = torch.func.grad(score)
    close(slope(offset, start, weights), first, atol=1e-9)
    close(torch.func.vmap(slope)(offset, start, weights), first, atol=1e-9)
    close(torch.func.grad(lambda o: (weights * slope(o, start, weights).cos()).sum())(offset), second, atol=1e-9)


@pytest.mark.sweep(0.5)
@pytest.mark.double
@methods
def test_derivatives_in_forward_mode_are_those_in_reverse(method):
    """From zero, and from the solution, where the first step is the last; with and without torch.func."""
    matrix, offset, along = contraction(3, 0.4), normal(4, 3, seed=1), normal(4, 3, seed=2)

    def solve(offset, start):
        return fixed_point(lambda z: (z @ matrix.mT + offset).tanh(), start, method=method, max_steps=40).solution

    zero = torch.zeros_like(offset)
    for start in (zero, solve(offset, zero)):
        wanted = torch.autograd.functional.jvp(lambda o, start=start: solve(o, start), offset, along)[1]
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(solve(forward_ad.make_dual(offset, along), start))
            close(found.primal, solve(offset, start), atol=1e-9)
            close(found.tangent, wanted, atol=1e-9)
        close(torch.func.jvp(lambda o, start=start: solve(o, start), (offset,), (along,))[1], wanted, atol=1e-9)


@pytest.mark.sweep(0.5)
@pytest.mark.double
@methods
def test_a_solution_that_repels_is_not_left_where_no_value_can_be_seen(method):
    """A logistic map of slope -1.3: two hundred more steps would lead from its fixed point to a cycle of two."""
    start = torch.full((3, 1), 1 - 1 / 3.3, dtype=torch.float64)

    def solve(start):
        return fixed_point(lambda z: 3.3 * z * (1 - z), start, method=method)

    found = torch.func.vmap(lambda one: solve(one).solution)(start)
    close(found, start, atol=1e-12)
    close(solve(start).solution, start, atol=1e-12)
    assert torch.func.vmap(lambda one: solve(one).converged)(start).all()


@pytest.mark.usefixtures("unchecked")
def test_what_it_refuses():
    start = torch.zeros(2, 3)
    for call, words in (
        (lambda: fixed_point(torch.cos, torch.zeros(())), r"start has shape \(\); expected \[\*batch, k\]"),
        (lambda: fixed_point(torch.cos, start + math.nan), "start has non-finite entries"),
        (lambda: fixed_point(lambda z: z[:1], start), r"function returned torch.float32 \(1, 3\); expected"),
        (lambda: fixed_point(3, start), "function is a int; expected a function of states"),
        (lambda: fixed_point(torch.cos, start, method="broyden"), "method is 'broyden'"),
        (lambda: fixed_point(torch.cos, start, step=0.0), "step is 0.0; expected a finite number above 0"),
        (lambda: fixed_point(torch.cos, start, step=1e300), r"step is 1e\+300; expected a number that torch.float32 can hold"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
