"""A page with live figures on it, one of them as a reader meets it, and what can be asked of any."""

import io
import json
import math
import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from helpers import figures
from PIL import Image

PHONE = {"viewport": {"width": 390, "height": 844}}
TOUCH = {"has_touch": True, "is_mobile": True} | PHONE
CALM = {"reduced_motion": "reduce"}
MOTIONS = [{"reduced_motion": how} for how in ("no-preference", "reduce")]
SILENT = {"java_script_enabled": False}
FRAME = "await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));"
NEXT_FRAME = f"async () => {{ {FRAME} }}"
NAMED = """const named = (part) => {
    const label = part.labels?.[0];
    return part.ariaLabel ?? (label ? label.firstChild.textContent || label.textContent : part.textContent);
};"""
LOOK = f"""async (box) => {{
    {FRAME}
    {NAMED}
    const {{ record, film, ...state }} = box.figure.model.state;
    const parts = box.firstChild.shadowRoot.querySelectorAll("input, select");
    const shown = (part) => part.type === "checkbox" ? part.checked : part.getAttribute("aria-valuetext") ?? part.value;
    return [state, box.figure.readout(), Object.fromEntries([...parts].map((part) => [named(part), shown(part)]))];
}}"""
"""After what was asked for is drawn: the traits but for a record, the numbers, and what each control shows."""


@dataclass
class Desk:
    """A page from a file, with figures on it, that lets nothing out and writes down whatever goes wrong."""

    context: Any
    folder: Path
    wrong: list[str] = field(default_factory=list)
    page: Any = None

    def __post_init__(self) -> None:
        self.page = self.context.new_page()
        self.own = (self.folder / "page.html").as_uri()
        self.page.on("console", lambda said: self.wrong.append(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        self.page.on("request", lambda request: self._look(request.url))

    def open(self, *parts: str, head: str = "", html: str = "", body: str = "") -> Any:
        """The page with these figures, and nothing of what was on it before."""
        text = (
            f'<!doctype html><html lang="en" {html}><head><meta charset="utf-8"><title>Figures</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}</head>'
            f"<body {body}><main><h1>Figures</h1>{''.join(parts)}</main></body></html>"
        )
        (self.folder / "page.html").write_text(text, encoding="utf-8")
        self.page.goto(self.own)
        return self.page

    def show(self, row: figures.Row, *states: dict[str, Any], html: str = "", below: str = "") -> "Shown":
        """One figure, or several of a kind below each other; the first of them. What moves on arrival has arrived."""
        page = self.open(*(lean(row, **state) for state in states), below, html=html)
        page.locator("[data-live]").evaluate_all("boxes => boxes.forEach(box => box.figure?.arrived())")
        return Shown(page, row)

    def module(self, row: figures.Row) -> Any:
        """An empty page with the figure's module imported as a widget's front end does, as ``module``."""
        source = json.dumps(row.kind._esm)
        load = f"import(URL.createObjectURL(new Blob([{source}], {{ type: 'text/javascript' }})))"
        self.open()
        self.page.evaluate(f"async () => {{ window.module = await {load}; }}")
        return self.page

    def stopped(self, row: figures.Row, **state: Any) -> "Shown":
        """A figure on a page whose clock is the test's own, and stands. For a desk of one's own, ``{"own": True}``.

        It stands before the figure is there: what begins on arrival would else be over, or not, when the clock leaps.
        """
        self.open()
        self.page.clock.install(time=0)
        self.page.clock.pause_at(3600)
        self.page.set_content(f"<html lang='en'><title>Figure</title><body>{lean(row, **state)}")
        self.page.clock.run_for(20)  # the first frame is drawn
        return Shown(self.page, row)

    def swipe(self, *points: tuple[float, float]) -> None:
        """A finger put down, moved from point to point, a frame at each, and lifted."""
        wire = self.context.new_cdp_session(self.page)
        kinds = ["touchStart", *["touchMove"] * (len(points) - 1), "touchEnd"]
        for kind, point in zip(kinds, [*points, None], strict=True):
            touched = [{"x": point[0], "y": point[1]}] if point else []
            wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})
            self.page.evaluate(NEXT_FRAME)
        wire.detach()

    def _look(self, url: str) -> None:
        if url.split("#")[0] != self.own and not url.startswith(("data:", "blob:")):
            self.wrong.append(f"request: {url}")


