"""Fixed points of any map by damped, Anderson or Newton iteration, sample by sample, with derivatives that store no steps."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._checks import check_choice, check_count, check_floating, check_number
from attnlib._convergence import OnFailure, report_failure
from attnlib._numerics import differentiable
from attnlib._values import check_finite, looking, no_value_checks, verdict
from attnlib.mean_field.implicit import Map, attach

Method = Literal["damped", "anderson", "newton"]
"""Steps of a fixed length towards the image; combinations of the last few; or solutions of the linearised equation."""


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point and the evidence for it: solution ``[*batch, k]``, and for each sample what it took.

    ``residual [*batch]`` is the largest component of ``f(z) - z`` at exactly the solution returned, ``iterations [*batch]`` the
    evaluations of ``f`` until then, ``converged [*batch]`` whether the residual is within the tolerance.

    >>> found = fixed_point(lambda z: z / 2 + 1, torch.zeros(1), method="newton")
    >>> found.solution, found.iterations
    (tensor([2.]), tensor(2))
    """

    solution: Float[Tensor, "*batch k"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]


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
    on_failure: OnFailure = "error",
) -> FixedPoint:
    r"""Solve ``z = f(z)`` for each sample, and differentiate the solution by the implicit function theorem.

    .. math:: \frac{dz}{d\theta} = \Big(1 - \frac{\partial f}{\partial z}\Big)^{-1} \frac{\partial f}{\partial \theta}

    A sample that has converged is not moved any more, so that its solution does not depend on who else is in the batch.
    The iterations leave nothing behind: memory does not grow with their number. The solution differentiates with respect to
    everything that the function closes over, as often as the function itself does; not with respect to the start.

    Where no value can be seen (compiling, under ``vmap``, on the meta device) and under the transforms of ``torch.func``,
    all ``max_steps`` are taken, also by a sample that has converged, nothing is raised, and derivatives go through the steps;
    with ``"anderson"``, whose steps lose their meaning near the solution, through two steps of Newton's method from there.

    Args:
        function: the map; states ``[*batch, k]`` in and out. Each sample's image must depend on that sample alone.
        start: where to start, ``[*batch, k]``, finite. It is not changed.
        method: ``"damped"`` (default; the cheapest step, and the quickest for maps that contract well), ``"anderson"`` (for
            slow ones), or ``"newton"`` (few steps, each with k derivatives of the map and an equation of k unknowns).
        step: how far to go towards the image, a number above 0, or a function of the state that gives one for each sample,
            ``[*batch]``, asked right after the map itself; Newton's own step is whole.
        tolerance: a sample is done when no component of ``f(z) - z`` is larger than this times one plus the largest of z;
            default the dtype's precision to the power 2/3, 4e-11 in float64.
        max_steps: evaluations of the map allowed.
        memory: how many earlier states Anderson combines.
        ridge: what is added to the diagonal of Anderson's Gram matrix, relative to it.
        on_failure: a sample that does not converge is an ``"error"`` (default), a ``ConvergenceError`` that carries
            iterations and residual; or ``"warn"``, and the best state seen is returned, with ``converged`` False.

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
    check_floating(start=start)
    if start.ndim < 1 or start.shape[-1] == 0:
        raise ValueError(f"start has shape {tuple(start.shape)}; expected [*batch, k] with k >= 1")
    check_finite(start=start)
    if not callable(function):
        raise ValueError(f"function is a {type(function).__name__}; expected a function of states")
    check_choice("method", method, ("damped", "anderson", "newton"))
    check_choice("on_failure", on_failure, ("error", "warn"))
    if not callable(step):
        step = check_number("step", step, above=0)
    default = torch.finfo(start.dtype).eps ** (2 / 3)
    tolerance = check_number("tolerance", default if tolerance is None else tolerance, above=0)
    max_steps, memory = check_count("max_steps", max_steps), check_count("memory", memory, least=1)
    ridge = check_number("ridge", ridge, above=0)
    start = differentiable(start).detach()
    iterate = _Iterate(method, step, tolerance, max_steps, memory, ridge)

    def checked(state: Tensor) -> Tensor:
        image = function(state)
        if not isinstance(image, Tensor) or image.shape != state.shape or image.dtype != state.dtype:
            came = f"{image.dtype} {tuple(image.shape)}" if isinstance(image, Tensor) else f"a {type(image).__name__}"
            raise ValueError(f"function returned {came}; expected {state.dtype} {tuple(state.shape)}, as it got")
        return image

    blind = transforming() or not looking() or verdict(lambda: torch.isfinite(start).all()) is None
    if blind:
        return replace(iterate, through=True)(checked, start)
    with torch.no_grad():
        found = iterate(checked, start)
    if not found.converged.all():
        failed = int((~found.converged).sum())
        report_failure(
            f"{failed} of {found.converged.numel()} samples did not converge in {max_steps} steps by {method}: a residual of "
            f"{found.residual.max():.2g} is left; expected at most {tolerance:.2g} times one plus the largest component",
            iterations=max_steps,
            residual=found.residual.max().item(),
            on_failure=on_failure,
        )
    if not torch.is_grad_enabled():
        return found
    return FixedPoint(
        attach(checked, found.solution, linear_solver(tolerance, max_steps, on_failure), 100 * tolerance),
        found.residual,
        found.iterations,
        found.converged,
    )


def transforming() -> bool:
    """Whether a transform of ``torch.func`` is at work, which sees through no autograd function that closes over tensors."""
    return bool(getattr(torch._C, "_are_functorch_transforms_active", lambda: False)())


def linear_solver(tolerance: float | int, max_steps: int, on_failure: OnFailure) -> Callable[[Map, Tensor], Tensor]:
    """What solves the linear equation of a gradient: Anderson with a long memory, which for a linear map is GMRES."""

    def solve(linear: Map, start: Tensor) -> Tensor:
        unit = start.abs().amax(-1, keepdim=True)
        unit = torch.where(unit > 0, unit, 1.0)  # a tolerance relative to the gradient
        iterate = _Iterate("anderson", 1.0, tolerance, max(max_steps, 50), 30, 1e-14)
        found = iterate(lambda u: linear(u * unit) / unit, start / unit)
        if not found.converged.all():
            report_failure(
                f"the gradient of {int((~found.converged).sum())} samples did not converge: {found.residual.max():.2g} is left",
                iterations=iterate.max_steps,
                residual=found.residual.max().item(),
                on_failure=on_failure,
            )
        return found.solution * unit

    return solve


@dataclass(frozen=True)
class _Iterate:
    """The iteration itself, without checks or derivatives."""

    method: Method
    step: float | int | Callable[[Tensor], Tensor]
    tolerance: float | int
    max_steps: int
    memory: int
    ridge: float | int
    through: bool = False
    """Derivatives go through the steps. So a sample that is done goes on: its state knew the solution, not how it moves."""

    def __call__(self, function: Map, state: Tensor) -> FixedPoint:
        best, least = state, torch.full_like(state[..., 0], float("inf"))
        done = torch.zeros_like(least, dtype=torch.bool)
        iterations = torch.zeros_like(done, dtype=torch.int64)
        states: list[Tensor] = []
        errors: list[Tensor] = []
        goes_on = self.through and self.method != "anderson"
        for _ in range(1 if state.is_meta else self.max_steps):  # without values a step tells the shapes
            error = function(state) - state
            iterations = iterations + ~done
            residual = error.abs().amax(-1)
            better = ~done & (residual < least)  # False where it is not a number
            best = torch.where(better[..., None], state, best)
            least = torch.where(better, residual, least)
            done = done | (better & (residual <= self.tolerance * (1 + state.abs().amax(-1))))
            if not self.through and verdict(partial(torch.all, done)):
                break
            length = self.step(state)[..., None] if callable(self.step) else self.step
            if self.method == "newton":
                move = _newton(function, state, error)
            elif self.method == "anderson":
                states, errors = [*states, state][-self.memory - 1 :], [*errors, error][-self.memory - 1 :]
                move = self._anderson(states, errors, length)
            else:
                move = length * error
            held = ~torch.isfinite(move).all(-1, keepdim=True)
            if not goes_on:
                held = held | done[..., None]
            state = torch.where(held, best, state + move)
        if goes_on:
            best = torch.where(done[..., None], state, best)
        elif self.through:
            best = _followed(function, best.detach(), done)
        return FixedPoint(best, torch.where(least.isfinite(), least, torch.finfo(least.dtype).max), iterations, done)

    def _anderson(self, states: list[Tensor], errors: list[Tensor], step: float | int | Tensor) -> Tensor:
        """The step from the newest state to the best combination of the last ones, as far as they are known linearly."""
        newest = step * errors[-1]
        if len(states) == 1:
            return newest
        moved = torch.stack([b - a for a, b in pairwise(states)], -2)  # [*batch, memory, k]
        changed = torch.stack([b - a for a, b in pairwise(errors)], -2)
        size = changed.norm(dim=-1, keepdim=True)
        size = torch.where(size > 0, size, 1.0)  # unit rows: the ridge is relative to the Gram matrix's diagonal
        moved, changed = moved / size, changed / size
        eye = torch.eye(len(states) - 1, dtype=newest.dtype, device=newest.device)
        ridge = max(self.ridge, 4 * torch.finfo(newest.dtype).eps)
        factor, failed = torch.linalg.cholesky_ex(changed @ changed.mT + ridge * eye)
        share = torch.cholesky_solve(changed @ errors[-1][..., None], factor)
        combined = newest - (moved.mT @ share)[..., 0] - step * (changed.mT @ share)[..., 0]
        return torch.where((failed == 0)[..., None], combined, newest)


def _newton(function: Map, state: Tensor, error: Tensor, where: Tensor | None = None) -> Tensor:
    """Solve the linearised equation, one sample at a time: batched LU hangs with two threads. Elsewhere, go to the image."""
    k = state.shape[-1]
    with no_value_checks() if looking() else nullcontext():
        axes = torch.eye(k, dtype=state.dtype, device=state.device)
        columns = [torch.func.jvp(function, (state,), (axis.expand_as(state),))[1] for axis in axes]
    matrix = axes - torch.stack(columns, -1)
    if where is not None:
        matrix = torch.where(where[..., None, None], matrix, axes)
    rows = zip(matrix.reshape(-1, k, k), error.reshape(-1, k), strict=True)
    moves = [torch.linalg.solve_ex(one, row)[0] for one, row in rows]
    return torch.stack(moves).reshape(error.shape) if moves else error


def _followed(function: Map, solution: Tensor, solved: Tensor) -> Tensor:
    """Solutions with their derivatives: a step of Newton's method from a solution moves it by no more than what was left, and
    has its first derivatives; a second step has the second ones.
    """
    for _ in range(2):
        solution = solution + _newton(function, solution, function(solution) - solution, solved)
    return solution
