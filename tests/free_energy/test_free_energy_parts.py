"""One z for all spins, couplings that follow the fields, and the module, each against another way."""

import pytest
import torch
from helpers.draw import close, couplings, derivatives, normal, symmetric
from torch.autograd import gradcheck, gradgradcheck

from attnlib.attention import Heads
from attnlib.course.oracles import vector_heat_bath
from attnlib.free_energy import (
    VectorSpinAttention,
    coupling_response,
    field_couplings,
    saddle_point,
    saddle_potential,
    spherical_point,
    vector_spin_free_energy,
)
from attnlib.mean_field import exact_ising

forms = pytest.mark.parametrize("form", ["tanh", "softmax"])

# One z


def test_one_z_fixes_the_sum_of_the_lengths():
    J, h = couplings(2, 9, g=3.0), normal(2, 5, 9, 4) * torch.logspace(-3, 1, 5).double()[:, None, None]
    found = spherical_point(J, h, beta=1.4)
    assert found.iterations.max() <= 10
    inverse = torch.linalg.inv(found.z[..., None, None] * torch.eye(9).double() - J[:, None])
    close(found.m, inverse @ h, atol=1e-10)
    lengths = found.m.square().sum(-1) / 4 + inverse.diagonal(dim1=-2, dim2=-1) / 1.4
    close(lengths.mean(-1), torch.ones(2, 5).double(), atol=1e-11)
    close((lengths.mean(-1) - 1).abs(), found.residual, atol=1e-12)
    assert (found.z > torch.linalg.eigvalsh(J)[:, -1:]).all()


@pytest.mark.slow
def test_it_is_the_saddle_point_where_all_sites_are_equivalent_and_not_in_random_couplings():
    ring = torch.zeros(8, 8, dtype=torch.float64)
    for i in range(8):
        ring[i, (i + 1) % 8] = ring[(i + 1) % 8, i] = 0.7
    h = torch.ones(1, 8, 1, dtype=torch.float64) * 0.4
    close(spherical_point(ring, h).m[0], saddle_point(ring, h[0]).m, atol=1e-10)
    J, h = couplings(8), normal(1, 8, 3)
    one, each = spherical_point(J, h).m[0], saddle_point(J, h[0]).m
    assert (one - each).abs().max() > 0.1
    sampled = vector_heat_bath(J.float(), h[0].float(), chains=100, sweeps=40, generator=torch.Generator().manual_seed(0))
    assert (each - sampled.m).square().mean() < (one - sampled.m).square().mean()


@derivatives
@pytest.mark.double
@pytest.mark.parametrize("g", [0.8, 0.0], ids=["coupled", "uncoupled"])
def test_one_z_differentiates_also_where_eigenvalues_meet(g, how):
    J, h = couplings(2, 4, g=g).requires_grad_(), normal(2, 3, 4, 2, grad=True)
    beta = torch.tensor([0.7, 1.6], dtype=torch.float64, requires_grad=True)

    def solve(J, h, beta):
        found = spherical_point(symmetric(J), h, beta=beta, tolerance=1e-14)
        return found.z, found.m

    assert gradcheck(solve, (J, h, beta), atol=1e-7, **how)
    assert gradgradcheck(solve, (J, h, beta), atol=1e-6, **how)
    slopes = torch.func.jacrev(lambda h: spherical_point(symmetric(J.detach()), h).m[0, 1, 2, 0])(h.detach())
    (back,) = torch.autograd.grad(spherical_point(symmetric(J), h).m[0, 1, 2, 0], h)
    close(slopes, back, atol=1e-10)


# Couplings that follow the fields


@pytest.mark.double
@forms
def test_the_response_has_a_second_term_in_enumerated_systems(form):
    """Binary spins, all states: the derivative of the exact free energy, field and couplings moving together."""
    h = normal(6, 1, grad=True)
    kernel = torch.tensor([[0.8]], dtype=torch.float64)
    exact = exact_ising(field_couplings(h, kernel, form=form, strength=1.7), h[:, 0], beta=1.2)
    (whole,) = torch.autograd.grad(-exact.free_energy, h)
    pairs = exact.chi + exact.m[:, None] * exact.m
    second = coupling_response(h, pairs, kernel, form=form, strength=1.7)
    close((exact.m[:, None] + second).detach(), whole, atol=1e-12)
    assert second.abs().max() > 0.1
    assert exact.m.abs().max() < 1


