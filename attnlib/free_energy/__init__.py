"""Spin free energies: vector spins at the saddle point, exactly differentiated, and the attention they give (chapter 5)."""

from attnlib.free_energy.feedback import coupling_response, field_couplings
from attnlib.free_energy.mixer import VectorSpinAttention
from attnlib.free_energy.newton import saddle_point
from attnlib.free_energy.records import (
    SaddlePoint,
    SphericalPoint,
    VectorSpinRecord,
)
from attnlib.free_energy.responses import response_tensor, vector_spin_free_energy
from attnlib.free_energy.saddle import saddle_gradient, saddle_hessian, saddle_potential
from attnlib.free_energy.spectral import spherical_point

__all__ = [
    "SaddlePoint",
    "SphericalPoint",
    "VectorSpinAttention",
    "VectorSpinRecord",
    "coupling_response",
    "field_couplings",
    "response_tensor",
    "saddle_gradient",
    "saddle_hessian",
    "saddle_point",
    "saddle_potential",
    "spherical_point",
    "vector_spin_free_energy",
]
