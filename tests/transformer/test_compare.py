"""Training one contestant and comparing several: the same each time, errors by hand, grids that grow, failures counted."""

import dataclasses
import math
import re
import statistics

import pytest
import torch
from helpers.draw import close
from torch import nn

from attnlib.transformer import Comparison, Standing, Task, TrainingRun, compare, mixer, train_one
from attnlib.transformer.compare import RATES

QUICK = {"steps": 6, "batch": 8, "test": 32, "progress": False}


class Mean:
    """Tell every token the mean of all; scores are errors."""

    better, floor, exact = "lower", 1.0, 0.0

    def batch(self, n, generator):
        x = torch.randn(n, 4, 2, generator=generator)
        return x, x.mean(-2, keepdim=True).expand(x.shape)

    def model(self, mixer):
        return mixer

    def loss(self, output, targets):
        return (output - targets).square().mean()

    score = loss


class Recorded(Mean):
    """Scores are a function of the rate that a run was trained at and of its seed, read off what moved."""

    better = "higher"

    def __init__(self, score_of):
        self.score_of = score_of

    def model(self, mixer):
        return One()

    def batch(self, n, generator):
        return torch.full((n,), float(generator.initial_seed() % 2**32)), torch.zeros(n)

    def loss(self, output, targets):
        return output[0].sum()

    def score(self, output, targets):
        number, seeds = output
        return self.score_of(-float(number), int(seeds[0]))


class One(nn.Module):
    """A single number, from zero: Adam's first step moves it by the rate."""

    def __init__(self):
        super().__init__()
        self.number = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.number, x


def by_rate(score_of, **settings):
    """Compare one contestant whose score is a function of the rate (of one step, without warm-up) and of the seed."""
    given = {"steps": 1, "batch": 1, "test": 1, "warm_up": 0, "progress": False} | settings
    return compare({"one": nn.Identity}, Recorded(score_of), **given).equal_steps[0]


# One run


