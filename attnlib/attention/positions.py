"""Places of tokens: sinusoids to add to them, rotations of queries and keys."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count, check_device, check_dtype, check_number, check_states
from attnlib._core.numerics import widened


def sinusoids(
    n: int,
    dim: int,
    *,
    base: float | int = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "{n} {dim}"]:
    r"""Encode places 0 to n - 1 by the hands of dim / 2 clocks, each slower than the one before: ``[n, dim]``.

    .. math:: p_{t, 2i} = \sin \omega_i t, \qquad p_{t, 2i+1} = \cos \omega_i t, \qquad \omega_i = \mathrm{base}^{-2i/d}

    A shift of t turns every hand by its own angle, so ``p_s . p_t`` depends on ``t - s`` alone. The dtype is torch's default
    unless given.

    Raises:
        ValueError: n or dim that are not integers of at least 1, an odd dim, a base that is not above 1, another dtype.

    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoids(2, 4, base=100)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0998, 0.9950]])
    """
    check_device(device)
    angle = _angles(0, check_count("n", n), check_count("dim", dim, least=2), base)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).to(device, check_dtype(dtype))


def rotary_places(
    query: Float[Tensor, "*batch n d"], key: Float[Tensor, "*batch m d"], *, base: float | int = 10_000.0
) -> tuple[Float[Tensor, "*batch n d"], Float[Tensor, "*batch m d"]]:
    r"""Turn queries and keys by their places, so that their dot product depends on the distance between the places.

    .. math:: (x_{2k} + i\, x_{2k+1}) \mapsto e^{i \omega_k t} (x_{2k} + i\, x_{2k+1}), \qquad \omega_k = \mathrm{base}^{-2k/d}

    Key j stands at place j; the last query stands where the last key does, as in :func:`causal_mask`. A mixer takes this
    function as its ``places``.

    Args:
        query, key: ``[*batch, n, d]`` and ``[*batch, m, d]``, finite, of one dtype, with an even d.
        base: how much slower the slowest pair turns than the fastest.

    Returns:
        The turned query and key, of the same shapes and dtype. Lengths do not change.

    Raises:
        ValueError: shapes that do not fit, an odd width, mixed dtypes, non-finite entries, a base that is not above 1.

    Source: Su et al. 2021, section 3.2.

    >>> query, key = rotary_places(torch.ones(1, 5, 2), torch.ones(1, 5, 2))
    >>> (query @ key.mT)[0].diagonal(1)  # the same for all pairs at this distance: 2 cos(1)
    tensor([1.0806, 1.0806, 1.0806, 1.0806])
    """
    check_states("query", query, "key", key)
    if query.shape[-1] % 2:
        raise ValueError(f"query has shape {tuple(query.shape)}; expected an even width: a place turns pairs of numbers")
    n, m = query.shape[-2], key.shape[-2]
    angle = _angles(min(0, m - n), max(n, m), query.shape[-1], base)
    return _turned(query, angle[-n:] if n else angle[:0]), _turned(key, angle[max(0, n - m) :])


def _turned(rows: Tensor, angle: Tensor) -> Tensor:
    wide = widened(rows).unflatten(-1, (-1, 2))
    cos, sin = angle.cos().to(wide), angle.sin().to(wide)
    even, odd = wide.unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(rows.dtype)


def _angles(first: int, count: int, dim: int, base: float | int) -> Tensor:
    """The angles of dim / 2 clocks at so many places from the first, in float64, on the processor: ``[count, dim / 2]``."""
    if dim % 2:
        raise ValueError(f"dim is {dim}; expected an even number, a sine and a cosine for each frequency")
    base = check_number("base", base, above=1)
    frequency = base ** -(torch.arange(0, dim, 2, dtype=torch.float64, device="cpu") / dim)
    return torch.arange(first, first + count, dtype=torch.float64, device="cpu")[:, None] * frequency
