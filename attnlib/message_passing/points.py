"""Fixed points of belief propagation: looked for from random messages, and ranked by their Bethe free energy."""

import warnings
from dataclasses import fields

import torch

from attnlib._core.autocast import working
from attnlib._core.checks import check_count, check_generator, check_number
from attnlib._core.convergence import ConvergenceWarning, OnFailure, report_failure
from attnlib._core.values import check_visible
from attnlib.message_passing.beliefs import checked, settled_from
from attnlib.message_passing.factors import FactorGraph
from attnlib.message_passing.messages import Messages
from attnlib.message_passing.records import BeliefPoints, BeliefRecord


def find_beliefs(
    graph: FactorGraph,
    *,
    starts: int = 20,
    spread: float | int = 3.0,
    damping: float | int = 0.0,
    tolerance: float | int | None = None,
    max_steps: int | None = None,
    merge: float | int = 1e-4,
    generator: torch.Generator | None = None,
    on_failure: OnFailure = "error",
) -> BeliefPoints:
    r"""Look for fixed points of belief propagation from random messages, and rank them by their Bethe free energy.

    .. math:: -F_{\mathrm{Bethe}} = \ln Z_{\mathrm{Bethe}} = \sum_a \ln Z_a + \sum_i \ln Z_i - \sum_{(i,a)} \ln Z_{ia}

    Where the messages of a graph with loops have several fixed points, that with the lowest free energy is the best guess by
    the theory's own measure; others that are stable are states of their own, as up and down of a magnet. The first start says
    nothing, as that of :func:`belief_propagation`; the logarithms of the others are Gaussian. Starts that do not settle are
    left out. A point that no start leads to is missed, and nothing tells.

    Args:
        graph: without batch axes.
        starts: how many; default 20.
        spread: standard deviation of the logarithms of random messages.
        damping, tolerance, max_steps: of :func:`belief_propagation`, each from every start.
        merge: points whose beliefs all differ by less are one.
        generator: of the random messages; default torch's own.
        on_failure: that no start settles is an ``"error"`` (default); or ``"warn"``, and there are no points.

    Returns:
        :class:`BeliefPoints`. Nothing is differentiated.

    Raises:
        ValueError: a graph that is none or has batch axes, settings out of range, potentials that forbid every state.
        ConvergenceError: no start settles.

    Source: Yedidia, Freeman and Weiss 2005.

    >>> from attnlib.message_passing import ising_graph
    >>> one = find_beliefs(ising_graph(0.2 * (1 - torch.eye(4))), generator=torch.Generator().manual_seed(0))
    >>> one.points.beliefs.shape, one.reached.unique()
    (torch.Size([1, 4, 2]), tensor([0]))
    """
    starts = check_count("starts", starts)
    spread, merge = check_number("spread", spread, above=0), check_number("merge", merge, above=0)
    check_generator(generator)
    damping, tolerance, max_steps = checked(graph, damping, tolerance, max_steps, on_failure)
    max_steps = max_steps or 1000
    if graph.batch:
        raise ValueError(f"graph has batch axes {graph.batch}; expected none: each start is a sample")
    check_visible(**{"log_potentials[0]": graph.log_potentials[0]})
    many = [table.detach().expand(starts, *table.shape) for table in graph.log_potentials]
    messages = Messages(FactorGraph(graph.states, graph.scopes, many))
    with torch.no_grad(), warnings.catch_warnings(), working(messages.tables[0]):
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = messages.start()
        noise = torch.randn(first.shape, generator=generator, dtype=first.dtype, device=first.device)
        noise[0] = 0
        found = settled_from(messages, messages.normalised(first + spread * noise), damping, tolerance, max_steps, "warn")
    if not found.converged.any():
        report_failure(
            f"none of {starts} starts settled in {max_steps} sweeps; expected one at least (try damping)",
            iterations=max_steps,
            residual=found.residual.max().item(),
            on_failure=on_failure,
        )
    order = torch.where(found.converged, found.log_partition, -torch.inf).argsort(descending=True, stable=True)
    reached, chosen = torch.full((starts,), -1, device=order.device), list[int]()
    for start in order[: int(found.converged.sum())].tolist():
        gaps = (found.beliefs[chosen] - found.beliefs[start]).abs().amax((-2, -1))
        near = (gaps < merge).nonzero()[:, 0]
        reached[start] = near[0] if len(near) else len(chosen)
        if not len(near):
            chosen.append(start)
    of_factors = tuple(belief[chosen] for belief in found.factor_beliefs)
    others = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "factor_beliefs"}
    return BeliefPoints(
        BeliefRecord(factor_beliefs=of_factors, **{name: part[chosen] for name, part in others.items()}), reached
    )
