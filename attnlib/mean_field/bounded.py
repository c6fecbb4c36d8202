"""Couplings kept inside the edge of stability: modes beyond a bound lose what passes it, and gradients go through that."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_floating, check_number
from attnlib._core.numerics import widened
from attnlib._core.spectra import eigenvalues, modes_of
from attnlib._core.values import through_steps, verdict
from attnlib.mean_field.couplings import flat_couplings, symmetric_couplings


def bounded_couplings(
    J: Float[Tensor, "*batch n n d d"],
    bound: float | int,
    *,
    across: bool = True,
    inside: bool = False,
    self_coupling: bool = False,
) -> Float[Tensor, "*batch n n d d"]:
    r"""Couplings whose largest eigenvalue is at most the bound: of modes beyond it only what passes it is taken off.

    .. math:: J' = s \Big[ J - P \sum_k (\lambda_k - b)_+ u_k u_k^\top \Big], \qquad J u_k = \lambda_k u_k

    P gives what is taken off the symmetries of the couplings, as :func:`symmetric_couplings`. Without self-coupling it
    brings a little of the excess back: s, one or less, scales the rest down. Couplings inside the bound are returned as they
    are, not a bit changed. With ``across=False`` there are no such modes: all is scaled until the largest singular value is
    the bound.

    Of the ways that ``experiments/bounded_couplings.py`` compares, spins learned fastest and best with this one. It costs two
    eigendecompositions beyond the bound, and inside it one factorisation, which tells.

    Args:
        J: ``[*batch, n, n, d, d]``, finite.
        bound: above 0.
        across, inside, self_coupling: the symmetries that J has, or is given first, as by :func:`symmetric_couplings`.

    Returns:
        ``[*batch, n, n, d, d]``, differentiable twice.

    Raises:
        ValueError: another shape, non-finite entries, a bound that is not above 0, flags that are none.

    >>> J = torch.zeros(3, 3, 1, 1)
    >>> J[0, 1] = J[1, 0] = 2.0
    >>> bounded_couplings(J, 1.0)[0, 1], bounded_couplings(J, 3.0)[0, 1]
    (tensor([[1.]]), tensor([[2.]]))
    """
    named = {"across": across, "inside": inside, "self_coupling": self_coupling}
    bound = check_number("bound", bound, above=0)
    check_floating(J=J)
    dtype, J = J.dtype, symmetric_couplings(widened(J), **named)
    flat, bound = flat_couplings(J), min(bound, torch.finfo(J.dtype).max ** 0.4)
    if _within(flat, bound, across):
        return J.to(dtype)
    if across:
        n, d = J.shape[-3], J.shape[-1]
        passing = _passing(flat, bound).unflatten(-1, (n, d)).unflatten(-3, (n, d)).transpose(-3, -2)
        J = J - symmetric_couplings(passing, **named)
        flat = flat_couplings(J)
        if _within(flat, bound, across):
            return J.to(dtype)
    unit = flat.detach().abs().amax((-2, -1), keepdim=True)
    unit = torch.where(unit > 1e18, unit, 1.0)  # so that the sum over many large couplings does not overflow
    most = strongest(flat / unit, across).clamp(min=bound / unit[..., 0, 0])
    return (J / unit[..., None, None] * (bound / most)[..., None, None, None, None]).to(dtype)


def strongest(flat: Tensor, symmetric: bool) -> Tensor:
    """The largest eigenvalue of couplings ``[*batch, k, k]``; without symmetry the largest singular value, ``[*batch]``."""
    return eigenvalues(flat)[..., -1] if symmetric else torch.linalg.svdvals(flat)[..., 0]


def _within(flat: Tensor, bound: float | int, symmetric: bool) -> bool:
    """Whether all can be seen to be inside: then ``bound - J`` has a Cholesky factor, which costs less than an eigenvalue."""
    square = flat.detach() if symmetric else flat.detach().mT @ flat.detach()
    eye = torch.eye(flat.shape[-1], dtype=flat.dtype, device=flat.device)
    limit = bound if symmetric else bound**2
    return verdict(lambda: not torch.linalg.cholesky_ex(limit * eye - square)[1].any()) is True


def _passing(flat: Tensor, bound: float | int) -> Tensor:
    """What passes the bound: ``sum_k (lambda_k - b)_+ u_k u_k^T``, ``[*batch, k, k]``."""
    if not through_steps():
        found: Tensor = _Passing.apply(flat, bound)
        return found
    ramp = torch.linspace(0, 1, flat.shape[-1], dtype=flat.dtype, device=flat.device)
    split = flat + 64 * bound * torch.finfo(flat.dtype).eps * torch.diag(ramp)  # equal eigenvalues have no derivative
    return _spectral(split, bound)[0]


def _spectral(flat: Tensor, bound: float | int) -> tuple[Tensor, Tensor, Tensor]:
    values, modes = modes_of(flat)
    return (modes * (values - bound).clamp(min=0).unsqueeze(-2)) @ modes.mT, values, modes


class _Passing(torch.autograd.Function):
    """A function of a symmetric matrix by its eigenvalues, with the derivative of Daleckii and Krein.

    In the basis of the modes a change is multiplied by ``(f(a) - f(b)) / (a - b)``: one between two modes beyond the bound,
    zero between two inside, so that nearly equal eigenvalues do no harm.
    """

    @staticmethod
    def forward(ctx: Any, flat: Tensor, bound: float | int) -> Tensor:
        found, values, modes = _spectral(flat, bound)
        ctx.bound = bound
        ctx.save_for_backward(flat, values, modes)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        flat, values, modes = ctx.saved_tensors
        if torch.is_grad_enabled():  # second derivatives are asked for
            return torch.autograd.grad(_spectral(flat, ctx.bound)[0], flat, gradients[0], create_graph=True)[0], None
        a, b = values.unsqueeze(-1), values.unsqueeze(-2)
        beyond = (values > ctx.bound).to(values.dtype)
        both, one = beyond.unsqueeze(-1) * beyond.unsqueeze(-2), a.maximum(b) - ctx.bound
        gap = (a - b).abs()
        share = torch.where(both > 0, 1.0, (one / torch.where(gap > 0, gap, 1.0)).clamp(0, 1))
        return modes @ (share * (modes.mT @ gradients[0] @ modes)) @ modes.mT, None
