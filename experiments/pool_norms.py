"""What does pool read behind a norm? The same block with norms that do not divide, that divide in parts, and with a product.

    python experiments/pool_norms.py [--jobs N] [--quick] [--output FILE]

A mean of tokens hands on the sum of their contents and that of their fields. What a spin would need is the sum of products,
contents times field, and behind a norm pool falls below the bound of who sees fields alone (``collectives.py``, spins at a
share of 1). A layer norm divides a token by its length, in which its field has a part: the quotient holds the product. Or is
it that a norm learns faster, or that any nonlinear map of tokens would do? Contestants are pool in a block whose norm before
the mixer is one of :class:`Norm`, with a layer norm before the network or none; beside them softmax without norms, and a block
that hears no other. Those at twice the batches, and the one that multiplies by the field, have no search. Of fresh seeds behind
products the record holds ``overlaps``: which of the sums of products the mean hands on.

What is foreseen stands in ``predictions.md``. The file is written after every run. Where it is already there, with the same
settings, only what is missing is trained.
"""

from typing import Any

import collective_contestants as contestants
import records
import torch
from collective_tasks import Network, Spins
from more_hops import Job, make_record
from torch import Tensor, nn

from attnlib.course.data.spins import SPINS, spin_systems
from attnlib.transformer import Block, Stack, mixer
from attnlib.transformer.training import train_one

TITLE = "Pool behind norms that do not divide, that divide fields and contents apart, and behind a product"
ARMS = {
    "no norms": (None, False),
    "norm before the network alone": (None, True),
    "norm before the mixer alone": ("own", False),
    "both": ("own", True),
    "not divided": ("none", True),
    "apart": ("parts", True),
    "product": ("product", True),
    "product alone": ("product", False),
    "identity behind a product": ("product", False),
    "softmax": (None, False),
    "times the field": ("field", False),
}
"""By name: the norm before the mixer, see :class:`Norm`, and whether there is a layer norm before the network."""

MIXERS = {"softmax": "softmax", "identity behind a product": "identity"}
"""Who is not pool."""

TWICE = ", twice the batches"
RATES, SEEDS = [0.001, 0.003, 0.01, 0.03], [16, 17, 18, 19, 20]
LONG = {"both": 0.003, "not divided": 0.003, "apart": 0.01, "product alone": 0.003, "softmax": 0.03}
"""Who is also trained for twice as long, and at which rate: the best of its search."""

SETTINGS: dict[str, Any] = {
    "contestants": {name: {"rates": RATES, "seeds": SEEDS, "steps": 9000} for name in ARMS}
    | {"times the field": {"rates": [0.003], "seeds": SEEDS, "steps": 9000}}
    | {name + TWICE: {"rates": [rate], "seeds": SEEDS, "steps": 18000} for name, rate in LONG.items()},
    "search": [0, 1],
    "better": "lower",
    "batch": 64,
    "test": 4096,
}
SHORT = {"rates": [0.003], "seeds": [16], "steps": 3}
QUICK = SETTINGS | {"contestants": dict.fromkeys(ARMS, SHORT), "batch": 8, "test": 600}


