"""Zero fields and low temperature: the semidefinite program whose barrier the potential is."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import check_number
from attnlib._core.systems import check_system
from attnlib._core.values import check_result, refuted
from attnlib.free_energy import saddle_point


@dataclass(frozen=True)
class Relaxation:
    """Bounds on the largest ``s J s / 2`` of spins of length one in any number of dimensions, and what proves them.

    ``upper`` and ``lower``, each ``[*batch]``, are ``sum(z)/2`` and ``Tr(J X)/2``. ``z [*batch, n]`` dominates the couplings,
    ``diag(z) >= J``; ``X [*batch, n, n]`` is a matrix of cosines: positive definite, with a diagonal of ones.

    >>> from attnlib.course.oracles import semidefinite_bound
    >>> found = semidefinite_bound(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), gap=0.01)
    >>> found.upper, found.lower, found.X[0, 1]  # two spins: the best is 1
    (tensor(1.0050), tensor(0.9950), tensor(0.9950))
    """

    upper: Float[Tensor, "*batch"]
    lower: Float[Tensor, "*batch"]
    z: Float[Tensor, "*batch n"]
    X: Float[Tensor, "*batch n n"]


def semidefinite_bound(J: Float[Tensor, "*batch n n"], *, gap: float | int = 1e-3) -> Relaxation:
    r"""Bound the ground state of an Ising model from above: the relaxation of maximum cut, by the saddle point.

    .. math:: \max_{s_i = \pm 1} \tfrac12 s J s \;\le\; \max_{X \succeq 0,\, X_{ii} = 1} \tfrac12 \mathrm{Tr}\, J X
        \;=\; \min_{\mathrm{diag}(z) \succeq J} \tfrac12 \sum_i z_i

    At zero field ``phi / beta`` is the right side with ``-ln det(diag(z) - J) / (2 beta)`` for a barrier. Its minimum gives
    both sides, ``X = V^-1 / beta``, and they differ by ``n / (2 beta)``, whatever J is. So beta is chosen by the gap.

    Args:
        J: couplings, ``[*batch, n, n]``, symmetric with a zero diagonal.
        gap: the difference of the bounds, relative to ``sum_ij |J_ij| / 2``, at least 1e-7. It is solved in double precision.

    Returns:
        :class:`Relaxation`.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, asymmetric or self-coupled J, a gap outside [1e-7, 1].

    Source: Goemans and Williamson 1995.

    >>> found = semidefinite_bound(torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 0.0]]).double())
    >>> found.upper.round(decimals=2), found.X[0, 1].round(decimals=2)  # three spins at 120 degrees; as Ising spins 1.0
    (tensor(1.5000, dtype=torch.float64), tensor(0.5000, dtype=torch.float64))
    """
    system = check_system(J, None, 1.0)
    gap = check_number("gap", gap, least=1e-7)
    if gap > 1:
        raise ValueError(f"gap is {gap:g}; expected at most 1")
    with working(J):
        wide = system.couplings.double()
        total = wide.detach().abs().sum((-2, -1)) / 2
        if refuted(lambda: torch.isfinite(total).all()):
            raise ValueError("J is too large: the sum of its entries overflows; expected smaller numbers, or a wider dtype")
        scale = torch.where(total > 0, total, 1.0)
        start, width = None, 1.0
        while True:  # each gap an eighth of the one before, from its z
            width = max(width / 8, gap)
            beta = system.n / (2 * width * scale)
            start = None if start is None else beta[..., None] * start
            found = saddle_point(beta[..., None, None] * wide, start=start, tolerance=1e-10)
            start = found.z / beta[..., None]
            if width == gap:
                break
        z = found.z / beta[..., None]
        X = found.chi
        parts = (z.sum(-1) / 2, (wide * X).sum((-2, -1)) / 2, z, X)
        return Relaxation(*(check_result(part.to(J.dtype), "J is") for part in parts))
