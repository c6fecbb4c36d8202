"""Two films from Python: films spin by spin with the same noise, the law by sums over moves, the damage by an integral."""

import html
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.figures import TWINS, TWO_FILMS
from helpers.live import computed, polyline

from attnlib.course.live import TwoFilms
from attnlib.course.live._draws import normals, words
from attnlib.course.live.two_films import FIRST, FRAMES, SCORE_SEED, SPINS, couplings, filmed

STATES = [
    {"beta": 0.3, "kind": "independent", "causal": False, "seed": 5},
    {"beta": 1.0, "kind": "independent", "causal": True, "seed": 0},
    {"beta": 0.7, "kind": "softmax", "causal": False, "seed": 1},
    {"beta": 1.4, "kind": "softmax", "causal": True, "seed": 2},
    {"beta": 2.5, "kind": "signed", "causal": False, "seed": 0},
]


def by_hand(state, n):
    """Couplings of the first n tokens, one by one."""
    numbers = normals(2 * SPINS * SPINS, SCORE_SEED).tolist()
    rows = []
    for i in range(n):
        seen = range(i + 1) if state["causal"] else range(n)
        score = [numbers[i * SPINS + j] for j in range(n)]
        total = sum(math.exp(score[j]) for j in seen)
        row = []
        for j in range(n):
            if j not in seen:
                row.append(0.0)
            elif state["kind"] == "independent":
                row.append(score[j] / math.sqrt(n))
            else:
                sign = math.copysign(1, numbers[SPINS * SPINS + i * SPINS + j]) if state["kind"] == "signed" else 1
                row.append(sign * math.exp(score[j]) / total)
        rows.append(row)
    return rows


@pytest.mark.parametrize("state", STATES)
def test_its_films_by_hand(state):
    said, J, beta = TwoFilms(**state).readout, by_hand(state, SPINS), state["beta"]
    drawn = iter(words(SPINS * FRAMES, state["seed"]))
    films = [[1] * SPINS, [-1] * SPINS, [(-1) ** i for i in range(SPINS)]]
    met = third = -1
    for t in range(FRAMES + 1):
        apart = sum(a != b for a, b in zip(films[0], films[1], strict=True)) / SPINS
        assert said["apart"][t] == apart
        assert said["up"][t] == [sum(s > 0 for s in film) for film in films[:2]]
        met = t if met < 0 and apart == 0 else met
        third = t if third < 0 and films[2] == films[0] else third
        noise = [(next(drawn) + 0.5) / 2**32 for _ in range(SPINS)] if t < FRAMES else []
        if noise:
            fields = [[sum(J[i][j] * film[j] for j in range(SPINS)) for i in range(SPINS)] for film in films]
            films = [[1 if noise[i] < 1 / (1 + math.exp(-2 * beta * h[i])) else -1 for i in range(SPINS)] for h in fields]
    assert (said["met"], said["third"]) == (met, third)


@pytest.mark.parametrize("state", STATES)
def test_its_law_by_hand(state):
    """The stationary law by a high power of all moves; the distance of the law from it, step by step."""
    said, J = TwoFilms(**state).readout, by_hand(state, FIRST)
    for row, wanted in zip(said["J"], J, strict=True):
        assert row == pytest.approx(wanted, abs=1e-12)
    numbers = torch.arange(2**FIRST)
    spins = torch.stack([2.0 * (numbers >> i & 1) - 1 for i in range(FIRST)], -1).double()
    h = state["beta"] * spins @ torch.tensor(J, dtype=torch.float64).mT
    P = torch.stack([torch.sigmoid(2 * h[:, i, None] * spins[:, i]) for i in range(FIRST)]).prod(0)
    rest, law = torch.linalg.matrix_power(P, 2**20)[0], torch.zeros(2**FIRST, dtype=torch.float64)
    law[-1] = 1.0
    for value in said["law"]:
        assert value == pytest.approx((law - rest / rest.sum()).abs().sum().item() / 2, abs=1e-8)
        law = law @ P


