"""What the epsilon of a norm is worth, against norms by hand, differences of what they return, and saved transformers."""

import json
from pathlib import Path

import pytest
import torch
from helpers.draw import close, normal
from torch import nn

from attnlib import SoftmaxAttention
from attnlib.transformer import Block, Embedding, LanguageModel, Stack, examine, load, norm_readings

FOLDERS = Path(__file__).resolve().parent / "folders"


pytestmark = pytest.mark.usefixtures("in_double")


def stack_of(norm="before", *, tied=False, steps=2, epsilon=0.3, feed_forward=6):
    blocks = [
        Block(SoftmaxAttention(8, heads=2, bias=True), norm=norm, feed_forward=feed_forward, epsilon=epsilon)
        for _ in range(1 if tied else steps)
    ]
    return Stack(blocks[0], steps=steps) if tied else Stack(blocks)


def come_to_norms(stack, x, mask=None):
    """What comes to each norm, by the formulas of a block."""
    keys = None if mask is None else mask.unsqueeze(-2)
    for step in range(stack.steps):
        block = stack.blocks[0 if stack.tied else step]
        if block.norm == "before":
            yield x
            y = x + block.mixer(block.mixer_norm(x), mask=keys)
            yield y
            x = y + block.feed_forward(block.feed_forward_norm(y))
        else:
            sums = x + block.mixer(x, mask=keys)
            yield sums
            y = block.mixer_norm(sums)
            sums = y + block.feed_forward(y)
            yield sums
            x = block.feed_forward_norm(sums)


def exactly(*numbers):
    found = torch.tensor(numbers, dtype=torch.float64)
    return found[0] if len(numbers) == 1 else found


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("norm", ["before", "after"])
def test_rows_by_loops(norm, tied):
    stack, x = stack_of(norm, tied=tied, steps=3), 2 * normal(2, 5, 8)
    rows = norm_readings(stack, x)
    places = [(step, 1 if tied else step, name) for step in (1, 2, 3) for name in ("mixer", "feed_forward")]
    assert [(row.step, row.block, row.norm) for row in rows] == places
    for row, came in zip(rows, come_to_norms(stack, x)):
        k = [sum((c - token.mean()) ** 2 for c in token) / 8 for token in came.flatten(0, 1)]
        close(exactly(row.variance), sum(k) / len(k))
        close(exactly(row.share), sum(0.3 / (one + 0.3) for one in k) / len(k))
        assert row.epsilon == 0.3


@pytest.mark.parametrize("make", [nn.LayerNorm, nn.RMSNorm], ids=lambda make: make.__name__)
def test_the_share_is_how_the_length_of_the_output_follows_that_of_the_input(make):
    """d ln |out| / d ln |in| by differences, at gains that are not one, for each token; of one token it is the row's."""
    stack = stack_of(tied=True, steps=1, feed_forward=None)
    norm = make(8, eps=0.4)
    nn.init.normal_(norm.weight)
    stack.blocks[0].mixer_norm = norm
    for seed, size in ((0, 0.1), (1, 1.0), (2, 5.0)):
        x = size * normal(1, 1, 8, seed=seed)
        longer, shorter = ((1 + h) * x for h in (1e-5, -1e-5))
        slope = (norm(longer).norm().log() - norm(shorter).norm().log()) / (longer.norm().log() - shorter.norm().log())
        (row,) = norm_readings(stack, x)
        close(exactly(row.share), slope.detach(), atol=1e-7)


