"""Belief propagation: variables and factors of a graph tell each other what they know, until nothing new is said."""

from contextlib import nullcontext

import torch

from attnlib._core.autocast import working
from attnlib._core.checks import check_choice, check_count, check_kind, check_number
from attnlib._core.convergence import OnFailure, report_failure
from attnlib._core.numerics import kept
from attnlib._core.values import looking, refuted, settled, through_steps
from attnlib.message_passing.factors import FactorGraph
from attnlib.message_passing.messages import Messages
from attnlib.message_passing.records import BeliefRecord


def belief_propagation(
    graph: FactorGraph,
    *,
    damping: float | int = 0.0,
    tolerance: float | int | None = None,
    max_sweeps: int | None = None,
    on_failure: OnFailure = "error",
) -> BeliefRecord:
    r"""Pass messages between variables and factors until they repeat: the sum-product algorithm.

    .. math:: \mu_{i \to a}(x_i) \propto \prod_{b \ni i,\, b \ne a} \nu_{b \to i}(x_i), \qquad
        \nu_{a \to i}(x_i) \propto \sum_{x_{\partial a \setminus i}} \psi_a(x_{\partial a})
        \prod_{j \in a,\, j \ne i} \mu_{j \to a}(x_j)

    A message never carries back what came from where it goes: that is the cavity. All messages of a sweep are computed from
    those of the sweep before. On a forest they repeat after as many sweeps as its longest path has steps, and the beliefs are
    the exact marginals. On a graph with loops they are an approximation, the messages may have several fixed points, or never
    settle; damping helps, and what does not settle is reported. Messages are logarithms, so that none underflows, and those of
    one sample of the batch do not depend on the others. A sweep is linear in the number of edges. Derivatives are those of
    the fixed point, by the implicit function theorem: they store no sweeps.

    Where no value can be seen (compiling, under ``vmap``) and under the transforms of ``torch.func`` all ``max_sweeps`` are
    made, nothing is raised, and derivatives go through the sweeps.

    Args:
        graph: what to pass messages on.
        damping: how much of its old logarithm a message keeps in a sweep, in [0, 1).
        tolerance: a sample is done when no probability in a message changes by more; default 64 times the dtype's precision,
            1.4e-14 in float64.
        max_sweeps: default as many as a forest needs, and 1000 where there are loops.
        on_failure: a sample that does not settle is an ``"error"`` (default), a ``ConvergenceError`` that carries iterations
            and residual; or ``"warn"``, and its last beliefs are returned, with ``converged`` False.

    Returns:
        :class:`BeliefRecord`, in single precision inside at least.

    Raises:
        ValueError: a graph that is none, settings out of range, potentials that forbid every state.
        ConvergenceError: as above.

    Source: Pearl 1988; Yedidia, Freeman and Weiss 2005 for the Bethe free energy.

    >>> from attnlib.message_passing import ising_graph
    >>> pair = ising_graph(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0.5, 0.0]))
    >>> belief_propagation(pair).beliefs[:, 1] - belief_propagation(pair).beliefs[:, 0]
    tensor([0.4621, 0.3519])
    """
    damping = check_number("damping", damping, least=0)
    if damping >= 1:
        raise ValueError(f"damping is {damping}; expected a number in [0, 1)")
    check_choice("on_failure", on_failure, ("error", "warn"))
    if max_sweeps is not None:
        max_sweeps = check_count("max_sweeps", max_sweeps)
    if tolerance is not None:
        tolerance = check_number("tolerance", tolerance, above=0)
    check_kind("graph", graph, FactorGraph, "a FactorGraph")
    messages = Messages(graph)
    eps = torch.finfo(messages.tables[0].dtype).eps
    tolerance = check_number("tolerance", 64 * eps if tolerance is None else tolerance, least=eps)
    if max_sweeps is None:
        nodes = graph.variables + sum(len(scope) for scope in graph.scopes)
        max_sweeps = nodes + 1 if graph.is_forest and not damping else 1000
    with working(messages.tables[0]):
        nu = held = messages.start()
        done = torch.zeros(graph.batch, dtype=torch.bool, device=nu.device)
        iterations = torch.zeros_like(done, dtype=torch.int64)
        residual = torch.zeros(graph.batch, dtype=nu.dtype, device=nu.device)
        through = through_steps()
        with nullcontext() if through else torch.no_grad():
            for sweep in range(max_sweeps):
                after = messages.sweep(nu)
                iterations = iterations + ~done
                residual = torch.where(done, residual, (after.exp() - nu.exp()).detach().abs().flatten(-2).amax(-1))
                held = torch.where(done[..., None, None], held, nu)
                done = done | (residual <= tolerance)
                if sweep == max_sweeps - 1 or (not through and settled(done)):
                    break
                after = messages.damped(nu, after, damping)
                nu = after if through else torch.where(done[..., None, None], nu, after)
        if through:
            nu = kept(held, nu, done[..., None, None])
        elif torch.is_grad_enabled():
            nu = messages.attached(nu, damping, max_sweeps, on_failure)
        record = messages.record(nu, residual.to(messages.dtype), iterations, done)
    if looking() and refuted(lambda: done.all()):
        failed = int((~done).sum())
        report_failure(
            f"{failed} of {done.numel()} samples did not settle in {max_sweeps} sweeps: a message still changes by "
            f"{residual.max():.2g}; expected at most {tolerance:.2g} (try damping)",
            iterations=max_sweeps,
            residual=residual.max().item(),
            on_failure=on_failure,
        )
    return record
