"""One energy step: the closed form against torch's fused attention, the plain formula, and autograd through autograd.

All contestants get the same two tensors: the states are the queries, the memories are both keys and values.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnlib import EnergyAttention, energy_step, hopfield_energy, hopfield_update
from benchmarks.harness import Case, Contestant, Entry

BATCH, HEADS, HEAD_DIM = 8, 8, 64
BETA = HEAD_DIM**-0.5
SCORES_AT_ONCE = 2**18
"""The lower bound works on so many scores at a time, 1 MiB: they stay in the cache, as in a fused kernel."""


def steps(state: Tensor, memory: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Give every way to make one step of size one, by name."""
    module = EnergyAttention(HEAD_DIM, beta=BETA, bare=True)
    return {
        "fused": lambda: scaled_dot_product_attention(state, memory, memory, scale=BETA),
        "closed_form": lambda: hopfield_update(state, memory, beta=BETA),
        "module": lambda: module(state.flatten(0, 1), memory.flatten(0, 1)).view_as(state),
        "twice_differentiable": lambda: hopfield_update(state, memory, beta=BETA, twice_differentiable=True),
        "plain": lambda: (BETA * state @ memory.mT).softmax(-1) @ memory,
        "autograd": lambda: energy_step(lambda moved: hopfield_energy(moved, memory, beta=BETA), state),
    }


def forward(step: Callable[[], Tensor]) -> Contestant:
    """Make the step, without a graph."""

    def call() -> tuple[Tensor, ...]:
        with torch.no_grad():
            return (step(),)

    return call


def forward_and_backward(step: Callable[[], Tensor], state: Tensor, memory: Tensor, pull: Tensor) -> Contestant:
    """Make the step, then the gradients with respect to states and memories, of the step's product with ``pull``."""

    def call() -> tuple[Tensor, ...]:
        moved = step()
        return (moved.detach(), *torch.autograd.grad(moved, (state, memory), pull))

    return call


def products(state: Tensor, memory: Tensor, pull: Tensor | None = None) -> Contestant:
    """Only the matrix products that no method can leave out: two, and with ``pull`` the backward pass's four.

    They are computed into memory that is allocated once, for as many heads at a time as the cache holds, with no
    exponential between them. What they return is no energy step.
    """
    queries, keys = (t.detach().flatten(0, -3) for t in (state, memory))
    heads, n, m = len(queries), queries.shape[1], keys.shape[1]
    together = min(heads, max(1, SCORES_AT_ONCE // (n * m)))
    scores, slopes = torch.empty(together, n, m), torch.empty(together, n, m)
    whole = (queries, keys, *(torch.empty_like(t) for t in (queries, queries, keys)))
    pieces = list(zip(*(t.split(together) for t in whole), strict=True))
    pulls = [None] * len(pieces) if pull is None else pull.flatten(0, -3).split(together)

    def call() -> tuple[Tensor, ...]:
        for (q, k, out, to_state, to_memory), pulled in zip(pieces, pulls, strict=True):
            s, t = scores[: len(q)], slopes[: len(q)]
            torch.bmm(q, k.mT, out=s)
            torch.bmm(s, k, out=out)
            if pulled is not None:
                torch.bmm(pulled, k.mT, out=t)
                torch.bmm(t, k, out=to_state)
                torch.bmm(t.mT, q, out=to_memory)
                to_memory.baddbmm_(s.mT, pulled)
        return whole[2:3] if pull is None else whole[2:]

    return call


def tensors(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw states and memories, with gradients, and what the step's result is multiplied with."""
    generator = torch.Generator().manual_seed(0)
    state, memory, pull = (torch.randn(BATCH, HEADS, n, HEAD_DIM, generator=generator) for _ in range(3))
    return state.requires_grad_(), memory.requires_grad_(), pull


def cases(quick: bool) -> Iterator[Case]:
    """Forward, and forward + backward, with as many memories as states."""
    for n in (32, 128) if quick else (32, 128, 512):
        state, memory, pull = tensors(n)
        ways = steps(state, memory)
        sizes = {"batch": BATCH, "heads": HEADS, "n": n, "m": n, "head_dim": HEAD_DIM}
        once = {"products": products(state, memory)} | {name: forward(step) for name, step in ways.items()}
        both = {"products": products(state, memory, pull)} | {
            name: forward_and_backward(step, state, memory, pull) for name, step in ways.items()
        }
        yield Case(sizes, "forward", once)
        yield Case(sizes, "forward + backward", both)


ENTRY = Entry(
    title="One energy step, float32",
    contestants={
        "fused": "torch's scaled_dot_product_attention(state, memory, memory)",
        "closed_form": "attnlib.hopfield_update",
        "module": "attnlib.EnergyAttention, bare",
        "twice_differentiable": "attnlib.hopfield_update with twice_differentiable=True",
        "plain": "softmax(beta * state @ memory.mT) @ memory, written out",
        "autograd": "attnlib.energy_step of attnlib.hopfield_energy: autograd through autograd",
        "products": "lower bound: only the matrix products that must be done",
    },
    reference="fused",
    cases=cases,
    bounds=("products",),
)
