"""Factor graphs: variables with a few states each, and tables that say how well states of some of them go together."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from attnlib._core.checks import WHOLE, Scalar, check_count, check_floating, check_tensors
from attnlib._core.systems import check_system
from attnlib._core.transforms import transforming
from attnlib._core.values import check_logarithms, check_result, check_visible, verdict
from attnlib.message_passing.graphs import check_edges, verdict_range


@dataclass(frozen=True)
class FactorGraph:
    r"""A distribution of discrete variables as a product of tables.

    .. math:: p(x) = \frac1Z \prod_a \psi_a(x_{\partial a})

    Tables of one shape are stacked: group g has ``scopes[g] [factors, arity]``, the variables of each factor, and
    ``log_potentials[g] [*batch, factors, *states]``, with one axis of states for each of these variables, in their order. A
    graph may have any number of groups, so factors of any arity. A log potential of minus infinity forbids what it stands for.

    Args:
        states: the number of states of each variable.
        scopes: for each group a tensor of whole numbers, ``[factors, arity]``, no variable twice in a row.
        log_potentials: for each group a floating tensor; batch axes broadcast between the groups.

    Raises:
        ValueError: shapes that do not fit, variables that are not there or twice in a factor, NaN or plus infinity.

    Source: Kschischang, Frey and Loeliger 2001.

    >>> graph = FactorGraph((2, 3), [torch.tensor([[0, 1]])], [torch.zeros(1, 2, 3)])
    >>> graph.variables, graph.edges, graph.is_forest
    (2, 2, True)
    """

    states: Sequence[int]
    scopes: Sequence[Integer[Tensor, "_ _"]]
    log_potentials: Sequence[Float[Tensor, "..."]]

    def __post_init__(self) -> None:
        for name in ("states", "scopes", "log_potentials"):
            given = getattr(self, name)
            if not isinstance(given, Sequence) or isinstance(given, str | bytes):
                raise ValueError(f"{name} is a {type(given).__name__}; expected a list or a tuple")
            object.__setattr__(self, name, tuple(given))
        object.__setattr__(self, "states", tuple(check_count("states", one) for one in self.states))
        if not self.states or not self.scopes or len(self.scopes) != len(self.log_potentials):
            raise ValueError(
                f"states, scopes and log_potentials have {len(self.states)}, {len(self.scopes)} and "
                f"{len(self.log_potentials)} members; expected one variable at least, and as many tables as scopes"
            )
        check_floating(**{f"log_potentials[{g}]": table for g, table in enumerate(self.log_potentials)})
        for g, (scope, table) in enumerate(zip(self.scopes, self.log_potentials, strict=True)):
            self._check_group(g, scope, table)
        object.__setattr__(self, "scopes", tuple(scope.long() for scope in self.scopes))
        try:
            torch.broadcast_shapes(*(table.shape[: -self._axes(g)] for g, table in enumerate(self.log_potentials)))
        except RuntimeError:
            shapes = ", ".join(str(tuple(table.shape)) for table in self.log_potentials)
            raise ValueError(f"log_potentials have shapes {shapes}; expected batch axes that broadcast") from None

    def _check_group(self, g: int, scope: Tensor, table: Tensor) -> None:
        check_tensors(**{f"scopes[{g}]": scope})
        if scope.ndim != 2 or 0 in scope.shape or scope.dtype not in WHOLE or scope.device != table.device:
            raise ValueError(
                f"scopes[{g}] is {scope.dtype} of shape {tuple(scope.shape)} on {scope.device}; "
                f"expected whole numbers of shape [factors, arity] on {table.device}"
            )
        if scope.is_meta:
            raise ValueError(f"scopes[{g}] is on meta; expected a device that holds values, which say who is connected")
        low, high = verdict_range(scope) or (0, 0)
        if low < 0 or high >= len(self.states):
            wrong, count = low if low < 0 else high, len(self.states)
            raise ValueError(f"scopes[{g}] has the variable {wrong}, and states {count} members; expected 0 to {count - 1}")
        rows = rows_of(scope)
        if twice := [row for row in rows if len(set(row)) < len(row)]:
            raise ValueError(f"scopes[{g}] has the factor {twice[0]}; expected no variable twice")
        shapes = {tuple(self.states[v] for v in row) for row in rows}
        if len(shapes) > 1:
            raise ValueError(
                f"scopes[{g}] has factors of variables with states {sorted(shapes)}; expected one shape in a group"
            )
        wanted = (len(rows), *shapes.pop())
        if table.ndim < len(wanted) or tuple(table.shape[table.ndim - len(wanted) :]) != wanted:
            raise ValueError(
                f"log_potentials[{g}] has shape {tuple(table.shape)}; "
                f"expected [*batch, {', '.join(map(str, wanted))}] of these scopes and states"
            )
        check_logarithms(**{f"log_potentials[{g}]": table})

    def _axes(self, g: int) -> int:
        return self.scopes[g].shape[1] + 1

    @property
    def variables(self) -> int:
        """The number of variables."""
        return len(self.states)

    @property
    def edges(self) -> int:
        """The number of places in factors, each an edge between a variable and a factor, with a message in both directions."""
        return sum(scope.numel() for scope in self.scopes)

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes of all tables together."""
        shapes = (table.shape[: -self._axes(g)] for g, table in enumerate(self.log_potentials))
        return tuple(torch.broadcast_shapes(*shapes))

    @property
    def is_forest(self) -> bool:
        """Whether the graph of variables and factors has no loop, so that belief propagation is exact."""
        return min(peeled(self)[0]) >= 0


