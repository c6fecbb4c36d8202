"""Marginals of a factor graph by visiting all of its states: the oracle for belief propagation."""

import math

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from attnlib._core.autocast import working
from attnlib._core.checks import check_kind
from attnlib._core.numerics import log_sum, widened
from attnlib._core.values import check_result, refuted
from attnlib.message_passing import BeliefRecord, FactorGraph

MOST = 2**22
"""The largest number of states of all variables together."""

_TERMS_AT_ONCE = 2**21
"""States are visited in groups with so many table entries, 16 MiB in float64."""


def exact_beliefs(graph: FactorGraph) -> BeliefRecord:
    r"""Marginals and log partition of a factor graph with up to 4 million states, by visiting all of them.

    .. math:: \ln Z = \ln \sum_x \prod_a \psi_a(x_{\partial a}), \qquad b_i(x_i) = \sum_{x \setminus x_i} p(x)

    All results differentiate; states are visited in groups that are computed again for the gradient, so that memory stays
    bounded.

    Args:
        graph: any :class:`attnlib.message_passing.FactorGraph`.

    Returns:
        :class:`attnlib.message_passing.BeliefRecord`, with a residual of 0 after 0 sweeps.

    Raises:
        ValueError: a graph that is none, more states than 2 ** 22, potentials that forbid every state.

    >>> from attnlib.message_passing import ising_graph
    >>> triangle = ising_graph(0.5 * (1 - torch.eye(3)))
    >>> exact_beliefs(triangle).factor_beliefs[1][0, 1, 1]
    tensor(0.4037)
    """
    check_kind("graph", graph, FactorGraph, "a FactorGraph")
    states = math.prod(graph.states)
    if states > MOST:
        raise ValueError(f"graph has {states:.3g} states in all; expected at most {MOST}")
    dtype = graph.log_potentials[0].dtype
    tables = [widened(table) for table in graph.log_potentials]
    with working(tables[0]):
        flat = [table.flatten(-scope.shape[1]) for table, scope in zip(tables, graph.scopes, strict=True)]
        batch = max(1, math.prod(graph.batch))
        places = max(graph.variables, sum(len(scope) for scope in graph.scopes))
        size = max(1, _TERMS_AT_ONCE // (batch * places))
        groups = [(first, min(first + size, states)) for first in range(0, states, size)]
        again = len(groups) > 1 and torch.is_grad_enabled() and any(table.requires_grad for table in flat)

        def visit(first: int, last: int, *flat: Tensor) -> tuple[Tensor, ...]:
            return _visit(graph, first, last, *flat)

        parts = [checkpoint(visit, *group, *flat, use_reentrant=False) if again else visit(*group, *flat) for group in groups]
        logs = torch.stack([part[0] for part in parts], -1)
        total = log_sum(logs, [-1])
        if refuted(lambda: (total > -torch.inf).all()):
            raise ValueError("log_potentials forbid every state; expected at least one that all factors allow")
        shares = (logs - total[..., None]).exp().unbind(-1)
        found = []
        for sums in zip(*(part[1:] for part in parts), strict=True):
            weighted = [share[(..., *(None,) * (one.ndim - share.ndim))] * one for share, one in zip(shares, sums, strict=True)]
            found.append(torch.stack(weighted).sum(0))
    shapes = [
        (len(scope), *table.shape[table.ndim - scope.shape[1] :]) for scope, table in zip(graph.scopes, tables, strict=True)
    ]
    factor_beliefs = tuple(one.to(dtype).reshape(*graph.batch, *shape) for one, shape in zip(found[1:], shapes, strict=True))
    zero = torch.zeros(graph.batch, dtype=dtype, device=flat[0].device)
    value = check_result(total.to(dtype), "log_potentials are")
    return BeliefRecord(found[0].to(dtype), factor_beliefs, value, zero, zero.long(), zero == 0, zero + 1)


def _visit(graph: FactorGraph, first: int, last: int, *flat: Tensor) -> tuple[Tensor, ...]:
    """Log weight of a group of states, and the marginals within it."""
    number = torch.arange(first, last, device=flat[0].device)
    digits, base = [], 1
    for count in reversed(graph.states):
        digits.append(number // base % count)
        base *= count
    x = torch.stack(digits[::-1], -1)  # [group, variables]
    weight, entries = torch.zeros((), dtype=flat[0].dtype, device=flat[0].device), []
    for scope, table in zip(graph.scopes, flat, strict=True):
        entry = torch.zeros_like(x[:, scope[:, 0]])  # [group, factors]
        for place in range(scope.shape[1]):
            entry = entry * graph.states[int(scope[0, place])] + x[:, scope[:, place]]
        entry = entry + torch.arange(len(scope), device=flat[0].device) * table.shape[-1]
        entries.append((entry, len(scope) * table.shape[-1]))
        weight = weight + table.flatten(-2)[..., entry].sum(-1)
    weight = weight.expand(*graph.batch, -1)
    total = log_sum(weight, [-1])
    p = (weight - torch.where(total > -torch.inf, total, 0.0)[..., None]).exp()
    most = max(graph.states)
    entries.insert(0, (x + torch.arange(graph.variables, device=flat[0].device) * most, graph.variables * most))
    sums = [
        p.new_zeros(*graph.batch, count).index_add(
            -1, entry.flatten(), p[..., None].expand(*p.shape, entry.shape[1]).flatten(-2)
        )
        for entry, count in entries
    ]
    return total, sums[0].unflatten(-1, (graph.variables, most)), *sums[1:]
