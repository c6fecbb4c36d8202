"""Softmax attention made from torch's own module and turned into it again; places turned as complex numbers turn."""

import math

import pytest
import torch
from helpers.draw import batches, close, mask_of, normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attnlib import EnergyAttention, SoftmaxAttention, causal_mask, rotary_places


def torchs(bias=True, width=None, dropout=0.0, seed=0, **more):
    torch.manual_seed(seed)
    made = nn.MultiheadAttention(8, 2, bias=bias, kdim=width, vdim=width, dropout=dropout, dtype=torch.float64, **more)
    with torch.no_grad():  # torch starts with offsets of zero, which would hide one that is forgotten
        for parameter in made.parameters():
            parameter.copy_(normal(*parameter.shape, seed=parameter.numel()) * 0.3)
    return made


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("width", [None, 5])
@pytest.mark.parametrize("bias", [True, False])
def test_from_torch_gives_what_torch_gives(bias, width, first):
    theirs = torchs(bias, width, batch_first=first)
    ours = SoftmaxAttention.from_torch(theirs)
    x, context, mask = normal(3, 4, 8), normal(3, 6, width or 8, seed=1), mask_of(3, 4, 6)
    arguments = (x, context, context) if first else tuple(t.transpose(0, 1) for t in (x, context, context))
    expected, weights = theirs(*arguments, attn_mask=~mask.repeat_interleave(2, 0), average_attn_weights=False)
    close(ours(x, context, mask), expected if first else expected.transpose(0, 1), atol=1e-12)
    close(ours.explain(x, context, mask).weights, weights, atol=1e-12)
    assert ours.training
    assert not SoftmaxAttention.from_torch(theirs.eval()).training
    with torch.no_grad():
        theirs.out_proj.weight.zero_()
    assert ours.to_out.weight.abs().sum() > 0  # a copy, not the same tensor


@pytest.mark.parametrize("width", [None, 5])
@pytest.mark.parametrize("bias", [True, False])
def test_to_torch_and_back(bias, width):
    theirs = torchs(bias, width, dropout=0.25)
    ours = SoftmaxAttention.from_torch(theirs)
    again = ours.to_torch()
    assert again.batch_first
    assert again.dropout == ours.dropout == 0.25
    assert {name: p.shape for name, p in again.named_parameters()} == {name: p.shape for name, p in theirs.named_parameters()}
    for name, parameter in theirs.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name)), name
    x, context = normal(3, 4, 8), normal(3, 6, width or 8, seed=1)
    close(again.eval()(x, context, context)[0], ours.eval()(x, context), atol=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.Linear(2, 2), "module is a Linear; expected a torch.nn.MultiheadAttention"),
        (nn.MultiheadAttention(8, 2, add_bias_kv=True), "module has add_bias_kv True"),
        (nn.MultiheadAttention(8, 2, add_zero_attn=True), "add_zero_attn True"),
        (nn.MultiheadAttention(8, 2, kdim=3, vdim=4), "kdim 3, vdim 4"),
    ],
)
def test_what_cannot_come_from_torch(module, words):
    with pytest.raises(ValueError, match=words):
        SoftmaxAttention.from_torch(module)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bare": True}, "bare is True; expected False"),
        ({"heads": 2, "head_dim": 3}, r"heads \* head_dim is 6; expected 8"),
        ({"beta": 1.0}, "beta is 1.0; expected 0.35"),
        ({"learn_beta": True}, "beta is None; expected"),
        ({"causal": True}, "causal is True; expected False"),
        ({"places": rotary_places}, "places is .*; expected None"),
    ],
)
def test_what_cannot_become_torchs(settings, words):
    with pytest.raises(ValueError, match=words):
        SoftmaxAttention(8, **settings).to_torch()


