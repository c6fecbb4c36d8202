"""Hopfield energies with continuous states: one step down the energy is softmax attention."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import Empty, Scalar, check_beta, check_field, check_flag, check_number, check_states
from attnlib._core.numerics import Mask, attention_average, attention_weights_of, column, open_mask, soft_maximum, widened
from attnlib._core.values import check_result


def hopfield_energy(
    state: Float[Tensor, "*batch n d"],
    memory: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    score_bias: Float[Tensor, "..."] | None = None,
    empty: Empty = "error",
) -> Float[Tensor, "*batch n"]:
    r"""Energy of a state among stored patterns (the rows ``x_i`` of memory).

    .. math:: E(\xi) = \tfrac12 |\xi|^2 - \frac1\beta \ln \sum_i \exp \beta (x_i \cdot \xi + b_i)

    Args:
        state, memory: ``[*batch, n, d]`` and ``[*batch, m, d]``, of one floating dtype, finite, ``m >= 1``.
        beta: inverse temperature, default 1; a number in ``(0, inf]`` or a finite tensor that broadcasts to ``[*batch, n]``.
        mask: boolean, broadcasts to ``[*batch, n, m]``; True means: the state feels this memory.
        score_bias: ``b``, a field that favours some memories, broadcasts to ``[*batch, n, m]``; default none.
        empty: a state that feels no memory is an ``"error"`` (default), or (``"zero"``) keeps only the quadratic term.

    Returns:
        ``[*batch, n]``, in the units of the squared state.

    Raises:
        ValueError: shapes that do not fit, mixed dtypes, non-finite entries, ``beta <= 0``, a wrong mask or an empty row.

    Source: Ramsauer et al. 2021, eq. (2), without the constants that make it non-negative.

    >>> memory = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> hopfield_energy(torch.tensor([[0.0, 0.0], [1.0, 0.0]]), memory, beta=4)  # lower at a memory than between them
    tensor([-0.1733, -0.5045])
    """
    beta, seen = _check(state, memory, beta, mask, score_bias, empty)
    wide = widened(state)
    scores = wide @ widened(memory).mT
    scores = scores if score_bias is None else scores + score_bias
    attraction = soft_maximum(scores, beta, seen.whole(scores.shape[-2], scores.shape[-1], scores.device))
    attraction = attraction if seen.rows is None else torch.where(seen.rows[..., 0], attraction, seen.fill)
    return check_result((wide.square().sum(-1) / 2 - attraction).to(state.dtype), "state and memory, or 1/beta, are")


def hopfield_gradient(
    state: Float[Tensor, "*batch n d"],
    memory: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    score_bias: Float[Tensor, "..."] | None = None,
    empty: Empty = "error",
    twice_differentiable: bool = False,
) -> Float[Tensor, "*batch n d"]:
    r"""Gradient of :func:`hopfield_energy` with respect to the state: the state minus what attention returns.

    .. math:: \nabla E(\xi) = \xi - \sum_i p_i x_i, \qquad p = \mathrm{softmax}\, \beta (X \xi + b)

    Arguments and errors are those of :func:`hopfield_energy`, ``twice_differentiable`` is that of
    :func:`attnlib.attention.attend`. Returns ``[*batch, n, d]``.

    >>> memory = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> hopfield_gradient(torch.tensor([[0.0, 0.0]]), memory)  # the state minus the mean of the two
    tensor([[-0.5000, -0.5000]])
    """
    average = _average(state, memory, beta, mask, score_bias, empty, twice_differentiable)
    return check_result((widened(state) - average).to(state.dtype), "state or memory are")


def hopfield_update(
    state: Float[Tensor, "*batch n d"],
    memory: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar = 1.0,
    step_size: float | int = 1.0,
    mask: Bool[Tensor, "..."] | None = None,
    score_bias: Float[Tensor, "..."] | None = None,
    empty: Empty = "error",
    twice_differentiable: bool = False,
) -> Float[Tensor, "*batch n d"]:
    r"""One step down :func:`hopfield_energy`, in closed form.

    .. math:: \xi' = \xi - \gamma \nabla E(\xi) = (1 - \gamma)\,\xi + \gamma \sum_i p_i x_i

    A step of size one is softmax attention with the memories as keys and values. Every step size in ``(0, 2]`` lowers the
    energy, by at least ``gamma (1 - gamma/2) |grad|^2``.

    Args:
        step_size: the step ``gamma``, any finite number.
        state, memory, beta, mask, score_bias, empty: as in :func:`hopfield_energy`. So beta is 1 by default, as for all
            energies; :func:`attnlib.attention.attend`, which is the same step, takes ``d ** -0.5``.
        twice_differentiable: as in :func:`attnlib.attention.attend`.

    Returns:
        The new state ``[*batch, n, d]``.

    Raises:
        ValueError: as :func:`hopfield_energy`; also a step size that is not finite.

    Source: Ramsauer et al. 2021, eq. (3), which is the case ``step_size = 1``.

    >>> from attnlib import attend
    >>> memory, state = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.6, 0.2]])
    >>> hopfield_update(state, memory, beta=4)
    tensor([[0.8320, 0.1680]])
    >>> attend(state, memory, memory, beta=4)  # the same: one step down the energy is attention
    tensor([[0.8320, 0.1680]])
    """
    step_size = check_number("step_size", step_size)
    average = _average(state, memory, beta, mask, score_bias, empty, twice_differentiable)
    return check_result(relaxed(widened(state), average, step_size).to(state.dtype), "state, memory or step_size are")


def hopfield_jacobian(
    state: Float[Tensor, "*batch n d"], memory: Float[Tensor, "*batch m d"], *, beta: Scalar = 1.0
) -> Float[Tensor, "*batch n d d"]:
    r"""Derivative of the attended pattern with respect to the state: beta times the covariance of the memories under p.

    .. math:: \frac{\partial}{\partial \xi} \sum_i p_i x_i = \beta X^T (\mathrm{diag}\, p - p p^T) X = 1 - \nabla^2 E

    At a fixed point its largest eigenvalue is the factor by which a step of size one shrinks a small error.
    Takes ``[*batch, n, d]`` and ``[*batch, m, d]``, returns symmetric, positive semidefinite ``[*batch, n, d, d]``.

    Raises:
        ValueError: as :func:`hopfield_energy`; also ``beta = inf``, where the derivative does not exist.

    >>> memory = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> hopfield_jacobian(torch.tensor([[0.5, 0.5]]), memory, beta=2)[0]
    tensor([[ 0.5000, -0.5000],
            [-0.5000,  0.5000]])
    """
    check_states("state", state, "memory", memory)
    beta = check_beta(beta, like=state, shape=state.shape[:-1])
    return check_result(unchecked_jacobian(state, memory, beta).to(state.dtype), "beta and memory are")


def unchecked_jacobian(state: Tensor, memory: Tensor, beta: Scalar) -> Tensor:
    """What :func:`hopfield_jacobian` returns, of arguments that are known to be good, in single precision or better."""
    wide = widened(memory)
    weights = attention_weights_of(state, memory, beta, Mask())
    centred = wide[..., None, :, :] - (weights @ wide)[..., :, None, :]
    return column(column(beta)) * ((weights[..., None] * centred).mT @ centred)


def relaxed(state: Tensor, target: Tensor, step_size: float | int) -> Tensor:
    """Go a part of the way: the target itself for a step of size one."""
    if abs(step_size) > torch.finfo(state.dtype).max:  # torch does not take such a number
        step_size = math.copysign(math.inf, step_size)
    return target if step_size == 1 else torch.lerp(state, target, step_size)


def _average(
    state: Tensor,
    memory: Tensor,
    beta: Scalar,
    mask: Tensor | None,
    score_bias: Tensor | None,
    empty: Empty,
    twice_differentiable: bool,
) -> Tensor:
    """Attention to the memories, with the checks of the energy, in single precision or better."""
    check_flag(twice_differentiable=twice_differentiable)
    beta, seen = _check(state, memory, beta, mask, score_bias, empty)
    state, memory = widened(state), widened(memory)
    score_bias = None if score_bias is None else widened(score_bias)
    return seen.close(attention_average(state, memory, memory, beta, seen, score_bias, explicit=twice_differentiable))


def _check(
    state: Tensor, memory: Tensor, beta: Scalar, mask: Tensor | None, score_bias: Tensor | None, empty: Empty
) -> tuple[Scalar, Mask]:
    check_states("state", state, "memory", memory)
    beta = check_beta(beta, limits=(math.inf,), like=state, shape=state.shape[:-1])
    shape = (*state.shape[:-1], memory.shape[-2])
    if score_bias is not None:
        check_field("score_bias", score_bias, shape, state)
    return beta, open_mask(mask, shape, empty, state)
