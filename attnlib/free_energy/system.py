"""Vector spins with couplings, checked, in units of the temperature; and what one factorisation of ``V = diag(z) - J`` gives.

With beta multiplied into couplings, fields and z, no formula of the chapter has a beta left: the potential is
``sum(z)/2 - ln det(V)/2 + Tr(h^T V^-1 h)/(2 d)``, and ``V^-1`` is the covariance of a component across the field.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from attnlib._core.checks import Scalar, broadcasts, check_floating
from attnlib._core.numerics import inverse_of, widened
from attnlib._core.systems import check_system
from attnlib._core.values import check_finite, verdict


@dataclass(frozen=True)
class Spins:
    """Couplings ``[*batch, n, n]`` and fields ``[*batch, n, d]`` with beta in them, in single precision or better."""

    couplings: Tensor
    fields: Tensor
    beta: Scalar
    batch: tuple[int, ...]
    n: int
    d: int

    def column(self, axes: int = 1) -> Scalar:
        """Beta beside what has so many axes behind the batch."""
        return self.beta[(...,) + (None,) * axes] if isinstance(self.beta, Tensor) else self.beta


@dataclass(frozen=True)
class Resolved:
    """One factorisation of V: whether V is positive definite ``[*batch]``, ``chi = V^-1``, the overlaps ``m m^T / d`` of the
    means ``m = chi h``, and the potential.
    """

    inside: Tensor
    chi: Tensor
    overlaps: Tensor
    potential: Tensor

    def gradient(self) -> Tensor:
        """Half of what is missing in the sum rule ``chi_ii + |m_i|^2 / d = 1``, ``[*batch, n]``."""
        return (1 - self.chi.diagonal(dim1=-2, dim2=-1) - self.overlaps.diagonal(dim1=-2, dim2=-1)) / 2

    def hessian(self) -> Tensor:
        """``chi ∘ chi / 2 + chi ∘ (m m^T) / d``, ``[*batch, n, n]``."""
        return self.chi * torch.add(self.overlaps, self.chi, alpha=0.5)


def check_spins(J: Tensor, h: Tensor | None, beta: Scalar) -> Spins:
    """Check couplings, fields and inverse temperature, and multiply them; raise as the public functions say."""
    check_floating(J=J, **({} if h is None else {"h": h}))
    if h is None:
        system = check_system(J, None, beta)
        return Spins(system.couplings, system.fields.unsqueeze(-1), system.beta, system.batch, system.n, 1)
    if h.ndim == 0 or h.shape[-1] == 0:
        raise ValueError(f"h has shape {tuple(h.shape)}; expected one that broadcasts to [*batch, n, d] with d >= 1")
    if J.ndim >= 2 and not broadcasts(h.shape, (*J.shape[:-1], h.shape[-1])):
        raise ValueError(
            f"h has shape {tuple(h.shape)}; expected one that broadcasts to {(*J.shape[:-1], h.shape[-1])}, as J says"
        )
    (strong,) = check_finite(h=h)
    system = check_system(J, J.detach().new_full(J.shape[:-1], strong), beta)  # that products cannot overflow
    fields = times(system.beta, widened(h)).expand(*system.batch, system.n, h.shape[-1])
    return Spins(system.couplings, fields, system.beta, system.batch, system.n, h.shape[-1])


def times(beta: Scalar, h: Tensor) -> Tensor:
    """Fields ``[*batch, n, d]`` with beta in them; those given where it is 1."""
    if isinstance(beta, Tensor):
        return beta[..., None, None] * h
    return h if beta == 1 else beta * h


def default_tolerance(dtype: torch.dtype) -> float:
    """What Newton's method reaches with ease: 3e-13 in float64, 5e-7 in float32."""
    eps = torch.finfo(dtype).eps
    return eps**0.8 if dtype == torch.float64 else 4 * eps


def precise(J: Tensor, h: Tensor, hot: float) -> tuple[Tensor, Tensor]:
    """Couplings and fields, up to so large: in double precision where single would leave V too few digits."""
    return (J.double(), h.double()) if hot > 50 and h.dtype == torch.float32 else (J, h)


def overlaps_of(rows: Tensor) -> Tensor:
    """``rows rows^T / d``, ``[*batch, n, n]``, of fields or means ``[*batch, n, d]``."""
    return rows @ rows.mT / rows.shape[-1]


def turned(h: Tensor) -> Tensor:
    """Fields ``[*batch, n, d]`` of more components than spins as n components with the same overlaps: less work."""
    n, d = h.shape[-2:]
    return h if d <= n else torch.linalg.qr(h.mT, mode="r").R.mT * (n / d) ** 0.5


def resolved(J: Tensor, h: Tensor, z: Tensor) -> Resolved:
    """What follows from z ``[*batch, n]``, for couplings ``[*batch, n, n]`` and fields ``[*batch, n, d]``."""
    return factorised(torch.diag_embed(z) - J, h, z)


def factorised(V: Tensor, h: Tensor, z: Tensor) -> Resolved:
    """Factorise V once, and say what follows from it; where V is not positive definite nothing but that has a meaning.

    What fields add to the potential is the largest value of ``Tr(2 m^T h - m^T V m)``, so that errors of m count by their
    square. In the cold they would hide the way down: h is large there, and rounding errs in chi by the condition of V.
    """
    factor, failed = torch.linalg.cholesky_ex(V)
    inside = failed == 0
    if verdict(lambda: inside.all()) is not True:  # a factor with a zero on its diagonal is an error
        eye = torch.eye(V.shape[-1], dtype=V.dtype, device=V.device)
        factor = torch.where(inside[..., None, None], factor, eye)
    chi = inverse_of(factor)
    m = chi @ h
    energy = _product(m, 2 * h - V @ m) / h.shape[-1]
    potential = (z.sum(-1) + energy) / 2 - factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return Resolved(inside, chi, overlaps_of(m), potential)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """``Tr a^T b``, ``[*batch]``."""
    return (a.flatten(-2).unsqueeze(-2) @ b.flatten(-2).unsqueeze(-1))[..., 0, 0]


def uphill(hessian: Tensor, gradient: Tensor) -> Tensor:
    """``Hessian^-1 gradient``, ``[*batch, n]``."""
    factor = torch.linalg.cholesky_ex(hessian).L
    return torch.cholesky_solve(gradient.unsqueeze(-1), factor)[..., 0]
