"""Random patterns and spoiled cues, and the benchmark of what recalls them."""

import json

import course
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.data import flip_spins, random_patterns


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.slow
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**31))
def test_random_patterns_are_spins(m, d, seed):
    patterns = random_patterns(m, d, generator=generator(seed), dtype=torch.float64)
    assert patterns.shape == (m, d)
    assert patterns.dtype == torch.float64
    assert patterns.abs().eq(1).all()
    assert torch.equal(patterns, random_patterns(m, d, generator=generator(seed), dtype=torch.float64))


def test_random_patterns_are_fair_and_independent():
    patterns = random_patterns(20_000, 4, generator=generator())
    assert patterns.dtype == torch.get_default_dtype()
    assert patterns.mean(0).abs().max() < 0.03
    assert (patterns.T @ patterns / 20_000 - torch.eye(4)).abs().max() < 0.03


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_exactly_so_many_spins_are_turned(n, d, data):
    flips = data.draw(st.integers(0, d))
    state = random_patterns(n, d, generator=generator())
    spoiled = flip_spins(state, flips, generator=generator(1))
    assert ((state != spoiled).sum(-1) == flips).all()
    assert spoiled.abs().eq(1).all()


def test_every_spin_is_turned_equally_often():
    turned = flip_spins(torch.ones(20_000, 5), 2, generator=generator()) == -1
    assert turned.double().mean(0).sub(0.4).abs().max() < 0.02


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: random_patterns(0, 3), "m is 0; expected an integer of at least 1"),
        (lambda: random_patterns(3, 0), "d is 0; expected an integer of at least 1"),
        (lambda: flip_spins(torch.ones(2, 3), 4), r"flips is 4 and state has shape \(2, 3\); expected .* d >= flips"),
        (lambda: flip_spins(torch.ones(2, 3), -1), "flips is -1; expected an integer of at least 0"),
        (lambda: flip_spins(torch.tensor(1.0), 0), r"state has shape \(\); expected"),
    ],
)
def test_bad_patterns_and_cues_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# The benchmark


def test_vectorised_retrieval_pays_for_many_probes():
    cases = json.loads((course.ROOT / "benchmarks" / "results" / "asynchronous_retrieval.json").read_text())["cases"]
    loops = {(case["measures"], case["sizes"]["n"]): case["results"]["loop"]["ratio_interval"] for case in cases}
    assert set(loops) == {(measures, n) for measures in ("classical", "exponential") for n in (1, 16, 256)}
    assert all(low > 10 for (_, n), (low, _) in loops.items() if n == 256)
    assert all(high < 1 for (_, n), (_, high) in loops.items() if n == 1)  # one probe alone: the plain loop is faster
