"""What the functions of this chapter return: descents, resting places, recalled memories, couplings, a mixer's record."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Descent:
    """A descent: states ``[steps + 1, *batch, n, d]``, their energies and gradient norms ``[steps + 1, *batch, n]``.

    >>> from attnlib.hopfield import descend
    >>> walk = descend(lambda state: state.square().sum(-1) / 2, torch.tensor([[8.0]]), steps=3, step_size=0.5)
    >>> walk.states.flatten(), walk.energies.flatten()
    (tensor([8., 4., 2., 1.]), tensor([32.0000,  8.0000,  2.0000,  0.5000]))
    """

    states: Float[Tensor, "steps *batch n d"]
    energies: Float[Tensor, "steps *batch n"]
    gradient_norms: Float[Tensor, "steps *batch n"]


@dataclass(frozen=True)
class Recall:
    """Where states came to rest, with the evidence for each. Shapes: ``state [*batch, n, d]``, the others ``[*batch, n]``.

    ``iterations`` counts the sweeps that changed the state. ``period`` is 1 for a fixed point, 2 for a state that synchronous
    sweeps take to another and back, and 0 where the sweeps ran out before either was seen.

    >>> from attnlib.hopfield import classical_recall
    >>> J = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> apart = torch.tensor([[1.0, -1.0]])
    >>> classical_recall(apart, J, mode="synchronous").period, classical_recall(apart, J).period  # a cycle, a fixed point
    (tensor([2]), tensor([1]))
    """

    state: Float[Tensor, "*batch n d"]
    iterations: Int[Tensor, "*batch n"]
    period: Int[Tensor, "*batch n"]

    @property
    def converged(self) -> Bool[Tensor, "*batch n"]:
        """Whether the state is a fixed point, which one more sweep does not change."""
        return self.period == 1


@dataclass(frozen=True)
class EnergyRecord:
    """What a descent did, head by head: the module's output; the weights ``[*batch, heads, n, m]`` of the last step.

    The states ``[steps + 1, *batch, heads, n, d]``, from the queries on, with their energies and gradient norms
    ``[steps + 1, *batch, heads, n]``. Only the Hopfield energy has weights; they are None for another. A state that may attend
    to nothing moves as if it saw everything here; the output has zeros in its place.

    >>> from attnlib.hopfield import EnergyAttention
    >>> walk = EnergyAttention(2, bare=True, beta=4, steps=3).explain(torch.tensor([[[0.6, 0.2]]]), torch.eye(2)[None])
    >>> walk.energies.flatten()  # of the query, and after each step
    tensor([-0.4460, -0.4887, -0.5033, -0.5049])
    """

    output: Float[Tensor, "*batch n dim"]
    weights: Float[Tensor, "*batch heads n m"] | None
    states: Float[Tensor, "steps *batch heads n d"]
    energies: Float[Tensor, "steps *batch heads n"]
    gradient_norms: Float[Tensor, "steps *batch heads n"]


@dataclass(frozen=True)
class FixedPoints:
    """Where states among fixed memories come to rest, lowest energy first, and the evidence for it.

    The resting places: points ``[k, d]``, their energies ``[k]``, attention weights ``[k, m]`` and curvatures ``[k]``, the
    smallest eigenvalue of the energy's Hessian: above zero at a minimum, below at a saddle or a maximum.

    Of each start: ``reached [n]``, the index of its resting place, or -1 where it did not converge; the states ``[n, d]`` it
    ended in; the residual ``[n]``, the length of the gradient there; and the iterations ``[n]`` it took.

    >>> from attnlib.hopfield import find_fixed_points
    >>> memory = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> cold, warm = (find_fixed_points(memory, memory, beta=beta) for beta in (8, 1))
    >>> cold.sharing, warm.sharing  # two single patterns; one place that both share
    (tensor([1, 1]), tensor([2]))
    """

    points: Float[Tensor, "k d"]
    energies: Float[Tensor, "k"]
    weights: Float[Tensor, "k m"]
    curvatures: Float[Tensor, "k"]
    reached: Int[Tensor, "n"]
    states: Float[Tensor, "n d"]
    residual: Float[Tensor, "n"]
    iterations: Int[Tensor, "n"]

    @property
    def converged(self) -> Bool[Tensor, "n"]:
        """Which of the starts came to rest, ``[n]``."""
        return self.reached >= 0

    @property
    def sharing(self) -> Int[Tensor, "k"]:
        """How many memories share each point, ``[k]``, with at least half of the largest weight; one is a single pattern."""
        return (self.weights >= self.weights.amax(-1, keepdim=True) / 2).sum(-1)
