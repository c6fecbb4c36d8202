"""Entropy, participation and the Jacobian's norm; the random energy model against sampling, quadrature and its limits."""

import math
import sys
from decimal import Decimal, localcontext

import pytest
import torch
from helpers.draw import batches, close, derivatives, dtypes, normal, ordinary_betas, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch.autograd import gradcheck, gradgradcheck

from attnlib import softmax, softmax_jacobian
from attnlib.softmax import (
    effective_number,
    entropy,
    freezing_scale,
    freezing_width,
    participation_ratio,
    random_energy,
    relative_spread,
    softmax_jacobian_norm,
)

MEASURES = [entropy, participation_ratio, effective_number, softmax_jacobian_norm]
LOOSE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-5, torch.float64: 1e-12}


def weights_of(*shape, seed=0, beta=1.0):
    return softmax(normal(*shape, seed=seed), beta=beta)


# Measures of a row of weights


@given(batches, sizes, dtypes, ordinary_betas, seeds)
def test_measures_keep_dtype_and_shape_and_their_ranges(batch, m, dtype, beta, seed):
    weights = weights_of(*batch, m, seed=seed, beta=beta).to(dtype)
    for measure in MEASURES:
        found = measure(weights)
        assert found.dtype == dtype
        assert found.shape == batch
    tolerance = LOOSE[dtype] * m
    assert bool((entropy(weights) >= -tolerance).all())
    assert bool((entropy(weights) <= math.log(m) + tolerance).all())
    assert bool((participation_ratio(weights) >= 1 / m - tolerance).all())
    assert bool((participation_ratio(weights) <= 1 + tolerance).all())


@given(batches, sizes, ordinary_betas, seeds)
def test_entropy_is_that_of_torch(batch, m, beta, seed):
    weights = weights_of(*batch, m, seed=seed, beta=beta)
    close(entropy(weights), torch.distributions.Categorical(probs=weights).entropy(), atol=1e-10)


@given(batches, sizes, ordinary_betas, seeds)
def test_participation_counts_pairs_of_equal_draws(batch, m, beta, seed):
    weights = weights_of(*batch, m, seed=seed, beta=beta)
    pairs = weights[..., :, None] * weights[..., None, :]
    close(participation_ratio(weights), pairs.diagonal(dim1=-2, dim2=-1).sum(-1), atol=1e-14)
    close(effective_number(weights) * participation_ratio(weights), torch.ones(batch, dtype=torch.float64), atol=1e-12)
    assert bool((effective_number(weights) <= entropy(weights).exp() + 1e-9).all())


@pytest.mark.parametrize("m", [1, 2, 7])
def test_equal_weights_and_one_hot(m):
    even, one = torch.full((m,), 1 / m, dtype=torch.float64), torch.eye(m, dtype=torch.float64)[0]
    close(torch.stack([f(even) for f in MEASURES[:3]]), torch.tensor([math.log(m), 1 / m, m], dtype=torch.float64), atol=1e-12)
    close(torch.stack([f(one) for f in MEASURES[:3]]), torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64), atol=0.0)
    close(softmax_jacobian_norm(even), torch.tensor(1 / m if m > 1 else 0.0, dtype=torch.float64), atol=1e-14)
    close(softmax_jacobian_norm(one), torch.tensor(0.0, dtype=torch.float64), atol=1e-14)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.double
def test_measures_differentiate_twice(measure):
    scores = normal(2, 4, seed=3, grad=True)
    assert gradcheck(lambda s: measure(softmax(s)), scores)
    assert gradgradcheck(lambda s: measure(softmax(s)), scores)


def test_the_entropy_of_a_masked_softmax_has_a_finite_gradient():
    scores = normal(4, grad=True)
    mask = torch.tensor([True, False, True, True])
    (gradient,) = torch.autograd.grad(entropy(softmax(scores, mask=mask)), scores)
    (alone,) = torch.autograd.grad(entropy(softmax(scores[mask])), scores)
    close(gradient, alone, atol=1e-12)
    (frozen,) = torch.autograd.grad(entropy(softmax(scores, beta=1e6)), scores)
    assert bool(torch.isfinite(frozen).all())