class Norm(nn.Module):
    """A layer norm of tokens ``[..., n, dim]``, or something near it; all take means off, and end in a gain and a bias.

    ``own``: divided by its own length, which is a layer norm. ``none``: not divided. ``parts``: what a token's field makes of
    it, with its place, and what its contents add are divided each by a length of their own, and summed. ``product``: not
    divided; multiplied by one plus a learned sum of its own entries, which starts as one. ``field``: by a learned number,
    which starts as one, plus another times its field.
    """

    def __init__(self, dim: int, by: str, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.by, self.epsilon = by, epsilon
        self.factor = nn.Parameter(torch.zeros({"product": dim, "field": 1}[by])) if by in ("product", "field") else None
        self.least = nn.Parameter(torch.ones(1)) if by == "field" else 1.0
        self.fields: Tensor | None = None
        """Of the tokens that come next: for ``parts`` what they are with contents of zero, for ``field`` their fields."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis, each in its way."""
        if self.by == "parts":
            made = self._divided(self.fields) + self._divided(x - self.fields)
        else:
            made = self._divided(x) if self.by == "own" else x - x.mean(-1, keepdim=True)
        if self.factor is not None:
            made = made * (self.least + (self.fields if self.by == "field" else made) @ self.factor)[..., None]
        return made * self.weight + self.bias

    def _divided(self, x: Tensor) -> Tensor:
        return nn.functional.layer_norm(x, x.shape[-1:], eps=self.epsilon)


class Parts(Network):
    """The task's network, whose norm is told what tokens are without their contents, or what their fields are."""

    def prepared(self, given: tuple[Tensor, Tensor | None] | Tensor) -> tuple[Tensor, ...]:
        """What the stack is called with."""
        norm = self.stack.blocks[0].mixer_norm
        if norm is not None and norm.by == "parts":
            (norm.fields,) = super().prepared(torch.cat([given[..., :1], torch.zeros_like(given[..., 1:])], -1))
        if norm is not None and norm.by == "field":
            norm.fields = given[..., :1]
        return super().prepared(given)


class PartedSpins(Spins):
    """Spins at a share of 1, in that network."""

    def __init__(self) -> None:
        super().__init__([1.0], "tokens")

    def model(self, stack: nn.Module) -> nn.Module:
        """As that of all tokens."""
        return Parts(stack, "tokens", (5, 0, SPINS, 1), last=False, ending="tanh")


def made(name: str) -> nn.Module:
    """The stack of a contestant, with fresh parameters."""
    name = name.removesuffix(TWICE)
    (by, network), sizes = ARMS[name], contestants.SIZES["spins"]
    who = MIXERS.get(name, "pool")
    heads = {} if who == "identity" else {"heads": sizes["heads"]}
    block = Block(mixer(who, 32, **heads), feed_forward=sizes["feed_forward"], norm="before")
    block.mixer_norm = None if by is None else Norm(32, by)
    if not network:
        block.feed_forward_norm = None
    return Stack([block])


@torch.no_grad()
def overlaps(model: Parts, count: int = 6000) -> list[float]:
    """Which shares of the sums of contents times fields, along four directions, a map of what all tokens hear tells: ascending.

    The map is fitted on half of fresh systems. Directions are those along which it tells least to most, beside the sums' own
    covariance.
    """
    systems = spin_systems(count, context=1.0, generator=torch.Generator().manual_seed(3), dtype=torch.float32)
    (x,), block = model.prepared(torch.cat([systems.h[..., None], systems.x], -1)), model.stack.blocks[0]
    heard = block.mixer(x if block.mixer_norm is None else block.mixer_norm(x))[:, 0].double()
    sums, half = (systems.x * systems.h[..., None]).sum(1).double(), count // 2
    known = torch.cat([heard, torch.ones(count, 1)], 1)
    told = known[half:] @ torch.linalg.lstsq(known[:half], sums[:half]).solution
    root = torch.linalg.cholesky(sums[half:].T.cov())
    ratio = torch.linalg.solve_triangular(root, torch.linalg.solve_triangular(root, told.T.cov(), upper=False).T, upper=False)
    return torch.linalg.eigvalsh(ratio).tolist()


def run(job: Job, settings: dict[str, Any]) -> dict[str, Any]:
    """Train one network, and look at what a mean behind a product hands on."""
    torch.set_num_threads(1)
    name, rate, seed = job
    how = {"steps": settings["contestants"][name]["steps"], "batch": settings["batch"], "test": settings["test"]}
    trained = train_one(lambda: made(name), PartedSpins(), rate=rate, seed=seed, **how)
    found: dict[str, Any] = {"name": name, "rate": rate, "seed": seed, "score": trained.score}
    fresh = seed in settings["contestants"][name]["seeds"]
    if fresh and ARMS[name.removesuffix(TWICE)][0] in ("product", "field") and name not in MIXERS:
        found["overlaps"] = overlaps(trained.model.eval())
    return records.rounded(found, ("rate",))


def main(arguments: list[str] | None = None) -> None:
    """Make what is missing of this script's record."""
    make_record("pool_norms", __doc__, TITLE, run, SETTINGS, QUICK, arguments)


if __name__ == "__main__":
    main()
