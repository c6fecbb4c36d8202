"""Differentiation of a fixed point without its iterations: one linear solve, by the implicit function theorem.

At a solution ``z = f(z, theta)`` the differentials obey ``dz = J dz + df``, with ``J`` the Jacobian of ``f`` in ``z``. A
gradient ``g`` of ``z`` therefore becomes ``u = (1 - J^T)^-1 g`` in front of ``f``. The linear equation ``u = g + J^T u`` is
itself a fixed point, and is solved and, where second derivatives are asked for, differentiated by the same code.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlib._core.checks import check_floating
from attnlib._core.values import check_finite

Map = Callable[[Tensor], Tensor]
"""States ``[*batch, k]`` in, states out, each sample's from its own."""

LinearSolver = Callable[[Map, Tensor], Tensor]
"""Solves ``u = f(u)`` for a linear map, from a start."""


def check_map(function: object, name: str, state: Tensor) -> None:
    """Raise unless it is a function, and the state that it is to be asked at finite, ``[*batch, k]``, with k at least 1."""
    check_floating(**{name: state})
    if state.ndim < 1 or state.shape[-1] == 0:
        raise ValueError(f"{name} has shape {tuple(state.shape)}; expected [*batch, k] with k >= 1")
    check_finite(**{name: state})
    if not callable(function):
        raise ValueError(f"function is a {type(function).__name__}; expected a function of states")


def attach(function: Map, solution: Tensor, solve: LinearSolver, slack: float, *, twice: bool = True) -> Tensor:
    """The solution with its derivatives with respect to whatever the function closes over, the second ones too.

    The function is evaluated once more, at a solution that knows its first derivatives: then its own second derivatives see
    how the solution moves. What reaches that inner solution in a first derivative cancels up to ``slack``, and is dropped.
    """
    with torch.enable_grad():
        image = function(solution.detach())
        if not image.requires_grad:
            return solution
        note = _Note()
        inner: Tensor = _Implicit.apply(image, solution.detach(), function, solve, slack, note, None)
        if not twice:
            return inner
        outer: Tensor = _Implicit.apply(function(inner), inner, function, solve, slack, None, note)
        return outer


class _Note:
    """What the outer function tells the inner one: gradients up to this are the remains of a cancellation."""

    remains = 0.0


class _Implicit(torch.autograd.Function):
    """Passes the solution on, and pulls gradients back through the linear equation."""

    @staticmethod
    def forward(
        ctx: Any,
        image: Tensor,
        solution: Tensor,
        function: Map,
        solve: LinearSolver,
        slack: float,
        read: _Note | None,
        write: _Note | None,
    ) -> Tensor:
        ctx.function, ctx.solve, ctx.slack, ctx.read, ctx.write = function, solve, slack, read, write
        found = solution.clone()
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        nothing = (None,) * 5
        (solution,) = ctx.saved_tensors
        (gradient,) = gradients
        if ctx.read is not None and gradient.numel() and float(gradient.detach().abs().amax()) <= ctx.read.remains:
            return None, None, *nothing
        again = torch.is_grad_enabled()  # second derivatives are asked for
        if not again:
            solution = solution.detach()
        with torch.enable_grad():
            start = solution if solution.requires_grad else solution.requires_grad_()
            image = ctx.function(start)

        def pulled(u: Tensor) -> Tensor:
            create = torch.is_grad_enabled()
            (back,) = torch.autograd.grad(image, start, u, retain_graph=True, create_graph=create, allow_unused=True)
            return gradient if back is None else gradient + back

        with torch.no_grad():
            found = ctx.solve(pulled, gradient.detach())
        if again:
            found = attach(pulled, found, ctx.solve, ctx.slack, twice=False)
        if ctx.write is None:
            return found, None, *nothing
        if found.numel():
            ctx.write.remains = ctx.slack * float(found.detach().abs().amax())
        return found, gradient - found, *nothing
