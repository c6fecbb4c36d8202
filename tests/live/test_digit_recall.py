"""Digit recall from Python: its pictures, its numbers against plain loops, what it refuses, what a notebook is given."""

import html
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import numpy as np
import pytest
import torch
import traitlets
from helpers.figures import CUE, DIGIT_RECALL, ONE, digit_place, painted
from helpers.figures import DRAWN as START
from helpers.live import CALM, PHONE, computed, polyline

from attnlib.course.data import flip_spins
from attnlib.course.live import DigitRecall, FigureError
from attnlib.course.live._draws import shuffles
from attnlib.course.live._pictures import spins, written
from attnlib.course.live.digit_recall import DIGITS
from attnlib.hopfield import classical_energy, classical_recall, dense_recall, hebb_weights


def test_a_picture_has_64_pixels():
    with pytest.raises(FigureError, match="a picture has 63 pixels; expected 64"):
        DigitRecall(cue=[1.0] * 63)
    with pytest.raises(traitlets.TraitError, match="stored"):
        DigitRecall().stored = 2.5


def test_takes_tensors():
    memory = spins(DIGITS[20:24])
    figure = DigitRecall(1, -memory[1], patterns=memory, stored=4)
    assert figure.patterns == DIGITS[20:24]
    assert figure.cue == f"{2**64 - 1 - int(DIGITS[21], 16):016x}"
    assert DigitRecall(1, patterns=memory, stored=4).cue == DIGITS[21]


def test_what_comes_back_from_the_browser_is_taken():
    figure = DigitRecall()
    figure.set_state({"degree": 10, "cue": DIGITS[7], "digit": 7, "visits": 64, "stored": 9, "seed": 3})
    assert (figure.degree, figure.cue, figure.digit, figure.visits) == (10, DIGITS[7], 7, 64)
    figure.set_state({"degree": "exp"})
    assert figure.degree == "exp"


# The pictures


@pytest.mark.slow
def test_the_digits_are_those_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: pip install -e .[book]")
    grey = torch.tensor(datasets.load_digits().data[:50])
    assert torch.equal(spins(DIGITS), torch.where(grey > 7.5, 1.0, -1.0).double())


def test_a_picture_is_written_and_read():
    pictures = (torch.rand(20, 64, generator=torch.Generator().manual_seed(0)) > 0.5).double() * 2 - 1
    assert torch.equal(spins([written(picture) for picture in pictures]), pictures)
    assert written([1.0] + 63 * [-1.0]) == "8" + 15 * "0"


def test_shuffles_are_fair():
    """Each of 6,000 shuffles has every number; where a number lands is even: chi squared within five standard deviations."""
    found = torch.tensor(shuffles(8, 6000, seed=2))
    assert torch.equal(found.sort(-1).values, torch.arange(8).expand(6000, 8))
    counts = torch.stack([torch.bincount(column, minlength=8) for column in found.T]).double()
    chi = ((counts - 750) ** 2 / 750).sum().item()
    assert abs(chi - 49) < 5 * (2 * 49) ** 0.5
    assert shuffles(8, 3, seed=2) == found[:3].tolist()
    assert shuffles(8, 3, seed=3) != found[:3].tolist()


# The numbers


def cue(digit, flips, seed=0):
    return flip_spins(spins([DIGITS[digit]]), flips, generator=torch.Generator().manual_seed(seed))[0]


CASES = [
    {},
    {"digit": 3, "cue": cue(3, 12)},
    {"digit": 5, "cue": cue(5, 20), "degree": 2, "stored": 3, "seed": 4, "visits": 30},
    {"digit": 5, "cue": cue(5, 20), "degree": 2, "stored": 30, "visits": 100},
    {"digit": 1, "cue": cue(1, 25), "degree": 3, "stored": 20, "seed": 1, "visits": 64},
    {"digit": 40, "cue": cue(40, 18), "degree": 10, "stored": 50, "seed": 2, "visits": 1000},
    {"digit": 11, "cue": cue(11, 22), "stored": 50, "seed": 2**31 - 1, "visits": 33},
    {"digit": 0, "cue": -spins(ONE)[0], "degree": 2, "stored": 2},
]


