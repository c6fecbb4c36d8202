"""The verdicts on networks on graphs: the control is what it says, seeds have chosen nothing, the record is the script's."""

import json

import pytest
import torch

from attnlib.course import recorded

pytest.importorskip("networkx", reason="networkx is not installed: pip install -e .[book]")

import graph_classification as graphs
import graph_verdicts as verdicts

RECORD = recorded("graph_verdicts")


def test_the_record_is_what_the_script_asks_for():
    runs = RECORD["runs"]
    assert RECORD["settings"] == verdicts.SETTINGS
    assert not RECORD["quick"]
    keys = [tuple(run[key] for key in verdicts.KEYS) for run in runs]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {tuple(job.values()) for job in verdicts.jobs(runs, verdicts.SETTINGS)}


def test_seeds_of_verdicts_have_chosen_nothing():
    chosen = {run["seed"] for run in RECORD["runs"] if run["stage"] == "search"}
    before = recorded("graph_classification")
    chosen |= {run["seed"] for task in ("communities", "karate") for run in before[task]}
    assert chosen.isdisjoint(run["seed"] for run in RECORD["runs"] if run["stage"] != "search")


def test_all_models_of_a_seed_are_tested_on_the_same_graphs():
    """The optimum on them is the same number, and another one for another seed."""
    found: dict[int, set[float]] = {}
    for run in RECORD["runs"]:
        if run["stage"] == "communities":
            found.setdefault(run["seed"], set()).add(run["optimum"])
    assert all(len(optima) == 1 for optima in found.values())
    assert not found or len(set.union(*found.values())) > len(found) / 2


def test_the_control_hears_all_pairs_alike_but_for_their_kind():
    """Its output is the same whatever a token holds that would be asked for: queries are zero, and stay so."""
    _, joined, shown = graphs.graphs(2, graphs.SETTINGS, torch.Generator().manual_seed(2))
    torch.manual_seed(0)
    net = graphs.Classifier(8, graphs.SETTINGS, graphs.CONTROL)
    edges, kind = graphs.edges_of(joined, graphs.CONTROL)
    assert edges.shape[1] == 2 * 16 * 16
    before = net(shown.flatten(0, 1), edges, kind)
    with torch.no_grad():
        for mixer in net.mixers:
            mixer.to_key.weight.normal_()
    assert torch.equal(net(shown.flatten(0, 1), edges, kind), before)
    with torch.no_grad():
        net.bias[:, :, 1] += 2.0
    assert not torch.allclose(net(shown.flatten(0, 1), edges, kind), before, atol=1e-4)
    assert not any(mixer.to_query.weight.requires_grad for mixer in net.mixers)
    trained = graphs.trained(graphs.CONTROL, 0.01, 0, 2, graphs.SETTINGS)
    assert all((mixer.to_query.weight == 0).all() for mixer in trained.mixers)


@pytest.mark.slow
def test_what_is_already_measured_is_kept(tmp_path, monkeypatch):
    target = tmp_path / "found.json"
    verdicts.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert first["quick"]
    assert verdicts.due(first["runs"], verdicts.QUICK) == []
    target.write_text(json.dumps(first | {"runs": first["runs"][:-1]}), encoding="utf-8")
    made, run = [], verdicts.run
    monkeypatch.setattr(verdicts, "run", lambda job, settings: made.append(job) or run(job, settings))
    verdicts.main(["--quick", "--output", str(target)])
    assert len(made) == 1
    assert json.loads(target.read_text(encoding="utf-8"))["runs"] == first["runs"]
