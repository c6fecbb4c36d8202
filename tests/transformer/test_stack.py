"""Stacks against loops written by hand, and against the fixed points and energies of earlier chapters."""

import copy
import pickle

import pytest
import torch
from helpers.draw import close, mask_of, normal
from torch import nn
from torch.func import vmap

from attnlib import EnergyAttention, SoftmaxAttention, hopfield_update, naive_mean_field
from attnlib.transformer import Block, Stack, mixer

WIDTH, TOKENS = 8, 5


def block(seed=0, **settings):
    torch.manual_seed(seed)
    return Block(SoftmaxAttention(WIDTH, heads=2, dtype=torch.float64), feed_forward=16, **settings)


def test_a_tied_stack_is_a_loop_and_may_go_on_or_stop_early():
    one, x, mask = block(), normal(3, TOKENS, WIDTH), mask_of(3, TOKENS, TOKENS)
    tied, by_hand = Stack(one, steps=4), [x]
    for _ in range(6):
        by_hand.append(one(by_hand[-1], mask=mask))
    assert len(list(tied.parameters())) == len(list(one.parameters()))
    close(tied(x, mask=mask), by_hand[4], atol=0.0)
    close(tied(x, mask=mask, steps=6), by_hand[6], atol=0.0)
    close(tied(x, mask=mask, steps=1), by_hand[1], atol=0.0)
    close(tied(x, mask=mask, steps=0), x, atol=0.0)
    close(tied.states(x, mask=mask, steps=6), torch.stack(by_hand), atol=0.0)
    assert tied.states(x).shape == (5, 3, TOKENS, WIDTH)


def test_blocks_of_their_own_stand_one_after_another():
    blocks, x, context = [block(seed) for seed in range(3)], normal(2, TOKENS, WIDTH), normal(2, 7, WIDTH, seed=1)
    stack, by_hand = Stack(blocks), [x]
    for one in blocks:
        by_hand.append(one(by_hand[-1], context))
    close(stack(x, context), by_hand[-1], atol=0.0)
    close(stack.states(x, context), torch.stack(by_hand), atol=0.0)
    close(stack(x, context, steps=2), by_hand[2], atol=0.0)
    close(Stack(nn.ModuleList(blocks))(x, context), by_hand[-1], atol=0.0)
    with pytest.raises(ValueError, match="steps is 4; expected an integer of at least 0, at most 3"):
        stack(x, steps=4)


def test_the_last_norm_is_after_the_steps_and_not_in_the_states():
    x = normal(2, TOKENS, WIDTH)
    stack = Stack([block(0), block(1)], norm=True, epsilon=1e-3)
    close(stack(x), nn.functional.layer_norm(stack.states(x)[-1], (WIDTH,), eps=1e-3), atol=1e-12)
    assert stack.norm.weight.dtype == torch.float64
    assert Stack(block(), steps=2).norm is None


def test_a_tied_stack_learns_through_all_steps():
    """The gradient of the one block is the sum over steps of what blocks of their own would get."""
    one, x = block(), normal(2, TOKENS, WIDTH)
    tied, apart = Stack(one, steps=3), Stack([copy.deepcopy(one) for _ in range(3)])
    for stack in (tied, apart):
        stack(x).sin().sum().backward()
    for name, parameter in one.named_parameters():
        close(parameter.grad, sum(b.get_parameter(name).grad for b in apart.blocks), atol=1e-12)


def test_tied_softmax_without_sum_or_norm_descends_the_energy_of_its_context():
    """Chapter 3: a step of bare attention on fixed keys is a whole step down the Hopfield energy."""
    x, context = normal(2, 3, 4), normal(2, 6, 4, seed=1)
    bare = Block(SoftmaxAttention(4, bare=True, beta=0.7), norm=None, residual=False)
    wanted = EnergyAttention(4, bare=True, beta=0.7, steps=5)(x, context)
    close(Stack(bare, steps=5)(x, context), wanted, atol=1e-12)
    resting = Stack(bare, steps=5)(x, context, steps=400)
    close(resting, hopfield_update(resting, context, beta=0.7), atol=1e-12)


def test_tied_tanh_rests_where_naive_mean_field_does():
    """Chapter 4: the floor "linear" is a step of naive mean field, couplings its maps, fields its offsets."""
    n, upper = 6, normal(6, 6, scale=0.2).triu(1)
    J, h = upper + upper.mT, normal(6, seed=1)
    step = mixer("linear", 1, tokens=n, bare=True, dtype=torch.float64)
    with torch.no_grad():
        step.maps.copy_(J[None, :, :, None, None])
        step.offset.copy_(h[None, :, None])
    found = Stack(step, steps=300)(torch.zeros(n, 1, dtype=torch.float64))[:, 0]
    close(found.detach(), naive_mean_field(J, h, tolerance=1e-13).m, atol=1e-11)


def test_more_goes_to_every_step():
    x, bias = normal(2, TOKENS, WIDTH), normal(2, TOKENS, TOKENS, seed=3)
    one = block()
    close(Stack(one, steps=2)(x, score_bias=bias), one(one(x, score_bias=bias), score_bias=bias), atol=0.0)


def test_a_stack_is_a_module_like_another():
    stack, x = Stack(block(), steps=3, norm=True), normal(4, TOKENS, WIDTH)
    assert stack.dim == WIDTH
    inside = Block(stack, norm=None)
    close(inside(x), x + stack(x), atol=1e-12)
    close(vmap(stack)(x), stack(x), atol=1e-12)
    close(pickle.loads(pickle.dumps(stack))(x), stack(x), atol=0.0)
    other = Stack(block(3), steps=3, norm=True)
    other.load_state_dict(stack.state_dict())
    close(other(x), stack(x), atol=0.0)
    assert stack(x[:0]).shape == (0, TOKENS, WIDTH)
    assert "steps=3, tied=True" in repr(stack)
    meta = Stack(Block(SoftmaxAttention(4, device="meta")), steps=2, norm=True)
    assert meta(torch.empty(1, 3, 4, device="meta")).is_meta


def test_what_does_not_fit_is_refused(unchecked):
    for wrong, complaint in (
        ({"blocks": []}, r"blocks is \[\]; expected a module, or some of them"),
        ({"blocks": [block(), "block"]}, r"blocks is \['Block', 'str'\]"),
        ({"blocks": [block()], "steps": 2}, "steps is 2; expected 1, the number of blocks"),
        ({"blocks": [block(), block()], "steps": 1}, "steps is 1; expected 2, the number of blocks"),
        ({"blocks": block(), "steps": 0}, "steps is 0; expected an integer of at least 1"),
        ({"blocks": nn.Identity(), "steps": 2, "norm": True}, "norm is True and Identity has no width"),
        ({"blocks": 3}, "blocks is a int"),
        ({"blocks": torch.tensor(1.0)}, "blocks is a tensor"),
    ):
        with pytest.raises(ValueError, match=complaint):
            Stack(**wrong)
    assert Stack(nn.Identity(), steps=2, norm=True, dim=4)(torch.zeros(1, 2, 4)).shape == (1, 2, 4)
    with pytest.raises(ValueError, match="steps is -1"):
        Stack(block(), steps=2)(normal(1, 2, WIDTH), steps=-1)
