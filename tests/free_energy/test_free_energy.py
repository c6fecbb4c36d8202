"""Vector spins at the saddle point: against integrals, samples, autograd and adaptive TAP; and the evidence of the solver."""

import math
import subprocess
import sys
import warnings

import pytest
import torch
from helpers.draw import close, couplings, derivatives, examples, normal, symmetric
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from attnlib import ConvergenceError, ConvergenceWarning
from attnlib.course.oracles import vector_heat_bath
from attnlib.free_energy import (
    VectorSpinAttention,
    response_tensor,
    saddle_gradient,
    saddle_hessian,
    saddle_point,
    saddle_potential,
    spherical_point,
    vector_spin_free_energy,
)
from attnlib.mean_field import Prior, Spherical, adaptive_tap, flat_couplings, sherrington_kirkpatrick

# The potential


@pytest.mark.double
@examples(25)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 5), d=st.integers(1, 4), beta=st.floats(0.2, 4))
def test_gradient_and_hessian_are_those_of_the_potential(seed, n, d, beta):
    J, h = couplings(2, n, seed=seed), normal(2, n, d, seed=seed + 1)
    z = (torch.linalg.eigvalsh(J)[:, -1:] + 0.1 + normal(2, n, seed=seed + 2).abs()).requires_grad_()
    (slope,) = torch.autograd.grad(saddle_potential(z, J, h, beta=beta).sum(), z)
    scale = slope.abs().max() + 1
    close(saddle_gradient(z, J, h, beta=beta).detach() / scale, slope / scale, atol=1e-12)
    rows = [torch.autograd.grad(saddle_gradient(z, J, h, beta=beta)[:, i].sum(), z)[0] for i in range(n)]
    found = saddle_hessian(z, J, h, beta=beta).detach()
    close(torch.stack(rows, 1) / found.abs().max(), found / found.abs().max(), atol=1e-11)
    assert (torch.linalg.eigvalsh(found) > 0).all()


@pytest.mark.double
def test_the_hessian_of_the_source_has_the_row_sums_only():
    """The diagonal of a matrix product, in place of a product by entries: right for all z together, wrong for each alone."""
    J, h, beta = couplings(6), normal(6, 4), 1.3
    z = torch.full((6,), 3.0, dtype=torch.float64)
    inverse = torch.linalg.inv(torch.diag(z) - J)
    square = inverse @ h @ h.mT @ inverse
    exact = saddle_hessian(z, J, h, beta=beta)
    thermal = exact - beta / 4 * inverse * square
    close(thermal, inverse.square() / 2, atol=1e-12)
    source = inverse.square() / 2 + beta / 4 * torch.diag((inverse @ square).diagonal())
    close(source.sum(), exact.sum(), atol=1e-12)
    close(source.sum(1), exact.sum(1), atol=1e-12)
    assert (source - exact).abs().max() > 0.01


def test_a_positive_determinant_is_not_enough():
    for call in (saddle_potential, saddle_gradient, saddle_hessian):
        with pytest.raises(ValueError, match="z is outside the domain"):
            call(torch.tensor([-1.0, -1.0]), torch.tensor([[0.0, 0.5], [0.5, 0.0]]))


# The solver


@pytest.mark.sweep(0.5)
@pytest.mark.double
@pytest.mark.parametrize("n", [32, 128, 256])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-10), (torch.float32, 1e-5)], ids=str)
def test_at_most_eight_factorisations_at_the_initialisation_of_the_module(n, dtype, bound):
    torch.manual_seed(0)
    module = VectorSpinAttention(128, sites=n, bare=True, dtype=dtype)
    x = torch.nn.functional.layer_norm(normal(4, n, 128, dtype=dtype), (128,))
    for beta in (module.beta, 1.0):
        torch.manual_seed(1)
        module = VectorSpinAttention(128, sites=n, bare=True, beta=beta, dtype=dtype)
        record = module.explain(x)
        assert record.iterations.max() <= 8
        assert record.residual.max() < bound
        assert record.converged.all()
        inside = torch.linalg.eigvalsh(torch.diag_embed(record.z) - record.J)
        assert (inside > 0).all()


