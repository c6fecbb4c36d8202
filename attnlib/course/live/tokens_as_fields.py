"""Tokens as fields: three fields in a plane, and how vector spins respond to them (chapter 5)."""

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import torch
import traitlets
from torch import Tensor

from attnlib._core.checks import Scalar
from attnlib.course.live._figure import Choice, FigureError, LiveFigure, Number
from attnlib.free_energy import coupling_response, field_couplings, saddle_point

TOKENS, COMPONENTS, EDGE = 3, 2, 3.0
MOST_STRENGTH, LEAST_BETA, MOST_BETA = 2.0, 0.4, 4.0
START = [[2.0, 0.4], [0.6, 1.9], [-1.4, -0.8]]
COUPLINGS = {
    "fixed": "fixed numbers, all equal",
    "tanh": "tanh of the scores",
    "softmax": "softmax of the scores",
}
"""What couples the spins, with the words of the menu."""

COLOURS = ["#0072b2", "#d55e00", "#009e73"]


class TokensAsFields(LiveFigure):
    r"""Three tokens are fields on three vector spins of two components; each spin's response is drawn beside its token.

    .. math:: -\frac{dF}{dh_i} = \langle s_i \rangle
        + \frac12 \sum_{mn} \langle s_m \cdot s_n \rangle \frac{\partial J_{mn}}{\partial h_i}

    The first term never exceeds a spin's length, the square root of 2. The second is there where the couplings are made from
    the tokens, by :func:`attnlib.free_energy.field_couplings` with the identity for a kernel, and has no such bound.

    Traits, all to be set, observed and linked:

    - ``tokens``: h, three pairs of numbers from -3 to 3;
    - ``couplings``: ``"tanh"`` (default), ``"softmax"`` or ``"fixed"``, the strength over the square root of 3 for each pair;
    - ``strength``: g, from -2 to 2;
    - ``beta``: the inverse temperature, from 0.4 to 4.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> said = TokensAsFields(strength=0).readout
    >>> [round(math.hypot(*m), 3) for m in said["m"]], said["more"][0]
    ([1.007, 0.999, 0.924], [0.0, 0.0])
    """

    tokens = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    couplings = Choice("tanh", COUPLINGS).tag(sync=True)
    strength = traitlets.Float(1.0).tag(sync=True)
    beta = Number(1.0, least=LEAST_BETA, most=MOST_BETA).tag(sync=True)

    constants: ClassVar[dict[str, Any]] = {
        "TOKENS": TOKENS,
        "COMPONENTS": COMPONENTS,
        "EDGE": EDGE,
        "MOST_STRENGTH": MOST_STRENGTH,
        "LEAST_BETA": LEAST_BETA,
        "MOST_BETA": MOST_BETA,
        "COUPLINGS": COUPLINGS,
    }

    def __init__(
        self,
        tokens: Iterable[Iterable[Scalar]] | None = None,
        couplings: str = "tanh",
        *,
        strength: float | int = 1.0,
        beta: float | int = 1.0,
    ) -> None:
        placed = START if tokens is None else [[float(part) for part in token] for token in tokens]
        super().__init__(tokens=placed, couplings=couplings, strength=float(strength), beta=float(beta))

    @traitlets.validate("tokens")
    def _check_tokens(self, proposal: dict[str, Any]) -> list[list[float]]:
        tokens = proposal["value"]
        if [len(token) for token in tokens] != [COMPONENTS] * TOKENS:
            raise FigureError(f"tokens has parts of sizes {[len(token) for token in tokens]}; expected 3 pairs")
        for part in (part for token in tokens for part in token):
            if not abs(part) <= EDGE:  # a NaN fails it too
                raise FigureError(f"tokens has the entry {part}; expected numbers between -{EDGE:g} and {EDGE:g}")
        return tokens

    @traitlets.validate("strength")
    def _check_strength(self, proposal: dict[str, Any]) -> float:
        if not abs(proposal["value"]) <= MOST_STRENGTH:
            span = f"a number between -{MOST_STRENGTH:g} and {MOST_STRENGTH:g}"
            raise FigureError(f"strength is {proposal['value']}; expected {span}")
        return proposal["value"]

    def system(self) -> tuple[Tensor, Tensor]:
        """The couplings ``[3, 3]`` and the fields ``[3, 2]``, in float64."""
        h = torch.tensor(self.tokens, dtype=torch.float64)
        if self.couplings == "fixed":
            J = torch.full((TOKENS, TOKENS), self.strength / TOKENS**0.5, dtype=torch.float64)
            return J - J.diag().diag(), h
        return field_couplings(h, form="softmax" if self.couplings == "softmax" else "tanh", strength=self.strength), h

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.free_energy`.

        ``J`` of the pairs 1 2, 1 3 and 2 3; ``z``; the means ``m``; ``more``, the second term of each response; ``chi``, how
        much each spin fluctuates; ``series``, the spectral radius of ``z^-1 J``: below 1 its powers add up to the response.
        """
        J, h = self.system()
        found = saddle_point(J, h, beta=self.beta)
        more = torch.zeros_like(h)
        if self.couplings != "fixed":
            form: Literal["tanh", "softmax"] = "softmax" if self.couplings == "softmax" else "tanh"
            more = coupling_response(h, COMPONENTS * found.overlaps, form=form, strength=self.strength)
        root = found.z.rsqrt()
        return {
            "J": J[[0, 0, 1], [1, 2, 2]].tolist(),
            "z": found.z.tolist(),
            "m": found.m.tolist(),
            "more": more.tolist(),
            "chi": found.chi.diagonal().tolist(),
            "series": torch.linalg.eigvalsh(root[:, None] * J * root).abs().max().item(),
        }

    def alt(self) -> str:
        """The tokens, what couples them, and how long the responses are, in two sentences."""
        said = self.readout
        lengths = [math.hypot(*(a + b for a, b in zip(m, more, strict=True))) for m, more in _pairs(said)]
        return (
            f"Three tokens in a plane and the responses of their spins, coupled by {COUPLINGS[self.couplings]} with strength "
            f"{self.strength:.4g}. Lengths of the responses: {', '.join(f'{x / 2**0.5:.2f}' for x in lengths)} of a spin's."
        )

    def still(self) -> str:
        """The plane: tokens as rings, means as dots, and the second terms as lines that begin there."""
        said, parts = self.readout, []

        def at(x: float, y: float) -> str:
            return f"{190 + 56 * x:.1f} {190 - 56 * y:.1f}"

        for token, (m, more), colour in zip(self.tokens, _pairs(said), COLOURS, strict=True):
            (x, y), (a, b) = at(*token).split(), at(*m).split()
            whole = at(*(one + two for one, two in zip(m, more, strict=True)))
            parts.append(
                f'<path d="M{x} {y}L{a} {b}" stroke="{colour}" stroke-dasharray="3 3"/>'
                f'<path d="M{a} {b}L{whole}" stroke="{colour}" stroke-width="3"/>'
                f'<circle cx="{x}" cy="{y}" r="8" fill="#fcfcfa" stroke="{colour}" stroke-width="3"/>'
                f'<circle cx="{a}" cy="{b}" r="5" fill="{colour}"/>'
            )
        lines = (
            f"Couplings: {COUPLINGS[self.couplings]}, strength {self.strength:.4g}",
            "Rings: tokens. Dots: means of their spins.",
            "Thick lines: what moving couplings add.",
            "The circle is a spin's length.",
            "A still picture. Run the cell, or allow",
            "JavaScript, to drag the tokens.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 380" width="720" height="380" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="380" rx="12" fill="#fcfcfa"/>'
            f'<path d="M20 190h340M190 20v340" stroke="#d8d8d0"/>'
            f'<circle cx="190" cy="190" r="{56 * 2**0.5:.1f}" fill="none" stroke="#525e6d"/>'
            + "".join(parts)
            + "".join(f'<text x="385" y="{60 + 26 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


def _pairs(said: dict[str, Any]) -> Iterable[tuple[list[float], list[float]]]:
    return zip(said["m"], said["more"], strict=True)
