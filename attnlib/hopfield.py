"""Hopfield energies with continuous states: one step down the energy is softmax attention (chapter 3)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._checks import (
    Empty,
    OnFailure,
    Scalar,
    check_beta,
    check_choice,
    check_count,
    check_finite,
    check_floating,
    check_states,
    report_failure,
    usable_rows,
)
from attnlib.associative import (  # noqa: F401  the networks with discrete states belong here; they have a file of their own
    Recall,
    classical_energy,
    classical_local_field,
    classical_recall,
    dense_energy,
    dense_local_field,
    dense_recall,
    hebb_weights,
)
from attnlib.attention import Mixer, _attend, _weights
from attnlib.softmax import _column, _wide, smooth_max, softmax_jacobian
from attnlib.storage import flip_spins, random_patterns, storage_sweep, storage_trial  # noqa: F401

Energy = Callable[[Float[Tensor, "*batch n d"]], Float[Tensor, "*batch n"]]
"""An energy function takes states ``[*batch, n, d]`` and returns one energy per state, ``[*batch, n]``."""


def hopfield_energy(
    state: Float[Tensor, "*batch n d"],
    memory: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
) -> Float[Tensor, "*batch n"]:
    r"""Energy of a state among stored patterns (the rows ``x_i`` of memory).

    .. math:: E(\xi) = \tfrac12 |\xi|^2 - \frac1\beta \ln \sum_i \exp(\beta\, x_i \cdot \xi)

    Args:
        state, memory: ``[*batch, n, d]`` and ``[*batch, m, d]``, of one floating dtype, finite, ``m >= 1``.
        beta: inverse temperature, a number in ``(0, inf]`` or a finite tensor that broadcasts to ``[*batch, n]``.
        mask: boolean, broadcasts to ``[*batch, n, m]``; True means: the state feels this memory.
        empty: a state that feels no memory is an ``"error"`` (default), or (``"zero"``) keeps only the quadratic term.

    Returns:
        ``[*batch, n]``, in the units of the squared state.

    Raises:
        ValueError: shapes that do not fit, mixed dtypes, non-finite entries, ``beta <= 0``, a wrong mask or an empty row.

    Source: Ramsauer et al. 2021, eq. (2), without the constants that make it non-negative.
    """
    check_states("state", state, "memory", memory)
    _check_inverse_temperature(beta, state)
    wide = _wide(state)
    attraction = smooth_max(wide @ _wide(memory).mT, beta=beta, mask=mask, empty=empty)
    return (wide.square().sum(-1) / 2 - attraction).to(state.dtype)


def hopfield_gradient(
    state: Float[Tensor, "*batch n d"],
    memory: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
    twice_differentiable: bool = False,
) -> Float[Tensor, "*batch n d"]:
    r"""Gradient of :func:`hopfield_energy` with respect to the state: the state minus what attention returns.

    .. math:: \nabla E(\xi) = \xi - \sum_i p_i x_i, \qquad p = \mathrm{softmax}(\beta X \xi)

    Arguments and errors are those of :func:`hopfield_energy`, ``twice_differentiable`` is that of
    :func:`attnlib.attention.attend`. Returns ``[*batch, n, d]``.
    """
    return state - _average(state, memory, beta, mask, empty, twice_differentiable)


def hopfield_update(
    state: Float[Tensor, "*batch n d"],
    memory: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar = 1.0,
    step_size: float | int = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
    twice_differentiable: bool = False,
) -> Float[Tensor, "*batch n d"]:
    r"""One step down :func:`hopfield_energy`, in closed form.

    .. math:: \xi' = \xi - \gamma \nabla E(\xi) = (1 - \gamma)\,\xi + \gamma \sum_i p_i x_i

    A step of size one is softmax attention with the memories as keys and values. Every step size in ``(0, 2]`` lowers the
    energy, by at least ``gamma (1 - gamma/2) |grad|^2``.

    Args:
        step_size: the step ``gamma``, any finite number.
        state, memory, beta, mask, empty: as in :func:`hopfield_energy`.
        twice_differentiable: as in :func:`attnlib.attention.attend`.

    Returns:
        The new state ``[*batch, n, d]``.

    Raises:
        ValueError: as :func:`hopfield_energy`; also a step size that is not finite.

    Source: Ramsauer et al. 2021, eq. (3), which is the case ``step_size = 1``.
    """
    _check_step_size(step_size)
    return _relax(state, _average(state, memory, beta, mask, empty, twice_differentiable), step_size)


def hopfield_jacobian(
    state: Float[Tensor, "*batch n d"], memory: Float[Tensor, "*batch m d"], *, beta: Scalar = 1.0
) -> Float[Tensor, "*batch n d d"]:
    r"""Derivative of the attended pattern with respect to the state: beta times the covariance of the memories under p.

    .. math:: \frac{\partial}{\partial \xi} \sum_i p_i x_i = \beta X^T (\mathrm{diag}\, p - p p^T) X = 1 - \nabla^2 E

    At a fixed point its largest eigenvalue is the factor by which a step of size one shrinks a small error.
    Takes ``[*batch, n, d]`` and ``[*batch, m, d]``, returns symmetric, positive semidefinite ``[*batch, n, d, d]``.

    Raises:
        ValueError: as :func:`hopfield_energy`; also ``beta = inf``, where the derivative does not exist.
    """
    check_states("state", state, "memory", memory)
    check_beta(beta, like=state, shape=tuple(state.shape[:-1]))
    covariance, wide = softmax_jacobian(_weights(state, memory, _column(beta), None)), _wide(memory)
    return (_column(_column(beta)) * torch.einsum("...ic,...nij,...jd->...ncd", wide, covariance, wide)).to(state.dtype)


def hopfield_mixture_weights(memory: Float[Tensor, "*batch m d"], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch m"]:
    r"""Weights of the Gaussian mixture ``exp(-beta E) / Z``: longer memories weigh more.

    .. math:: w_i = \mathrm{softmax}_i(\beta |x_i|^2 / 2)

    The component with weight ``w_i`` has mean ``x_i`` and covariance ``1/beta`` times the identity.
    Takes ``[*batch, m, d]`` and a beta that broadcasts to ``[*batch]``; returns ``[*batch, m]``.
    Raises ValueError on non-finite memories and ``beta <= 0``.
    """
    _check_memory(memory)
    check_beta(beta, like=memory, shape=tuple(memory.shape[:-2]))
    return (_column(beta) * _wide(memory).square().sum(-1) / 2).softmax(-1).to(memory.dtype)


def hopfield_log_partition(memory: Float[Tensor, "*batch m d"], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch"]:
    r"""Logarithm of the partition function of :func:`hopfield_energy`, in closed form.

    .. math:: \ln \int e^{-\beta E(\xi)}\, d\xi = \frac d2 \ln \frac{2\pi}{\beta} + \ln \sum_i e^{\beta |x_i|^2 / 2}

    Takes ``[*batch, m, d]`` and a beta that broadcasts to ``[*batch]``; returns ``[*batch]``.
    Raises ValueError on non-finite memories and ``beta <= 0``.
    """
    _check_memory(memory)
    check_beta(beta, like=memory, shape=tuple(memory.shape[:-2]))
    squares = _wide(memory).square().sum(-1)
    log_volume = math.log(2 * math.pi) - (beta.to(squares.dtype).log() if isinstance(beta, Tensor) else math.log(beta))
    log_sum = (_column(beta) * squares / 2).logsumexp(-1)
    return (memory.shape[-1] / 2 * log_volume + log_sum).to(memory.dtype)


def hopfield_log_density(
    state: Float[Tensor, "*batch n d"], memory: Float[Tensor, "*batch m d"], *, beta: float | int = 1.0
) -> Float[Tensor, "*batch n"]:
    r"""Normalised log-density ``-beta E(state) - ln Z``: exact, so memories can be fitted to data by gradient ascent.

    Takes ``[*batch, n, d]`` and ``[*batch, m, d]``, returns ``[*batch, n]`` in nats. Errors as :func:`hopfield_energy`.
    """
    check_beta(beta)
    return -beta * hopfield_energy(state, memory, beta=beta) - hopfield_log_partition(memory, beta=beta)[..., None]


def hopfield_sample(
    memory: Float[Tensor, "m d"], count: int, *, beta: float | int = 1.0, generator: torch.Generator | None = None
) -> Float[Tensor, "count d"]:
    """Draw independent states from ``exp(-beta E) / Z``: pick a memory by its mixture weight, add noise of variance 1/beta.

    Takes memories ``[m, d]``, returns ``[count, d]``. Raises ValueError on bad memories, ``beta <= 0``, ``count < 1``.
    """
    check_count("count", count)
    if memory.ndim != 2:
        raise ValueError(f"memory has shape {tuple(memory.shape)}; expected [m, d]")
    weights = hopfield_mixture_weights(memory, beta=beta)
    picked = torch.multinomial(weights, count, replacement=True, generator=generator)
    noise = torch.randn(count, memory.shape[-1], dtype=memory.dtype, device=memory.device, generator=generator)
    return memory[picked] + noise / math.sqrt(beta)


def energy_step(
    energy: Energy, state: Float[Tensor, "*batch n d"], step_size: float | int = 1.0
) -> Float[Tensor, "*batch n d"]:
    r"""One gradient step ``state - step_size * grad E`` for any energy function, by automatic differentiation.

    The step itself can be differentiated, with respect to the state and to whatever the energy closes over; it costs a graph
    of the gradient. Where the energy refers to the same tensor as the state (self-attention), only the argument moves.
    Works under ``torch.no_grad`` too, and never sets ``requires_grad`` on the caller's tensor.

    Raises:
        ValueError: a state that is not ``[*batch, n, d]``, not finite, a step size that is not finite, an energy that does
            not return ``[*batch, n]`` or does not depend on the state.
    """
    _check_step_size(step_size)
    _check_state(state)
    return state - step_size * _gradient(energy, state)[1]


@dataclass(frozen=True)
class Descent:
    """A descent: states ``[steps + 1, *batch, n, d]``, their energies and gradient norms ``[steps + 1, *batch, n]``."""

    states: Float[Tensor, "steps *batch n d"]
    energies: Float[Tensor, "steps *batch n"]
    gradient_norms: Float[Tensor, "steps *batch n"]


def descend(energy: Energy, state: Float[Tensor, "*batch n d"], *, steps: int, step_size: float | int = 1.0) -> Descent:
    """Follow gradient descent on any energy function and keep the whole trajectory, for figures and measurements.

    Args:
        energy: states ``[*batch, n, d]`` in, energies ``[*batch, n]`` out; each state's energy must be its own.
        state: where to start; it is not changed, and no graph is kept.
        steps: number of steps, at least 0.
        step_size: any finite number.

    Raises:
        ValueError: as :func:`energy_step`; also ``steps < 0``.
    """
    check_count("steps", steps, least=0)
    _check_step_size(step_size)
    _check_state(state)
    state = state.detach()
    states, energies, norms = [], [], []
    for step in range(steps + 1):
        with torch.no_grad():
            value, gradient = _gradient(energy, state)
        states.append(state)
        energies.append(value.detach())
        norms.append(gradient.norm(dim=-1))
        if step < steps:
            state = state - step_size * gradient
    return Descent(torch.stack(states), torch.stack(energies), torch.stack(norms))


@dataclass(frozen=True)
class FixedPoints:
    """Where states among fixed memories come to rest, lowest energy first, and the evidence for it.

    The resting places: points ``[k, d]``, their energies ``[k]``, attention weights ``[k, m]`` and curvatures ``[k]``, the
    smallest eigenvalue of the energy's Hessian: above zero at a minimum, below at a saddle or a maximum.

    Of each start: ``reached [n]``, the index of its resting place, or -1 where it did not converge; the states ``[n, d]`` it
    ended in, their residuals ``[n]``, the steps ``[n]`` it took.
    """

    points: Float[Tensor, "k d"]
    energies: Float[Tensor, "k"]
    weights: Float[Tensor, "k m"]
    curvatures: Float[Tensor, "k"]
    reached: Int[Tensor, "n"]
    states: Float[Tensor, "n d"]
    residuals: Float[Tensor, "n"]
    steps: Int[Tensor, "n"]

    @property
    def converged(self) -> Bool[Tensor, "n"]:
        """Which of the starts came to rest, ``[n]``."""
        return self.reached >= 0

    @property
    def sharing(self) -> Int[Tensor, "k"]:
        """How many memories share each point ``[k]``: those with at least half of the largest weight. One: a single pattern."""
        return (self.weights >= self.weights.amax(-1, keepdim=True) / 2).sum(-1)


def find_fixed_points(
    state: Float[Tensor, "n d"],
    memory: Float[Tensor, "m d"],
    *,
    beta: float | int = 1.0,
    tolerance: float | None = None,
    max_steps: int = 10_000,
    merge: float | int = 1e-4,
    on_failure: OnFailure = "error",
) -> FixedPoints:
    r"""Attend again and again until nothing moves, from each start on its own, and gather the places of rest.

    .. math:: \xi = \sum_i p_i x_i, \qquad p = \mathrm{softmax}(\beta X \xi)

    Steps of size one never climb, so almost every start ends in a minimum; one on a ridge may rest on a saddle, which its
    curvature tells. The slowest error shrinks by one minus the curvature a step: close to a transition that takes long.

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
    if state.ndim != 2 or 0 in state.shape:
        raise ValueError(f"state has shape {tuple(state.shape)}; expected [n, d] with n >= 1")
    check_beta(beta)
    check_count("max_steps", max_steps)
    check_choice("on_failure", on_failure, ("error", "warn"))
    tolerance = torch.finfo(state.dtype).eps ** (2 / 3) if tolerance is None else tolerance
    for name, number in (("tolerance", tolerance), ("merge", merge)):
        if not 0 < number < math.inf:
            raise ValueError(f"{name} is {number}; expected a finite number above 0")
    state, memory = state.detach(), memory.detach()
    unit = memory.norm(dim=-1).max().item()
    state, residuals, steps = _settle(state, memory, beta, tolerance * unit, max_steps)
    resting = residuals <= tolerance * unit
    if not resting.all():
        report_failure(
            f"{int((~resting).sum())} of {len(state)} starts still move after {max_steps} steps, the fastest with a gradient "
            f"of {residuals.max():.2g}; expected at most {tolerance * unit:.2g}",
            iterations=max_steps,
            residual=residuals.max().item(),
            on_failure=on_failure,
        )
    chosen, reached = _gather(state, resting, merge * unit)
    points = state[chosen]
    energies, order = hopfield_energy(points, memory, beta=beta).sort(stable=True)
    reached = torch.where(resting, order.argsort()[reached], -1) if len(order) else reached
    points = points[order]
    stiffness = torch.linalg.eigvalsh(_wide(hopfield_jacobian(points, memory, beta=beta)))[..., -1]
    weights = _weights(points, memory, beta, None)
    return FixedPoints(points, energies, weights, (1 - stiffness).to(state.dtype), reached, state, residuals, steps)


