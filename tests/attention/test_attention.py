import math

import pytest
import torch
from helpers.draw import (
    batches,
    betas,
    close,
    derivatives,
    dtypes,
    mask_of,
    normal,
    ordinary_betas,
    parameter_check,
    seeds,
    sizes,
)
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import scaled_dot_product_attention

from attnlib import (
    EnergyAttention,
    SoftmaxAttention,
    attend,
    attention_weights,
    causal_mask,
    dot_scores,
    padding_mask,
    softmax,
)

TOLERANCE = {torch.float16: 5e-3, torch.bfloat16: 5e-2, torch.float32: 1e-5, torch.float64: 1e-12}
MODULES = [SoftmaxAttention, EnergyAttention]


def inputs(batch, n, m, d, c, seed, dtype=torch.float64, scale=1.0):
    return (
        normal(*batch, n, d, seed=seed, dtype=dtype, scale=scale),
        normal(*batch, m, d, seed=seed + 1, dtype=dtype, scale=scale),
        normal(*batch, m, c, seed=seed + 2, dtype=dtype),
    )


def by_hand(query, key, value, beta, mask=None):
    """One query at a time, one key at a time."""
    out = torch.zeros(len(query), value.shape[-1], dtype=query.dtype)
    for i, q in enumerate(query):
        kept = [j for j in range(len(key)) if mask is None or mask[i, j]]
        energies = [-sum(a * b for a, b in zip(q.tolist(), key[j].tolist())) for j in kept]
        factors = [math.exp(-beta * (e - min(energies))) for e in energies]
        for factor, j in zip(factors, kept):
            out[i] += factor / math.fsum(factors) * value[j]
    return out


@given(sizes, sizes, sizes, sizes, ordinary_betas, st.booleans(), seeds)
def test_attend_is_what_one_writes_by_hand(n, m, d, c, beta, masked, seed):
    query, key, value = inputs((), n, m, d, c, seed)
    mask = mask_of(n, m, seed=seed) if masked else None
    expected = by_hand(query, key, value, beta, mask)
    for twice in (False, True):
        close(attend(query, key, value, beta=beta, mask=mask, twice_differentiable=twice), expected, atol=1e-12)
    close(attend(query, key, value, mask=mask), by_hand(query, key, value, 1 / math.sqrt(d), mask), atol=1e-12)


@given(batches, sizes, sizes, sizes, sizes, st.one_of(st.none(), ordinary_betas), st.booleans(), seeds)
def test_attend_equals_the_fused_attention_of_torch(batch, n, m, d, c, beta, masked, seed):
    query, key, value = inputs(batch, n, m, d, c, seed)
    mask = mask_of(*batch, n, m, seed=seed) if masked else None
    expected = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=beta)
    for twice in (False, True):
        close(attend(query, key, value, beta=beta, mask=mask, twice_differentiable=twice), expected, atol=1e-12)
    weights = attention_weights(query, key, beta=beta, mask=mask)
    close(weights @ value, expected, atol=1e-12)
    scale = d**-0.5 if beta is None else beta
    close(weights, softmax(dot_scores(query, key), beta=scale, mask=mask), atol=1e-12)


@given(batches, sizes, sizes, sizes, dtypes, betas, st.sampled_from([0.1, 1.0, 70.0]), st.booleans(), seeds)
def test_the_result_is_finite_of_the_inputs_dtype_and_between_the_values(batch, n, m, d, dtype, beta, scale, masked, seed):
    query, key, value = inputs(batch, n, m, d, d, seed, dtype, scale)
    mask = mask_of(*batch, n, m, seed=seed) if masked else None
    for twice in (False, True):
        out = attend(query, key, value, beta=beta, mask=mask, twice_differentiable=twice)
        assert out.dtype == dtype
        assert out.shape == query.shape
        assert not out.requires_grad
        slack = TOLERANCE[dtype] * 4
        assert bool((out <= value.amax(-2, keepdim=True) + slack).all())
        assert bool((out >= value.amin(-2, keepdim=True) - slack).all())
    weights = attention_weights(query, key, beta=beta, mask=mask)
    assert weights.dtype == dtype
    assert bool((weights >= 0).all())
    close(weights.double().sum(-1), torch.ones(*batch, n, dtype=torch.float64), atol=TOLERANCE[dtype])
    assert not any(t.requires_grad for t in (query, key, value))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("beta", [1e-4, 1.0, 1e3, torch.tensor(1e3)])
