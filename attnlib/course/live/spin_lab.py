"""The spin lab: ten coupled spins, solved exactly and by naive mean field, TAP and adaptive TAP (chapter 4)."""

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib._core.checks import Scalar
from attnlib._core.convergence import ConvergenceWarning
from attnlib.course.live._draws import normals
from attnlib.course.live._figure import Choice, FigureError, LiveFigure, Number, Seed
from attnlib.mean_field import MeanField, adaptive_tap, almeida_thouless, exact_ising, naive_mean_field, tap

SPINS = 10
MOST_STRENGTH, MOST_FIELD, MOST_STEPS = 2.0, 1.5, 400
FIELDS = [0.3, -0.2, 0.4, -0.1, 0.2, -0.4, 0.1, 0.3, -0.3, 0.2]
KINDS = {
    "glass": "a glass: each coupling random",
    "friends": "friends: all agree",
    "rivals": "rivals: all differ",
    "ring": "a ring: two neighbours each",
}
"""What couplings there are to choose from, with the words of the menu."""

THEORIES: dict[str, tuple[Callable[..., MeanField], str]] = {
    "naive": (naive_mean_field, "Naive mean field"),
    "tap": (tap, "TAP"),
    "adaptive": (adaptive_tap, "Adaptive TAP"),
}


