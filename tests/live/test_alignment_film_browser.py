"""The alignment film in a real browser: its numbers are attnlib's, whatever moves it, and it plays."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from helpers import live
from helpers.figure_checks import PHONE, TOUCH, faults, left_behind, loaded, sticking_out
from helpers.live import same_numbers

from attnlib.course import recorded
from attnlib.course.live import AlignmentFilm

pytestmark = live.pytestmark

RECORD = recorded("alignment_film")
START = {"run": 1, "sentence": 2, "step": 60}
STEPS = RECORD["runs"][1]["at"]


@dataclass
class Film:
    """One film on a page: what it holds, what it shows, and how a reader moves it."""

    page: Any
    index: int = 0

    def __post_init__(self) -> None:
        self.box = self.page.locator("[data-live]").nth(self.index)
        self.step = self.box.get_by_role("slider", name=re.compile("Training step"))
        self.map, self.curves = self.box.get_by_role("img").all()

    def choice(self, name: str) -> Any:
        return self.box.get_by_role("combobox", name=name)

    def button(self, name: str) -> Any:
        return self.box.get_by_role("button", name=name, exact=True)

    def state(self) -> dict[str, Any]:
        self.page.evaluate(live.NEXT_FRAME)
        return self.box.evaluate("box => { const { record, ...rest } = box.figure.model.state; return rest; }")

    def is_right(self) -> dict[str, Any]:
        """Every number shown is attnlib's for the state held, to 1e-6. Returns the state."""
        state, shown = self.state(), self.box.evaluate("box => box.figure.readout()")
        figure = AlignmentFilm(RECORD, **state)
        same_numbers(shown, figure.readout)
        assert self.step.get_attribute("aria-valuetext") == str(figure.readout["step"])
        assert self.choice("Run").input_value() == str(state["run"])
        assert self.choice("Sentence").input_value() == str(state["sentence"])
        return state


@pytest.fixture
def film(desk: live.Desk) -> Film:
    return Film(desk.open(AlignmentFilm(RECORD, **START).page()))


def test_begins_with_the_state_it_was_given(film):
    assert film.is_right() == START


def test_choices(film):
    film.choice("Run").select_option("unscaled, seed 2, 2000 steps")
    assert film.is_right() == START | {"run": 2}
    film.choice("Sentence").select_option(index=0)
    assert film.is_right() == START | {"run": 2, "sentence": 0}
    film.choice("Run").press("ArrowDown")
    assert film.is_right()["run"] == 3


def test_keyboard_walks_through_the_recorded_steps(film):
    for press, step in (("ArrowRight", 70), ("End", 400), ("ArrowLeft", 375), ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 5)):
        film.step.press(press)
        assert film.is_right()["step"] == step


@pytest.mark.parametrize("desk", [pytest.param({}, id="mouse"), pytest.param(TOUCH, id="touch")], indirect=True)
def test_pointer_on_the_slider_and_in_the_curves(film, request):
    def press(part: Any, across: float, down: float) -> None:
        part.scroll_into_view_if_needed()
        box = part.bounding_box()
        point = box["x"] + across * box["width"], box["y"] + down * box["height"]
        film.page.touchscreen.tap(*point) if "touch" in request.node.name else film.page.mouse.click(*point)

    press(film.step, 0.5, 0.5)
    assert film.is_right()["step"] == STEPS[len(STEPS) // 2]
    for down in (0.25, 0.75):
        press(film.curves, 0.26, down)
        assert 150 < film.is_right()["step"] < 250
        press(film.curves, 0.999, down)
        assert film.is_right()["step"] == 400
        press(film.curves, 0.51, down)
        assert film.is_right()["step"] == 0


def test_mouse_drags_through_the_curves(film):
    box, mouse = film.curves.bounding_box(), film.page.mouse
    mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 60)
    film.page.mouse.down()
    first = film.is_right()["step"]
    mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 60, steps=3)
    later = film.is_right()["step"]
    mouse.up()
    mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 60)
    assert first < later == film.is_right()["step"]


@pytest.mark.parametrize("desk", [{}, {"reduced_motion": "reduce"}], indirect=True, ids=["usual", "less motion"])
def test_plays_to_the_end_step_by_step(desk, request):
    """With a clock of the test's own: five pictures a second, one where less motion is asked for."""
    page = desk.open()
    page.clock.install(time=0)
    page.set_content(f"<html lang='en'><title>Film</title><body>{AlignmentFilm(RECORD, **START).page()}")
    page.clock.pause_at(3600)
    film = Film(page)
    tick = 1000 if "less" in request.node.name else 220
    film.button("Play").click()
    begin = STEPS.index(60)
    for step in STEPS[begin + 1 : begin + 4]:
        page.clock.run_for(tick)
        assert film.box.evaluate("box => box.figure.model.get('step')") == step
    film.button("Pause").click()
    page.clock.run_for(10 * tick)
    assert film.box.evaluate("box => box.figure.model.get('step')") == STEPS[begin + 3]
    film.button("Play").click()
    page.clock.run_for((len(STEPS) + 2) * tick)
    assert film.box.evaluate("box => box.figure.model.get('step')") == 400
    film.button("Play").click()  # it has stopped, and begins again
    assert film.box.evaluate("box => box.figure.model.get('step')") == 0
    page.clock.run_for(2 * tick)
    film.step.evaluate("range => { range.value = 7; range.dispatchEvent(new Event('input')); }")  # the reader's hand stops it
    assert film.button("Play").is_visible()


