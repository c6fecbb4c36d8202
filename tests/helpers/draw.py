"""Random tensors from a seed, and the hypothesis strategies for shapes, masks, temperatures and dtypes."""

import math

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch.func import functional_call

SINGLE = False
"""True in the copy of these tests that test_single_precision.py runs: then :func:`close` allows what float32 rounds."""

EXAMPLES = 50
"""How many examples of a property hypothesis tries in the last tier."""

derivatives = pytest.mark.parametrize(
    "how",
    [{"fast_mode": True, "check_undefined_grad": False}, pytest.param({}, marks=pytest.mark.whole)],
    ids=["along one direction", "entry by entry"],
)
"""How ``gradcheck`` and ``gradgradcheck`` compare with differences: along one direction, in the last tier also by entries."""

seeds = st.integers(0, 2**31)
sizes = st.integers(1, 5)
batches = st.lists(st.integers(1, 3), max_size=3).map(tuple)
dtypes = st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64])
ordinary_betas = st.floats(0.01, 20)
betas = st.one_of(st.sampled_from([0, 0.0, 1, math.inf, 1e-300, 1e-20, 1e6, 1e20, 1e38, 1e300]), ordinary_betas)


def examples(number):
    """Other than :data:`EXAMPLES` in the last tier; in the others the same share of them as of those."""
    return settings(max_examples=math.ceil(number * settings.default.max_examples / EXAMPLES))


def normal(*shape, seed=0, dtype=torch.float64, scale=1.0, grad=False):
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
    return drawn.to(dtype).requires_grad_(grad)


def couplings(*shape, g=1.0, seed=0, dtype=torch.float64):
    """Symmetric random couplings ``[*shape, n]`` whose largest eigenvalue is about 2 g."""
    upper = normal(*shape, shape[-1], seed=seed).triu(1) * g / shape[-1] ** 0.5
    return (upper + upper.mT).to(dtype)


def symmetric(J):
    """Couplings that have the upper triangle of J."""
    upper = J.triu(1)
    return upper + upper.mT


def mask_of(*shape, seed=0):
    """A random mask with about half its entries True, and at least one in each row."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape, generator=generator) < 0.5
    kept = torch.randint(shape[-1], shape[:-1], generator=generator)
    return mask.scatter(-1, kept[..., None], True)


def close(a, b, atol=1e-10, rtol=0.0):
    if SINGLE:
        atol, rtol = max(atol, 2e-5), max(rtol, 2e-5)
    torch.testing.assert_close(a, b, atol=atol, rtol=rtol)


def parameter_check(module, check, *tensors, how=None, **settings):
    """Check derivatives with respect to the inputs and all parameters of a module; ``how`` is for the check."""
    names = [name for name, _ in module.named_parameters()]
    parameters = [p.detach().requires_grad_() for p in module.parameters()]

    def call(*arguments):
        values = dict(zip(names, arguments[len(tensors) :]))
        return functional_call(module, values, arguments[: len(tensors)], settings)

    return check(call, (*tensors, *parameters), **(how or {}))
