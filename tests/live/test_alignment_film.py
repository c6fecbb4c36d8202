"""The alignment film from Python: its recording against itself, another recording and a rerun; what it shows and refuses."""

import base64
import html
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote

import alignment_film
import numpy as np
import pytest
import torch
import traitlets
from helpers.figures import ALIGNMENT_FILM
from helpers.figures import PAIR as START
from helpers.live import computed

from attnlib.course import recorded
from attnlib.course.data import translation_corpus
from attnlib.course.live import AlignmentFilm, FigureError

RECORD = recorded("alignment_film")
CODE, DATA = 60_000, 150_000
RUNS = pytest.mark.parametrize("run", RECORD["runs"], ids=lambda run: f"{run['score']}-{run['seed']}-{run['steps']}")


def pictures(run, sentence):
    """The stored parts, ``[frames, n, m]``."""
    said = RECORD["sentences"][sentence]
    parts = np.frombuffer(base64.b64decode(run["films"][sentence]["weights"]), np.uint8)
    return parts.reshape(-1, len(said["target"]), len(said["source"])).astype(float)


# The recording


def test_the_recording_is_complete_and_what_the_script_asks_for():
    assert RECORD["command"] == "python experiments/alignment_film.py"
    assert set(RECORD["versions"]) == {"python", "torch", "attnlib"}
    known = ("hidden", "score", "seed", "steps", "rate")
    assert [{key: run[key] for key in known} for run in RECORD["runs"]] == alignment_film.settings()
    assert [" ".join(said["source"]) for said in RECORD["sentences"]] == list(alignment_film.SENTENCES)
    size = Path(alignment_film.RESULTS).stat().st_size
    assert size < DATA
    for run in RECORD["runs"]:
        assert run["at"] == alignment_film.watched(run["steps"])
        assert {len(run[key]) for key in ("loss", "aer", "entropy", "spread")} == {len(run["at"])}


@pytest.mark.whole
def test_the_sentences_are_of_the_test_set_with_their_gold_links():
    pairs = {pair.source: pair for pair in translation_corpus().test}
    for said in RECORD["sentences"]:
        pair = pairs[tuple(said["source"])]
        assert tuple(said["target"]) == pair.target
        assert {tuple(link) for link in said["gold"]} == pair.alignment


@RUNS
@pytest.mark.parametrize("sentence", range(len(RECORD["sentences"])))
def test_the_weights_agree_with_the_curves_as_far_as_eight_bits_can_say(run, sentence):
    """Every weight is within a part of 255 of the true one: what entropy and error can be is an interval, and it holds them."""
    parts, film, gold = pictures(run, sentence), run["films"][sentence], RECORD["sentences"][sentence]["gold"]
    assert len(parts) == len(run["at"])
    assert (parts.sum(-1) == 255).all()
    ends = np.stack([np.clip(parts + move, 0, 255) / 255 for move in (-1, 0, 1)])
    terms = -ends * np.log(np.where(ends > 0, ends, 1))
    peak = (ends[0] < 1 / math.e) & (ends[2] > 1 / math.e)
    low, high = terms.min(0), np.where(peak, 1 / math.e, terms.max(0))
    scale = math.log(parts.shape[-1])
    for entropy, least, most in zip(film["entropy"], low.sum(-1).mean(-1) / scale, high.sum(-1).mean(-1) / scale, strict=True):
        assert least - 5e-5 <= entropy <= most + 5e-5
    possible = parts >= parts.max(-1, keepdims=True) - 1  # a true weight that is largest has one of these places
    golden = np.zeros(parts.shape[1:], bool)
    golden[tuple(zip(*gold, strict=True))] = True
    surely, perhaps = ((golden | ~possible).all(-1).sum(-1), (golden & possible).any(-1).sum(-1))
    if run["score"] == "dot":  # frozen at the end: no doubt is left
        assert surely[-1] == perhaps[-1]
    links = parts.shape[1] + len(gold)
    for error, least, most in zip(film["aer"], 1 - 2 * perhaps / links, 1 - 2 * surely / links, strict=True):
        assert least - 5e-5 <= error <= most + 5e-5


@pytest.mark.parametrize("place", [i for i, run in enumerate(RECORD["runs"]) if run["steps"] == 400])
def test_the_short_runs_are_those_of_the_table(place):
    """The table of widths was recorded by another script: the same runs, watched at steps of its own."""
    run = RECORD["runs"][place]
    known = ("hidden", "score", "seed", "steps", "rate")
    same = {key: run[key] for key in known} | {"block": "warm-up", "warm_up": 20, "normalise": False}
    record = recorded("translation_scores")
    (row,) = (row for row in record["runs"] if all(row[key] == value for key, value in same.items()))
    step, entropy = (record["early"].index(name) for name in ("step", "entropy"))
    table = {moment[step]: moment[entropy] for moment in row["early"]}
    common = [step for step in run["at"] if step in table]
    assert len(common) > 8
    entropy = dict(zip(run["at"], run["entropy"], strict=True))
    assert [entropy[step] for step in common] == pytest.approx([table[step] for step in common], abs=2e-4)
    assert run["test_aer"] == pytest.approx(row["aer"], abs=1e-4)


