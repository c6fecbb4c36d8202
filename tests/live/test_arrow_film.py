"""The arrow film from Python: its numbers from the definition, spin by spin and flow by flow; what it hides until the guess."""

import html
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.figures import ARROW, ARROW_FILM
from helpers.live import computed, polyline

from attnlib.course.live import ArrowFilm
from attnlib.course.live.arrow_film import DRIVE, FRAMES, SCORES, SPINS, couplings, filmed, log_odds
from attnlib.kinetic import exact_kinetic

STATES = [
    {"beta": beta, "sharpness": g, "symmetric": alpha, "causal": causal, "seed": seed}
    for seed, (beta, g, alpha, causal) in enumerate(
        [(0.2, 0.0, 0.0, True), (0.7, 1.3, 0.0, False), (1.0, 2.0, 0.5, True), (1.6, 4.0, 0.0, False), (2.0, 3.1, 0.8, True)]
    )
]


def chance(J, beta, s, later):
    """Of one move, spin by spin."""
    found = 1.0
    for i in range(SPINS):
        h = DRIVE[i] + sum(J[i][j] * s[j] for j in range(SPINS))
        found *= 1 / (1 + math.exp(-2 * beta * later[i] * h))
    return found


@pytest.mark.parametrize("state", STATES)
def test_its_numbers_by_hand(state):
    """The law by powers of the matrix of all moves, the entropy production as a sum over pairs of states."""
    said, beta = ArrowFilm(**state).readout, state["beta"]
    for i in range(SPINS):
        seen = range(i + 1) if state["causal"] else range(SPINS)
        total = sum(math.exp(state["sharpness"] * SCORES[i][j]) for j in seen)
        row = [math.exp(state["sharpness"] * SCORES[i][j]) / total if j in seen else 0.0 for j in range(SPINS)]
        if state["symmetric"] == 0:
            assert said["J"][i] == pytest.approx(row, abs=1e-12)
        assert said["J"][i][i] == pytest.approx(row[i], abs=1e-12)
    J = torch.tensor(said["J"], dtype=torch.float64)
    assert (J + J.mT).sum().item() == pytest.approx(2 * SPINS, abs=1e-9)  # what is taken away is antisymmetric
    numbers = torch.arange(2**SPINS)
    spins = torch.stack([2.0 * (numbers >> i & 1) - 1 for i in range(SPINS)], -1).double()
    h = beta * (torch.tensor(DRIVE, dtype=torch.float64) + spins @ J.mT)
    P = torch.stack([torch.sigmoid(2 * h[:, i, None] * spins[:, i]) for i in range(SPINS)]).prod(0)
    law = torch.linalg.matrix_power(P, 2**16)[0]
    law = law / law.sum()
    flow = law[:, None] * P
    assert said["e_p"] == pytest.approx((flow * (P / P.mT).log()).sum().item(), abs=1e-9)
    assert said["m"] == pytest.approx((law @ spins).tolist(), abs=1e-9)
    film = said["frames"]
    number = [sum(1 << i for i in range(SPINS) if s[i] > 0) for s in film]
    there = back = 0.0
    for t in range(FRAMES + 1):
        if t:
            there += math.log(chance(said["J"], beta, film[t - 1], film[t]))
            back += math.log(chance(said["J"], beta, film[t], film[t - 1]))
        whole = there + law[number[0]].log().item() - back - law[number[t]].log().item()
        assert said["odds"][t] == pytest.approx(whole, abs=1e-7)


