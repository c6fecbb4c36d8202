"""What the functions of this chapter return: a stationary state, summed over all states of the spins."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class KineticRecord:
    """The stationary state of spins that are driven: what they are, how long they remember it, and whether time has an arrow.

    ``law [*batch, states]`` is the probability of each state, in the order of :func:`attnlib.kinetic.spin_states`, and
    ``m [*batch, n]`` are the means. ``C [*batch, lags + 1, n, n]`` are connected correlations, ``C[tau, i, j]`` that of spin i
    at time ``t + tau`` with spin j at time t: ``C[0]`` is the covariance, and symmetric; the others need not be.
    ``entropy_production [*batch]`` is in nats a step: the logarithm by which a film is likelier forwards than backwards grows
    by so much a frame, on average. ``current [*batch]`` is the largest difference between the chances of a move and of its
    reverse. Both are zero exactly where there is detailed balance.

    >>> from attnlib.kinetic import exact_kinetic
    >>> found = exact_kinetic(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))  # the first spin follows the second, which follows none
    >>> found.C[1, 0, 1], found.entropy_production
    (tensor(0.7616), tensor(0.7616))
    """

    law: Float[Tensor, "*batch states"]
    m: Float[Tensor, "*batch n"]
    C: Float[Tensor, "*batch lags n n"]
    entropy_production: Float[Tensor, "*batch"]
    current: Float[Tensor, "*batch"]


@dataclass(frozen=True)
class ClosureRecord:
    """A closure at rest: means ``m [*batch, n]`` and covariances ``C [*batch, 2, n, n]``, of one time and a step apart.

    ``C[1, i, j]`` is that of spin i with spin j a step before. ``entropy_production [*batch]`` is what these say of it, in nats
    a step. Evidence, each ``[*batch]``: ``residual``, how much one more step would change; ``iterations``; ``converged``.

    >>> from attnlib.kinetic import stationary_closure
    >>> stationary_closure(torch.zeros(2, 2), torch.tensor([0.5, 0.0])).C[0]
    tensor([[0.7864, 0.0000],
            [0.0000, 1.0000]])
    """

    m: Float[Tensor, "*batch n"]
    C: Float[Tensor, "*batch 2 n n"]
    entropy_production: Float[Tensor, "*batch"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]


@dataclass(frozen=True)
class MomentsRecord:
    """Moments of vector spins at rest: means ``m [*batch, n, d]`` and covariances by component, ``C [*batch, 2, n, n]``.

    ``C[0]`` is of one time; ``C[1, i, j]`` of spin i with spin j a step before. ``entropy_production [*batch]`` is in nats a
    step and component. Evidence, each ``[*batch]``: ``residual``, how much one more step would change; ``iterations``;
    ``converged``.

    >>> from attnlib.kinetic import stationary_moments
    >>> stationary_moments(torch.zeros(1, 1), torch.tensor([[3.0, 4.0]])).m
    tensor([[0.7764, 1.0351]])
    """

    m: Float[Tensor, "*batch n d"]
    C: Float[Tensor, "*batch 2 n n"]
    entropy_production: Float[Tensor, "*batch"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]