def energy_of(state, memory, degree):
    """Straight from the formula of the page."""
    overlaps = memory @ state
    if degree == "exp":
        return -overlaps.exp().sum().log().item()
    return -64 / degree * ((overlaps / 64) ** degree).sum().item()


@pytest.mark.parametrize("settings", CASES)
def test_readout_against_a_plain_loop(settings):
    """Each visit tries both values of a spin and keeps the better one, the old one if they are equally good."""
    figure = DigitRecall(**settings)
    said, memory, state = figure.readout, spins(figure.patterns[: figure.stored]), spins([figure.cue])[0]
    assert said["energies"][0] == pytest.approx(energy_of(state, memory, figure.degree), abs=1e-9)
    assert len(said["energies"]) == len(said["turned"]) + 1 == 64 * said["sweeps"] + 1
    states = [state]
    for visit, k in enumerate(pixel for order in said["orders"] for pixel in order):
        other = state.clone()
        other[k] *= -1
        before, after = (energy_of(each, memory, figure.degree) for each in (state, other))
        if after < before - 1e-9:
            state = other
        assert said["turned"][visit] == (k if after < before - 1e-9 else -1)
        assert said["energies"][visit + 1] == pytest.approx(min(before, after), abs=1e-9)
        states.append(state)
    for k in range(64):  # at rest
        other = state.clone()
        other[k] *= -1
        assert energy_of(other, memory, figure.degree) >= energy_of(state, memory, figure.degree) - 1e-9
    here = states[min(figure.visits, len(states) - 1)]
    assert said["picture"] == written(here)
    assert said["overlaps"] == pytest.approx((memory @ here / 64).tolist(), abs=1e-12)
    assert said["wrong"] == int((here != spins([figure.patterns[figure.digit]])[0]).sum())
    ends = [written(state) == pattern for pattern in figure.patterns[: figure.stored]]
    assert said["found"] == (ends.index(True) if True in ends else -1)
    assert all(len(set(order)) == 64 for order in said["orders"])


@pytest.mark.parametrize("settings", [case for case in CASES if case.get("degree") == 2])
def test_pairs_are_the_network_of_hopfield(settings):
    figure = DigitRecall(**settings)
    said, memory = figure.readout, spins(figure.patterns[: figure.stored])
    J, state = hebb_weights(memory), spins([figure.cue])
    for sweep, order in enumerate(said["orders"]):
        height = classical_energy(state, J).item() - figure.stored / 2
        assert said["energies"][64 * sweep] == pytest.approx(height, abs=1e-9)
        swept = classical_recall(state[:, order], J[order][:, order], max_steps=1).state
        state = state.clone()
        state[:, order] = swept
    assert said["energies"][-1] == pytest.approx(classical_energy(state, J).item() - figure.stored / 2, abs=1e-9)


def test_where_each_network_is_full():
    """Of the first digits, unspoiled, pairs hold three and cubes five. Power 10 holds ten, the exponential all fifty."""

    def holds(degree, stored):
        memory = spins(DIGITS[:stored])
        return bool((dense_recall(memory, memory, degree=degree).iterations == 0).all())

    assert [holds(degree, stored) for degree, stored in ((2, 3), (3, 5), (10, 10), ("exp", 50))] == [True] * 4
    assert [holds(degree, stored) for degree, stored in ((2, 4), (3, 6), (10, 50))] == [False] * 3
    four = [DigitRecall(digit, degree=2, stored=4).readout for digit in range(4)]
    assert all(said["found"] == -1 and said["sweeps"] > 0 for said in four)


# The still picture


