"""Belief propagation: two passes on trees, stability, several fixed points, and potentials that allow no state."""

import math
import warnings

import pytest
import torch
from helpers.draw import close, normal
from scipy.optimize import brentq
from torch.autograd import gradgradcheck

from attnlib import ConvergenceError, ConvergenceWarning
from attnlib.mean_field import sherrington_kirkpatrick
from attnlib.message_passing import FactorGraph, belief_propagation, find_beliefs, ising_graph, pairwise_graph
from attnlib.message_passing.messages import Messages

FORBIDDEN = -math.inf


def everyone(n, J):
    return J * (1 - torch.eye(n, dtype=torch.float64))


def ising_chain(J, h):
    """A chain as a graph of pairs: a matrix of its couplings would be too large."""
    n, spin = len(h), torch.tensor([-1.0, 1.0], dtype=torch.float64)
    place = torch.arange(n)
    pairs = torch.stack([place[:-1], place[1:]], -1)
    return FactorGraph((2,) * n, [place[:, None], pairs], [h[:, None] * spin, J[:, None, None] * (spin[:, None] * spin)])


@pytest.mark.slow
def test_a_chain_of_ten_thousand_takes_two_passes(monkeypatch):
    """Cavity fields from both ends, number by number. One sweep, for the residual; by sweeps alone it would take 10,001."""
    n = 10_000
    J, h = normal(n - 1), normal(n, seed=1)
    graph = ising_chain(J, h)
    sweeps, sweep = [], Messages.sweep
    monkeypatch.setattr(Messages, "sweep", lambda self, nu: sweeps.append(0) or sweep(self, nu))
    found = belief_propagation(graph)
    assert len(sweeps) == 1
    left, right = [0.0], [0.0]
    for coupling, field in zip(J.tolist(), h.tolist()):
        left.append(math.atanh(math.tanh(coupling) * math.tanh(field + left[-1])))
    for coupling, field in zip(reversed(J.tolist()), reversed(h.tolist()[1:])):
        right.append(math.atanh(math.tanh(coupling) * math.tanh(field + right[-1])))
    m = torch.tanh(h + torch.tensor(left, dtype=torch.float64) + torch.tensor(right[::-1], dtype=torch.float64))
    close(found.beliefs[:, 1] - found.beliefs[:, 0], m, atol=1e-12)
    assert found.converged
    assert found.iterations == 2


@pytest.mark.double
@pytest.mark.slow
def test_two_passes_differentiate_twice():
    """A tree with factors of three variables, and pairs that hang on it."""
    scopes = [torch.tensor([[1, 0, 2], [4, 3, 2]]), torch.tensor([[5, 0], [3, 6]])]

    def beliefs(*tables):
        return belief_propagation(FactorGraph((2,) * 7, scopes, tables)).beliefs[:, 0]

    tables = [normal(2, 2, 2, 2).requires_grad_(), normal(2, 2, 2, seed=1).requires_grad_()]
    assert gradgradcheck(beliefs, tables)


def swept(J, h, u):
    """One sweep of cavity fields, ``u[i, j]`` from i to j: an own implementation."""
    heard = h[:, None] + u.sum(0)[:, None] - u.mT  # what i hears from all but j
    return torch.where(J == 0, 0.0, torch.atanh(torch.tanh(J) * torch.tanh(heard)))


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("sweeps", [1, 2, 7])
def test_the_residual_is_that_of_one_more_sweep_without_damping(damping, sweeps):
    """The messages returned after some sweeps, recomputed; how much the next one, undamped, changes their probabilities."""
    J, h = everyone(5, 0.3) * normal(5, 5).sign().triu(1), normal(5, seed=1)
    J = J + J.mT
    with pytest.warns(ConvergenceWarning):
        found = belief_propagation(ising_graph(J, h), damping=damping, max_steps=sweeps, tolerance=1e-15, on_failure="warn")
    u, own = torch.zeros(5, 5).double(), torch.zeros(5).double()  # what pairs say, and what the factors of fields say
    for _ in range(sweeps - 1):
        u, own = (damping * old + (1 - damping) * new for old, new in ((u, swept(J, own, u)), (own, h)))
    changes = [(torch.sigmoid(2 * new) - torch.sigmoid(2 * old)).abs().max() for old, new in ((u, swept(J, own, u)), (own, h))]
    close(found.residual, max(changes), atol=1e-12)


