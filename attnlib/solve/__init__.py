"""Solvers for any map: fixed points, the derivatives of what was solved, and how stable it is."""

from attnlib.solve.derivatives import with_derivatives
from attnlib.solve.fixed_point import fixed_point
from attnlib.solve.iterate import FixedPoint, Method
from attnlib.solve.spectrum import jacobian_penalty, spectral_radius

__all__ = [
    "FixedPoint",
    "Method",
    "fixed_point",
    "jacobian_penalty",
    "spectral_radius",
    "with_derivatives",
]
