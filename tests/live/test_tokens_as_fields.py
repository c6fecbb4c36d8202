"""Tokens as fields from Python: both terms of a response against autograd, what it refuses, what a notebook gets."""

import html
import math
import random
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from helpers.figures import LONG, RIVALS, TOKENS_AS_FIELDS, tokens_place
from helpers.figures import TOKENS as START
from helpers.live import computed

from attnlib.course.live import TokensAsFields
from attnlib.course.live.tokens_as_fields import COLOURS, COUPLINGS

TOKENS = [[1.5, -0.3], [0.2, 2.5], [-2.0, 0.0]]
HELD = {"tokens": TOKENS, "couplings": "softmax", "strength": -1.2, "beta": 0.7}
SYSTEMS = [(kind, g, beta) for kind in COUPLINGS for g, beta in ((0.0, 1.0), (1.5, 0.6), (-2.0, 3.0))]
systems = pytest.mark.parametrize(("kind", "g", "beta"), SYSTEMS)


# The numbers, against formulas that know nothing of attnlib


def couple(h, kind, g):
    scores = h @ h.T / 2**0.5
    others = 1 - torch.eye(3, dtype=torch.float64)
    if kind == "fixed":
        return g / 3**0.5 * others
    if kind == "tanh":
        return g / 3**0.5 * scores.tanh() * others
    shares = torch.softmax(scores.masked_fill(others == 0, -math.inf), -1)
    return g * (shares + shares.T) / 2


def minus_free_energy(h, z, kind, g, beta):
    """What is least at the right z, for two components: its derivative by h at that z is the whole response."""
    V = torch.diag(z) - couple(h, kind, g)
    return z.sum() - torch.logdet(V) / beta + (h * torch.linalg.solve(V, h)).sum() / 2


@systems
def test_both_terms_are_the_derivative_of_the_free_energy(kind, g, beta):
    said = TokensAsFields(TOKENS, kind, strength=g, beta=beta).readout
    h, z = torch.tensor(TOKENS, dtype=torch.float64), torch.tensor(said["z"], dtype=torch.float64)
    by_h, by_z = torch.func.grad(minus_free_energy, argnums=(0, 1))(h, z, kind, g, beta)
    assert by_z.abs().max() < 1e-10
    m, more = (torch.tensor(said[name], dtype=torch.float64) for name in ("m", "more"))
    torch.testing.assert_close(m + more, by_h, atol=1e-10, rtol=0)
    J = couple(h, kind, g)
    torch.testing.assert_close(m, torch.linalg.solve(torch.diag(z) - J, h), atol=1e-10, rtol=0)
    lengths = m.square().sum(-1) / 2 + torch.tensor(said["chi"], dtype=torch.float64)
    torch.testing.assert_close(lengths, torch.ones(3).double(), atol=1e-10, rtol=0)
    assert said["J"] == pytest.approx([J[0, 1].item(), J[0, 2].item(), J[1, 2].item()], abs=1e-12)
    assert said["series"] == pytest.approx(torch.linalg.eigvals(J / z[:, None]).abs().max().item(), abs=1e-10)
    assert bool(more.abs().max() > 1e-3) is (kind != "fixed" and g != 0)


def test_what_the_page_says_of_it():
    """A mean never exceeds its spin, a response can; rivals in the cold have a response and no Neumann series."""
    long = TokensAsFields([[2.0, 0.0], [1.0, 0.8], [1.0, -0.8]], "tanh", strength=2.0).readout
    assert max(math.hypot(*m) for m in long["m"]) < 2**0.5
    whole = [
        math.hypot(*(a + b for a, b in zip(m, more, strict=True))) for m, more in zip(long["m"], long["more"], strict=True)
    ]
    assert max(whole) > 2**0.5
    rivals = TokensAsFields([[0.1, 0.0], [0.0, 0.1], [-0.1, 0.0]], "fixed", strength=-2, beta=4).readout
    assert rivals["series"] > 1
    assert all(math.isfinite(part) for m in rivals["m"] for part in m)


# The still picture


@pytest.mark.sweep(0.5)
@systems
def test_the_still_picture_is_drawn_from_the_same_numbers(kind, g, beta):
    figure = TokensAsFields(TOKENS, kind, strength=g, beta=beta)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    circles = [c for c in drawn.iter(f"{named}circle") if c.get("fill") in COLOURS]
    dots = [[(float(c.get("cx")) - 190) / 56, (190 - float(c.get("cy"))) / 56] for c in circles]
    for dot, m in zip(dots, said["m"], strict=True):
        assert dot == pytest.approx(m, abs=2e-3)
    assert html.escape(figure.alt()) in page


# In a browser


def test_mouse_drags_a_token(desk):
    plane, told = desk.show(TOKENS_AS_FIELDS, START), iter(([0.0, 0.0], [2.5, -1.0], [-2.8, 2.8], [3, -3]))

    def see():
        assert plane.is_right()["tokens"][1] == pytest.approx(next(told), abs=0.03)

    ways = (START["tokens"][1], [0.0, 0.0], [2.5, -1.0], [-2.8, 2.8], [4.0, -4.0])
    plane.drag([tokens_place(plane, point) for point in ways], see)
    assert plane.is_right() == START | {"tokens": [START["tokens"][0], [3, -3], START["tokens"][2]]}


def test_the_picture_stands_where_its_numbers_are(desk):
    plane = desk.show(TOKENS_AS_FIELDS, START)
    for state in (START, LONG, RIVALS):
        plane.put(**state)
        plane.is_right()
        numbers, box = computed(TOKENS_AS_FIELDS, **state), plane.picture.bounding_box()
        whole = (np.array(numbers["m"]) + np.array(numbers["more"])).tolist()
        for kind, told in (("mean", numbers["m"]), ("whole", whole if state["couplings"] != "fixed" else [])):
            wanted = [(x - box["x"], y - box["y"]) for x, y in (tokens_place(plane, point) for point in told)]
            found = plane.numbers(f".picture > svg circle.{kind}", "cx", "cy")
            assert np.ravel(found) == pytest.approx(np.ravel(wanted), abs=0.6)
        long = max(np.hypot(*point) for point in whole) > 2**0.5
        assert plane.phase() == ("longer than a spin" if long else "within a spin's length")
        shown = plane.told()
        assert ("it diverges" in shown) is (numbers["series"] >= 1)
        for point in numbers["m"]:
            assert f"{np.hypot(*point) / 2**0.5:.2f}" in shown


def test_matrices_of_the_module(desk):
    module, rng = desk.module(TOKENS_AS_FIELDS), random.Random(0)
    for _ in range(5):
        A = np.random.default_rng(rng.randrange(99)).normal(size=(3, 3))
        A = A + A.T
        radius = module.evaluate("A => module.radius(A)", A.tolist())
        assert radius == pytest.approx(np.abs(np.linalg.eigvalsh(A)).max(), abs=1e-12)
        V = A @ A.T + np.eye(3)
        rows = module.evaluate("A => module.inverse(A).rows", V.tolist())
        assert np.array(rows) == pytest.approx(np.linalg.inv(V), abs=1e-10)
        assert module.evaluate("A => module.inverse(A)", (-V).tolist()) is None
