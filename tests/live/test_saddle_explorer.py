"""The saddle explorer from Python: numbers against formulas of its own, what it refuses, what a notebook gets."""

import html
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from helpers.figures import COLD, SADDLE_EXPLORER, saddle_place
from helpers.figures import SADDLE as START
from helpers.live import CALM as CALMLY
from helpers.live import computed

from attnlib.course.live import SaddleExplorer
from attnlib.course.live.saddle_explorer import LEVELS, RULES

HELD = {"beta": 2.0, "coupling": -0.4, "fields": [0.3, -1.0], "start": [4.0, 1.0], "rule": "printed", "taken": 1}
SYSTEMS = [(1.0, 0.7, (0.6, 1.4)), (0.4, -1.5, (2.0, -2.0)), (4.0, 1.2, (0.0, 0.0)), (2.0, 0.0, (0.0, 1.0))]
systems = pytest.mark.parametrize(("beta", "J", "b"), SYSTEMS)


# The numbers, against formulas that know nothing of attnlib


def potential(z, beta, J, b):
    V = torch.diag(z) - J * torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double()
    b = torch.tensor(b, dtype=torch.float64)
    return beta * z.sum() / 2 - torch.logdet(V) / 2 + beta / 2 * b @ torch.linalg.solve(V, b)


@systems
def test_the_minimum_is_one_and_each_spin_has_its_length(beta, J, b):
    said = SaddleExplorer(beta, J, fields=b).readout
    z = torch.tensor(said["z"], dtype=torch.float64)
    (slope,) = torch.autograd.functional.jacobian(lambda z: potential(z, beta, J, b), (z,))
    assert slope.abs().max() < 1e-10
    assert said["free_energy"] == pytest.approx(-(potential(z, beta, J, b).item() - 1 - math.log(beta)) / beta, abs=1e-10)
    lengths = [said["m"][0] ** 2 + said["chi"][0], said["m"][1] ** 2 + said["chi"][2]]
    assert lengths == pytest.approx([1.0, 1.0], abs=1e-8)  # at the end of the descent


@systems
@pytest.mark.parametrize("taken", [0, 1, 40])
def test_the_slope_at_a_point_is_what_is_missing_of_the_lengths(beta, J, b, taken):
    """By automatic differentiation; at the end nothing is missing, and the spin that is too short has z too large."""
    figure = SaddleExplorer(beta, J, fields=b, taken=taken)
    said = figure.readout
    z = torch.tensor(said["path"][min(taken, len(said["path"]) - 1)], dtype=torch.float64)
    (slope,) = torch.autograd.functional.jacobian(lambda z: potential(z, beta, J, b), (z,))
    assert [beta / 2 * (1 - length**2) for length in said["lengths"]] == pytest.approx(slope.tolist(), abs=1e-9)
    assert said["lengths"] == pytest.approx(
        [math.hypot(m, rest**0.5) for m, rest in zip(said["m"], said["chi"][::2], strict=True)], abs=1e-12
    )


@pytest.mark.sweep(0.5)
@systems
@pytest.mark.parametrize("rule", RULES)
def test_a_descent_stays_inside_and_goes_down(beta, J, b, rule):
    figure = SaddleExplorer(beta, J, fields=b, start=(0.1, 5.0), rule=rule)
    path, left = figure.descent()
    heights = [potential(torch.tensor(z, dtype=torch.float64), beta, J, b).item() for z in path]
    assert all(z[0] > 0 and z[0] * z[1] > J**2 for z in path)
    assert all(after <= before + 2e-12 for before, after in itertools.pairwise(heights))
    assert len(path) == len(left)
    if rule == "exact":
        assert left[-1] <= 1e-9
        assert path[-1] == pytest.approx(figure.readout["z"], abs=1e-6)


def test_a_start_that_is_forbidden_is_moved_along_the_diagonal():
    first = SaddleExplorer(coupling=1.0, start=(0.0, 0.5)).descent()[0][0]
    assert first[1] - first[0] == pytest.approx(0.5)
    mean, half = sum(first) / 2, (first[1] - first[0]) / 2
    assert mean - math.hypot(half, 1.0) == pytest.approx(0.05)
    assert SaddleExplorer(coupling=1.0, start=(3.0, 4.0)).descent()[0][0] == [3.0, 4.0]


