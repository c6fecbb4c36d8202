"""Systems of coupled spins: what is checked of couplings and fields, and what a mask makes of them, query by query."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attnlib._core.checks import Scalar, check_beta, check_field, check_floating
from attnlib._core.numerics import differentiable, widened
from attnlib._core.values import check_finite, refuted


def apart_by(mask: Tensor, J: Tensor, h: Tensor, lead: tuple[int, ...], n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Systems in which hidden spins are alone and feel nothing: couplings ``[*lead, systems, k, k]``, fields, and the mask.

    One system for each query; one for all where the mask is the same for all.
    """
    mask = differentiable(mask).expand(*lead, mask.shape[-2] if mask.ndim > 1 else 1, n)
    part = mask.to(J.dtype).repeat_interleave(J.shape[-1] // n, -1)
    return J.unsqueeze(-3) * part.unsqueeze(-1) * part.unsqueeze(-2), h.unsqueeze(-2) * part, mask


def together_by(mask: Tensor, m: Tensor, d: int) -> Tensor:
    """The means of each spin in its own system, ``[*lead, n, d]``: zero where it may not see itself, and so has none."""
    n = mask.shape[-1]
    spins = m.unflatten(-1, (n, d))  # [*lead, systems, n, d]
    spins = spins.squeeze(-3) if spins.shape[-3] == 1 else spins.diagonal(dim1=-3, dim2=-2).mT
    own = mask.expand(*mask.shape[:-2], n, n).diagonal(dim1=-2, dim2=-1)
    return torch.where(own.unsqueeze(-1), spins, 0.0)


@dataclass(frozen=True)
class System:
    """Couplings ``[*batch, n, n]`` and fields ``[*batch, n]`` with beta multiplied in, in single precision or better."""

    couplings: Tensor
    fields: Tensor
    beta: Scalar
    batch: tuple[int, ...]
    n: int


def check_system(
    J: Tensor, h: Tensor | None, beta: Scalar, most: int | None = None, *, symmetric: bool = True, field_name: str = "h"
) -> System:
    """Check couplings, fields and inverse temperature, and multiply them; raise as the public functions say."""
    beta = check_couplings(J, h, beta, most, symmetric=symmetric, field_name=field_name)
    n, batch, wide = J.shape[-1], tuple(J.shape[:-2]), widened(J)
    factor = beta.to(wide.dtype) if isinstance(beta, Tensor) else beta
    column = factor[..., None] if isinstance(factor, Tensor) else factor
    field = wide.new_zeros(*batch, n) if h is None else widened(h).expand(*batch, n)
    matrix = column[..., None] if isinstance(column, Tensor) else column
    if isinstance(factor, Tensor) and factor.ndim:
        factor = factor.expand(batch)
    if not symmetric:
        return System(matrix * wide, column * field, factor, batch, n)
    couplings = matrix / 2 * (wide + wide.mT) if isinstance(matrix, Tensor) else (wide + wide.mT).mul_(matrix / 2)
    return System(couplings, column * field, factor, batch, n)


def all_states(n: int, dtype: torch.dtype, device: torch.device | str | None) -> Tensor:
    """All states of n spins, ``[2 ** n, n]``: bit i of a state's number says whether spin i is up."""
    numbers = torch.arange(2**n, device=device)
    return ((numbers[:, None] >> torch.arange(n, device=device) & 1) * 2 - 1).to(dtype)


def check_symmetric(J: Tensor, largest: Scalar) -> None:
    """Raise on couplings that differ from their transpose by more than rounding of their largest entry."""
    slack = 8 * torch.finfo(J.dtype).eps * largest
    if J.numel() and refuted(lambda: (J - J.mT).amax() <= slack):
        raise ValueError("J is not symmetric; expected J[i, j] == J[j, i]")


def check_couplings(
    J: Tensor, h: Tensor | None, beta: Scalar, most: int | None = None, *, symmetric: bool = True, field_name: str = "h"
) -> Scalar:
    """Check couplings, fields and inverse temperature, and return the last; raise as the public functions say.

    Where they need not be ``symmetric``, spins may be coupled to themselves, too.
    """
    check_floating(J=J)
    if J.ndim < 2 or J.shape[-1] != J.shape[-2] or J.shape[-1] == 0:
        raise ValueError(f"J has shape {tuple(J.shape)}; expected [*batch, n, n] with n >= 1")
    n, batch = J.shape[-1], tuple(J.shape[:-2])
    if most is not None and n > most:
        raise ValueError(f"J has shape {tuple(J.shape)}; expected at most {most} spins: there are 2 ** n states")
    (strong,) = check_finite(J=J)
    if symmetric:
        check_symmetric(J, strong)
    if symmetric and refuted(lambda: not J.diagonal(dim1=-2, dim2=-1).any()):
        raise ValueError("J couples a spin to itself; expected a zero diagonal")
    beta = check_beta(beta, like=J, shape=batch)
    if h is not None:
        check_field(field_name, h, (*batch, n), J)
    limit = torch.finfo(torch.promote_types(J.dtype, torch.float32)).max ** 0.25
    (fields,) = (0.0,) if h is None else check_finite(**{field_name: h})
    for name, large in (("J", strong), (field_name, fields)):
        hot = large if isinstance(beta, Tensor) else large * max(beta, 1.0)
        if hot * n > limit:
            raise ValueError(f"{name} and beta are too large, up to {hot:.2g}; expected at most {limit / n:.2g}")
    if isinstance(beta, Tensor) and refuted(lambda: (beta.double() * (strong + fields) * n < limit).all()):
        raise ValueError(f"beta is {beta}; expected numbers that keep beta times J and {field_name} below {limit / n:.2g}")
    return beta
