"""A stack of blocks: tokens as driven spins, what naive means make of them, and the epsilon of each norm (chapter 8)."""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from attnlib.course.live._draws import normals, words
from attnlib.course.live._figure import Choice, LiveFigure, Number, Seed, Whole
from attnlib.kinetic import moments_step, vector_response

TOKENS, FILMS, MOST_BLOCKS, TRIES = 6, 48, 6, 8
"""How many tokens, films and blocks at most; how often the cosine of a spin is proposed."""
BETA_RANGE, WIDTHS = (0.2, 3.0), ("3", "8", "16", "64")
DRIVE, PLACES = 0.4, 5
"""How long the drive is by component, and the seed of scores and directions."""
KINDS = ("softmax", "sharp", "causal", "even")


class BlockStack(LiveFigure):
    r"""Six tokens pass a stack of blocks of the same weights: as spins that are sampled, as naive means, as moments.

    .. math:: h_i = x_i + \sum_j p_{ij} s_j, \qquad \phi(h) = a(k)\, h, \quad k = |h|^2 / d, \qquad
        m'_i = a(k_i + \Delta_i)\, h_i, \quad \Delta = \mathrm{diag}(p\, C p^T)

    The spins begin along their values, definite, so that all three agree after the first block. From then on naive means stand
    for spins, and what the spins fluctuate is missing where a norm has its epsilon.

    Traits, all to be set, observed and linked:

    - ``beta``: the inverse temperature of the spins, from 0.2 to 3;
    - ``blocks``: how many, from 1 to 6; ``width``: how many components a spin has, ``"3"``, ``"8"``, ``"16"`` or ``"64"``;
    - ``couplings``: ``"softmax"`` of independent scores, ``"sharp"``, of four times the scores, ``"causal"``, or ``"even"``;
    - ``seed``: of the films.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> found = BlockStack(blocks=2).readout
    >>> round(found["off"][0], 6), found["off"][1] > 0.05
    (0.0, True)
    """

    constants: ClassVar[dict[str, Any]] = {
        "TOKENS": TOKENS,
        "FILMS": FILMS,
        "MOST_BLOCKS": MOST_BLOCKS,
        "TRIES": TRIES,
        "BETA_RANGE": BETA_RANGE,
        "WIDTHS": WIDTHS,
        "DRIVE": DRIVE,
        "PLACES": PLACES,
        "KINDS": KINDS,
    }
    beta = Number(1.0, least=BETA_RANGE[0], most=BETA_RANGE[1]).tag(sync=True)
    blocks = Whole(5, least=1, most=MOST_BLOCKS).tag(sync=True)
    width = Choice("16", WIDTHS).tag(sync=True)
    couplings = Choice("softmax", KINDS).tag(sync=True)
    seed = Seed(0).tag(sync=True)

    def __init__(
        self,
        beta: float | int = 1.0,
        *,
        blocks: int = 5,
        width: str = "16",
        couplings: str = "softmax",
        seed: int = 0,
    ) -> None:
        super().__init__(beta=beta, blocks=blocks, width=width, couplings=couplings, seed=seed)

    @property
    def readout(self) -> dict[str, Any]:
        """The numbers that the figure shows, computed here by ``attnlib.kinetic``; each a list over blocks.

        ``naive``, ``moments`` and ``sampled``, how long the mean of each token is, over the length of a spin (for the films,
        along the mean of the moments); ``field``, k of each token in its norm, and ``epsilon``, the Delta beside it, both of
        the moments; ``off``, how far naive means are from the moments, over the size of these.
        """
        d = int(self.width)
        J, spins = weights(self.couplings), directions(d)
        drive, definite = DRIVE * spins, torch.zeros(TOKENS, TOKENS, dtype=torch.float64)
        naive, m, C = spins, spins, definite
        found: dict[str, Any] = {name: [] for name in ("naive", "moments", "sampled", "field", "epsilon", "off")}
        for seen in filmed(J, drive, spins, self.beta, self.blocks, self.seed):
            found["field"].append((drive + J @ m).square().mean(-1).tolist())
            found["epsilon"].append(((J @ C) * J).sum(-1).tolist())
            naive = vector_response(drive + J @ naive, beta=self.beta)
            m, C, _ = moments_step(m, C, J, drive, beta=self.beta, gain="exact")
            size = m.square().mean(-1).sqrt()
            found["naive"].append(naive.square().mean(-1).sqrt().tolist())
            found["moments"].append(size.tolist())
            found["sampled"].append(((seen * m).mean(-1) / size).tolist())
            found["off"].append(((naive - m).norm() / m.norm()).item())
        return found

    def alt(self) -> str:
        """Settings, and how far naive means are off after the last block, in two sentences."""
        said = self.readout
        plural = "s" if self.blocks > 1 else ""
        return (
            f"Six tokens as spins of {self.width} components in {self.blocks} block{plural} with {self.couplings} couplings at "
            f"beta {self.beta:.2f}. After the last one naive means are off by {100 * said['off'][-1]:.1f} per cent, and the "
            f"mean epsilon of its norm is {_mean(said['epsilon'][-1]):.2f}."
        )

    def still(self) -> str:
        """For each block, from below, the length of each token's mean: as sampled, and naive."""
        said, high, drawn = self.readout, 290 / self.blocks, []
        for block in range(self.blocks):
            foot = 310 - high * block
            drawn.append(f'<text x="20" y="{foot - 8:.1f}" font-weight="bold">block {block + 1}</text>')
            drawn.append(f'<line x1="90" x2="700" y1="{foot:.1f}" y2="{foot:.1f}" stroke="#525e6d"/>')
            for i in range(TOKENS):
                left, tall, naive = (
                    104 + 100 * i,
                    (high - 12) * said["sampled"][block][i],
                    foot - (high - 12) * said["naive"][block][i],
                )
                drawn.append(f'<rect x="{left}" y="{foot - tall:.1f}" width="60" height="{tall:.1f}" fill="#0072b2"/>')
                drawn.append(f'<path d="M{left - 8} {naive:.1f}h76" stroke="#d55e00" stroke-width="3"/>')
        lines = (
            "Bars: the mean of each token's spin, sampled. Lines: naive means, block after block.",
            "A still picture. Run the cell, or allow JavaScript, to turn beta and to see the epsilon.",
        )
        words = "".join(f'<text x="20" y="{330 + 20 * i}">{line}</text>' for i, line in enumerate(lines))
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 360" width="720" height="360" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="360" rx="12" fill="#fcfcfa"/>'
            f"{''.join(drawn)}{words}</svg>"
        )