@pytest.mark.slow
def test_what_the_page_says_of_it():
    """The exact Hessian takes 5 steps, the printed one 17; without fields both are one."""
    steps = {rule: len(SaddleExplorer(rule=rule).readout["path"]) - 1 for rule in RULES}
    assert (steps["exact"], steps["printed"]) == (5, 17)
    assert steps["slope"] == 40
    cold = SaddleExplorer(beta=4, fields=[0, 0]).readout  # the border is at 0.7
    assert cold["z"] == pytest.approx([0.836, 0.836], abs=5e-4)
    paths = [SaddleExplorer(beta=4, fields=[0, 0], start=[4, 2], rule=rule).readout["path"] for rule in ("exact", "printed")]
    assert np.array(paths[0]) == pytest.approx(np.array(paths[1]), abs=1e-12)


@pytest.mark.slow
def test_the_printed_hessian_can_be_no_guide():
    """Its matrix is indefinite on the way, and the descent stays far from the minimum; the exact one takes 7 steps."""
    strong = {"beta": 4, "coupling": 1.5, "fields": (2, -2), "start": (5, 3)}
    exact, printed = (SaddleExplorer(**strong, rule=rule).descent() for rule in ("exact", "printed"))
    assert len(exact[0]) - 1 == 7
    assert len(printed[0]) - 1 == 40
    assert printed[1][-1] > 1
    z = torch.tensor(printed[0][-1], dtype=torch.float64)
    V = torch.diag(z) - 1.5 * torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double()
    chi, h = torch.linalg.inv(V), torch.tensor([[2.0], [-2.0]]).double()
    matrix = chi.square() / 2 + 4 * torch.diag((chi @ chi @ h @ h.T @ chi).diagonal())
    assert torch.linalg.eigvalsh(matrix)[0] < 0


# The still picture


@pytest.mark.sweep(0.5)
@systems
def test_the_still_picture_is_drawn_from_the_same_numbers(beta, J, b):
    figure = SaddleExplorer(beta, J, fields=b)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"

    def place(x, y):
        return [(float(x) - 50) / 55, (360 - float(y)) / 55]

    dots = [place(c.get("cx"), c.get("cy")) for c in drawn.iter(f"{named}circle")]
    path, rest = dots[: len(said["path"])], dots[len(said["path"]) :]
    assert path[-1] == pytest.approx([min(z, 12) for z in said["path"][-1]], abs=2e-3)
    assert rest[0] == pytest.approx(said["z"], abs=2e-3)
    assert len(rest) == 1 + 2 * 2  # two circles, two tips
    words = " ".join(text.text for text in drawn.iter(f"{named}text"))
    assert all(f"length {length:.2f}" in words for length in said["lengths"])
    rings = [path.get("d") for path in drawn.iter(f"{named}path") if path.get("stroke-opacity") == "0.4"]
    assert len(rings) == len(LEVELS)
    low = potential(torch.tensor(said["z"], dtype=torch.float64), beta, J, b)
    first = [place(*point.split()) for point in rings[3].strip("Mz").split("L")]
    heights = [potential(torch.tensor(z, dtype=torch.float64), beta, J, b) - low for z in first if max(z) < 10 and min(z) > 0.5]
    assert len(heights) > 5
    assert all(abs(height - LEVELS[3]) < 0.03 for height in heights)
    assert html.escape(figure.alt()) in page


# In a browser


def test_mouse_drags_the_start_and_lets_it_go_down(desk):
    explorer, told = desk.show(SADDLE_EXPLORER, START), iter(((2.0, 5.0), (1.0, 1.5), (0.2, 0.2), (6, 0)))

    def see():
        state = explorer.is_right()
        assert state["start"] == pytest.approx(next(told), abs=0.03)
        assert state["taken"] == 0

    ways = (START["start"], (2.0, 5.0), (1.0, 1.5), (0.2, 0.2), (9.0, -2.0))
    explorer.drag([saddle_place(explorer, z) for z in ways], see)
    assert explorer.is_right() == START | {"start": [6, 0]}


CALM = pytest.mark.parametrize("desk", [CALMLY], indirect=True)


@CALM
def test_the_picture_stands_where_its_numbers_are(desk):
    explorer = desk.show(SADDLE_EXPLORER, START)
    for state in (START, COLD, HELD, START | {"rule": "printed", "fields": [1.0, 1.0], "taken": 0}):
        explorer.put(**state)
        explorer.is_right()
        numbers, box = computed(SADDLE_EXPLORER, **state), explorer.picture.bounding_box()

        def wanted(*points, box=box):
            places = [saddle_place(explorer, z) for z in points]
            return pytest.approx(np.array([[x - box["x"], y - box["y"]] for x, y in places]), abs=0.6)

        def spots(kind):
            return np.array(explorer.numbers(f".plane > svg circle.{kind}", "cx", "cy"))

        here = numbers["path"][min(state["taken"], len(numbers["path"]) - 1)]
        assert spots("bottom") == wanted(numbers["z"])
        assert spots("ball") == wanted(here)
        assert spots("stop") == wanted(*numbers["path"])
        shown = explorer.told()
        for z in (here, numbers["z"]):
            assert f"{z[0]:.3f}, {z[1]:.3f}" in shown
        assert f"{numbers['free_energy']:.3f}" in shown
        there = numbers["left"][-1] <= 1e-9
        assert explorer.phase() == (f"there in {len(numbers['path']) - 1} steps" if there else "not there yet")


