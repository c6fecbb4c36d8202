"""The runs of chapter 7: a run is the same every time, the plan is what it says, and what is changed in a network is that."""

import collections
import json

import collective_contestants as contestants
import collective_interventions as interventions
import collective_tasks as tasks
import collectives
import pytest
import torch

from attnlib.attention import SoftmaxAttention
from attnlib.course.data.spins import fixed_couplings
from attnlib.mean_field import naive_mean_field


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A pool of few systems, and tests of few examples."""
    monkeypatch.setattr(tasks.Spins.__init__, "__defaults__", (4096,))
    monkeypatch.setattr(collectives, "TEST", dict.fromkeys(collectives.TEST, 600))
    monkeypatch.setattr(collectives, "STEPS", dict.fromkeys(collectives.STEPS, 3))


def job(task, name, condition, stage="final", rate=1e-3, seed=0, steps=3):
    return collectives.setting(task, name, condition, stage, rate, seed, steps)


def trained(task, name, condition, seed=0):
    torch.manual_seed(seed)
    this = tasks.TASKS[task](condition, contestants.form(task, name))
    return this.model(contestants.made(task, name)).eval(), this


# What is raced


@pytest.mark.parametrize("task", list(contestants.CONTESTANTS))
def test_every_contestant_takes_its_task_and_gives_an_answer_of_its_shape(task):
    for name in contestants.CONTESTANTS[task]:
        for condition in contestants.conditions(task, name)[-1:]:
            model, this = trained(task, name, condition)
            inputs, targets = this.batch(4, torch.Generator().manual_seed(1))
            loss = this.loss(model(inputs), targets)
            assert torch.isfinite(loss), name
            loss.backward()
            assert all(p.grad is not None for p in model.parameters() if p.requires_grad), name


def test_examples_are_the_same_for_all_contestants_of_a_seed_whatever_they_see():
    one, two = (tasks.Hops([2], form).batch(5, torch.Generator().manual_seed(3)) for form in ("tokens", "context"))
    assert one[1].equal(two[1])
    assert one[0][:, :8].equal(two[0][1])
    assert one[0][:, 8:].equal(two[0][0])
    one, two = (tasks.Denoising([4, 1.0], form).batch(5, torch.Generator().manual_seed(3)) for form in ("tokens", "context"))
    assert one[0][:, :4, :8].equal(two[0][1])
    assert one[0][:, 4:, :8].equal(two[0][0])
    assert one[0][0, :, 8].tolist() == [0, 0, 0, 0, 1]


def test_shuffled_contents_are_those_of_the_same_system():
    fixed, shuffled = (tasks.Spins([1.0], form).batch(600, torch.Generator().manual_seed(3)) for form in ("tokens", "shuffled"))
    assert fixed[1].equal(shuffled[1])
    assert fixed[0][..., 0].equal(shuffled[0][..., 0])
    assert not fixed[0].equal(shuffled[0])
    assert fixed[0][..., 1:].sort(1).values.equal(shuffled[0][..., 1:].sort(1).values)


def test_held_maps_stay_held():
    model, _ = trained("hops", "energy walker, out held", [2])
    mixer = interventions.mixers(model)[0]
    assert mixer.to_out.weight.equal(torch.eye(32))
    assert not mixer.to_out.weight.requires_grad
    assert interventions.mixers(trained("hops", "energy walker, all held", [2])[0])[0].bare


def test_boltzmann_attention_without_couplings_opens_each_key_by_a_sigmoid():
    torch.manual_seed(0)
    mixer = contestants.BoltzmannAttention(8, tokens=5)
    x = torch.randn(2, 5, 8)
    gates = (mixer.to_query(x) @ mixer.to_key(x).mT / 8**0.5).sigmoid()
    expected = mixer.to_out((gates / gates.sum(-1, keepdim=True)) @ mixer.to_value(x))
    assert torch.allclose(mixer(x), expected, atol=1e-6)


# Runs and the plan


def test_a_run_is_the_same_every_time_and_its_file_is_named_by_its_settings():
    asked = job("hops", "walker, 2 steps", [2])
    one, two = (collectives.run(asked) for _ in range(2))
    assert {**one, "cpu_seconds": 0} == {**two, "cpu_seconds": 0}
    assert collectives.key_of(one) == collectives.key_of(json.loads(json.dumps(asked)))
    assert collectives.key_of(asked | {"seed": 1}) != collectives.key_of(asked)


def fake(asked, score):
    return asked | {"score": score}


def test_the_grid_grows_where_the_best_is_at_its_end_and_then_come_seeds_that_chose_nothing():
    runs = []
    first = collectives.wanted(runs, "markov", {}, "markov", "pool")
    assert collections.Counter(one["rate"] for one in first) == dict.fromkeys((1e-3, 3e-3, 1e-2, 3e-2), 2)
    runs += [fake(one, -one["rate"]) for one in first]  # the higher the better
    more = collectives.wanted(runs, "markov", {}, "markov", "pool")
    assert {one["rate"] for one in more} == {1e-1}
    runs += [fake(one, 1.0 if one["seed"] else None) for one in more]  # one of them fails: no rate to choose
    last = collectives.wanted(runs, "markov", {}, "markov", "pool")
    assert {one["rate"] for one in last} == {3e-2}
    assert [one["seed"] for one in last] == list(collectives.FRESH_SEEDS)
    assert set(collectives.FRESH_SEEDS).isdisjoint(collectives.SEARCH)
    runs += [fake(one, 1.0) for one in last]
    assert not collectives.wanted(runs, "markov", {}, "markov", "pool")


def test_a_rate_at_which_a_run_has_broken_down_is_done_with_and_without_another_nothing_is_best():
    def then(scores):  # what is wanted after these searches, by rate and seed
        runs = [fake(job("markov", "pool", [], "search", *key), score) for key, score in scores.items()]
        return {(one["stage"], one["rate"]) for one in collectives.wanted(runs, "markov", {}, "markov", "pool")}

    failed = {(rate, 0): None for rate in collectives.LADDER}
    assert then({key: None for key in failed if key[0] in (1e-3, 3e-3, 1e-2, 3e-2)}) == {("search", 3e-4)}
    assert then(failed) == set()
    assert then(failed | {(1e-2, seed): 0.9 for seed in collectives.SEARCH}) == {("final", 1e-2)}


def test_equal_seconds_are_twice_those_of_softmax(monkeypatch):
    monkeypatch.setitem(collectives.STEPS, "spins", 1000)
    timing = {"spins: softmax": 2.0, "spins: vector-spins": 8.0, "spins: pool": 0.5}
    asked = {place: collectives.wanted([], "seconds", timing, *place) for place in collectives.places("seconds")}
    steps = {place: jobs[0]["steps"] for place, jobs in asked.items() if jobs}
    assert steps == {("spins", "softmax"): 2000, ("spins", "vector-spins"): 500, ("spins", "pool"): 4000}
    assert collectives.bought(timing)["spins"] == {name: count for (_, name), count in steps.items()}
    assert all(one["condition"] == [1.0] for jobs in asked.values() for one in jobs)


def test_seconds_a_step_leave_out_what_a_run_spends_once(monkeypatch):
    def spent(asked):
        return {} if asked["name"] == "pool" else {"cpu_seconds": 7.0 + 0.25 * asked["steps"]}

    monkeypatch.setattr(collectives, "run", spent)
    found = collectives.timed(steps=2, repeats=1)
    assert found.keys() == {
        f"{task}: {name}" for task, names in contestants.CONTESTANTS.items() for name in names if name != "pool"
    }
    assert set(found.values()) == {0.25}


def test_a_quick_call_does_not_mix_its_runs_with_others():
    with pytest.raises(SystemExit):
        collectives.main(["--quick"])


def test_longer_runs_are_twice_as_long_for_those_that_decide():
    assert ("spins", "softmax") in collectives.places("longer")
    assert {one["steps"] for one in collectives.wanted([], "longer", {}, "spins", "softmax")} == {6}
    around = {one["condition"][0] for one in collectives.wanted([], "longer", {}, "spins", "linear")}
    assert around == {0.01, 0.03, 0.1, 1.0}
    assert {one["condition"][0] for one in collectives.wanted([], "longer", {}, "spins", "vector-spins-softmax")} == {1.0}
    assert collectives.places("longest") == [("spins", "softmax"), ("spins", "linear")]
    longest = collectives.wanted([], "longest", {}, "spins", "linear")
    assert {(one["condition"][0], one["steps"]) for one in longest} == {(0.01, 12)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [[], pytest.param(["--dask", "2"], marks=pytest.mark.whole)], ids=["alone", "on a local cluster"]
)
def test_what_is_already_measured_is_kept(tmp_path, monkeypatch, more):
    few = {"denoising": {name: contestants.DENOISING[name] for name in ("softmax", "identity")}}
    monkeypatch.setattr(contestants, "CONTESTANTS", few)
    monkeypatch.setitem(contestants.CONDITIONS, "denoising", [[4, 1.0]])
    asked = ["--axes", "denoising", "--runs", str(tmp_path / "runs"), "--output", str(tmp_path / "found.json"), *more]
    if more:  # workers do not see what is patched here
        jobs = collectives.wanted([], "denoising", {}, "denoising", "softmax")[:2]
        monkeypatch.setattr(collectives, "wanted", lambda runs, *rest: jobs if len(runs) < 2 else [])
        collectives.main(asked)
        assert len(json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["runs"]) == 2
        return
    collectives.main(asked)
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["runs"]
    assert sum(one["stage"] == "final" for one in found) == 2 * len(collectives.FRESH_SEEDS)
    gone = next((tmp_path / "runs").glob("*.json"))
    gone.unlink()
    made, run = [], collectives.run
    monkeypatch.setattr(collectives, "run", lambda *given: made.append(given) or run(*given))
    collectives.main(asked)
    assert len(made) == 1
    again = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["runs"]
    assert [one["score"] for one in again] == [one["score"] for one in found]


# What is changed in a network


def test_heat_is_beta_and_comes_back():
    model, this = trained("hops", "softmax", [2])
    mixer = interventions.mixers(model)[0]
    inputs, _ = this.batch(8, torch.Generator().manual_seed(0))
    before, beta = model(inputs), mixer.beta
    with interventions.heated(model, 2.0):
        hot = model(inputs)
        assert mixer.beta == 2 * beta
    assert mixer.beta == beta
    assert model(inputs).equal(before)
    with torch.no_grad():
        mixer.to_query.weight.mul_(2)
    assert torch.allclose(model(inputs), hot, atol=1e-5)


def test_a_head_that_is_ablated_says_its_mean_to_all():
    torch.manual_seed(0)
    mixer, x = SoftmaxAttention(8, heads=2), torch.randn(3, 5, 8)
    with interventions.without(mixer, [0, 1]):
        silent = mixer(x)
    assert torch.allclose(silent, silent[:1, :1].expand_as(silent), atol=1e-6)
    assert torch.allclose(silent[0, 0], mixer(x).mean((0, 1)), atol=1e-6)
    with torch.no_grad():
        mixer.to_value.weight[4:] = 0.0  # head 1 says nothing
    with interventions.without(mixer, [1]):
        assert torch.allclose(mixer(x), mixer(x), atol=1e-6)
        kept = mixer(x)
    assert torch.allclose(kept, mixer(x), atol=1e-6)


def test_a_thermometer_reads_one_for_a_posterior_and_names_the_right_key():
    weights = torch.tensor([[[[0.5, 0.5, 0.0]]], [[[1.0, 0.0, 0.0]]]])
    found = interventions.temperatures(weights, torch.tensor([1, 0]))
    assert found["target"] == [0.75]
    assert found["U"] == [1.0]


def test_the_true_couplings_take_the_place_of_learned_ones():
    """With J0 in it a bare layer is naive mean field, and its error is computed from that."""
    model, this = trained("spins", "bare, naive", [0.01])
    inputs, targets = this.batch(100, torch.Generator().manual_seed(5))
    with torch.no_grad():
        before = model(inputs)
        found = interventions.judge(model, this, 100, torch.Generator().manual_seed(5))
        after = model(inputs)
    exact = naive_mean_field(fixed_couplings().expand(100, 10, 10), inputs[..., 0].double(), on_failure="warn").m
    expected = (exact - targets).square().mean() / targets.square().mean()
    assert found["with J0"] == pytest.approx(expected.item(), rel=0.02)
    assert before.equal(after)


def test_steps_at_test_are_those_of_a_tied_block_and_of_a_descent():
    model, this = trained("hops", "walker, 2 steps", [2])
    found = interventions.judge(model, this, 600, torch.Generator().manual_seed(5))
    assert found["steps"]["2"] == found["as it is"]
    assert found["steps by hops"][1][1] == pytest.approx(found["as it is"])
    model, this = trained("denoising", "energy, 4 steps", [4, 1.0])
    found = interventions.judge(model, this, 600, torch.Generator().manual_seed(5))
    assert found["steps down"]["4"] == found["as it is"]
    assert interventions.mixers(model)[0].steps == 4


def test_a_denoiser_with_maps_of_one_is_bayes():
    model, this = trained("denoising", "softmax", [16, 1.25])
    mixer = interventions.mixers(model)[0]
    with torch.no_grad():
        for linear in (mixer.to_query, mixer.to_key, mixer.to_value, mixer.to_out, model.out):
            linear.weight.copy_(torch.eye(8))
        mixer.to_query.weight.div_(1.25**2 * mixer.beta)
        model.out.bias.zero_()
        model.stack.blocks[0].residual = False
    found = interventions.judge(model, this, 4000, torch.Generator().manual_seed(5))
    assert found["excess"] == pytest.approx(0.0, abs=1e-5)
    assert found["beta sigma^2"] == pytest.approx(1.0, abs=1e-6)
    assert found["thermometer"]["1.0"][0]["U"][0] == pytest.approx(1.0, abs=0.03)
    assert found["thermometer"]["0.5"][0]["U"][0] < 0.9 < 1.1 < found["thermometer"]["2.0"][0]["U"][0]
