"""Mean-field theory: the response of coupled spins, from exact enumeration to deep implicit attention (chapter 4)."""

from attnlib.mean_field.bounded import bounded_couplings
from attnlib.mean_field.couplings import (
    flat_couplings,
    sherrington_kirkpatrick,
    stable_scale,
    symmetric_couplings,
)
from attnlib.mean_field.gaussian import gaussian_response
from attnlib.mean_field.ising import exact_ising
from attnlib.mean_field.mixer import MeanFieldAttention
from attnlib.mean_field.priors import Binary, Prior
from attnlib.mean_field.records import (
    IsingRecord,
    MeanField,
    MeanFieldRecord,
)
from attnlib.mean_field.stability import almeida_thouless
from attnlib.mean_field.tap import adaptive_tap, naive_mean_field, tap
from attnlib.mean_field.vectors import Gaussian, Spherical

__all__ = [
    "Binary",
    "Gaussian",
    "IsingRecord",
    "MeanField",
    "MeanFieldAttention",
    "MeanFieldRecord",
    "Prior",
    "Spherical",
    "adaptive_tap",
    "almeida_thouless",
    "bounded_couplings",
    "exact_ising",
    "flat_couplings",
    "gaussian_response",
    "naive_mean_field",
    "sherrington_kirkpatrick",
    "stable_scale",
    "symmetric_couplings",
    "tap",
]
