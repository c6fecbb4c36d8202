"""The walkers of chapter 7: the record is complete and can be made again, and a head's cost is what it says."""

import json

import collective_contestants as contestants
import collective_interventions as interventions
import collectives
import pytest
import torch
import walkers
from collective_tasks import Hops

from attnlib.course import recorded


def untrained(heads, seed=0):
    torch.manual_seed(seed)
    task = Hops([2], contestants.form("hops", walkers.NAMES[heads]))
    return task.model(contestants.made("hops", walkers.NAMES[heads])).eval(), task


def test_the_committed_record_is_complete_and_what_the_script_asks_for():
    record, seeds = recorded("walkers"), range(11, 26)
    assert not record["quick"]
    assert {key: record["settings"][key] for key in walkers.SETTINGS} == json.loads(json.dumps(walkers.SETTINGS))
    assert [(row["heads"], row["seed"]) for row in record["rows"]] == [(n, seed) for n in walkers.NAMES for seed in seeds]
    for row in record["rows"]:
        assert row["rate"] == record["settings"]["rates"][str(row["heads"])]
        assert row["score"] == pytest.approx(row["walks"][1])
        for by_step in (row["costs"], row["targets"]):
            assert [len(heads) for heads in by_step] == [row["heads"]] * 2


def test_a_head_costs_what_a_step_written_out_loses_without_it():
    """One head: where it says its mean, every question gets the same state."""
    model, task = untrained(1)
    inputs, targets = task.batch(200, torch.Generator().manual_seed(1))
    with torch.no_grad():
        ((first, second),) = (walkers.costs(model, inputs, targets),)
        x, context = model.prepared(inputs)
        mixer, block = interventions.mixers(model)[0], model.stack.blocks[0]
        one = mixer(x, context).mean((0, 1))  # the output map is linear, so the mean may be taken after it
        state = block.mixer_norm(one).expand_as(x)
        whole, right = (model(inputs).argmax(-1) == targets).float().mean(), lambda end: (end.argmax(-1) == targets).float()
        without_first = right(model.read(model.stack.step(state, 1, context))).mean()
        two = mixer(model.stack.step(x, 0, context), context).mean((0, 1))
        without_second = right(model.read(block.mixer_norm(two).expand_as(x))).mean()
    assert first == [pytest.approx(float(whole - without_first), abs=1e-6)]
    assert second == [pytest.approx(float(whole - without_second), abs=1e-6)]


def test_walks_are_scores_of_as_many_hops_as_steps():
    model, task = untrained(4)
    inputs, targets = task.batch(300, torch.Generator().manual_seed(2))
    with torch.no_grad():
        found = walkers.walks(model, task, inputs)
        two, one = model(inputs).softmax(-1), model(inputs, steps=1).softmax(-1)
    assert {name: len(values) for name, values in found.items()} == {"walks": 6, "least": 6}
    assert found["walks"][1] == pytest.approx(float((two.sort(-1).indices[:, -1] == targets).float().mean()))
    assert found["least"][0] == pytest.approx(float((one.sort(-1).indices[:, 0] == task.asked.answer(1)).float().mean()))


def test_the_right_fact_is_that_of_the_place_reached():
    """Weights written out: queries and keys by the mixer's own maps."""
    model, task = untrained(4)
    inputs, _ = task.batch(40, torch.Generator().manual_seed(3))
    with torch.no_grad():
        found = walkers.targets_of(model, task, inputs)
        x, context = model.prepared(inputs)
        mixer = interventions.mixers(model)[0]
        for step, place in enumerate((task.asked.start, task.asked.image.gather(1, task.asked.start[:, None])[:, 0])):
            q, k = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in (mixer.to_query(x), mixer.to_key(context)))
            weights = (mixer.beta * q @ k.mT).softmax(-1)[:, :, 0]
            wanted = torch.stack([weights[n, :, at] for n, at in enumerate(place.tolist())]).mean(0)
            assert found[step] == pytest.approx(wanted.tolist(), abs=1e-6)
            x = model.stack.step(x, step, context)


def test_it_goes_on_where_it_stopped(tmp_path):
    searches = [
        collectives.setting("hops", name, [2], "search", rate, 0, 3) | {"score": score}
        for name in walkers.NAMES.values()
        for rate, score in ((1e-2, 0.7), (1e-3, 0.5), (3e-3, 0.7))
    ]
    searches += [run | {"steps": 6, "rate": 1e-4, "score": 0.9} for run in searches]  # of another length, so none of its own
    for run in searches:
        (tmp_path / f"{collectives.key_of(run)}.json").write_text(json.dumps(run), encoding="utf-8")
    target = tmp_path / "made" / "walkers.json"
    asked = ["--quick", "--runs", str(tmp_path), "--output", str(target)]
    walkers.main(asked)
    first = json.loads(target.read_text(encoding="utf-8"))
    assert first["settings"]["rates"] == {"4": 0.003, "1": 0.003}
    assert len(first["rows"]) == 4
    cut = first | {"rows": [row | {"score": 9.0} for row in first["rows"][:3]]}
    target.write_text(json.dumps(cut), encoding="utf-8")
    walkers.main(asked)
    again = json.loads(target.read_text(encoding="utf-8"))
    assert again["rows"] == [*cut["rows"], first["rows"][3]]
