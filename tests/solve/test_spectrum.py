"""The spectral radius and the penalty on a Jacobian, against the dense Jacobian."""

import pytest
import torch
from helpers.draw import close, normal
from torch.autograd import gradcheck, gradgradcheck

from attnlib import ConvergenceError, ConvergenceWarning
from attnlib.solve import fixed_point, jacobian_penalty, spectral_radius


def dense(function, state):
    """The Jacobian of each sample, column by column."""
    rows = [torch.autograd.functional.jacobian(function, one) for one in state.reshape(-1, state.shape[-1])]
    return torch.stack(rows).reshape(*state.shape, state.shape[-1])


@pytest.mark.parametrize("k", [1, 2, 16, 40, 100])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_radius_is_that_of_the_dense_jacobian(k, symmetric, dtype):
    """Eigenvalues of random matrices that are not symmetric are complex, and come in pairs."""
    A = normal(k, k, dtype=dtype)
    A = A + A.mT if symmetric else A

    def function(z):
        return torch.tanh(z @ A.mT) + z.square()

    state = normal(2, 3, k, scale=0.3, seed=1, dtype=dtype)
    found = spectral_radius(function, state, tolerance=1e-5, max_steps=4000)
    wanted = torch.linalg.eigvals(dense(function, state)).abs().amax(-1)
    close(found, wanted, atol=2e-4 * wanted.max().item() if k > 16 else 1e-4 if dtype == torch.float32 else 1e-9)
    close(spectral_radius(function, state[1, 2], tolerance=1e-5, max_steps=4000), found[1, 2], atol=2e-3)


def test_maps_that_forget_and_maps_that_double():
    shift = torch.zeros(10, 10).double().diagonal_scatter(torch.ones(9).double(), offset=1)
    assert spectral_radius(lambda z: z @ shift.mT, torch.zeros(10).double()) < 0.03  # a Jordan block, at double precision
    assert spectral_radius(lambda z: 0 * z + 1, torch.zeros(3)) == 0
    assert spectral_radius(lambda z: torch.ones(3), torch.zeros(3)) == 0
    close(spectral_radius(lambda z: 2 * z, torch.zeros(5, 30)), torch.full((5,), 2.0), atol=1e-6)
    assert not spectral_radius(lambda z: 2 * z, torch.zeros(3, requires_grad=True)).requires_grad
    with torch.inference_mode():
        state = torch.zeros(5, 30)
    close(spectral_radius(lambda z: 2 * z, state), torch.full((5,), 2.0), atol=1e-6)


def test_an_eigenvector_that_is_not_found_is_reported():
    turn = torch.block_diag(*(s * torch.eye(2) for s in torch.linspace(0.99, 1, 30))).double()
    with pytest.raises(ConvergenceError, match="no eigenvector within 16 products"):
        spectral_radius(lambda z: z @ turn, torch.zeros(60).double(), tolerance=1e-12, max_steps=16)
    with pytest.warns(ConvergenceWarning, match="1 of 1 samples"):
        rough = spectral_radius(lambda z: z @ turn, torch.zeros(60).double(), tolerance=1e-12, max_steps=16, on_failure="warn")
    assert 0.99 < rough < 1.001


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_penalty_is_the_squared_norm_on_average(dtype):
    """Where rows are orthogonal every draw is exact; else the mean is, within five standard errors."""
    A = normal(5, 5, dtype=dtype)

    def function(z):
        return torch.tanh(z @ A.mT)

    state = normal(2, 3, 5, seed=1, dtype=dtype)
    wanted = dense(function, state).square().sum((-2, -1))
    draws = torch.stack([jacobian_penalty(function, state, generator=torch.Generator().manual_seed(s)) for s in range(400)])
    error = draws.std(0) / 20
    assert ((draws.mean(0) - wanted).abs() <= 5 * error).all()
    many = jacobian_penalty(function, state, samples=400, generator=torch.Generator().manual_seed(0))
    assert ((many - wanted).abs() <= 5 * error).all()
    turned = torch.linalg.qr(A).Q
    close(jacobian_penalty(lambda z: 3 * z @ turned.mT, state), torch.full((2, 3), 45.0, dtype=dtype), atol=1e-3)


@pytest.mark.double
@pytest.mark.slow
def test_the_penalty_differentiates_twice_also_through_the_solution():
    def penalty(A, b):
        def function(z):
            return torch.tanh(z @ A.mT + b)

        found = fixed_point(function, torch.zeros(2, 3).double(), tolerance=1e-14)
        return jacobian_penalty(function, found.solution, generator=torch.Generator().manual_seed(0))

    inputs = [normal(3, 3, scale=0.3).requires_grad_(), normal(2, 3, seed=1).requires_grad_()]
    assert gradcheck(penalty, inputs)
    assert gradgradcheck(penalty, inputs, atol=1e-4)
    with torch.no_grad():
        assert not penalty(*inputs).requires_grad
    scale, state = normal(3, seed=2), normal(3, seed=3)  # rows are orthogonal: no sign matters

    def score(scale):
        return jacobian_penalty(lambda z: scale * z.square(), state)

    slopes = 8 * scale * state.square()
    close(torch.func.grad(score)(scale), slopes, atol=1e-12)
    close(torch.func.jacfwd(score, randomness="same")(scale), slopes, atol=1e-12)


@pytest.mark.parametrize("measure", [spectral_radius, jacobian_penalty])
@pytest.mark.usefixtures("unchecked")
def test_what_is_refused(measure):
    for state, message in ((torch.zeros(()), r"state has shape \(\)"), (torch.full((2,), torch.nan), "state has non-finite")):
        with pytest.raises(ValueError, match=message):
            measure(torch.tanh, state)
    with pytest.raises(ValueError, match="function is a int"):
        measure(3, torch.zeros(2))
