"""Digit recall: damage a picture of 8 x 8 pixels and watch an associative memory mend it, spin by spin (chapter 3)."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._draws import shuffles
from attnlib.course.live._figure import FigureError, LiveFigure
from attnlib.course.live._pictures import BLANK, PIXELS, SIDE, check_picture, drawn, spins, written
from attnlib.hopfield import dense_energy, dense_recall

MOST_PATTERNS = 64
DEGREES = (2, 3, 10, "exp")

DIGITS = re.findall(
    ".{16}",
    "183c262626242c18181c18381818181c0c1c3c0c38703c0e186818180c06261c08081016343c0c08303c3c3804060c3c18183030303c1e1c"
    "1e060c3c38103020383c341c183c263c303c3c2c3c060c381c3c362626243c180c0c1c3c3c0c0c0c1030282808083e1e3c3e0c180c040c3c"
    "181836267c3c0c183c78707808081830181810101c3e1a0e1c3c2c0c3e3c18182c3c1c18302828301038381c0402021e183c342426343c18"
    "0c0c1c3c1c1c0c0c3038280818103c1e3c3e040c080c1c38080814343c1c040c383820203808183818383030303c3e1c1c0e063e7c0c1818"
    "303c341c382c2c303038381c04060e1e3834246464642c3818181c0c0402021e3e3020782c0c18382c7c30380c0c3830081810103c36160c"
    "383c30380c0c1830183c362424243c18303038380c04163e0c342c3830703830382c3c340404343c383c1c1838282c38181834367c3c1818"
    "080c1c3c280c0c0c1c04043c3c0818103c3e043e7c103030380c18080c061e3c203c3c30380818300c0c1c7c080c0c08183c243262203418"
    "181c742022263c1c",
)
"""The first fifty of scikit-learn's digits, 1 where a pixel is darker than 7.5 of 16, row by row, in hexadecimal."""


