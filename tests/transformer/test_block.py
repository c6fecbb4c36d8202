"""The block against torch's own encoder layer, its formulas against arithmetic, and everything that torch does to a module."""

import copy
import io
import pickle

import pytest
import torch
from helpers.draw import close, mask_of, normal
from torch import nn
from torch.func import functional_call, vmap

from attnlib import GraphAttention, SoftmaxAttention, causal_mask, complete_edges, no_value_checks, padding_mask
from attnlib.transformer import Block, FeedForward, mixer, registered

WIDTH, HEADS, TOKENS = 8, 2, 5
BLOCKS = [{"norm": "before"}, {"norm": "after"}, {"norm": None}]


def made(kind="softmax", *, seed=0, dtype=torch.float64, own=None, **settings):
    torch.manual_seed(seed)
    part = mixer(kind, WIDTH, tokens=TOKENS, heads=HEADS, dtype=dtype, **(own or {}))
    return Block(part, feed_forward=16, **settings)


def like_torch(layer, causal=False, **settings):
    """Our block with the weights of torch's encoder layer."""
    attention = SoftmaxAttention.from_torch(layer.self_attn)
    attention.causal = causal
    norm = "before" if layer.norm_first else "after"
    block = Block(attention, norm=norm, feed_forward=layer.linear1.out_features, epsilon=layer.norm1.eps, **settings)
    parts = {"mixer_norm": layer.norm1, "feed_forward_norm": layer.norm2}
    parts |= {"feed_forward.inner": layer.linear1, "feed_forward.outer": layer.linear2}
    for name, theirs in parts.items():
        block.get_submodule(name).load_state_dict(theirs.state_dict())
    return block.double().train(layer.training)


def layer_of(norm_first, **settings):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 16, dropout=0.0, norm_first=norm_first, batch_first=True, dtype=torch.float64, **settings
    )
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # no offset is zero, no scale one
    return layer


# Against torch


@pytest.mark.parametrize("norm_first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("masking", ["none", "causal", "padding", "causal by a mask"])
def test_it_is_torchs_encoder_layer(norm_first, activation, masking):
    layer, x = layer_of(norm_first, activation=activation), normal(3, TOKENS, WIDTH)
    block = like_torch(layer, causal=masking == "causal", activation=activation)
    padding = padding_mask(torch.tensor([5, 3, 1]), TOKENS)
    future = ~causal_mask(TOKENS)
    ours = {"padding": padding, "causal by a mask": causal_mask(TOKENS)}.get(masking)
    if masking == "padding":
        theirs = {"src_key_padding_mask": ~padding[:, 0]}
    else:
        theirs = {} if masking == "none" else {"src_mask": future, "is_causal": True}
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    found, wanted = block(a, mask=ours), layer(b, **theirs)
    close(found, wanted, atol=1e-12)
    weights = normal(3, TOKENS, WIDTH, seed=2)
    slope, other = (torch.autograd.grad((weights * out).sum(), start)[0] for out, start in ((found, a), (wanted, b)))
    close(slope, other, atol=1e-12)


@pytest.mark.parametrize("norm_first", [True, False], ids=["before", "after"])
def test_the_gradients_of_its_parameters_are_torchs(norm_first):
    layer, x = layer_of(norm_first, activation="gelu"), normal(3, TOKENS, WIDTH)
    block = like_torch(layer)
    for module in (layer, block):
        module(x).sin().sum().backward()
    for ours, theirs in (
        (block.feed_forward.inner.weight, layer.linear1.weight),
        (block.feed_forward.outer.bias, layer.linear2.bias),
        (block.mixer_norm.weight, layer.norm1.weight),
        (block.feed_forward_norm.bias, layer.norm2.bias),
        (block.mixer.to_out.weight, layer.self_attn.out_proj.weight),
    ):
        close(ours.grad, theirs.grad, atol=1e-12)


def test_epsilon_is_the_norms():
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 16, 0.0, layer_norm_eps=0.1, batch_first=True, dtype=torch.float64, activation="gelu"
    )
    x = normal(2, TOKENS, WIDTH)
    close(like_torch(layer)(x), layer(x), atol=1e-12)
    assert not torch.allclose(Block(SoftmaxAttention(WIDTH), epsilon=1.0).mixer_norm(x.float()), nn.LayerNorm(WIDTH)(x.float()))


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "relu", "silu", "tanh"])
def test_the_network_is_two_maps_with_a_function_between(name):
    torch.manual_seed(0)
    network, x = FeedForward(3, 5, activation=name, dtype=torch.float64), normal(2, 4, 3)
    z = (x.unsqueeze(-2) * network.inner.weight).sum(-1) + network.inner.bias
    bent = {
        "gelu": z * (1 + torch.erf(z / 2**0.5)) / 2,
        "gelu_tanh": z / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (z + 0.044715 * z**3))),
        "relu": torch.where(z > 0, z, 0.0),
        "silu": z / (1 + torch.exp(-z)),
        "tanh": 1 - 2 / (torch.exp(2 * z) + 1),
    }[name]
    close(network(x), (bent.unsqueeze(-2) * network.outer.weight).sum(-1) + network.outer.bias, atol=1e-12)
    close(FeedForward(3, 5, activation=lambda t: 0 * t, bias=False)(x.float()), torch.zeros(2, 4, 3))


