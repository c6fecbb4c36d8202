"""Flatland: queries that roll down the energy of memories in the plane (chapter 3).

It is longer than 250 lines because the figure, its scenes and its still picture are read as one.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib._core.convergence import ConvergenceWarning
from attnlib.attention import attention_weights
from attnlib.course.live._figure import FigureError, LiveFigure
from attnlib.course.oracles import splitting_beta as valleys_split
from attnlib.hopfield import descend, find_fixed_points, hopfield_energy, hopfield_update

EDGE = 3.0
"""The plane is the square from -3 to 3."""

MOST_MEMORIES, MOST_QUERIES, MOST_STEPS, MOST_TO_REST = 32, 12, 100, 1000
LARGEST_BETA, LARGEST_STEP = 100.0, 2.5
HOTTEST, COLDEST = 0.05, 50.0
"""The ends of the slider for beta."""

TOGETHER = 0.1
"""Tokens so close to each other are said to have one place."""

UNCHANGED = [1.0, 0.0, 0.0, 1.0]


def _points(points: Tensor) -> list[list[float]]:
    """Two decimals, inside the plane: as exact in the browser as here."""
    return [[round(x, 2) for x in point] for point in points.clamp(-2.7, 2.7).tolist()]


def _scenarios() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What most scenes have in common, and what is special in each."""
    generator = torch.Generator().manual_seed(3)
    memories = 1.1 * torch.randn(10, 2, dtype=torch.float64, generator=generator)
    queries = 1.4 * torch.randn(6, 2, dtype=torch.float64, generator=generator)
    drawn = torch.randn(3, 2, 2, dtype=torch.float64, generator=generator.manual_seed(27))
    query_map, key_map, value_map = 0.5 * torch.eye(2, dtype=torch.float64) + 0.6 * drawn
    usual = round(2**-0.5, 4)
    plane = {"memories": _points(memories), "queries": _points(queries), "beta": usual, "step_size": 1.0, "steps": 1}
    out_map = (value_map @ torch.linalg.inv(key_map)).flatten().tolist()
    return plane, {
        "one big step": {},
        "small steps": {"step_size": 0.01, "steps": 10},
        "ten big steps": {"steps": 10},
        "hot": {"beta": HOTTEST, "steps": 10},
        "cold": {"beta": 8.0, "steps": 10},
        "with maps": {
            "memories": _points(memories @ key_map.T),
            "queries": _points(queries @ query_map.T),
            "out_map": [round(entry, 4) for entry in out_map],
        },
        "self-attention": {"self_attention": True},
    }


_PLANE, _SCENES = _scenarios()
SCENARIOS = {name: {**_PLANE, **scene} for name, scene in _SCENES.items()}
"""Seven things to see. Each name has the settings of a :class:`Flatland`, drawn from a fixed seed.

With maps, memories are keys and queries are where their own map puts them; the map that turns the last state into the output
is the map of the values behind the inverse of the map of the keys.
"""


