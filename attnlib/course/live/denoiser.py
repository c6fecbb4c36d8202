"""The denoiser: a noisy query among memories on a circle, one step of attention or many, and a thermometer (chapter 7)."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.data.denoising import NoisyQueries, recall_error, recalled
from attnlib.course.live._figure import FigureError, LiveFigure, Number, Seed, Whole
from attnlib.softmax import softmax
from attnlib.transformer import thermometer

MOST_STEPS, COPIES, EDGE, SIGHT = 8, 64, 2.2, 2.5
GOLDEN, FIRST = math.pi * (3 - math.sqrt(5)), 0.5
"""The angle from a memory, or a noisy copy, to the next, and the angle of the first memory."""
MEMORIES_RANGE, SIGMA_RANGE, BETA_RANGE, DRAWN = (2, 8), (0.5, 1.5), (0.1, 10.0), (0.6, 1.1)
"""What the sliders reach; a hidden noise is drawn between the last two."""
SIGMA, QUERY = 0.8, [0.7, 1.7]
SCENES: dict[str, dict[str, Any]] = {
    name: {"sigma": SIGMA, "beta": scale / SIGMA**2, "memories": 5, "steps": steps, "half": half, "blind": False}
    for name, (steps, half, scale) in {
        "one step is Bayes": (1, False, 1.0),
        "four steps go too far": (4, False, 1.0),
        "four half steps lose less": (4, True, 1.0),
        "twice \u03b2: too sure": (1, False, 2.0),
        "half of \u03b2: too modest": (1, False, 0.5),
    }.items()
}
"""Sentences that set the figure."""


class Denoiser(LiveFigure):
    r"""A query that is a noisy copy of one of some memories, and what steps of attention make of it.

    Memories lie on a circle, :math:`|x_j|^2 = 2`. The query of the picture is dragged; each step goes down the energy,

    .. math:: \xi \leftarrow (1 - \gamma)\, \xi + \gamma \sum_j \mathrm{softmax}_j(\beta\, \xi \cdot x_j)\, x_j

    Beside it stands how far a set of questions ends from the truth: 64 noisy copies of each memory, spread as evenly as noise
    of standard deviation sigma can be, so that averages are nearly those over all noise. One whole step at
    :math:`\beta = 1/\sigma^2` is the mean of the posterior, and no answer has a smaller error.

    Traits, all to be set, observed and linked:

    - ``query``: two numbers from -2.2 to 2.2; ``steps``: from 0 to 8, which are half steps where ``half`` is true;
    - ``sigma``: the noise, from 0.5 to 1.5; ``beta``: the inverse temperature, from 0.1 to 10;
    - ``memories``: how many, from 2 to 8;
    - ``blind``: whether the figure keeps sigma to itself; ``seed``: which sigma is drawn next.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> said = Denoiser(steps=4).readout
    >>> said["errors"].index(min(said["errors"])), round(said["ratio"], 2)
    (1, 1.0)
    """

    constants: ClassVar[dict[str, Any]] = {
        "MOST_STEPS": MOST_STEPS,
        "COPIES": COPIES,
        "EDGE": EDGE,
        "SIGHT": SIGHT,
        "GOLDEN": GOLDEN,
        "FIRST": FIRST,
        "MEMORIES_RANGE": MEMORIES_RANGE,
        "SIGMA_RANGE": SIGMA_RANGE,
        "BETA_RANGE": BETA_RANGE,
        "DRAWN": DRAWN,
        "SCENES": SCENES,
    }
    query = traitlets.List(traitlets.Float()).tag(sync=True)
    steps = Whole(1, least=0, most=MOST_STEPS).tag(sync=True)
    half = traitlets.Bool(False).tag(sync=True)
    sigma = Number(SIGMA, least=SIGMA_RANGE[0], most=SIGMA_RANGE[1]).tag(sync=True)
    beta = Number(SIGMA**-2, least=BETA_RANGE[0], most=BETA_RANGE[1]).tag(sync=True)
    memories = Whole(5, least=MEMORIES_RANGE[0], most=MEMORIES_RANGE[1]).tag(sync=True)
    blind = traitlets.Bool(False).tag(sync=True)
    seed = Seed(0).tag(sync=True)

    def __init__(
        self,
        query: Sequence[float | int] = QUERY,
        steps: int = 1,
        *,
        half: bool = False,
        sigma: float | int = SIGMA,
        beta: float | int | None = None,
        memories: int = 5,
        blind: bool = False,
        seed: int = 0,
    ) -> None:
        """Without a beta it is that of the posterior, 1 / sigma^2."""
        noise = float(sigma) if SIGMA_RANGE[0] <= sigma <= SIGMA_RANGE[1] else SIGMA
        super().__init__(
            query=[float(x) for x in query],
            steps=steps,
            half=half,
            sigma=float(sigma),
            beta=noise**-2 if beta is None else float(beta),
            memories=memories,
            blind=blind,
            seed=seed,
        )

    @traitlets.validate("query")
    def _check_query(self, proposal: dict[str, Any]) -> list[float]:
        query = proposal["value"]
        if len(query) != 2 or not all(abs(x) <= EDGE for x in query):
            raise FigureError(f"query is {query}; expected two numbers from {-EDGE} to {EDGE}")
        return query

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by ``attnlib.course.data.denoising``.

        ``places`` of the memories, ``[K, 2]``; ``states`` of the query after 0 to 8 steps, ``[9, 2]``; ``weights`` of the
        memories at the query; ``posterior``, the mean of what it may be a copy of. For the set of questions: ``errors``, the
        mean squared error of a component after 0 to 8 steps; ``bayes``, that of the posterior's mean; ``sure`` and ``right``,
        the averages of :math:`\sum_j p_j^2` and of the weight of the right memory, and their ``ratio`` U.
        """
        asked = questions(self.memories, self.sigma)
        places, query = asked.memories[0], torch.tensor(self.query, dtype=torch.float64)
        one = NoisyQueries(places[None], query[None], torch.tensor([0]))
        size, counts = 0.5 if self.half else 1.0, range(1, MOST_STEPS + 1)
        weights = softmax((asked.memories @ asked.query[..., None])[..., 0], beta=self.beta)
        path = [recalled(one, beta=self.beta, steps=steps, step_size=size)[0].tolist() for steps in counts]
        errors = [recall_error(asked, beta=self.beta, steps=steps, step_size=size).mean for steps in counts]
        return {
            "places": places.tolist(),
            "states": [query.tolist(), *path],
            "weights": softmax(places @ query, beta=self.beta).tolist(),
            "posterior": recalled(one, beta=self.sigma**-2)[0].tolist(),
            "errors": [(asked.query - asked.truth).square().mean().item(), *errors],
            "bayes": recall_error(asked, beta=self.sigma**-2).mean,
            "sure": weights.square().sum(-1).mean().item(),
            "right": weights.gather(-1, asked.target[:, None]).mean().item(),
            "ratio": thermometer(weights[:, None], asked.target[:, None]).ratio.item(),
        }

    def alt(self) -> str:
        """Settings, where the query goes, and what the thermometer reads, in three sentences."""
        said, kind = self.readout, "half" if self.half else "whole"
        x, y = said["states"][self.steps]
        noise = "a hidden noise" if self.blind else f"noise {self.sigma:.2f}"
        error, least = said["errors"][self.steps], said["bayes"]
        loss = "" if self.blind else f" The mean squared error is {error:.3f}, the least {least:.3f}."
        return (
            f"Denoiser with {self.memories} memories on a circle and {noise}, at beta {self.beta:.3g}. After {self.steps} "
            f"{kind} steps the query is at {x:.2f}, {y:.2f}. The thermometer reads {said['ratio']:.2f}.{loss}"
        )

    def still(self) -> str:
        """The circle with its memories and the path of the query, and the errors as bars."""
        said = self.readout
        points = [(190 + 68 * x, 190 - 68 * y) for x, y in said["states"][: self.steps + 1]]
        dots = "".join(
            f'<circle cx="{190 + 68 * x:.1f}" cy="{190 - 68 * y:.1f}" r="{4 + 12 * math.sqrt(weight):.1f}" fill="#0072b2"/>'
            f'<text x="{190 + 92 * x:.1f}" y="{195 - 92 * y:.1f}" text-anchor="middle">{weight:.2f}</text>'
            for (x, y), weight in zip(said["places"], said["weights"], strict=True)
        )
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        lines = [
            f"After {self.steps} {'half' if self.half else 'whole'} steps; thermometer U = {said['ratio']:.2f}",
            "A still picture. Run the cell, or allow JavaScript, to drag the query.",
        ]
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 430" width="720" height="430" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="430" rx="12" fill="#fcfcfa"/>'
            f'<circle cx="190" cy="190" r="{68 * math.sqrt(2):.1f}" fill="none" stroke="#d8d8d0"/>{dots}'
            f'<path d="M{path}" fill="none" stroke="#d55e00" stroke-width="2"/>'
            + "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="#d55e00"/>' for x, y in points)
            + ("" if self.blind else _bars(said["errors"], self.steps))
            + "".join(f'<text x="20" y="{384 + 24 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


def _bars(errors: list[float], chosen: int) -> str:
    """A bar for the error after each number of steps, the chosen one in colour."""
    scale = 240 / max(errors)
    return '<text x="400" y="40" font-weight="bold">mean squared error after so many steps</text>' + "".join(
        f'<rect x="{400 + 32 * t}" y="{310 - scale * error:.1f}" width="24" height="{scale * error:.1f}" '
        f'fill="{"#d55e00" if t == chosen else "#8a939e"}"/><text x="{412 + 32 * t}" y="328" text-anchor="middle">{t}</text>'
        for t, error in enumerate(errors)
    )


def questions(memories: int, sigma: float) -> NoisyQueries:
    r"""The set of questions: 64 copies of each memory with the most even noise, ``[64 K]`` in float64.

    The distance from the memory takes the quantiles of Rayleigh's law in turn, :math:`r^2 \propto -\ln(1 - u)` with a mean
    square of :math:`2 \sigma^2`, its direction goes on by the golden angle.
    """
    count = torch.arange(COPIES, dtype=torch.float64)
    square = -torch.log1p(-(count + 0.5) / COPIES)
    noise = sigma * (2 * square / square.mean()).sqrt()[:, None] * _around(count * GOLDEN)
    places = math.sqrt(2) * _around(FIRST + GOLDEN * torch.arange(memories, dtype=torch.float64))
    target = torch.arange(memories).repeat_interleave(COPIES)
    return NoisyQueries(places.expand(len(target), -1, -1), places[target] + noise.repeat(memories, 1), target)


def _around(angles: Tensor) -> Tensor:
    return torch.stack([angles.cos(), angles.sin()], -1)