@pytest.mark.parametrize("columns", [4, 2])
def test_scores_beyond_half_precision_are_fine(dtype, beta, columns):
    query = torch.tensor([[200.0, 200.0, 200.0, 200.0], [-200.0, 200.0, 200.0, 3.0]], dtype=dtype)
    out = attend(query, query, query[:, :columns], beta=beta)
    exact = attend(query.double(), query.double(), query.double()[:, :columns], beta=beta)
    close(out.double(), exact, atol=0, rtol=2e-2)
    weights = attention_weights(query, query, beta=beta)
    close(weights.double(), attention_weights(query.double(), query.double(), beta=beta), atol=1e-2)


@given(sizes, sizes, sizes, seeds)
def test_the_limits_of_attention(n, m, d, seed):
    query, key, value = inputs((2,), n, m, d, 3, seed)
    mask = mask_of(2, n, m, seed=seed)
    count = mask.sum(-1, keepdim=True)
    close(attend(query, key, value, beta=0, mask=mask), mask.double() @ value / count, atol=1e-12)
    scores = torch.einsum("bnd,bmd->bnm", query, key).masked_fill(~mask, -math.inf)
    hardest = torch.take_along_dim(value, scores.argmax(-1, keepdim=True), dim=1)
    close(attend(query, key, value, beta=math.inf, mask=mask), hardest, atol=1e-12)
    for beta in (0, math.inf):
        leaves = [t.clone().requires_grad_() for t in (query, key, value)]
        attend(*leaves, beta=beta, mask=mask).square().sum().backward()
        assert all(bool(torch.isfinite(leaf.grad).all()) for leaf in leaves)


@given(sizes, sizes, betas, seeds)
def test_queries_are_carried_along_and_the_order_of_keys_is_nothing(n, m, beta, seed):
    query, key, value = inputs((2,), n, m, 3, 4, seed)
    generator = torch.Generator().manual_seed(seed)
    rows, columns = torch.randperm(n, generator=generator), torch.randperm(m, generator=generator)
    permuted = attend(query[:, rows], key[:, columns], value[:, columns], beta=beta)
    close(permuted, attend(query, key, value, beta=beta)[:, rows], atol=1e-9)


@given(batches, sizes, sizes, betas, st.booleans(), seeds)
def test_a_batch_is_its_members_in_every_grad_mode(batch, n, m, beta, twice, seed):
    query, key, value = inputs(batch, n, m, 3, 2, seed)
    mask = mask_of(*batch, n, m, seed=seed)
    out = attend(query, key, value, beta=beta, mask=mask, twice_differentiable=twice)
    flat = [t.reshape(-1, *t.shape[-2:]) for t in (query, key, value, mask)]
    alone = [attend(q, k, v, beta=beta, mask=b, twice_differentiable=twice) for q, k, v, b in zip(*flat)]
    close(out, torch.stack(alone).reshape(out.shape), atol=1e-9)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(attend(query, key, value, beta=beta, mask=mask, twice_differentiable=twice), out)


SHAPES = [(), (5,), (1, 5), (4, 1), (4, 5), (3, 4, 5), (3, 1, 1), (2, 1, 4, 5), (2, 1, 1, 5), (2, 3, 4, 5)]


@pytest.mark.parametrize(("axes", "shape"), [(axes, s) for axes in range(4) for s in SHAPES if len(s) <= axes + 2])
def test_masks_broadcast(shape, axes):
    batch = (1, 2, 3)[3 - axes :]
    query, key, value = inputs(batch, 4, 5, 3, 2, seed=5)
    mask = mask_of(*shape, seed=1) if shape and shape[-1] == 5 else torch.ones(shape, dtype=torch.bool)
    full = mask.expand(*batch, 4, 5)
    for twice in (False, True):
        one = attend(query, key, value, mask=mask, twice_differentiable=twice)
        close(one, attend(query, key, value, mask=full, twice_differentiable=True), atol=1e-12)
    close(attention_weights(query, key, mask=mask), attention_weights(query, key, mask=full), atol=1e-14)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (3, 4), (2, 1, 1)])
