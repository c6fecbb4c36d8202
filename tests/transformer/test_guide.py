"""What is said of random weights is what they give, and whoever reads an examination finds it said."""

from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

from attnlib import SoftmaxAttention
from attnlib.transformer import Block, Embedding, LanguageModel, Stack, examine
from attnlib.transformer.guide import BOTH, CAUSAL, READINGS, TWO_WAYS, readings

BOOK = Path(__file__).parents[2] / "book" / "how_to_use.md"
WORDS, N = 1000, 128


def stack(*, causal, tied, norm, dim, heads, steps):
    def block():
        return Block(SoftmaxAttention(dim, heads=heads, causal=causal), feed_forward=4 * dim, norm=norm)

    ends = norm == "before"
    return Stack(block(), steps=steps, norm=ends) if tied else Stack([block() for _ in range(steps)], norm=ends)


@cache
def of_random_weights(causal, tied, norm, wide):
    """As torch draws them, 128 wide; or 768 wide as GPT-2 is drawn, of which two blocks are read."""
    torch.manual_seed(3)
    dim, heads, steps = (768, 12, 2) if wide else (128, 8, 6)
    blocks = stack(causal=causal, tied=tied, norm=norm, dim=dim, heads=heads, steps=steps)
    model = LanguageModel(Embedding(WORDS, dim, places=N), blocks, nn.Linear(dim, WORDS))
    if wide:
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                nn.init.normal_(weight, std=0.02 / (24**0.5 if "to_out" in name or "outer" in name else 1))
    tokens = torch.randint(WORDS, (1, N))
    right = torch.stack([torch.randint(i + 1 if causal else N, ()) for i in range(N)])[None]
    return examine(model, tokens, right, targets=tokens, progress=False)


NETWORKS = [
    (causal, tied, norm, wide)
    for causal in (True, False)
    for tied, norm, wide in ((False, "before", False), (False, "after", False), (True, "after", False), (False, "before", True))
]


@pytest.mark.parametrize("network", NETWORKS)
def test_random_weights_give_what_is_said(network):
    found = of_random_weights(*network)
    causal, tied, _, wide = network
    for name, (low, high) in (BOTH | (CAUSAL if causal else TWO_WAYS)).items():
        if name == "lyapunov":
            assert not tied or low < found.lyapunov < high
        elif name == "change":
            assert wide or all(low < row.change < high for row in found.states[1:])
        else:
            grid = found.grid(name)
            assert low - 1e-6 <= grid.min() <= grid.max() <= high, name
    assert found.grid("walk").min() > 0.9
    assert (found.grid("participation") / found.grid("participation_law") - 1).abs().max() < 0.05
    assert found.grid("participation").mean() == pytest.approx(0.036 if causal else 0.008, rel=0.25)
    sides = (
        torch.tensor([[value.real > 0, value.imag > 0] for row in found.heads for value in row.eigenvalues]).double().mean(0)
    )
    assert 0.45 < sides[0] < 0.55
    cosines = [row.cosine for row in found.states]
    assert cosines[-1] > cosines[0] + 0.01
    if wide and causal:
        assert found.states[1].change == pytest.approx(2.6, abs=0.2)


def test_what_was_read_is_explained_and_nothing_else():
    told = {column for one in readings(of_random_weights(True, True, "after", False)) for column in one.columns}
    shown = set(of_random_weights(True, True, "after", False).table()[0]) - {"step", "block", "head"}
    aside = {"spread_deviation", "participation_deviation", "thermometer_error", "value_size"}
    assert told == shown - aside | {"change", "cosine", "lyapunov"}
    model = LanguageModel(Embedding(WORDS, 8), stack(causal=False, tied=False, norm="before", dim=8, heads=2, steps=2))
    found = examine(model, torch.arange(6)[None], progress=False)
    titles = [one.title for one in readings(found)]
    assert titles == [one.title for one in READINGS if one.columns not in (("thermometer",), ("ablation",), ("lyapunov",))]
    page = found.page()
    assert all((f"<dt>{one.title}</dt>" in page) == (one.title in titles) for one in READINGS)


@pytest.mark.parametrize("one", READINGS, ids=lambda one: one.title)
def test_the_book_says_the_same(one):
    assert f"**{one.title}.** {one.says} *Random weights:* {one.random} *Then:* {one.then}" in BOOK.read_text(encoding="utf-8")