def test_a_run_is_the_same_for_the_same_seed_and_leaves_torchs_generator_alone():
    def run(seed, name="softmax"):
        return train_one(lambda: mixer(name, 2, tokens=4), Mean(), rate=0.01, seed=seed, steps=6, batch=8, test=32)

    torch.manual_seed(3)
    before = torch.get_rng_state()
    first = run(0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    again = run(0)
    assert first == again
    assert first.losses != run(1).losses
    assert first.score != run(1).score
    for a, b in zip(first.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert (first.seed, first.rate, first.steps, len(first.losses)) == (0, 0.01, 6, 6)
    assert first.parameters == 16
    assert first.succeeded
    assert first.seconds > 0


def test_a_run_is_the_loop_written_by_hand():
    """Adam, a straight rise over a twentieth of the steps, a cosine to zero, gradients cut to length 1."""
    steps, rate, task = 40, 0.02, Mean()
    run = train_one(lambda: mixer("linear", 2, tokens=4), task, rate=rate, seed=5, steps=steps, batch=8, test=32)
    torch.manual_seed(5)
    model, generator = mixer("linear", 2, tokens=4), torch.Generator().manual_seed(5)
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters()]
    losses = []
    for step in range(steps):
        loss = task.loss(model(batch := task.batch(8, generator)[0]), batch.mean(-2, keepdim=True).expand(batch.shape))
        losses.append(loss.item())
        slopes = torch.autograd.grad(loss, list(model.parameters()))
        norm = math.sqrt(sum(float(slope.double().square().sum()) for slope in slopes))
        now = rate * ((step + 1) / 2 if step < 2 else (1 + math.cos(math.pi * (step - 2) / (steps - 2))) / 2)
        with torch.no_grad():
            for parameter, slope, (first, second) in zip(model.parameters(), slopes, moments, strict=True):
                slope = slope / max(1.0, norm)
                first.mul_(0.9).add_(0.1 * slope)
                second.mul_(0.999).add_(0.001 * slope.square())
                least = second / (1 - 0.999 ** (step + 1))
                parameter -= now * first / (1 - 0.9 ** (step + 1)) / (least.sqrt() + 1e-8)
    close(torch.tensor(run.losses), torch.tensor(losses), atol=1e-5, rtol=1e-4)
    x, targets = task.batch(32, torch.Generator().manual_seed(2**32 + 5))
    assert math.isclose(run.score, float(task.loss(model(x), targets).detach()), rel_tol=1e-3)


def test_what_diverges_after_the_first_step_is_a_run_that_failed_and_what_is_wrong_at_first_is_raised():
    class Breaking(Mean):
        def __init__(self, when):
            self.when, self.done = when, 0

        def loss(self, output, targets):
            self.done += 1
            return super().loss(output, targets) * (math.nan if self.done > self.when else 1)

    run = train_one(lambda: mixer("pool", 2), Breaking(3), rate=0.01, seed=0, steps=6, batch=8, test=32)
    assert not run.succeeded
    assert math.isnan(run.score)
    assert "task has something that cannot be learnt from, or learning_rate 0.01 is too high" in run.failure
    with pytest.raises(ValueError, match="the loss is"):
        train_one(lambda: mixer("pool", 2), Breaking(0), rate=0.01, seed=0, steps=6, batch=8, test=32)
    with pytest.raises(ValueError, match=r"x has shape \(8, 4, 2\)"):
        train_one(lambda: mixer("pool", 3), Mean(), rate=0.01, seed=0, steps=6, batch=8, test=32)


def test_a_task_says_what_success_is():
    class Hard(Mean):
        def success(self, score):
            return score < 0

    assert not train_one(lambda: mixer("pool", 2), Hard(), rate=0.01, seed=0, steps=2, batch=8, test=32).succeeded


def test_one_may_watch():
    seen = []
    train_one(
        lambda: mixer("pool", 2),
        Mean(),
        rate=0.01,
        seed=0,
        steps=3,
        batch=8,
        test=32,
        watch=lambda model, step: seen.append((step, float(next(model.parameters()).detach().square().sum()))),
    )
    assert [step for step, _ in seen] == [0, 1, 2, 3]
    assert len({number for _, number in seen}) == 4


def test_inputs_may_be_tuples_and_dictionaries():
    class Pairs(Mean):
        def batch(self, n, generator):
            x, y = super().batch(n, generator)
            return {"x": x, "names": ["a"]}, (y, [y])

        def model(self, mixer):
            return Opened(mixer)

        def loss(self, output, targets):
            return super().loss(output, targets[1][0])

        score = loss

    run = train_one(lambda: mixer("pool", 2), Pairs(), rate=0.01, seed=0, steps=2, batch=8, test=32, device="cpu")
    assert run.losses == train_one(lambda: mixer("pool", 2), Mean(), rate=0.01, seed=0, steps=2, batch=8, test=32).losses


class Opened(nn.Module):
    def __init__(self, mixer):
        super().__init__()
        self.mixer = mixer

    def forward(self, inputs):
        return self.mixer(inputs["x"])


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"rate": 0}, "rate is 0; expected a finite number above 0"),
        ({"seed": -1}, "seed is -1; expected an integer of at least 0"),
        ({"steps": 0}, "steps is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"task": "task"}, "task is a str; expected a Task"),
        ({"make": 3}, "make is 3"),
        ({"device": "nowhere"}, "device is 'nowhere'"),
    ],
    ids=str,
)
def test_wrong_settings_of_a_run_are_refused(settings, complaint, unchecked):
    given = {"make": lambda: mixer("pool", 2), "task": Mean(), "rate": 0.01, "seed": 0, "steps": 2} | settings
    with pytest.raises(ValueError, match=complaint):
        train_one(given.pop("make"), given.pop("task"), **given)


# Several


def test_a_comparison_is_the_same_each_time_and_pool_wins_where_it_is_the_answer():
    def run():
        return compare(["identity", "pool"], Mean(), dim=2, rates=[0.03, 0.1], seeds=[0], fresh_seeds=[7, 8, 9], **QUICK)

    first, second = run(), run()
    assert first == second
    assert [one.name for one in first.equal_steps] == ["identity", "pool"]
    for one in first.equal_steps:
        assert [r.seed for r in one.runs] == [7, 8, 9]
        assert all(r.model is None for r in one.runs)
        assert one.mean == statistics.fmean(r.score for r in one.runs)
        assert math.isclose(one.error, statistics.stdev(r.score for r in one.runs) / 3**0.5)


def test_a_run_of_a_comparison_is_a_run_alone():
    found = compare(["pool"], Mean(), dim=2, rates=[0.1], fresh_seeds=[7], **QUICK).equal_steps[0]
    alone = train_one(lambda: mixer("pool", 2), Mean(), rate=0.1, seed=7, steps=6, batch=8, test=32)
    assert found.runs[0] == dataclasses.replace(alone, model=None)
    assert found.searched == []
    assert not found.at_end


def test_the_best_rate_is_found_inside_the_grid():
    found = by_rate(lambda rate, seed: -abs(math.log(rate / 1e-3)))
    assert math.isclose(found.rate, 1e-3)
    assert [rate for rate, _, _ in found.searched] == list(RATES)
    assert not found.at_end