def peeled(graph: FactorGraph) -> tuple[list[int], list[int]]:
    """Take the leaves off a graph, round after round: for each factor its round, and the place of the variable that is left.

    A factor is done when all of its variables but one are, and a variable when all of its factors but one are. What is never
    done lies on a loop or between loops, and has -1 for both.
    """
    rows = [row for scope in graph.scopes for row in rows_of(scope)]
    touching: list[list[int]] = [[] for _ in graph.states]
    for factor, row in enumerate(rows):
        for variable in row:
            touching[variable].append(factor)
    there, degree = [set(row) for row in rows], [len(factors) for factors in touching]
    rounds, toward = [-1] * len(rows), [-1] * len(rows)
    ready = [factor for factor, row in enumerate(rows) if len(row) == 1]
    leaves = [variable for variable, factors in enumerate(touching) if len(factors) == 1]
    number = 0
    while ready or leaves:
        for variable in leaves:
            for factor in touching[variable]:
                if rounds[factor] < 0 and len(there[factor]) > 1:
                    there[factor].discard(variable)
                    if len(there[factor]) == 1:
                        ready.append(factor)
        leaves = []
        for factor in ready:
            (last,) = there[factor]
            rounds[factor], toward[factor], degree[last] = number, rows[factor].index(last), degree[last] - 1
            if degree[last] == 1:
                leaves.append(last)
        ready, number = [], number + 1
    return rounds, toward


def rows_of(scope: Tensor) -> list[list[int]]:
    """The variables of each factor. Under a transform torch 2.6 reads numbers one by one only."""
    return [[int(variable) for variable in row] for row in scope.unbind()] if transforming() else scope.tolist()


