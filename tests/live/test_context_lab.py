"""The context lab from Python: its means by hand, what a blind one knows, its recorded lines; in a browser its challenges."""

import html
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.draw import close
from helpers.figures import CONTEXT_LAB
from helpers.figures import MIXED as START
from helpers.live import CALM, computed

from attnlib.course import recorded
from attnlib.course.data.collective_runs import CollectiveRuns
from attnlib.course.data.spins import blind_floor, fixed_couplings
from attnlib.course.live import ContextLab, context_lab

SHARES = pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 1.0])


def by_hand(J, h):
    """Means of ten spins, state by state."""
    total, sums = 0.0, [0.0] * 10
    for state in itertools.product((-1, 1), repeat=10):
        inner = sum(J[i][j] * state[i] * state[j] for i in range(10) for j in range(i))
        weight = math.exp(inner + sum(field * spin for field, spin in zip(h, state, strict=True)))
        total += weight
        sums = [have + weight * spin for have, spin in zip(sums, state, strict=True)]
    return [have / total for have in sums]


# Its numbers


@SHARES
def test_couplings_and_means_by_hand(share):
    said, J0 = ContextLab(share=share, context=7, field=3).readout, fixed_couplings().tolist()
    for i, j in itertools.combinations(range(10), 2):
        overlap = sum(one * other for one, other in zip(said["x"][i], said["x"][j], strict=True))
        wanted = math.sqrt(1 - share) * J0[i][j] + math.sqrt(share) * 1.2 * overlap / math.sqrt(40)
        assert said["J"][i][j] == pytest.approx(said["J"][j][i], abs=1e-12)
        assert said["J"][i][j] == pytest.approx(wanted, abs=1e-6)
    assert [said["J"][i][i] for i in range(10)] == [0] * 10
    assert said["m"] == pytest.approx(by_hand(said["J"], said["h"]), abs=1e-9)


def test_another_context_leaves_the_fixed_part_and_what_the_blind_know():
    one, other = (ContextLab(share=0.3, context=context).readout for context in (4, 5))
    assert (one["h"], one["blind"], one["floor"]) == (other["h"], other["blind"], other["floor"])
    assert one["m"] != other["m"]
    own = [
        torch.tensor(said["J"], dtype=torch.float64) - math.sqrt(0.7) * torch.tensor(context_lab.J0, dtype=torch.float64)
        for said in (one, other)
    ]
    for part, said in zip(own, (one, other), strict=True):
        x = torch.tensor(said["x"], dtype=torch.float64)
        alone = math.sqrt(0.3) * 1.2 * (x @ x.mT - torch.diag((x * x).sum(-1))) / math.sqrt(40)
        close(part, alone, atol=1e-9)


@pytest.mark.slow
@SHARES
def test_what_the_blind_know_is_an_average_over_contexts(share):
    """Over draws that the figure shows one by one, not those over which it averages: within three errors of a mean of 60."""
    said = ContextLab(share=share, field=2).readout
    m = torch.tensor([ContextLab(share=share, context=context, field=2).readout["m"] for context in range(60)])
    spread, blind = torch.tensor(said["spread"]), torch.tensor(said["blind"])
    assert ((m.mean(0) - blind).abs() < 4 * spread * (1 / 60 + 1 / 160) ** 0.5).all()
    assert m.std(0).mean() == pytest.approx(spread.mean().item(), rel=0.25)
    misses = [ContextLab(share=share, context=context, field=2).readout["error"] for context in range(60)]
    assert sum(misses) / 60 == pytest.approx(said["floor"], rel=0.35)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "share"), [(1, 0.03), (2, 0.1), (4, 1.0)])
def test_on_average_over_fields_the_blind_miss_the_recorded_bound(place, share):
    found = [ContextLab(share=share, field=field).readout for field in range(100)]
    whole = torch.tensor([torch.tensor(said["m"]).square().mean() for said in found])
    floor = torch.tensor([said["floor"] for said in found])
    bound = context_lab.RECORD["lines"][0]["errors"][place]
    assert (floor * whole).mean() / whole.mean() == pytest.approx(bound, rel=0.2)


NAMES = {
    "linear map": "linear",
    "learned places": "places",
    "mean field": "mean-field",
    "vector spins": "vector-spins",
    "softmax": "softmax",
    "energy attention": "energy",
    "vector spins on softmax": "vector-spins-softmax",
    "softmax in two tied steps": "softmax, 2 tied steps",
    "softmax in four tied steps": "softmax, 4 tied steps",
}


@pytest.mark.slow
def test_the_lines_are_those_of_the_record_of_runs():
    runs, at = CollectiveRuns(recorded("collectives"), "spins"), context_lab.RECORD["at"]
    bound, *lines = context_lab.RECORD["lines"]
    assert bound["kind"] == "bound"
    for share, error in zip(at, bound["errors"], strict=True):
        floor = blind_floor(share, draws=1500, inner=8, generator=torch.Generator().manual_seed(5))
        assert error == pytest.approx(floor.mean, abs=4 * floor.error)
    assert [line["name"] for line in lines] == list(NAMES)
    for line in lines:
        means = [runs.mean(NAMES[line["name"]], share).mean for share in at]
        assert line["errors"] == pytest.approx(means, rel=0.005, abs=6e-5)


