"""The verdicts on classifiers of digits: runs made together are those made one by one, and the record is complete."""

import json

import digit_verdicts as verdicts
import digits
import pytest
import together
import torch
from equilibrium import Equilibrium, growth

from attnlib.attention import SoftmaxAttention
from attnlib.course import recorded
from attnlib.course.models import teach_labels

RECORD = recorded("digit_verdicts")
LOOSE = {"binary, neural": 0.1, verdicts.ITERATED: 1.0}
"""Whose iteration ends without a state at first: the last of its steps amplify a rounding."""
COSTLY = ("binary, exact", "spherical, exact")


def test_the_record_is_what_the_script_asks_for():
    """Every run is one that it makes, at the rate that the search at its length says, and none is there twice."""
    runs = RECORD["runs"]
    assert RECORD["settings"] == verdicts.SETTINGS
    assert not RECORD["quick"]
    assert len({tuple(run[key] for key in verdicts.KEYS) for run in runs}) == len(runs)
    for name, steps in {(run["name"], run["steps"]) for run in runs if run["stage"] == "final"}:
        finals = [run for run in runs if (run["stage"], run["name"], run["steps"]) == ("final", name, steps)]
        tried = [run for run in runs if (run["stage"], run["name"]) == ("search", name)] + verdicts.searches(name)
        assert (name, steps) in verdicts.PLAN
        assert {run["rate"] for run in finals} == {verdicts.best_rate(name, tried, steps)[0]}
        seeds = verdicts.seeds_of(name, verdicts.SETTINGS)
        assert {(run["fold"], run["seed"]) for run in finals} == {(fold, seed) for fold in range(5) for seed in seeds}


def test_seeds_of_verdicts_have_chosen_nothing():
    chosen = {verdicts.first_seed(run) for run in RECORD["runs"] if run["stage"] == "search"} | set(range(5))
    assert chosen.isdisjoint(verdicts.first_seed(run) for run in RECORD["runs"] if run["stage"] == "final")


def test_random_couplings_have_the_largest_eigenvalue_that_is_asked_for():
    for run in RECORD["runs"]:
        if "top" in run and "failed" not in run:
            assert run["largest_eigenvalue"] == pytest.approx(run["top"], rel=1e-3)
    ends = {
        (run["steps"], run["fold"], run["seed"]): run["largest_eigenvalue"]
        for run in RECORD["runs"]
        if (run["stage"], run["name"]) == ("final", verdicts.LEARNED)
    }
    for run in RECORD["runs"]:
        if (run["stage"], run["name"]) == ("final", verdicts.MATCHED):
            assert run["top"] == ends[run["steps"], run["fold"], run["seed"]]


@pytest.mark.slow
@pytest.mark.sweep(0.2)
@pytest.mark.parametrize("name", [name for name in verdicts.NAMES if name not in COSTLY])
@pytest.mark.usefixtures("unchecked")
def test_runs_made_together_are_those_made_one_by_one(name):
    """Losses and parameters of three runs with folds, seeds and rates of their own, after four steps."""
    top, parts = verdicts.RANDOM.get(name, 7.0 if name == verdicts.MATCHED else None), [0, 1, 2]
    lessons = [digits.split(part, verdicts.script(name).SETTINGS, False)[0] for part in parts]
    seeds, rates, bound = [11, 7, 12], [0.03, 0.1, 0.03], LOOSE.get(name, 2e-3)

    def restrain(mixer):
        verdicts.restrain(name, mixer, verdicts.SETTINGS)

    models, losses = together.train(lambda r: verdicts.classifier(name, top), lessons, seeds, rates, 4, 32, restrain)
    for model, found, lesson, seed, rate in zip(models, losses.mT, lessons, seeds, rates, strict=True):
        torch.manual_seed(seed)
        one = verdicts.classifier(name, top)
        wanted = teach_labels(
            one,
            lesson.pictures,
            lesson.labels,
            4,
            learning_rate=rate,
            watch=lambda step, one=one: restrain(getattr(one, "mixer", None)) if step else None,
        )
        assert found.tolist() == pytest.approx(wanted, abs=bound)
        for mine, parameter in zip(model.parameters(), one.parameters(), strict=True):
            torch.testing.assert_close(mine, parameter, atol=bound, rtol=0)


