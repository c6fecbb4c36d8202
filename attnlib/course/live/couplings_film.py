"""The couplings film: whom the spins of a classifier of digits listen to, and what it reads, as it learns (chapter 4)."""

import base64
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._figure import FigureError, LiveFigure

CURVES = {"right": "digits read", "mode": "held by one mode"}
"""Two shares that are drawn against the step, and how they are called."""

KINDS = {"class": "class and patches", "near": "neighbouring patches", "far": "other patches"}
"""Three kinds of pairs, whose mean strengths are shown as bars."""

TICKS = (0, 20, 100, 300, 1000)
"""Steps that are marked below the curves."""

LEAST, BEND = 0.06, 1.5
"""How dark a patch is that is not coupled, and the power of a strength that darkness goes with."""


class CouplingsFilm(LiveFigure):
    """Spins of a classifier, one for each patch of a digit and one for its class: how strongly one is coupled to all others.

    It plays what ``recorded("digits")`` holds of one training run: Frobenius norms of the couplings ``J_ij [d, d]``, in 8 bits,
    so that a strength shown is right to one part in 255 of the largest. Nothing is trained here.

    Traits, all to be set, observed and linked:

    - ``film``: the norms of all pairs at the recorded steps, and how many digits were right;
    - ``spin``: the one whose couplings are shown, 0 for the class, 1 and up for the patches, row by row;
    - ``step``: of the training. The picture is that of the last recorded step up to this one.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> from attnlib.course.data.recorded import recorded
    >>> figure = CouplingsFilm(recorded("digits"), step=1000)
    >>> figure.readout["step"], figure.readout["class"] > figure.readout["far"]
    (1000, True)
    """

    constants: ClassVar[dict[str, Any]] = {"CURVES": CURVES, "KINDS": KINDS, "TICKS": TICKS, "LEAST": LEAST, "BEND": BEND}
    film = traitlets.Dict().tag(sync=True)
    spin = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, record: dict[str, Any], spin: int = 0, step: int = 0) -> None:
        if not isinstance(record, dict) or not isinstance(record.get("film"), dict):
            raise FigureError(f'record is {record!r:.40}; expected what recorded("digits") returns')
        made = record["film"]
        norms, (height, width) = torch.tensor(made["norms"], dtype=torch.float64), made["patch"]
        largest = norms.max().item()
        parts = (255 * norms / largest).round().to(torch.uint8)
        film = {
            "at": made["at"],
            "steps": made["steps"],
            "right": made["right"],
            "mode": made["top_share"],
            "grid": [8 // height, 8 // width],
            "largest": largest,
            "norms": base64.b64encode(parts.numpy().tobytes()).decode(),
        }
        super().__init__(film=film, spin=spin, step=step)

    @traitlets.validate("spin", "step")
    def _check_number(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        most = {"spin": self.sites - 1, "step": self.film["steps"]}[name]
        if not 0 <= value <= most:
            raise FigureError(f"{name} is {value}; expected 0 <= {name} <= {most}")
        return value

    @property
    def sites(self) -> int:
        """The number of spins, one for the class and one for each patch."""
        return 1 + self.film["grid"][0] * self.film["grid"][1]

    @property
    def frame(self) -> int:
        """The place, among those recorded, of the last step up to ``step``."""
        return sum(at <= self.step for at in self.film["at"]) - 1

    def norms(self) -> Tensor:
        """Strengths at all recorded steps, ``[frames, sites, sites]`` in float64, symmetric with a zero diagonal."""
        n, parts = self.sites, torch.frombuffer(bytearray(base64.b64decode(self.film["norms"])), dtype=torch.uint8)
        found = torch.zeros(len(self.film["at"]), n, n, dtype=torch.float64)
        rows, columns = torch.triu_indices(n, n, 1)
        found[:, rows, columns] = parts.double().reshape(len(found), -1) * self.film["largest"] / 255
        return found + found.mT

    @property
    def readout(self) -> dict[str, Any]:
        """The numbers that the figure shows.

        ``step``, a recorded one, and at this step ``norms``, the strengths of the chosen spin's couplings to all; the
        ``strongest`` pair of all; ``right``, the share of right answers on unseen digits; ``mode``, what part of the squared
        strengths is that of the largest eigenvalue; and the mean strengths of three kinds of pairs: ``class`` spin and patch,
        ``near``, patches with a common edge, and ``far``, patches without.
        """
        norms = self.norms()[self.frame]
        strongest = int(norms.triu(1).argmax())
        return {
            "step": self.film["at"][self.frame],
            "norms": norms[self.spin].tolist(),
            "strongest": [strongest // self.sites, strongest % self.sites],
            "right": self.film["right"][self.frame],
            "mode": self.film["mode"][self.frame],
            **{name: norms[kind].mean().item() for name, kind in kinds(*self.film["grid"]).items()},
        }

    def alt(self) -> str:
        """The step, how many digits are right, and how strong the three kinds of pairs are."""
        said = self.readout
        return (
            f"Couplings of a classifier of digits after {said['step']} steps of training, when it has "
            f"{100 * said['right']:.1f} % of unseen digits right. One mode has {100 * said['mode']:.0f} % of the squared "
            f"strengths. Mean strength of the couplings between class spin and patches {said['class']:.2f}, between "
            f"neighbouring patches {said['near']:.2f}, between other patches {said['far']:.2f}."
        )

    def still(self) -> str:
        """Patches as dark as they are coupled to the chosen spin, and two curves with a mark at the step."""
        said, columns = self.readout, self.film["grid"][1]
        shares = [LEAST + (1 - LEAST) * (norm / self.film["largest"]) ** BEND for norm in said["norms"]]
        tiles = "".join(
            f'<rect x="{40 + 50 * (place % columns)}" y="{74 + 50 * (place // columns)}" width="48" height="48" rx="4" '
            + (
                'fill="#d55e00"/>'
                if place + 1 == self.spin
                else f'fill="#0072b2" fill-opacity="{shares[place + 1]:.3f}" stroke="#d8d8d0"/>'
            )
            for place in range(self.sites - 1)
        )
        own = 'fill="#d55e00"' if self.spin == 0 else f'fill="#0072b2" fill-opacity="{shares[0]:.3f}" stroke="#d8d8d0"'
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 330" width="720" height="330" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="330" rx="12" fill="#fcfcfa"/>'
            f'<circle cx="139" cy="44" r="20" {own}/><text x="168" y="49">class</text>{tiles}{self._curves(said)}'
            f'<text x="20" y="298">After {said["step"]} steps: {100 * said["right"]:.1f} % of unseen digits right. '
            "Dark: strongly coupled to the orange spin.</text>"
            '<text x="20" y="318">A still picture. Run the cell, or allow JavaScript, to play and to choose a spin.</text>'
            "</svg>"
        )

    def _curves(self, said: dict[str, Any]) -> str:
        """Both shares against the recorded steps, from 0 to 1, each with its name and a mark at the step."""
        found = [
            '<path d="M330 60v200h360" fill="none" stroke="#d8d8d0"/>',
            '<text x="300" y="66">1</text><text x="300" y="264">0</text>',
        ]
        for key, colour, high in (("mode", "#0072b2", 178), ("right", "#d55e00", 128)):
            values = self.film[key]
            points = [f"{330 + 360 * frame / (len(values) - 1):.1f} {260 - 200 * y:.1f}" for frame, y in enumerate(values)]
            x, y = points[self.frame].split()
            found += [
                f'<path d="M{"L".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>',
                f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>',
                f'<text x="690" y="{high}" fill="{colour}" text-anchor="end">{CURVES[key]}: {100 * said[key]:.0f} %</text>',
            ]
        return "".join(found)


def kinds(rows: int, columns: int) -> dict[str, Tensor]:
    """Masks ``[sites, sites]`` of three kinds of pairs, each pair twice."""
    place = torch.arange(rows * columns)
    apart = (place[:, None] // columns - place // columns).abs() + (place[:, None] % columns - place % columns).abs()
    found = {name: torch.zeros(1 + len(place), 1 + len(place), dtype=torch.bool) for name in ("class", "near", "far")}
    found["class"][0, 1:] = found["class"][1:, 0] = True
    found["near"][1:, 1:], found["far"][1:, 1:] = apart == 1, apart > 1
    return found
