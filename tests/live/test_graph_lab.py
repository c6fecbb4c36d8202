"""The graph lab from Python: its numbers against attention by hand, what it refuses, its page."""

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

from attnlib.course.live import FigureError, GraphLab
from attnlib.course.live.graph_lab import SCENES, UNIT, some_edges, system

SIXTY_KB = 60_000
BAD = [
    ({"edges": [[0, 10]]}, "edges has [0, 10]; expected pairs of numbers from 0 to 9"),
    ({"edges": [[0, 1, 2]]}, "edges has [0, 1, 2]"),
    ({"edges": [[0, 1], [0, 1]]}, "edges has an edge twice; expected each once"),
    ({"node": 10}, "node is 10; expected 0 <= node <= 9"),
    ({"beta": 0.0}, "beta is 0.0; expected 0.001 <= beta <= 1"),
    ({"beta": math.nan}, "beta is nan"),
    ({"seed": -1}, "seed is -1; expected 0 <= seed <= 999"),
]
pairs = st.tuples(st.integers(0, 9), st.integers(0, 9))
states = st.fixed_dictionaries(
    {
        "edges": st.lists(pairs, max_size=30, unique=True).map(lambda edges: [list(edge) for edge in edges]),
        "node": st.integers(0, 9),
        "beta": st.floats(0.001, 1),
        "seed": st.integers(0, 999),
    }
)


@pytest.mark.parametrize(("settings", "complaint"), BAD)
def test_refuses_and_keeps_the_old_value(settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        GraphLab(**settings)
    assert isinstance(refused.value, ValueError)
    figure = GraphLab([[1, 2]], node=2, beta=0.5, seed=3)
    (name, value), *_ = settings.items()
    with pytest.raises(FigureError, match=re.escape(complaint)):
        setattr(figure, name, value)
    assert figure.state() == {"edges": [[1, 2]], "node": 2, "beta": 0.5, "seed": 3}


@pytest.mark.parametrize(("name", "value"), [("edges", 3), ("node", 1.5), ("beta", "large")])
def test_refuses_other_kinds(name, value):
    with pytest.raises(traitlets.TraitError, match=name):
        setattr(GraphLab(), name, value)


@given(states)
def test_its_numbers_by_hand(state):
    said = GraphLab(**state).readout
    data, *maps = system(state["seed"])
    query, key, value = (data @ one.mT for one in maps)
    sources = sorted(j for j, i in state["edges"] if i == state["node"])
    assert said["neighbours"] == sources
    if not sources:
        assert said["mix"] == [0.0] * 20
        assert said["effective"] == said["spread"] == 0
        return
    scores = state["beta"] * torch.stack([query[state["node"]] @ key[j] for j in sources])
    p = scores.softmax(0)
    assert said["scores"] == pytest.approx(scores.tolist())
    assert said["weights"] == pytest.approx(p.tolist(), abs=1e-12)
    assert said["mix"] == pytest.approx(sum(w * value[j] for w, j in zip(p, sources)).tolist())
    assert said["effective"] == pytest.approx(1 / p.square().sum().item())
    assert said["spread"] == pytest.approx(scores.std(correction=0).item())


def test_its_scenes_are_frozen_frozen_and_soft():
    heard = {
        name: torch.tensor([GraphLab(node=i, beta=beta, seed=s).readout["effective"] for i in range(10) for s in range(10)])
        for name, beta in SCENES.items()
    }
    assert heard["as they are"].median() < 1.01
    assert heard["divided by \u221a20"].median() < 1.1
    assert heard["unit variance"].median() > 1.5
    assert pytest.approx(20**-1.5) == UNIT


def test_a_tensor_of_edges_is_taken():
    assert GraphLab(torch.tensor([[0, 1], [2, 2]])).edges == [[0, 2], [1, 2]]


@pytest.mark.parametrize("node", range(10))
def test_a_notebook_gets_a_small_page_that_is_the_same_every_time(node):
    figure = GraphLab(node=node)
    data, metadata = figure._repr_mimebundle_()
    assert len(json.dumps(data | metadata)) < SIXTY_KB
    assert data["text/html"] == GraphLab(some_edges(), node=node).page()
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', data["text/html"])[1])) == figure.state()
    assert set(re.findall(r"https?://[^\"'%\s]+", data["text/html"])) == {"http://www.w3.org/2000/svg"}  # a name, not a place


@pytest.mark.parametrize("edges", [some_edges(), [[4, 3]], []])
def test_the_still_picture_is_drawn_from_the_same_numbers(edges):
    figure = GraphLab(edges, node=3)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    bars = [float(bar.get("width")) for bar in drawn.iter(f"{named}rect")][1:]
    assert bars == pytest.approx([100 * weight for weight in said["weights"]], abs=0.06)
    lines = [path for path in drawn.iter(f"{named}path") if path.get("stroke") == "#d55e00"]
    widths = [1 + 6 * w for j, w in zip(said["neighbours"], said["weights"]) if j != 3]
    assert sorted(float(line.get("stroke-width")) for line in lines) == pytest.approx(sorted(widths), abs=0.01)
    assert html.escape(figure.alt()) in page
    assert ("keeps its data" in figure.alt()) == (not said["neighbours"])
