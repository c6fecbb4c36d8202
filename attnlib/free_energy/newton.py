"""The saddle point of vector spins: Newton's method with backtracking, sample by sample, inside the domain all the way.

The potential is convex and infinite at the border, so halving a step that leaves the domain or does not go down always ends,
and so does the method. Whether a trial is inside is what its Cholesky factorisation says; that of an accepted trial serves
for the next step, so an iteration costs one factorisation of V, its inverse, two products, and one factorisation of the
Hessian.
"""

from dataclasses import dataclass, fields

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._checks import Scalar, check_choice, check_count, check_field, check_floating, check_number
from attnlib._convergence import OnFailure, report_failure
from attnlib._values import check_result, looking, refuted, verdict
from attnlib.free_energy.implicit import attached, stepped
from attnlib.free_energy.system import Spins, check_spins, default_tolerance, resolved
from attnlib.mean_field.couplings import working
from attnlib.mean_field.solve import transforming

BLIND = 12
"""Factorisations made of every sample where no value can be seen."""

ARMIJO = 1e-4
"""The part of the descent promised by the slope that a step must keep."""


@dataclass(frozen=True)
class SaddlePoint:
    """Vector spins at the saddle point: z ``[*batch, n]``, means ``m [*batch, n, d]``, covariances ``chi [*batch, n, n]``.

    ``chi = V^-1 / beta`` is the covariance of two spins in a component that no field points along, and how such a component of
    ``m_i`` answers to ``beta h_j``. Evidence, each ``[*batch]``: ``residual``, the largest component of the gradient of
    ``phi / beta`` at exactly the z returned; ``iterations``, the factorisations of V until then; ``converged``.
    """

    z: Float[Tensor, "*batch n"]
    m: Float[Tensor, "*batch n d"]
    chi: Float[Tensor, "*batch n n"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]

    @property
    def lengths(self) -> Float[Tensor, "*batch n"]:
        """``|m_i|^2 / D + chi_ii``, ``[*batch, n]``: the sum rule says that each is 1."""
        return self.overlaps.diagonal(dim1=-2, dim2=-1)

    @property
    def overlaps(self) -> Float[Tensor, "*batch n n"]:
        """``<s_i . s_j> / D = m_i . m_j / D + chi_ij``, ``[*batch, n, n]``."""
        return self.m @ self.m.mT / self.m.shape[-1] + self.chi


def saddle_point(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    start: Float[Tensor, "..."] | None = None,
    tolerance: float | int | None = None,
    max_steps: int = 200,
    on_failure: OnFailure = "error",
) -> SaddlePoint:
    r"""Solve N vector spins with D components, for large D: find the minimum of :func:`saddle_potential`.

    .. math:: \langle s_i \rangle = (V^{-1} H)_i, \qquad
        \frac{|\langle s_i \rangle|^2}{D} + \frac{(V^{-1})_{ii}}{\beta} = 1, \qquad V = \mathrm{diag}(z) - J

    The second equation, a sum rule, says that every spin has its length, and is the condition of the saddle point. There is one
    solution, and Newton's method with backtracking finds it from any start in the domain. The default start is the answer for
    independent random couplings: ``z_i = x_i + sum_j J_ij^2 / x_j`` with ``x_j`` from the field and the others' means. Where
    these couplings are no such ones, it is moved towards a z that dominates its row.

    A sample that has converged is not moved any more, so that its solution does not depend on who else is in the batch. The
    iterations leave nothing behind: z, m and chi differentiate, as often as is asked for, by the implicit function theorem.
    Where no value can be seen (compiling, under ``vmap``, on the meta device) 12 factorisations are made and nothing is raised.

    Args:
        J: couplings between spins, ``[*batch, n, n]``, symmetric with a zero diagonal.
        h: fields, broadcast to ``[*batch, n, d]``, where d is the number of components D; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        start: where to start, broadcast to ``[*batch, n]``; ``diag(start) - J`` must be positive definite.
        tolerance: largest component of the gradient of ``phi / beta``; default 3e-13 in float64 and 5e-7
            in float32. Never less than what rounding z does to it.
        max_steps: factorisations of V allowed to each sample.
        on_failure: a sample that does not converge is an ``"error"`` (default), a ``ConvergenceError`` that carries iterations
            and residual; or ``"warn"``, and its best z is returned, marked.

    Returns:
        :class:`SaddlePoint`.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled J, ``beta <= 0``, a
            start outside the domain, settings out of range.

    Source: Bal 2021, Transformers from Spin Models, where the Hessian differs; Boyd and Vandenberghe 2004, chapter 9.

    >>> found = saddle_point(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.tensor([[0.5, 0.5], [0.0, 0.0]]))
    >>> found.m[0], found.converged
    (tensor([0.4142, 0.4142]), tensor(True))
    """
    spins = check_spins(J, h, beta)
    check_choice("on_failure", on_failure, ("error", "warn"))
    max_steps = check_count("max_steps", max_steps)
    default = default_tolerance(spins.couplings.dtype)
    tolerance = check_number("tolerance", default if tolerance is None else tolerance, above=0)
    if start is not None:
        check_floating(start=start, J=J)
        check_field("start", start, (*spins.batch, spins.n), J)
    with working(J):
        first = None if start is None else _placed(start, spins)
        found = solved(spins.couplings, spins.fields, first, tolerance, max_steps, on_failure)
        scaled = SaddlePoint(found.z / spins.column(), found.m, found.chi, found.residual, found.iterations, found.converged)
        return as_given(scaled, J.dtype)