@CALM
def test_spins_end_on_their_circles_where_the_lengths_are_right(desk):
    """Each as long as attnlib says, in units of its circle, and judged in words."""
    explorer = desk.show(SADDLE_EXPLORER, START)
    for state in (START, START | {"taken": 0}, START | {"start": [1.5, 1.0], "taken": 0}):
        explorer.put(**state)
        said = computed(SADDLE_EXPLORER, **state)
        (circles, tips) = (explorer.numbers(f".pair circle.{kind}", "cx", "cy", "r") for kind in ("circle", "tip"))
        for i, ((x, y, radius), (tip_x, tip_y, _)) in enumerate(zip(circles, tips, strict=True)):
            mean, rest = said["m"][i], said["chi"][2 * i] ** 0.5
            drawn = [max(-1.3, min(1.3, mean)), min(1.3, rest)]
            assert [(tip_x - x) / radius, (y - tip_y) / radius] == pytest.approx(drawn, abs=1e-6)
            length = said["lengths"][i]
            word = "right" if abs(length - 1) < 0.005 else "too long" if length > 1 else "too short"
            assert explorer.box.locator(".pair g").nth(i).locator("text").all_text_contents() == [
                f"spin {i + 1}: length {length:.2f}", word,
            ]  # fmt: skip


def test_each_line_is_where_one_spin_has_its_length(desk):
    module = desk.module(SADDLE_EXPLORER)
    for i in (0, 1):
        slopes = module.evaluate(
            "([state, i]) => module.right(i, state).map(z => module.resolve(z, state)?.slope[i] ?? 0)", [START, i]
        )
        assert len(slopes) == 61
        assert max(map(abs, slopes)) < 1e-6


def test_no_choice_that_does_nothing(desk):
    """Without fields both Hessians are one, and the printed one is not offered."""
    explorer = desk.show(SADDLE_EXPLORER, START)
    offered = explorer.box.locator("select option")
    assert offered.count() == len(RULES)
    explorer.put(fields=[0.0, 0.0])
    assert offered.evaluate_all("options => options.map(option => option.value)") == ["exact", "slope"]


@pytest.mark.parametrize("desk", [{"own": True}], indirect=True)
def test_on_arrival_the_ball_goes_down_once(desk):
    explorer = desk.stopped(SADDLE_EXPLORER, **START)
    places = []
    for _ in range(12):
        places.append(explorer.numbers(".plane > svg circle.ball", "cx", "cy")[0])
        desk.page.clock.run_for(400)
    end = saddle_place(explorer, computed(SADDLE_EXPLORER, **START)["z"])
    box = explorer.picture.bounding_box()
    assert places[0] != places[1]
    assert places[-1] == pytest.approx([end[0] - box["x"], end[1] - box["y"]], abs=0.6)
    assert places[-1] == places[-2]
    assert explorer.ask("model.state") == START


def test_each_task_can_be_done(desk):
    """From the figure as its class has it, where none is done."""
    explorer = desk.show(SADDLE_EXPLORER, {})
    assert explorer.ask("solved()") == []
    strong = {"beta": 4.0, "coupling": 1.5, "fields": [2.0, -2.0], "start": [5.0, 3.0], "rule": "printed", "taken": 40}
    for place, state in enumerate(({"start": [1.0, 1.0], "taken": 0}, {"fields": [1.0, -1.0]}, strong)):
        explorer.put(**state)
        assert set(explorer.ask("solved()")) >= {place}


def test_lines_of_equal_height_are_level_and_outside_the_domain_there_is_nothing(desk):
    module, z = desk.module(SADDLE_EXPLORER), computed(SADDLE_EXPLORER, **START)["z"]
    heights = module.evaluate(
        "([state, z]) => module.rings(z, state, 24).map(ring => ring.map(point => module.resolve(point, state).phi))",
        [START, z],
    )
    bottom = module.evaluate("([state, z]) => module.resolve(z, state).phi", [START, z])
    for level, ring in zip(LEVELS[:6], heights[:6], strict=True):  # of the last a part is far away
        assert ring == pytest.approx([bottom + level] * 25, abs=1e-4)
    for z in ([0.5, 0.5], [-1.0, -1.0], [0.0, 3.0]):  # of the second the determinant is positive
        assert module.evaluate("([z, state]) => module.resolve(z, state)", [z, START]) is None
