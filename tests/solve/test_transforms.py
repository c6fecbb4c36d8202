"""Solvers in forward mode and under the transforms of torch.func: what they give, and how much more than a call they take."""

import pytest
import torch
from helpers.counting import operations, seconds
from helpers.draw import close, normal
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

from attnlib.free_energy import saddle_point
from attnlib.mean_field import (
    Binary,
    MeanFieldAttention,
    Spherical,
    adaptive_tap,
    naive_mean_field,
    sherrington_kirkpatrick,
    tap,
)
from attnlib.mean_field.equations import Equations
from attnlib.message_passing import Sparse, amp, belief_propagation, ising_graph
from attnlib.solve import fixed_point, with_derivatives

THEORIES = [naive_mean_field, tap, adaptive_tap]


def spins(dtype):
    J = 0.7 * sherrington_kirkpatrick(5, generator=torch.Generator().manual_seed(0), dtype=dtype)
    return J, normal(5, seed=1, dtype=dtype)


def answers(theory, J, h):
    """How m answers to h, from the equations themselves: by hand, or for adaptive TAP by differences of solutions."""
    if theory is adaptive_tap:
        shifts = 1e-5 * torch.eye(5, dtype=torch.float64)
        return ((theory(J.expand(5, 5, 5), h + shifts).m - theory(J.expand(5, 5, 5), h - shifts).m) / 2e-5).mT
    m = theory(J, h).m
    free = torch.diag(1 / (1 - m.square())) - J
    if theory is tap:
        free = free + torch.diag(J.square() @ (1 - m.square())) - 2 * m[:, None] * J.square() * m
    return torch.linalg.inv(free)


@pytest.mark.slow
@pytest.mark.sweep(0.25)
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 2e-4), (torch.float64, 1e-8)])
@pytest.mark.parametrize("theory", THEORIES)
def test_fields_of_one_axis_have_every_derivative(theory, dtype, atol):
    J, h = spins(dtype)
    wanted, direction = answers(theory, J.double(), h.double()), normal(5, seed=2, dtype=dtype)

    def solve(h):
        return theory(J, h).m

    value, along = jvp(solve, (h,), (direction,))
    assert value.shape == along.shape == (5,)
    assert along.dtype == dtype
    close(value, solve(h), atol=atol)
    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(solve(forward_ad.make_dual(h, direction))).tangent
    for found in (along, dual):
        close(found.double(), wanted @ direction.double(), atol=atol)
    for transform in (jacfwd, jacrev):
        close(transform(solve)(h).double(), wanted, atol=atol)
    curvature = hessian(lambda h: solve(h).sin().sum())(h)

    def slope(h):
        return answers(theory, J.double(), h).mT @ theory(J.double(), h).m.cos()

    shifts = 1e-4 * torch.eye(5, dtype=torch.float64)
    differences = [(slope(h.double() + shift) - slope(h.double() - shift)) / 2e-4 for shift in shifts]
    close(curvature.double(), torch.stack(differences), atol=100 * atol)


@pytest.mark.slow
@pytest.mark.parametrize("theory", THEORIES)
def test_a_derivative_costs_at_most_ten_calls(theory, monkeypatch):
    """Counted in evaluations of the equations and in operations of torch. It was all 2,000 steps."""
    J, h = spins(torch.float32)
    evaluations, image = [], Equations.image
    monkeypatch.setattr(Equations, "image", lambda self, state: evaluations.append(0) or image(self, state))

    def solve(h):
        return theory(J, h).m

    def cost(call):
        evaluations.clear()
        return operations(call), len(evaluations)

    alone = cost(lambda: solve(h))
    for call in (
        lambda: jvp(solve, (h,), (h,)),
        lambda: jacfwd(solve)(h),
        lambda: jacrev(solve)(h),
        lambda: hessian(lambda h: solve(h).sum())(h),
        lambda: vmap(solve)(torch.stack([h, 2 * h])),
    ):
        assert all(one <= 10 * other for one, other in zip(cost(call), alone, strict=True))


