"""Driven vector spins: the response of one, and means and covariances of many, which many components make exact."""

from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.bessel import ratio
from attnlib._core.checks import Scalar, broadcasts, check_beta, check_choice, check_field, check_floating
from attnlib._core.convergence import OnFailure
from attnlib._core.numerics import widened
from attnlib._core.systems import System
from attnlib._core.values import check_finite, check_result
from attnlib.kinetic.given import check_beside, check_state, checked
from attnlib.kinetic.records import MomentsRecord
from attnlib.kinetic.rest import Moments, at_rest, carried, fluctuation

Gain = Literal["limit", "half", "exact"]
"""The response of a spin: of infinitely many components; with their number in the two bounds that half an order apart enclose
it, a square root of the same form; or by Bessel functions.
"""


STRONG = 1e5
"""Times d: fields in which two powers of their inverse say all of a ratio of Bessel functions."""


def vector_response(h: Float[Tensor, "*batch n d"], *, beta: Scalar = 1.0, gain: Gain = "exact") -> Float[Tensor, "*batch n d"]:
    r"""The mean of a vector spin ``|s|^2 = d`` in a field: what a block does to residual plus attention, exactly.

    .. math:: \phi(h) = a h, \qquad a_\infty = \frac{2 \beta}{1 + \sqrt{1 + 4 \beta^2 k}}, \qquad
        a_{1/2} = \frac{2 \beta}{(1 - 1/d) + \sqrt{(1 + 1/d)^2 + 4 \beta^2 k}}, \qquad k = |h|^2 / d

    The exact one is ``sqrt(d) A_d(beta sqrt(d) |h|) h / |h|`` with ``A_d = I_{d/2} / I_{d/2 - 1}``. Where beta is large all
    three are RMS norm, ``h / sqrt(k)``; the second is off by about ``.09 / d``, the first by ``.25 / d``.

    Args:
        h: fields ``[*batch, n, d]``.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        gain: ``"exact"`` (default; needs at least 2 components), ``"half"`` or ``"limit"``.

    Returns:
        Means ``[*batch, n, d]``, shorter than ``sqrt(d)``.

    Raises:
        ValueError: fields that are not ``[*batch, n, d]`` or not finite, one component with ``"exact"``, ``beta <= 0``.

    Source: Amos 1974 for the square roots.

    >>> h = torch.tensor([[30.0, 40.0]])
    >>> vector_response(h, beta=100.0), h / h.square().mean().sqrt()
    (tensor([[0.8485, 1.1313]]), tensor([[0.8485, 1.1314]]))
    """
    check_choice("gain", gain, ("limit", "half", "exact"))
    check_floating(h=h)
    least = 2 if gain == "exact" else 1
    if h.ndim < 2 or h.shape[-1] < least:
        raise ValueError(f"h has shape {tuple(h.shape)}; expected [*batch, n, d] with d >= {least}")
    beta = check_beta(beta, like=h, shape=tuple(h.shape[:-2]))
    check_finite(h=h)
    with working(h):
        wide = widened(h)
        factor = beta.to(wide.dtype)[..., None, None] if isinstance(beta, Tensor) and beta.ndim else beta
        found = responded(factor * wide, gain)[0]
    return check_result(found.to(h.dtype), "h or beta are")


