"""The hop lab in a real browser: its numbers are attnlib's, whatever changes the story, and it needs nothing but the page."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from helpers import live
from helpers.figure_checks import PHONE, TOUCH, faults, left_behind, loaded, sticking_out
from helpers.live import same_numbers

from attnlib.course import recorded
from attnlib.course.data.stories import VOCABULARY, animal_stories
from attnlib.course.live import HopLab

pytestmark = live.pytestmark

RECORD = recorded("memory_networks")
FIRST = RECORD["stories"][0]
NUMBER = {word: number for number, word in enumerate(VOCABULARY)}


def agree(shown: dict[str, Any], figure: HopLab) -> None:
    """All numbers to 1e-6, the chains of facts exactly."""
    expected = figure.readout
    assert shown.pop("follows") == expected.pop("follows")
    same_numbers(shown, expected)


@dataclass
class Lab:
    """One hop lab on a page: what it holds, what it shows, and how a reader moves it."""

    page: Any
    index: int = 0

    def __post_init__(self) -> None:
        self.box = self.page.locator("[data-live]").nth(self.index)
        self.ticks = self.box.get_by_role("checkbox", name=re.compile("may read fact"))
        self.keep = self.box.get_by_role("checkbox", name="a hop keeps the question")
        self.beta = self.box.get_by_role("slider", name=re.compile("Inverse temperature"))
        self.facts = self.box.locator("th.fact")

    def choice(self, name: str) -> Any:
        return self.box.get_by_role("combobox", name=name)

    def button(self, name: str) -> Any:
        return self.box.get_by_role("button", name=name, exact=True)

    def told(self) -> list[str]:
        self.page.evaluate(live.NEXT_FRAME)
        return [re.sub(r"^\d+\. ", "", text) for text in self.facts.all_inner_texts()]

    def is_right(self) -> dict[str, Any]:
        """Every number shown is attnlib's for the state held, to 1e-6. Returns the state but for the record."""
        self.page.evaluate(live.NEXT_FRAME)
        held = "box => { const { record, ...state } = box.figure.model.state; return [state, box.figure.readout()]; }"
        state, shown = self.box.evaluate(held)
        agree(shown, HopLab(RECORD, **state))
        ticked = self.ticks.evaluate_all("boxes => boxes.map(box => box.checked)")
        assert ticked == [place not in state["hidden"] for place in range(len(state["facts"]))]
        assert self.told() == [" ".join(VOCABULARY[word] for word in fact if word) for fact in state["facts"]]
        assert self.keep.is_checked() == state["keep"]
        for name, value in (("What colour is", "asked"), ("Network", "network")):
            assert self.choice(name).input_value() == str(state[value])
        return state


START = {name: value for name, value in HopLab(RECORD).state().items() if name != "record"}


@pytest.fixture
def lab(desk: live.Desk) -> Lab:
    return Lab(desk.open(HopLab(RECORD).page()))


# The numbers are right, whatever moves the figure


def test_begins_with_the_state_it_was_given(desk):
    given = {"network": 2, "facts": FIRST["facts"][:6], "hidden": [2, 5], "asked": 12, "beta": 0.5, "keep": False}
    assert Lab(desk.open(HopLab(RECORD, **given).page())).is_right() == given


@pytest.mark.parametrize("desk", [pytest.param({}, id="mouse"), pytest.param(TOUCH, id="touch")], indirect=True)
def test_every_control_by_pointer(lab, request):
    def press(part: Any, across: float = 0.5) -> dict[str, Any]:
        part.scroll_into_view_if_needed()
        box = part.bounding_box()
        point = box["x"] + across * box["width"], box["y"] + box["height"] / 2
        lab.page.touchscreen.tap(*point) if "touch" in request.node.name else lab.page.mouse.click(*point)
        return lab.is_right()

    assert press(lab.ticks.nth(5)) == START | {"hidden": [5]}
    assert press(lab.ticks.nth(2)) == START | {"hidden": [2, 5]}
    assert press(lab.ticks.nth(5)) == START | {"hidden": [2]}
    assert press(lab.keep) == START | {"hidden": [2], "keep": False}
    assert 1 < press(lab.beta, 0.7)["beta"] < 4
    assert press(lab.button("Reset")) == START
    facts = press(lab.button("Add a bystander"))["facts"]
    assert facts[:-1] == START["facts"]
    assert not {facts[-1][0], facts[-1][2]} & {word for fact in START["facts"] for word in fact}
    press(lab.facts.nth(3))
    assert press(lab.button("Up"))["facts"][2:4] == START["facts"][2:4][::-1]
    assert press(lab.button("Another story")) == START | RECORD["stories"][1]


