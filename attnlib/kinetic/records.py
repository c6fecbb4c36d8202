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


@dataclass(frozen=True)
class KineticAttentionRecord:
    """What a call of :class:`attnlib.kinetic.KineticAttention` did: couplings, drive, and the means of the spins, step by step.

    ``output [*batch, n, dim]``; ``weights [*batch, heads, n, n]``, the couplings; ``drive [*batch, heads, n, d]``, the values;
    ``m [steps + 1, *batch, heads, n, d]``, the means at the start and after each step. With moments ``C [*batch, heads, 2, n,
    n]``, covariances by component after the last step, of one time and of the last step with the one before, and
    ``entropy_production [*batch, heads]`` of that step, in nats a component; both None without.

    >>> from attnlib.kinetic import KineticAttention
    >>> KineticAttention(8, heads=2, steps=2).explain(torch.zeros(1, 3, 8)).m.shape
    torch.Size([3, 1, 2, 3, 4])
    """

    output: Float[Tensor, "*batch n dim"]
    weights: Float[Tensor, "*batch heads n n"]
    drive: Float[Tensor, "*batch heads n d"]
    m: Float[Tensor, "states *batch heads n d"]
    C: Float[Tensor, "*batch heads 2 n n"] | None
    entropy_production: Float[Tensor, "*batch heads"] | None
