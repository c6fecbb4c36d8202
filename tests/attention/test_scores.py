"""The score functions beside the dot product, and places."""

import math

import pytest
import torch
from helpers.draw import batches, close, normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from attnlib.attention import additive_scores, bilinear_scores, dot_scores, sinusoids


def pair(batch, n, m, d, c, seed=0, grad=False):
    return normal(*batch, n, d, seed=seed, grad=grad), normal(*batch, m, c, seed=seed + 1, grad=grad)


@given(batches, sizes, sizes, sizes, sizes, seeds)
def test_bilinear_scores_are_torchs_bilinear_layer(batch, n, m, d, c, seed):
    query, key = pair(batch, n, m, d, c, seed)
    weight = normal(d, c, seed=seed + 2)
    layer = nn.Bilinear(d, c, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(weight[None])
        rows = query[..., :, None, :].expand(*batch, n, m, d).contiguous()
        columns = key[..., None, :, :].expand(*batch, n, m, c).contiguous()
        close(bilinear_scores(query, key, weight), layer(rows, columns)[..., 0])


@given(batches, sizes, sizes, sizes, seeds)
def test_dot_products_are_bilinear(batch, n, m, d, seed):
    query, key = pair(batch, n, m, d, d, seed)
    close(bilinear_scores(query, key, torch.eye(d, dtype=torch.float64)), dot_scores(query, key))
    maps = normal(2, 3, d, seed=seed + 2)
    close(bilinear_scores(query, key, maps[0].T @ maps[1]), dot_scores(query @ maps[0].T, key @ maps[1].T), atol=1e-9)


@given(sizes, sizes, sizes, sizes, sizes, seeds)
@pytest.mark.double
def test_additive_scores_one_pair_at_a_time(n, m, d, c, h, seed):
    query, key = pair((2,), n, m, d, c, seed)
    weight_query, weight_key, vector = normal(h, d, seed=seed + 2), normal(h, c, seed=seed + 3), normal(h, seed=seed + 4)
    scores = additive_scores(query, key, weight_query, weight_key, vector)
    assert scores.shape == (2, n, m)
    for b in range(2):
        for i in range(n):
            for j in range(m):
                inner = [math.tanh(float(weight_query[a] @ query[b, i]) + float(weight_key[a] @ key[b, j])) for a in range(h)]
                assert scores[b, i, j].item() == pytest.approx(sum(float(v) * x for v, x in zip(vector, inner)), abs=1e-12)
    assert bool((scores.abs() <= vector.abs().sum()).all())


@pytest.mark.double
def test_scores_differentiate():
    query, key = pair((2,), 2, 3, 2, 4, grad=True)
    weight, weight_query, weight_key, vector = (
        normal(*shape, seed=seed, grad=True) for seed, shape in enumerate([(2, 4), (3, 2), (3, 4), (3,)])
    )
    for check in (gradcheck, gradgradcheck):
        assert check(bilinear_scores, (query, key, weight))
        assert check(additive_scores, (query, key, weight_query, weight_key, vector))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_scores_keep_the_dtype(dtype):
    query, key, weight = (normal(*shape, dtype=dtype) for shape in [(2, 3), (4, 5), (3, 5)])
    assert bilinear_scores(query, key, weight).dtype == dtype
    maps = (normal(6, 3, dtype=dtype), normal(6, 5, dtype=dtype), normal(6, dtype=dtype))
    assert additive_scores(query, key, *maps).dtype == dtype
    assert sinusoids(3, 4, dtype=dtype).dtype == dtype
    assert sinusoids(3, 4).dtype == torch.get_default_dtype()


# Places


@given(st.integers(1, 40), st.integers(1, 8), st.sampled_from([1.5, 100, 10_000.0]))
@pytest.mark.double
def test_sinusoids_are_the_formula(n, half, base):
    places = sinusoids(n, 2 * half, base=base, dtype=torch.float64)
    for t in (0, n // 2, n - 1):
        for i in range(half):
            angle = t / base ** (2 * i / (2 * half))
            assert places[t, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert places[t, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


@given(st.integers(2, 30), st.integers(1, 8))
def test_the_overlap_of_places_depends_on_their_distance(n, half):
    overlap = dot_scores(*[sinusoids(n, 2 * half, dtype=torch.float64)] * 2)
    for distance in range(n):
        diagonal = overlap.diagonal(distance)
        close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-12)
    close(overlap.diagonal(), torch.full((n,), float(half), dtype=torch.float64), atol=1e-12)


@pytest.mark.double
def test_a_shift_of_places_is_linear():
    places = sinusoids(50, 8, dtype=torch.float64)
    shift = torch.linalg.lstsq(places[:-7], places[7:]).solution
    close(places[:-7] @ shift, places[7:], atol=1e-10)
    close(shift @ shift.T, torch.eye(8, dtype=torch.float64), atol=1e-9)


# Bad input

Q, K = pair((2,), 3, 4, 5, 6)
W, A, B, V = normal(5, 6), normal(7, 5), normal(7, 6), normal(7)
NAN = torch.full((5, 6), math.nan, dtype=torch.float64)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bilinear_scores(Q[0, 0], K, W), r"query has shape \(5,\) and key \(2, 4, 6\); .*\[\*batch, m, c\]"),
        (lambda: bilinear_scores(Q[0], K, W), r"query has shape \(3, 5\) and key \(2, 4, 6\); expected"),
        (lambda: bilinear_scores(Q, K[:, :0], W), r"key has shape \(2, 0, 6\); expected at least one row"),
        (lambda: bilinear_scores(Q, K.float(), W), "key is torch.float32 on cpu, query is torch.float64"),
        (lambda: bilinear_scores(Q.long(), K.long(), W), "query has dtype torch.int64"),
        (lambda: bilinear_scores(Q, K / 0, W), "key has non-finite entries"),
        (lambda: bilinear_scores(Q, K, W.T), r"weight has shape \(6, 5\); expected \(5, 6\)"),
        (lambda: bilinear_scores(Q, K, W.float()), "weight is torch.float32 on cpu, query is torch.float64"),
        (lambda: bilinear_scores(Q, K, NAN), "weight has non-finite entries"),
        (lambda: additive_scores(Q, K[0], A, B, V), r"query has shape \(2, 3, 5\) and key \(4, 6\); expected"),
        (lambda: additive_scores(Q, K, A.T, B, V), r"weight_query has shape \(5, 7\); expected \(7, 5\)"),
        (lambda: additive_scores(Q, K, A, B[:6], V), r"weight_key has shape \(6, 6\); expected \(7, 6\)"),
        (lambda: additive_scores(Q, K, A, B, V[:, None]), r"vector has shape \(7, 1\); expected \('h',\)"),
        (lambda: additive_scores(Q, K, A, B, V / 0), "vector has non-finite entries"),
        (lambda: additive_scores(Q, K, A / A * 1e308, B, V), "query or weight_query are too large"),
        (lambda: additive_scores(Q, K, A, B / B * 1e308, V), "key or weight_key are too large"),
        (lambda: additive_scores(Q, K, A.float(), B, V), "weight_query is torch.float32"),
        (lambda: additive_scores(Q, K, A, B.float(), V), "weight_key is torch.float32"),
        (lambda: sinusoids(0, 4), "n is 0; expected an integer of at least 1"),
        (lambda: sinusoids(3.0, 4), "n is 3.0; expected an integer"),
        (lambda: sinusoids(3, 0), "dim is 0; expected an integer of at least 2"),
        (lambda: sinusoids(3, 5), "dim is 5; expected an even number"),
        (lambda: sinusoids(3, 4, base=1), "base is 1; expected a finite number above 1"),
        (lambda: sinusoids(3, 4, base=math.inf), "base is inf; expected"),
        (lambda: sinusoids(3, 4, base=math.nan), "base is nan; expected"),
    ],
)
@pytest.mark.double
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
