"""What a mean-field theory says of a system, the evidence that it was solved, and signs that it does not hold."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._checks import Scalar, check_field, check_floating
from attnlib._numerics import widened
from attnlib._values import check_result
from attnlib.mean_field.couplings import check_system, working


@dataclass(frozen=True)
class MeanField:
    """A solved mean-field theory: magnetisations ``m [*batch, n]``, responses ``chi [*batch, n, n]``, reactions ``V``.

    ``chi_ij`` is how ``m_i`` answers to ``beta h_j``, an approximation of the covariance of the two. ``V`` is one number for
    each spin, ``[*batch, n / d]``, or a matrix for each, ``[*batch, n / d, d, d]``: zero in the naive theory.

    Evidence, each ``[*batch]``: ``residual``, how far the returned magnetisations (and variances) are from the right side of
    their equations; ``iterations``; ``converged``, whether that is within the tolerance (and in adaptive TAP, whether the
    diagonal of chi holds the local variances); ``consistency``, the largest difference between a local variance and the
    diagonal of chi; ``stability``, the smallest eigenvalue of ``D^(1/2) chi^-1 D^(1/2)`` with ``D`` the local variances, which
    is 1 for spins on their own and 0 where the solution loses its stability. Not above zero, chi is no covariance.

    >>> from attnlib.mean_field import naive_mean_field
    >>> found = naive_mean_field(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.tensor([0.2, -0.2]))
    >>> found.converged, found.stability > 0, found.spectrum.shape
    (tensor(True), tensor(True), torch.Size([2]))
    """

    m: Float[Tensor, "*batch n"]
    chi: Float[Tensor, "*batch n n"]
    V: Float[Tensor, "..."]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]
    consistency: Float[Tensor, "*batch"]
    stability: Float[Tensor, "*batch"]

    @property
    def spectrum(self) -> Float[Tensor, "*batch n"]:
        """Eigenvalues of chi, ascending, ``[*batch, n]``: the largest diverges where the theory breaks down."""
        return torch.linalg.eigvalsh(widened(self.chi.detach())).to(self.chi.dtype)

    @property
    def spin_glass_susceptibility(self) -> Float[Tensor, "*batch"]:
        """The mean of ``sum_j chi_ij^2``, ``[*batch]``, which diverges at the Almeida-Thouless line."""
        return self.spectrum.square().mean(-1)


def almeida_thouless(J: Float[Tensor, "*batch n n"], m: Float[Tensor, "..."], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch"]:
    r"""Distance of Ising magnetisations from the Almeida-Thouless line: above 0 one valley, below 0 many, and TAP fails.

    .. math:: 1 - \lambda_{\max}\big[ \beta^2 (1 - m_i^2)\, J_{ij}^2\, (1 - m_j^2) \big]

    For a Sherrington-Kirkpatrick glass of many spins this is ``1 - beta^2 mean((1 - m^2)^2)``.

    Takes couplings ``[*batch, n, n]``, magnetisations that broadcast to ``[*batch, n]`` and a beta, a number or ``[*batch]``;
    returns ``[*batch]``. Raises ValueError as :func:`attnlib.mean_field.exact_ising`.

    Source: de Almeida and Thouless 1978; the matrix is that of Plefka 1982.

    >>> almeida_thouless(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.zeros(2))
    tensor(0.7500)
    """
    system = check_system(J, None, beta)
    check_floating(J=J, m=m)
    check_field("m", m, (*system.batch, system.n), J)
    with working(J):
        free = 1 - m.to(system.couplings.dtype).clamp(-1, 1).square().expand(*system.batch, system.n)
        matrix = free.unsqueeze(-1) * system.couplings.square() * free.unsqueeze(-2)
        largest = torch.linalg.eigvalsh(matrix)[..., -1]
    return check_result((1 - largest).to(J.dtype), "J or beta are")
