"""One z for all spins: the spherical model, solved for any number of fields through one eigendecomposition of the couplings.

With a single number z only the sum of the lengths is fixed. All that couplings do is then in their eigenvalues ``lambda_k`` and
in the fields along the eigenvectors. What the lengths sum to, ``s(x) = mean_k(1 / (x + g_k) + w_k / (x + g_k)^2)`` with the
gaps ``g_k = lambda_max - lambda_k`` and ``x = z - lambda_max``, falls from infinity to zero, and is to be 1. ``s^(-1/2)`` is
concave, being a power mean of concave functions, so Newton's method for it climbs to the root from below and never passes it.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_field, check_floating
from attnlib._core.convergence import OnFailure, check_solver, report_failure
from attnlib._core.numerics import inverse_of
from attnlib._core.spectra import modes_of
from attnlib._core.systems import check_system
from attnlib._core.transforms import in_forward_mode, orders, transforming
from attnlib._core.values import check_finite, check_result, looking, verdict
from attnlib.free_energy.records import SphericalPoint
from attnlib.free_energy.system import default_tolerance, times

BLIND = 20
"""Steps made for every field where no value can be seen."""
PATIENCE = 8
"""Steps after which a field may end where rounding, and not the tolerance, is in the way."""


def spherical_point(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "*batch fields n d"],
    *,
    beta: Scalar = 1.0,
    tolerance: float | int | None = None,
    max_steps: int = 60,
    on_failure: OnFailure = "error",
) -> SphericalPoint:
    r"""Solve vector spins with one z for all of them, in any number of fields, through one eigendecomposition.

    .. math:: \frac1N \sum_i \Big( \frac{|m_i|^2}{D} + \frac{(V^{-1})_{ii}}{\beta} \Big) = 1, \qquad
        V = z - J, \quad m = V^{-1} H

    This fixes the sum of the squared lengths, not each: the spherical model of Berlin and Kac. It is the same as
    :func:`saddle_point` where one z gives every spin its length, as on lattices whose sites are equivalent. What it saves is
    a factorisation for each field: the eigenvectors of J serve all, and a step of Newton's method costs n operations.
    Derivatives use them too; second ones take one factorisation for each field.

    Args:
        J: couplings between spins, ``[*batch, n, n]``, symmetric with a zero diagonal.
        h: fields, ``[*batch, fields, n, d]``: as many as you like for each system.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        tolerance: largest difference of the mean length from 1; default 3e-13 in float64 and 5e-7 in float32.
            Never less than what rounding z does to it.
        max_steps: steps of Newton's method allowed.
        on_failure: a field for which it does not converge is an ``"error"`` (default) or a ``"warn"``, as in
            :func:`saddle_point`.

    Returns:
        :class:`SphericalPoint`; z and m differentiate with respect to J, h and beta.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled J, ``beta <= 0``,
            settings out of range.

    Source: Berlin and Kac 1952.

    >>> J = torch.tensor([[0.0, 0.5], [0.5, 0.0]])
    >>> spherical_point(J, torch.tensor([[[1.0], [0.0]], [[0.0], [0.0]]])).z
    tensor([1.5560, 1.2071])
    """
    check_floating(J=J, h=h)
    (strong,) = check_finite(h=h)
    system = check_system(J, J.detach().new_full(J.shape[:-1], strong), beta)  # that products cannot overflow
    if h.ndim < 3 or h.shape[-2] != system.n or h.shape[-1] == 0 or tuple(h.shape[:-3]) != system.batch:
        raise ValueError(f"h has shape {tuple(h.shape)}; expected [*batch, fields, n, d] for J of shape {tuple(J.shape)}")
    check_field("h", h, tuple(h.shape), J)
    default = default_tolerance(system.couplings.dtype)
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=default)
    with working(J):
        beta = system.beta[..., None] if isinstance(system.beta, Tensor) else system.beta
        fields = times(beta, h.to(system.couplings.dtype))
        z, m, *evidence = solved(system.couplings, fields, tolerance, max_steps, on_failure)
        z, m = (check_result(t.to(J.dtype), "J, h or beta are") for t in (z / beta, m))
        return SphericalPoint(z, m, evidence[0].to(J.dtype), *evidence[1:])


def solved(
    J: Tensor, h: Tensor, tolerance: float, max_steps: int, on_failure: OnFailure, there: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """z, means, residual, iterations and converged, of couplings and fields that have beta in them.

    Some spins may not be ``there [*batch, n]``. They have no fields and couplings, and their lengths do not count; their modes
    are moved below all others, so that the top one is of those that are there.
    """
    kept = torch.ones_like(J[..., 0]) if there is None else there.to(J.dtype)
    if there is not None:
        J = J - torch.diag_embed((1 - kept) * (1 + J.detach().abs().sum(-1).amax(-1, keepdim=True)))
    with torch.no_grad():
        values, vectors = modes_of(J.detach())
        along = vectors.mT.unsqueeze(-3) @ h.detach()  # fields along the eigenvectors, [*batch, fields, n, d]
        top = values[..., -1:]
        gaps = (top - values).unsqueeze(-2)
        z_top = top[..., 0].unsqueeze(-1)
        parts = kept.unsqueeze(-2) @ vectors.square()  # of each mode, how much lies on spins that are there
        count = kept.sum(-1, keepdim=True)
        weights = torch.linalg.vector_norm(along, dim=-1).square() / h.shape[-1]
        x, residual, iterations, converged = _climbed(gaps, weights, parts, count, z_top, tolerance, max_steps)
        z = x + z_top
    if verdict(lambda: converged.all()) is False:
        report_failure(
            f"{int((~converged).sum())} of {converged.numel()} fields did not converge in {max_steps} steps: a difference of "
            f"{residual.max():.2g} is left; expected at most {tolerance:.2g}",
            iterations=max_steps,
            residual=residual.max().item(),
            on_failure=on_failure,
        )
    chi = 1 / (x.unsqueeze(-1) + gaps)
    if transforming() or in_forward_mode():
        z, m = _stepped(J, h, z, kept)
    elif torch.is_grad_enabled() and (J.requires_grad or h.requires_grad):
        z, m = _Shared.apply(J, h, z, chi, vectors, kept)
    else:
        m = vectors.unsqueeze(-3) @ along.mul_(chi.unsqueeze(-1))
    return z, m, residual, iterations, converged


def _climbed(
    gaps: Tensor, weights: Tensor, parts: Tensor, count: Tensor, top: Tensor, tolerance: float, max_steps: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x, residual, iterations and converged, each ``[*batch, fields]``, for gaps, weights and parts ``[*batch, fields, n]``."""
    eps, nobody = torch.finfo(gaps.dtype).eps, count == 0
    n = count.clamp(min=1)
    x = torch.where(nobody, 2.0, _below(gaps, weights, parts, n))
    parts, weights = parts / n.unsqueeze(-1), weights / n.unsqueeze(-1)
    iterations = torch.zeros_like(x, dtype=torch.int64)
    done = nobody.expand(x.shape)
    blind = not looking() or verdict(lambda: torch.isfinite(x).all()) is None
    residual = torch.full_like(x, torch.finfo(x.dtype).max).masked_fill(done, 0.0)
    for step in range(min(max_steps, BLIND) if blind else max_steps):
        chi = (x.unsqueeze(-1) + gaps).reciprocal()
        long = weights * chi * chi  # what the means along a mode add to the lengths
        both = chi * parts + long
        total, fall = both.sum(-1), (chi * (both + long)).sum(-1)
        iterations = iterations + ~done
        before, residual = residual, torch.where(done, residual, (total - 1).abs())
        done = done | (residual <= min(tolerance, 1.0))
        if step >= PATIENCE:  # no better than before, nor can it become so
            rounding = 4 * eps * fall * (x + top).abs()
            done = done | ((residual > before / 2) & (residual <= rounding.clamp(max=1e-2)))
        if not blind and done.all():
            break
        x = torch.where(done, x, x + 2 * total * (total.sqrt() - 1) / fall)
    return x, residual, iterations, done