def test_a_response_can_exceed_the_length_of_a_spin():
    h = torch.tensor([[0.2], [2.0], [2.0], [2.0]], dtype=torch.float64, requires_grad=True)
    exact = exact_ising(field_couplings(h, strength=2.0), h[:, 0])
    (whole,) = torch.autograd.grad(-exact.free_energy, h)
    assert exact.m.abs().max() < 1 < whole.abs().max()


@pytest.mark.double
@forms
def test_both_terms_are_the_derivative_of_the_free_energy(form):
    h, kernel = normal(2, 5, 4, grad=True), normal(4, 4, seed=1)
    strength = -0.7
    J = field_couplings(h, kernel, form=form, strength=strength)
    close(J, J.mT, atol=1e-14)
    assert not J.diagonal(dim1=-2, dim2=-1).any()
    (whole,) = torch.autograd.grad(vector_spin_free_energy(J, h, beta=1.2).sum(), h)
    found = saddle_point(J, h, beta=1.2)
    second = coupling_response(h, 4 * found.overlaps, kernel, form=form, strength=strength)
    close((found.m + second).detach(), -4 * whole, atol=1e-11)


# The module


def module(couplings, **more):
    torch.manual_seed(0)
    return VectorSpinAttention(6, heads=2, dtype=torch.float64, couplings=couplings, sites=9, **more)


@pytest.mark.parametrize("kind", ["free", "tanh", "softmax"])
def test_the_module_is_minus_the_derivative_of_its_free_energy(kind):
    mixer, x = module(kind, beta=0.8), normal(3, 5, 6)
    heads = mixer.split(x)
    record = mixer.explain(x)
    h = heads.query.detach().requires_grad_()
    J = (record.J / 0.8).detach() if kind == "free" else field_couplings(h, mixer.kernel, form=kind, strength=0.5 / 0.8)
    close(0.8 * J.detach(), record.J.detach(), atol=1e-12)
    (slope,) = torch.autograd.grad(vector_spin_free_energy(J, h, beta=0.8).sum(), h)
    close((record.m + record.feedback).detach(), -3 * slope, atol=1e-11)
    assert (record.feedback.abs().max() > 0.01) == (kind != "free")
    mixed = (record.m + record.feedback).transpose(-3, -2).flatten(-2)
    close(record.output, mixer.to_out(mixed), atol=1e-12)
    close(mixer(x), record.output, atol=1e-12)
    alone = mixer.merge(record.m, heads)
    mixer.response = "mean"
    close(mixer(x), alone, atol=1e-12)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("kind", ["free", "tanh", "softmax"])
def test_with_one_multiplier_it_is_the_spherical_model(kind):
    """One z for each head and member; the response is minus the derivative of what is least at that z."""
    mixer, x = module(kind, beta=0.8, lengths="total"), normal(3, 2, 5, 6)
    heads, record = mixer.split(x), mixer.explain(x)
    h = heads.query.detach().requires_grad_()
    J = (record.J / 0.8).detach() if kind == "free" else field_couplings(h, mixer.kernel, form=kind, strength=0.5 / 0.8)
    point = spherical_point(J.detach(), h.detach().unsqueeze(-3), beta=0.8)
    close(record.z, 0.8 * point.z.expand(3, 2, 2, 5), atol=1e-11)
    close(record.m, point.m.squeeze(-3), atol=1e-11)
    overlaps = record.m.square().mean(-1).detach()
    chi = torch.linalg.inv(torch.diag_embed(record.z) - record.J).detach().diagonal(dim1=-2, dim2=-1)
    close((overlaps + chi).mean(-1), torch.ones(3, 2, 2).double(), atol=1e-11)
    assert (overlaps + chi - 1).abs().max() > 0.01  # and each by itself is not
    at = point.z.expand(3, 2, 2, 5)
    (slope,) = torch.autograd.grad((saddle_potential(at, J, h, beta=0.8) / 0.8).sum(), h)
    close((record.m + record.feedback).detach(), 3 * slope, atol=1e-11)
    close(mixer(x), record.output, atol=1e-12)
    assert torch.autograd.gradcheck(mixer, (normal(2, 4, 6).requires_grad_(),))


