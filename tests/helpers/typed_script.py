"""What a user writes, for the type checkers: test_types.py has them read it. It also runs."""

from typing import assert_type

import torch
from torch import Tensor, nn

import attnlib
from attnlib import EnergyAttention, SoftmaxAttention, attend, softmax
from attnlib.attention import Heads, Mixer, rotary_places
from attnlib.course.models import teach
from attnlib.course.oracles import forward_backward
from attnlib.free_energy import SaddlePoint, VectorSpinAttention, VectorSpinRecord, saddle_point, vector_spin_free_energy
from attnlib.hopfield import EnergyRecord, FixedPoints, find_fixed_points, hopfield_energy
from attnlib.kinetic import KineticAttention, KineticAttentionRecord
from attnlib.mean_field import (
    Gaussian,
    MeanField,
    MeanFieldAttention,
    Prior,
    Spherical,
    adaptive_tap,
    exact_ising,
    sherrington_kirkpatrick,
)
from attnlib.message_passing import (
    BeliefRecord,
    GraphAttention,
    GraphRecord,
    Sparse,
    amp,
    belief_propagation,
    edge_attention,
    grid_edges,
    ising_graph,
    state_evolution,
)
from attnlib.softmax import PartialSoftmax, online_softmax, random_energy
from attnlib.solve import FixedPoint, fixed_point


class Mean(Mixer):
    """A mixer of one's own."""

    has_weights = False

    def mix(self, heads: Heads) -> Tensor:
        """Everyone gets the mean of the values."""
        return heads.value.mean(-2, keepdim=True).expand_as(heads.query)


class Ternary(Prior):
    """A prior of one's own: -1, 0 or 1."""

    def log_partition(self, field: Tensor, V: Tensor | None = None) -> Tensor:
        """One site."""
        here = torch.zeros_like(field[..., 0]) if V is None else V / 2
        return (1 + 2 * here.exp() * field[..., 0].cosh()).log() - torch.tensor(3.0).log()


class Block(nn.Module):
    """A block that takes any mixer."""

    def __init__(self, mixer: Mixer) -> None:
        super().__init__()
        self.mixer = mixer

    def forward(self, x: Tensor) -> Tensor:
        """Add what the mixer brings."""
        mixed: Tensor = self.mixer(x)
        return x + mixed


def energy(state: Tensor, memory: Tensor, *, beta: float | Tensor, mask: Tensor | None) -> Tensor:
    """An energy of one's own."""
    return hopfield_energy(state, memory, beta=beta, mask=mask) + state.square().sum(-1)


def main() -> None:
    """Use most kinds of thing that the package returns."""
    x = torch.randn(2, 5, 8)
    assert_type(softmax(x[0], beta=2), Tensor)
    assert_type(attend(x, x, x, causal=True, score_bias=torch.zeros(5, 5)), Tensor)
    for mixer in (
        SoftmaxAttention(8, heads=2, learn_beta=True, places=rotary_places),
        EnergyAttention(8, energy=energy, dtype=torch.float32),
        SoftmaxAttention.from_torch(nn.MultiheadAttention(8, 2)),
        Mean(8, beta=torch.tensor([0.5])),
        GraphAttention(8, heads=2, edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]])),
        MeanFieldAttention(8, sites=5, heads=2, prior=Spherical(4), onsager="none"),
        VectorSpinAttention(8, heads=2, couplings="softmax"),
        KineticAttention(8, heads=2, steps=2, closure="moments"),
    ):
        assert Block(mixer)(x).shape == x.shape
    record = EnergyAttention(8, steps=2).explain(x)
    assert_type(record, EnergyRecord)
    assert_type(record.weights, Tensor | None)
    found = find_fixed_points(x[0], x[1], beta=0.1)
    assert_type(found, FixedPoints)
    assert_type(found.points, Tensor)
    J = sherrington_kirkpatrick(8, 3)
    assert_type(exact_ising(J, beta=0.5).m, Tensor)
    assert_type(adaptive_tap(0.5 * J, prior=Ternary()), MeanField)
    assert_type(saddle_point(0.5 * J, x[:1, :1, :2]), SaddlePoint)
    assert_type(vector_spin_free_energy(0.5 * J, beta=0.5), Tensor)
    assert_type(VectorSpinAttention(8, sites=5).explain(x), VectorSpinRecord)
    assert_type(KineticAttention(8).explain(x), KineticAttentionRecord)
    assert_type(Gaussian(2.0).mean(x[..., :1]), Tensor)
    assert_type(fixed_point(torch.cos, x[0]), FixedPoint)
    assert_type(online_softmax([(x[0], torch.ones(8, 3))]), PartialSoftmax)
    assert_type(random_energy(10, 1.0).entropy, Tensor)
    assert_type(edge_attention(x[0], x[0], x[0], grid_edges(1, 5)), Tensor)
    assert_type(GraphAttention(8).explain(x, edge_index=grid_edges(1, 5)), GraphRecord)
    assert_type(belief_propagation(ising_graph(0.1 * J[0])), BeliefRecord)
    assert_type(forward_backward(torch.zeros(2), torch.zeros(2, 2), torch.zeros(4, 2)).marginals, Tensor)
    assert_type(amp(torch.eye(5), torch.zeros(5), Sparse(0.3)).x, Tensor)
    assert_type(state_evolution(Sparse(0.3), 0.8, 0.1).mse, Tensor)
    with attnlib.no_value_checks():
        assert_type(attnlib.entropy(torch.full((4,), 0.25)), Tensor)
    assert callable(teach)


if __name__ == "__main__":
    main()