def test_every_control_by_keyboard(lab):
    lab.ticks.nth(0).press("Space")
    assert lab.is_right() == START | {"hidden": [0]}
    lab.choice("Network").press("ArrowDown")
    assert lab.is_right() == START | {"hidden": [0], "network": 1}
    lab.choice("What colour is").press("Home")
    assert lab.is_right() == START | {"hidden": [0], "network": 1, "asked": NUMBER["Ada"]}
    lab.beta.press("End")
    assert lab.is_right()["beta"] == 10
    lab.keep.press("Space")
    assert lab.is_right()["keep"] is False
    lab.choice("Change fact").press("End")
    lab.page.evaluate(live.NEXT_FRAME)  # the first fact cannot go up, the last can
    lab.button("Up").press("Enter")
    assert lab.is_right()["facts"][8:] == START["facts"][8:][::-1]
    lab.button("Reset").press("Enter")
    assert lab.is_right() == START


def test_a_fact_can_be_rewritten(lab):
    lab.choice("Change fact").select_option("7")
    lab.choice("what is said").select_option("is grey")
    assert lab.is_right()["facts"][7] == [*FIRST["facts"][7][:2], NUMBER["grey"], 0]
    lab.choice("what is said").select_option("is a mole")
    lab.choice("its subject").select_option("Eva")
    assert lab.told()[7] == "Eva is a mole"
    lab.choice("its subject").select_option("herons")
    assert lab.told()[7].startswith("herons are ")
    lab.choice("what is said").select_option("are pink")
    lab.choice("its subject").select_option("Gus")
    assert lab.told()[7] == "Gus is pink"
    state = lab.is_right()
    assert [fact for place, fact in enumerate(state["facts"]) if place != 7] == [
        fact for place, fact in enumerate(FIRST["facts"]) if place != 7
    ]


def test_a_hidden_fact_stays_hidden_when_it_moves(lab):
    lab.ticks.nth(4).click()
    lab.choice("Change fact").select_option("4")
    for hidden, name in (([5], "Down"), ([6], "Down"), ([5], "Up")):
        lab.button(name).click()
        assert lab.is_right()["hidden"] == hidden
    lab.choice("Change fact").select_option("6")
    lab.button("Up").click()
    assert lab.is_right()["hidden"] == [6]
    assert lab.choice("Change fact").input_value() == "5"


def test_the_ends_of_every_range(lab):
    """The last fact in sight cannot be hidden, the first cannot go up, the last not down; there are sixteen facts at most."""
    for place in range(9):
        lab.ticks.nth(place).click()
    assert lab.is_right()["hidden"] == [*range(9)]
    assert lab.ticks.nth(9).is_disabled()
    assert lab.button("Up").is_disabled()
    lab.button("Reset").click()
    for count in range(11, 17):
        lab.button("Add a bystander").click()
        assert len(lab.is_right()["facts"]) == count
    assert lab.button("Add a bystander").is_disabled()
    assert lab.button("Down").is_disabled()
    assert not lab.button("Up").is_disabled()


def test_all_stories_come_round(lab):
    for story in [*RECORD["stories"][1:], FIRST]:
        lab.button("Another story").click()
        assert lab.is_right() == START | story
        assert lab.box.locator(".verdict").inner_text() == "right"


def test_keyboard_reaches_every_control(lab):
    names = []
    for _ in range(21):
        lab.page.keyboard.press("Tab")
        active = lab.box.evaluate_handle("box => box.firstChild.shadowRoot.activeElement")
        names.append(active.evaluate("at => at.ariaLabel ?? (at.labels?.[0] ?? at).innerText").split("\n")[0])
    assert names == [
        "What colour is",
        "Network",
        *(f"the network may read fact {place}" for place in range(10)),
        "Add a bystander",
        "Another story",
        "Reset",
        "a hop keeps the question",
        "Change fact",
        "its subject",
        "what is said",
        "Down",  # Up is out of use: the first fact is chosen
        "Inverse temperature, in training 1",
    ]


# What it says


def test_tells_who_follows_the_facts(lab):
    """The argument of the page in three moves: take the second fact away, choose the other network, add a bystander."""
    says, verdict = lab.box.locator(".says"), lab.box.locator(".verdict")
    chain = HopLab(RECORD).readout["follows"][0]
    lab.ticks.nth(chain[2]).click()
    lab.is_right()
    assert verdict.inner_text() == "does not follow"
    assert "no colour follows" in says.inner_text()
    lab.choice("Network").select_option("3 hops, answers alone")
    lab.is_right()
    assert f"The network says {VOCABULARY[chain[0]]}," in says.inner_text()  # the right colour, though it does not follow
    lab.ticks.nth(chain[2]).click()
    lab.is_right()
    assert verdict.inner_text() == "right"
    assert f"follows {VOCABULARY[chain[0]]}" in says.inner_text()


