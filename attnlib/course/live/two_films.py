"""Two films, one noise: two films of one layer, started apart and driven by the same noise; do they meet? (chapter 8)."""

import math
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._draws import normals, words
from attnlib.course.live._figure import Choice, LiveFigure, Number, Seed
from attnlib.kinetic import damage, exact_kinetic, transition_matrix

SPINS, FRAMES, FIRST = 32, 40, 8
"""How many spins the films have, how many frames follow the first, and of how many tokens the law is summed."""
BETA_RANGE, SPREAD = (0.1, 2.5), 1.0
"""What the slider reaches, and the spread of the scores."""
KINDS = {"independent": "independent, of both signs", "softmax": "softmax weights", "signed": "softmax weights, signs drawn"}
SCORE_SEED = 7


class TwoFilms(LiveFigure):
    r"""Three films of one layer, from all up, from all down and from alternating spins, are driven by the same noise.

    .. math:: s_i(t + 1) = \mathrm{sign}\Big(\frac{1 + \tanh \beta h_i(t)}{2} - u_i(t)\Big), \qquad h = J s

    The first two are shown, and where they differ. Couplings are independent, of variance 1/32, or softmax weights of the same
    numbers as scores, or these with signs. The law is another matter: that of a layer of eight such tokens is summed
    over all 256 states, step by step from all up, and its distance from the stationary one shown beside the share of spins
    that differ.

    Traits, all to be set, observed and linked:

    - ``beta``: the inverse temperature of the spins, from 0.1 to 2.5;
    - ``kind``: of couplings, ``"independent"``, ``"softmax"`` or ``"signed"``;
    - ``causal``: whether a spin sees itself and those before it only;
    - ``seed``: of the noise.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> TwoFilms().readout["met"], TwoFilms(0.5, kind="softmax").readout["met"] > 0  # -1: they do not
    (-1, True)
    """

    shared: ClassVar[tuple[str, ...]] = ("driven_spins",)
    constants: ClassVar[dict[str, Any]] = {
        "SPINS": SPINS,
        "FRAMES": FRAMES,
        "FIRST": FIRST,
        "BETA_RANGE": BETA_RANGE,
        "SPREAD": SPREAD,
        "KINDS": KINDS,
        "SCORE_SEED": SCORE_SEED,
    }
    beta = Number(1.0, least=BETA_RANGE[0], most=BETA_RANGE[1]).tag(sync=True)
    kind = Choice("independent", tuple(KINDS)).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    seed = Seed(0).tag(sync=True)

    def __init__(self, beta: float | int = 1.0, *, kind: str = "independent", causal: bool = False, seed: int = 0) -> None:
        super().__init__(beta=beta, kind=kind, causal=causal, seed=seed)

    @property
    def readout(self) -> dict[str, Any]:
        """The numbers that the figure shows, computed here by ``attnlib.kinetic``.

        ``J``, couplings of a layer of eight such tokens; ``law``, the distance (total variation) of its law from the
        stationary one after each of 0 to 40 steps; ``apart``, the share of the 32 spins in which the first two films differ,
        frame by frame; ``met``, the first frame in which they are equal, ``third``, that in which the third is equal to the
        first, both -1 if there is none; ``damage``, the share that many independent couplings keep apart; ``up``, how many
        spins of each of the first two films are up, frame by frame.
        """
        films = filmed(couplings(self.kind, self.causal, SPINS), self.beta, self.seed)
        apart = (films[:, :1] != films[:, 1:]).double().mean(-1)
        J = couplings(self.kind, self.causal, FIRST)
        return {
            "J": J.tolist(),
            "law": forgotten(J, self.beta),
            "apart": apart[:, 0].tolist(),
            "met": _first(apart[:, 0]),
            "third": _first(apart[:, 1]),
            "damage": damage(self.beta),
            "up": (films[:, :2] > 0).sum(-1).tolist(),
        }

    def alt(self) -> str:
        """Settings, whether the films meet, and what the law does, in two sentences."""
        said = self.readout
        kind = f"{'causal ' if self.causal else ''}couplings, {KINDS[self.kind]},"
        films = f"meet at step {said['met']}" if said["met"] >= 0 else f"are apart after {FRAMES} steps"
        return (
            f"Two films of {SPINS} spins with {kind} at beta {self.beta:.2f}, from all up and from all down and driven by the "
            f"same noise, {films}. The law of the first {FIRST} spins is then {said['law'][FRAMES]:.3f} from the one at rest."
        )

    def still(self) -> str:
        """Both films, and where they differ."""
        said, wide, tall = self.readout, 656 / (FRAMES + 1), 88 / SPINS
        films = filmed(couplings(self.kind, self.causal, SPINS), self.beta, self.seed)
        shown = (("A, from all up", films[:, 0] > 0), ("B, from all down", films[:, 1] > 0), ("", films[:, 0] != films[:, 1]))
        strips = ""
        for k, (name, cells) in enumerate(shown):
            top, colour = 26 + 112 * k, "#d55e00" if k == 2 else "#0072b2"
            strips += (
                f'<text x="44" y="{top - 6}">{name or "where they differ"}</text>'
                f'<rect x="44" y="{top}" width="656" height="88" fill="#f0f0ea"/>'
                f'<path d="{_cells(cells, wide, tall, top)}" fill="{colour}"/>'
            )
        end = f"They meet at step {said['met']}." if said["met"] >= 0 else f"They are apart after {FRAMES} steps."
        lines = (f"Driven by the same noise. {end}", "A still picture. Run the cell, or allow JavaScript, to turn beta.")
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" width="720" height="400" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="400" rx="12" fill="#fcfcfa"/>'
            f"{strips}" + "".join(f'<text x="44" y="{364 + 20 * i}">{line}</text>' for i, line in enumerate(lines)) + "</svg>"
        )


