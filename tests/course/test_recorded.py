"""Runs on folds and who is ahead: against counting by hand, the binomial distribution, and what is refused."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course import recorded
from attnlib.course.data.recorded import FoldedRuns, lead
from attnlib.course.data.seeds import Estimate, PairedRuns, SeededRuns, over_runs


def run(name, steps, fold, tested, wrong, stage="final", **more):
    return {"stage": stage, "name": name, "steps": steps, "fold": fold, "tested": tested, "wrong": wrong} | more


RECORD = {
    "settings": {"folds": 2},
    "runs": [
        run("b", 10, 1, 3, [2], ms=4.0),  # the second fold comes first
        run("b", 10, 0, 4, [], ms=2.0),
        run("a", 10, 0, 4, [0, 3], ms=1.0),
        run("a", 10, 1, 3, [2], ms=8.0),
        run("a", 5, 0, 4, [0, 1, 2, 3]),
        run("a", 5, 1, 3, [0]),
        run("b", 5, 0, 4, [1]),  # one fold is missing
        run("a", 10, 0, 4, [1], stage="search"),
    ],
}


def test_runs_are_ordered_by_fold_and_counted():
    runs = FoldedRuns(RECORD)
    assert runs.names == ("b", "a")
    assert (runs.lengths("a"), runs.lengths("b"), runs.lengths("c")) == ((5, 10), (10,), ())
    assert runs.wrong("a", 10).tolist() == [True, False, False, True, False, False, True]
    assert runs.wrong("b", 10).tolist() == [False] * 6 + [True]
    assert runs.shares("a", 10).tolist() == pytest.approx([1 / 2, 2 / 3])
    assert runs.ahead("b", "a", 10) == pytest.approx(2 / math.sqrt(2))
    assert runs.ahead("a", "b", 10) == -runs.ahead("b", "a", 10)
    assert runs.median("a", 10, "ms") == 4.5


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_lead_is_the_count_of_what_just_one_misreads(pairs):
    one, other = (torch.tensor(side) for side in zip(*pairs, strict=True))
    a, b = pairs.count((True, False)), pairs.count((False, True))
    assert lead(one, other) == pytest.approx((b - a) / math.sqrt(a + b) if a + b else 0.0)
    assert lead(one, other) == -lead(other, one)


def test_lead_of_equals_has_mean_zero_and_variance_one():
    """Two that misread each picture with the same chance, independently: 2,000 times, within four standard errors."""
    draw = torch.Generator().manual_seed(0)
    one, other = (torch.rand(2000, 300, generator=draw) < 0.2 for _ in range(2))
    found = torch.stack([lead(a, b) for a, b in zip(one, other, strict=True)])
    assert abs(found.mean()) < 4 / math.sqrt(2000)
    assert abs(found.var() - 1) < 4 * math.sqrt(2 / 2000)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (torch.zeros(3), torch.zeros(3, dtype=torch.bool), "one is"),
        ([True], torch.zeros(1, dtype=torch.bool), "one is"),
        (torch.zeros(3, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.bool), "other is"),
        (torch.zeros(3, dtype=torch.bool), torch.zeros(4, dtype=torch.bool), "other has shape"),
    ],
)
def test_lead_refuses(one, other, message):
    with pytest.raises(ValueError, match=message):
        lead(one, other)


@pytest.mark.parametrize("record", [{}, {"settings": {"folds": 2}}, RECORD | {"runs": []}, recorded("translation_scores")])
def test_a_record_without_folds_is_refused(record):
    with pytest.raises(ValueError, match="record has no"):
        FoldedRuns(record)


def test_what_is_not_there_is_refused_by_name():
    runs = FoldedRuns(RECORD)
    with pytest.raises(ValueError, match=r"'b' with 5 steps.*expected one of 10"):
        runs.shares("b", 5)
    with pytest.raises(ValueError, match=r"'c' with 10 steps.*expected a name among 'b', 'a'"):
        runs.wrong("c", 10)
    with pytest.raises(ValueError, match="key is 'size'"):
        runs.median("a", 10, "size")


def seeded(name, steps, fold, seed, wrong, **more):
    return run(name, steps, fold, 4, list(range(wrong)), seed=seed, **more)


SEEDED = {
    "settings": {"folds": 2, "seeds": [11, 12]},
    "runs": [
        *(seeded("a", 10, fold, seed, fold + 2 * (seed - 11), top=float(seed)) for seed in (12, 11) for fold in (1, 0)),
        *(seeded("b", 10, fold, seed, 1) for seed in (11, 12) for fold in (0, 1)),
        *(seeded("b", 5, fold, 11, 1) for fold in (0, 1)),  # one seed is missing
        *(seeded("c", 10, fold, 0, 4, stage="search") for fold in (0, 1)),
    ],
}


def test_seeded_runs_are_ordered_by_fold_and_seed():
    runs = SeededRuns(SEEDED)
    assert runs.names == ("a", "b")
    assert (runs.lengths("a"), runs.lengths("b"), runs.lengths("c")) == ((10,), (10,), ())
    assert runs.misread("a", 10).tolist() == [[0, 0.5], [0.25, 0.75]]
    assert runs.values("a", 10, "top").tolist() == [[11, 12], [11, 12]]
    assert runs.mean("a", 10) == over_runs(torch.tensor([[0, 0.5], [0.25, 0.75]], dtype=torch.float64))
    ahead = runs.ahead("b", "a", 10)
    assert ahead == over_runs(torch.tensor([[-0.25, 0.25], [0, 0.5]], dtype=torch.float64))
    assert runs.ahead("a", "b", 10) == Estimate(-ahead.mean, ahead.error, 4)


def test_more_seeds_of_one_are_compared_where_both_have_them():
    more = [seeded("b", 10, fold, 13, 4) for fold in (0, 1)] + [seeded("b", 10, 0, 14, 4)]  # of 14 a fold is missing
    runs = SeededRuns(SEEDED | {"runs": SEEDED["runs"] + more})
    assert (runs.seeds("a", 10), runs.seeds("b", 10)) == ((11, 12), (11, 12, 13))
    assert runs.misread("b", 10).tolist() == [[0.25, 0.25, 1], [0.25, 0.25, 1]]
    assert runs.ahead("b", "a", 10) == SeededRuns(SEEDED).ahead("b", "a", 10)


def test_a_run_that_broke_down_has_no_values_and_no_right_answers():
    broken = SEEDED["runs"][0] | {"wrong": [0, 1, 2, 3], "failed": "too hot"}
    del broken["top"]
    runs = SeededRuns(SEEDED | {"runs": [broken, *SEEDED["runs"][1:]]})
    assert runs.misread("a", 10).tolist() == [[0, 0.5], [0.25, 1]]
    assert runs.values("a", 10, "top").isnan().tolist() == [[False, False], [False, True]]


def test_seeded_runs_refuse_what_is_not_there():
    for record in ({}, RECORD, SEEDED | {"runs": []}):
        with pytest.raises(ValueError, match="record has no"):
            SeededRuns(record)
    runs = SeededRuns(SEEDED)
    with pytest.raises(ValueError, match=r"'b' with 5 steps on all folds with all seeds; expected one of 10"):
        runs.mean("b", 5)
    with pytest.raises(ValueError, match=r"key is 'wrong'; expected one of .*'top'"):
        runs.values("a", 10, "wrong")


def paired(model, steps, seed, right, stage="graphs"):
    return {"stage": stage, "model": model, "steps": steps, "seed": seed, "right": right}


PAIRED = [
    *(paired(model, 10, seed, right) for seed, model, right in [(2, "a", 0.5), (1, "a", 0.25), (1, "b", 0.5), (2, "b", 1.0)]),
    *(paired("a", 5, seed, 0.125) for seed in (1, 2, 3)),
    paired("a", 10, 3, 0.75),  # of seed 3 a model is missing
    paired("a", 10, 4, 0.75, stage="club"),
]


def test_paired_runs_are_those_of_the_seeds_that_all_models_have():
    runs = PairedRuns({"runs": PAIRED}, "graphs")
    assert (runs.names, runs.seeds, runs.lengths("a"), runs.lengths("b")) == (("a", "b"), (1, 2), (5, 10), (10,))
    assert runs.values("a", 10, "right").tolist() == [0.25, 0.5]
    assert runs.mean("b", 10, "right") == over_runs(torch.tensor([0.5, 1.0], dtype=torch.float64))
    assert runs.difference("b", "a", 10, "right") == over_runs(torch.tensor([0.25, 0.5], dtype=torch.float64))
    whole = PairedRuns({"runs": [*PAIRED, paired("b", 10, 3, 0.0)]}, "graphs")
    assert whole.values("b", 10, "right").tolist() == [0.5, 1, 0]


def test_paired_runs_refuse_what_is_not_there():
    for record, task, count in (({}, "graphs", 0), ({"runs": PAIRED}, "none", 0), ({"runs": PAIRED}, "club", 1)):
        with pytest.raises(ValueError, match=f"record has {count} whole seeds of {task!r}"):
            PairedRuns(record, task)
    runs = PairedRuns({"runs": PAIRED}, "graphs")
    with pytest.raises(ValueError, match="'b' with 5 steps on all seeds; expected one of 10"):
        runs.values("b", 5, "right")
    with pytest.raises(ValueError, match=r"key is 'wrong'; expected one of .*'right'"):
        runs.mean("a", 10, "wrong")


def test_over_runs_of_independent_runs_is_the_usual_standard_error():
    values = torch.randn(40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = over_runs(values)
    assert found.mean == pytest.approx(values.mean().item())
    assert found.error == pytest.approx(values.std().item() / math.sqrt(40))
    assert found.errors == pytest.approx(found.mean / found.error)
    assert over_runs(values.view(8, 5)).error >= found.error


@pytest.mark.parametrize("shared", [0.0, 1.0, 3.0])
@pytest.mark.slow
def test_the_error_over_runs_covers_what_groups_share(shared):
    """Five groups of five, 4,000 times: the mean is off by its error or less in most of them, whatever a group shares."""
    draw = torch.Generator().manual_seed(1)
    values = torch.randn(4000, 5, 5, generator=draw, dtype=torch.float64)
    values = values + shared * torch.randn(4000, 5, 1, generator=draw, dtype=torch.float64)
    found = [over_runs(one) for one in values]
    true = math.sqrt(1 / 25 + shared**2 / 5)
    typical = math.sqrt(sum(one.error**2 for one in found) / 4000)
    assert 0.97 < typical / true < 1.25
    assert sum(abs(one.mean) < 3 * one.error for one in found) > 0.95 * 4000


def test_runs_that_agree_are_infinitely_many_errors_from_zero():
    found = [over_runs(torch.full((3,), value)).errors for value in (0.5, -0.5, 0.0)]
    assert found == [math.inf, -math.inf, 0.0]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "values", [torch.zeros(1), torch.zeros(1, 5), torch.zeros(3, 0), torch.zeros(2, 2, 2), torch.tensor(1.0), torch.zeros(0)]
)
def test_over_runs_refuses_too_few_and_other_shapes(values):
    with pytest.raises(ValueError, match="values has shape"):
        over_runs(values)


@pytest.mark.parametrize("values", [torch.zeros(3, dtype=torch.int64), torch.tensor([1.0, math.nan])])
@pytest.mark.usefixtures("unchecked")
def test_over_runs_refuses_what_is_no_number(values):
    with pytest.raises(ValueError, match="values"):
        over_runs(values)