class EnergyAttention(Mixer):
    r"""Attention as descent: each head's queries take steps down an energy shaped by the head's keys.

    .. math:: \xi \leftarrow \xi - \gamma\, \nabla_\xi E(\xi;\, W_K^h c), \qquad \xi_0 = W_Q^h x, \qquad
        \mathrm{out} = W_O [\xi_T^h]_h

    There is no map for values: they are the keys. With the Hopfield energy, one step of size one and ``bare=True`` this is
    ``attend(x, context, context)``, computed in closed form by torch's fused attention.

    Args:
        step_size: the step ``gamma``, default 1.
        steps: number of steps, default 1.
        energy: ``energy(state, memory, beta=..., mask=...)``, tensors per head, ``[batch, heads, n, d]`` and
            ``[batch, heads, m, d]`` in, ``[batch, heads, n]`` out; default :func:`hopfield_energy`. It is differentiated
            automatically, and the step can be differentiated again for training.
        closed_form: default True for the Hopfield energy; False sends it through automatic differentiation like any other.
        **settings: the other arguments of :class:`attnlib.attention.Mixer`.

    Raises:
        ValueError: as :class:`attnlib.attention.Mixer`; also ``closed_form=True`` with another energy, ``steps < 1``, a step
            size that is not finite.

    Source: Ramsauer et al. 2021; the interface with an energy as an argument follows Bal 2020.

    >>> EnergyAttention(8, bare=True, steps=3, step_size=0.5)(torch.zeros(1, 2, 8), torch.zeros(1, 5, 8)).shape
    torch.Size([1, 2, 8])
    """

    has_values = False

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        step_size: float | int = 1.0,
        steps: int = 1,
        energy: Callable[..., Tensor] | None = None,
        closed_form: bool | None = None,
        **settings: object,
    ) -> None:
        super().__init__(dim, context_dim, **settings)
        check_count("steps", steps)
        _check_step_size(step_size)
        hopfield = energy is None or energy is hopfield_energy
        if closed_form and not hopfield:
            raise ValueError("closed_form is True; expected False or None with an energy other than hopfield_energy")
        self.step_size, self.steps = step_size, steps
        self.energy = partial(hopfield_energy, empty=self.empty) if hopfield else energy
        self.closed_form = hopfield if closed_form is None else closed_form

    def _mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, rows: Tensor | None) -> Tensor:
        state = query
        for _ in range(self.steps):
            if self.closed_form:
                attended = _attend(state, key, value, self.beta, mask, rows, self.twice_differentiable)
                state = _relax(state, attended, self.step_size)
            else:
                state = state - self.step_size * _gradient(self._energy_of(key, mask), state)[1]
        return state if rows is None else torch.where(rows, state, 0.0)

    def _energy_of(self, key: Tensor, mask: Tensor | None) -> Energy:
        with torch.inference_mode(False):
            key = key.clone() if key.is_inference() else key  # a gradient cannot pass through an inference tensor
        return lambda state: self.energy(state, key, beta=self.beta, mask=mask)

    def explain(
        self,
        x: Float[Tensor, "batch n dim"],
        context: Float[Tensor, "batch m context_dim"] | None = None,
        mask: Bool[Tensor, "batch m"] | Bool[Tensor, "batch n m"] | None = None,
    ) -> Descent:
        """Return the descent of each head: states ``[steps + 1, batch, heads, n, d]``, energies, gradient norms.

        Arguments and errors are those of the call. With ``empty="zero"`` a state that feels no memory keeps descending the
        quadratic term here; the call puts a zero in its place.
        """
        query, key, _, mask, _ = self._split(x, context, mask)
        return descend(self._energy_of(key.detach(), mask), query, steps=self.steps, step_size=self.step_size)

    def extra_repr(self) -> str:
        """Sizes, inverse temperature and steps, for printing."""
        return f"{super().extra_repr()}, steps={self.steps}, step_size={self.step_size}"


