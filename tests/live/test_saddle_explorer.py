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
from helpers.live import computed

from attnlib.course.live import SaddleExplorer
from attnlib.course.live.saddle_explorer import LEVELS, RULES, SECTION

HELD = {"beta": 2.0, "coupling": -0.4, "fields": [0.3, -1.0], "start": [4.0, 1.0], "rule": "printed"}
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
    assert lengths == pytest.approx([1.0, 1.0], abs=1e-10)


@pytest.mark.slow
@systems
def test_the_section_is_the_potential_along_the_diagonal(beta, J, b):
    said = SaddleExplorer(beta, J, fields=b).readout
    inside = [z for z in SECTION if z > abs(J)]
    assert len(said["section"]) == len(inside)
    ones = torch.ones(2, dtype=torch.float64)
    for z, (phi, slope, curvature) in zip(inside, said["section"], strict=True):
        both = z * ones
        assert phi == pytest.approx(potential(both, beta, J, b).item(), rel=1e-10)
        g = torch.func.grad(lambda z: potential(z, beta, J, b))(both)
        H = torch.func.hessian(lambda z: potential(z, beta, J, b))(both)
        assert [slope, curvature] == pytest.approx([g.sum().item(), H.sum().item()], rel=1e-8, abs=1e-10)
    common = said["common"] * ones
    assert abs(torch.func.grad(lambda z: potential(z, beta, J, b))(common).sum()) < 1e-10


@pytest.mark.sweep(1)
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
    """The exact Hessian takes 5 steps, the printed one 17; one z for both is the same in equal fields, and only there."""
    steps = {rule: len(SaddleExplorer(rule=rule).readout["path"]) - 1 for rule in RULES}
    assert (steps["exact"], steps["printed"]) == (5, 17)
    assert steps["slope"] == 40
    equal = SaddleExplorer(fields=[1, 1]).readout
    assert equal["z"] == pytest.approx([equal["common"]] * 2, abs=1e-9)
    unlike = SaddleExplorer().readout
    assert min(abs(z - unlike["common"]) for z in unlike["z"]) > 0.3
    cold = SaddleExplorer(beta=4, fields=[0, 0]).readout  # the border is at 0.7
    assert cold["z"] == pytest.approx([0.836, 0.836], abs=5e-4)


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


@pytest.mark.sweep(1)
@systems
def test_the_still_picture_is_drawn_from_the_same_numbers(beta, J, b):
    figure = SaddleExplorer(beta, J, fields=b)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"

    def place(x, y):
        return [(float(x) - 50) / 55, (360 - float(y)) / 55]

    dots = [place(c.get("cx"), c.get("cy")) for c in drawn.iter(f"{named}circle")]
    assert len(dots) == len(said["path"]) + 1
    assert dots[-1] == pytest.approx(said["z"], abs=2e-3)
    rings = [path.get("d") for path in drawn.iter(f"{named}path") if path.get("stroke") == "#0072b2"]
    assert len(rings) == len(LEVELS)
    low = potential(torch.tensor(said["z"], dtype=torch.float64), beta, J, b)
    first = [place(*point.split()) for point in rings[3].strip("Mz").split("L")]
    heights = [potential(torch.tensor(z, dtype=torch.float64), beta, J, b) - low for z in first if max(z) < 10 and min(z) > 0.5]
    assert len(heights) > 5
    assert all(abs(height - LEVELS[3]) < 0.03 for height in heights)
    assert html.escape(figure.alt()) in page


# In a browser


def test_mouse_drags_the_start(desk):
    explorer, told = desk.show(SADDLE_EXPLORER, START), iter(((2.0, 5.0), (1.0, 1.5), (0.2, 0.2), (6, 0)))

    def see():
        assert explorer.is_right()["start"] == pytest.approx(next(told), abs=0.03)

    ways = (START["start"], (2.0, 5.0), (1.0, 1.5), (0.2, 0.2), (9.0, -2.0))
    explorer.drag([saddle_place(explorer, z) for z in ways], see)
    assert explorer.is_right() == START | {"start": [6, 0]}


def test_the_picture_stands_where_its_numbers_are(desk):
    explorer = desk.show(SADDLE_EXPLORER, START)
    for state in (START, COLD, START | {"rule": "printed", "fields": [1.0, 1.0]}):
        explorer.put(**state)
        explorer.is_right()
        numbers, box = computed(SADDLE_EXPLORER, **state), explorer.picture.bounding_box()

        def wanted(*points, box=box):
            places = [saddle_place(explorer, z) for z in points]
            return pytest.approx(np.array([[x - box["x"], y - box["y"]] for x, y in places]), abs=0.6)

        def spots(kind):
            return np.array(explorer.numbers(f".picture > svg circle.{kind}", "cx", "cy"))

        assert spots("bottom")[:1] == wanted(numbers["z"])
        assert spots("one")[:1] == wanted([numbers["common"]] * 2)
        assert spots("stop") == wanted(*numbers["path"])
        shown = explorer.told()
        assert f"{numbers['z'][0]:.3f}, {numbers['z'][1]:.3f}" in shown
        assert f"{numbers['free_energy']:.3f}" in shown
        there = numbers["left"][-1] <= 1e-9
        assert explorer.phase() == (f"there in {len(numbers['path']) - 1} steps" if there else "not there yet")
        assert ("the spins are alike" in shown) is (abs(numbers["z"][0] - numbers["z"][1]) < 5e-4)


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
