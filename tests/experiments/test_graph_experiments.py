"""The recorded experiments of chapter 6: complete, repeated in a row, resumed and not measured anew."""

import json

import pytest
import torch

from attnlib.course import recorded
from attnlib.course.oracles import chain_graph, forward_backward
from attnlib.message_passing import belief_propagation

pytest.importorskip("networkx", reason="networkx is not installed: pip install -e .[book]")

import graph_classification as graphs
import hidden_chain as hidden

CHAIN = recorded("hidden_chain")


def runs(result):
    tasks = ("communities", "karate")
    return [(task, run["model"], run["rate"], run["seed"], run["steps"]) for task in tasks for run in result[task]]


def test_the_committed_result_is_complete_and_what_the_script_asks_for():
    result = recorded("graph_classification")
    assert result["settings"] == graphs.SETTINGS
    assert not result["quick"]
    assert result["command"] == "python experiments/graph_classification.py"
    assert sorted(runs(result)) == sorted(graphs.jobs(graphs.SETTINGS))


def test_the_record_of_hidden_chains_is_complete_and_what_the_script_asks_for():
    found = [tuple(run[key] for key in hidden.KEYS) for run in CHAIN["runs"]]
    assert CHAIN["settings"] == hidden.SETTINGS
    assert not CHAIN["quick"]
    assert CHAIN["command"] == "python experiments/hidden_chain.py"
    assert len(set(found)) == len(found)
    assert set(found) <= {tuple(job.values()) for job in hidden.jobs(CHAIN["runs"], hidden.SETTINGS)}
    assert hidden.due(CHAIN["runs"], hidden.SETTINGS) == []


def test_seeds_that_are_reported_of_hidden_chains_have_chosen_nothing():
    searched, reported = ({run["seed"] for run in CHAIN["runs"] if run["stage"] == stage} for stage in ("search", "report"))
    assert searched.isdisjoint(reported)
    assert reported == set(hidden.reported(hidden.SETTINGS))
    assert {row["seed"] for row in CHAIN["windows"]} == {row["seed"] for row in CHAIN["counting"]} == reported


def test_the_search_ends_where_no_other_rate_can_win():
    settings = hidden.SETTINGS | {"rates": [0.1, 0.2, 0.3], "search_seeds": 2}
    job = {"stage": "search", "model": "near", "rounds": 1, "steps": 3000}
    tried = ((0.1, 0, 3.0), (0.1, 1, 3.0), (0.2, 0, 7.0))
    runs = [job | {"rate": rate, "seed": seed, "chosen_by": by} for rate, seed, by in tried]
    assert hidden.best_rate(job, runs, settings) is None  # nothing is known of 0.3
    assert [hidden.is_out(job | {"rate": rate}, runs, settings) for rate in (0.2, 0.3)] == [True, False]
    runs += [job | {"rate": 0.3, "seed": 0, "chosen_by": 5.0}]
    assert hidden.best_rate(job, runs, settings) is None  # it may still end below
    runs += [job | {"rate": 0.3, "seed": 1, "chosen_by": 0.5}]
    assert hidden.best_rate(job, runs, settings) == 0.3


def test_chances_are_chances():
    result = recorded("graph_classification")
    assert all(0 <= run["accuracy"] <= 1 for task in ("communities", "karate") for run in result[task])
    best = result["optimum"]
    assert best["optimum"] == pytest.approx(best["expected"], abs=0.01)
    assert all(run["accuracy"] < best["optimum"] + 0.003 and run["excess"] > 0 for run in result["communities"])


@pytest.mark.slow
def test_a_run_on_the_karate_club_can_be_repeated():
    wanted = next(run for run in recorded("graph_classification")["karate"] if (run["model"], run["rate"]) == ("mean", 0.003))
    found = graphs.train_karate(wanted["model"], wanted["rate"], wanted["seed"], wanted["steps"], graphs.SETTINGS)
    assert found["accuracy"] == pytest.approx(wanted["accuracy"], abs=0.04)  # a member more or less


def test_the_optimum_of_communities_is_bayes_rule():
    """Against the probability of every labelling of five nodes, written out."""
    settings = graphs.SETTINGS | {"nodes": 5, "strength": 0.7}
    _, joined, shown = graphs.graphs(4, settings, torch.Generator().manual_seed(0))
    states = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 5)
    chance = torch.where(states[:, :, None] == states[:, None], 0.5, 0.15)[:, None]
    log_p = torch.where(joined, chance, 1 - chance).log().triu(1).sum((-2, -1))
    log_p = log_p - (shown[..., 0].double() - 0.7 * states[:, None]).square().sum(-1) / 2
    wanted = log_p.softmax(0).mT @ states
    assert torch.allclose(graphs.best(joined, shown, settings), wanted, atol=1e-6)


def test_pairs_see_all_and_the_others_only_what_is_joined():
    _, joined, _ = graphs.graphs(3, graphs.SETTINGS, torch.Generator().manual_seed(1))
    edges, kind = graphs.edges_of(joined, "pairs")
    assert edges.shape[1] == len(kind) == 3 * 16 * 16
    assert (kind == 1).sum() == joined.sum()
    assert (kind == 2).sum() == 3 * 16
    same, two = graphs.edges_of(joined, "two_kinds")
    assert torch.equal(same, edges)
    assert torch.equal(two, kind.clamp(max=1))  # a node itself is told like those that are joined
    few, kinds = graphs.edges_of(joined, "mean")
    assert all(map(torch.equal, graphs.edges_of(joined, "marked"), (few, kinds)))
    assert few.shape[1] == joined.sum() + 3 * 16
    assert set(kinds.tolist()) == {1, 2}
    assert torch.equal(few, edges[:, kind > 0])


