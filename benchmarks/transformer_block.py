"""A transformer block around softmax attention beside torch's own encoder layer with the same weights."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attnlib import Block, SoftmaxAttention, no_value_checks
from benchmarks.attention_modules import forward, forward_and_backward
from benchmarks.harness import Case, Entry

WIDTH, HEADS = 256, 8
BATCHES = {32: 8, 128: 4, 512: 1}


def calls(norm_first: bool) -> dict[str, Callable[[Tensor], Tensor]]:
    """Give each block as a function of x, by name."""
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", norm_first=norm_first, batch_first=True
    )
    norm = "before" if norm_first else "after"
    ours = Block(SoftmaxAttention.from_torch(theirs.self_attn), norm=norm, feed_forward=4 * WIDTH)
    pairs = {"mixer_norm": theirs.norm1, "feed_forward_norm": theirs.norm2}
    pairs |= {"feed_forward.inner": theirs.linear1, "feed_forward.outer": theirs.linear2}
    for name, part in pairs.items():
        ours.get_submodule(name).load_state_dict(part.state_dict())

    def unchecked(x: Tensor) -> Tensor:
        with no_value_checks():
            return ours(x)

    return {"torch_layer": theirs, "block": ours, "unchecked": unchecked}


def cases(quick: bool) -> Iterator[Case]:
    """Forward, and forward + backward, with the norm on either side."""
    for n in (32, 128) if quick else BATCHES:
        generator = torch.Generator().manual_seed(n)
        x, pull = (torch.randn(BATCHES[n], n, WIDTH, generator=generator) for _ in range(2))
        x.requires_grad_()
        sizes = {"batch": BATCHES[n], "n": n, "width": WIDTH, "heads": HEADS}
        for norm_first in (True, False):
            blocks, said = calls(norm_first), "norm before" if norm_first else "norm after"
            yield Case(sizes, f"forward, {said}", {name: forward(call, x) for name, call in blocks.items()})
            both = {name: forward_and_backward(call, x, pull) for name, call in blocks.items()}
            yield Case(sizes, f"forward + backward, {said}", both)


ENTRY = Entry(
    title="A transformer block, float32",
    contestants={
        "torch_layer": "torch.nn.TransformerEncoderLayer, training",
        "block": "attnlib.Block around attnlib.SoftmaxAttention, with the same weights",
        "unchecked": "the same inside attnlib.no_value_checks()",
    },
    reference="torch_layer",
    cases=cases,
)