def radius(J, h, u):
    """The spectral radius of a sweep by the dense Jacobian."""
    full = torch.autograd.functional.jacobian(lambda flat: swept(J, h, flat.view_as(u)).flatten(), u.flatten())
    return torch.linalg.eigvals(full).abs().max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_stability_is_one_minus_the_radius_of_a_sweep(seed):
    """Random couplings on a graph with loops from which trees hang, one sample strongly coupled; by a dense Jacobian."""
    J = torch.zeros(2, 8, 8).double()
    pairs = torch.tensor([[0, 1], [1, 2], [2, 0], [2, 3], [3, 1], [3, 4], [4, 5], [4, 6], [0, 7]])
    J[:, pairs[:, 0], pairs[:, 1]] = torch.tensor([[0.5], [1.0]]).double() * normal(2, 9, seed=seed)
    J, h = J + J.mT, normal(2, 8, seed=seed + 100)
    found = belief_propagation(ising_graph(J, h), damping=0.3)
    for sample in range(2):
        u = torch.zeros(8, 8).double()
        for _ in range(3000):
            u = 0.3 * u + 0.7 * swept(J[sample], h[sample], u)
        close(found.stability[sample], 1 - radius(J[sample], h[sample], u), atol=2e-4)


def test_stability_where_eigenvalues_lie_close_together():
    """In a glass that couples everyone the largest are complex and many: a space of few dimensions misses them by a tenth."""
    rng = torch.Generator().manual_seed(30)
    J = 0.9 * sherrington_kirkpatrick(30, generator=rng).double()
    h, u = 0.1 * torch.randn(30, generator=rng).double(), torch.zeros(30, 30).double()
    found = belief_propagation(ising_graph(J, h))
    for _ in range(int(found.iterations)):
        u = swept(J, h, u)
    close(found.stability, 1 - radius(J, h, u), atol=5e-4)


def test_messages_that_began_at_an_unstable_fixed_point_are_reported():
    """In a ferromagnet of n spins without a field a difference grows (n - 2) tanh J times with each sweep."""
    J = everyone(6, 0.7)
    with pytest.warns(ConvergenceWarning, match="1 of 1 samples settled at an unstable fixed point"):
        found = belief_propagation(ising_graph(J, torch.zeros(6).double()))
    assert found.converged
    close(found.stability, torch.tensor(1 - 4 * math.tanh(0.7)).double(), atol=1e-4)
    with pytest.warns(ConvergenceWarning, match="1 of 2 samples"):  # the other has a field
        pair = belief_propagation(ising_graph(torch.stack([J, J]), torch.tensor([[0.0], [0.1]]).double().expand(2, 6)))
    assert pair.stability[1] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weak = belief_propagation(ising_graph(everyone(6, 0.2), torch.zeros(6).double()))
        ring = belief_propagation(ising_graph(everyone(3, -2.0), 0.2 * torch.arange(3).double()), damping=0.5)
    close(weak.stability, torch.tensor(1 - 4 * math.tanh(0.2)).double(), atol=1e-4)
    assert 0 < ring.stability < 0.1  # swings, and comes back
    assert torch.func.vmap(lambda h: belief_propagation(ising_graph(J, h), max_steps=9).stability)(normal(2, 6)).isnan().all()


def test_three_fixed_points_of_a_magnet_and_their_free_energies():
    """All spins alike: u = atanh(tanh J tanh(h + (n - 2) u)), whose three roots come by bisection, and ln Z from them."""
    n, J, h = 6, 0.7, 0.02
    graph = ising_graph(everyone(n, J), torch.full((n,), h, dtype=torch.float64))
    found = find_beliefs(graph, starts=60, generator=torch.Generator().manual_seed(1))

    def equation(u):
        return u - math.atanh(math.tanh(J) * math.tanh(h + (n - 2) * u))

    roots = [brentq(equation, a, b, xtol=1e-15) for a, b in ((0.3, 0.7), (-0.7, -0.3))]
    up = torch.sigmoid(2 * (h + (n - 1) * torch.tensor(roots, dtype=torch.float64)))
    close(found.points.beliefs[:, 0, 1], up, atol=1e-10)

    assert found.points.log_partition[0] > found.points.log_partition[1]
    assert (found.points.stability > 0).all()
    assert (found.reached >= 0).all()
    close(found.points.log_partition, bethe(n, J, h, roots), atol=1e-10)

    assert found.points.converged.all()
    assert (found.points.residual < 1e-12).all()
    for scope, belief in zip(graph.scopes, found.points.factor_beliefs):
        ones = belief if scope.shape[-1] == 1 else belief.sum(-1)  # what a factor believes of its first variable
        close(ones, found.points.beliefs[:, scope[:, 0]], atol=1e-10)


