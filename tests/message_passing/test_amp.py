"""Approximate message passing: its error at each step as predicted, at two sizes; what the memory term does."""

import math

import pytest
import torch
from helpers.draw import close, normal
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from attnlib import ConvergenceError, ConvergenceWarning
from attnlib.mean_field import Binary, Gaussian
from attnlib.message_passing import Sparse, amp, amp_path, state_evolution


def problem(prior, n, delta, noise, samples, seed=0):
    """Signals of a prior, matrices with entries of variance 1/m, and noisy measurements."""
    generator = torch.Generator().manual_seed(seed)
    m = round(delta * n)
    x = torch.randn(samples, n, generator=generator, dtype=torch.float64)
    if isinstance(prior, Binary):
        x = x.sign()
    elif isinstance(prior, Sparse):
        x = prior.prior_variance**0.5 * x * (torch.rand(samples, n, generator=generator) < prior.density)
    A = torch.randn(samples, m, n, generator=generator, dtype=torch.float64) / m**0.5
    rest = noise**0.5 * torch.randn(samples, m, generator=generator, dtype=torch.float64)
    return A, (A @ x[..., None])[..., 0] + rest, x


CASES = [(Binary(), 0.8, 0.3), (Sparse(0.1), 0.5, 0.02), (Gaussian(), 0.7, 0.1)]


@pytest.mark.parametrize(("prior", "delta", "noise"), CASES, ids=repr)
@pytest.mark.parametrize(("n", "samples"), [(500, 40), pytest.param(2000, 10, marks=pytest.mark.whole)])
@pytest.mark.sweep(0.5)
def test_its_error_is_the_predicted_one(prior, delta, noise, n, samples):
    """Within four standard errors of the mean, and what one signal differs from its size: 1/n relative."""
    A, y, x = problem(prior, n, delta, noise, samples)
    path, predicted = amp_path(A, y, prior, steps=8), state_evolution(prior, delta, noise, steps=8, dtype=torch.float64)
    error = (path.x - x[:, None]).square().mean(-1)
    for found, wanted in ((error, predicted.mse), (path.tau2, predicted.tau2)):
        spread = found.std(0) / samples**0.5
        assert ((found.mean(0) - wanted).abs() <= 4 * spread + 4 / n * wanted).all()


@pytest.mark.double
@pytest.mark.parametrize(("n", "samples"), [(300, 2), pytest.param(1000, 4, marks=pytest.mark.whole)])
def test_the_same_time_variant_has_the_same_fixed_point_and_does_not_settle(n, samples):
    A, y, _ = problem(Binary(), n, 0.8, 0.3, samples)
    found = amp(A, y, Binary())
    assert found.converged.all()
    with pytest.raises(ConvergenceError, match=f"{samples} of {samples} samples did not settle in 200 steps"):
        amp(A, y, Binary(), onsager="same")
    with pytest.warns(ConvergenceWarning):
        swinging = amp(A, y, Binary(), onsager="same", on_failure="warn")
    assert (swinging.residual > 0.1).all()
    assert (swinging.iterations == 200).all()
    # At the fixed point z = y - A x + b z for both: one step of the same-time variant from it does not move.
    z = y - (A @ found.x[..., None])[..., 0]
    seen = found.x + (z[:, None] @ A)[:, 0]
    for _ in range(60):  # solve for z and b together
        tau2 = z.square().mean(-1, keepdim=True)
        slope = (1 - torch.tanh(seen / tau2).square()) / tau2
        z = (y - (A @ found.x[..., None])[..., 0]) / (1 - slope.sum(-1, keepdim=True) / A.shape[-2])
        seen = found.x + (z[:, None] @ A)[:, 0]
    close(torch.tanh(seen / z.square().mean(-1, keepdim=True)), found.x, atol=1e-6)


@pytest.mark.double
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
def test_it_stops_at_the_first_step_within_the_tolerance(tolerance):
    """Each sample by itself; its steps are those of the whole path, measured one by one."""
    A, y, _ = problem(Binary(), 200, 0.8, 0.3, 4)
    found, path = amp(A, y, Binary(), tolerance=tolerance), amp_path(A, y, Binary(), steps=100).x
    moved, size = path.diff(dim=1).square().mean(-1).sqrt(), path[:, 1:].square().mean(-1).sqrt()
    first = (moved <= tolerance * (1 + size)).long().argmax(1)
    assert torch.equal(found.iterations, first + 1)
    assert len(first.unique()) > 1
    for sample, step in enumerate(first):
        close(found.x[sample], path[sample, step + 1], atol=1e-13)
        close(found.residual[sample], moved[sample, step], atol=1e-13)


def test_without_the_term_it_is_worse():
    A, y, x = problem(Sparse(0.1), 1000, 0.5, 0.02, 5)
    with_it, without = (amp_path(A, y, Sparse(0.1), steps=8, onsager=which) for which in ("previous", "none"))
    errors = [(path.x[:, -1] - x).square().mean(-1) for path in (with_it, without)]
    assert (errors[0] < errors[1] / 4).all()


