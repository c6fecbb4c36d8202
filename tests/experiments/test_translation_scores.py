"""The experiment on scores: what it measures against definitions, what it plans, and its record against a rerun."""

import contextlib
import json
import math
import sys
from dataclasses import replace

import jaxtyping
import joblib
import pytest
import torch
import translation_scores as experiment
from helpers.parrot import Parrot

from attnlib.course.data import Pair, Vocabulary, make_batch
from attnlib.course.models import Seq2Seq
from attnlib.course.models.seq2seq import PAD

RECORD = json.loads(experiment.RESULTS.read_text(encoding="utf-8")) if experiment.RESULTS.exists() else None
recorded = pytest.mark.skipif(RECORD is None, reason="the record has not been made yet")


@pytest.fixture(autouse=True)
def fast():
    """Without jaxtyping's checks, which would take most of the time."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def small():
    """A small corpus and its vocabularies, a batch with padding, and a model that has scores to speak of."""
    corpus, source, target = experiment.lessons(400, 30)
    torch.manual_seed(0)
    model = Seq2Seq(len(source), len(target), hidden=8, score="scaled_dot", normalise=True)
    model.beta = 1.5
    return corpus, source, target, model


# What is measured


def test_the_state_of_attention_against_its_definition(small):
    """Sentence by sentence without padding, word by word: the standard deviation of beta times the scores over sqrt(2 ln T)."""
    corpus, source, target, model = small
    pairs = corpus.test
    batch = make_batch(pairs, source, target)
    assert (batch.source == PAD).any()
    with torch.no_grad():
        found = experiment.state_of(model, model.explain(batch.source, batch.given, batch.mask), batch)
    spread, entropy, frozen, late = [], [], [], []
    for pair in pairs:
        alone = make_batch([pair], source, target)
        with torch.no_grad():
            record = model.explain(alone.source, alone.given)
        for place in range(len(pair.target)):
            scores = [model.beta * float(record.query[0, place] @ key) for key in record.key[0]]
            mean = sum(scores) / len(scores)
            size = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
            parts = [math.exp(score - max(scores)) for score in scores]
            weights = [part / sum(parts) for part in parts]
            spread.append(size / math.sqrt(2 * math.log(len(scores))))
            frozen.append(spread[-1] > 1)
            entropy.append(-sum(p * math.log(p) for p in weights) / math.log(len(scores)))
            late.append(weights.index(max(weights)) >= len(weights) - 2)
    for name, each in (("spread", spread), ("entropy", entropy), ("frozen", frozen), ("late", late)):
        assert found[name] == pytest.approx(sum(each) / len(each), abs=1e-4), name


def test_the_geometry_against_its_definition(small):
    corpus, source, target, model = small
    length = len(corpus.train[0].source)
    pairs = [pair for pair in corpus.train if len(pair.source) == length == len(pair.target)][:5]
    pairs = pairs or [corpus.train[0]]
    batch = make_batch(pairs, source, target)
    with torch.no_grad():
        record = model.explain(batch.source, batch.given, batch.mask)
    found = experiment.geometry_of(model, record, batch)
    size = [[float(sum(x * x for x in key) ** 0.5) for key in keys] for keys in record.key.double()]
    assert found["key_norms"] == pytest.approx([sum(column) / len(column) for column in zip(*size, strict=True)], rel=1e-5)
    cosines, neighbours = [], []
    for keys, norms in zip(record.key.double(), size, strict=True):
        for i in range(len(keys)):
            for j in range(len(keys)):
                if i != j:
                    cosines.append(float(keys[i] @ keys[j]) / norms[i] / norms[j])
                    neighbours += cosines[-1:] if j == i + 1 else []
    assert found["cosine"] == pytest.approx(sum(cosines) / len(cosines), abs=1e-5)
    assert found["cosine_of_neighbours"] == pytest.approx(sum(neighbours) / len(neighbours), abs=1e-5)
    rows = [row for scores, pair in zip(record.scores, pairs, strict=True) for row in scores[: len(pair.target)].double()]
    assert found["score_norm"] == pytest.approx(float(sum(row.square().sum().sqrt() for row in rows) / len(rows)), rel=1e-5)
    assert found["score_mean"] == pytest.approx(float(sum(row.mean() for row in rows) / len(rows)), abs=1e-5)
    assert found["score_deviation"] == pytest.approx(
        float(sum((row.square().mean() - row.mean().square()).sqrt() for row in rows) / len(rows)), rel=1e-4
    )
    assert found["scale"] == 1.5


FRONT = Pair(
    ("den", "Hund", "sieht", "der", "Mann", "."),
    ("the", "man", "sees", "the", "dog", "."),
    frozenset({(0, 3), (1, 4), (2, 2), (3, 0), (4, 1), (5, 5)}),
)
PLAIN = Pair(("der", "Mann", "sieht", "den", "Hund", "."), FRONT.target, frozenset((i, i) for i in range(6)))


@pytest.mark.parametrize(
    ("spoken", "bleu", "exact", "actors"),
    [
        ((FRONT.target, PLAIN.target), 100, 1, 1),
        ((("the", "dog", "sees", "the", "man", "."), PLAIN.target), (50, 99), 0.5, 0),
        ((("the", "man", "sees", "a", "dog", "."), PLAIN.target), (50, 99), 0.5, 1),
        ((("a", "a"), ("a", "a")), (0, 1), 0, 0),
    ],
)
def test_quality_is_that_of_what_is_said(spoken, bleu, exact, actors):
    source, target = Vocabulary([FRONT.source]), Vocabulary([(*FRONT.target, "a")])
    said = dict(zip((FRONT, PLAIN), spoken, strict=True))
    for right, error in ((True, 0), (False, 4 / 12)):
        told = {pair: (said[pair], (pair if right else PLAIN).alignment) for pair in (FRONT, PLAIN)}
        found = experiment.quality_of(Parrot(told, source, target), [FRONT, PLAIN], source, target)
        assert found["aer"] == pytest.approx(error)
        assert found["exact"] == exact
        assert found["actors"] == actors
        low, high = bleu if isinstance(bleu, tuple) else (bleu, bleu)
        assert low - 1e-6 <= found["bleu"] <= high + 1e-6


def test_who_acts():
    assert experiment.actor(PLAIN) == 0
    assert experiment.actor(FRONT) == 2
    often = replace(FRONT, source=(*FRONT.source[:5], "oft", "."), target=("the", "man", "often", *FRONT.target[2:]))
    links = {(0, 3), (1, 4), (2, 5), (3, 2), (4, 0), (5, 1), (6, 6)}
    assert experiment.actor(replace(often, alignment=frozenset(links))) == 3


# What is planned


def losses(**best):
    """A grid's runs at width 128 with the lowest loss where it is wanted."""
    return [
        experiment.setting("grid", 128, kind, seed, experiment.SHORT, rate)
        | {"validation_loss": abs(math.log(rate / best.get(kind[0], 6e-3)))}
        for kind in experiment.KINDS
        for rate in (3e-3 * 2**k for k in range(-1, 3))
        for seed in experiment.GRID_SEEDS[128]
    ]