def _placed(start: Tensor, spins: Spins) -> Tensor:
    z = spins.column() * start.detach().to(spins.couplings.dtype).expand(*spins.batch, spins.n)
    failed = torch.linalg.cholesky_ex(torch.diag_embed(z) - spins.couplings.detach())[1]
    if refuted(lambda: (failed == 0).all()):
        raise ValueError(
            "start is outside the domain, for this J and beta: diag(start) - J is not positive definite; expected more"
        )
    return check_result(z, "start or beta are")


def as_given(found: SaddlePoint, dtype: torch.dtype) -> SaddlePoint:
    """The same in the dtype of the caller; raise where that overflows."""
    parts = [getattr(found, field.name) for field in fields(found)]
    return SaddlePoint(*(check_result(t.to(dtype), "J, h or beta are") if t.is_floating_point() else t for t in parts))


def solved(J: Tensor, h: Tensor, start: Tensor | None, tolerance: float, max_steps: int, on_failure: OnFailure) -> SaddlePoint:
    """The saddle point of couplings ``[*batch, n, n]`` and fields ``[*batch, n, d]`` that have beta in them."""
    blind = transforming() or not looking() or verdict(lambda: torch.isfinite(h).all()) is None
    with torch.no_grad():
        state = _State.begin(J.detach(), h.detach(), start)
        for step in range(min(max_steps, BLIND) if blind else max_steps):
            if blind:
                state = state.followed(tolerance)
                continue
            left = (~state.finished).nonzero()[:, 0]
            if step and not len(left):
                break
            state = state.followed(tolerance) if len(left) == len(state.z) else state.spread(left, tolerance)
    found = state.found(J.shape[:-2])
    if not blind and not found.converged.all():
        report_failure(
            f"{int((~found.converged).sum())} of {found.converged.numel()} samples did not converge in {max_steps} "
            f"factorisations: a gradient of {found.residual.max():.2g} is left; expected at most {tolerance:.2g}",
            iterations=int(found.iterations.max()),
            residual=found.residual.max().item(),
            on_failure=on_failure,
        )
    if not torch.is_grad_enabled() or not (J.requires_grad or h.requires_grad or transforming()):
        return found
    z, m, chi = stepped(J, h, found.z) if blind else attached(J, h, found.z, found.m, found.chi)
    return SaddlePoint(z, m, chi, found.residual, found.iterations, found.converged)


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


