"""A solution, however it was found, with its derivatives: those of the fixed point, not of the way there.

A sample that has settled stops, perhaps at once, where it began: what is returned then says nothing of how it would move. With
no field on any spin the first messages are already the last, and their derivatives by the fields must be found all the same.
"""

from collections.abc import Callable
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import forward_ad

from attnlib._core.checks import check_count, check_floating
from attnlib._core.convergence import OnFailure, check_solver, report_failure
from attnlib._core.transforms import beneath, in_forward_mode, only_forward, transforming
from attnlib._core.values import check_finite, settled
from attnlib.solve.implicit import LinearSolver, Map, attach
from attnlib.solve.iterate import Iterate, followed

SMALL = 128
"""States with up to so many components have Jacobians that are cheaper than an iteration towards a derivative."""


def with_derivatives(
    function: Callable[[Tensor], Tensor],
    solution: Float[Tensor, "*batch k"],
    *,
    tolerance: float | int | None = None,
    max_steps: int = 200,
    sweeps: int = 0,
    on_failure: OnFailure = "error",
) -> Float[Tensor, "*batch k"]:
    r"""Give a solution of ``z = f(z)`` its derivatives by whatever f closes over, by the implicit function theorem.

    .. math:: dz = \Big(1 - \frac{\partial f}{\partial z}\Big)^{-1} \frac{\partial f}{\partial \theta}\, d\theta

    It does not matter how the solution was found; that it is one is taken for granted. It differentiates twice, and under
    ``torch.func`` as often as its transforms are nested. A gradient costs one linear equation, solved by the function's own
    derivative.

    Args:
        function: the map; states ``[*batch, k]`` in and out. Each sample's image must depend on that sample alone.
        solution: where ``f(z)`` is z, ``[*batch, k]``, finite.
        tolerance: what may be left of the linear equation, relative to the gradient; default 256 times the dtype's precision.
        max_steps: evaluations of the derivative allowed to it.
        sweeps: how many plain steps to try before Anderson's method; default few. Those of a map that contracts always arrive.
        on_failure: an equation that is not solved is an ``"error"`` (default), a ``ConvergenceError``; or ``"warn"``.

    Returns:
        The same numbers, ``[*batch, k]``. How the solution given was found has no part in their derivatives.

    Raises:
        ValueError: a solution that is not ``[*batch, k]`` or not finite, settings out of range.

    Source: Bai, Kolter and Koltun 2019, theorem 1.

    >>> a = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    >>> z = with_derivatives(lambda z: a * z + 1, torch.tensor([2.0], dtype=torch.float64))  # z = 1 / (1 - a)
    >>> torch.autograd.grad(z.sum(), a)
    (tensor(4.0000, dtype=torch.float64),)
    """
    check_floating(solution=solution)
    if solution.ndim < 1:
        raise ValueError(f"solution has shape {tuple(solution.shape)}; expected [*batch, k]")
    check_finite(solution=solution)
    if not callable(function):
        raise ValueError(f"function is a {type(function).__name__}; expected a function of states")
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=256 * torch.finfo(solution.dtype).eps)
    sweeps = check_count("sweeps", sweeps, least=0)
    return moving(function, solution.detach(), linear_solver(tolerance, max_steps, on_failure, sweeps), 100 * tolerance)


def moving(function: Map, solution: Tensor, solve: LinearSolver, slack: float, solved: Tensor | None = None) -> Tensor:
    """A solution with its derivatives, whichever way they are taken.

    Backwards each costs one linear equation; so does one forward derivative of a large state. Those of a small one, and those
    that ``torch.func`` nests, take the Jacobian of each sample that is ``solved``, by default of all.
    """
    if not (transforming() or in_forward_mode()):
        return attach(function, solution, solve, slack)
    image = function(solution) if solution.shape[-1] > SMALL and in_forward_mode() else solution
    along = forward_ad.unpack_dual(image).tangent
    if along is None or not only_forward(image, along):
        return followed(function, solution, solved)

    def linear(tangent: Tensor) -> Tensor:
        return cast("Tensor", forward_ad.unpack_dual(function(forward_ad.make_dual(solution, tangent))).tangent)

    with torch.no_grad():
        return forward_ad.make_dual(solution, solve(linear, along))


def linear_solver(tolerance: float | int, max_steps: int, on_failure: OnFailure, sweeps: int = 0) -> LinearSolver:
    """What solves the linear equation of a gradient: the plain iteration where its first steps take off a third each or more.

    Elsewhere it is Anderson with a long memory, which for a linear map is GMRES: few steps, each many times as dear. With
    ``sweeps`` so many plain steps come first, whatever they take off.
    """

    def solve(linear: Map, start: Tensor) -> Tensor:
        if sweeps:
            in_units, start, unit = _in_units(linear, start)
            found = Iterate("damped", 1.0, tolerance, sweeps, 1, 1.0)(in_units, start)
            start = found.solution * unit
            if settled(found.converged):
                return start
        in_units, start, unit = _in_units(linear, start)
        found = Iterate("damped", 1.0, tolerance, 8, 1, 1.0)(in_units, start)
        if settled(found.residual < (2 / 3) ** 8) and not settled(found.converged):
            found = Iterate("damped", 1.0, tolerance, 40, 1, 1.0)(in_units, found.solution)
        if not settled(found.converged):
            found = Iterate("anderson", 1.0, tolerance, max(max_steps, 50), 30, 1e-14)(in_units, found.solution)
        if not settled(found.converged):
            failed, left = int((~beneath(found.converged)).sum()), float(beneath(found.residual).max())
            report_failure(
                f"the derivative of {failed} samples did not converge: {left:.2g} is left",
                iterations=max(max_steps, 50),
                residual=left,
                on_failure=on_failure,
            )
        return found.solution * unit

    return solve


def _in_units(linear: Map, start: Tensor) -> tuple[Map, Tensor, Tensor]:
    """A linear map and a start in units of the start's largest component, so that a tolerance is relative; and the units."""
    unit = start.abs().amax(-1, keepdim=True)
    unit = torch.where(unit > 0, unit, 1.0)
    return lambda u: linear(u * unit) / unit, start / unit, unit