class Flatland(LiveFigure):
    r"""Drag memories and queries in the plane; see the energy, its slope and the way down, all at once.

    Traits, all to be set, observed and linked:

    - ``memories``: from 1 to 32 points ``[x, y]`` between -3 and 3, and ``queries``, from 0 to 12;
    - ``beta``: inverse temperature, above 0 and at most 100;
    - ``step_size`` from 0 to 2.5 and ``steps``, an integer from 0 to 100;
    - ``out_map``: four numbers, the rows of a matrix applied to the last state, as the module ``EnergyAttention`` does;
    - ``self_attention``: if true the memories are tokens that attend to each other and all move, and ``queries`` are not used;
    - ``compact``: if true the figure is the plane and a slider for beta, no more.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> figure = Flatland([[1.0, 0.0], [-1.0, 0.0]], [[0.5, 0.2]], beta=0.5, steps=1)
    >>> figure.readout["sharing"], round(figure.readout["states"][0][-1][0], 4)
    ([2], 0.2449)
    """

    constants: ClassVar[dict[str, Any]] = {
        "EDGE": EDGE,
        "MOST_MEMORIES": MOST_MEMORIES,
        "MOST_QUERIES": MOST_QUERIES,
        "MOST_STEPS": MOST_STEPS,
        "MOST_TO_REST": MOST_TO_REST,
        "LARGEST_BETA": LARGEST_BETA,
        "LARGEST_STEP": LARGEST_STEP,
        "HOTTEST": HOTTEST,
        "COLDEST": COLDEST,
        "TOGETHER": TOGETHER,
        "UNCHANGED": UNCHANGED,
        "PLANE": _PLANE,
        "SCENES": _SCENES,
    }
    memories = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    queries = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    beta = traitlets.Float(1.0).tag(sync=True)
    step_size = traitlets.Float(1.0).tag(sync=True)
    steps = traitlets.Int(1).tag(sync=True)
    out_map = traitlets.List(traitlets.Float(), UNCHANGED).tag(sync=True)
    self_attention = traitlets.Bool(False).tag(sync=True)
    compact = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        memories: Iterable[Sequence[float | int]] | Tensor = SCENARIOS["cold"]["memories"],
        queries: Iterable[Sequence[float | int]] | Tensor = SCENARIOS["cold"]["queries"],
        beta: float | int = 1.0,
        *,
        step_size: float | int = 1.0,
        steps: int = 10,
        out_map: Sequence[float | int] = UNCHANGED,
        self_attention: bool = False,
        compact: bool = False,
    ) -> None:
        super().__init__(
            memories=[[float(x) for x in point] for point in memories],
            queries=[[float(x) for x in point] for point in queries],
            beta=beta,
            step_size=step_size,
            steps=steps,
            out_map=[float(entry) for entry in out_map],
            self_attention=self_attention,
            compact=compact,
        )

    @traitlets.validate("memories", "queries")
    def _check_points(self, proposal: dict[str, Any]) -> list[list[float]]:
        name, points = proposal["trait"].name, proposal["value"]
        least, most = (1, MOST_MEMORIES) if name == "memories" else (0, MOST_QUERIES)
        if not least <= len(points) <= most:
            raise FigureError(f"{name} has {len(points)} points; expected {least} to {most}")
        for point in points:
            if len(point) != 2 or not all(abs(x) <= EDGE for x in point):  # a NaN fails it too
                raise FigureError(f"{name} has the point {point}; expected two numbers between -3 and 3")
        return points

    @traitlets.validate("beta", "step_size", "steps")
    def _check_number(self, proposal: dict[str, Any]) -> float | int:
        name, value = proposal["trait"].name, proposal["value"]
        most = {"beta": LARGEST_BETA, "step_size": LARGEST_STEP, "steps": MOST_STEPS}[name]
        if not (0 < value <= most if name == "beta" else 0 <= value <= most):
            raise FigureError(f"{name} is {value}; expected 0 {'<' if name == 'beta' else '<='} {name} <= {most:g}")
        return value

    @traitlets.validate("out_map")
    def _check_map(self, proposal: dict[str, Any]) -> list[float]:
        entries = proposal["value"]
        if len(entries) != 4 or not all(math.isfinite(entry) for entry in entries):
            raise FigureError(f"out_map is {entries}; expected four finite numbers")
        return entries

    def _tensors(self) -> tuple[Tensor, Tensor]:
        """Memories and starting states."""
        memory = torch.tensor(self.memories, dtype=torch.float64)
        states = self.memories if self.self_attention else self.queries
        return memory, torch.tensor(states, dtype=torch.float64).reshape(-1, 2)

    @property
    def readout(self) -> dict[str, Any]:
        """The numbers that the figure shows, computed here by torch, one entry for each query (or token).

        ``states``: the way down, a point for each step; ``energies``, those of these points; ``outputs``: the last state
        through ``out_map``; ``rest``: the fixed point that it would reach with full steps; ``sharing``: how many memories
        share that point, or 0 if a thousand steps do not reach it; ``nearest``: the memory with the largest weight there.

        Tokens of self-attention move all at once, each step in the landscape of where they are by then. Theirs are: ``rest``,
        the last state; ``sharing``, how many tokens lie there, itself among them; ``nearest``, its own index.
        """
        memory, start = self._tensors()
        if not len(start):
            return {name: [] for name in ("states", "energies", "outputs", "rest", "sharing", "nearest")}
        states, energies = self._gather(memory) if self.self_attention else self._descend(memory, start)
        out_map = torch.tensor(self.out_map, dtype=torch.float64).reshape(2, 2)
        return {
            "states": states.transpose(0, 1).tolist(),
            "energies": energies.T.tolist(),
            "outputs": (states[-1] @ out_map.T).tolist(),
            **(_groups(states[-1]) if self.self_attention else _rests(states[-1], memory, self.beta)),
        }

    def _descend(self, memory: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        """States ``[steps + 1, n, 2]`` and energies ``[steps + 1, n]`` of queries among memories that stay."""

        def energy(state: Tensor) -> Tensor:
            return hopfield_energy(state, memory, beta=self.beta)

        fall = descend(energy, start, steps=self.steps, step_size=self.step_size)
        return fall.states, fall.energies

    def _gather(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The same of tokens that attend to each other and move together: each step has a landscape of its own."""
        states = [tokens]
        for _ in range(self.steps):
            states.append(hopfield_update(states[-1], states[-1], beta=self.beta, step_size=self.step_size))
        return torch.stack(states), torch.stack([hopfield_energy(now, now, beta=self.beta) for now in states])

    def alt(self) -> str:
        """Sizes and settings, and where the queries come to rest, in a sentence."""
        sharing = self.readout["sharing"]
        what = f"{len(self.memories)} tokens" if self.self_attention else f"{len(self.memories)} memories"
        single, shared = sharing.count(1), sum(share > 1 for share in sharing)
        ends = (
            f"{shared} end within {TOGETHER} of another"
            if self.self_attention
            else f"{single} are bound for a single memory, {shared} for an average"
        )
        return (
            f"Energy landscape of {what} in the plane at beta {self.beta:.4g}, dark where it is low. {len(sharing)} "
            f"states take {_steps(self.steps)} of size {self.step_size:.4g}; {ends}."
        )

    def still(self) -> str:
        """The landscape in six shades, crosses for the memories, circles for the queries and their ways down."""
        memory, start = self._tensors()
        crosses = "".join(f"M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" for x, y in map(_place, memory.tolist()))
        ways = "".join("M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in map(_place, way)) for way in self.readout["states"])
        circles = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="white" stroke="#d55e00" stroke-width="2"/>'
            for x, y in map(_place, start.tolist())
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 390" width="720" height="390" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="390" rx="12" fill="#fcfcfa"/>'
            f'<svg x="15" y="15" width="360" height="360">{_shades(memory, self.beta)}'
            f'<g fill="none" stroke-width="2"><path d="{crosses}" stroke="#1d2733"/><path d="{ways}" stroke="#d55e00"/></g>'
            f'{circles}</svg><text x="395" y="40" font-weight="bold">Flatland at beta = {self.beta:.4g}</text>'
            f'<text x="395" y="66">{_steps(self.steps)} of size {self.step_size:.4g}</text>'
            '<text x="395" y="100">Crosses are memories, circles are queries.</text>'
            '<text x="395" y="122">Dark is low: a query rolls down.</text>'
            '<text x="395" y="156">A still picture. With JavaScript you can</text>'
            '<text x="395" y="178">drag everything and turn the temperature.</text></svg>'
        )


def splitting_beta(memories: Iterable[Sequence[float | int]] | Tensor) -> float | None:
    """Where a second valley appears, as :func:`attnlib.course.oracles.splitting_beta` has it; None if that is beyond the end.

    >>> round(splitting_beta([[2.0, 0.0], [-2.0, 0.0]]), 3)  # two opposite memories: a magnet, critical at 1 / |x|^2
    0.25
    """
    memory = torch.as_tensor(memories, dtype=torch.float64)
    most = COLDEST * torch.cdist(memory, memory).max().item() ** 2 / 4  # in units of the least that is possible
    found = valleys_split(memory, coldest=most) if most >= 1 else None
    return found if found is None or found <= COLDEST else None


def _rests(state: Tensor, memory: Tensor, beta: float) -> dict[str, Any]:
    """Where full steps lead queries in the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = find_fixed_points(state, memory, beta=beta, max_steps=MOST_TO_REST, on_failure="warn")
    return {
        "rest": found.states.tolist(),
        "sharing": [int(found.sharing[place]) if place >= 0 else 0 for place in found.reached.tolist()],
        "nearest": attention_weights(found.states, memory, beta=beta).argmax(-1).tolist(),
    }


def _groups(tokens: Tensor) -> dict[str, Any]:
    """Which tokens have come together."""
    together = (torch.cdist(tokens, tokens, compute_mode="donot_use_mm_for_euclid_dist") <= TOGETHER).sum(-1)
    return {"rest": tokens.tolist(), "sharing": together.tolist(), "nearest": list(range(len(tokens)))}


def _steps(number: int) -> str:
    return f"{number} step{'s' * (number != 1)}"


def _place(point: Sequence[float]) -> tuple[float, float]:
    """Where a point of the plane lies in a picture 360 wide, kept near it when a descent has run away."""
    x, y = (max(-99.0, min(99.0, z)) for z in point)
    return 60 * (x + EDGE), 60 * (EDGE - y)


def _shades(memory: Tensor, beta: float, cells: int = 24, tones: int = 6) -> str:
    """The landscape as rows of strokes, one path for each shade."""
    middle = (torch.arange(cells, dtype=torch.float64) + 0.5) * 2 * EDGE / cells - EDGE
    rows, columns = torch.meshgrid(-middle, middle, indexing="ij")
    height = hopfield_energy(torch.stack([columns, rows], -1).flatten(0, 1), memory, beta=beta).reshape(cells, cells)
    depth = ((height - height.min()) / (height.max() - height.min())) ** (1 / 1.7)
    shade, side, paths = (depth * tones).long().clamp(max=tones - 1), 360 // cells, [""] * tones
    for row, line in enumerate(shade):
        tone, length = torch.unique_consecutive(line, return_counts=True)
        for kind, begin, run in zip(tone.tolist(), (length.cumsum(0) - length).tolist(), length.tolist()):
            paths[kind] += f"M{side * begin} {side * row + side // 2}h{side * run}"
    colours = ("#3083be", "#6baed6", "#9ecae1", "#c6dbef", "#deebf7", "#f7fbff")
    drawn = (f'<path d="{path}" stroke="{colour}"/>' for path, colour in zip(paths, colours) if path)
    return f'<g stroke-width="{side}">{"".join(drawn)}</g>'
