"""The walker from Python and in a browser: its counts by hand, who walks and who does not, the challenge, what is drawn."""

import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote

import pytest
import torch
from helpers.figures import LONG_CYCLES, WALK, WALKER, place
from helpers.live import CALM, PHONE, computed

from attnlib.course import recorded
from attnlib.course.data.hops import hop_questions
from attnlib.course.live import FigureError, Walker
from attnlib.course.live.walker import FIRST, LETTERS, SEEDS, WALKS, permutations
from attnlib.course.models.walkers import hop_walker

RECORD = recorded("walker_weights")


def drawn(count, seed=0):
    return hop_questions(count, generator=torch.Generator().manual_seed(seed)).image.tolist()


def after(image, start, hops):
    for _ in range(hops):
        start = image[start]
    return start


# The figure's numbers


@pytest.mark.parametrize("image", [FIRST, LONG_CYCLES, [*range(8)], *drawn(3)], ids=str)
@pytest.mark.parametrize(("network", "steps", "tie"), [(0, 2, False), (0, 5, False), (1, 3, False), (0, 4, True)])
def test_counts_are_counted_by_hand(image, network, steps, tie):
    said = Walker(network=network, image=image, start=3, steps=steps, tie=tie).readout
    assert said["truth"] == [after(image, 3, t) for t in range(1, steps + 1)]
    answers = said["answers"]
    assert said["right"] == sum(answers[q] == after(image, q, steps) for q in range(8)) == said["profile"][steps - 1]
    assert said["hits"] == [sum(answers[q] == after(image, q, k) for q in range(8)) for k in range(9)]
    assert said["expected"] == [sum(after(image, q, steps) == after(image, q, k) for q in range(8)) for k in range(9)]
    assert said["path"][-1] == answers[3] == max(range(8), key=said["probability"].__getitem__)
    back = next(k for k in range(1, 16) if all(after(image, q, k) == q for q in range(8)))
    assert said["order"] == back
    assert said["home"] == sum(answers[q] == q for q in range(8))
    assert said["solved"] == (said["home"] == 8 and steps == back and not tie)


def test_the_thermometer_by_hand():
    """Of each head and step the mean of sum p^2 over the mean weight of the fact where the step should begin."""
    image, steps = drawn(1)[0], 3
    each = [Walker(network=1, image=image, start=q, steps=steps, beta=2.0).readout for q in range(8)]
    for t in range(steps):
        for h in range(4):
            rows = [said["weights"][t][h] for said in each]
            right = [row[after(image, q, t)] for q, row in enumerate(rows)]
            squares = [sum(p * p for p in row) for row in rows]
            spreads = [
                torch.tensor(row, dtype=torch.float64).log().std(correction=0) / math.sqrt(2 * math.log(8)) for row in rows
            ]
            for said in each:  # the same whoever is asked
                assert said["U"][t][h] == pytest.approx(sum(squares) / sum(right), rel=1e-9)
                assert said["target"][t][h] == pytest.approx(sum(right) / 8, rel=1e-9)
                assert said["spread"][t][h] == pytest.approx(sum(spreads).item() / 8, rel=1e-9)


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_one_walks_and_the_other_does_not():
    """Over a hundred permutations; both read two hops."""
    shares = torch.tensor([[Walker(RECORD, n, image).readout["profile"] for image in drawn(100)] for n in (0, 1)]) / 8
    walks, not_ = shares.double().mean(1)
    assert SEEDS[0] in WALKS
    assert SEEDS[1] not in WALKS
    assert walks.min() > 0.98
    assert not_[1] > 0.99
    assert max(not_[0], *not_[2:]) < 0.35


def test_what_the_card_says_of_all_that_were_trained_is_in_the_records():
    right = {one["seed"]: [one["measured"]["right"][T][T] for T in range(8)] for one in RECORD["walkers"]}
    assert [seed for seed, row in right.items() if min(row) > 0.95] == list(WALKS)
    rows = [row for row in recorded("walkers")["rows"] if row["heads"] == 4]
    assert len(rows) == 15
    assert all(row["score"] == 1.0 for row in rows)
    assert sum(min(row["walks"]) >= 0.95 for row in rows) == 5
    assert {row["seed"] for row in rows if min(row["walks"]) >= 0.95} & set(right) == set(WALKS)


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_heat_takes_the_walk_away_and_tied_values_keep_it_at_home():
    hot, warm, cold = (sum(Walker(image=i, steps=8, beta=b).readout["right"] for i in drawn(30)) for b in (0.25, 1.0, 4.0))
    assert hot < 0.7 * 240 < 0.97 * 240 < min(warm, cold)
    for steps in (1, 2, 3):
        assert sum(Walker(image=image, steps=steps, tie=True).readout["home"] for image in drawn(30)) > 0.98 * 240


