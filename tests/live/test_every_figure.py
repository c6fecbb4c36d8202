"""What is asked of every live figure: its numbers are attnlib's, whatever moves it, and it needs nothing but the page."""

import html
import json
import re

import pytest
from helpers import figures, live
from helpers.samples import sample

import attnlib.course.live
from attnlib.course.live import FigureError, LiveFigure

CASES = [pytest.param(row, id=row.name) for row in figures.TABLE]
every = pytest.mark.parametrize("row", CASES)
twelfth = pytest.mark.sweep(1 / 12)
"""For what a figure has from the kit: make test asks it of every twelfth, for each question of others. All: ``--tier all``."""
MOVED = pytest.mark.parametrize("row", [case for case in CASES if case.values[0].finger])
LOOKS = [
    pytest.param({"viewport": {"width": width, "height": 844}, "color_scheme": scheme}, id=f"{width} {scheme}")
    for width in (800, 390)
    for scheme in ("light", "dark")
]


def test_the_table_has_every_figure_once():
    public = {getattr(attnlib.course.live, name) for name in attnlib.course.live.__all__}
    assert {row.kind for row in figures.TABLE} == {kind for kind in public if issubclass(kind, LiveFigure)} - {LiveFigure}
    assert len({row.kind for row in figures.TABLE}) == len(figures.TABLE)


# Traits


@pytest.mark.parametrize(
    ("row", "settings", "complaint"),
    [
        pytest.param(row, settings, complaint, id=f"{row.name}: {complaint.split(';')[0]}"[:60])
        for row in figures.TABLE
        for settings, complaint in row.refused
    ],
)
def test_refuses_and_keeps_the_old_value(row, settings, complaint):
    with pytest.raises(FigureError, match=re.escape(complaint)) as refused:
        figures.made(row, **settings)
    assert isinstance(refused.value, ValueError)
    if len(settings) == 1:
        figure = figures.made(row, **row.start)
        ((name, value),) = settings.items()
        before = figure.state()
        with pytest.raises(FigureError, match=re.escape(complaint)):
            setattr(figure, name, value)
        assert figure.state() == before


@every
def test_refuses_other_kinds(row):
    traitlets = pytest.importorskip("traitlets")
    for name, value in row.other_kinds:
        with pytest.raises(traitlets.TraitError, match=name):
            setattr(figures.made(row), name, value)


# What a notebook is given


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "state"),
    [
        pytest.param(row, state, id=f"{row.name}-{i}", marks=pytest.mark.whole if i else ())
        for row in figures.TABLE
        for i, state in enumerate((row.start, *row.extremes))
    ],
)
def test_a_notebook_gets_a_small_page_that_is_the_same_every_time(row, state):
    figure = figures.made(row, **state)
    data, metadata = figure._repr_mimebundle_()
    page = data["text/html"]
    assert len(json.dumps(data | metadata)) < row.size
    assert len(figure._esm) < 60_000
    assert len(repr(figure)) < (200 if row.record else 600)
    assert page == figures.made(row, **state).page()
    assert json.loads(html.unescape(re.search(r'data-state="([^"]*)"', page)[1])) == figure.state()
    assert set(re.findall(r"[a-z]+://[^\"'%\s]+", page)) == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert html.escape(figure.alt()) in page
    assert page.count("<script") == page.count("</script") == 1


@twelfth
@every
@pytest.mark.parametrize("desk", [live.SILENT], indirect=True)
def test_without_javascript_there_is_a_still_picture(desk, row):
    page = desk.open(figures.made(row, **row.start).page())
    picture = page.get_by_role("img", name=re.compile(f"^{re.escape(row.alt)}"))
    assert picture.is_visible()
    pixels = live.seen(picture)
    assert pixels.shape[1] > 600
    for colour, least in row.ink.items():
        assert (pixels == colour).all(-1).sum() > least
    assert page.get_by_role("slider").count() == 0


# Numbers


