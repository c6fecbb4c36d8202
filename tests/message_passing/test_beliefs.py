"""Belief propagation against enumeration: exact on trees, wrong by a known amount on a triangle."""

import math

import pytest
import torch
from helpers.draw import close, examples, normal
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from attnlib import ConvergenceError, ConvergenceWarning
from attnlib.course.oracles import exact_beliefs
from attnlib.course.oracles.enumeration import _TERMS_AT_ONCE
from attnlib.mean_field import exact_ising, sherrington_kirkpatrick
from attnlib.message_passing import FactorGraph, belief_propagation, ising_graph, pairwise_graph


def random_tree(seed, batch=(2,), forbidden=0.0):
    """A tree of factors with one to four variables of two to four states each, made by adding factors to what is there."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low, high):
        return int(torch.randint(low, high, (), generator=generator))

    states, scopes, tables = [draw(2, 5)], [], []
    for _ in range(draw(1, 5)):
        arity = draw(1, 5)
        scope = [draw(0, len(states)), *range(len(states), len(states) + arity - 1)]
        states += [draw(2, 4) for _ in range(arity - 1)]
        scope = [scope[i] for i in torch.randperm(arity, generator=generator)]
        table = 2 * torch.randn(*batch, 1, *(states[v] for v in scope), generator=generator, dtype=torch.float64)
        hole = torch.rand(table.shape, generator=generator) < forbidden
        hole[..., *(-1,) * arity] = False  # the last state of all is always allowed
        scopes.append(torch.tensor([scope]))
        tables.append(table.masked_fill(hole, -math.inf))
    return FactorGraph(states, scopes, tables)


def same(one, other, atol=1e-12):
    close(one.beliefs, other.beliefs, atol=atol)
    close(one.log_partition, other.log_partition, atol=100 * atol)
    for a, b in zip(one.factor_beliefs, other.factor_beliefs, strict=True):
        close(a, b, atol=atol)


@examples(40)
@given(seed=st.integers(0, 2**31), forbidden=st.sampled_from([0.0, 0.3]), batch=st.sampled_from([(), (2,), (2, 1)]))
def test_it_is_exact_on_trees(seed, forbidden, batch):
    graph = random_tree(seed, batch, forbidden)
    assert graph.is_forest
    assert math.prod(graph.states) < 1e5
    found = belief_propagation(graph)
    same(found, exact_beliefs(graph))
    assert found.converged.all()
    assert (found.iterations == 2).all()
    assert (found.stability == 1).all()
    same(belief_propagation(graph, damping=0.3), exact_beliefs(graph), atol=1e-10)


def test_enumeration_is_the_joint_table():
    """Four variables, the whole table written out."""
    states = (2, 3, 2, 4)
    graph = FactorGraph(
        states,
        [torch.tensor([[0, 1], [2, 1]]), torch.tensor([[3, 0, 2]]), torch.tensor([[3]])],
        [normal(5, 2, 2, 3), normal(5, 1, 4, 2, 2, seed=1), normal(1, 4, seed=2)],
    )
    first, second, third = graph.log_potentials
    joint = first[:, 0, :, :, None, None] + first[:, 1].mT[:, None, :, :, None]
    joint = joint + second[:, 0].permute(0, 2, 3, 1)[:, :, None] + third[0]
    found = exact_beliefs(graph)
    close(found.log_partition, joint.flatten(1).logsumexp(1), atol=1e-12)
    p = joint.flatten(1).softmax(1).view(5, *states)
    close(found.beliefs[:, 3], p.sum((1, 2, 3)), atol=1e-12)
    close(found.beliefs[:, 1, :3], p.sum((1, 3, 4)), atol=1e-12)
    assert torch.equal(found.beliefs[:, 0, 2:], torch.zeros(5, 2, dtype=torch.float64))
    close(found.factor_beliefs[1][:, 0], p.sum(2).permute(0, 3, 1, 2), atol=1e-12)


@pytest.mark.double
def test_enumeration_in_groups_and_its_derivatives(monkeypatch):
    graph = random_tree(7)
    whole = exact_beliefs(graph)
    monkeypatch.setattr("attnlib.course.oracles.enumeration._TERMS_AT_ONCE", 50)
    same(exact_beliefs(graph), whole)
    tables = [table.clone().requires_grad_() for table in graph.log_potentials]
    for solve, slack in ((exact_beliefs, 1e-12), (belief_propagation, 1e-10)):
        record = solve(FactorGraph(graph.states, graph.scopes, tables))
        slopes = torch.autograd.grad(record.log_partition.sum(), tables)
        for slope, belief in zip(slopes, whole.factor_beliefs):  # the derivative of ln Z by a log potential is its marginal
            close(slope, belief, atol=slack)

    def call(*tables):
        return belief_propagation(FactorGraph(graph.states, graph.scopes, tables)).beliefs

    assert gradcheck(call, tables)
    assert _TERMS_AT_ONCE > 1e6


def bethe(graph, found):
    """Energy and entropies of beliefs, as the Bethe free energy is usually written."""
    value = torch.zeros(graph.batch, dtype=torch.float64)
    degree = torch.zeros(graph.variables)
    for scope, table, belief in zip(graph.scopes, graph.log_potentials, found.factor_beliefs):
        value = value + (belief * table - torch.special.xlogy(belief, belief)).flatten(-scope.shape[1] - 1).sum(-1)
        degree.index_add_(0, scope.flatten(), torch.ones(scope.numel()))
    entropies = torch.special.xlogy(found.beliefs, found.beliefs).sum(-1)
    return value + ((degree - 1) * entropies).sum(-1)


def ring(n, K, h):
    J = torch.zeros(n, n, dtype=torch.float64)
    place = torch.arange(n)
    J[place, (place + 1) % n] = K
    J = torch.maximum(J, J.mT) if K > 0 else torch.minimum(J, J.mT)
    return ising_graph(J, torch.full((n,), h, dtype=torch.float64))


def plus_minus(record):
    return record.beliefs[..., 1] - record.beliefs[..., 0]


@pytest.mark.parametrize("n", [3, 4, 7])
@pytest.mark.parametrize(("K", "h"), [(0.5, 0.3), (0.2, -1.0), (1.0, 0.3), (-0.4, 0.5)])
def test_a_ring_is_wrong_by_a_known_amount(n, K, h):
    """Belief propagation on a ring is right for an endless chain; the ring's magnetisation is less by (1 - r^n) / (1 + r^n)."""
    graph = ring(n, K, h)
    found, exact = belief_propagation(graph), exact_beliefs(graph)
    endless = math.sinh(h) / math.sqrt(math.sinh(h) ** 2 + math.exp(-4 * K))
    close(plus_minus(found), torch.full((n,), endless, dtype=torch.float64), atol=1e-12)
    root = math.sqrt(math.exp(2 * K) * math.sinh(h) ** 2 + math.exp(-2 * K))
    large, small = math.exp(K) * math.cosh(h) + root, math.exp(K) * math.cosh(h) - root
    r = small / large
    close(plus_minus(exact), torch.full((n,), endless * (1 - r**n) / (1 + r**n), dtype=torch.float64), atol=1e-12)
    close(found.log_partition, torch.tensor(n * math.log(large), dtype=torch.float64), atol=1e-12)
    close(exact.log_partition - found.log_partition, torch.tensor(math.log1p(r**n), dtype=torch.float64), atol=1e-12)
    close(bethe(graph, found), found.log_partition, atol=1e-11)