def test_the_grid_goes_on_until_the_best_is_inside():
    first = experiment.grid([], 128)
    assert {one["rate"] for one in first} == {1.5e-3, 3e-3, 6e-3, 1.2e-2}
    assert len(first) == len({experiment.key_of(one) for one in first}) == 4 * 7 * 2
    assert experiment.grid(losses(), 128) == []
    assert experiment.best_rate(losses(), 128, ("dot", False)) == 6e-3
    hotter = experiment.grid(losses(scaled_dot=1.2e-2), 128)
    assert {(one["score"], one["rate"]) for one in hotter} == {("scaled_dot", 2.4e-2)}
    cooler = experiment.grid(losses(general=1e-3), 128)
    assert {(one["score"], one["rate"]) for one in cooler} == {("general", 7.5e-4)}


@pytest.mark.slow
def test_a_rate_at_which_a_run_overflows_is_not_kept(small):
    runs = [one | {"validation_loss": None} if one["rate"] == 6e-3 and one["seed"] == 10 else one for one in losses()]
    assert experiment.best_rate(runs, 128, ("dot", False)) in (3e-3, 1.2e-2)
    corpus, source, target, _ = small
    lost = experiment.run(experiment.setting("grid", 8, ("dot", False), 10, 40, 900.0), corpus, source, target)
    assert lost["validation_loss"] is None or lost["validation_loss"] > math.log(len(target))


