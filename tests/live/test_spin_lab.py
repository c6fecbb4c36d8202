"""The spin lab from Python: couplings, numbers against an enumeration of its own, what it refuses, what a notebook gets."""

import html
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from helpers.figures import GLASS as START
from helpers.figures import SPIN_LAB, fields_of
from helpers.live import computed, same_numbers

from attnlib.course.live import SpinLab
from attnlib.course.live.spin_lab import FIELDS, KINDS, couplings

CASES = [(kind, strength) for kind in KINDS for strength in (0.0, 0.4, 0.9)]
cases = pytest.mark.parametrize(("kind", "strength"), CASES)


def test_couplings_are_what_their_names_say():
    for kind in KINDS:
        J = couplings(kind, 4)
        assert torch.equal(J, J.mT)
        assert not J.diagonal().any()
    assert (couplings("friends", 0).sum(-1) - 1).abs().max() < 1e-12
    assert couplings("rivals", 0).max() == 0
    assert ((couplings("ring", 0) != 0).sum(-1) == 2).all()
    assert torch.equal(couplings("ring", 0), couplings("ring", 9))
    drawn = torch.stack([couplings("glass", seed) for seed in range(200)])
    above = drawn[:, *torch.triu_indices(10, 10, 1)].flatten()  # 9000 numbers of variance 1/10
    assert abs(above.mean()) < 4 * (0.1 / 9000) ** 0.5
    assert abs(above.square().mean() - 0.1) < 4 * 0.1 * (2 / 9000) ** 0.5


# The numbers, against a sum and equations that know nothing of attnlib


def states():
    return torch.tensor(list(itertools.product([-1.0, 1.0], repeat=10)), dtype=torch.float64)


@pytest.mark.sweep(0.5)
@cases
def test_the_exact_magnetisations_are_a_sum_over_all_states(kind, strength):
    figure, s = SpinLab(strength, kind, seed=2), states()
    J = strength * couplings(kind, 2)
    pairs = sum(J[i, j] * s[:, i] * s[:, j] for i, j in itertools.combinations(range(10), 2))
    weights = torch.softmax(pairs + s @ torch.tensor(FIELDS, dtype=torch.float64), 0)
    assert figure.readout["exact"] == pytest.approx((weights @ s).tolist(), abs=1e-12)


@pytest.mark.sweep(0.5)
@cases
@pytest.mark.usefixtures("unchecked")
def test_the_theories_solve_their_equations(kind, strength):
    said = SpinLab(strength, kind, seed=2).readout
    J, h = strength * couplings(kind, 2), torch.tensor(FIELDS, dtype=torch.float64)
    for name, V_of in (("naive", lambda m: 0 * m), ("tap", lambda m: J.square() @ (1 - m.square()))):
        m = torch.tensor(said[name], dtype=torch.float64)
        assert (m - torch.tanh(J @ m + h - V_of(m) * m)).abs().max() < 1e-9
    m = torch.tensor(said["adaptive"], dtype=torch.float64)
    V = (J @ m + h - torch.atanh(m)) / m
    chi = torch.linalg.inv(torch.diag(V + 1 / (1 - m.square())) - J)
    assert (chi.diagonal() - (1 - m.square())).abs().max() < 1e-7
    free = 1 - torch.tensor(said["tap"], dtype=torch.float64).square()
    assert said["reactions"] == pytest.approx([0, (J.square() @ free).mean().item(), V.mean().item()], abs=1e-7)
    far = [math.dist(said[name], said["exact"]) / 10**0.5 for name in ("naive", "tap", "adaptive")]
    assert said["errors"] == pytest.approx(far, abs=1e-12)
    assert (max(far) < 1e-9) is (strength == 0)


@pytest.mark.slow
def test_triangles_that_cannot_be_satisfied():
    for kind, share in (("friends", 0), ("rivals", 1), ("ring", 0)):
        assert SpinLab(kind=kind).readout["frustrated"] == share
    J = couplings("glass", 0)
    loops = [J[i, j] * J[j, k] * J[k, i] for i, j, k in itertools.combinations(range(10), 3)]
    assert SpinLab().readout["frustrated"] == sum(loop < 0 for loop in loops) / 120


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_what_the_page_says_of_it():
    """Rivals: adaptive TAP right to three digits at any strength, TAP worse than none at 1.2. Friends at 2: nobody is right."""
    found = {strength: SpinLab(strength, "rivals").readout["errors"] for strength in (0.3, 0.6, 1.2, 2.0)}
    assert max(errors[2] for errors in found.values()) < 5e-4
    assert found[1.2][1] > found[1.2][0]
    assert min(SpinLab(2.0, "friends").readout["errors"]) > 0.3


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_a_theory_that_does_not_converge_shows_nothing():
    figure = SpinLab(2.0)
    said = figure.readout
    assert said["adaptive"] == []
    assert said["errors"][2] == said["reactions"][2] == said["stability"][2] == -1
    assert "Adaptive TAP did not converge" in figure.alt()