def couplings(kind: str, seed: int) -> Tensor:
    """The couplings ``[10, 10]`` of a kind at strength 1, in float64. Only a glass depends on the seed."""
    J = torch.zeros(SPINS, SPINS, dtype=torch.float64)
    if kind == "glass":
        above = torch.triu_indices(SPINS, SPINS, 1)
        J[above[0], above[1]] = normals(SPINS * (SPINS - 1) // 2, seed) / math.sqrt(SPINS)
    elif kind == "ring":
        J[range(SPINS), [(i + 1) % SPINS for i in range(SPINS)]] = 0.7
    else:
        J += torch.full_like(J, 1 / (SPINS - 1) if kind == "friends" else -1 / 3).triu(1)
    return J + J.mT


class SpinLab(LiveFigure):
    r"""Ten spins: their exact magnetisations and those of three mean-field theories, side by side.

    The weight of a state is :math:`\exp(g \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i)`, with ``g`` the strength and the inverse
    temperature in both. The exact answer is a sum over all 1024 states. Each theory starts from the answer to the fields alone
    and is given 400 steps.

    Traits, all to be set, observed and linked:

    - ``strength``: g, from 0 to 2;
    - ``kind``: what couplings, ``"glass"`` (default), ``"friends"``, ``"rivals"`` or ``"ring"``, and ``seed``, which glass, an
      integer from 0;
    - ``fields``: h, ten numbers from -1.5 to 1.5.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> said = SpinLab(strength=0.5).readout
    >>> [round(error, 3) for error in said["errors"]]
    [0.086, 0.013, 0.002]
    """

    strength = Number(0.6, least=0, most=MOST_STRENGTH).tag(sync=True)
    kind = Choice("glass", KINDS).tag(sync=True)
    seed = Seed(0).tag(sync=True)
    fields = traitlets.List(traitlets.Float()).tag(sync=True)

    constants: ClassVar[dict[str, Any]] = {
        "SPINS": SPINS,
        "MOST_STRENGTH": MOST_STRENGTH,
        "MOST_FIELD": MOST_FIELD,
        "MOST_STEPS": MOST_STEPS,
        "KINDS": KINDS,
        "THEORIES": {name: words for name, (_, words) in THEORIES.items()},
        "TOLERANCE": torch.finfo(torch.float64).eps ** (2 / 3),
    }

    def __init__(
        self,
        strength: float | int = 0.6,
        kind: str = "glass",
        *,
        seed: int = 0,
        fields: Iterable[Scalar] | None = None,
    ) -> None:
        placed = FIELDS if fields is None else [float(field) for field in fields]
        super().__init__(strength=float(strength), kind=kind, seed=seed, fields=placed)

    @traitlets.validate("fields")
    def _check_fields(self, proposal: dict[str, Any]) -> list[float]:
        fields = proposal["value"]
        if len(fields) != SPINS:
            raise FigureError(f"fields has {len(fields)} entries; expected {SPINS}")
        for field in fields:
            if not abs(field) <= MOST_FIELD:
                raise FigureError(f"fields has the entry {field}; expected numbers between -{MOST_FIELD} and {MOST_FIELD}")
        return fields

    def system(self) -> tuple[Tensor, Tensor]:
        """The couplings ``[10, 10]``, with the strength, and the fields ``[10]``, in float64."""
        return self.strength * couplings(self.kind, self.seed), torch.tensor(self.fields, dtype=torch.float64)

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.mean_field`.

        ``exact`` magnetisations, those of ``naive``, ``tap`` and ``adaptive``, an empty list where a theory did not converge.
        Of the theories, in this order, with -1 where one did not converge: ``errors``, root mean square; ``reactions``, mean
        V; ``stability``. ``line``, the distance from the Almeida-Thouless line at the exact magnetisations. ``frustrated``,
        the share of triangles whose three couplings cannot all be satisfied.
        """
        J, h = self.system()
        exact = exact_ising(J, h).m
        said: dict[str, Any] = {"exact": exact.tolist(), "errors": [], "reactions": [], "stability": []}
        for name, (theory, _) in THEORIES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found = theory(J, h, max_steps=MOST_STEPS, on_failure="warn")
            good = bool(found.converged)
            said[name] = found.m.tolist() if good else []
            said["errors"].append((found.m - exact).square().mean().sqrt().item() if good else -1.0)
            said["reactions"].append(found.V.mean().item() if good else -1.0)
            said["stability"].append(found.stability.item() if good else -1.0)
        signs = couplings(self.kind, self.seed).sign()
        loops = torch.einsum("ij,jk,ki->ijk", signs, signs, signs)
        count = int((loops != 0).sum())
        return said | {
            "line": almeida_thouless(J, exact).item(),
            "frustrated": int((loops < 0).sum()) / count if count else 0.0,
        }

    def alt(self) -> str:
        """The system, and how far each theory is from the exact magnetisations, in two sentences."""
        said = self.readout
        far = [f"{words} {_far(error)}" for (_, words), error in zip(THEORIES.values(), said["errors"], strict=True)]
        return (
            f"Exact magnetisations of ten spins with couplings of strength {self.strength:.4g}, {KINDS[self.kind]}, as bars; "
            f"those of three theories as marks. Root mean square errors: {', '.join(far)}."
        )

    def still(self) -> str:
        """Ten bars, three marks on each, and a line for each field."""
        said, parts = self.readout, []
        for i, (exact, field) in enumerate(zip(said["exact"], self.fields, strict=True)):
            x = 40 + 66 * i
            parts.append(
                f'<rect x="{x}" y="{110 - 90 * max(exact, 0):.1f}" width="44" height="{90 * abs(exact):.1f}" fill="#b9bfc7"/>'
            )
            parts.append(f'<path d="M{x + 22} 224v{-16 * field:.1f}" stroke="#1d2733" stroke-width="5"/>')
            for name, (colour, shift) in MARKS.items():
                for m in said[name][i : i + 1]:
                    parts.append(f'<circle cx="{x + shift}" cy="{110 - 90 * m:.1f}" r="5" fill="{colour}"/>')
        words = ", ".join(
            f"{name} {_far(error)} ({colour})"
            for (_, name), error, colour in zip(THEORIES.values(), said["errors"], ("orange", "blue", "green"), strict=True)
        )
        lines = (
            f"Ten spins, {KINDS[self.kind]}, strength {self.strength:.4g}.",
            f"Error: {words}.",
            "A still picture. Run the cell, or allow JavaScript, to turn the couplings and drag the fields (below).",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 310" width="720" height="310" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="310" rx="12" fill="#fcfcfa"/>'
            '<path d="M30 110h660M30 224h660" stroke="#d8d8d0"/>'
            + "".join(parts)
            + "".join(f'<text x="20" y="{258 + 21 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


MARKS = {"naive": ("#d55e00", 10), "tap": ("#0072b2", 22), "adaptive": ("#009e73", 34)}
"""Colour and place of each theory's mark in the still picture."""


def _far(error: float) -> str:
    return "did not converge" if error < 0 else f"{error:.3f}"
