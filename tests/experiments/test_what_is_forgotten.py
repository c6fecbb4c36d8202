"""The record of page 8b's predictions: what the script asks for, and some of it measured again."""

import json
import math

import pytest
import torch
import what_is_forgotten as script

from attnlib.course import recorded
from attnlib.kinetic import damage, exact_kinetic, from_the_past

RECORD = recorded("what_is_forgotten")


def test_the_record_is_complete_and_what_the_script_asks_for():
    assert RECORD["settings"] == script.SETTINGS
    assert not RECORD["quick"]
    assert RECORD["command"] == "python experiments/what_is_forgotten.py"
    assert set(script.PARTS) < set(RECORD)
    assert [[row["spins"], row["gain"]] for row in RECORD["meetings"]["rows"]] == script.SETTINGS["meetings"]
    assert [[row["spins"], row["beta"]] for row in RECORD["past"]] == script.SETTINGS["past"]
    assert [row["turned"] for row in RECORD["signs"]["rows"]] == script.SETTINGS["signs"]["turned"]


def test_a_small_record_is_whole_and_goes_on_where_it_stopped(tmp_path):
    target = tmp_path / "record.json"
    script.main(["--quick", "--output", str(target)])
    found = json.loads(target.read_text(encoding="utf-8"))
    assert set(found) == set(RECORD)
    assert found["settings"] == script.QUICK
    target.write_text(json.dumps(found | {"past": "kept"}), encoding="utf-8")
    script.main(["--quick", "--output", str(target)])
    assert json.loads(target.read_text(encoding="utf-8"))["past"] == "kept"


def test_the_chance_to_differ_is_that_of_the_damage_equation():
    for gain in (0.2, 1.0, 3.0):
        kept = damage(gain)
        assert script.differs(kept, gain) == pytest.approx(kept, abs=1e-9)


def test_the_times_of_even_weights_are_those_of_films():
    """By counting, and by letting films meet."""
    n, beta = 6, 0.8
    times, _ = script.met(torch.full((n, n), 1 / n), beta, script.ends(4000, n), 10_000, 3)
    gap = times.double().mean().item() - script.even(n, beta)
    assert abs(gap) < 4 * times.double().std().item() / 4000**0.5


def test_what_two_films_claim_is_the_law_where_no_sign_is_turned():
    J = script.softmax(3, 1.0, 0)
    law = exact_kinetic(J.double()).law
    assert script.distance(script.claimed(J, 1.0, 20_000, 5), law) < 0.015
    drawn, _ = from_the_past(J, samples=20_000, generator=script.seeded(6))
    assert script.distance(drawn, law) < 0.015
    repel = torch.tensor([[0.5, -0.5], [-0.5, 0.5]])
    assert script.distance(script.claimed(repel, 1.5, 20_000, 5), exact_kinetic(repel.double(), beta=1.5).law) > 0.3


def test_parts_of_the_record_are_measured_again():
    """Sums over all states: every digit that is written, on any processor."""
    again = script.masks(script.SETTINGS | {"masks": script.SETTINGS["masks"] | {"betas": [0.05]}})[0]
    assert again["apart"] == pytest.approx(RECORD["masks"][0]["apart"], rel=1e-3)
    assert again["hot"] == pytest.approx(RECORD["masks"][0]["hot"], rel=1e-3)
    for row in RECORD["meetings"]["rows"][:2]:
        assert script.chain(row["spins"], row["gain"]) == pytest.approx(row["chain"], rel=1e-3)
    for n, beta, time in RECORD["even"][:3]:
        assert script.even(n, beta) == pytest.approx(time, rel=1e-3)


@pytest.mark.whole
def test_films_meet_again_when_they_did():
    """A random number near a threshold may fall on its other side elsewhere: means within what the pairs leave open."""
    for k, (n, gain) in enumerate(script.SETTINGS["meetings"][:4]):
        start = script.signs((script.SETTINGS["pairs"], 2, n), 100)
        times, _ = script.met(script.independent(n, gain, 0), 1.0, start, 20_000, 200)
        wanted = RECORD["meetings"]["rows"][k]["systems"][0]
        assert abs(times.double().mean().item() - wanted) < times.double().std().item() / math.sqrt(50)
    rows = script.past(script.SETTINGS | {"past": [[8, 0.5]], "systems": 3})
    assert rows[0]["systems"] == pytest.approx(RECORD["past"][0]["systems"][:3], abs=0.2)


def test_sharp_weights_meet_and_leveled_ones_do_not_once_more():
    asked = script.SETTINGS["cold"] | {"systems": 1, "pairs": 20, "most": 300}
    found = script.cold({"cold": asked})
    assert found["sharp"][0] > 0.5
    assert found["leveled"][0] == 0