def _average(
    state: Tensor, memory: Tensor, beta: Scalar, mask: Tensor | None, empty: Empty, twice_differentiable: bool
) -> Tensor:
    """Attention to the memories, with the checks of the energy."""
    check_states("state", state, "memory", memory)
    _check_inverse_temperature(beta, state)
    rows = None if mask is None else usable_rows(mask, (*state.shape[:-1], memory.shape[-2]), empty)
    return _attend(state, memory, memory, _column(beta), mask, rows, twice_differentiable)


def _relax(state: Tensor, target: Tensor, step_size: float | int) -> Tensor:
    return target if step_size == 1 else torch.lerp(state, target, step_size)


def _gradient(energy: Energy, state: Tensor) -> tuple[Tensor, Tensor]:
    """Energies, and their gradient with respect to the argument alone; differentiable if gradients are enabled."""
    again = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.enable_grad():
        # A view is a node of its own: an energy that closes over the same tensor (self-attention) keeps it fixed.
        argument = state.view_as(state) if again and state.requires_grad else state.detach().clone().requires_grad_()
        value = energy(argument)
        if value.shape != state.shape[:-1]:
            raise ValueError(f"energy returned shape {tuple(value.shape)}; expected {tuple(state.shape[:-1])}")
        gradient = None
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value.sum(), argument, create_graph=again, allow_unused=True)
        if gradient is None:
            raise ValueError("energy returned a constant; expected a differentiable function of the state")
    return value, gradient


