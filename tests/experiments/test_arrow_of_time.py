"""The record of page 8a's predictions: what the script asks for, and some of it measured again."""

import json

import arrow_of_time as script
import pytest
import torch

from attnlib.course import recorded
from attnlib.kinetic import exact_kinetic

RECORD = recorded("arrow_of_time")


pytestmark = pytest.mark.usefixtures("in_double")  # as the script computes


def test_the_record_is_complete_and_what_the_script_asks_for():
    assert RECORD["settings"] == script.SETTINGS
    assert not RECORD["quick"]
    assert RECORD["command"] == "python experiments/arrow_of_time.py"
    for spread in script.SETTINGS["spreads"]:
        assert [row[0] for row in RECORD["arrows"][str(spread)]] == script.SETTINGS["betas"]
        assert len(RECORD["peaks"][str(spread)]["parts"]) == script.SETTINGS["parts"]
    kinds = {(row["spread"], row["beta"], row["seed"]) for row in RECORD["films"]}
    asked = script.SETTINGS["films"]
    assert kinds == {(*kind, seed) for kind in asked["kinds"] for seed in range(asked["couplings"])}


def test_a_small_record_is_whole(tmp_path):
    target = tmp_path / "record.json"
    script.main(["--quick", "--output", str(target)])
    found = json.loads(target.read_text(encoding="utf-8"))
    assert set(found) == set(RECORD)
    assert found["settings"] == script.QUICK


def test_the_top_of_a_parabola_is_found_between_the_betas():
    betas = [1.0, 1.1, 1.3, 1.4]
    assert script.top(betas, torch.tensor([2 - (beta - 1.17) ** 2 for beta in betas])) == pytest.approx(1.17)
    assert script.top(betas, torch.tensor([4.0, 3.0, 2.0, 1.0])) == 1.0


@pytest.mark.slow
def test_parts_of_the_record_are_measured_again():
    """Sums over all states: every digit that is written, on any processor."""
    z = torch.randn(200, 8, 8, generator=script.seeded(0))
    J = (2 * z).softmax(-1)
    (wanted,) = [row[1] for row in RECORD["arrows"]["2.0"] if row[0] == 0.5]
    assert script.arrow(J, 0.5).mean().item() == pytest.approx(wanted, rel=1e-3)
    assert 7 * (J.square().sum(-1).mean().item() - 1 / 8) == pytest.approx(RECORD["hot"]["2.0"], rel=1e-3)
    vectors = torch.randn(200, 8, 4, generator=script.seeded(1))
    assert script.arrow((vectors @ vectors.mT).softmax(-1), 0.5).mean().item() == pytest.approx(RECORD["tied"], rel=1e-3)


@pytest.mark.whole
def test_films_are_told_again():
    """A random number near a threshold may fall on its other side elsewhere: shares within what 4,000 films leave open."""
    J = (2 * torch.randn(8, 8, generator=script.seeded(0))).softmax(-1)
    again = script.told(J, 0.5, script.SETTINGS, 10)
    before = [row for row in RECORD["films"] if (row["spread"], row["beta"], row["seed"]) == (2.0, 0.5, 0)]
    assert [row["nats"] for row in again] == pytest.approx([row["nats"] for row in before], rel=1e-3)
    assert [row["told"] for row in again] == pytest.approx([row["told"] for row in before], abs=0.03)


def test_the_failure_of_the_theorem_is_none_in_equilibrium():
    z = torch.randn(3, 5, 5, generator=script.seeded(2))
    assert script.failure(z + z.mT).max() < 1e-20
    assert script.failure(z).min() > 1e-6
    assert exact_kinetic(z + z.mT, beta=0.5).entropy_production.abs().max() < 1e-10
