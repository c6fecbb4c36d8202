"""The record of softmax swapped for energy attention: whole, as the script would make it, and a small run of the script."""

import json
import subprocess
import sys

import course
import pytest
import torch

from attnlib import EnergyAttention, SoftmaxAttention
from attnlib.course import recorded
from attnlib.course.data.recorded import FoldedRuns

ROOT = course.ROOT
sys.path.insert(0, str(ROOT / "experiments"))
import energy_attention as script  # noqa: E402

RECORD = recorded("energy_attention")


def test_record_fits_the_script():
    assert RECORD["command"] == "python experiments/energy_attention.py"
    assert RECORD["quick"] is False
    assert RECORD["settings"] == script.SETTINGS
    for name, count in RECORD["parameters"].items():
        assert count == sum(p.numel() for p in script.mixer(name, script.SETTINGS).parameters())
    kinds = {name: type(script.mixer(name, script.SETTINGS)) for name in script.NAMES}
    assert all(kind is (SoftmaxAttention if "softmax" in name else EnergyAttention) for name, kind in kinds.items())


def test_every_contestant_has_five_runs_of_each_length_at_its_own_rate():
    runs = FoldedRuns(RECORD)
    assert set(runs.names) <= set(script.NAMES)
    assert set(script.DICTIONARY) <= set(runs.names)
    for name in runs.names:
        assert set(runs.lengths(name)) <= set(script.LENGTHS[name])
        for length in runs.lengths(name):
            best, missing = script.searched(name, RECORD["runs"], length)
            assert not missing
            assert [run["rate"] for run in runs.finals(name, length)] == [best] * 5


@pytest.mark.parametrize("name", ["softmax, 8 wide", "energy, 16 wide"])
def test_the_query_is_the_first_key_and_its_answer_the_first_value(name):
    query, tokens, answer = script.dictionaries(5, script.SETTINGS, torch.Generator().manual_seed(0))
    assert query.shape == (5, 1, 16)
    torch.testing.assert_close(query[:, 0, :8], tokens[:, 0, :8])
    assert not query[..., 8:].any()
    torch.testing.assert_close(answer, tokens[:, 0, 8:])
    torch.testing.assert_close(tokens.unflatten(-1, (2, 8)).square().mean(-1), torch.ones(5, 16, 2))
    assert script.mixer(name, script.SETTINGS)(query, tokens).shape == query.shape


def test_the_best_rate_is_searched_beyond_an_edge():
    def run(rate, error, fold):
        return {"stage": "search", "name": "x", "steps": 5, "rate": rate, "fold": fold, "error": error}

    table = [run(rate, error, fold) for rate, error in ((0.003, 3.0), (0.01, 2.0), (0.03, 1.0)) for fold in (0, 1)]
    assert script.searched("x", table[:-1], 5) == (None, [0.03])
    assert script.searched("x", table, 5) == (None, [0.09])
    table += [run(0.09, 1.5, fold) for fold in (0, 1)]
    assert script.searched("x", table, 5) == (0.03, [])


@pytest.mark.slow
def test_a_small_run_writes_a_record(tmp_path):
    target = tmp_path / "record.json"
    command = [sys.executable, "experiments/energy_attention.py", "--quick", "--output", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found = json.loads(target.read_text())
    assert found.keys() == RECORD.keys()
    assert found["quick"] is True
    assert all(0 < run["error"] < 2 for run in found["runs"])
