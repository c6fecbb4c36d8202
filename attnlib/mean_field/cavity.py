"""The reaction of adaptive TAP: the V for which the response of the whole system has each spin's own variance.

``chi = (V + C^-1 - J)^-1`` is to have the local covariances C on its diagonal. For one number per spin, V minimises the convex
``V . c - ln det(V + C^-1 - J)``, which is self-concordant: Newton's method with a step that is known beforehand stays where
chi is positive definite and always arrives.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from attnlib._values import verdict
from attnlib.mean_field.couplings import block_diagonal
from attnlib.mean_field.implicit import attach
from attnlib.mean_field.solve import linear_solver, transforming


def as_blocks(V: Tensor, d: int, matrices: bool) -> Tensor:
    """Reactions as one matrix for each spin, ``[*batch, n, d, d]``."""
    return V if matrices else V[..., None, None] * torch.eye(d, dtype=V.dtype, device=V.device)


def diagonal_blocks(matrix: Tensor, d: int) -> Tensor:
    """The blocks ``[*batch, n, d, d]`` on the diagonal of ``[*batch, n * d, n * d]``."""
    n = matrix.shape[-1] // d
    return matrix.unflatten(-1, (n, d)).unflatten(-3, (n, d)).diagonal(dim1=-4, dim2=-2).movedim(-1, -3)


def reduced(blocks: Tensor, matrices: bool) -> Tensor:
    """What is matched of local covariances ``[*batch, n, d, d]``: all of them, or the mean of the diagonal."""
    return blocks if matrices else blocks.diagonal(dim1=-2, dim2=-1).mean(-1)


def inverted(blocks: Tensor) -> Tensor:
    """The inverses of positive definite matrices ``[*batch, n, d, d]``; NaN where they are none."""
    factor, failed = torch.linalg.cholesky_ex(blocks)
    wrong = (failed != 0)[..., None, None]
    eye = torch.eye(blocks.shape[-1], dtype=blocks.dtype, device=blocks.device)
    return torch.where(wrong, torch.nan, torch.cholesky_inverse(torch.where(wrong, eye, factor)))


def response(rest: Tensor, V: Tensor, d: int, matrices: bool) -> Tensor:
    """``(V + rest)^-1`` of a positive definite matrix, with ``C^-1 - J`` for the rest; NaN where it is none."""
    factor, failed = torch.linalg.cholesky_ex(block_diagonal(as_blocks(V, d, matrices)) + rest)
    return torch.where((failed == 0)[..., None, None], torch.cholesky_inverse(factor), torch.nan)


def match(
    rest: Tensor, c: Tensor, start: Tensor, safe: Tensor, d: int, matrices: bool, tolerance: float, most: int = 60
) -> Tensor:
    """V for the rest ``C^-1 - J`` and what is matched of C, from a start or, where chi is not positive there, the safe one."""
    with torch.no_grad():
        V, target = start, c.detach()
        for _ in range(1 if c.is_meta else most):
            following, gap = _step(rest.detach(), target, V, d, matrices)
            V = torch.where(torch.isfinite(following), following, safe)
            if verdict(partial(torch.all, gap <= tolerance)):  # Newton's step squares what was left before it
                break
    if not torch.is_grad_enabled() or not (rest.requires_grad or c.requires_grad):
        return V
    if matrices and not transforming():  # a step that halves what is left says nothing of derivatives
        shape, within = V.shape, torch.finfo(V.dtype).eps ** 0.75

        def image(flat: Tensor) -> Tensor:
            given = flat.reshape(shape)  # through its symmetric part: the step would hand an antisymmetric one on for ever
            return _step(rest, c, (given + given.mT) / 2, d, True)[0].flatten(-3)

        return attach(image, V.flatten(-3), linear_solver(within, 2 * most, "error"), 100 * within).reshape(shape)
    if not matrices and not transforming():
        found: Tensor = _Matched.apply(rest, c, V, d)
        return found
    for _ in range(most if matrices else 2):  # from the solution, two steps of Newton's know its first and second derivatives
        V, _ = _step(rest, c, V, d, matrices)
    return V


class _Matched(torch.autograd.Function):
    """V as it is, with the derivatives that follow from what it solves.

    ``found_i = sum_a chi_ia,ia / d`` is to be c. It changes by ``-K dV - sum_a (chi d(rest) chi)_ia,ia / d``, with the K of
    :func:`_curvature`. So a gradient g of V is ``u = -K^-1 g`` for c, and ``chi diag(u) chi / d`` for the rest.
    """

    @staticmethod
    def forward(ctx: Any, rest: Tensor, c: Tensor, V: Tensor, d: int) -> Tensor:
        ctx.d, solution = d, V.clone()
        chi = response(rest, solution, d, False)
        ctx.save_for_backward(rest, solution, chi, torch.linalg.cholesky_ex(_curvature(chi, d)).L)
        return solution

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        rest, V, chi, factor = ctx.saved_tensors
        if torch.is_grad_enabled():  # second derivatives are asked for
            chi = response(rest, V, ctx.d, False)
            factor = torch.linalg.cholesky_ex(_curvature(chi, ctx.d)).L
        back = -torch.cholesky_solve(gradients[0].unsqueeze(-1), factor)[..., 0]
        weights = (back / ctx.d).repeat_interleave(ctx.d, -1)
        return (chi * weights.unsqueeze(-2)) @ chi, back, None, None


def _curvature(chi: Tensor, d: int) -> Tensor:
    """How the mean variance of spin i falls with V of spin j: ``K_ij = sum_ab chi_ia,jb^2 / d``."""
    n = chi.shape[-1] // d
    return chi.unflatten(-1, (n, d)).unflatten(-3, (n, d)).square().sum((-3, -1)) / d


def _step(rest: Tensor, c: Tensor, V: Tensor, d: int, matrices: bool) -> tuple[Tensor, Tensor]:
    """One step, and the largest relative difference before it, ``[*batch]``."""
    chi = response(rest, V, d, matrices)
    found = reduced(diagonal_blocks(chi, d), matrices)
    if matrices:
        following = V + (inverted(c) - inverted(found)) / 2
        gap = ((found - c).abs() / c.abs().amax((-2, -1), keepdim=True)).amax((-3, -2, -1))
        return following, gap
    slope = (found - c).unsqueeze(-1)
    move = torch.cholesky_solve(slope, torch.linalg.cholesky_ex(_curvature(chi, d)).L)
    decrement = (d * (slope * move).sum((-2, -1))).clamp(min=0).sqrt()
    length = torch.where(decrement < 0.25, 1.0, 1 / (1 + decrement)).detach()
    return V + length.unsqueeze(-1) * move[..., 0], ((found - c).abs() / c).amax(-1)


def safe_start(J: Tensor, d: int, matrices: bool) -> Tensor:
    """A V for which ``V - J`` has no negative eigenvalue: the largest sum of a spin's rows, Gershgorin's bound."""
    rows = J.detach().abs().sum(-1).unflatten(-1, (-1, d)).amax(-1)
    return as_blocks(rows, d, False) if matrices else rows