class DigitRecall(LiveFigure):
    r"""Paint over a stored picture with the mouse, a finger or the keys, and let a network of 64 spins recall it.

    The network is that of :func:`attnlib.hopfield.dense_recall`: one spin after the other takes the value that the energy
    prefers, in an order that is drawn anew for each sweep, until a sweep changes nothing. With degree 2 it is Hopfield's,
    with Hebb's couplings.

    Traits, all to be set, observed and linked. A picture is a string of 16 hexadecimal digits, two for each row, a bit for
    each pixel, 1 for ink; the constructor also takes 64 numbers, of which those above zero are ink:

    - ``patterns``: from 1 to 64 pictures, by default fifty handwritten digits, of which the first ``stored`` are stored;
    - ``digit``: the place, from 0, of the pattern that is meant, and ``cue``, the picture that the network starts from, by
      default that pattern itself;
    - ``degree``: 2, 3, 10 or ``"exp"``, how steeply the energy rewards a match;
    - ``seed``: where the orders of the visits come from, an integer from 0;
    - ``visits``: how many spins have been visited, an integer from 0. Visits after the network came to rest do not count.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> figure = DigitRecall(digit=3, cue="186818180c062600")
    >>> figure.readout["sweeps"], figure.readout["found"]
    (1, 3)
    """

    patterns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    stored = traitlets.Int(10).tag(sync=True)
    digit = traitlets.Int(0).tag(sync=True)
    cue = traitlets.Unicode(DIGITS[0]).tag(sync=True)
    degree = traitlets.Union([traitlets.Int(), traitlets.Unicode()], default_value="exp").tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    visits = traitlets.Int(0).tag(sync=True)

    constants: ClassVar = {"SIDE": SIDE, "PIXELS": PIXELS, "DEGREES": DEGREES}

    def __init__(
        self,
        digit: int = 3,
        cue: str | Sequence[float] | Tensor | None = None,
        degree: int | str = "exp",
        *,
        stored: int = 10,
        patterns: Iterable[str | Sequence[float]] | Tensor = DIGITS,
        seed: int = 0,
        visits: int = 0,
    ) -> None:
        pictures = [written(pattern) for pattern in patterns]
        meant = pictures[digit] if 0 <= digit < len(pictures) else BLANK
        super().__init__(
            patterns=pictures,
            stored=stored,
            digit=digit,
            cue=meant if cue is None else written(cue),
            degree=degree,
            seed=seed,
            visits=visits,
        )

    @traitlets.validate("patterns")
    def _check_patterns(self, proposal: dict[str, Any]) -> list[str]:
        patterns = proposal["value"]
        if not 1 <= len(patterns) <= MOST_PATTERNS:
            raise FigureError(f"patterns has {len(patterns)} pictures; expected 1 to {MOST_PATTERNS}")
        _check_whole("stored", self.stored, 1, len(patterns))
        _check_whole("digit", self.digit, 0, len(patterns) - 1)
        for pattern in patterns:
            check_picture("patterns has the picture", pattern)
        return patterns

    @traitlets.validate("cue")
    def _check_cue(self, proposal: dict[str, Any]) -> str:
        check_picture("cue is", proposal["value"])
        return proposal["value"]

    @traitlets.validate("stored", "digit", "seed", "visits")
    def _check_number(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        count = len(self.patterns) or MOST_PATTERNS  # without patterns, those are what is refused
        most = {"stored": count, "digit": count - 1}.get(name, 2**31 - 1)
        _check_whole(name, value, 1 if name == "stored" else 0, most)
        return value

    @traitlets.validate("degree")
    def _check_degree(self, proposal: dict[str, Any]) -> int | str:
        if proposal["value"] not in DEGREES:
            raise FigureError(f"degree is {proposal['value']!r}; expected one of {', '.join(map(repr, DEGREES))}")
        return proposal["value"]

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.hopfield`.

        ``sweeps``: how many change the picture, and ``orders``, in which they visit the pixels; ``energies``, at the cue and
        after each visit; ``turned``, the pixels that each visit turned, or -1 where it turned none. After ``visits`` visits:
        ``picture``; ``overlaps`` with the patterns stored, from -1 to 1; ``wrong``, the number of pixels in which it is not
        the pattern meant. At rest: ``found``, which pattern it is, or -1, and ``negative``, of which one it is the negative.
        """
        memory = spins(self.patterns[: self.stored])
        states, orders = self._recall(memory)
        energies = dense_energy(states, memory, degree=self.degree)
        here = states[min(self.visits, len(states) - 1)]
        overlaps, ends = (state @ memory.T / PIXELS for state in (here, states[-1]))
        changed = (states[1:] != states[:-1]).long()
        return {
            "sweeps": len(orders),
            "orders": orders,
            "energies": energies.tolist(),
            "turned": [row.argmax().item() if row.any() else -1 for row in changed],
            "picture": written(here),
            "overlaps": overlaps.tolist(),
            "wrong": int((here != spins([self.patterns[self.digit]])).sum()),
            "found": ends.tolist().index(1) if 1 in ends else -1,
            "negative": ends.tolist().index(-1) if -1 in ends else -1,
        }

    def _recall(self, memory: Tensor) -> tuple[Tensor, list[list[int]]]:
        """The state at the cue and after each visit, ``[visits + 1, 64]``, until a sweep changes nothing; the sweeps' orders.

        A sweep visits each pixel once, so halfway the visited pixels are as after the sweep and the others as before it.
        """
        states, sweeps = [spins([self.cue])], 0
        while True:
            order = shuffles(PIXELS, sweeps + 1, self.seed)[-1]
            before = states[-1][-1:]
            swept = dense_recall(before[:, order], memory[:, order], degree=self.degree, max_steps=1).state
            after = torch.empty_like(swept)
            after[:, order] = swept
            if torch.equal(after, before):
                return torch.cat(states), shuffles(PIXELS, sweeps, self.seed)
            when = torch.tensor(order).argsort()  # the place of each pixel in the order
            visited = when < torch.arange(1, PIXELS + 1)[:, None]
            states.append(torch.where(visited, after, before))
            sweeps += 1

    def alt(self) -> str:
        """What is stored, how much of the cue is wrong, and what is recalled, in two sentences."""
        said = self.readout
        wrong = int((spins([self.cue]) != spins([self.patterns[self.digit]])).sum())
        return (
            f"Associative memory of 8 by 8 pixels with {self.stored} stored pictures, {_steepness(self.degree)}. A cue that "
            f"differs from picture {self.digit} in {wrong} of 64 pixels ends, after {_sweeps(said)}, in {_end(said)}."
        )

    def still(self) -> str:
        """The picture meant, the cue and where the recall ends, with the overlaps of the end below the stored pictures."""
        said = self.readout
        memory = spins(self.patterns[: self.stored])
        end = self._recall(memory)[0][-1]
        trio = (("meant", self.patterns[self.digit]), ("cue", self.cue), ("recalled", written(end)))
        pictures = "".join(
            f'<text x="{20 + 150 * i}" y="62">{name}</text>{drawn(picture, 20 + 150 * i, 72, 16)}'
            for i, (name, picture) in enumerate(trio)
        )
        heights = (end @ memory.T / PIXELS).tolist()
        slot = 220 / self.stored
        bars = "".join(f"M{480 + (i + 0.1) * slot:.1f} 136v{-64 * h:.1f}h{0.8 * slot:.1f}V136z" for i, h in enumerate(heights))
        lines = (
            f"{self.stored} pictures stored, {_steepness(self.degree)}: in {_sweeps(said)} the energy goes from "
            f"{said['energies'][0]:.2f} to {said['energies'][-1]:.2f},",
            f"and the network rests in {_end(said)}.",
            "A still picture. Run the cell, or allow JavaScript, to damage pictures of your own.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 290" width="720" height="290" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="290" rx="12" fill="#fcfcfa"/>'
            f'<text x="20" y="32" font-weight="bold">Digit recall</text>{pictures}'
            '<text x="480" y="62">overlap with each stored picture</text>'
            f'<path d="{bars}" fill="#d55e00"/><path d="M480 136h220" stroke="#525e6d"/>'
            + "".join(f'<text x="20" y="{228 + 22 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise FigureError(f"{name} is {value}; expected an integer from {least} to {most}")


def _steepness(degree: int | str) -> str:
    return {2: "pairs of spins", 3: "cubes", 10: "power 10", "exp": "exponential"}[degree]


def _sweeps(said: dict[str, Any]) -> str:
    return f"{said['sweeps']} sweep{'s' * (said['sweeps'] != 1)}"


def _end(said: dict[str, Any]) -> str:
    if said["found"] >= 0:
        return f"picture {said['found']}, without a wrong pixel"
    if said["negative"] >= 0:
        return f"the negative of picture {said['negative']}"
    return "a picture that was never stored"
