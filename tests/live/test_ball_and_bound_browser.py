"""Ball and bound in a real browser: its numbers are attnlib's, whatever moves it, and it needs nothing but the page."""

import io
import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers import browsers, live
from helpers.live import same_numbers
from PIL import Image

from attnlib.course.live import BallAndBound
from attnlib.course.live.ball_and_bound import SCENES

pytestmark = live.pytestmark

PHONE = {"viewport": {"width": 390, "height": 844}}
CALM = {"reduced_motion": "reduce"}
START = {"memories": [-1.5, 1.2, 0.4], "ball": 0.5, "beta": 1.3, "step_size": 0.8, "steps": 0}


@dataclass
class Slope:
    """One figure on a page: what it holds, what it shows, and how a reader moves it."""

    page: Any
    index: int = 0

    def __post_init__(self) -> None:
        self.box = self.page.locator("[data-live]").nth(self.index)
        self.picture = self.box.locator(".picture")

    def slider(self, name: str) -> Any:
        return self.box.get_by_role("slider", name=re.compile(name))

    def handle(self, name: str) -> Any:
        return self.box.get_by_role("slider", name=name, exact=True)

    def button(self, name: str) -> Any:
        return self.box.get_by_role("button", name=name, exact=True)

    def state(self) -> dict[str, Any]:
        self.page.evaluate(live.NEXT_FRAME)
        return self.box.evaluate("box => box.figure.model.state")

    def x(self, place: float) -> float:
        """Where on the screen a place of the line is: from the handles, of which the memories stand at known places."""
        (at, one), (other, two) = (
            (float(self.handle(name).get_attribute("aria-valuenow")), self.handle(name).bounding_box())
            for name in ("memory 1", "memory 2")
        )
        return one["x"] + 22 + (place - at) * (two["x"] - one["x"]) / (other - at)

    def is_right(self) -> dict[str, Any]:
        """Every number shown is attnlib's for the state held, to 1e-6. Returns the state."""
        state = self.state()
        figure = BallAndBound(**state)
        same_numbers(self.box.evaluate("box => box.figure.readout()"), figure.readout)
        for i, memory in enumerate(state["memories"]):
            assert self.handle(f"memory {i + 1}").get_attribute("aria-valuenow") == f"{memory:.2f}"
        assert self.handle("memory 6").count() == 0
        return state


@pytest.fixture
def slope(desk: live.Desk) -> Slope:
    return Slope(desk.open(BallAndBound(**START).page()))


# The numbers are right, whatever moves the figure


def drag(slope: Slope, name: str, *places: float) -> None:
    box, mouse = slope.handle(name).bounding_box(), slope.page.mouse
    ways = [slope.x(place) for place in places]
    mouse.move(box["x"] + 22, box["y"] + 22)
    mouse.down()
    for way in ways:
        mouse.move(way, box["y"] + 30, steps=3)
        slope.is_right()
    mouse.up()
    mouse.move(ways[-1] + 60, box["y"])


def test_mouse_moves_the_ball_and_the_memories(slope):
    assert slope.is_right() == START
    drag(slope, "ball", -1.0, -2.25)
    assert slope.is_right() == START | {"ball": pytest.approx(-2.25, abs=0.02)}
    drag(slope, "memory 2", 2.5)
    state = slope.is_right()
    assert state["memories"] == [-1.5, pytest.approx(2.5, abs=0.02), 0.4]
    assert state["ball"] == pytest.approx(-2.25, abs=0.02)
    drag(slope, "memory 3", 9)
    assert slope.is_right()["memories"][2] == 3


@pytest.mark.parametrize("name", ["ball", "memory 1"])
def test_keyboard_moves_the_ball_and_the_memories(slope, name):
    begin = START["ball"] if name == "ball" else START["memories"][0]
    for press, way in (("ArrowRight", 0.1), ("ArrowLeft", 0), ("ArrowUp", 0.1), ("Shift+ArrowLeft", -0.4), ("ArrowDown", -0.5)):
        slope.handle(name).press(press)
        state = slope.is_right()
        assert (state["ball"] if name == "ball" else state["memories"][0]) == pytest.approx(begin + way, abs=1e-9)


