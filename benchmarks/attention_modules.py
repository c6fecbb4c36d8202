"""Modules as they are used: maps, heads and attention, against torch's own module and the explicit formula.

All have the same maps. What energy attention returns is another thing: it is timed beside the others, not compared with them.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attnlib import EnergyAttention, SoftmaxAttention, no_value_checks
from benchmarks.harness import Case, Contestant, Entry

WIDTH, HEADS = 512, 8
BATCHES = {32: 8, 128: 4, 512: 2, 4096: 1}


def calls(causal: bool) -> dict[str, Callable[[Tensor], Tensor]]:
    """Give every module as a function of x, by name, and the parameters of each."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True)
    ours = SoftmaxAttention.from_torch(theirs)
    ours.causal = causal
    energy = {steps: EnergyAttention(WIDTH, heads=HEADS, steps=steps, causal=causal) for steps in (1, 4)}

    def torch_module(x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]) if causal else None
        return theirs(x, x, x, need_weights=False, attn_mask=mask, is_causal=causal)[0]

    def explicit(x: Tensor) -> Tensor:
        query, key, value = (
            linear(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for linear in (ours.to_query, ours.to_key, ours.to_value)
        )
        scores = query @ key.mT * ours.head_dim**-0.5
        if causal:
            later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        return ours.to_out((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))

    def unchecked(x: Tensor) -> Tensor:
        with no_value_checks():
            return ours(x)

    return {
        "torch_module": torch_module,
        "softmax_attention": ours,
        "unchecked": unchecked,
        "explicit": explicit,
        "energy_one_step": energy[1],
        "energy_four_steps": energy[4],
    }


def forward(call: Callable[[Tensor], Tensor], x: Tensor) -> Contestant:
    """Call it, without a graph."""

    def run() -> tuple[Tensor, ...]:
        with torch.no_grad():
            return (call(x),)

    return run


def forward_and_backward(call: Callable[[Tensor], Tensor], x: Tensor, pull: Tensor) -> Contestant:
    """Call it, then the gradients of its product with ``pull``: for x, and, unseen, for all parameters."""

    def run() -> tuple[Tensor, ...]:
        x.grad = None
        out = call(x)
        out.backward(pull)
        return out.detach(), x.grad

    return run


def cases(quick: bool) -> Iterator[Case]:
    """Forward, and forward + backward, each seeing everything and in causal order."""
    for n in (32, 128) if quick else BATCHES:
        generator = torch.Generator().manual_seed(n)
        x, pull = (torch.randn(BATCHES[n], n, WIDTH, generator=generator) for _ in range(2))
        x.requires_grad_()
        sizes = {"batch": BATCHES[n], "n": n, "width": WIDTH, "heads": HEADS}
        for causal in (False, True):
            said = ", causal" if causal else ""
            modules = calls(causal)
            yield Case(sizes, f"forward{said}", {name: forward(call, x) for name, call in modules.items()})
            both = {name: forward_and_backward(call, x, pull) for name, call in modules.items()}
            yield Case(sizes, f"forward + backward{said}", both)


ENTRY = Entry(
    title="Attention modules, float32",
    contestants={
        "torch_module": "torch.nn.MultiheadAttention without offsets, need_weights=False",
        "softmax_attention": "attnlib.SoftmaxAttention with the same weights",
        "unchecked": "the same inside attnlib.no_value_checks()",
        "explicit": "the same maps, softmax(q k / sqrt d) v written out",
        "energy_one_step": "attnlib.EnergyAttention, one step",
        "energy_four_steps": "attnlib.EnergyAttention, four steps",
    },
    reference="torch_module",
    cases=cases,
    apart=("energy_one_step", "energy_four_steps"),
)