def lean(row: figures.Row, **state: Any) -> str:
    """The page of a figure with an empty still picture: to draw it would compute all numbers twice, for readers without
    JavaScript.
    """
    figure = figures.made(row, **state)
    figure.still = lambda: '<svg xmlns="http://www.w3.org/2000/svg"/>'
    figure.alt = lambda: "Not drawn."
    return figure.page()


@cache
def _computed(row: figures.Row, text: str) -> dict[str, Any]:
    return figures.made(row, **json.loads(text)).readout


def computed(row: figures.Row, **state: Any) -> dict[str, Any]:
    """The numbers of a state, computed by attnlib, once for all tests."""
    return deepcopy(_computed(row, json.dumps(state, sort_keys=True)))


def same_numbers(shown: dict[str, Any], expected: dict[str, Any], atol: float = 1e-6) -> None:
    """All numbers to 1e-6; words, and lists that are no tables, exactly."""
    assert shown.keys() == expected.keys()
    for name, value in expected.items():
        if shown[name] == value:
            continue
        found, wanted = (torch.tensor(numbers, dtype=torch.float64) for numbers in (shown[name], value))
        torch.testing.assert_close(found, wanted, atol=atol, rtol=1e-9, msg=lambda text, name=name: f"{name}: {text}")


def like(found: Any, wanted: Any) -> bool:
    """Whether it is what is wanted: a value, up to the last digits of a float, or what a function says yes to."""
    if callable(wanted):
        return bool(wanted(found))
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(like, found, wanted))
    return abs(found - wanted) <= 1e-9 if isinstance(wanted, float) else bool(wanted == found)


