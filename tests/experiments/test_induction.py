"""The course of an induction: the record is complete and can be made again, distances and places of rest are what they say."""

import itertools
import json
import math
import statistics

import collective_contestants as contestants
import induction
import pytest
import torch
from collective_interventions import mixers
from collective_tasks import Markov
from torch import nn

from attnlib.course import recorded
from attnlib.course.data.markov import markov_chains, markov_guesses
from attnlib.hopfield import find_fixed_points


def few(count=3):
    return markov_chains(count, 3, generator=torch.Generator().manual_seed(4))


def test_the_committed_record_is_complete_and_what_the_script_asks_for():
    record, settings = recorded("induction"), induction.SETTINGS
    assert not record["quick"]
    assert record["settings"] == json.loads(json.dumps(settings))
    assert [(r["name"], r["seed"]) for r in record["rows"]] == [(n, s) for n in induction.NAMES for s in settings["seeds"]]
    for row in record["rows"]:
        whole = row["name"].startswith("softmax")
        last = settings["steps"] if whole else settings["first"]
        assert row["steps"] == [step for step in induction.looks(settings["every"]) if step <= last]
        assert {len(row[guess]) for guess in induction.GUESSES} == {len(row["steps"])}
        assert ("rests" in row) == whole


def test_looks_are_close_at_first():
    assert induction.looks([[2, 6], [5, 16]]) == [0, 2, 4, 6, 11, 16]


class Says(nn.Module):
    """Says one guess, whatever it is shown."""

    def __init__(self, chances):
        super().__init__()
        self.chances = chances

    def forward(self, given):
        return self.chances.log() + given.sum(-1, keepdim=True)  # logits, up to a constant


def test_who_says_a_guess_is_at_no_distance_from_it():
    chains = few()
    for place, guess in enumerate(induction.GUESSES):
        found = induction.divergences(Says(markov_guesses(chains)[guess]), chains)
        assert found[place] == pytest.approx(0, abs=1e-12)
        assert min(found[:place] + found[place + 1 :]) > 0.01


def test_heads_come_to_rest_where_their_queries_do():
    torch.manual_seed(1)
    model, chains = Markov([], "tokens").model(contestants.made("markov", "softmax, 2 blocks")).eval(), few(2)
    (first, _) = induction.rests(model, chains, [6, 30])
    mixer = mixers(model)[0]
    with torch.no_grad():
        x = model.stack.blocks[0].mixer_norm(model.prepared(induction.states_of(chains))[0])
        seen = mixer.explain(x)
    for head in range(4):
        back = torch.stack([seen.weights[:, head, t, t - 1] for t in range(1, 63)]).mean()
        assert first[head]["back"] == pytest.approx(float(back), abs=1e-6)
        shares = []
        for chain in range(2):
            for t in (6, 30):
                start, keys = seen.query[chain, head, t][None].double(), seen.key[chain, head, : t + 1].double()
                rest = find_fixed_points(start, keys, beta=mixer.beta, max_steps=100_000, tolerance=1e-7)
                p = (mixer.beta * keys @ rest.points[rest.reached[0]]).softmax(-1)
                shares.append(float((p > p.max() / 2).sum()) / (t + 1))
        assert first[head]["sharing"] == pytest.approx(sum(shares) / 4, abs=1e-6)


@pytest.mark.slow
def test_it_goes_on_where_it_stopped(tmp_path, unchecked, monkeypatch):
    target = tmp_path / "induction.json"
    induction.main(["--quick", "--output", str(target)])
    first = json.loads(target.read_text(encoding="utf-8"))
    assert [row["steps"] for row in first["rows"]] == [[0, 2, 4, 6], [0, 2, 4]]
    monkeypatch.setattr(induction, "run", None)
    induction.main(["--quick", "--output", str(target)])
    assert json.loads(target.read_text(encoding="utf-8")) == first


def test_readings_are_those_of_each_query_by_hand():
    torch.manual_seed(1)
    model, chains = Markov([], "tokens").model(contestants.made("markov", "softmax, 2 blocks")).eval(), few(2)
    read, states = induction.readings(model, chains, 10), chains.states[:, :-1].tolist()
    mixer = mixers(model)[0]
    with torch.no_grad():
        x = model.stack.blocks[0].mixer_norm(model.prepared(induction.states_of(chains))[0])
        seen = mixer.explain(x)
    for head in range(4):
        spreads, sure, match, agree, right = [], [], [], [], []
        for chain, place in itertools.product(range(2), range(9, 63)):
            p = seen.weights[chain, head, place, : place + 1].double()
            s = float(mixer.beta) * seen.scores[chain, head, place, : place + 1].double()
            spreads.append(float(s.std(correction=0)) / math.sqrt(2 * math.log(place + 1)))
            sure.append(float(p.square().sum()))
            behind = [j for j in range(1, place + 1) if states[chain][j - 1] == states[chain][place]]
            if behind:
                match.append(float(p[behind].sum()))
                by = [float(p[[j for j in range(place + 1) if states[chain][j] == k]].sum()) for k in range(3)]
                agree.append(sum(b * b for b in by))
                right.append(by[chains.states[chain, place + 1]])
        one = read["heads"][0][head]
        assert one["spread"] == pytest.approx(statistics.mean(spreads), abs=1e-6)
        assert one["Y2"] == pytest.approx(statistics.mean(sure), abs=1e-6)
        assert one["match"] == pytest.approx(statistics.mean(match), abs=1e-6)
        assert one["U"] == pytest.approx(statistics.mean(agree) / statistics.mean(right), abs=1e-6)


def test_a_guess_by_pairs_is_a_posterior_and_counts_alone_are_too_sure():
    """Of 3,000 chains: what is said by Bayes reads one; what followed before, alike, is above one by the mean of 1/n."""
    chains = few(3000)
    model = Says(markov_guesses(chains)["bigram"])
    model.eval()
    read = induction.readings(model, chains, 10)
    assert read["said"] == pytest.approx(1, abs=0.01)
    states = chains.states[:, :-1]
    pairs = [(c, t) for c in range(300) for t in range(9, 63)]
    one_over = [1 / n for c, t in pairs if (n := int((states[c, :t] == states[c, t]).sum()))]
    assert read["ideal"] == pytest.approx(1 + statistics.mean(one_over), abs=0.02)
    assert read["heads"] == []
