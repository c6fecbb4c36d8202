"""The recorded translators of pages 1 and 2b: as the script makes them, rounded without harm, and made again."""

import pytest
import torch
import translators as script

from attnlib.course import recorded
from attnlib.course.data import translation_corpus
from attnlib.course.data.networks import unpacked

RECORD = recorded("translators")
RUNS = {run["score"]: run for run in RECORD["runs"]}
HERE = RECORD["processor"] == script.processor() and RECORD["versions"]["torch"] == torch.__version__
"""Whether what made the record is here: then every digit comes out again."""


def test_the_record_is_complete_and_what_the_script_asks_for():
    settings = {name: getattr(script, name.upper()) for name in ("hidden", "steps", "batch", "rate", "warm_up", "judged")}
    assert RECORD["command"] == "python experiments/translators.py"
    assert RECORD["settings"] == settings
    assert tuple(RUNS) == script.SCORES
    assert script.SHORT.items() <= RECORD["short"].items()
    assert RECORD["short"]["at"] == [*range(0, script.STEPS + 1, script.SHORT["every"])]
    assert [one["seed"] for one in RECORD["others"]] == [*range(1, script.OTHERS + 1)]
    assert all(one["at"] == RECORD["short"]["at"] for one in RECORD["others"])
    for score, run in RUNS.items():
        assert len(run["early"]) == script.EARLY
        assert [row[0] for row in run["history"]] == ([] if score == "none" else [0, 10, *range(25, script.STEPS + 1, 25)])


@pytest.mark.parametrize("score", script.SCORES)
def test_rounding_to_8_bits_hardly_changes_what_a_translator_does(score):
    measured, exact = RUNS[score]["measured"], RUNS[score]["exact"]
    assert measured["bleu"] == pytest.approx(exact["bleu"], abs=1)
    assert measured["aer"] == (None if score == "none" else pytest.approx(exact["aer"], abs=0.01))


@pytest.mark.whole
@pytest.mark.slow
def test_first_steps_come_out_again(unchecked, monkeypatch):
    """Rounding grows in training; over ten steps another processor changes nothing that would be seen."""
    corpus = translation_corpus()
    monkeypatch.setattr(script, "translation_corpus", lambda: corpus)
    _, history, _ = script.trained("additive", until=10)
    assert [row[0] for row in history] == [0, 10]
    for row, before in zip(history, RUNS["additive"]["history"], strict=False):
        assert row == pytest.approx(before, rel=1e-3)
    found, record = script.short(until=0), RECORD["short"]["scores"]
    assert found["scores"]["shape"] == [1, *record["shape"][1:]]
    assert found["pairs"] == RECORD["short"]["pairs"]
    torch.testing.assert_close(unpacked(found["scores"])[0], unpacked(record)[0], atol=record["scale"], rtol=0)
    other, record = script.another(2, until=0), RECORD["others"][1]
    for name in ("spread", "participation", "gaussian", "one"):
        assert other[name] == pytest.approx(record[name][:1], rel=1e-3)


@pytest.mark.whole
@pytest.mark.parametrize("score", script.SCORES)
def test_a_translator_can_be_trained_again(score, unchecked):
    """The same where the processor is. Elsewhere training amplifies the last digit: the losses of the first steps are the same,
    and what the page says of it, roughly."""
    again, before = script.run(score), RUNS[score]
    if HERE:
        same = set(before) - {"cpu_seconds"}
        assert {key: again[key] for key in same} == {key: before[key] for key in same}
        return
    assert again["early"] == pytest.approx(before["early"], abs=1e-3)
    assert again["exact"]["bleu"] == pytest.approx(before["exact"]["bleu"], abs=10)
    if score != "none":
        assert again["exact"]["aer"] == pytest.approx(before["exact"]["aer"], abs=0.1)
        assert again["history"][2][1:] == pytest.approx(before["history"][2][1:], rel=0.1)  # after 25 steps


@pytest.mark.whole
def test_the_short_translator_can_be_trained_again(unchecked):
    again, before = script.short(), RECORD["short"]
    if HERE:
        assert again == before
        return
    assert again["early"] == pytest.approx(before["early"], abs=0.01)
    spreads = [unpacked(found["scores"]).std(-1).mean((1, 2)) for found in (again, before)]
    torch.testing.assert_close(*spreads, rtol=0.2, atol=0)