@given(sizes, ordinary_betas, seeds)
def test_entropy_falls_with_beta_times_the_variance(m, beta, seed):
    scores, inverse = normal(m, seed=seed), torch.tensor(beta, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(entropy(softmax(scores, beta=inverse)), inverse)
    weights = softmax(scores, beta=beta)
    variance = weights @ (scores - weights @ scores) ** 2
    close(slope, -beta * variance, atol=1e-9)


@given(batches, st.integers(2, 6), st.floats(0.01, 50), seeds)
@pytest.mark.double
def test_the_norm_is_the_largest_stretch_and_within_its_bounds(batch, m, beta, seed):
    weights = weights_of(*batch, m, seed=seed, beta=beta)
    norm, bound = softmax_jacobian_norm(weights), (weights * (1 - weights)).amax(-1)
    close(norm, torch.linalg.matrix_norm(softmax_jacobian(weights), ord=2), atol=1e-12)
    assert bool((norm >= bound - 1e-12).all())
    assert bool((norm <= 2 * bound + 1e-12).all())
    assert bool((norm <= 0.5 + 1e-12).all())


def test_the_transforms_of_torch_func_work():
    weights = weights_of(3, 4)
    for measure in MEASURES:
        close(torch.func.vmap(measure)(weights), measure(weights), atol=1e-14)


# The random energy model without sampling


def exact(count, sigma):
    found = random_energy(count, sigma)
    return torch.stack([found.log_partition, found.entropy, found.participation, found.participation_variance])


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.3, 1.0, 4.0, 15.0])
def test_one_score_has_nothing_to_choose(sigma):
    target = torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    close(exact(1, torch.tensor(sigma, dtype=torch.float64)), target, atol=1e-11)


@pytest.mark.parametrize("count", [1, 2, 10, 10**5, 10**12])
def test_equal_scores_share(count):
    target = torch.tensor([math.log(count), math.log(count), 1 / count, 0.0], dtype=torch.float64)
    close(exact(count, torch.tensor(0.0, dtype=torch.float64)), target, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 3.0, 10.0])