def couplings(kind: str, causal: bool, n: int) -> Tensor:
    """Couplings ``[n, n]`` of a layer of n tokens, from the first n rows and columns of one draw."""
    z, signs = normals(2 * SPINS * SPINS, SCORE_SEED).view(2, SPINS, SPINS)[:, :n, :n]
    later = torch.ones(n, n).triu(1).bool()
    if kind == "independent":
        return (z / n**0.5).masked_fill(later, 0.0) if causal else z / n**0.5
    weights = (SPREAD * z).masked_fill(later & torch.tensor(causal), -math.inf).softmax(-1)
    return weights * signs.sign() if kind == "signed" else weights


def filmed(J: Tensor, beta: float, seed: int) -> Tensor:
    """Frames ``[41, 3, n]`` of three films with one noise: from all up, from all down, and up and down in turn."""
    n = len(J)
    noise = (torch.tensor(words(n * FRAMES, seed), dtype=torch.float64).view(FRAMES, n) + 0.5) / 2**32
    turns = 1.0 - 2 * (torch.arange(n) % 2)
    frames = [torch.stack([torch.ones(n), -torch.ones(n), turns]).double()]
    for u in noise:
        frames.append(torch.where(u < torch.sigmoid(2 * beta * (frames[-1] @ J.mT)), 1.0, -1.0).double())
    return torch.stack(frames)


def forgotten(J: Tensor, beta: float) -> list[float]:
    """The distance of the law from the stationary one, step by step from all up."""
    P, rest = transition_matrix(J, beta=beta), exact_kinetic(J, beta=beta).law
    law, found = torch.zeros_like(rest), []
    law[-1] = 1.0
    for _ in range(FRAMES + 1):
        found.append((law - rest).abs().sum().item() / 2)
        law = law @ P
    return found


def _first(apart: Tensor) -> int:
    """The first frame in which nothing differs, or -1."""
    same = (apart == 0).nonzero()
    return int(same[0]) if len(same) else -1


def _cells(cells: Tensor, wide: float, tall: float, top: int) -> str:
    """Frames ``[41, n]`` from left to right: what is true as rectangles, neighbours in a row together."""
    parts = []
    for i, row in enumerate(cells.T.tolist()):
        edges = [t for t in range(FRAMES + 2) if (t <= FRAMES and row[t]) != (t > 0 and row[t - 1])]
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            left, across = 44 + wide * begin, wide * (end - begin)
            parts.append(f"M{left:g} {top + tall * i:.1f}h{across:g}v{tall:g}H{left:g}z")
    return "".join(parts)
