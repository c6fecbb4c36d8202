"""Fixed points of attention among fixed memories: where states come to rest, and the evidence for it."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_number, check_states
from attnlib._core.convergence import OnFailure, check_solver, report_failure
from attnlib._core.numerics import Mask, attention_average, attention_weights_of
from attnlib._core.spectra import eigenvalues, modes_of
from attnlib._core.values import check_result, check_visible
from attnlib.hopfield.energy import hopfield_energy, hopfield_gradient, hopfield_jacobian, unchecked_jacobian
from attnlib.hopfield.records import FixedPoints


def find_fixed_points(
    state: Float[Tensor, "n d"],
    memory: Float[Tensor, "m d"],
    *,
    beta: float | int = 1.0,
    tolerance: float | int | None = None,
    max_steps: int = 10_000,
    merge: float | int = 1e-4,
    on_failure: OnFailure = "error",
) -> FixedPoints:
    r"""Attend again and again until nothing moves, from each start on its own, and gather the places of rest.

    .. math:: \xi = \sum_i p_i x_i, \qquad p = \mathrm{softmax}(\beta X \xi)

    Steps of size one never climb, so almost every start ends in a minimum; one on a ridge may rest on a saddle, which its
    curvature tells. The slowest error shrinks by one minus the curvature a step: close to a transition that takes long. All is
    computed in float64, and what has come to rest is polished by Newton steps before places that are the same are merged.

    Args:
        state: starts ``[n, d]``, at least one, finite. No gradient passes through.
        memory: ``[m, d]``, of the same dtype.
        beta: inverse temperature, finite and above 0.
        tolerance: a start rests when the gradient's norm is at most this, in units of the longest memory; by default the
            dtype's precision to the power 2/3, 4e-11 in float64.
        max_steps: steps allowed to each start.
        merge: resting places closer than this, in the same units, are one.
        on_failure: a start that still moves after max_steps is an ``"error"`` (default), a ``ConvergenceError`` that carries
            iterations and residual; or ``"warn"``, and such starts are marked with ``reached = -1``.

    Raises:
        ValueError: shapes other than ``[n, d]`` and ``[m, d]``, mixed dtypes, non-finite entries, a beta, tolerance or merge
            that is not above 0, a bad max_steps or on_failure.

    >>> found = find_fixed_points(torch.tensor([[1.0], [0.2], [-1.0]]), torch.tensor([[1.5], [-1.2]]), beta=2)
    >>> found.reached.tolist(), found.sharing.tolist()
    ([0, 0, 1], [1, 1])
    """
    check_states("state", state, "memory", memory)
    check_visible(state=state)
    if state.ndim != 2 or 0 in state.shape:
        raise ValueError(f"state has shape {tuple(state.shape)}; expected [n, d] with n >= 1")
    beta = check_number("beta", beta, above=0)
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=torch.finfo(state.dtype).eps ** (2 / 3))
    merge = check_number("merge", merge, above=0)
    patterns = memory.detach().double()
    unit = patterns.norm(dim=-1).max().item()
    found, residuals, steps = settle(state.detach().double(), patterns, beta, tolerance * unit, max_steps)
    resting = residuals <= tolerance * unit
    if not resting.all():
        report_failure(
            f"{int((~resting).sum())} of {len(state)} starts still move after {max_steps} steps, the fastest with a gradient "
            f"of {residuals.max():.2g}; expected at most {tolerance * unit:.2g}",
            iterations=max_steps,
            residual=residuals.max().item(),
            on_failure=on_failure,
        )
    found[resting], _ = polish(found[resting], patterns, beta)
    chosen, reached = _gather(found, resting, merge * unit)
    points = found[chosen]
    energies, order = hopfield_energy(points, patterns, beta=beta).sort(stable=True)
    reached = torch.where(resting, order.argsort()[reached], -1) if len(order) else reached
    points = points[order]
    stiffness = eigenvalues(hopfield_jacobian(points, patterns, beta=beta))[..., -1]
    weights = attention_weights_of(points, patterns, beta, Mask())
    ends = found.to(state.dtype)
    residuals = hopfield_gradient(ends.double(), patterns, beta=beta).norm(dim=-1)  # of exactly what is returned
    points, energies, weights, curvatures, residuals = (
        check_result(t.to(state.dtype), "state, memory or beta are")
        for t in (points, energies, weights, 1 - stiffness, residuals)
    )
    return FixedPoints(points, energies, weights, curvatures, reached, ends, residuals, steps)


def settle(state: Tensor, memory: Tensor, beta: float | int, small: float, max_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Full steps from each start until its own gradient is small: states, residuals of exactly these, steps taken."""
    state, steps = state.clone(), torch.zeros(len(state), dtype=torch.long, device=state.device)
    residuals, moving = torch.full_like(state[:, 0], math.inf), torch.arange(len(state), device=state.device)
    for step in range(max_steps + 1):
        attended = attention_average(state[moving], memory, memory, beta, Mask())
        residuals[moving] = (state[moving] - attended).norm(dim=-1)
        going = residuals[moving] > small
        moving = moving[going]
        if step == max_steps or not len(moving):
            break
        state[moving] = attended[going]
        steps[moving] += 1
    return state, residuals, steps


def polish(state: Tensor, memory: Tensor, beta: float | int, rounds: int = 20) -> tuple[Tensor, Tensor]:
    """Newton steps on the gradient, as long as they shrink it: a tolerance leaves an error of itself over the curvature.

    Returns the states and their residuals.
    """
    one = torch.eye(state.shape[-1], dtype=state.dtype, device=state.device)
    slope = state - attention_average(state, memory, memory, beta, Mask())
    residuals = slope.norm(dim=-1)
    for _ in range(rounds):
        curvatures, axes = modes_of(one - unchecked_jacobian(state, memory, beta))
        along = (axes.mT @ slope[..., None])[..., 0] / torch.where(curvatures.abs() > 1e-12, curvatures, math.inf)
        trial = state - (axes @ along[..., None])[..., 0]
        after = trial - attention_average(trial, memory, memory, beta, Mask())
        left = after.norm(dim=-1)
        better = left < residuals
        if not better.any():
            break
        state, slope = (torch.where(better[..., None], new, old) for new, old in ((trial, state), (after, slope)))
        residuals = torch.where(better, left, residuals)
    return state, residuals


def _gather(state: Tensor, resting: Tensor, near: float) -> tuple[Tensor, Tensor]:
    """Indices of states that stand for all that lie near them, and for each state which of these it belongs to, or -1."""
    chosen: list[int] = []
    group = torch.full((len(state),), -1, device=state.device)
    while (left := (resting & (group < 0)).nonzero()[:, 0]).numel():
        close = (state[left] - state[left[0]]).norm(dim=-1) <= near
        group[left[close]] = len(chosen)
        chosen.append(int(left[0]))
    return torch.tensor(chosen, dtype=torch.long, device=state.device), group
