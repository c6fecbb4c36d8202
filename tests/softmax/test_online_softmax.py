"""Softmax in parts against softmax at once, and sparsemax against the projection that it is."""

import math

import pytest
import torch
from helpers.draw import batches, close, dtypes, normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from attnlib import softmax
from attnlib.softmax import PartialSoftmax, merge, online_softmax, partial_softmax, sparsemax

LOOSE = {torch.float16: 3e-3, torch.bfloat16: 3e-2, torch.float32: 1e-5, torch.float64: 1e-12}


def cut(scores, value, sizes_of_parts):
    return zip(scores.split(sizes_of_parts, -1), value.split(sizes_of_parts, -2), strict=True)


def whole(scores, value, beta=1.0):
    scores = beta * scores.double()
    return torch.softmax(scores, -1) @ value.double(), scores.logsumexp(-1)


parts_of = st.lists(st.integers(1, 5), min_size=1, max_size=5)


@given(batches, sizes, parts_of, dtypes, st.sampled_from([0.3, 1, 4.0]), seeds)
def test_parts_make_the_whole(batch, n, parts, dtype, beta, seed):
    m = sum(parts)
    scores, value = normal(*batch, n, m, seed=seed, dtype=dtype), normal(*batch, m, 3, seed=seed + 1, dtype=dtype)
    state = online_softmax(cut(scores, value, parts), beta=beta)
    wide = torch.promote_types(dtype, torch.float32)
    assert state.average.dtype == state.log_partition.dtype == wide
    average, log_partition = whole(scores, value, beta)
    close(state.average.double(), average, atol=1e-11 if dtype == torch.float64 else 1e-4)
    close(state.log_partition.double(), log_partition, atol=1e-11 if dtype == torch.float64 else 1e-4)