# The parts


class Twice(nn.Module):
    """A mixer that knows neither context nor mask."""

    dim = WIDTH

    def forward(self, x):
        return 2 * x


def normalised(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def test_each_side_of_the_norm_and_each_sum_is_the_formula():
    x = normal(2, TOKENS, WIDTH)
    half = {"step": 0.5, "dtype": torch.float64}
    close(Block(Twice(), **half)(x), x + normalised(x), atol=1e-12)
    close(Block(Twice(), norm="after", **half)(x), normalised(2 * x), atol=1e-12)
    close(Block(Twice(), norm=None, **half)(x), 2 * x, atol=1e-12)
    close(Block(Twice(), norm=None, residual=False, **half)(x), x, atol=1e-12)
    close(Block(Twice(), norm=None, feed_forward=Twice(), **half)(x), 4 * x, atol=1e-12)
    close(Block(Twice(), norm=None, feed_forward=Twice(), residual=False)(x), 4 * x, atol=1e-12)
    once = normalised(3 * x)
    close(Block(Twice(), norm="after", feed_forward=Twice(), dtype=torch.float64)(x), normalised(3 * once), atol=1e-12)
    y = x + 2 * normalised(x)
    close(Block(Twice(), feed_forward=Twice(), dtype=torch.float64)(x), y + 2 * normalised(y), atol=1e-12)


def test_without_a_network_there_is_none_and_without_a_norm_no_parameter_of_one():
    for none in (None, 0):
        assert Block(SoftmaxAttention(WIDTH), feed_forward=none).feed_forward is None
    names = {name.split(".")[0] for name, _ in Block(SoftmaxAttention(WIDTH), norm=None).named_parameters()}
    assert names == {"mixer"}
    names = {name.split(".")[0] for name, _ in Block(SoftmaxAttention(WIDTH)).named_parameters()}
    assert names == {"mixer", "mixer_norm"}


def test_a_context_a_mask_and_more_go_to_the_mixer():
    x, context, mask = normal(2, 3, WIDTH), normal(2, 7, WIDTH, seed=1), mask_of(2, 3, 7)
    block, bias = made(norm=None), normal(2, 3, 7, seed=2)
    y = x + block.mixer(x, context, mask, score_bias=bias)
    close(block(x, context, mask, score_bias=bias), y + block.feed_forward(y), atol=1e-12)
    before = made()
    y = x + before.mixer(before.mixer_norm(x), context, mask)
    close(before(x, context, mask), y + before.feed_forward(before.feed_forward_norm(y)), atol=1e-12)
    edges = complete_edges(TOKENS)
    x = normal(2, TOKENS, WIDTH)
    graph = Block(GraphAttention(WIDTH, heads=HEADS, dtype=torch.float64))
    close(graph(x, edge_index=edges), graph(x), atol=1e-12)
    with pytest.raises(TypeError, match="score_bias"):
        Block(Twice(), dtype=torch.float64)(x, score_bias=bias)


def test_dropout_acts_on_what_is_added_while_training():
    torch.manual_seed(0)
    block, x = Block(Twice(), norm=None, dropout=0.5), torch.ones(1, 200, WIDTH)
    added = block(x) - x
    assert set(added.unique().tolist()) == {0.0, 4.0}
    assert 0.4 < float((added == 0).float().mean()) < 0.6
    close(block.eval()(x), 3 * x)


@pytest.mark.parametrize("settings", BLOCKS, ids=str)
@pytest.mark.parametrize("kind", [name for name in registered().names if name != "boltzmann"])  # an experiment's own
def test_every_registered_mixer_stands_in_every_block(kind, settings):
    block, x = made(kind, **settings), normal(2, TOKENS, WIDTH, grad=True)
    out = block(x)
    assert out.shape == x.shape
    slopes = torch.autograd.grad(out.square().sum(), [x, *block.parameters()], allow_unused=True)
    assert all(slope is None or bool(torch.isfinite(slope).all()) for slope in slopes)
    assert slopes[0] is not None
    keep = mask_of(2, TOKENS, TOKENS) | torch.eye(TOKENS, dtype=torch.bool)
    later = x.detach().clone()
    later[:, -1] += 1
    causal = made(kind, own={"causal": True}, **settings)
    close(causal(later)[:, :-1], causal(x)[:, :-1], atol=1e-10)
    assert block(x, mask=keep).shape == x.shape


# What is refused


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"norm": "between"}, "norm is 'between'; expected one of 'before', 'after', None"),
        ({"feed_forward": -1}, "feed_forward is -1; expected an integer of at least 0"),
        ({"feed_forward": 8, "activation": "gelo"}, "activation is 'gelo'; expected one of 'gelu'"),
        ({"step": float("inf")}, "step is inf; expected a finite number"),
        ({"epsilon": 0}, "epsilon is 0; expected a finite number above 0"),
        ({"dropout": 1}, r"dropout is 1; expected a number in \[0, 1\)"),
        ({"residual": 1}, "residual is 1"),
        ({"dim": 0}, "dim is 0"),
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(settings, complaint, unchecked):
    with pytest.raises(ValueError, match=complaint):
        Block(SoftmaxAttention(WIDTH), **settings)


