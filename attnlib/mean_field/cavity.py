"""The reaction of adaptive TAP: the Lambda for which the response of the whole system has each spin's own variance.

``chi = (Lambda - J)^-1`` is to have the local covariances on its diagonal. For one number per spin, Lambda minimises the convex
``Lambda . c - ln det(Lambda - J)``, which is self-concordant: Newton's method with a step that is known beforehand stays where
``Lambda - J`` is positive definite and always arrives.
"""

import torch
from torch import Tensor

from attnlib._values import verdict
from attnlib.mean_field.couplings import block_diagonal


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


def inverted(c: Tensor, matrices: bool) -> Tensor:
    """The inverses of what is matched."""
    return torch.cholesky_inverse(torch.linalg.cholesky_ex(c).L) if matrices else 1 / c


def response(J: Tensor, precision: Tensor, d: int, matrices: bool) -> Tensor:
    """``(Lambda - J)^-1`` of a positive definite matrix; NaN where it is none."""
    factor, failed = torch.linalg.cholesky_ex(block_diagonal(as_blocks(precision, d, matrices)) - J)
    return torch.where((failed == 0)[..., None, None], torch.cholesky_inverse(factor), torch.nan)


def match(J: Tensor, c: Tensor, start: Tensor, d: int, matrices: bool, tolerance: float, most: int = 60) -> Tensor:
    """Lambda for couplings ``[*batch, k, k]`` and local variances c, from a start where ``Lambda - J`` is positive definite."""
    with torch.no_grad():
        precision, target = start, c.detach()
        for _ in range(most):
            following, gap = _step(J.detach(), target, precision, d, matrices)
            precision = torch.where(torch.isfinite(following), following, precision)
            if verdict(lambda before=gap: (before <= tolerance).all()):  # the step squares what was left before it
                break
    if torch.is_grad_enabled() and (J.requires_grad or c.requires_grad):
        for _ in range(2):  # from the solution, two more steps know its first and second derivatives
            precision, _ = _step(J, c, precision, d, matrices)
    return precision


def _step(J: Tensor, c: Tensor, precision: Tensor, d: int, matrices: bool) -> tuple[Tensor, Tensor]:
    """One step, and the largest relative difference before it, ``[*batch]``."""
    chi = response(J, precision, d, matrices)
    found = reduced(diagonal_blocks(chi, d), matrices)
    if matrices:
        following = precision + (inverted(c, True) - inverted(found, True)) / 2
        gap = ((found - c).abs() / c.abs().amax((-2, -1), keepdim=True)).amax((-3, -2, -1))
        return following, gap
    n = c.shape[-1]
    curvature = chi.unflatten(-1, (n, d)).unflatten(-3, (n, d)).square().sum((-3, -1)) / d
    slope = (found - c).unsqueeze(-1)
    move = torch.cholesky_solve(slope, torch.linalg.cholesky_ex(curvature).L)
    decrement = (d * (slope * move).sum((-2, -1))).clamp(min=0).sqrt()
    length = torch.where(decrement < 0.25, 1.0, 1 / (1 + decrement)).detach()
    return precision + length.unsqueeze(-1) * move[..., 0], ((found - c).abs() / c).amax(-1)


def safe_start(J: Tensor, c: Tensor, d: int, matrices: bool) -> Tensor:
    """A Lambda for which ``Lambda - J`` is positive definite: above the sum of each row, Gershgorin's bound."""
    rows = J.detach().abs().sum(-1).unflatten(-1, (-1, d)).amax(-1)
    if not matrices:
        return rows + 1 / c.detach()
    eye = torch.eye(d, dtype=J.dtype, device=J.device)
    return rows[..., None, None] * eye + inverted(c.detach(), True)