@pytest.mark.parametrize(("best", "lower", "upper"), [(0.3, 3e-4, 1.0), (3e-6, 3e-7, 1e-2)])
def test_the_grid_grows_where_the_best_is_at_its_end(best, lower, upper):
    found = by_rate(lambda rate, seed: -abs(math.log(rate / best)), widen=9)
    assert abs(math.log(found.rate / best)) < math.log(2)
    assert not found.at_end
    rates = [rate for rate, _, _ in found.searched]
    assert math.isclose(min(rates), min(rates[0], 3e-4)) or best > 1e-2
    assert min(rates) < found.rate < max(rates)


def test_a_grid_that_grew_enough_says_so():
    found = by_rate(lambda rate, seed: rate, widen=2)
    assert found.at_end
    assert len(found.searched) == len(RATES) + 2
    assert math.isclose(found.rate, max(RATES) * (1e-2 / 3e-3) ** 2)


def test_equally_good_rates_let_no_grid_grow():
    found = by_rate(lambda rate, seed: 1.0)
    assert [rate for rate, _, _ in found.searched] == list(RATES)
    assert not found.at_end


def test_the_search_has_seeds_of_its_own():
    seen = []

    def score(rate, seed):
        seen.append(seed)
        return 1.0

    by_rate(score, rates=[0.1, 0.2, 0.3], seeds=[3, 4], fresh_seeds=[5, 6, 7])
    assert seen == [3, 4] * 3 + [5, 6, 7]
    with pytest.raises(ValueError, match="no fresh seed that was searched"):
        by_rate(score, seeds=[3, 4], fresh_seeds=[4, 5])


class Sometimes(Recorded):
    def success(self, score):
        return score > 0.5


def test_failed_seeds_are_counted_and_not_averaged_away():
    scores = {0: 1.0, 10: 0.9, 11: 0.1, 12: 0.7}
    task = Sometimes(lambda rate, seed: scores[seed])
    given = {"steps": 1, "batch": 1, "test": 1, "rates": [0.1], "seeds": [0], "fresh_seeds": [10, 11, 12], "progress": False}
    found = compare({"one": nn.Identity}, task, **given)
    one = found.standing("one")
    assert one.success == pytest.approx(2 / 3)
    assert one.scores == (0.9, 0.7)
    assert one.mean == pytest.approx(0.8)
    assert one.error == pytest.approx(0.1)
    assert "2 of 3" in repr(found)


def test_a_rate_at_which_more_runs_succeed_is_better_than_one_with_a_better_mean():
    task = Sometimes(lambda rate, seed: 0.6 if rate < 0.15 else (1.0, 0.0)[seed % 2])
    given = {"steps": 1, "batch": 1, "test": 1, "warm_up": 0, "seeds": [0, 1], "fresh_seeds": [4], "progress": False}
    found = compare({"one": nn.Identity}, task, rates=[0.05, 0.1, 0.2], **given).standing("one")
    assert math.isclose(found.rate, 0.1)
    assert [success for _, _, success in found.searched] == [1.0, 1.0, 0.5]


def standing(name, scores, seeds=None, succeeded=None):
    seeds = range(len(scores)) if seeds is None else seeds
    ends = [True] * len(scores) if succeeded is None else succeeded
    runs = [TrainingRun(seed, 0.01, 10, (), score, end) for seed, score, end in zip(seeds, scores, ends, strict=True)]
    return Standing(name, runs)


def test_differences_are_taken_seed_by_seed():
    a, b = standing("a", (1.0, 2.0, 4.0)), standing("b", (0.5, 1.0, 3.5))
    found = Comparison([a, b])
    mean, error = found.difference("a", "b")
    assert mean == pytest.approx(2 / 3)
    assert error == pytest.approx(statistics.stdev((0.5, 1.0, 0.5)) / 3**0.5)
    assert found.difference("b", "a") == (pytest.approx(-mean), pytest.approx(error))
    half = Comparison([a, standing("b", (0.5, 9.0, 3.5), succeeded=(True, False, True))])
    assert half.difference("a", "b") == (pytest.approx(0.5), pytest.approx(0.0))
    assert all(map(math.isnan, Comparison([a, standing("b", (1.0,), seeds=[9])]).difference("a", "b")))
    assert math.isnan(Comparison([a, standing("b", (1.0,), seeds=[1])]).difference("a", "b")[1])
    with pytest.raises(ValueError, match="second is 'c'; expected one of a, b"):
        found.difference("a", "c")


