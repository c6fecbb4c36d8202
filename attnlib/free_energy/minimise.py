"""Systems on their way to the saddle point: where Newton's method starts, which step it tries, and what it makes of a trial.

A trial is inside the domain where V has a Cholesky factor, which serves for the next step too. So an iteration costs one
factorisation of V, its inverse, three products, and one factorisation of the Hessian.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from attnlib._core.values import verdict
from attnlib.free_energy.system import factorised, turned

ARMIJO = 1e-4
"""The part of the descent promised by the slope that a step must keep."""


def first_guess(J: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """Where to start, and a point that is certainly inside, each ``[batch, n]``.

    A spin feels ``b = |h|^2/d + sum_j J_ij^2 (1 - 1/x_j)`` and needs ``1/x + b/x^2 = 1``; the others' answers to it raise z by
    ``sum_j J_ij^2 / x_j``. Without fields this is ``1 + q`` up to ``q = sum_j J_ij^2 = 1``, and ``2 sqrt(q)`` from there: the
    edge of the semicircle, where z sticks. The largest eigenvalue of n spins is spread about it by ``n^(-2/3)``.
    """
    squares = J.square()
    strength = squares.sum(-1)
    felt = h.square().sum(-1) / h.shape[-1]
    x = strength.sqrt().maximum((1 + (1 + 4 * felt).sqrt()) / 2)
    for _ in range(2):
        x = (1 + (1 + 4 * (felt + (squares @ (1 - 1 / x).unsqueeze(-1))[..., 0])).sqrt()) / 2
    guess = x + (squares @ (1 / x).unsqueeze(-1))[..., 0] + strength.sqrt() * J.shape[-1] ** (-2 / 3)
    return guess, J.abs().sum(-1) + x


def _downhill(hessian: Tensor, gradient: Tensor, plain: Tensor) -> tuple[Tensor, Tensor]:
    """The step to try, and its slope. It is Newton's, for an equation that is nearer to a linear one where a spin is too short.

    There, far from the border, the length falls like ``1/z``, and the step for ``length = 1`` would go too far, the further the
    worse. The step for ``1/length = 1`` would not. It has the gradient times the length on its right side. Where lengths differ
    so much that this does not go downhill, Newton's own does, and takes its place; or where ``plain`` asks for it, at a border.
    """
    lengths = 1 - 2 * gradient
    columns = torch.stack([gradient * lengths.clamp(max=1), gradient], -1)
    steps = -torch.cholesky_solve(columns, torch.linalg.cholesky_ex(hessian).L)
    slopes = (gradient.unsqueeze(-1) * steps).sum(-2)
    falls = (slopes[..., 0] < 0) & ~plain
    return torch.where(falls.unsqueeze(-1), steps[..., 0], steps[..., 1]), torch.where(falls, slopes[..., 0], slopes[..., 1])


@dataclass(frozen=True)
class Descent:
    """Systems ``[batch, ...]`` on their way: where each is, the step that is tried next, and what is known where it is."""

    minus_J: Tensor
    h: Tensor
    z: Tensor
    chi: Tensor
    potential: Tensor
    step: Tensor
    slope: Tensor
    length: Tensor
    residual: Tensor
    iterations: Tensor
    converged: Tensor
    finished: Tensor

    @classmethod
    def begin(cls, J: Tensor, h: Tensor, start: Tensor | None) -> "Descent":
        """At the safe point, about to try the guess; or at the start, about to stay. A start that is NaN is none."""
        n, d = h.shape[-2:]
        J, h = J.reshape(-1, n, n), h.reshape(-1, n, d)
        guess, z = first_guess(J, h)
        if start is not None:
            given = start.reshape(-1, n)
            guess, z = (torch.where(given.isnan(), other, given) for other in (guess, z))
        zero, one = torch.zeros_like(z[:, 0]), torch.ones_like(z[:, 0])
        never = torch.zeros_like(zero, dtype=torch.bool)
        large = one * torch.finfo(z.dtype).max
        known = (torch.zeros_like(J), large, guess - z, zero, one, large)
        return cls(-J, turned(h), z, *known, torch.zeros_like(never, dtype=torch.int64), never, never)

    def followed(self, tolerance: float) -> "Descent":
        """After one more factorisation: a step taken and the next one found, or a step made shorter."""
        n = self.z.shape[-1]
        trial = self.z + self.length.unsqueeze(-1) * self.step
        at = factorised(torch.diagonal_scatter(self.minus_J, trial, dim1=-2, dim2=-1), self.h, trial)
        eps = torch.finfo(trial.dtype).eps
        slack = 8 * eps * trial.abs().sum(-1)  # what rounding does to the potential
        lower = at.potential <= self.potential + ARMIJO * self.length * self.slope + slack
        taken = at.inside & lower & ~self.finished
        gradient, hessian = at.gradient(), at.hessian()
        residual = gradient.abs().amax(-1)
        rounding = 4 * eps * (hessian.abs() @ trial.abs().unsqueeze(-1)).amax((-2, -1))
        no_better = (residual > self.residual / 2) & (residual <= rounding.clamp(max=1e-2))  # nor can it become so
        converged = self.converged | (taken & ((residual <= min(tolerance, 1.0)) | no_better))
        step, slope = _downhill(hessian, gradient, self.length < 0.5)
        length = torch.where(taken, 1.0, self.length / 2)
        short = length * self.step.abs().amax(-1) <= eps * self.z.abs().amax(-1) / n
        stuck = torch.where(taken, ~torch.isfinite(slope), short)
        converged = converged | (~taken & short & (self.residual <= rounding.clamp(max=1e-2)))

        all_taken = verdict(lambda: taken.all()) is True

        def chosen(new: Tensor, old: Tensor) -> Tensor:
            return new if all_taken else torch.where(taken[(...,) + (None,) * (new.ndim - 1)], new, old)

        return Descent(
            self.minus_J,
            self.h,
            chosen(trial, self.z),
            chosen(at.chi, self.chi),
            chosen(at.potential, self.potential),
            chosen(step, self.step),
            chosen(slope, self.slope),
            length,
            chosen(residual, self.residual),
            self.iterations + ~self.finished,
            converged,
            self.finished | converged | stuck,
        )

    def spread(self, left: Tensor, tolerance: float) -> "Descent":
        """The same for some of the systems; the others wait."""
        names = [field.name for field in fields(self)]
        part = Descent(*(getattr(self, name).index_select(0, left) for name in names)).followed(tolerance)
        moved = {name: getattr(self, name).index_copy(0, left, getattr(part, name)) for name in names[2:]}
        return Descent(self.minus_J, self.h, **moved)

    def found(self, batch: torch.Size) -> Iterator[Tensor]:
        """z, covariances, residual, iterations and whether it converged, in the shape of the batch."""
        for part in (self.z, self.chi, self.residual, self.iterations, self.converged):
            yield part.reshape(batch + part.shape[1:])
