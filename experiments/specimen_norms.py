"""What the epsilon in the norms of page 7d's networks stands for: a temperature, or what other tokens fluctuate.

Nothing to run here: ``driven_specimens.py`` asks for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import torch
from examinations import Asked
from torch import Tensor, nn

from attnlib.attention import Heads, SoftmaxAttention
from attnlib.transformer import LanguageModel, norm_readings


class Warm(nn.LayerNorm):
    """A layer norm that divides as vector spins respond: by ``(1 + sqrt(1 + 4 beta^2 k)) / (2 beta)``, k the variance."""

    def __init__(self, norm: nn.LayerNorm, beta: float) -> None:
        super().__init__(norm.normalized_shape)
        self.weight, self.bias, self.beta = norm.weight, norm.bias, beta

    def forward(self, x: Tensor) -> Tensor:
        """Like the norm's."""
        u = x - x.mean(-1, keepdim=True)
        k = u.square().mean(-1, keepdim=True)
        gain = 2 * self.beta / (1 + (1 + 4 * self.beta**2 * k).sqrt())
        return gain * u * self.weight + self.bias


def norms_of(model: LanguageModel) -> list[tuple[nn.Module, str, nn.LayerNorm]]:
    """Each norm with the block that it belongs to and its name there."""
    names = ("mixer_norm", "feed_forward_norm")
    return [(block, name, cast("nn.LayerNorm", getattr(block, name))) for block in model.stack.blocks for name in names]


def variances(model: LanguageModel, asked: Asked) -> list[float]:
    """The mean variance of what comes to each norm, over tokens and steps."""
    rows = norm_readings(model.stack, model.embed(asked.tokens), mask=asked.real)
    places = [(1 + block, name) for block in range(len(model.stack.blocks)) for name in ("mixer", "feed_forward")]
    read = [[row.variance for row in rows if (row.block, row.norm) == place] for place in places]
    return [sum(one) / len(one) for one in read]


@contextmanager
def with_epsilon(model: LanguageModel, epsilons: list[float]) -> Iterator[None]:
    """Other epsilons in the norms."""
    norms = [norm for _, _, norm in norms_of(model)]
    kept = [norm.eps for norm in norms]
    try:
        for norm, epsilon in zip(norms, epsilons, strict=True):
            norm.eps = epsilon
        yield
    finally:
        for norm, epsilon in zip(norms, kept, strict=True):
            norm.eps = epsilon


@contextmanager
def with_temperature(model: LanguageModel, betas: list[float]) -> Iterator[None]:
    """Responses of vector spins in place of the norms' divisions."""
    kept = norms_of(model)
    try:
        for (block, name, norm), beta in zip(kept, betas, strict=True):
            setattr(block, name, Warm(norm, beta))
        yield
    finally:
        for block, name, norm in kept:
            setattr(block, name, norm)


def curves(model: LanguageModel, asked: Asked, settings: dict[str, Any]) -> dict[str, Any]:
    """What the loss rises by, with an epsilon of so many mean variances, and with the temperature that is to equal it."""
    mean = variances(model, asked)

    def loss() -> float:
        return asked.loss(model(asked.tokens, asked.real))

    base, epsilon, warm = loss(), [], []
    for e in settings["shares"]:
        with with_epsilon(model, [e * k for k in mean]):
            epsilon.append(loss() - base)
        with with_temperature(model, [1 / (e * k**0.5) for k in mean]):
            warm.append(loss() - base)
    own = [norm.eps / k for (_, _, norm), k in zip(norms_of(model), mean, strict=True)]
    return {"loss": base, "own": own, "shares": settings["shares"], "epsilon": epsilon, "temperature": warm}


# --- fluctuations of tokens ---


@contextmanager
def with_weights(mixer: SoftmaxAttention, weights: Tensor) -> Iterator[None]:
    """A mixer that weighs as it is told, and not by its scores."""

    def mix(heads: Heads) -> Tensor:
        return weights @ heads.value

    mixer.__dict__["mix"] = mix
    try:
        yield
    finally:
        del mixer.__dict__["mix"]


def variance(u: Tensor) -> Tensor:
    """The variance over components, of draws ``[draws, count, n, dim]`` on average."""
    return (u - u.mean(-1, keepdim=True)).square().mean(-1).mean(0)


def shaken(
    model: LanguageModel, asked: Asked, step: int, settings: dict[str, Any], seed: int, *, held: bool = False
) -> dict[str, Any]:
    """How much shorter the mean over noise of a first half is: measured, and with the noise's variance for an epsilon.

    Logarithms of lengths, for each token: their means, the share of tokens where the two are within a quarter, and the share
    of other tokens in the variance. ``held``: noise moves no weight.
    """
    generator = torch.Generator().manual_seed(seed)
    block = model.stack.blocks[0 if model.stack.tied else step]
    mixer, norm = cast("SoftmaxAttention", block.mixer), cast("nn.LayerNorm", block.mixer_norm)
    x = torch.where(asked.real[..., None], model.states(asked.tokens, asked.real)[step], 0.0)
    mask, share = asked.real[:, None], settings["shaken"]
    size = x.square().mean(-1, keepdim=True).sqrt()
    noise = size * torch.randn(settings["draws"], *x.shape, generator=generator)
    weights = mixer.explain(x, mask=mask).weights

    def half(x: Tensor) -> Tensor:
        """What the norm returns, without its gain and its shift."""
        with with_weights(mixer, weights) if held else nullcontext():
            return (norm(x + mixer(x, mask=mask)) - norm.bias) / norm.weight

    def summed(delta: Tensor, weights: Tensor) -> Tensor:
        """What noise makes of the sum that comes to the norm, at these weights."""
        with with_weights(mixer, weights):
            return mixer(delta, mask=mask) - mixer(torch.zeros_like(delta), mask=mask)

    before = x + mixer(x, mask=mask)
    k = variance(before[None])
    own_weights = torch.diag_embed(weights.diagonal(dim1=-2, dim2=-1))
    whole = torch.stack([one + summed(one, weights) for one in noise])
    alone = torch.stack([one + summed(one, own_weights) for one in noise])
    others = torch.stack([summed(one, weights - own_weights) for one in noise])
    told = -((share * variance(whole)) / ((1 - share) * k)).log1p() / 2

    made = torch.stack([half((1 - share) ** 0.5 * x + share**0.5 * one) for one in noise])
    first, second = made[::2].mean(0), made[1::2].mean(0)  # two halves of the noises, so that their own noise adds nothing
    length = (first * second).sum(-1).clamp(min=1e-12).sqrt() / half(x).norm(dim=-1)
    seen, told = length.log()[asked.real], told[asked.real]
    parts = variance(others)[asked.real] / (variance(others) + variance(alone))[asked.real]
    return {
        "step": step + 1,
        "measured": seen.mean().item(),
        "told": told.mean().item(),
        "within a quarter": ((seen / told - 1).abs() < 0.25).double().mean().item(),
        "others": parts.mean().item(),
    }


def norms_under(model: LanguageModel, network: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Curves of the loss, and what fluctuations do at some steps."""
    few = Asked(network, settings, settings["few"])
    found = curves(model, Asked(network, settings), settings)
    return found | {"shaken": [shaken(model, few, step - 1, settings, seed) for step in settings["at"]]}
