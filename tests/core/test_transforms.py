"""A block in which nothing has derivatives, of either kind, also where torch compiles."""

import pytest
import torch
from helpers.draw import close, normal

from attnlib._core.transforms import no_derivatives


def product(x):
    """x times a sine that counts as a constant: its slope is the sine."""
    with no_derivatives():
        held = x.sin()
    return x * held


X = normal(4)


def test_inside_nothing_has_derivatives_backward():
    x = X.clone().requires_grad_()
    (slope,) = torch.autograd.grad(product(x).sum(), x)
    close(slope, X.sin(), atol=0.0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_inside_nothing_has_derivatives_forward():
    close(torch.func.jvp(product, (X,), (torch.ones_like(X),))[1], X.sin(), atol=0.0)
    close(torch.func.jacfwd(product)(X), X.sin().diag(), atol=0.0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_of_a_derivative_inside_another_neither_sees_what_is_inside():
    """The slope is the sine itself, held: of this no second derivative is left."""
    close(torch.func.hessian(lambda x: product(x).sum())(X), torch.zeros(4, 4, dtype=X.dtype), atol=0.0)


@pytest.mark.slow
def test_torch_compiles_it_without_a_break():
    x = X.clone().requires_grad_()
    torch.compiler.reset()
    found = torch.compile(product, fullgraph=True, backend="aot_eager")(x)
    close(found, X * X.sin(), atol=1e-15)
    close(torch.autograd.grad(found.sum(), x)[0], X.sin(), atol=1e-15)