def is_like(state: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert state.keys() == wanted.keys()
    assert {name: state[name] for name in state if not like(state[name], wanted[name])} == {}, wanted


@dataclass
class Shown:
    """One figure on a page: what it holds, what it shows, and how a reader moves it."""

    page: Any
    row: figures.Row
    index: int = 0

    def __post_init__(self) -> None:
        self.box = self.page.locator("[data-live]").nth(self.index)
        self.picture = self.box.locator(self.row.picture).first

    def next(self) -> "Shown":
        """The figure below it."""
        return Shown(self.page, self.row, self.index + 1)

    def part(self, role: str, name: Any) -> Any:
        """A control; where it waits behind *More*, that is pressed first."""
        part = self.box.get_by_role(role, name=name, exact=role == "button" and isinstance(name, str))
        if name != "More" and part.count() == 0:
            for more in self.box.get_by_role("button", name="More", exact=True).all():
                more.click()
        return part

    def slider(self, name: Any) -> Any:
        return self.part("slider", name)

    def button(self, name: Any) -> Any:
        return self.part("button", name)

    def choice(self, name: str) -> Any:
        return self.part("combobox", name)

    def tick(self, name: str) -> Any:
        return self.part("checkbox", name)

    def handle(self, number: int = 0) -> Any:
        """What can be taken hold of and moved."""
        return self.box.locator(self.row.handles).nth(number)

    def phase(self) -> str:
        """The word in the corner."""
        return self.box.locator(self.row.word).inner_text()

    def told(self, part: str = "dl") -> str:
        """What the readings say, with a minus that can be read as a number."""
        return self.box.locator(part).inner_text().replace("\u2212", "-")

    def numbers(self, parts: str, *names: str) -> list[list[float]]:
        """Attributes of all such parts of the drawing."""
        read = "(parts, names) => parts.map(part => names.map(name => Number(part.getAttribute(name))))"
        return self.box.locator(parts).evaluate_all(read, list(names))

    def column(self, parts: str, name: str) -> list[float]:
        return [number for (number,) in self.numbers(parts, name)]

    def ask(self, what: str, *given: Any) -> Any:
        """Ask what stands in ``box.figure``."""
        return self.box.evaluate(f"(box, given) => box.figure.{what}", *given)

    def state(self) -> dict[str, Any]:
        return self.box.evaluate(LOOK)[0]

    def put(self, **state: Any) -> None:
        """Set traits, as a linked widget does, and see it drawn."""
        write = f"async (box, state) => {{ for (const one of Object.entries(state)) box.figure.model.set(...one); {FRAME} }}"
        self.box.evaluate(write, state)

    def is_right(self) -> dict[str, Any]:
        """Every number shown is attnlib's for the state held, every control stands where it says. Returns the state."""
        state, shown, controls = self.box.evaluate(LOOK)
        expected = computed(self.row, **state)
        same_numbers(shown, expected, self.row.atol)
        for name, value in self.row.shows(state, expected).items():
            (text,) = {text for control, text in controls.items() if control.startswith(name)}
            assert text == value if isinstance(value, str | bool) else _number(text) == _near(value), (name, text, value)
        self.row.also(self, state, expected)
        return state

    def do(self, step: figures.Step, finger: bool = False) -> None:
        """A step of a reader: by a key, or by what points."""
        part = self.part(step.role, step.name)
        if step.how == "press":
            part.press(step.what)
        elif step.how == "choose":
            part.select_option(**step.what)
        else:
            at = None
            if step.how == "slide":
                box = part.bounding_box()
                at = {"x": 8 + step.what * (box["width"] - 16), "y": box["height"] / 2}  # a browser's thumb is 16 wide
            (part.tap if finger else part.click)(position=at)

    def walk(self, steps: Iterable[figures.Step], finger: bool = False) -> dict[str, Any]:
        """Step by step, all numbers right after each, each trait what the step makes it. Returns the state."""
        state = self.is_right()
        for step in steps:
            self.do(step, finger)
            found = self.is_right()
            is_like(found, state | step.changes)
            state = found
        return state

    def drag(self, points: Iterable[tuple[float, float]], see: Callable[[], None] | None = None) -> None:
        """By mouse from the first point to the others; let go, and moved on. All numbers are right on the way."""
        mouse, (first, *others) = self.page.mouse, points
        mouse.move(*first)
        mouse.down()
        for point in others:
            mouse.move(*point, steps=3)
            (see or self.is_right)()
        mouse.up()
        mouse.move(others[-1][0] + 20, others[-1][1] - 50)

    def reached(self, count: int) -> list[str]:
        """The names of the controls that the tabulator leads to, one after the other."""
        names = []
        for _ in range(count):
            self.page.keyboard.press("Tab")
            names.append(self.box.evaluate(f"box => {{ {NAMED} return named(box.firstChild.shadowRoot.activeElement); }}"))
        return [name.split("\n")[0] for name in names]

    def sticking_out(self) -> list[str]:
        """What of the figure is beyond its card, but for what is cut off."""
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        return self.box.locator(".card").evaluate(
            """(card, beyond) => {
            const edge = card.getBoundingClientRect();
            const out = (box) => box.width && (box.right > edge.right || box.left < edge.left);
            const kept = `.hidden, [clip-path], [clip-path] *, clipPath, clipPath *, ${beyond}`;
            const parts = [...card.querySelectorAll(`*:not(${kept})`)].filter((part) => out(part.getBoundingClientRect()));
            return parts.map((part) => part.outerHTML.slice(0, 100));
        }""",
            self.row.beyond,
        )

    def pixels(self) -> np.ndarray:
        return seen(self.picture)


def _number(text: str) -> float:
    return float(text.replace("\u2212", "-"))


@dataclass
class _near:
    """A number as a control writes it."""

    value: float

    def __eq__(self, other: object) -> bool:
        return math.isclose(self.value, other, abs_tol=0.006)


def seen(part: Any) -> np.ndarray:
    """The pixels of a part of the page, ``[height, width, 3]``."""
    return np.asarray(Image.open(io.BytesIO(part.screenshot())).convert("RGB")).astype(int)


def polyline(drawn: str) -> np.ndarray:
    """The points of an unbroken line of an SVG, ``[points, 2]``."""
    return np.array([[float(z) for z in re.split("[ ,]", point)] for point in drawn[1:].split("L")])


def faults(page: Any) -> list[tuple[str, str]]:
    """What axe finds; it must have looked at some rules."""
    from helpers import browsers

    found = browsers.axe(page)
    looked = {rule["id"] for rule in found["passes"]}
    assert {"label", "button-name", "color-contrast"} <= looked
    assert looked & {"svg-img-alt", "role-img-alt", "aria-input-field-name", "select-name"}
    return [(fault["id"], place["html"][:120]) for fault in found["violations"] for place in fault["nodes"]]
