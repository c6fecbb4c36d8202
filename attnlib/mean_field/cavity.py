"""The reaction of adaptive TAP: the V for which the response of the whole system has each spin's own variance.

``chi = (V + C^-1 - J)^-1`` is to have the local covariances C on its diagonal. For one number per spin, V minimises the convex
``V . c - ln det(V + C^-1 - J)``, which is self-concordant: Newton's method with a step that is known beforehand stays where
chi is positive definite and always arrives.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attnlib._core.numerics import inverse_of
from attnlib._core.transforms import in_forward_mode, orders, transforming
from attnlib._core.values import refuted, settled, verdict
from attnlib.mean_field.couplings import block_diagonal
from attnlib.solve import with_derivatives


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
    if verdict(lambda: ~wrong.any()):
        return inverse_of(factor)
    eye = torch.eye(blocks.shape[-1], dtype=blocks.dtype, device=blocks.device)
    return torch.where(wrong, torch.nan, inverse_of(torch.where(wrong, eye, factor)))


def response(rest: Tensor, V: Tensor, d: int, matrices: bool) -> Tensor:
    """``(V + rest)^-1`` of a positive definite matrix, with ``C^-1 - J`` for the rest; NaN where it is none."""
    return inverted(block_diagonal(as_blocks(V, d, matrices)) + rest)


def match(J: Tensor, C: Tensor, start: Tensor, safe: Tensor, matrices: bool, tolerance: float, most: int = 60) -> Tensor:
    """V for the local covariances ``C [*batch, n, d, d]``, from a start or, where chi is not positive there, the safe one."""
    rest, c, d = block_diagonal(inverted(C)) - J, reduced(C, matrices), C.shape[-1]
    system = (J.detach(), C.detach(), rest.detach())
    V = _search(partial(_step, *system, matrices=matrices), start, safe, matrices, tolerance, 1 if C.is_meta else most)
    through = transforming() or in_forward_mode()
    backward = torch.is_grad_enabled() and (through or rest.requires_grad or c.requires_grad)
    if not (backward or in_forward_mode()):
        return V
    if matrices and not through:  # a step that halves what is left says nothing of derivatives
        shape, within = V.shape, torch.finfo(V.dtype).eps ** 0.75

        def image(flat: Tensor) -> Tensor:
            given = flat.reshape(shape)  # through its symmetric part: the step would hand an antisymmetric one on for ever
            symmetric = (given + given.mT) / 2
            return (symmetric + _step(J, C, rest, symmetric, True)[0] / 2).flatten(-3)

        return with_derivatives(image, V.flatten(-3), tolerance=within, max_steps=2 * most).reshape(shape)
    if not matrices and not through:
        found: Tensor = _Matched.apply(rest, c, V, d)
        return found
    for _ in range(most if matrices else orders(rest, c).bit_length()):  # n steps of Newton's have 2^n - 1 derivatives
        V = V + _step(J, C, rest, V, matrices)[0] / (2 if matrices else 1)
    return V


@torch.no_grad()
def _search(
    step: Callable[[Tensor], tuple[Tensor, Tensor]], start: Tensor, safe: Tensor, matrices: bool, tolerance: float, most: int
) -> Tensor:
    """V after at most so many steps. For matrices a step that leads away is taken back, and half as far from then on."""
    V, nearest, toward = start, start, torch.zeros_like(start)
    length = torch.ones_like(start[..., :1, :1, :1] if matrices else start[..., :1])
    least = torch.full_like(length, torch.inf)
    for _ in range(most):
        move, gap = step(V)
        if not matrices:
            V = torch.where(torch.isfinite(V + move), V + move, safe)
        else:
            gap = gap[..., None, None, None]
            nearer, lost = gap < least, ~(gap < least) & least.isinf()  # lost: where the search began there was no response
            least, length = torch.where(nearer, gap, least), length * torch.where(nearer | lost, 1.0, 0.5)
            nearest = torch.where(nearer, V, torch.where(lost, safe, nearest))
            toward = torch.where(nearer, move, toward)
            V, gap = nearest + length * toward, least
        if settled(gap <= tolerance):  # what the last step leaves is less, for numbers its square
            break
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


def _step(J: Tensor, C: Tensor, rest: Tensor, V: Tensor, matrices: bool) -> tuple[Tensor, Tensor]:
    """How far V is to move, and the largest relative difference before that, ``[*batch]``.

    For numbers it is a step of Newton's, for matrices the reaction of all other spins at their V, ``J chi J`` without the spin.
    """
    d = C.shape[-1]
    chi = response(rest, V, d, matrices)
    if matrices:
        found = diagonal_blocks(chi, d)
        gap = ((found - C).abs() / C.abs().amax((-2, -1), keepdim=True)).amax((-3, -2, -1))
        return inverted(C) - inverted(found), gap
    c = reduced(C, False)  # the unit of all that follows
    mean = chi.diagonal(dim1=-2, dim2=-1).unflatten(-1, (*c.shape[-1:], d)).mean(-1)
    excess, held = mean / c - 1, (c * V).detach().abs() < torch.finfo(c.dtype).eps ** 0.5
    if not refuted(held.any):
        excess = torch.where(held, _small_excess(J, C, chi, V, c), excess)
    excess = excess.unsqueeze(-1)
    curvature = _curvature(chi, d) / (c.unsqueeze(-1) * c.unsqueeze(-2))
    move = torch.cholesky_solve(excess, torch.linalg.cholesky_ex(curvature).L)
    decrement = (d * (excess * move).sum((-2, -1))).clamp(min=0).sqrt()
    length = torch.where(decrement < 0.25, 1.0, 1 / (1 + decrement)).detach()
    return length.unsqueeze(-1) * move[..., 0] / c, excess[..., 0].abs().amax(-1)


def _small_excess(J: Tensor, C: Tensor, chi: Tensor, V: Tensor, c: Tensor) -> Tensor:
    """By how much of c the mean variance of each spin is larger in chi than in C, ``[*batch, n]``.

    Where a spin hardly moves both are nearly the same, and their difference would be rounding. This is the same difference,
    from ``chi - C = C W chi W C - C W C`` with ``W = V - J``, whose terms are as small as itself. All is in units of c, since
    the squares of small variances are no numbers.
    """
    root = c.sqrt().repeat_interleave(C.shape[-1], -1)
    outer = root.unsqueeze(-1) * root.unsqueeze(-2)
    shape = C / c[..., None, None]
    local = block_diagonal(shape)
    turned = block_diagonal((c * V)[..., None, None] * shape) - (outer * J) @ local
    found = (turned * ((chi / outer) @ turned)).sum(-2) - (local * turned.mT).sum(-1)
    return found.unflatten(-1, C.shape[-3:-1]).mean(-1)


def safe_start(J: Tensor, d: int, matrices: bool) -> Tensor:
    """A V for which ``V - J`` has no negative eigenvalue: the largest sum of a spin's rows, Gershgorin's bound."""
    rows = J.detach().abs().sum(-1).unflatten(-1, (-1, d)).amax(-1)
    return as_blocks(rows, d, False) if matrices else rows
