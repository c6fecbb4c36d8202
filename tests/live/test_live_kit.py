"""What all live figures share, in a real browser: constants of one source, layout, plots, canvases, motion, moving things."""

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import live

WORKSHOP = """
function render({ model, el }) {
  const ground = kit.card(el, "Workshop");
  window.kit = kit;
  window.drawn = [];
  const picture = kit.html("div", { class: "picture", style: "height: 100px" });
  const slider = kit.slider({ label: "Turn", min: 0.1, max: 10, log: true, change: (turn) => kit.store(model, { turn }) });
  const reading = kit.reading("Value", true);
  ground.body.append(kit.layout(picture, [slider.element], kit.html("dl", {}, reading.element)));
  const draw = () => { slider.set(model.get("turn")); drawn.push([model.get("turn"), ground.colour("ground")]); };
  return kit.run({ model, el, ground, names: ["turn"], draw, watch: [picture], slider, reading, picture }).close;
}
export default { render };
"""


@pytest.fixture
def workshop(desk: live.Desk, tmp_path: Path) -> Any:
    """A page with a figure that does nothing but show the kit around."""
    (tmp_path / "workshop.js").write_text(WORKSHOP, encoding="utf-8")
    (tmp_path / "workshop.py").write_text(
        "import traitlets\nfrom attnlib.course.live import LiveFigure\n\n\nclass Workshop(LiveFigure):\n"
        "    constants = {'THIRD': 1 / 3, 'NAMES': ['\\u03b2', '\"quoted\"'], 'deep': {'point': [1e-300, -2]}}\n"
        "    turn = traitlets.Float(1.0).tag(sync=True)\n\n"
        "    def still(self):\n        return '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\n\n"
        "    def alt(self):\n        return 'A workshop.'\n",
        encoding="utf-8",
    )
    spec = importlib.util.spec_from_file_location("workshop", tmp_path / "workshop.py")
    sys.modules["workshop"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["workshop"])
    return desk.open(sys.modules.pop("workshop").Workshop().page(), html='data-theme="light"')


# Constants


def shown_constants(page: Any, index: int = 0) -> Any:
    return page.locator("[data-live]").nth(index).evaluate("box => box.figure.constants")


def test_constants_keep_every_digit(workshop):
    expected = {"THIRD": 1 / 3, "NAMES": ["\u03b2", '"quoted"'], "deep": {"point": [1e-300, -2]}}
    assert shown_constants(workshop) == expected


# Layout


@pytest.mark.parametrize("desk", [{"viewport": {"width": width, "height": 900}} for width in (390, 1000)], indirect=True)
def test_readings_stand_beside_the_picture_where_there_is_room(workshop):
    picture, slider, reading = (workshop.locator(part).bounding_box() for part in (".picture", ".slider", "dl"))
    assert picture["y"] + picture["height"] <= slider["y"]
    if workshop.viewport_size["width"] > 500:
        assert reading["x"] >= picture["x"] + picture["width"]
        assert reading["y"] < slider["y"]
    else:
        assert reading["y"] >= slider["y"] + slider["height"]


def test_a_slider_bears_a_mark_only_where_it_has_that_value(workshop):
    place = "value => { document.querySelector('[data-live]').figure.slider.mark(value, 'here'); }"
    tick, slider = workshop.locator(".mark i"), workshop.get_by_role("slider")
    for value in (0.1, 1.0, 10.0):
        workshop.evaluate(place, value)
        box, track = tick.bounding_box(), slider.bounding_box()
        share = (math.log10(value) + 1) / 2
        assert box["x"] + box["width"] / 2 == pytest.approx(track["x"] + 8 + share * (track["width"] - 16), abs=1.5)
        assert workshop.get_by_role("slider", name="Turn here").count() == 1
    for value in (0.05, 11, math.inf):
        workshop.evaluate(place, value)
        assert tick.count() == 0


# Its life


@pytest.mark.parametrize("desk", [{"own": True}], indirect=True)
def test_draws_anew_for_a_trait_the_size_and_the_theme_and_not_after_it_is_closed(workshop):
    def drawn() -> list[Any]:
        workshop.evaluate(live.NEXT_FRAME)
        return workshop.evaluate("drawn.splice(0)")

    drawn()
    workshop.get_by_role("slider").press("End")
    assert drawn() == [[10, "#fcfcfa"]]
    workshop.set_viewport_size({"width": 500, "height": 900})
    assert drawn() == [[10, "#fcfcfa"]]
    workshop.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert drawn() == [[10, "#171d26"]]
    workshop.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert drawn() == []
    workshop.emulate_media(color_scheme="dark")  # the page's own word holds
    assert drawn() == []


# Drawing


def test_axes_have_round_numbers_inside(workshop):
    for (low, high), expected in {
        (0, 1): [0, 0.2, 0.4, 0.6, 0.8, 1],
        (-3, 3): [-2, 0, 2],
        (0.013, 0.042): [0.02, 0.03, 0.04],
        (-7, 612): [0, 200, 400, 600],
    }.items():
        assert workshop.evaluate("([from, to]) => kit.ticks({ from, to })", [low, high]) == pytest.approx(expected)
    decades = workshop.evaluate("kit.ticks({ from: 0.02, to: 500, log: true })")
    assert decades == pytest.approx([0.1, 1, 10, 100])