@pytest.mark.parametrize("kind", ["tanh", "softmax"])
def test_it_is_equivariant_only_if_the_couplings_are(kind):
    x, order = normal(2, 5, 6), torch.tensor([3, 0, 4, 1, 2])
    close(module(kind)(x[:, order]), module(kind)(x)[:, order], atol=1e-11)
    assert (module("free")(x[:, order]) - module("free")(x)[:, order]).abs().max() > 1e-3
    assert module(kind)(normal(9, 6)).shape == (9, 6)


def test_without_couplings_a_token_keeps_its_own_field():
    mixer = module("free", bare=False)
    with torch.no_grad():
        mixer.couplings.zero_()
    x = normal(4, 6)
    h = mixer.split(x).query
    z = (1 + (1 + 4 * (mixer.beta * h).square().mean(-1, keepdim=True)).sqrt()) / 2
    close(mixer.explain(x).m, mixer.beta * h / z, atol=1e-10)


def test_couplings_begin_with_the_largest_eigenvalue_that_is_asked_for():
    """Free ones as a random matrix of many sites has it; a kernel with entries of variance 2 / d."""
    torch.manual_seed(0)
    mixer = VectorSpinAttention(8, heads=2, sites=300, beta=0.7, dtype=torch.float64)
    close(torch.linalg.eigvalsh(mixer.explain(normal(300, 8)).J)[..., -1], torch.full((2,), 0.5).double(), atol=0.02)
    free = 0.7 * mixer.couplings  # the edge of the spectrum of their symmetric part is 2 sqrt(n / 2) times their spread
    assert abs(free.var().item() * 2 * 300 / 0.5**2 - 1) < 4 * (2 / free.numel()) ** 0.5
    mixer = VectorSpinAttention(128, heads=2, couplings="tanh", beta=0.7, largest=0.3, dtype=torch.float64)
    assert abs(mixer.kernel.var().item() * 32 - 1) < 4 * (2 / mixer.kernel.numel()) ** 0.5
    close(0.7 * mixer.strength.detach(), torch.full((2,), 0.3, dtype=torch.float64), atol=1e-12)


def test_couplings_of_few_sites_begin_with_a_smaller_eigenvalue():
    """The edge is that of many sites; the docstring gives the mean and the spread for nine."""
    torch.manual_seed(0)
    drawn = VectorSpinAttention(1, heads=400, head_dim=1, sites=9, beta=1.0, dtype=torch.float64).couplings.detach()
    J = (drawn + drawn.mT) / 2
    J.diagonal(dim1=-2, dim2=-1).zero_()
    tops = torch.linalg.eigvalsh(J)[:, -1]
    assert abs(tops.mean() - 0.38) < 0.01  # three standard errors
    assert abs(tops.std() - 0.06) < 0.01


@pytest.mark.usefixtures("unchecked")
def test_what_the_parts_refuse():
    x = normal(2, 5, 6)
    for call, words in (
        (lambda: VectorSpinAttention(6), "sites is None; expected the largest number of tokens"),
        (lambda: VectorSpinAttention(6, couplings="relu"), "couplings is 'relu'"),
        (lambda: VectorSpinAttention(6, sites=3, lengths="some"), "lengths is 'some'"),
        (lambda: VectorSpinAttention(6, 5, sites=3), "context_dim is 5; expected None or dim"),
        (lambda: module("free")(normal(2, 10, 6)), "x has 10 tokens, a query each; expected at most 9"),
        (lambda: module("free")(x, x), "context is given; expected None"),
        (lambda: module("free").mix(Heads(x, x[:, :3], x[:, :3], 1.0, module("free").split(x).seen)), "key and score_bias"),
        (lambda: field_couplings(x, torch.ones(5, 5).double()), "kernel has shape"),
        (lambda: coupling_response(x, x), "pairs has shape"),
        (lambda: spherical_point(couplings(3), x), "h has shape"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
