"""What every mixer must do. A new one inherits its tests: ``class TestMine(MixerSuite): kind = Mine``.

``kind`` makes the module; ``settings`` are constructor arguments of its own that every test uses. Reference values come from
the module itself in another situation (a mask and the key it removes, a batch and its members, float64), never from a formula
that the module shares: what it computes is tested in a file of its own.
"""

import copy
import io
import math
import warnings
from typing import ClassVar

import pytest
import torch
from helpers.draw import close, derivatives, mask_of, normal, parameter_check
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd import gradcheck
from torch.func import functional_call, stack_module_state, vmap

from attnlib import causal_mask, no_value_checks, padding_mask, rotary_places
from attnlib.attention import Mixer

LOOSE = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float32: 1e-5, torch.float64: 1e-12}


class Made:
    """How the suites make the module they test."""

    kind: type[Mixer]
    settings: ClassVar[dict[str, object]] = {}
    small: ClassVar[dict[str, object]] = {}
    """Settings over ``settings`` where derivatives are compared with differences, one evaluation of the module or two for each
    entry of its parameters."""
    traced: ClassVar[dict[str, object]] = {}
    """Settings over ``settings`` where torch traces: fewer steps of an iteration, each of which is traced by itself."""
    exports = True
    """False where the mixer takes a gradient inside, which ``torch.export`` cannot trace."""
    crosses = True
    """False where the mixer learns couplings between places of x: then it takes no context and no bias of scores, and it
    matters where a token stands. Tests of a context of its own, of the order of tokens and of who else asks have no meaning
    there; all others run with x alone, and a token that is hidden from all stands behind those that are not."""

    def make(self, dim=4, context_dim=None, *, heads=2, dtype=torch.float64, seed=0, **more):
        torch.manual_seed(seed)
        return self.kind(dim, context_dim, heads=heads, dtype=dtype, **(self.settings | more))

    def inputs(self, *batch, n, m, width=4):
        """Tokens, a context and a mask; no context, and as many keys as tokens, where the mixer takes none."""
        x = normal(*batch, n, 4)
        return (
            (x, normal(*batch, m, width, seed=1), mask_of(*batch, n, m)) if self.crosses else (x, None, mask_of(*batch, n, n))
        )