def ising_graph(J: Float[Tensor, "*batch n n"], h: Float[Tensor, "..."] | None = None, *, beta: Scalar = 1.0) -> FactorGraph:
    r"""An Ising system as a factor graph: state 0 is minus one, state 1 plus one.

    .. math:: \ln \psi_{ij}(s_i, s_j) = \beta J_{ij} s_i s_j, \qquad \ln \psi_i(s_i) = \beta h_i s_i

    A factor stands for each pair that is coupled in one system of the batch at least; where no value can be seen, for each.

    Args:
        J: couplings ``[*batch, n, n]``, symmetric with a zero diagonal.
        h: fields, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.

    Raises:
        ValueError: as :func:`attnlib.mean_field.exact_ising`.

    >>> graph = ising_graph(torch.tensor([[0.0, 0.5], [0.5, 0.0]]))
    >>> graph.log_potentials[1][0]
    tensor([[ 0.5000, -0.5000],
            [-0.5000,  0.5000]])
    """
    system = check_system(J, h, beta)
    check_visible(J=J)
    n = system.n
    named = (system.couplings.to(J.dtype), system.fields.expand(*system.batch, n).to(J.dtype))
    couplings, fields = (check_result(one, "J, h or beta are") for one in named)
    pairs = torch.triu_indices(n, n, 1, device=J.device)
    used = (J.detach() != 0).reshape(-1, n, n).any(0)[pairs[0], pairs[1]]
    if verdict(lambda: used.any()) is not None:
        pairs = pairs[:, used]
    spin = torch.tensor([-1.0, 1.0], dtype=J.dtype, device=J.device)
    scopes, tables = [torch.arange(n, device=J.device)[:, None]], [fields[..., None] * spin]
    if pairs.shape[1]:
        scopes.append(pairs.mT)
        tables.append(couplings[..., pairs[0], pairs[1]][..., None, None] * (spin[:, None] * spin))
    return FactorGraph((2,) * n, scopes, tables)


def pairwise_graph(
    edge_index: Integer[Tensor, "2 edges"], pair: Float[Tensor, "*#batch edges k k"], single: Float[Tensor, "*#batch n k"]
) -> FactorGraph:
    """Variables with k states each, a table for each edge and one for each variable.

    Args:
        edge_index: ``[2, edges]``; the first axis of a table is the state of the first row's variable. Each pair once.
        pair: log potentials of the edges, ``[*batch, edges, k, k]``.
        single: log potentials of the variables, ``[*batch, n, k]``.

    Raises:
        ValueError: shapes that do not fit, an edge from a variable to itself, and what :class:`FactorGraph` refuses.

    >>> graph = pairwise_graph(torch.tensor([[0, 1], [1, 2]]), torch.zeros(2, 3, 3), torch.zeros(3, 3))
    >>> graph.is_forest
    True
    """
    check_floating(pair=pair, single=single)
    check_tensors(edge_index=edge_index)
    if single.ndim < 2 or 0 in single.shape[-2:]:
        raise ValueError(f"single has shape {tuple(single.shape)}; expected [*batch, n, k] with n, k >= 1")
    n, k = single.shape[-2:]
    edges = check_edges(edge_index, n, n, sizes="single has the rows")
    if pair.ndim < 3 or tuple(pair.shape[-3:]) != (edges.shape[1], k, k):
        wanted = f"[*batch, {edges.shape[1]}, {k}, {k}], as edge_index and single say"
        raise ValueError(f"pair has shape {tuple(pair.shape)}; expected {wanted}")
    if edges.device != single.device:
        raise ValueError(f"edge_index is on {edges.device}; expected {single.device}, where pair and single are")
    check_visible(edge_index=edges, pair=pair, single=single)
    if bool((edges[0] == edges[1]).any()):
        raise ValueError("edge_index has an edge from a variable to itself; expected two variables, or a table in single")
    try:
        torch.broadcast_shapes(pair.shape[:-3], single.shape[:-2])
    except RuntimeError:
        shapes = f"pair has shape {tuple(pair.shape)} and single {tuple(single.shape)}"
        raise ValueError(f"{shapes}; expected batch axes that broadcast, and tables for the edges of edge_index") from None
    check_logarithms(pair=pair, single=single)
    scopes, tables = [torch.arange(n, device=single.device)[:, None]], [single]
    if edges.shape[1]:
        scopes.append(edges.mT)
        tables.append(pair)
    return FactorGraph((k,) * n, scopes, tables)