def test_the_damage_is_that_of_the_larger_of_two_fields():
    """``d = 2 E tanh max(h, h')`` less twice the mean, which is none: by the law of the larger of two normal numbers."""
    z = torch.linspace(-9, 9, 36_001, dtype=torch.float64)
    for beta in (0.1, 0.9, 2.5):
        d = TwoFilms(beta).readout["damage"]
        inner = torch.erf(z * math.sqrt(d / (2 - 2 * d)))
        right = torch.trapezoid((-(z**2) / 2).exp() / math.sqrt(2 * math.pi) * (beta * z).tanh() * inner, z)
        assert right.item() == pytest.approx(d, abs=1e-9)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("beta", [0.4, 1.5])
def test_softmax_films_are_in_order_and_others_are_not(beta, causal):
    for seed in range(5):
        up, down, between = filmed(couplings("softmax", causal, SPINS), beta, seed).unbind(1)
        assert (up >= between).all()
        assert (between >= down).all()
    films = [filmed(couplings("signed", causal, SPINS), 1.5, seed) for seed in range(5)]
    assert not all(((f[:, 0] >= f[:, 2]) & (f[:, 2] >= f[:, 1])).all() for f in films)


@pytest.mark.slow
def test_films_that_differ_forget_as_the_damage_equation_says():
    """Of independent couplings, over 40 noises, after 20 steps; 32 spins are few, and one draw of them."""
    late = [TwoFilms(1.0, seed=seed).readout["apart"][20:] for seed in range(40)]
    mean = sum(itertools.chain(*late)) / sum(map(len, late))
    assert mean == pytest.approx(TwoFilms(1.0).readout["damage"], abs=0.05)


@pytest.mark.parametrize("settings", [{"seed": 2}, {"beta": 0.5, "kind": "softmax"}, {"beta": 2.5, "causal": True}])
def test_the_still_picture_shows_the_films_and_where_they_differ(settings):
    figure = TwoFilms(**settings)
    page = figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    strips = [path.get("d") for path in drawn.iter("{http://www.w3.org/2000/svg}path")]
    films = filmed(couplings(figure.kind, figure.causal, SPINS), figure.beta, figure.seed)
    wide = 656 / (FRAMES + 1)
    for strip, cells in zip(strips, (films[:, 0] > 0, films[:, 1] > 0, films[:, 0] != films[:, 1]), strict=True):
        across = sum(float(width) for width in re.findall(r"h([\d.]+)", strip))
        pieces = strip.count("M")
        assert across == pytest.approx(wide * cells.sum().item(), abs=0.06 * pieces + 1e-9)
    assert html.escape(figure.alt()) in page


# In a browser


def test_its_lines_are_drawn_from_the_numbers(desk):
    shown, said = desk.show(TWO_FILMS, TWINS), computed(TWO_FILMS, **TWINS)
    law, apart, theory = (
        polyline(one) for one in shown.box.locator(".side path.line").evaluate_all("all => all.map((p) => p.getAttribute('d'))")
    )
    zero, one = law[-1, 1] + said["law"][-1] * (law[0, 1] - law[-1, 1]) / (said["law"][0] - said["law"][-1]), apart[0, 1]
    assert said["apart"][0] == 1.0
    assert apart[:, 1].tolist() == pytest.approx([zero + (one - zero) * value for value in said["apart"]], abs=0.11)
    assert law[:, 1].tolist() == pytest.approx([zero + (one - zero) * value for value in said["law"]], abs=0.11)
    assert theory[:, 1].tolist() == pytest.approx([zero + (one - zero) * said["damage"]] * 2, abs=0.11)


def test_its_tasks_are_done_by_what_they_ask_for(desk):
    shown = desk.show(TWO_FILMS, TWINS)
    assert shown.ask("solved()") == []
    shown.put(beta=0.3)
    assert shown.ask("solved()") == [0]
    shown.put(kind="softmax")
    assert shown.ask("solved()") == [0]
    shown.put(beta=1.6)
    assert shown.ask("solved()") == [0, 1]
    shown.put(kind="signed", beta=1.0)
    assert computed(TWO_FILMS, **(TWINS | {"kind": "signed", "beta": 1.0}))["third"] > 5
    assert shown.ask("solved()") == [0, 1, 2]
