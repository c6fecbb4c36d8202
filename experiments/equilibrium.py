"""A deep equilibrium model of one block, for the experiment and the benchmark that have it beside spins."""

from torch import Tensor, nn

from attnlib.attention import Mixer
from attnlib.solve import fixed_point


class Equilibrium(nn.Module):
    """A normalised residual block of attention, iterated until it does not change, from the tokens on.

    The state y solves ``y = norm(x + attention(y) / 2)``, to 1e-4 by Anderson's method. What has not converged in 100
    evaluations of the block is returned with a warning.
    """

    def __init__(self, attention: Mixer) -> None:
        super().__init__()
        self.dim, self.attention, self.norm = attention.dim, attention, nn.LayerNorm(attention.dim)
        self.last: Tensor | None = None
        """Which samples converged in the last call."""

    def forward(self, x: Tensor) -> Tensor:
        """Tokens ``[batch, n, dim]`` in and out."""

        def step(state: Tensor) -> Tensor:
            return self.norm(x + self.attention(state.view(x.shape)) / 2).flatten(1)

        settings = {"method": "anderson", "tolerance": 1e-4, "max_steps": 100, "on_failure": "warn"}
        found = fixed_point(step, x.detach().flatten(1), **settings)
        self.last = found.converged
        return found.solution.view(x.shape)
