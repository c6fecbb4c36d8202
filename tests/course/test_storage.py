"""Trials of what an associative memory holds, and their sweeps on one core and on a Dask cluster."""

import joblib
import pytest
import torch

from attnlib.course.data import flip_spins, random_patterns
from attnlib.course.models import storage_sweep, storage_trial
from attnlib.hopfield import dense_recall

TRIALS = [
    {"d": 20, "m": m, "degree": degree, "flips": flips, "probes": 3, "seed": seed}
    for m in (4, 40)
    for degree, flips in ((2, 1), (3, 2), ("exp", 4))
    for seed in range(3)
]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("mode", ["asynchronous", "synchronous"])
def test_a_trial_is_what_it_says(mode):
    draws = generator(5)
    memory = random_patterns(8, 30, generator=draws, dtype=torch.float64)
    cue = flip_spins(memory[:6], 4, generator=draws)
    found = dense_recall(cue, memory, degree=3, mode=mode, max_steps=50, generator=draws).state
    expected = [sum(a == b for a, b in zip(f, m)) / 15 - 1 for f, m in zip(found.tolist(), memory[:6].tolist(), strict=True)]
    settings = {"degree": 3, "flips": 4, "mode": mode, "seed": 5, "dtype": torch.float64}
    overlaps = storage_trial(8, 30, probes=6, **settings)
    assert overlaps.tolist() == pytest.approx(expected)
    assert storage_trial(8, 30, **settings).shape == (8,)


def test_many_cues_go_through_in_pieces(monkeypatch):
    settings = {"degree": "exp", "flips": 3, "mode": "synchronous"}
    whole = storage_trial(40, 16, **settings)
    monkeypatch.setattr("attnlib.course.models.storage._OVERLAPS_AT_ONCE", 300)  # seven cues at a time
    assert torch.equal(storage_trial(40, 16, **settings), whole)
    assert 0 < whole.eq(1).double().mean() < 1


def test_few_patterns_come_back_and_too_many_do_not():
    assert storage_trial(5, 100, degree=2, flips=10).eq(1).all()
    assert storage_trial(40, 100, degree=2).mean() < 0.8
    assert storage_trial(40, 100, degree=3, flips=10).eq(1).all()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: storage_trial(3, 5, degree=2, probes=4), "probes is 4; expected at most m, 3"),
        (lambda: storage_trial(3, 5, degree=2, probes=0), "probes is 0; expected an integer of at least 1"),
        (lambda: storage_trial(3, 5, degree=2, flips=6), "flips is 6 and state has shape"),
        (lambda: storage_trial(3, 5, degree=1), "degree is 1; expected an integer of at least 2"),
        (lambda: storage_sweep([{"d": 5, "m": 3, "degree": 1}]), "degree is 1; expected an integer of at least 2"),
    ],
)
def test_bad_trials_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# Sweeps


def same(found, expected):
    assert len(found) == len(expected)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_sweep_is_its_trials_in_order():
    expected = [storage_trial(**trial) for trial in TRIALS]
    assert len({tuple(overlaps.tolist()) for overlaps in expected}) > 5
    same(storage_sweep(TRIALS), expected)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        same(storage_sweep(TRIALS), expected)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_numbers():
    distributed = pytest.importorskip("dask.distributed")
    expected = storage_sweep(TRIALS)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster), distributed.get_task_stream() as ran, joblib.parallel_config(backend="dask"):
        found = storage_sweep(TRIALS)
    same(found, expected)
    assert len({task["worker"] for task in ran.data}) == 2, "the cluster did not take part"