def test_the_triangle_without_field():
    """Magnetisations are right, by symmetry; the correlation is tanh K, where (t + t^2) / (1 + t^3) is true."""
    t = math.tanh(0.5)
    graph = ring(3, 0.5, 0.0)
    pairs = [solve(graph).factor_beliefs[1][0] for solve in (belief_propagation, exact_beliefs)]
    found, exact = (pair[0, 0] + pair[1, 1] - pair[0, 1] - pair[1, 0] for pair in pairs)
    close(found, torch.tensor(t, dtype=torch.float64), atol=1e-12)
    close(exact, torch.tensor((t + t**2) / (1 + t**3), dtype=torch.float64), atol=1e-12)


def test_ising_graphs_are_ising_systems():
    J, h = sherrington_kirkpatrick(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), normal(3, 6)
    beta = torch.tensor([0.3, 0.7, 1.5], dtype=torch.float64)
    wanted = exact_ising(J, h, beta=beta)
    found = exact_beliefs(ising_graph(J, h, beta=beta))
    close(plus_minus(found), wanted.m, atol=1e-12)
    close(-found.log_partition / beta, wanted.free_energy, atol=1e-12)
    sparse = ising_graph(torch.diag_embed(torch.ones(3), 1) + torch.diag_embed(torch.ones(3), -1))
    assert sparse.is_forest
    assert len(sparse.scopes[1]) == 3