def test_a_mixer_without_a_width_needs_one(unchecked):
    with pytest.raises(ValueError, match="mixer is a Identity without a width"):
        Block(nn.Identity())
    with pytest.raises(ValueError, match="dim is 4; expected 8, the mixer's, or None"):
        Block(SoftmaxAttention(WIDTH), dim=4)
    assert Block(nn.Identity(), dim=4)(torch.zeros(1, 2, 4)).shape == (1, 2, 4)
    with pytest.raises(ValueError, match="mixer is a function; expected a module"):
        Block(lambda x: x, dim=4)


def test_input_that_does_not_fit_is_refused(unchecked):
    block, x = made(), normal(2, 3, WIDTH)
    for wrong, complaint in (
        (x[..., :4], r"x has shape \(2, 3, 4\); expected \[\*batch, n, 8\]"),
        (x.float(), "weight is torch.float64 on cpu, x is torch.float32"),
        (x.long(), "x has dtype torch.int64"),
        (torch.full_like(x, torch.nan), "x has non-finite entries"),
        ("x", "x is 'x'"),
    ):
        with pytest.raises(ValueError, match=complaint):
            block(wrong)
    with pytest.raises(ValueError, match=r"mixer returned shape \(2, 3, 4\); expected a tensor of x's shape"):
        Block(nn.Linear(8, 4), dim=8)(x.float())
    with pytest.raises(ValueError, match="feed_forward returned a tuple"):
        Block(Twice(), feed_forward=Pair(), dtype=torch.float64)(x)
    with pytest.raises(ValueError, match=r"too large: the result overflows torch.float16"):
        Block(Twice(), norm=None)(torch.full((1, 1, WIDTH), 3e4, dtype=torch.float16))


