"""Priors by quadrature, and their derivatives."""

import math

import numpy as np
import pytest
import torch
from helpers.draw import close, derivatives, normal
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from attnlib.mean_field import Binary, Gaussian, Prior, Spherical

fields = st.floats(-6, 6)


class Ternary(Prior):
    """A spin that may be zero: its square is not constant, so that V matters."""

    def log_partition(self, field, V=None):
        here = torch.zeros_like(field[..., 0]) if V is None else V / 2
        return torch.stack([torch.zeros_like(here), field[..., 0] + here, here - field[..., 0]]).logsumexp(0) - math.log(3)


def moments(points, weights, field, V):
    """Log partition, mean and covariance of a measure on points ``[k, d]``."""
    quadratic = torch.einsum("ka,ab,kb->k", points, V, points) / 2
    exponent = weights.log() + points @ field + quadratic
    p = exponent.softmax(0)
    m = p @ points
    return exponent.logsumexp(0), m, (points - m).mT @ (p[:, None] * (points - m))


def agree(prior, field, V, given_V, points, weights, atol=1e-9):
    wanted = moments(points, weights, field, V)
    one = field[None]
    found = (prior.log_partition(one, given_V)[0], prior.mean(one, given_V)[0], prior.covariance(one, given_V)[0])
    for a, b in zip(found, wanted):
        close(a, b, atol=atol)
    close(prior.variance(one, given_V)[0], wanted[2].diagonal().mean(), atol=atol)


def scalar(x):
    return torch.tensor([x], dtype=torch.float64)


@given(b=fields, v=st.floats(-2, 2))
def test_spins_with_few_states(b, v):
    V = scalar(v)
    two = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    agree(Binary(), scalar(b), V[None], V, two, torch.full((2,), 0.5, dtype=torch.float64))
    three = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64)
    agree(Ternary(), scalar(b), V[None], V, three, torch.full((3,), 1 / 3, dtype=torch.float64))


@given(b=st.tuples(fields, fields), v=st.floats(-2, 0.3))
def test_gaussian_spins_by_quadrature(b, v):
    covariance = torch.tensor([[1.0, 0.4], [0.4, 0.7]], dtype=torch.float64)
    V = torch.tensor([[v, 0.1], [0.1, -0.2]], dtype=torch.float64)
    line = torch.linspace(-30, 30, 301, dtype=torch.float64)
    points = torch.cartesian_prod(line, line)
    density = torch.distributions.MultivariateNormal(torch.zeros(2, dtype=torch.float64), covariance)
    weights = density.log_prob(points).exp() * (line[1] - line[0]) ** 2
    kept = weights > 0
    agree(Gaussian(covariance), 0.5 * scalar(b)[0], V, V[None], points[kept], weights[kept], atol=1e-7)


@given(b=fields, d=st.sampled_from([2, 3, 4, 7]), v=st.floats(-2, 2))
def test_spherical_spins_by_quadrature(b, d, v):
    """The cosine u of the angle to the field has the density ``(1 - u^2)^((d - 3)/2)``, and each rule is exact for its d."""
    if d % 2:
        nodes, weights = (torch.from_numpy(one).to(torch.float64) for one in np.polynomial.legendre.leggauss(100))
    else:  # in the angle, where the integrand is even and periodic
        nodes = ((torch.arange(200, dtype=torch.float64) + 0.5) * math.pi / 200).cos()
        weights = (1 - nodes**2).sqrt()
    along = math.sqrt(d) * nodes
    weights = weights * (1 - nodes**2) ** ((d - 3) / 2)
    exponent = (weights / weights.sum()).log() + b * along + d * v / 2
    p = exponent.softmax(0)
    mean = (p * along).sum()
    length, across = (p * (along - mean) ** 2).sum(), (p * (d - along**2)).sum() / (d - 1)
    field = torch.zeros(1, d, dtype=torch.float64)
    field[0, 0] = b
    prior, V = Spherical(d), scalar(v)
    close(prior.log_partition(field, V)[0], exponent.logsumexp(0), atol=1e-9)
    close(prior.mean(field, V)[0, 0], mean, atol=1e-9)
    wanted = torch.diag(torch.cat([length[None], across.expand(d - 1)]))
    close(prior.covariance(field, V)[0], wanted, atol=1e-9)
    close(prior.variance(field, V)[0], wanted.diagonal().mean(), atol=1e-9)


