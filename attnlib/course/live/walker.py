"""The walker: a trained block walks along a permutation, as many hops as you turn its steps to, or does not (chapter 7)."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets

from attnlib.course.data.hops import PLACES, HopQuestions
from attnlib.course.data.recorded import recorded
from attnlib.course.live._draws import shuffles
from attnlib.course.live._figure import FigureError, LiveFigure, Number, Whole
from attnlib.course.models.walkers import DIM, HEADS, TRAINED_STEPS, hop_walker
from attnlib.softmax import relative_spread
from attnlib.transformer import thermometer

MOST_STEPS, BETA_RANGE, LETTERS = 8, (0.25, 4.0), "ABCDEFGH"
SEEDS = (13, 11)
"""Which walkers of the record the figure carries: one of the two that walk, and one of the three that do not."""
WALKS = (13, 14)
"""Who in the record is right for at least 95 of 100 places after any number of steps up to eight."""
LEAST_ORDER = 3
"""Permutations that the button draws have this order at least, and at most as many as there are steps."""

FIRST = [3, 6, 7, 5, 2, 0, 1, 4]
"""To begin with: two cycles of three places and one of two."""


class Walker(LiveFigure):
    r"""Eight places, an arrow from each, and a question: where do so many steps of a trained block end?

    The block is tied, has no path past its mixer, and was trained on two hops with two steps, nothing else. Its numbers are
    computed from the weights that ``recorded("walker_weights")`` holds in 8 bits, of the walkers from seeds 13 and 11. Fifteen
    were trained; all read two hops without an error, and five walk other numbers of hops, as 13 does and 11 does not.

    Traits, all to be set, observed and linked:

    - ``record``: the networks, their seeds and tables;
    - ``network``: which of them walks, counted from 0;
    - ``image``: where each of the eight places leads, a permutation of 0 to 7; ``start``: the place that is asked for;
    - ``steps``: how often the block is applied, 1 to 8; right is the place as many hops from the start;
    - ``beta``: inverse temperature of all heads, from 0.25 to 4, in units of that in training;
    - ``tie``: tie values to keys, so that what is read of the fact (a, f(a)) is what was read of (a, a), by
      ``tie_values`` of ``attnlib.course.models.walkers.HopWalker``;
    - ``more``: whether the thermometer and the controls beside the steps are open.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> said = Walker(steps=3).readout
    >>> said["path"] == said["truth"], said["right"]
    (True, 8)
    """

    constants: ClassVar[dict[str, Any]] = {
        "PLACES": PLACES,
        "DIM": DIM,
        "HEADS": HEADS,
        "TRAINED_STEPS": TRAINED_STEPS,
        "MOST_STEPS": MOST_STEPS,
        "BETA_RANGE": BETA_RANGE,
        "LETTERS": LETTERS,
        "LEAST_ORDER": LEAST_ORDER,
        "WALKS": WALKS,
    }
    record = traitlets.Dict().tag(sync=True)
    network = traitlets.Int(0).tag(sync=True)
    image = traitlets.List(traitlets.Int()).tag(sync=True)
    start = Whole(0, least=0, most=PLACES - 1).tag(sync=True)
    steps = Whole(TRAINED_STEPS, least=1, most=MOST_STEPS).tag(sync=True)
    beta = Number(1.0, least=BETA_RANGE[0], most=BETA_RANGE[1]).tag(sync=True)
    tie = traitlets.Bool(False).tag(sync=True)
    more = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        record: dict[str, Any] | None = None,
        network: int = 0,
        image: Sequence[int] | None = None,
        start: int = 0,
        *,
        steps: int = TRAINED_STEPS,
        beta: float | int = 1.0,
        tie: bool = False,
        more: bool = False,
    ) -> None:
        record = recorded("walker_weights") if record is None else record
        if not isinstance(record, dict) or "walkers" not in record:
            raise FigureError(f'record is {record!r:.40}; expected what recorded("walker_weights") returns')
        known = {one["seed"]: {"seed": one["seed"], "tables": one["tables"]} for one in record["walkers"]}
        super().__init__(
            record={"walkers": [known[seed] for seed in SEEDS]},
            network=network,
            image=list(FIRST if image is None else image),
            start=start,
            steps=steps,
            beta=float(beta),
            tie=tie,
            more=more,
        )

    @traitlets.validate("network")
    def _check_network(self, proposal: dict[str, Any]) -> int:
        if not 0 <= proposal["value"] < len(SEEDS):
            raise FigureError(f"network is {proposal['value']}; expected 0 <= network < {len(SEEDS)}")
        return proposal["value"]

    @traitlets.validate("image")
    def _check_image(self, proposal: dict[str, Any]) -> list[int]:
        if sorted(proposal["value"]) != list(range(PLACES)):
            raise FigureError(f"image is {proposal['value']}; expected each of 0 to {PLACES - 1} once")
        return proposal["value"]

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by ``attnlib.course.models.walkers.HopWalker``.

        Of the place that is asked for: ``path``, where it says it is after each step, and ``truth``, where as many hops lead;
        ``weights``, ``[steps, heads, places]``, of the facts; ``probability``, of each place after the last step.

        Of all eight places: ``answers``, after the last step; ``right``, how many are as many hops away as there are steps, and
        ``profile``, the same for each number of steps from 1 to 8; ``hits``, how many answer 0 to 8 hops, and ``expected``, how
        many would if each answer were right; ``order``, after how many hops each place is back for the first time, ``home``,
        how many answers are the place asked for, and ``solved``, whether all are, after ``order`` steps, with values untied.

        Of each step and head, ``[steps, heads]``, over the eight places: ``U``, the thermometer
        :math:`\sum p_j^2 / \sum p_\mathrm{right}`, where the right key is the fact of the place where the step should begin;
        ``target``, the mean weight of that key; ``spread``, the mean of the scores' spread over :math:`\sqrt{2 \ln 8}`.
        """
        image, hops = torch.tensor(self.image), [torch.arange(PLACES)]
        walker = hop_walker(self.record, SEEDS[self.network], heat=self.beta, tie=self.tie)
        walk = walker.walk(HopQuestions(image.expand(PLACES, -1), hops[0]), MOST_STEPS)
        for _ in range(MOST_STEPS):
            hops.append(image[hops[-1]])
        at, everyone = self.steps, torch.stack(hops)
        answers, weights = walk.places, walk.weights[:at]
        begins = everyone[:at, None, :, None].expand(-1, HEADS, -1, -1)
        byhead = weights.transpose(1, 2)  # [steps, heads, asked, facts]
        U = [[thermometer(p, right[:, 0]).ratio.item() for p, right in zip(*pair)] for pair in zip(byhead, begins)]
        order = _order(self.image)
        home = int((answers[at - 1] == hops[0]).sum())
        return {
            "path": answers[:at, self.start].tolist(),
            "truth": everyone[1 : at + 1, self.start].tolist(),
            "weights": weights[:, self.start].tolist(),
            "probability": walk.logits[at - 1, self.start].softmax(-1).tolist(),
            "answers": answers[at - 1].tolist(),
            "right": int((answers[at - 1] == everyone[at]).sum()),
            "profile": (answers == everyone[1:]).sum(-1).tolist(),
            "hits": (answers[at - 1] == everyone).sum(-1).tolist(),
            "expected": (everyone[at] == everyone).sum(-1).tolist(),
            "order": order,
            "home": home,
            "solved": home == PLACES and at == order and not self.tie,
            "U": U,
            "target": byhead.gather(-1, begins)[..., 0].mean(-1).tolist(),
            "spread": relative_spread(walk.scores[:at]).mean(1).tolist(),
        }

    def alt(self) -> str:
        """What it says after the steps, what is right, and how many of eight are, in three sentences."""
        said, here = self.readout, LETTERS[self.start]
        way = " to ".join(LETTERS[place] for place in said["path"])
        tied = ", values tied to keys" if self.tie else ""
        return (
            f"A block that walks, trained on two hops from seed {SEEDS[self.network]}{tied}: asked for {here}, with "
            f"{self.steps} steps it goes to {way}. As many hops lead to {LETTERS[said['truth'][-1]]}. Of the eight places "
            f"{said['right']} are answered right."
        )

    def still(self) -> str:
        """The places in a ring with their arrows, the walk upon them, and how many are right after each number of steps."""
        said, lines = self.readout, ""
        for place, there in enumerate(self.image):
            lines += _arrow(place, there, 'stroke="#a8b0ba" stroke-width="1.2"')
        for place, there, right in zip([self.start, *said["path"]], said["path"], _same(said)):
            ink = 'stroke="#0072b2" stroke-width="3"' if right else 'stroke="#d55e00" stroke-width="3" stroke-dasharray="6 5"'
            lines += _arrow(place, there, ink)
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="16" fill="{fill}" stroke="#1d2733"/>'
            f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle" fill="{ink}">{LETTERS[k]}</text>'
            for k in range(PLACES)
            for (x, y), fill, ink in [(_spot(k), *(("#0072b2", "#fcfcfa") if k == self.start else ("#f0f0ea", "#1d2733")))]
        )
        bars = "".join(
            f'<rect x="{400 + 36 * k}" y="{230 - 18 * n}" width="26" height="{18 * n}" fill="#0072b2"/>'
            f'<text x="{413 + 36 * k}" y="250" text-anchor="middle">{k + 1}</text>'
            for k, n in enumerate(said["profile"])
        )
        texts = (
            f"After {self.steps} steps: right for {said['right']} of eight. It was trained on two steps alone.",
            "A still picture. Run the cell, or allow JavaScript, to turn the steps and to ask others.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 370" width="720" height="370" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="370" rx="12" fill="#fcfcfa"/>'
            '<text x="400" y="50">right answers of eight, by steps</text>'
            '<path d="M400 86h288M400 230h288" stroke="#d8d8d0"/>'
            f'<g fill="none">{lines}</g>{dots}{bars}'
            + "".join(f'<text x="20" y="{330 + 22 * i}">{text}</text>' for i, text in enumerate(texts))
            + "</svg>"
        )