def returns(image):
    """After how many hops everybody is home for the first time."""
    at, hops = image, 1
    while at != [*range(8)]:
        at, hops = [image[place] for place in at], hops + 1
    return hops


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_drawn_permutations_can_be_brought_home_by_the_one_that_walks():
    """By the arrows always, by the walker in all but one in a hundred or two; by no other number of steps before."""
    found = permutations(100)
    assert all(sorted(image) == list(range(8)) for image in found)
    orders = [returns(image) for image in found]
    assert set(orders) <= set(range(3, 9))
    said = [Walker(image=image, steps=k).readout for image, k in zip(found, orders, strict=True)]
    assert [one["order"] for one in said] == orders
    assert sum(one["solved"] for one in said) >= 97
    for image, order in zip(found[:20], orders, strict=False):
        assert not any(Walker(image=image, steps=k).readout["home"] == 8 for k in range(1, order))


def test_it_needs_no_record_and_takes_no_other():
    assert Walker().state() == Walker(RECORD).state()
    with pytest.raises(FigureError, match="record is"):
        Walker(recorded("associative_capacity"))
    own = hop_walker(Walker().record, SEEDS[1]).state_dict()
    assert all(table.equal(own[name]) for name, table in hop_walker(RECORD, SEEDS[1]).state_dict().items())