def ink(path, left):
    """The pixels that a path of a still picture paints, as a picture."""
    state = [-1.0] * 64
    for x, y, length in (map(int, run) for run in re.findall(r"M(\d+) (\d+)h(\d+)", path)):
        column, row = (x - left) // 16, (y - 80) // 16
        for k in range(length // 16):
            state[8 * row + column + k] = 1.0
    return written(state)


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("settings", CASES)
def test_the_still_picture_is_drawn_from_the_same_numbers(settings):
    figure = DigitRecall(**settings)
    figure.visits = 0
    page = figure.page()
    figure.visits = 64 * figure.readout["sweeps"]
    end = figure.readout
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    words = " ".join(text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text"))
    assert f"from {end['energies'][0]:.2f} to {end['energies'][-1]:.2f}" in words
    paths = list(drawn.iter("{http://www.w3.org/2000/svg}path"))
    painted = [path.get("d") for path in paths if path.get("stroke-width") == "16"]
    assert [ink(path or "", 20 + 150 * i) for i, path in enumerate(painted)] == [
        figure.patterns[figure.digit],
        figure.cue,
        end["picture"],
    ]
    (bars,) = (path.get("d") for path in paths if path.get("fill") == "#d55e00")
    heights = [-float(height) / 64 for height in re.findall(r"v(-?[\d.]+)h", bars)]
    assert heights == pytest.approx(end["overlaps"], abs=0.001)
    assert f"with {figure.stored} stored pictures" in figure.alt()
    assert html.escape(figure.alt(), quote=True) in page


# In a browser


@pytest.fixture
def memory(desk):
    return desk.show(DIGIT_RECALL, START)


def pixel(shown, row, column):
    return shown.picture.locator("button").nth(8 * row + column)


def test_mouse_paints(memory):
    """A stroke paints with what its first pixel is not, and the cue is what is seen."""
    memory.drag([digit_place(memory, 6, column) for column in (1, 2, 3, 4, 20)])  # at last in one leap beyond the edge
    memory.page.mouse.move(*digit_place(memory, 2, 2), steps=3)
    cue = painted(CUE, [(6, column) for column in (1, 2, 3, 4)], 1)
    assert memory.is_right() == START | {"cue": cue}
    pixel(memory, 0, 3).click()
    assert memory.is_right() == START | {"cue": painted(cue, [(0, 3)], -1)}


def test_keyboard_paints(memory):
    pixel(memory, 0, 0).focus()
    for press in ("ArrowDown", "ArrowRight", "Space", "ArrowRight", "Enter", "ArrowUp", "ArrowUp", "Space"):
        memory.page.keyboard.press(press)
        memory.is_right()
    expected = painted(painted(CUE, [(1, 1), (1, 2)], -1), [(0, 2)], 1)
    assert memory.is_right() == START | {"cue": expected}
    assert pixel(memory, 0, 2).get_attribute("aria-label") == "row 1, column 3, wrong"


def test_each_spoiled_picture_is_another(memory):
    memory.button("Mend").click()
    spoiled = set()
    for seed in (1, 2, 3):
        memory.button("Turn 12 pixels").click()
        state = memory.is_right()
        assert state == START | {"cue": state["cue"], "seed": seed}
        assert (spins([state["cue"]]) != spins([DIGITS[3]])).sum() == 12
        spoiled.add(state["cue"])
    assert len(spoiled) == 3
    for name, degree in (("pairs (Hebb)", 2), ("cubes", 3), ("power 10", 10), ("exponential", "exp")):
        memory.button(name).click()
        assert memory.is_right()["degree"] == degree
        assert memory.button(name).get_attribute("aria-pressed") == "true"
    memory.slider("Pictures stored").press("Home")
    assert memory.is_right()["stored"] == 1
    assert "which is not stored" in memory.told()


def test_the_visits_can_be_gone_through(memory):
    slider = memory.slider("Visits")
    slider.press("End")
    assert memory.is_right() == START | {"visits": 64}
    assert memory.phase() == "at rest: picture 3, as meant"
    heights = []
    for _ in range(3):
        slider.press("PageDown")
        state = memory.is_right()
        numbers = computed(DIGIT_RECALL, **state)
        heights.append(numbers["energies"][state["visits"]])
        marks = "pixels => pixels.flatMap((pixel, k) => (pixel.classList.contains('here') ? [k] : []))"
        assert memory.picture.locator("button").evaluate_all(marks) == [numbers["orders"][0][state["visits"] - 1]]
    assert heights == sorted(heights)


@pytest.mark.parametrize("desk", [{"own": True}], indirect=True)
def test_the_recall_is_played(desk):
    """Visit after visit, never back, until it rests; pausing keeps the place, painting begins anew from what is seen.

    Frames are those of the test's own clock. Four sweeps take eight seconds.
    """
    start = DigitRecall(5, DIGITS[5][:8] + 8 * "0", 3).state()
    memory, clock = desk.stopped(DIGIT_RECALL, **start), desk.page.clock

    def push(part):
        part.evaluate("part => part.click()")

    def played(least):
        seen = [memory.ask("model.get('visits')")]
        while seen[-1] < least:
            clock.run_for(100)
            seen.append(memory.ask("model.get('visits')"))
        assert seen == sorted(seen)
        return seen[-1]

    push(memory.button("Recall"))
    visits = played(9)
    push(memory.button("Pause"))
    clock.run_for(1000)
    assert 9 <= visits == memory.ask("model.get('visits')") < 256
    push(memory.button("Recall"))
    assert played(256) == 256
    clock.run_for(100)
    push(memory.button("Recall again"))
    clock.run_for(100)
    assert memory.ask("model.get('visits')") < 256
    played(5)
    push(pixel(memory, 7, 7))
    clock.resume()
    state = memory.is_right()
    assert state == start | {"cue": state["cue"]}
    assert memory.button("Recall").is_visible()
    assert spins([state["cue"]])[0, 63] == 1


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_with_reduced_motion_the_recall_is_there_at_once(desk):
    memory = desk.show(DIGIT_RECALL, START)
    memory.button("Recall").press("Enter")
    assert memory.is_right() == START | {"visits": 64}
    memory.button("Recall again").press("Enter")
    assert memory.is_right() == START


def test_says_where_it_rests(memory):
    """Recalled, another one, the negative, never stored: four ends."""
    for figure, words in (
        (DigitRecall(3, CUE, visits=9999), "at rest: picture 3, as meant"),
        (DigitRecall(3, DIGITS[5], visits=9999), "at rest: picture 5, another one"),
        (DigitRecall(0, -spins(DIGITS[:1])[0], 2, stored=2, visits=9999), "at rest: negative of picture 0"),
        (DigitRecall(3, CUE, 2, stored=30, visits=9999), "at rest: never stored"),
    ):
        memory.put(**figure.state())
        memory.is_right()
        assert memory.phase() == words
        numbers, shown = figure.readout, memory.told()
        assert f"{numbers['energies'][-1]:.2f}\n" in shown
        assert f"{numbers['wrong']} of 64" in shown
        assert f"{max(numbers['overlaps']):.2f}\n" in shown


def test_the_energy_is_drawn_to_scale(desk):
    figure = DigitRecall(5, -spins(DIGITS[5:6])[0], 3, stored=20, visits=70)
    memory, energies = desk.show(DIGIT_RECALL, figure.state()), np.array(figure.readout["energies"])
    plot = memory.box.get_by_role("img", name=re.compile("^Energy after each visit"))
    whole, past = (polyline(line.get_attribute("d")) for line in plot.locator("path.line").all())
    x, y = whole.T
    assert (y - y[-1]) / (y[0] - y[-1]) == pytest.approx((energies - energies[-1]) / (energies[0] - energies[-1]), abs=0.005)
    assert np.diff(x) == pytest.approx(np.full(len(x) - 1, (x[-1] - x[0]) / (len(x) - 1)), abs=0.11)
    assert len(past) == 71
    dot = plot.locator("circle")
    assert [float(dot.get_attribute(name)) for name in ("cx", "cy")] == pytest.approx([x[70], y[70]], abs=0.1)


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_a_phone_shows_the_picture_and_all_that_turns_it(desk):
    memory = desk.show(DIGIT_RECALL, START)
    top = memory.picture.bounding_box()
    assert top["width"] == pytest.approx(top["height"], abs=1)
    for control in (memory.button("Recall"), memory.slider("Pictures stored"), memory.slider("Visits")):
        box = control.bounding_box()
        assert box["y"] >= top["y"] + top["height"]
        assert box["y"] + box["height"] < 844
