"""Gaussian spins: mean field is exact, the reaction cancels, and the response is one linear system.

With the prior of covariance Sigma a single spin answers ``m_i = (Sigma^-1 - V_i)^-1 (sum_j J_ij m_j - V_i m_i + h_i)``.
Multiply out: ``V_i m_i`` stands on both sides. What is left is ``(Sigma^-1 - J) m = h``, whatever V is. So no iteration over
cavities is needed, nor a network that replaces it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._checks import Scalar, check_field, check_flag, check_floating
from attnlib._values import check_result, verdict
from attnlib.mean_field.cavity import diagonal_blocks
from attnlib.mean_field.couplings import check_system, working
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
    holds the factors of all these systems, and ``m_i = L_{ii}^{-T} (L^{-1} \beta h)_i``. So all prefixes cost no more than one
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
    system = check_system(J, None, beta)
    check_flag(causal=causal)
    prior = Gaussian() if prior is None else prior
    if not isinstance(check_prior(prior, system.n), Gaussian):
        raise ValueError(f"prior is {prior}; expected a Gaussian one: for others the equations are not linear")
    check_floating(J=J, h=h)
    if h.ndim < 2 or h.shape[-1] != system.n or tuple(h.shape[:-2]) != system.batch:
        raise ValueError(f"h has shape {tuple(h.shape)}; expected [*batch, fields, n] for J of shape {tuple(J.shape)}")
    check_field("h", h, tuple(h.shape), J)
    with working(J):
        wide = h.to(system.couplings.dtype)
        beta = system.beta[..., None, None] if isinstance(system.beta, Tensor) else system.beta
        factor = factorised(precision_of(system.couplings, prior), "J or beta")
        found = respond(factor, (beta * wide).mT, prior.d, causal).mT
    return check_result(found.to(J.dtype), "J, h or beta are")


def precision_of(J: Tensor, prior: Gaussian) -> Tensor:
    """``Sigma^-1 - J`` of couplings ``[*batch, k, k]`` with beta in them."""
    matrix, shape = -J, (-1, prior.d)
    blocks = matrix.unflatten(-1, shape).unflatten(-3, shape).diagonal(dim1=-4, dim2=-2)  # [*batch, d, d, sites], in place
    blocks += prior.precision(J)[..., None]
    return matrix


def factorised(matrix: Tensor, names: str) -> Tensor:
    """The Cholesky factor; raise where the matrix is not positive definite, or give NaN where no value can be seen."""
    factor, failed = torch.linalg.cholesky_ex(matrix)
    solvable = verdict(lambda: (failed == 0).all())
    if solvable is False:
        raise ValueError(
            f"{names} too large: Sigma^-1 - beta J is not positive definite; expected couplings whose largest eigenvalue, "
            "times beta and the prior's variance, is below 1"
        )
    return factor if solvable else torch.where((failed == 0)[..., None, None], factor, torch.nan)


def respond(factor: Tensor, fields: Tensor, d: int, causal: bool = False) -> Tensor:
    """Means for fields ``[*batch, k, many]`` from the factor ``[*batch, k, k]``, of all spins or of each prefix's last one."""
    if not causal:
        return torch.cholesky_solve(fields, factor)
    passed = torch.linalg.solve_triangular(factor, fields, upper=False)
    own = diagonal_blocks(factor, d)
    return torch.linalg.solve_triangular(own.mT, passed.unflatten(-2, (-1, d)), upper=True).flatten(-3, -2)


def means(J: Tensor, h: Tensor, prior: Gaussian, names: str, *, symmetric: bool, width: int = 0) -> Tensor:
    """Means of systems with beta in them, ``[..., k]`` for couplings ``[..., k, k]``; of prefixes of sites of the width given.

    Couplings ``[heads, k, k]`` are shared by the batch, and factorised once: its members are columns.
    """
    matrix, shared = precision_of(J, prior), J.ndim == 3
    columns = h.reshape(-1, *h.shape[-2:]).movedim(0, -1) if shared else h.unsqueeze(-1)
    if symmetric:
        found = respond(factorised(matrix, names), columns, width or prior.d, width > 0)
    else:  # one by one: batched LU hangs with two threads
        rows = zip(matrix.flatten(0, -3), columns.flatten(0, -3), strict=True)
        solved = [torch.linalg.solve_ex(*row)[0] for row in rows]
        found = torch.stack(solved).reshape(columns.shape) if solved else columns
    return found.movedim(-1, 0).reshape(h.shape) if shared else found.squeeze(-1)