def test_the_best_succeeds_most_often():
    often, well = standing("often", (0.5, 0.5)), standing("well", (0.9, 0.1), succeeded=(True, False))
    assert Comparison([well, often]).best().name == "often"
    assert Comparison([standing("a", (1.0,)), standing("b", (2.0,))]).best().name == "b"
    assert Comparison([standing("a", (1.0,)), standing("b", (2.0,))], better="lower").best().name == "a"
    never = standing("never", (math.nan,), succeeded=(False,))
    assert Comparison([never, standing("a", (1.0,))], better="lower").best().name == "a"
    assert math.isnan(never.mean)


def test_the_table_says_it_all():
    a, b = standing("a", (0.51, 0.52, 0.53)), standing("b", (0.71, 0.75, 0.73))
    failed = dataclasses.replace(standing("c", (math.nan,), succeeded=(False,)).runs[0], failure="no number")
    found = Comparison([a, b, Standing("c", [failed])], better="lower", floor=1.0, exact=0.25)
    lines = repr(found).splitlines()
    assert lines[0] == "lower is better, floor 1, exact 0.25"
    assert re.search(r"^a +0\.5200 ± 0\.0058 +3 of 3 +0\.01", lines[4])
    assert re.search(r"^b +0\.730 ± 0\.012 +3 of 3 +0\.210 ± 0\.010 ", lines[5])
    assert re.search(r"^c +none +0 of 1", lines[6])
    assert lines[7] == "c failed: no number"
    assert "equal seconds" not in repr(found)
    assert found.rows()[1][0] == "a"


def test_equal_seconds_give_each_as_many_steps_as_fit():
    found = compare(["identity", "pool"], Mean(), dim=2, rates=[0.1], fresh_seeds=[7, 8], seconds=0.05, **QUICK)
    for first, second in zip(found.equal_steps, found.equal_seconds, strict=True):
        assert second.steps == max(1, round(0.05 * 6 / first.seconds))
    assert "equal seconds" in repr(found)
    assert found.standing("pool", seconds=True).steps == found.equal_seconds[1].steps


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"contestants": []}, r"contestants is \[\]; expected functions by name"),
        ({"contestants": "pool"}, "contestants is 'pool'"),
        ({"contestants": {"a": 3}}, "expected functions that make a mixer"),
        ({"contestants": ["pol"]}, "did you mean 'pool'"),
        ({"contestants": ["places"]}, "tokens is None"),
        ({"dim": None}, "dim is None; expected the width of the tokens"),
        ({"rates": []}, "expected some of each"),
        ({"rates": [0.0]}, "rates is 0.0"),
        ({"seeds": []}, "expected some of each"),
        ({"fresh_seeds": []}, "expected some of each"),
        ({"seconds": 0}, "seconds is 0"),
        ({"widen": -1}, "widen is -1"),
        ({"rates": 3}, "rates is 3; expected numbers in a list"),
        ({"seeds": torch.tensor(3)}, r"seeds is tensor\(3\); expected numbers in a list"),
        ({"fresh_seeds": None}, "fresh_seeds is None; expected numbers in a list"),
        ({"fresh_seeds": [7, 7]}, "no seed twice"),
        ({"heads": 0}, "heads is 0"),
        ({"task": 3}, "task is a int; expected a Task"),
    ],
    ids=str,
)
def test_wrong_settings_of_a_comparison_are_refused(settings, complaint, unchecked):
    given = {"contestants": ["pool"], "task": Mean(), "dim": 2, **QUICK} | settings
    with pytest.raises(ValueError, match=complaint):
        compare(given.pop("contestants"), given.pop("task"), **given)


def test_a_task_is_known_by_what_it_has():
    assert isinstance(Mean(), Task)
    assert not isinstance(nn.Identity(), Task)


def test_a_bar_is_shown_where_it_is_asked_for(capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    given = QUICK | {"progress": True}
    compare(["pool"], Mean(), dim=2, rates=[0.1], fresh_seeds=[7, 8], **given)
    assert "2/2" in capsys.readouterr().err
    compare(["pool"], Mean(), dim=2, rates=[0.1], fresh_seeds=[7, 8], **QUICK)
    assert not capsys.readouterr().err
    monkeypatch.setenv("TQDM_DISABLE", "1")
    compare(["pool"], Mean(), dim=2, rates=[0.1], fresh_seeds=[7, 8], **given)
    assert not capsys.readouterr().err
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    compare(["pool"], Mean(), dim=2, rates=[0.1], fresh_seeds=[7, 8], **given)
    assert not capsys.readouterr().err
