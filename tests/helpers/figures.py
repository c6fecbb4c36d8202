"""The live figures in one table: what each holds, how a reader moves it, what it shows, what it refuses."""

import itertools
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
import torch

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install -e .[book]")

import attnlib.course.live
from attnlib import hopfield_energy
from attnlib.course import recorded
from attnlib.course.data.stories import VOCABULARY, animal_stories
from attnlib.course.live import (
    LiveFigure,
    arrow_film,
    ball_and_bound,
    block_stack,
    context_lab,
    denoiser,
    digit_recall,
    factor_lab,
    flatland,
    graph_lab,
    iteration,
    saddle_explorer,
    spin_lab,
    tokens_as_fields,
    two_films,
    walker,
)
from attnlib.course.live._pictures import spins, written

State = dict[str, Any]
ORANGE, BLUE, GREEN, GREY = (213, 94, 0), (0, 114, 178), (0, 158, 115), (216, 216, 208)


@dataclass(frozen=True)
class Step:
    """A step of a reader, and what becomes of the traits: values, or functions that say yes to them."""

    how: str
    role: str
    name: Any
    what: Any
    changes: State


def press(control: tuple[str, Any], key: str, **changes: Any) -> Step:
    """By key."""
    return Step("press", *control, key, changes)


def presses(control: tuple[str, Any], keys: str, **trait: Callable[[Any], Any]) -> list[Step]:
    """Keys, each with the number or the place that it leads to, and what the trait is then."""
    ((name, made_of),) = trait.items()
    words = keys.split()
    places = [[float(z) for z in word.split(",")] for word in words[1::2]]
    return [
        press(control, key, **{name: made_of(place if len(place) > 1 else place[0])})
        for key, place in zip(words[::2], places, strict=True)
    ]


def slide(control: tuple[str, Any], share: float, /, **changes: Any) -> Step:
    """By mouse or finger, to a share of a slider's range."""
    return Step("slide", *control, share, changes)


def click(control: tuple[str, Any], **changes: Any) -> Step:
    """By mouse or finger."""
    return Step("click", *control, None, changes)


def choose(control: tuple[str, Any], /, **changes: Any) -> Step:
    """From a list, by the value of the only trait that changes."""
    (value,) = changes.values()
    return Step("choose", *control, {"value": str(value)}, changes)


def slider(name: Any) -> tuple[str, Any]:
    return "slider", name


def button(name: Any) -> tuple[str, Any]:
    return "button", name


def choice(name: str) -> tuple[str, Any]:
    return "combobox", name


def tick(name: str) -> tuple[str, Any]:
    return "checkbox", name


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


def about(value: float, within: float) -> Callable[[float], bool]:
    return lambda found: abs(found - value) <= within


@dataclass(frozen=True, eq=False)
class Row:
    """A figure of the table."""

    kind: type[LiveFigure]
    start: State
    """The usual state: traits but for a record."""
    extremes: tuple[State, ...]
    """States that need the most room; the first looks unlike the usual one."""
    walk: tuple[Step, ...]
    """From the start: each control, each kind of move."""
    apart: tuple[Step, ...]
    """Moves of one of two figures, of which the other takes no notice."""
    tab: tuple[str, ...]
    """The names of the controls, in the order of the tabulator; one that ends with a comma is the beginning of a name."""
    refused: list[tuple[State, str]]
    other_kinds: list[tuple[str, Any]]
    points: Callable[[], list[State]]
    """States at which the module's numbers are compared with attnlib's."""
    alt: str
    """How the still picture is described to begin with."""
    drives: tuple[str, Any]
    """A control that a phone shows together with the picture."""
    shows: Callable[[State, State], State] = lambda state, said: {}
    """What controls show, by the beginnings of their names, for traits and numbers."""
    also: Callable[[Any, State, State], None] = lambda shown, state, said: None
    """What else must be right for these traits and numbers."""
    ink: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """Colours of the still picture, and how many pixels of each it has at least."""
    finger: Callable[[Any], tuple[list[tuple[float, float]], State]] | None = None
    """Places on the screen for a finger, and what becomes of the traits."""
    draws: tuple[State, str, list[Any]] | None = None
    """A state that takes long to draw, a trait, and its values."""
    measure: str = "state => module.measure(state)"
    """The module's numbers for a state."""
    picture: str = ".picture > svg"
    handles: str = ".handle"
    word: str = ".phase"
    beyond: str = ".clipped"
    """Parts of the picture that may stick out, since they are cut off."""
    grip: int = 0
    """How wide each handle is at least on a phone, in pixels."""
    record: str | None = None
    size: int = 60_000
    atol: float = 1e-6

    @property
    def name(self) -> str:
        return self.kind.__name__


@cache
def record_of(name: str) -> Any:
    return recorded(name)


def made(row: Row, **state: Any) -> LiveFigure:
    """The figure in a state; what it does not say is as usual for the class."""
    return row.kind(record_of(row.record), **state) if row.record else row.kind(**state)


def waves(count: int = 60) -> list[float]:
    return [math.sin(i / 10) for i in range(count)]


# The softmax thermometer

FOUR = [1.0, 0.8, 0.3, -0.2]
KEY, BETA, KEYS = slider("logit of key 1"), slider("temperature"), slider("Number of keys")
MANY = torch.randn(128, generator=torch.Generator().manual_seed(0), dtype=torch.float64).tolist()
BAD_LOGITS = [
    ({"beta": 0}, "beta is 0"),
    ({"beta": -1.5}, "beta is -1.5"),
    ({"beta": math.nan}, "beta is nan"),
    ({"beta": math.inf}, "beta is inf"),
    ({"beta": 1001}, "beta is 1001"),
    ({"logits": []}, "logits has 0 entries"),
    ({"logits": [0.0] * 129}, "logits has 129 entries"),
    ({"logits": [1.0, math.nan]}, "logits has the entry nan"),
    ({"logits": [-math.inf, 0.0]}, "logits has the entry -inf"),
    ({"logits": [100.5]}, "logits has the entry 100.5"),
    ({"seed": -1}, "seed is -1"),
]


def thermometer_points() -> list[State]:
    source = torch.Generator().manual_seed(0)
    random = [torch.randn(keys, generator=source, dtype=torch.float64) for keys in (1, 2, 3, 5, 17, 64, 128)]
    found = [(logits.tolist(), beta) for logits in random for beta in (1e-3, 0.3, 1.0, 4.0, 30.0)]
    found += [([2.0, 2.0, -1.0], 1.0), ([2.0, 2.0, -1.0], 900.0), ([0.0] * 9, 5.0), ([1.0, 1.0 + 1e-13, 0.5], 2.0)]
    found += [([100.0, -100.0], 1000.0), ([-100.0, -100.0, 100.0, 99.99], 1000.0), ([30.0, 0.0], 1.0)]
    return [{"logits": logits, "beta": beta} for logits, beta in found]


def thermometer_also(shown: Any, state: State, said: State) -> None:
    """Numbers of torch, without attnlib."""
    law = torch.distributions.Categorical(logits=state["beta"] * torch.tensor(state["logits"], dtype=torch.float64))
    assert said["entropy"] == pytest.approx(law.entropy().item(), abs=1e-6)
    assert said["effective_keys"] == pytest.approx(1 / law.probs.square().sum().item(), abs=1e-6)
    assert shown.box.locator(shown.row.handles).count() == len(state["logits"])
    assert float(shown.handle().get_attribute("aria-valuenow")) == pytest.approx(state["logits"][0], abs=0.005)


def thermometer_place(shown: Any, key: int, logit: float) -> tuple[float, float]:
    """Where on the screen a logit is, on the axis from -3 to 3."""
    box = shown.handle(key).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + 6 + (box["height"] - 12) * (3 - logit) / 6


THERMOMETER = Row(
    attnlib.course.live.SoftmaxThermometer,
    start={"logits": FOUR, "beta": 1.0, "seed": 0},
    extremes=(
        {"logits": [2.75, -2.75] * 2, "beta": 20.0, "seed": 0},
        {"logits": [2.75, -2.75] * 64, "beta": 1.0, "seed": 0},
    ),
    walk=(
        *presses(KEY, "ArrowUp 1.1 ArrowDown 1 PageUp 2 PageDown 1 Home -3 End 3", logits=lambda value: [value, *FOUR[1:]]),
        press(KEYS, "End", logits=lambda logits: len(logits) == 128 and logits[:4] == [3.0, *FOUR[1:]]),
        press(KEYS, "ArrowLeft", logits=lambda logits: len(logits) == 127),
        slide(KEYS, 0.7, logits=lambda logits: abs(len(logits) - 90) <= 3),
        press(KEYS, "Home", logits=[3.0]),
        press(BETA, "End", beta=100.0),
        press(BETA, "ArrowLeft", beta=about(10**1.99, 1)),
        slide(BETA, 0.7, beta=about(100**0.4, 0.63)),
        click(button("Equal"), logits=[0.0]),
        click(button("Four logits"), logits=FOUR),
        click(button("Reset"), logits=FOUR, beta=1.0),
    ),
    apart=(press(KEY, "End", logits=[3.0, *FOUR[1:]]), press(BETA, "End", beta=100.0)),
    tab=names("logit of key 1 of 4, Inverse temperature β, 128 Gaussian scores, More, Reset"),
    refused=BAD_LOGITS,
    other_kinds=[("beta", "hot")],
    points=thermometer_points,
    alt="Softmax thermometer with 4 keys",
    drives=BETA,
    shows=lambda state, said: {"Inverse": f"{state['beta']:.4g}", "Number": str(len(state["logits"]))},
    also=thermometer_also,
    ink={ORANGE: 2000},
    finger=lambda shown: (
        [thermometer_place(shown, 2, logit) for logit in (0.3, 1.0, 2.0, -2.0)],
        {"logits": lambda found: abs(found[2] + 2) < 0.05 and found[3:] + found[:2] == FOUR[3:] + FOUR[:2]},
    ),
    measure="state => module.measure(state.logits, state.beta)",
    handles="[role=slider]",
    atol=1e-9,
)

# The score lab

