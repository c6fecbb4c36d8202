"""A noisy query among memories: Bayes is one step, by quadrature for two memories and by what a posterior must obey."""

import math

import pytest
import torch

from attnlib.course.data.denoising import freezing_noise, noisy_queries, recall_error, recalled
from attnlib.course.data.seeds import over_runs
from attnlib.hopfield import hopfield_update


def asked(count=20_000, memories=16, sigma=1.0, seed=0, **more):
    return noisy_queries(count, memories, sigma=sigma, generator=torch.Generator().manual_seed(seed), **more)


def test_one_step_is_the_packages_attention_and_half_steps_go_half_the_way():
    some = asked(50)
    once = hopfield_update(some.query[:, None], some.memories, beta=0.7)[:, 0]
    assert torch.allclose(recalled(some, beta=0.7), once, atol=1e-12)
    assert torch.allclose(recalled(some, beta=0.7, step_size=0.5), (once + some.query) / 2, atol=1e-12)
    twice = hopfield_update(once[:, None], some.memories, beta=0.7)[:, 0]
    assert torch.allclose(recalled(some, beta=0.7, steps=2), twice, atol=1e-12)


@pytest.mark.slow
def test_with_two_memories_the_error_is_an_integral():
    r"""With a distance D the posterior is a sigmoid of a Gaussian: the error is D^2 E (1 - p)^2."""
    sigma, some = 1.3, asked(100_000, 2, sigma=1.3)
    distance = (some.memories[:, 0] - some.memories[:, 1]).square().sum(-1)
    z = torch.linspace(-8, 8, 401, dtype=torch.float64)
    weight = torch.exp(-(z**2) / 2) / torch.exp(-(z**2) / 2).sum()
    logit = distance[:2000, None] / (2 * sigma**2) + distance[:2000, None].sqrt() / sigma * z
    expected = over_runs((distance[:2000, None] * torch.sigmoid(-logit) ** 2 @ weight) / 8)
    found = recall_error(some, beta=sigma**-2)
    assert found.mean == pytest.approx(expected.mean, abs=4 * (found.error**2 + expected.error**2) ** 0.5)


@pytest.mark.parametrize("sigma", [0.75, 1.5])
def test_at_bayes_beta_a_second_draw_is_distributed_like_the_truth(sigma):
    some = asked(sigma=sigma)
    answer = recalled(some, beta=sigma**-2)
    gap = over_runs((answer * some.truth).sum(-1) - answer.square().sum(-1))
    assert abs(gap.errors) < 4
    p = ((some.memories @ some.query[..., None])[..., 0] / sigma**2).softmax(-1)
    gap = over_runs(p.square().sum(-1) - p[torch.arange(len(p)), some.target])
    assert abs(gap.errors) < 4


@pytest.mark.slow
def test_no_other_temperature_or_number_of_steps_is_better():
    some = asked()
    bayes = recall_error(some, beta=1.0).mean
    assert all(recall_error(some, beta=beta).mean > bayes for beta in (0.8, 1.25))
    whole, half = (
        min(recall_error(some, beta=beta, steps=4, step_size=size).mean for beta in (0.7, 0.8, 0.9, 1.0)) / bayes - 1
        for size in (1.0, 0.5)
    )
    assert whole == pytest.approx(0.196, abs=0.02)
    assert half == pytest.approx(0.042, abs=0.01)


@pytest.mark.parametrize(("memories", "width"), [(16, 8), (64, 8), (300, 5)])
def test_at_the_freezing_noise_a_channel_tells_one_of_so_many(memories, width):
    capacity = width / 2 * math.log1p(freezing_noise(memories, width) ** -2)
    assert capacity == pytest.approx(math.log(memories), rel=1e-12)


def right(memories, width, sigma, count):
    some = asked(count, memories, sigma, width=width)
    scores = (some.memories @ some.query[..., None])[..., 0] / sigma**2
    return scores.log_softmax(-1)[torch.arange(count), some.target]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.8, 1.2, 1.457])
def test_on_either_side_of_it_the_right_memory_gains_or_loses_weight_as_all_grows(share):
    few, many = (over_runs(right(K, d, share * freezing_noise(K, d), 3000).exp()) for K, d in ((16, 8), (256, 16)))
    change = (many.mean - few.mean) / math.hypot(many.error, few.error)
    assert change > 4 if share < 1 else change < -4


def test_so_many_memories_that_there_is_no_such_noise_are_refused():
    with pytest.raises(ValueError, match=r"^memories is .* at a width of 1; expected fewer"):
        freezing_noise(10**200, 1)


def test_memories_lie_on_a_sphere_and_noise_has_its_size():
    some = asked(memories=4, sigma=0.5)
    assert torch.allclose(some.memories.square().sum(-1), torch.tensor(8.0, dtype=torch.float64))
    assert (some.query - some.truth).std().item() == pytest.approx(0.5, rel=0.02)
    assert some.target.bincount().min() > 4500


@pytest.mark.parametrize(
    ("settings", "name"), [({"count": 0}, "count"), ({"memories": 0}, "memories"), ({"sigma": -1}, "sigma")]
)
def test_what_cannot_be_drawn_is_refused(settings, name):
    with pytest.raises(ValueError, match=rf"^{name} is "):
        noisy_queries(**({"count": 1, "memories": 2, "sigma": 1.0} | settings))