def test_a_number_for_a_covariance_is_that_number_times_the_identity():
    number, matrix = Gaussian(2.0, 3), Gaussian(2 * torch.eye(3, dtype=torch.float64))
    field, V = normal(4, 3), 0.1 * torch.eye(3, dtype=torch.float64).expand(4, 3, 3)
    close(number.precision(field), torch.eye(3, dtype=torch.float64) / 2, atol=1e-15)
    for call in (Gaussian.log_partition, Gaussian.mean, Gaussian.covariance, Gaussian.variance):
        for given_V in (None, V):
            close(call(number, field, given_V), call(matrix, field, given_V), atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 16, pytest.param(1024, marks=pytest.mark.slow)])
@pytest.mark.sweep(0.5)
def test_fields_of_every_size_have_finite_means_and_gradients(d):
    for size in (0.0, 1e-20, 1e-6, 1e-3, 1.0, 1e3, 1e6):
        for dtype in (torch.float32, torch.float64):
            field = (size * torch.nn.functional.normalize(normal(2, d, seed=3), dim=-1)).to(dtype).requires_grad_()
            prior, rounding = Spherical(d), 8 * torch.finfo(dtype).eps
            m, C = prior.mean(field), prior.covariance(field)
            (slope,) = torch.autograd.grad(m[..., 0].sum(), field)
            (again,) = torch.autograd.grad(prior.log_partition(field).sum(), field)
            assert bool((m.norm(dim=-1) <= d**0.5 * (1 + rounding)).all())
            largest = C.abs().max().item()
            close(slope, C[:, 0].detach(), atol=rounding * largest)
            close(again, m.detach(), atol=rounding * min(d**0.5, largest * size))
            close(C.double(), prior.covariance(field.double()), atol=rounding * largest)


def test_many_dimensions_are_a_soft_rms_norm():
    for d, bound in ((64, 0.01), (1024, 0.0007)):
        field = normal(5, d, seed=1)
        limit = 2 * field / (1 + (1 + 4 * field.square().sum(-1, keepdim=True) / d).sqrt())
        assert (Spherical(d).mean(field) / limit - 1).abs().max() < bound


@pytest.mark.sweep(0.5)
@derivatives
@pytest.mark.double
@pytest.mark.parametrize(
    "prior", [Binary(), Spherical(3), Gaussian(torch.tensor([[1.0, 0.3], [0.3, 0.5]])), Ternary()], ids=repr
)
def test_mean_and_covariance_are_derivatives(prior, how):
    field = normal(2, 3, prior.d, grad=True)
    V = 0.1 * normal(2, 3, seed=1)
    V = V if prior.reaction == "number" else V[..., None, None] * torch.eye(prior.d, dtype=torch.float64)
    (mean,) = torch.autograd.grad(prior.log_partition(field, V).sum(), field, create_graph=True)
    close(mean, prior.mean(field, V), atol=1e-12)
    rows = [torch.autograd.grad(mean[..., a].sum(), field, retain_graph=True)[0] for a in range(prior.d)]
    close(torch.stack(rows, -2), prior.covariance(field, V), atol=1e-11)
    generic = Prior.covariance(prior, field, V)
    close(generic, prior.covariance(field, V), atol=1e-11)
    V = V.requires_grad_()
    assert gradcheck(lambda b, v: (prior.log_partition(b, v), prior.mean(b, v), prior.covariance(b, v)), (field, V), **how)
    assert gradgradcheck(prior.mean, (field, V), **how)


@pytest.mark.usefixtures("unchecked")
def test_what_they_refuse():
    for make, words in (
        (lambda: Spherical(1), "d is 1; expected an integer of at least 2"),
        (lambda: Gaussian(0.0), "covariance is 0.0"),
        (lambda: Gaussian(torch.tensor([[1.0, 2.0], [2.0, 1.0]])), "covariance is not positive definite"),
        (lambda: Gaussian(torch.tensor([[1.0, 0.5], [0.0, 1.0]])), "covariance is not symmetric"),
        (lambda: Binary().mean(torch.zeros(2, 2)), r"field has shape \(2, 2\); expected \[\*batch, n, 1\]"),
        (lambda: Binary().log_partition(torch.zeros(2, 1), torch.zeros(3)), r"V has shape \(3,\); expected \(2,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(NotImplementedError, match="Prior has no log_partition"):
        Prior().log_partition(torch.zeros(1, 1))
