"""The context lab: ten spins whose couplings are always the same, or come from what their tokens say (chapter 7)."""

import functools
import math
from itertools import pairwise
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.data.spins import GAIN, SPINS, VARIANCE, WIDTH, context_couplings, fixed_couplings
from attnlib.course.live._draws import normals
from attnlib.course.live._figure import FigureError, LiveFigure, Number, Whole
from attnlib.mean_field import exact_ising

LEAST, LAST_DRAW, CONTEXTS, CONTEXT, DIGITS = 0.001, 999, 160, 4, 6
KINDS = {"bound": "bound of the blind", "blind": "blind", "reads": "reads once", "steps": "reads in steps"}
"""What a recorded line can be, with the words for it."""

RECORD: dict[str, Any] = {
    "at": [0.01, 0.03, 0.1, 0.3, 1.0],
    "lines": [
        {"name": "bound of the blind", "kind": "bound", "errors": [0.0100, 0.0325, 0.118, 0.332, 0.661]},
        {"name": "linear map", "kind": "blind", "errors": [0.0106, 0.0328, 0.117, 0.328, 0.658]},
        {"name": "learned places", "kind": "blind", "errors": [0.0179, 0.0405, 0.122, 0.328, 0.656]},
        {"name": "mean field", "kind": "blind", "errors": [0.0140, 0.0369, 0.122, 0.329, 0.658]},
        {"name": "vector spins", "kind": "blind", "errors": [0.0111, 0.0330, 0.117, 0.326, 0.657]},
        {"name": "softmax", "kind": "reads", "errors": [0.0148, 0.0269, 0.0663, 0.165, 0.277]},
        {"name": "energy attention", "kind": "reads", "errors": [0.0161, 0.0273, 0.0688, 0.167, 0.278]},
        {"name": "vector spins on softmax", "kind": "reads", "errors": [0.0180, 0.0285, 0.0676, 0.149, 0.244]},
        {"name": "softmax in two tied steps", "kind": "steps", "errors": [0.0037, 0.0077, 0.0159, 0.0407, 0.0887]},
        {"name": "softmax in four tied steps", "kind": "steps", "errors": [0.0026, 0.0051, 0.0101, 0.0220, 0.0515]},
    ],
}
"""Errors of trained networks relative to the variance of the means, at each lambda: means of five runs of collectives.py."""

SCENES = {
    "\u03bb = 0.01: the blind are ahead": {"share": 0.01},
    "\u03bb = 0.1: reading is ahead": {"share": 0.1},
    "\u03bb = 1: two thirds are out of their sight": {"share": 1.0},
}
"""Sentences that set the figure."""

J0 = [[round(entry, DIGITS) for entry in row] for row in fixed_couplings().tolist()]
"""The couplings that all systems share, as the module has them: rounded, so that every processor writes the same text."""


