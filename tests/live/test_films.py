"""The two films in a browser: they play, and a press or a drag in their curves leads to the moment that is meant."""

import re
from dataclasses import dataclass

import pytest
from helpers.figures import ALIGNMENT_FILM, COUPLINGS_FILM, FRAMES, SEEN, Row
from helpers.live import MOTIONS, TOUCH


@dataclass(frozen=True)
class Film:
    row: Row
    at: list[int]
    """The recorded steps."""
    tick: int
    """Milliseconds that a picture stays."""
    heights: tuple[float, ...]
    """Shares of the height at which each row of curves lies."""
    first: float
    """The share of the width at which the curves begin."""
    quarter: tuple[int, int]
    """Between which steps a press lies that is a quarter of the width from the left."""


FILMS = pytest.mark.parametrize(
    "film",
    [
        pytest.param(Film(ALIGNMENT_FILM, SEEN, 220, (0.25, 0.75), 0.51, (150, 250)), id="alignment"),
        pytest.param(Film(COUPLINGS_FILM, FRAMES, 160, (0.2, 0.5, 0.8), 0.02, (FRAMES[6], FRAMES[16])), id="couplings"),
    ],
)


@FILMS
@pytest.mark.parametrize("desk", [motion | {"own": True} for motion in MOTIONS], indirect=True, ids=["usual", "less motion"])
def test_plays_to_the_end_step_by_step(desk, film, request):
    """With a clock of the test's own: some pictures a second, one where less motion is asked for."""
    shown, clock = desk.stopped(film.row, **film.row.start), desk.page.clock
    tick = 1000 if "less" in request.node.name else film.tick
    begin, last = film.at.index(film.row.start["step"]), film.at[-1]

    def held():
        return shown.ask("model.get('step')")

    shown.button("Play").click()
    for step in film.at[begin + 1 : begin + 4]:
        clock.run_for(tick)
        assert held() == step
    shown.button("Pause").click()
    clock.run_for(10 * tick)
    assert held() == film.at[begin + 3]
    shown.button("Play").click()
    clock.run_for((len(film.at) + 2) * tick)
    assert held() == last
    shown.button("Play").click()  # it has stopped, and begins again
    assert held() == 0
    clock.run_for(2 * tick)
    moved = "range => { range.value = 7; range.dispatchEvent(new Event('input')); }"  # the reader's hand stops it
    shown.slider(re.compile("Training step")).evaluate(moved)
    assert shown.button("Play").is_visible()


@FILMS
@pytest.mark.parametrize("desk", [pytest.param({}, id="mouse"), pytest.param(TOUCH, id="touch")], indirect=True)
def test_pointer_in_the_curves(desk, film, request):
    shown = desk.show(film.row, film.row.start)
    curves = shown.box.get_by_role("img").nth(1)

    def press(across, down):
        box = curves.bounding_box()
        at = {"x": across * box["width"], "y": down * box["height"]}
        (curves.tap if "touch" in request.node.name else curves.click)(position=at)
        return shown.is_right()["step"]

    low, high = film.quarter
    for down in film.heights:
        assert low < press(0.26, down) < high
        assert press(0.998, down) == film.at[-1]
        assert press(film.first, down) == 0


@FILMS
def test_mouse_drags_through_the_curves(desk, film):
    shown, steps = desk.show(film.row, film.row.start), []
    box = shown.box.get_by_role("img").nth(1).bounding_box()
    ways = [(box["x"] + share * box["width"], box["y"] + 60) for share in (0.12, 0.15, 0.3)]
    shown.drag(ways, lambda: steps.append(shown.is_right()["step"]))
    assert steps[0] < steps[1] == shown.is_right()["step"]  # let go, it follows no more
