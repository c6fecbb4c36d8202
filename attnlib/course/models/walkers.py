"""Walkers: a tied block without a path past it, that has learned two hops along a permutation, and may walk any number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnlib._core.checks import check_count, check_flag, check_number
from attnlib.attention import SoftmaxAttention
from attnlib.course.data.hops import PLACES, HopQuestions
from attnlib.course.data.networks import network_weights
from attnlib.transformer import Block, Stack

DIM, HEADS, TRAINED_STEPS = 32, 4, 2


@dataclass(frozen=True)
class HopWalk:
    """What a walker does step by step: what :meth:`HopWalker.walk` returns, so no ValueError.

    ``logits [steps, count, places]``, what the state after each step says if it is read as an answer; ``scores`` and
    ``weights``, both ``[steps, count, heads, places]``, of the facts, in the order of the places that they start at.

    >>> one = torch.eye(2).reshape(1, 2, 2)
    >>> HopWalk(one, one[:, :, None], one[:, :, None]).places
    tensor([[0, 1]])
    """

    logits: Float[Tensor, "steps count places"]
    scores: Float[Tensor, "steps count heads places"]
    weights: Float[Tensor, "steps count heads places"]

    @property
    def places(self) -> Int[Tensor, "steps count"]:
        """Where it says it is after each step."""
        return self.logits.argmax(-1)


class HopWalker(nn.Module):
    r"""A tied block that answers where hops along a permutation lead: facts are its context, and do not change.

    .. math:: x_0 = (u_q, 0), \quad c_a = (u_a, u_{f(a)}), \quad
        x_{t+1} = \mathrm{LN}\, W_O \big[\mathrm{attend}(W_Q^h x_t,\; W_K^h c,\; W_V^h c)\big]_h, \quad
        \mathrm{logits}_t = W x_t + b

    Each place has one vector u, wherever it stands. There is no path past the mixer: a state is what was read last.

    Args:
        heat: what the inverse temperature of training, one over the square root of 8, is multiplied with; default 1.

    Called with :class:`~attnlib.course.data.hops.HopQuestions` of eight places, and maybe ``steps``, it returns logits
    ``[count, places]``.

    Raises:
        ValueError: a heat that is not above 0; in the call, another number of places, steps below 1.

    >>> from attnlib.course.data.hops import hop_questions
    >>> HopWalker()(hop_questions(5)).shape
    torch.Size([5, 8])
    """

    def __init__(self, heat: float | int = 1.0) -> None:
        super().__init__()
        beta = check_number("heat", heat, above=0) * (DIM // HEADS) ** -0.5
        block = Block(SoftmaxAttention(DIM, heads=HEADS, beta=beta), norm="after", residual=False)
        self.stack = Stack(block, steps=TRAINED_STEPS)
        self.vectors = nn.Parameter(torch.randn(PLACES, DIM // 2))
        self.out = nn.Linear(DIM, PLACES)

    def forward(self, asked: HopQuestions, steps: int | None = None) -> Float[Tensor, "count places"]:
        """The answers: see the class for shapes and errors."""
        x, context = self.prepared(asked)
        steps = TRAINED_STEPS if steps is None else check_count("steps", steps)
        logits: Tensor = self.out(self.stack(x, context, steps=steps))[:, 0]
        return logits

    def prepared(self, asked: HopQuestions) -> tuple[Float[Tensor, "count 1 dim"], Float[Tensor, "count places dim"]]:
        """What the stack is called with: queries and facts. Shapes and errors are those of the call."""
        if asked.image.shape[-1] != PLACES:
            raise ValueError(f"asked has {asked.image.shape[-1]} places; expected {PLACES}")
        here = self.vectors.expand(len(asked.image), -1, -1)
        facts = torch.cat([here, self.vectors[asked.image]], -1)
        return F.pad(self.vectors[asked.start][:, None], (0, DIM // 2)), facts

    def walk(self, asked: HopQuestions, steps: int) -> HopWalk:
        """Every step of a walk, with what is read at each. Shapes and errors are those of the call."""
        x, context = self.prepared(asked)
        mixer = cast("SoftmaxAttention", self.stack.blocks[0].mixer)
        logits, scores, weights = [], [], []
        for step in range(check_count("steps", steps)):
            seen = mixer.explain(x, context)
            x = self.stack.step(x, step, context)
            logits.append(self.out(x)[:, 0])
            scores.append(mixer.beta * seen.scores[:, :, 0])
            weights.append(seen.weights[:, :, 0])
        return HopWalk(torch.stack(logits), torch.stack(scores), torch.stack(weights))

    @torch.no_grad()
    def tie_values(self) -> "HopWalker":
        r"""Tie values to keys: what is read of the fact (a, f(a)) is from now on what was read of (a, a). Returns itself.

        .. math:: W_V (u_a, u_b) = A u_a + B u_b \quad\longrightarrow\quad W_V' (u_a, u_b) = (A + B)\, u_a

        A fact is found as before, and says nothing of where it leads: only its own place is read, by which it was found. So
        a walker stands still, whatever the number of its steps. The two halves of the map's columns are added, in place. No
        ValueError.
        """
        weight = cast("SoftmaxAttention", self.stack.blocks[0].mixer).to_value.weight
        weight[:, : DIM // 2] += weight[:, DIM // 2 :]
        weight[:, DIM // 2 :] = 0
        return self


def hop_walker(record: Mapping[str, Any], seed: int, *, heat: float | int = 1.0, tie: bool = False) -> HopWalker:
    """A walker of ``recorded("walker_weights")``, in float64 and not to be trained.

    Args:
        record: what ``recorded("walker_weights")`` returns.
        seed: of its training; five are there.
        heat: as for :class:`HopWalker`.
        tie: tie values to keys, :meth:`HopWalker.tie_values`; default False.

    Raises:
        ValueError: a seed that is not there, settings out of range.

    >>> from attnlib.course.data.hops import hop_questions
    >>> from attnlib.course.data.recorded import recorded
    >>> asked = hop_questions(100, generator=torch.Generator().manual_seed(0))
    >>> walker = hop_walker(recorded("walker_weights"), 13)  # it has learned two hops alone, in two steps
    >>> [(walker(asked, steps=T).argmax(-1) == asked.answer(T)).double().mean().item() for T in (2, 3, 4)]
    [1.0, 1.0, 1.0]
    """
    check_flag(tie=tie)
    tables = {one["seed"]: one["tables"] for one in record["walkers"]}
    if seed not in tables:
        raise ValueError(f"seed is {seed!r}; expected one of {', '.join(map(str, tables))}")
    walker = HopWalker(heat).double().requires_grad_(requires_grad=False)
    walker.load_state_dict(network_weights(tables[seed]))
    return walker.tie_values() if tie else walker