@pytest.mark.parametrize("state", [{}, {"network": 1, "steps": 5}, {"image": [*range(8)], "tie": True}], ids=str)
def test_the_still_picture_is_drawn_from_the_same_numbers(state):
    figure = Walker(**state)
    said, name = figure.readout, "{http://www.w3.org/2000/svg}"
    picture = ElementTree.fromstring(unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', figure.page())[1]))
    lines = [part for part in picture.iter() if part.get("stroke-width") == "3"]
    colours = ["#0072b2" if a == b else "#d55e00" for a, b in zip(said["path"], said["truth"], strict=True)]
    assert [line.get("stroke") for line in lines] == colours
    assert [line.get("stroke-dasharray") is None for line in lines] == [colour == "#0072b2" for colour in colours]
    bars = [bar for bar in picture.iter(f"{name}rect") if bar.get("width") == "26"]
    assert [int(bar.get("height")) / 18 for bar in bars] == said["profile"]
    assert f"{said['right']} are answered right" in figure.alt()
    assert html.escape(figure.alt()) in figure.page()


# In a browser


@pytest.fixture
def walk(desk):
    return desk.show(WALKER, WALK)


def test_the_challenge_is_solved_by_the_first_number_of_steps_that_brings_all_home(walk):
    """Two cycles of three and one of two: six. Not by another walker, nor where nobody has left."""
    for steps in (1, 2, 3, 4, 5, 7, 8):
        walk.put(steps=steps)
        walk.is_right()
        assert "Solved" not in walk.told(".task")
    assert "2 of 8 are home" in walk.told(".task")
    walk.put(steps=6)
    assert walk.is_right()["steps"] == computed(WALKER, **WALK)["order"]
    assert "all eight are home after 6 steps. It has cycles of 2, 3 and 3 places, and 6 is" in walk.told(".task")
    walk.put(network=1)
    walk.is_right()
    assert "Solved" not in walk.told(".task")
    assert "By the arrows all are: the number is right, the walker is not." in walk.told(".task")
    walk.put(network=0, image=permutations(10)[9])  # once in a hundred and fifty it is wrong about a place
    assert computed(WALKER, **walk.is_right())["home"] == 7
    assert "7 of 8 are home. By the arrows all are" in walk.told(".task")
    walk.put(image=WALK["image"], tie=True)
    walk.is_right()
    assert "does not count" in walk.told(".task")
    walk.put(tie=False, image=permutations(4)[3])  # of order three
    walk.is_right()
    assert "All eight are home, but not for the first time." in walk.told(".task")
    walk.put(image=LONG_CYCLES)
    walk.is_right()
    assert "draw another" in walk.told(".task")
    walk.put(image=[*range(8)], steps=1)
    walk.is_right()
    assert "all eight are home after 1 step" in walk.told(".task")


def test_right_and_wrong_steps_differ_in_colour_and_in_stroke(walk):
    walk.put(network=1, steps=3)
    said = computed(WALKER, **walk.is_right())
    read = "parts => parts.map(part => [getComputedStyle(part).stroke, getComputedStyle(part).strokeDasharray])"
    looks = walk.box.locator(".went").evaluate_all(read)
    right = [a == b for a, b in zip(said["path"], said["truth"], strict=True)]
    assert set(right) == {True, False}
    by_kind = {kind: {colour for (colour, _), one in zip(looks, right, strict=True) if one == kind} for kind in (True, False)}
    assert len(by_kind[True]) == len(by_kind[False]) == 1
    assert by_kind[True] != by_kind[False]
    assert all(("6px" in dashes) == (not one) for (_, dashes), one in zip(looks, right, strict=True))


def test_shadows_are_as_wide_as_the_most_that_a_head_looks(walk):
    said = computed(WALKER, **WALK)
    widths = walk.column(".look", "stroke-width")
    assert widths == pytest.approx([18 * max(row[j] for row in said["weights"][-1]) for j in range(8)], abs=0.005)
    places = "parts => parts.map(part => part.getAttribute('d'))"
    looks, facts = (walk.box.locator(kind).evaluate_all(places) for kind in (".look", ".fact"))
    assert looks == facts


def test_thermometers_and_frames_are_what_is_told(walk):
    walk.put(more=True, steps=8, beta=0.25)
    for beta in (0.25, 1.0, 4.0):
        walk.put(beta=beta)
        said = computed(WALKER, **walk.is_right())
        read = "cells => cells.map(cell => [cell.firstChild.textContent, cell.lastChild.textContent, cell.className])"
        cells = walk.box.locator("td").evaluate_all(read)
        assert len(cells) == 32
        for h in range(4):
            for t in range(8):
                shown, weight, kind = cells[8 * h + t]
                U = said["U"][t][h]
                assert shown == "99+" if U > 100 else math.isclose(float(shown), U, abs_tol=0.005 if U < 9.9 else 0.51)
                assert math.isclose(float(weight), said["target"][t][h], abs_tol=0.0051)
                assert ("froze" in kind) == (said["spread"][t][h] > 1)
                assert ("cold" in kind, "hot" in kind) == (U > 1.03, U < 0.97)


def test_bars_end_where_the_counts_are(walk):
    walk.put(more=True, steps=4, network=1)
    said = computed(WALKER, **walk.is_right())
    heights = walk.column("rect.bar", "height")
    full = walk.column("rect.room", "height")[0]
    assert [round(8 * height / full, 6) for height in heights] == [*said["profile"], *said["hits"]]
    lines = [(walk.column("rect.room", "y")[0] + full - y) * 8 / full for y in walk.column("line.law", "y1")]
    assert lines == pytest.approx(said["expected"])


@pytest.mark.parametrize("desk", [{"own": True}, {"own": True} | CALM], indirect=True)
def test_play_takes_step_after_step_and_stops_at_the_last(desk):
    shown = desk.stopped(WALKER, **WALK)
    shown.button("Play").click()
    for steps in range(3, 9):
        desk.page.clock.run_for(2000)
        assert shown.ask("model.get('steps')") == min(8, steps if desk_is_slow(desk) else 2 * (steps - 1))
    assert shown.button("Play").count() == 1
    shown.button("Play").click()
    assert shown.ask("model.get('steps')") == 1
    shown.button("Pause").click()
    desk.page.clock.run_for(5000)
    assert shown.ask("model.get('steps')") == 1
    shown.button("Play").click()
    shown.box.get_by_role("button", name=f"Place {LETTERS[4]}").click()  # who takes hold of it stops it
    assert shown.button("Play").count() == 1


def desk_is_slow(desk):
    return desk.page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")


def test_only_what_is_new_moves(desk):
    shown = desk.show(WALKER, WALK)
    new = lambda: shown.box.locator(".went.new").count()  # noqa: E731
    assert new() == 2  # on arrival
    shown.put(steps=5)
    assert new() == 3
    shown.put(beta=2.0)
    assert new() == 0
    shown.put(start=1)
    assert new() == 5


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_nothing_moves_for_who_asks_for_calm(desk):
    shown = desk.show(WALKER, WALK | {"network": 1, "steps": 4})
    read = "parts => parts.map(part => getComputedStyle(part).animationName)"
    assert set(shown.box.locator(".went").evaluate_all(read)) == {"none"}


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_places_on_a_phone_can_be_touched(desk):
    shown = desk.show(WALKER, WALK)
    boxes = [shown.box.get_by_role("button", name=f"Place {letter}").bounding_box() for letter in LETTERS]
    assert all(box["width"] >= 36 and box["height"] >= 36 for box in boxes)
    shown.do(click_on(5))
    assert shown.is_right()["start"] == 5


def click_on(k):
    from helpers.figures import click

    return click(place(k), start=k)


def test_the_state_is_small():
    assert len(json.dumps(Walker().record)) < 16_000
