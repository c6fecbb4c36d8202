"""Priors: what a spin is when nothing acts on it, behind one interface that takes a prior of your own.

A spin has ``d`` components. Under a field and a quadratic term it has the single-site measure

    Z(b, V) = integral of rho(S) exp(b . S + S V S / 2)

with beta absorbed in the field b. What a prior knows is ``ln Z``; its derivatives with respect to the field are the mean and
the covariance. ``rho`` is normalised, so that ``ln Z(0, 0) = 0``.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count, check_floating, check_kind
from attnlib._core.numerics import differentiable

Reaction = Literal["number", "matrix"]
"""What V is for a spin: a number times the identity, ``[*batch, n]``, or a symmetric matrix, ``[*batch, n, d, d]``."""


class Prior:
    r"""A distribution of single spins. Derive from it and write :meth:`log_partition`; the rest follows by differentiation.

    .. math:: \ln Z(b, V) = \ln \int \rho(S)\, e^{b \cdot S + S V S / 2}\, dS, \qquad
        \langle S \rangle = \frac{\partial \ln Z}{\partial b}, \qquad
        \mathrm{Cov}(S) = \frac{\partial^2 \ln Z}{\partial b\, \partial b}

    A prior that knows its mean and covariance in closed form writes these too. Shapes: fields ``[*batch, n, d]``; V is None (no
    quadratic term), ``[*batch, n]`` or ``[*batch, n, d, d]``, as ``reaction`` says.

    Args:
        d: number of components of a spin.

    Raises:
        ValueError: d is not an integer of at least 1; in the calls, a field or V of another shape.

    >>> class Ternary(Prior):  # a spin that may also be zero: -1, 0 or 1
    ...     def log_partition(self, field, V=None):
    ...         here = 0.0 if V is None else V / 2
    ...         return ((1 + 2 * torch.exp(torch.as_tensor(here)) * field[..., 0].cosh()) / 3).log()
    >>> Ternary().mean(torch.tensor([[1.0]]))
    tensor([[0.5752]])
    """

    reaction: Reaction = "number"
    """What V is; a number where the covariance can be matched by its trace only, as for a spin of fixed length."""

    def __init__(self, d: int = 1) -> None:
        self.d = check_count("d", d)

    def log_partition(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``ln Z`` of each spin, ``[*batch, n]``. To be written by each prior: without it, NotImplementedError."""
        raise NotImplementedError(f"{type(self).__name__} has no log_partition; expected a method log_partition(field, V)")

    def mean(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """Mean of each spin, ``[*batch, n, d]``, the gradient of :meth:`log_partition`. Errors: ValueError on other shapes."""
        self.check_fields(field, V)

        def total(argument: Tensor) -> Tensor:
            return self.log_partition(argument, V).sum()

        found: Tensor = torch.func.grad(total)(differentiable(field) if torch.is_grad_enabled() else field)
        return found

    def covariance(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """Covariance of each spin, ``[*batch, n, d, d]``, the Jacobian of :meth:`mean`. Errors: ValueError on other shapes."""
        self.check_fields(field, V)
        axes = torch.eye(self.d, dtype=field.dtype, device=field.device)
        rows = [torch.func.grad(lambda b, axis=axis: (self.mean(b, V) @ axis).sum())(field) for axis in axes]
        return torch.stack(rows, -2)

    def variance(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """Mean variance of the components, ``[*batch, n]``: trace of the covariance by d. Errors are those of :meth:`mean`."""
        return self.covariance(field, V).diagonal(dim1=-2, dim2=-1).mean(-1)

    def check_fields(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> None:
        """Raise a ValueError unless the fields are ``[*batch, n, d]`` and V fits them; values are not looked at."""
        check_floating(field=field, **({} if V is None else {"V": V}))
        if field.ndim < 2 or field.shape[-1] != self.d:
            raise ValueError(f"field has shape {tuple(field.shape)}; expected [*batch, n, {self.d}]")
        wanted = field.shape[:-1] if self.reaction == "number" else (*field.shape, self.d)
        if V is not None and tuple(V.shape) != tuple(wanted):
            raise ValueError(f"V has shape {tuple(V.shape)}; expected {tuple(wanted)}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.d})"


class Binary(Prior):
    r"""Ising spins: -1 or 1, each with probability one half.

    .. math:: \ln Z = \ln \cosh b + \tfrac V2, \qquad \langle S \rangle = \tanh b, \qquad \mathrm{Var}(S) = 1 - \tanh^2 b

    The square of such a spin is one, so V changes no mean. One component: a vector of such spins is that many spins.
    Shapes and errors are those of :class:`Prior`; it takes no argument.

    >>> Binary().mean(torch.tensor([[0.5]]))
    tensor([[0.4621]])
    """

    def __init__(self) -> None:
        super().__init__(1)

    def log_partition(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``ln cosh b + V/2``, ``[*batch, n]``. Errors: ValueError on other shapes."""
        self.check_fields(field, V)
        strength = field[..., 0].abs()
        near = torch.log1p(field[..., 0].clamp(-1, 1).sinh().square()) / 2
        value = torch.where(strength < 1, near, strength + torch.log1p(torch.exp(-2 * strength)) - math.log(2))
        return value if V is None else value + V / 2

    def mean(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``tanh b``, ``[*batch, n, 1]``. Errors: ValueError on other shapes."""
        self.check_fields(field, V)
        return field.tanh()

    def covariance(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``1 / cosh^2 b``, ``[*batch, n, 1, 1]``, with its relative precision kept. Errors: ValueError on other shapes."""
        self.check_fields(field, V)
        decay = torch.exp(-2 * field.abs())
        return (4 * decay / (1 + decay).square()).unsqueeze(-1)


def check_prior(prior: Prior, n: int | None = None) -> Prior:
    """Return the prior; raise unless it is one whose spins n components can be split into."""
    check_kind("prior", prior, Prior, "a Prior, such as Binary()")
    if n is not None and n % prior.d:
        raise ValueError(f"prior has spins of {prior.d} components and J has {n} rows; expected a multiple of {prior.d}")
    return prior