def test_only_those_that_are_told_a_kind_learn_a_number_for_it():
    """And what is told reaches the scores: other numbers, other odds."""
    _, joined, shown = graphs.graphs(2, graphs.SETTINGS, torch.Generator().manual_seed(2))
    for model in graphs.MODELS:
        torch.manual_seed(0)
        net = graphs.Classifier(8, graphs.SETTINGS, model)
        count = sum(p.numel() for name, p in net.named_parameters() if name == "bias")
        assert count == (2 * 4 * 3 if model in graphs.TOLD else 0)
        if count:
            before = net(shown.flatten(0, 1), *graphs.edges_of(joined, model))
            with torch.no_grad():
                net.bias[:, :, 1] += 2.0
            assert not torch.allclose(before, net(shown.flatten(0, 1), *graphs.edges_of(joined, model)), atol=1e-4)


def test_the_exact_posterior_of_the_hidden_chain_and_of_windows():
    settings = hidden.SETTINGS
    states, symbols = hidden.chains(6, 9, settings, torch.Generator().manual_seed(0))
    first, moves, seen = (table.log() for table in hidden.tables(settings))
    said = seen.mT[symbols]
    exact = hidden.posterior(symbols, settings)
    assert torch.allclose(exact, belief_propagation(chain_graph(first, moves, said)).beliefs, atol=1e-12)
    assert torch.allclose(hidden.posterior(symbols, settings, 8), exact, atol=1e-12)
    middle = hidden.posterior(symbols, settings, 2)[:, 4]
    alone = belief_propagation(chain_graph(first, moves, said[:, 2:7])).beliefs[:, 2]
    assert torch.allclose(middle, alone, atol=1e-12)
    many, symbol = hidden.chains(4000, 3, settings, torch.Generator().manual_seed(1))
    counts = torch.zeros(3, 3, dtype=torch.float64).index_put(
        (many[:, 0], many[:, 1]), torch.ones(4000).double(), accumulate=True
    )
    assert torch.allclose(counts / counts.sum(1, keepdim=True), moves.exp(), atol=0.05)
    assert (symbol == many).double().mean() == pytest.approx(0.6, abs=0.02)
    assert states.shape == symbols.shape == (6, 9)


def test_what_counting_symbols_leaves_unknown():
    """Against all 81 chains of four symbols, each with its chance."""
    settings = hidden.SETTINGS | {"length": 4, "seeds": 1}
    symbols = torch.cartesian_prod(*[torch.arange(3)] * 4)
    first, moves, seen = (table.log() for table in hidden.tables(settings))
    chance = forward_backward(first, moves, seen.mT[symbols]).log_partition.exp()
    exact, code = hidden.posterior(symbols, settings), hidden.known_by_counting(symbols).view(81, 4)
    known = torch.zeros(75, 3, dtype=torch.float64)
    for t in range(4):
        known.index_add_(0, code[:, t], chance[:, None] * exact[:, t])
    known = (known / known.sum(-1, keepdim=True))[code]
    wanted = (chance[:, None, None] * torch.special.xlogy(exact, exact / known)).sum() / 4
    assert hidden.counting(settings)[0]["distance"] == pytest.approx(wanted.item(), abs=0.01)


def test_no_network_on_near_edges_beats_the_exact_posterior_of_its_window():
    bound = {(row["seed"], row["length"], row["reach"]): row["distance"] for row in CHAIN["windows"]}
    near = [run for run in CHAIN["runs"] if run["stage"] == "report" and run["model"] == "near"]
    assert len(near) == 6 * hidden.SETTINGS["seeds"]
    for run in near:
        for n in hidden.SETTINGS["lengths"]:
            assert run["distance"][str(n)] > 0.98 * bound[run["seed"], n, run["rounds"]]
        assert run["distance"] == run["masked"]


def test_a_network_on_near_edges_knows_its_window_only():
    torch.manual_seed(0)
    net = hidden.Reader("near", 2, hidden.SETTINGS)
    symbols = torch.randint(3, (1, 12))
    other = symbols.clone()
    other[0, 8] = (other[0, 8] + 1) % 3
    moved = (net(symbols) - net(other)).abs().sum(-1)[0] > 1e-6
    assert moved.nonzero()[:, 0].tolist() == [6, 7, 8, 9, 10]


@pytest.mark.slow
def test_what_is_already_measured_is_kept(tmp_path, monkeypatch):
    target = tmp_path / "new folder" / "result.json"
    graphs.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert first["quick"]
    assert sorted(runs(first)) == sorted(graphs.jobs(graphs.QUICK))
    target.write_text(json.dumps(first | {"karate": first["karate"][1:]}), encoding="utf-8")
    called, train = [], graphs.train_karate
    monkeypatch.setattr(graphs, "train_karate", lambda *arguments: called.append(arguments) or train(*arguments))
    graphs.main(["--quick", "--output", str(target)])
    assert len(called) == 1
    assert sorted(runs(json.loads(target.read_text(encoding="utf-8")))) == sorted(runs(first))


@pytest.mark.slow
def test_what_is_already_measured_of_hidden_chains_is_kept(tmp_path, monkeypatch):
    target = tmp_path / "result.json"
    hidden.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert first["quick"]
    assert hidden.due(first["runs"], hidden.QUICK) == []
    target.write_text(json.dumps(first | {"runs": first["runs"][:-1]}), encoding="utf-8")
    made, run = [], hidden.run
    monkeypatch.setattr(hidden, "run", lambda job, settings: made.append(job) or run(job, settings))
    hidden.main(["--quick", "--output", str(target)])
    assert len(made) == 1
    assert json.loads(target.read_text(encoding="utf-8"))["runs"] == first["runs"]
