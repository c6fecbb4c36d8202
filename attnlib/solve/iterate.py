"""Damped, Anderson and Newton iteration towards a fixed point, sample by sample, without checks."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._core.transforms import no_tangents, orders
from attnlib._core.values import settled
from attnlib.solve.implicit import Map

CHUNK = 32
"""Rows of a Jacobian that are computed at once."""
NEAR = 0.01
"""How far, in its size, a state may move before a step that depends on it is asked for again: it can cost more than the map."""
Method = Literal["damped", "anderson", "newton"]
"""Steps of a fixed length towards the image; combinations of the last few; or solutions of the linearised equation."""


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point and the evidence for it: solution ``[*batch, k]``, and for each sample what it took.

    ``residual [*batch]`` is the largest component of ``f(z) - z`` at exactly the solution returned, ``iterations [*batch]`` the
    evaluations of ``f`` until then, ``converged [*batch]`` whether the residual is within the tolerance.

    >>> from attnlib.solve import fixed_point
    >>> found = fixed_point(lambda z: z / 2 + 1, torch.zeros(1), method="newton")
    >>> found.solution, found.iterations
    (tensor([2.]), tensor(2))
    """

    solution: Float[Tensor, "*batch k"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]


@dataclass
class Iterate:
    """The settings of an iteration; to call it is to iterate. (Not frozen: torch 2.6 does not trace how one is made.)"""

    method: Method
    step: float | int | Callable[[Tensor], Tensor]
    tolerance: float | int
    max_steps: int
    memory: int
    ridge: float | int
    through: bool = False
    """Derivatives go through the steps. So a sample that is done goes on: its state knew the solution, not how it moves."""
    parts: tuple[int, ...] = ()
    """How many components belong together, one part after another; none: all of them."""
    scale: Tensor | None = None
    """How large each part is at least, ``[*batch, parts]``; none: as any state that was the best so far, and the first step."""

    def __call__(self, function: Map, state: Tensor) -> FixedPoint:
        """The best state seen of each sample, ``[*batch, k]``, and what it took."""
        best, least = state, torch.full_like(state[..., 0], float("inf"))
        kept = least
        largest = torch.zeros_like(self._sizes(state))
        done = torch.zeros_like(least, dtype=torch.bool)
        iterations = torch.zeros_like(done, dtype=torch.int64)
        states: list[Tensor] = []
        errors: list[Tensor] = []
        length = torch.full_like(state[..., :1], 1.0 if callable(self.step) else self.step)
        asked = torch.full_like(state, float("inf"))
        goes_on = self.through and self.method != "anderson"
        for step in range(1 if state.is_meta else self.max_steps):  # without values a step tells the shapes
            error = function(state) - state
            iterations = iterations + ~done
            residual = (left := self._sizes(error)).amax(-1)
            size = self._sizes(state)
            known = largest.maximum(size if step else size.maximum(left))
            scale = known if self.scale is None else self.scale.maximum(size)
            # of several parts each counts by its own size: rounding in a large one says nothing of a small one
            measure = residual if len(self.parts) < 2 else (left / torch.where(scale > 0, scale, 1.0)).amax(-1)
            better = ~done & (measure < least)  # False where it is not a number
            best, largest = torch.where(better[..., None], state, best), torch.where(better[..., None], known, largest)
            least, kept = torch.where(better, measure, least), torch.where(better, residual, kept)
            done = done | (better & (left <= self.tolerance * scale).all(-1))
            if not self.through and settled(done):
                break
            if callable(self.step):
                near = done | (self._sizes(state - asked) <= NEAR * scale).all(-1)
                if not settled(near):
                    length = torch.where(near[..., None], length, self.step(state)[..., None])
                    asked = torch.where(near[..., None], asked, state)
            if self.method == "newton":
                move = newton(function, state, error)
            elif self.method == "anderson":
                states, errors = [*states, state][-self.memory - 1 :], [*errors, error][-self.memory - 1 :]
                move = self._anderson(states, errors, length)
            else:
                move = length * error
            held = ~torch.isfinite(move.abs().amax(-1, keepdim=True))
            if not goes_on:
                held = held | done[..., None]
            state = torch.where(held, best, state + move)
        if goes_on:  # the solution stays what its residual was measured at; only how it moves is that of the last state
            best = torch.where(done[..., None], best.detach() + (state - state.detach()), best)
        elif self.through:
            best = followed(function, best.detach(), done)
        return FixedPoint(best, torch.where(kept.isfinite(), kept, torch.finfo(kept.dtype).max), iterations, done)

    def _sizes(self, states: Tensor) -> Tensor:
        """The largest component of each part, ``[*batch, parts]``."""
        if len(self.parts) < 2:
            return states.abs().amax(-1, keepdim=True)
        return torch.stack([part.abs().amax(-1) for part in states.split(self.parts, -1)], -1)

    def _anderson(self, states: list[Tensor], errors: list[Tensor], step: Tensor) -> Tensor:
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


def newton(function: Map, state: Tensor, error: Tensor) -> Tensor:
    """Solve the linearised equation, one sample at a time: batched LU hangs with two threads."""
    k = state.shape[-1]
    rows = zip(missing(function, state).reshape(-1, k, k), error.reshape(-1, k), strict=True)
    moves = [torch.linalg.solve_ex(one, row)[0] for one, row in rows]
    return torch.stack(moves).reshape(error.shape) if moves else error


def missing(function: Map, state: Tensor) -> Tensor:
    """The identity without the Jacobian of a map at a state, ``[*batch, k, k]``."""
    axes = torch.eye(state.shape[-1], dtype=state.dtype, device=state.device)
    with no_tangents():  # torch nests no forward derivative in another
        pull = torch.func.vjp(function, state)[1]
        return axes - torch.func.vmap(lambda axis: pull(axis.expand_as(state))[0], out_dims=-2, chunk_size=CHUNK)(axes)


def followed(function: Map, solution: Tensor, solved: Tensor | None = None) -> Tensor:
    """Solutions with as many derivatives as are taken, those of samples that are solved, by default of all.

    A step of Newton's method from a solution has the first derivatives, a second step the second ones, and so on. All may take
    the Jacobian as it is at the solution, for which no derivative is asked.
    """
    k, matrix = solution.shape[-1], missing(function, solution).detach()
    if solved is not None:
        matrix = torch.where(solved[..., None, None], matrix, torch.eye(k, dtype=matrix.dtype, device=matrix.device))
    inverses = [torch.linalg.inv_ex(one)[0] for one in matrix.reshape(-1, k, k)]
    inverse = torch.stack(inverses).reshape(matrix.shape) if inverses else matrix
    moved, image = solution, function(solution)
    for left in reversed(range(orders(image))):
        moved = moved + (inverse @ (image - moved).unsqueeze(-1))[..., 0]
        image = function(moved) if left else image
    return solution + (moved - moved.detach())