@pytest.mark.whole
def test_the_beginning_of_a_run_can_be_repeated():
    """Twenty steps: later the last digit of another processor would have grown too much."""
    setting, run = alignment_film.settings()[1], RECORD["runs"][1]
    again = alignment_film.run(setting, *alignment_film.lessons(), until=20)
    count = len(again["at"])
    assert again["at"] == run["at"][:count] == [0, 5, 10, 15, 20]
    for name, close in (("loss", 2e-3), ("aer", 0.01), ("entropy", 5e-3), ("spread", 5e-3)):
        assert again[name] == pytest.approx(run[name][:count], abs=close), name
    for sentence, film in enumerate(again["films"]):
        parts = np.frombuffer(base64.b64decode(film["weights"]), np.uint8).astype(float)
        assert np.abs(parts - pictures(run, sentence)[:count].ravel()).max() <= 3


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (40, 9), (5, 300)])
def test_parts_sum_to_255_and_are_nowhere_off_by_one(shape):
    weights = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).mul(3).softmax(-1)
    parts = alignment_film.parts(weights).double()
    assert (parts.sum(-1) == 255).all()
    assert ((parts - 255 * weights).abs() < 1).all()


# The figure


def test_refuses_another_record():
    with pytest.raises(FigureError, match="record is"):
        AlignmentFilm(recorded("associative_capacity"))
    with pytest.raises(traitlets.TraitError, match="step"):
        AlignmentFilm(RECORD).step = "late"


def test_what_comes_back_from_the_browser_is_taken():
    figure = AlignmentFilm(RECORD)
    figure.set_state({"run": 2, "sentence": 1, "step": 700})
    assert (figure.run, figure.sentence, figure.step) == (2, 1, 700)
    with pytest.raises(FigureError):
        figure.set_state({"step": 2002})


@pytest.mark.parametrize(("run", "sentence", "step"), [(0, 0, 0), (1, 2, 33), (2, 1, 2000), (3, 1, 400), (2, 0, 1999)])
def test_readout_against_definitions(run, sentence, step):
    figure, stored = AlignmentFilm(RECORD, run, sentence, step), RECORD["runs"][run]
    said, frame = figure.readout, max(i for i, at in enumerate(stored["at"]) if at <= step)
    weights = pictures(stored, sentence)[frame] / 255
    assert said["step"] == stored["at"][frame]
    assert np.array(said["weights"]) == pytest.approx(weights, abs=1e-15)
    gold = {tuple(link) for link in RECORD["sentences"][sentence]["gold"]}
    found = {(i, int(j)) for i, j in enumerate(weights.argmax(-1))}
    assert said["links"] == [j for _, j in sorted(found)]
    assert said["right"] == len(found & gold)
    assert said["sentence_aer"] == pytest.approx(1 - 2 * len(found & gold) / (len(found) + len(gold)), abs=1e-12)
    entropy = torch.distributions.Categorical(probs=torch.from_numpy(weights)).entropy().mean() / math.log(weights.shape[1])
    assert said["sentence_entropy"] == pytest.approx(entropy.item(), abs=1e-6)
    assert [said[name] for name in ("loss", "aer", "entropy", "spread")] == [
        stored[name][frame] for name in ("loss", "aer", "entropy", "spread")
    ]


def test_a_short_run_stands_still_after_its_end():
    early, late = AlignmentFilm(RECORD, 0, 0, 400), AlignmentFilm(RECORD, 0, 0, 2000)
    assert early.readout == late.readout


def test_the_still_picture_is_drawn_from_the_same_numbers():
    figure = AlignmentFilm(RECORD, 0, 0, 100)
    said, name = figure.readout, "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', figure.page())[1]))
    words = " ".join(text.text for text in drawn.iter(f"{name}text"))
    assert f"{said['right']} of 8 largest weights lie on gold links" in words
    assert all(word in words for side in ("source", "target") for word in RECORD["sentences"][0][side])
    shades = [float(part.get("fill-opacity")) for part in drawn.iter(f"{name}rect") if part.get("fill-opacity")]
    assert shades == pytest.approx(np.ravel(said["weights"]), abs=0.005)
    rings = [part for part in drawn.iter(f"{name}circle") if part.get("fill") == "none"]
    assert len(rings) == len(RECORD["sentences"][0]["gold"])
    assert f"after step 100: {said['right']} of 8" in figure.alt()
    assert html.escape(figure.alt()) in figure.page()


# In a browser


def test_what_is_drawn_is_what_is_told(desk):
    film = desk.show(ALIGNMENT_FILM, START)
    for state in (START, START | {"sentence": 1, "step": 400}, START | {"run": 3, "sentence": 0}):
        film.put(**state)
        film.is_right()
        numbers, words = computed(ALIGNMENT_FILM, **state), RECORD["sentences"][state["sentence"]]
        assert film.column("rect.weight", "fill-opacity") == pytest.approx(np.ravel(numbers["weights"]), abs=1e-4)
        size = float(film.picture.locator("rect").first.get_attribute("width")) + 1

        def centers(kind, size=size):
            return [(round((y - 74) / size - 0.5), round((x - 72) / size - 0.5)) for x, y in film.numbers(kind, "cx", "cy")]

        assert sorted(centers("circle.gold")) == sorted((i, j) for i, j in words["gold"])
        assert centers("circle.link") == list(enumerate(numbers["links"]))
        assert film.box.get_by_text(f"{numbers['right']} of {len(words['target'])} on gold").is_visible()
        told = film.box.get_by_role("img").nth(1).evaluate("part => part.textContent")
        for name in ("loss", "aer", "entropy", "spread"):
            assert f": {numbers[name]:.2f}" in told