def test_cells_and_bars_are_what_is_told(lab):
    said = HopLab(RECORD).readout
    read = "cells => cells.map(cell => [cell.textContent, cell.style.getPropertyValue('--share')])"
    cells = lab.box.locator("td.weight").evaluate_all(read)
    expected = [hop[place] for place in range(10) for hop in said["weights"]]
    assert [float(text) for text, _ in cells] == pytest.approx(expected, abs=0.005)
    assert [float(share) for _, share in cells] == pytest.approx(expected, abs=0.0005)
    needed = lab.box.locator("td.weight").evaluate_all("cells => cells.map(cell => cell.classList.contains('need'))")
    chain = said["follows"][0][1:]
    assert [place for place, need in enumerate(needed) if need] == sorted(3 * place + hop for hop, place in enumerate(chain))
    probable = lab.box.locator(".probable").inner_text().split()
    best = sorted(range(len(said["answers"])), key=said["answers"].__getitem__)[::-1][:3]
    assert [word for word in probable if word in VOCABULARY] == [VOCABULARY[word] for word in best]


def test_paths_are_drawn_to_scale(lab):
    said = HopLab(RECORD).readout
    paths = lab.box.locator("path.path").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    drawn = sorted([float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", path)] for path in paths)
    scores = torch.tensor(said["scores"], dtype=torch.float64).T
    places = 34 + (scores.max() - scores) / (scores.max() - scores.min()) * (196 - 34 - 24)
    torch.testing.assert_close(torch.tensor(drawn), torch.tensor(sorted(places.tolist())), atol=0.06, rtol=0, check_dtype=False)


# The module's functions


@pytest.fixture
def module(desk: live.Desk) -> Any:
    return loaded(desk.open(), HopLab(RECORD)._esm)


def test_functions_against_attnlib(module):
    """Every network on stories of every depth, hidden facts, hot and cold, with and without the question kept."""
    told = animal_stories(12, others=3, generator=torch.Generator().manual_seed(11))
    figures = [
        HopLab(
            RECORD,
            network=story % 4,
            facts=told.facts[story].tolist(),
            asked=told.question[story, -1].item(),
            hidden=[place for place in range(13) if (story * 7 + place * 5) % 6 == 0],
            beta=(0.1, 1.0, 10.0)[story % 3],
            keep=story % 5 > 0,
        )
        for story in range(12)
    ]
    found = module.evaluate("states => states.map(module.measure)", [figure.state() for figure in figures])
    for shown, figure in zip(found, figures, strict=True):
        agree(shown, figure)


def test_a_view_that_is_closed_leaves_nothing_behind(module):
    assert left_behind(module, HopLab(RECORD).state()) == [[1, 1], [0, 0]]


# The page is enough


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_on_a_phone_the_weights_and_what_changes_them_share_a_screen(lab):
    first, last = lab.choice("What colour is").bounding_box(), lab.box.locator("td.weight").last.bounding_box()
    assert last["y"] + last["height"] - first["y"] < 844


@pytest.mark.parametrize("desk", [{"viewport": {"width": width, "height": 844}} for width in (320, 390, 740)], indirect=True)
def test_nothing_sticks_out(lab):
    assert not sticking_out(lab.page)
    for _ in range(6):
        lab.button("Add a bystander").click()
    lab.choice("Network").select_option("1 hop, answers alone")
    lab.is_right()
    assert not sticking_out(lab.page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("desk", [{}, PHONE], indirect=True, ids=["wide", "phone"])
def test_axe_finds_nothing(desk, theme):
    hot = HopLab(RECORD, 1, hidden=[1, 2], beta=0.4).page()  # weights of every size
    page = desk.open(HopLab(RECORD).page(), hot, html=f'data-theme="{theme}"')
    Lab(page).beta.focus()
    assert not faults(page, "select-name")


@pytest.mark.parametrize("desk", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_there_is_a_still_picture(desk):
    page = desk.open(HopLab(RECORD).page())
    assert page.get_by_role("img", name=re.compile("^Hop lab: 10 facts")).is_visible()
    assert page.get_by_role("slider").count() == 0


def test_two_labs_are_independent(desk):
    same = HopLab(RECORD).page()
    page = desk.open(same, same)
    first, second = Lab(page), Lab(page, 1)
    second.ticks.nth(1).click()
    second.button("Add a bystander").click()
    assert first.is_right() == START
    assert second.is_right()["hidden"] == [1]
