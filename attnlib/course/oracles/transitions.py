"""Where attention among fixed memories changes its mind: couplings of the Potts picture, and the first split of any cloud."""

import math
import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count, check_number, check_rows
from attnlib._core.convergence import ConvergenceWarning
from attnlib._core.values import check_products, check_visible
from attnlib.hopfield import find_fixed_points, hopfield_update


@dataclass(frozen=True)
class PottsCouplings:
    r"""The couplings :math:`K = \beta |x|^2` at which rest among orthogonal memories of one length changes, in order.

    ``spinodal``: a single pattern appears as a place of rest, with the ``lead`` :math:`p_1 - p_2` over the others' weights.
    ``transition``: it is as deep as the average of all. ``stability``: the average is no valley any more.

    >>> from attnlib.course.oracles import potts_couplings
    >>> potts_couplings(2) == PottsCouplings(spinodal=2.0, lead=0.0, transition=2.0, stability=2.0)  # a magnet: all at once
    True
    """

    spinodal: float
    lead: float
    transition: float
    stability: float


def potts_couplings(m: int) -> PottsCouplings:
    r"""Three couplings that matter for ``m`` orthogonal memories of one length: a mean-field Potts model with ``m`` states.

    A pattern that leads the others by :math:`s = p_1 - p_2` sustains itself where

    .. math:: K(s) = \frac1s \ln \frac{1 + (m - 1)\, s}{1 - s}, \qquad
        \kappa_{\mathrm{sp}} = \min_s K(s), \qquad \kappa_{\mathrm t} = \frac{2 (m - 1) \ln (m - 1)}{m - 2}

    and the average of all gives way at ``K = m``. The minimum is found by bisection in ``y = ln(p_1 / p_2)``, where it solves
    :math:`4 \sinh^2(y/2) = m\,(y - 1 + e^{-y})`, to the last digits. For two memories the three coincide: the change is
    continuous, as in a magnet.

    Args:
        m: number of memories, at least 2.

    Returns:
        Numbers, no shapes: :class:`PottsCouplings`.

    Raises:
        ValueError: unless m is an integer of at least 2.

    Source: Wu 1982, section I.C, for the transition of the mean-field Potts model.

    >>> found = potts_couplings(8)
    >>> round(found.spinodal, 6), round(found.transition, 6), found.stability
    (4.249799, 4.540457, 8.0)
    """
    m = check_count("m", m, least=2)
    if m == 2:  # the limit of the formulas
        return PottsCouplings(2.0, 0.0, 2.0, 2.0)
    low, high = 0.5, 2 * math.log(m) + 3
    y = (low + high) / 2
    for _ in range(200):
        low, high = (y, high) if 4 * math.sinh(y / 2) ** 2 < m * (y - 1 + math.exp(-y)) else (low, y)
        y = (low + high) / 2
    ratio = math.expm1(y)  # of the weights, less one
    transition = 2 * (m - 1) * math.log(m - 1) / (m - 2)
    return PottsCouplings(y * (1 + m / ratio), ratio / (ratio + m), transition, float(m))


def splitting_beta(memory: Float[Tensor, "m d"], *, coldest: float | int = 1000.0) -> float | None:
    r"""The smallest inverse temperature at which starts at the memories come to rest in more than one place.

    Below it everything averages. A distribution between points at most ``D`` apart has, along any line, a variance of at most
    :math:`D^2/4`, so attention contracts for :math:`\beta < 4/D^2` and the place of rest is unique: the search begins there,
    goes on by steps of a tenth, and ends by bisection, to one part in ten thousand.

    Args:
        memory: ``[m, d]``, floating, finite. No gradient passes through; all is computed in float64.
        coldest: how far to look, in units of :math:`4/D^2`.

    Returns:
        A number in units of one over the squared memory, or None where nothing splits down to the coldest: one memory, copies
        of one, or a longest one before which no other has a place of rest.

    Raises:
        ValueError: a memory that is not ``[m, d]`` with ``m >= 1``, not floating, not finite; ``coldest`` below 1.

    >>> round(splitting_beta(torch.tensor([[2.0, 0.0], [-2.0, 0.0]])), 3)  # opposite memories: critical at 1 / |x|^2
    0.25
    """
    check_rows("memory", memory)
    check_visible(memory=memory)
    if memory.ndim != 2:
        raise ValueError(f"memory has shape {tuple(memory.shape)}; expected [m, d]")
    check_products("memory", memory, "memory", memory)
    coldest = check_number("coldest", coldest, least=1)
    wide = memory.detach().double()
    apart = (wide[:, None] - wide).norm(dim=-1).max().item()
    if apart == 0:
        return None
    wide, unit = wide / apart, 4.0  # one apart at most, so that nothing overflows
    low = high = unit
    while not _splits(wide, high):
        low, high = high, 1.1 * high
        if low > coldest * unit:
            return None
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _splits(wide, middle) else (middle, high)
    return math.sqrt(low * high) / apart**2


def _splits(memory: Tensor, beta: float) -> bool:
    """Do the memories, as starts, come to rest in more than one place? Each has 6,000 steps to come near one.

    Just before a place of rest appears, states creep by where it will be: their gradient is small there, but no Newton step
    ends it. After a few attempts they count as on their way.
    """
    unit, moving = memory.norm(dim=-1).max().item(), memory
    places = memory[:0]
    for _ in range(8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = find_fixed_points(moving, memory, beta=beta, tolerance=1e-3, max_steps=6_000, on_failure="warn")
        resting = found.residual <= 1e-9 * unit
        places = torch.cat([places, found.states[resting]])
        if ((places - places[:1]).norm(dim=-1) > 1e-4 * unit).any():
            return True
        if resting.all():
            return False
        moving = hopfield_update(found.states[~resting], memory, beta=beta)
    return False
