"""Digit recall from Python: its pictures, its numbers against plain loops, what it refuses, what a notebook is given."""

import html
import json
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install -e .[book]")

import traitlets

from attnlib.course.live import DigitRecall, FigureError
from attnlib.course.live._draws import shuffles
from attnlib.course.live._pictures import spins, written
from attnlib.course.live.digit_recall import DIGITS
from attnlib.hopfield import classical_energy, classical_recall, dense_recall, flip_spins, hebb_weights

SIXTY_KB = 60_000
ONE = [DIGITS[0]]
BAD = [
    ({"patterns": [], "stored": 1, "digit": 0}, "patterns has 0 pictures; expected 1 to 64"),
    ({"patterns": DIGITS * 2}, "patterns has 100 pictures"),
    ({"patterns": [*DIGITS[:10], "183C262626242C18"]}, "patterns has the picture '183C262626242C18'"),
    ({"patterns": ONE, "digit": 0}, "stored is 10; expected an integer from 1 to 1"),
    ({"stored": 0}, "stored is 0; expected an integer from 1 to 50"),
    ({"stored": 51}, "stored is 51"),
    ({"digit": 50}, "digit is 50; expected an integer from 0 to 49"),
    ({"digit": -1}, "digit is -1"),
    ({"cue": "183c"}, "cue is '183c'; expected 16 hexadecimal digits in small letters"),
    ({"cue": "183c262626242c1x"}, "cue is '183c262626242c1x'"),
    ({"degree": 4}, "degree is 4; expected one of 2, 3, 10, 'exp'"),
    ({"degree": "cosh"}, "degree is 'cosh'"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": 2**31}, "seed is 2147483648"),
    ({"visits": -1}, "visits is -1"),
]


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        DigitRecall(**settings)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize(("settings", "complaint"), [case for case in BAD if len(case[0]) == 1])
def test_keeps_the_old_value_when_it_refuses(settings, complaint):
    figure = DigitRecall(2, degree=3, stored=5, seed=1, visits=9)
    before = figure.state()
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == before


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
        return bool((dense_recall(memory, memory, degree=degree).steps == 0).all())

    assert [holds(degree, stored) for degree, stored in ((2, 3), (3, 5), (10, 10), ("exp", 50))] == [True] * 4
    assert [holds(degree, stored) for degree, stored in ((2, 4), (3, 6), (10, 50))] == [False] * 3
    four = [DigitRecall(digit, degree=2, stored=4).readout for digit in range(4)]
    assert all(said["found"] == -1 and said["sweeps"] > 0 for said in four)


# What a notebook is given


@pytest.mark.parametrize("settings", CASES)
def test_a_notebook_gets_a_small_page_that_is_the_same_every_time(settings):
    figure = DigitRecall(**settings)
    data, metadata = figure._repr_mimebundle_()
    assert len(json.dumps(data | metadata)) < SIXTY_KB
    assert data["text/html"] == DigitRecall(**settings).page()
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', data["text/html"])[1])) == figure.state()
    assert set(re.findall(r"https?://[^\"'%\s]+", data["text/html"])) == {"http://www.w3.org/2000/svg"}  # a name, not a place


def ink(path, left):
    """The pixels that a path of a still picture paints, as a picture."""
    state = [-1.0] * 64
    for x, y, length in (map(int, run) for run in re.findall(r"M(\d+) (\d+)h(\d+)", path)):
        column, row = (x - left) // 16, (y - 80) // 16
        for k in range(length // 16):
            state[8 * row + column + k] = 1.0
    return written(state)


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
