"""Flatland: its numbers against the modules and a scan of the plane, and what a reader does with points and scenes."""

import itertools
import math
import re
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch
from helpers.draw import close, normal
from helpers.figures import FLATLAND, GREEN, MEMORIES, ORANGE, PLANE, QUERIES, crowd, flat_place, same_heights
from helpers.live import MOTIONS, computed
from helpers.samples import sample

from attnlib import ConvergenceWarning, EnergyAttention, SoftmaxAttention, hopfield_energy
from attnlib.course.live.flatland import COLDEST, HOTTEST, SCENARIOS, Flatland, splitting_beta
from attnlib.hopfield import find_fixed_points


def test_the_figure_takes_tensors():
    figure = Flatland(torch.tensor([[1.0, 2.0]]), torch.zeros(0, 2))
    assert figure.memories == [[1.0, 2.0]]
    assert figure.readout == {name: [] for name in ("states", "energies", "outputs", "rest", "sharing", "nearest")}
    assert "0 states" in figure.alt()


def test_tokens_move_together_and_the_landscape_with_them():
    """Twelve steps of the figure are twelve layers with a residual, one after the other; with one step it is the module."""
    scene = SCENARIOS["self-attention"] | {"beta": 6.0, "steps": 12, "step_size": 0.3}
    said = Flatland(**scene).readout
    tokens = torch.tensor(scene["memories"], dtype=torch.float64)
    layer = EnergyAttention(2, bare=True, beta=6.0, step_size=0.3)
    for step in range(13):
        close(torch.tensor([way[step] for way in said["states"]], dtype=torch.float64), tokens)
        close(torch.tensor([way[step] for way in said["energies"]]), hopfield_energy(tokens, tokens, beta=6.0).float())
        tokens = layer(tokens[None])[0] if step < 12 else tokens
    near = [[math.dist(one, other) <= 0.1 for other in said["rest"]] for one in said["rest"]]
    assert said["sharing"] == [sum(line) for line in near]
    assert 1 < len({tuple(line) for line in near}) < 10


# Where a second valley appears


def test_two_memories_split_at_the_magnets_critical_point():
    pair = [[1.2, -0.9], [-1.2, 0.9]]
    assert splitting_beta(pair) == pytest.approx(1 / 2.25, rel=2e-4)
    moved = [[x + 0.7, y + 0.4] for x, y in pair]  # a pull to one side: the second valley comes later, by a fold
    assert splitting_beta(moved) > 1.05 / 2.25


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("length", [0.7, 2.0])
def test_three_memories_split_where_a_single_pattern_appears(length):
    """At 120 degrees they are a Potts model: a pattern appears before the average gives way."""
    angle = 2 * math.pi * torch.arange(3, dtype=torch.float64) / 3
    memory = length * torch.stack([angle.cos(), angle.sin()], -1)
    found = splitting_beta(memory)
    s = torch.linspace(1e-4, 0.9999, 10_000, dtype=torch.float64)
    appears = (((1 + 2 * s) / (1 - s)).log() / s).min().item()
    assert found == pytest.approx(appears / (1.5 * length**2), rel=3e-4)
    gives_way = 1 / torch.linalg.eigvalsh(torch.cov(memory.T, correction=0))[-1].item()
    assert found < 0.95 * gives_way


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("seed", range(4))
def test_below_the_split_a_scan_of_the_whole_plane_finds_one_valley_and_above_it_two(seed):
    memory = normal(3 + 2 * seed, 2, seed=seed).clamp(-3, 3)
    found = splitting_beta(memory)
    side = torch.linspace(-3, 3, 31, dtype=torch.float64)

    def valleys(beta):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rests = find_fixed_points(torch.cartesian_prod(side, side), memory, beta=beta, max_steps=20_000, on_failure="warn")
        assert rests.converged.float().mean() > 0.99
        return int((rests.curvatures > 0).sum())

    assert [valleys(factor * found) for factor in (0.5, 0.9, 0.99)] == [1, 1, 1]
    assert valleys(1.01 * found) >= 2