@examples(25)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 12),
    g=st.floats(0.01, 20),
    field=st.floats(0, 5),
    above=st.floats(1e-6, 1e3),
)
def test_it_finds_the_minimum_from_any_start_in_the_domain(seed, n, g, field, above):
    J, h = couplings(3, n, g=g, seed=seed), field * normal(3, n, 4, seed=seed + 1)
    found = saddle_point(J, h)
    largest = torch.linalg.eigvalsh(J)[:, -1:]
    again = saddle_point(J, h, start=(largest + above * (1 + normal(3, n, seed=seed + 2).abs())).clamp(min=1e-6))
    for one in (found, again):
        assert one.converged.all()
        gradient = saddle_gradient(one.z, J, h)
        close(gradient.abs().amax(-1), one.residual, atol=1e-11 * (1 + g))
        assert (torch.linalg.eigvalsh(torch.diag_embed(one.z) - J) > 0).all()
        close(one.lengths, torch.ones_like(one.z), atol=1e-9)
    close(again.z, found.z, atol=1e-7 * (1 + g) * n)


@pytest.mark.double
@pytest.mark.parametrize("d", [2, 5, 40])
def test_fewer_or_more_components_than_spins_are_the_same_equations(d):
    """With more of them the solver sees only their overlaps; the gradient below sees the fields."""
    J, h = couplings(3, 5, seed=4), 2 * normal(3, 5, d, seed=5)
    found = saddle_point(J, h)
    close(saddle_gradient(found.z, J, h), torch.zeros(3, 5).double(), atol=1e-12)
    close(found.m, torch.linalg.solve(torch.diag_embed(found.z) - J, h), rtol=1e-11)


@pytest.mark.double
def test_it_never_tries_what_is_not_inside_and_keeps_it(monkeypatch):
    """Every accepted z has a positive definite V; a trial that has none is not kept."""
    import attnlib.free_energy.minimise as descent

    kept = []
    followed = descent.Descent.followed

    def watched(self, tolerance):
        state = followed(self, tolerance)
        kept.append(torch.linalg.eigvalsh(torch.diag_embed(state.z) + state.minus_J)[..., 0].min().item())
        return state

    monkeypatch.setattr(descent.Descent, "followed", watched)
    J = couplings(5, 20, g=10.0)
    found = saddle_point(J, normal(5, 20, 3), start=torch.full((20,), 500.0, dtype=torch.float64))
    assert found.iterations.max() > 10
    assert min(kept) > 0


@pytest.mark.double
def test_no_step_goes_up_and_some_would_have(monkeypatch):
    """The potential never rises on the way, also where a full step inside the domain would raise it by more than five."""
    import attnlib.free_energy.minimise as descent

    rises, refused = [], []
    followed = descent.Descent.followed

    def watched(self, tolerance):
        state = followed(self, tolerance)
        rises.append((state.potential - self.potential).max().item())
        trial = self.z + self.length.unsqueeze(-1) * self.step
        known = self.potential < 1e9  # not at the start, where nothing is known yet
        at = descent.factorised(torch.diag_embed(trial) + self.minus_J, self.h, trial)
        refused.append((at.potential - self.potential)[known & at.inside & ~self.finished])
        return state

    monkeypatch.setattr(descent.Descent, "followed", watched)
    J, h = couplings(40, 6, seed=1), 0.3 * normal(40, 6, 4, seed=2)
    largest = torch.linalg.eigvalsh(J)[:, -1:]
    start = largest + 10 ** normal(40, 1, seed=3) * (0.1 + normal(40, 6, seed=4).abs())
    assert saddle_point(J, h, beta=5.0, start=start).converged.all()
    assert max(rises) < 1e-9
    assert torch.cat(refused).max() > 5


@pytest.mark.double
def test_cold_spins_in_fields_of_few_directions_stand_as_in_their_ground_state():
    """Where means are small beside chi times fields; against unit vectors of many components, relaxed one after another."""
    J, h = couplings(8, 6, seed=4), torch.zeros(8, 6, 16, dtype=torch.float64)
    h[:4, :, :2], h[4:, 0, 0] = normal(4, 6, 2, seed=5) * 8**0.5, 4.0
    for beta in (100.0, 316.0, 1e4, 1e6):
        found = saddle_point(J, h, beta=beta)
        length = found.chi.diagonal(dim1=-2, dim2=-1) + found.m.square().sum(-1) / 16
        close(length, torch.ones_like(length), atol=1e-8)
        assert found.iterations.max() < 130
    s = torch.nn.functional.normalize(normal(8, 6, 16, seed=6), dim=-1) * 4
    for _ in range(3000):
        for i in range(6):
            s[:, i] = 4 * torch.nn.functional.normalize((J[:, i, :, None] * s).sum(1) + h[:, i], dim=-1)
    close(found.m[:4, :, :2], s[:4, :, :2], atol=1e-3)
    close(found.m[4:, :, 0], s[4:, :, 0], atol=1e-3)  # turned about the one field they stand as well