@every
def test_functions_against_attnlib(desk, row, request):
    """A sixteenth of the states in make test, at least two, of each figure."""
    points = row.points()
    states = sample(points, max(1 / 16, 2 / len(points)), request.config.getoption("tier"))
    whole = [figures.made(row, **state).state() for state in states]
    found = desk.module(row).evaluate(f"states => states.map({row.measure})", whole)
    for shown, state in zip(found, states, strict=True):
        live.same_numbers(shown, live.computed(row, **state), row.atol)


@twelfth
@every
def test_constants_are_pythons_on_the_page_and_in_the_widget_which_leaves_nothing_behind(desk, row):
    figure = figures.made(row, **row.start)
    expected = json.loads(json.dumps(figure.constants))
    shown = desk.show(row, row.start)
    assert shown.ask("constants") == expected
    assert shown.box.locator("img").count() == 0  # the still picture is gone
    left = desk.module(row).evaluate(
        """async (state) => {
        const calls = new Set(), el = document.body.appendChild(document.createElement("div")), nothing = () => {};
        const on = (name, call) => calls.add(call), off = (name, call) => calls.delete(call);
        const model = { get: (key) => state[key], set: nothing, on, off };
        const close = await module.default.render({ model, el });
        const before = [el.children.length, calls.size, el.figure.constants];
        close();
        return [before, [el.children.length, calls.size]];
    }""",
        figure.state(),
    )
    assert left == [[1, 1, expected], [0, 0]]


# Moves


@pytest.mark.sweep(1 / 14)
@every
@pytest.mark.parametrize("desk", [pytest.param({}, id="mouse"), pytest.param(live.TOUCH, id="touch")], indirect=True)
def test_every_move(desk, row, request):
    """By key and mouse, or by key and finger: it begins with its state, and each step makes of it what the table says.

    A fourteenth of these walks in make test.
    """
    shown = desk.show(row, row.start)
    live.is_like(shown.is_right(), row.start)
    shown.walk(row.walk, finger="touch" in request.node.name)


@twelfth
@MOVED
@pytest.mark.parametrize("desk", [live.TOUCH], indirect=True)
def test_a_finger_moves_a_thing_and_not_the_page(desk, row):
    shown = desk.show(row, row.start, below='<div style="height: 2000px"></div>')
    points, changes = row.finger(shown)
    desk.swipe(*points)
    live.is_like(shown.is_right(), row.start | changes)
    assert desk.page.evaluate("scrollY") == 0


@twelfth
@every
def test_of_two_figures_one_moves(desk, row):
    shown = desk.show(row, row.start, row.start)
    shown.next().walk(row.apart)
    live.is_like(shown.is_right(), row.start)


@twelfth
@every
def test_keyboard_reaches_every_control(desk, row):
    reached = zip(desk.show(row, row.start).reached(len(row.tab)), row.tab, strict=True)
    assert tuple(name[: len(told)] if told.endswith(",") else name for name, told in reached) == row.tab


@twelfth
@every
def test_no_slider_leads_where_python_refuses(desk, row):
    """Both ends of each slider, one after the other: the state there can be set in Python."""
    figure, shown = figures.made(row), desk.show(row, {})
    for more in shown.button("More").all():
        more.click()
    sliders = shown.box.locator("input[type=range]")
    assert sliders.count() > 0
    for index in range(sliders.count()):
        for key in ("End", "Home", "End"):
            sliders.nth(index).press(key)
            state = shown.state()
            with figure.hold_trait_notifications():  # all at once: some traits bound others
                for name, value in state.items():
                    setattr(figure, name, value)
            assert {name: getattr(figure, name) for name in state} == state


# What explains


@twelfth
@every
def test_one_slider_turns_it_and_the_rest_waits_behind_more(desk, row):
    """And what can be tried is written below; nothing of it is done when the figure is first seen."""
    shown = desk.show(row, {})
    ranges = "ranges => ranges.filter((range) => range.checkVisibility()).length"
    sliders = 2 if row.name == "Mapper" else 1  # where a head looks, and how sure it is: the question is about both
    assert shown.box.locator("input[type=range]").evaluate_all(ranges) <= sliders
    assert shown.box.locator(".tasks, .task").count() == 1
    assert shown.box.locator(".tasks .done").count() == 0