def _downhill(hessian: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The step to try, and its slope. It is Newton's, for an equation that is nearer to a linear one where a spin is too short.

    There, far from the border, the length falls like ``1/z``, and the step for ``length = 1`` would go too far, the further the
    worse. The step for ``1/length = 1`` would not. It has the gradient times the length on its right side. Where the lengths
    differ so much that this does not go downhill, Newton's own step does.
    """
    lengths = 1 - 2 * gradient
    columns = torch.stack([gradient * lengths.clamp(max=1), gradient], -1)
    steps = -torch.cholesky_solve(columns, torch.linalg.cholesky_ex(hessian).L)
    slopes = (gradient.unsqueeze(-1) * steps).sum(-2)
    falls = slopes[..., 0] < 0
    return torch.where(falls.unsqueeze(-1), steps[..., 0], steps[..., 1]), torch.where(falls, slopes[..., 0], slopes[..., 1])


@dataclass(frozen=True)
class _State:
    """Systems ``[batch, ...]`` on their way: where each is, the step that is tried next, and what is known where it is."""

    J: Tensor
    h: Tensor
    z: Tensor
    m: Tensor
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
    def begin(cls, J: Tensor, h: Tensor, start: Tensor | None) -> "_State":
        """At the safe point, about to try the start; or at the start, about to stay."""
        n, d = h.shape[-2:]
        J, h = J.reshape(-1, n, n), h.reshape(-1, n, d)
        if start is None:
            guess, z = first_guess(J, h)
        else:
            guess = z = start.reshape(-1, n)
        zero, one = torch.zeros_like(z[:, 0]), torch.ones_like(z[:, 0])
        never = torch.zeros_like(zero, dtype=torch.bool)
        large = one * torch.finfo(z.dtype).max
        known = (torch.zeros_like(h), torch.zeros_like(J), large, guess - z, zero, one, large)
        return cls(J, h, z, *known, torch.zeros_like(never, dtype=torch.int64), never, never)

    def followed(self, tolerance: float) -> "_State":
        """After one more factorisation: a step taken and the next one found, or a step made shorter."""
        n = self.z.shape[-1]
        trial = self.z + self.length.unsqueeze(-1) * self.step
        at = resolved(self.J, self.h, trial)
        eps = torch.finfo(trial.dtype).eps
        slack = 8 * eps * trial.abs().sum(-1)  # what rounding does to the potential
        lower = at.potential <= self.potential + ARMIJO * self.length * self.slope + slack
        taken = at.inside & lower & ~self.finished
        gradient, hessian = at.gradient(), at.hessian()
        residual = gradient.abs().amax(-1)
        rounding = 4 * eps * (hessian @ trial.abs().unsqueeze(-1)).amax((-2, -1))
        no_better = (residual > self.residual / 2) & (residual <= rounding.clamp(max=1e-2))  # nor can it become so
        converged = self.converged | (taken & ((residual <= min(tolerance, 1.0)) | no_better))
        step, slope = _downhill(hessian, gradient)
        length = torch.where(taken, 1.0, self.length / 2)
        short = length * self.step.abs().amax(-1) <= eps * self.z.abs().amax(-1) / n
        stuck = torch.where(taken, ~torch.isfinite(slope), short)
        converged = converged | (~taken & short & (self.residual <= rounding.clamp(max=1e-2)))

        def chosen(new: Tensor, old: Tensor) -> Tensor:
            return torch.where(taken[(...,) + (None,) * (new.ndim - 1)], new, old)

        return _State(
            self.J,
            self.h,
            chosen(trial, self.z),
            chosen(at.m, self.m),
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

    def spread(self, left: Tensor, tolerance: float) -> "_State":
        """The same for some of the systems; the others wait."""
        names = [field.name for field in fields(self)]
        part = _State(*(getattr(self, name).index_select(0, left) for name in names)).followed(tolerance)
        kept = {"J": self.J, "h": self.h}
        return _State(*(kept.get(k, getattr(self, k).index_copy(0, left, getattr(part, k))) for k in names))

    def found(self, batch: torch.Size) -> SaddlePoint:
        """What was found, in the shape of the batch."""
        parts = self.z, self.m, self.chi, self.residual, self.iterations, self.converged
        return SaddlePoint(*(part.reshape(batch + part.shape[1:]) for part in parts))