def test_gradients_are_clipped_run_by_run():
    given = torch.tensor([[3.0, 4.0], [0.3, 0.4], [1.5e38, 2e38]])
    found = together.clipped(given)
    torch.testing.assert_close(found, torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]]), atol=1e-5, rtol=0)


def test_the_orders_are_those_of_teach_labels():
    """Passes over all, each in an order of its own, without what is too few for a batch."""
    torch.manual_seed(3)
    rows = together.orders(10, 5, 4)
    torch.manual_seed(3)
    first, second, third = (torch.randperm(10) for _ in range(3))
    assert rows.tolist() == [
        first[:4].tolist(),
        first[4:8].tolist(),
        second[:4].tolist(),
        second[4:8].tolist(),
        third[:4].tolist(),
    ]


def test_growth_is_the_spectral_radius_of_a_linear_map():
    draw = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(6, 6, generator=draw, dtype=torch.float64))[0]
    J = basis @ torch.diag(torch.tensor([0.9, 0.3, 0.2, 0.1, 0.05, -0.2], dtype=torch.float64)) @ basis.mT
    found = growth(lambda y: (y.flatten(-2) @ J.mT).view(y.shape), torch.zeros(2, 3, 2, dtype=torch.float64))
    assert found.tolist() == pytest.approx([0.9, 0.9], rel=1e-3)


def test_holding_an_equilibrium_brings_the_growth_below_what_is_asked():
    torch.manual_seed(0)
    model = Equilibrium(SoftmaxAttention(10, heads=2))
    with torch.no_grad():
        model.attention.to_out.weight.mul_(20)
        model(torch.randn(4, 5, 10))
        x, state = model.seen
        before = growth(lambda y: model.block(x, y), state).max()
        for _ in range(6):
            model.hold(0.5)
            model(x)
    assert before > 1
    assert growth(lambda y: model.block(x, y), model.seen[1]).max() == pytest.approx(0.5, abs=0.02)
    assert model.last.all()


@pytest.mark.slow
def test_an_interrupted_experiment_goes_on(tmp_path, capsys):
    """The quick version: a search, folds, couplings matched to those that were learned; called again, it makes nothing anew."""
    target = tmp_path / "found.json"
    arguments = ["--quick", "--only", "free", "random, as learned", "no mixer: 64 pixels", "--output", str(target)]
    verdicts.main(arguments)
    first = json.loads(target.read_text(encoding="utf-8"))
    assert first["quick"]
    assert {run["name"] for run in first["runs"]} == {"free", "random, as learned", "no mixer: 64 pixels"}
    few = [run for run in first["runs"] if run["name"] != "no mixer: 64 pixels"]
    target.write_text(json.dumps(first | {"runs": few}), encoding="utf-8")
    capsys.readouterr()
    verdicts.main(arguments)
    assert all("pixels" in line for line in capsys.readouterr().out.splitlines())
    again = json.loads(target.read_text(encoding="utf-8"))
    assert sorted(map(str, again["runs"])) == sorted(map(str, first["runs"]))
    verdicts.main(arguments)
    assert not capsys.readouterr().out


@pytest.mark.slow
def test_one_run_that_breaks_down_leaves_the_others_alone(monkeypatch):
    train = together.train

    def fragile(make, lessons, seeds, *rest):
        if 11_001 in seeds:
            raise ValueError("the loss of 1 runs is not finite")
        return train(make, lessons, seeds, *rest)

    monkeypatch.setattr(together, "train", fragile)
    jobs = [
        {"stage": "final", "name": "no mixer: 64 pixels", "rate": 0.1, "steps": 3, "fold": fold, "seed": 11}
        for fold in range(4)
    ]
    found = verdicts.made(jobs, verdicts.SETTINGS)
    assert [run["fold"] for run in found] == [0, 1, 2, 3]
    assert ["failed" in run for run in found] == [False, True, False, False]
    assert len(found[1]["wrong"]) == found[1]["tested"]
    assert found[0] == verdicts.made(jobs[:1], verdicts.SETTINGS)[0]
