"""Language models: what an embedding of tokens refuses, by name."""

import pytest
import torch

from attnlib.attention import SoftmaxAttention
from attnlib.transformer import Block, Embedding, LanguageModel, Stack


def test_what_an_embedding_refuses():
    embed, lost = Embedding(20, 4, places=3), Embedding(20, 4, norm=True)
    torch.nn.init.constant_(lost.words.weight, torch.nan)
    for call, words in (
        (lambda: embed(torch.zeros(1, 2, dtype=torch.long, device="meta")), "tokens is on meta and words on cpu"),
        (lambda: embed(torch.zeros(1, 4, dtype=torch.long)), "tokens has 4 of them in a row; expected at most 3"),
        (lambda: embed(torch.full((1, 2), 20)), "tokens"),
        (lambda: lost(torch.zeros(1, 2, dtype=torch.long)), "tokens, or the vectors of their words and places"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_what_a_stack_refuses_is_said_of_the_tokens():
    model = LanguageModel(torch.nn.Linear(4, 4), Stack(Block(SoftmaxAttention(4), norm=None), steps=2))
    torch.nn.init.constant_(model.stack.blocks[0].mixer.to_value.weight, 1e30)
    for call in (model.states, LanguageModel(model.embed, model.stack, torch.nn.Identity())):
        with pytest.raises(ValueError, match=r"of these tokens, .*; expected"):
            call(1e20 * torch.ones(1, 2, 4))