def test_two_scores_by_quadrature_over_their_difference(sigma):
    """Two scores differ by a Gaussian of standard deviation sqrt(2) sigma; ln Z is the mean score plus ln 2 cosh."""
    x = torch.linspace(-10, 10, 40_001, dtype=torch.float64)
    gauss = torch.exp(-(x**2) / 2) / torch.exp(-(x**2) / 2).sum()
    difference = math.sqrt(2) * sigma * x
    p = torch.sigmoid(difference)
    q = torch.sigmoid(-difference)
    log_partition = difference.abs() / 2 + torch.log1p(torch.exp(-difference.abs()))
    surprise = -torch.special.xlogy(p, p) - torch.special.xlogy(q, q)
    agree = p**2 + q**2
    variance = gauss @ agree**2 - (gauss @ agree) ** 2
    target = torch.stack([gauss @ log_partition, gauss @ surprise, gauss @ agree, variance])
    close(exact(2, torch.tensor(sigma, dtype=torch.float64)), target, atol=1e-10)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize(
    ("count", "sigma", "draws"), [(3, 1.5, 40_000), (30, 3.0, 20_000), (300, 2.0, 4000), (3000, 4.5, 1000), (30_000, 6.0, 150)]
)
def test_sampling_agrees_within_its_error_bars(count, sigma, draws):
    generator = torch.Generator().manual_seed(count)
    found = []
    for _ in range(10):
        scores = sigma * torch.randn(draws // 10, count, generator=generator, dtype=torch.float64)
        log_weights = scores.log_softmax(-1)
        weights = log_weights.exp()
        found.append(torch.stack([scores.logsumexp(-1), -(weights * log_weights).sum(-1), weights.square().sum(-1)]))
    found = torch.cat(found, -1)
    found = torch.cat([found, (found[-1:] - found[-1:].mean()).square() * draws / (draws - 1)])  # its mean is the variance
    bars = found.std(-1) / draws**0.5
    off = (found.mean(-1) - exact(count, torch.tensor(sigma, dtype=torch.float64))).abs() / bars
    assert bool((off < 4).all()), off


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("count", [2, 50, 10**4])
@derivatives
@pytest.mark.double
def test_the_derivative_of_log_z_is_the_one_that_integration_by_parts_gives(count, how):
    sigma = torch.tensor([0.2, 1.0, 3.0, 8.0], dtype=torch.float64, requires_grad=True)
    found = random_energy(count, sigma)
    (slope,) = torch.autograd.grad(found.log_partition.sum(), sigma)
    close(slope, (sigma * (1 - found.participation)).detach(), atol=1e-10)
    assert gradcheck(lambda s: exact(count, s), sigma, **how)


@given(st.integers(2, 10**8), st.floats(0.0, 6.0))
def test_within_bounds(count, sigma):
    log_partition, average, participation, variance = exact(count, torch.tensor(sigma, dtype=torch.float64))
    assert -1e-9 <= average <= math.log(count) + 1e-9
    assert 1 / count - 1e-12 <= participation <= 1 + 1e-12
    assert 0 <= variance <= participation * (1 - participation) + 1e-12  # of what lies between 0 and 1
    assert math.log(count) - 1e-9 <= log_partition <= math.log(count) + sigma**2 / 2 + 1e-9  # Jensen, both ways


@pytest.mark.double
def test_ten_million_keys_are_near_the_limit():
    count = 10**7
    critical = freezing_scale(count)
    ratio = torch.tensor([0.25, 0.5], dtype=torch.float64)
    liquid = random_energy(count, ratio * critical)
    close(liquid.entropy / math.log(count), 1 - ratio**2, atol=1e-3)
    close(liquid.participation * count, torch.exp((ratio * critical) ** 2), atol=0.0, rtol=0.2)
    ratio = torch.tensor([1.5, 2.0, 3.0], dtype=torch.float64)
    frozen = random_energy(count, ratio * critical)
    best = torch.special.ndtri(torch.tensor(1 - 1 / count, dtype=torch.float64))
    close(frozen.participation, 1 - best / (ratio * critical), atol=6e-3)
    close(frozen.participation, 1 - 1 / ratio, atol=0.07)
    tiny = torch.finfo(torch.float64).tiny
    assert bool((frozen.entropy > tiny).all())
    assert bool((frozen.entropy / math.log(count) < 0.13).all())


def test_more_keys_come_nearer_to_the_limit():
    gaps = [
        random_energy(10**power, torch.tensor(1.5 * freezing_scale(10**power), dtype=torch.float64)).participation.item()
        - 1 / 3
        for power in (2, 4, 8, 16, 32)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] > 0


@pytest.mark.slow
def test_frozen_weights_do_not_self_average():
    """Beyond freezing the variance tends to Y (1 - Y) / 3, as slowly as the mean tends to Y; before it, to zero."""
    ratio = torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64)
    found = [random_energy(m, ratio * freezing_scale(m)) for m in (10**2, 10**4, 10**8, 10**16, 10**32)]
    liquid, *frozen = torch.stack([each.participation_variance for each in found]).T
    assert bool((liquid.diff() < 0).all())
    assert liquid[-1] < 1e-20
    for row, r in zip(frozen, (1.5, 2.5), strict=True):
        limit = (1 - 1 / r) / r / 3
        assert abs(row[-1] / limit - 1) < 0.05
        assert bool(((row - limit).abs()[1:] < (row - limit).abs()[0]).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtype_and_shape_follow_sigma(dtype):
    sigma = torch.tensor([[0.5, 1.0, 2.0]], dtype=dtype)
    found = random_energy(100, sigma)
    for values in (found.log_partition, found.entropy, found.participation, found.participation_variance):
        assert values.dtype == dtype
        assert values.shape == (1, 3)
    close(found.entropy.double(), random_energy(100, sigma.double()).entropy, atol=20 * LOOSE[dtype])
    assert random_energy(100, torch.zeros(0, 2, dtype=dtype)).entropy.shape == (0, 2)


def test_numbers_are_taken_as_they_are():
    close(random_energy(100, 2).entropy, random_energy(100, torch.tensor(2.0)).entropy, atol=0.0)


# Where it freezes


@pytest.mark.parametrize(("count", "scale"), [(1, 0.0), (2, 1.1774100225), (1000, 3.7169221888)])
def test_the_freezing_scale(count, scale):
    assert freezing_scale(count) == pytest.approx(scale, abs=1e-9)
    assert freezing_width(count) == pytest.approx(scale**2, abs=1e-8)


@pytest.mark.parametrize("beta", [0.1, 1.0, 3.0, 40.0, 1e5])
@pytest.mark.double
def test_signs_pay_the_price_of_a_biased_coin(beta):
    up = torch.sigmoid(torch.tensor(2.0 * beta, dtype=torch.float64))
    price = torch.xlogy(up, up) + torch.xlogy(1 - up, 1 - up) + math.log(2)
    assert freezing_width(500, beta=beta, entries="sign") == pytest.approx(math.log(500) / price.item(), rel=1e-11)


@pytest.mark.parametrize("beta", [1e-2, 1e-4, 1e-8])
def test_hot_signs_freeze_like_gaussian_entries(beta):
    both = [freezing_width(500, beta=beta, entries=entries) for entries in ("sign", "gaussian")]
    assert both[0] == pytest.approx(both[1] * (1 + beta**2 / 2), rel=1e-8)


@pytest.mark.parametrize("beta", [1e-4, 0.0099, 0.0101, 0.1])
def test_the_price_of_a_hot_sign_to_twelve_digits(beta):
    """A biased coin in forty digits: on both sides of where a series takes over."""
    with localcontext() as context:
        context.prec = 40
        up = 1 / (1 + (-2 * Decimal(beta)).exp())
        price = up * up.ln() + (1 - up) * (1 - up).ln() + Decimal(2).ln()
        wanted = float(Decimal(500).ln() / price)
    assert freezing_width(500, beta=beta, entries="sign") == pytest.approx(wanted, rel=1e-12)


def test_signs_freeze_later_than_gaussian_entries():
    """Half way to its own freezing width the liquid law 1 - d / d_c holds for signs, with its own constant only."""
    generator = torch.Generator().manual_seed(0)
    key = (torch.rand(8, 50_000, 12, generator=generator) < 0.5).double() * 2 - 1
    left = entropy(key.sum(-1).softmax(-1)).mean().item() / math.log(50_000)
    assert left == pytest.approx(1 - 12 / freezing_width(50_000, entries="sign"), abs=0.03)
    assert left > 1 - 12 / freezing_width(50_000) + 0.1


# Bad inputs


def refuses(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("measure", MEASURES)
def test_bad_weights(measure):
    refuses(lambda: measure(torch.tensor(1.0)), r"weights has shape \(\); expected \[\*batch, m\] with m >= 1")
    refuses(lambda: measure(torch.zeros(2, 0)), r"weights has shape \(2, 0\); expected")
    refuses(lambda: measure(torch.ones(2, dtype=torch.int64)), "weights has dtype torch.int64; expected a floating point dtype")
    refuses(lambda: measure(torch.tensor([math.nan, 1.0])), "weights has non-finite entries; expected finite numbers")
    refuses(lambda: measure(torch.tensor([1.5, -0.5])), "weights has negative entries; expected weights, which are not")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("measure", [*MEASURES, softmax_jacobian])
def test_what_is_no_distribution_is_refused(measure):
    words = "weights has a row that does not sum to one; expected probabilities"
    for wrong in (torch.zeros(2, 3), torch.tensor([3.0, 4.0]), torch.tensor([[0.5, 0.5], [0.5, 0.6]])):
        refuses(lambda w=wrong: measure(w), words)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.double
def test_bad_models():
    for count in (0, -1, 2.0, True):
        words = f"m is {count}; expected an integer of at least 1"
        refuses(lambda c=count: random_energy(c, 1.0), words)
        refuses(lambda c=count: freezing_scale(c), words)
        refuses(lambda c=count: freezing_width(c), words)
    for sigma in (-1, math.nan, math.inf, torch.tensor([1.0, -1.0]), torch.tensor(math.nan), torch.tensor(1)):
        refuses(lambda s=sigma: random_energy(3, s), "sigma .*; expected")
    for beta in (0, -1.0, math.nan, math.inf):
        refuses(lambda b=beta: freezing_width(3, beta=b), f"beta is {beta}; expected a finite number above 0")
    refuses(lambda: freezing_width(3, entries="cauchy"), "entries is 'cauchy'; expected one of 'gaussian', 'sign'")


@pytest.mark.double
def test_the_annotations_are_checked_while_testing():
    with pytest.raises(TypeCheckError):
        entropy(torch.arange(3))
    with pytest.raises(TypeCheckError):
        random_energy(3, torch.tensor(1))


# The spread of scores


def spread_by_hand(row, beta):
    mean = math.fsum(row) / len(row)
    return beta * math.sqrt(math.fsum((s - mean) ** 2 for s in row) / len(row)) / math.sqrt(2 * math.log(len(row)))


@given(batches, sizes.filter(lambda m: m > 1), dtypes, st.floats(0, 5), seeds)
def test_the_relative_spread_is_the_standard_deviation_over_freezing(batch, m, dtype, beta, seed):
    scores = normal(*batch, m, seed=seed).to(dtype)
    found = relative_spread(scores, beta=beta)
    assert found.dtype == dtype
    assert found.shape == batch
    expected = [spread_by_hand(row.tolist(), beta) for row in scores.double().reshape(-1, m)]
    close(found, torch.tensor(expected, dtype=torch.float64).reshape(batch).to(dtype), 5 * LOOSE[dtype])


@pytest.mark.double
def test_the_relative_spread_counts_what_the_mask_leaves():
    scores, mask = normal(3, 5), torch.tensor([[1, 1, 1, 1, 1], [0, 1, 1, 0, 1], [1, 1, 0, 0, 0]]).bool()
    expected = [
        spread_by_hand([s for s, seen in zip(row, rows, strict=True) if seen], 0.7)
        for row, rows in zip(scores.tolist(), mask.tolist(), strict=True)
    ]
    far = torch.where(mask, scores, -1e30)  # as masks are often made
    for one in (scores, far):
        close(relative_spread(one, beta=0.7, mask=mask), torch.tensor(expected, dtype=torch.float64), 1e-12)
    betas = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64)
    each = [relative_spread(row, beta=float(beta)) for row, beta in zip(scores, betas, strict=True)]
    close(relative_spread(scores, beta=betas), torch.stack(each), 1e-12)


@pytest.mark.double
def test_the_relative_spread_does_not_see_the_mean_and_does_not_overflow():
    scores = normal(4, 7)
    close(relative_spread(scores + 1000), relative_spread(scores), 1e-12)
    close(relative_spread(1e200 * scores, beta=1e-200), relative_spread(scores), 1e-12)
    assert relative_spread(torch.full((2, 3), 4.0)).tolist() == [0, 0]


@pytest.mark.double
def test_gradients_of_the_relative_spread():
    scores, beta = normal(2, 5).requires_grad_(), torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 1, 1], [1, 1, 1, 1, 1]]).bool()
    assert gradcheck(lambda s, b: relative_spread(s, beta=b, mask=mask), (scores, beta))
    assert gradgradcheck(lambda s, b: relative_spread(s, beta=b, mask=mask), (scores, beta))
    equal = torch.ones(3, requires_grad=True)
    assert torch.autograd.grad(relative_spread(equal), equal)[0].tolist() == [0, 0, 0]


