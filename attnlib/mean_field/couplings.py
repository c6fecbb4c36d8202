"""Couplings: random ones, and how those between vector spins are laid out, scaled and made symmetric.

A vector spin has d components. Couplings between N of them are ``[N, N, d, d]``; the same numbers as one matrix over all
components, ``[N * d, N * d]``, are what the solvers take: :func:`flat_couplings`.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import (
    check_count,
    check_dtype,
    check_flag,
    check_floating,
    check_generator,
    check_number,
)
from attnlib._core.values import check_finite


def sherrington_kirkpatrick(
    n: int,
    systems: int | None = None,
    *,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "..."]:
    r"""Draw the couplings of a Sherrington-Kirkpatrick spin glass: independent Gaussians of variance ``1/n`` for each pair.

    ``[n, n]``, or ``[systems, n, n]``, symmetric with a zero diagonal, on the generator's device. The largest eigenvalue is
    near 2 for many spins, and without fields the spin-glass transition is at ``beta = 1``.

    Raises:
        ValueError: ``n < 1``, ``systems < 1``, a generator or dtype that is none.

    Source: Sherrington and Kirkpatrick 1975.

    >>> sherrington_kirkpatrick(5, 3).shape
    torch.Size([3, 5, 5])
    """
    n = check_count("n", n)
    count = 1 if systems is None else check_count("systems", systems)
    check_generator(generator)
    dtype = check_dtype(dtype)
    device = None if generator is None else generator.device
    drawn = torch.randn(count, n, n, generator=generator, dtype=torch.float64, device=device) / math.sqrt(n)
    upper = drawn.triu(1)
    couplings = (upper + upper.mT).to(dtype)
    return couplings[0] if systems is None else couplings


def symmetric_couplings(
    J: Float[Tensor, "*batch n n d d"], *, across: bool = True, inside: bool = False, self_coupling: bool = False
) -> Float[Tensor, "*batch n n d d"]:
    r"""Give couplings between vector spins the symmetries that are asked for, by averaging over what is to be equal.

    .. math:: J_{ij}^{ab} = J_{ji}^{ba} \;\text{(across)}, \qquad J_{ij}^{ab} = J_{ij}^{ba} \;\text{(inside)}, \qquad
        J_{ii} = 0

    Across sites is what an energy needs: only then is there a Gibbs measure. Inside makes the coupling of each pair a
    symmetric matrix, which halves the free numbers once more. Without self-coupling no spin acts on itself.

    Args:
        J: ``[*batch, n, n, d, d]``, finite.
        across, inside: which symmetries; default across only.
        self_coupling: keep ``J_ii``; default False.

    Returns:
        ``[*batch, n, n, d, d]``.

    Raises:
        ValueError: another shape, non-finite entries, flags that are none.

    >>> J = symmetric_couplings(torch.arange(16.0).reshape(2, 2, 2, 2))
    >>> J[0, 1].tolist(), J[1, 0].tolist(), J[0, 0].tolist()
    ([[6.0, 7.5], [7.5, 9.0]], [[6.0, 7.5], [7.5, 9.0]], [[0.0, 0.0], [0.0, 0.0]])
    """
    check_flag(across=across, inside=inside, self_coupling=self_coupling)
    _check_blocks(J)
    if across:
        J = J / 2 + J.transpose(-4, -3).mT / 2
    if inside:
        J = J / 2 + J.mT / 2
    if not self_coupling:
        J = J * (1 - torch.eye(J.shape[-4], dtype=J.dtype, device=J.device))[:, :, None, None]
    return J


def flat_couplings(J: Float[Tensor, "*batch n n d d"]) -> Float[Tensor, "*batch k k"]:
    """Couplings between vector spins, ``[*batch, n, n, d, d]``, as one matrix over all components, ``[*batch, n * d, n * d]``.

    Raises ValueError on another shape or non-finite entries.

    >>> flat_couplings(torch.zeros(3, 3, 2, 2)).shape
    torch.Size([6, 6])
    """
    _check_blocks(J)
    return J.transpose(-3, -2).flatten(-4, -3).flatten(-2)


def stable_scale(n: int, d: int, *, largest: float | int = 0.5) -> float:
    r"""The standard deviation of random couplings whose largest eigenvalue is ``largest``, for many components.

    .. math:: \sigma = \frac{\lambda}{2 \sqrt{n d}}

    For symmetric couplings with independent entries this is the edge of Wigner's semicircle. A Gaussian system with prior
    covariance ``Sigma`` is stable where the largest eigenvalue of ``beta J`` is below the smallest of ``Sigma^-1``. The
    often-seen variance ``1/(n d^2)`` gives a largest eigenvalue of ``2/sqrt(d)``, not of order one. Averaging over ``J`` and
    its transpose halves the variance of independent entries: multiply by ``sqrt(2)`` before it.

    Takes numbers, returns a number (no shapes). Raises ValueError unless ``n, d >= 1`` and ``largest > 0``.

    >>> stable_scale(16, 4, largest=0.8)
    0.05
    """
    size = check_count("n", n) * check_count("d", d)
    return check_number("largest", largest, above=0) / (2 * math.sqrt(size))


def _check_blocks(J: Tensor) -> None:
    check_floating(J=J)
    if J.ndim < 4 or J.shape[-4] != J.shape[-3] or J.shape[-1] != J.shape[-2] or 0 in J.shape[-4:]:
        raise ValueError(f"J has shape {tuple(J.shape)}; expected [*batch, n, n, d, d] with n, d >= 1")
    check_finite(J=J)


def block_diagonal(blocks: Tensor) -> Tensor:
    """Blocks ``[*batch, n, d, d]`` on the diagonal of one matrix ``[*batch, n * d, n * d]``."""
    n, d = blocks.shape[-3], blocks.shape[-1]
    eye = torch.eye(n, dtype=blocks.dtype, device=blocks.device)
    return (eye[:, None, :, None] * blocks[..., :, :, None, :]).reshape(*blocks.shape[:-3], n * d, n * d)
