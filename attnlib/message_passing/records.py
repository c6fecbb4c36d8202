"""What the functions of this chapter return: beliefs, chains, estimates with their path and prediction, a mixer's record."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class BeliefRecord:
    """Marginals of a factor graph, believed or exact, and how far they can be trusted.

    ``beliefs [*batch, variables, states]`` are those of each variable, with zeros where a variable has fewer states than
    another; ``factor_beliefs`` those of each factor, one tensor ``[*batch, factors, *states]`` for each group of the graph.
    ``log_partition [*batch]`` is ``ln Z``, of belief propagation minus the Bethe free energy. ``residual [*batch]`` is the
    largest change that one more sweep, undamped, makes in a message, a probability; ``iterations [*batch]`` the sweeps made,
    two passes on a forest; ``converged [*batch]`` whether the residual is within the tolerance. ``stability [*batch]`` is one
    minus the spectral radius of a sweep, undamped, at these messages: 1 on a forest and where beliefs are exact, below 0 where
    messages that differ a little do not come back, NaN where no value can be seen.

    >>> from attnlib.message_passing import belief_propagation, ising_graph
    >>> found = belief_propagation(ising_graph(torch.tensor([[0.0, 1.0], [1.0, 0.0]])))
    >>> found.beliefs, found.iterations
    (tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]]), tensor(2))
    """

    beliefs: Float[Tensor, "*batch variables states"]
    factor_beliefs: tuple[Float[Tensor, "..."], ...]
    log_partition: Float[Tensor, "*batch"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]
    stability: Float[Tensor, "*batch"]


@dataclass(frozen=True)
class BeliefPoints:
    """Fixed points of belief propagation, and which start led where.

    ``points`` is a :class:`BeliefRecord` with one axis in front, ``[points]``, the largest ``log_partition`` first: that with
    the lowest Bethe free energy. ``reached [starts]`` says which point a start led to, -1 where it did not settle.

    >>> from attnlib.message_passing import find_beliefs, ising_graph
    >>> magnet = ising_graph(1 - torch.eye(4), torch.full((4,), 0.05))
    >>> found = find_beliefs(magnet, generator=torch.Generator().manual_seed(0))
    >>> found.points.beliefs[:, 0, 1], found.points.log_partition  # up, and down
    (tensor([0.9965, 0.0049]), tensor([6.2111, 5.8144]))
    """

    points: BeliefRecord
    reached: Int[Tensor, "starts"]


@dataclass(frozen=True)
class AMPRecord:
    """An estimate ``x [*batch, n]`` of a signal, and the evidence for it, ``[*batch]`` each.

    ``tau2`` is the variance of the noise that each component is seen with in the end, ``|z|^2 / m``; ``residual`` the root mean
    square of the last change of x, ``iterations`` the steps taken, ``converged`` whether the residual is within the tolerance.

    >>> from attnlib.message_passing import amp
    >>> from attnlib.mean_field import Binary
    >>> found = amp(torch.eye(2), torch.tensor([0.5, -2.0]), Binary())
    >>> found.converged, found.residual < 1e-4
    (tensor(True), tensor(True))
    """

    x: Float[Tensor, "*batch n"]
    tau2: Float[Tensor, "*batch"]
    residual: Float[Tensor, "*batch"]
    iterations: Int[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]


@dataclass(frozen=True)
class AMPPath:
    """All iterates of approximate message passing: ``x [*batch, steps + 1, n]`` from zero on, ``tau2 [*batch, steps + 1]``.

    ``tau2[t]`` is ``|z|^2 / m`` of the residual that goes with ``x[t]``: the noise that the next denoiser is told of.

    >>> from attnlib.message_passing import amp_path
    >>> from attnlib.mean_field import Binary
    >>> amp_path(torch.eye(2), torch.tensor([1.0, -1.0]), Binary(), steps=1).tau2[0]
    tensor(1.)
    """

    x: Float[Tensor, "*batch steps n"]
    tau2: Float[Tensor, "*batch steps"]


@dataclass(frozen=True)
class EvolutionRecord:
    """Predicted for each step from the start on: ``tau2 [steps + 1]`` and the mean squared error ``mse [steps + 1]``.

    >>> from attnlib.message_passing import state_evolution
    >>> from attnlib.mean_field import Binary
    >>> state_evolution(Binary(), 0.5, 0.1, steps=3).mse.shape
    torch.Size([4])
    """

    tau2: Float[Tensor, "steps"]
    mse: Float[Tensor, "steps"]


@dataclass(frozen=True)
class GraphRecord:
    """What attention on a graph did: the module's output, and the weights and scores of each edge.

    With an ``edge_index`` weights and scores are ``[*batch, heads, edges]``, in its order; without, ``[*batch, heads, n, m]``.
    Scores are before beta, without biases, in single precision or better. Query, key and value are per head.

    >>> from attnlib.message_passing import GraphAttention
    >>> ring = torch.tensor([[1, 2, 0], [0, 1, 2]])
    >>> GraphAttention(8, heads=2).explain(torch.zeros(1, 3, 8), edge_index=ring).weights.shape
    torch.Size([1, 2, 3])
    """

    output: Float[Tensor, "*batch n dim"]
    weights: Float[Tensor, "..."]
    scores: Float[Tensor, "..."]
    query: Float[Tensor, "*batch heads n d"]
    key: Float[Tensor, "*batch heads m d"]
    value: Float[Tensor, "*batch heads m d"]
