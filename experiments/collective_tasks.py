"""The four tasks of chapter 7 as :class:`attnlib.transformer.Task`, with the network that each puts around a mixer.

A condition is the knob of a task: the share of couplings that comes from the context (spins), memories and noise (denoising),
the number of hops, nothing (Markov chains). Examples of training and of judgement come from generators that no run shares.
"""

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.course.data.denoising import WIDTH, noisy_queries
from attnlib.course.data.hops import PLACES, hop_questions
from attnlib.course.data.markov import markov_chains, markov_costs
from attnlib.course.data.spins import SPINS, spin_systems

POOL = 2**17
"""Spin systems are drawn once for each condition, and runs learn from them in an order of their own."""

STATES, LENGTH = 3, 64


class Network(nn.Module):
    """Maps in, a stack of blocks, a map out: ``forward(x, context=None, steps=None)``.

    ``form`` says what the blocks see: ``"tokens"``, all of them; ``"context"``, x with a context that stays as it is; or
    ``"alone"``, x without it. Where ``last`` is true the answer is read at the last token.
    """

    def __init__(self, stack: nn.Module, form: str, sizes: tuple[int, int, int, int], *, last: bool, ending: str = "") -> None:
        super().__init__()
        inputs, context, places, outputs = sizes
        self.stack, self.form, self.last, self.ending = stack, form, last, ending
        self.into = nn.Linear(inputs, stack.dim) if inputs else None
        self.about = nn.Linear(context, stack.dim) if context and form == "context" else None
        self.places = nn.Parameter(torch.randn(places, stack.dim) / 4) if places else None
        self.out = nn.Linear(stack.dim, outputs)

    def forward(self, given: tuple[Tensor, Tensor | None] | Tensor, steps: int | None = None) -> Tensor:
        """The answer at the tokens that are read."""
        return self.read(self.stack(*self.prepared(given), **({} if steps is None else {"steps": steps})))

    def prepared(self, given: tuple[Tensor, Tensor | None] | Tensor) -> tuple[Tensor, ...]:
        """What the stack is called with."""
        x, context = given if isinstance(given, tuple | list) else (given, None)
        if self.into is not None:
            x = self.into(x)
        if self.places is not None:
            x = x + self.places[: x.shape[-2]]
        if self.form == "context":
            return x, context if self.about is None else self.about(context)
        return (x,)

    def read(self, state: Tensor) -> Tensor:
        """From states to answers."""
        made = self.out(state)
        made = made.tanh() if self.ending == "tanh" else made
        return made[..., -1, :] if self.last else made


