"""Ising systems sampled by heat-bath dynamics: the oracle where there are too many states to visit."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_count, check_generator
from attnlib._core.systems import check_system
from attnlib._core.values import check_result, check_visible


@dataclass(frozen=True)
class SampleRecord:
    """What was sampled: magnetisations ``m [*batch, n]`` and covariances ``chi [*batch, n, n]``, with how well they are known.

    ``effective_samples [*batch, n]`` is the number of independent states that would give each magnetisation as precisely as
    the sampled ones do, and ``m_error [*batch, n]`` the standard error that follows. ``spread [*batch, n]`` compares the
    chains: near 1 where they agree, above 1.05 where they have not forgotten their starts and no number can be trusted.
    ``states [*batch, chains, n]`` are the last ones.

    >>> from attnlib.course.oracles import heat_bath
    >>> found = heat_bath(torch.zeros(2, 2), torch.tensor([0.0, 50.0]), chains=4, sweeps=50)
    >>> found.m[1], found.states.shape
    (tensor(1.), torch.Size([4, 2]))
    """

    m: Float[Tensor, "*batch n"]
    chi: Float[Tensor, "*batch n n"]
    m_error: Float[Tensor, "*batch n"]
    effective_samples: Float[Tensor, "*batch n"]
    spread: Float[Tensor, "*batch n"]
    states: Float[Tensor, "*batch chains n"]


def heat_bath(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    chains: int = 64,
    sweeps: int = 500,
    burn_in: int = 100,
    generator: torch.Generator | None = None,
) -> SampleRecord:
    r"""Sample an Ising system: visit the spins in turn and draw each from its distribution given all others.

    .. math:: P(s_i = 1 \mid \text{others}) = \frac{1}{1 + e^{-2 \beta f_i}}, \qquad f_i = \sum_j J_{ij} s_j + h_i

    The chains start from random states and run side by side. At low temperature they may stay where they started for longer
    than any run: then ``spread`` tells, and more sweeps do not help.

    Args:
        J: couplings ``[*batch, n, n]``, symmetric with a zero diagonal.
        h: fields, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        chains: how many chains, at least 2.
        sweeps: how many visits to all spins are kept, at least 4.
        burn_in: how many visits go before them, and are not kept.
        generator: of the starts and the draws, on the device of J.

    Returns:
        :class:`SampleRecord`. No gradient passes through.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled J, ``beta <= 0``,
            counts that are too small.

    Source: Glauber 1963; the effective number of samples is that of Vehtari et al. 2021, with Geyer's truncation.

    >>> J = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> found = heat_bath(J, torch.tensor([0.5, 0.0]), generator=torch.Generator().manual_seed(0))
    >>> bool((found.m - torch.tensor([0.4621, 0.3519])).abs().max() < 4 * found.m_error.max())
    True
    """
    system = check_system(J, h, beta)
    check_visible(J=J)
    chains, sweeps = check_count("chains", chains, least=2), check_count("sweeps", sweeps, least=4)
    burn_in = check_count("burn_in", burn_in, least=0)
    check_generator(generator, J)
    n, dtype = system.n, system.couplings.dtype
    couplings, fields = system.couplings.detach().reshape(-1, n, n), system.fields.detach().reshape(-1, n)
    shape = (n, len(couplings), chains)
    with working(J), torch.no_grad():
        state = 2 * torch.randint(2, shape, generator=generator, device=J.device).to(dtype) - 1
        kept = torch.empty(sweeps, *shape, dtype=torch.int8, device=J.device)
        rows, one = couplings.transpose(0, 1).unsqueeze(2).contiguous(), torch.ones((), dtype=dtype, device=J.device)
        for sweep in range(burn_in + sweeps):
            drawn = torch.rand(shape, generator=generator, device=J.device)
            thresholds = torch.logit(drawn.to(dtype)) / 2 - fields.T[..., None]  # s_i is 1 where others exert more than that
            for row, threshold, spin in zip(rows, thresholds, state):
                torch.copysign(one, torch.bmm(row, state.transpose(0, 1))[:, 0] - threshold, out=spin)
            if sweep >= burn_in:
                kept[sweep - burn_in] = state
        series = kept.permute(2, 3, 1, 0)  # [systems, chains, spins, sweeps]
        found = [_moments(one.to(torch.float64, memory_format=torch.contiguous_format)) for one in series]
    parts = [torch.stack(tensors) for tensors in zip(*found)] if found else _nothing(n, J)
    shaped = [part.reshape(system.batch + part.shape[1:]).to(J.dtype) for part in parts]
    last = state.permute(1, 2, 0).reshape(*system.batch, chains, n).to(J.dtype)
    m, chi, error, effective, spread = (check_result(one, "sweeps and chains are") for one in shaped)
    return SampleRecord(m, chi, error, effective, spread, last)


def _nothing(n: int, like: Tensor) -> list[Tensor]:
    return [torch.zeros(0, *shape, dtype=like.dtype, device=like.device) for shape in ((n,), (n, n), (n,), (n,), (n,))]


def _moments(series: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Means, covariances, errors, effective numbers and spread of one system's series ``[chains, n, sweeps]``."""
    chains, n, sweeps = series.shape
    flat = series.transpose(0, 1).reshape(n, -1)
    m = flat.mean(-1)
    chi = (flat - m[:, None]) @ (flat - m[:, None]).mT / flat.shape[-1]
    centred = series - series.mean(-1, keepdim=True)
    spectrum = torch.fft.rfft(centred, n=2 * sweeps).abs().square()
    covariances = torch.fft.irfft(spectrum, n=2 * sweeps)[..., :sweeps].mean(0) / sweeps  # by lag, averaged over the chains
    within = covariances[:, 0] * sweeps / (sweeps - 1)
    between = series.mean(-1).var(0)
    total = within * (sweeps - 1) / sweeps + between
    still = total <= 0  # a spin that never turned: its mean is known as well as the number of draws allows
    least = torch.where(still, 1.0, total / (chains * sweeps))  # within chains in which it never turned, but that disagree
    spread = torch.where(still, 1.0, (total / within.maximum(least)).sqrt())
    rho = 1 - (within[:, None] - covariances) / torch.where(still, 1.0, total)[:, None]
    pairs = rho[:, : sweeps // 2 * 2].unflatten(-1, (-1, 2)).sum(-1)
    positive = (pairs > 0).long().cumprod(-1)
    falling = torch.cummin(pairs, -1).values * positive
    time = (2 * falling.sum(-1) - 1).clamp(min=1 / sweeps)
    effective = torch.where(still, float(chains * sweeps), chains * sweeps / time).clamp(max=float(chains * sweeps))
    return m, chi, (total / effective).sqrt(), effective, spread
