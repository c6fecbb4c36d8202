"""The iteration from Python: its numbers against definitions and against the theory it shows, what it refuses, its page."""

import html
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.figures import ITERATION
from helpers.live import computed
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.live import Iteration
from attnlib.course.live.iteration import SCENES, STEPS, system
from attnlib.mean_field import gaussian_response, naive_mean_field

states = st.fixed_dictionaries(
    {
        "prior": st.sampled_from(["gaussian", "binary"]),
        "scale": st.floats(0, 2, allow_subnormal=False),
        "step": st.floats(0.05, 2),
        "seed": st.integers(0, 999),
    }
)


@given(states)
def test_readout_against_the_definition(state):
    said = Iteration(**state).readout
    J, h = system(state["seed"])
    answer = torch.tanh if state["prior"] == "binary" else torch.clone
    m, residuals = answer(h), []
    for _ in range(STEPS):
        residuals.append((answer(state["scale"] * J @ m + h) - m).norm().item())
        m = m + state["step"] * (answer(state["scale"] * J @ m + h) - m)
    for mine, theirs in zip(said["residuals"][:12], residuals[:12], strict=True):  # later a chaotic orbit may differ
        assert mine == pytest.approx(theirs, rel=1e-6, abs=1e-12)
    D = 1 - answer(state["scale"] * J @ torch.tensor(said["m"], dtype=torch.float64) + h).square()
    matrix = state["scale"] * J if state["prior"] == "gaussian" else state["scale"] * D[:, None] * J  # similar to the symmetric
    values = torch.linalg.eigvals(matrix).real.sort().values
    assert said["eigenvalues"] == pytest.approx(values.tolist(), abs=1e-6)
    assert said["rate"] == pytest.approx(max(abs(1 - state["step"] * (1 - mu)) for mu in said["eigenvalues"]), abs=1e-12)


@pytest.mark.slow
@given(states)
def test_gaussian_residuals_keep_to_the_theory(state):
    """Each step multiplies the residual by a symmetric matrix: by at most its norm, and in the long run by it."""
    said = Iteration(**state | {"prior": "gaussian"}).readout
    for before, after in zip(said["residuals"], said["residuals"][1:], strict=False):
        assert after <= said["rate"] * before * (1 + 1e-9) + 1e-12
    if said["longest"] and state["step"] < 0.999 * said["longest"]:
        assert said["rate"] < 1
    if said["longest"] == 0 or state["step"] > 1.001 * said["longest"]:
        assert said["rate"] >= 1 - 1e-12


@pytest.mark.slow
@given(st.integers(0, 999), st.floats(0.05, 0.9))
def test_what_it_says_is_solved_is_solved(seed, scale):
    J, h = system(seed)
    assert torch.linalg.eigvalsh(J)[-1].item() == pytest.approx(1)
    for prior, exact in (
        ("gaussian", gaussian_response(scale * J, h[None])[0]),
        ("binary", naive_mean_field(scale * J, h).m),
    ):
        said = Iteration(prior, scale, 0.5, seed=seed).readout
        if said["evaluations"] > 0:
            # a residual of 1e-6 is an error of at most that over the smallest stiffness
            error = (torch.tensor(said["m"], dtype=torch.float64) - exact).abs().max().item()
            assert error < 1e-5 * (1 + exact.abs().max().item()) / (1 - scale)


def test_the_scenes_show_what_they_are_called():
    said = {name: Iteration(**scene).readout for name, scene in SCENES.items()}
    assert 0 < said["calm"]["evaluations"] < 30
    assert said["near the edge"]["evaluations"] == -1
    assert said["near the edge"]["rate"] == pytest.approx(0.95)
    assert said["near the edge"]["measured"] == pytest.approx(0.95, abs=5e-3)
    assert said["past the edge"]["longest"] == 0
    assert said["past the edge"]["measured"] == pytest.approx(1.1, abs=5e-3)
    assert max(said["too long a step"]["eigenvalues"]) < 1 < said["too long a step"]["rate"]
    assert 1 < said["too long a step"]["longest"] < SCENES["too long a step"]["step"]
    assert said["saved by saturation"]["evaluations"] > 0
    assert SCENES["saved by saturation"]["scale"] == SCENES["past the edge"]["scale"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_the_still_picture_is_drawn_from_the_same_numbers(name):
    figure = Iteration(**SCENES[name])
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    words = " ".join(text.text for text in drawn.iter(f"{named}text"))
    assert f"at most {said['rate']:.3f} (dashed); measured: {said['measured']:.3f}" in words
    dots = list(drawn.iter(f"{named}circle"))
    assert [(float(dot.get("cx")) - 400) / 290 * 4.7 - 2.5 for dot in dots] == pytest.approx(said["eigenvalues"], abs=1e-3)
    red = [factor for factor, dot in zip(said["factors"], dots, strict=True) if dot.get("fill") == "#d55e00"]
    assert red == [factor for factor in said["factors"] if factor >= 1]
    assert f"measured at the end: {said['measured']:.3f}." in figure.alt()
    assert html.escape(figure.alt()) in page


# In a browser


def test_says_what_it_computes_and_draws_what_it_says(desk):
    """Dots: a factor each, above the line at one outside of the window. The window ends where a factor of one is reached."""
    verdicts = ("it converges", None, "no step helps", "the step is too long", "it converges")
    turned = desk.show(ITERATION, SCENES["calm"])
    for (name, scene), verdict in zip(SCENES.items(), verdicts, strict=True):
        turned.button(name).click()
        assert turned.is_right() == scene
        assert turned.box.locator("button[aria-pressed=true]").all_inner_texts() == [name]
        numbers, shown = computed(ITERATION, **scene), turned.told()
        assert verdict is None or turned.phase() == verdict
        assert re.search(rf"Factor a step, theory\n+{numbers['rate']:.3f}\n", shown), shown
        assert re.search(rf"Factor a step, measured\n+{numbers['measured']:.3f}\n", shown), shown
        assert (f"\n{numbers['evaluations']}\n" in shown) == (numbers["evaluations"] > 0)
        assert ("\nnone\n" in shown) == (numbers["longest"] == 0)
        curve, vee = turned.box.get_by_role("img").all()
        assert vee.locator("circle.outside").count() == sum(factor >= 1 for factor in numbers["factors"])
        assert vee.locator("circle.inside").count() == sum(factor < 1 for factor in numbers["factors"])
        level = float(vee.locator("line.edge").get_attribute("y1"))
        read = "dots => dots.map(dot => Number(dot.getAttribute('cy')))"
        bottom = level + float(vee.locator("rect.window").get_attribute("height"))
        found = [(bottom - y) / (bottom - level) for y in vee.locator("circle").evaluate_all(read)]
        assert found == pytest.approx([min(2, factor) for factor in numbers["factors"]], abs=1e-6)
        points = curve.locator("path.line:not(.theory)").get_attribute("d")
        heights = [float(point.split()[1]) for point in points[1:].split("L") if "M" not in point]
        seen = [r for r in numbers["residuals"] if 1e-12 <= r <= 1e4]
        assert len(heights) == len(seen)
        pairs = zip(heights, heights[1:], seen, seen[1:], strict=False)
        assert all((a > b) == (c < d) for a, b, c, d in pairs if abs(a - b) > 0.2)