@given(parts_of, st.sampled_from([1e2, 1e4, 1e6]), seeds)
def test_neither_order_nor_size_of_the_scores_matters(parts, size, seed):
    m = sum(parts)
    scores, value = normal(2, m, seed=seed, scale=size), normal(m, 3, seed=seed + 1)
    order = torch.randperm(m, generator=torch.Generator().manual_seed(seed))
    state = online_softmax(cut(scores[:, order], value[order], parts))
    average, log_partition = whole(scores, value)
    close(state.average, average, atol=1e-11)
    close(state.log_partition, log_partition, atol=0.0, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("rising", [True, False])
def test_nothing_overflows_or_is_lost_on_the_way(dtype, rising):
    scores = torch.tensor([[-6e4, -6e4, 0.0, 0.0, 6e4, 6e4]], dtype=dtype)
    value = torch.arange(6.0).to(dtype)[:, None]
    if not rising:
        scores, value = scores.flip(-1), value.flip(-2)
    state = online_softmax(cut(scores, value, 2))
    close(state.average, torch.tensor([[4.5]]), atol=0.0)
    assert bool(torch.isfinite(state.log_partition).all())


@pytest.mark.parametrize(("beta", "size"), [(1.0, 2e38), (1e30, 1e9), (1e38, 1.0)])
@pytest.mark.parametrize("rising", [True, False])
def test_parts_so_cold_that_one_key_takes_all(beta, size, rising):
    """What is added to a part's logarithm is never positive: the distance of two parts may overflow, and says nothing then."""
    scores, value = torch.tensor([[-size, 0.0, size]]), torch.tensor([[1.0], [2.0], [3.0]])
    parts = [(scores[:, j : j + 1], value[j : j + 1]) for j in (range(3) if rising else reversed(range(3)))]
    state = online_softmax(parts, beta=beta)
    close(state.average, torch.tensor([[3.0]]), atol=0.0)
    close(state.log_sum, torch.zeros(1), atol=0.0)
    close(state.top, torch.tensor([size]), atol=0.0)


@given(st.lists(st.integers(1, 4), min_size=3, max_size=3), seeds)
def test_merging_is_associative_and_commutative(parts, seed):
    scores, value = normal(2, sum(parts), seed=seed, scale=20), normal(sum(parts), 3, seed=seed + 1)
    a, b, c = (partial_softmax(s, v) for s, v in cut(scores, value, parts))
    left, right, turned = merge(merge(a, b), c), merge(a, merge(b, c)), merge(merge(c, b), a)
    for other in (right, turned):
        close(left.average, other.average, atol=1e-12)
        close(left.log_partition, other.log_partition, atol=1e-12)


def test_parts_are_weighed_by_the_softmax_of_their_free_energies():
    scores, value = normal(2, 9, scale=3), normal(9, 3, seed=1)
    states = [partial_softmax(s, v) for s, v in cut(scores, value, [2, 3, 4])]
    shares = softmax(torch.stack([state.log_partition for state in states], -1))
    average = sum(shares[:, i, None] * state.average for i, state in enumerate(states))
    close(online_softmax(cut(scores, value, [2, 3, 4])).average, average, atol=1e-13)


def test_parts_are_seen_once_and_one_at_a_time():
    scores, value = normal(2, 6), normal(6, 3, seed=1)
    alive = []

    def arriving():
        for pair in cut(scores, value, 2):
            alive.append(pair)
            assert len(alive) == 1
            yield pair
            alive.clear()

    close(online_softmax(arriving()).average, whole(scores, value)[0], atol=1e-13)


@pytest.mark.double
def test_a_stream_differentiates_twice():
    scores, value = normal(2, 5, grad=True), normal(5, 3, seed=1, grad=True)

    def stream(s, v):
        state = online_softmax(cut(s, v, [2, 1, 2]), beta=1.3)
        return state.average, state.log_partition

    assert gradcheck(stream, (scores, value))
    assert gradgradcheck(stream, (scores, value))


# Sparsemax


@given(batches, sizes, dtypes, st.sampled_from([0.1, 1, 5.0, 1e4]), seeds)
def test_sparsemax_is_a_distribution_of_the_scores_dtype(batch, m, dtype, scale, seed):
    weights = sparsemax(normal(*batch, m, seed=seed, dtype=dtype, scale=scale))
    assert weights.dtype == dtype
    assert bool((weights >= 0).all())
    close(weights.double().sum(-1), torch.ones(batch, dtype=torch.float64), atol=LOOSE[dtype])


@given(batches, sizes, st.floats(0.05, 5.0), seeds)
@pytest.mark.double
def test_sparsemax_satisfies_the_conditions_of_the_nearest_point(batch, m, beta, seed):
    """Nearest in the simplex: the slope beta s - p is the same wherever p > 0, and nowhere larger."""
    scores = normal(*batch, m, seed=seed)
    weights = sparsemax(scores, beta=beta)
    slope = beta * scores - weights
    level = (weights * slope).sum(-1, keepdim=True)
    close(torch.where(weights > 0, slope, level), level.expand_as(slope), atol=1e-12)
    assert bool((slope <= level + 1e-12).all())


@given(st.integers(2, 5), seeds)
@pytest.mark.double
def test_no_other_distribution_is_nearer(m, seed):
    scores = normal(m, seed=seed)
    rivals = -torch.rand(2000, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).log()
    rivals = rivals / rivals.sum(-1, keepdim=True)
    distance = (sparsemax(scores) - scores).square().sum()
    assert bool(((rivals - scores).square().sum(-1) >= distance - 1e-12).all())


def test_two_scores_are_a_clipped_line():
    gap = torch.linspace(-3, 3, 61, dtype=torch.float64)
    line = ((1 + gap) / 2).clamp(0, 1)
    close(sparsemax(torch.stack([gap, 0 * gap], -1)), torch.stack([line, 1 - line], -1), atol=1e-15)


@pytest.mark.parametrize(("gap", "best"), [(1.0, 1.0), (0.98, 0.985), (5.0, 1.0)])
@pytest.mark.double
def test_one_hot_from_a_gap_of_one_on(gap, best):
    scores = torch.tensor([0.0, gap, 0.0, 0.0], dtype=torch.float64)
    assert sparsemax(scores)[1].item() == pytest.approx(best, abs=1e-12)


@given(sizes, st.floats(-1e3, 1e3), seeds)
def test_shifts_and_permutations(m, shift, seed):
    scores = torch.round(normal(m, seed=seed, scale=256)) / 256
    order = torch.randperm(m, generator=torch.Generator().manual_seed(seed))
    close(sparsemax(scores + round(shift)), sparsemax(scores), atol=1e-12)
    close(sparsemax(scores[order]), sparsemax(scores)[order], atol=1e-14)


def test_ties_share_and_large_scores_do_not_overflow():
    close(sparsemax(torch.tensor([3.0, 3.0, -8.0])), torch.tensor([0.5, 0.5, 0.0]), atol=0.0)
    close(sparsemax(torch.tensor([6e4, 6e4, -6e4]).half()), torch.tensor([0.5, 0.5, 0.0]).half(), atol=0.0)
    close(sparsemax(torch.tensor([3e38, -3e38])), torch.tensor([1.0, 0.0]), atol=0.0)


@pytest.mark.double
def test_sparsemax_differentiates_inside_a_support():
    scores = torch.tensor([[0.3, 0.1, -0.2, -3.0], [2.0, 0.4, 0.1, 0.0]], dtype=torch.float64, requires_grad=True)
    beta = torch.tensor([0.8, 1.1], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda s, b: sparsemax(s, beta=b), (scores, beta))
    jacobian = torch.func.jacrev(sparsemax)(scores.detach()[0])
    support = torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64)
    close(jacobian, torch.diag(support) - torch.outer(support, support) / 3, atol=1e-14)