class MixerSuite(Made):
    """Inherit, and set ``kind``."""

    # Shapes

    @pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3), (2, 1, 3), (0,), (2, 0)])
    def test_any_batch(self, batch):
        module = self.make(context_dim=6 if self.crosses else None)
        x, context, mask = self.inputs(*batch, n=5, m=7, width=6)
        out = module(x, context, mask)
        assert out.shape == x.shape
        flat = {
            name: t.reshape(-1, *t.shape[-2:]) for name, t in (("x", x), ("context", context), ("mask", mask)) if t is not None
        }
        for i, row in enumerate(out.reshape(-1, 5, 4)):
            close(row, module(**{name: t[i] for name, t in flat.items()}), atol=1e-12)

    def test_what_it_does_not_take_is_refused(self):
        if not self.crosses:
            x = normal(2, 3, 4)
            for name, given in (("context", x), ("score_bias", normal(3, 3))):
                with pytest.raises(ValueError, match=f"{name} is given; expected None"):
                    self.make()(x, **{name: given})

    def test_nothing_to_ask_gives_nothing(self):
        if not self.crosses:
            return
        assert self.make()(normal(2, 0, 4), normal(2, 3, 4)).shape == (2, 0, 4)

    def test_a_token_does_not_depend_on_who_else_asks(self):
        if not self.crosses:
            return
        module, x, context = self.make(), normal(2, 5, 4), normal(2, 7, 4, seed=1)
        close(module(x[:, 2:4], context), module(x, context)[:, 2:4], atol=1e-12)

    def test_the_order_of_the_context_is_nothing(self):
        if not self.crosses:
            return
        module, x, context = self.make(), normal(2, 3, 4), normal(2, 7, 4, seed=1)
        order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
        mask = mask_of(2, 3, 7)
        close(module(x, context[:, order], mask[:, :, order]), module(x, context, mask), atol=1e-12)

    # Masks

    @pytest.mark.parametrize("shape", [(), (7,), (1, 7), (5, 7), (3, 1, 7), (1, 5, 7), (3, 5, 7), (3, 2, 5, 7), (1, 2, 1, 7)])
    def test_masks_broadcast_and_may_carry_heads(self, shape):
        module, (x, context, whole) = self.make(), self.inputs(3, n=5, m=7)
        m = whole.shape[-1]
        mask = mask_of(*shape[:-1], m, seed=2) if shape else torch.tensor(True)
        full = mask.expand(3, 2, 5, m) if len(shape) == 4 else mask.expand(3, 5, m)[:, None].expand(3, 2, 5, m)
        close(module(x, context, mask), module(x, context, full.clone()), atol=1e-12)
        if not shape:
            close(module(x, context, mask), module(x, context), atol=1e-12)

    def test_what_a_mask_hides_is_as_if_it_were_not_there(self):
        module, x, context = self.make(), normal(2, 5, 4), normal(2, 7, 4, seed=1)
        if not self.crosses:
            first = torch.arange(5) < 3
            close(module(x, mask=first)[:, :3], module(x[:, :3]), atol=1e-12)
            other = torch.where(first[:, None], x, 50.0)
            close(module(other, mask=first)[:, :3], module(x, mask=first)[:, :3], atol=1e-12)
            return
        kept = torch.tensor([True, False, True, True, False, False, True])
        close(module(x, context, kept), module(x, context[:, kept]), atol=1e-12)
        other = torch.where(kept[:, None], context, 50.0)
        close(module(x, other, kept), module(x, context, kept), atol=1e-12)

    def test_a_mask_is_never_taken_for_another(self):
        """Where the batch is as large as the number of tokens, shapes alone do not tell a causal mask from a padding mask."""
        module, x = self.make(), normal(5, 5, 4)
        later = x.clone()
        later[:, 3:] += 1
        for mask in (causal_mask(5), causal_mask(5)[None], causal_mask(5).expand(5, 5, 5)):
            close(module(later, mask=mask)[:, :3], module(x, mask=mask)[:, :3], atol=1e-12)
        padding = padding_mask(torch.tensor([1, 2, 3, 4, 5]), 5)
        for i in range(5):
            found = module(x, mask=padding)[i]
            if self.crosses:
                close(found, module(x[i], x[i, : i + 1]), atol=1e-12)
            else:
                close(found[: i + 1], module(x[i, : i + 1]), atol=1e-12)
        with pytest.raises(ValueError, match=r"mask has shape \(3, 5\).*mask\[:, None\]"):
            module(normal(3, 4 if self.crosses else 5, 4), normal(3, 5, 4) if self.crosses else None, padding[:3, 0])

    @pytest.mark.parametrize("m", [4, 6])
    def test_causal_is_the_causal_mask(self, m):
        plain, causal = self.make(), self.make(causal=True)
        if not self.crosses:
            x = normal(2, 4, 4)
            close(causal(x), plain(x, mask=causal_mask(4)), atol=1e-12)
            close(causal(x)[:, :3], causal(x[:, :3]), atol=1e-12)
            padding = padding_mask(torch.tensor([4, 3]), 4)
            close(causal(x, mask=padding), plain(x, mask=causal_mask(4) & padding), atol=1e-12)
            return
        x, context = normal(2, 4, 4), normal(2, m, 4, seed=1)
        close(causal(x, context), plain(x, context, causal_mask(4, m)), atol=1e-12)
        padding = padding_mask(torch.tensor([m, m - 1]), m)
        close(causal(x, context, padding), plain(x, context, causal_mask(4, m) & padding), atol=1e-12)
        bias = normal(2, 4, m, seed=2)
        close(causal(x, context, score_bias=bias), plain(x, context, causal_mask(4, m), score_bias=bias), atol=1e-12)
        with pytest.raises(ValueError, match="causal is True with 8 queries and 4 keys; expected at least as many keys"):
            causal(normal(2, 8, 4), normal(2, 4, 4))
        future = torch.ones(4, 4, dtype=torch.bool).triu(1)
        with pytest.raises(ValueError, match="mask has a row that allows nothing"):
            causal(x, mask=future)

    def test_a_token_that_sees_nothing_is_an_error_or_zero(self):
        x, mask = normal(2, 3, 4, grad=True), mask_of(2, 3, 3)
        mask[1, 2] = False
        with pytest.raises(ValueError, match="mask has a row that allows nothing"):
            self.make()(x, mask=mask)
        module = self.make(empty="zero")
        out = module(x, mask=mask)
        assert torch.equal(out[1, 2], torch.zeros(4, dtype=torch.float64))
        opened = mask.clone()
        opened[1, 2] = True
        close(out[0], module(x, mask=opened)[0], atol=1e-12)
        (gradient,) = torch.autograd.grad(out.square().sum(), x)
        assert bool(torch.isfinite(gradient).all())
        nowhere = torch.zeros(3, 3, dtype=torch.bool)
        assert torch.equal(module(x, mask=nowhere), torch.zeros_like(x))

    # Numbers

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
    @pytest.mark.parametrize("scale", [1.0, 30.0])
    def test_lower_precision_is_near_the_exact_result(self, dtype, scale):
        module = self.make(dtype=dtype)
        x, context, mask = self.inputs(2, n=3, m=5)
        x, context = ((None if t is None else (scale * t).to(dtype)) for t in (x, context))
        out = module(x, context, mask)
        assert out.dtype == dtype
        if scale > 1 and dtype != torch.float32:
            assert bool(torch.isfinite(out).all())  # frozen: a rounded query may choose another key
        else:
            exact = copy.deepcopy(module).double()(x.double(), None if context is None else context.double(), mask)
            close(out.double(), exact, atol=LOOSE[dtype] * scale, rtol=LOOSE[dtype] * scale)

    @derivatives
    @pytest.mark.parametrize("more", [{}, {"bias": True}, {"causal": True}, {"learn_beta": True}])
    def test_it_differentiates(self, more, how):
        module = self.make(2, heads=2, head_dim=1, **(self.small | more))
        x, context = normal(1, 2, 2, grad=True), normal(1, 3, 2, seed=1, grad=True)
        if self.crosses:
            assert parameter_check(module, gradcheck, x, context, how=how, mask=mask_of(1, 2, 3))
        else:
            assert parameter_check(module, gradcheck, x, how=how, mask=mask_of(1, 2, 2))
        assert parameter_check(module, gradcheck, x, how=how)

    def test_a_learned_beta_is_one_for_each_head_and_stays_positive(self):
        module = self.make(learn_beta=True, beta=torch.tensor([0.5, 2.0]))
        assert module.log_beta.shape == (2,)
        assert "log_beta" in module.state_dict()
        close(module.beta.detach(), torch.tensor([0.5, 2.0], dtype=torch.float64), atol=1e-15)
        x = normal(2, 3, 4)
        fixed = self.make(beta=torch.tensor([0.5, 2.0]))
        assert not fixed.log_beta.requires_grad
        close(module(x), fixed(x), atol=1e-14)
        close(self.make(beta=0.7)(x), self.make(beta=torch.full((2,), 0.7, dtype=torch.float64))(x), atol=1e-12)
        optimiser = torch.optim.SGD(module.parameters(), lr=50.0)
        module(x).square().sum().backward()
        optimiser.step()
        assert bool((module.beta > 0).all())
        assert "learn_beta" in repr(module)
        with pytest.raises(ValueError, match="beta requires a gradient; expected learn_beta=True"):
            self.make(beta=nn.Parameter(torch.ones(2)))
        with pytest.raises(ValueError, match=r"beta has shape \(3,\); expected one that broadcasts to \(2,\)"):
            self.make(beta=torch.ones(3))

    def test_a_score_bias_of_minus_much_is_a_mask(self):
        if not self.crosses:
            return
        module, x, context = self.make(), normal(2, 3, 4), normal(2, 5, 4, seed=1)
        mask = mask_of(2, 2, 3, 5)
        bias = torch.where(mask, 0.0, -1e6).double()
        close(module(x, context, score_bias=bias), module(x, context, mask), atol=1e-10)
        close(module(x, context, score_bias=bias[:, 0]), module(x, context, mask[:, 0]), atol=1e-10)
        close(module(x, context, score_bias=torch.full((3, 5), 0.3).double()), module(x, context), atol=1e-12)  # nothing moves
        with pytest.raises(ValueError, match=r"score_bias has shape \(2, 5\); expected one that broadcasts to \(2, 3, 5\)"):
            module(x, context, score_bias=bias[:, 0, 0])

    def test_places_are_put_into_queries_and_keys(self):
        module = self.make(8, places=rotary_places)
        x = normal(2, 5, 8)
        out = module(x)
        assert not torch.allclose(out, self.make(8)(x))
        order = torch.tensor([1, 0, 2, 3, 4])
        assert not torch.allclose(module(x[:, order])[:, order], out)  # who stands where matters
        if not self.crosses:
            return
        causal = self.make(8, places=rotary_places, causal=True)
        close(causal(x[:, 3:], x), causal(x)[:, 3:], atol=1e-12)  # earlier keys cached: the last query is the last token

    # Torch

    def test_every_mode_gives_the_same(self):
        module, (x, context, mask) = self.make(), self.inputs(2, n=3, m=5)
        out = module.train()(x, context, mask)
        assert torch.equal(module.eval()(x, context, mask), out)
        for mode in (torch.no_grad, torch.inference_mode, no_value_checks):
            with mode():
                close(module(x + 0, None if context is None else context + 0, mask).detach(), out.detach(), atol=1e-12)
        assert not x.requires_grad

    def test_dropout_is_for_training(self):
        if not self.kind.has_weights:
            with pytest.raises(ValueError, match=r"dropout is 0\.5; expected 0"):
                self.make(dropout=0.5)
            return
        module, x = self.make(dropout=0.5), normal(2, 30, 4)
        plain = self.make()
        close(module.eval()(x), plain(x), atol=1e-12)
        assert not torch.allclose(module.train()(x), plain(x))
        for wrong in (-0.1, 1.0, math.nan):
            with pytest.raises(ValueError, match="dropout is"):
                self.make(dropout=wrong)

    def test_vmap_over_inputs_and_masks(self):
        module, (x, context, mask) = self.make(), self.inputs(6, n=3, m=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says which of its operations it runs one by one
            if not self.crosses:
                close(vmap(lambda a, b: module(a, mask=b))(x, mask), module(x, mask=mask), atol=1e-12)
                close(vmap(lambda b: module(x[0], mask=b))(mask), module(x[:1].expand(6, 3, 4), mask=mask), atol=1e-12)
                return
            close(vmap(module)(x, context, mask), module(x, context, mask), atol=1e-12)
            shared = module(x[:1].expand(6, 3, 4), context[:1].expand(6, 5, 4), mask)
            close(vmap(module, in_dims=(None, None, 0))(x[0], context[0], mask), shared, atol=1e-12)

    def test_an_ensemble_of_modules(self):
        modules = [self.make(seed=seed) for seed in range(3)]
        parameters, buffers = stack_module_state(modules)
        x = normal(2, 3, 4)
        base = copy.deepcopy(modules[0]).to("meta")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = vmap(lambda p, b: functional_call(base, (p, b), (x,)))(parameters, buffers)
        close(out, torch.stack([module(x) for module in modules]), atol=1e-12)

    def test_on_the_meta_device(self):
        module = self.make(device="meta", learn_beta=True)
        x = torch.empty(2, 3, 4, dtype=torch.float64, device="meta")
        mask = torch.empty(3, 3, dtype=torch.bool, device="meta")
        assert module(x, mask=mask).is_meta
        assert module(x, mask=mask).shape == (2, 3, 4)
        assert "heads=2" in repr(module)

    @pytest.mark.slow
    def test_on_another_device(self):
        """Every tensor that is made on the way is made where the input is: a fake device refuses to mix."""
        module = self.make(device="meta", learn_beta=True, causal=True, places=rotary_places)
        mode = FakeTensorMode()

        def there(*shape, dtype=torch.float64):
            return FakeTensor(mode, torch.empty(shape, dtype=dtype, device="meta"), torch.device("lazy"))

        parameters = {name: there(*p.shape) for name, p in module.named_parameters()}
        x, mask = there(2, 3, 4), there(2, 3, 3, dtype=torch.bool)
        others = [{"score_bias": there(3, 3)}] if self.crosses else []
        with mode:
            for more in ({}, {"mask": mask}, *others):
                assert functional_call(module, parameters, (x,), more).device.type == "lazy"
            with pytest.raises(ValueError, match="mask is on cpu; expected lazy"):
                functional_call(module, parameters, (x,), {"mask": torch.ones(3, 3, dtype=torch.bool)})

    def test_autocast(self):
        module, x, context = self.make(dtype=torch.float32), normal(2, 3, 4).float(), normal(2, 5, 4, seed=1).float()
        exact = module(x, context if self.crosses else None)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pairs = ((x, context), (x, context.bfloat16()), (x.bfloat16(), context))
            for a, b in pairs if self.crosses else ((x, None), (x.bfloat16(), None)):
                out = module(a, b)
                assert out.dtype == torch.bfloat16
                close(out.float(), exact, atol=0.1)

    def test_it_is_saved_copied_and_moved(self):
        module, x = self.make(learn_beta=True, bias=True), normal(2, 3, 4)
        other = self.make(learn_beta=True, bias=True, seed=5)
        assert not torch.allclose(other(x), module(x))
        other.load_state_dict(module.state_dict())
        close(other(x), module(x), atol=0.0)
        file = io.BytesIO()
        torch.save(module, file)
        file.seek(0)
        close(torch.load(file, weights_only=False)(x), module(x), atol=0.0)
        close(copy.deepcopy(module)(x), module(x), atol=0.0)
        assert module.float()(x.float()).dtype == torch.float32

    def test_what_explain_says_is_what_the_call_does(self):
        if not hasattr(self.kind, "explain"):
            assert "explain" not in vars(Mixer)  # it need not
            return
        module, (x, context, mask) = self.make(), self.inputs(2, n=3, m=5)
        record = module.explain(x, context, mask)
        close(record.output, module(x, context, mask), atol=1e-12)
        assert record.output.requires_grad
        if getattr(record, "weights", None) is not None:
            close(record.weights.sum(-1), torch.ones(2, 2, 3, dtype=torch.float64), atol=1e-12)
            assert bool((record.weights[(~mask)[:, None].expand(record.weights.shape)] == 0).all())


class TracedSuite(Made):
    """What torch traces. It cannot trace the run-time checks of shapes that the other tests switch on.

    ``test_traced.py`` therefore runs these in an interpreter without them, as users have it.
    """

    @pytest.mark.parametrize("more", [{}, {"causal": True, "learn_beta": True}], ids=["as it is", "all settings"])
    def test_it_compiles_without_a_break(self, more):
        module, (x, context, mask) = self.make(**more), self.inputs(2, n=3, m=5)
        mask[:, :, 0] = True
        torch.compiler.reset()
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        for arguments in ((x,), *([(x, context)] if self.crosses else []), (x, context, mask)):
            out, expected = compiled(*arguments), module(*arguments)
            close(out, expected, atol=1e-12)
            gradients = torch.autograd.grad(out.square().sum(), list(module.parameters()))
            for a, b in zip(gradients, torch.autograd.grad(expected.square().sum(), list(module.parameters()))):
                close(a, b, atol=1e-10)

    @torch.no_grad()
    def test_an_empty_row_is_not_silent_where_no_value_can_be_seen(self):
        """Seen in what a traced call returns, so its graph runs as it stands: no gradient, no compiler behind the tracer."""
        x, mask = normal(2, 3, 4), mask_of(2, 3, 3)
        mask[1, 2] = False
        torch.compiler.reset()
        out = torch.compile(self.make(), fullgraph=True, backend="eager")(x, mask=mask)
        assert out[1, 2].isnan().all()
        assert out.isfinite().all(-1).sum() == 5
        with no_value_checks():
            assert self.make()(x, mask=mask)[1, 2].isnan().all()
        torch.compiler.reset()
        module = self.make(empty="zero")
        close(torch.compile(module, fullgraph=True, backend="eager")(x, mask=mask), module(x, mask=mask), atol=1e-12)

    def test_it_exports(self):
        module, (x, context, mask) = self.make(), self.inputs(2, n=3, m=5)
        if not self.exports:
            with pytest.raises(RuntimeError):  # when torch has learnt it, this test says so
                torch.export.export(module, (x, context, mask))
            return
        program = torch.export.export(module, (x, context, mask))
        other = normal(2, 3, 4, seed=7)
        close(program.module()(other, context, mask), module(other, context, mask), atol=1e-12)
