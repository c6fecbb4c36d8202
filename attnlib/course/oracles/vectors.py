"""Vector spins sampled by heat-bath dynamics: what the saddle point is measured against."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_count, check_floating, check_generator
from attnlib._core.numerics import widened
from attnlib._core.systems import check_system
from attnlib._core.values import check_finite, check_result, check_visible


@dataclass(frozen=True)
class VectorSampleRecord:
    """What was sampled: means ``m [*batch, n, d]`` and overlaps ``<s_i . s_j> / d``, ``overlaps [*batch, n, n]``.

    ``m_error`` and ``overlap_error``, of the same shapes, are the standard errors that follow from the differences between the
    chains, which know nothing of each other.

    >>> from attnlib.course.oracles import vector_heat_bath
    >>> found = vector_heat_bath(torch.zeros(2, 2), torch.tensor([[0.0, 0.0], [50.0, 0.0]]), chains=4, sweeps=50)
    >>> found.m.shape, bool(found.m[1, 0] > 1.4)  # the length of a spin is the root of 2
    (torch.Size([2, 2]), True)
    """

    m: Float[Tensor, "*batch n d"]
    overlaps: Float[Tensor, "*batch n n"]
    m_error: Float[Tensor, "*batch n d"]
    overlap_error: Float[Tensor, "*batch n n"]


def vector_heat_bath(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "*batch n d"],
    *,
    beta: Scalar = 1.0,
    chains: int = 200,
    sweeps: int = 100,
    burn_in: int = 50,
    generator: torch.Generator | None = None,
) -> VectorSampleRecord:
    r"""Sample vector spins of length ``sqrt(d)``: visit them in turn and draw each from its distribution given all others.

    .. math:: P(s_i \mid \text{others}) \propto e^{\beta f_i \cdot s_i}, \qquad f_i = \sum_j J_{ij} s_j + h_i

    That is a von Mises-Fisher distribution, drawn exactly: the cosine with the field by rejection, the rest uniform. The chains
    start from random states and run side by side.

    Args:
        J: couplings between spins, ``[*batch, n, n]``, symmetric with a zero diagonal.
        h: fields, ``[*batch, n, d]`` with d of at least 2; they also say how many components there are.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        chains: how many chains, at least 2.
        sweeps: how many visits to all spins are kept, at least 1.
        burn_in: how many visits go before them, and are not kept.
        generator: of the starts and the draws, on the device of J.

    Returns:
        :class:`VectorSampleRecord`. No gradient passes through.

    Raises:
        ValueError: as :func:`attnlib.free_energy.saddle_point`; also fields of one component, and counts that are too small.

    Source: Wood 1994 for the cosine.

    >>> J, h = torch.zeros(1, 1), torch.tensor([[0.5, 0.0, 0.0]])  # alone: exact is 0.4767
    >>> found = vector_heat_bath(J, h, chains=2000, sweeps=1, burn_in=1, generator=torch.Generator().manual_seed(0))
    >>> bool((found.m - torch.tensor([0.4767, 0.0, 0.0])).abs().max() < 4 * found.m_error.max())
    True
    """
    check_floating(J=J, h=h)
    (strong,) = check_finite(h=h)
    system = check_system(J, J.detach().new_full(J.shape[:-1], strong), beta)
    check_visible(J=J, h=h)
    if h.ndim < 2 or tuple(h.shape[:-1]) != (*system.batch, system.n) or h.shape[-1] < 2:
        shapes = f"h has shape {tuple(h.shape)} and J {tuple(J.shape)}"
        raise ValueError(f"{shapes}; expected [*batch, n, d] with at least 2 components and [*batch, n, n]")
    chains, sweeps = check_count("chains", chains, least=2), check_count("sweeps", sweeps)
    burn_in = check_count("burn_in", burn_in, least=0)
    check_generator(generator, J)
    n, d = h.shape[-2:]
    with working(J), torch.no_grad():
        hot = system.beta[..., None, None] if isinstance(system.beta, Tensor) else system.beta
        couplings = system.couplings.reshape(-1, 1, n, n).double()
        fields = (hot * widened(h)).reshape(-1, 1, n, d).double()
        state = torch.randn(len(couplings), chains, n, d, generator=generator, dtype=torch.float64, device=J.device)
        state *= math.sqrt(d) / state.norm(dim=-1, keepdim=True)
        m, overlaps = torch.zeros_like(state), torch.zeros_like(state @ state.mT)
        for sweep in range(burn_in + sweeps):
            for i in range(n):
                felt = (couplings[..., i : i + 1, :] @ state + fields[..., i : i + 1, :])[..., 0, :]
                state[..., i, :] = drawn_spins(felt, generator)
            if sweep >= burn_in:
                m += state / sweeps
                overlaps += state @ state.mT / (d * sweeps)
        found = [part.mean(1) for part in (m, overlaps)]
        for part, mean in zip((m, overlaps), tuple(found), strict=True):
            found.append(((part - mean.unsqueeze(1)).square().sum(1) / (chains * (chains - 1))).sqrt())
    shaped = (part.reshape(system.batch + part.shape[1:]).to(J.dtype) for part in found)
    return VectorSampleRecord(*(check_result(one, "chains and sweeps are") for one in shaped))


def drawn_spins(field: Tensor, generator: torch.Generator | None) -> Tensor:
    """Spins of length ``sqrt(d)``, each drawn with weight ``exp(field . s)``, for fields ``[..., d]``."""
    d = field.shape[-1]
    strength = field.norm(dim=-1, keepdim=True)
    pole = torch.eye(d, dtype=field.dtype, device=field.device)[0]
    axis = torch.where(strength > 0, field / strength.clamp(min=torch.finfo(field.dtype).tiny), pole)
    cosine = _cosines(math.sqrt(d) * strength[..., 0], d, generator).unsqueeze(-1)
    across = torch.randn(field.shape, generator=generator, dtype=field.dtype, device=field.device)
    across = across - (across * axis).sum(-1, keepdim=True) * axis
    across = across / across.norm(dim=-1, keepdim=True)
    return math.sqrt(d) * (cosine * axis + (1 - cosine.square()).clamp(min=0).sqrt() * across)


def _cosines(kappa: Tensor, d: int, generator: torch.Generator | None) -> Tensor:
    """Numbers w with density ``(1 - w^2)^((d-3)/2) exp(kappa w)``, by rejection from a stretched beta distribution.

    Every round draws for all, from a generator of its own, so that what one chain gets does not depend on the others.
    """
    k, kappa = d - 1, kappa.clamp(max=1e12)  # beyond it nothing is left of the width
    b = k / (2 * kappa + (4 * kappa.square() + k * k).sqrt())
    middle = (1 - b) / (1 + b)
    highest = kappa * middle + k * torch.log1p(-middle.square())
    found, left = torch.full_like(kappa, math.nan), torch.ones_like(kappa, dtype=torch.bool)
    seed = torch.randint(2**62, (), generator=generator, device=kappa.device)
    own = torch.Generator(kappa.device).manual_seed(int(seed))
    while left.any():
        drawn = torch.randn(*kappa.shape, d, generator=own, dtype=kappa.dtype, device=kappa.device)
        share = (1 + drawn[..., 0] / drawn.norm(dim=-1)) / 2  # beta distributed, both parameters k/2
        uniform = torch.rand(kappa.shape, generator=own, dtype=kappa.dtype, device=kappa.device)
        w = (1 - (1 + b) * share) / (1 - (1 - b) * share)
        kept = left & (kappa * w + k * torch.log1p(-middle * w) - highest >= uniform.log())
        found = torch.where(kept, w, found)
        left = left & ~kept
    return found