def test_lines_meet_what_is_recorded_and_end_where_it_ends():
    record = context_lab.RECORD
    for place, share in enumerate(record["at"]):
        assert ContextLab(share=share).readout["lines"] == pytest.approx([line["errors"][place] for line in record["lines"]])
    assert ContextLab(share=0.005).readout["lines"] == [-1] * len(record["lines"])
    between = ContextLab(share=math.sqrt(0.1 * 0.3)).readout["lines"]
    wanted = [math.sqrt(line["errors"][2] * line["errors"][3]) for line in record["lines"]]
    assert between == pytest.approx(wanted)


def test_sentences_are_true():
    """The bundles cross between the first two; at lambda = 1 two thirds are left to who reads."""
    kinds = [line["kind"] for line in context_lab.RECORD["lines"]]
    best = []
    for scene in context_lab.SCENES.values():
        lines = ContextLab(**scene).readout["lines"]
        best.append(
            [min(error for error, kind in zip(lines, kinds, strict=True) if kind == name) for name in ("blind", "reads")]
        )
    assert best[0][0] < best[0][1] / 1.3
    assert best[1][1] < best[1][0] / 1.3
    assert ContextLab(share=1.0).readout["floor"] == pytest.approx(2 / 3, abs=0.05)


def test_a_record_of_ones_own():
    lines = [{"name": "mine", "kind": "reads", "errors": [0.2, 0.1]}]
    figure = ContextLab(share=0.2, record={"at": [0.1, 0.4], "lines": lines})
    assert figure.readout["lines"] == [pytest.approx(math.sqrt(0.02))]
    assert "Too few networks are recorded here." in figure.alt()


# The still picture


@pytest.mark.parametrize("state", [START, START | {"share": 1.0, "context": 0}])
def test_the_still_picture_is_drawn_from_the_same_numbers(state):
    figure = ContextLab(**state)
    said, page, name = figure.readout, figure.page(), "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', page)[1]))
    shades = [float(part.get("fill-opacity")) for part in drawn.iter(f"{name}rect") if part.get("fill-opacity")]
    assert shades == pytest.approx([min(1, abs(entry) / 0.8) for row in said["J"] for entry in row], abs=0.006)
    bars = [part.get("d") for part in drawn.iter(f"{name}path") if part.get("stroke-width") == "14"]
    ends = [float(bar.split("H")[1]) for bar in bars]
    assert [(end - 500) / 180 for end in ends] == pytest.approx(said["m"], abs=0.001)
    assert f"misses {said['error']:.2f} of the variance" in figure.alt()
    assert html.escape(figure.alt()) in page


# In a browser


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_shades_bars_and_marks_are_the_numbers(desk):
    shown, said = desk.show(CONTEXT_LAB, START), computed(CONTEXT_LAB, **START)
    shades = shown.column(".picture rect.plus:not(.mean), .picture rect.minus:not(.mean)", "fill-opacity")
    rows = zip(said["x"], said["J"], strict=True)
    wanted = [part for x, J in rows for part in (*(min(1, abs(v) / 2) for v in x), *(min(1, abs(v) / 0.8) for v in J))]
    assert shades == pytest.approx(wanted, abs=0.001)
    widths, marks = shown.column("rect.mean", "width"), shown.column("line.mark", "x1")
    scale = widths[0] / abs(said["m"][0])
    assert widths == pytest.approx([scale * abs(m) for m in said["m"]], abs=1e-6)
    zero = shown.column("line.axis", "x1")[0]
    assert [(mark - zero) / scale for mark in marks] == pytest.approx(said["blind"], abs=1e-6)


@pytest.mark.parametrize("desk", [{"own": True}, {"own": True} | CALM], indirect=True, ids=["motion", "calm"])
def test_on_arrival_couplings_pass_from_the_fixed_ones_once(desk, request):
    shown = desk.stopped(CONTEXT_LAB, **START)
    shown.page.clock.run_for(100)
    where = shown.column(".here", "x1")
    shown.page.clock.run_for(3000)
    end = shown.column(".here", "x1")
    assert (where == end) is ("calm" in request.node.name)
    assert where <= end
    shown.page.clock.run_for(3000)
    assert shown.column(".here", "x1") == end


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_challenges_are_met_where_the_numbers_say_so(desk):
    """Where the two bundles cross, at about a fiftieth, and where half is out of sight."""
    shown = desk.show(CONTEXT_LAB, START)

    def done():
        return shown.box.locator("li").evaluate_all("all => all.map(task => task.classList.contains('done'))")

    assert done() == [False, False]
    for share in (0.01, 0.015, 0.03, 0.1, 1.0, 0.4):
        shown.put(share=share)
        assert done() == [False, False]
    shown.put(share=0.0199)
    assert done() == [True, False]
    halves = [
        share / 100
        for share in range(50, 90)
        if abs(computed(CONTEXT_LAB, **START | {"share": share / 100})["floor"] - 0.5) < 0.01
    ]
    shown.put(share=halves[0])
    assert done() == [True, True]
    assert "(done)" in shown.told("ol")


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_says_who_is_ahead(desk):
    shown, words = desk.show(CONTEXT_LAB, START), []
    for share in (0.005, 0.01, 0.1):
        shown.put(share=share)
        words.append(shown.phase())
    assert words == ["nothing recorded", "the blind are ahead", "reading is ahead"]
