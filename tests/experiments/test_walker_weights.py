"""The recorder of page 7c's walkers: a small record is whole, a stopped one goes on, and a training is repeated."""

import json

import pytest
import torch
import walker_weights as script

from attnlib.course import recorded
from attnlib.course.models.walkers import hop_walker


@pytest.mark.slow
def test_a_small_record_is_whole_and_goes_on(tmp_path, unchecked, monkeypatch):
    target, folder = tmp_path / "walker_weights.json", tmp_path / "weights"
    asked = ["--quick", "--weights", str(folder), "--output", str(target)]
    script.main(asked)
    first = json.loads(target.read_text(encoding="utf-8"))
    assert first["command"] == "python experiments/walker_weights.py --quick"
    assert [one["seed"] for one in first["walkers"]] == script.QUICK["seeds"]
    for one in first["walkers"]:
        kept = torch.load(folder / f"seed{one['seed']}.pt", weights_only=True)
        for name, table in hop_walker(first, one["seed"]).state_dict().items():
            assert (table - kept[name]).abs().max() <= kept[name].abs().max() / 254 * (1 + 1e-5)
        assert [len(one["exact"]["right"]), len(one["exact"]["right"][0])] == [8, 8]
    monkeypatch.setattr(script, "train_one", None)  # nothing is trained again
    script.main(asked)
    assert json.loads(target.read_text(encoding="utf-8")) == first


def test_the_record_is_that_of_the_script():
    record = recorded("walker_weights")
    assert record["command"] == "python experiments/walker_weights.py"
    assert record["settings"] == script.SETTINGS
    assert set(record["versions"]) == {"python", "torch", "attnlib"}
    assert script.RESULTS.stat().st_size < 60_000


@pytest.mark.whole
def test_a_training_is_repeated(unchecked):
    """One that walks. On another processor it may be another network, but it reads two hops."""
    found = script.judged(script.trained(13, script.SETTINGS), 13, 2000)
    assert found["right"][1][1] > 0.99