# The still picture


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.6, 2.0])
@pytest.mark.usefixtures("unchecked")
def test_the_still_picture_is_drawn_from_the_same_numbers(strength):
    figure = SpinLab(strength)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    marks = {}
    for circle in drawn.iter(f"{named}circle"):
        marks.setdefault(circle.get("fill"), []).append((110 - float(circle.get("cy"))) / 90)
    for colour, name in (("#d55e00", "naive"), ("#0072b2", "tap"), ("#009e73", "adaptive")):
        assert marks.get(colour, []) == pytest.approx(said[name], abs=1e-3)
    _, *bars = drawn.iter(f"{named}rect")
    assert [float(bar.get("height")) / 90 for bar in bars] == pytest.approx([abs(m) for m in said["exact"]], abs=1e-3)
    assert [float(bar.get("y")) < 109.9 for bar in bars] == [m > 0.001 for m in said["exact"]]
    words = " ".join(text.text for text in drawn.iter(f"{named}text"))
    assert f"Naive mean field {said['errors'][0]:.3f} (orange)" in words
    assert html.escape(figure.alt()) in page


# In a browser


@pytest.fixture
def lab(desk):
    return desk.show(SPIN_LAB, START)


def test_mouse_drags_a_field(lab):
    box = lab.handle(2).bounding_box()
    across, top = box["x"] + box["width"] / 2, box["y"]
    told = iter((0.75, 1.5, -1.5, -0.3))

    def see():
        assert lab.is_right()["fields"][2] == pytest.approx(next(told), abs=0.03)

    lab.drag([(across, top + box["height"] / 2), *((across + 40, top + y * box["height"]) for y in (0.25, 0, 1.4, 0.6))], see)
    fields = lab.is_right()["fields"]  # let go, it follows no more
    assert fields[2] == pytest.approx(-0.3, abs=0.03)
    assert fields == fields_of(3, fields[2])


def places(lab, kind):
    """How high the marks of a theory stand, as magnetisations, from left to right."""
    found = lab.picture.locator(f".theory.{kind}").evaluate_all(
        "marks => marks.map(mark => { const box = mark.getBBox(); return [box.x, box.y, box.height]; })"
    )
    grid = lab.column(".picture > svg line.grid, .picture > svg line.zero", "y1")
    top, bottom = min(grid), max(grid)
    anchor = 5 / 9 if kind == "naive" else 0.5  # of the triangle, whose tip stands above its place
    return [1 - 2 * (y + anchor * height - top) / (bottom - top) for _, y, height in sorted(found)]


def test_bars_and_marks_stand_where_their_numbers_are(lab):
    usual = {"fields": FIELDS, "seed": 0}
    for state in (START, usual | {"kind": "rivals", "strength": 1.2}, usual | {"kind": "glass", "strength": 2.0}):
        lab.put(**state)
        lab.is_right()
        numbers = computed(SPIN_LAB, **state)
        for kind in ("naive", "tap", "adaptive"):
            assert places(lab, kind) == pytest.approx(numbers[kind], abs=0.01)
        heights = lab.column("rect.exact", "height")
        assert heights == pytest.approx([105 * abs(m) for m in numbers["exact"]], abs=1e-4)
        J = couplings(state["kind"], state["seed"])
        assert lab.box.locator("line.agree, line.differ").count() == int((J != 0).sum()) // 2
        assert lab.box.locator("line.agree").count() == int((J > 0).sum()) // 2
        shown = lab.told()
        for name, error in zip(("Naive mean field", "TAP", "Adaptive TAP"), numbers["errors"], strict=True):
            wanted = "none" if error < 0 else f"{error:.3f}" if error >= 5e-4 else f"{error:.0e}".replace("e-0", "e-")
            assert re.search(rf"(?m)^{name}\n+{re.escape(wanted)}$", shown), (name, wanted, shown)
        assert ("did not converge in 400 steps" in shown) is (min(numbers["errors"]) < 0)
        assert f"{round(100 * numbers['frustrated'])} %" in shown


def test_says_whether_the_best_theory_holds(lab):
    """The last rests on a hilltop."""
    for strength, kind, fields, pill, line in (
        (0.5, "glass", FIELDS, "adaptive TAP holds", "above 0: one valley"),
        (2.0, "glass", FIELDS, "no solution found", "below 0: many valleys"),
        (2.0, "friends", FIELDS, "adaptive TAP is lost", "it is for glasses only"),
        (2.0, "friends", [0.0] * 10, "adaptive TAP is lost", "no reaction; it rests on a hilltop"),
    ):
        lab.put(strength=strength, kind=kind, fields=fields, seed=0)
        lab.is_right()
        assert lab.phase() == pill or not any(fields)
        assert line in lab.told()


def test_couplings_and_eigenvalues_of_the_module(desk):
    module = desk.module(SPIN_LAB)
    for kind in KINDS:
        same_numbers(module.evaluate("s => ({ J: module.couplings(s, 7) })", kind), {"J": couplings(kind, 7).tolist()})
    for seed in range(5):
        A = np.random.default_rng(seed).normal(size=(10, 10))
        ends = module.evaluate("A => module.extremes(A)", (A + A.T).tolist())
        assert ends == pytest.approx(np.linalg.eigvalsh(A + A.T)[[0, -1]].tolist(), abs=1e-12)
