"""The record of digits read by vector spins: against its script, a rerun, the sum rule and the couplings' ranks."""

import digits
import pytest
import torch
import vector_spins

from attnlib.course import recorded
from attnlib.course.data import digits as all_digits
from attnlib.course.data.recorded import FoldedRuns

RECORD = recorded("vector_spins")
FILM = RECORD["film"]
SETTINGS = RECORD["settings"]


def test_the_record_is_complete_and_what_the_script_asks_for():
    assert RECORD["name"] == "vector_spins"
    assert RECORD["command"].startswith("python experiments/vector_spins.py")
    assert not RECORD["quick"]
    assert SETTINGS == vector_spins.SETTINGS
    assert vector_spins.due(list(vector_spins.NAMES), RECORD["runs"], SETTINGS, digits.SEARCH, digits.STEPS) == []


def test_every_run_is_one_that_the_script_makes_and_none_is_there_twice():
    keys = [(run["stage"], run["name"], run["rate"], run["steps"], run["fold"]) for run in RECORD["runs"]]
    assert len(set(keys)) == len(keys)
    for stage, name, rate, steps, fold in keys:
        assert name in vector_spins.NAMES
        if stage == "final":
            assert steps <= vector_spins.LONGEST.get(name, max(digits.STEPS))
            own = steps if name in vector_spins.ONE_HEAD or steps == digits.LONG_SEARCH else digits.SEARCH
            assert rate == digits.searched(name, RECORD["runs"], own)[0]
        else:
            assert fold in (0, 1)


@pytest.mark.slow
def test_every_digit_is_tested_once_and_every_saddle_point_was_found():
    """A block iterated to its fixed point may lose it in training: nothing keeps it a contraction."""
    runs = FoldedRuns(RECORD)
    assert set(runs.names) == set(vector_spins.NAMES)
    for name in runs.names:
        for steps in runs.lengths(name):
            assert len(runs.wrong(name, steps)) == len(all_digits())
            if "fixed point" not in name:
                assert all(run.get("converged", 1) == 1 for run in runs.finals(name, steps))


@pytest.mark.whole
@pytest.mark.slow
def test_a_cheap_run_can_be_repeated():
    """Couplings as they are drawn: what is learned is linear on both sides of one fixed system of spins."""
    (run,) = (
        run
        for run in RECORD["runs"]
        if (run["stage"], run["name"], run["steps"], run["fold"]) == ("final", "free, as drawn", 300, 0)
    )
    again = vector_spins.run({key: run[key] for key in ("stage", "name", "rate", "steps", "fold")}, SETTINGS)
    assert again["train_loss"] == pytest.approx(run["train_loss"], rel=0.1)
    assert len(set(again["wrong"]) ^ set(run["wrong"])) <= 0.1 * run["tested"]
    assert again["largest_eigenvalue"] == pytest.approx(run["largest_eigenvalue"], rel=1e-3)


def test_parameters_are_counted_with_their_symmetries():
    counted, around = RECORD["parameters"], 8 * 10 + 9 * 10 + 10 * 10 + 10
    assert counted["free"] - around == 36
    assert counted["free, as drawn"] == around
    assert counted["tanh"] == counted["softmax"] == around + 55 + 1
    assert counted["free, six heads"] - around == 6 * 36 + 2 * 6 * 28 * 10
    for name in ("tanh, six heads", "softmax attention, six heads"):
        assert abs(counted[name] - counted["free, six heads"]) < 100
    found = {name: vector_spins.free_parameters(vector_spins.classifier(name, SETTINGS)) for name in vector_spins.NAMES}
    assert counted == found


def test_the_film_keeps_the_sum_rule_and_the_symmetries():
    J, chi, lengths = (torch.tensor(FILM[key]) for key in ("J", "chi", "lengths"))
    assert FILM["at"] == list(vector_spins.FRAMES)
    assert len(FILM["right"]) == len(FILM["loss"]) == len(FILM["own"]) == len(FILM["at"])
    assert (lengths + chi.diagonal(dim1=1, dim2=2) - 1).abs().max() < 3e-4
    for matrices in (J, chi):
        assert (matrices - matrices.mT).abs().max() < 3e-4
    assert J.diagonal(dim1=1, dim2=2).abs().max() == 0
    assert (torch.linalg.eigvalsh(chi.double()) > -1e-3).all()


@pytest.mark.slow
def test_an_interrupted_experiment_goes_on(tmp_path, capsys):
    """The quick version: every mixer makes its searches and folds; called again, it makes nothing anew."""
    target = tmp_path / "found.json"
    arguments = ["--quick", "--only", "tanh", "softmax attention, six heads", "free", "--output", str(target)]
    vector_spins.main(arguments)
    first = target.read_text(encoding="utf-8")
    assert capsys.readouterr().out
    vector_spins.main(arguments)
    assert not capsys.readouterr().out
    assert target.read_text(encoding="utf-8") == first