def test_gaussian_scores_of_the_freezing_scale_have_a_relative_spread_near_one():
    """Its square has the mean (m - 1) / m, exactly; 20,000 rows, within four standard errors."""
    for m in (2, 9, 100):
        drawn = freezing_scale(m) * torch.randn(20_000, m, generator=torch.Generator().manual_seed(m), dtype=torch.float64)
        square = relative_spread(drawn).square()
        assert abs(square.mean() - (m - 1) / m) < 4 * square.std() / math.sqrt(20_000)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.double
def test_one_score_has_no_spread():
    words = "a row with less than two; expected at least two"
    refuses(lambda: relative_spread(torch.ones(3, 1)), words)
    refuses(lambda: relative_spread(torch.ones(2, 3), mask=torch.tensor([[1, 1, 0], [1, 0, 0]]).bool()), words)
    refuses(lambda: relative_spread(torch.ones(2, 3), mask=torch.zeros(3).bool()), "mask has a row that allows nothing")
    refuses(lambda: relative_spread(torch.ones(3), beta=math.inf), "beta is inf")


@pytest.mark.double
@pytest.mark.parametrize(("count", "sigma"), [(10**30, 4.0), (10**6, 4.0), (1000, 0.1), (1000, 8.0)])
def test_a_grid_three_times_as_fine_says_the_same(count, sigma, monkeypatch):
    """The second moment too: of 1e30 keys at this spread it asks for the finest steps."""
    rule = sys.modules[random_energy.__module__]
    coarse = rule._random_energy(count, torch.tensor(sigma, dtype=torch.float64))
    monkeypatch.setattr(rule, "COARSEST", rule.COARSEST / 3)
    close(coarse / rule._random_energy(count, torch.tensor(sigma, dtype=torch.float64)), torch.ones(3).double(), atol=1e-11)
