"""A signal that is to be found from measurements: what is checked of it, and one step of approximate message passing."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from attnlib._core.checks import check_choice, check_floating, check_kind
from attnlib._core.convergence import OnFailure
from attnlib._core.numerics import differentiable, widened
from attnlib._core.values import check_finite, check_products
from attnlib.mean_field import Prior
from attnlib.message_passing.signals import seen_as_field
from attnlib.solve import with_derivatives

_LEAST = 1e-14
"""What the noise is at least, compared with the mean square of a component: without any, the field would be infinite."""

Memory = Literal["previous", "same", "none"]
"""Which residual the Onsager term multiplies: the previous one, the one that is being computed, or it is left out."""


@dataclass(frozen=True)
class Measurement:
    """What the steps need, in single precision or better."""

    A: Tensor
    y: Tensor
    prior: Prior
    onsager: Memory
    least: float

    @staticmethod
    def of(A: Tensor, y: Tensor, prior: Prior, onsager: Memory) -> "Measurement":
        """Check it."""
        check_floating(A=A, y=y)
        if A.ndim < 2 or 0 in A.shape[-2:] or tuple(y.shape) != tuple(A.shape[:-1]):
            raise ValueError(f"A has shape {tuple(A.shape)} and y {tuple(y.shape)}; expected [*batch, m, n] and [*batch, m]")
        check_kind("prior", prior, Prior, "a Prior, such as Binary()")
        if prior.d != 1:
            raise ValueError(f"prior is {prior!r}, with {prior.d} components; expected one")
        check_choice("onsager", onsager, ("previous", "same", "none"))
        check_products("A", A, "y", y.unsqueeze(-2))
        limit = torch.finfo(torch.promote_types(y.dtype, torch.float32)).max ** 0.25
        for name, large in zip(("A", "y"), check_finite(A=A, y=y), strict=True):
            if large * max(A.shape[-2:]) > limit:
                raise ValueError(f"{name} has entries up to {large:.2g}; expected at most {limit / max(A.shape[-2:]):.2g}")
        free = torch.zeros(1, 1, dtype=torch.float64, device="cpu")
        least = _LEAST * (prior.mean(free).square().sum() + prior.variance(free).sum()).item()
        return Measurement(widened(differentiable(A)), widened(differentiable(y)), prior, onsager, least)

    def start(self) -> tuple[Tensor, Tensor]:
        """Nothing known: x is zero, and all of y is left."""
        return self.y.new_zeros(*self.y.shape[:-1], self.A.shape[-1]), self.y

    def noise(self, z: Tensor) -> Tensor:
        """The variance of the noise that a component is seen with, ``[*batch]``; never zero."""
        return (z.square().mean(-1, keepdim=True) + self.least)[..., 0]  # torch makes a lone float32 dual number double

    def attached(self, x: Tensor, z: Tensor, max_steps: int, on_failure: OnFailure) -> tuple[Tensor, Tensor]:
        """An estimate that has settled and what it leaves of y, with their derivatives."""
        sizes = x.shape[-1], z.shape[-1]

        def again(both: Tensor) -> Tensor:
            return torch.cat(self.step(*both.split(sizes, -1)), -1)

        both = torch.cat([x, z], -1)
        both = with_derivatives(again, both, max_steps=max_steps, sweeps=max_steps, on_failure=on_failure)
        x, z = both.split(sizes, -1)
        return x, z

    def step(self, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """The next estimate and what it leaves of y."""
        tau2 = self.noise(z).unsqueeze(-1)
        seen = x + (z.unsqueeze(-2) @ self.A)[..., 0, :]
        field, V = seen_as_field(self.prior, seen, tau2)
        x = self.prior.mean(field, V)[..., 0]
        rest = self.y - (self.A @ x.unsqueeze(-1))[..., 0]
        if self.onsager == "none":
            return x, rest
        slope = self.prior.variance(field, V) / tau2
        memory = slope.sum(-1, keepdim=True) / self.A.shape[-2]
        return x, rest + memory * z if self.onsager == "previous" else rest / (1 - memory)