@pytest.mark.parametrize("desk", [{"has_touch": True, "is_mobile": True} | PHONE], indirect=True)
def test_a_finger_moves_the_ball_and_not_the_page(desk):
    page = desk.open(BallAndBound(**START).page(), '<div style="height: 2000px"></div>')
    slope = Slope(page)
    wire, y = desk.context.new_cdp_session(page), slope.handle("ball").bounding_box()["y"] + 22
    ways = [slope.x(place) for place in (0.5, 0.0, -1.0, -2.0)]
    for i, (kind, way) in enumerate(zip(("touchStart", "touchMove", "touchMove", "touchMove"), ways, strict=True)):
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": way, "y": y + 20 * i}]})
        page.evaluate(live.NEXT_FRAME)
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert slope.is_right()["ball"] == pytest.approx(-2.0, abs=0.03)
    assert page.evaluate("scrollY") == 0


def test_sliders(slope):
    slope.slider("Step size").press("End")
    assert slope.is_right() == START | {"step_size": 3}
    assert slope.slider("Step size").get_attribute("aria-valuetext") == "3"
    slope.slider("temperature").press("End")
    assert slope.is_right() == START | {"step_size": 3, "beta": 10}
    slope.slider("Memories").press("End")
    state = slope.is_right()
    assert state["memories"][:3] == START["memories"]
    assert len(state["memories"]) == 5
    slope.slider("Memories").press("Home")
    assert slope.is_right()["memories"] == START["memories"][:1]
    box = slope.slider("Step size").bounding_box()
    slope.page.mouse.click(box["x"] + 8 + (box["width"] - 16) / 3, box["y"] + box["height"] / 2)
    assert slope.is_right()["step_size"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("desk", [CALM], indirect=True)
def test_steps(desk):
    slope = Slope(desk.open(BallAndBound(**START).page()))
    assert slope.button("Back").is_disabled()
    slope.button("Take the step").press("Enter")
    assert slope.is_right() == START | {"steps": 1}
    for _ in range(20):
        if slope.button("Take the step").is_enabled():
            slope.button("Take the step").click()
            slope.is_right()
    assert slope.is_right() == START | {"steps": 12}
    slope.button("Back").click()
    assert slope.is_right() == START | {"steps": 11}
    before = float(slope.handle("ball").get_attribute("aria-valuenow"))
    slope.handle("ball").press("ArrowRight")  # it begins anew from where it is
    assert slope.is_right() == START | {"ball": pytest.approx(before + 0.1, abs=0.01)}
    slope.button("Reset").click()
    assert slope.is_right() == START


@pytest.mark.parametrize("name", SCENES)
def test_scenes(slope, name):
    slope.button(name).click()
    assert slope.is_right() == SCENES[name]
    assert slope.box.locator("button[aria-pressed=true]").all_inner_texts() == [name]


@pytest.mark.parametrize(("desk", "moves"), [({}, True), (CALM, False)], indirect=["desk"], ids=["as usual", "reduced"])
def test_the_ball_rolls_where_motion_is_wanted(desk, moves):
    """The state is the new one at once; the ball is seen on its way, or not at all. Frames come by a clock of the test."""
    page = desk.open()
    page.clock.install(time=0)
    page.set_content(f"<html lang='en'><title>Ball</title><body>{BallAndBound([-2, 2], 0.3, 2.0).page()}")
    page.clock.pause_at(3600)
    slope, seen = Slope(page), []
    slope.button("Take the step").evaluate("button => button.click()")
    assert slope.box.evaluate("box => box.figure.model.get('steps')") == 1
    for _ in range(80):
        page.clock.run_for(16)
        seen.append(slope.handle("ball").evaluate("ball => parseFloat(ball.style.left)"))
    between = sorted(set(seen))[:-1]
    assert (len(between) > 1) is moves
    assert seen == sorted(seen)
    page.clock.resume()
    assert slope.is_right()["steps"] == 1


def test_keyboard_reaches_everything(slope):
    reached = []
    for _ in range(14):
        slope.page.keyboard.press("Tab")
        reached.append(
            slope.box.evaluate(
                """box => {
                const active = box.firstChild.shadowRoot.activeElement;
                return active.ariaLabel ?? (active.labels?.[0] ?? active).textContent;
            }"""
            )
        )
    names = ["Step size \u03b30.8", "Inverse temperature \u03b21.3", "Memories3", "Take the step", "Reset"]
    said = [name.replace("up to 2 the energy cannot rise", "") for name in reached]
    assert said == [*SCENES, "memory 1", "memory 2", "memory 3", "ball", *names]


def test_says_what_it_computes(desk):
    for settings, phase in (
        (START, "guaranteed: it falls"),
        (SCENES["long, yet lower"], "no guarantee: it falls"),
        (SCENES["too long"], "no guarantee: it climbs"),
        (START | {"step_size": 0}, "guaranteed: it keeps its height"),
        (SCENES["on the edge"], "guaranteed: it keeps its height"),
    ):
        slope, said = Slope(desk.open(BallAndBound(**settings).page())), BallAndBound(**settings).readout
        shown = slope.box.locator("dl").inner_text().replace("\u2212", "-")
        assert slope.box.locator(".phase").inner_text() == phase
        for name, number in (("Guaranteed fall", said["guaranteed"][-1]), ("Real fall", said["real"][-1])):
            assert re.search(rf"{name}\n+{round(number, 3) + 0.0:.3f}\n", shown), (name, shown)  # not -0.000
        assert f"{said['attended']:.3f}" in shown
        assert ("went past a bottom" in shown) == (said["ahead"][-1] > 1e-12)


@pytest.mark.parametrize("settings", [START, *SCENES.values()])
def test_falls_are_drawn_to_scale(desk, settings):
    """On the curve: from the ball's height to the parabola and to the curve. As bars: the same numbers, each step."""
    slope, said = Slope(desk.open(BallAndBound(**settings).page())), BallAndBound(**settings).readout
    heights = "lines => lines.map(line => line.getAttribute('y2') - line.getAttribute('y1'))"
    (sure,), (real,) = (slope.box.locator(f"line.{kind}-fall").evaluate_all(heights) for kind in ("sure", "real"))
    tops = slope.box.locator("path.curve").get_attribute("d")
    x, y = np.array([[float(z) for z in point.split()] for point in tops[1:].split("L")]).T
    per_energy = (y.max() - y.min()) / np.ptp(curve(settings))
    assert [sure / per_energy, real / per_energy] == pytest.approx([said["guaranteed"][-1], said["real"][-1]], abs=0.02)
    landing = slope.box.locator("circle.landing")
    across, down = (float(landing.get_attribute(name)) for name in ("cx", "cy"))
    if x[0] < across < x[-1]:
        assert np.interp(across, x, y) == pytest.approx(down, abs=1)
    bars = "bars => bars.map(bar => Number(bar.getAttribute('height')))"
    blue, orange = (np.array(slope.box.locator(f"rect.{kind}").evaluate_all(bars)) for kind in ("blue", "orange"))
    falls = np.abs([said["guaranteed"], said["real"]])
    if falls.max() > 1e-9:
        assert np.array([blue, orange]) / max(*blue, *orange) == pytest.approx(falls / falls.max(), abs=1e-6)


def curve(settings: dict[str, Any]) -> np.ndarray:
    x, memory, beta = np.linspace(-3.2, 3.2, 193), np.array(settings["memories"]), settings["beta"]
    return x**2 / 2 - np.log(np.exp(beta * x[:, None] * memory).sum(-1)) / beta


# The module's functions


@pytest.fixture
def module(desk: live.Desk) -> Any:
    """The module, imported as a widget's front end does."""
    page = desk.open()
    load = f"import(URL.createObjectURL(new Blob([{json.dumps(BallAndBound()._esm)}], {{ type: 'text/javascript' }})))"
    page.evaluate(f"async () => {{ window.module = await {load}; }}")
    return page


def test_functions_against_attnlib(module):
    for memories in ([0.7], [-3.0, 3.0], [1.0, 1.0, -2.0], [-2.5, -0.3, 0.4, 1.1, 2.9]):
        for beta in (0.01, 0.8, 5.0, 100.0):
            for step_size, steps in ((0.0, 3), (0.5, 12), (1.0, 12), (2.0, 5), (3.0, 12)):
                state = BallAndBound(memories, -0.35, beta, step_size=step_size, steps=steps).state()
                same_numbers(module.evaluate("state => module.measure(state)", state), BallAndBound(**state).readout)


def test_a_view_that_is_closed_leaves_nothing_behind(module):
    left = module.evaluate(
        """async (state) => {
        const calls = new Set(), el = document.body.appendChild(document.createElement("div"));
        const on = (name, call) => calls.add(call), off = (name, call) => calls.delete(call);
        const close = await module.default.render({ model: { get: (key) => state[key], on, off }, el });
        const before = [el.children.length, calls.size];
        close();
        return [before, [el.children.length, calls.size]];
    }""",
        START,
    )
    assert left == [[1, 1], [0, 0]]


# The page is enough


@pytest.mark.parametrize("desk", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_there_is_a_still_picture(desk):
    page = desk.open(BallAndBound(**START).page())
    picture = page.get_by_role("img", name=re.compile("^Energy of 3 memories on a line at beta 1.3"))
    seen = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("RGB"))
    assert (seen == (213, 94, 0)).all(-1).sum() > 150
    assert page.get_by_role("slider").count() == 0


@pytest.mark.parametrize("desk", [{"viewport": {"width": width, "height": 844}} for width in (320, 390, 740)], indirect=True)
@pytest.mark.parametrize("settings", [START, SCENES["too long"] | {"steps": 12}, START | {"memories": [3, -3, 3, -3, 3]}])
def test_nothing_sticks_out(desk, settings):
    page = desk.open(BallAndBound(**settings).page())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    beyond = page.locator(".card").evaluate(
        """card => {
        const edge = card.getBoundingClientRect(), plot = card.querySelector(".picture > svg").getBoundingClientRect();
        const out = (box) => box.width && (box.right > edge.right || box.left < edge.left);
        const clipped = (part) => part.closest("[clip-path]") || part.closest("clipPath");
        const parts = [...card.querySelectorAll("*")].filter((part) => !clipped(part) && out(part.getBoundingClientRect()));
        return parts.map((part) => part.outerHTML.slice(0, 100));
    }"""
    )
    assert not beyond


@pytest.mark.parametrize("desk", [PHONE], indirect=True)
def test_a_phone_shows_the_curve_and_what_turns_it(slope):
    top, control = slope.picture.bounding_box(), slope.slider("Step size").bounding_box()
    assert control["y"] > top["y"] + 300
    assert control["y"] + control["height"] < 844


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("desk", [{}, PHONE], indirect=True, ids=["wide", "phone"])
def test_axe_finds_nothing(desk, theme):
    page = desk.open(BallAndBound(**START).page(), BallAndBound(**SCENES["too long"]).page(), html=f'data-theme="{theme}"')
    Slope(page).handle("ball").focus()
    found = browsers.axe(page)
    assert {"label", "button-name", "color-contrast", "svg-img-alt"} <= {passed["id"] for passed in found["passes"]}
    assert not [(fault["id"], place["html"][:120]) for fault in found["violations"] for place in fault["nodes"]]


def test_two_figures_are_independent(desk):
    same = BallAndBound(**START).page()
    page = desk.open(same, same)
    first, second = Slope(page), Slope(page, 1)
    second.slider("Step size").press("End")
    second.handle("memory 1").press("ArrowLeft")
    assert first.is_right() == START
    assert second.is_right() == START | {"step_size": 3, "memories": [-1.6, 1.2, 0.4]}


def test_draws_within_a_frame(desk, record_property):
    """The ball among five memories, with twelve steps to follow. The best of 60, since others keep this machine busy."""
    page = desk.open(BallAndBound([-1.5, 1.5, 2, -2, 0.3], steps=12).page())
    times = page.evaluate(
        """() => {
        const { model, draw } = document.querySelector("[data-live]").figure;
        return Array.from({ length: 60 }, (_, i) => {
            model.state.ball = 2.5 * Math.sin(i / 10);
            const begin = performance.now();
            draw();
            return performance.now() - begin;
        }).sort((a, b) => a - b);
    }"""
    )
    record_property("draw_ms", (times[0], times[30]))
    assert times[0] < 1000 / 60