@pytest.mark.double
def test_a_weakly_coupled_glass_and_its_batch():
    """Loops hurt little where couplings are weak; no sample depends on the others."""
    J, h = 0.1 * sherrington_kirkpatrick(8, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)), normal(4, 8)
    together = belief_propagation(ising_graph(J, h))
    wrong = [(plus_minus(belief_propagation(ising_graph(s * J, h))) - exact_ising(s * J, h).m).abs().max() for s in (1, 2)]
    close(wrong[1] / wrong[0], torch.tensor(8.0, dtype=torch.float64), atol=1.0)  # triangles: the third power of the couplings
    for i in range(4):
        alone = belief_propagation(ising_graph(J[i], h[i]))
        close(alone.beliefs, together.beliefs[i], atol=1e-13)
        assert alone.iterations == together.iterations[i]


def test_pairwise_graphs():
    edges = torch.tensor([[0, 1, 1], [1, 2, 3]])
    pair, single = normal(2, 3, 3, 3), normal(2, 4, 3, seed=1)
    graph = pairwise_graph(edges, pair, single)
    joint = sum(single[:, v].view(2, *(3 if i == v else 1 for i in range(4))) for v in range(4))
    joint = joint + pair[:, 0, :, :, None, None] + pair[:, 1, None, :, :, None] + pair[:, 2, None, :, None, :]
    p = joint.flatten(1).softmax(1).view(2, 3, 3, 3, 3)
    close(belief_propagation(graph).beliefs[:, 1], p.sum((1, 3, 4)), atol=1e-12)


TREE = [(0, 1), (1, 2), (1, 3), (3, 4)]


def coupled(pairs):
    J = torch.zeros(5, 5, dtype=torch.float64)
    for at, (i, j) in enumerate(pairs):
        J[i, j] = J[j, i] = 0.7 * (-1) ** at
    return J


def derivatives(function, h):
    """First derivatives, the fixed point's and those through the sweeps, and second ones."""
    weights = normal(5, seed=3)

    def sines(h):
        return (weights * function(h)).sin().sum()

    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    first = jacobian(function, h), torch.func.jacrev(function)(h), torch.func.jacfwd(function)(h)
    return first, (hessian(sines, h), torch.func.hessian(sines)(h))


@pytest.mark.double
@pytest.mark.parametrize(("field", "damping"), [(0.0, 0.0), (0.0, 0.3), (0.4, 0.0)])
@pytest.mark.slow
def test_responses_on_a_tree_are_covariances(field, damping):
    """Without fields the messages are settled before the first sweep, and yet they know how fields would move them."""
    J, h = coupled(TREE), torch.zeros(5, dtype=torch.float64)

    def believed(h):
        return plus_minus(belief_propagation(ising_graph(J, h + field), damping=damping, max_steps=40))

    wanted = derivatives(lambda h: exact_ising(J, h + field).m, h)
    for found, right in zip(derivatives(believed, h), wanted, strict=True):
        for one in found:
            close(one, right[0], atol=1e-7 if damping else 1e-10)


@pytest.mark.double
@pytest.mark.slow
def test_derivatives_where_loops_are_and_in_a_batch():
    """Against differences; the first sample is settled from the start."""
    J = coupled([*TREE, (0, 4)])
    fields = torch.stack([torch.zeros(5), torch.full((5,), 0.3), torch.arange(5) / 5]).double()

    def believed(h):
        return plus_minus(belief_propagation(ising_graph(J.expand(*h.shape[:-1], 5, 5), h), max_steps=120))

    eye = 1e-5 * torch.eye(5, dtype=torch.float64)
    differences = torch.stack([believed(fields + step) - believed(fields - step) for step in eye], -1) / 2e-5
    together = torch.autograd.functional.jacobian(believed, fields)
    close(together.diagonal(dim1=0, dim2=2).movedim(-1, 0), differences, atol=1e-8)
    close(torch.func.vmap(torch.func.jacrev(believed))(fields), differences, atol=1e-8)


