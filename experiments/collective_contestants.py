"""Who is raced on which task, under which conditions: a name, the mixer behind it, and how blocks are put together."""

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from attnlib.hopfield import EnergyAttention
from attnlib.mean_field import Binary, MeanFieldAttention
from attnlib.transformer import Block, Stack, mixer, register

SPIN_CONDITIONS = [[0.01], [0.03], [0.1], [0.3], [1.0]]
NOISE_CONDITIONS = [[16, 0.5], [16, 0.75], [16, 1.0], [16, 1.5], [16, 2.0], [64, 1.0]]
HOP_CONDITIONS = [[1], [2], [3]]

SIZES = {
    "spins": {"dim": 32, "heads": 4, "feed_forward": 64, "norm": None, "tokens": 10},
    "denoising": {"dim": 8, "heads": 1, "feed_forward": 0, "norm": None, "tokens": 65},
    "hops": {"dim": 32, "heads": 4, "feed_forward": 64, "norm": "before", "tokens": 9},
    "markov": {"dim": 32, "heads": 4, "feed_forward": 64, "norm": "before", "tokens": 64},
}
"""What all contestants of a task share, unless they say otherwise."""


class BoltzmannAttention(nn.Module):
    """A reader's own module: for each query keys are spins, 0 or 1, in the fields of their scores, with learned couplings.

    A key's weight is the mean of its spin over the sum of all; with few keys all patterns are written out. After Kim and Park
    2026, Boltzmann Attention (arXiv 2606.12478).
    """

    def __init__(self, dim: int, *, tokens: int) -> None:
        super().__init__()
        self.to_query, self.to_key, self.to_value, self.to_out = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.couplings = nn.Parameter(torch.zeros(tokens, tokens))
        self.register_buffer("patterns", torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * tokens))

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix the tokens ``[batch, n, dim]``."""
        fields, states = self.to_query(x) @ self.to_key(x).mT / x.shape[-1] ** 0.5, self.patterns
        pairs = ((states @ self.couplings.triu(1)) * states).sum(-1)
        means = (fields @ states.mT + pairs).softmax(-1) @ states
        return self.to_out(means / means.sum(-1, keepdim=True) @ self.to_value(x))


register(
    "boltzmann", BoltzmannAttention, moves="values", couples="keys, in pairs", couplings="scores, and learned", exact="all"
)


@dataclass(frozen=True)
class Kind:
    """A contestant: a registered mixer with settings of its own, how many blocks, tied or not, and what it sees."""

    mixer: str = "softmax"
    own: dict[str, object] = field(default_factory=dict)
    blocks: int = 1
    tied: int = 0
    form: str = ""
    conditions: list[list[float]] | None = None
    block: dict[str, object] = field(default_factory=dict)
    """What differs from the sizes of the task."""


WALK: dict[str, object] = {"norm": "after", "residual": False, "feed_forward": 0}
BARE: dict[str, object] = {"prior": Binary(), "bound": None, "on_failure": "warn", "bare": True, "beta": 1.0}
ENDS, ONE = [[0.01], [0.1], [1.0]], [[1.0]]

SPINS = {
    **{name: Kind(name) for name in ("identity", "pool", "linear", "places", "softmax", "energy", "energy-half-steps")},
    "softmax, 2 tied steps": Kind(tied=2),
    "softmax, 4 tied steps": Kind(tied=4),
    **{name: Kind(name) for name in ("mean-field", "vector-spins", "vector-spins-total")},
    **{name: Kind(name) for name in ("vector-spins-softmax", "vector-spins-softmax-total")},
    "bare, naive": Kind("bare", {"onsager": "none"}, form="bare", conditions=ENDS, block={"feed_forward": 0}),
    "bare, exact": Kind("bare", {"onsager": "exact"}, form="bare", conditions=[[0.01], [1.0]], block={"feed_forward": 0}),
    **{name: Kind(name, conditions=ENDS) for name in ("energy-wide", "energy-half-steps-wide")},
    "boltzmann": Kind("boltzmann", conditions=[[0.1], [1.0]]),
    "softmax, one head": Kind(conditions=[[0.1], [1.0]], block={"heads": 1}),
    "softmax, contents shuffled": Kind(form="shuffled", conditions=[[0.3], [1.0]]),
    "softmax, norm before": Kind(conditions=ONE, block={"norm": "before"}),
    "softmax, norm after": Kind(conditions=ONE, block={"norm": "after"}),
    "softmax, no residual": Kind(conditions=ONE, block={"residual": False}),
    "softmax, no network": Kind(conditions=ONE, block={"feed_forward": 0}),
    "pool, norm before": Kind("pool", conditions=ONE, block={"norm": "before"}),
    "mean-field-naive": Kind("mean-field-naive", conditions=[[0.01], [0.1], [0.3], [1.0]]),
    "mean-field-neural": Kind("mean-field-neural", conditions=ENDS),
    "mean-field-onsager": Kind("mean-field-onsager", {"head_dim": 1}, conditions=[[0.01]]),
}
WIDER = {"dim": 16, "heads": 1}
DENOISING = {
    "identity": Kind("identity", form="alone"),
    "softmax": Kind(),
    "energy": Kind("energy"),
    "energy-half-steps": Kind("energy-half-steps"),
    "energy, 2 steps": Kind("energy", {"steps": 2}),
    "energy, 4 steps": Kind("energy", {"steps": 4}),
    "softmax, 2 tied steps": Kind(tied=2),
    "softmax, 4 tied steps": Kind(tied=4),
    **{f"{name}, no residual": Kind(name, block={"residual": False}) for name in ("softmax", "energy-half-steps")},
    "energy, 4 steps, no residual": Kind("energy", {"steps": 4}, block={"residual": False}),
    "pool": Kind("pool", form="tokens", block=WIDER, conditions=[[16, 1.0]]),
    "softmax, tokens": Kind(form="tokens", block=WIDER, conditions=[[16, 1.0], [16, 1.5]]),
    "vector-spins-softmax": Kind("vector-spins-softmax", form="tokens", block=WIDER, conditions=[[16, 1.0], [16, 1.5]]),
}
HOPS = {
    "softmax": Kind(),
    "energy": Kind("energy"),
    "energy-half-steps": Kind("energy-half-steps"),
    "energy, 16 half steps": Kind("energy-half-steps", {"steps": 16}, conditions=[[2]]),
    "softmax, 2 blocks": Kind(blocks=2),
    "walker, 1 step": Kind(tied=1, block=WALK, conditions=[[1], [2]]),
    "walker, 2 steps": Kind(tied=2, block=WALK, conditions=[[2]]),
    "walker, 3 steps": Kind(tied=3, block=WALK, conditions=[[3]]),
    "walker, 4 steps": Kind(tied=4, block=WALK, conditions=[[2]]),
    "walker with a residual path, 2 steps": Kind(tied=2, conditions=[[2]]),
    "walker with a network, 2 steps": Kind(tied=2, block={**WALK, "feed_forward": 64}, conditions=[[2]]),
    "walker with one head, 2 steps": Kind(tied=2, block={**WALK, "heads": 1}, conditions=[[2]]),
    "energy walker, 2 steps": Kind("energy", tied=2, block=WALK, conditions=[[2]]),
    "energy walker, out held": Kind("held", tied=2, block=WALK, conditions=[[2]]),
    "energy walker, all held": Kind("all held", tied=2, block=WALK, conditions=[[2]]),
    "softmax, 2 blocks, tokens": Kind(blocks=2, form="tokens", conditions=[[1], [2]]),
    "vector-spins-softmax": Kind("vector-spins-softmax", form="tokens", conditions=[[1], [2]]),
    "mean-field": Kind("mean-field", form="tokens", conditions=[[1], [2]]),
    "linear": Kind("linear", form="tokens", conditions=[[1], [2]]),
    "places": Kind("places", form="tokens", conditions=[[1], [2]]),
}
CAUSAL = {"causal": True}
MARKOV = {
    "pool": Kind("pool", CAUSAL),
    "places": Kind("places", CAUSAL),
    "softmax": Kind("softmax", CAUSAL),
    "softmax, 2 blocks": Kind("softmax", CAUSAL, blocks=2),
    "energy": Kind("energy", CAUSAL),
    "energy, 2 blocks": Kind("energy", CAUSAL, blocks=2),
    "softmax, 2 tied steps": Kind("softmax", CAUSAL, tied=2),
    "energy-half-steps, 2 blocks": Kind("energy-half-steps", CAUSAL, blocks=2),
    "places, 2 blocks": Kind("places", CAUSAL, blocks=2),
    "softmax, 4 tied steps": Kind("softmax", CAUSAL, tied=4),
    "mean-field": Kind("mean-field", {**CAUSAL, "head_dim": 4}),
}
CONTESTANTS = {"spins": SPINS, "denoising": DENOISING, "hops": HOPS, "markov": MARKOV}
CONDITIONS = {"spins": SPIN_CONDITIONS, "denoising": NOISE_CONDITIONS, "hops": HOP_CONDITIONS, "markov": [[]]}
FORMS = {"spins": "tokens", "denoising": "context", "hops": "context", "markov": "tokens"}


def form(task: str, name: str) -> str:
    """What a contestant sees: tokens, or a context that stays as it is."""
    return CONTESTANTS[task][name].form or FORMS[task]


def conditions(task: str, name: str) -> list[list[float]]:
    """Under which conditions it is raced."""
    chosen = CONTESTANTS[task][name].conditions
    return CONDITIONS[task] if chosen is None else chosen


def made(task: str, name: str) -> nn.Module:
    """The stack of a contestant, with fresh parameters."""
    kind = CONTESTANTS[task][name]
    sizes = {**SIZES[task], **kind.block}
    dim, tokens, heads = (sizes.pop(key) for key in ("dim", "tokens", "heads"))
    make = {"bare": _bare, "held": partial(_held, dim), "all held": lambda: EnergyAttention(dim, bare=True)}.get(
        kind.mixer, partial(mixer, kind.mixer, dim, tokens=tokens, heads=heads)
    )
    if kind.mixer == "bare":
        return make(**kind.own)
    if kind.tied:
        return Stack(Block(make(**kind.own), **sizes), steps=kind.tied)
    return Stack([Block(make(**kind.own), **sizes) for _ in range(kind.blocks)])


def _bare(**own: object) -> nn.Module:
    return MeanFieldAttention(1, sites=10, **BARE, **own)


def _held(dim: int) -> nn.Module:
    """Energy attention that says what it has read as it was read: its map out is the identity, for good."""
    one = EnergyAttention(dim, heads=4)
    nn.init.eye_(one.to_out.weight).requires_grad_(requires_grad=False)
    return one
