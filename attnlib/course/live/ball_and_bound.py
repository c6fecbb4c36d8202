"""Ball and bound: one step down the energy of memories on a line, what it is sure to gain and what it gains (chapter 3)."""

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
import traitlets

from attnlib._core.checks import Scalar
from attnlib.attention import attention_weights
from attnlib.course.live._figure import FigureError, LiveFigure, Number, Whole
from attnlib.hopfield import descend, hopfield_energy, hopfield_gradient, hopfield_jacobian

EDGE = 3.0
"""Ball and memories lie on the line from -3 to 3."""

MOST_MEMORIES, MOST_STEPS = 5, 12
LEAST_BETA, LARGEST_BETA, LARGEST_STEP = 0.01, 100.0, 3.0

SCENES: dict[str, dict[str, Any]] = {
    "attention": {"memories": [-1.5, 1.5], "ball": 0.4, "beta": 1.0, "step_size": 1.0, "steps": 0},
    "short steps": {"memories": [-1.5, 1.5], "ball": 0.4, "beta": 1.0, "step_size": 0.3, "steps": 4},
    "on the edge": {"memories": [1.0], "ball": 2.2, "beta": 1.0, "step_size": 2.0, "steps": 0},
    "too long": {"memories": [1.0], "ball": 2.2, "beta": 1.0, "step_size": 2.5, "steps": 0},
    "long, yet lower": {"memories": [-1.5, 1.5], "ball": 2.4, "beta": 0.4, "step_size": 2.6, "steps": 0},
}
"""Five things to see, by name: settings of :class:`BallAndBound`."""