@pytest.mark.double
def test_a_forbidden_state_has_no_derivative():
    graph = random_tree(3, forbidden=0.3)
    tables = [table.clone().requires_grad_() for table in graph.log_potentials]
    weights = normal(*exact_beliefs(graph).beliefs.shape)
    slopes = []
    for solve in (belief_propagation, exact_beliefs):
        beliefs = solve(FactorGraph(graph.states, graph.scopes, tables)).beliefs
        slopes.append(torch.autograd.grad((weights * beliefs).sum(), tables))
    for found, wanted, table in zip(*slopes, tables, strict=True):
        close(found, wanted, atol=1e-10)
        assert (found[table == -math.inf] == 0).all()


@pytest.mark.slow
def test_what_does_not_settle_is_reported():
    """A frustrated glass at low temperature: without damping it does not settle, and says so."""
    J = sherrington_kirkpatrick(12, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    graph = ising_graph(J, 0.1 * normal(12), beta=4.0)
    with pytest.raises(ConvergenceError, match="1 of 1 samples did not settle in 300 sweeps") as caught:
        belief_propagation(graph, max_steps=300)
    assert caught.value.iterations == 300
    assert caught.value.residual > 1e-3
    with pytest.warns(ConvergenceWarning):
        found = belief_propagation(graph, max_steps=300, on_failure="warn")
    assert not found.converged
    close(found.beliefs.sum(-1), torch.ones(12, dtype=torch.float64), atol=1e-12)


@pytest.mark.slow
def test_damping_settles_what_swings():
    """Four spins that all want to differ: the messages swing for ever; with half of the old one in each they settle."""
    J = -1 * (1 - torch.eye(4, dtype=torch.float64))
    graph = ising_graph(J, torch.tensor([0.1, 0.2, -0.1, 0.05], dtype=torch.float64))
    with pytest.raises(ConvergenceError):
        belief_propagation(graph)
    assert belief_propagation(graph, damping=0.5).converged


def test_the_residual_of_a_damped_sweep_is_that_of_the_whole_sweep():
    """Damping makes steps smaller, not what is left to do. After one sweep both have seen the same messages."""
    graph = ring(4, 0.5, 0.3)
    left = []
    for damping in (0.0, 0.75):
        with pytest.warns(ConvergenceWarning):
            left.append(belief_propagation(graph, damping=damping, max_steps=1, on_failure="warn").residual)
    close(left[0], left[1], atol=1e-15)
    assert left[0] > 0.1


@pytest.mark.usefixtures("unchecked")
def test_what_is_refused():
    table = torch.zeros(1, 2, 2)
    for call, words in (
        (lambda: FactorGraph((2, 2), [torch.tensor([[0, 0]])], [table]), "has the factor .0, 0.; expected no variable twice"),
        (lambda: FactorGraph((2, 3), [torch.tensor([[0, 1]])], [table]), r"log_potentials\[0\] has shape \(1, 2, 2\)"),
        (lambda: FactorGraph((2, 2), [torch.tensor([[0, 2]])], [table]), r"scopes\[0\] has the variable 2"),
        (lambda: FactorGraph((2, 2), [torch.tensor([[0, 1]])], [table / 0]), "NaN or infinity"),
        (lambda: belief_propagation(FactorGraph((2,), [torch.tensor([[0]])], [table[:, 0] - math.inf])), "forbid every state"),
        (lambda: exact_beliefs(FactorGraph((2,), [torch.tensor([[0]])], [table[:, 0] - math.inf])), "forbid every state"),
        (lambda: exact_beliefs(ising_graph(torch.zeros(23, 23))), "expected at most 4194304"),
        (lambda: belief_propagation(3), "graph is a int; expected a FactorGraph"),
        (lambda: belief_propagation(ising_graph(torch.zeros(2, 2)), damping=1.0), "damping is 1.0"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
