"""Ball and bound from Python: the descent lemma in its numbers, what it refuses, what a notebook is given."""

import html
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from helpers.figures import BALL_AND_BOUND, ball_x
from helpers.figures import SLOPE as START
from helpers.live import CALM, MOTIONS, computed, polyline
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.live import BallAndBound
from attnlib.course.live.ball_and_bound import SCENES

places = st.floats(-3, 3, allow_subnormal=False)
settings = st.fixed_dictionaries(
    {
        "memories": st.lists(places, min_size=1, max_size=5),
        "ball": places,
        "beta": st.floats(0.01, 100),
        "step_size": st.floats(0, 3, allow_subnormal=False),
        "steps": st.integers(0, 4),
    }
)


# The numbers, against definitions that know nothing of attnlib


def energy(x, figure):
    memory = torch.tensor(figure.memories, dtype=torch.float64)
    return x**2 / 2 - torch.logsumexp(figure.beta * x[..., None] * memory, -1) / figure.beta


@pytest.mark.slow
@given(settings)
def test_readout_against_automatic_differentiation(settings):
    figure = BallAndBound(**settings)
    said, x = figure.readout, torch.tensor(figure.ball, dtype=torch.float64)
    rough = max(1.0, max(map(abs, said["states"]))) ** 2  # a state that runs away carries its rounding with it
    for step in range(figure.steps + 2):
        (slope,) = torch.autograd.grad(energy(x.requires_grad_(), figure), x)
        x = x.detach()
        assert said["states"][step] == pytest.approx(x.item(), abs=1e-9 * rough)
        assert said["energies"][step] == pytest.approx(energy(x, figure).item(), abs=1e-9 * rough)
        assert said["slopes"][step] == pytest.approx(slope.item(), abs=1e-6 * rough)
        x = torch.tensor(said["states"][min(step + 1, figure.steps + 1)], dtype=torch.float64)
    assert len(said["states"]) == len(said["real"]) + 1 == figure.steps + 2
    here = torch.tensor(said["states"][-2], dtype=torch.float64)
    curvature = torch.autograd.functional.hessian(lambda at: energy(at, figure), here)
    assert said["curvature"] == pytest.approx(curvature.item(), rel=1e-6, abs=1e-6)
    assert said["attended"] == pytest.approx(here.item() - said["slopes"][-2], abs=1e-9 * rough)


@given(settings)
@pytest.mark.slow
def test_the_descent_lemma(settings):
    """The energy falls at least by what is guaranteed, at any step size: the parabola lies above it everywhere."""
    figure = BallAndBound(**settings)
    said = figure.readout
    rough = 1e-9 * max(1.0, max(map(abs, said["states"]))) ** 2
    for sure, real in zip(said["guaranteed"], said["real"], strict=True):
        assert real >= sure - rough
        assert figure.step_size > 2 or sure >= 0
    x, slope, height = said["states"][-2], said["slopes"][-2], said["energies"][-2]
    line = torch.linspace(-4, 4, 81, dtype=torch.float64)
    assert (height + slope * (line - x) + (line - x) ** 2 / 2 - energy(line, figure)).min() >= -rough
    assert said["curvature"] <= 1 + 1e-12


@given(settings)
def test_up_to_the_attention_step_it_never_goes_too_far(settings):
    figure = BallAndBound(**settings | {"step_size": settings["step_size"] / 3})
    assert max(figure.readout["ahead"]) <= 1e-9


@given(settings)
def test_the_attention_step_is_attention(settings):
    figure = BallAndBound(**settings | {"step_size": 1, "steps": 0})
    said, memory = figure.readout, torch.tensor(figure.memories, dtype=torch.float64)[:, None]
    query = torch.tensor([[figure.ball]], dtype=torch.float64)
    attended = torch.nn.functional.scaled_dot_product_attention(query, memory, memory, scale=figure.beta).item()
    assert said["attended"] == pytest.approx(attended, abs=1e-9)
    assert said["states"][1] == pytest.approx(attended, abs=1e-9)
    assert said["guaranteed"][0] == pytest.approx((said["states"][1] - said["states"][0]) ** 2 / 2, abs=1e-9)


def test_the_scenes_show_what_they_are_called():
    said = {name: BallAndBound(**scene).readout for name, scene in SCENES.items()}
    assert 0 < said["attention"]["guaranteed"][0] < said["attention"]["real"][0]
    assert said["on the edge"]["real"][0] == pytest.approx(0, abs=1e-12)
    assert said["on the edge"]["ahead"][0] > 0
    assert said["too long"]["real"][0] == pytest.approx(said["too long"]["guaranteed"][0], abs=1e-12)
    assert said["too long"]["real"][0] < 0
    assert said["long, yet lower"]["guaranteed"][0] < 0 < said["long, yet lower"]["real"][0]
    assert min(said["short steps"]["guaranteed"]) > 0


# The still picture


@pytest.mark.parametrize("name", SCENES)
def test_the_still_picture_is_drawn_from_the_same_numbers(name):
    figure = BallAndBound(**SCENES[name])
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    words = " ".join(text.text for text in drawn.iter(f"{named}text"))
    sure, real = (f"{said[name][-1]:.3f}".replace("-0.000", "0.000") for name in ("guaranteed", "real"))
    assert f"energy {sure} (blue), real fall {real} (orange)" in words
    falls = {}
    for path in drawn.iter(f"{named}path"):
        if path.get("stroke-width") == "4":
            begin, end = re.fullmatch(r"M\S+ (\S+)V(\S+)", path.get("d")).groups()
            falls[path.get("stroke")] = float(end) - float(begin)
    scale = falls["#d55e00"] / said["real"][-1] if abs(said["real"][-1]) > 1e-9 else 100
    assert falls["#0072b2"] == pytest.approx(scale * said["guaranteed"][-1], abs=0.2)
    (ball,) = drawn.iter(f"{named}circle")
    assert (float(ball.get("cx")) - 30) / 110 - 3 == pytest.approx(said["states"][-2], abs=0.001)
    assert f"real fall {real}." in figure.alt()
    assert html.escape(figure.alt()) in page