def moments_step(
    m: Float[Tensor, "*batch n d"],
    C: Float[Tensor, "*batch n n"],
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    gain: Gain = "half",
) -> Moments:
    r"""One parallel step of driven vector spins ``|s|^2 = d``, in means and covariances alone.

    .. math:: m' = G h, \qquad C(1) = G J C, \qquad C'_{ij} = a_i a_j (J C J^T)_{ij}, \quad C'_{ii} = 1 - |m'_i|^2 / d, \qquad
        h = x + J m, \quad a_i = a(k_i + \Delta_i), \quad \Delta = \mathrm{diag}(J C J^T)

    with the gains on the diagonal of G. Covariances are those of dot products by d. The fluctuations of the other spins stand
    where a norm has its epsilon. For many components it is exact, whatever J.

    Args:
        m: means ``[*batch, n, d]``.
        C: covariances by component, ``[*batch, n, n]``; for a definite state zero.
        J: couplings ``[*batch, n, n]``, ``J[i, j]`` how spin i feels spin j; need not be symmetric.
        x: drive, broadcast to ``[*batch, n, d]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        gain: ``"half"`` (default), ``"limit"`` or ``"exact"``, as in :func:`vector_response`.

    Returns:
        The means a step later, the covariances a step later, and the covariances of the later spins (rows) with the earlier.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, ``beta <= 0``.

    Source: Bal 2026 for vector spins as a transformer's dynamics; the closed moments we have not found elsewhere.

    >>> zero = torch.zeros(1, 1)
    >>> moments_step(torch.zeros(1, 2), zero, zero, torch.tensor([[3.0, 4.0]]))[0]
    tensor([[0.7764, 1.0351]])
    """
    system, drive = _checked("m", m, J, x, beta, gain)
    check_state(J, {"C": tuple(J.shape)}, C=C)
    with working(J):
        wide = system.couplings.dtype
        found = moved(system.couplings, m.to(wide), C.to(wide), drive, gain)
    after, covariance, delayed = (check_result(one.to(J.dtype), "J, x or beta are") for one in found)
    return after, covariance, delayed


def stationary_moments(
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "*batch n d"],
    *,
    beta: Scalar = 1.0,
    gain: Gain = "half",
    start: Float[Tensor, "..."] | None = None,
    tolerance: float | int | None = None,
    max_steps: int = 1000,
    on_failure: OnFailure = "error",
) -> MomentsRecord:
    r"""Where the steps of the moments come to rest.

    .. math:: m = (G^{-1} - J)^{-1} x, \qquad C = G J C J^T G + \mathrm{diag}, \quad C_{ii} = 1 - |m_i|^2 / d, \qquad
        e_p / d = \beta \sum_{ij} (J_{ij} - J_{ji})\, C_{ij}(1)

    For symmetric couplings and the gain of many components this is the saddle point of chapter 5, of the graph that is doubled
    in time, with ``z_i = 1 / a_i``.

    Args:
        J, beta, gain: as in :func:`moments_step`.
        x: drive ``[*batch, n, d]``; it also says how many components there are.
        start: means to begin with, broadcast to ``[*batch, n, d]``; default those of uncoupled spins.
        tolerance, max_steps, on_failure: of :func:`attnlib.solve.fixed_point`; means and covariances by their own size.

    Returns:
        :class:`MomentsRecord`. It differentiates, by the implicit function theorem.

    Raises:
        ValueError: as :func:`moments_step`.
        ConvergenceError: the steps do not come to rest, as happens to strong couplings of both signs.

    Source: that of :func:`moments_step`.

    >>> J = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> found = stationary_moments(J, torch.zeros(2, 4), beta=0.5, gain="limit")
    >>> found.C[1, 0, 1]
    tensor(0.4142)
    """
    system, drive = _checked("x", x, J, x, beta, gain)
    if start is not None:
        check_beside(J, start=start)
        check_field("start", start, tuple(drive.shape), J)
    with working(J):
        free = responded(drive, gain)[0]
        m = free if start is None else start.to(free.dtype).expand(free.shape)
        begin = m, torch.diag_embed((1 - m.square().mean(-1)).clamp(min=0.0))
        step = partial(moved, system.couplings, drive=drive, gain=gain)
        *said, found = at_rest(step, system.couplings, free, begin, tolerance, max_steps, on_failure)
    m, C, produced = (check_result(one.to(J.dtype), "J, x or beta are") for one in said)
    return MomentsRecord(m, C, produced, found.residual.to(J.dtype), found.iterations, found.converged)