def test_a_gaussian_signal_is_a_linear_estimate():
    """The posterior mean of a Gaussian signal is ridge regression, and that is where it settles."""
    A, y, _ = problem(Gaussian(), 600, 1.5, 0.2, 3)
    found = amp(A, y, Gaussian())
    ridge = torch.stack([torch.linalg.solve(a.mT @ a + 0.2 * torch.eye(600).double(), a.mT @ b) for a, b in zip(A, y)])
    assert ((found.x - ridge).square().mean(-1) < 2e-3 * ridge.square().mean(-1)).all()  # 0.2 is estimated from the residual


@pytest.mark.double
def test_state_evolution_by_hand():
    """A Gaussian signal: the error is tau2 / (1 + tau2); a binary one: an integral over the noise alone."""
    found = state_evolution(Gaussian(), 0.7, 0.1, steps=5, dtype=torch.float64)
    tau2 = 0.1 + 1 / 0.7
    for t in range(5):
        close(found.tau2[t], torch.tensor(tau2, dtype=torch.float64), atol=1e-9)
        close(found.mse[t + 1], torch.tensor(tau2 / (1 + tau2), dtype=torch.float64), atol=1e-9)
        tau2 = 0.1 + tau2 / (1 + tau2) / 0.7
    binary = state_evolution(Binary(), 0.8, 0.3, steps=1, dtype=torch.float64)
    z = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
    tau2 = binary.tau2[0]
    weight = (-z.square() / 2).exp() / math.sqrt(2 * math.pi) * (z[1] - z[0])
    close(binary.mse[1], (weight * (1 - torch.tanh((1 + tau2.sqrt() * z) / tau2)).square()).sum(), atol=1e-9)
    with pytest.raises(ValueError, match="expected what a million points resolve"):
        state_evolution(Sparse(0.1), 0.9, 1e-14, steps=60)


@given(density=st.floats(0.01, 1), variance=st.floats(0.1, 10), noise=st.floats(0.01, 10), seed=st.integers(0, 2**31))
def test_a_sparse_component_is_a_mixture(density, variance, noise, seed):
    """Against the posterior written with normal densities."""
    prior, seen = Sparse(density, variance), normal(5, seed=seed, scale=3.0)
    field, V = (seen / noise)[:, None], torch.full_like(seen, -1 / noise)

    def log_normal(width):
        return -seen.square() / (2 * width) - math.log(2 * math.pi * width) / 2

    something = math.log(density) + log_normal(noise + variance)
    nothing = torch.tensor(1 - density, dtype=seen.dtype).log() + log_normal(noise)
    either = torch.logaddexp(something, nothing)
    chance = (something - either).exp()
    centre, spread = seen * variance / (variance + noise), variance * noise / (variance + noise)
    close(prior.mean(field, V)[:, 0], chance * centre, atol=1e-10)
    close(prior.variance(field, V), chance * (spread + centre.square()) - (chance * centre).square(), atol=1e-10)
    close(prior.log_partition(field, V), either - log_normal(noise), atol=1e-9)
    close(prior.mean(field), super(Sparse, prior).mean(field), atol=1e-10)


@pytest.mark.double
def test_it_differentiates():
    A, y, _ = problem(Binary(), 5, 0.8, 0.3, 2)
    assert gradcheck(lambda A, y: amp_path(A, y, Binary(), steps=3).x, (A.requires_grad_(), y.requires_grad_()))


@pytest.mark.double
@pytest.mark.slow
def test_an_estimate_that_has_settled_knows_how_it_would_move():
    """Nothing measured is settled after one step; for a Gaussian signal without noise its derivative is the pseudo-inverse."""
    A = normal(12, 4) / 12**0.5
    A, y = torch.stack([A, A.flip(0)]), torch.zeros(2, 12, dtype=torch.float64)

    def estimate(y, A=A):
        return amp(A, y, Gaussian(), max_steps=60).x

    found = torch.autograd.functional.jacobian(estimate, y)
    close(found.diagonal(dim1=0, dim2=2).movedim(-1, 0), torch.linalg.pinv(A), atol=1e-10)
    by_sample = torch.func.vmap(torch.func.jacrev(estimate))(y, A)
    close(by_sample, torch.linalg.pinv(A), atol=1e-10)
    A, y, _ = problem(Sparse(0.3), 20, 1.5, 0.1, 2)
    A, weights = A.requires_grad_(), normal(2, 20)
    ends = amp(A, y, Sparse(0.3)).x, amp_path(A, y, Sparse(0.3), steps=150).x[:, -1]
    slopes = [torch.autograd.grad((weights * x).sum(), A)[0] for x in ends]
    close(slopes[0], slopes[1], atol=1e-8)


@pytest.mark.usefixtures("unchecked")
def test_what_is_refused():
    A, y = torch.eye(3), torch.ones(3)
    for call, words in (
        (lambda: amp(A, y[:2], Binary()), r"A has shape \(3, 3\) and y \(2,\); expected"),
        (lambda: amp(A, y, Gaussian(1.0, 2)), "with 2 components; expected one"),
        (lambda: amp(A, y, 3), "prior is a int"),
        (lambda: amp(A, y, Binary(), onsager="now"), "onsager is 'now'"),
        (lambda: Sparse(0.0), "density is 0.0"),
        (lambda: Sparse(1.5), "density is 1.5"),
        (lambda: state_evolution(Binary(), -1, 0.1), "delta is -1"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