def test_a_temperature_for_each_head(shape, twice):
    query, key, value = inputs((2, 3), 4, 5, 6, 6, seed=0)
    beta = normal(*shape, seed=1).exp()
    full = beta.expand(2, 3, 4)
    out = attend(query, key, value, beta=beta, twice_differentiable=twice)
    for b, h, i in torch.cartesian_prod(torch.arange(2), torch.arange(3), torch.arange(4)).tolist():
        row = by_hand(query[b, h, i : i + 1], key[b, h], value[b, h], full[b, h, i].item())
        close(out[b, h, i : i + 1], row, atol=1e-12)
    close(attention_weights(query, key, beta=beta) @ value, out, atol=1e-12)


@pytest.mark.parametrize("twice", [False, True])
def test_nothing_to_ask_gives_nothing(twice):
    settings = {"twice_differentiable": twice}
    assert attend(torch.zeros(0, 3), torch.ones(4, 3), torch.ones(4, 2), **settings).shape == (0, 2)
    assert attend(torch.zeros(2, 0, 3), torch.ones(2, 4, 3), torch.ones(2, 4, 2), **settings).shape == (2, 0, 2)
    assert attend(torch.zeros(0, 5, 3), torch.ones(0, 4, 3), torch.ones(0, 4, 2), **settings).shape == (0, 5, 2)
    assert attend(torch.zeros(5, 3), torch.ones(4, 3), torch.ones(4, 0), **settings).shape == (5, 0)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("beta", [0, 0.5, math.inf])
def test_an_empty_row_is_an_error_or_zero(beta, twice):
    leaves = [t.requires_grad_() for t in inputs((), 2, 3, 4, 5, seed=0)]
    mask = torch.tensor([[True, True, False], [False, False, False]])
    settings = {"beta": beta, "mask": mask, "twice_differentiable": twice}
    with pytest.raises(ValueError, match="mask has a row that allows nothing"):
        attend(*leaves, **settings)
    out = attend(*leaves, **settings, empty="zero")
    assert torch.equal(out[1], torch.zeros(5, dtype=torch.float64))
    close(out[0], attend(*leaves, beta=beta, mask=mask[:1].expand(2, 3))[0], atol=1e-12)
    assert torch.equal(attention_weights(*leaves[:2], beta=beta, mask=mask, empty="zero")[1], torch.zeros(3).double())
    gradients = torch.autograd.grad(out.square().sum(), leaves, allow_unused=True, materialize_grads=True)
    assert all(bool(torch.isfinite(gradient).all()) for gradient in gradients)
    assert torch.equal(gradients[0][1], torch.zeros(4, dtype=torch.float64))


def test_causal_and_padding_masks():
    x = normal(1, 4, 3)
    later = x.clone()
    later[:, 2:] += 7
    module = SoftmaxAttention(3, heads=3).double()
    mask = causal_mask(4)
    close(module(x, mask=mask)[:, :2], module(later, mask=mask)[:, :2], atol=1e-14)
    assert (module(x, mask=mask)[:, 2:] - module(later, mask=mask)[:, 2:]).abs().min() > 1e-6
    assert causal_mask(3, 5).sum(-1).tolist() == [3, 4, 5]
    mask = padding_mask(torch.tensor([2]), 4)
    close(module(x, later, mask), module(x, x, mask), atol=1e-14)
    assert padding_mask(torch.tensor([0, 2, 4], dtype=torch.int32), 4).sum(-1).tolist() == [[0], [2], [4]]


MASK = torch.tensor([[True, False, True], [False, True, True]])


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("beta", [0, 0.7, 2, math.inf])
@derivatives
@pytest.mark.double
def test_attention_differentiates(beta, mask, how):
    leaves = tuple(t.requires_grad_() for t in inputs((2,), 2, 3, 2, 2, seed=0))
    assert gradcheck(lambda *t: attend(*t, beta=beta, mask=mask), leaves, **how)
    for check in (gradcheck, gradgradcheck):
        assert check(lambda *t: attend(*t, beta=beta, mask=mask, twice_differentiable=True), leaves, **how)
        assert check(lambda *t: attention_weights(*t, beta=beta, mask=mask), leaves[:2], **how)


