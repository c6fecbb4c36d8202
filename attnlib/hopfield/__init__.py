"""Hopfield energies, whose descent is attention, and the associative memories they come from (chapter 3)."""

from attnlib.hopfield.associative import (
    classical_energy,
    classical_local_field,
    dense_energy,
    dense_local_field,
    hebb_weights,
)
from attnlib.hopfield.descent import descend, energy_step
from attnlib.hopfield.energy import (
    hopfield_energy,
    hopfield_gradient,
    hopfield_jacobian,
    hopfield_update,
)
from attnlib.hopfield.fixed_points import find_fixed_points
from attnlib.hopfield.mixer import EnergyAttention
from attnlib.hopfield.probability import (
    hopfield_log_density,
    hopfield_log_partition,
    hopfield_mixture_weights,
    hopfield_sample,
)
from attnlib.hopfield.recall import classical_recall, dense_recall
from attnlib.hopfield.records import (
    Descent,
    EnergyRecord,
    FixedPoints,
    Recall,
)

__all__ = [
    "Descent",
    "EnergyAttention",
    "EnergyRecord",
    "FixedPoints",
    "Recall",
    "classical_energy",
    "classical_local_field",
    "classical_recall",
    "dense_energy",
    "dense_local_field",
    "dense_recall",
    "descend",
    "energy_step",
    "find_fixed_points",
    "hebb_weights",
    "hopfield_energy",
    "hopfield_gradient",
    "hopfield_jacobian",
    "hopfield_log_density",
    "hopfield_log_partition",
    "hopfield_mixture_weights",
    "hopfield_sample",
    "hopfield_update",
]