class ContextLab(LiveFigure):
    r"""Ten tokens, each with a field and four numbers of content, are spins; lambda says where their couplings come from.

    .. math:: J_{ij} = \sqrt{1 - \lambda}\, J^0_{ij} + \sqrt\lambda\, g\, \frac{x_i \cdot x_j}{\sqrt{d N}}

    Shown are the contents, the couplings, and the exact means of the spins. Beside each mean stands the best answer of whoever
    sees all fields but no content: the average of the mean over 160 other contexts. A plot holds recorded errors of trained
    networks against lambda, those that are blind to content and those that read it.

    Traits, all to be set, observed and linked:

    - ``share``: lambda, from 0.001 to 1;
    - ``context`` and ``field``: which contents and which fields are drawn, from 0 to 999;
    - ``record``: ``{"at": [...], "lines": [{"name", "kind", "errors"}, ...]}``, values of lambda in ascending order and an
      error at each; a kind is ``"bound"``, ``"blind"``, ``"reads"`` or ``"steps"``.

    Raises:
        FigureError: a ValueError; a trait that the figure cannot draw. The trait keeps its old value.

    >>> near, far = ContextLab(share=0.01).readout, ContextLab(share=1.0).readout
    >>> near["floor"] < 0.02, far["floor"] > 0.5
    (True, True)
    """

    constants: ClassVar[dict[str, Any]] = {
        "SPINS": SPINS,
        "WIDTH": WIDTH,
        "GAIN": GAIN,
        "VARIANCE": VARIANCE,
        "LEAST": LEAST,
        "LAST_DRAW": LAST_DRAW,
        "CONTEXTS": CONTEXTS,
        "KINDS": KINDS,
        "SCENES": SCENES,
        "J0": J0,
    }
    share = Number(0.3, least=LEAST, most=1).tag(sync=True)
    context = Whole(CONTEXT, least=0, most=LAST_DRAW).tag(sync=True)
    field = Whole(0, least=0, most=LAST_DRAW).tag(sync=True)
    record = traitlets.Dict().tag(sync=True)

    def __init__(
        self, share: float | int = 0.3, *, context: int = CONTEXT, field: int = 0, record: dict[str, Any] | None = None
    ) -> None:
        super().__init__(share=float(share), context=context, field=field, record=RECORD if record is None else record)

    @traitlets.validate("record")
    def _check_record(self, proposal: dict[str, Any]) -> dict[str, Any]:
        record = proposal["value"]
        if set(record) != {"at", "lines"} or not _ascends(record["at"]):
            raise FigureError(f"record is {record!r:.60}; expected at, ascending numbers from 0 to 1, and lines")
        for line in record["lines"]:
            good = set(line) == {"name", "kind", "errors"} and line["kind"] in KINDS
            if not good or len(line["errors"]) != len(record["at"]) or not all(0 < error < 10 for error in line["errors"]):
                raise FigureError(f"record has the line {line!r:.80}; expected a name, a kind and an error for each of at")
        return record

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.mean_field`.

        ``h [10]``, ``x [10, 4]`` and ``J [10, 10]`` of the system; ``m``, its exact means. Over 160 contexts with the same
        fields: ``blind``, the average of each mean, and ``spread``, its standard deviation. In units of the average square of
        the means: ``error``, the square of what the blind answer misses here, and ``floor``, what it misses on average.
        ``lines``, each recorded line at this lambda, interpolated between logarithms, -1 where nothing is recorded.
        """
        h, x = fields_of(self.field), contents_of(self.context)
        fixed = torch.tensor(J0, dtype=torch.float64)
        J = context_couplings(torch.cat([x[None], _reference()]), context=self.share, fixed=fixed)
        m, others = exact_ising(J, h.expand(len(J), -1)).m.split([1, CONTEXTS])
        whole, blind = others.square().mean(), others.mean(0)
        return {
            "h": h.tolist(),
            "x": x.tolist(),
            "J": J[0].tolist(),
            "m": m[0].tolist(),
            "blind": blind.tolist(),
            "spread": others.std(0).tolist(),
            "error": ((m[0] - blind).square().mean() / whole).item(),
            "floor": (others.var(0).mean() / whole).item(),
            "lines": [self._between(line["errors"]) for line in self.record["lines"]],
        }

    def _between(self, errors: list[float]) -> float:
        at = self.record["at"]
        for (left, right), (low, high) in zip(pairwise(at), pairwise(errors), strict=True):
            if left <= self.share <= right:
                return low * (high / low) ** (math.log(self.share / left) / math.log(right / left))
        return -1.0

    def alt(self) -> str:
        """Where couplings come from, and how much of the means the blind cannot know, in three sentences."""
        said = self.readout
        return (
            f"Context lab: ten spins, {100 * self.share:.3g} % of the variance of their couplings comes from what their tokens "
            f"say. Whoever sees the fields alone misses {said['error']:.2f} of the variance of the means here, and "
            f"{said['floor']:.2f} on average. {self._ahead(said['lines'])}"
        )

    def _ahead(self, errors: list[float]) -> str:
        """Who is ahead of the recorded networks, in a sentence."""
        told = list(zip(errors, self.record["lines"], strict=True))
        best = [
            min(((error, line["name"]) for error, line in told if line["kind"] == kind and error > 0), default=None)
            for kind in ("blind", "reads")
        ]
        if best[0] is None or best[1] is None:
            return "Too few networks are recorded here."
        (blind, one), (reads, other) = best[0], best[1]
        return f"Recorded errors: {one}, which is blind, {blind:.3f}; {other}, which reads, {reads:.3f}."

    def still(self) -> str:
        """The couplings as shades, and for each spin a bar, its mean, and a mark, the best blind answer."""
        said, rows = self.readout, []
        for i, row in enumerate(said["J"]):
            y = 60 + 26 * i
            rows += [
                f'<rect x="{20 + 26 * j}" y="{y}" width="24" height="24" fill="{"#d55e00" if entry > 0 else "#0072b2"}" '
                f'fill-opacity="{min(1, abs(entry) / 0.8):.2f}"/>'
                for j, entry in enumerate(row)
            ]
            m, blind = (500 + 180 * said[name][i] for name in ("m", "blind"))
            rows.append(
                f'<path d="M500 {y + 12}H{m:.1f}" stroke="#d55e00" stroke-width="14"/>'
                f'<path d="M{blind:.1f} {y}v24" stroke="#1d2733" stroke-width="3"/>'
            )
        lines = [
            f"The blind answer misses {said['error']:.2f} of the variance here, {said['floor']:.2f} on average.",
            "A still picture. Run the cell, or allow JavaScript, to turn lambda and draw other contexts.",
        ]
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" width="720" height="400" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="400" rx="12" fill="#fcfcfa"/>'
            f'<text x="20" y="40" font-weight="bold">couplings at lambda = {self.share:.3g}</text>'
            '<text x="320" y="40" font-weight="bold">exact means (bars), best blind answer (marks)</text>'
            + "".join(rows)
            + "".join(f'<text x="20" y="{348 + 24 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


def _ascends(at: Any) -> bool:
    return len(at) > 1 and at[0] > 0 and at[-1] <= 1 and all(one < other for one, other in pairwise(at))


def fields_of(field: int) -> Tensor:
    """The fields ``[10]`` of a draw, from the odd seeds."""
    return math.sqrt(VARIANCE) * normals(SPINS, 2 * field + 1)


def contents_of(context: int) -> Tensor:
    """What the tokens of a context say, ``[10, 4]``, from the even seeds."""
    return normals(SPINS * WIDTH, 2 * context).reshape(SPINS, WIDTH)


@functools.cache
def _reference() -> Tensor:
    """The contexts over which a blind one averages, ``[160, 10, 4]``, from a seed that no draw has."""
    return normals(CONTEXTS * SPINS * WIDTH, 2 * LAST_DRAW + 2).reshape(CONTEXTS, SPINS, WIDTH)
