"""The record of page 8c's predictions: what the script asks for, and some of it measured again."""

import json
from dataclasses import replace

import driven_attention as script
import driven_heads
import pytest
import torch

from attnlib.course import recorded
from attnlib.kinetic import exact_kinetic, stationary_closure

RECORD = recorded("driven_attention")


@pytest.fixture(autouse=True)
def _own_dtype():
    """The script sets the default as it goes; it is put back."""
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def test_the_record_is_complete_and_what_the_script_asks_for():
    assert RECORD["settings"] == script.SETTINGS
    assert not RECORD["quick"]
    assert RECORD["command"] == "python experiments/driven_attention.py"
    places = [(row["symmetry"], row["strength"]) for row in RECORD["closures"]]
    assert places == [(eta, g) for eta in script.SETTINGS["symmetries"] for g in script.SETTINGS["strengths"]]
    assert all(len(row[name]) == 5 for row in RECORD["closures"] for name in script.CLOSURES)
    assert all(set(row["rested"]) == set(script.CLOSURES) for row in RECORD["closures"])
    heads = [run for task in ("digits", "recall", "random") for run in RECORD["heads"][task]]
    assert all(run["rested"][name] == 1 for run in heads for name in script.CLOSURES)  # nothing is read on its way
    few = script.SETTINGS["few"]
    for spread in few["spreads"]:
        found = RECORD["softmax"][str(spread)]
        assert all(len(found["means"][name]) == len(few["betas"]) for name in script.CLOSURES)
        assert all(len(found["arrow"][name]) == few["draws"] for name in script.CLOSURES)
    assert [*RECORD["stacks"]] == [str(width) for width in script.SETTINGS["stacks"]["widths"]]
    assert [row["seed"] for task in ("digits", "recall", "random") for row in RECORD["heads"][task]] == 3 * [1, 2, 3, 4, 5]
    assert set(RECORD["digits"]) == set(driven_heads.MIXERS)
    assert all(row["right"] > 0.99 for row in RECORD["heads"]["recall"])


@pytest.mark.slow
def test_a_small_record_is_whole(tmp_path):
    target = tmp_path / "record.json"
    script.main(["--quick", "--output", str(target)])
    found = json.loads(target.read_text(encoding="utf-8"))
    assert set(found) == set(RECORD)
    assert found["settings"] == script.QUICK


def test_couplings_have_the_symmetry_that_is_asked_for():
    torch.set_default_dtype(torch.float64)
    for symmetry in (0.0, 0.5, 1.0):
        J = script.spread_out(200, symmetry, script.seeded(0))
        assert J.diagonal().abs().max() == 0
        assert (200 * J.square().sum() / 200**2).item() == pytest.approx(1, abs=0.03)
        assert ((J * J.mT).sum() / J.square().sum()).item() == pytest.approx(symmetry, abs=0.03)


def test_what_two_halves_say_is_free_of_their_noise():
    """A truth that is known, two halves with noise of a tenth: the plain error is the noise, that of halves what is wrong."""
    torch.set_default_dtype(torch.float64)
    truth, noise = torch.randn(4000, generator=script.seeded(0)), torch.randn(2, 4000, generator=script.seeded(1)) / 10
    one, other = truth + noise
    assert script.off(truth, one) == pytest.approx(0.1, abs=0.01)
    assert abs(script.off_sampled(truth, one, other)) < 0.03
    assert script.off_sampled(1.2 * truth, one, other) == pytest.approx(0.2, abs=0.01)


def test_parts_of_the_record_are_measured_again():
    """Sums over all states: every digit that is written, on any processor."""
    torch.set_default_dtype(torch.float64)
    z, x = torch.randn(50, 8, 8, generator=script.seeded(0)), 0.3 * torch.randn(50, 8, generator=script.seeded(1))
    J, k = (2 * z).softmax(-1)[:5], script.SETTINGS["few"]["betas"].index(0.9)
    truth = exact_kinetic(J, x[:5], beta=0.9).m
    for name in ("naive", "correlated"):
        found = stationary_closure(J, x[:5], beta=0.9, closure=name).m
        again = [script.off(one, other) for one, other in zip(found, truth, strict=True)]
        assert again == pytest.approx(RECORD["softmax"]["2.0"]["means"][name][k][:5], rel=1e-3)
    again = script.lost(16, 1.0, 3)
    assert again == pytest.approx(RECORD["delayed"][0]["runs"][2], rel=1e-3)


def test_the_source_form_is_right_to_second_order_and_not_beyond():
    torch.set_default_dtype(torch.float64)
    z = torch.randn(5, 6, 6, generator=script.seeded(0)).softmax(-1)
    gap = []
    for size in (0.02, 0.04):
        m = stationary_closure(size * z, closure="naive").m
        gap.append((script.source_form(size * z, m) / exact_kinetic(size * z).entropy_production - 1).abs().max().item())
    assert gap[0] < 1e-2
    assert gap[1] > gap[0]


def test_the_form_with_gains_is_exact_for_a_linear_response_and_in_the_limit_of_weak_weights():
    """Delayed covariances that are linear give their gains away; tokens that read nothing make no NaN."""
    torch.set_default_dtype(torch.float64)
    z, x = torch.randn(5, 6, 6, generator=script.seeded(0)).softmax(-1), torch.randn(5, 6, generator=script.seeded(1))
    z[:, 0] = 0
    equal = torch.eye(6) + 0.1 * torch.ones(6, 6)
    delayed = torch.linspace(0.2, 0.9, 6)[:, None] * (z @ equal)
    linear = replace(exact_kinetic(z, x), C=torch.stack([equal.expand(5, 6, 6), delayed], 1))
    arrow = ((z - z.mT) * delayed).sum((-2, -1))
    torch.testing.assert_close(script.with_gains(z, linear, equal), arrow)
    assert (script.with_gains(z, linear, torch.eye(6)) / arrow - 1).abs().min() > 0.05
    for size in (0.02, 0.08):
        exact = exact_kinetic(size * z, x)
        found = script.with_gains(size * z, exact, exact.C[..., 0, :, :])
        assert (found / exact.entropy_production - 1).abs().max() < 0.15 * size


def test_sequences_repeat_and_networks_that_forget_are_no_better_than_a_guess():
    signs = driven_heads.sequences(100, script.seeded(0))
    assert signs.shape == (100, 11)
    assert torch.equal(signs[:, :6], signs[:, 5:])
    asked = script.SETTINGS["heads"] | {"recall steps": 0}
    assert driven_heads.recalled(asked, 1)[1] < 0.3


@pytest.mark.whole
def test_runs_of_the_record_are_measured_again():
    """Trained heads of one seed, and a stack: within what rounding, which grows in training, leaves open."""
    torch.set_default_dtype(torch.float64)
    again = script.stacked(16, script.SETTINGS["stacks"], 2)
    assert again["naive"] == pytest.approx(RECORD["stacks"]["16"][1]["naive"], abs=2e-3)
    torch.set_default_dtype(torch.float32)
    found = script.by_task(script.SETTINGS | {"seeds": [2]})
    for task in ("digits", "recall"):
        before = RECORD["heads"][task][1]
        assert found[task][0]["naive"] == pytest.approx(before["naive"], rel=0.3)
        assert found[task][0]["correlated"] < found[task][0]["naive"]