# In a browser


def test_mouse_moves_the_ball_and_the_memories(desk):
    slope = desk.show(BALL_AND_BOUND, START)

    def drag(name, *places):
        box = slope.box.get_by_role("slider", name=name, exact=True).bounding_box()
        ways = [(ball_x(slope, place), box["y"] + 30) for place in places]
        slope.drag([(box["x"] + 22, box["y"] + 22), *ways])
        return slope.is_right()

    assert drag("ball", -1.0, -2.25) == START | {"ball": pytest.approx(-2.25, abs=0.02)}
    state = drag("memory 2", 2.5)
    assert state["memories"] == [-1.5, pytest.approx(2.5, abs=0.02), 0.4]
    assert state["ball"] == pytest.approx(-2.25, abs=0.02)
    assert drag("memory 3", 9)["memories"][2] == 3


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_steps(desk):
    slope = desk.show(BALL_AND_BOUND, START)
    assert slope.button("Back").is_disabled()
    slope.button("Take the step").press("Enter")
    assert slope.is_right() == START | {"steps": 1}
    for steps in range(2, 13):
        slope.button("Take the step").click()
        assert slope.is_right() == START | {"steps": steps}
    assert slope.button("Take the step").is_disabled()
    slope.button("Back").click()
    assert slope.is_right() == START | {"steps": 11}
    ball = slope.slider(re.compile("^ball$"))
    before = float(ball.get_attribute("aria-valuenow"))
    ball.press("ArrowRight")  # it begins anew from where it is
    assert slope.is_right() == START | {"ball": pytest.approx(before + 0.1, abs=0.01)}
    slope.button("Reset").click()
    assert slope.is_right() == START


@pytest.mark.parametrize("desk", [motion | {"own": True} for motion in MOTIONS], indirect=True, ids=["as usual", "reduced"])
def test_the_ball_rolls_where_motion_is_wanted(desk, request):
    """The state is the new one at once; the ball is seen on its way, or not at all. Frames come by a clock of the test."""
    slope = desk.stopped(BALL_AND_BOUND, memories=[-2.0, 2.0], ball=0.3, beta=2.0)
    slope.button("Take the step").evaluate("button => button.click()")
    assert slope.ask("model.get('steps')") == 1
    ball, seen = slope.slider(re.compile("^ball$")), []
    for _ in range(80):
        desk.page.clock.run_for(16)
        seen.append(ball.evaluate("ball => parseFloat(ball.style.left)"))
    between = sorted(set(seen))[:-1]
    assert (len(between) > 1) is ("usual" in request.node.name)
    assert seen == sorted(seen)
    desk.page.clock.resume()
    assert slope.is_right()["steps"] == 1


def curve(settings):
    x, memory, beta = np.linspace(-3.2, 3.2, 193), np.array(settings["memories"]), settings["beta"]
    return x**2 / 2 - np.log(np.exp(beta * x[:, None] * memory).sum(-1)) / beta


def test_says_what_it_computes_and_falls_are_drawn_to_scale(desk):
    """On the curve: from the ball's height to the parabola and to the curve. As bars: the same numbers, each step."""
    phases = {"long, yet lower": "no guarantee: it falls", "too long": "no guarantee: it climbs"}
    phases["on the edge"] = "guaranteed: it keeps its height"
    told = [(START, "guaranteed: it falls"), (START | {"step_size": 0.0}, "guaranteed: it keeps its height")]
    told += [(scene, phases.get(name)) for name, scene in SCENES.items()]
    slope = desk.show(BALL_AND_BOUND, START)
    for state, phase in told:
        slope.put(**state)
        slope.is_right()
        numbers, shown = computed(BALL_AND_BOUND, **state), slope.told()
        assert phase is None or slope.phase() == phase
        for name, number in (("Guaranteed fall", numbers["guaranteed"][-1]), ("Real fall", numbers["real"][-1])):
            assert re.search(rf"{name}\n+{round(number, 3) + 0.0:.3f}\n", shown), (name, shown)  # not -0.000
        assert f"{numbers['attended']:.3f}" in shown
        assert ("went past a bottom" in shown) == (numbers["ahead"][-1] > 1e-12)
        pressed = slope.box.locator("button[aria-pressed=true]").all_inner_texts()
        assert pressed == [name for name, scene in SCENES.items() if scene == state]
        (sure,), (real,) = ([y2 - y1 for y1, y2 in slope.numbers(f"line.{kind}-fall", "y1", "y2")] for kind in ("sure", "real"))
        x, y = polyline(slope.box.locator("path.curve").get_attribute("d")).T
        per_energy = (y.max() - y.min()) / np.ptp(curve(state))
        falls = [numbers["guaranteed"][-1], numbers["real"][-1]]
        assert [sure / per_energy, real / per_energy] == pytest.approx(falls, abs=0.02)
        ((across, down),) = slope.numbers("circle.landing", "cx", "cy")
        if x[0] < across < x[-1]:
            assert np.interp(across, x, y) == pytest.approx(down, abs=1)
        bars = np.array([slope.column(f"rect.{kind}", "height") for kind in ("blue", "orange")])
        falls = np.abs([numbers["guaranteed"], numbers["real"]])
        if falls.max() > 1e-9:
            assert bars / bars.max() == pytest.approx(falls / falls.max(), abs=1e-6)
