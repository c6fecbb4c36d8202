"""What ablations cost beside an examination without them: heads silenced together, and one by one."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from unittest.mock import patch

import torch
from torch import Tensor, nn

from attnlib import SoftmaxAttention
from attnlib.transformer import Block, Embedding, LanguageModel, Stack, examine
from benchmarks.harness import Case, Entry

WORDS, DEPTH, HEADS = 512, 6, 8
SIZES = ((32, 64), (128, 64), (128, 256))
"""Tokens and width."""


def examined(model: nn.Module, tokens: Tensor, *, ablate: bool, together: int | None = None) -> tuple[Tensor, ...]:
    """Each head's spread, which all read; ``together``: so many tokens at once, by default as many as it takes itself."""
    with ExitStack() as changed:
        if together is not None:
            changed.enter_context(patch("attnlib.transformer.run.TOGETHER", together))
        return (examine(model, tokens, ablate=ablate, progress=False).grid("spread"),)


def cases(quick: bool) -> Iterator[Case]:
    """One text of n tokens, six blocks of eight heads."""
    for n, width in SIZES[:1] if quick else SIZES:
        torch.manual_seed(n)
        blocks = [Block(SoftmaxAttention(width, heads=HEADS, causal=True), feed_forward=4 * width) for _ in range(DEPTH)]
        model = LanguageModel(Embedding(WORDS, width, places=n), Stack(blocks, norm=True), nn.Linear(width, WORDS))
        call = partial(examined, model, torch.randint(WORDS, (1, n)))
        calls = {
            "together": partial(call, ablate=True),
            "one_by_one": partial(call, ablate=True, together=1),
            "no_ablation": partial(call, ablate=False),
        }
        yield Case({"n": n, "width": width, "layers": DEPTH, "heads": HEADS}, "examination", calls)


ENTRY = Entry(
    title="An examination of six blocks of eight heads, float32",
    contestants={
        "together": "attnlib.transformer.examine, heads of a step silenced in copies of the batch",
        "one_by_one": "the same, each head in a call of its own",
        "no_ablation": "attnlib.transformer.examine without ablations",
    },
    reference="no_ablation",
    cases=cases,
)
