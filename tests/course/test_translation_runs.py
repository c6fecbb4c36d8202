"""The record of page 2b by kind of attention: what is chosen and read, against the raw file read by hand."""

import math

import pytest
import torch

from attnlib.course import recorded
from attnlib.course.data.translation_runs import KINDS, Runs, TranslationRuns

RAW = recorded("translation_scores")
RECORD = TranslationRuns(RAW)
FEW = [
    {"rate": 0.1, "seed": 0, "bleu": 40, "aer": None, "late": [[0, 1.0, None], [5, 2.0, 3.0]], "curve": [[1, 7.0]]},
    {"rate": 0.1, "seed": 1, "bleu": 42.5, "aer": 0.5, "late": [[0, 4.0, 5.0], [5, 6.0, 7.0]], "curve": [[2, 8.0]]},
    {"rate": 0.2, "seed": 0, "bleu": 50, "aer": 0.25, "late": [[0, 8.0, 9.0], [5, 1.0, 2.0]], "curve": [[1, 9.0]], "beta": 2.0},
]
SERIES = {"late": ["step", "spread", "entropy"], "curve": ["step", "loss"]}


def test_columns_and_what_is_chosen_by_its_settings():
    runs = Runs(FEW, SERIES)
    assert len(runs) == 3
    assert [run["bleu"] for run in runs] == [40, 42.5, 50]
    assert runs["bleu"].tolist() == [40, 42.5, 50]
    assert runs["bleu"].dtype == torch.float64
    assert math.isnan(runs["aer"][0])
    assert runs["aer"][1:].tolist() == [0.5, 0.25]
    assert runs.where(rate=0.1)["seed"].tolist() == [0, 1]
    assert runs.where(rate=0.1, seed=1)["bleu"].tolist() == [42.5]
    both = runs.where(rate=0.2) + runs.where(rate=0.1)
    assert both["bleu"].tolist() == [50, 40, 42.5]
    assert both.history("spread")[1].shape == (3, 2)


def test_what_was_measured_in_training():
    steps, spread = Runs(FEW, SERIES).history("spread")
    assert steps.tolist() == [0, 5]
    assert spread.tolist() == [[1, 2], [4, 6], [8, 1]]
    entropy = Runs(FEW, SERIES).history("entropy")[1]
    assert math.isnan(entropy[0, 0])
    assert entropy.flatten()[1:].tolist() == [3, 5, 7, 9, 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hidden", [32, 64, 128, 256])
def test_finals_are_the_long_runs_at_the_rate_with_the_lowest_loss(kind, hidden):
    score, normalise = KINDS[kind]
    if kind == "none" and hidden != 128:
        with pytest.raises(ValueError, match=f"'none' of width {hidden} has no learning rates"):
            RECORD.finals(kind, hidden)
        return
    steps = 1000 if hidden == 256 else 2000
    long = [
        run
        for run in RAW["runs"]
        if (run["score"], run["normalise"], run["hidden"], run["steps"], run["layers"], run["beta"])
        == (score, normalise, hidden, steps, 1, None)
        and run["warm_up"] is None
    ]
    best = min((run for run in long if run["seed"] == 0), key=lambda run: run["validation_loss"])["rate"]
    expected = {run["seed"]: run["bleu"] for run in long if run["rate"] == best and run["seed"]}
    found = RECORD.finals(kind, hidden)
    assert RECORD.rates(kind, hidden)[1] == best
    assert found["seed"].tolist() == [1, 2, 3, 4, 5] == sorted(expected)  # not the seed that chose the rate
    assert found["bleu"].tolist() == [expected[seed] for seed in sorted(expected)]
    assert found["steps"].unique().tolist() == [steps]


def test_blocks_of_a_kind():
    for kind in RECORD.kinds:
        runs = RECORD.block("short", kind)
        assert {(run["score"], run["normalise"], run["hidden"], run["steps"]) for run in runs} == {(*KINDS[kind], 128, 400)}
        assert runs["rate"].unique().item() == RECORD.rates(kind)[0]
        assert runs["seed"].tolist() == [0, 1, 2, 3, 4]
    assert len(RECORD.all) == len(RAW["runs"])
    warm = RECORD.block("warm-up", "dot", steps=400, warm_up=60)
    assert warm["seed"].tolist() == [0, 1, 2, 3, 4]
    steps, spread = warm.history("spread")
    assert steps.tolist()[:3] == [0, 5, 10]
    assert spread.tolist() == [[row[1] for row in run["early"]] for run in warm]
    assert RECORD.finals("none")["aer"].isnan().all()
    assert RECORD.finals("none").history("aer")[1].isnan().all()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Runs([]), "runs is empty"),
        (lambda: Runs(FEW).where(rate=0.3), r"no run has \{'rate': 0.3\}; there are rate 0.1, 0.2"),
        (lambda: Runs(FEW).where(size=0.3), r"no run has \{'size': 0.3\}; there are size 'nothing'"),
        (lambda: Runs(FEW)["beta"], "not every run has a number named 'beta': there are 'nothing', 2.0"),
        (lambda: Runs(FEW)["late"], "not every run has a number named 'late'"),
        (lambda: Runs(FEW, SERIES).history("bleu"), "name is 'bleu'; expected one of 'spread', 'entropy', 'loss'"),
        (lambda: Runs(FEW, SERIES).history("step"), "name is 'step'; expected one of"),
        (lambda: Runs(FEW, SERIES).history("loss"), "runs have 'loss' after different steps, or after none"),
        (lambda: Runs([FEW[0], {"seed": 1}], SERIES).history("loss"), "runs have 'loss' after different steps, or after none"),
        (lambda: Runs([{"curve": [[1]]}], SERIES).history("loss"), "a run has rows in 'curve' that are not of step, loss"),
        (lambda: Runs([3]), "runs is empty, or has what is no mapping"),
        (lambda: RECORD.block("short", ["dot"]), r"kind is \['dot'\]; expected one of"),
        (lambda: RECORD.block("grid", "dot").history("bleu"), "runs have 'bleu' after different steps, or after none"),
        (lambda: RECORD.block("short", "cosine"), "kind is 'cosine'; expected one of 'dot', 'scaled dot'"),
        (lambda: RECORD.block("slow", "dot"), "no run has .*there are block 'short'"),
        (lambda: RECORD.finals("dot", 512), "'dot' of width 512 has no learning rates of its own"),
        (lambda: TranslationRuns(recorded("digits")), "record has no runs by kind of attention"),
    ],
)
def test_what_is_not_there_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