def longs(**best):
    """Long runs of the first seed at the rate of the grid and its two neighbours."""
    return [
        experiment.setting("long" if rate == 6e-3 else "rates", 128, kind, 0, experiment.LONG[128], rate)
        | {"validation_loss": abs(math.log(rate / best.get(kind[0], 6e-3)))}
        for kind in experiment.KINDS
        for rate in (3e-3, 6e-3, 1.2e-2)
    ]


def test_long_runs_search_for_a_rate_of_their_own():
    assert experiment.rates(losses(), 128) == []  # the long runs at the grid's rate come first
    only = [one for one in longs() if one["block"] == "long"]
    wanted = experiment.rates(losses() + only, 128)
    assert {(one["rate"], one["seed"], one["steps"]) for one in wanted} == {(3e-3, 0, 2000), (1.2e-2, 0, 2000)}
    assert len(wanted) == 2 * 7
    assert experiment.rates(losses() + longs(), 128) == []
    cooler = experiment.rates(losses() + longs(general=1e-3), 128)
    assert {(one["score"], one["rate"]) for one in cooler} == {("general", 1.5e-3)}
    assert experiment.long_rate(losses() + longs(general=1e-3), 128, ("general", False)) == 3e-3
    narrow = experiment.rates([one | {"hidden": 64} for one in losses() if one["seed"] == 10], 64)
    assert {one["rate"] for one in narrow} == {3e-3, 6e-3}
    assert "none" not in {one["score"] for one in narrow}
    table = experiment.own_rates(losses() + longs(general=1e-3, additive=3e-3, dot=3.5e-3))
    assert len(table) == 7
    assert [128, "dot", False, 6e-3, None] in table  # its best is still at the edge
    assert [128, "additive", False, 6e-3, None] in table
    assert [128, "scaled_dot", False, 6e-3, 6e-3] in table


def test_final_runs_are_what_the_long_ones_lack():
    runs = losses() + longs(general=3e-3)
    wanted = experiment.block("final", runs, 128)
    own = [one for one in wanted if one["seed"] < 5]
    assert {(one["score"], one["rate"], one["steps"]) for one in own} == {("general", 3e-3, 2000)}
    assert [one["seed"] for one in own] == [1, 2, 3, 4]  # the first seed has chosen the rate
    fifth = [one for one in wanted if one["seed"] == 5]
    assert len(fifth) == len(experiment.KINDS) == len(wanted) - len(own)
    assert {one["rate"] for one in fifth if one["score"] != "general"} == {6e-3}
    narrow = experiment.block("final", [one | {"hidden": 64} for one in runs if one["seed"] != 11], 64)
    assert [one["seed"] for one in narrow] == [seed for seed in experiment.FRESH for _ in experiment.kinds(64)]


def test_the_plan_searches_before_it_measures():
    runs = losses()
    lists = experiment.plan(runs, experiment.BLOCKS, (128,))
    blocks = []
    for wanted in lists:
        blocks += sorted({one["block"] for one in wanted})
        runs += [one | {"validation_loss": abs(math.log(one["rate"] / 6e-3))} for one in wanted]
    assert blocks == ["short", "long", "warm-up", "gentle", "heat", "rates", "final", "lengths", "layers"]


def test_the_grid_waits_for_all_its_seeds():
    runs = losses()
    late = next(one for one in runs if one["seed"] == experiment.GRID_SEEDS[128][-1])
    runs.remove(late)
    assert experiment.key_of(late) in [experiment.key_of(one) for one in experiment.grid(runs, 128)]


@pytest.mark.parametrize("name", ["short", "long", "warm-up", "gentle", "heat", "final", "lengths", "layers"])
def test_blocks_are_whole_and_no_run_comes_twice(name):
    wanted = experiment.block(name, losses(additive=3e-3) + longs(general=3e-3, dot=1.2e-2, additive=3e-3), 128)
    keys = [experiment.key_of(one) for one in wanted]
    assert len(keys) == len(set(keys)) > 5
    assert {one["layers"] for one in wanted} == {2 if name == "layers" else 1}
    assert {one["seed"] for one in wanted} & set(experiment.GRID_SEEDS[128]) == set()
    if name in ("short", "long"):
        assert len(wanted) == 7 * 5
        assert {one["rate"] for one in wanted if one["score"] == "additive"} == {3e-3}
    if name == "warm-up":
        assert {one["rate"] for one in wanted} == {experiment.SHARED_RATE}
    if name == "heat":
        assert {one["rate"] for one in wanted if one["beta"] == 2} == {experiment.SHARED_RATE}
        assert {one["rate"] / experiment.SHARED_RATE for one in wanted if one["beta"] == 4} == {0.5, 1, 2}