@pytest.mark.slow
def test_films_follow_the_law_and_the_arrow():
    """Over 1,000 seeds: first frames have the exact means, log odds at the end their mean, half of the strips are turned."""
    J, x, beta = couplings(2.0, 0.0, False), torch.tensor(DRIVE, dtype=torch.float64), 0.5
    exact = exact_kinetic(J, x, beta=beta)
    films = [filmed(J, x, beta, exact.law, seed) for seed in range(1000)]
    first = torch.stack([frames[0] for frames, _ in films])
    assert ((first.mean(0) - exact.m).abs() < 4.5 * ((1 - exact.m**2) / 1000).sqrt()).all()
    odds = torch.stack([log_odds(J, x, beta, exact.law, frames)[-1] for frames, _ in films])
    assert (odds.mean() - FRAMES * exact.entropy_production).abs() < 4.5 * odds.std() / 1000**0.5
    assert (odds > 0).double().mean() > 0.9
    assert abs(sum(backwards == "A" for _, backwards in films) - 500) < 72


@pytest.mark.slow
def test_no_arrow_without_the_antisymmetric_part_and_one_by_a_mask_alone():
    even = ArrowFilm(symmetric=1.0, sharpness=4.0).readout
    assert abs(even["e_p"]) < 1e-12
    assert max(map(abs, even["odds"])) < 1e-12
    assert abs(ArrowFilm(sharpness=0.0).readout["e_p"]) < 1e-12
    assert ArrowFilm(sharpness=0.0, causal=True).readout["e_p"] > 0.5


@pytest.mark.parametrize("settings", [{"seed": 2}, {"beta": 2.0, "guess": "A"}, {"symmetric": 1.0}])
def test_the_still_picture_shows_the_film_in_both_directions_and_does_not_say_which(settings):
    figure = ArrowFilm(**settings)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    strips = [path.get("d") for path in drawn.iter("{http://www.w3.org/2000/svg}path")]
    assert len(strips) == 2
    for name, strip in zip("AB", strips, strict=True):
        frames = said["frames"][::-1] if name == said["backwards"] else said["frames"]
        places = [float(x) for x in re.findall(r"M([\d.]+)", strip)]
        wide = 656 / (FRAMES + 1)
        assert places == pytest.approx([44 + wide * t for t, s in enumerate(frames) for spin in s if spin > 0], abs=0.01)
    assert html.escape(figure.alt()) in page
    assert said["backwards"] + " runs" not in figure.alt()


# In a browser


def test_the_odds_wait_for_the_guess_and_are_drawn_from_the_numbers(desk):
    shown, said = desk.show(ARROW_FILM, ARROW), computed(ARROW_FILM, **ARROW)
    assert "guess first" in shown.told()
    assert f"{said['odds'][-1]:.2f}" not in shown.told()
    shown.button(f"{said['backwards']} runs backwards").click()
    shown.is_right()
    assert f"{said['odds'][-1]:.2f}" in shown.told()
    theory, film = (
        polyline(one) for one in shown.box.locator(".side path.line").evaluate_all("all => all.map((p) => p.getAttribute('d'))")
    )
    zero, unit = theory[0, 1], (theory[-1, 1] - theory[0, 1]) / (FRAMES * said["e_p"])
    assert film[:, 1].tolist() == pytest.approx([zero + unit * value for value in said["odds"]], abs=0.11)
    texts = shown.box.locator(".picture text.word").all_text_contents()
    assert texts[said["backwards"] == "B"] == "runs backwards, as you said"
    assert texts[said["backwards"] != "B"] == "runs forwards"


def test_its_tasks_are_done_by_what_they_ask_for(desk):
    shown = desk.show(ARROW_FILM, ARROW)
    shown.put(beta=0.5)
    wrong, right = sorted("AB", key=lambda name: name == computed(ARROW_FILM, **(ARROW | {"beta": 0.5}))["backwards"])
    shown.button(f"{wrong} runs backwards").click()
    assert shown.ask("solved()") == []
    shown.button(f"{right} runs backwards").click()
    shown.is_right()
    assert shown.ask("solved()") == [0]
    shown.put(beta=1.0, symmetric=1.0)
    assert shown.ask("solved()") == [0, 1]
    shown.put(sharpness=0.0, symmetric=0.0)
    assert shown.ask("solved()") == [0, 1]
    shown.put(causal=True)
    assert shown.ask("solved()") == [0, 1, 2]
