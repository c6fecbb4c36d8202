"""Gaussian spins: mean field is exact, the reaction cancels, and the response is one linear system.

With the prior of covariance Sigma a single spin answers ``m_i = (Sigma^-1 - V_i)^-1 (sum_j J_ij m_j - V_i m_i + h_i)``.
Multiply out: ``V_i m_i`` stands on both sides. What is left is ``(Sigma^-1 - J) m = h``, whatever V is. So no iteration over
cavities is needed, nor a network that replaces it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_flag, check_floating
from attnlib._core.numerics import widened
from attnlib._core.systems import check_couplings
from attnlib._core.values import check_finite, check_result, verdict
from attnlib.mean_field.cavity import diagonal_blocks
from attnlib.mean_field.priors import check_prior
from attnlib.mean_field.vectors import Gaussian


def gaussian_response(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "*batch fields n"],
    *,
    beta: Scalar = 1.0,
    prior: Gaussian | None = None,
    causal: bool = False,
) -> Float[Tensor, "*batch fields n"]:
    r"""Means of coupled Gaussian spins in any number of fields: one factorisation for all of them.

    .. math:: m = (\Sigma^{-1} - \beta J)^{-1} \beta h

    With ``causal=True`` the mean of each spin is that in the system of the spins up to it, ``0..i``: one Cholesky factor ``L``
    holds the factors of all these systems, and ``m_i = L_ii^-T (L^-1 beta h)_i``. So all prefixes cost no more than one
    system.

    Args:
        J: couplings ``[*batch, n, n]``, symmetric with a zero diagonal; with a prior of vector spins each consecutive d rows
            are one spin.
        h: fields ``[*batch, fields, n]``: as many as you like for each system.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        prior: a :class:`Gaussian`; default one of variance 1.
        causal: each spin in the system of those up to it; default False.

    Returns:
        The means, ``[*batch, fields, n]``.

    Raises:
        ValueError: as :func:`attnlib.mean_field.exact_ising`; also another prior, and couplings so strong that
            ``Sigma^-1 - beta J`` is not positive definite: then there is no such Gaussian.

    >>> J = torch.tensor([[0.0, 0.5], [0.5, 0.0]])
    >>> gaussian_response(J, torch.tensor([[3.0, 0.0]])).round(decimals=4)
    tensor([[4., 2.]])
    >>> gaussian_response(J, torch.tensor([[3.0, 0.0]]), causal=True).round(decimals=4)
    tensor([[3., 2.]])
    """
    beta = check_couplings(J, None, beta)
    n, batch = J.shape[-1], tuple(J.shape[:-2])
    check_flag(causal=causal)
    prior = Gaussian() if prior is None else prior
    if not isinstance(check_prior(prior, n), Gaussian):
        raise ValueError(f"prior is {prior}; expected a Gaussian one: for others the equations are not linear")
    check_floating(J=J, h=h)
    if h.ndim < 2 or h.shape[-1] != n or tuple(h.shape[:-2]) != batch:
        raise ValueError(f"h has shape {tuple(h.shape)}; expected [*batch, fields, n] for J of shape {tuple(J.shape)}")
    with working(J):
        scale = beta.to(widened(J).dtype)[..., None, None] if isinstance(beta, Tensor) else beta
        factor = factorised(precision_of(widened(J), prior, scale), "J or beta")
        found = respond(factor, scale * widened(h), prior.d, causal)
    try:
        return check_result(found.to(J.dtype), "J, h or beta are")
    except ValueError:
        check_finite(h=h)  # what is not finite in h is not in the result either: one look at both
        raise


def precision_of(J: Tensor, prior: Gaussian, beta: Scalar = 1.0) -> Tensor:
    """``Sigma^-1 - beta J`` of couplings ``[*batch, k, k]``."""
    return prior._add_precision(-beta * J)


def factorised(matrix: Tensor, names: str) -> Tensor:
    """The Cholesky factor; raise where the matrix is not positive definite, or give NaN where no value can be seen."""
    factor, failed = torch.linalg.cholesky_ex(matrix)
    solvable = verdict(lambda: not failed.any())
    if solvable is False:
        raise ValueError(
            f"{names} too large: Sigma^-1 - beta J is not positive definite; expected couplings whose largest eigenvalue, "
            "times beta and the prior's variance, is below 1"
        )
    return factor if solvable else torch.where((failed == 0)[..., None, None], factor, torch.nan)


def respond(factor: Tensor, fields: Tensor, d: int, causal: bool = False) -> Tensor:
    """Means for fields ``[*batch, many, k]`` from the factor ``[*batch, k, k]``, of all spins or of each prefix's last one.

    Fields stay rows, ``m^T = h^T L^-T L^-1``: the same products as with columns, up to three times as fast.
    """
    passed = torch.linalg.solve_triangular(factor.mT, fields, upper=True, left=False)
    if not causal:
        return torch.linalg.solve_triangular(factor, passed, upper=False, left=False)
    own, each = diagonal_blocks(factor, d), passed.unflatten(-1, (-1, d)).transpose(-2, -3)
    return torch.linalg.solve_triangular(own, each, upper=False, left=False).transpose(-2, -3).flatten(-2)


def means(J: Tensor, h: Tensor, prior: Gaussian, names: str, *, symmetric: bool, width: int = 0) -> Tensor:
    """Means of systems with beta in them, ``[..., k]`` for couplings ``[..., k, k]``; of prefixes of sites of the width given.

    Couplings ``[heads, k, k]`` are shared by the batch, and factorised once: its members are rows of fields.
    """
    matrix, shared = precision_of(J, prior), J.ndim == 3
    fields = h.reshape(-1, *h.shape[-2:]).movedim(0, -2) if shared else h.unsqueeze(-2)
    if symmetric:
        found = respond(factorised(matrix, names), fields, width or prior.d, width > 0)
    else:  # one by one: batched LU hangs with two threads
        systems = zip(matrix.flatten(0, -3), fields.mT.flatten(0, -3), strict=True)
        solved = [torch.linalg.solve_ex(*system)[0].mT for system in systems]
        found = torch.stack(solved).reshape(fields.shape) if solved else fields
    return found.movedim(-2, 0).reshape(h.shape) if shared else found.squeeze(-2)