@twelfth
@every
@pytest.mark.parametrize("desk", [{"own": True}, {"own": True, "reduced_motion": "reduce"}], indirect=True, ids=["", "calm"])
def test_it_moves_once_when_it_is_first_seen_unless_motion_is_not_wanted(desk, row, request):
    """Frames are the test's own: half a second on its way it looks unlike what it comes to, which then stays."""
    if row.name == "Walker":
        pytest.skip("what moves there is the browser's own animation, which keeps no clock of a test")
    card = desk.stopped(row, **row.start).box.locator(".card")
    card.evaluate("card => new Promise((seen) => new IntersectionObserver(seen).observe(card))")  # as its own did before
    card.screenshot()
    pictures = []
    for wait in (400, 6000, 1000):
        desk.page.clock.run_for(wait)
        if pictures:  # what styles animate keeps the browser's own time
            card.evaluate("card => Promise.allSettled(card.getAnimations({ subtree: true }).map((one) => one.finished))")
        pictures.append(card.screenshot())
    assert (pictures[0] == pictures[1]) == ("calm" in request.node.name)
    assert pictures[1] == pictures[2]


# Room and readers


@twelfth
@every
def test_nothing_sticks_out(desk, row, request):
    """Of every card, in every state that needs room; the page does not scroll sideways. Of four widths make test takes two."""
    shown = desk.show(row, row.start)
    for width in (320, 358, 390, 740) if request.config.getoption("tier") == "all" else (320, 740):
        desk.page.set_viewport_size({"width": width, "height": 844})
        for state in (row.start, *row.extremes):
            shown.put(**state)
            assert shown.sticking_out() == [], (width, state)


COVERED = """(box, beyond) => {
    const root = box.firstChild.shadowRoot, width = (one) => one.getBoundingClientRect().width;
    const seen = (one) => one.checkVisibility() && width(one) > 0;
    const drawings = [...root.querySelectorAll("svg, canvas")].filter((one) => seen(one) && width(one) > 60);
    const words = [...root.querySelectorAll("dt, dd, p, li, td, th, label, button")];
    const texts = words.filter((one) => seen(one) && one.innerText?.trim());
    const parts = (one) => [one.matches("canvas") ? [one] : [],
        ...one.querySelectorAll(`*:not(:has(*), [clip-path] *, clipPath *, stop, ${beyond})`)].flat().filter(seen);
    const along = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
    const deep = (a, b) => along(a, b, "left", "right") > 2 && along(a, b, "top", "bottom") > 2;
    const rectangles = texts.map((text) => {
        const range = document.createRange();
        range.selectNodeContents(text);
        return range.getBoundingClientRect();
    });
    const found = drawings.flatMap((drawing) => {
        const own = drawing.closest(".picture, .ring, .digit");
        const drawn = parts(drawing).map((part) => part.getBoundingClientRect());
        const apart = (text) => !own?.contains(text) && !text.contains(drawing);
        return texts.filter((text, i) => apart(text) && drawn.some((part) => deep(part, rectangles[i])))
            .map((text) => `${drawing.getAttribute("aria-label") ?? drawing.tagName}: ${text.innerText}`.slice(0, 120));
    });
    return [drawings.length * texts.length, found];
}"""
"""How many drawings and words there are to compare, and which words a part of a drawing covers by more than two pixels."""


@twelfth
@every
@pytest.mark.parametrize("desk", [{"viewport": {"width": 1280, "height": 900}, "own": True}], indirect=True)
def test_on_paper_no_drawing_covers_a_readout(desk, row):
    """The figure as it was drawn for a screen, laid out as on A4: paper asks nobody to draw again. Rectangles of all parts."""
    shown = desk.show(row, row.start)
    desk.page.evaluate(live.NEXT_FRAME)
    looked, covered = shown.box.evaluate(COVERED, row.beyond)
    assert looked > 0
    assert covered == []
    desk.page.evaluate("window.requestAnimationFrame = () => 0")
    desk.page.emulate_media(media="print")
    desk.page.set_viewport_size({"width": 690, "height": 900})
    assert shown.box.evaluate(COVERED, row.beyond) == [looked, []]


