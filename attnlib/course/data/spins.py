"""Spins whose couplings come in part from what their tokens say: the means are known exactly, and what cannot be known too."""

import dataclasses

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count, check_generator, check_number
from attnlib.course.data.seeds import Estimate
from attnlib.mean_field import MeanField, exact_ising, naive_mean_field, sherrington_kirkpatrick, tap

SPINS, WIDTH, GAIN, VARIANCE = 10, 4, 1.2, 0.5
"""How many spins, how many numbers a token says beside its field, how strong couplings are, and the variance of fields."""

TOGETHER = 1024
"""How many systems are summed over at once, so that memory stays small."""


@dataclasses.dataclass(frozen=True)
class SpinSystems:
    """Systems of spins with what a token knows of each: what :func:`spin_systems` returns, so no ValueError.

    ``h`` the fields ``[count, n]``, ``x`` what else the tokens say ``[count, n, width]``, ``J`` the couplings
    ``[count, n, n]``, and ``m`` the exact means ``[count, n]``, which are to be found.

    >>> systems = spin_systems(3, context=0.5, generator=torch.Generator().manual_seed(0))
    >>> systems.tokens.shape
    torch.Size([3, 10, 5])
    """

    h: Float[Tensor, "count n"]
    x: Float[Tensor, "count n width"]
    J: Float[Tensor, "count n n"]
    m: Float[Tensor, "count n"]

    @property
    def tokens(self) -> Float[Tensor, "count n inputs"]:
        """The field of each spin, then the rest, as a network is given them, ``[count, n, 1 + width]``."""
        return torch.cat([self.h[..., None], self.x], -1)


def fixed_couplings(n: int = SPINS, *, gain: float | int = GAIN, seed: int = 1) -> Float[Tensor, "n n"]:
    r"""The couplings ``J0`` that all systems share: a Sherrington-Kirkpatrick draw times the gain, in double precision.

    Args:
        n, gain: how many spins, and the factor.
        seed: of the one draw.

    Raises:
        ValueError: a count below 1, a gain that is not a finite number.

    Source: Sherrington and Kirkpatrick 1975.

    >>> fixed_couplings(3).shape
    torch.Size([3, 3])
    """
    generator = torch.Generator().manual_seed(check_count("seed", seed, 0))
    return check_number("gain", gain) * sherrington_kirkpatrick(n, generator=generator, dtype=torch.float64)


def context_couplings(
    x: Float[Tensor, "*batch n width"], *, context: float | int, gain: float | int = GAIN, fixed: Tensor | None = None
) -> Float[Tensor, "*batch n n"]:
    r"""Couplings of which one share is the same for all systems, and the rest is what the tokens of one say of each other.

    .. math:: J_{ij} = \sqrt{1 - \lambda}\, J^0_{ij} + \sqrt\lambda\, g\, \frac{x_i \cdot x_j}{\sqrt{d N}}, \qquad J_{ii} = 0

    Both parts have the same variance, so that only their origin changes with lambda.

    Args:
        x: what the tokens say, ``[*batch, n, d]``; standard Gaussian where both parts are to be equally strong.
        context: lambda, the share of the variance that comes from the tokens, from 0 to 1.
        gain: g, by which couplings are stronger than those of Sherrington and Kirkpatrick.
        fixed: ``J0``, symmetric without a diagonal, ``[n, n]``; default :func:`fixed_couplings`, which has the gain in it.

    Raises:
        ValueError: a share outside 0 to 1, fixed couplings of another shape.

    >>> bool((context_couplings(torch.zeros(2, 10, 4), context=0)[0] == fixed_couplings().float()).all())
    True
    """
    share, (n, d) = check_number("context", context, least=0), x.shape[-2:]
    if share > 1:
        raise ValueError(f"context is {context}; expected a share from 0 to 1")
    fixed = fixed_couplings(n, gain=gain) if fixed is None else fixed
    if fixed.shape != (n, n):
        raise ValueError(f"fixed has shape {tuple(fixed.shape)}; expected {(n, n)}")
    own = (x @ x.mT) * (check_number("gain", gain) / (d * n) ** 0.5)
    own = own - torch.diag_embed(own.diagonal(dim1=-2, dim2=-1))
    return (1 - share) ** 0.5 * fixed.to(x) + share**0.5 * own


