"""Free energy and responses of vector spins at the saddle point, with the next order in one over the number of components."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_choice, check_count, check_tensors
from attnlib._core.convergence import OnFailure, check_solver
from attnlib._core.spectra import eigenvalues
from attnlib._core.values import check_result
from attnlib.free_energy.newton import solved
from attnlib.free_energy.records import SaddlePoint
from attnlib.free_energy.system import Resolved, check_spins, default_tolerance, resolved

Order = Literal[0, 1]
"""Of an expansion in 1/D: the saddle point alone, or the fluctuations about it too."""


def vector_spin_free_energy(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    order: Order = 0,
    d: int | None = None,
    tolerance: float | int | None = None,
    max_steps: int = 200,
    on_failure: OnFailure = "error",
) -> Float[Tensor, "*batch"]:
    r"""Free energy of N vector spins for each of their D components: the saddle point's, and the first correction.

    .. math:: -\beta f = \varphi(z^*) - \frac N2 (1 + \ln\beta)
        - \frac{1}{2D} \ln\det \frac{2\, \varphi''(z^*)}{\beta^2} + O(D^{-2})

    ``D f`` is ``-ln(Z) / beta`` with Z normalised by the spins without couplings and fields, so that f is zero without both.
    The last term stands with ``order=1``. All differentiates, as often as is asked for: ``-D df/dh_i`` is ``<s_i>``, of the
    saddle point or with its correction; ``d(beta f)/d(beta)`` the internal energy for each component.

    Args:
        J: couplings between spins, ``[*batch, n, n]``, symmetric with a zero diagonal.
        h: fields, broadcast to ``[*batch, n, d]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        order: 0, the saddle point (default), or 1, with what is left of order 1/D.
        d: the number of components where there are no fields to tell it; ``order=1`` depends on it.
        tolerance, max_steps, on_failure: of :func:`saddle_point`.

    Returns:
        The free energy, ``[*batch]``.

    Raises:
        ValueError: as :func:`saddle_point`; also a d that is not that of the fields, or ``order=1`` without either.

    Source: Bal 2021, Transformers from Spin Models, for the saddle point; the correction is Laplace's.

    >>> J, h = torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    >>> vector_spin_free_energy(J, h), vector_spin_free_energy(J, h, order=1)
    (tensor(-0.1906), tensor(-0.1983))
    """
    spins = check_spins(J, h, beta)
    check_choice("order", order, (0, 1))
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=default_tolerance(torch.float64))
    if d is not None:
        d = check_count("d", d)
        if h is not None and d != spins.d:
            raise ValueError(f"d is {d} and h has fields of {spins.d} components; expected the same, or None")
    elif h is None and order == 1:
        raise ValueError("d is None and h too; expected the number of components, on which order=1 depends")
    with working(J):
        couplings, fields = spins.couplings.double(), spins.fields.double()  # for beta near 0 only a difference is left
        found = solved(couplings, fields, None, tolerance, max_steps, on_failure)
        at = resolved(couplings, fields, found.z)
        logarithm = _valued(at.potential - spins.n / 2, _potential(couplings, fields, found))
        if order == 1:
            factor = torch.linalg.cholesky_ex(2 * at.hessian()).L
            half = _valued(factor.diagonal(dim1=-2, dim2=-1).log().sum(-1), _half_log_hessian(at))
            logarithm = logarithm - half / (spins.d if d is None else d)
        beta = spins.beta.double() if isinstance(spins.beta, Tensor) else spins.beta
        return check_result((-logarithm / beta).to(J.dtype), "J, h or 1/beta are")


def _valued(differentiable: Tensor, exact: Tensor) -> Tensor:
    """The derivatives of the one with the value of the other, where this is small: there the one is a difference."""
    small = exact.abs() < 1
    return differentiable + torch.where(small, exact - differentiable, 0.0).detach()


@torch.no_grad()
def _potential(J: Tensor, h: Tensor, found: SaddlePoint) -> Tensor:
    """``phi - N/2`` from terms as small as itself, for small beta: z is near 1, and the eigenvalues of J add up to zero."""
    beyond, roots = found.z - 1, found.z.rsqrt()
    values = eigenvalues(roots.unsqueeze(-1) * J * roots.unsqueeze(-2))
    work = (h * found.m).sum((-2, -1)) / h.shape[-1]
    return (work + (beyond - beyond.log1p()).sum(-1) - (values + (-values).log1p()).sum(-1)) / 2


@torch.no_grad()
def _half_log_hessian(at: Resolved) -> Tensor:
    """``ln det(2 Hessian) / 2`` of a matrix near 1, whose diagonal is ``1 - o_ii^2``; not finite where it is far from 1."""
    own = at.overlaps.diagonal(dim1=-2, dim2=-1)
    others = at.chi * (at.chi + 2 * at.overlaps)
    from_one = torch.diagonal_scatter(others, -own.square(), dim1=-2, dim2=-1)
    return eigenvalues(from_one).log1p().sum(-1) / 2


def response_tensor(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."],
    *,
    beta: Scalar = 1.0,
    tolerance: float | int | None = None,
    max_steps: int = 200,
    on_failure: OnFailure = "error",
) -> Float[Tensor, "*batch n d n d"]:
    r"""How each component of each mean answers to each component of each field: ``d<s_i^a> / d(beta h_j^b)``.

    .. math:: \chi_{ij}^{ab} = \chi_{ij} \delta^{ab}
        - \frac1D \sum_{kl} \chi_{ik} m_k^a\, (K^{-1})_{kl}\, m_l^b \chi_{lj}, \qquad
        K = \tfrac12 \chi \circ \chi + \tfrac1D\, \chi \circ m m^T

    The second term is the motion of z. It acts along the means only, and is as large as the first: a spin of fixed length that
    is aligned with its field cannot follow it further. Summed over components it is a part of order 1/D.

    Arguments, shapes (``J [*batch, n, n]``, h broadcast to ``[*batch, n, d]``) and errors are those of :func:`saddle_point`;
    returns ``[*batch, n, d, n, d]``.

    >>> response_tensor(torch.zeros(1, 1), torch.tensor([[2.0, 0.0]]))[0, :, 0, :]
    tensor([[0.1667, 0.0000],
            [0.0000, 0.5000]])
    """
    check_tensors(h=h)
    spins = check_spins(J, h, beta)
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=default_tolerance(torch.float64))
    with working(J):
        couplings, fields = spins.couplings.double(), spins.fields.double()  # cold spins leave single precision few digits
        found = solved(couplings, fields, None, tolerance, max_steps, on_failure)
        m, chi, d = found.m, found.chi, spins.d
        hessian = chi * (chi / 2 + m @ m.mT / d)
        # what a field on spin j along b does to the length of spin k: chi_kj m_k^b
        moved = (chi[..., :, :, None] * m[..., :, None, :]).flatten(-2)  # [*batch, n, n * d]
        inner = torch.cholesky_solve(moved, torch.linalg.cholesky_ex(hessian).L)
        second = (moved.mT @ inner / d).unflatten(-1, (-1, d)).unflatten(-3, (-1, d))
        eye = torch.eye(d, dtype=m.dtype, device=m.device)
        whole = chi[..., :, None, :, None] * eye[:, None, :] - second
        return check_result(whole.to(J.dtype), "J, h or beta are")