def _below(gaps: Tensor, weights: Tensor, parts: Tensor, n: Tensor) -> Tensor:
    """Where to start, ``[*batch, fields]``: the larger root of two functions below s, which is below the root of s.

    One is what the largest eigenvalue adds to s. The other has all modes at one gap: the mean gap, or that of the mean field
    where this is larger. Both sums of s are convex in the gap.
    """
    alone = (1 + (1 + 4 * n * weights[..., -1]).sqrt()) / (2 * n)
    strength = weights.sum(-1)
    felt = (weights * gaps).sum(-1) / torch.where(strength > 0, strength, 1.0)
    gap = felt.maximum((parts * gaps).sum(-1) / n)
    return alone.maximum((1 + (1 + 4 * strength / n).sqrt()) / 2 - gap)


def _inverse(J: Tensor, z: Tensor) -> Tensor:
    """``(z - J)^-1`` for each field, ``[*batch, fields, n, n]``: what has derivatives where eigenvectors have none."""
    eye = torch.eye(J.shape[-1], dtype=J.dtype, device=J.device)
    return inverse_of(torch.linalg.cholesky_ex(z[..., None, None] * eye - J.unsqueeze(-3)).L)


def _stepped(J: Tensor, h: Tensor, z: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """From the solution n steps of Newton's have ``2^n - 1`` derivatives, for the transforms of ``torch.func``."""
    d, kept = h.shape[-1], kept.unsqueeze(-2)
    for _ in range(orders(J, h).bit_length()):
        whole = _inverse(J, z)
        m = whole @ h
        missing = (kept * (1 - whole.diagonal(dim1=-2, dim2=-1) - m.square().sum(-1) / d)).sum(-1)
        fall = (kept * (whole.square().sum(-1) + 2 * (m * (whole @ m)).sum(-1) / d)).sum(-1)
        z = z - missing / torch.where(fall == 0, 1.0, fall)
    return z, _inverse(J, z) @ h


class _Shared(torch.autograd.Function):
    """z and the means it gives, and gradients by the implicit function theorem, all along the same eigenvectors."""

    @staticmethod
    def forward(ctx: Any, J: Tensor, h: Tensor, z: Tensor, chi: Tensor, vectors: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        found = z.clone(), vectors.unsqueeze(-3) @ (chi.unsqueeze(-1) * (vectors.mT.unsqueeze(-3) @ h))
        ctx.save_for_backward(J, *found, chi, vectors, kept)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        J, z, m, chi, vectors, kept = ctx.saved_tensors
        of_z, of_m = gradients
        d = m.shape[-1]
        again = torch.is_grad_enabled()  # second derivatives are asked for: eigenvectors have none where eigenvalues meet
        whole = _inverse(J, z) if again else None
        axes = vectors.unsqueeze(-3)

        def through(rows: Tensor) -> Tensor:
            return axes @ (chi.unsqueeze(-1) * (axes.mT @ rows)) if whole is None else whole @ rows

        if whole is None:
            trace = (chi.square() * (kept.unsqueeze(-2) @ vectors.square())).sum(-1)
        else:
            trace = (whole.square().sum(-1) * kept.unsqueeze(-2)).sum(-1)
        by_h = through(of_m)
        answered = through(m)
        curvature = trace / 2 + (m * answered).sum((-2, -1)) / d
        curvature = torch.where(curvature == 0, 1.0, curvature)  # where nobody is there
        share = ((of_z - (by_h * m).sum((-2, -1))) / curvature)[..., None, None]
        by_h = by_h + share * answered / d
        rows = (by_h.transpose(-3, -2).flatten(-2), m.transpose(-3, -2).flatten(-2))  # [*batch, n, fields * d]
        by_J = rows[0] @ rows[1].mT
        if whole is None:
            by_J = by_J + (vectors * (share[..., 0] * chi.square()).sum(-2, keepdim=True)) @ vectors.mT / 2
        else:
            by_J = by_J + (share * (whole @ whole)).sum(-3) / 2
        return (by_J + by_J.mT) / 2, by_h, None, None, None, None