class BallAndBound(LiveFigure):
    r"""Drag a ball and its memories, turn beta and the step size; see what a step is sure to gain and what it gains.

    The energy is :func:`attnlib.hopfield.hopfield_energy` in one dimension. It lies below the parabola of curvature 1 that
    touches it at the ball. A step of size gamma goes to a point of that parabola which is lower by
    :math:`\gamma (1 - \gamma/2) |\nabla E|^2`, so the energy falls at least by as much. The bottom of the parabola, a step of
    size 1, is where softmax attention goes.

    Traits, all to be set, observed and linked:

    - ``memories``: from 1 to 5 numbers between -3 and 3, and ``ball``, where the ball is put down, another one;
    - ``beta``: inverse temperature, from 0.01 to 100;
    - ``step_size``: gamma, from 0 to 3;
    - ``steps``: how many steps the ball has taken, an integer from 0 to 12.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> figure = BallAndBound([-1.5, 1.5], 0.5, beta=1.0)
    >>> said = figure.readout
    >>> round(said["guaranteed"][0], 4), round(said["real"][0], 4)
    (0.1025, 0.2046)
    """

    memories = traitlets.List(traitlets.Float()).tag(sync=True)
    ball = Number(0.4, least=-EDGE, most=EDGE).tag(sync=True)
    beta = Number(1.0, least=LEAST_BETA, most=LARGEST_BETA).tag(sync=True)
    step_size = Number(1.0, least=0, most=LARGEST_STEP).tag(sync=True)
    steps = Whole(0, least=0, most=MOST_STEPS).tag(sync=True)

    constants: ClassVar = {
        "EDGE": EDGE,
        "MOST_MEMORIES": MOST_MEMORIES,
        "MOST_STEPS": MOST_STEPS,
        "LARGEST_STEP": LARGEST_STEP,
        "SCENES": SCENES,
        "SPARE": [-1.5, 1.5, 0.3, -2.5, 2.5],
    }

    def __init__(
        self,
        memories: Iterable[Scalar] = (-1.5, 1.5),
        ball: float | int = 0.4,
        beta: float | int = 1.0,
        *,
        step_size: float | int = 1.0,
        steps: int = 0,
    ) -> None:
        places = [float(memory) for memory in memories]
        super().__init__(memories=places, ball=float(ball), beta=beta, step_size=step_size, steps=steps)

    @traitlets.validate("memories")
    def _check_memories(self, proposal: dict[str, Any]) -> list[float]:
        places = proposal["value"]
        if not 1 <= len(places) <= MOST_MEMORIES:
            raise FigureError(f"memories has {len(places)} entries; expected 1 to {MOST_MEMORIES}")
        for place in places:
            if not abs(place) <= EDGE:  # a NaN fails it too
                raise FigureError(f"memories has the entry {place}; expected numbers between -3 and 3")
        return places

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.hopfield`.

        ``states``: where the ball was put down, where it is after each step, and where the next step would lead; of these
        the ``energies`` and ``slopes``. Of each step, the next one included: ``guaranteed``, by how much the energy is sure
        to fall, :math:`\gamma (1 - \gamma/2) |\nabla E|^2`; ``real``, by how much it falls; ``ahead``,
        :math:`\nabla E(\xi') \cdot (\xi' - \xi)`, negative where the slope still leads on and positive where the step went
        too far. At the ball: ``weights`` of attention to the memories, ``attended``, what it returns, and the
        ``curvature``.
        """
        memory = torch.tensor(self.memories, dtype=torch.float64)[:, None]
        put_down = torch.tensor([[self.ball]], dtype=torch.float64)
        energy = partial(hopfield_energy, memory=memory, beta=self.beta)
        fall = descend(energy, put_down, steps=self.steps + 1, step_size=self.step_size)
        states, energies = fall.states[:, 0], fall.energies.flatten()
        slopes = hopfield_gradient(states, memory, beta=self.beta)
        here = states[self.steps : self.steps + 1]
        weights = attention_weights(here, memory, beta=self.beta)
        sure = self.step_size * (1 - self.step_size / 2) * slopes[:-1].square()
        return {
            "states": states.flatten().tolist(),
            "energies": energies.tolist(),
            "slopes": slopes.flatten().tolist(),
            "guaranteed": sure.flatten().tolist(),
            "real": (energies[:-1] - energies[1:]).tolist(),
            "ahead": (slopes[1:] * states.diff(dim=0)).flatten().tolist(),
            "weights": weights.flatten().tolist(),
            "attended": (weights @ memory).item(),
            "curvature": 1 - hopfield_jacobian(here, memory, beta=self.beta).item(),
        }

    def alt(self) -> str:
        """Settings, and what the next step is sure to gain and gains, in two sentences."""
        said = self.readout
        return (
            f"Energy of {_number(len(self.memories), 'memory', 'memories')} on a line at beta {self.beta:.4g}, with a ball at "
            f"{said['states'][-2]:.2f} after {_number(self.steps, 'step', 'steps')} and the parabola above the energy that "
            f"touches it there. A step of size {self.step_size:.4g} leads to {said['states'][-1]:.2f}: guaranteed fall of the "
            f"energy {_short(said['guaranteed'][-1])}, real fall {_short(said['real'][-1])}."
        )

    def still(self) -> str:
        """The curve, the parabola that touches it, the ball, and where the step leads on both."""
        said = self.readout
        place, height = said["states"][-2], said["energies"][-2]
        slope, end = said["slopes"][-2], said["states"][-1]
        line = torch.linspace(-EDGE, EDGE, 121, dtype=torch.float64)
        memory = torch.tensor(self.memories, dtype=torch.float64)[:, None]
        curve = hopfield_energy(line[:, None], memory, beta=self.beta)
        low = curve.min().item()
        seen = (height, said["energies"][-1] if abs(end) <= EDGE else low)
        scale = 190 / max(1.0, max(seen) - low + 0.2)
        frame = partial(_place, low=low, scale=scale)
        touching = (height + slope * (line - place) + (line - place).square() / 2).tolist()
        crosses = "".join(f"M{110 * (x + EDGE) + 25:.1f} 258l10 10m0 -10l-10 10" for x in self.memories)
        start_x, start_y = frame(place, height)
        end_x, bound_y = frame(end, height - said["guaranteed"][-1])
        real_y = frame(end, said["energies"][-1])[1]
        lines = (
            f"A step of size {self.step_size:.4g} at \u03b2 = {self.beta:.4g}: guaranteed fall of the energy "
            f"{_short(said['guaranteed'][-1])} (blue), real fall {_short(said['real'][-1])} (orange).",
            "A still picture. Run the cell, or allow JavaScript, to drag the ball and its memories (crosses).",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 330" width="720" height="330" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="330" rx="12" fill="#fcfcfa"/>'
            '<svg x="0" y="10" width="720" height="236" viewBox="0 10 720 236"><g fill="none" stroke-width="2">'
            f'<path d="{_path(line.tolist(), curve.tolist(), frame)}" stroke="#1d2733"/>'
            f'<path d="{_path(line.tolist(), touching, frame)}" stroke="#0072b2" stroke-dasharray="6 4"/>'
            f'<path d="M{end_x - 3:.1f} {start_y:.1f}V{bound_y:.1f}" stroke="#0072b2" stroke-width="4"/>'
            f'<path d="M{end_x + 3:.1f} {start_y:.1f}V{real_y:.1f}" stroke="#d55e00" stroke-width="4"/></g>'
            f'<circle cx="{start_x:.1f}" cy="{start_y:.1f}" r="8" fill="#d55e00"/></svg>'
            f'<path d="M30 252h660" stroke="#525e6d"/><path d="{crosses}" stroke="#1d2733" stroke-width="2"/>'
            + "".join(f'<text x="20" y="{294 + 22 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


def _short(value: float) -> str:
    """Three decimals; a rounding error below zero is no minus."""
    return f"{round(value, 3) + 0.0:.3f}"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _place(x: float, height: float, *, low: float, scale: float) -> tuple[float, float]:
    """Where a point lies in the still picture, kept near it when a descent has run away."""
    return 30 + 110 * (max(-9.0, min(9.0, x)) + EDGE), max(-999.0, min(999.0, 236 - scale * (height - low)))


def _path(line: Sequence[float], heights: Sequence[float], frame: Any) -> str:
    places = (frame(x, height) for x, height in zip(line, heights) if math.isfinite(height))
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
