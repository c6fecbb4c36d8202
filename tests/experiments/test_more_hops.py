"""One block on two hops for longer: records are complete, and what is read of facts is what was put there."""

import json

import more_hops
import one_reading
import pytest
import torch
from collective_tasks import Hops

from attnlib.course import recorded

SCRIPTS = {"more_hops": more_hops, "one_reading": one_reading}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_committed_record_is_complete_and_what_the_script_asks_for(name):
    record = recorded(name)
    assert not record["quick"]
    assert record["settings"] == json.loads(json.dumps(SCRIPTS[name].SETTINGS))
    assert not more_hops.wanted(record["rows"], record["settings"])
    for contestant, how in record["settings"]["contestants"].items():
        rows = [row for row in record["rows"] if row["name"] == contestant]
        fresh = [row for row in rows if row["seed"] in how["seeds"]]
        assert [row["seed"] for row in fresh] == how["seeds"]
        searched = {rate: [row["score"] for row in rows if row["rate"] == rate and row["seed"] < 2] for rate in how["rates"]}
        assert {row["rate"] for row in fresh} == {max(how["rates"], key=lambda rate, of=searched: sum(of[rate]))}


def test_the_networks_that_are_looked_at_are_those_that_have_learned():
    trained, looked_at = (recorded(name)["rows"] for name in SCRIPTS)
    scores = {row["seed"]: row["score"] for row in looked_at if row["name"] == "softmax"}
    assert scores == {row["seed"]: row["score"] for row in trained if row["name"] == "softmax" and row["seed"] in scores}


def test_of_one_rate_nothing_is_searched():
    settings = {
        "contestants": {"one": {"rates": [0.1], "seeds": [11]}, "two": {"rates": [0.1, 0.2], "seeds": [11]}},
        "search": [0],
    }
    assert more_hops.wanted([], settings) == [("one", 0.1, 11), ("two", 0.1, 0), ("two", 0.2, 0)]
    rows = [{"name": "two", "rate": rate, "seed": 0, "score": score} for rate, score in ((0.1, 0.5), (0.2, 0.6))]
    assert more_hops.wanted(rows, settings) == [("one", 0.1, 11), ("two", 0.2, 11)]


def test_without_its_network_a_block_is_the_contestant_less_the_network():
    names = {name: {part for part, _ in one_reading.made(name).named_parameters()} for name in ("softmax", one_reading.BARE)}
    gone = names["softmax"] - names[one_reading.BARE]
    assert names[one_reading.BARE] < names["softmax"]
    assert all("feed_forward" in part for part in gone)


def test_what_a_head_reads_is_told_by_fact():
    """One head reads the fact of q alone, one that of f(q) in a half and that of q in the other, one all alike."""
    task = Hops([2], "context")
    task.batch(500, torch.Generator().manual_seed(0))
    own, then = (torch.nn.functional.one_hot(task.asked.answer(hop), 8).float() for hop in (0, 1))
    weights = torch.stack([own, (own + then) / 2, torch.full_like(own, 1 / 8)], 1)[:, :, None]
    found = one_reading.facts_read(weights, task)
    assert found["shared by"] == pytest.approx([1, 2, 8])
    assert found["own"] == pytest.approx([1, 0.5, 1 / 8])
    assert found["next"] == pytest.approx([0, 0.5, 1 / 8])
    assert found["rest"] == found["rest that leads on"] == pytest.approx([0, 0, 1 / 8])


def test_facts_of_places_that_lead_to_themselves_are_told_apart():
    """A head that reads such facts alone gives nothing to the others, and nothing to f(q)'s."""
    task = Hops([2], "context")
    task.batch(2000, torch.Generator().manual_seed(0))
    still = (task.asked.image == torch.arange(8)).float()
    weights = (still / still.sum(-1, keepdim=True).clamp(min=1))[:, None, None]
    weights[still.sum(-1) == 0] = 1 / 8
    found = one_reading.facts_read(weights, task)
    assert found["rest"][0] > 2 * found["rest that leads on"][0]
    assert found["next"][0] == pytest.approx(found["rest that leads on"][0], rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "runs"), [("more_hops", 5 + 5), ("one_reading", 1 + 5)])
def test_it_goes_on_where_it_stopped(name, runs, tmp_path, unchecked, monkeypatch):
    script, target = SCRIPTS[name], tmp_path / "record.json"
    script.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert len(first["rows"]) == runs
    monkeypatch.setattr(script, "run", None)
    script.main(["--quick", "--output", str(target)])
    assert json.loads(target.read_text(encoding="utf-8")) == first