def _checked(name: str, rows: Tensor, J: Tensor, x: Tensor | None, beta: Scalar, gain: Gain) -> tuple[System, Tensor]:
    """The system without its drive, and the drive ``[*batch, n, d]``, with beta multiplied in; d is that of the rows."""
    check_choice("gain", gain, ("limit", "half", "exact"))
    check_floating(**{name: rows})
    least = 2 if gain == "exact" else 1
    if rows.ndim < 2 or rows.shape[-1] < least:
        raise ValueError(f"{name} has shape {tuple(rows.shape)}; expected [*batch, n, d] with d >= {least}")
    d = rows.shape[-1]
    system = checked(J, None, beta)
    check_state(J, {name: (*J.shape[:-1], d)}, **{name: rows})
    shape = (*system.batch, system.n, d)
    if x is None:
        return system, system.couplings.new_zeros(shape)
    check_beside(J, x=x)
    if not broadcasts(x.shape, shape):
        raise ValueError(
            f"x has shape {tuple(x.shape)} and {name} {tuple(rows.shape)}; expected one that broadcasts to {shape}"
        )
    check_field("x", x, shape, J)
    factor = system.beta[..., None, None] if isinstance(system.beta, Tensor) and system.beta.ndim else system.beta
    return system, factor * widened(x).expand(shape)


def moved(J: Tensor, m: Tensor, C: Tensor, drive: Tensor, gain: Gain) -> Moments:
    """The step of :func:`moments_step`, with beta inside couplings and drive."""
    return moved_by(J, m.expand(drive.shape), J @ C.expand(*drive.shape[:-2], *J.shape[-2:]), drive, gain)


def moved_by(J: Tensor, m: Tensor, JC: Tensor, drive: Tensor, gain: Gain) -> Moments:
    """The same from the product J C, which of spins that know nothing of each other takes no product of matrices."""
    after, gains, own = responded(drive + J @ m, gain, J, JC)
    return after, *carried(gains, J, JC, own)


def responded(h: Tensor, gain: Gain, J: Tensor | None = None, JC: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Means in fields ``[*batch, n, d]`` that have beta in them, gains by beta, and ``1 - |m|^2 / d`` without a difference.

    Fields and couplings are taken in units of the larger of both, spin by spin, so that no square overflows.
    """
    d = h.shape[-1]
    size = h.detach().abs().amax(-1).clamp(min=1.0)
    if J is not None and JC is not None:
        size = torch.maximum(size, J.detach().abs().amax(-1))
        noise = fluctuation(J / size.unsqueeze(-1), JC / size.unsqueeze(-1))
    else:
        noise = torch.zeros_like(size)
    unit = h / size.unsqueeze(-1)
    felt = unit.square().mean(-1) + noise
    if gain == "exact":
        by, own = _bessel_gains(felt, size, d)
        own = own + by.square() * noise
    else:
        inverse = 1 / d if gain == "half" else 0.0
        root = (((1 + inverse) / size).square() + 4 * felt).sqrt()
        by = 2 / ((1 - inverse) / size + root)
        rest = (2 + 2 * inverse**2) / size / size + 2 * (1 - inverse) * root / size + 4 * noise
        own = rest * by.square() / 4
    return by.unsqueeze(-1) * unit, by / size, own


def _bessel_gains(felt: Tensor, size: Tensor, d: int) -> tuple[Tensor, Tensor]:
    """Gains in units of the size, and ``1 - A^2``, of ``felt``, the square of the field in units of the size.

    In double precision, since one is near ``A``; and from its first powers of ``1 / z`` where these have all digits.
    """
    kept, felt, size = felt.dtype, felt.double(), size.double()
    strong = torch.where(felt > 0, felt, 1.0).sqrt()
    z = d * size * strong
    cold = (felt > 0) & (z > STRONG * d)
    ratios = ratio(d / 2 - 1, d * d * (torch.where(cold, 0.0, felt) * size * size))
    by = torch.where(cold, (1 - (d - 1) / (2 * z) + (d - 1) * (d - 3) / (8 * z * z)) / strong, d * ratios * size)
    near = (d - 1) / z - (d - 1) * (d - 2) / (2 * z * z)
    return by.to(kept), torch.where(cold, near, 1 - by.square() * felt).to(kept)