@pytest.mark.parametrize("memories", [[[1.0, 2.0]], [[1.0, 2.0]] * 3, [[0.1, 0.0], [0.2, 0.0]]])
def test_memories_that_never_split_on_the_slider(memories):
    assert splitting_beta(memories) is None


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenes_are_what_the_modules_do(name):
    """The descent and its output are those of EnergyAttention with this map at its end."""
    scene = SCENARIOS[name]
    memory = torch.tensor(scene["memories"], dtype=torch.float64)[None]
    own = "self_attention" in scene
    start = memory if own else torch.tensor(scene["queries"], dtype=torch.float64)[None]
    module = EnergyAttention(2, bare=True, beta=scene["beta"], step_size=scene["step_size"], steps=scene["steps"])
    end = module(start, None if own else memory)[0]
    readout = Flatland(**scene).readout
    close(torch.tensor([way[-1] for way in readout["states"]], dtype=torch.float64), end)
    out_map = torch.tensor(scene.get("out_map", [1.0, 0.0, 0.0, 1.0]), dtype=torch.float64).reshape(2, 2)
    close(torch.tensor(readout["outputs"], dtype=torch.float64), end @ out_map.T)
    if scene["steps"] == 1:
        softmax_attention = SoftmaxAttention(2, bare=True, beta=scene["beta"])
        close(softmax_attention(start, None if own else memory)[0], end)


def test_what_a_scene_shows():
    readouts = {name: Flatland(**scene).readout for name, scene in SCENARIOS.items()}
    ends = {name: torch.tensor([way[-1] for way in readout["states"]]) for name, readout in readouts.items()}
    starts = torch.tensor(SCENARIOS["cold"]["queries"])
    assert len(readouts) == 7
    assert (ends["small steps"] - starts).norm(dim=-1).max() < 0.3
    assert torch.pdist(ends["ten big steps"]).max() < 0.01
    assert set(readouts["hot"]["sharing"]) == {10}
    assert set(readouts["cold"]["sharing"]) == {1}
    assert len(set(readouts["cold"]["nearest"])) > 2
    assert len(readouts["self-attention"]["states"]) == 10


