"""Descent on any energy: one step that can be differentiated, and whole trajectories for figures."""

from collections.abc import Callable
from contextlib import nullcontext

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import FLOATING, check_count, check_floating, check_number
from attnlib._core.numerics import differentiable, lengths
from attnlib._core.values import check_finite, check_result, refuted
from attnlib.hopfield.records import Descent

Energy = Callable[[Tensor], Tensor]
"""An energy function takes states ``[*batch, n, d]`` and returns one energy per state, ``[*batch, n]``."""

_Pair = tuple[Tensor, Tensor]  # torch 2.6 cannot trace a function that writes this out inside another


def energy_step(
    energy: Energy, state: Float[Tensor, "*batch n d"], *, step_size: float | int = 1.0
) -> Float[Tensor, "*batch n d"]:
    r"""One gradient step ``state - step_size * grad E`` for any energy function, by automatic differentiation.

    The step itself can be differentiated, with respect to the state and to whatever the energy closes over; it costs a graph
    of the gradient. Where the energy refers to the same tensor as the state (self-attention), only the argument moves.
    Works under ``torch.no_grad``, in ``torch.compile``, ``vmap`` and ``jvp``, and never sets ``requires_grad`` on the caller's
    tensor.

    Raises:
        ValueError: a state that is not ``[*batch, n, d]``, not finite, a step size that is not finite, an energy that does
            not return ``[*batch, n]`` or does not depend on the state.

    >>> energy_step(lambda state: state.square().sum(-1) / 2, torch.tensor([[2.0, -4.0]]), step_size=0.5)
    tensor([[ 1., -2.]])
    """
    step_size = check_number("step_size", step_size)
    _check(energy, state)
    return check_result(state - step_size * gradient(energy, state)[1], "state or step_size is")


def descend(energy: Energy, state: Float[Tensor, "*batch n d"], *, steps: int, step_size: float | int = 1.0) -> Descent:
    """Follow gradient descent on any energy function and keep the whole trajectory, for figures and measurements.

    Args:
        energy: states ``[*batch, n, d]`` in, energies ``[*batch, n]`` out; each state's energy must be its own.
        state: where to start; it is not changed, and no graph is kept.
        steps: number of steps, at least 0.
        step_size: any finite number.

    Raises:
        ValueError: as :func:`energy_step`; also ``steps < 0``.

    >>> from attnlib import hopfield_energy
    >>> memory = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> walk = descend(lambda state: hopfield_energy(state, memory, beta=8), torch.tensor([[0.6, 0.3]]), steps=5)
    >>> walk.states[-1].round(decimals=2), (walk.energies.diff(dim=0) <= 0).all()  # into the nearer memory, never uphill
    (tensor([[1., 0.]]), tensor(True))
    """
    steps, step_size = check_count("steps", steps, least=0), check_number("step_size", step_size)
    _check(energy, state)
    state = state.detach()
    states, energies, norms = [], [], []
    for step in range(steps + 1):
        with torch.no_grad():
            value, slope = gradient(energy, state)
        states.append(state)
        energies.append(value.detach())
        norms.append(lengths(slope))
        if step < steps:
            state = check_result(state - step_size * slope, "state or step_size is")
    values, slopes = (check_result(torch.stack(rows), "state, step_size or the energy is") for rows in (energies, norms))
    return Descent(torch.stack(states), values, slopes)


def gradient(energy: Energy, state: Tensor) -> tuple[Tensor, Tensor]:
    """Energies, and their gradient with respect to the argument alone; differentiable if gradients are enabled.

    An energy that closes over the same tensor (self-attention) keeps it fixed: the argument is a tensor of its own.
    """

    def total(argument: Tensor) -> _Pair:
        value = energy(argument)
        if not isinstance(value, Tensor) or value.shape != state.shape[:-1]:
            came = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise ValueError(f"energy returned {came}; expected {tuple(state.shape[:-1])}, one energy for each state")
        if value.dtype not in FLOATING:
            raise ValueError(f"energy returned {value.dtype}; expected real numbers, of the state's dtype or a wider one")
        return value.sum(), value.to(state.dtype)

    state = differentiable(state)
    with nullcontext() if torch.compiler.is_compiling() else torch.inference_mode(False):
        slope, (_, value) = torch.func.grad_and_value(total, has_aux=True)(state)
    try:
        (steepest,) = check_finite(slope=slope)
    except ValueError:
        raise ValueError(
            "energy has a gradient at this state that is not finite; expected one, or a smaller state or step_size"
        ) from None
    if not steepest and refuted(lambda: slope.any()) and _ignores(energy, state):
        raise ValueError("energy returned a constant; expected a differentiable function of the state")
    return value, slope


def _ignores(energy: Energy, state: Tensor) -> bool:
    """Whether the energy does not depend on its argument at all."""
    with torch.inference_mode(False), torch.enable_grad():
        argument = state.detach().clone().requires_grad_()
        value = energy(argument)
        return not value.requires_grad or torch.autograd.grad(value.sum(), argument, allow_unused=True)[0] is None


def _check(energy: Energy, state: Tensor) -> None:
    if not callable(energy):
        raise ValueError(f"energy is a {type(energy).__name__}; expected a function of states")
    check_floating(state=state)
    if state.ndim < 2 or state.shape[-1] == 0:
        raise ValueError(f"state has shape {tuple(state.shape)}; expected [*batch, n, d] with d >= 1")
    check_finite(state=state)
