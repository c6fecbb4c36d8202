"""The arrow film: eight driven spins, filmed, and the film once more backwards; which is which? (chapter 8)."""

import math
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.course.live._draws import words
from attnlib.course.live._figure import Choice, LiveFigure, Number, Seed
from attnlib.kinetic import exact_kinetic, spin_states, stationary_closure

SPINS, FRAMES = 8, 24
"""How many spins, and how many frames follow the first."""
BETA_RANGE, SHARPEST = (0.2, 2.5), 4.0
"""What the sliders reach."""
NOISE = (
    (-0.56, -0.58, -0.13, -0.22, 0.42, 0.35, -0.16, 1.06),
    (0.16, 0.63, 0.15, -0.30, 0.43, 0.61, -0.71, 0.17),
    (-0.68, 0.15, 0.38, 0.80, 0.14, -0.50, 0.65, -0.42),
    (-0.24, 0.93, -0.70, 0.12, 0.50, -0.16, -0.43, 0.33),
    (0.20, -0.39, -0.72, 0.51, -0.24, -0.60, 0.28, 0.05),
    (0.64, -0.11, 0.56, -0.26, 0.36, -0.37, 0.09, -0.84),
    (-0.30, 0.47, 0.02, -0.58, 0.81, 0.24, -0.49, 0.40),
    (0.30, -0.66, 0.52, 0.18, -0.35, 0.71, -0.06, -0.19),
)
BEFORE = 1.5
"""What the score of the spin before a spin has more than others: most weights look one back."""
SCORES = [[round(z + BEFORE * (j == (i - 1) % SPINS), 2) for j, z in enumerate(row)] for i, row in enumerate(NOISE)]
DRIVE = [0.22, -0.39, -0.18, 0.03, -0.25, 0.15, -0.16, -0.21]


class ArrowFilm(LiveFigure):
    r"""A film of eight driven spins stands twice below each other, one of the two backwards: which?

    Couplings are softmax weights of scores in which each spin looks mostly at the one before it. All spins move at once,

    .. math:: p(s_i(t+1) = \pm 1) \propto e^{\pm \beta h_i(t)}, \qquad h = x + J s

    with couplings

    .. math:: J = A - \tfrac{\alpha}{2} (A - A^T), \qquad A_{ij} = \mathrm{softmax}_j(g\, z_{ij})

    The log odds of the right answer are :math:`\ln (\pi_{s(0)} \prod P) / (\pi_{s(T)} \prod P_{\mathrm{back}})`, and grow by
    the entropy production a frame on average. All is summed over the 256 states.

    Traits, all to be set, observed and linked:

    - ``beta``: the inverse temperature of the spins, from 0.2 to 2.5;
    - ``sharpness``: g, what scores are multiplied by, from 0 to 4;
    - ``symmetric``: :math:`\alpha`, how much of the antisymmetric part is taken away, from 0 to 1;
    - ``causal``: whether a spin sees itself and those before it only;
    - ``seed``: which film; ``guess``: which strip the reader says runs backwards, ``"A"``, ``"B"`` or nothing yet.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> round(ArrowFilm(symmetric=1.0).readout["e_p"], 9) == 0, ArrowFilm().readout["e_p"] > 1
    (True, True)
    """

    shared: ClassVar[tuple[str, ...]] = ("driven_spins",)
    constants: ClassVar[dict[str, Any]] = {
        "SPINS": SPINS,
        "FRAMES": FRAMES,
        "BETA_RANGE": BETA_RANGE,
        "SHARPEST": SHARPEST,
        "SCORES": SCORES,
        "DRIVE": DRIVE,
    }
    beta = Number(1.0, least=BETA_RANGE[0], most=BETA_RANGE[1]).tag(sync=True)
    sharpness = Number(2.0, least=0, most=SHARPEST).tag(sync=True)
    symmetric = Number(0.0, least=0, most=1).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    seed = Seed(0).tag(sync=True)
    guess = Choice("", ("", "A", "B")).tag(sync=True)

    def __init__(
        self,
        beta: float | int = 1.0,
        *,
        sharpness: float | int = 2.0,
        symmetric: float | int = 0.0,
        causal: bool = False,
        seed: int = 0,
        guess: str = "",
    ) -> None:
        super().__init__(beta=beta, sharpness=sharpness, symmetric=symmetric, causal=causal, seed=seed, guess=guess)

    @property
    def readout(self) -> dict[str, Any]:
        """The numbers that the figure shows, computed here by ``attnlib.kinetic``.

        ``J``, the couplings; ``e_p``, nats a frame; ``m``, the means of the spins; ``naive`` and ``correlated``, what these
        closures take them for, and ``closed``, their two entropy productions; ``frames``, the film as it was, 25 times eight
        spins; ``backwards``, which strip shows it backwards; ``odds``, the log odds for that after each frame; ``right``,
        whether it was guessed.
        """
        J, x = couplings(self.sharpness, self.symmetric, self.causal), torch.tensor(DRIVE, dtype=torch.float64)
        found = exact_kinetic(J, x, beta=self.beta)
        naive, correlated = (stationary_closure(J, x, beta=self.beta, closure=name) for name in ("naive", "correlated"))
        frames, backwards = filmed(J, x, self.beta, found.law, self.seed)
        return {
            "J": J.tolist(),
            "e_p": found.entropy_production.item(),
            "m": found.m.tolist(),
            "naive": naive.m.tolist(),
            "correlated": correlated.m.tolist(),
            "closed": [naive.entropy_production.item(), correlated.entropy_production.item()],
            "frames": frames.int().tolist(),
            "backwards": backwards,
            "odds": log_odds(J, x, self.beta, found.law, frames).tolist(),
            "right": self.guess == backwards,
        }

    def alt(self) -> str:
        """Settings, the entropy production, and what the film of this seed says, in two sentences."""
        said = self.readout
        kind = "causal " if self.causal else ""
        return (
            f"A film of 8 spins with {kind}softmax couplings of sharpness {self.sharpness:.2f} at beta {self.beta:.2f}, once "
            f"forwards and once backwards. Entropy production is {_nats(said['e_p'])} nats a frame."
        )

    def still(self) -> str:
        """Both strips, and what is expected of the log odds."""
        said = self.readout
        strips = "".join(
            f'<text x="20" y="{52 + 140 * k}" font-weight="bold">{name}</text>'
            f'<rect x="44" y="{30 + 140 * k}" width="656" height="120" fill="#f0f0ea"/>'
            f'<path d="{_strip(said["frames"], name == said["backwards"], 30 + 140 * k)}" fill="#0072b2"/>'
            for k, name in enumerate("AB")
        )
        lines = (
            f"Which runs backwards? The log odds for it grow by {_nats(said['e_p'])} a frame.",
            "A still picture. Run the cell, or allow JavaScript, to guess and to turn beta.",
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 360" width="720" height="360" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="360" rx="12" fill="#fcfcfa"/>'
            f"{strips}" + "".join(f'<text x="20" y="{324 + 22 * i}">{line}</text>' for i, line in enumerate(lines)) + "</svg>"
        )