@twelfth
@every
@pytest.mark.parametrize("desk", [live.TOUCH | {"device_scale_factor": 2.5}], indirect=True)
def test_a_phone_shows_the_picture_and_directly_under_it_what_drives_it(desk, row):
    shown = desk.show(row, row.start)
    role, name = row.drives
    picture = shown.picture.bounding_box()
    control = shown.box.get_by_role(role, name=name).first.bounding_box()
    assert control["y"] > picture["y"] + picture["height"] - 1
    assert control["y"] + control["height"] - picture["y"] < 844
    box = "parts => parts.map(part => part.getBoundingClientRect()).map(box => [box.top, box.bottom])"
    pictures, controls = (shown.box.locator(part).evaluate_all(box) for part in (".picture", ".controls"))
    assert 0 <= controls[0][0] - pictures[0][1] < 60
    assert controls[0][0] - pictures[0][0] < 600
    for handle in shown.box.locator(row.handles).all():
        assert handle.bounding_box()["width"] >= row.grip


@pytest.mark.sweep(1 / 24)
@every
@pytest.mark.parametrize("desk", LOOKS, indirect=True)
def test_axe_finds_nothing(desk, row):
    """In make test three of all figures and looks; in two states, with a control in focus."""
    shown = desk.show(row, row.start, row.extremes[0])
    role, name = row.drives
    shown.box.get_by_role(role, name=name).first.focus()
    assert live.faults(desk.page) == []


WORK = """async (box) => {
    const root = box.firstChild.shadowRoot, ranges = [...root.querySelectorAll("input[type=range]")];
    const names = ["exp", "log", "tanh", "cos", "hypot"];
    const kept = names.map((name) => Math[name]);
    let [calls, nodes, most] = [0, 0, [0, 0]];
    names.forEach((name, i) => (Math[name] = (...given) => ((calls += 1), kept[i](...given))));
    const changed = (one) => one.addedNodes.length + one.removedNodes.length + (one.type === "attributes");
    const watch = new MutationObserver((all) => all.forEach((one) => (nodes += changed(one))));
    watch.observe(root, { subtree: true, childList: true, attributes: true });
    for (const range of ranges) for (const share of [0.31, 0.72, 0.55]) {
        [calls, nodes] = [0, 0];
        range.value = Number(range.min) + share * (range.max - range.min);
        range.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        most = [Math.max(most[0], calls), Math.max(most[1], nodes)];
    }
    watch.disconnect();
    names.forEach((name, i) => (Math[name] = kept[i]));
    return most;
}"""
"""The most that a turn of a slider asks for: transcendental functions, and nodes of the page and attributes that change."""


@twelfth
@every
def test_a_turn_of_a_slider_is_little_work(desk, row):
    """Counted, since times on a busy machine say little: a hundred thousand exponentials are a third of a frame."""
    calls, nodes = desk.show(row, row.start).box.evaluate(WORK)
    assert calls <= 100_000
    assert nodes <= 1500


@pytest.mark.whole
@pytest.mark.parametrize("row", [case for case in CASES if case.values[0].draws])
def test_draws_within_a_frame(desk, row, record_property):
    """The best of 60, since others keep this machine busy."""
    state, trait, values = row.draws
    desk.show(row, state)
    times = desk.page.evaluate(
        """([trait, values]) => {
        const { model, draw } = document.querySelector("[data-live]").figure;
        return values.map((value) => {
            model.state[trait] = value;
            const begin = performance.now();
            draw();
            return performance.now() - begin;
        }).sort((a, b) => a - b);
    }""",
        [trait, values],
    )
    record_property("draw_ms", (times[0], times[len(times) // 2]))
    assert times[0] < 1000 / 60
