"""The saddle point of vector spins: Newton's method with backtracking, sample by sample, inside the domain all the way.

The potential is convex and infinite at the border, so halving a step that leaves the domain or does not go down always ends,
and so does the method.
"""

import math
from dataclasses import fields

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_field, check_floating
from attnlib._core.convergence import OnFailure, check_solver, report_failure
from attnlib._core.numerics import lengths
from attnlib._core.transforms import in_forward_mode, no_derivatives, transforming
from attnlib._core.values import check_finite, check_result, looking, refuted, verdict
from attnlib.free_energy.attached import attached, stepped
from attnlib.free_energy.minimise import Descent
from attnlib.free_energy.records import SaddlePoint
from attnlib.free_energy.system import Spins, check_spins, default_tolerance, precise

BLIND = 12
"""Factorisations made of every sample where no value can be seen."""
STRONG, RUNG = 32.0, 8.0
"""Couplings with rows longer than the first, in units of the temperature, are reached from warmer ones, the second apart."""


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
    these couplings are no such ones, it is moved towards a z that dominates its row. Cold systems are solved at warmer betas
    first, a factor of eight apart, each from the one before: factorisations grow with the logarithm of beta only. Where
    couplings or fields pass 50 in units of the temperature, single precision becomes double inside: V would lose its digits.

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
        max_steps: factorisations of V allowed to each sample, at each beta on its way.
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
    default = default_tolerance(spins.couplings.dtype)
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=default)
    if start is not None:
        check_floating(start=start, J=J)
        check_field("start", start, (*spins.batch, spins.n), J)
    with working(J):
        first = None if start is None else _placed(start, spins)
        hot = max(check_finite(J=spins.couplings, h=spins.fields))
        couplings, felt = precise(spins.couplings, spins.fields, hot)
        first = None if first is None else first.to(couplings.dtype)
        found = solved(couplings, felt, first, tolerance, max_steps, on_failure)
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


def walked(state: Descent, tolerance: float, max_steps: int) -> Descent:
    """Systems after so many factorisations; those that are done wait for the others."""
    for step in range(max_steps):
        left = (~state.finished).nonzero()[:, 0]
        if step and not len(left):
            break
        state = state.followed(tolerance) if len(left) == len(state.z) else state.spread(left, tolerance)
    return state


def cooled(J: Tensor, h: Tensor, max_steps: int) -> tuple[Tensor | None, Tensor | None]:
    """Where cold systems start, ``[batch, n]``, and what it took: the saddle point at an eighth of beta, found from one before.

    In the cold the barrier is steep and Newton's method, begun far from it, takes a number of steps that grows with beta; from
    the saddle point at a warmer beta it takes some ten, whatever beta is. NaN for systems that need no such start.
    """
    n, d = h.shape[-2:]
    if not J.numel() or n**0.5 * float(J.abs().amax()) <= STRONG:  # a look that costs less than the sums
        return None, None
    J, h = J.reshape(-1, n, n), h.reshape(-1, n, d)
    strength = lengths(J).amax(-1)
    rungs = ((strength / STRONG).clamp(min=1).log() / math.log(RUNG)).ceil().long()
    if not rungs.any():
        return None, None
    start, spent = torch.full_like(J[..., 0], torch.nan), torch.zeros_like(rungs)
    for rung in range(int(rungs.max()), 0, -1):
        (here,) = (rungs >= rung).nonzero(as_tuple=True)
        warm = RUNG**-rung
        state = walked(Descent.begin(warm * J[here], warm * h[here], start[here]), 1e-3, max_steps)
        start[here], spent[here] = RUNG * state.z, spent[here] + state.iterations
    return start, spent


def solved(J: Tensor, h: Tensor, start: Tensor | None, tolerance: float, max_steps: int, on_failure: OnFailure) -> SaddlePoint:
    """The saddle point of couplings ``[*batch, n, n]`` and fields ``[*batch, n, d]`` that have beta in them."""
    blind = not looking() or verdict(lambda: torch.isfinite(h).all()) is None
    with no_derivatives():
        spent = None
        if start is None and not blind:
            start, spent = cooled(J.detach(), h.detach(), max_steps)
        state = Descent.begin(J.detach(), h.detach(), start)
        if blind:
            for _ in range(min(max_steps, BLIND)):
                state = state.followed(tolerance)
        else:
            state = walked(state, tolerance, max_steps)
        z, chi, residual, iterations, converged = state.found(J.shape[:-2])
        iterations = iterations if spent is None else iterations + spent.reshape(iterations.shape)
        found = SaddlePoint(z, chi @ h.detach(), chi, residual, iterations, converged)
    if not blind and not found.converged.all():
        report_failure(
            f"{int((~found.converged).sum())} of {found.converged.numel()} samples did not converge in {max_steps} "
            f"factorisations: a gradient of {found.residual.max():.2g} is left; expected at most {tolerance:.2g}",
            iterations=int(found.iterations.max()),
            residual=found.residual.max().item(),
            on_failure=on_failure,
        )
    forward = in_forward_mode()
    if not forward and not (torch.is_grad_enabled() and (J.requires_grad or h.requires_grad or transforming())):
        return found
    z, m, chi = stepped(J, h, found.z) if blind or forward or transforming() else attached(J, h, found.z, found.m, found.chi)
    return SaddlePoint(z, m, chi, found.residual, found.iterations, found.converged)
