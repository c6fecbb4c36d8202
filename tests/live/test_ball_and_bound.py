"""Ball and bound from Python: the descent lemma in its numbers, what it refuses, what a notebook is given."""

import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install -e .[book]")

import traitlets

from attnlib.course.live import BallAndBound, FigureError
from attnlib.course.live.ball_and_bound import SCENES

SIXTY_KB = 60_000
BAD = [
    ({"memories": []}, "memories has 0 entries; expected 1 to 5"),
    ({"memories": [0.0] * 6}, "memories has 6 entries"),
    ({"memories": [1.0, 3.1]}, "memories has the entry 3.1; expected numbers between -3 and 3"),
    ({"memories": [math.nan]}, "memories has the entry nan"),
    ({"ball": -3.01}, "ball is -3.01; expected -3 <= ball <= 3"),
    ({"ball": math.inf}, "ball is inf"),
    ({"beta": 0}, "beta is 0"),
    ({"beta": math.nan}, "beta is nan"),
    ({"beta": 101}, "beta is 101"),
    ({"step_size": -0.1}, "step_size is -0.1; expected 0 <= step_size <= 3"),
    ({"step_size": 3.1}, "step_size is 3.1"),
    ({"steps": -1}, "steps is -1"),
    ({"steps": 13}, "steps is 13; expected 0 <= steps <= 12"),
]
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


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses_and_keeps_the_old_value(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        BallAndBound(**settings)
    assert isinstance(refused.value, ValueError)
    figure = BallAndBound([1, -2], 0.5, beta=3, step_size=2, steps=1)
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == {"ball": 0.5, "beta": 3.0, "memories": [1.0, -2.0], "step_size": 2.0, "steps": 1}


@pytest.mark.parametrize(("name", "value"), [("ball", "left"), ("steps", 1.5), ("memories", 3.0), ("beta", None)])
def test_refuses_other_kinds(name, value):
    with pytest.raises(traitlets.TraitError, match=name):
        setattr(BallAndBound(), name, value)


# The numbers, against definitions that know nothing of attnlib


def energy(x, figure):
    memory = torch.tensor(figure.memories, dtype=torch.float64)
    return x**2 / 2 - torch.logsumexp(figure.beta * x[..., None] * memory, -1) / figure.beta


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


# What a notebook is given


@pytest.mark.parametrize("name", SCENES)
def test_a_notebook_gets_a_small_page_that_is_the_same_every_time(name):
    figure = BallAndBound(**SCENES[name])
    data, metadata = figure._repr_mimebundle_()
    assert len(json.dumps(data | metadata)) < SIXTY_KB
    assert data["text/html"] == BallAndBound(**SCENES[name]).page()
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', data["text/html"])[1])) == figure.state() == SCENES[name]
    assert set(re.findall(r"https?://[^\"'%\s]+", data["text/html"])) == {"http://www.w3.org/2000/svg"}  # a name, not a place


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