# Bad inputs

S, V = normal(2, 3, 4), normal(2, 4, 5, seed=1)
NAN = torch.full((2, 3, 4), math.nan)


def refuses(call, words):
    with pytest.raises(ValueError, match=words):
        call()


SHAPES = r"; expected \[\*batch, n, m\] and \[\*batch, m, c\]"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("scores", "value", "words"),
    [
        (torch.tensor(1.0), V, r"scores has shape \(\) and value \(2, 4, 5\)" + SHAPES),
        (S[0, 0], V[0], r"scores has shape \(4,\) and value \(4, 5\)" + SHAPES),
        (S, V[0, 0], r"scores has shape \(2, 3, 4\) and value \(5,\)" + SHAPES),
        (S, V[:, :3], r"scores has shape \(2, 3, 4\) and value \(2, 3, 5\)" + SHAPES),
        (S, V[:1], r"scores has shape \(2, 3, 4\) and value \(1, 4, 5\)" + SHAPES),
        (S[..., :0], V[:, :0], r"scores has shape \(2, 3, 0\); expected \[\*batch, m\] with m >= 1"),
        (S, V.float(), "value is torch.float32 on cpu, scores is torch.float64 on cpu"),
        (S.long(), V.long(), "scores has dtype torch.int64; expected a floating point dtype"),
        (NAN, V.float(), "scores has non-finite entries"),
        (S, NAN.mT.double()[..., :1], "value has non-finite entries"),
    ],
)
@pytest.mark.double
def test_bad_parts(scores, value, words):
    refuses(lambda: partial_softmax(scores, value), words)
    refuses(lambda: online_softmax([(scores, value)]), words)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.double
def test_other_bad_arguments():
    refuses(lambda: online_softmax([]), "parts is empty; expected at least one pair of scores and values")
    for beta in (0, -1.0, math.nan, math.inf):
        refuses(lambda b=beta: partial_softmax(S, V, beta=b), f"beta is {beta}; expected a finite number above 0")
        refuses(lambda b=beta: sparsemax(S, beta=b), f"beta is {beta}; expected a finite beta > 0")
    refuses(lambda: sparsemax(S, beta=torch.ones(3, 4).double()), r"beta has shape \(3, 4\)")
    refuses(lambda: sparsemax(torch.tensor(1.0)), r"scores has shape \(\); expected \[\*batch, m\] with m >= 1")
    refuses(lambda: sparsemax(torch.zeros(2, 0)), r"scores has shape \(2, 0\)")
    refuses(lambda: sparsemax(torch.arange(3)), "scores has dtype torch.int64")
    refuses(lambda: sparsemax(NAN), "scores has non-finite entries")
    first = partial_softmax(S, V)
    other = PartialSoftmax(first.average[:, :2], first.top[:, :2], first.log_sum[:, :2])
    refuses(lambda: merge(first, other), r"first has averages of shape \(2, 3, 5\), second of \(2, 2, 5\)")
    refuses(lambda: merge(first, partial_softmax(S, V, beta=2)), "first has beta 1.0, second 2; expected the same temperature")
    refuses(lambda: merge(first, S), "second is a Tensor; expected a PartialSoftmax")
    refuses(lambda: online_softmax([S]), "parts has a Tensor; expected pairs of scores and values")
    refuses(lambda: online_softmax(3), "parts is a int; expected an iterable of pairs")
