"""The denoiser from Python: Bayes' rule by hand, the even noise, the thermometer, its sentences; in a browser what it hides."""

import html
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from helpers.figures import DENOISER
from helpers.figures import NOISY as START
from helpers.live import CALM, computed

from attnlib import hopfield_energy
from attnlib.course.live import Denoiser, denoiser

MANY = pytest.mark.parametrize(("memories", "sigma"), [(2, 0.6), (5, 0.8), (5, 1.5), (8, 0.5), (8, 1.1)])


def over_all_noise(memories, sigma, answer, side=60):
    """The average over all noise of what a question gets, ``answer(query, truth, place)``, by Gauss and Hermite's rule."""
    nodes, weights = (torch.tensor(part) for part in np.polynomial.hermite_e.hermegauss(side))
    noise, mass = torch.cartesian_prod(nodes, nodes), torch.outer(weights, weights).reshape(-1) / (2 * math.pi)
    places = denoiser.questions(memories, sigma).memories[0]
    found = [answer(place + sigma * noise, place, j) @ mass for j, place in enumerate(places)]
    return sum(found).item() / memories


# Its numbers, by hand


@MANY
def test_one_whole_step_at_the_right_temperature_is_the_mean_of_the_posterior(memories, sigma):
    """Bayes' rule from distances: no memory's length is used."""
    figure = Denoiser([0.4, -0.9], sigma=sigma, memories=memories)
    said = figure.readout
    places = torch.tensor(said["places"], dtype=torch.float64)
    law = torch.distributions.Normal(places, sigma).log_prob(torch.tensor(figure.query, dtype=torch.float64)).sum(-1).softmax(0)
    assert said["weights"] == pytest.approx(law.tolist(), abs=1e-12)
    assert said["states"][1] == pytest.approx((law @ places).tolist(), abs=1e-12)
    assert said["posterior"] == pytest.approx(said["states"][1], abs=1e-12)
    assert said["errors"][1] == pytest.approx(said["bayes"], abs=1e-12)


@MANY
def test_memories_are_equally_long(memories, sigma):
    places = torch.tensor(Denoiser(memories=memories).readout["places"], dtype=torch.float64)
    assert places.square().sum(-1).tolist() == pytest.approx([2.0] * memories)
    assert torch.pdist(places).min() > 0.7


@MANY
def test_the_questions_stand_for_all_noise(memories, sigma):
    """Errors and the thermometer of 64 even copies of each memory are those of the whole law, by quadrature."""
    said, places = Denoiser(sigma=sigma, memories=memories).readout, denoiser.questions(memories, sigma).memories[0]
    assert said["errors"][0] == pytest.approx(sigma**2)

    def law(query):
        return torch.distributions.Normal(places, sigma).log_prob(query[:, None]).sum(-1).softmax(-1)

    least = over_all_noise(memories, sigma, lambda query, truth, _: (law(query) @ places - truth).square().mean(-1))
    sure = over_all_noise(memories, sigma, lambda query, *_: law(query).square().sum(-1))
    right = over_all_noise(memories, sigma, lambda query, truth, j: law(query)[:, j])
    assert said["bayes"] == pytest.approx(least, abs=0.005)
    assert sure == pytest.approx(right, abs=1e-4)
    assert (said["sure"], said["right"]) == (pytest.approx(sure, abs=0.005), pytest.approx(right, abs=0.005))


@MANY
@pytest.mark.parametrize("half", [False, True])
def test_no_number_of_steps_errs_less_than_one(memories, sigma, half):
    said = Denoiser(sigma=sigma, memories=memories, half=half).readout
    assert said["bayes"] == pytest.approx(min(said["errors"] + [said["bayes"]]))
    assert half or said["errors"].index(min(said["errors"])) == 1


@MANY
def test_the_thermometer_is_one_at_the_right_temperature_above_colder_below_hotter(memories, sigma):
    betas = [scale / sigma**2 for scale in (0.5, 0.8, 1, 1.25, 2)]
    read = [Denoiser(sigma=sigma, memories=memories, beta=beta).readout["ratio"] for beta in betas]
    assert read == sorted(read)
    assert read[2] == pytest.approx(1, abs=0.005)
    assert read[0] < 0.985
    assert read[4] > 1.008


def test_steps_go_down_the_energy():
    figure = Denoiser([-1.9, 0.3], half=True, beta=3.0)
    said = figure.readout
    places, states = (torch.tensor(said[name], dtype=torch.float64) for name in ("places", "states"))
    heights = states.square().sum(-1) / 2 - torch.logsumexp(3.0 * states @ places.mT, -1) / 3.0
    assert (heights.diff() < 0).all()


def test_sentences_are_true():
    said = {name: Denoiser(**scene).readout["errors"][scene["steps"]] for name, scene in denoiser.SCENES.items()}
    one, four, halves, cold, hot = said.values()
    least = Denoiser(**denoiser.SCENES["one step is Bayes"]).readout["bayes"]
    assert one == pytest.approx(least, abs=1e-12)
    assert four > 1.15 * least
    assert least < 1.01 * least < halves < four
    assert min(cold, hot) > 1.01 * least
    ratios = [Denoiser(**scene).readout["ratio"] for scene in list(denoiser.SCENES.values())[3:]]
    assert ratios[0] > 1.1 > 0.9 > ratios[1]