@pytest.mark.double
@pytest.mark.parametrize(("n", "beta"), [(12, 316.0), (6, 1e6)])
def test_cold_systems_with_one_field_converge_all(n, beta):
    """Where steps along the border are cut again and again, and where rounding, with all signs, leaves more than its sum."""
    J = sherrington_kirkpatrick(n, 60, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    h = torch.zeros(60, n, 16, dtype=torch.float64)
    h[:, 0, 0] = 4.0
    found = saddle_point(J, h, beta=beta)
    assert found.converged.all()
    assert found.iterations.max() < 150


@pytest.mark.double
def test_a_sample_does_not_depend_on_who_else_is_in_the_batch():
    g = torch.tensor([0.1, 1.0, 5.0, 20.0], dtype=torch.float64)
    J, h = couplings(4, 9) * g[:, None, None], normal(4, 9, 3)
    beta = torch.tensor([0.5, 1.0, 2.0, 0.3], dtype=torch.float64)
    together = saddle_point(J, h, beta=beta)
    assert together.iterations.min() < together.iterations.max()
    for i in range(4):
        alone = saddle_point(J[i], h[i], beta=beta[i].item())
        close(alone.z, together.z[i], atol=1e-12)
        close(alone.m, together.m[i], atol=1e-12)
        assert alone.iterations == together.iterations[i]


def test_failure_is_raised_or_warned_of():
    J = couplings(2, 8, g=5.0)
    J[0] *= 1e-3
    with pytest.raises(ConvergenceError, match="1 of 2 samples did not converge in 4 factorisations") as caught:
        saddle_point(J, max_steps=4)
    assert caught.value.iterations == 4
    assert caught.value.residual > 1e-3
    with pytest.warns(ConvergenceWarning):
        found = saddle_point(J, max_steps=4, on_failure="warn")
    assert found.converged.tolist() == [True, False]
    close(saddle_gradient(found.z, J).abs().amax(-1), found.residual, atol=1e-12)


def test_memory_does_not_grow_with_the_iterations():
    J, h = couplings(3, 10, g=4.0).requires_grad_(), normal(3, 10, 2, grad=True)
    kept = {}
    for steps in (2, 60):
        total = 0

        def pack(tensor):
            nonlocal total
            total += tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            saddle_point(J, h, max_steps=steps, on_failure="warn")
        kept[steps] = total
    assert kept[2] == kept[60] > 0


@pytest.mark.slow
@pytest.mark.parametrize("batch", [2, pytest.param(6, marks=pytest.mark.whole)])
def test_two_threads_do_not_hang(batch):
    code = (
        "import torch; torch.set_num_threads(2)\n"
        "from attnlib.free_energy import saddle_point\n"
        f"J = torch.randn({batch}, 200, 200).triu(1) / 14; J = (J + J.mT).requires_grad_()\n"
        f"found = saddle_point(J, torch.randn({batch}, 200, 3), beta=0.3)\n"
        "found.m.sum().backward(); print(found.converged.all())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1800)
    assert done.stdout == "tensor(True)\n", done.stderr


# Derivatives


@pytest.mark.slow
@derivatives
@pytest.mark.double
@pytest.mark.parametrize("g", [0.8, 0.0], ids=["coupled", "uncoupled"])
def test_derivatives_of_first_and_second_order(g, how):
    J, h = couplings(2, 4, g=g).requires_grad_(), normal(2, 4, 3, grad=True)
    beta = torch.tensor([0.7, 1.6], dtype=torch.float64, requires_grad=True)

    def solve(J, h, beta):
        found = saddle_point(symmetric(J), h, beta=beta, tolerance=1e-14)
        return found.z, found.m, found.chi

    assert gradcheck(solve, (J, h, beta), atol=1e-7, **how)
    assert gradgradcheck(solve, (J, h, beta), atol=1e-6, **how)
    for order in (0, 1):

        def energy(J, h, beta, order=order):
            return vector_spin_free_energy(symmetric(J), h, beta=beta, order=order, tolerance=1e-14)

        assert gradcheck(energy, (J, h, beta), **how)
        assert gradgradcheck(energy, (J, h, beta), atol=1e-6, **how)


@pytest.mark.double
def test_transforms_give_what_autograd_gives():
    J, h = couplings(3, 5), normal(3, 5, 2)

    def means(h, J):
        return saddle_point(J, h).m

    together = means(h, J)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(torch.func.vmap(means)(h, J), together, atol=1e-10)
        jacobian = torch.func.jacrev(means)(h[0], J[0])
    leaf = h[0].clone().requires_grad_()
    (back,) = torch.autograd.grad(means(leaf, J[0])[2, 1], leaf)
    close(jacobian[2, 1], back, atol=1e-10)
    _, forward = torch.func.jvp(lambda h: means(h, J[0]), (h[0],), (torch.ones_like(h[0]),))
    close(forward, jacobian.sum((-2, -1)), atol=1e-10)


def of_z(solve):
    """A number that depends on all z, twice differentiable."""
    return lambda h: (solve(h).z.exp() * torch.arange(1, 5)).sum()


@pytest.mark.sweep(0.5)
@pytest.mark.double
@pytest.mark.parametrize("solver", ["saddle", "start at the solution", "one z"])
def test_derivatives_are_right_where_no_value_can_be_seen(solver):
    """By all transforms and in forward mode, also from a start that is the solution: an iteration never moves it."""
    J, h = couplings(4), normal(4, 2)
    solution = saddle_point(J, h).z
    value = of_z(
        {
            "saddle": lambda h: saddle_point(J, h),
            "start at the solution": lambda h: saddle_point(J, h, start=solution),
            "one z": lambda h: spherical_point(J, h[None]),
        }[solver]
    )
    leaf = h.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(value(leaf), leaf)
    assert wanted.abs().min() > 1e-4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batched = torch.func.vmap(torch.func.grad(value))(torch.stack([h, h]))[1]
        twice = torch.func.hessian(value)(h)
    for found in (torch.func.grad(value)(h), torch.func.jacfwd(value)(h), batched):
        close(found, wanted, atol=1e-10)
    close(twice, torch.autograd.functional.hessian(value, h), atol=1e-9)
    with forward_ad.dual_level():
        along = forward_ad.unpack_dual(value(forward_ad.make_dual(h, torch.ones_like(h)))).tangent
    close(along, wanted.sum(), atol=1e-10)


@pytest.mark.double
def test_responses_are_derivatives():
    J, h, beta = couplings(2, 4), normal(2, 4, 3, grad=True), 1.4
    found = saddle_point(J, h, beta=beta)
    tensor = response_tensor(J, h, beta=beta)
    for i in range(4):
        for a in range(3):
            (slope,) = torch.autograd.grad(found.m[:, i, a].sum(), h, retain_graph=True)
            close(slope / beta, tensor[:, i, a].detach(), atol=1e-11)
    close(tensor, tensor.permute(0, 3, 4, 1, 2), atol=1e-12)
    energy = vector_spin_free_energy(J, h, beta=beta)
    (slope,) = torch.autograd.grad(energy.sum(), h)
    close(-3 * slope, found.m.detach(), atol=1e-11)


@pytest.mark.double
def test_thermodynamics_follow_from_the_free_energy():
    """Internal energy, overlaps and specific heat, each in two ways."""
    J, h = couplings(6).requires_grad_(), normal(6, 5)
    beta = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    energy = vector_spin_free_energy(symmetric(J), h, beta=beta)
    by_J, by_beta = torch.autograd.grad(beta * energy, (J, beta), create_graph=True)
    found = saddle_point(symmetric(J), h, beta=beta)
    pairs = found.overlaps
    upper = torch.triu_indices(6, 6, 1)
    close(-by_J[tuple(upper)].detach() / 1.3, pairs[tuple(upper)].detach(), atol=1e-11)
    internal = -(symmetric(J) * pairs).sum() / 2 - (h * found.m).sum() / 5
    close(by_beta.detach(), internal.detach(), atol=1e-11)
    (heat,) = torch.autograd.grad(by_beta, beta, retain_graph=True)
    (other,) = torch.autograd.grad(internal, beta)
    close(heat, other, atol=1e-10)
    assert heat < 0  # the energy falls as it gets colder


@pytest.mark.double
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("beta", [1e-12, 1e-8, 1e-4])
def test_hot_spins_keep_their_digits(beta, order):
    """The first term in beta is known, and a difference of two numbers near n would have nothing left of it."""
    J, h = couplings(6), normal(6, 4, seed=1)
    first = -beta * (J.square().sum() / 4 + h.square().sum() / 8)
    close(vector_spin_free_energy(J, h, beta=beta, order=order), first, rtol=1e-5 + beta)
    J, h = J.float(), h.float()
    close(vector_spin_free_energy(J, h, beta=beta, order=order).double(), first, rtol=1e-5 + beta)


# Against exact answers


def bessel(strength, d):
    """Free energy of one spin of d components for each of them, from the modified Bessel function."""
    field = torch.zeros(1, d, dtype=torch.float64)
    field[0, 0] = strength * d**0.5
    return field, -Spherical(d).log_partition(field)[0] / d


@pytest.mark.double
def test_one_spin_is_a_ratio_of_bessel_functions():
    """What is left is of order 1/D, and with the next order of 1/D^2."""
    J = torch.zeros(1, 1, dtype=torch.float64)
    for strength in (0.3, 1.0, 3.0):
        left = {0: [], 1: []}
        for d in (16, 32, 64, 128):
            field, exact = bessel(strength, d)
            for order in (0, 1):
                left[order].append((vector_spin_free_energy(J, field, order=order) - exact).abs().item())
            mean = Spherical(d).mean(field)[0, 0] / d**0.5
            found = saddle_point(J, field).m[0, 0] / d**0.5
            assert abs(found - 2 * strength / (1 + math.sqrt(1 + 4 * strength**2))) < 1e-12
            assert (found - mean).abs() < 0.5 / d
        for order in (0, 1):
            powers = [math.log2(a / b) for a, b in zip(left[order], left[order][1:])]
            assert abs(powers[-1] - 1 - order) < 0.15, (strength, order, powers)


def two_spins(K, fields, points=120):
    """``ln Z`` of two spins of three components: over the first by quadrature, over the second in closed form."""
    nodes, weights = gauss_legendre(points)
    angle = torch.arange(points, dtype=torch.float64) * 2 * math.pi / points
    across = (1 - nodes**2).sqrt()
    first = 3**0.5 * torch.stack(
        [across[:, None] * angle.cos(), across[:, None] * angle.sin(), nodes[:, None].expand(-1, points)], -1
    )
    felt = 3**0.5 * (K * first + fields[1]).norm(dim=-1)
    second = felt.sinh() / felt
    return ((first @ fields[0]).exp() * second * weights[:, None] / (2 * points)).sum().log()


def gauss_legendre(points):
    k = torch.arange(1, points, dtype=torch.float64)
    off = k / (4 * k**2 - 1).sqrt()
    nodes, vectors = torch.linalg.eigh(torch.diag(off, 1) + torch.diag(off, -1))
    return nodes, 2 * vectors[0] ** 2


@pytest.mark.double
def test_two_spins_of_three_components():
    """Even at D = 3, with fields of order one, the next order leaves less than 1/D of what the saddle point misses."""
    fields = torch.tensor([[0.8, 0.0, 0.6], [0.0, 1.0, -0.4]], dtype=torch.float64)
    for K in (0.5, -0.8):
        exact = -two_spins(K, fields) / 3
        J = torch.tensor([[0.0, K], [K, 0.0]], dtype=torch.float64)
        missed = [(vector_spin_free_energy(J, fields, order=order) - exact).abs() for order in (0, 1)]
        assert missed[1] < missed[0] / 3
        leaf = fields.clone().requires_grad_()
        (mean,) = torch.autograd.grad(two_spins(K, leaf), leaf)
        (corrected,) = torch.autograd.grad(-3 * vector_spin_free_energy(J, leaf, order=1), leaf)
        raw = (saddle_point(J, fields).m - mean).abs().max()
        assert (corrected - mean).abs().max() < raw / 3


@pytest.mark.double
@pytest.mark.parametrize(("d", "chains"), [(4, 600), (16, 600), pytest.param(64, 300, marks=pytest.mark.whole)])
@pytest.mark.slow
def test_six_spins_against_samples(d, chains):
    """The error of the saddle point is the predicted 1/D, within the error bars of the samples."""
    J, directions = couplings(6), normal(6, 2, seed=3)
    h = torch.zeros(6, d, dtype=torch.float64)
    h[:, :2] = 0.5 * directions * (d / 2) ** 0.5
    h.requires_grad_()
    sampled = vector_heat_bath(J, h.detach(), chains=chains, sweeps=60, burn_in=20, generator=torch.Generator().manual_seed(d))
    found = saddle_point(J, h)
    (slope,) = torch.autograd.grad(vector_spin_free_energy(J, h, order=1), h)
    missed = (found.m - sampled.m).detach()[:, :2] / d**0.5
    predicted = (found.m + d * slope).detach()[:, :2] / d**0.5
    bar = sampled.m_error[:, :2] / d**0.5
    assert ((missed - predicted).abs() < 4 * bar + 0.6 / d**2).all()
    assert missed.abs().max() > (4 * bar.max() if d == 4 else 0)
    off = (found.overlaps - sampled.overlaps).abs().detach()
    assert (off < 4 * sampled.overlap_error + 0.6 / d).all()
    assert 0.05 < missed.square().mean().sqrt().item() * d < 0.4


class ManyComponents(Prior):
    """A spherical spin with so many components that its length does not fluctuate."""

    def mean(self, field, V=None):
        return field / self._x(field)

    def covariance(self, field, V=None):
        return torch.eye(self.d, dtype=field.dtype) / self._x(field)[..., None]

    def _x(self, field):
        return (1 + (1 + 4 * field.square().sum(-1, keepdim=True) / self.d).sqrt()) / 2


@pytest.mark.double
def test_it_is_adaptive_tap_of_spherical_spins_with_many_components():
    """One approximation with two names: means, responses, and Lambda = beta z, to machine precision."""
    n, d, beta = 7, 3, 1.3
    J, h = couplings(5, n, g=0.5), normal(5, n, d)
    whole = flat_couplings(J[..., None, None] * torch.eye(d, dtype=torch.float64))
    tap = adaptive_tap(whole, h.flatten(-2), beta=beta, prior=ManyComponents(d), tolerance=1e-14)
    found = saddle_point(J, h, beta=beta)
    close(tap.m.unflatten(-1, (n, d)), found.m, atol=1e-10)
    close(tap.chi.unflatten(-1, (n, d)).unflatten(-3, (n, d))[..., 0, :, 0], found.chi, atol=1e-10)
    spins = tap.m.unflatten(-1, (n, d))
    felt = beta * (J @ spins + h) - tap.V.unsqueeze(-1) * spins
    Lambda = tap.V + (1 + (1 + 4 * felt.square().mean(-1)).sqrt()) / 2
    close(Lambda, beta * found.z, atol=1e-10)


def test_without_fields_z_sticks_where_the_couplings_condense():
    """Random couplings: z = 1/beta + beta g^2 until beta g = 1, then the largest eigenvalue, 2 g; its mode takes the weight."""
    J, g = couplings(400, g=1.0), 1.0
    values, vectors = torch.linalg.eigh(J)
    for beta in (0.3, 0.6):
        found = saddle_point(J, beta=beta)
        close(found.z.mean(), torch.tensor(1 / beta + beta * g**2).double(), atol=0.02)
        assert (vectors[:, -1] @ found.chi @ vectors[:, -1]) / 400 < 0.02
    found = saddle_point(J, beta=4.0)
    assert abs(found.z.mean() - values[-1]) < 0.15
    assert (torch.linalg.eigvalsh(found.chi)[-3:].sum() / 400) > 0.3


@pytest.mark.double
@pytest.mark.usefixtures("unchecked")
def test_what_they_refuse():
    J, h = couplings(4), normal(4, 2)
    for call, words in (
        (lambda: saddle_point(J + torch.eye(4)), "J couples a spin to itself"),
        (lambda: saddle_point(J, h[:3]), r"h has shape \(3, 2\); expected one that broadcasts to \(4, 2\)"),
        (lambda: saddle_point(J, h.float()), "expected the same dtype and device"),
        (lambda: saddle_point(J, beta=0), "beta is 0; expected a finite beta > 0"),
        (lambda: saddle_point(J, start=torch.zeros(4).double()), "start is outside the domain"),
        (lambda: vector_spin_free_energy(J, order=1), "d is None and h too"),
        (lambda: vector_spin_free_energy(J, h, d=3), "d is 3 and h has fields of 2 components"),
        (lambda: vector_spin_free_energy(J, h, order=2), "order is 2"),
        (lambda: vector_heat_bath(J, h[:, :1]), "with at least 2 components"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
