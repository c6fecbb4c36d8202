"""The saddle explorer: two vector spins, a number z for each, and the way to the z that give both their length (chapter 5).

It is longer than 250 lines because the figure, its numbers and its still picture are read as one.
"""

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib._core.checks import Scalar
from attnlib.course.live._figure import Choice, FigureError, LiveFigure, Number, Whole
from attnlib.free_energy import (
    saddle_gradient,
    saddle_hessian,
    saddle_point,
    saddle_potential,
    vector_spin_free_energy,
)

MOST_Z, MOST_J, MOST_FIELD = 6.0, 1.5, 2.0
LEAST_BETA, MOST_BETA = 0.4, 4.0
MARGIN, MOST_STEPS, TOLERANCE = 0.05, 40, 1e-9
LEVELS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
"""How far above the minimum the lines of equal height are."""

RULES = {"exact": "Newton, with the exact Hessian", "printed": "with the Hessian as printed", "slope": "the slope alone"}
"""What turns a gradient into a step, with the words of the menu."""


class SaddleExplorer(LiveFigure):
    r"""Two vector spins, the potential over ``(z_1, z_2)``, and a descent to its minimum, step by step.

    .. math:: \varphi(z) = \tfrac\beta2 (z_1 + z_2) - \tfrac12 \ln (z_1 z_2 - J^2) + \tfrac\beta2\, b^T V^{-1} b, \qquad
        \frac{\partial \varphi}{\partial z_i} = \tfrac\beta2 \big( 1 - m_i^2 - \chi_{ii} \big)

    Both fields lie along one direction; ``b_i`` is their length for each component. A spin is drawn at the point that the
    descent has reached: its mean ``m_i`` along the fields, and at a right angle to it what fluctuates, the square root of
    ``chi_ii``. Where the slope is zero both spins have the length 1. The descent begins where the reader puts it, moved along
    the diagonal until the smallest eigenvalue of V is 0.05. Steps that leave the domain or go up are halved. The printed
    Hessian keeps of its fields' part only a diagonal, the sums of the rows; it can be indefinite.

    Traits, all to be set, observed and linked:

    - ``beta``: the inverse temperature, from 0.4 to 4;
    - ``coupling``: J, from -1.5 to 1.5;
    - ``fields``: b, two numbers from -2 to 2;
    - ``start``: two numbers from 0 to 6;
    - ``rule``: what makes a step, ``"exact"`` (default), ``"printed"`` or ``"slope"``;
    - ``taken``: how many steps of the descent are taken, from 0 to 40, or all where there are fewer.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> said = SaddleExplorer(coupling=0.5, fields=[0.5, 0.0]).readout
    >>> [round(z, 3) for z in said["z"]], len(said["path"]) - 1, [round(length, 6) for length in said["lengths"]]
    ([1.414, 1.207], 7, [1.0, 1.0])
    """

    beta = Number(1.0, least=LEAST_BETA, most=MOST_BETA).tag(sync=True)
    coupling = traitlets.Float(0.7).tag(sync=True)
    fields = traitlets.List(traitlets.Float()).tag(sync=True)
    start = traitlets.List(traitlets.Float()).tag(sync=True)
    rule = Choice("exact", RULES).tag(sync=True)
    taken = Whole(MOST_STEPS, least=0, most=MOST_STEPS).tag(sync=True)

    constants: ClassVar[dict[str, Any]] = {
        "MOST_Z": MOST_Z,
        "MOST_J": MOST_J,
        "MOST_FIELD": MOST_FIELD,
        "LEAST_BETA": LEAST_BETA,
        "MOST_BETA": MOST_BETA,
        "MARGIN": MARGIN,
        "MOST_STEPS": MOST_STEPS,
        "TOLERANCE": TOLERANCE,
        "LEVELS": LEVELS,
        "RULES": RULES,
    }

    def __init__(
        self,
        beta: float | int = 1.0,
        coupling: float | int = 0.7,
        *,
        fields: Iterable[Scalar] = (0.6, 1.4),
        start: Iterable[Scalar] = (5.0, 3.0),
        rule: str = "exact",
        taken: int = MOST_STEPS,
    ) -> None:
        placed = {"fields": [float(one) for one in fields], "start": [float(one) for one in start]}
        super().__init__(beta=float(beta), coupling=float(coupling), rule=rule, taken=taken, **placed)

    @traitlets.validate("coupling")
    def _check_coupling(self, proposal: dict[str, Any]) -> float:
        if not abs(proposal["value"]) <= MOST_J:
            raise FigureError(f"coupling is {proposal['value']}; expected a number between -{MOST_J} and {MOST_J}")
        return proposal["value"]

    @traitlets.validate("fields")
    def _check_fields(self, proposal: dict[str, Any]) -> list[float]:
        return _two("fields", proposal["value"], -MOST_FIELD, MOST_FIELD)

    @traitlets.validate("start")
    def _check_start(self, proposal: dict[str, Any]) -> list[float]:
        return _two("start", proposal["value"], 0.0, MOST_Z)

    def system(self) -> tuple[Tensor, Tensor]:
        """The couplings ``[2, 2]`` and the fields ``[2, 1]``, in float64."""
        J = torch.tensor([[0.0, self.coupling], [self.coupling, 0.0]], dtype=torch.float64)
        return J, torch.tensor(self.fields, dtype=torch.float64)[:, None]

    def descent(self) -> tuple[list[list[float]], list[float]]:
        """The points ``[z_1, z_2]`` of the descent, the start first, and the largest component of the gradient at each."""
        (J, h), z = self.system(), torch.tensor(self.start, dtype=torch.float64)
        least = torch.linalg.eigvalsh(torch.diag(z) - J)[0].item()
        z = z + max(0.0, MARGIN - least)
        path, left = [], []
        for step in range(MOST_STEPS + 1):
            slope = saddle_gradient(z, J, h, beta=self.beta)
            path.append(z.tolist())
            left.append(slope.abs().max().item())
            if left[-1] <= TOLERANCE or step == MOST_STEPS:
                break
            move, here, length = self._step(z, J, h, slope), _height(z, J, h, self.beta), 1.0
            while _height(z + length * move, J, h, self.beta) > here + 1e-12 and length > 1e-12:
                length /= 2
            z = z + length * move
        return path, left

    def _step(self, z: Tensor, J: Tensor, h: Tensor, slope: Tensor) -> Tensor:
        if self.rule == "slope":
            return -slope
        hessian = saddle_hessian(z, J, h, beta=self.beta)
        if self.rule == "printed":
            own = torch.linalg.inv(torch.diag(z) - J).square() / 2
            hessian = own + torch.diag((hessian - own).sum(1))
        return -torch.linalg.solve(hessian, slope)

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.free_energy`.

        ``path`` and ``left``, as :meth:`descent` gives them; ``z`` at the minimum and ``free_energy``. At the point of the path
        that is reached after ``taken`` steps: the means ``m``, the covariances ``chi`` (1 1, 1 2, 2 2), and the ``lengths`` of
        both spins, :math:`\sqrt{m_i^2 + \chi_{ii}}`, which are 1 at the minimum.
        """
        J, h = self.system()
        path, left = self.descent()
        here = torch.tensor(path[min(self.taken, len(path) - 1)], dtype=torch.float64)
        inverse = torch.linalg.inv(torch.diag(here) - J)
        m, chi = (inverse @ h)[:, 0], inverse / self.beta
        return {
            "path": path,
            "left": left,
            "z": saddle_point(J, h, beta=self.beta).z.tolist(),
            "free_energy": vector_spin_free_energy(J, h, beta=self.beta).item(),
            "m": m.tolist(),
            "chi": chi[[0, 0, 1], [0, 1, 1]].tolist(),
            "lengths": (m.square() + chi.diagonal()).sqrt().tolist(),
        }

    def alt(self) -> str:
        """The system, where its minimum is, what the descent took, and how long the spins are, in three sentences."""
        said = self.readout
        z, steps, (first, second) = said["z"], len(said["path"]) - 1, said["lengths"]
        went = f"reaches it in {steps} steps" if said["left"][-1] <= TOLERANCE else f"is not there after {steps} steps"
        return (
            f"Lines of equal potential over z of spin 1 and z of spin 2, coupling {self.coupling:.4g}, inverse temperature "
            f"{self.beta:.4g}; minimum at {z[0]:.2f}, {z[1]:.2f}. A descent, {RULES[self.rule]}, {went}. "
            f"Beside it two spins of lengths {first:.2f} and {second:.2f}, each with a circle of radius 1."
        )

    def still(self) -> str:
        """The plane of both z: what is forbidden, lines of equal height, the descent and the minimum; beside it the spins."""
        said, (J, h) = self.readout, self.system()

        def at(point: Iterable[float]) -> str:
            first, second = point
            return f"{50 + 55 * min(first, 2 * MOST_Z):.1f} {360 - 55 * min(second, 2 * MOST_Z):.1f}"

        edge = max(self.coupling**2 / MOST_Z, 1e-3)
        border = [
            (edge * (MOST_Z / edge) ** (k / 40), self.coupling**2 / (edge * (MOST_Z / edge) ** (k / 40))) for k in range(41)
        ]
        forbidden = f"M{at((0.0, 0.0))}L{at((0.0, MOST_Z))}L{'L'.join(map(at, border))}L{at((MOST_Z, 0.0))}z"
        rings = "".join(
            f'<path d="M{"L".join(map(at, ring))}z" fill="none" stroke="#525e6d" stroke-opacity="0.4"/>'
            for ring in _rings(said["z"], J, h, self.beta)
        )
        dots = "".join(
            f'<circle cx="{x}" cy="{y}" r="4" fill="#d55e00"/>' for x, y in (at(point).split() for point in said["path"])
        )
        (x, y), steps = at(said["z"]).split(), len(said["path"]) - 1
        reached = "there in" if said["left"][-1] <= TOLERANCE else "not there after"
        words = f"z = {said['z'][0]:.3f} and {said['z'][1]:.3f}, {reached} {steps} steps"
        spins = "".join(_spin(said, i, 545, (120, 285)[i]) for i in range(2))
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 420" width="720" height="420" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="420" rx="12" fill="#fcfcfa"/>'
            f'<clipPath id="plane"><rect x="50" y="30" width="330" height="330"/></clipPath><g clip-path="url(#plane)">'
            f'<path d="{forbidden}" fill="#d8d8d0"/>{rings}'
            f'<path d="M{"L".join(map(at, said["path"]))}" fill="none" stroke="#d55e00" stroke-width="2"/>{dots}</g>'
            f'<circle cx="{x}" cy="{y}" r="6" fill="#1d2733"/><path d="M50 30v330h330" fill="none" stroke="#1d2733"/>'
            f'<text x="50" y="22">{words}</text>{spins}'
            '<text x="180" y="382">z of spin 1</text><text transform="translate(32 240) rotate(-90)">z of spin 2</text>'
            '<text x="50" y="408">A still picture. Run the cell, or allow JavaScript, to drag the start.</text>'
            "</svg>"
        )


def _spin(said: dict[str, Any], i: int, x: int, y: int) -> str:
    """A circle of radius 1, in it the mean along the fields, at its end what fluctuates, and the spin that both make."""
    radius, colour = 55, ("#0072b2", "#009e73")[i]
    mean, rest = (radius * size for size in (said["m"][i], min(said["chi"][2 * i] ** 0.5, 1.4)))
    return (
        f'<circle cx="{x}" cy="{y}" r="{radius}" fill="none" stroke="#525e6d"/>'
        f'<path d="M{x + mean:.1f} {y}v{-rest:.1f}" stroke="{colour}" stroke-dasharray="3 3"/>'
        f'<path d="M{x} {y}h{mean:.1f}" stroke="{colour}" stroke-width="6"/>'
        f'<path d="M{x} {y}l{mean:.1f} {-rest:.1f}" stroke="{colour}" stroke-width="2.5"/>'
        f'<circle cx="{x + mean:.1f}" cy="{y - rest:.1f}" r="5" fill="{colour}"/>'
        f'<text x="{x + 75}" y="{y}">spin {i + 1}</text><text x="{x + 75}" y="{y + 20}">length {said["lengths"][i]:.2f}</text>'
    )


def _two(name: str, given: list[float], least: float, most: float) -> list[float]:
    if len(given) != 2:
        raise FigureError(f"{name} has {len(given)} entries; expected 2")
    for one in given:
        if not least <= one <= most:
            raise FigureError(f"{name} has the entry {one}; expected numbers between {least:g} and {most:g}")
    return given


def _height(z: Tensor, J: Tensor, h: Tensor, beta: float) -> float:
    """The potential, infinite where V is not positive definite."""
    inside = bool(z.min() > 0) and (z[0] * z[1] - J[0, 1] ** 2).item() > 0
    return saddle_potential(z, J, h, beta=beta).item() if inside else math.inf


def _rings(z: list[float], J: Tensor, h: Tensor, beta: float) -> list[list[tuple[float, float]]]:
    """Lines of equal height: the region below a height is convex, so that each ray from the minimum leaves it once."""
    middle = torch.tensor(z, dtype=torch.float64)
    angle = torch.arange(48, dtype=torch.float64) * 2 * math.pi / 48
    way = torch.stack([angle.cos(), angle.sin()], -1).expand(len(LEVELS), -1, -1)
    wanted = saddle_potential(middle, J, h, beta=beta) + torch.tensor(LEVELS, dtype=torch.float64)[:, None]
    low, high = torch.zeros(wanted.shape[0], 48, dtype=torch.float64), torch.full((wanted.shape[0], 48), 3 * MOST_Z).double()
    for _ in range(30):
        radius = (low + high) / 2
        point = middle + radius[..., None] * way
        inside = (point.amin(-1) > 0) & (point.prod(-1) > J[0, 1] ** 2 * (1 + 1e-9))
        safe = torch.where(inside[..., None], point, middle)
        value = saddle_potential(safe, J.expand(*safe.shape[:-1], 2, 2), h, beta=beta)
        below = inside & (value < wanted)
        low, high = torch.where(below, radius, low), torch.where(below, high, radius)
    return [[(x, y) for x, y in ring] for ring in (middle + low[..., None] * way).tolist()]