class Walk(Network):
    """A network whose places have one vector each, wherever they stand: a fact is two of them side by side, a query is one."""

    def __init__(self, stack: nn.Module, form: str) -> None:
        super().__init__(stack, form, (0, 0, 0, PLACES), last=True)
        self.vectors = nn.Parameter(torch.randn(PLACES, stack.dim // 2))

    def prepared(self, given: tuple[Tensor, Tensor | None] | Tensor) -> tuple[Tensor, ...]:
        """Vectors for places, in x and in the context."""
        parts = given if isinstance(given, tuple | list) else (given,)
        return tuple((part.unflatten(-1, (2, PLACES)) @ self.vectors).flatten(-2) for part in parts)


class Bare(nn.Module):
    """Spins alone: each token's field goes to a mixer of width one, and what it returns are the means."""

    def __init__(self, stack: nn.Module) -> None:
        super().__init__()
        self.stack = stack

    def forward(self, given: Tensor) -> Tensor:
        """Means ``[batch, n, 1]``."""
        return self.stack(given[..., :1])


@lru_cache
def pool(context: float, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Fields, contents and means of the systems that all runs of a condition learn from."""
    parts = [
        spin_systems(4096, context=context, generator=torch.Generator().manual_seed(77_000 + part), dtype=torch.float32)
        for part in range(max(1, size // 4096))
    ]
    h, x, m = (torch.cat([getattr(one, name) for one in parts]) for name in ("h", "x", "m"))
    return h, x, m


class Spins:
    """Find the exact means; the score is the squared error relative to their variance."""

    better = "lower"

    def __init__(self, condition: list[float], form: str, size: int = POOL) -> None:
        (self.context,), self.form, self.size = condition, form, size

    def batch(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Small batches are systems of the pool; large ones, by which a run is judged, are fresh."""
        if n > 512:
            found = spin_systems(n, context=self.context, generator=generator, dtype=torch.float32)
            h, x, m = found.h, found.x, found.m
        else:
            systems = pool(self.context, self.size)
            chosen = torch.randint(len(systems[0]), (n,), generator=generator)
            h, x, m = (part[chosen] for part in systems)
        if self.form == "shuffled":  # what a token says is another's, in each system in another order
            order = torch.rand(n, x.shape[1], generator=generator).argsort(-1)
            x = x.gather(1, order[..., None].expand_as(x))
        return torch.cat([h[..., None], x], -1), m

    def model(self, stack: nn.Module) -> nn.Module:
        """A field for each place, and tanh at the end."""
        return Bare(stack) if self.form == "bare" else Network(stack, "tokens", (5, 0, SPINS, 1), last=False, ending="tanh")

    def loss(self, output: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error."""
        return (output[..., 0] - targets).square().mean()

    def score(self, output: Tensor, targets: Tensor) -> Tensor:
        """Relative squared error."""
        return (output[..., 0] - targets).square().mean() / targets.square().mean()


class Denoising:
    """Find the memory that the query is a noisy copy of; the score is the squared error of a component."""

    better = "lower"

    def __init__(self, condition: list[float], form: str) -> None:
        self.memories, self.sigma, self.form = int(condition[0]), condition[1], form

    def batch(self, n: int, generator: torch.Generator) -> tuple[object, Tensor]:
        """As a query with a context, or as tokens of which the last one carries a mark."""
        asked = noisy_queries(n, self.memories, sigma=self.sigma, generator=generator, dtype=torch.float32)
        self.asked = asked
        if self.form != "tokens":
            return (asked.query[:, None], asked.memories), asked.truth
        x = torch.cat([asked.memories, asked.query[:, None]], 1)
        return torch.cat(
            [x, F.one_hot(torch.tensor(self.memories), self.memories + 1).expand(n, -1)[..., None]], -1
        ), asked.truth

    def model(self, stack: nn.Module) -> nn.Module:
        """Bare where the context is given: memories and query go in as they are."""
        return Network(stack, self.form, (WIDTH + 1 if self.form == "tokens" else 0, 0, 0, WIDTH), last=True)

    def loss(self, output: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error, which is the score."""
        return (output - targets).square().mean()

    score = loss


class Hops:
    """Say where k hops along a permutation lead; the score is the share of right answers."""

    better = "higher"

    def __init__(self, condition: list[float], form: str) -> None:
        self.hops, self.form = int(condition[0]), form

    def success(self, score: float) -> bool:
        """Nearly always right."""
        return score > 0.95

    def batch(self, n: int, generator: torch.Generator) -> tuple[object, Tensor]:
        """Facts ``(a, f(a))`` in the order of a, and a query."""
        self.asked = asked = hop_questions(n, generator=generator)
        place = torch.eye(PLACES)
        facts = torch.cat([place.expand(n, -1, -1), place[asked.image]], -1)
        start = F.pad(place[asked.start][:, None], (0, PLACES))
        return torch.cat([facts, start], 1) if self.form == "tokens" else (start, facts), asked.answer(self.hops)

    def model(self, stack: nn.Module) -> nn.Module:
        """One vector for each place."""
        return Walk(stack, self.form)

    def loss(self, output: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy."""
        return F.cross_entropy(output, targets)

    def score(self, output: Tensor, targets: Tensor) -> Tensor:
        """Share of right answers."""
        return (output.argmax(-1) == targets).float().mean()


class Markov:
    """Say the next state of a chain with a law of its own; the score is the cost in nats, less what Bayes' answer pays there.

    Bayes' mean cost, .906, is added again. The same chains cost both, so that most of their luck cancels.
    """

    better, bayes = "lower", 0.9060

    def __init__(self, condition: list[float], form: str) -> None:
        self.form = form

    def success(self, score: float) -> bool:
        """Off the plateau of counting."""
        return score < 0.93

    def batch(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """All states but the last, and all but the first."""
        self.asked = chains = markov_chains(n, STATES, length=LENGTH, generator=generator)
        return F.one_hot(chains.states[:, :-1], STATES).float(), chains.next

    def model(self, stack: nn.Module) -> nn.Module:
        """A learned vector for each place."""
        return Network(stack, "tokens", (STATES, 0, LENGTH, STATES), last=False)

    def loss(self, output: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy."""
        return F.cross_entropy(output.flatten(0, 1), targets.flatten())

    def score(self, output: Tensor, targets: Tensor) -> Tensor:
        """Nats, with the luck of these chains taken off."""
        return self.loss(output, targets) - markov_costs(self.asked)["bigram"].mean() + self.bayes


TASKS = {"spins": Spins, "denoising": Denoising, "hops": Hops, "markov": Markov}
