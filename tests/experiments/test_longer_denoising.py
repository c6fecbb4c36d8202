"""One step of softmax trained for longer: networks side by side are trained as one alone is, and the record is whole."""

import json

import collective_contestants as contestants
import longer_denoising as script
import pytest
import torch

from attnlib.course import recorded
from attnlib.transformer.training import train_one


def task():
    return script.Denoising(script.SETTINGS["condition"], "context")


def test_the_maps_written_out_are_the_network():
    one = task()
    (query, memories), _ = one.batch(20, torch.Generator().manual_seed(1))
    with torch.random.fork_rng([]):
        torch.manual_seed(3)
        model = one.model(contestants.made("denoising", "softmax"))
    maps = {name: p[None] for name, p in script.started(one, 3).items()}
    torch.testing.assert_close(script.said(maps, query[None, :, 0], memories[None])[0], model((query, memories)))


def test_networks_side_by_side_are_trained_as_one_alone():
    one, seeds, rates = task(), [11, 12], [0.003, 0.03]
    maps = script.trained(one, seeds, rates, 40, 16)
    alone = train_one(lambda: contestants.made("denoising", "softmax"), one, rate=0.03, seed=11, steps=40, batch=16, test=500)
    for name, p in alone.model.state_dict().items():
        torch.testing.assert_close(maps[name][1], p, atol=1e-5, rtol=1e-4)
    found = script.judged(one, {name: p[1] for name, p in maps.items()}, 11, 500)
    assert found["score"] == pytest.approx(alone.score, rel=1e-4)


def test_the_committed_record_is_complete_and_begins_with_the_runs_of_the_other():
    record = recorded("longer_denoising")
    assert not record["quick"]
    assert record["settings"] == script.SETTINGS
    wanted = [
        (n, rate, seed)
        for n in script.SETTINGS["steps"]
        for seed in (0, 1, *range(11, 16))
        for rate in (1e-3, 3e-3, 1e-2, 3e-2)
    ]
    assert [(row["steps"], row["rate"], row["seed"]) for row in record["runs"]] == wanted
    others = [
        run
        for run in recorded("collectives")["runs"]
        if (run["task"], run["name"], run["condition"], run["steps"]) == ("denoising", "softmax", [16, 1.0], 4000)
    ]
    for run in (run for run in others if run["stage"] == "final"):
        (row,) = [row for row in record["runs"] if (row["steps"], row["rate"], row["seed"]) == (4000, run["rate"], run["seed"])]
        assert row["best"]
        assert row["score"] == pytest.approx(run["score"], abs=3e-4)


@pytest.mark.slow
def test_it_goes_on_where_it_stopped(tmp_path):
    target = tmp_path / "longer.json"
    script.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert [row["steps"] for row in first["runs"]] == [3] * 28 + [6] * 28
    target.write_text(json.dumps(first | {"runs": [row | {"score": 9.0} for row in first["runs"][:28]]}), encoding="utf-8")
    script.main(["--quick", "--output", str(target)])
    again = json.loads(target.read_text(encoding="utf-8"))
    assert again["runs"][28:] == first["runs"][28:]
    assert again["runs"][0]["score"] == 9.0