# The still picture


@pytest.mark.parametrize("blind", [False, True])
def test_the_still_picture_is_drawn_from_the_same_numbers(blind):
    figure = Denoiser(steps=3, half=True, sigma=1.23, blind=blind)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    bars = [float(part.get("height")) for part in drawn.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert bars == ([] if blind else pytest.approx([240 * error / max(said["errors"]) for error in said["errors"]], abs=0.06))
    assert ("1.23" in figure.alt()) is not blind
    assert f"The thermometer reads {said['ratio']:.2f}." in figure.alt()
    assert html.escape(figure.alt()) in page


# In a browser


def head(shown):
    ((x, y),) = shown.numbers(".here", "cx", "cy")
    scale = shown.picture.locator("svg").first.bounding_box()["width"] / 5
    return x / scale - 2.5, 2.5 - y / scale


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_the_head_of_the_path_is_where_the_steps_lead(desk):
    shown = desk.show(DENOISER, START)
    for steps in (0, 1, 5):
        shown.put(steps=steps)
        assert head(shown) == pytest.approx(computed(DENOISER, **START | {"steps": steps})["states"][steps], abs=0.01)
        assert len(shown.numbers(".state", "cx")) == steps + 2  # the path, its head, and the point of the chart


@pytest.mark.parametrize("desk", [{"own": True}, {"own": True} | CALM], indirect=True, ids=["motion", "calm"])
def test_on_arrival_the_query_goes_its_way_once(desk, request):
    """From where it is to where the steps lead; who asks for reduced motion sees the end at once."""
    shown, states = desk.stopped(DENOISER, **START | {"steps": 4}), computed(DENOISER, **START | {"steps": 4})["states"]
    shown.page.clock.run_for(100)
    calm = "calm" in request.node.name
    near = pytest.approx(states[4], abs=0.01)
    assert (head(shown) == near) is calm
    shown.page.clock.run_for(4000)
    assert head(shown) == near
    shown.page.clock.run_for(4000)
    assert head(shown) == near


def test_the_challenge(desk):
    """Hidden: no noise, no errors, no mark. Found where U reads one; told how far off elsewhere."""
    shown = desk.show(DENOISER, START)
    shown.button("Hide \u03c3").click()
    state = shown.is_right()
    assert shown.slider("Noise").count() == 0
    assert shown.box.locator(".side svg text").all_text_contents() == ["errors are hidden: they would tell \u03c3"]
    assert "squared" not in shown.told("dl")
    assert shown.box.locator(".noise, .posterior, .mark i").count() == 0
    assert f"{state['sigma']:.2f}" not in shown.told(".controls").replace("U reads 1.00", "")
    shown.put(beta=1.02 / state["sigma"] ** 2)
    assert shown.told("dl").count("1.00") or shown.told("dl").count("1.01")
    shown.button("I have it").click()
    shown.is_right()
    assert f"\u03c3 was {state['sigma']:.2f}" in shown.told(".task")
    assert "1 % off. Found!" in shown.told(".task")
    shown.button("Hide \u03c3").click()
    state = shown.is_right()
    shown.put(beta=0.5 / state["sigma"] ** 2)
    shown.button("I have it").click()
    shown.is_right()
    assert "41 % off. Try another." in shown.told(".task")
    shown.slider("Steps").press("End")
    shown.is_right()
    assert shown.told(".task") == "Can you read \u03c3 off the thermometer?"


def test_every_hidden_noise_is_in_reach(desk):
    drawn = desk.module(DENOISER).evaluate("() => Array.from({ length: 200 }, (_, seed) => module.hidden(seed))")
    low, high = denoiser.DRAWN
    assert low <= min(drawn) < low + 0.02 < high - 0.02 < max(drawn) <= high
    assert len(set(drawn)) > 30
    assert denoiser.BETA_RANGE[0] < 0.2 / high**2 < 2 / low**2 < denoiser.BETA_RANGE[1]


@pytest.mark.parametrize(("memories", "beta"), [(2, 0.1), (5, 1.7), (8, 10.0)])
def test_the_landscape_is_that_of_the_package(desk, memories, beta):
    heights = desk.module(DENOISER).evaluate("given => [...module.landscape(...given)]", [memories, beta, 20])
    side = 2.5 * (torch.arange(1, 40, 2, dtype=torch.float64) / 20 - 1)
    points = torch.cartesian_prod(-side, side).flip(-1)
    places = torch.tensor(Denoiser(memories=memories).readout["places"], dtype=torch.float64)
    expected = hopfield_energy(points, places, beta=beta)
    assert heights == pytest.approx((expected - expected[0] + heights[0]).tolist(), abs=1e-9)


def test_says_how_it_feels(desk):
    shown = desk.show(DENOISER, START)
    words = []
    for scale in (0.5, 1.0, 2.0):
        shown.put(beta=scale / START["sigma"] ** 2)
        words.append(shown.phase())
    assert words == ["too hot", "as sure as right", "too cold"]
