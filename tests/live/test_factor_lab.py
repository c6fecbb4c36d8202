"""The factor lab from Python: its numbers against belief propagation and by hand, what it refuses, its page."""

import html
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.figures import FACTOR_LAB
from helpers.figures import LOOP as START
from helpers.live import CALM, PHONE, computed
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.live import FactorLab
from attnlib.course.live.factor_lab import MOST_SWEEPS, SCENES
from attnlib.mean_field import exact_ising
from attnlib.message_passing import belief_propagation, ising_graph

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


@pytest.mark.slow
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


@pytest.mark.parametrize("settings", [{"sweeps": 2}, {"edges": "everyone", "coupling": -1.0, "sweeps": 7}, {"edges": []}])
def test_the_still_picture_is_drawn_from_the_same_numbers(settings):
    figure = FactorLab(**settings)
    said, page = figure.readout, figure.page()
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    named = "{http://www.w3.org/2000/svg}"
    bars = [bar for bar in drawn.iter(f"{named}rect") if bar.get("fill") == "#d55e00"]
    marks = [bar for bar in drawn.iter(f"{named}rect") if bar.get("height") == "26"]
    assert [float(bar.get("width")) for bar in bars] == pytest.approx([110 * abs(m) for m in said["believed"]], abs=0.01)
    assert [float(mark.get("x")) for mark in marks] == pytest.approx([529 + 110 * m for m in said["exact"]], abs=0.01)
    assert len(list(drawn.iter(f"{named}path"))) == len(figure.edges) + 1
    assert html.escape(figure.alt()) in page


# In a browser


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_run_jumps_to_the_end_for_who_wants_no_motion(desk):
    lab = desk.show(FACTOR_LAB, START)
    lab.button("Run").click()
    assert lab.is_right()["sweeps"] == MOST_SWEEPS
    assert lab.phase() == "at rest and wrong"
    assert lab.button("Step").is_disabled()
    assert lab.button("Run").is_disabled()
    lab.button("row").click()
    assert lab.is_right()["sweeps"] == 0
    lab.button("Run").click()
    assert lab.is_right()["edges"] == SCENES["row"]
    assert lab.phase() == "at rest and exact"
    lab.button("everyone").click()
    lab.slider("Coupling").press("Home")
    lab.button("Run").click()
    assert lab.is_right()["coupling"] == -1.5
    assert lab.phase() == "no rest"


@pytest.mark.parametrize("desk", [{"own": True}], indirect=True)
def test_run_moves_on_and_a_change_stops_it(desk):
    """Frames are those of the test's own clock: two seconds hold some sweeps of a run, and none of one that was stopped."""
    lab = desk.stopped(FACTOR_LAB, **START)

    def sweeps():
        desk.page.clock.run_for(2000)
        return lab.ask("model.get('sweeps')")

    def push(name):
        lab.button(name).evaluate("button => button.click()")

    push("Run")
    assert sweeps() > 3
    push("Step")
    stopped = lab.ask("model.get('sweeps')")
    assert sweeps() == stopped
    push("Run")
    assert sweeps() > stopped
    lab.slider("Coupling").evaluate("range => { range.value = 0.5; range.dispatchEvent(new Event('input')); }")
    assert lab.ask("model.get('sweeps')") == 0
    assert sweeps() == 0
    desk.page.clock.resume()
    assert lab.is_right()["sweeps"] == 0


def test_bars_marks_and_arrows_are_drawn_from_the_numbers(desk):
    lab, numbers = desk.show(FACTOR_LAB, START), computed(FACTOR_LAB, **START)
    lengths, places = lab.column("rect.belief", "width"), lab.column("rect.exact", "x")
    unit = lengths[0] / abs(numbers["believed"][0])
    assert lengths == pytest.approx([unit * abs(m) for m in numbers["believed"]], abs=1e-6)
    zero = places[0] - unit * numbers["exact"][0]
    assert places == pytest.approx([zero + unit * m for m in numbers["exact"]], abs=1e-6)
    told = [u for pair in numbers["messages"] for u in pair if abs(u) > 1e-8]
    assert lab.box.locator("path.message").count() == len(told)
    assert lab.box.locator("path.message.minus").count() == sum(u < 0 for u in told)
    assert lab.box.locator("rect.box").count() == len(START["edges"])
    for name in SCENES:
        lab.button(name).click()
        lab.is_right()
        assert lab.box.locator(".chips button[aria-pressed=true]").all_inner_texts() == [name]
    assert lab.button("Edge between spins 1 and 1").is_disabled()


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_on_a_phone_the_bars_stand_between_the_graph_and_the_step(desk):
    lab = desk.show(FACTOR_LAB, START)
    top, control = lab.picture.bounding_box(), lab.button("Step").bounding_box()
    bars = lab.box.locator("rect.exact").last.bounding_box()
    assert top["y"] + top["height"] < bars["y"] + bars["height"] < control["y"]
