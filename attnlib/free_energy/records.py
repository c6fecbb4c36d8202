"""What the functions of this chapter return: saddle points, one z for all spins, a mixer's record."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class VectorSpinRecord:
    """What a response was, head by head: the module's output, the fields h, means m and second terms ``[*batch, heads, n, d]``.

    ``feedback`` is the second term, zero where the couplings are free. The couplings, with beta, ``J [*batch, heads, n, n]``;
    beta times z, ``[*batch, heads, n]``, of each spin in its own system. The evidence, each ``[*batch, heads]``: the largest
    component of the gradient, the factorisations it took, whether it converged.

    >>> import torch
    >>> from attnlib.free_energy import VectorSpinAttention
    >>> found = VectorSpinAttention(4, sites=3).explain(torch.zeros(2, 3, 4))
    >>> found.J.shape, found.z.shape, bool(found.converged.all())
    (torch.Size([2, 1, 3, 3]), torch.Size([2, 1, 3]), True)
    """

    output: Float[Tensor, "*batch n dim"]
    m: Float[Tensor, "*batch heads n d"]
    feedback: Float[Tensor, "*batch heads n d"]
    h: Float[Tensor, "*batch heads n d"]
    J: Float[Tensor, "*batch heads n n"]
    z: Float[Tensor, "*batch heads n"]
    residual: Float[Tensor, "*batch heads"]
    iterations: Int[Tensor, "*batch heads"]
    converged: Bool[Tensor, "*batch heads"]


@dataclass(frozen=True)
class SaddlePoint:
    """Vector spins at the saddle point: z ``[*batch, n]``, means ``m [*batch, n, d]``, covariances ``chi [*batch, n, n]``.

    ``chi = V^-1 / beta`` is the covariance of two spins in a component that no field points along, and how such a component of
    ``m_i`` answers to ``beta h_j``. Evidence, each ``[*batch]``: ``residual``, the largest component of the gradient of
    ``phi / beta`` at exactly the z returned; ``iterations``, the factorisations of V until then; ``converged``.

    >>> from attnlib.free_energy import saddle_point
    >>> found = saddle_point(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.zeros(2, 3))
    >>> found.z, found.overlaps[0, 1], bool((found.lengths - 1).abs().max() < 1e-6)
    (tensor([1.2071, 1.2071]), tensor(0.4142), True)
    """

    z: Float[Tensor, "*batch n"]
    m: Float[Tensor, "*batch n d"]
    chi: Float[Tensor, "*batch n n"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]

    @property
    def lengths(self) -> Float[Tensor, "*batch n"]:
        """``|m_i|^2 / D + chi_ii``, ``[*batch, n]``; each is 1, by the sum rule."""
        return self.overlaps.diagonal(dim1=-2, dim2=-1)

    @property
    def overlaps(self) -> Float[Tensor, "*batch n n"]:
        """``<s_i . s_j> / D = m_i . m_j / D + chi_ij``, ``[*batch, n, n]``."""
        return self.m @ self.m.mT / self.m.shape[-1] + self.chi


@dataclass(frozen=True)
class SphericalPoint:
    """Spins with one common z for each field: z ``[*batch, fields]`` and means ``m [*batch, fields, n, d]``.

    Evidence, each ``[*batch, fields]``: ``residual``, how far the mean length ``mean_i(|m_i|^2 / D + chi_ii)`` is from 1 at
    exactly the z returned; ``iterations`` of Newton's method; ``converged``.

    >>> from attnlib.free_energy import spherical_point
    >>> found = spherical_point(torch.zeros(2, 2), torch.tensor([[[0.0], [3.0]]]))
    >>> found.z, found.m[0, :, 0]  # longer than a spin: the one without a field lends of its length
    (tensor([2.6794]), tensor([0.0000, 1.1196]))
    """

    z: Float[Tensor, "*batch fields"]
    m: Float[Tensor, "*batch fields n d"]
    residual: Float[Tensor, "*batch fields"]
    iterations: Int[Tensor, "*batch fields"]
    converged: Bool[Tensor, "*batch fields"]