class Pair(nn.Module):
    def forward(self, x):
        return x, x


# Torch


@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3), (0,), (2, 0)], ids=str)
def test_any_batch(batch):
    block, x = made(), normal(*batch, TOKENS, WIDTH)
    out = block(x)
    assert out.shape == x.shape
    for row, alone in zip(out.reshape(-1, TOKENS, WIDTH), x.reshape(-1, TOKENS, WIDTH), strict=True):
        close(row, block(alone), atol=1e-12)


@pytest.mark.parametrize("settings", BLOCKS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_lower_precision_is_near_the_exact_result(dtype, settings):
    block, x = made(dtype=dtype, **settings), normal(2, TOKENS, WIDTH).to(dtype)
    out = block(x)
    assert out.dtype == dtype
    loose = {torch.float16: 2e-2, torch.bfloat16: 0.1, torch.float32: 1e-5}[dtype]
    close(out.double(), copy.deepcopy(block).double()(x.double()), atol=loose, rtol=loose)


def test_autocast():
    block, x = made(dtype=torch.float32), normal(2, TOKENS, WIDTH).float()
    exact = block(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = block(x)
        assert block(x.bfloat16()).isfinite().all()
    close(out.float(), exact, atol=0.1)


def test_its_own_parameters_follow_the_mixers():
    block = Block(SoftmaxAttention(WIDTH, dtype=torch.bfloat16, device="meta"), feed_forward=4)
    assert {(p.dtype, p.device.type) for p in block.parameters()} == {(torch.bfloat16, "meta")}
    block = Block(SoftmaxAttention(WIDTH, bare=True), feed_forward=4, dtype=torch.float64)
    assert {p.dtype for p in block.parameters()} == {torch.float64}


def test_on_the_meta_device():
    block = Block(SoftmaxAttention(WIDTH, device="meta"), feed_forward=4)
    out = block(torch.empty(2, 3, WIDTH, device="meta"), mask=torch.empty(3, 3, dtype=torch.bool, device="meta"))
    assert out.is_meta
    assert out.shape == (2, 3, WIDTH)


def test_it_is_saved_copied_and_moved():
    block, x = made(), normal(2, TOKENS, WIDTH)
    other = made(seed=5)
    assert not torch.allclose(other(x), block(x))
    other.load_state_dict(block.state_dict())
    file = io.BytesIO()
    torch.save(block, file)
    file.seek(0)
    for twin in (other, torch.load(file, weights_only=False), pickle.loads(pickle.dumps(block)), copy.deepcopy(block)):
        close(twin(x), block(x), atol=0.0)
    assert block.float()(x.float()).dtype == torch.float32


def test_vmap_over_inputs_and_over_blocks():
    block, x, mask = made(), normal(6, TOKENS, WIDTH), mask_of(6, TOKENS, TOKENS)
    close(vmap(lambda a, b: block(a, mask=b))(x, mask), block(x, mask=mask), atol=1e-12)
    blocks = [made(seed=seed) for seed in range(3)]
    parameters, buffers = torch.func.stack_module_state(blocks)
    base = copy.deepcopy(block).to("meta")
    out = vmap(lambda p, b: functional_call(base, (p, b), (x,)))(parameters, buffers)
    close(out, torch.stack([one(x) for one in blocks]), atol=1e-12)


def test_every_mode_gives_the_same():
    block, x = made(), normal(2, TOKENS, WIDTH)
    out = block(x)
    close(block.eval()(x), out, atol=0.0)
    for mode in (torch.no_grad, torch.inference_mode, no_value_checks):
        with mode():
            close(block(x + 0).detach(), out.detach(), atol=1e-12)
    with torch.inference_mode():
        made_there = x + 0
    assert made().requires_grad_()(made_there).requires_grad


def test_it_says_what_it_is():
    assert "dim=8, norm='before', residual=True, step=1, dropout=0" in repr(made())
    assert "activation='gelu'" in repr(made())
    assert "activation='tanh'" in repr(Block(SoftmaxAttention(4), feed_forward=4, activation=torch.tanh))