BAD_SCORES = [
    ({"dimension": 1}, "dimension is 1; expected an integer from 2 to 512"),
    ({"dimension": 513}, "dimension is 513"),
    ({"count": 1}, "count is 1; expected an integer from 2 to 512"),
    ({"count": 513}, "count is 513"),
    ({"correlation": -0.01}, "correlation is -0.01; expected 0 <= correlation <= 1"),
    ({"correlation": 1.01}, "correlation is 1.01"),
    ({"correlation": math.nan}, "correlation is nan"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": 2**31}, "seed is 2147483648"),
]
WIDTH, COUNT, RHO = slider("Dimension"), slider("Number of keys"), slider("Correlation")
SCORES = {"dimension": 24, "count": 40, "correlation": 0.35, "scaled": False, "seed": 2}


def score_points() -> list[State]:
    told = ((0.0, False), (0.43, True), (1.0, False), (1.0, True))
    grid = itertools.product((2, 3, 64, 511, 512), (2, 3, 100, 512), told)
    points = [
        {"dimension": d, "count": count, "correlation": rho, "scaled": scaled, "seed": d * 7919 % 13}
        for d, count, (rho, scaled) in grid
    ]
    return [*points, *({"dimension": 5, "count": 20, "seed": seed} for seed in (0, 1, 2**31 - 2, 2**31 - 1))]


SCORE_LAB = Row(
    attnlib.course.live.ScoreLab,
    start=SCORES,
    extremes=(
        SCORES | {"dimension": 512, "count": 512, "correlation": 1.0, "scaled": True},
        SCORES | {"dimension": 512, "count": 512, "correlation": 1.0},
        SCORES | {"dimension": 2, "count": 2, "scaled": True},
    ),
    walk=(
        slide(WIDTH, 0.7, dimension=about(2**6.6, 8)),
        slide(COUNT, 0.7, count=about(2**6.6, 8)),
        slide(RHO, 0.7, correlation=about(0.7, 0.02)),
        click(tick("Divide the scores"), scaled=True),
        press(tick("Divide the scores"), "Space", scaled=False),
        press(WIDTH, "End", dimension=512),
        press(WIDTH, "ArrowLeft", dimension=470),
        press(COUNT, "End", count=512),
        press(COUNT, "ArrowLeft", count=470),
        press(RHO, "End", correlation=1.0),
        press(RHO, "ArrowLeft", correlation=0.99),
        click(button("Another draw"), seed=3),
        press(button("Another draw"), "Enter", seed=4),
        click(button("Reset"), **SCORES),
    ),
    apart=(press(WIDTH, "End", dimension=512), click(button("Another draw"), seed=3)),
    tab=names("Dimension d, Divide the scores by √d, Another draw, More, Reset"),
    refused=BAD_SCORES,
    other_kinds=[("dimension", 2.5), ("count", "many"), ("scaled", "yes"), ("seed", 0.5)],
    points=score_points,
    alt="Score lab: 40 keys of width 24, not scaled",
    drives=WIDTH,
    shows=lambda state, said: {
        "Dimension": str(state["dimension"]),
        "Number of keys": str(state["count"]),
        "Correlation": f"{state['correlation']:.2f}",
        "Divide": state["scaled"],
    },
    ink={BLUE: 2000},
    picture=".picture",
)

# Ball and bound

BAD_SLOPES = [
    ({"memories": []}, "memories has 0 entries; expected 1 to 5"),
    ({"memories": [0.0] * 6}, "memories has 6 entries"),
    ({"memories": [1.0, 3.1]}, "memories has the entry 3.1; expected numbers between -3 and 3"),
    ({"memories": [math.nan]}, "memories has the entry nan"),
    ({"ball": -3.01}, "ball is -3.01; expected -3 <= ball <= 3"),
    ({"ball": math.inf}, "ball is inf"),
    ({"beta": 0}, "beta is 0"),
    ({"beta": math.nan}, "beta is nan"),
    ({"beta": 101}, "beta is 101"),
    ({"step_size": -0.1}, "step_size is -0.1; expected 0 <= step_size <= 3"),
    ({"step_size": 3.1}, "step_size is 3.1"),
    ({"steps": -1}, "steps is -1"),
    ({"steps": 13}, "steps is 13; expected 0 <= steps <= 12"),
]
SLOPE = {"memories": [-1.5, 1.2, 0.4], "ball": 0.5, "beta": 1.3, "step_size": 0.8, "steps": 0}
STEP, BALL, FIRST = slider("Step size"), slider(re.compile("^ball$")), slider("memory 1")


def ball_also(shown: Any, state: State, said: State) -> None:
    handles = shown.box.locator("[role=slider][aria-label^=memory]")
    where = handles.evaluate_all("all => all.map(one => one.getAttribute('aria-valuenow'))")
    assert where == [f"{memory:.2f}" for memory in state["memories"]]


def ball_x(shown: Any, place: float) -> float:
    """Where on the screen a place of the line is: from the handles, of which the memories stand at known places."""
    parts = [shown.slider(name) for name in ("memory 1", "memory 2")]
    (at, one), (other, two) = ((float(part.get_attribute("aria-valuenow")), part.bounding_box()) for part in parts)
    return one["x"] + 22 + (place - at) * (two["x"] - one["x"]) / (other - at)


def ball_finger(shown: Any) -> tuple[list[tuple[float, float]], State]:
    y = shown.slider(BALL[1]).bounding_box()["y"] + 22
    ways = [(ball_x(shown, place), y + 20 * i) for i, place in enumerate((0.5, 0.0, -1.0, -2.0))]
    return ways, {"ball": about(-2.0, 0.03)}


BALL_AND_BOUND = Row(
    attnlib.course.live.BallAndBound,
    start=SLOPE,
    extremes=(
        ball_and_bound.SCENES["too long"] | {"steps": 12},
        ball_and_bound.SCENES["too long"],
        SLOPE | {"memories": [3.0, -3.0, 3.0, -3.0, 3.0]},
    ),
    walk=(
        *presses(BALL, "ArrowRight 0.6 ArrowLeft 0.5 ArrowUp 0.6 Shift+ArrowLeft 0.1 ArrowDown 0", ball=float),
        *presses(
            FIRST,
            "ArrowRight -1.4 ArrowLeft -1.5 ArrowUp -1.4 Shift+ArrowLeft -1.9 ArrowDown -2",
            memories=lambda value: [value, 1.2, 0.4],
        ),
        slide(STEP, 1 / 3, step_size=about(1, 0.02)),
        press(STEP, "End", step_size=3.0),
        press(BETA, "End", beta=10.0),
        press(slider("Memories"), "End", memories=lambda found: len(found) == 5 and found[1:3] == [1.2, 0.4]),
        press(slider("Memories"), "Home", memories=[-2.0]),
        click(button("Reset"), **SLOPE),
        *(click(button(name), **scene) for name, scene in ball_and_bound.SCENES.items()),
        press(button("Reset"), "Enter", **SLOPE),
    ),
    apart=(press(STEP, "End", step_size=3.0), press(FIRST, "ArrowLeft", memories=[-1.6, 1.2, 0.4])),
    tab=(
        *ball_and_bound.SCENES,
        *names("memory 1, memory 2, memory 3, ball, Step size γ, Take the step, More, Reset"),
    ),
    refused=BAD_SLOPES,
    other_kinds=[("ball", "left"), ("steps", 1.5), ("memories", 3.0), ("beta", None)],
    points=lambda: [
        {"memories": memories, "ball": -0.35, "beta": beta, "step_size": step_size, "steps": steps}
        for memories in ([0.7], [-3.0, 3.0], [1.0, 1.0, -2.0], [-2.5, -0.3, 0.4, 1.1, 2.9])
        for beta in (0.01, 0.8, 5.0, 100.0)
        for step_size, steps in ((0.0, 3), (0.5, 12), (1.0, 12), (2.0, 5), (3.0, 12))
    ],
    alt="Energy of 3 memories on a line at beta 1.3",
    drives=STEP,
    shows=lambda state, said: {
        "Step size": "1: attention" if state["step_size"] == 1 else f"{state['step_size']:.4g}",
        "Memories": str(len(state["memories"])),
    },
    also=ball_also,
    ink={ORANGE: 150},
    finger=ball_finger,
    draws=(
        SLOPE | {"memories": [-1.5, 1.5, 2.0, -2.0, 0.3], "steps": 12},
        "ball",
        [2.5 * wave for wave in waves()],
    ),
    picture=".picture",
)

# Digit recall

DIGITS = digit_recall.DIGITS
ONE = [DIGITS[0]]
BAD_DIGITS = [
    ({"patterns": [], "stored": 1, "digit": 0}, "patterns has 0 pictures; expected 1 to 64"),
    ({"patterns": DIGITS * 2}, "patterns has 100 pictures"),
    ({"patterns": [*DIGITS[:10], "183C262626242C18"]}, "patterns has the picture '183C262626242C18'"),
    ({"patterns": ONE, "digit": 0}, "stored is 10; expected an integer from 1 to 1"),
    ({"stored": 0}, "stored is 0; expected an integer from 1 to 50"),
    ({"stored": 51}, "stored is 51"),
    ({"digit": 50}, "digit is 50; expected an integer from 0 to 49"),
    ({"digit": -1}, "digit is -1"),
    ({"cue": "183c"}, "cue is '183c'; expected 16 hexadecimal digits in small letters"),
    ({"cue": "183c262626242c1x"}, "cue is '183c262626242c1x'"),
    ({"degree": 4}, "degree is 4; expected one of 2, 3, 10, 'exp'"),
    ({"degree": "cosh"}, "degree is 'cosh'"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": 2**31}, "seed is 2147483648"),
    ({"visits": -1}, "visits is -1"),
]
CUE = "186818180c060000"
DRAWN = attnlib.course.live.DigitRecall(3, CUE).state()
STORED, VISITS = slider("Pictures stored"), slider("Visits")


def painted(picture: str, pixels: list[tuple[int, int]], ink: float) -> str:
    state = spins([picture])[0]
    for row, column in pixels:
        state[8 * row + column] = ink
    return written(state)


def digit_also(shown: Any, state: State, said: State) -> None:
    """Every pixel, and the overlap with every stored picture."""
    ink, names = shown.box.evaluate(
        """box => [[...box.firstChild.shadowRoot.querySelectorAll(".digit button")].map(part => part.ariaPressed === "true"),
        [...box.firstChild.shadowRoot.querySelectorAll(".stored button")].map(part => part.ariaLabel)]"""
    )
    assert written([1.0 if dark else -1.0 for dark in ink]) == said["picture"]
    overlaps = [float(name.split("overlap ")[1].replace("\u2212", "-")) for name in names]
    assert overlaps == pytest.approx(said["overlaps"], abs=0.0051)


def digit_place(shown: Any, row: int, column: int) -> tuple[float, float]:
    box = shown.picture.bounding_box()
    return box["x"] + box["width"] * (column + 0.5) / 8, box["y"] + box["height"] * (row + 0.5) / 8


def digit_points() -> list[State]:
    """Digits and random pictures, cues near and far, each degree: the same visits turn the same spins."""
    source = torch.Generator().manual_seed(0)
    random = torch.where(torch.rand(50, 64, generator=source) > 0.5, 1.0, -1.0).double()
    found = []
    for patterns, degree, stored in itertools.product((spins(DIGITS), random), (2, 3, 10, "exp"), (1, 4, 12, 50)):
        for flips in (0.1, 0.5):
            cue = torch.where(torch.rand(64, generator=source) < flips, -patterns[0], patterns[0])
            words = [written(pattern) for pattern in patterns]
            more = {"degree": degree, "stored": stored, "seed": stored * 7919, "visits": 37}
            found.append({"digit": 0, "cue": written(cue), "patterns": words} | more)
    return found


DIGIT_RECALL = Row(
    attnlib.course.live.DigitRecall,
    start=DRAWN,
    extremes=(DRAWN | {"stored": 50, "degree": 2, "visits": 100},),
    walk=(
        press(VISITS, "End", visits=64),
        slide(VISITS, 0.5, visits=about(32, 2)),
        press(VISITS, "Home", visits=0),
        click(button("Blank the lower half"), cue=DIGITS[3][:8] + 8 * "0"),
        press(button("Mend"), "Enter", cue=DIGITS[3]),
        click(button("Another order of visits"), seed=1),
        *(
            click(button(name), degree=degree)
            for name, degree in (("pairs (Hebb)", 2), ("cubes", 3), ("power 10", 10), ("exponential", "exp"))
        ),
        press(STORED, "End", stored=50),
        click(button(re.compile("^picture 26, ")), cue=DIGITS[26], digit=26),
        slide(STORED, 0.5, stored=about(25, 2)),
        press(STORED, "Home", stored=1),
        click(button("Reset"), **DRAWN),
    ),
    apart=(
        press(STORED, "Home", stored=1),
        click(button(re.compile("^row 5, column 5")), cue=painted(CUE, [(4, 4)], -1)),
    ),
    tab=(
        "row 1, column 1",
        *names("Recall, Turn 12 pixels, Blank the lower half, Mend, Pictures stored, pairs (Hebb), cubes, power 10"),
        *names("exponential, More, Reset"),
        *(f"picture {k}," for k in range(10)),
    ),
    refused=BAD_DIGITS,
    other_kinds=[("stored", 2.5)],
    points=digit_points,
    alt="Associative memory of 8 by 8 pixels with 10 stored pictures",
    drives=STORED,
    also=digit_also,
    ink={ORANGE: 1000},
    finger=lambda shown: (
        [digit_place(shown, row, 0) for row in (1, 2, 3, 4)],
        {"cue": painted(CUE, [(row, 0) for row in (1, 2, 3, 4)], 1)},
    ),
    draws=(DRAWN | {"stored": 50, "degree": 10}, "cue", [DIGITS[i % 50] for i in range(60)]),
    picture=".digit",
)

# Flatland

PLACE = [[0.0, 0.0]]
BAD_PLANES = [
    ({"memories": []}, "memories has 0 points; expected 1 to 32"),
    ({"memories": PLACE * 33}, "memories has 33 points"),
    ({"queries": PLACE * 13}, "queries has 13 points; expected 0 to 12"),
    ({"memories": [[0.0, 3.01]]}, "memories has the point [0.0, 3.01]; expected two numbers between -3 and 3"),
    ({"memories": [[0.0, math.nan]]}, "memories has the point [0.0, nan]"),
    ({"queries": [[0.0]]}, "queries has the point [0.0]"),
    ({"beta": 0}, "beta is 0.0; expected 0 < beta <= 100"),
    ({"beta": math.nan}, "beta is nan"),
    ({"beta": 101}, "beta is 101"),
    ({"step_size": -0.1}, "step_size is -0.1; expected 0 <= step_size <= 2.5"),
    ({"step_size": 2.6}, "step_size is 2.6"),
    ({"steps": -1}, "steps is -1; expected 0 <= steps <= 100"),
    ({"steps": 101}, "steps is 101"),
    ({"out_map": [1.0, 0.0, 0.0]}, "out_map is [1.0, 0.0, 0.0]; expected four finite numbers"),
    ({"out_map": [1.0, 0.0, 0.0, math.inf]}, "out_map is [1.0, 0.0, 0.0, inf]"),
]
MEMORIES = [[1.6, 1.2], [-1.5, 1.3], [-1.2, -1.5], [1.4, -1.3]]
QUERIES = [[0.3, 0.6], [-2.3, 0.2], [0.5, -2.4]]
PLANE = flatland.Flatland(MEMORIES, QUERIES, beta=1.5, steps=5, step_size=0.5).state()
MEMORY, QUERY = button(re.compile("^memory 1 at")), button(re.compile("^query 2 at"))


def crowd(memories: int = 32, queries: int = 8, seed: int = 0, **settings: Any) -> State:
    generator = torch.Generator().manual_seed(seed)
    places = (1.2 * torch.randn(memories + queries, 2, generator=generator, dtype=torch.float64)).clamp(-3, 3).tolist()
    return {"memories": places[:memories], "queries": places[memories:]} | settings


def same_heights(heights: list[float], state: State, every: int = 1) -> None:
    """The landscape is attnlib's: of 200 by 200 points all, or some."""
    side = torch.linspace(-3, 3, 200, dtype=torch.float64)
    points = torch.cartesian_prod(side, side).flip(-1)[::every]  # y is the slow index
    expected = hopfield_energy(points, torch.tensor(state["memories"], dtype=torch.float64), beta=state["beta"])
    torch.testing.assert_close(torch.tensor(heights, dtype=torch.float64), expected, atol=1e-6, rtol=0)


def flat_also(shown: Any, state: State, said: State) -> None:
    same_heights(shown.ask("landscape().filter((_, i) => i % 37 === 0)"), state, 37)


def flat_place(shown: Any, x: float, y: float) -> tuple[float, float]:
    """Where on the screen a point of the plane is."""
    box = shown.picture.bounding_box()
    return box["x"] + box["width"] * (x + 3) / 6, box["y"] + box["height"] * (3 - y) / 6


FLATLAND = Row(
    flatland.Flatland,
    start=PLANE,
    extremes=(
        flatland.Flatland(**flatland.SCENARIOS["self-attention"]).state(),
        flatland.Flatland(**crowd(32, 12, beta=3)).state(),
    ),
    walk=(
        press(BETA, "End", beta=50.0),
        press(STEP, "Home", step_size=0.0),
        slide(STEP, 0.4, step_size=about(1, 0.02)),
        press(slider("Steps"), "ArrowRight", steps=6),
        press(slider("Memories"), "End", memories=lambda found: len(found) == 32 and found[:4] == MEMORIES),
        press(slider("Memories"), "Home", memories=MEMORIES[:1]),
        press(STEP, "End", step_size=2.5),
        press(button("Reset"), "Enter", **PLANE),
        *presses(
            MEMORY,
            "ArrowLeft 1.5,1.2 ArrowRight 1.6,1.2 ArrowUp 1.6,1.3 ArrowDown 1.6,1.2 Shift+ArrowLeft 1.1,1.2",
            memories=lambda place: [place, *MEMORIES[1:]],
        ),
        *presses(
            QUERY,
            "ArrowUp -2.3,0.3 ArrowUp -2.3,0.4 ArrowUp -2.3,0.5",
            queries=lambda place: [QUERIES[0], place, QUERIES[2]],
        ),
        click(button("cold"), **flatland.Flatland(**flatland.SCENARIOS["cold"]).state()),
        click(button("Reset"), **PLANE),
    ),
    apart=(press(MEMORY, "ArrowUp", memories=[[1.6, 1.3], *MEMORIES[1:]]), press(BETA, "End", beta=50.0)),
    tab=(
        *flatland.SCENARIOS,
        "Reset",
        *(f"memory {i} at {x:.2f}, {y:.2f}".replace("-", "\u2212") for i, (x, y) in enumerate(MEMORIES, 1)),
        *(f"query {i} at {x:.2f}, {y:.2f}".replace("-", "\u2212") for i, (x, y) in enumerate(QUERIES, 1)),
        *names("Inverse temperature β, ▶ Descend, More"),
    ),
    refused=BAD_PLANES,
    other_kinds=[("beta", "hot"), ("steps", 1.5)],
    points=lambda: [
        *(
            crowd(m, 5, seed=m, beta=beta, steps=7, step_size=0.7)
            for m, beta in itertools.product((1, 9, 32), (0.01, 0.4, 3, 100))
        ),
        crowd(beta=2, steps=100, step_size=2.5),  # runs away
        crowd(5, 3, beta=1.7, out_map=[0.3, -1.0, 2.0, 0.1], steps=0),
        crowd(12, 0, beta=1.7, self_attention=True, steps=2, step_size=1.9),
        {"memories": [[3.0, 3.0], [-3.0, -3.0], [3.0, -3.0], [-3.0, 3.0]], "queries": [[2.9, 0.1]], "beta": 100},
        {"memories": [[0.0, 0.0]], "queries": [[1.0, 1.0]], "beta": 5},
    ],
    alt="Energy landscape of 4 memories",
    drives=BETA,
    also=flat_also,
    ink={ORANGE: 200},
    finger=lambda shown: (
        [flat_place(shown, *place) for place in (QUERIES[0], [0.0, 0.0], [-1.0, 0.5], [-2.5, 2.5])],
        {"queries": lambda found: math.dist(found[0], [-2.5, 2.5]) < 0.03 and found[1:] == QUERIES[1:]},
    ),
    draws=(
        crowd(32, 8, beta=2, steps=10),
        "memories",
        [[[2 * math.cos(i / 20), 2 * math.sin(i / 20)], *crowd()["memories"][1:]] for i in range(60)],
    ),
    picture=".plane",
    beyond=".point, .point *",
)

# The spin lab

BAD_SPINS = [
    ({"strength": -0.1}, "strength is -0.1; expected 0 <= strength <= 2"),
    ({"strength": 2.1}, "strength is 2.1"),
    ({"strength": math.nan}, "strength is nan"),
    ({"kind": "liquid"}, "kind is 'liquid'; expected one of 'glass', 'friends', 'rivals', 'ring'"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": 2**31}, "seed is 2147483648"),
    ({"fields": [0.0] * 9}, "fields has 9 entries; expected 10"),
    ({"fields": [0.0] * 9 + [1.6]}, "fields has the entry 1.6; expected numbers between -1.5 and 1.5"),
    ({"fields": [math.nan] * 10}, "fields has the entry nan"),
]
GLASS = {"strength": 0.7, "kind": "glass", "seed": 1, "fields": [0.5, -0.25, 0.0, 1.5, -1.5, 0.1, -0.3, 0.2, 0.4, -0.6]}
STRENGTH, COUPLINGS = slider("Strength"), choice("Couplings")


def field_of(spin: int) -> tuple[str, Any]:
    return slider(re.compile(f"^field of spin {spin}$"))


def fields_of(spin: int, value: float) -> list[float]:
    return [*GLASS["fields"][: spin - 1], value, *GLASS["fields"][spin:]]


def spin_also(shown: Any, state: State, said: State) -> None:
    assert shown.column(shown.row.handles, "aria-valuenow") == pytest.approx(state["fields"], abs=0.005)


def spin_points() -> list[State]:
    """Every kind at every strength, in fields that are weak, strong and absent; also where nothing converges."""
    rng = random.Random(0)
    return [
        {
            "strength": strength,
            "kind": kind,
            "seed": rng.randrange(100),
            "fields": [round(rng.uniform(-field, field), 2) for _ in range(10)],
        }
        for kind, strength, field in itertools.product(spin_lab.KINDS, (0, 0.3, 0.7, 1.0, 1.4, 2.0), (0.2, 1.5))
    ]


def spin_finger(shown: Any) -> tuple[list[tuple[float, float]], State]:
    box = shown.handle(5).bounding_box()
    ways = [(box["x"] + box["width"] / 2, box["y"] + share * box["height"]) for share in (0.5, 0.4, 0.25)]
    return ways, {"fields": lambda found: abs(found[5] - 0.75) < 0.05}


SPIN_LAB = Row(
    attnlib.course.live.SpinLab,
    start=GLASS,
    extremes=tuple(
        {"strength": strength, "kind": kind, "seed": 0, "fields": [1.5, -1.5] * 5}
        for kind, strength in (("rivals", 2.0), ("friends", 2.0), ("glass", 2.0), ("ring", 2.0))
    ),
    walk=(
        *presses(
            field_of(2),
            "ArrowUp -0.2 Shift+ArrowUp 0.05 ArrowDown 0 Shift+ArrowLeft -0.25",
            fields=lambda value: fields_of(2, value),
        ),
        press(field_of(4), "ArrowUp"),
        press(STRENGTH, "Home", strength=0),
        slide(STRENGTH, 0.25, strength=about(0.5, 0.02)),
        *(choose(COUPLINGS, kind=kind) for kind in [*spin_lab.KINDS][1:]),
        choose(COUPLINGS, kind="glass"),
        click(button("Another glass"), seed=2),
        press(button("Turn the fields"), "Enter", fields=[-field for field in GLASS["fields"]]),
        click(button("One field"), fields=[0.3] + [0.0] * 9),
        press(STRENGTH, "End", strength=2),
        click(button("Reset"), **GLASS),
    ),
    apart=(press(STRENGTH, "Home", strength=0), press(field_of(1), "ArrowDown", fields=fields_of(1, 0.45))),
    tab=(
        *(f"field of spin {spin}" for spin in range(1, 11)),
        *names("Strength g of the couplings, Couplings, Another glass, Turn the fields, One field, Reset"),
    ),
    refused=BAD_SPINS,
    other_kinds=[("strength", "strong"), ("seed", 1.5), ("fields", 3.0), ("kind", 2)],
    points=spin_points,
    alt="Exact magnetisations of ten spins",
    drives=STRENGTH,
    shows=lambda state, said: {"Strength": f"{state['strength']:.2f}", "Couplings": state["kind"]},
    also=spin_also,
    ink={ORANGE: 100, BLUE: 100, GREEN: 100},
    finger=spin_finger,
    draws=({"fields": spin_lab.FIELDS}, "strength", [i / 60 for i in range(60)]),
    handles="[role=slider][aria-label^=field]",
    grip=24,
)

# Tokens as fields

BAD_TOKENS = [
    ({"tokens": [[1.0, 2.0]] * 2}, "tokens has parts of sizes [2, 2]; expected 3 pairs"),
    ({"tokens": [[1.0, 2.0], [0.0], [1.0, 1.0]]}, "tokens has parts of sizes [2, 1, 2]; expected 3 pairs"),
    ({"tokens": [[3.1, 0.0]] * 3}, "tokens has the entry 3.1; expected numbers between -3 and 3"),
    ({"tokens": [[math.nan, 0.0]] * 3}, "tokens has the entry nan"),
    ({"couplings": "free"}, "couplings is 'free'; expected one of 'fixed', 'tanh', 'softmax'"),
    ({"strength": 2.5}, "strength is 2.5; expected a number between -2 and 2"),
    ({"strength": math.nan}, "strength is nan"),
    ({"beta": 0.3}, "beta is 0.3; expected 0.4 <= beta <= 4"),
    ({"beta": math.nan}, "beta is nan"),
]
TOKENS = {"tokens": [[2.0, 0.5], [-1.0, 1.5], [0.5, -2.0]], "couplings": "tanh", "strength": 1.5, "beta": 0.8}
RIVALS = {"tokens": [[0.1, 0.0], [0.0, 0.1], [-0.1, 0.0]], "couplings": "fixed", "strength": -2.0, "beta": 4.0}
LONG = {"tokens": [[3.0, 0.0], [2.0, 0.8], [2.0, -3.0]], "couplings": "softmax", "strength": 2.0, "beta": 4.0}
THIRD, HOT = button(re.compile("^token 3 at")), slider("Inverse")


def tokens_place(shown: Any, point: list[float]) -> tuple[float, float]:
    """Where on the screen a point of the plane is."""
    box, size = shown.picture.bounding_box(), shown.picture.evaluate("svg => Math.min(svg.clientWidth, 400) - 2")
    return box["x"] + 1 + size * (point[0] + 3) / 6, box["y"] + 1 + size * (3 - point[1]) / 6


def tokens_points() -> list[State]:
    """Every kind, weak and strong, cold and hot, also where tokens lie on each other or at zero."""
    rng = random.Random(0)
    cases = [[[0.0, 0.0]] * 3, [[3.0, 3.0]] * 3, [[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0]]]
    cases += [[[round(rng.uniform(-3, 3), 2) for _ in range(2)] for _ in range(3)] for _ in range(12)]
    return [
        {"tokens": tokens, "couplings": kind, "strength": round(rng.uniform(-2, 2), 2), "beta": round(rng.uniform(0.4, 4), 2)}
        for tokens in cases
        for kind in tokens_as_fields.COUPLINGS
    ]


TOKENS_AS_FIELDS = Row(
    attnlib.course.live.TokensAsFields,
    start=TOKENS,
    extremes=(RIVALS, LONG),
    walk=(
        *presses(
            THIRD,
            "ArrowUp 0.5,-1.9 Shift+ArrowRight 1,-1.9 ArrowDown 1,-2 ArrowLeft 0.9,-2 Shift+ArrowDown 0.9,-2.5 "
            "Shift+ArrowDown 0.9,-3 Shift+ArrowDown 0.9,-3",
            tokens=lambda place: [*TOKENS["tokens"][:2], place],
        ),
        press(STRENGTH, "Home", strength=-2),
        press(STRENGTH, "End", strength=2),
        slide(STRENGTH, 0.25, strength=about(-1, 0.02)),
        press(HOT, "Home", beta=about(0.4, 1e-9)),
        press(HOT, "End", beta=4),
        *(choose(COUPLINGS, couplings=kind) for kind in tokens_as_fields.COUPLINGS),
        click(button("Reset"), **TOKENS),
    ),
    apart=(
        press(STRENGTH, "End", strength=2),
        press(button(re.compile("^token 1 at")), "ArrowUp", tokens=[[2.0, 0.6], *TOKENS["tokens"][1:]]),
    ),
    tab=(
        *("token 1 at 2.00, 0.50", "token 2 at \u22121.00, 1.50", "token 3 at 0.50, \u22122.00"),
        *names("Strength g of the couplings, Couplings, More, Reset"),
    ),
    refused=BAD_TOKENS,
    other_kinds=[("tokens", 3.0), ("couplings", 1), ("strength", "much"), ("beta", None)],
    points=tokens_points,
    alt="Three tokens in a plane",
    drives=STRENGTH,
    shows=lambda state, said: {"Strength": state["strength"], "Inverse": state["beta"], "Couplings": state["couplings"]},
    ink={ORANGE: 50, BLUE: 50, GREEN: 50},
    finger=lambda shown: (
        [tokens_place(shown, point) for point in (TOKENS["tokens"][0], [1.0, 1.0], [0.4, 2.0])],
        {"tokens": lambda found: math.dist(found[0], [0.4, 2.0]) < 0.05 and found[1:] == TOKENS["tokens"][1:]},
    ),
    draws=({}, "strength", [i / 30 for i in range(60)]),
    handles="[aria-label^=token]",
    grip=24,
)

# The saddle explorer

BAD_SADDLES = [
    ({"beta": 0.39}, "beta is 0.39; expected 0.4 <= beta <= 4"),
    ({"beta": 4.1}, "beta is 4.1"),
    ({"beta": math.nan}, "beta is nan"),
    ({"coupling": -1.6}, "coupling is -1.6; expected a number between -1.5 and 1.5"),
    ({"coupling": math.nan}, "coupling is nan"),
    ({"fields": [1.0]}, "fields has 1 entries; expected 2"),
    ({"fields": [0.0, 2.1]}, "fields has the entry 2.1; expected numbers between -2 and 2"),
    ({"start": [1.0, 2.0, 3.0]}, "start has 3 entries; expected 2"),
    ({"start": [-0.1, 1.0]}, "start has the entry -0.1; expected numbers between 0 and 6"),
    ({"start": [math.nan, 1.0]}, "start has the entry nan"),
    ({"rule": "luck"}, "rule is 'luck'; expected one of 'exact', 'printed', 'slope'"),
    ({"taken": -1}, "taken is -1; expected 0 <= taken <= 40"),
    ({"taken": 41}, "taken is 41"),
]
SADDLE = {"beta": 1.5, "coupling": 0.9, "fields": [0.5, -1.2], "start": [4.5, 2.0], "rule": "exact", "taken": 40}
COLD = {"beta": 4.0, "coupling": -1.5, "fields": [0.0, 0.0], "start": [0.0, 6.0], "rule": "slope", "taken": 3}
J, POINT, TAKEN = slider("Coupling"), button(re.compile("^start at")), slider("Steps taken")


def saddle_place(shown: Any, z: tuple[float, float]) -> tuple[float, float]:
    """Where on the screen a point of the plane is."""
    box, size = shown.picture.bounding_box(), shown.picture.evaluate("svg => Math.min(svg.clientWidth, 400) - 42")
    return box["x"] + 34 + size * z[0] / 6, box["y"] + 24 + size * (6 - z[1]) / 6


def saddle_points() -> list[State]:
    """Weak and strong, cold and hot, from anywhere, by every rule."""
    rng = random.Random(0)
    return [
        {
            "beta": round(rng.uniform(0.4, 4), 2),
            "coupling": round(rng.uniform(-1.5, 1.5), 2),
            "fields": [round(rng.choice((0, 1)) * rng.uniform(-2, 2), 2) for _ in range(2)],
            "start": [round(rng.uniform(0, 6), 2) for _ in range(2)],
            "rule": rng.choice(list(saddle_explorer.RULES)),
            "taken": rng.choice((0, 1, 2, 40)),
        }
        for _ in range(40)
    ]


SADDLE_EXPLORER = Row(
    attnlib.course.live.SaddleExplorer,
    start=SADDLE,
    extremes=(COLD, SADDLE | {"start": [0.0, 0.0], "taken": 0}, SADDLE | {"beta": 0.4, "fields": [-2.0, 2.0]}),
    walk=(
        press(POINT, "ArrowUp", start=[4.5, 2.1], taken=0),
        *presses(
            POINT,
            "Shift+ArrowRight 5,2.1 ArrowDown 5,2 ArrowLeft 4.9,2 Shift+ArrowDown 4.9,1.5 "
            "Shift+ArrowDown 4.9,1 Shift+ArrowDown 4.9,0.5 Shift+ArrowDown 4.9,0 Shift+ArrowDown 4.9,0",
            start=list,
        ),
        press(TAKEN, "ArrowRight", taken=1),
        press(TAKEN, "End", taken=40),  # all that there are
        press(TAKEN, "ArrowLeft", taken=lambda taken: 2 < taken < 20),
        press(TAKEN, "Home", taken=0),
        slide(TAKEN, 1, taken=40),
        press(TAKEN, "Home", taken=0),
        click(button("Go down"), taken=40),
        press(button("More"), "Enter"),
        press(HOT, "Home", beta=about(0.4, 1e-9)),
        press(HOT, "End", beta=4),
        press(J, "Home", coupling=-1.5),
        press(J, "End", coupling=1.5),
        slide(J, 0.5, coupling=about(0, 0.02)),
        press(slider("Field on spin 2"), "End", fields=[0.5, 2.0]),
        press(slider("Field on spin 1"), "Home", fields=[-2.0, 2.0]),
        *(choose(choice("Rule"), rule=rule) for rule in saddle_explorer.RULES),
        click(button("Equal fields"), fields=[1.0, 1.0]),
        press(HOT, "Home", beta=about(0.4, 1e-9)),
        press(button("Cold, no fields"), "Enter", fields=[0.0, 0.0], beta=4),
        click(button("Reset"), **SADDLE),
    ),
    apart=(click(button("More")), press(J, "End", coupling=1.5), press(POINT, "ArrowUp", start=[4.5, 2.1], taken=0)),
    tab=("start at 4.50, 2.00", *names("Steps taken, Go down, More, Reset")),
    refused=BAD_SADDLES,
    other_kinds=[("beta", "cold"), ("fields", 3.0), ("rule", 2), ("start", None)],
    points=saddle_points,
    alt="Lines of equal potential",
    drives=TAKEN,
    shows=lambda state, said: {
        "Steps taken": f"{min(state['taken'], len(said['path']) - 1)} of {len(said['path']) - 1}",
        "Inverse": state["beta"],
        "Coupling": state["coupling"],
        "Field on spin 1": state["fields"][0],
        "Field on spin 2": state["fields"][1],
        "Rule": state["rule"],
    },
    ink={ORANGE: 100, GREY: 100},
    finger=lambda shown: (
        [saddle_place(shown, z) for z in (SADDLE["start"], (4.0, 2.6), (3.0, 4.0))],
        {"start": lambda found: math.dist(found, (3.0, 4.0)) < 0.05},
    ),
    draws=({}, "coupling", [i / 60 for i in range(60)]),
    picture=".plane > svg",
    handles="[aria-label^=start]",
    grip=24,
    beyond=".ring",
)

# The iteration

BAD_ITERATIONS = [
    ({"prior": "ternary"}, "prior is 'ternary'; expected one of 'gaussian', 'binary'"),
    ({"scale": -0.1}, "scale is -0.1; expected 0 <= scale <= 2"),
    ({"scale": math.nan}, "scale is nan"),
    ({"scale": 2.1}, "scale is 2.1"),
    ({"step": 0.0}, "step is 0.0; expected 0.05 <= step <= 2"),
    ({"step": 2.5}, "step is 2.5"),
    ({"seed": -1}, "seed is -1; expected 0 <= seed <= 999"),
    ({"seed": 1000}, "seed is 1000"),
]
LINEAR = {"prior": "gaussian", "scale": 0.7, "step": 0.8, "seed": 5}
SCALE, LENGTH = slider("Scale of J"), slider("Length of a step")

ITERATION = Row(
    attnlib.course.live.Iteration,
    start=LINEAR,
    extremes=tuple(iteration.SCENES[name] for name in ("past the edge", "calm", "too long a step", "saved by saturation")),
    walk=(
        press(SCALE, "ArrowRight", scale=0.71),
        press(SCALE, "End", scale=2.0),
        press(SCALE, "ArrowLeft", scale=1.99),
        press(SCALE, "Home", scale=0.0),
        slide(SCALE, 0.75, scale=about(1.5, 0.02)),
        press(LENGTH, "End", step=2.0),
        press(LENGTH, "Home", step=0.05),
        press(LENGTH, "ArrowRight", step=0.06),
        choose(choice("Spins"), prior="binary"),
        click(button("New couplings"), seed=6),
        press(button("New couplings"), "Enter", seed=7),
        click(button("Reset"), **LINEAR),
        *(click(button(name), **scene) for name, scene in iteration.SCENES.items()),
        press(button("Reset"), "Enter", **LINEAR),
    ),
    apart=(press(SCALE, "End", scale=2.0),),
    tab=(
        *iteration.SCENES,
        *names("Scale of J: its largest eigenvalue, Spins, More, Reset"),
    ),
    refused=BAD_ITERATIONS,
    other_kinds=[("prior", 3), ("seed", 1.5), ("scale", "large")],
    points=lambda: [
        {"prior": prior, "scale": scale, "step": step, "seed": seed}
        for seed in range(0, 1000, 111)
        for prior in ("gaussian", "binary")
        for scale, step in ((0.0, 1.0), (0.3, 2.0), (0.9, 1.0), (1.0, 0.05), (1.3, 0.7), (2.0, 1.0))
    ],
    alt="Mean-field iteration of 8 gaussian spins",
    drives=SCALE,
    shows=lambda state, said: {"Scale of J": state["scale"], "Length of a step": state["step"], "Spins": state["prior"]},
    draws=(LINEAR, "scale", [1 + wave for wave in waves()]),
    picture="svg[role=img]",
)

# The graph lab

BAD_GRAPHS = [
    ({"edges": [[0, 10]]}, "edges has [0, 10]; expected pairs of numbers from 0 to 9"),
    ({"edges": [[0, 1, 2]]}, "edges has [0, 1, 2]"),
    ({"edges": [[0, 1], [0, 1]]}, "edges has an edge twice; expected each once"),
    ({"node": 10}, "node is 10; expected 0 <= node <= 9"),
    ({"beta": 0.0}, "beta is 0.0; expected 0.001 <= beta <= 1"),
    ({"beta": math.nan}, "beta is nan"),
    ({"seed": -1}, "seed is -1; expected 0 <= seed <= 999"),
]
GRAPH = {"edges": graph_lab.some_edges(), "node": 3, "beta": 0.02, "seed": 5}
SLIDER = slider("scores are multiplied")


def edge(j: int, i: int) -> tuple[str, Any]:
    return button(f"Edge from node {j} to node {i}")


def node(k: int) -> tuple[str, Any]:
    return button(re.compile(rf"^Node {k}\b"))


def one_over(beta: float) -> str:
    return "1" if beta > 0.999 else f"1/{float(f'{1 / beta:.3g}'):g}"


def graph_also(shown: Any, state: State, said: State) -> None:
    assert shown.box.locator(".sources button[aria-pressed=true]").all_text_contents() == [str(j) for j in said["neighbours"]]
    assert shown.box.locator(".graph button[aria-pressed=true]").all_inner_texts() == [str(state["node"])]


GRAPH_LAB = Row(
    attnlib.course.live.GraphLab,
    start=GRAPH,
    extremes=(
        GRAPH | {"edges": [], "node": 0},
        GRAPH | {"edges": [[j, 3] for j in range(10)], "beta": 1.0},
    ),
    walk=(
        click(node(0), node=0),
        click(node(7), node=7),
        press(node(4), "Enter", node=4),
        click(node(3), node=3),
        press(SLIDER, "End", beta=1.0),
        press(SLIDER, "Home", beta=0.001),
        slide(SLIDER, 0.5, beta=about(0.0316, 0.002)),
        *(click(button(name), beta=beta) for name, beta in graph_lab.SCENES.items()),
        click(button("New numbers"), seed=6),
        press(button("New numbers"), "Enter", seed=7),
        click(button("Reset"), **GRAPH),
    ),
    apart=(press(SLIDER, "End", beta=1.0), click(node(7), node=7)),
    tab=(
        *(f"Node {k}," if [k, 3] in GRAPH["edges"] else f"Node {k}" for k in range(10)),
        *("β: scores are multiplied by", *graph_lab.SCENES, "More", "Reset"),
    ),
    refused=BAD_GRAPHS,
    other_kinds=[("edges", 3), ("node", 1.5), ("beta", "large")],
    points=lambda: [
        {"edges": edges, "node": node, "beta": beta, "seed": seed}
        for seed in range(0, 1000, 222)
        for node in (0, 3, 9)
        for beta in (0.001, 0.0112, 0.3, 1.0)
        for edges in (graph_lab.some_edges(), [], [[node, node]])
    ],
    alt="A graph of 10 nodes",
    drives=SLIDER,
    shows=lambda state, said: {"\u03b2": one_over(state["beta"])},
    also=graph_also,
    draws=(GRAPH, "beta", [0.5 + 0.4 * wave for wave in waves()]),
    picture=".graph",
)

# The factor lab

BAD_FACTORS = [
    ({"edges": [[1, 0]]}, "edges has [1, 0]; expected pairs of numbers from 0 to 5, the smaller first"),
    ({"edges": [[2, 2]]}, "edges has [2, 2]"),
    ({"edges": [[0, 6]]}, "edges has [0, 6]"),
    ({"edges": [[0, 1], [0, 1]]}, "edges has an edge twice; expected each once"),
    ({"fields": [0.0] * 5}, "expected 6 numbers from -1.5 to 1.5"),
    ({"fields": [0.0] * 5 + [math.nan]}, "expected 6 numbers from -1.5 to 1.5"),
    ({"coupling": 2.0}, "coupling is 2.0; expected -1.5 <= coupling <= 1.5"),
    ({"damping": 1.0}, "damping is 1.0; expected 0 <= damping <= 0.9"),
    ({"sweeps": 61}, "sweeps is 61; expected 0 <= sweeps <= 60"),
    ({"node": -1}, "node is -1; expected 0 <= node <= 5"),
]
LOOP = {
    "edges": factor_lab.SCENES["triangle"],
    "fields": [0.6, 0.0, 0.0, -0.2, 0.0, 0.0],
    "coupling": 0.7,
    "damping": 0.0,
    "sweeps": 2,
    "node": 1,
}


def spin(k: int) -> tuple[str, Any]:
    return button(re.compile(rf"^Spin {k}\b"))


def factor_also(shown: Any, state: State, said: State) -> None:
    joined = shown.box.locator(".ends button[aria-pressed=true]").all_text_contents()
    node = state["node"]
    assert [int(text) for text in joined] == sorted(i + j - node for i, j in state["edges"] if node in (i, j))
    assert shown.box.locator(".graph button[aria-pressed=true]").all_inner_texts() == [str(node)]


FACTOR_LAB = Row(
    attnlib.course.live.FactorLab,
    start=LOOP,
    extremes=(
        LOOP | {"edges": [], "sweeps": factor_lab.MOST_SWEEPS},
        LOOP | {"edges": factor_lab.SCENES["everyone"], "coupling": -1.5, "sweeps": 9},
    ),
    walk=(
        click(button("Step"), sweeps=3),
        click(button("Step"), sweeps=4),
        click(button("Start over"), sweeps=0),
        press(button("Step"), "Enter", sweeps=1),
        click(button("Reset"), **LOOP),
        click(spin(4), node=4),
        click(button("Edge between spins 4 and 0"), edges=sorted([*LOOP["edges"], [0, 4]]), sweeps=0),
        press(button("Edge between spins 4 and 0"), "Enter", edges=LOOP["edges"]),
        *(click(button(name), edges=edges) for name, edges in factor_lab.SCENES.items()),
        press(slider("Coupling"), "End", coupling=1.5),
        press(slider("Coupling"), "Home", coupling=-1.5),
        slide(slider("Coupling"), 0.5, coupling=about(0, 0.03)),
        press(slider("Damping"), "End", damping=0.9),
        press(slider("Field"), "End", fields=[0.6, 0.0, 0.0, -0.2, 1.5, 0.0]),
        click(button("Reset"), **LOOP),
    ),
    apart=(click(button("Step"), sweeps=3),),
    tab=(
        *(f"Spin {k}," for k in range(6)),
        *("Step", "Run", "Start over", "More", "Reset", *factor_lab.SCENES, "Coupling of each edge"),
    ),
    refused=BAD_FACTORS,
    other_kinds=[("edges", 3), ("node", 1.5), ("coupling", "strong")],
    points=lambda: [
        LOOP | {"edges": edges, "coupling": coupling, "damping": damping, "sweeps": sweeps}
        for edges in [*factor_lab.SCENES.values(), []]
        for coupling in (-1.5, -0.3, 0.0, 1.5)
        for damping, sweeps in ((0.0, 0), (0.0, 7), (0.5, 60))
    ],
    alt="6 spins with 6 edges",
    drives=button("Step"),
    shows=lambda state, said: {
        "Coupling": state["coupling"],
        "Field": state["fields"][state["node"]],
        "Damping": state["damping"],
    },
    also=factor_also,
    draws=(LOOP | {"edges": factor_lab.SCENES["everyone"], "sweeps": factor_lab.MOST_SWEEPS}, "coupling", waves()),
    picture=".graph",
)

# The hop lab

TALE = record_of("memory_networks")["stories"]
STORY = {"network": 0, "hidden": [], "beta": 1.0, "keep": True} | TALE[0]
NUMBER = {word: number for number, word in enumerate(VOCABULARY)}


def say(*lines: str) -> list[list[int]]:
    return [[*(NUMBER[word] for word in line.split()), *[0] * (4 - len(line.split()))] for line in lines]


BAD_STORIES = [
    ({"network": 4}, "network is 4; expected 0 <= network < 4"),
    ({"network": -1}, "network is -1"),
    ({"facts": []}, "facts has 0 sentences; expected 1 to 16"),
    ({"facts": say("Ada is grey") * 17}, "facts has 17 sentences"),
    ({"facts": [[1, 2, 3]]}, "facts has [1, 2, 3]"),
    ({"facts": say("Ada are grey")}, "facts has"),
    ({"facts": say("moles is grey")}, "facts has"),
    ({"facts": say("Ada is a grey")}, "facts has"),
    ({"facts": say("Ada is a attic")}, "facts has"),
    ({"facts": say("Ada is grey red")}, "facts has"),
    ({"facts": say("grey is grey")}, "facts has"),
    ({"hidden": [10]}, "hidden is [10]; expected some, not all, of the places 0 to 9"),
    ({"hidden": [-1]}, "hidden is [-1]"),
    ({"hidden": [*range(10)]}, "hidden is [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"),
    ({"asked": 9}, "asked is 9; expected the number of a name, 10 to 21"),
    ({"asked": NUMBER["hare"]}, "asked is 25"),
    ({"beta": 0.09}, "beta is 0.09; expected 0.1 <= beta <= 10"),
    ({"beta": 11}, "beta is 11"),
    ({"beta": math.nan}, "beta is nan"),
]
NET, ASKED, KEEP, COOL = choice("Network"), choice("What colour is"), tick("a hop keeps the question"), slider("Inverse")


def reads(place: int) -> tuple[str, Any]:
    return tick(f"may read fact {place}")


def hop_told(shown: Any) -> list[str]:
    """The facts as they are written."""
    return [re.sub(r"^\d+\. ", "", text) for text in shown.box.locator("th.fact").all_inner_texts()]


def hop_also(shown: Any, state: State, said: State) -> None:
    read = "boxes => boxes.filter(box => box.ariaLabel?.includes('may read fact')).map(box => box.checked)"
    ticked = shown.box.locator("input[type=checkbox]").evaluate_all(read)
    assert ticked == [place not in state["hidden"] for place in range(len(state["facts"]))]
    assert hop_told(shown) == [" ".join(VOCABULARY[word] for word in fact if word) for fact in state["facts"]]


def hop_points() -> list[State]:
    """Every network on stories of every depth, hidden facts, hot and cold, with and without the question kept."""
    told = animal_stories(12, others=3, generator=torch.Generator().manual_seed(11))
    return [
        {
            "network": story % 4,
            "facts": told.facts[story].tolist(),
            "asked": told.question[story, -1].item(),
            "hidden": [place for place in range(13) if (story * 7 + place * 5) % 6 == 0],
            "beta": (0.1, 1.0, 10.0)[story % 3],
            "keep": story % 5 > 0,
        }
        for story in range(12)
    ]


HOP_LAB = Row(
    attnlib.course.live.HopLab,
    start=STORY,
    extremes=(
        STORY | {"network": 1, "hidden": [1, 2], "beta": 0.4},
        STORY | {"network": 3, "facts": [*STORY["facts"], *say(*["Eva is a hare"] * 6)]},
    ),
    walk=(
        click(reads(5), hidden=[5]),
        click(reads(2), hidden=[2, 5]),
        press(reads(5), "Space", hidden=[2]),
        click(KEEP, keep=False),
        press(KEEP, "Space", keep=True),
        slide(COOL, 0.7, beta=lambda beta: 1 < beta < 4),
        press(COOL, "End", beta=10.0),
        press(NET, "ArrowDown", network=1),
        press(ASKED, "Home", asked=NUMBER["Ada"]),
        click(button("Reset"), **STORY),
        click(
            button("Add a bystander"),
            facts=lambda facts: (
                facts[:-1] == STORY["facts"]
                and not {facts[-1][0], facts[-1][2]} & {word for fact in STORY["facts"] for word in fact}
            ),
        ),
        click(button("Another story"), **TALE[1]),
        press(button("Reset"), "Enter", **STORY),
    ),
    apart=(click(reads(1), hidden=[1]), click(button("Add a bystander"), facts=lambda facts: len(facts) == 11)),
    tab=(
        *("What colour is", "Network", *(f"the network may read fact {place}" for place in range(10))),
        *names("Add a bystander, Another story, More, Reset"),
    ),
    refused=BAD_STORIES,
    other_kinds=[("network", 1.5), ("beta", "hot")],
    points=hop_points,
    alt="Hop lab: 10 facts",
    drives=button("Add a bystander"),
    shows=lambda state, said: {"What colour": str(state["asked"]), "Network": str(state["network"]), "a hop": state["keep"]},
    also=hop_also,
    picture=".picture",
    word=".verdict",
    record="memory_networks",
    size=150_000,
)

# The denoiser

BAD_QUESTIONS = [
    ({"query": [0.0]}, "query is [0.0]; expected two numbers from -2.2 to 2.2"),
    ({"query": [0.0, 2.21]}, "query is [0.0, 2.21]"),
    ({"query": [math.nan, 0.0]}, "query is [nan, 0.0]"),
    ({"steps": -1}, "steps is -1; expected 0 <= steps <= 8"),
    ({"steps": 9}, "steps is 9"),
    ({"sigma": 0}, "sigma is 0.0; expected 0.5 <= sigma <= 1.5"),
    ({"sigma": 1.51}, "sigma is 1.51"),
    ({"sigma": math.nan}, "sigma is nan"),
    ({"beta": 0}, "beta is 0.0; expected 0.1 <= beta <= 10"),
    ({"beta": math.inf}, "beta is inf"),
    ({"memories": 1}, "memories is 1; expected 2 <= memories <= 8"),
    ({"memories": 9}, "memories is 9"),
    ({"seed": -1}, "seed is -1"),
]
NOISY = denoiser.Denoiser().state()
ASKED_FOR, PACES, MORE = button(re.compile("^query at")), slider("Steps"), button("More")


def noisy_place(shown: Any, x: float, y: float) -> tuple[float, float]:
    """Where on the screen a point of the plane is."""
    box = shown.picture.bounding_box()
    return box["x"] + box["width"] * (x + 2.5) / 5, box["y"] + box["height"] * (2.5 - y) / 5


DENOISER = Row(
    denoiser.Denoiser,
    start=NOISY,
    extremes=(
        NOISY | {"blind": True, "memories": 8, "beta": 10.0, "steps": 8},
        NOISY | {"sigma": 1.5, "beta": 0.1, "memories": 2, "half": True, "query": [-2.2, 2.2]},
        NOISY | {"sigma": 1.5, "beta": 10.0, "memories": 8, "steps": 0, "query": [2.2, -2.2]},
    ),
    walk=(
        *presses(ASKED_FOR, "ArrowLeft 0.6,1.7 ArrowDown 0.6,1.6 Shift+ArrowRight 1.1,1.6 ArrowUp 1.1,1.7", query=list),
        *presses(PACES, "ArrowRight 2 End 8 ArrowLeft 7 Home 0 ArrowLeft 0", steps=int),
        slide(PACES, 0.5, steps=4),
        *(click(button(name), **scene) for name, scene in denoiser.SCENES.items()),
        press(MORE, "Enter"),
        press(BETA, "End", beta=10.0),
        slide(BETA, 0.5, beta=about(1.0, 0.05)),
        press(slider("Noise"), "End", sigma=1.5, beta=about((0.8 / 1.5) ** 2, 0.02)),
        press(slider("Noise"), "Home", sigma=0.5, beta=about(2.56, 0.2)),
        press(slider("Memories"), "End", memories=8),
        press(slider("Memories"), "Home", memories=2),
        click(tick("half steps"), half=True),
        press(tick("half steps"), "Space", half=False),
        click(button("Hide \u03c3"), blind=True, seed=1, beta=10.0, sigma=lambda sigma: 0.6 <= sigma <= 1.1),
        press(BETA, "ArrowLeft", beta=about(9.77, 0.01)),
        press(button("I have it"), "Enter", blind=False),
        click(button("Reset"), **NOISY),
        click(MORE),
    ),
    apart=(press(PACES, "End", steps=8), press(ASKED_FOR, "ArrowLeft", query=[0.6, 1.7])),
    tab=(*denoiser.SCENES, "query at 0.70, 1.70", *names("Steps down the energy, More, Reset, Hide \u03c3")),
    refused=BAD_QUESTIONS,
    other_kinds=[("steps", 1.5), ("beta", "hot"), ("half", "yes")],
    points=lambda: [
        {"memories": m, "sigma": sigma, "beta": beta, "half": half, "steps": m, "query": query}
        for m in (2, 5, 8)
        for sigma in (0.5, 0.83, 1.5)
        for beta in (0.1, 1.7, 10.0)
        for half, query in ((False, [0.0, 0.0]), (True, [-2.2, 1.31]))
    ],
    alt="Denoiser with 5 memories on a circle and noise 0.80",
    drives=PACES,
    shows=lambda state, said: {
        "Steps": str(state["steps"]),
        "Inverse": f"{state['beta']:.3g}".removesuffix(".0"),
        "Noise": f"{state['sigma']:.2f}",
        "Memories": str(state["memories"]),
        "half": state["half"],
    },
    ink={ORANGE: 1000, BLUE: 500},
    finger=lambda shown: (
        [noisy_place(shown, *place) for place in ([0.7, 1.7], [0.2, 1.0], [-0.6, -1.0], [-1.5, -2.0])],
        {"query": lambda found: math.dist(found, [-1.5, -2.0]) < 0.03},
    ),
    draws=(NOISY | {"memories": 8, "steps": 8}, "beta", [1.5 + wave for wave in waves()]),
    picture=".plane",
    beyond=".noise",
)

# The context lab

BAD_SHARES = [
    ({"share": 0.0}, "share is 0.0; expected 0.001 <= share <= 1"),
    ({"share": 1.01}, "share is 1.01"),
    ({"share": math.nan}, "share is nan"),
    ({"context": -1}, "context is -1; expected 0 <= context <= 999"),
    ({"field": 1000}, "field is 1000; expected 0 <= field <= 999"),
    ({"record": {"at": [0.1]}}, "record is {'at': [0.1]}; expected at, ascending numbers from 0 to 1, and lines"),
    ({"record": {"at": [0.1, 0.1], "lines": []}}, "record is {'at': [0.1, 0.1]"),
    (
        {"record": {"at": [0.1, 1.0], "lines": [{"name": "a", "kind": "blind", "errors": [0.1]}]}},
        "record has the line {'name': 'a', 'kind': 'blind', 'errors': [0.1]}; expected a name, a kind and an error",
    ),
    ({"record": {"at": [0.1, 1.0], "lines": [{"name": "a", "kind": "b", "errors": [0.1, 0.2]}]}}, "record has the line"),
    ({"record": {"at": [0.1, 1.0], "lines": [{"name": "a", "kind": "reads", "errors": [0.1, 0.0]}]}}, "record has the line"),
]
MIXED, LAMBDA = {"share": 0.3, "context": 4, "field": 0}, slider("\u03bb")

CONTEXT_LAB = Row(
    context_lab.ContextLab,
    start=MIXED,
    extremes=(MIXED | {"share": 1.0, "context": 7}, MIXED | {"share": 0.001}),
    walk=(
        slide(LAMBDA, 0.5, share=about(0.0316, 0.001)),
        press(LAMBDA, "Home", share=0.001),
        press(LAMBDA, "End", share=1.0),
        press(LAMBDA, "ArrowLeft", share=about(0.977, 0.001)),
        click(button("Another context"), context=5),
        press(button("Another context"), "Enter", context=6),
        click(button("Other fields"), field=1),
        *(click(button(name), **scene) for name, scene in context_lab.SCENES.items()),
        click(button("Reset"), **MIXED),
    ),
    apart=(press(LAMBDA, "End", share=1.0), click(button("Another context"), context=5)),
    tab=(
        *context_lab.SCENES,
        "\u03bb: share of the couplings' variance that contents make",
        *names("Another context, Other fields, Reset"),
    ),
    refused=BAD_SHARES,
    other_kinds=[("share", "half"), ("context", 0.5)],
    points=lambda: [
        {"share": share, "context": context, "field": field}
        for share in (0.001, 0.01, 0.02, 0.3, 0.99, 1.0)
        for context, field in ((0, 0), (3, 500), (999, 999))
    ],
    alt="Context lab: ten spins, 30 % of the variance of their couplings",
    drives=LAMBDA,
    shows=lambda state, said: {"\u03bb": f"{state['share']:.3g}".removesuffix(".0")},
    ink={ORANGE: 1000},
    draws=(MIXED, "share", [0.5 + 0.4 * wave for wave in waves()]),
    picture=".picture",
)

# The arrow film

BAD_ARROWS = [
    ({"beta": 0.1}, "beta is 0.1; expected 0.2 <= beta <= 2.5"),
    ({"beta": 2.6}, "beta is 2.6"),
    ({"beta": math.nan}, "beta is nan"),
    ({"sharpness": -0.1}, "sharpness is -0.1; expected 0 <= sharpness <= 4"),
    ({"sharpness": 4.1}, "sharpness is 4.1"),
    ({"symmetric": 1.01}, "symmetric is 1.01; expected 0 <= symmetric <= 1"),
    ({"symmetric": math.nan}, "symmetric is nan"),
    ({"seed": -1}, "seed is -1"),
    ({"guess": "C"}, "guess is 'C'; expected one of '', 'A', 'B'"),
]
ARROW = arrow_film.ArrowFilm().state()
INVERSE, ASYMMETRY, LATER = slider("Inverse"), slider("Antisymmetric part"), tick("causal")
SAYS_A, SAYS_B, NEXT_FILM = button("A runs backwards"), button("B runs backwards"), button("Another film")


def arrow_also(shown: Any, state: State, said: State) -> None:
    """Nothing is given away before the guess: both strips in one colour, and no line but the mean. Words say the same after."""
    assert shown.box.locator(".back").count() == (state["guess"] != "")
    assert shown.box.locator(".picture .up").count() == 2
    assert shown.box.locator(".side path.line").count() == 1 + (state["guess"] != "")
    pressed = shown.box.locator(".guess button[aria-pressed=true]").all_inner_texts()
    assert pressed == [f"{state['guess']} runs backwards"] * (state["guess"] != "")
    label = shown.picture.locator("svg").get_attribute("aria-label")
    verdict = "as you said" if said["right"] else "not as you said"
    assert (verdict in label) == (state["guess"] != "")
    assert (shown.phase() == "no arrow") == (abs(said["e_p"]) < 5e-7)


ARROW_FILM = Row(
    arrow_film.ArrowFilm,
    start=ARROW,
    extremes=(
        ARROW | {"beta": 2.5, "sharpness": 4.0, "guess": "B", "seed": 3},
        ARROW | {"symmetric": 1.0, "guess": "A"},
        ARROW | {"sharpness": 0.0, "causal": True, "beta": 0.2, "guess": "B"},
    ),
    walk=(
        press(INVERSE, "End", beta=2.5),
        press(INVERSE, "ArrowLeft", beta=about(2.45, 1e-9)),
        press(INVERSE, "Home", beta=0.2),
        slide(INVERSE, 0.5, beta=about(1.35, 0.06)),
        click(SAYS_B, guess="B"),
        press(SAYS_A, "Enter", guess="A"),
        click(NEXT_FILM, seed=1, guess=""),
        press(NEXT_FILM, "Enter", seed=2),
        click(SAYS_A, guess="A"),
        press(slider("Sharpness"), "End", sharpness=4.0),
        press(slider("Sharpness"), "ArrowLeft", sharpness=about(3.9, 1e-9)),
        press(slider("Sharpness"), "Home", sharpness=0.0),
        click(LATER, causal=True),
        press(LATER, "Space", causal=False),
        press(ASYMMETRY, "End", symmetric=1.0),
        slide(ASYMMETRY, 0.5, symmetric=about(0.5, 0.06)),
        click(button("Reset"), **ARROW),
    ),
    apart=(press(INVERSE, "End", beta=2.5), click(SAYS_B, guess="B")),
    tab=names("A runs backwards, B runs backwards, Another film, Inverse temperature \u03b2, More, Reset"),
    refused=BAD_ARROWS,
    other_kinds=[("beta", "cold"), ("causal", "yes"), ("guess", 1), ("seed", 0.5)],
    points=lambda: [
        {"beta": beta, "sharpness": g, "symmetric": alpha, "causal": causal, "seed": int(100 * beta + g)}
        for beta in (0.2, 0.7, 1.0, 1.3, 1.8, 2.5)
        for g in (0.0, 0.7, 2.0, 4.0)
        for alpha, causal in ((0.0, False), (0.0, True), (0.4, False), (0.6, True), (1.0, False))
    ],
    alt="A film of 8 spins with softmax couplings of sharpness 2.00 at beta 1.00",
    drives=INVERSE,
    shows=lambda state, said: {
        "Inverse": f"{state['beta']:.2f}",
        "Sharpness": f"{state['sharpness']:.1f}",
        "Antisymmetric": f"{100 * state['symmetric']:.0f} %",
        "causal": state["causal"],
    },
    also=arrow_also,
    ink={BLUE: 5000},
    draws=(ARROW | {"guess": "A"}, "beta", [1.2 + 0.8 * wave for wave in waves()]),
    picture=".picture",
)

# Two films, one noise

BAD_TWINS = [
    ({"beta": 0.05}, "beta is 0.05; expected 0.1 <= beta <= 2.5"),
    ({"beta": 2.6}, "beta is 2.6"),
    ({"beta": math.nan}, "beta is nan"),
    ({"kind": "dense"}, "kind is 'dense'; expected one of 'independent', 'softmax', 'signed'"),
    ({"seed": -1}, "seed is -1"),
]
TWINS = two_films.TwoFilms().state()
HEAT, OF_KIND, EARLIER = slider("Inverse"), choice("Couplings"), tick("causal")


def twins_also(shown: Any, state: State, said: State) -> None:
    """Films that met stay together, and the words say when; the damage equation is drawn where it holds."""
    assert (shown.phase() == "apart") == (said["met"] < 0)
    if said["met"] >= 0:
        assert shown.phase() == f"met at step {said['met']}"
        assert set(said["apart"][said["met"] :]) == {0.0}
    many = state["kind"] == "independent" and not state["causal"]
    assert shown.box.locator(".side path.theory").count() == many
    assert shown.box.locator(".picture path.up").count() == 2
    label = shown.picture.locator("svg").get_attribute("aria-label")
    assert ("are apart after 40 steps" in label) == (said["met"] < 0)


TWO_FILMS = Row(
    two_films.TwoFilms,
    start=TWINS,
    extremes=(
        TWINS | {"beta": 2.5, "kind": "signed", "causal": True, "seed": 3},
        TWINS | {"beta": 0.1, "kind": "softmax"},
        TWINS | {"beta": 2.5},
    ),
    walk=(
        press(HEAT, "End", beta=2.5),
        press(HEAT, "ArrowLeft", beta=about(2.45, 1e-9)),
        press(HEAT, "Home", beta=0.1),
        slide(HEAT, 0.5, beta=about(1.3, 0.06)),
        press(OF_KIND, "ArrowDown", kind="softmax"),
        press(OF_KIND, "ArrowDown", kind="signed"),
        press(OF_KIND, "ArrowUp", kind="softmax"),
        click(button("New noise"), seed=1),
        press(button("New noise"), "Enter", seed=2),
        click(EARLIER, causal=True),
        press(EARLIER, "Space", causal=False),
        click(button("Reset"), **TWINS),
    ),
    apart=(press(HEAT, "End", beta=2.5), press(OF_KIND, "ArrowDown", kind="softmax")),
    tab=names("Inverse temperature \u03b2, More, Reset"),
    refused=BAD_TWINS,
    other_kinds=[("beta", "cold"), ("causal", "yes"), ("kind", 1), ("seed", 0.5)],
    points=lambda: [
        {"beta": beta, "kind": kind, "causal": causal, "seed": int(100 * beta)}
        for beta in (0.1, 0.3, 0.7, 1.0, 1.6, 2.5)
        for kind in two_films.KINDS
        for causal in (False, True)
    ],
    alt="Two films of 32 spins with couplings, independent, of both signs, at beta 1.00",
    drives=HEAT,
    shows=lambda state, said: {"Inverse": f"{state['beta']:.2f}", "Couplings": state["kind"], "causal": state["causal"]},
    also=twins_also,
    ink={BLUE: 5000, ORANGE: 2000},
    draws=(TWINS | {"kind": "softmax"}, "beta", [1.2 + 0.8 * wave for wave in waves()]),
    picture=".picture",
)

# The stack of blocks

BAD_STACKS = [
    ({"beta": 0.1}, "beta is 0.1; expected 0.2 <= beta <= 3"),
    ({"beta": 3.1}, "beta is 3.1"),
    ({"beta": math.nan}, "beta is nan"),
    ({"blocks": 0}, "blocks is 0; expected 1 <= blocks <= 6"),
    ({"blocks": 7}, "blocks is 7"),
    ({"width": "4"}, "width is '4'; expected one of '3', '8', '16', '64'"),
    ({"couplings": "loose"}, "couplings is 'loose'"),
    ({"seed": -1}, "seed is -1"),
]
STACK = block_stack.BlockStack().state()
CHILL, DEPTH, WIDE, COUPLED = slider("Inverse"), slider("Blocks"), choice("Components"), choice("Couplings")
MORE_FILMS = button("Other films")


def stack_also(shown: Any, state: State, said: State) -> None:
    """A bar, a line and a dot for each token of each block; a block that is exact says so."""
    assert shown.box.locator(".picture .seen").count() == 6 * state["blocks"]
    assert shown.box.locator(".picture .naive").count() == shown.box.locator(".picture .near").count() == 6 * state["blocks"]
    assert (shown.phase() == "exact") == (state["blocks"] == 1)


BLOCK_STACK = Row(
    block_stack.BlockStack,
    start=STACK,
    extremes=(
        STACK | {"blocks": 6, "width": "64", "couplings": "sharp", "beta": 3.0},
        STACK | {"blocks": 1},
        STACK | {"beta": 0.2, "couplings": "causal", "width": "3"},
    ),
    walk=(
        press(CHILL, "End", beta=3.0),
        press(CHILL, "ArrowLeft", beta=about(2.95, 1e-9)),
        press(CHILL, "Home", beta=0.2),
        slide(CHILL, 0.5, beta=about(1.6, 0.06)),
        press(DEPTH, "End", blocks=6),
        press(DEPTH, "ArrowLeft", blocks=5),
        press(DEPTH, "Home", blocks=1),
        slide(DEPTH, 0.6, blocks=4),
        choose(WIDE, width="64"),
        choose(COUPLED, couplings="sharp"),
        choose(COUPLED, couplings="even"),
        click(MORE_FILMS, seed=1),
        press(MORE_FILMS, "Enter", seed=2),
        click(button("Reset"), **STACK),
    ),
    apart=(press(CHILL, "End", beta=3.0), press(DEPTH, "Home", blocks=1)),
    tab=names("Inverse temperature \u03b2, More, Reset"),
    refused=BAD_STACKS,
    other_kinds=[("beta", "cold"), ("blocks", 2.5), ("width", 16), ("couplings", 1), ("seed", 0.5)],
    points=lambda: [
        {"beta": beta, "width": width, "couplings": kind, "blocks": blocks, "seed": int(100 * beta)}
        for beta, blocks in ((0.2, 2), (0.7, 6), (1.0, 1), (1.8, 3), (3.0, 5))
        for width in block_stack.WIDTHS
        for kind in block_stack.KINDS
    ],
    alt="Six tokens as spins of 16 components in 5 blocks with softmax couplings at beta 1.00",
    drives=CHILL,
    shows=lambda state, said: {
        "Inverse": f"{state['beta']:.2f}",
        "Blocks": f"{state['blocks']}",
        "Components": state["width"],
        "Couplings": state["couplings"],
    },
    also=stack_also,
    ink={BLUE: 5000, ORANGE: 500},
    draws=(STACK, "beta", [1.6 + 1.3 * wave for wave in waves()]),
)

# Two films

RUNS = record_of("alignment_film")["runs"]
BAD_FILMS = [
    ({"run": len(RUNS)}, f"run is {len(RUNS)}; expected 0 <= run < {len(RUNS)}"),
    ({"run": -1}, "run is -1"),
    ({"sentence": 3}, "sentence is 3; expected 0 <= sentence < 3"),
    ({"step": -1}, "step is -1"),
    ({"step": 2001}, "step is 2001; expected 0 <= step <= 2000"),
]
PAIR = {"run": 1, "sentence": 2, "step": 60}
SEEN = record_of("alignment_film")["runs"][1]["at"]
MOMENT = slider("Training step")

ALIGNMENT_FILM = Row(
    attnlib.course.live.AlignmentFilm,
    start=PAIR,
    extremes=tuple(PAIR | {"sentence": sentence, "step": 400} for sentence in (1, 0, 2)),
    walk=(
        *presses(MOMENT, "ArrowRight 70 End 400 ArrowLeft 375 Home 0 ArrowLeft 0 ArrowRight 5", step=int),
        slide(MOMENT, 0.5, step=SEEN[len(SEEN) // 2]),
        choose(choice("Run"), run=2),
        choose(choice("Sentence"), sentence=0),
        press(choice("Run"), "ArrowDown", run=3),
    ),
    apart=(press(MOMENT, "End", step=400),),
    tab=("Play", "Training step", "Run", "Sentence"),
    refused=BAD_FILMS,
    other_kinds=[("step", "late")],
    points=lambda: [
        {"run": run, "sentence": sentence, "step": step}
        for run, stored in enumerate(record_of("alignment_film")["runs"])
        for sentence in range(3)
        for step in stored["at"][::4]
    ],
    alt="Alignment film, run: unscaled, seed 2, 400 steps",
    drives=MOMENT,
    shows=lambda state, said: {
        "Training step": str(said["step"]),
        "Run": str(state["run"]),
        "Sentence": str(state["sentence"]),
    },
    picture="svg[role=img]",
    record="alignment_film",
    size=150_000,
)

BAD_NETS = [
    ({"spin": 17}, "spin is 17; expected 0 <= spin <= 16"),
    ({"spin": -1}, "spin is -1"),
    ({"step": -1}, "step is -1; expected 0 <= step <= 1000"),
    ({"step": 1001}, "step is 1001"),
]
NETS = {"spin": 0, "step": 100}
FRAMES = record_of("digits")["film"]["at"]

COUPLINGS_FILM = Row(
    attnlib.course.live.CouplingsFilm,
    start=NETS,
    extremes=(NETS | {"step": 0}, NETS | {"step": 1000}),
    walk=(
        *presses(MOMENT, "ArrowRight 110 End 1000 ArrowLeft 950 Home 0 ArrowLeft 0 ArrowRight 2", step=int),
        slide(MOMENT, 0.5, step=lambda step: abs(FRAMES.index(step) - len(FRAMES) // 2) <= 1),
        press(button("More"), "Enter"),
        choose(choice("Spin"), spin=6),
        press(choice("Spin"), "ArrowDown", spin=7),
    ),
    apart=(press(MOMENT, "End", step=1000),),
    tab=("Play", "Training step", "More"),
    refused=BAD_NETS,
    other_kinds=[("step", "late")],
    points=lambda: [{"spin": spin, "step": step} for spin in (0, 5, 16) for step in FRAMES[::3]],
    alt="Couplings of a classifier of digits after 100 steps",
    drives=MOMENT,
    shows=lambda state, said: {"Training step": str(said["step"]), "Spin": str(state["spin"])},
    picture="svg[role=img]",
    record="digits",
)

# The walker

BAD_WALKS = [
    ({"network": 2}, "network is 2; expected 0 <= network < 2"),
    ({"network": -1}, "network is -1"),
    ({"image": [0, 1, 2]}, "image is [0, 1, 2]; expected each of 0 to 7 once"),
    ({"image": [0] * 8}, "image is [0, 0, 0, 0, 0, 0, 0, 0]"),
    ({"image": [*range(1, 9)]}, "image is [1, 2, 3, 4, 5, 6, 7, 8]"),
    ({"start": 8}, "start is 8; expected 0 <= start <= 7"),
    ({"start": -1}, "start is -1"),
    ({"steps": 0}, "steps is 0; expected 1 <= steps <= 8"),
    ({"steps": 9}, "steps is 9"),
    ({"beta": 0.2}, "beta is 0.2; expected 0.25 <= beta <= 4"),
    ({"beta": math.nan}, "beta is nan"),
]
WALK = {"network": 0, "image": walker.FIRST, "start": 0, "steps": 2, "beta": 1.0, "tie": False, "more": False}
TURNS, HEAT, SEED, TIE = slider("Steps T"), slider("Inverse"), choice("Walker"), tick("tie values to keys")
LONG_CYCLES = [1, 2, 0, 4, 5, 6, 7, 3]
"""Cycles of three and five: fifteen hops bring everybody home."""


def place(k: int) -> tuple[str, Any]:
    return button(f"Place {walker.LETTERS[k]}")


def walker_points() -> list[State]:
    """Both walkers on random facts, every number of steps, hot and cold, with values tied and not."""
    draw = random.Random(7)
    grid = itertools.product((0, 1), range(1, 9), (0.25, 2**0.25, 1.0, 4.0), (False, True))
    return [
        WALK
        | {"network": network, "steps": steps, "beta": beta, "tie": tie}
        | {"image": draw.sample(range(8), 8), "start": draw.randrange(8)}
        for network, steps, beta, tie in grid
    ]


def walker_also(shown: Any, state: State, said: State) -> None:
    """The place asked is pressed, the one where it ends is ringed, by its kind; words and picture say the same."""
    pressed = shown.box.locator(".ring button[aria-pressed=true]").all_inner_texts()
    assert pressed == [walker.LETTERS[state["start"]]]
    end, right = said["path"][-1], said["path"][-1] == said["truth"][-1]
    assert shown.box.locator(".ring button.end").all_inner_texts() == [walker.LETTERS[end]]
    assert shown.box.locator(".ring button.end.off").count() == (not right)
    assert shown.phase() == f"{said['right']} of 8 right"
    assert f"it says {walker.LETTERS[end]}, " in shown.told(".says")
    assert shown.told(".says").endswith(": right." if right else ": wrong.")
    assert shown.box.locator(".went").count() == state["steps"]
    assert shown.box.locator(".went.off").count() == sum(a != b for a, b in zip(said["path"], said["truth"], strict=True))
    assert ("Solved" in shown.told(".task")) == said["solved"]
    assert shown.box.locator("table").is_visible() == state["more"]


WALKER = Row(
    attnlib.course.live.Walker,
    start=WALK,
    extremes=(
        WALK | {"network": 1, "steps": 8, "start": 2, "more": True},
        WALK | {"image": LONG_CYCLES, "steps": 8, "start": 4, "tie": True, "beta": 0.25, "more": True},
        WALK | {"image": [*range(8)], "steps": 8, "beta": 4.0, "more": True},
    ),
    walk=(
        *presses(TURNS, "ArrowRight 3 End 8 ArrowLeft 7 Home 1 ArrowRight 2", steps=int),
        slide(TURNS, 0.72, steps=6),
        click(place(1), start=1),
        press(place(7), "Enter", start=7),
        click(button("More"), more=True),
        press(SEED, "ArrowDown", network=1),
        choose(SEED, network=0),
        click(TIE, tie=True),
        press(TIE, "Space", tie=False),
        press(HEAT, "End", beta=4.0),
        press(HEAT, "ArrowLeft", beta=2**1.75),
        press(HEAT, "Home", beta=0.25),
        slide(HEAT, 0.5, beta=1.0),
        click(button("New permutation"), image=walker.permutations(1)[0]),
        press(button("New permutation"), "Enter", image=walker.permutations(2)[1]),
        press(button("Less"), "Enter", more=False),
        click(button("Reset"), **WALK),
    ),
    apart=(press(TURNS, "End", steps=8), click(button("More"), more=True), click(TIE, tie=True)),
    tab=(*(f"Place {letter}" for letter in walker.LETTERS), *names("Steps T, Play, New permutation, More, Reset")),
    refused=BAD_WALKS,
    other_kinds=[("image", 3), ("steps", 1.5), ("beta", "hot"), ("tie", "yes"), ("more", 2)],
    points=walker_points,
    alt="A block that walks, trained on two hops from seed 13",
    drives=TURNS,
    shows=lambda state, said: {
        "Steps": str(state["steps"]),
        "Walker": str(state["network"]),
        "tie": state["tie"],
        "Inverse": f"{state['beta']:.3g}",
    },
    also=walker_also,
    ink={BLUE: 2000},
    draws=(WALK | {"more": True, "steps": 8}, "beta", [2**wave for wave in waves()]),
    picture=".ring",
)

# The mapper

BAD_MAPS = [
    ({"string": 3}, "string is 3; expected 0 <= string <= 2"),
    ({"string": -1}, "string is -1"),
    ({"step": 0}, "step is 0; expected 1 <= step <= 8"),
    ({"step": 9}, "step is 9"),
    ({"beta": 0.1}, "beta is 0.1; expected 0.125 <= beta <= 8"),
    ({"beta": 8.5}, "beta is 8.5"),
    ({"beta": math.nan}, "beta is nan"),
]
BEST_STEP = record_of("specimen_weights")["measured"]["mapper"]["step"]
MAP = {"string": 0, "step": BEST_STEP, "beta": 1.0, "alone": False, "more": False}
AT_STEP, AT_BETA, OF_STRING = slider(re.compile("^Step")), slider("\u03b2 of this head"), choice("String")
ALONE = tick("lines of hidden tokens alone")


def mapper_also(shown: Any, state: State, said: State) -> None:
    """Frames, words and numbers say the same; the table is there when it is asked for."""
    assert shown.phase() == f"{said['right']} of {said['asked']} right"
    assert shown.box.locator(".token.good").count() == said["right"]
    assert shown.box.locator(".token.bad").count() == said["asked"] - said["right"]
    kind = "too hot" if said["sample_U"] < 0.97 else "too cold" if said["sample_U"] > 1.03 else "as sure as it is right"
    assert f"and it is {kind}: U " in shown.told(".says")
    weight = float(re.search(r"its right key has (\S+) of the weight", shown.told(".says"))[1])
    assert weight == pytest.approx(said["sample_target"], abs=0.0051)
    assert f"At step {state['step']} " in shown.told(".says")
    assert ("Solved" in shown.told(".task")) == said["solved"]
    assert shown.box.locator("table").is_visible() == state["more"]


MAPPER = Row(
    attnlib.course.live.Mapper,
    start=MAP,
    extremes=(
        MAP | {"string": 1, "step": 1, "beta": 0.125, "more": True},
        MAP | {"string": 2, "step": 8, "beta": 8.0, "more": True},
        MAP | {"string": 1, "step": 5, "alone": True, "more": True},
    ),
    walk=(
        *presses(AT_STEP, "End 8 ArrowLeft 7 Home 1 ArrowRight 2", step=int),
        slide(AT_STEP, 0.72, step=6),
        press(AT_BETA, "End", beta=8.0),
        press(AT_BETA, "ArrowLeft", beta=2**2.875),
        press(AT_BETA, "Home", beta=0.125),
        slide(AT_BETA, 0.5, beta=1.0),
        press(AT_BETA, "ArrowRight", beta=2**0.125),
        click(button("More"), more=True),
        press(OF_STRING, "ArrowDown", string=1),
        choose(OF_STRING, string=2),
        click(ALONE, alone=True),
        press(ALONE, "Space", alone=False),
        click(ALONE, alone=True),
        press(button("Less"), "Enter", more=False),
        click(button("Reset"), **MAP),
    ),
    apart=(press(AT_STEP, "Home", step=1), click(button("More"), more=True), choose(OF_STRING, string=1)),
    tab=("Step", "\u03b2 of this head at this step,", "Play", "More", "Reset"),
    refused=BAD_MAPS,
    other_kinds=[("string", "first"), ("step", 1.5), ("beta", "hot"), ("alone", "yes"), ("more", 2)],
    points=lambda: [
        MAP | {"string": string, "step": step, "beta": beta}
        for string in range(3)
        for step in range(1, 9)
        for beta in (0.125, 2**-0.8, 1.0, 2**1.3, 8.0)
    ],
    alt="The mapper, head ",
    drives=AT_STEP,
    shows=lambda state, said: {
        "Step": str(state["step"]),
        "\u03b2": f"{state['beta']:.3g}",
        "String": str(state["string"]),
        "lines": state["alone"],
    },
    also=mapper_also,
    ink={BLUE: 500},
    draws=(MAP | {"more": True}, "beta", [2**wave for wave in waves()]),
    record="specimen_weights",
)

TABLE = (
    THERMOMETER, SCORE_LAB, BALL_AND_BOUND, DIGIT_RECALL, FLATLAND, SPIN_LAB, TOKENS_AS_FIELDS, SADDLE_EXPLORER,
    ITERATION, GRAPH_LAB, FACTOR_LAB, HOP_LAB, DENOISER, CONTEXT_LAB, WALKER, MAPPER, ARROW_FILM, TWO_FILMS, BLOCK_STACK,
    ALIGNMENT_FILM, COUPLINGS_FILM,
)  # fmt: skip