def test_a_causal_module_from_torch():
    theirs = torchs(batch_first=True)
    ours = SoftmaxAttention(8, heads=2, bias=True, causal=True, dtype=torch.float64)
    ours.load_state_dict(SoftmaxAttention.from_torch(theirs).state_dict())
    x = normal(3, 5, 8)
    close(ours(x), theirs(x, x, x, attn_mask=~causal_mask(5), need_weights=False)[0], atol=1e-12)


@given(batches, sizes, sizes, st.integers(1, 3), st.sampled_from([3.0, 10_000]), seeds)
def test_places_turn_pairs_as_complex_numbers_turn(batch, n, m, pairs, base, seed):
    query, key = normal(*batch, n, 2 * pairs, seed=seed), normal(*batch, m, 2 * pairs, seed=seed + 1)
    turned = rotary_places(query, key, base=base)
    speeds = torch.tensor([base ** (-k / pairs) for k in range(pairs)], dtype=torch.float64)
    for rows, found, first in ((query, turned[0], m - n), (key, turned[1], 0)):
        place = torch.arange(first, first + rows.shape[-2], dtype=torch.float64)[:, None]
        numbers = torch.view_as_complex(rows.unflatten(-1, (pairs, 2)).contiguous()) * torch.exp(1j * place * speeds)
        close(found, torch.view_as_real(numbers).flatten(-2), atol=1e-12)
        close(found.norm(dim=-1), rows.norm(dim=-1), atol=1e-12)


@pytest.mark.parametrize("bare", [False, True])
def test_places_turn_queries_and_keys_and_no_values(bare):
    """By hand, from what a module without places splits; in an energy the memories are the turned keys themselves."""
    x = normal(2, 5, 8)
    for kind in (SoftmaxAttention, EnergyAttention):
        torch.manual_seed(0)
        module = kind(8, heads=1 if bare else 2, bare=bare, places=rotary_places, dtype=torch.float64)
        plain = kind(8, heads=module.heads, bare=bare, dtype=torch.float64)
        plain.load_state_dict(module.state_dict())
        heads = plain.split(x)
        query, key = rotary_places(heads.query, heads.key)
        value = heads.value if kind is SoftmaxAttention else key
        mixed = (module.beta * query @ key.mT).softmax(-1) @ value
        merged = mixed.transpose(-3, -2).flatten(-2)
        close(module(x), merged if bare else module.to_out(merged), atol=1e-12)


def test_scores_between_places_depend_on_their_distance():
    one, other = normal(1, 6), normal(1, 6, seed=1)
    query, key = rotary_places(one.expand(9, 6), other.expand(9, 6))
    scores = query @ key.mT
    for distance in range(-8, 9):
        diagonal = scores.diagonal(distance)
        close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-12)
    assert scores.diagonal(1)[0].item() != pytest.approx(scores.diagonal(-1)[0].item())


@pytest.mark.parametrize("kind", [SoftmaxAttention, EnergyAttention])
def test_a_bias_that_falls_with_distance_is_added_inside_beta(kind):
    """The module's bias is an external field: what others add after the scale is given divided by beta."""
    module = kind(4, bare=True, beta=0.7, dtype=torch.float64)
    x, slope = normal(2, 5, 4), 0.4
    distance = (torch.arange(5)[:, None] - torch.arange(5)).abs().double()
    logits = 0.7 * x @ x.mT - slope * distance
    close(module(x, score_bias=-slope * distance / 0.7), logits.softmax(-1) @ x, atol=1e-12)


def test_dropout_keeps_the_mean_and_drops_the_share():
    torch.manual_seed(0)
    module = SoftmaxAttention(2, bare=True, dropout=0.25)
    out = module(torch.zeros(1, 2000, 2), torch.ones(1, 1, 2))  # one key: its weight is 1, kept with probability 3/4 as 4/3
    close(out.unique(), torch.tensor([0.0, 4 / 3]), atol=1e-6)
    share = out[..., 0].bool().double().mean().item()
    assert share == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / 2000))