def spin_systems(
    count: int,
    n: int = SPINS,
    *,
    context: float | int,
    width: int = WIDTH,
    gain: float | int = GAIN,
    variance: float | int = VARIANCE,
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float64,
) -> SpinSystems:
    """Draw systems: Gaussian fields and tokens, couplings by :func:`context_couplings`, means by enumeration.

    Args:
        count, n: how many systems, and spins in each, at most 20.
        context: the share of the couplings' variance that comes from the tokens, from 0 to 1.
        width: how many numbers a token says beside its field.
        gain, variance: of the couplings, and of the fields.
        generator: where random numbers come from; default torch's own.
        dtype: of all that comes back.

    Returns:
        :class:`SpinSystems`.

    Raises:
        ValueError: counts that are not integers of at least 1, a share outside 0 to 1, a negative variance.

    >>> systems = spin_systems(2, 3, context=1.0, generator=torch.Generator().manual_seed(0))
    >>> systems.m.shape, bool((systems.m.abs() < 1).all())
    (torch.Size([2, 3]), True)
    """
    count, n, width = check_count("count", count), check_count("n", n), check_count("width", width)
    check_generator(generator)
    h = check_number("variance", variance, least=0) ** 0.5 * torch.randn(count, n, generator=generator, dtype=dtype)
    x = torch.randn(count, n, width, generator=generator, dtype=dtype)
    J = context_couplings(x, context=context, gain=gain)
    return SpinSystems(h, x, J, exact_ising(J, h).m)


def blind_floor(
    context: float | int,
    *,
    draws: int = 2000,
    inner: int = 64,
    width: int = WIDTH,
    n: int = SPINS,
    gain: float | int = GAIN,
    variance: float | int = VARIANCE,
    generator: torch.Generator | None = None,
) -> Estimate:
    r"""The least error of whoever sees all fields, and nothing else that the tokens say, by nested sampling.

    .. math:: \frac{E\, \mathrm{Var}(m_i \mid h)}{\mathrm{Var}(m_i)}, \qquad \mathrm{Var}(m_i) = E\, m_i^2

    The mean of m vanishes since reversing all fields reverses all means. The best answer of a blind network is ``E(m | h)``, so
    that its mean squared error is the variance that is left.

    Args:
        context, width, n, gain, variance: as in :func:`spin_systems`.
        draws, inner: how many draws of all fields, and of the rest for each; at least 2.
        generator: as there.

    Returns:
        The share and its standard error over the draws of fields, as an :class:`attnlib.course.data.seeds.Estimate`.

    Raises:
        ValueError: as :func:`spin_systems`.

    >>> blind_floor(0.0, draws=4, inner=2).mean < 1e-20
    True
    """
    draws, inner = check_count("draws", draws, 2), check_count("inner", inner, 2)
    left, whole = [], []
    for some in torch.arange(draws).split(max(1, TOGETHER // inner)):
        h = variance**0.5 * torch.randn(len(some), 1, n, generator=generator, dtype=torch.float64)
        x = torch.randn(len(some), inner, n, width, generator=generator, dtype=torch.float64)
        m = exact_ising(context_couplings(x, context=context, gain=gain), h.expand(-1, inner, -1)).m
        left.append(m.var(1).mean(-1))
        whole.append(m.square().mean((1, 2)))
    return share(torch.cat(left), torch.cat(whole))


def share(part: Float[Tensor, "draws"], whole: Float[Tensor, "draws"]) -> Estimate:
    """A ratio of two means over the same draws, ``[draws]`` each, with its standard error to first order. No errors.

    >>> share(torch.tensor([1.0, 1.0]), torch.tensor([2.0, 2.0]))
    Estimate(mean=0.5, error=0.0, runs=2)
    """
    mean = part.mean() / whole.mean()
    error = (part - mean * whole).std() / whole.mean() / len(part) ** 0.5
    return Estimate(mean.item(), error.item(), len(part))


def spin_references(systems: SpinSystems, *, max_steps: int = 1000) -> dict[str, tuple[Estimate, float]]:
    """How far theories with the true couplings are from the exact means, relative to their variance.

    ``"independent"`` is the answer to the field alone, ``"naive"`` and ``"tap"`` are mean-field theories, each from where the
    fields alone put the spins. A system without a solution counts with the best state that was found.

    Args:
        systems: from :func:`spin_systems`.
        max_steps: allowed to each system.

    Returns:
        For each the relative mean squared error with its standard error over systems, and the share of systems solved.

    Raises:
        ValueError: as the solvers.

    >>> systems = spin_systems(8, 4, context=1.0, generator=torch.Generator().manual_seed(0))
    >>> found = spin_references(systems)
    >>> found["tap"][0].mean < found["naive"][0].mean < found["independent"][0].mean
    True
    """
    whole = systems.m.square().mean(-1)

    def told(m: Tensor, solved: float) -> tuple[Estimate, float]:
        return share((m - systems.m).square().mean(-1), whole), solved

    def theory(found: MeanField) -> tuple[Estimate, float]:
        return told(found.m, found.converged.double().mean().item())

    settings = {"max_steps": max_steps, "on_failure": "warn"}
    return {
        "independent": told(systems.h.tanh(), 1.0),
        "naive": theory(naive_mean_field(systems.J, systems.h, **settings)),  # type: ignore[arg-type]
        "tap": theory(tap(systems.J, systems.h, **settings)),  # type: ignore[arg-type]
    }
