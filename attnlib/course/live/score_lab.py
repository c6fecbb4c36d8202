"""The score lab: what width, number of keys, correlation and scale make of scores and weights (chapter 2)."""

import math
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from attnlib.attention import attention_weights, dot_scores
from attnlib.course.live._draws import normals
from attnlib.course.live._figure import FigureError, LiveFigure, Number, Seed
from attnlib.softmax import effective_number, entropy, freezing_scale, participation_ratio

LEAST, MOST = 2, 512
"""Limits of the width and of the number of keys."""

MOST_BARS = 32
"""So many of the largest weights are drawn."""

REACH = 40
"""The axis of the scores ends here on both sides, whatever is drawn: the bell of wide vectors is to look wide."""


class ScoreLab(LiveFigure):
    r"""One random query, K random keys: the histogram of their scores beside its law, and the weights the scores give.

    Query and keys have independent standard normal entries, apart from one marked key. Its entries have correlation rho with
    those of the query: :math:`k = \rho q + \sqrt{1 - \rho^2}\, z`. Widths and keys are nested: a wider query begins with the
    numbers of the narrower one, and new keys leave the old ones alone.

    Traits, all to be set, observed and linked:

    - ``dimension``: the width d, and ``count``, the number of keys K with the marked one: integers from 2 to 512;
    - ``correlation``: rho, from 0 to 1;
    - ``scaled``: if true the scores are divided by the square root of d;
    - ``seed``: which draw, an integer from 0.

    Raises:
        FigureError: a ValueError; a trait out of its range. The trait keeps its old value.

    >>> figure = ScoreLab(dimension=128, count=32)
    >>> round(figure.readout["sigma_law"], 2), round(figure.readout["sigma_c"], 2), round(figure.readout["liquid"], 2)
    (11.31, 2.63, 0.2)
    """

    constants: ClassVar[dict[str, Any]] = {"LEAST": LEAST, "MOST": MOST, "MOST_BARS": MOST_BARS, "REACH": REACH}
    dimension = traitlets.Int(64).tag(sync=True)
    count = traitlets.Int(64).tag(sync=True)
    correlation = Number(0.0, least=0, most=1).tag(sync=True)
    scaled = traitlets.Bool(False).tag(sync=True)
    seed = Seed(0).tag(sync=True)

    def __init__(
        self,
        dimension: int = 64,
        count: int = 64,
        correlation: float | int = 0.0,
        *,
        scaled: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(dimension=dimension, count=count, correlation=float(correlation), scaled=scaled, seed=seed)

    @traitlets.validate("dimension", "count")
    def _check_size(self, proposal: dict[str, Any]) -> int:
        if not LEAST <= proposal["value"] <= MOST:
            raise FigureError(f"{proposal['trait'].name} is {proposal['value']}; expected an integer from {LEAST} to {MOST}")
        return proposal["value"]

    @property
    def beta(self) -> float:
        """What the dot products are multiplied with, one over the square root of the width or one."""
        return 1 / math.sqrt(self.dimension) if self.scaled else 1.0

    def draw(self) -> tuple[Tensor, Tensor]:
        """The query ``[1, d]`` and the keys ``[K, d]`` that the figure shows, in float64; the marked key is the first."""
        table = normals(MOST * (self.count + 1), self.seed).reshape(-1, MOST)[:, : self.dimension]
        query, key = table[:1], table[1:].clone()
        key[0] = self.correlation * query[0] + math.sqrt(1 - self.correlation**2) * key[0]
        return query, key

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.attention` and :mod:`attnlib.softmax`.

        ``scores``, times beta, and ``weights``, the marked key's first. Of the scores of the other keys: ``mean`` and
        ``sigma``, the standard deviation; what is expected of them, ``sigma_law`` (the mean is expected to vanish, up to
        ``mean_error``); ``sigma_query``, what is expected given this query: beta times its length; ``counts`` of the
        histogram, in bins as wide as half of ``sigma_law``, of which the first begins at ``first_bin`` times that. Of the
        marked key: ``marked_law`` and ``marked_sigma``, expected mean and standard deviation of its score, and ``rank``.
        ``sigma_c``: where Gaussian scores of as many keys freeze; ``largest`` weight; ``participation``, ``effective_keys`` and
        ``liquid``, the logarithm of that number in units of ln K; ``entropy`` in nats and ``entropy_ratio``, in ln K.
        """
        query, key = self.draw()
        scores = self.beta * dot_scores(query, key)[0]
        weights = attention_weights(query, key, beta=self.beta)[0]
        law = self.beta * math.sqrt(self.dimension)
        others, sigma_c, shared = scores[1:], freezing_scale(self.count), entropy(weights).item()
        effective = effective_number(weights).item()
        marked, error = self.beta * self.dimension * self.correlation, law * math.sqrt(1 + self.correlation * self.correlation)
        bins = torch.floor(2 * scores / law).long()
        first, last = min(int(bins.min()), -8), max(int(bins.max()), 7, math.floor(2 * (marked + error) / law))
        return {
            "scores": scores.tolist(),
            "weights": weights.tolist(),
            "mean": others.mean().item(),
            "mean_error": law / math.sqrt(self.count - 1),
            "sigma": others.std(correction=0).item(),
            "sigma_law": law,
            "sigma_query": self.beta * query.norm().item(),
            "sigma_c": sigma_c,
            "first_bin": first,
            "counts": torch.bincount(bins[1:] - first, minlength=last - first + 1).tolist(),
            "marked_law": marked,
            "marked_sigma": error,
            "rank": 1 + int((others > scores[0]).sum()),
            "largest": weights.max().item(),
            "participation": participation_ratio(weights).item(),
            "effective_keys": effective,
            "liquid": math.log(effective) / math.log(self.count),
            "entropy": shared,
            "entropy_ratio": shared / math.log(self.count),
        }

    def alt(self) -> str:
        """Settings, the spread of the scores and the largest weights, in two sentences."""
        said = self.readout
        return (
            f"Score lab: {self.count} keys of width {self.dimension}, {_how(self.scaled)}, one of them with correlation "
            f"{self.correlation:.2f} to the query. The scores of the others spread by {said['sigma']:.2f}, by theory "
            f"{said['sigma_law']:.2f}, and freeze at {said['sigma_c']:.2f}; the largest weight is {said['largest']:.2f}, "
            f"that of the correlated key {said['weights'][0]:.2f}, and the effective number of keys "
            f"{said['effective_keys']:.2f}."
        )

    def still(self) -> str:
        """The histogram with its law and the marked key, the largest weights, and the numbers below them."""
        said = self.readout
        lines = [
            f"spread of the scores {said['sigma']:.2f}, by theory {said['sigma_law']:.2f}; freezing at {said['sigma_c']:.2f} "
            f"(dotted); the weights are {100 * (1 - said['liquid']):.0f} % frozen",
            f"largest weight {said['largest']:.2f}, of the marked key (green) {said['weights'][0]:.2f}; effective number of "
            f"keys {said['effective_keys']:.2f} of {self.count}; entropy {said['entropy']:.2f} nats",
            "A still picture. Run the cell, or allow JavaScript, to change width, keys, correlation and scale.",
        ]
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 290" width="720" height="290" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="290" rx="12" fill="#fcfcfa"/>'
            f'<text x="20" y="28" font-weight="bold">{self.count} scores, d = {self.dimension}, {_how(self.scaled)}</text>'
            f'<text x="400" y="28" font-weight="bold">their weights, the largest {min(self.count, MOST_BARS)}</text>'
            + _histogram(said, self.count)
            + _weights(said)
            + "".join(f'<text x="20" y="{224 + 24 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


def _how(scaled: bool) -> str:
    return "scaled" if scaled else "not scaled"


def _bars(heights: list[float] | list[int], left: float | int, slot: float, scale: float) -> str:
    """The outline of bars that stand on the line at 192."""
    return "".join(
        f"M{left + (i + 0.1) * slot:.1f} 192v{-scale * height:.1f}h{0.8 * slot:.1f}V192z"
        for i, height in enumerate(heights)
        if height > 0
    )


def _histogram(said: dict[str, Any], count: int) -> str:
    """Bars for the other keys, the curve that theory expects, the freezing scale, and in green the marked key: 340 wide."""
    slot, first = (
        85 / REACH * said["sigma_law"],
        said["first_bin"],
    )  # a bin is half of sigma_law
    expected = (count - 1) / math.sqrt(8 * math.pi)  # at the top of the curve, in keys per bin
    scale, far = 144 / max(*said["counts"], expected), 170 / slot
    shown = [number if abs(first + i + 0.5) + 0.4 <= far else 0 for i, number in enumerate(said["counts"])]
    places = [min(far, 8.0) * (i / 64 - 1) for i in range(129)]
    curve = (expected * math.exp(-(place**2) / 8) for place in places)
    path = "L".join(f"{190 + slot * place:.1f} {192 - scale * height:.1f}" for place, height in zip(places, curve))
    marks = (said["scores"][0], -said["sigma_c"], said["sigma_c"])
    marked, low, high = (190 + 170 * max(-1.0, min(1.0, score / REACH)) for score in marks)
    return (
        f'<path d="{_bars(shown, 190 + slot * first, slot, scale)}" fill="#0072b2"/><path d="M20 192h340" stroke="#525e6d"/>'
        f'<path d="M{path}" fill="none" stroke="#1d2733" stroke-width="1.5"/>'
        f'<path d="M{low:.1f} 192V44M{high:.1f} 192V44" stroke="#1d2733" stroke-dasharray="2 3"/>'
        f'<path d="M{marked:.1f} 192V44" stroke="#009e73" stroke-width="3"/>'
    )


def _weights(said: dict[str, Any]) -> str:
    """Bars of the largest weights in decreasing order, on an axis up to the largest: 300 wide."""
    largest = sorted(said["weights"], reverse=True)[:MOST_BARS]
    slot, scale, rank = 300 / len(largest), 144 / said["largest"], said["rank"]
    green = _bars(largest[rank - 1 : rank], 400 + (rank - 1) * slot, slot, scale)
    return (
        f'<path d="{_bars(largest, 400, slot, scale)}" fill="#d55e00"/><path d="{green}" fill="#009e73"/>'
        '<path d="M400 192h300" stroke="#525e6d"/>'
    )
