"""Derivatives of the saddle point by the implicit function theorem, with the exact Hessian: no step of the solver is kept.

At the minimum ``g(z, J, h) = 0``, so ``dz = -H^-1 dg`` with the Hessian H. Means ``m = V^-1 h`` and covariances ``chi = V^-1``
follow V, whose diagonal follows z. A gradient of all three comes back with two products and one factorisation of H. Only the
solution itself stands in these formulas, so that they can be differentiated as often as is asked for.
"""

from typing import Any

import torch
from torch import Tensor

from attnlib._core.transforms import orders
from attnlib.free_energy.system import resolved, uphill


def attached(J: Tensor, h: Tensor, z: Tensor, m: Tensor, chi: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The solution ``z [*batch, n]``, ``m [*batch, n, d]``, ``chi [*batch, n, n]`` with its derivatives by J and h."""
    found: tuple[Tensor, Tensor, Tensor] = _Saddle.apply(J, h, z, m, chi)
    return found


def stepped(J: Tensor, h: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same where torch traces or transforms: from the solution, n steps of Newton's have ``2^n - 1`` derivatives."""
    for _ in range(orders(J, h).bit_length()):
        at = resolved(J, h, z)
        z = z - uphill(at.hessian(), at.gradient())
    at = resolved(J, h, z)
    return z, at.chi @ h, at.chi


class _Saddle(torch.autograd.Function):
    """Passes a solution on, and pulls gradients back through ``g = 0``."""

    @staticmethod
    def forward(ctx: Any, J: Tensor, h: Tensor, z: Tensor, m: Tensor, chi: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found = z.clone(), m.clone(), chi.clone()
        ctx.save_for_backward(*found[1:])
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        m, chi = ctx.saved_tensors
        of_z, of_m, of_chi = gradients
        d = m.shape[-1]
        # what h and J do at fixed z: dm = chi (dh + dJ m), dchi = chi dJ chi
        by_h = chi @ of_m
        by_J = chi @ of_chi @ chi + by_h @ m.mT
        # what they do through z: a gradient of z, -H^-1 of it, and the derivative of g
        of_z = of_z - by_J.diagonal(dim1=-2, dim2=-1)
        at_sites = uphill(chi * (chi / 2 + m @ m.mT / d), of_z).unsqueeze(-1)
        pulled = chi @ (at_sites * m) / d
        by_J = by_J + chi @ (at_sites * chi) / 2 + pulled @ m.mT
        return (by_J + by_J.mT) / 2, by_h + pulled, None, None, None