def test_the_temperature_is_that_of_a_vector_spin_with_this_length():
    """For tokens of one variance: what divides a norm's input is what divides the field of a spin at this temperature."""
    stack = stack_of(tied=True, steps=1, feed_forward=None)
    x = normal(1, 6, 8)
    x = 1.7 * (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True)
    (row,) = norm_readings(stack, x)
    beta, k = 1 / row.temperature, 1.7**2
    close(exactly((1 + (1 + 4 * beta**2 * k) ** 0.5) / (2 * beta)), exactly((k + 0.3) ** 0.5))
    close(exactly((k + 1 / (4 * beta**2)) ** 0.5 / beta + 1 / (2 * beta**2)), exactly(0.3))  # page 8c
    close(exactly(row.temperature / (k + 0.3) ** 0.5), exactly(row.share))
    out = stack.blocks[0].mixer_norm(x)
    close(out, x / exactly((1 + (1 + 4 * beta**2 * k) ** 0.5) / (2 * beta)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_norm_without_an_epsilon_has_that_of_its_dtype(dtype):
    stack, x = stack_of(tied=True, steps=1, feed_forward=None).to(dtype), 1e-7 * normal(1, 3, 8)
    stack.blocks[0].mixer_norm = nn.RMSNorm(8, dtype=dtype)
    (row,) = norm_readings(stack, x.to(dtype))
    assert row.epsilon == torch.finfo(dtype).eps
    k = x.square().mean(-1)
    close(exactly(row.share), (row.epsilon / (k + row.epsilon)).mean(), atol=1e-6)
    out = stack.blocks[0].mixer_norm(x.to(dtype)).double()
    close(out.square().mean(-1).mean(), 1 - exactly(row.share), atol=1e-5)  # what is left of the length


def test_padding_counts_nowhere():
    for norm in ("before", "after"):
        stack, x = stack_of(norm), normal(2, 5, 8)
        mask = torch.tensor([[True, True, True, False, False], [True] * 5])
        rows = norm_readings(stack, torch.where(mask[..., None], x, 50.0), mask=mask)
        for row, came in zip(rows, come_to_norms(stack, x, mask)):
            k = came.var(-1, correction=0)[mask]
            close(exactly(row.variance, row.share), torch.stack([k.mean(), (0.3 / (k + 0.3)).mean()]))
        alone = norm_readings(stack, x[0, :3])  # no batch
        one = norm_readings(stack, x[:1], mask=mask[:1])
        close(exactly(*(row.share for row in one)), exactly(*(row.share for row in alone)))


def test_blocks_without_norms_have_no_rows():
    assert norm_readings(stack_of(), normal(0, 3, 8)) == ()  # nor do no texts
    assert norm_readings(stack_of(None), normal(1, 3, 8)) == ()
    whole = stack_of(feed_forward=None)
    whole.blocks[0].mixer_norm = nn.LayerNorm((3, 8))  # of all tokens of a text: not each by a length of its own
    assert [(row.step, row.norm) for row in norm_readings(whole, normal(1, 3, 8))] == [(2, "mixer")]


@pytest.mark.parametrize("name", ["gpt2", "bert", "albert"])
def test_saved_transformers(name):
    model = load(FOLDERS / name, dtype=torch.float64)
    config = json.loads((FOLDERS / name / "config.json").read_text(encoding="utf-8"))
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9]])
    rows = norm_readings(model.stack, model.embed(tokens))
    assert len(rows) == 2 * model.stack.steps
    for row, came in zip(rows, come_to_norms(model.stack, model.embed(tokens))):
        assert row.epsilon == config.get("layer_norm_eps", config.get("layer_norm_epsilon"))
        k = came.var(-1, correction=0)
        close(exactly(row.share) / (row.epsilon / (k + row.epsilon)).mean().detach(), exactly(1.0))
    single = norm_readings(load(FOLDERS / name).float().stack, model.embed(tokens).float())
    close(exactly(*(row.share for row in single)) / exactly(*(row.share for row in rows)), torch.ones(len(rows)), atol=1e-4)


@pytest.mark.slow
def test_an_examination_has_them():
    for stack in (stack_of(), stack_of("after", tied=True, steps=3)):
        model, tokens = LanguageModel(Embedding(11, 8), stack), torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 5]])
        mask = torch.tensor([[True] * 5, [True] * 4 + [False]])
        found = examine(model, tokens, mask=mask, ablate=False, progress=False)
        assert found.norms == norm_readings(stack, model.embed(tokens), mask=mask)
        assert not any(
            norm._forward_pre_hooks for block in stack.blocks for norm in (block.mixer_norm, block.feed_forward_norm)
        )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"stack": nn.Linear(8, 8)}, "stack is a Linear; expected a Stack"),
        ({"x": torch.ones(8)}, r"x has shape \(8,\); expected \[\*batch, n, dim\]"),
        ({"mask": torch.ones(1, 4, dtype=torch.bool)}, r"mask is torch.bool of shape \(1, 4\)"),
        ({"mask": torch.ones(1, 3)}, r"mask is torch.float32 of shape \(1, 3\)"),
    ],
)
def test_what_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        norm_readings(**{"stack": stack_of(), "x": torch.ones(1, 3, 8)} | change)