def _order(image: Sequence[int]) -> int:
    """After how many applications a permutation leaves all where they are."""
    lengths = []
    for place in range(len(image)):
        there, length = image[place], 1
        while there != place:
            there, length = image[there], length + 1
        lengths.append(length)
    return math.lcm(*lengths)


def permutations(count: int) -> list[list[int]]:
    """What the button draws, one after the other: shuffles from the seeds 0, 1, ... whose order is from 3 to 8."""
    found: list[list[int]] = []
    seed = 0
    while len(found) < count:
        (image,) = shuffles(PLACES, 1, seed)
        if LEAST_ORDER <= _order(image) <= MOST_STEPS:
            found.append(image)
        seed += 1
    return found


def _same(said: dict[str, Any]) -> list[bool]:
    return [place == there for place, there in zip(said["path"], said["truth"], strict=True)]


def _spot(k: int) -> tuple[float, float]:
    angle = 2 * math.pi * k / PLACES - math.pi / 2
    return 180 + 118 * math.cos(angle), 160 + 118 * math.sin(angle)


def _arrow(place: int, there: int, ink: str) -> str:
    """A bent line from place to place; to itself a loop outside the ring."""
    (x, y), (u, v) = _spot(place), _spot(there)
    if place == there:
        return f'<circle cx="{x + 0.19 * (x - 180):.1f}" cy="{y + 0.19 * (y - 160):.1f}" r="11" {ink}/>'
    bent = ((x + u) / 2 - 0.12 * (v - y), (y + v) / 2 + 0.12 * (u - x))
    return f'<path d="M{x:.1f} {y:.1f}Q{bent[0]:.1f} {bent[1]:.1f} {u:.1f} {v:.1f}" {ink}/>'
