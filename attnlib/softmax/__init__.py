"""Softmax as a Boltzmann distribution over scores (chapter 1)."""

from attnlib.softmax.online import merge, online_softmax, partial_softmax
from attnlib.softmax.random_energy import (
    freezing_scale,
    freezing_width,
    random_energy,
    relative_spread,
)
from attnlib.softmax.records import PartialSoftmax, RandomEnergy
from attnlib.softmax.weights import (
    effective_number,
    entropy,
    participation_ratio,
    smooth_max,
    softmax,
    softmax_jacobian,
    softmax_jacobian_norm,
    sparsemax,
)

__all__ = [
    "PartialSoftmax",
    "RandomEnergy",
    "effective_number",
    "entropy",
    "freezing_scale",
    "freezing_width",
    "merge",
    "online_softmax",
    "partial_softmax",
    "participation_ratio",
    "random_energy",
    "relative_spread",
    "smooth_max",
    "softmax",
    "softmax_jacobian",
    "softmax_jacobian_norm",
    "sparsemax",
]