def couplings(sharpness: float, symmetric: float, causal: bool) -> Tensor:
    """Softmax weights ``[8, 8]`` of the scores, with so much of their antisymmetric part taken away."""
    z = sharpness * torch.tensor(SCORES, dtype=torch.float64)
    if causal:
        z = z.masked_fill(torch.ones(SPINS, SPINS).triu(1).bool(), -math.inf)
    A = z.softmax(-1)
    return A - symmetric / 2 * (A - A.mT)


def filmed(J: Tensor, x: Tensor, beta: float, law: Tensor, seed: int) -> tuple[Tensor, str]:
    """Frames ``[25, 8]`` from a first one of the stationary law, and which strip shows them backwards."""
    u = (torch.tensor(words(2 + SPINS * FRAMES, seed), dtype=torch.float64) + 0.5) / 2**32
    frames = [spin_states(SPINS, dtype=torch.float64)[int((law.cumsum(0) <= u[1] * law.sum()).sum())]]
    for noise in u[2:].view(FRAMES, SPINS):
        frames.append(torch.where(noise < torch.sigmoid(2 * beta * (x + J @ frames[-1])), 1.0, -1.0).double())
    return torch.stack(frames), "A" if u[0] < 0.5 else "B"


def log_odds(J: Tensor, x: Tensor, beta: float, law: Tensor, frames: Tensor) -> Tensor:
    """By how much the logarithm of a film's chance is above that of the film backwards, after 0 to 24 frames: ``[25]``."""
    number = ((frames > 0) * 2 ** torch.arange(SPINS)).sum(-1)
    h = beta * (x + frames @ J.mT)
    free = torch.logaddexp(h, -h).sum(-1)
    there, back = ((h[:-1] * frames[1:]).sum(-1) - free[:-1], (h[1:] * frames[:-1]).sum(-1) - free[1:])
    grown = torch.cat([h.new_zeros(1), (there - back).cumsum(0)])
    return grown + law[number[0]].log() - law[number].log()


def _nats(value: float) -> str:
    return f"{abs(value):.2f}"


def _strip(frames: list[list[int]], backwards: bool, top: int) -> str:
    """The spins that are up, as squares: frames from left to right."""
    shown = frames[::-1] if backwards else frames
    wide, tall = 656 / (FRAMES + 1), 120 / SPINS
    return "".join(
        f"M{44 + wide * t:.2f} {top + tall * i:.2f}h{wide - 1:.2f}v{tall - 1:.2f}h{1 - wide:.2f}z"
        for t, frame in enumerate(shown)
        for i, spin in enumerate(frame)
        if spin > 0
    )