@pytest.mark.slow
@pytest.mark.sweep(0.25)
@pytest.mark.parametrize("onsager", ["none", "exact"])
@pytest.mark.parametrize("prior", [Spherical(4), Binary()])
def test_a_mixer_costs_at_most_ten_calls_too(prior, onsager):
    torch.manual_seed(0)
    module, x = MeanFieldAttention(8, sites=6, heads=2, prior=prior, onsager=onsager), normal(1, 6, 8, dtype=torch.float32)
    along = normal(1, 6, 8, seed=1, dtype=torch.float32)
    assert operations(lambda: jvp(module, (x,), (along,))) <= 10 * operations(lambda: module(x))
    wanted = torch.autograd.functional.jvp(module, x, along)[1]
    close(jvp(module, (x,), (along,))[1], wanted, atol=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("prior", [Spherical(4), Binary()])
def test_a_mixer_takes_at_most_ten_times_as_long(prior):
    """Of processor time, the best of three. It was 20 s, 500 times as long, of the vector spins."""
    module, x = MeanFieldAttention(8, sites=6, heads=2, prior=prior, onsager="none"), normal(1, 6, 8, dtype=torch.float32)
    assert seconds(lambda: jvp(module, (x,), (x,))) <= 10 * seconds(lambda: module(x))


def all_to_all(n, strength, like):
    return strength * (torch.ones(n, n) - torch.eye(n)).to(like.dtype)


def believed(h):
    return belief_propagation(ising_graph(all_to_all(4, 0.3, h), h)).beliefs[:, 1]


MEASURING = normal(9, 12, scale=1 / 3, seed=3)


def estimated(y):
    return amp(MEASURING.to(y.dtype), y, Sparse(0.5)).x


def multipliers(h):
    return saddle_point(all_to_all(4, 0.2, h), h[:, None]).z


@pytest.mark.slow
@pytest.mark.sweep(0.25)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("solve", "size"), [(believed, 4), (estimated, 9), (multipliers, 4)])
def test_other_solvers_have_every_derivative_too(solve, size, dtype):
    """Beside central differences in double precision, at the cost of a few calls."""
    x, along = normal(size, dtype=dtype), normal(size, seed=1, dtype=dtype)
    wide, direction = x.double(), along.double()
    wanted = (solve(wide + 1e-5 * direction) - solve(wide - 1e-5 * direction)) / 2e-5
    atol = 1e-7 if dtype == torch.float64 else 1e-3
    value, moved = jvp(solve, (x,), (along,))
    close(value.double(), solve(wide), atol=atol)
    assert moved.dtype == dtype
    for found in (moved, jacfwd(solve)(x) @ along, jacrev(solve)(x) @ along):
        close(found.double(), wanted, atol=atol)

    def slope(x):
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(solve(leaf).sum(), leaf)[0] @ direction

    curvature = (slope(wide + 1e-5 * direction) - slope(wide - 1e-5 * direction)) / 2e-5
    close((along @ hessian(lambda x: solve(x).sum())(x) @ along).double(), curvature, atol=10 * atol)
    alone = seconds(lambda: solve(x))
    for call in (lambda: jvp(solve, (x,), (along,)), lambda: jacrev(solve)(x), lambda: jacfwd(solve)(x)):
        assert seconds(call) <= 10 * alone


@pytest.mark.slow
@pytest.mark.sweep(0.25)
@pytest.mark.parametrize("theory", [tap, adaptive_tap, saddle_point])
def test_transforms_nest_as_often_as_one_likes(theory):
    """A third and a fourth derivative, beside central differences of the second one."""
    h, along = normal(3), normal(3, seed=1)

    def score(t):
        found = theory(all_to_all(3, 0.3, h), (h + t * along)[:, None] if theory is saddle_point else h + t * along)
        return (found.z if theory is saddle_point else found.m).sum()

    t, third = torch.zeros(()).double(), grad(grad(grad(score)))
    second = grad(grad(score))
    close(third(t), (second(t + 1e-4) - second(t - 1e-4)) / 2e-4, atol=1e-5)
    close(jacfwd(jacfwd(jacfwd(score)))(t), third(t), atol=1e-9)
    close(grad(third)(t), (second(t + 1e-3) - 2 * second(t) + second(t - 1e-3)) / 1e-6, atol=1e-3)


def wide(k=160):
    """A map of states with many components, of which a step changes small differences by up to four fifths."""
    A = normal(k, k, scale=0.4 / k**0.5)

    def solve(b):
        return fixed_point(lambda z: torch.tanh(z @ A.mT + b), torch.zeros_like(b)).solution

    def answer(b):
        z = solve(b).detach()
        slope = torch.diag_embed(1 - z.square())
        return torch.linalg.solve(torch.eye(k, dtype=torch.float64) - slope @ A, slope)

    return solve, answer, normal(3, k, seed=1)


def test_a_large_state_needs_no_jacobian():
    """In one forward derivative; where backward ones are taken of it too, it has them."""
    solve, answer, b = wide()
    along = normal(*b.shape, seed=2)
    wanted = (answer(b) @ along[..., None])[..., 0]
    close(jvp(solve, (b,), (along,))[1], wanted, atol=1e-9)
    assert operations(lambda: jvp(solve, (b,), (along,))) <= 10 * operations(lambda: solve(b))
    directions = torch.stack([along, 2 * along])
    close(vmap(lambda t: jvp(solve, (b,), (t,))[1])(directions)[1], 2 * wanted, atol=1e-9)

    def score(b):
        return jvp(solve, (b,), (along,))[1].sum()

    step = 1e-5 * along
    slope = (score(b + step) - score(b - step)) / 2e-5
    close((grad(score)(b) * along).sum(), slope, atol=1e-6)
    leaf = b.clone().requires_grad_()
    close((torch.autograd.grad(score(leaf), leaf)[0] * along).sum(), slope, atol=1e-6)


def test_a_solution_of_ones_own_has_forward_derivatives_too():
    a, z = torch.tensor(0.5).double(), torch.tensor([2.0]).double()

    def solution(a):
        return with_derivatives(lambda z: a * z + 1, z)

    close(jvp(solution, (a,), (torch.ones_like(a),))[1], torch.tensor([4.0]).double(), atol=1e-12)
    close(hessian(lambda a: solution(a).sum())(a), torch.tensor(16.0).double(), atol=1e-11)
    given = z.clone().requires_grad_()
    assert not with_derivatives(lambda z: 0.5 * z + 1, given).requires_grad


def test_what_has_not_converged_is_said_under_transforms_too():
    J, h = spins(torch.float64)
    for transform in (jacfwd, jacrev):
        with pytest.raises(RuntimeError, match="1 of 1 samples did not converge in 2 steps"):
            transform(lambda h: naive_mean_field(J, h, max_steps=2).m)(h)
    assert not vmap(lambda h: naive_mean_field(J, h, max_steps=2).converged)(torch.stack([h, h])).any()