@pytest.mark.slow
def test_a_run_stops_early_on_the_same_schedule_and_repeats_itself(small):
    corpus, source, target, _ = small
    wanted = experiment.setting("short", 8, ("dot", False), 0, 60, 1e-2)
    whole, part = (experiment.run(wanted, corpus, source, target, until=until) for until in (None, 50))
    count = len(part["early"])
    assert [moment[0] for moment in part["early"]] == [0, 5, 10, 15, 20, 25, 30, 40, 50]
    assert part["early"] == [pytest.approx(moment, rel=1e-4) for moment in whole["early"][:count]]
    assert [moment[0] for moment in whole["curve"]] == [50]
    assert {"bleu", "aer", "exact", "actors", "validation_loss", "key_norms"} <= set(whole)
    hot = experiment.run(wanted | {"beta": 30.0}, corpus, source, target, until=0)
    assert hot["early"][0][1] == pytest.approx(30 * part["early"][0][1], rel=0.03)  # the states are those of another input
    deep = experiment.run(wanted | {"layers": 2}, corpus, source, target, until=0)
    assert deep["early"][0][1] != pytest.approx(part["early"][0][1], rel=1e-3)
    slow = experiment.run(wanted | {"warm_up": 60}, corpus, source, target, until=5)
    assert slow["early"][1] != pytest.approx(part["early"][1], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [pytest.param({"n_jobs": 2}, marks=pytest.mark.whole), {"backend": "dask"}], ids=["joblib", "dask"]
)
def test_runs_are_the_same_wherever_they_are_made(small, how):
    wanted = [experiment.setting("short", 8, ("dot", False), seed, 6, 1e-2) for seed in (0, 1)]
    here = [experiment.run(one, *small[:3]) for one in wanted]
    with contextlib.ExitStack() as stack:
        if "backend" in how:
            distributed = pytest.importorskip("dask.distributed")
            cluster = stack.enter_context(
                distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
            )
            stack.enter_context(distributed.Client(cluster))
        stack.enter_context(joblib.parallel_config(**how))
        there = sorted(experiment.made(wanted, small[:3]), key=lambda one: one["seed"])
    for one, other in zip(here, there, strict=True):
        assert {name: one[name] for name in one if name != "cpu_seconds"} == {
            name: other[name] for name in other if name != "cpu_seconds"
        }


def test_a_search_sees_nothing_of_the_test_set(small):
    corpus, source, target, _ = small
    wanted = experiment.setting("grid", 8, ("dot", False), 10, 5, 1e-2)
    blind = experiment.run(wanted, replace(corpus, test=[]), source, target)
    assert "bleu" not in blind
    assert blind["validation_loss"] > 0


def test_the_record_is_written_in_one_piece_and_read_again(tmp_path):
    path, runs = tmp_path / "record.json", losses()[:3]
    experiment.write(path, {"command": "x", "early": ["step"]}, runs)
    assert json.loads(path.read_text()) == {"command": "x", "early": ["step"], "runs": runs}
    assert list(tmp_path.iterdir()) == [path]


def test_the_script_makes_what_is_missing_and_no_run_twice(small, tmp_path, monkeypatch):
    path, made = tmp_path / "record.json", []
    wanted = [experiment.setting("short", 8, ("dot", False), seed, 6, 1e-2) for seed in (0, 1)]
    monkeypatch.setattr(experiment, "lessons", lambda: small[:3])
    monkeypatch.setattr(experiment, "plan", lambda runs, blocks, widths: iter([wanted[:1], wanted]))
    monkeypatch.setattr(experiment, "run", lambda one, *_: made.append(one) or one)
    monkeypatch.setattr(sys, "argv", ["translation_scores.py", "--output", str(path)])
    for _ in range(2):
        experiment.main()
        record = json.loads(path.read_text())
        assert record["runs"] == made == wanted
        assert set(record) == {*experiment.header(*small[:3]), "own_rates", "runs"}
    gold = [dict(sorted(pair.alignment)).items() for pair in small[0].test]
    words, links = sum(map(len, gold)), sum(len(pair.alignment) for pair in small[0].test)
    assert record["best_aer_of_one_link_a_word"] == pytest.approx((links - words) / (links + words))
    assert record["sentences_with_the_object_first"] == sum(experiment.actor(pair) > 0 for pair in small[0].test)


