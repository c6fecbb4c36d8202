"""Belief propagation between six spins: step the messages, close a loop, see beliefs leave the exact averages (chapter 6)."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._figure import FigureError, LiveFigure, Number, Whole
from attnlib.course.oracles import exact_beliefs
from attnlib.message_passing import FactorGraph, pairwise_graph

SPINS, MOST_SWEEPS, REACH, SETTLED = 6, 60, 1.5, 1e-6
"""Spins, sweeps at most, the largest coupling and field, and a change below which messages are at rest."""

SCENES: dict[str, list[list[int]]] = {
    "row": [[i, i + 1] for i in range(SPINS - 1)],
    "star": [[0, i] for i in range(1, SPINS)],
    "triangle": [[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5]],
    "ring": [[0, 1], [0, 5], [1, 2], [2, 3], [3, 4], [4, 5]],
    "everyone": [[i, j] for i, j in combinations(range(SPINS), 2)],
}
"""Graphs to begin with, by name: two trees, two with one loop, and all pairs."""


class FactorLab(LiveFigure):
    r"""Pass the messages of belief propagation between six spins, and compare the beliefs with the exact averages.

    .. math:: u_{i \to j} \leftarrow d\, u_{i \to j} + (1 - d)\,
        \mathrm{artanh}\Big(\tanh J \tanh\big(h_i + \sum_{k \ne j} u_{k \to i}\big)\Big), \qquad
        m_i = \tanh\big(h_i + \sum_k u_{k \to i}\big)

    All pairs that are joined have the same coupling. Messages begin as zeros.

    Traits, all to be set, observed and linked:

    - ``edges``: pairs of spins, the smaller number first, each once;
    - ``fields``: the fields of the six spins, each from -1.5 to 1.5;
    - ``coupling``: from -1.5 to 1.5;
    - ``damping``: how much of the old message stays, from 0 to 0.9;
    - ``sweeps``: how many were made, from 0 to 60;
    - ``node``: the spin that is chosen, from 0 to 5.

    Raises:
        FigureError: a ValueError; a trait that the figure cannot draw. The trait keeps its old value.

    >>> said = FactorLab(sweeps=5).readout
    >>> said["error"] < 1e-12, FactorLab("triangle", sweeps=60).readout["error"] > 0.01
    (True, True)
    """

    edges = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    fields = traitlets.List(traitlets.Float()).tag(sync=True)
    coupling = Number(0.7, least=-REACH, most=REACH).tag(sync=True)
    damping = Number(0.0, least=0, most=0.9).tag(sync=True)
    sweeps = Whole(0, least=0, most=MOST_SWEEPS).tag(sync=True)
    node = Whole(0, least=0, most=SPINS - 1).tag(sync=True)

    constants: ClassVar[dict[str, Any]] = {
        "SPINS": SPINS,
        "MOST_SWEEPS": MOST_SWEEPS,
        "REACH": REACH,
        "SETTLED": SETTLED,
        "SCENES": SCENES,
    }

    def __init__(
        self,
        edges: str | Sequence[Sequence[int]] = "row",
        *,
        fields: Sequence[float | int] = (0.6, 0, 0, 0, 0, 0),
        coupling: float | int = 0.7,
        damping: float | int = 0.0,
        sweeps: int = 0,
        node: int = 0,
    ) -> None:
        if isinstance(edges, str):
            if edges not in SCENES:
                raise FigureError(f"edges is {edges!r}; expected pairs of spins, or one of {', '.join(SCENES)}")
            edges = SCENES[edges]
        super().__init__(
            edges=[list(edge) for edge in edges],
            fields=[float(field) for field in fields],
            coupling=coupling,
            damping=damping,
            sweeps=sweeps,
            node=node,
        )

    @traitlets.validate("edges")
    def _check_edges(self, proposal: dict[str, Any]) -> list[list[int]]:
        edges: list[list[int]] = proposal["value"]
        for edge in edges:
            if len(edge) != 2 or not 0 <= edge[0] < edge[1] < SPINS:
                raise FigureError(f"edges has {edge}; expected pairs of numbers from 0 to {SPINS - 1}, the smaller first")
        if len({tuple(edge) for edge in edges}) < len(edges):
            raise FigureError("edges has an edge twice; expected each once")
        return edges

    @traitlets.validate("fields")
    def _check_fields(self, proposal: dict[str, Any]) -> list[float]:
        fields: list[float] = proposal["value"]
        if len(fields) != SPINS or not all(abs(field) <= REACH for field in fields):  # a NaN fails it too
            raise FigureError(f"fields is {fields}; expected {SPINS} numbers from {-REACH} to {REACH}")
        return fields

    @property
    def readout(self) -> dict[str, Any]:
        """The numbers that the figure shows, computed here by :mod:`attnlib.message_passing`.

        ``messages``: for each edge what its first spin tells the second, and the second the first, as fields; ``believed`` and
        ``exact`` averages of the spins; ``change``, the most that the next sweep changes a message, as a probability;
        ``error``, the largest distance of a belief from the exact average; ``loops``, how many loops there are.
        """
        told, believed, change = beliefs(self.edges, self.fields, self.coupling, self.damping, self.sweeps)
        exact = _average(exact_beliefs(system(self.edges, self.fields, self.coupling)).beliefs)
        return {
            "messages": told,
            "believed": believed.tolist(),
            "exact": exact.tolist(),
            "change": change,
            "error": (believed - exact).abs().max().item(),
            "loops": loops(self.edges),
        }

    def alt(self) -> str:
        """How many spins, edges, loops and sweeps, and how far the beliefs are off, in two sentences."""
        said = self.readout
        return (
            f"{SPINS} spins with {len(self.edges)} edges and {said['loops']} loops, after {self.sweeps} sweeps of belief "
            f"propagation. The beliefs are up to {said['error']:.2f} from the exact averages."
        )

    def still(self) -> str:
        """The graph in a circle, and for each spin a bar for its belief, a mark for the exact average, and both in numbers."""
        said = self.readout
        lines = "".join(
            f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"/>'
            f'<rect x="{(x + u) / 2 - 5:.1f}" y="{(y + v) / 2 - 5:.1f}" width="10" height="10" fill="#1d2733"/>'
            for i, j in self.edges
            for (x, y), (u, v) in [(_spot(i), _spot(j))]
        )
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="16" fill="#f0f0ea" stroke="#1d2733"/>'
            f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle">{k}</text>'
            for k in range(SPINS)
            for x, y in [_spot(k)]
        )
        bars = "".join(
            f'<text x="350" y="{64 + 36 * k}">spin {k}</text>'
            f'<rect x="{530 + 110 * min(m, 0):.2f}" y="{50 + 36 * k}" width="{110 * abs(m):.2f}" height="18" fill="#d55e00"/>'
            f'<rect x="{529 + 110 * true:.2f}" y="{46 + 36 * k}" width="3" height="26" fill="#1d2733"/>'
            f'<text x="668" y="{64 + 36 * k}" text-anchor="end">{_signed(m)}</text>'
            f'<text x="712" y="{64 + 36 * k}" text-anchor="end">{_signed(true)}</text>'
            for k, (m, true) in enumerate(zip(said["believed"], said["exact"], strict=True))
        )
        axis = "".join(
            f'<text x="{530 + 110 * m}" y="280" text-anchor="middle">{_signed(m, 0)}</text>' for m in (-1.0, 0.0, 1.0)
        )
        texts = (
            f"After {self.sweeps} sweeps the beliefs (bars) are up to {said['error']:.3f} from the exact averages (marks).",
            "A still picture. Run the cell, or allow JavaScript, to pass messages and to change edges.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 350" width="720" height="350" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="350" rx="12" fill="#fcfcfa"/>'
            '<text x="350" y="26">average of each spin</text><text x="668" y="26" text-anchor="end">belief</text>'
            f'<text x="712" y="26" text-anchor="end">exact</text><path d="M530 40V264" stroke="#a8b0ba"/>{axis}'
            f'<g stroke="#a8b0ba" stroke-width="2">{lines}</g>{dots}{bars}'
            + "".join(f'<text x="20" y="{306 + 22 * i}">{text}</text>' for i, text in enumerate(texts))
            + "</svg>"
        )


def system(edges: Sequence[Sequence[int]], fields: Sequence[float], coupling: float) -> FactorGraph:
    """The factor graph: a table for each spin and one for each edge, also where the coupling is zero."""
    spin = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    single = torch.tensor(fields, dtype=torch.float64)[:, None] * spin
    pair = (coupling * spin[:, None] * spin).expand(len(edges), 2, 2)
    return pairwise_graph(torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).mT, pair, single)


def beliefs(
    edges: Sequence[Sequence[int]], fields: Sequence[float], coupling: float, damping: float, sweeps: int
) -> tuple[list[list[float]], Tensor, float]:
    """Messages along each edge as fields, averages ``[6]`` by the beliefs, and the most that the next sweep changes."""
    h = torch.tensor(fields, dtype=torch.float64)
    ends = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2)
    tells, hears = torch.cat([ends, ends.flip(1)]).mT  # each edge carries two messages, one half of the list apart
    u = h.new_zeros(len(tells))

    def sweep(u: Tensor) -> Tensor:
        felt = h.index_add(0, hears, u)[tells] - u.roll(len(ends))  # all but what the hearer has said
        return torch.atanh(math.tanh(coupling) * felt.tanh())

    for _ in range(sweeps):
        u = (1 - damping) * sweep(u) + damping * u
    change = max((torch.sigmoid(2 * sweep(u)) - torch.sigmoid(2 * u)).abs().tolist(), default=0.0)
    return u.reshape(2, -1).mT.tolist(), h.index_add(0, hears, u).tanh(), change


def loops(edges: Sequence[Sequence[int]]) -> int:
    """How many edges can be taken out until none closes a loop."""
    group = list(range(SPINS))
    extra = 0
    for i, j in edges:
        if group[i] == group[j]:
            extra += 1
        group = [group[i] if g == group[j] else g for g in group]
    return extra


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "\u2212")


def _average(tables: Tensor) -> Tensor:
    return tables[:, 1] - tables[:, 0]


def _spot(k: int) -> tuple[float, float]:
    angle = 2 * math.pi * k / SPINS - math.pi / 2
    return 180 + 110 * math.cos(angle), 150 + 110 * math.sin(angle)