@pytest.mark.double
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e6, 1e8])
def test_weights_sum_to_one_in_the_gradient_too(scale, dtype):
    """What comes back to all values together is what went out, however large the scores. A fused kernel gives infinity."""
    rng = torch.Generator().manual_seed(0)
    query, key, value, out = (torch.randn(2, 1, 100, 8, generator=rng, dtype=dtype) for _ in range(4))
    leaves = [(scale * query).requires_grad_(), (scale * key).requires_grad_(), value.requires_grad_()]
    slopes = torch.autograd.grad((attend(*leaves) * out).sum(), leaves)
    close(slopes[2].sum(-2), out.sum(-2), atol=0.05)
    assert all(slope.isfinite().all() for slope in slopes)


@pytest.mark.double
def test_attention_differentiates_in_beta_and_scores_in_everything():
    leaves = tuple(t.requires_grad_() for t in inputs((2,), 2, 3, 2, 2, seed=0))
    beta = torch.tensor([[0.4], [1.7]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda *t: attend(*t[:3], beta=t[3]), (*leaves, beta))
    assert gradgradcheck(lambda *t: attend(*t[:3], beta=t[3], twice_differentiable=True), (*leaves, beta))
    assert gradcheck(dot_scores, leaves[:2])
    assert gradgradcheck(dot_scores, leaves[:2])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masked", ["no", "keys", "pairs"])
@pytest.mark.parametrize("context_dim", [None, 8, 5])
def test_softmax_attention_is_torchs_multihead_attention(context_dim, masked, bias):
    module = SoftmaxAttention(8, context_dim, heads=2, bias=bias).double()
    width = context_dim or 8
    theirs = nn.MultiheadAttention(8, 2, bias=bias, kdim=width, vdim=width, batch_first=True, dtype=torch.float64)
    maps = (module.to_query, module.to_key, module.to_value)
    with torch.no_grad():
        if width == 8:
            theirs.in_proj_weight.copy_(torch.cat([m.weight for m in maps]))
        else:
            for target, source in zip((theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight), maps):
                target.copy_(source.weight)
        theirs.out_proj.weight.copy_(module.to_out.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([m.bias for m in maps]))
            theirs.out_proj.bias.copy_(module.to_out.bias)
    x = normal(3, 4, 8)
    context = None if context_dim is None else normal(3, 5, width, seed=1)
    other = x if context is None else context
    m = other.shape[1]
    mask = {"no": None, "keys": mask_of(3, 1, m), "pairs": mask_of(3, 4, m)}[masked]
    hidden = {}  # torch marks what may not be attended to, and wants one mask for each head
    if masked == "keys":
        hidden = {"key_padding_mask": ~mask[:, 0]}
    elif masked == "pairs":
        hidden = {"attn_mask": ~mask.repeat_interleave(2, 0)}
    expected, weights = theirs(x, other, other, **hidden, average_attn_weights=False)
    close(module(x, context, mask), expected, atol=1e-12)
    close(module.explain(x, context, mask).weights, weights, atol=1e-12)


@given(st.integers(1, 3), sizes, sizes, st.sampled_from([1, 2]), st.booleans(), st.booleans(), seeds)
def test_a_record_explains_the_call(batch, n, m, heads, bare, masked, seed):
    heads = 1 if bare else heads
    module = SoftmaxAttention(4, heads=heads, bare=bare).double()
    x, context = normal(batch, n, 4, seed=seed), normal(batch, m, 4, seed=seed + 1)
    mask = mask_of(batch, n, m, seed=seed) if masked else None
    record = module.explain(x, context, mask)
    close(record.output, module(x, context, mask), atol=1e-12)
    close(record.weights.sum(-1), torch.ones(batch, heads, n, dtype=torch.float64), atol=1e-12)
    close(record.scores, torch.einsum("bhnd,bhmd->bhnm", record.query, record.key), atol=1e-12)
    if bare:
        close(record.output, attend(x, context, context, mask=mask), atol=1e-12)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("settings", [{"heads": 2, "bias": True}, {"heads": 2, "head_dim": 1}, {"bare": True}])
@pytest.mark.parametrize("masked", [False, True])
@derivatives
@pytest.mark.double
def test_softmax_attention_differentiates(settings, masked, twice, how):
    module = SoftmaxAttention(2, **settings, twice_differentiable=twice).double()
    x, context = normal(1, 2, 2, grad=True), normal(1, 3, 2, seed=1, grad=True)
    mask = MASK[None] if masked else None
    for check in (gradcheck, gradgradcheck) if twice else (gradcheck,):
        assert parameter_check(module, check, x, context, how=how, mask=mask)
        assert parameter_check(module, check, x, how=how)


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("bare", [False, True])
def test_modules_give_the_same_in_every_mode(kind, bare):
    for closed in (None, False) if kind is EnergyAttention else (None,):
        settings = {} if closed is None else {"closed_form": False, "steps": 2}
        module = kind(6, heads=1 if bare else 2, bare=bare, **settings)
        x, context, mask = normal(3, 4, 6).float(), normal(3, 5, 6, seed=1).float(), mask_of(3, 4, 5)
        out = module.train()(x, context, mask)
        assert torch.equal(module.eval()(x, context, mask), out)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                close(module(x, context, mask), out.detach(), atol=1e-6)
                close(module(x + 0, context + 0, mask), out.detach(), atol=1e-6)  # tensors made in that mode
                module.explain(x + 0, context + 0, mask)
        for i in range(3):
            close(module(x[i : i + 1], context[i : i + 1], mask[i : i + 1]), out[i : i + 1], atol=1e-6)
        assert not x.requires_grad
        assert not context.requires_grad


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("bare", [False, True])
def test_modules_keep_the_dtype(kind, dtype, bare):
    module = kind(4, bare=bare).to(dtype)
    out = module(normal(2, 3, 4, dtype=dtype), normal(2, 5, 4, dtype=dtype), mask_of(2, 1, 5))
    assert out.dtype == dtype
    assert out.shape == (2, 3, 4)
    assert bool(torch.isfinite(out).all())
    assert module(torch.zeros(0, 3, 4, dtype=dtype)).shape == (0, 3, 4)


def test_modules_run_under_autocast():
    x = normal(2, 3, 4).float()
    module = SoftmaxAttention(4, heads=2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = module(x)
        again = module(out)
    assert out.dtype == again.dtype == torch.bfloat16
    close(out.float(), module(x), atol=0.05)


@pytest.mark.parametrize("settings", [{}, {"steps": 3, "step_size": 0.5}, {"closed_form": False, "step_size": 0.5}])
@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("bare", [False, True])
def test_a_token_that_sees_nothing_is_an_error_or_zero(kind, bare, settings):
    settings = settings if kind is EnergyAttention else {}
    heads = 1 if bare else 2
    x = normal(2, 3, 4, grad=True)
    mask = mask_of(2, 3, 3)
    mask[1, 2] = False
    with pytest.raises(ValueError, match="mask has a row that allows nothing"):
        kind(4, heads=heads, bare=bare, **settings).double()(x, mask=mask)
    module = kind(4, heads=heads, bare=bare, empty="zero", **settings).double()
    out = module(x, mask=mask)
    assert torch.equal(out[1, 2], torch.zeros(4, dtype=torch.float64))
    assert out.detach().abs().flatten(0, 1)[:5].sum(-1).min() > 0
    (gradient,) = torch.autograd.grad(out.square().sum(), x)
    assert bool(torch.isfinite(gradient).all())
    nowhere = torch.zeros(2, 1, 1, dtype=torch.bool)
    assert torch.equal(module(x, mask=nowhere), torch.zeros(2, 3, 4, dtype=torch.float64))
    module.explain(x, mask=mask)


@pytest.mark.parametrize("which", ["query", "key", "value"])
def test_who_differentiates_the_fused_kernel_twice_is_told_the_argument(which):
    given = {name: normal(2, 5, 3) for name in ("query", "key", "value")}
    given[which].requires_grad_()
    (once,) = torch.autograd.grad(attend(**given).square().sum(), given[which], create_graph=True)
    with pytest.raises(RuntimeError, match="expected twice_differentiable=True"):
        torch.autograd.grad(once.square().sum(), given[which])
    (once,) = torch.autograd.grad(attend(**given, twice_differentiable=True).square().sum(), given[which], create_graph=True)
    assert torch.autograd.grad(once.square().sum(), given[which])[0].isfinite().all()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # torch's own formula can be differentiated again
        (once,) = torch.autograd.grad(attend(**given).square().sum(), given[which], create_graph=True)
        assert torch.autograd.grad(once.square().sum(), given[which])[0].isfinite().all()