def weights(kind: str) -> Tensor:
    """Couplings ``[6, 6]``: softmax of fixed scores, sharper, behind a mask, or even."""
    z = normals(TOKENS * (TOKENS + int(WIDTHS[-1])), PLACES)[: TOKENS**2].reshape(TOKENS, TOKENS)
    if kind == "causal":
        z = z.masked_fill(torch.ones(TOKENS, TOKENS).triu(1).bool(), -math.inf)
    return ({"even": 0.0, "sharp": 4.0}.get(kind, 1.0) * z).softmax(-1)


def directions(d: int) -> Tensor:
    """Where the spins begin, ``[6, d]``, each as long as a spin."""
    drawn = normals(TOKENS * (TOKENS + int(WIDTHS[-1])), PLACES)[TOKENS**2 :].reshape(TOKENS, -1)[:, :d]
    return drawn / drawn.square().mean(-1, keepdim=True).sqrt()


def filmed(J: Tensor, drive: Tensor, start: Tensor, beta: float, blocks: int, seed: int) -> list[Tensor]:
    """After each block the means of the spins ``[6, d]``, over films: of each the exact mean, given the block before."""
    d = drive.shape[-1]
    shape = (MOST_BLOCKS - 1, FILMS, TOKENS)
    across = normals(math.prod(shape) * d, seed).reshape(*shape, d)
    tries = (torch.tensor(words(math.prod(shape) * TRIES * 3, seed + 1), dtype=torch.float64) + 0.5) / 2**32
    spins, found = start.expand(FILMS, TOKENS, d), []
    for block in range(blocks):
        h = drive + J @ spins
        found.append(vector_response(h, beta=beta).mean(0))
        if block + 1 < blocks:
            spins = _turned(beta * h, across[block], tries.reshape(*shape, TRIES, 3)[block])
    return found


def _turned(fields: Tensor, across: Tensor, tries: Tensor) -> Tensor:
    """Spins drawn with weight ``exp(field . s)``: a cosine by Wood's rejection, the first that is accepted, and a direction."""
    d = fields.shape[-1]
    size = fields.norm(dim=-1)
    axis, kappa, k = fields / size.unsqueeze(-1), (d**0.5 * size).unsqueeze(-1), d - 1
    b = k / (2 * kappa + (4 * kappa.square() + k * k).sqrt())
    middle = (1 - b) / (1 + b)
    t = (2 * math.pi * tries[..., 0]).cos() * (1 - tries[..., 1] ** (2 / (d - 2))).sqrt()
    w = (1 - (1 + b) * (1 + t) / 2) / (1 - (1 - b) * (1 + t) / 2)
    gain = kappa * (w - middle) + k * ((1 - middle * w) / (1 - middle * middle)).log()
    taken = (gain >= tries[..., 2].log()).double().argmax(-1, keepdim=True)
    cosine = w.gather(-1, taken)
    across = across - (across * axis).sum(-1, keepdim=True) * axis
    across = across / across.norm(dim=-1, keepdim=True)
    return d**0.5 * (cosine * axis + (1 - cosine.square()).sqrt() * across)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
