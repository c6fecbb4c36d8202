import math

import pytest
import torch
from helpers.draw import batches, betas, close, dtypes, mask_of, normal, ordinary_betas, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch.autograd import gradcheck, gradgradcheck

from attnlib import smooth_max, softmax, softmax_jacobian

TOLERANCE = {torch.float16: 3e-3, torch.bfloat16: 3e-2, torch.float32: 1e-5, torch.float64: 1e-12}
MASK = torch.tensor([[True, False, True, True], [False, True, True, False]])


@pytest.mark.double
def test_the_annotations_are_checked_while_testing():
    with pytest.raises(TypeCheckError):
        softmax(torch.arange(3))
    with pytest.raises(TypeCheckError):
        softmax_jacobian(torch.tensor(1.0))


@given(batches, sizes, dtypes, betas, st.sampled_from([1e-3, 1.0, 1e3]), st.booleans(), seeds)
def test_weights_are_a_distribution_of_the_scores_dtype(batch, m, dtype, beta, scale, masked, seed):
    scores = normal(*batch, m, seed=seed, dtype=dtype, scale=scale)
    mask = mask_of(*batch, m, seed=seed) if masked else None
    weights = softmax(scores, beta=beta, mask=mask)
    assert weights.dtype == dtype
    assert weights.shape == scores.shape
    assert bool((weights >= 0).all())
    close(weights.double().sum(-1), torch.ones(batch, dtype=torch.float64), atol=TOLERANCE[dtype])
    assert mask is None or bool((weights[~mask] == 0).all())
    assert not scores.requires_grad


@given(batches, sizes, ordinary_betas, seeds)
def test_odds_are_boltzmann_factors(batch, m, beta, seed):
    scores = normal(*batch, m, seed=seed)
    weights = softmax(scores, beta=beta)
    odds = weights[..., :, None] / weights[..., None, :]
    close(odds, torch.exp(beta * (scores[..., :, None] - scores[..., None, :])), atol=1e-12, rtol=1e-10)


@given(sizes, betas, st.floats(-1e3, 1e3), seeds)
def test_a_shift_of_all_scores_changes_nothing(m, beta, shift, seed):
    scores = torch.round(normal(m, seed=seed, scale=256)) / 256  # sums with the shift are exact
    shifted = scores + round(shift)
    close(softmax(shifted, beta=beta), softmax(scores, beta=beta), atol=1e-12)
    if beta > 0.01:
        close(smooth_max(shifted, beta=beta), smooth_max(scores, beta=beta) + round(shift), atol=1e-9)


@given(batches, sizes, betas, seeds)
def test_permuted_scores_give_permuted_weights(batch, m, beta, seed):
    scores, mask = normal(*batch, m, seed=seed), mask_of(*batch, m, seed=seed)
    order = torch.randperm(m, generator=torch.Generator().manual_seed(seed))
    permuted = softmax(scores[..., order], beta=beta, mask=mask[..., order])
    close(permuted, softmax(scores, beta=beta, mask=mask)[..., order], atol=1e-14)


@given(sizes, betas, seeds)
def test_a_mask_removes_scores(m, beta, seed):
    scores, mask = normal(m, seed=seed), mask_of(m, seed=seed)
    close(softmax(scores, beta=beta, mask=mask)[mask], softmax(scores[mask], beta=beta), atol=1e-14)
    if beta > 0.01:
        close(smooth_max(scores, beta=beta, mask=mask), smooth_max(scores[mask], beta=beta), atol=1e-12)
    loud = scores.masked_fill(~mask, 1e30)
    close(softmax(loud, beta=beta, mask=mask), softmax(scores, beta=beta, mask=mask), atol=0.0)


@given(batches, sizes, dtypes, seeds)
def test_the_limits_are_uniform_and_shared_among_ties(batch, m, dtype, seed):
    scores, mask = torch.round(normal(*batch, m, seed=seed, dtype=dtype)), mask_of(*batch, m, seed=seed)
    uniform = mask.double() / mask.double().sum(-1, keepdim=True)
    close(softmax(scores, beta=0, mask=mask), uniform.to(dtype), atol=TOLERANCE[dtype])
    best = scores == scores.masked_fill(~mask, -math.inf).amax(-1, keepdim=True)
    shared = (best & mask).double()
    shared = shared / shared.sum(-1, keepdim=True)
    for beta in (math.inf, 1e300, 1e6):
        close(softmax(scores, beta=beta, mask=mask), shared.to(dtype), atol=TOLERANCE[dtype])
    assert torch.equal(smooth_max(scores, beta=math.inf, mask=mask), scores.masked_fill(~mask, -math.inf).amax(-1))
    close(softmax(scores, beta=1e-15, mask=mask), uniform.to(dtype), atol=TOLERANCE[dtype])


