"""The capacity of associative memories: a small run of the script, and the record that the page reads."""

import json
import math
import subprocess
import sys

import associative_capacity
import course
import numpy as np
import pytest

from attnlib.course import recorded
from attnlib.course.models import storage_sweep


def complete(result):
    assert result["name"] == "associative_capacity"
    assert result["command"].startswith("python experiments/associative_capacity.py")
    assert set(result["versions"]) == {"python", "torch", "numpy", "joblib", "attnlib"}
    for point in result["load"]:
        assert 0 <= point["exact"]["share"] <= point["kept"]["share"] <= 1
    shares = [point[key] for point in result["load"] for key in ("kept", "exact")]
    shares += [point[key] for case in result["everyone"] for point in case["points"] for key in ("patterns", "whole_sets")]
    shares += [point["patterns"] for point in result["basins"]]
    assert len(shares) > 10
    for share in shares:
        low, high = share["interval"]
        assert 0 <= low <= share["share"] <= high <= 1
    for case in result["everyone"]:
        assert all(p["whole_sets"]["share"] <= p["patterns"]["share"] for p in case["points"])


def written(target, said):
    assert f"written to {target}" in said
    result = json.loads(target.read_text())
    complete(result)
    assert result["quick"]


@pytest.mark.slow
def test_a_small_version_runs(tmp_path, monkeypatch, capsys):
    """Every part of it, in this process: fewer loads, fewer patterns, short bootstraps."""
    loads, sets = associative_capacity.LOADS[2, 50]
    monkeypatch.setattr(associative_capacity, "LOADS", {(2, 50): (loads[::5], sets)})
    monkeypatch.setattr(associative_capacity, "LARGEST", 4.0)
    monkeypatch.setattr(associative_capacity, "RESAMPLES", 20)
    basins = associative_capacity.basins
    monkeypatch.setattr(associative_capacity, "basins", lambda d, sets, jobs: basins(12, 2, jobs))
    target = tmp_path / "new folder" / "result.json"
    associative_capacity.main(["--quick", "--output", str(target)])
    written(target, capsys.readouterr().out)


@pytest.mark.whole
def test_the_script_runs(tmp_path):
    target = tmp_path / "new folder" / "result.json"
    command = [sys.executable, "experiments/associative_capacity.py", "--quick", "--output", str(target)]
    done = subprocess.run(command, cwd=course.ROOT, capture_output=True, text=True, timeout=7200, check=True)
    written(target, done.stdout)


def test_the_committed_result_is_complete_and_what_the_script_asks_for():
    result = recorded("associative_capacity")
    complete(result)
    assert not result["quick"]
    assert {(h["degree"], h["d"]) for h in result["half"]} == set(associative_capacity.LOADS)
    everyone = {(case["d"], case["flips"]) for case in result["everyone"]}
    assert everyone == {(d, k) for d in associative_capacity.DIMENSIONS for k in associative_capacity.FLIPS}
    for half in result["half"]:
        low, high = half["interval"]
        assert low < half["load"] < high
        points = [p for p in result["load"] if (p["degree"], p["d"]) == (half["degree"], half["d"])]
        loads = [p["m"] / p["d"] ** (p["degree"] - 1) for p in points]
        kept = [p["kept"]["share"] for p in points]
        assert associative_capacity.crossing(np.array(loads), np.array(kept)) == pytest.approx(half["load"], abs=2e-3)


@pytest.mark.whole
@pytest.mark.slow
def test_a_committed_point_can_be_repeated():
    result = recorded("associative_capacity")
    point = next(p for p in result["load"] if (p["degree"], p["d"]) == (2, 50) and 0.2 < p["kept"]["share"] < 0.8)
    trials = [{"d": 50, "m": point["m"], "degree": 2, "probes": point["probes"], "seed": s} for s in range(point["sets"])]
    kept = [(overlaps > associative_capacity.KEPT).double().mean().item() for overlaps in storage_sweep(trials)]
    assert np.mean(kept) == pytest.approx(point["kept"]["share"], abs=1e-4)


def test_what_is_not_recorded():
    with pytest.raises(ValueError, match=r"name is 'nonsense'; expected one of .*'associative_capacity'"):
        recorded("nonsense")


def test_crossing():
    x = np.array([1.0, 2.0, 4.0])
    assert associative_capacity.crossing(x, np.array([1.0, 0.75, 0.25])) == 3
    assert associative_capacity.crossing(x, np.array([0.5, 0.0, 1.0])) == 1
    assert math.isnan(associative_capacity.crossing(x, np.array([1.0, 0.9, 0.8])))


def test_bootstrap_interval_of_a_mean():
    draws = np.random.default_rng(1).normal(3, 2, size=(1, 400))
    low, high = associative_capacity.bootstrap(draws, associative_capacity.mean)
    assert (high - low) / 2 == pytest.approx(1.96 * 2 / 20, rel=0.15)
    assert low < draws.mean() < high
