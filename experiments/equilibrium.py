"""A deep equilibrium model of one block, for the experiments and the benchmark that have it beside spins."""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from attnlib.attention import Mixer
from attnlib.solve import fixed_point


class Equilibrium(nn.Module):
    """A normalised residual block of attention, iterated until it does not change, from the tokens on.

    The state y solves ``y = norm(x + attention(y) / 2)``, to 1e-4 by Anderson's method. What has not converged in 100
    evaluations of the block is returned with a warning. With ``steps`` the block is applied so many times instead, and no fixed
    point is asked for.
    """

    SETTINGS: ClassVar = {"method": "anderson", "tolerance": 1e-4, "max_steps": 100, "on_failure": "warn"}

    def __init__(self, attention: Mixer, steps: int | None = None) -> None:
        super().__init__()
        self.dim, self.attention, self.norm, self.steps = attention.dim, attention, nn.LayerNorm(attention.dim), steps
        self.last: Tensor | None = None
        """Which samples converged in the last call."""
        self.seen: tuple[Tensor, Tensor] | None = None
        """Tokens and states of the last call."""

    def forward(self, x: Tensor) -> Tensor:
        """Tokens ``[batch, n, dim]`` in and out."""
        if self.steps:
            state = x
            for _ in range(self.steps):
                state = self.block(x, state)
            return state
        found = fixed_point(lambda y: self.block(x, y.view(x.shape)).flatten(1), x.detach().flatten(1), **self.SETTINGS)
        state = found.solution.view(x.shape)
        self.last, self.seen = found.converged, (x.detach(), state.detach())
        return state

    def block(self, x: Tensor, state: Tensor) -> Tensor:
        """One application of the block, ``[batch, n, dim]``."""
        return self.norm(x + self.attention(state) / 2)

    def hold(self, most: float) -> None:
        """Scale down what attention adds, in place, by as much as an error of the last call grows by more than this in a step.

        Growth is not quite proportional to it, so that it takes some calls; in training there is one after each step.
        """
        if self.seen is None:
            return
        x, state = self.seen
        fastest = growth(lambda y: self.block(x, y), state).amax()
        with torch.no_grad():
            self.attention.to_out.weight.mul_((most / fastest).clamp(max=1.0))


def growth(block: Callable[[Tensor], Tensor], state: Tensor, times: int = 5) -> Tensor:
    """By what factor a step of the block stretches the errors that it stretches most, for states ``[*batch, n, d]``.

    Returned for each sample, ``[*batch]``. A power iteration with the transposed Jacobian, which has the eigenvalues of the
    Jacobian itself.
    """
    state = state.clone().requires_grad_()
    with torch.enable_grad():
        image = block(state)
    size = state.shape[-2] * state.shape[-1]
    error = torch.cos(torch.arange(size, dtype=state.dtype) ** 2).view(state.shape[-2:]).expand(state.shape)
    for _ in range(times):
        error = error / error.flatten(-2).norm(dim=-1)[..., None, None].clamp(min=1e-30)
        (error,) = torch.autograd.grad(image, state, error, retain_graph=True)
    return error.flatten(-2).norm(dim=-1)