@pytest.mark.parametrize("beta", [0, math.inf, 1e-300, 1e30, 1e300])
@pytest.mark.parametrize("mask", [None, MASK])
def test_gradients_are_finite_in_the_limits(beta, mask):
    scores = torch.tensor([[1.0, 1.0, 0.0, -3.0], [2.0, 2.0, 2.0, 2.0]], requires_grad=True)
    softmax(scores, beta=beta, mask=mask).square().sum().backward()
    assert bool(torch.isfinite(scores.grad).all())
    if beta in (0, math.inf):
        assert torch.equal(scores.grad, torch.zeros_like(scores))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("beta", [1e-5, 1.0, 1e5])
def test_nothing_overflows(dtype, beta):
    scores = torch.tensor([6e4, 5.9e4, -6e4, -1e4], dtype=dtype, requires_grad=True)
    weights = softmax(scores, beta=beta)
    exact = softmax(scores.detach().double(), beta=beta)
    close(weights.double(), exact, atol=TOLERANCE[dtype])
    weights.square().sum().backward()
    assert bool(torch.isfinite(scores.grad).all())
    if beta >= 1:
        close(smooth_max(scores, beta=beta).double(), smooth_max(scores.detach().double(), beta=beta), atol=0, rtol=1e-2)


def test_integers_are_taken_as_numbers():
    scores = normal(3, 4)
    assert torch.equal(softmax(scores, beta=2), softmax(scores, beta=2.0))
    assert torch.equal(softmax(scores, beta=torch.tensor(2)), softmax(scores, beta=2.0))
    assert torch.equal(smooth_max(scores, beta=2), smooth_max(scores, beta=2.0))


def test_a_temperature_for_each_row():
    scores, beta = normal(2, 3, 4), torch.rand(3, dtype=torch.float64) + 0.5
    rows = torch.stack([softmax(scores[:, i], beta=beta[i].item()) for i in range(3)], 1)
    close(softmax(scores, beta=beta), rows, atol=1e-14)
    rows = torch.stack([smooth_max(scores[:, i], beta=beta[i].item()) for i in range(3)], 1)
    close(smooth_max(scores, beta=beta), rows, atol=1e-14)


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("beta", [0, 0.7, 3, math.inf])
@pytest.mark.double
def test_softmax_differentiates_twice(beta, mask):
    scores = normal(2, 4, seed=3, grad=True)
    assert gradcheck(lambda s: softmax(s, beta=beta, mask=mask), scores)
    assert gradgradcheck(lambda s: softmax(s, beta=beta, mask=mask), scores)


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("shape", [(), (1,), (2,)])
@pytest.mark.double
def test_softmax_differentiates_in_beta(shape, mask):
    scores, beta = normal(2, 4, grad=True), normal(*shape, seed=1).exp().requires_grad_()
    assert gradcheck(lambda s, b: softmax(s, beta=b, mask=mask), (scores, beta))
    assert gradgradcheck(lambda s, b: softmax(s, beta=b, mask=mask), (scores, beta))


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("shape", [None, (), (2,)])
@pytest.mark.double
def test_smooth_max_differentiates_twice(shape, mask):
    scores = normal(2, 4, grad=True)
    beta = torch.tensor(0.7) if shape is None else normal(*shape, seed=1).exp().requires_grad_()
    assert gradcheck(lambda s, b: smooth_max(s, beta=b, mask=mask), (scores, beta))
    assert gradgradcheck(lambda s, b: smooth_max(s, beta=b, mask=mask), (scores, beta))
    assert gradcheck(lambda s: smooth_max(s, beta=math.inf, mask=mask), scores)


@pytest.mark.double
def test_softmax_jacobian_differentiates_twice():
    weights = normal(2, 3, seed=2).softmax(-1).requires_grad_()
    assert gradcheck(softmax_jacobian, weights)
    assert gradgradcheck(softmax_jacobian, weights)


