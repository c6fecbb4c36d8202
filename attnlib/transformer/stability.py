"""How fast two copies of an iteration part: its largest Lyapunov exponent, along the way that it takes."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count, check_floating, check_generator
from attnlib._core.values import check_finite, check_result, check_visible


def lyapunov_exponent(
    function: Callable[[Tensor], Tensor],
    state: Float[Tensor, "*batch k"],
    *,
    steps: int = 200,
    burn_in: int = 100,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*batch"]:
    r"""The largest Lyapunov exponent of an iteration: the rate at which a small difference grows along its trajectory.

    .. math:: \lambda = \frac1T \sum_{t} \ln |J_t\, v_t|, \qquad v_{t+1} = \frac{J_t v_t}{|J_t v_t|}, \qquad
        J_t = \frac{\partial f}{\partial z}\Big|_{z_t}, \quad z_{t+1} = f(z_t)

    Below zero two copies that start close meet: a fixed point, or a cycle. Above zero they part: chaos. At a fixed point it is
    the logarithm of :func:`attnlib.solve.spectral_radius`. The derivative is exact, by forward differentiation; no second copy
    is followed. For the largest exponent alone one vector is enough, and nothing has to be made orthogonal.

    Args:
        function: the map; states ``[*batch, k]`` in and out. Each sample's image must depend on that sample alone.
        state: where it begins, ``[*batch, k]``, finite.
        steps: how many steps the mean is over.
        burn_in: how many come before, in which the vector turns into the direction that grows fastest.
        generator: of the vector to begin with; default one with the seed 0.

    Returns:
        The exponent of each sample, ``[*batch]``, in nats a step, without gradients. Minus infinity where a step forgets
        everything. Where the fastest directions turn in pairs, the mean over T steps is off by the order of 1/T.

    Raises:
        ValueError: a state that is not ``[*batch, k]`` or not finite, settings out of range, a map that returns another shape
            or overflows.

    Source: Benettin, Galgani, Giorgilli and Strelcyn 1980, for one exponent.

    >>> round(lyapunov_exponent(lambda z: 4 * z * (1 - z), torch.tensor([0.3], dtype=torch.float64), steps=4000).item(), 2)
    0.69
    """
    check_floating(state=state)
    if state.ndim < 1 or state.shape[-1] == 0:
        raise ValueError(f"state has shape {tuple(state.shape)}; expected [*batch, k] with k >= 1")
    check_visible(state=state)
    check_finite(state=state)
    if not callable(function):
        raise ValueError(f"function is a {type(function).__name__}; expected a function of states")
    steps, burn_in = check_count("steps", steps), check_count("burn_in", burn_in, 0)
    check_generator(generator)
    rates = list(growths(function, state, burn_in + steps, generator))
    return torch.stack(rates[burn_in:]).sum(0).div(steps).to(state.dtype)


def growths(
    function: Callable[[Tensor], Tensor], state: Tensor, steps: int, generator: torch.Generator | None = None
) -> Iterator[Tensor]:
    """What a small difference grows by in each step, ``[*batch]`` in nats and double precision, of states ``[*batch, k]``.

    Minus infinity from the step on that forgets it. ``generator``: of the vector to begin with.
    """
    drawn = torch.Generator(state.device).manual_seed(0) if generator is None else generator
    state = state.detach().clone()
    vector = torch.randn(state.shape, generator=drawn, dtype=torch.float64, device=state.device)  # alike in every precision
    vector = (vector / vector.norm(dim=-1, keepdim=True)).to(state.dtype)
    for _ in range(steps):
        state, moved = _pushed(function, state, vector)
        length = vector.double().norm(dim=-1)  # one, but for rounding; zero where all is forgotten
        long = check_result(moved.double().norm(dim=-1), "function's derivatives are")
        yield torch.where(long > 0, long / length, 0.0).log()
        vector = (moved / torch.where(long > 0, long, 1.0).unsqueeze(-1)).to(state.dtype)


def _pushed(function: Callable[[Tensor], Tensor], state: Tensor, vector: Tensor) -> tuple[Tensor, Tensor]:
    """The next state, and what becomes of a small difference."""
    following, moved = (tensor.detach() for tensor in torch.func.jvp(function, (state,), (vector,))[:2])
    if following.shape != state.shape:
        raise ValueError(f"function returned shape {tuple(following.shape)}; expected {tuple(state.shape)}, that of state")
    return check_result(following, "function's values are"), check_result(moved, "function's derivatives are")
