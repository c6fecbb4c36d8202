"""Solvers for any map: fixed points, and the derivatives of what was solved, which keep no step of the way there."""

from attnlib.solve.derivatives import with_derivatives
from attnlib.solve.fixed_point import fixed_point
from attnlib.solve.iterate import FixedPoint, Method

__all__ = [
    "FixedPoint",
    "Method",
    "fixed_point",
    "with_derivatives",
]