@given(batches, sizes, ordinary_betas, seeds)
def test_the_smooth_maximum_is_a_maximum_and_a_potential(batch, m, beta, seed):
    scores = normal(*batch, m, seed=seed, grad=True)
    value = smooth_max(scores, beta=beta)
    top = scores.detach().amax(-1)
    assert bool((value >= top - 1e-12).all())
    assert bool((value <= top + math.log(m) / beta + 1e-12).all())
    (gradient,) = torch.autograd.grad(value.sum(), scores)
    close(gradient, softmax(scores.detach(), beta=beta), atol=1e-12)


@given(sizes, sizes, ordinary_betas, seeds)
def test_free_energies_of_parts_compose(first, second, beta, seed):
    scores = normal(first + second, seed=seed)
    parts = torch.stack([smooth_max(scores[:first], beta=beta), smooth_max(scores[first:], beta=beta)])
    close(smooth_max(parts, beta=beta), smooth_max(scores, beta=beta), atol=1e-12)


@given(sizes, ordinary_betas, seeds)
@pytest.mark.double
def test_beta_times_the_smooth_maximum_has_the_mean_score_as_derivative(m, beta, seed):
    scores, inverse = normal(m, seed=seed), torch.tensor(beta, dtype=torch.float64, requires_grad=True)
    (derivative,) = torch.autograd.grad(inverse * smooth_max(scores, beta=inverse), inverse)
    factors = [math.exp(beta * (s - scores.max().item())) for s in scores.tolist()]
    mean = math.fsum(f * s for f, s in zip(factors, scores.tolist())) / math.fsum(factors)
    assert derivative.item() == pytest.approx(mean, abs=1e-10)


@given(sizes, ordinary_betas, seeds)
@pytest.mark.double
def test_the_jacobian_is_the_derivative_and_a_covariance(m, beta, seed):
    scores = normal(m, seed=seed)
    weights = softmax(scores, beta=beta)
    jacobian = softmax_jacobian(weights)
    close(beta * jacobian, torch.func.jacrev(lambda s: softmax(s, beta=beta))(scores), atol=1e-10)
    assert torch.equal(jacobian, jacobian.T)
    close(jacobian.sum(-1), torch.zeros(m, dtype=torch.float64), atol=1e-14)
    assert torch.linalg.eigvalsh(jacobian)[0] > -1e-14


@pytest.mark.parametrize("function", [softmax, smooth_max])
@pytest.mark.parametrize("beta", [0.5, math.inf])
def test_an_empty_row_is_an_error_or_zero(function, beta):
    scores, mask = normal(2, 3, grad=True), torch.tensor([[True, False, True], [False, False, False]])
    with pytest.raises(ValueError, match=r"mask has a row that allows nothing.*empty=\"zero\""):
        function(scores, beta=beta, mask=mask)
    result = function(scores, beta=beta, mask=mask, empty="zero")
    close(result[0], function(scores[0], beta=beta, mask=mask[0]), atol=0.0)
    assert torch.equal(result[1], torch.zeros_like(result[1]))
    (gradient,) = torch.autograd.grad(result.square().sum(), scores)
    assert bool(torch.isfinite(gradient).all())
    assert torch.equal(gradient[1], torch.zeros(3, dtype=torch.float64))


def test_the_transforms_of_torch_func_work():
    scores, mask = normal(3, 4), mask_of(4)
    close(torch.func.vmap(softmax)(scores), softmax(scores), atol=1e-15)
    close(torch.func.vmap(lambda s: softmax(s, beta=0.3, mask=mask))(scores), softmax(scores, beta=0.3, mask=mask), atol=1e-15)
    by_row = torch.func.vmap(lambda s, b: softmax(s, beta=b))(scores, torch.arange(3.0))
    close(by_row, softmax(scores, beta=torch.arange(3.0, dtype=torch.float64)), atol=1e-15)
    close(torch.func.hessian(smooth_max)(scores[0]), softmax_jacobian(softmax(scores[0])), atol=1e-14)
    close(torch.func.jacfwd(softmax)(scores[0]), torch.func.jacrev(softmax)(scores[0]), atol=1e-14)


@given(batches, sizes, betas, seeds)
def test_a_row_does_not_depend_on_the_batch_or_the_grad_mode(batch, m, beta, seed):
    scores = normal(*batch, m, seed=seed)
    weights = softmax(scores, beta=beta)
    alone = torch.stack([softmax(row, beta=beta) for row in scores.reshape(-1, m)]).reshape(scores.shape)
    close(weights, alone, atol=1e-15)
    with torch.no_grad():
        assert torch.equal(softmax(scores, beta=beta), weights)
    with torch.inference_mode():
        assert torch.equal(softmax(scores, beta=beta), weights)
