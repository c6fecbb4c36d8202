"""Fixed points of any map, with derivatives that store no steps."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_choice, check_count, check_field, check_number
from attnlib._core.convergence import OnFailure, check_solver, report_failure
from attnlib._core.numerics import differentiable
from attnlib._core.transforms import in_forward_mode, no_derivatives, transforming
from attnlib._core.values import looking, refuted
from attnlib.solve.derivatives import linear_solver, moving
from attnlib.solve.implicit import check_map
from attnlib.solve.iterate import FixedPoint, Iterate, Method


def fixed_point(
    function: Callable[[Tensor], Tensor],
    start: Float[Tensor, "*batch k"],
    *,
    method: Method = "damped",
    step: float | int | Callable[[Tensor], Tensor] = 1.0,
    tolerance: float | int | None = None,
    max_steps: int = 200,
    memory: int = 5,
    ridge: float | int = 1e-10,
    parts: Sequence[int] | None = None,
    scale: Float[Tensor, "..."] | None = None,
    on_failure: OnFailure = "error",
) -> FixedPoint:
    r"""Solve ``z = f(z)`` for each sample, and differentiate the solution by the implicit function theorem.

    .. math:: \frac{dz}{d\theta} = \Big(1 - \frac{\partial f}{\partial z}\Big)^{-1} \frac{\partial f}{\partial \theta}

    A sample that has converged is not moved any more, so that its solution does not depend on who else is in the batch.
    The iterations leave nothing behind: memory does not grow with their number. The solution differentiates twice with respect
    to everything that the function closes over, and not with respect to the start.

    In forward mode and under the transforms of ``torch.func`` values are found first and then followed: n steps from the
    solution with its Jacobian have n derivatives, of which there are two, or as many as transforms are nested. Under ``vmap``
    nothing is raised. Where no value can be seen (compiling, on the meta device) nothing is raised, all ``max_steps`` are
    taken, also by a sample that has converged, and derivatives go through the steps; with ``"anderson"``, whose steps lose
    their meaning near the solution, they follow too.

    Args:
        function: the map; states ``[*batch, k]`` in and out. Each sample's image must depend on that sample alone.
        start: where to start, ``[*batch, k]``, finite. It is not changed.
        method: ``"damped"`` (default; the cheapest step, and the quickest for maps that contract well), ``"anderson"`` (for
            slow ones), or ``"newton"`` (few steps, each with k derivatives of the map and an equation of k unknowns).
        step: how far to go towards the image, a number above 0, or a function of the state that gives one for each sample,
            ``[*batch]``, asked right after the map itself, and again where a state has moved by a hundredth of its size since;
            Newton's own step is whole.
        tolerance: a sample is done when no component of ``f(z) - z`` is larger than this times the largest component of the
            state, of one that was the best until then, or of the first step; default the dtype's precision to the power 2/3,
            4e-11 in float64. Being relative, it holds for any size: a small first step is not taken for the end.
        max_steps: evaluations of the map allowed.
        memory: how many earlier states Anderson combines.
        ridge: what is added to the diagonal of Anderson's Gram matrix, relative to it.
        parts: sizes of parts of the state that have magnitudes of their own, in order, such as ``(k, k * k)`` for means and
            covariances: then the tolerance is relative to each. Default one part.
        scale: what the tolerance is relative to where a state is smaller, one number for each part, broadcast to
            ``[*batch, parts]``, not negative: for who knows how large a solution is, and starts far from a small one.
        on_failure: a sample that does not converge is an ``"error"`` (default), a ``ConvergenceError`` that carries
            iterations, residual and ``found``; or ``"warn"``, and the best state seen is returned, with ``converged`` False.

    Returns:
        :class:`FixedPoint`.

    Raises:
        ValueError: a start that is not ``[*batch, k]`` or not finite, a function that changes shape or dtype, settings out of
            range.

    Source: Bai, Kolter and Koltun 2019 for the derivative; Walker and Ni 2011 for Anderson's method.

    >>> found = fixed_point(torch.cos, torch.zeros(2, 1, dtype=torch.float64))
    >>> found.solution[0], found.converged
    (tensor([0.7391], dtype=torch.float64), tensor([True, True]))
    """
    check_map(function, "start", start)
    check_choice("method", method, ("damped", "anderson", "newton"))
    if not callable(step):
        step = check_number("step", step, above=0)
        if step > torch.finfo(start.dtype).max:
            raise ValueError(f"step is {step}; expected a number that {start.dtype} can hold")
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=torch.finfo(start.dtype).eps ** (2 / 3))
    memory, ridge = check_count("memory", memory, least=1), check_number("ridge", ridge, above=0)
    start = differentiable(start).detach()
    blind = start.is_meta or not looking()
    through = blind and (torch.is_grad_enabled() or transforming())
    iterate = Iterate(method, step, tolerance, max_steps, memory, ridge, through, *_checked_sizes(start, parts, scale))

    def checked(state: Tensor) -> Tensor:
        image = function(state)
        if not isinstance(image, Tensor) or image.shape != state.shape or image.dtype != state.dtype:
            came = f"{image.dtype} {tuple(image.shape)}" if isinstance(image, Tensor) else f"a {type(image).__name__}"
            raise ValueError(f"function returned {came}; expected {state.dtype} {tuple(state.shape)}, as it got")
        return image

    if blind:
        return iterate(checked, start)
    with no_derivatives():
        found = iterate(checked, start)
    if refuted(found.converged.all):
        failed = int((~found.converged).sum())
        report_failure(
            f"{failed} of {found.converged.numel()} samples did not converge in {max_steps} steps by {method}: a residual of "
            f"{found.residual.max():.2g} is left; expected at most {tolerance:.2g} times the largest component",
            iterations=max_steps,
            residual=found.residual.max().item(),
            on_failure=on_failure,
            found=found,
        )
    if not (torch.is_grad_enabled() or in_forward_mode()):
        return found
    solve = linear_solver(tolerance, max_steps, on_failure)
    solution = moving(checked, found.solution.detach(), solve, 100 * tolerance, found.converged)
    return FixedPoint(solution, found.residual.detach(), found.iterations, found.converged)


def _checked_sizes(start: Tensor, parts: Sequence[int] | None, scale: Tensor | None) -> tuple[tuple[int, ...], Tensor | None]:
    """The sizes of the parts of a state, and how large each is at least; raise as :func:`fixed_point` says."""
    if parts is not None and not isinstance(parts, list | tuple):
        raise ValueError(f"parts is a {type(parts).__name__}; expected a list or a tuple of sizes")
    sizes = () if parts is None else tuple(check_count("parts", size) for size in parts)
    if parts is not None and sum(sizes) != start.shape[-1]:
        raise ValueError(f"parts is {sizes}; expected sizes that sum to the last axis of start, {start.shape[-1]}")
    if scale is None:
        return sizes, None
    check_field("scale", scale, (*start.shape[:-1], max(len(sizes), 1)), start)
    if refuted((scale >= 0).all):
        raise ValueError("scale has entries that are negative; expected sizes")
    return sizes, scale.detach()
