"""Two passes over trees with long paths, which are taken by transfer matrices, against the same trees taken node by node."""

import math

import numpy as np
import pytest
import torch
from helpers.draw import close, normal
from torch.autograd import gradcheck, gradgradcheck

from attnlib.message_passing import FactorGraph, belief_propagation, trees


def marginals(graph, asked):
    """Beliefs of some variables and ln Z: each variable in turn is the root, whose branches are multiplied out one by one."""
    scopes = [row for scope in graph.scopes for row in scope.tolist()]
    tables = [np.exp(one) for table in graph.log_potentials for one in table.detach().numpy()]
    around = [[] for _ in graph.states]
    for factor, row in enumerate(scopes):
        for variable in row:
            around[variable].append(factor)

    def branch(root):
        """Products of what hangs below each variable, from the leaves up, scaled to one, and the logarithms of the scales."""
        order, above, logs = [(root, None)], {root: None}, 0.0
        for variable, came in order:
            for factor in around[variable]:
                if factor != came:
                    order += [(other, factor) for other in scopes[factor] if other != variable]
                    above |= {other: variable for other in scopes[factor] if other != variable}
        below = {}
        for variable, came in reversed(order):
            weight = np.ones(graph.states[variable])
            for factor in around[variable]:
                if factor != came:
                    told = np.moveaxis(tables[factor], scopes[factor].index(variable), 0)
                    for other in reversed([other for other in scopes[factor] if other != variable]):
                        told = told @ below[other]
                    weight = weight * told
            below[variable], logs = weight / weight.sum(), logs + math.log(weight.sum())
        return below[root], logs

    found = [branch(variable) for variable in asked]
    return [belief for belief, _ in found], found[0][1]


def star(length, states, seed=0, arms=3):
    """Arms of pairs that meet in the middle, in a shuffled order and with either end in front; a triple every twenty pairs."""
    generator = torch.Generator().manual_seed(seed)
    n = 1 + arms * length
    pairs = torch.tensor([[0 if place == 0 else arm * length + place, arm * length + place + 1]
                          for arm in range(arms) for place in range(length)])  # fmt: skip
    pairs = pairs[torch.randperm(len(pairs), generator=generator)]
    turned = torch.rand(len(pairs), generator=generator) < 0.5
    pairs = torch.where(turned[:, None], pairs.flip(1), pairs)
    hair = torch.arange(5, n, 20)
    triples = torch.stack([n + torch.arange(len(hair)), hair, n + len(hair) + torch.arange(len(hair))], -1)
    sizes = (states,) * n + (2,) * len(hair) + (states + 1,) * len(hair)
    scopes = [pairs, torch.arange(n)[:, None], triples]
    tables = [normal(len(pairs), states, states, seed=seed), normal(n, states, seed=seed + 1)]
    return FactorGraph(sizes, scopes, [*tables, normal(len(hair), 2, states, states + 1, seed=seed + 2)])


def parts_of(monkeypatch):
    """How many rounds each part takes, as they are put together."""
    taken, with_paths = [], trees.with_paths
    monkeypatch.setattr(trees, "with_paths", lambda parts: taken.extend(found := with_paths(parts)) or found)
    return taken


@pytest.mark.parametrize("states", [2, 3])
def test_arms_that_meet_have_the_marginals_of_the_tree(states, monkeypatch):
    graph, taken = star(100, states), parts_of(monkeypatch)
    found = belief_propagation(graph)
    assert max(length for *_, length in taken) > 50
    assert sum(length for *_, length in taken) > 100
    asked = [0, 1, 4, 5, 6, 60, 99, 100, 150, 201, 300, 301, len(graph.states) - 1]
    beliefs, value = marginals(graph, asked)
    for variable, belief in zip(asked, beliefs):
        close(found.beliefs[variable, : len(belief)], torch.from_numpy(belief), atol=1e-12)
    close(found.log_partition, torch.tensor(value, dtype=torch.float64), atol=1e-10)
    assert found.converged
    assert found.residual < 1e-13


def test_a_path_may_begin_and_end_with_a_table_that_is_no_square():
    n = 100
    sizes = (3, *(2,) * (n - 2), 3)
    pairs = torch.stack([torch.arange(n - 1), torch.arange(1, n)], -1)
    tables = [normal(1, 3, 2), normal(n - 3, 2, 2, seed=1), normal(1, 2, 3, seed=2)]
    graph = FactorGraph(sizes, [pairs[:1], pairs[1:-1], pairs[-1:]], tables)
    found = belief_propagation(graph)
    for variable, belief in zip([0, 1, 50, 98, 99], marginals(graph, [0, 1, 50, 98, 99])[0]):
        close(found.beliefs[variable, : len(belief)], torch.from_numpy(belief), atol=1e-12)


