"""The couplings film in a real browser: its numbers are attnlib's, whatever moves it, and it plays."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from helpers import live
from helpers.figure_checks import PHONE, TOUCH, faults, left_behind, loaded, sticking_out
from helpers.live import same_numbers

from attnlib.course import recorded
from attnlib.course.live import CouplingsFilm
from attnlib.course.live.couplings_film import CURVES

pytestmark = live.pytestmark

RECORD = recorded("digits")
START = {"spin": 0, "step": 100}
STEPS = RECORD["film"]["at"]


@dataclass
class Film:
    """One film on a page: what it holds, what it shows, and how a reader moves it."""

    page: Any
    index: int = 0

    def __post_init__(self) -> None:
        self.box = self.page.locator("[data-live]").nth(self.index)
        self.step = self.box.get_by_role("slider", name=re.compile("Training step"))
        self.spin = self.box.get_by_role("combobox", name="Spin")
        self.net, self.curves = self.box.get_by_role("img").all()

    def button(self, name: str) -> Any:
        return self.box.get_by_role("button", name=name, exact=True)

    def state(self) -> dict[str, Any]:
        self.page.evaluate(live.NEXT_FRAME)
        return self.box.evaluate("box => { const { film, ...rest } = box.figure.model.state; return rest; }")

    def is_right(self) -> dict[str, Any]:
        """Every number shown is attnlib's for the state held, to 1e-6. Returns the state."""
        state, shown = self.state(), self.box.evaluate("box => box.figure.readout()")
        figure = CouplingsFilm(RECORD, **state)
        same_numbers(shown, figure.readout)
        assert self.step.get_attribute("aria-valuetext") == str(figure.readout["step"])
        assert self.spin.input_value() == str(state["spin"])
        return state


@pytest.fixture
def film(desk: live.Desk) -> Film:
    return Film(desk.open(CouplingsFilm(RECORD, **START).page()))


def test_begins_with_the_state_it_was_given(film):
    assert film.is_right() == START


def test_a_spin_is_chosen_by_name_by_key_and_by_a_press_on_it(film):
    film.spin.select_option("patch 6")
    assert film.is_right() == START | {"spin": 6}
    film.spin.press("ArrowDown")
    assert film.is_right()["spin"] == 7
    film.net.locator("circle.dot").nth(16).click()
    assert film.is_right()["spin"] == 16


def test_keyboard_walks_through_the_recorded_steps(film):
    for press, step in (
        ("ArrowRight", 110),
        ("End", 1000),
        ("ArrowLeft", 950),
        ("Home", 0),
        ("ArrowLeft", 0),
        ("ArrowRight", 2),
    ):
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
    assert abs(STEPS.index(film.is_right()["step"]) - len(STEPS) // 2) <= 1
    for down in (0.2, 0.5, 0.8):
        press(film.curves, 0.25, down)
        assert 14 < STEPS.index(film.is_right()["step"]) < 34
        press(film.curves, 0.999, down)
        assert film.is_right()["step"] == 1000
        press(film.curves, 0.51, down)
        assert film.is_right()["step"] == 0


def test_mouse_drags_through_the_curves(film):
    box, mouse = film.curves.bounding_box(), film.page.mouse
    mouse.move(box["x"] + 0.15 * box["width"], box["y"] + 60)
    mouse.down()
    first = film.is_right()["step"]
    mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 60, steps=3)
    later = film.is_right()["step"]
    mouse.up()
    mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 60)
    assert first < later == film.is_right()["step"]


@pytest.mark.parametrize("desk", [{}, {"reduced_motion": "reduce"}], indirect=True, ids=["usual", "less motion"])
def test_plays_to_the_end_step_by_step(desk, request):
    """With a clock of the test's own: six pictures a second, one where less motion is asked for."""
    page = desk.open()
    page.clock.install(time=0)
    page.set_content(f"<html lang='en'><title>Film</title><body>{CouplingsFilm(RECORD, **START).page()}")
    page.clock.pause_at(3600)
    film, held = Film(page), "box => box.figure.model.get('step')"
    tick = 1000 if "less" in request.node.name else 160
    film.button("Play").click()
    begin = STEPS.index(100)
    for step in STEPS[begin + 1 : begin + 4]:
        page.clock.run_for(tick)
        assert film.box.evaluate(held) == step
    film.button("Pause").click()
    page.clock.run_for(10 * tick)
    assert film.box.evaluate(held) == STEPS[begin + 3]
    film.button("Play").click()
    page.clock.run_for((len(STEPS) + 2) * tick)
    assert film.box.evaluate(held) == 1000
    film.button("Play").click()  # it has stopped, and begins again
    assert film.box.evaluate(held) == 0
    page.clock.run_for(2 * tick)
    film.step.evaluate("range => { range.value = 7; range.dispatchEvent(new Event('input')); }")  # the reader's hand stops it
    assert film.button("Play").is_visible()


