"""The couplings film: how strongly each pair of spins of a classifier of digits is coupled as it learns (chapter 4)."""

import base64
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._figure import FigureError, LiveFigure

CURVES = {
    "right": "digits right",
    "mode": "one mode",
    "class": "class to patch",
    "near": "neighbours",
    "far": "apart",
}
"""What is drawn against the step, and how it is called: two shares, and mean strengths of three kinds of pairs."""

TICKS = (0, 20, 100, 300, 1000)
"""Steps that are marked below the curves."""


class CouplingsFilm(LiveFigure):
    """Spins of a classifier, one for each patch of a digit and one for its class, joined by how strongly they are coupled.

    It plays what ``recorded("digits")`` holds of one training run: Frobenius norms of the couplings ``J_ij [d, d]``, in 8 bits,
    so that a strength shown is right to one part in 255 of the largest. Nothing is trained here.

    Traits, all to be set, observed and linked:

    - ``film``: the norms of all pairs at the recorded steps, and how many digits were right;
    - ``spin``: the one whose couplings stand out, 0 for the class, 1 and up for the patches, row by row;
    - ``step``: of the training. The picture is that of the last recorded step up to this one.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> from attnlib.course.data.recorded import recorded
    >>> figure = CouplingsFilm(recorded("digits"), step=1000)
    >>> figure.readout["step"], figure.readout["class"] > figure.readout["far"]
    (1000, True)
    """

    constants: ClassVar[dict[str, Any]] = {"CURVES": CURVES, "TICKS": TICKS}
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
        """The spins, joined by lines as wide as their couplings are strong, and the curves with a mark at the step."""
        said, norms = self.readout, self.norms()[self.frame]
        where = [(150.0, 40.0)] + [
            (60 + 180 * (place % self.film["grid"][1]) / (self.film["grid"][1] - 1), 92 + 52 * (place // self.film["grid"][1]))
            for place in range(self.sites - 1)
        ]
        lines = []
        for i in range(self.sites):
            for j in range(i):
                share = norms[i, j].item() / self.film["largest"]
                if share > 0.2:
                    colour = "#d55e00" if self.spin in (i, j) else "#0072b2"
                    ends = "{:.0f} {:.0f}L{:.0f} {:.0f}".format(*where[j], *where[i])
                    width = f'stroke-width="{5 * share:.1f}" opacity="{share:.2f}"'
                    lines.append(f'<path d="M{ends}" stroke="{colour}" {width}/>')
        dots = "".join(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="8" fill="#1d2733"/>' for x, y in where)
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 330" width="720" height="330" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="330" rx="12" fill="#fcfcfa"/>'
            f'{"".join(lines)}{dots}<text x="166" y="36">class</text>{self._curves(said)}'
            f'<text x="20" y="290">After {said["step"]} steps: {100 * said["right"]:.1f} % of unseen digits right.</text>'
            '<text x="20" y="312">A still picture. Run the cell, or allow JavaScript, to play and to choose a spin.</text>'
            "</svg>"
        )

    def _curves(self, said: dict[str, Any]) -> str:
        """Each curve in a strip of its own, from zero."""
        every, kind, found = self.norms(), kinds(*self.film["grid"]), []
        for place, (key, name) in enumerate(CURVES.items()):
            values = every[:, kind[key]].mean(-1).tolist() if key in kind else self.film[key]
            top = every.max().item() if key in kind else 1.0
            base = 66 + 46 * place
            across = [320 + 370 * frame / (len(values) - 1) for frame in range(len(values))]
            points = [f"{x:.1f} {base - 26 * y / top:.1f}" for x, y in zip(across, values, strict=True)]
            x, y = points[self.frame].split()
            found.append(
                f'<text x="320" y="{base - 29}" font-size="12">{name}: {said[key]:.2f}</text><path d="M320 {base}h370" '
                f'stroke="#d8d8d0"/><path d="M{"L".join(points)}" fill="none" stroke="#0072b2" stroke-width="1.5"/>'
                f'<circle cx="{x}" cy="{y}" r="4" fill="#d55e00"/>'
            )
        return "".join(found)


def kinds(rows: int, columns: int) -> dict[str, Tensor]:
    """Masks ``[sites, sites]`` of three kinds of pairs, each pair twice."""
    place = torch.arange(rows * columns)
    apart = (place[:, None] // columns - place // columns).abs() + (place[:, None] % columns - place % columns).abs()
    found = {name: torch.zeros(1 + len(place), 1 + len(place), dtype=torch.bool) for name in ("class", "near", "far")}
    found["class"][0, 1:] = found["class"][1:, 0] = True
    found["near"][1:, 1:], found["far"][1:, 1:] = apart == 1, apart > 1
    return found