def test_rest_is_not_claimed_where_it_is_not_reached():
    critical = Flatland([[1.0, 0.0], [-1.0, 0.0]], [[0.5, 0.0]], beta=1.0, steps=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert critical.readout["sharing"] == [0]


@pytest.mark.sweep(0.5)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_still_picture_is_drawn_from_the_numbers(name):
    figure = Flatland(**SCENARIOS[name])
    picture = ElementTree.fromstring(figure.still())
    space = "{http://www.w3.org/2000/svg}"
    circles = [float(circle.get(name)) for circle in picture.iter(f"{space}circle") for name in ("cx", "cy")]
    starts = figure.memories if figure.self_attention else figure.queries
    assert circles == pytest.approx([z for x, y in starts for z in (60 * (x + 3), 60 * (3 - y))], abs=0.06)
    runs = itertools.chain.from_iterable(
        re.findall(r"h(\d+)", path.get("d")) for path in picture.iter(f"{space}path") if "h" in path.get("d")
    )
    assert sum(map(int, runs)) == 24 * 360  # the rows of the landscape are full
    assert f"beta {figure.beta:.4g}" in figure.alt()


@pytest.mark.slow
def test_a_descent_that_runs_away_can_be_drawn():
    figure = Flatland([[1.0, 0.0]], [[2.0, 1.0]], step_size=2.5, steps=100)
    assert abs(figure.readout["states"][0][-1][0]) > 1e10
    assert len(figure.still()) < 20_000


# In a browser


@pytest.fixture
def plane(desk):
    return desk.show(FLATLAND, PLANE)


def point(shown, name):
    return shown.button(re.compile(f"^{name} at"))


def dragged(shown, start, *ways):
    shown.drag([flat_place(shown, *place) for place in (start, *ways)])
    return shown.is_right()


@pytest.mark.sweep(0.3)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenes_and_challenges(desk, name):
    """A scene keeps nothing of what was there."""
    first = Flatland(MEMORIES, QUERIES, steps=3, out_map=[0, 1, 1, 0], self_attention=True).state()
    plane = desk.show(FLATLAND, first)
    plane.button(name).click()
    assert plane.is_right() == Flatland(**SCENARIOS[name]).state()
    pressed = plane.box.locator(".chips button[aria-pressed=true]")
    assert pressed.all_inner_texts() == [name]
    assert plane.box.locator("tbody tr").count() == (10 if name == "self-attention" else 6)
    plane.button("Reset").press("Enter")
    assert plane.is_right() == first
    assert pressed.count() == 0


def test_mouse_moves_memories_and_queries_which_stay_in_the_plane(plane):
    state = dragged(plane, MEMORIES[1], [0.0, 0.0], [2.0, 2.5])
    assert state["memories"][1] == pytest.approx([2.0, 2.5], abs=0.02)
    assert state == PLANE | {"memories": [MEMORIES[0], state["memories"][1], *MEMORIES[2:]]}
    plane.put(**PLANE)
    state = dragged(plane, QUERIES[2], [0.0, 0.0], [-2.0, 1.0])
    assert state["queries"][2] == pytest.approx([-2.0, 1.0], abs=0.02)
    assert state == PLANE | {"queries": [*QUERIES[:2], state["queries"][2]]}
    plane.put(**PLANE)
    assert dragged(plane, MEMORIES[0], [0.0, 0.0], [5.0, -7.0])["memories"][0] == [3, -3]


def test_keyboard_keeps_hold_of_a_point_and_names_where_it_is(plane):
    point(plane, "query 2").focus()
    for _ in range(3):
        plane.page.keyboard.press("ArrowUp")
        plane.is_right()
    assert plane.is_right()["queries"][1] == [-2.3, 0.5]
    point(plane, "memory 1").press("Shift+ArrowLeft")
    assert plane.is_right()["memories"] == [[1.1, 1.2], *MEMORIES[1:]]
    assert point(plane, "memory 1").get_attribute("aria-label") == "memory 1 at 1.10, 1.20"
    plane.slider("Memories").press("Home")
    plane.is_right()
    assert point(plane, "memory 2").count() == 0


def test_the_table_says_what_was_computed_and_what_still_moves(plane):
    figure = Flatland([*MEMORIES, [1.5, 1.0]], [*QUERIES, [0.0, 0.0]], beta=1.2, steps=4, step_size=0.5)
    plane.put(**figure.state())
    plane.is_right()
    numbers, lines = figure.readout, [line.split("\t") for line in plane.told("tbody").split("\n")]
    for i, (name, first, last, bound) in enumerate(lines):
        assert name == f"query {i + 1}"
        assert [first, last] == [f"{numbers['energies'][i][at]:.2f}" for at in (0, 4)]
        sharing = numbers["sharing"][i]
        assert bound == (f"memory {numbers['nearest'][i] + 1}" if sharing == 1 else f"average of {sharing}")
    assert {1, 2} <= set(numbers["sharing"])
    plane.put(**Flatland([[1.0, 0.0], [-1.0, 0.0]], [[0.5, 0.0]], beta=1.0).state())
    assert plane.is_right()["beta"] == 1
    assert "still moving" in plane.told("tbody")


def test_landscapes_against_attnlib(desk, request):
    states = sample(FLATLAND.points(), 0.3, request.config.getoption("tier"))
    module = desk.module(FLATLAND)
    for state in states:
        ask = "state => Array.from(module.landscape(state.memories, state.beta))"
        same_heights(module.evaluate(ask, state), state)


# What is drawn


@pytest.mark.parametrize("desk", [{"color_scheme": scheme} for scheme in ("light", "dark")], indirect=True)
def test_low_is_dark_and_up_is_up(desk):
    plane = desk.show(FLATLAND, Flatland([[1.8, 2.0], [-0.5, 0.3]], [], beta=4).state())
    plane.box.locator(".point").evaluate_all("points => points.forEach(point => (point.style.opacity = 0))")
    seen, size = plane.pixels().sum(-1), plane.picture.bounding_box()["width"]

    def brightness(x, y):
        column, row = int(size * (x + 3) / 6), int(size * (3 - y) / 6)
        return np.median(seen[row - 6 : row + 7, column - 6 : column + 7])

    assert brightness(1.8, 2.0) < brightness(0, 0) < brightness(-2.7, -2.7)
    assert brightness(1.8, 2.0) < brightness(1.8, -2.0) - 100


def test_ways_and_outputs_are_drawn(plane):
    for out_map, has_green in (([1.0, 0.0, 0.0, 1.0], False), ([0.0, -1.0, 1.0, 0.0], True)):
        plane.put(**PLANE | {"step_size": 1.0, "steps": 3, "out_map": out_map})
        seen = plane.pixels()
        assert ((abs(seen - ORANGE) < 12).all(-1)).sum() > 200
        assert (((abs(seen - GREEN) < 12).all(-1)).sum() > 50) == has_green


# Points come, go and are found


def test_points_and_rows_bear_the_same_numbers_and_light_up_together(desk):
    state = PLANE | {"beta": 3.0, "steps": 1, "step_size": 1.0}
    plane, numbers = desk.show(FLATLAND, state), computed(FLATLAND, **state)

    def lit():
        ask = """box => [...box.firstChild.shadowRoot.querySelectorAll(".lit")]
            .map(part => part.ariaLabel ?? part.firstChild.textContent)"""
        return [re.sub(" at .*", "", name) for name in plane.box.evaluate(ask)]

    assert plane.box.locator(".point .number").all_text_contents() == ["1", "2", "3", "4", "1", "2", "3"]
    bound = f"memory {numbers['nearest'][1] + 1}"
    for reach in (point(plane, "query 2"), plane.box.locator("tbody tr").nth(1)):
        reach.hover()
        assert sorted(lit()) == sorted([bound, "query 2", "query 2"])
    plane.page.mouse.move(1, 1)
    point(plane, "memory 3").focus()
    assert set(lit()) == {"memory 3", *(f"query {i + 1}" for i, memory in enumerate(numbers["nearest"]) if memory == 2)}


def test_the_nearest_of_two_points_is_taken_and_two_that_coincide_can_be_parted(plane):
    plane.put(memories=[[0.0, 0.0], [0.25, 0.0], [2.0, 2.0], [2.0, 2.0]], queries=[], beta=2.0)
    for start, index in (([0.02, 0.05], 0), ([0.22, -0.05], 1)):
        memories = dragged(plane, start, [-1.0 - index, -2.0])["memories"]
        assert memories[index] == pytest.approx([-1.0 - index, -2.0], abs=0.02)
    point(plane, "memory 3").focus()
    memories = dragged(plane, [2.0, 2.0], [0.0, 0.0], [1.0, 2.0])["memories"]
    assert memories[2] == pytest.approx([1.0, 2.0], abs=0.02)
    assert memories[3] == [2.0, 2.0]


def test_points_are_added_and_taken_away_by_mouse_and_keyboard(plane):
    plane.button("Add a memory").click()
    state = plane.is_right()
    assert state["memories"][:4] == MEMORIES
    assert len(state["memories"]) == 5
    plane.page.keyboard.press("Shift+ArrowLeft")  # it has the focus
    assert plane.is_right()["memories"][4] != state["memories"][4]
    plane.page.keyboard.press("Delete")
    assert plane.is_right()["memories"] == MEMORIES
    plane.button("Add a query").press("Enter")
    assert len(plane.is_right()["queries"]) == 4
    plane.page.mouse.dblclick(*flat_place(plane, -2.0, -2.4))
    assert plane.is_right()["queries"][4] == pytest.approx([-2.0, -2.4], abs=0.02)
    point(plane, "query 1").press("Backspace")
    assert plane.is_right()["queries"][:2] == QUERIES[1:]
    for _ in range(6):
        point(plane, "memory 1").press("Delete")
    assert plane.is_right()["memories"] == [MEMORIES[3]]  # the last one stays


def test_a_full_plane_takes_no_more(plane):
    plane.put(**crowd(32, 12))
    assert plane.button("Add a memory").is_disabled()
    assert plane.button("Add a query").is_disabled()
    plane.page.mouse.dblclick(*flat_place(plane, -2.9, 2.9))
    assert len(plane.is_right()["queries"]) == 12


# The mark where a second valley appears


def test_the_mark_on_the_slider_is_attnlibs(desk):
    module, cases = desk.module(FLATLAND), [MEMORIES, [[1.2, -0.9], [-1.2, 0.9]], [[1.0, 2.0]], [[0.1, 0.0], [0.2, 0.0]]]
    cases += [crowd(m, 0, seed=m)["memories"] for m in (3, 6, 10, 32)]
    for memories in cases:
        found, expected = module.evaluate("memories => module.splitting(memories)", memories), splitting_beta(memories)
        assert found == (expected if expected is None else pytest.approx(expected, rel=2e-4))


def test_the_mark_follows_the_memories(plane):
    mark, note, slider = plane.box.locator(".mark i"), plane.box.locator(".slider small").first, plane.slider("temperature")
    for press in (None, "Shift+ArrowRight", "Shift+ArrowRight"):
        if press:
            point(plane, "memory 1").press(press)
        expected = splitting_beta(plane.state()["memories"])
        plane.page.wait_for_function("document.querySelector('[data-live]').figure.beta_c() !== null")
        assert plane.ask("beta_c()") == pytest.approx(expected, rel=2e-4)
        shown = float(re.match("\u03b2c = ([0-9.]+): a second valley appears", note.inner_text())[1])
        assert shown == pytest.approx(expected, rel=3e-4)
        track, tick = slider.bounding_box(), mark.bounding_box()
        share = math.log(expected / HOTTEST) / math.log(COLDEST / HOTTEST)
        assert tick["x"] + tick["width"] / 2 == pytest.approx(track["x"] + 8 + share * (track["width"] - 16), abs=1.5)
    plane.slider("Memories").press("Home")
    mark.wait_for(state="detached")


# Basins


@pytest.mark.parametrize("beta", [0.5, 1.5, 6.0])
def test_basins_are_where_full_steps_lead(desk, beta):
    labels, places = desk.module(FLATLAND).evaluate(
        """([memories, beta]) => {
        const { into, places } = module.basins(memories, beta, module.landscape(memories, beta));
        return [Array.from(into), places];
    }""",
        [MEMORIES, beta],
    )
    side = torch.linspace(-3, 3, 200, dtype=torch.float64)
    some = torch.randint(40_000, (400,), generator=torch.Generator().manual_seed(0))
    starts = torch.cartesian_prod(side, side).flip(-1)[some]
    found = find_fixed_points(starts, torch.tensor(MEMORIES, dtype=torch.float64), beta=beta)
    ends = torch.tensor(places, dtype=torch.float64)[torch.tensor(labels)[some]]
    assert len(places) == len(set(found.reached.tolist()))
    assert ((ends - found.states).norm(dim=-1) < 1e-6).float().mean() > 0.99  # the others lie on a border


# Motion


@pytest.mark.parametrize("desk", [motion | {"own": True} for motion in MOTIONS], indirect=True, ids=["as usual", "reduced"])
def test_a_descent_runs_once_unless_motion_is_not_wanted(desk, request):
    """Frames are those of the test's own clock."""
    plane, times = desk.stopped(FLATLAND, **PLANE | {"beta": 1.0, "step_size": 1.0}), []
    plane.button("\u25b6 Descend").evaluate("button => button.click()")
    for milliseconds in [16] * 4 + [100] * 25:
        desk.page.clock.fast_forward(milliseconds)
        times += [time for time in [plane.ask("time()")] if time is not None]
    moving = "usual" in request.node.name
    assert times == sorted(times)
    assert (len(set(times)) > 5) == moving
    assert set(times) == {5} or moving
    assert plane.ask("time()") is None
    desk.page.clock.resume()
    plane.is_right()


# Challenges


def test_challenges_are_judged_by_the_numbers_shown(desk):
    cross = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    for state, done in (
        ({"memories": cross, "queries": [[0.2, 0.3]], "beta": 0.3}, {0}),
        ({"memories": [[2, 0], [-2, 0]], "queries": [[0.2, 0.3]], "beta": 0.2}, {1}),
        ({"memories": [[2, 0], [1, 1.8], [-1, 1.8], [-2, 0], [-1, -1.8], [1, -1.8]], "queries": [], "beta": 9}, {2}),
        ({"memories": [[1, 0]], "queries": [[2, 1]], "beta": 1, "step_size": 2.2}, {3}),
        ({"memories": [[1, 0], [0.9, 0.1]], "queries": [[2, 1]], "beta": 1}, set()),
        ({"memories": cross, "beta": 0.3, "step_size": 2.4, "self_attention": True, "steps": 9}, set()),
    ):
        plane = desk.show(FLATLAND, state)
        assert set(plane.ask("solved()")) == done
        marked = plane.box.locator("ol li").evaluate_all("tasks => tasks.map(task => task.className === 'done')")
        assert [i for i, there in enumerate(marked) if there] == sorted(done)
        plane.button("hot").click()
        plane.is_right()
        assert set(plane.ask("solved()")) >= done  # what was done stays done


# The address


def test_a_link_brings_the_state_back(desk):
    other = Flatland(MEMORIES, QUERIES, beta=3.456, step_size=0.7, steps=8, out_map=[0.5, -1, 1, 0]).state()
    first = desk.show(FLATLAND, PLANE, other)
    second = first.next()
    point(second, "query 1").press("ArrowUp")
    state = second.is_right()
    second.button("Copy a link").click()
    desk.page.wait_for_function("location.hash.length > 20")
    assert re.fullmatch(r"#flatland1--[\w-]+", desk.page.evaluate("location.hash"))
    desk.page.reload()
    assert second.is_right() == state
    assert first.is_right() == PLANE


GOOD = "m450300-q150300-b10000-g100-s5-o10000_0_0_10000-a0"
MALFORMED = [
    "", "nonsense", "m-q-b1-g1-s1-o1_0_0_1-a0", GOOD + "-x", GOOD.replace("b10000", "b0"), GOOD.replace("b10000", "b1000001"),
    GOOD.replace("m450300", "m450601"), GOOD.replace("g100", "g251"), GOOD.replace("s5", "s101"), GOOD.replace("a0", "a2"),
    GOOD.replace("m450300", "m" + 33 * "450300"), GOOD.replace("q150300", "q" + 13 * "150300"), GOOD.replace("_0_0_", "_0_"),
    GOOD.replace("m450300", "m45030"), GOOD.replace("10000-g", "1e4-g"), "%3Cscript%3E", "m" + "9" * 100_000,
]  # fmt: skip


def test_malformed_addresses_are_ignored(desk):
    module = desk.module(FLATLAND)
    assert module.evaluate("text => module.fromAddress(text)", GOOD) == {
        "memories": [[1.5, 0]], "queries": [[-1.5, 0]], "beta": 1, "step_size": 1, "steps": 5, "out_map": [1, 0, 0, 1],
        "self_attention": False,
    }  # fmt: skip
    for text in MALFORMED:
        assert module.evaluate("text => module.fromAddress(text)", text) is None, text
    for name, scene in SCENARIOS.items():
        state = Flatland(**scene).state()
        state.pop("compact")
        back = module.evaluate("state => module.fromAddress(module.toAddress(state))", state)
        assert back == state, name


def test_a_page_with_a_malformed_address_is_as_before(desk):
    for text in ("nonsense", "%E0%A4%A", GOOD.replace("b10000", "b0")):
        plane = desk.show(FLATLAND, PLANE)
        change = "addEventListener('hashchange', () => done(true), { once: true }); location.hash = `flatland--${text}`;"
        desk.page.evaluate(f"text => new Promise(done => {{ {change} }})", text)
        assert plane.is_right() == PLANE


# Small


def test_the_small_figure_is_the_same_one_with_less_around_it(desk):
    figure = Flatland(MEMORIES, QUERIES[:1], beta=1.2, compact=True).state()
    plane = desk.show(FLATLAND, figure)
    assert plane.is_right() == figure
    assert plane.box.get_by_role("slider").count() == 1
    assert plane.box.locator("table, .chips, ol").count() == 0
    dragged(plane, QUERIES[0], [0.0, 0.0], [-1.2, -1.2])
    assert "It recalls memory 3." in plane.told(".controls")
    plane.slider("temperature").press("Home")
    plane.is_right()
    assert "It averages all 4 memories." in plane.told(".controls")
