"""Blocks and stacks through torch's tracers. Run by test_traced.py, without the run-time checks of shapes."""

import pytest
import torch
from helpers.draw import close, mask_of, normal

from attnlib.transformer import Block, Stack, mixer

WIDTH, TOKENS = 8, 5


def block(kind="softmax", **settings):
    torch.manual_seed(0)
    return Block(mixer(kind, WIDTH, tokens=TOKENS, heads=2, dtype=torch.float64), feed_forward=16, **settings)


def compiles(module, *calls):
    """In one graph, with the numbers and the gradients of the module as it is."""
    torch.compiler.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for call in calls:
        out, expected = compiled(*call), module(*call)
        close(out, expected, atol=1e-12)
        pairs = zip(*(torch.autograd.grad(one.sin().sum(), list(module.parameters())) for one in (out, expected)), strict=True)
        for slope, wanted in pairs:
            close(slope, wanted, atol=1e-10)


@pytest.mark.parametrize("norm", ["before", "after", None])
def test_a_block_compiles_in_one_graph(norm):
    x, mask = normal(2, TOKENS, WIDTH), mask_of(2, TOKENS, TOKENS)
    compiles(block(norm=norm), (x,), (x, normal(2, 7, WIDTH, seed=1)), (x, None, mask))


@pytest.mark.parametrize("kind", ["identity", "pool", "linear", "places", "energy", "mean-field", "graph"])
def test_a_block_of_any_mixer_compiles_in_one_graph(kind):
    mask = mask_of(2, TOKENS, TOKENS) | torch.eye(TOKENS, dtype=torch.bool)
    compiles(block(kind), (normal(2, TOKENS, WIDTH),), (normal(2, TOKENS, WIDTH), None, mask))


def test_a_tied_stack_compiles_in_one_graph():
    x = normal(2, TOKENS, WIDTH)
    compiles(Stack(block(), steps=3, norm=True), (x,), (x, None, None, 2))


def test_a_block_exports():
    module, x, mask = block(), normal(2, TOKENS, WIDTH), mask_of(2, TOKENS, TOKENS)
    program = torch.export.export(module, (x, None, mask))
    other = normal(2, TOKENS, WIDTH, seed=7)
    close(program.module()(other, None, mask), module(other, None, mask), atol=1e-12)