def test_a_path_of_a_batch_with_states_that_are_ruled_out():
    """A walker who may stay or step to the right, seen at the far end: what was possible on the way, by matrix powers."""
    n, k = 150, 3
    stay = torch.full((k, k), -math.inf).double()
    rows = torch.arange(k)
    stay[rows, rows], stay[rows, (rows + 1) % k] = math.log(0.99), math.log(0.01)
    single = torch.zeros(2, n, k).double()
    single[:, 0, 1:] = -math.inf  # both start at 0
    single[1, -1, :2] = -math.inf  # and the second one ends at 2
    pairs = torch.stack([torch.arange(n - 1), torch.arange(1, n)], -1)
    found = belief_propagation(FactorGraph((k,) * n, [torch.arange(n)[:, None], pairs], [single, stay.expand(n - 1, k, k)]))
    step = np.exp(stay.numpy())
    ahead = np.stack([np.linalg.matrix_power(step, t)[0] for t in range(n)])
    back = np.stack([np.linalg.matrix_power(step, n - 1 - t)[:, 2] for t in range(n)])
    close(found.beliefs[0], torch.from_numpy(ahead / ahead.sum(-1, keepdims=True)), atol=1e-12)
    close(found.beliefs[1], torch.from_numpy(ahead * back / ahead[-1, 2]), atol=1e-12)
    close(found.log_partition, torch.tensor([0.0, math.log(ahead[-1, 2])], dtype=torch.float64), atol=1e-10)
    assert found.beliefs[1, 0, 1] == 0


def test_a_long_way_that_nobody_can_go_is_refused():
    """The first and the last are held apart, and all between them are equal."""
    n = 200
    equal = torch.full((2, 2), -math.inf).double().fill_diagonal_(0.0)
    single = torch.zeros(n, 2).double()
    single[0, 1] = single[-1, 0] = -math.inf
    pairs = torch.stack([torch.arange(n - 1), torch.arange(1, n)], -1)
    with pytest.raises(ValueError, match="forbid every state"):
        belief_propagation(FactorGraph((2,) * n, [torch.arange(n)[:, None], pairs], [single, equal.expand(n - 1, 2, 2)]))


@pytest.mark.slow
@pytest.mark.double
def test_a_path_differentiates_twice(monkeypatch):
    """Four rounds are one part; the numbers differentiated are those of a tree whose paths have a state ruled out, too."""
    monkeypatch.setattr(trees, "LONG", 3)
    taken, scope = parts_of(monkeypatch), torch.tensor([[i, i + 1] for i in range(8)])
    hole = torch.zeros(9, 2).double()
    hole[4, 1] = -math.inf
    for hidden in (torch.zeros(9, 2).double(), hole):
        taken.clear()

        def beliefs(pairs, single, hidden=hidden):
            graph = FactorGraph((2,) * 9, [scope, torch.arange(9)[:, None]], [pairs, single + hidden])
            found = belief_propagation(graph)
            return found.beliefs[[0, 3], 0], found.log_partition

        tables = normal(8, 2, 2).requires_grad_(), normal(9, 2, seed=1).requires_grad_()
        assert gradcheck(beliefs, tables)
        assert gradgradcheck(beliefs, tables)
        assert max(length for *_, length in taken) == 4


def test_where_a_product_is_dear_rounds_are_taken_one_by_one(monkeypatch):
    """A matrix of 30 states takes 27,000 multiplications; and few rounds are no path. Half come from each end."""
    taken = parts_of(monkeypatch)
    for pairs, states, longest in ((2 * trees.LONG, 30, 1), (2 * trees.LONG - 2, 2, 1), (2 * trees.LONG, 2, trees.LONG)):
        taken.clear()
        scopes = [torch.arange(pairs + 1)[:, None], torch.stack([torch.arange(pairs), torch.arange(1, pairs + 1)], -1)]
        tables = [normal(pairs + 1, states, seed=1), normal(pairs, states, states)]
        graph = FactorGraph((states,) * (pairs + 1), scopes, tables)
        found = belief_propagation(graph)
        assert max(rounds for *_, rounds in taken) == longest
        close(found.beliefs[[0, 7]], torch.from_numpy(np.stack(marginals(graph, [0, 7])[0])), atol=1e-12)
