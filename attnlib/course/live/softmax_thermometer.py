"""The softmax thermometer: scores, an inverse temperature, and what becomes of the weights (chapter 1)."""

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import torch
import traitlets

from attnlib._core.checks import Scalar
from attnlib.course.live._figure import FigureError, LiveFigure, Seed
from attnlib.softmax import (
    effective_number,
    entropy,
    freezing_scale,
    participation_ratio,
    softmax,
    softmax_jacobian_norm,
)

MOST_KEYS, LARGEST_LOGIT, LARGEST_BETA = 128, 100.0, 1000.0
FOUR = [1.0, 0.8, 0.3, -0.2]


class SoftmaxThermometer(LiveFigure):
    r"""Drag logits, turn beta, and read off weights, entropy, effective keys, Jacobian norm and how frozen the weights are.

    Traits, all to be set, observed and linked:

    - ``logits``: from 1 to 128 numbers between -100 and 100;
    - ``beta``: inverse temperature, above 0 and at most 1000;
    - ``seed``: which Gaussian logits come next, an integer from 0.

    Raises:
        FigureError: a ValueError; logits that are empty, too many, not finite or too large, or a beta out of its range.
            The trait keeps its old value.

    >>> figure = SoftmaxThermometer(logits=[1.0, 0.8, 0.3, -0.2], beta=2.0)
    >>> round(figure.readout["entropy"], 4)
    1.1109
    """

    constants: ClassVar[dict[str, Any]] = {"MOST_KEYS": MOST_KEYS, "FOUR": FOUR}
    logits = traitlets.List(traitlets.Float()).tag(sync=True)
    beta = traitlets.Float(1.0).tag(sync=True)
    seed = Seed(0).tag(sync=True)

    def __init__(self, logits: Iterable[Scalar] = FOUR, beta: float | int = 1.0, *, seed: int = 0) -> None:
        super().__init__(logits=[float(logit) for logit in logits], beta=beta, seed=seed)

    @traitlets.validate("logits")
    def _check_logits(self, proposal: dict[str, Any]) -> list[float]:
        logits = proposal["value"]
        if not 1 <= len(logits) <= MOST_KEYS:
            raise FigureError(f"logits has {len(logits)} entries; expected 1 to {MOST_KEYS}")
        for logit in logits:
            if not abs(logit) <= LARGEST_LOGIT:  # a NaN fails it too
                raise FigureError(
                    f"logits has the entry {logit}; expected numbers between -{LARGEST_LOGIT:g} and {LARGEST_LOGIT:g}"
                )
        return logits

    @traitlets.validate("beta")
    def _check_beta(self, proposal: dict[str, Any]) -> float:
        if not 0 < proposal["value"] <= LARGEST_BETA:
            raise FigureError(f"beta is {proposal['value']}; expected 0 < beta <= {LARGEST_BETA:g}")
        return proposal["value"]

    @property
    def readout(self) -> dict[str, Any]:
        r"""The numbers that the figure shows, computed here by :mod:`attnlib.softmax`.

        ``weights``; ``entropy`` in nats and ``entropy_ratio``, in units of ln K (1 for a single key); ``participation``
        :math:`Y_2 = \sum p^2` and ``effective_keys``, one over it; ``liquid``, the logarithm of that number in units of ln K: 1
        when all keys share the weight equally (and for a single key), 0 when one of several has it all; ``norm``, the spectral
        norm of the Jacobian at beta = 1, with its bounds ``norm_low`` and ``norm_high``; ``sigma``, the standard deviation of
        beta times the logits over the keys, and ``sigma_c``, where Gaussian scores of as many keys freeze.
        """
        scores = torch.tensor(self.logits, dtype=torch.float64)
        weights = softmax(scores, beta=self.beta)
        shared, low, keys = entropy(weights).item(), (weights * (1 - weights)).max().item(), len(self.logits)
        effective = effective_number(weights).item()
        return {
            "weights": weights.tolist(),
            "entropy": shared,
            "entropy_ratio": shared / math.log(keys) if keys > 1 else 1.0,
            "participation": participation_ratio(weights).item(),
            "effective_keys": effective,
            "liquid": math.log(effective) / math.log(keys) if keys > 1 else 1.0,
            "norm": softmax_jacobian_norm(weights).item(),
            "norm_low": low,
            "norm_high": min(2 * low, 0.5),
            "sigma": self.beta * scores.std(correction=0).item(),
            "sigma_c": freezing_scale(keys),
        }

    def alt(self) -> str:
        """Sizes of the largest weight, the entropy and the spread, in a sentence."""
        said = self.readout
        return (
            f"Softmax thermometer with {len(self.logits)} keys at beta {self.beta:.4g}: the largest weight is "
            f"{max(said['weights']):.2f}, the entropy {said['entropy']:.2f} nats, and {said['effective_keys']:.2f} keys share "
            f"the weight: {_frozen(said)}."
        )

    def still(self) -> str:
        """Bars of the logits and of the weights, and the numbers below them."""
        said, keys = self.readout, len(self.logits)
        reach = max(3, math.ceil(max(map(abs, self.logits))))
        lines = [
            f"entropy {said['entropy']:.2f} nats, {100 * said['entropy_ratio']:.0f} % of ln {keys}; effective number of keys "
            f"{said['effective_keys']:.2f} of {keys}: {_frozen(said)}",
            f"Jacobian's norm {said['norm']:.3f}; spread {said['sigma']:.2f}, Gaussian scores freeze at {said['sigma_c']:.2f}",
            "A still picture. Run the cell, or allow JavaScript, to drag the logits and turn the temperature.",
        ]
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 290" width="720" height="290" '
            'font-family="sans-serif" font-size="14" fill="#1d2733"><rect width="720" height="290" rx="12" fill="#fcfcfa"/>'
            '<text x="20" y="28" font-weight="bold">logits</text>'
            f'<text x="380" y="28" font-weight="bold">weights at beta = {self.beta:.4g}</text>'
            + _bars(self.logits, 20, 120, 72.0 / reach, "#0072b2")
            + _bars(said["weights"], 380, 192, 144.0, "#d55e00")
            + "".join(f'<text x="20" y="{224 + 24 * i}">{line}</text>' for i, line in enumerate(lines))
            + "</svg>"
        )


def _frozen(said: dict[str, Any]) -> str:
    return f"{100 * (1 - said['liquid']):.0f} % frozen"


def _bars(values: list[float], left: int, base: int, scale: float, colour: str) -> str:
    """One path of bars, 320 wide, that stand on or hang from a base line."""
    slot = 320 / len(values)
    bars = "".join(
        f"M{left + (i + 0.15) * slot:.1f} {base}v{-value * scale:.1f}h{0.7 * slot:.1f}V{base}z"
        for i, value in enumerate(values)
    )
    return f'<path d="{bars}" fill="{colour}"/><path d="M{left} {base}h320" stroke="#525e6d"/>'
