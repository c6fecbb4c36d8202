"""Closed equations for means and correlations of driven spins: from naive mean field to the correlated Gaussian."""

import math
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_choice, check_field
from attnlib._core.convergence import OnFailure
from attnlib._core.systems import System
from attnlib._core.values import check_result
from attnlib.kinetic.given import check_beside, check_state, checked
from attnlib.kinetic.records import ClosureRecord
from attnlib.kinetic.rest import Moments, at_rest, carried, fluctuation
from attnlib.mean_field import Binary

Closure = Literal["naive", "tap", "gaussian", "correlated"]
"""What stands for the distribution of a spin's field: a point; a point, corrected to second order in the couplings; a Gaussian
as wide as independent spins make it; a Gaussian as wide as their correlations make it.
"""

REACH, NODES = 8.5, 513
"""Of the integral over a Gaussian: how many deviations to each side, and at how many places."""
SMALL = 2e-4
"""A variance below which four of its powers are enough."""


def closure_step(
    m: Float[Tensor, "*batch n"],
    C: Float[Tensor, "*batch n n"],
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    closure: Closure = "correlated",
) -> Moments:
    r"""One parallel step of driven spins, in means and covariances alone.

    .. math:: m'_i = \int Dz\, \tanh \beta\big(g_i + \sqrt{\Delta_i}\, z\big), \qquad g = x + J m, \qquad
        C(1) = G J C, \qquad C'_{ij} = a_i a_j (J C J^T)_{ij}, \quad C'_{ii} = 1 - m_i'^2

    with the gains ``a_i = dm'_i / dg_i`` on the diagonal of G. Here ``Delta = diag(J C J^T)`` for ``"correlated"``, and
    ``sum_j J_ij^2 (1 - m_j^2)`` for ``"gaussian"``. ``"tap"`` expands once in that:
    ``m' = tanh beta (g - beta Delta m')``, whose one root is taken. ``"naive"`` leaves it out.

    Args:
        m: means ``[*batch, n]``, between -1 and 1.
        C: covariances ``[*batch, n, n]``; for a definite state zero.
        J: couplings ``[*batch, n, n]``, ``J[i, j]`` how spin i feels spin j; need not be symmetric.
        x: drive, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        closure: ``"correlated"`` (default), ``"gaussian"``, ``"tap"`` or ``"naive"``.

    Returns:
        The means a step later, the covariances a step later, and the covariances of the later spins (rows) with the earlier.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, ``beta <= 0``.

    Source: Mezard and Sakellariou 2011 for the Gaussian and ``C(1) = G J C``; Roudi and Hertz 2011 for TAP; Aguilera, Moosavi
    and Shimazaki 2021 for an expansion that has both.

    >>> zero = torch.zeros(2, 2)
    >>> closure_step(torch.zeros(2), zero, zero, torch.tensor([0.5, 0.0]))[0]
    tensor([0.4621, 0.0000])
    """
    check_choice("closure", closure, ("naive", "tap", "gaussian", "correlated"))
    system = checked(J, x, beta)
    check_state(J, {"m": tuple(J.shape[:-1]), "C": tuple(J.shape)}, m=m, C=C)
    with working(J):
        wide = system.couplings.dtype
        after, covariance, delayed = _step(system, m.to(wide), C.to(wide), closure)
    found = [check_result(one.to(J.dtype), "J, x or beta are") for one in (after, covariance, delayed)]
    return found[0], found[1], found[2]


def stationary_closure(
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    closure: Closure = "correlated",
    start: Float[Tensor, "..."] | None = None,
    tolerance: float | int | None = None,
    max_steps: int = 1000,
    on_failure: OnFailure = "error",
) -> ClosureRecord:
    r"""Where the steps of a closure come to rest: means, covariances, delayed covariances, and what they say of time's arrow.

    .. math:: e_p = \beta \sum_{ij} (J_{ij} - J_{ji})\, C_{ij}(1)

    Naive mean field need not come to rest: strong couplings that are not symmetric turn it round for ever, where the spins
    themselves have one stationary law and lose their phase.

    Args:
        J, x, beta, closure: as in :func:`closure_step`.
        start: means to begin with, broadcast to ``[*batch, n]``; default those of uncoupled spins.
        tolerance, max_steps, on_failure: of :func:`attnlib.solve.fixed_point`; means and covariances by their own size.

    Returns:
        :class:`ClosureRecord`. It differentiates, by the implicit function theorem.

    Raises:
        ValueError: as :func:`closure_step`.
        ConvergenceError: the steps do not come to rest.

    Source: that of :func:`closure_step`.

    >>> found = stationary_closure(torch.tensor([[0.0, 0.5], [-0.5, 0.0]]), torch.tensor([0.3, 0.0]))
    >>> found.m, found.entropy_production
    (tensor([ 0.2095, -0.0869]), tensor(0.7897))
    """
    check_choice("closure", closure, ("naive", "tap", "gaussian", "correlated"))
    system = checked(J, x, beta)
    if start is not None:
        check_beside(J, start=start)
        check_field("start", start, (*system.batch, system.n), J)
    with working(J):
        free = system.fields.tanh()
        m = free if start is None else start.to(free.dtype).expand(free.shape)
        begin = m, torch.diag_embed(1 - m.square())
        step = partial(_step, system, closure=closure)
        *said, found = at_rest(step, system.couplings, free, begin, tolerance, max_steps, on_failure)
    m, C, produced = (check_result(one.to(J.dtype), "J, x or beta are") for one in said)
    return ClosureRecord(m, C, produced, found.residual.to(J.dtype), found.iterations, found.converged)


