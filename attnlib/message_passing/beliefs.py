"""Belief propagation: variables and factors of a graph tell each other what they know, until nothing new is said."""

import warnings
from contextlib import nullcontext

import torch
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import check_choice, check_count, check_kind, check_number
from attnlib._core.convergence import ConvergenceWarning, OnFailure, report_failure
from attnlib._core.numerics import kept, widened
from attnlib._core.transforms import in_forward_mode, no_derivatives
from attnlib._core.values import looking, refuted, settled, through_steps
from attnlib.message_passing.constraints import impossible
from attnlib.message_passing.factors import FactorGraph, peeled
from attnlib.message_passing.messages import Messages
from attnlib.message_passing.records import BeliefRecord
from attnlib.message_passing.trees import two_passes


def belief_propagation(
    graph: FactorGraph,
    *,
    damping: float | int = 0.0,
    tolerance: float | int | None = None,
    max_steps: int | None = None,
    on_failure: OnFailure = "error",
) -> BeliefRecord:
    r"""Pass messages between variables and factors until they repeat: the sum-product algorithm.

    .. math:: \mu_{i \to a}(x_i) \propto \prod_{b \ni i,\, b \ne a} \nu_{b \to i}(x_i), \qquad
        \nu_{a \to i}(x_i) \propto \sum_{x_{\partial a \setminus i}} \psi_a(x_{\partial a})
        \prod_{j \in a,\, j \ne i} \mu_{j \to a}(x_j)

    A message never carries back what came from where it goes: that is the cavity. On a forest two passes, from the leaves to
    the middle and back, compute each message once, and the beliefs are the exact marginals; long paths of pairs go by products
    of their transfer matrices, a path of n pairs in some ``sqrt(n)`` rounds. On a graph with loops, or where ``damping`` or
    ``max_steps`` are given, all messages of a sweep are computed from those of the sweep before; on a forest they repeat after
    as many as its longest path has steps. With loops beliefs are an approximation. The messages may have several fixed points
    (:func:`find_beliefs` looks for them), or never settle; damping helps, and what does not settle is reported. So is a fixed
    point that messages leave: they may have begun there, as without any field; to tell costs as much as some hundred sweeps.
    Messages are logarithms, so that none underflows, and those of one sample of the batch do not depend on the others. A sweep
    is linear in the number of edges. Derivatives go through the two passes, and with loops they are those of the fixed point,
    by the implicit function theorem: they store no sweeps.

    Potentials that forbid every state are refused on a forest, and with loops as far as a search of 100 rounds can tell: it
    rules states out, and tries some.

    In forward mode and under the transforms of ``torch.func`` up to 512 numbers in messages are found first and then followed,
    and their stability is not looked at. Of more, and where no value can be seen (compiling), all ``max_steps`` are made,
    nothing is raised, and derivatives go through the sweeps.

    Args:
        graph: what to pass messages on.
        damping: how much of its old logarithm a message keeps in a sweep, in [0, 1).
        tolerance: a sample is done when no probability in a message changes by more; default 64 times the dtype's precision,
            1.4e-14 in float64.
        max_steps: sweeps allowed; default two passes on a forest, or as many as it needs with damping, and 1000 where there
            are loops.
        on_failure: a sample that does not settle is an ``"error"`` (default), a ``ConvergenceError`` that carries iterations
            and residual; or ``"warn"``, and its last beliefs are returned, with ``converged`` False. An unstable fixed point is
            a ``ConvergenceWarning`` in both cases: ``stability`` below -0.001, or with damping that of the damped sweep.

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
    damping, tolerance, max_steps = checked(graph, damping, tolerance, max_steps, on_failure)
    messages = Messages(graph)
    with working(messages.tables[0]):
        return settled_from(messages, messages.start(), damping, tolerance, max_steps, on_failure)


def checked(
    graph: FactorGraph,
    damping: float | int,
    tolerance: float | int | None,
    max_steps: int | None,
    on_failure: OnFailure,
) -> tuple[float | int, float | int, int | None]:
    """Damping, tolerance and sweeps; raise as the public functions say."""
    damping = check_number("damping", damping, least=0)
    if damping >= 1:
        raise ValueError(f"damping is {damping}; expected a number in [0, 1)")
    check_choice("on_failure", on_failure, ("error", "warn"))
    max_steps = None if max_steps is None else check_count("max_steps", max_steps)
    if tolerance is not None:
        tolerance = check_number("tolerance", tolerance, above=0)
    check_kind("graph", graph, FactorGraph, "a FactorGraph")
    eps = torch.finfo(widened(graph.log_potentials[0]).dtype).eps
    return damping, check_number("tolerance", 64 * eps if tolerance is None else tolerance, least=eps), max_steps


def settled_from(
    messages: Messages,
    nu: Tensor,
    damping: float | int,
    tolerance: float | int,
    max_steps: int | None,
    on_failure: OnFailure,
) -> BeliefRecord:
    """Messages that repeat, from a start, and what is believed then."""
    graph = messages.graph
    blind = through_steps() or not looking() or nu.is_meta
    rounds, toward = peeled(graph)
    forest = min(rounds) >= 0
    if forest and not blind and not damping and max_steps is None:
        nu = two_passes(messages, rounds, toward)
        with torch.no_grad():
            residual = (messages.sweep(nu).exp() - nu.exp()).abs().flatten(-2).amax(-1)
        sweeps, done = 2, residual <= tolerance
        iterations = torch.full_like(residual, sweeps, dtype=torch.int64)
    else:
        if not forest and not blind and impossible(graph):
            raise ValueError("log_potentials forbid every state; expected at least one that all factors allow")
        sweeps = max_steps or (graph.variables + len(rounds) + 1 if forest and not damping else 1000)
        nu, residual, iterations, done = _swept(messages, nu, damping, tolerance, sweeps, on_failure)
    stability = torch.full_like(residual, torch.nan if blind else 1.0)
    if not forest and not blind:
        stability = _held(messages, nu, rounds, damping, done)
    parts = (part.to(messages.dtype) for part in (residual, stability))
    record = messages.record(nu, next(parts), iterations, done, next(parts))
    if looking() and refuted(lambda: done.all()):
        failed = int((~done).sum())
        report_failure(
            f"{failed} of {done.numel()} samples did not settle in {sweeps} sweeps: a message still changes by "
            f"{residual.max():.2g}; expected at most {tolerance:.2g} (try damping)",
            iterations=sweeps,
            residual=residual.max().item(),
            on_failure=on_failure,
        )
    return record


def _swept(
    messages: Messages, nu: Tensor, damping: float | int, tolerance: float | int, max_steps: int, on_failure: OnFailure
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Messages after sweeps, with their derivatives; the residual of exactly these, sweeps made, and whether they settled."""
    held = nu
    done = torch.zeros(messages.graph.batch, dtype=torch.bool, device=nu.device)
    iterations = torch.zeros_like(done, dtype=torch.int64)
    residual = torch.zeros(messages.graph.batch, dtype=nu.dtype, device=nu.device)
    through = through_steps(nu.shape[-2] * nu.shape[-1])
    with nullcontext() if through else no_derivatives():
        for sweep in range(max_steps):
            after = messages.sweep(nu)
            iterations = iterations + ~done
            residual = torch.where(done, residual, (after.exp() - nu.exp()).detach().abs().flatten(-2).amax(-1))
            held = torch.where(done[..., None, None], held, nu)
            done = done | (residual <= tolerance)
            if sweep == max_steps - 1 or (not through and settled(done)):
                break
            after = messages.damped(nu, after, damping)
            nu = after if through else torch.where(done[..., None, None], nu, after)
    if through:
        nu = kept(held, nu, done[..., None, None])
    elif torch.is_grad_enabled() or in_forward_mode():
        nu = messages.attached(nu, damping, max_steps, on_failure)
    return nu, residual, iterations, done


def _held(messages: Messages, nu: Tensor, rounds: list[int], damping: float | int, done: Tensor) -> Tensor:
    """The stability of messages; a warning where those that have settled would leave."""
    arities = [scope.shape[1] for scope in messages.graph.scopes for _ in range(len(scope))]
    core = [number < 0 for number, arity in zip(rounds, arities, strict=True) for _ in range(arity)]
    inside = torch.tensor(core, device=nu.device)
    stability = messages.stability(nu, inside)
    loose = done & (stability < -1e-3)
    if damping and loose.any():
        loose = loose & (messages.stability(nu, inside, damping) < -1e-3)
    if loose.any():
        warnings.warn(
            f"{int(loose.sum())} of {done.numel()} samples settled at an unstable fixed point: a small difference of messages "
            f"grows {1 - stability[loose].min():.3g} times with a sweep (find_beliefs looks for others)",
            ConvergenceWarning,
            stacklevel=4,
        )
    return stability
