"""Runs on folds and who is ahead: against counting by hand, the binomial distribution, and what is refused."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course import recorded
from attnlib.course.data.recorded import FoldedRuns, lead


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
