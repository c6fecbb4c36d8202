"""The factor lab from Python: its numbers against belief propagation and by hand, what it refuses, its page."""

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

from attnlib.course.live import FactorLab, FigureError
from attnlib.course.live.factor_lab import SCENES
from attnlib.mean_field import exact_ising
from attnlib.message_passing import belief_propagation, ising_graph

SIXTY_KB = 60_000
BAD = [
    ({"edges": [[1, 0]]}, "edges has [1, 0]; expected pairs of numbers from 0 to 5, the smaller first"),
    ({"edges": [[2, 2]]}, "edges has [2, 2]"),
    ({"edges": [[0, 6]]}, "edges has [0, 6]"),
    ({"edges": [[0, 1], [0, 1]]}, "edges has an edge twice; expected each once"),
    ({"fields": [0.0] * 5}, "expected 6 numbers from -1.5 to 1.5"),
    ({"fields": [0.0] * 5 + [math.nan]}, "expected 6 numbers from -1.5 to 1.5"),
    ({"coupling": 2.0}, "coupling is 2.0; expected -1.5 <= coupling <= 1.5"),
    ({"damping": 1.0}, "damping is 1.0; expected 0 <= damping <= 0.9"),
    ({"sweeps": 61}, "sweeps is 61; expected 0 <= sweeps <= 60"),
    ({"node": -1}, "node is -1; expected 0 <= node <= 5"),
]
every_pair = [[i, j] for i in range(6) for j in range(i + 1, 6)]
states = st.fixed_dictionaries(
    {
        "edges": st.lists(st.sampled_from(every_pair), max_size=15, unique_by=tuple).map(sorted),
        "fields": st.lists(st.floats(-1.5, 1.5), min_size=6, max_size=6),
        "coupling": st.floats(-1.5, 1.5),
        "damping": st.floats(0, 0.9),
        "sweeps": st.integers(0, 8),
    }
)


def couplings(edges, coupling):
    J = torch.zeros(6, 6, dtype=torch.float64)
    for i, j in edges:
        J[i, j] = J[j, i] = coupling
    return J


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses_and_keeps_the_old_value(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        FactorLab(**settings)
    assert isinstance(refused.value, ValueError)
    figure = FactorLab([[1, 2]], coupling=0.5, sweeps=3)
    before = figure.state()
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == before


def test_refuses_other_kinds():
    with pytest.raises(FigureError, match="edges is 'circle'; expected pairs of spins, or one of row, star"):
        FactorLab("circle")
    for name, value in (("edges", 3), ("node", 1.5), ("coupling", "strong")):
        with pytest.raises(traitlets.TraitError, match=name):
            setattr(FactorLab(), name, value)


@given(states)
def test_its_numbers_by_hand(state):
    """Messages as fields, one spin after another, and averages from the mean-field chapter's enumeration."""
    said = FactorLab(**state).readout
    J, h = couplings(state["edges"], state["coupling"]), torch.tensor(state["fields"], dtype=torch.float64)
    u = torch.zeros(6, 6, dtype=torch.float64)

    def sweep(u):
        cavity = h[:, None] + u.sum(0)[:, None] - u.T
        return torch.atanh(torch.tanh(J) * torch.tanh(cavity))

    for _ in range(state["sweeps"]):
        u = (1 - state["damping"]) * sweep(u) + state["damping"] * u
    for (i, j), (there, back) in zip(state["edges"], said["messages"], strict=True):
        assert (there, back) == pytest.approx((u[i, j].item(), u[j, i].item()), abs=1e-9)
    exact = exact_ising(J, h).m
    believed = torch.tanh(h + u.sum(0))
    assert said["believed"] == pytest.approx(believed.tolist(), abs=1e-9)
    assert said["exact"] == pytest.approx(exact.tolist(), abs=1e-9)
    assert said["error"] == pytest.approx((believed - exact).abs().max().item(), abs=1e-9)
    chance = torch.sigmoid(2 * u)
    assert said["change"] == pytest.approx((torch.sigmoid(2 * sweep(u)) - chance).abs().max().item(), abs=1e-9)
    groups = len(set(map(frozenset, [reached(i, state["edges"]) for i in range(6)])))
    assert said["loops"] == len(state["edges"]) - 6 + groups


def reached(i, edges):
    found = {i}
    for _ in range(6):
        found |= {k for edge in edges if found & set(edge) for k in edge}
    return found


@pytest.mark.parametrize("name", SCENES)
def test_after_all_sweeps_it_is_where_belief_propagation_ends(name):
    figure = FactorLab(name, sweeps=60)
    found = belief_propagation(ising_graph(couplings(figure.edges, 0.7), torch.tensor(figure.fields, dtype=torch.float64)))
    assert figure.readout["believed"] == pytest.approx((found.beliefs[:, 1] - found.beliefs[:, 0]).tolist(), abs=1e-9)
    assert (figure.readout["error"] < 1e-9) == (name in ("row", "star")) == (figure.readout["loops"] == 0)


def test_all_pairs_that_want_to_differ_find_no_rest_until_damped():
    assert FactorLab("everyone", coupling=-0.6, sweeps=60).readout["change"] > 0.1
    assert FactorLab("everyone", coupling=-0.6, sweeps=60, damping=0.5).readout["change"] < 1e-6


@pytest.mark.parametrize("name", SCENES)
def test_a_notebook_gets_a_small_page_that_is_the_same_every_time(name):
    figure = FactorLab(name, sweeps=3)
    data, metadata = figure._repr_mimebundle_()
    assert len(json.dumps(data | metadata)) < SIXTY_KB
    assert data["text/html"] == FactorLab(SCENES[name], sweeps=3).page()
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', data["text/html"])[1])) == figure.state()
    assert set(re.findall(r"https?://[^\"'%\s]+", data["text/html"])) == {"http://www.w3.org/2000/svg"}  # a name, not a place


@pytest.mark.parametrize("settings", [{"sweeps": 2}, {"edges": "everyone", "coupling": -1.0, "sweeps": 7}, {"edges": []}])
def test_the_still_picture_is_drawn_from_the_same_numbers(settings):
    figure = FactorLab(**settings)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    bars = [bar for bar in drawn.iter(f"{named}rect") if bar.get("fill") == "#d55e00"]
    marks = [bar for bar in drawn.iter(f"{named}rect") if bar.get("height") == "26"]
    assert [float(bar.get("width")) for bar in bars] == pytest.approx([130 * abs(m) for m in said["believed"]], abs=0.01)
    assert [float(mark.get("x")) for mark in marks] == pytest.approx([539 + 130 * m for m in said["exact"]], abs=0.01)
    assert len(list(drawn.iter(f"{named}path"))) == len(figure.edges) + 1
    assert html.escape(figure.alt()) in page