def test_plots_are_to_scale_and_break_where_a_number_is_missing(workshop):
    frame = (
        "kit.plot({ left: 40, top: 10, width: 200, height: 100, x: { from: 1, to: 100, log: true }, y: { from: -1, to: 3 } })"
    )
    found = workshop.evaluate(
        f"""() => {{
        const p = {frame};
        return [p.toX(1), p.toX(10), p.toX(100), p.toY(-1), p.toY(3), p.fromX(p.toX(7)), p.fromY(p.toY(0.3))];
    }}"""
    )
    assert found == pytest.approx([40, 140, 240, 110, 10, 7, 0.3], abs=1e-9)
    drawn = workshop.evaluate(f"{frame}.line([[1, 0], [10, 1], [20, NaN], [100, 3], [50, 0]], 'b').outerHTML")
    assert 'd="M40.0 85.0L140.0 60.0M240.0 10.0L209.9 85.0"' in drawn
    assert 'stroke="var(--b)"' in drawn
    assert workshop.evaluate(f"{frame}.dots([[10, 1]], '#123456').outerHTML") == (
        '<g fill="#123456"><circle cx="140" cy="60" r="3.5"></circle></g>'
    )


def test_a_picture_filled_again_keeps_its_elements_and_writes_only_what_differs(workshop):
    """What is there is then what new elements would be, whatever changed; what stays is not touched."""
    found = workshop.evaluate(
        """() => {
        const parent = document.body.appendChild(kit.svg("svg")), fresh = kit.svg("svg");
        const watch = new MutationObserver(() => {}), dot = (cx) => kit.shape("circle", { cx });
        watch.observe(parent, { attributes: true, childList: true, subtree: true });
        const made = ({ name, attributes, children }) =>
            kit.svg(name, attributes, ...children.map((one) => (typeof one === "string" ? one : made(one))));
        const show = (first, words, dots) => {
            const shapes = [first, kit.shape("text", { x: 1 }, words), kit.shape("g", {}, ...dots.map(dot))];
            kit.fill(parent, shapes);
            fresh.replaceChildren(...shapes.map(made));
            const written = watch.takeRecords().map(({ attributeName, target }) => `${target.tagName} ${attributeName ?? ""}`);
            return [written, parent.innerHTML === fresh.innerHTML];
        };
        const rect = (more) => kit.shape("rect", { class: "a", ...more });
        return [
            show(rect({ x: 1 }), "one", [1, 2]), show(rect({ x: 1 }), "one", [1, 2]), show(rect({ x: 2 }), "one", [1, 2]),
            show(rect({ y: 2 }), "one", [1, 3]), show(rect({ y: 2 }), "two", [1]), show(kit.shape("line"), "two", [1, 5, 6]),
        ];
    }"""
    )
    assert [same for _, same in found] == [True] * 6
    first, *then = [[one.strip() for one in written] for written, _ in found]
    assert first == ["svg"] * 3  # what is new is whole when it comes in
    assert then == [[], ["rect x"], ["rect y", "rect x", "circle cx"], ["text", "g"], ["svg", "g", "g"]]


def test_a_plot_of_shapes_is_a_plot_of_elements(workshop):
    same = workshop.evaluate(
        """() => {
        const [shapes, elements] = [kit.shape, kit.svg].map((make) => {
            const plot = kit.plot({
                make, left: 40, top: 10, width: 200, height: 100, x: { from: 1, to: 100, log: true, label: "x" },
                y: { from: -1, to: 3, label: "y" }, title: "A plot",
            });
            return [...plot.axes(), plot.line([[1, 0], [10, 1]], "a"), plot.dots([[10, 1], [20, 2]])];
        });
        const [filled, made] = [kit.svg("svg"), kit.svg("svg", {}, ...elements)];
        kit.fill(filled, shapes);
        return filled.innerHTML === made.innerHTML && made.children.length > 10;
    }"""
    )
    assert same


@pytest.mark.parametrize(
    "desk",
    [{"device_scale_factor": factor} for factor in (1, 1.5, 3)],
    indirect=True,
    ids=lambda desk: desk["device_scale_factor"],
)
def test_a_canvas_is_as_sharp_as_the_screen(workshop):
    found = workshop.evaluate(
        """() => { const { element, fit } = kit.canvas(), pen = fit(100, 50);
        pen.fillRect(0, 0, 100, 50);
        const { data } = pen.getImageData(element.width - 1, element.height - 1, 1, 1);
        return [element.width / devicePixelRatio, element.height / devicePixelRatio, data[3], devicePixelRatio]; }"""
    )
    assert found[:3] == [100, 50, 255]
    assert found[3] in (1, 1.5, 3)


# Motion


@pytest.mark.parametrize("desk", [motion | {"own": True} for motion in live.MOTIONS], indirect=True)
def test_says_whether_motion_is_wanted(workshop):
    assert workshop.evaluate("kit.reducedMotion()") == workshop.evaluate(
        "matchMedia('(prefers-reduced-motion: reduce)').matches"
    )
    workshop.emulate_media(reduced_motion="reduce")
    assert workshop.evaluate("kit.reducedMotion()")


def test_a_loop_runs_until_it_is_told_to_end(workshop):
    times, running = workshop.evaluate(
        """async () => { const times = [], loop = kit.loop((now) => times.push(now) < 5);
        loop.start();
        loop.start();
        const running = [loop.running()];
        while (times.length < 5) await new Promise(requestAnimationFrame);
        for (let more = 0; more < 5; more += 1) await new Promise(requestAnimationFrame);
        return [times, [...running, loop.running()]]; }"""
    )
    assert len(times) == 5
    assert times[0] == 0
    assert times == sorted(times)
    assert running == [True, False]
