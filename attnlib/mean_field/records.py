"""What the functions of this chapter return: exact and sampled averages, a solved theory, a mixer's record."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._core.numerics import widened
from attnlib._core.spectra import eigenvalues


@dataclass(frozen=True)
class IsingRecord:
    """An Ising system: free energy ``[*batch]``, magnetisations ``m [*batch, n]``, covariances ``chi [*batch, n, n]``.

    ``m_i = <s_i>`` and ``chi_ij = <s_i s_j> - m_i m_j``, which is also the response of ``m_i`` to ``beta h_j``.

    >>> from attnlib.mean_field import exact_ising
    >>> exact_ising(torch.zeros(2, 2), torch.tensor([0.0, 50.0])).m
    tensor([0., 1.])
    """

    free_energy: Float[Tensor, "*batch"]
    m: Float[Tensor, "*batch n"]
    chi: Float[Tensor, "*batch n n"]


@dataclass(frozen=True)
class MeanField:
    """A solved mean-field theory: magnetisations ``m [*batch, n]``, responses ``chi [*batch, n, n]``, reactions ``V``.

    ``chi_ij`` is how ``m_i`` answers to ``beta h_j``, an approximation of the covariance of the two: in TAP with V moving as
    m does, in adaptive TAP with V held. ``V`` is one number for each spin, ``[*batch, n / d]``, or a matrix for each,
    ``[*batch, n / d, d, d]``: zero in the naive theory.

    Evidence, each ``[*batch]``: ``residual``, how far the returned magnetisations (and variances) are from the right side of
    their equations; ``iterations``; ``converged``, whether that is within the tolerance (and in adaptive TAP, whether the
    diagonal of chi holds the local variances); ``consistency``, the largest difference between a local variance and the
    diagonal of chi, which adaptive TAP makes zero: there it says nothing of how good the answer is; ``stability``, the smallest
    eigenvalue of ``D^(1/2) chi^-1 D^(1/2)`` with ``D`` the local variances, which is 1 for spins on their own and 0 where the
    solution loses its stability. Not above zero, chi is no covariance.

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
        """Eigenvalues of chi, ascending, ``[*batch, n]``; the largest diverges where the theory breaks down."""
        return eigenvalues(widened(self.chi.detach())).to(self.chi.dtype)

    @property
    def spin_glass_susceptibility(self) -> Float[Tensor, "*batch"]:
        """The mean of ``sum_j chi_ij^2``, ``[*batch]``, which diverges at the Almeida-Thouless line."""
        return self.spectrum.square().mean(-1)


@dataclass(frozen=True)
class MeanFieldRecord:
    """What a response was, head by head: the module's output, the fields h and means m, ``[*batch, heads, n, d]``.

    The couplings of the first n sites, with beta, ``J [heads, n, n, d, d]``, and their Frobenius norms ``[heads, n, n]``. The
    evidence, each ``[*batch, heads]``: the largest residual, the iterations it took (0: a linear solve), whether it converged.

    >>> from attnlib.mean_field import MeanFieldAttention
    >>> found = MeanFieldAttention(6, sites=5, heads=2).explain(torch.zeros(1, 5, 6))
    >>> found.norms.shape, found.converged
    (torch.Size([2, 5, 5]), tensor([[True, True]]))
    """

    output: Float[Tensor, "*batch n dim"]
    m: Float[Tensor, "*batch heads n d"]
    h: Float[Tensor, "*batch heads n d"]
    J: Float[Tensor, "heads n n d d"]
    norms: Float[Tensor, "heads n n"]
    residual: Float[Tensor, "*batch heads"]
    iterations: Int[Tensor, "*batch heads"]
    converged: Bool[Tensor, "*batch heads"]