def test_keyboard_reaches_every_control(film):
    reached = []
    for _ in range(3):
        film.page.keyboard.press("Tab")
        active = "box => { const at = box.firstChild.shadowRoot.activeElement; return at.labels?.[0]?.firstChild ?? at; }"
        reached.append(film.box.evaluate_handle(active).evaluate("part => part.textContent"))
    assert reached == ["Play", "Training step", "Spin"]


@pytest.mark.parametrize("state", [START, {"spin": 6, "step": 0}, {"spin": 16, "step": 1000}])
def test_what_is_drawn_is_what_is_told(desk, state):
    figure = CouplingsFilm(RECORD, **state)
    film, said, norms = Film(desk.open(figure.page())), figure.readout, figure.norms()[figure.frame]
    largest = figure.film["largest"]
    for kind, of_spin in (("line.pair.own", True), ("line.pair:not(.own)", False)):
        drawn = film.net.locator(kind).evaluate_all("lines => lines.map(line => Number(line.getAttribute('opacity')))")
        pairs = [(i, j) for i in range(17) for j in range(i + 1, 17) if (state["spin"] in (i, j)) == of_spin]
        wanted = [share for i, j in pairs if (share := norms[i, j].item() / largest) > 0.2]
        assert sorted(drawn) == pytest.approx(sorted(wanted), abs=1e-3)
    own = film.net.locator("circle.dot").evaluate_all("dots => dots.map(dot => dot.classList.contains('own'))")
    assert own == [spin == state["spin"] for spin in range(17)]
    assert film.box.get_by_text(f"{100 * said['right']:.1f} % right").is_visible()
    names = ["class" if spin == 0 else f"patch {spin}" for spin in said["strongest"]]
    assert film.box.get_by_text(f"strongest pair: {names[0]} and {names[1]}", exact=True).is_visible()
    told = dict(text.split(": ") for text in film.curves.locator("text.name").all_text_contents())
    assert told == {name: f"{said[key]:.2f}" for key, name in CURVES.items()}


@pytest.fixture
def module(desk: live.Desk) -> Any:
    return loaded(desk.open(), CouplingsFilm(RECORD)._esm)


def test_every_picture_against_attnlib(module):
    figures = [CouplingsFilm(RECORD, spin, step) for spin in (0, 5, 16) for step in STEPS[::3]]
    found = module.evaluate("states => states.map(state => module.measure(state))", [figure.state() for figure in figures])
    for shown, figure in zip(found, figures, strict=True):
        same_numbers(shown, figure.readout)


def test_a_view_that_is_closed_leaves_nothing_behind(module):
    assert left_behind(module, CouplingsFilm(RECORD).state()) == [[1, 1], [0, 0]]


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_on_a_phone_the_net_and_the_player_share_a_screen(film):
    top, player = film.net.bounding_box(), film.step.bounding_box()
    assert 0 < player["y"] + player["height"] - top["y"] < 844
    assert player["y"] > top["y"] + top["height"] - 1


@pytest.mark.parametrize("desk", [{"viewport": {"width": width, "height": 844}} for width in (320, 390, 740)], indirect=True)
def test_nothing_sticks_out(film):
    for step in ("Home", "End"):
        film.step.press(step)
        film.is_right()
        assert not sticking_out(film.page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("desk", [{}, PHONE], indirect=True, ids=["wide", "phone"])
def test_axe_finds_nothing(desk, theme):
    page = desk.open(CouplingsFilm(RECORD, **START).page(), html=f'data-theme="{theme}"')
    Film(page).step.focus()
    assert not faults(page, "select-name")


@pytest.mark.parametrize("desk", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_there_is_a_still_picture(desk):
    page = desk.open(CouplingsFilm(RECORD, **START).page())
    assert page.get_by_role("img", name=re.compile("^Couplings of a classifier of digits after 100 steps")).is_visible()
    assert page.get_by_role("slider").count() == 0


def test_two_films_are_independent(desk):
    same = CouplingsFilm(RECORD, **START).page()
    page = desk.open(same, same)
    first, second = Film(page), Film(page, 1)
    second.step.press("End")
    assert first.is_right() == START
    assert second.is_right() == START | {"step": 1000}
