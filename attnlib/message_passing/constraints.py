"""Whether potentials leave a state at all: a search with backtracking, as far as it is asked to go."""

import torch
from torch import Tensor

from attnlib.message_passing.factors import FactorGraph

MOST = 100
"""States ruled out in so many rounds, all tries together; what is not decided by then stays open."""


def impossible(graph: FactorGraph) -> bool:
    """Whether the search shows that the potentials of a sample forbid every state. False says nothing for sure.

    A state of a variable is ruled out where a factor has no place for it, whatever else is still allowed; round after round.
    Then a variable is held at one state after another. For two states each and pairs that decides soon.
    """
    shapes = [table.shape[-scope.shape[1] - 1 :] for scope, table in zip(graph.scopes, graph.log_potentials, strict=True)]
    tables = [table > -torch.inf for table in graph.log_potentials]
    if all(bool(table.all()) for table in tables):
        return False
    rows = [table.expand(*graph.batch, *shape).reshape(-1, shape.numel()) for table, shape in zip(tables, shapes, strict=True)]
    patterns, sizes = torch.cat(rows, -1).unique(dim=0), [shape.numel() for shape in shapes]
    return any(
        _searched(graph, [part.view(shape) for part, shape in zip(pattern.split(sizes), shapes, strict=True)])
        for pattern in patterns
    )


def _searched(graph: FactorGraph, allowed: list[Tensor]) -> bool:
    """Whether a search, depth first, ends without a state."""
    counts = torch.tensor(graph.states, device=allowed[0].device)[:, None]
    todo, left = [torch.arange(max(graph.states), device=counts.device) < counts], MOST
    while todo:
        domain, left = _narrowed(graph, allowed, todo.pop(), left)
        if left <= 0:
            return False
        if domain is None:
            continue
        options = domain.sum(-1)
        if options.max() == 1:
            return False  # here is one
        variable = int(torch.where(options > 1, options, options.max() + 1).argmin())
        for state in domain[variable].nonzero()[:, 0]:
            held = domain.clone()
            held[variable] = False
            held[variable, state] = True
            todo.append(held)
    return True


def _narrowed(graph: FactorGraph, allowed: list[Tensor], domain: Tensor, left: int) -> tuple[Tensor | None, int]:
    """The states ``[variables, states]`` that every factor has a place for; None if some variable has none; and rounds left."""
    while left > 0:
        left -= 1
        after = domain.clone()
        for scope, table in zip(graph.scopes, allowed, strict=True):
            arity, joint = scope.shape[1], table
            for place in range(arity):
                here = domain[scope[:, place], : table.shape[place + 1]]
                joint = joint & here[(slice(None), *(None,) * place, slice(None), *(None,) * (arity - 1 - place))]
            for place in range(arity):
                others = [axis for axis in range(1, arity + 1) if axis != place + 1]
                kept = joint.sum(others) > 0 if others else joint
                blocked = torch.zeros(domain.shape, dtype=torch.long, device=domain.device)
                size = kept.shape[-1]
                blocked[:, :size] = blocked[:, :size].index_add(0, scope[:, place], (~kept).long())
                after &= blocked == 0
        if not after.any(-1).all():
            return None, left
        if torch.equal(after, domain):
            return domain, left
        domain = after
    return domain, left
