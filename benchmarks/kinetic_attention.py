"""Attention as driven spins beside softmax attention: the same maps, and one step or three, naive or with moments.

What the spins return is another thing: they are timed beside softmax attention, not compared with it.
"""

from collections.abc import Iterator

import torch

from attnlib import SoftmaxAttention
from attnlib.kinetic import KineticAttention
from benchmarks.attention_modules import forward, forward_and_backward
from benchmarks.harness import Case, Entry

WIDTH, HEADS, BATCH = 512, 8, 2
SPINS = {
    "naive_one_step": {},
    "naive_three_steps": {"steps": 3},
    "moments_one_step": {"closure": "moments"},
    "moments_three_steps": {"steps": 3, "closure": "moments"},
}


def cases(quick: bool) -> Iterator[Case]:
    """Forward, and forward + backward, with everything in sight and in causal order."""
    for n in (32,) if quick else (128, 512):
        generator = torch.Generator().manual_seed(n)
        x, pull = (torch.randn(BATCH, n, WIDTH, generator=generator) for _ in range(2))
        x.requires_grad_()
        sizes = {"batch": BATCH, "n": n, "width": WIDTH, "heads": HEADS}
        for causal in (False, True):
            torch.manual_seed(0)
            modules = {"softmax_attention": SoftmaxAttention(WIDTH, heads=HEADS, causal=causal)}
            modules |= {name: KineticAttention(WIDTH, heads=HEADS, causal=causal, **how) for name, how in SPINS.items()}
            said = ", causal" if causal else ""
            yield Case(sizes, f"forward{said}", {name: forward(module, x) for name, module in modules.items()})
            both = {name: forward_and_backward(module, x, pull) for name, module in modules.items()}
            yield Case(sizes, f"forward + backward{said}", both)


ENTRY = Entry(
    title="Attention as driven spins, float32",
    contestants={
        "softmax_attention": "attnlib.SoftmaxAttention",
        "naive_one_step": "attnlib.kinetic.KineticAttention, one naive step",
        "naive_three_steps": "the same, three naive steps",
        "moments_one_step": "the same, one step of means and covariances",
        "moments_three_steps": "the same, three steps of means and covariances",
    },
    reference="softmax_attention",
    cases=cases,
    apart=tuple(SPINS),
)
