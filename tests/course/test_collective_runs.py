"""Runs of mixers beside each other, read by contestant and condition, against the raw runs read by hand."""

import math
import statistics

import pytest
import torch

from attnlib.course.data.collective_runs import CollectiveRuns


def run(name, condition, seed, score, *, task="denoising", stage="final", steps=7, **more):
    known = {"task": task, "name": name, "condition": condition, "stage": stage, "steps": steps, "seed": seed}
    return known | {"score": score, "succeeded": score is not None and score < 0.5} | more


RAW = {
    "settings": {
        "seeds": [11, 12],
        "steps": {"denoising": 7, "markov": 3},
        "seconds": {
            "conditions": {"denoising": [16, 2.0], "markov": None},
            "steps": {"denoising": {"softmax": 14, "energy": 7}},
        },
    },
    "runs": [
        run("softmax", [16, 1.0], 12, 0.25, after={"Bayes": 0.2, "heads": [{"U": [1.0, 2.0]}]}),
        run("softmax", [16, 1.0], 11, 0.5, after={"Bayes": 0.1, "heads": [{"U": [3.0, 4.0]}]}),
        run("softmax", [16, 0.5], 11, 0.125, after={}),
        run("softmax", [16, 0.5], 12, None, after={}),
        run("energy", [16, 1.0], 11, 0.55),
        run("energy", [16, 1.0], 12, 0.3),
        run("energy", [16, 0.5], 11, 0.1),  # and no other seed
        run("softmax", [16, 2.0], 11, 9.0, steps=14),  # another length
        run("softmax", [16, 2.0], 12, 9.0, steps=14),
        run("softmax", [16, 3.0], 11, 8.0, steps=28),
        run("softmax", [16, 3.0], 12, 8.5, steps=28),
        run("softmax", [16, 1.0], 0, 9.0, stage="search"),
        run("pool", [], 11, 0.75, task="markov", steps=3),
        run("pool", [], 12, 0.7, task="markov", steps=3),
    ],
}
RUNS = CollectiveRuns(RAW, "denoising")


def test_seeds_come_in_the_order_of_the_settings_and_nothing_else_comes():
    assert RUNS.seeds == (11, 12)
    assert RUNS.names == ("softmax", "energy")
    assert RUNS.conditions("softmax") == ((16, 0.5), (16, 1.0))
    assert RUNS.conditions("energy") == ((16, 1.0),)
    assert RUNS.conditions("nobody") == ()
    assert RUNS.score("softmax", [16, 1.0]).tolist() == [0.5, 0.25]
    assert RUNS.score("softmax", (16, 1)).tolist() == [0.5, 0.25]


def test_races_of_other_lengths_have_their_own_runs_only():
    longer, seconds = (CollectiveRuns(RAW, "denoising", race) for race in ("longer", "seconds"))
    assert longer.names == seconds.names == ("softmax",)  # energy has seven steps under another condition
    assert longer.score("softmax", [16, 2.0]).tolist() == seconds.score("softmax", [16, 2.0]).tolist() == [9.0, 9.0]
    longest = CollectiveRuns(RAW, "denoising", "longest")
    assert (longest.names, longest.conditions("softmax")) == (("softmax",), ((16, 3.0),))
    assert longest.score("softmax", [16, 3.0]).tolist() == [8.0, 8.5]
    with pytest.raises(ValueError, match="no contestant"):
        CollectiveRuns(RAW, "markov", "seconds")
    with pytest.raises(ValueError, match="race"):
        CollectiveRuns(RAW, "denoising", "hours")


def test_means_and_what_one_loses_to_another_seed_by_seed():
    mean = RUNS.mean("softmax", [16, 1.0])
    assert (mean.mean, mean.runs) == (0.375, 2)
    assert mean.error == pytest.approx(statistics.stdev([0.5, 0.25]) / 2**0.5)
    lost = RUNS.loss_to("energy", "softmax", [16, 1.0])
    assert lost.mean == pytest.approx((0.1 + 0.2) / 2)
    assert lost.error == pytest.approx(statistics.stdev([0.1, 0.2]) / 2**0.5)


def test_a_run_that_broke_down_has_no_score_and_did_not_learn():
    first, second = RUNS.score("softmax", [16, 0.5]).tolist()
    assert first == 0.125
    assert math.isnan(second)
    assert RUNS.learned("softmax", [16, 0.5]) == 1
    assert RUNS.learned("softmax", [16, 1.0]) == 1
    with pytest.raises(ValueError, match="finite"):
        RUNS.mean("softmax", [16, 0.5])


def test_what_was_measured_is_found_by_its_path():
    assert RUNS.measured("softmax", "Bayes", condition=[16, 1.0]).tolist() == [0.1, 0.2]
    found = RUNS.measured("softmax", "heads", 0, "U", condition=[16, 1.0])
    assert torch.equal(found, torch.tensor([[3.0, 4.0], [1.0, 2.0]], dtype=torch.float64))
    with pytest.raises(ValueError, match=r"path has 'bayes'; expected one of 'Bayes', 'heads'"):
        RUNS.measured("softmax", "bayes", condition=[16, 1.0])
    with pytest.raises(ValueError, match=r"path has 1; expected one of 0"):
        RUNS.measured("softmax", "heads", 1, condition=[16, 1.0])
    with pytest.raises(ValueError, match=r"path has 'x'; expected one of nothing more"):
        RUNS.measured("softmax", "Bayes", "x", condition=[16, 1.0])


def test_a_task_with_one_condition_needs_none_and_a_number_is_a_condition():
    assert CollectiveRuns(RAW, "markov").score("pool").tolist() == [0.75, 0.7]
    one = {"settings": {"seeds": [1], "steps": {"hops": 1}}, "runs": [run("a", [2], 1, 0.5, task="hops", steps=1)]}
    assert CollectiveRuns(one, "hops").score("a", 2).tolist() == [0.5]


@pytest.mark.parametrize(
    ("name", "condition", "complaint"),
    [
        ("softmax", [16, 2.0], r"under \[16, 2.0\].*a condition among \(16, 0.5\), \(16, 1.0\)"),
        ("energy", [16, 0.5], "a condition among"),
        ("nobody", [16, 1.0], "a name among 'softmax', 'energy'"),
    ],
)
def test_what_is_not_there_is_refused(name, condition, complaint):
    with pytest.raises(ValueError, match=complaint):
        RUNS.score(name, condition)


def test_records_without_such_runs_are_refused():
    with pytest.raises(ValueError, match="no runs of fresh seeds"):
        CollectiveRuns({"runs": []}, "hops")
    with pytest.raises(ValueError, match="no contestant of 'hops'"):
        CollectiveRuns(RAW, "hops")
