"""What a component of a sparse signal is: zero, most of the time."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_number
from attnlib.mean_field import Prior


class Sparse(Prior):
    r"""A number that is zero with probability ``1 - density`` and otherwise Gaussian, of mean 0.

    .. math:: \ln Z = \ln\Big[1 - \rho + \rho\, \frac{e^{b^2 \sigma^2 / 2(1 - V \sigma^2)}}{\sqrt{1 - V \sigma^2}}\Big]

    Under a field b and a V below ``1 / variance`` it is again such a mixture. As a denoiser its mean is a soft threshold: small
    observations are taken for noise.

    Args:
        density: the probability of not being zero, above 0 and at most 1.
        variance: of what is not zero; default 1.

    Raises:
        ValueError: numbers out of range; in the calls, a field or V of another shape.

    Source: Vila and Schniter 2013.

    >>> Sparse(0.1).mean(torch.tensor([[0.5], [4.0]]) / 0.25, torch.tensor([-4.0, -4.0]))[:, 0]  # seen with variance 0.25
    tensor([0.0276, 3.2000])
    """

    def __init__(self, density: float | int, variance: float | int = 1.0) -> None:
        super().__init__(1)
        self.density = check_number("density", density, above=0)
        if self.density > 1:
            raise ValueError(f"density is {density}; expected a number above 0 and at most 1")
        self.prior_variance = check_number("variance", variance, above=0)

    def log_partition(self, field: Float[Tensor, "*batch n 1"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``ln Z`` of each component, ``[*batch, n]``. Errors: ValueError on other shapes."""
        odds, _, _ = self._posterior(field, V)
        if self.density == 1:
            return odds
        return torch.logaddexp(odds, torch.zeros_like(odds)) + math.log1p(-self.density)

    def mean(self, field: Float[Tensor, "*batch n 1"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """The chance of not being zero times the mean then, ``[*batch, n, 1]``. Errors: ValueError on other shapes."""
        chance, centre, _ = self._posterior(field, V, chance=True)
        return (chance * centre).unsqueeze(-1)

    def covariance(self, field: Float[Tensor, "*batch n 1"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """Its variance, ``[*batch, n, 1, 1]``. Errors: ValueError on other shapes."""
        chance, centre, spread = self._posterior(field, V, chance=True)
        return (chance * spread + chance * (1 - chance) * centre.square())[..., None, None]

    def _posterior(self, field: Tensor, V: Tensor | None, *, chance: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Log odds, or chance, of not being zero, and mean and variance then, each ``[*batch, n]``."""
        self.check_fields(field, V)
        b = field[..., 0]
        shrink = torch.ones_like(b) if V is None else 1 - V * self.prior_variance
        spread = self.prior_variance / shrink
        odds = b.square() * spread / 2 - shrink.log() / 2 + math.log(self.density)
        if self.density < 1:
            odds = odds - math.log1p(-self.density)
            return torch.sigmoid(odds) if chance else odds, b * spread, spread
        return torch.ones_like(odds) if chance else odds, b * spread, spread

    def __repr__(self) -> str:
        return f"Sparse({self.density:g}, {self.prior_variance:g})"


def seen_as_field(prior: Prior, seen: Tensor, tau2: Tensor | float) -> tuple[Tensor, Tensor]:
    """The field and the V of a single spin that stand for a component ``seen [*batch, n]`` with noise of variance tau2."""
    V = torch.ones_like(seen) * (-1 / tau2)
    return (seen / tau2).unsqueeze(-1), V[..., None, None] if prior.reaction == "matrix" else V