# The record


@pytest.mark.slow
@recorded
def test_what_a_run_ended_with_fits_what_was_seen_before():
    """The end of its curve, on a tenth of the sentences; and its spread, which the deviation on sentences of nine words tells.

    The mean of a hundred numbers between 0 and 1 has a standard error of 0.05 at most, so single runs may differ by three of
    that from the whole test set, 15 BLEU among them; the sums over the runs of a block by a tenth.
    """
    sums: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for one in RECORD["runs"]:
        if one["block"] == "grid" or one["validation_loss"] is None:
            continue
        step, loss, *end = one["curve"][-1]
        assert step == one["steps"]
        assert one["validation_loss"] == pytest.approx(loss, abs=0.05 + 0.2 * loss)
        pairs = dict(zip(("bleu", "aer"), zip((one["bleu"], one["aer"]), end[:2], strict=True), strict=True))
        assert pairs["bleu"][0] == pytest.approx(pairs["bleu"][1], abs=15)
        if one["score"] != "none":
            assert pairs["aer"][0] == pytest.approx(pairs["aer"][1], abs=0.15)
            nine = one["score_deviation"] * one["scale"] / math.sqrt(2 * math.log(9))
            assert one["spread"] == pytest.approx(nine, rel=0.1)
        for name, pair in pairs.items():
            if None not in pair:
                sums.setdefault((one["block"], name), []).append(pair)
    for pairs in sums.values():
        ends, seen = map(sum, zip(*pairs, strict=True))
        assert ends == pytest.approx(seen, rel=0.1)


@recorded
def test_the_record_says_how_it_was_made_and_has_what_is_planned():
    assert RECORD["command"] == "python experiments/translation_scores.py"
    assert {"python", "torch", "attnlib"} <= set(RECORD["versions"])
    keys = [experiment.key_of(one) for one in RECORD["runs"]]
    assert len(set(keys)) == len(keys)
    whole = [hidden for hidden in experiment.FIRST_RUNGS if not experiment.grid(RECORD["runs"], hidden)]
    for hidden in {one["hidden"] for one in RECORD["runs"] if one["block"] != "grid"}:
        assert hidden in whole  # a rate was chosen from a whole grid
        named = [name for name in experiment.BLOCKS if name not in ("grid", "rates")]
        blocks = (experiment.block(name, RECORD["runs"], hidden) for name in named)
        made = {key for key in keys if key[1] == hidden and key[0] not in ("grid", "rates")}  # block and width
        assert made <= {experiment.key_of(one) for wanted in blocks for one in wanted}
    assert RECORD["own_rates"] == experiment.own_rates(RECORD["runs"])
    searched = [one for one in RECORD["runs"] if one["block"] == "rates"]
    assert {(one["seed"], one["layers"], one["steps"]) for one in searched} <= {(0, 1, steps) for steps in (1000, 2000)}


@pytest.mark.whole
@recorded
@pytest.mark.slow
def test_a_row_of_the_record_can_be_made_again():
    """Fifty steps of the narrowest run that has a curve, or a grid's: later the last digit has grown too much."""
    attending = [one for one in RECORD["runs"] if one["score"] != "none"]
    row = min(attending, key=lambda one: (one["block"] == "grid", one["hidden"]))
    again = experiment.run({name: row[name] for name in experiment.IDENTITY}, *experiment.lessons(), until=50)
    for found, known in zip(again["early"], row["early"], strict=False):
        assert found == pytest.approx(known, abs=0.02 + 0.02 * found[0] / 50, rel=0.05), found[0]
    assert len(again["curve"]) == (row["block"] != "grid")
    for found, known in zip(again["curve"], row["curve"], strict=False):
        assert found[1] == pytest.approx(known[1], abs=0.05)
        assert found[2] == pytest.approx(known[2], abs=1.5)
        assert found[3] == pytest.approx(known[3], abs=0.05)
