"""Attention on a graph: choose a node, see who points at it, what they offer and what it gathers (chapter 6)."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._draws import normals
from attnlib.course.live._figure import FigureError, LiveFigure, Number, Whole
from attnlib.message_passing import edge_attention, edge_weights, merge_edges
from attnlib.softmax import effective_number

NODES, WIDTH, LAST_SEED, LEAST_BETA = 10, 20, 999, 0.001
ROOT, UNIT = 20**-0.5, 20**-1.5
"""What a transformer divides scores by, and what gives scores of unit variance here: the maps are not scaled either."""

SCENES: dict[str, float] = {"as they are": 1.0, "divided by \u221a20": ROOT, "unit variance": UNIT}
"""Three temperatures to compare, by name."""


class GraphLab(LiveFigure):
    r"""Choose a node of a graph, put edges in and take them out, and see what the node gathers.

    Ten nodes of twenty numbers, and three random maps: each node has a query, a key and a value. The scores of the edges that
    point at the chosen node are beta times products of its query with the keys; their softmax weighs the values. As they are,
    the scores spread by about :math:`20^{3/2} = 89`: divided by :math:`\sqrt{20}` one neighbour still decides.

    Traits, all to be set, observed and linked:

    - ``edges``: pairs of a source and a target, each once;
    - ``node``: the chosen node, from 0 to 9;
    - ``beta``: what multiplies the scores, from 0.001 to 1;
    - ``seed``: of the nodes' data and the maps, from 0 to 999.

    Raises:
        FigureError: a ValueError; a trait that the figure cannot draw. The trait keeps its old value.

    >>> said = GraphLab([[0, 3], [5, 3]], node=3).readout
    >>> said["neighbours"], round(sum(said["weights"]), 6)
    ([0, 5], 1.0)
    """

    edges = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    node = Whole(0, least=0, most=NODES - 1).tag(sync=True)
    beta = Number(UNIT, least=LEAST_BETA, most=1).tag(sync=True)
    seed = Whole(0, least=0, most=LAST_SEED).tag(sync=True)

    constants: ClassVar[dict[str, Any]] = {
        "NODES": NODES,
        "WIDTH": WIDTH,
        "LAST_SEED": LAST_SEED,
        "LEAST_BETA": LEAST_BETA,
        "SCENES": SCENES,
    }

    def __init__(
        self,
        edges: Tensor | Sequence[Sequence[int]] | None = None,
        *,
        node: int = 0,
        beta: float | int = UNIT,
        seed: int = 0,
    ) -> None:
        if isinstance(edges, Tensor):
            edges = edges.mT.tolist()
        super().__init__(edges=some_edges() if edges is None else [list(e) for e in edges], node=node, beta=beta, seed=seed)

    @traitlets.validate("edges")
    def _check_edges(self, proposal: dict[str, Any]) -> list[list[int]]:
        edges: list[list[int]] = proposal["value"]
        for edge in edges:
            if len(edge) != 2 or not all(0 <= end < NODES for end in edge):
                raise FigureError(f"edges has {edge}; expected pairs of numbers from 0 to {NODES - 1}")
        if len({tuple(edge) for edge in edges}) < len(edges):
            raise FigureError("edges has an edge twice; expected each once")
        return edges

    @property
    def readout(self) -> dict[str, Any]:
        """The numbers that the figure shows, computed here by :mod:`attnlib.message_passing`.

        For the chosen node: its ``neighbours``, those that point at it; its ``query``; their ``scores``, ``weights`` and
        ``values``; the ``mix`` that it gathers; how many neighbours are ``effective``; the ``spread`` of the scores and the
        ``threshold`` around which so many Gaussian scores freeze; few of them do so gradually.
        """
        data, to_query, to_key, to_value = system(self.seed)
        query, key, value = data @ to_query.mT, data @ to_key.mT, data @ to_value.mT
        neighbours = sorted(source for source, target in self.edges if target == self.node)
        edge_index = torch.tensor([neighbours, [self.node] * len(neighbours)], dtype=torch.int64).reshape(2, -1)
        weights = edge_weights(query, key, edge_index, beta=self.beta)
        scores = self.beta * key[neighbours] @ query[self.node]
        mix = edge_attention(query, key, value, edge_index, beta=self.beta)[self.node]
        count = len(neighbours)
        return {
            "neighbours": neighbours,
            "query": query[self.node].tolist(),
            "scores": scores.tolist(),
            "weights": weights.tolist(),
            "values": value[neighbours].tolist(),
            "mix": mix.tolist(),
            "effective": effective_number(weights).item() if count else 0.0,
            "spread": scores.std(correction=0).item() if count else 0.0,
            "threshold": math.sqrt(2 * math.log(count)) if count > 1 else 0.0,
        }

    def alt(self) -> str:
        """Who points at the chosen node, and with which weights, in two sentences."""
        said = self.readout
        if not said["neighbours"]:
            return f"A graph of {NODES} nodes. Nothing reaches node {self.node}: it keeps its data."
        shares = ", ".join(f"node {j} {w:.2f}" for j, w in zip(said["neighbours"], said["weights"], strict=True))
        return f"A graph of {NODES} nodes. Node {self.node} gathers, with scores times {self.beta:.3g}, weights: {shares}."

    def still(self) -> str:
        """The graph in a circle, its arrows to the chosen node as wide as their weights, with scores and weights beside it."""
        said = self.readout
        weight = dict(zip(said["neighbours"], said["weights"], strict=True))
        lines = ""
        for source, target in sorted(map(tuple, self.edges), key=lambda edge: edge[1] == self.node):
            (x, y), (u, v) = _spot(source), _spot(target)
            chosen = target == self.node
            colour, wide = ("#d55e00", 1 + 6 * weight[source]) if chosen else ("#a8b0ba", 1)
            if source != target:
                lines += f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}" stroke="{colour}" stroke-width="{wide:.2f}"/>'
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="16" fill="{fill}" stroke="#1d2733"/>'
            f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle" fill="{ink}">{k}</text>'
            for k in range(NODES)
            for (x, y), fill, ink in [(_spot(k), *(("#0072b2", "#fcfcfa") if k == self.node else ("#f0f0ea", "#1d2733")))]
        )
        bars = "".join(
            f'<text x="380" y="{72 + 26 * k}">node {j}</text>'
            f'<text x="510" y="{72 + 26 * k}" text-anchor="end">{_tenth(score)}</text>'
            f'<rect x="530" y="{60 + 26 * k}" width="{130 * w:.1f}" height="14" fill="#d55e00"/>'
            f'<text x="712" y="{72 + 26 * k}" text-anchor="end">{w:.2f}</text>'
            for k, (j, score, w) in enumerate(zip(said["neighbours"], said["scores"], said["weights"], strict=True))
        )
        texts = (
            f"Spread of the scores {said['spread']:.1f}; the weights freeze around {said['threshold']:.2f}.",
            "A still picture. Run the cell, or allow JavaScript, to choose a node and to change edges.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 370" width="720" height="370" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="370" rx="12" fill="#fcfcfa"/>'
            f'<text x="380" y="26">whom node {self.node} hears</text><text x="380" y="48">from</text>'
            '<text x="510" y="48" text-anchor="end">score</text><text x="530" y="48">weight</text>'
            f'<g fill="none">{lines}</g>{dots}{bars}'
            + "".join(f'<text x="20" y="{326 + 22 * i}">{text}</text>' for i, text in enumerate(texts))
            + "</svg>"
        )


def some_edges() -> list[list[int]]:
    """Forty random edges, of which those that were drawn twice are merged, as pairs of a source and a target."""
    drawn = torch.randint(NODES, (2, 40), generator=torch.Generator().manual_seed(0))
    return merge_edges(drawn).mT.tolist()


def system(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Data ``[10, 20]`` and maps to queries, keys and values ``[20, 20]``, as ``kit.generator(seed).normal()`` draws."""
    data, *maps = normals(NODES * WIDTH + 3 * WIDTH * WIDTH, seed).split([NODES * WIDTH, *[WIDTH * WIDTH] * 3])
    to_query, to_key, to_value = (one.reshape(WIDTH, WIDTH) for one in maps)
    return data.reshape(NODES, WIDTH), to_query, to_key, to_value


def _tenth(score: float) -> str:
    return f"{score:.1f}".replace("-", "\u2212")


def _spot(k: int) -> tuple[float, float]:
    angle = 2 * math.pi * k / NODES - math.pi / 2
    return 180 + 120 * math.cos(angle), 160 + 120 * math.sin(angle)
