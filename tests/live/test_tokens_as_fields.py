"""Tokens as fields from Python: both terms of a response against autograd, what it refuses, what a notebook gets."""

import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install -e .[book]")

import traitlets

from attnlib.course.live import FigureError, TokensAsFields
from attnlib.course.live.tokens_as_fields import COLOURS, COUPLINGS

SIXTY_KB = 60_000
TOKENS = [[1.5, -0.3], [0.2, 2.5], [-2.0, 0.0]]
HELD = {"tokens": TOKENS, "couplings": "softmax", "strength": -1.2, "beta": 0.7}
BAD = [
    ({"tokens": [[1.0, 2.0]] * 2}, "tokens has parts of sizes [2, 2]; expected 3 pairs"),
    ({"tokens": [[1.0, 2.0], [0.0], [1.0, 1.0]]}, "tokens has parts of sizes [2, 1, 2]; expected 3 pairs"),
    ({"tokens": [[3.1, 0.0]] * 3}, "tokens has the entry 3.1; expected numbers between -3 and 3"),
    ({"tokens": [[math.nan, 0.0]] * 3}, "tokens has the entry nan"),
    ({"couplings": "free"}, "couplings is 'free'; expected one of 'fixed', 'tanh', 'softmax'"),
    ({"strength": 2.5}, "strength is 2.5; expected a number between -2 and 2"),
    ({"strength": math.nan}, "strength is nan"),
    ({"beta": 0.3}, "beta is 0.3; expected 0.4 <= beta <= 4"),
    ({"beta": math.nan}, "beta is nan"),
]
SYSTEMS = [(kind, g, beta) for kind in COUPLINGS for g, beta in ((0.0, 1.0), (1.5, 0.6), (-2.0, 3.0))]
systems = pytest.mark.parametrize(("kind", "g", "beta"), SYSTEMS)


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses_and_keeps_the_old_value(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        TokensAsFields(**settings)
    assert isinstance(refused.value, ValueError)
    figure = TokensAsFields(**HELD)
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == HELD


@pytest.mark.parametrize(("name", "value"), [("tokens", 3.0), ("couplings", 1), ("strength", "much"), ("beta", None)])
def test_refuses_other_kinds(name, value):
    with pytest.raises(traitlets.TraitError, match=name):
        setattr(TokensAsFields(), name, value)


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


# What a notebook is given


def test_a_notebook_gets_a_small_page_that_is_the_same_every_time():
    figure = TokensAsFields(**HELD)
    data, metadata = figure._repr_mimebundle_()
    assert len(json.dumps(data | metadata)) < SIXTY_KB
    assert data["text/html"] == TokensAsFields(**HELD).page()
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', data["text/html"])[1])) == figure.state()
    assert set(re.findall(r"https?://[^\"'%\s]+", data["text/html"])) == {"http://www.w3.org/2000/svg"}  # a name, not a place


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