def test_keyboard_reaches_every_control(film):
    reached = []
    for _ in range(4):
        film.page.keyboard.press("Tab")
        active = "box => { const at = box.firstChild.shadowRoot.activeElement; return at.labels?.[0]?.firstChild ?? at; }"
        reached.append(film.box.evaluate_handle(active).evaluate("part => part.textContent"))
    assert reached == ["Play", "Training step", "Run", "Sentence"]


@pytest.mark.parametrize("state", [START, START | {"sentence": 1, "step": 400}, START | {"run": 3, "sentence": 0}])
def test_what_is_drawn_is_what_is_told(desk, state):
    film, said = Film(desk.open(AlignmentFilm(RECORD, **state).page())), AlignmentFilm(RECORD, **state).readout
    words = RECORD["sentences"][state["sentence"]]
    shades = film.map.locator("rect.weight").evaluate_all(
        "cells => cells.map(cell => Number(cell.getAttribute('fill-opacity')))"
    )
    assert shades == pytest.approx([weight for row in said["weights"] for weight in row], abs=1e-4)

    def centers(kind: str) -> list[tuple[float, float]]:
        read = "parts => parts.map(part => [part.getAttribute('cx'), part.getAttribute('cy')].map(Number))"
        size = float(film.map.locator("rect").first.get_attribute("width")) + 1
        return [
            (round((y - 74) / size - 0.5), round((x - 72) / size - 0.5)) for x, y in film.map.locator(kind).evaluate_all(read)
        ]

    assert sorted(centers("circle.gold")) == sorted((i, j) for i, j in words["gold"])
    assert centers("circle.link") == list(enumerate(said["links"]))
    assert film.box.get_by_text(f"{said['right']} of {len(words['target'])} on gold").is_visible()
    told = film.curves.evaluate("part => part.textContent")
    for name in ("loss", "aer", "entropy", "spread"):
        assert f": {said[name]:.2f}" in told


@pytest.fixture
def module(desk: live.Desk) -> Any:
    return loaded(desk.open(), AlignmentFilm(RECORD)._esm)


def test_every_picture_against_attnlib(module):
    for run, stored in enumerate(RECORD["runs"]):
        for sentence in range(len(RECORD["sentences"])):
            figures = [AlignmentFilm(RECORD, run, sentence, step) for step in stored["at"][::4]]
            found = module.evaluate("states => states.map(module.measure)", [figure.state() for figure in figures])
            for shown, figure in zip(found, figures, strict=True):
                same_numbers(shown, figure.readout)


def test_a_view_that_is_closed_leaves_nothing_behind(module):
    assert left_behind(module, AlignmentFilm(RECORD).state()) == [[1, 1], [0, 0]]


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_on_a_phone_the_map_and_the_player_share_a_screen(film):
    top, player = film.map.bounding_box(), film.step.bounding_box()
    assert 0 < player["y"] + player["height"] - top["y"] < 844
    assert player["y"] > top["y"] + top["height"] - 1


@pytest.mark.parametrize("desk", [{"viewport": {"width": width, "height": 844}} for width in (320, 390, 740)], indirect=True)
def test_nothing_sticks_out(film):
    for sentence in range(3):
        film.choice("Sentence").select_option(index=sentence)
        film.is_right()
        assert not sticking_out(film.page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("desk", [{}, PHONE], indirect=True, ids=["wide", "phone"])
def test_axe_finds_nothing(desk, theme):
    page = desk.open(AlignmentFilm(RECORD, **START).page(), html=f'data-theme="{theme}"')
    Film(page).step.focus()
    assert not faults(page, "select-name")


@pytest.mark.parametrize("desk", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_there_is_a_still_picture(desk):
    page = desk.open(AlignmentFilm(RECORD, **START).page())
    assert page.get_by_role("img", name=re.compile("^Alignment film, run: unscaled, seed 2, 400 steps")).is_visible()
    assert page.get_by_role("slider").count() == 0


def test_two_films_are_independent(desk):
    same = AlignmentFilm(RECORD, **START).page()
    page = desk.open(same, same)
    first, second = Film(page), Film(page, 1)
    second.step.press("End")
    assert first.is_right() == START
    assert second.is_right() == START | {"step": 400}