def bethe(n, J, h, fields):
    """``ln Z`` as energy and entropies of pairs and spins, where each pair sends the same field."""
    values = []
    for u in fields:
        a = h + (n - 2) * u
        logs = [[J + 2 * a, -J], [-J, J - 2 * a]]
        pair = torch.tensor(logs, dtype=torch.float64).exp()
        pair = pair / pair.sum()
        m, corr = 2 * pair[0].sum() - 1, 2 * pair.diagonal().sum() - 1
        one = pair.sum(0)
        entropies = [-(p * p.log()).sum() for p in (pair, one)]
        values.append(n * h * m + n * (n - 1) / 2 * (J * corr + entropies[0]) + n * (2 - n) * entropies[1])
    return torch.stack(values)


@pytest.mark.double
def test_points_nearer_than_merge_are_one():
    """Up, down and the unstable middle, half as far from both as they from each other."""
    graph = ising_graph(everyone(4, 0.7))

    def found(merge):
        return find_beliefs(graph, merge=merge, generator=torch.Generator().manual_seed(0)).points.beliefs[..., 1]

    three = found(1e-3)
    apart = (three[0] - three[1]).abs().max().item()
    assert apart > 0.5
    assert [len(found(share * apart)) for share in (0.45, 0.55, 0.95, 1.05)] == [3, 2, 2, 1]


@pytest.mark.usefixtures("unchecked")
def test_what_find_beliefs_refuses():
    graph = ising_graph(everyone(3, 1.0))
    for settings, message in (({"starts": 0}, "starts is 0"), ({"spread": 0.0}, "spread is 0"), ({"merge": -1}, "merge is -1")):
        with pytest.raises(ValueError, match=message):
            find_beliefs(graph, **settings)
    with pytest.raises(ValueError, match="graph has batch axes"):
        find_beliefs(ising_graph(everyone(3, 1.0).expand(2, 3, 3)))
    with pytest.raises(ConvergenceError, match="none of 2 starts settled in 2 sweeps"):
        find_beliefs(ising_graph(everyone(3, 1.0), normal(3)), starts=2, max_steps=2)


def colouring(pairs, n, colours, single=None):
    """Tables that forbid neighbours of one colour."""
    table = torch.zeros(colours, colours).double().fill_diagonal_(FORBIDDEN)
    single = torch.zeros(n, colours).double() if single is None else single
    return pairwise_graph(torch.tensor(pairs).mT, table.expand(len(pairs), colours, colours), single)


def ring(n):
    return [(i, (i + 1) % n) for i in range(n)]


@pytest.mark.parametrize("n", [3, 5, 9])
def test_two_colours_of_an_odd_ring_are_refused(n):
    """Its messages would stay at one half, with ln Z = 0; an even ring has two colourings, and three colours many."""
    with pytest.raises(ValueError, match="forbid every state"):
        belief_propagation(colouring(ring(n), n, 2))
    with pytest.raises(ValueError, match="forbid every state"):
        find_beliefs(colouring(ring(n), n, 2))
    close(belief_propagation(colouring(ring(n + 1), n + 1, 2)).beliefs, torch.full((n + 1, 2), 0.5).double(), atol=1e-12)
    assert belief_propagation(colouring(ring(n), n, 3)).converged


def test_one_impossible_sample_of_a_batch_is_enough():
    single = torch.zeros(2, 3, 3).double()
    single[1, :, 2] = FORBIDDEN  # no third colour in the second sample
    with pytest.raises(ValueError, match="forbid every state"):
        belief_propagation(colouring(ring(3), 3, 3, single))
    assert belief_propagation(colouring(ring(3), 3, 3, single[:1])).converged.all()


def test_messages_that_rule_everything_out_are_refused_where_the_search_ends_early(monkeypatch):
    """Two variables that must be equal, round a ring, held at different states: the sweeps find it themselves."""
    monkeypatch.setattr("attnlib.message_passing.constraints.MOST", 0)
    equal = torch.full((2, 2), FORBIDDEN).double().fill_diagonal_(0.0)
    single = torch.zeros(4, 2).double()
    single[0, 1] = single[2, 0] = FORBIDDEN
    graph = pairwise_graph(torch.tensor(ring(4)).mT, equal.expand(4, 2, 2), single)
    with pytest.raises(ValueError, match="forbid every state"):
        belief_propagation(graph)