def _settle(state: Tensor, memory: Tensor, beta: float | int, small: float, max_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Full steps from each start until its own gradient is small: states, residuals of exactly these, steps taken."""
    state, steps = state.clone(), torch.zeros(len(state), dtype=torch.long, device=state.device)
    residuals, moving = torch.full_like(state[:, 0], math.inf), torch.arange(len(state), device=state.device)
    for step in range(max_steps + 1):
        attended = _attend(state[moving], memory, memory, beta, None, None, False)
        residuals[moving] = (state[moving] - attended).norm(dim=-1)
        going = residuals[moving] > small
        moving = moving[going]
        if step == max_steps or not len(moving):
            break
        state[moving] = attended[going]
        steps[moving] += 1
    return state, residuals, steps


def _gather(state: Tensor, resting: Tensor, near: float) -> tuple[Tensor, Tensor]:
    """Indices of states that stand for all that lie near them, and for each state which of these it belongs to, or -1."""
    chosen, group = [], torch.full((len(state),), -1, device=state.device)
    while (left := (resting & (group < 0)).nonzero()[:, 0]).numel():
        close = (state[left] - state[left[0]]).norm(dim=-1) <= near
        group[left[close]] = len(chosen)
        chosen.append(int(left[0]))
    return torch.tensor(chosen, dtype=torch.long, device=state.device), group


def _check_inverse_temperature(beta: Scalar, state: Tensor) -> None:
    if isinstance(beta, Tensor) or beta != math.inf:
        check_beta(beta, like=state, shape=tuple(state.shape[:-1]))


def _check_step_size(step_size: float | int) -> None:
    if not math.isfinite(step_size):
        raise ValueError(f"step_size is {step_size}; expected a finite number")


def _check_memory(memory: Tensor) -> None:
    if memory.ndim < 2 or 0 in memory.shape[-2:]:
        raise ValueError(f"memory has shape {tuple(memory.shape)}; expected [*batch, m, d] with m >= 1 and d >= 1")
    check_floating(memory=memory)
    check_finite(memory=memory)


def _check_state(state: Tensor) -> None:
    if state.ndim < 2 or state.shape[-1] == 0:
        raise ValueError(f"state has shape {tuple(state.shape)}; expected [*batch, n, d] with d >= 1")
    check_floating(state=state)
    check_finite(state=state)