def _step(system: System, m: Tensor, C: Tensor, closure: Closure) -> Moments:
    """The step of :func:`closure_step`, with beta inside couplings and fields."""
    J = system.couplings
    m, C = m.expand(*system.batch, system.n), C.expand(*system.batch, system.n, system.n)
    g, JC = system.fields + (J @ m.unsqueeze(-1))[..., 0], J @ C
    if closure == "naive":
        after, gain = g.tanh(), steepness(g)
        own = gain
    else:
        alone = (J.square() @ (1 - m.square()).unsqueeze(-1))[..., 0]
        width = fluctuation(J, JC) if closure == "correlated" else alone
        after, gain, own = _reacted(g, width) if closure == "tap" else smeared(g, width)
    return after, *carried(gain, J, JC, own)


def smeared(g: Tensor, width: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The mean m of ``tanh`` under a Gaussian of mean g and variance ``width``, its slope by g, and ``1 - m^2``.

    By the trapezoidal rule: to the last digits up to variances of 60, to 1e-6 at 400. It goes by the root of the variance,
    which has no derivative at zero; where the variance is small, by its powers.
    """
    small = width < SMALL
    z = torch.linspace(-REACH, REACH, NODES, dtype=g.dtype, device=g.device)
    weights = (-z.square() / 2).exp()
    weights = weights / weights.sum()
    t, first = g.tanh(), steepness(g)
    near = [first * sum(_polynomial(_BENDS[2 * k + odd], t) * (width / 2) ** k / math.factorial(k) for k in range(1 - odd, 4))
            for odd in (0, 1)]  # fmt: skip
    fields = g.unsqueeze(-1) + torch.where(small, 1.0, width).sqrt().unsqueeze(-1) * z
    mean = torch.where(small, t + near[0], fields.tanh() @ weights)
    fields = 2 * fields
    up, down = fields.sigmoid(), (-fields).sigmoid()  # (1 + tanh)/2 and (1 - tanh)/2, each to its own last digits
    slope = torch.where(small, near[1], (up * down) @ (4 * weights))
    up = torch.where(small, 2 * (2 * g).sigmoid() + near[0], up @ (2 * weights))  # 1 + m, and then 1 - m
    down = torch.where(small, 2 * (-2 * g).sigmoid() - near[0], down @ (2 * weights))
    return mean, slope, up * down


def steepness(g: Tensor) -> Tensor:
    """``1 / cosh^2``: the variance of such a spin."""
    return Binary().covariance(g.unsqueeze(-1))[..., 0, 0]


def _bends(most: int) -> list[list[float]]:
    """Derivatives of ``t = tanh g`` by g, over the first one, as polynomials of t: each is the slope by t of the last."""
    rows = [[], [1.0]]
    for _ in range(most - 1):
        whole = [a - b for a, b in zip([*rows[-1], 0.0, 0.0], [0.0, 0.0, *rows[-1]], strict=True)]  # times 1 - t^2
        rows.append([power * c for power, c in enumerate(whole)][1:])
    return rows


_BENDS = _bends(7)


def _polynomial(row: list[float], t: Tensor) -> Tensor:
    value = torch.zeros_like(t)
    for c in reversed(row):
        value = value * t + c
    return value


def _reacted(g: Tensor, width: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The one root of ``m = tanh(g - width m)``, its slope by g, and ``1 - m^2``: bisected, polished with its derivatives."""
    with torch.no_grad():
        low, high = -torch.ones_like(g), torch.ones_like(g)
        for _ in range(50):
            middle = (low + high) / 2
            above = middle > (g - width * middle).tanh()
            low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    m = ((low + high) / 2).detach()
    for _ in range(2):
        value = (g - width * m).tanh()
        m = m - (m - value) / (1 + width * (1 - value.square()))
    slope = steepness(g - width * m)
    return m, slope / (1 + width * slope), slope
