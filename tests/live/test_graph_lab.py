"""The graph lab from Python: its numbers against attention by hand, what it refuses, its page."""

import html
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.figures import GRAPH as START
from helpers.figures import GRAPH_LAB
from helpers.live import computed
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.live import GraphLab
from attnlib.course.live.graph_lab import SCENES, UNIT, some_edges, system

pairs = st.tuples(st.integers(0, 9), st.integers(0, 9))
states = st.fixed_dictionaries(
    {
        "edges": st.lists(pairs, max_size=30, unique=True).map(lambda edges: [list(edge) for edge in edges]),
        "node": st.integers(0, 9),
        "beta": st.floats(0.001, 1),
        "seed": st.integers(0, 999),
    }
)


@given(states)
@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("edges", [some_edges(), [[4, 3]], []])
def test_the_still_picture_is_drawn_from_the_same_numbers(edges):
    figure = GraphLab(edges, node=3)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    bars = [float(bar.get("width")) for bar in drawn.iter(f"{named}rect")][1:]
    assert bars == pytest.approx([130 * weight for weight in said["weights"]], abs=0.06)
    lines = [path for path in drawn.iter(f"{named}path") if path.get("stroke") == "#d55e00"]
    widths = [1 + 6 * w for j, w in zip(said["neighbours"], said["weights"]) if j != 3]
    assert sorted(float(line.get("stroke-width")) for line in lines) == pytest.approx(sorted(widths), abs=0.01)
    assert html.escape(figure.alt()) in page
    assert ("keeps its data" in figure.alt()) == (not said["neighbours"])


# In a browser


def test_edges_are_put_in_and_taken_out(desk):
    lab = desk.show(GRAPH_LAB, START)
    there = [j for j, i in START["edges"] if i == 3]
    missing = next(j for j in range(10) if j not in there)

    def turn(j):
        lab.button(f"Edge from node {j} to node 3").click()

    turn(missing)
    found = lab.is_right()["edges"]
    assert sorted(found) == sorted([*START["edges"], [missing, 3]])
    assert found == sorted(found, key=lambda edge: (edge[1], edge[0]))
    for j in [*there, missing]:
        turn(j)
    assert not [j for j, i in lab.is_right()["edges"] if i == 3]
    assert lab.phase() == "nothing reaches it"
    turn(3)
    assert [j for j, i in lab.is_right()["edges"] if i == 3] == [3]
    assert lab.phase() == "one neighbour"


def test_arrows_are_as_wide_as_their_weights(desk):
    lab, numbers = desk.show(GRAPH_LAB, START), computed(GRAPH_LAB, **START)
    widths = lab.column("line.strong, circle.strong", "stroke-width")
    assert widths == pytest.approx([1 + 6 * weight for weight in numbers["weights"]], abs=1e-6)
    assert lab.box.locator("line.faint, circle.faint").count() == sum(i != 3 for _, i in START["edges"])
    assert lab.column("rect.weight", "width") == pytest.approx(
        [room * weight for room, weight in zip(lab.column("rect.room", "width"), numbers["weights"])], abs=1e-6
    )
    for name in SCENES:
        lab.button(name).click()
        lab.is_right()
        assert lab.box.locator(".chips button[aria-pressed=true]").all_inner_texts() == [name]
