"""Hidden Markov chains: the exact posterior of a hidden state that moves and is seen through noise."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import check_floating
from attnlib._core.numerics import log_sum, widened
from attnlib._core.values import check_logarithms, check_result, check_visible, refuted
from attnlib.message_passing import FactorGraph


@dataclass(frozen=True)
class ChainRecord:
    """What is known of the hidden states of a chain, each ``[*batch, steps, k]``, and the evidence ``[*batch]``.

    ``marginals`` are given all observations, ``filtered`` given those up to the same step; ``log_partition`` is the logarithm
    of the sum over all hidden paths, for normalised tables that of the probability of what was observed.

    >>> from attnlib.course.oracles import forward_backward
    >>> stay = torch.tensor([[0.9, 0.1], [0.1, 0.9]]).log()
    >>> seen = torch.tensor([[0.8, 0.2], [0.5, 0.5]]).log()
    >>> forward_backward(torch.tensor([0.5, 0.5]).log(), stay, seen).log_partition.exp()
    tensor(0.2500)
    """

    marginals: Float[Tensor, "*together steps k"]
    filtered: Float[Tensor, "*together steps k"]
    log_partition: Float[Tensor, "*together"]


def forward_backward(
    log_initial: Float[Tensor, "*#batch k"],
    log_transition: Float[Tensor, "*#batch k k"],
    log_likelihood: Float[Tensor, "*#batch steps k"],
) -> ChainRecord:
    r"""The posterior of each hidden state of a Markov chain, in one pass forward and one back.

    .. math:: \alpha_t(x) = \ell_t(x) \sum_{x'} \alpha_{t-1}(x') T(x', x), \qquad
        \omega_t(x) = \sum_{x'} T(x, x')\, \ell_{t+1}(x')\, \omega_{t+1}(x'), \qquad
        p(x_t \mid \text{all}) \propto \alpha_t(x)\, \omega_t(x)

    Everything is a logarithm inside, so that a chain may be long. The cost is linear in its length.

    Args:
        log_initial: of the first hidden state, ``[*batch, k]``.
        log_transition: from the state of the row to that of the column, ``[*batch, k, k]``; the same at each step.
        log_likelihood: of what is observed at each step, under each hidden state, ``[*batch, steps, k]``. Batch axes broadcast.

    Returns:
        :class:`ChainRecord`.

    Raises:
        ValueError: shapes that do not fit, mixed dtypes, NaN or plus infinity, a chain with no possible path.

    Source: Rabiner 1989.

    >>> stay = torch.tensor([[0.9, 0.1], [0.1, 0.9]]).log()
    >>> seen = torch.tensor([[0.8, 0.2], [0.5, 0.5]]).log()
    >>> forward_backward(torch.tensor([0.5, 0.5]).log(), stay, seen).marginals
    tensor([[0.8000, 0.2000],
            [0.7400, 0.2600]])
    """
    initial, transition, likelihood = _check_chain(log_initial, log_transition, log_likelihood)
    with working(likelihood):
        states = likelihood.unbind(-2)
        first, size = _normalised(initial)
        alpha, more = _normalised(first + states[0])
        forward, total = [alpha], size + more
        for seen in states[1:]:
            arriving, size = _normalised(log_sum(forward[-1].unsqueeze(-1) + transition, [-2]))
            alpha, more = _normalised(arriving + seen)
            forward.append(alpha)
            total = total + size + more
        if refuted(lambda: (total > -torch.inf).all()):
            raise ValueError("log_initial, log_transition and log_likelihood allow no path; expected one at least")
        backward = [torch.zeros_like(states[0])]
        for seen in reversed(states[1:]):
            backward.append(_normalised(log_sum(transition + (seen + backward[-1]).unsqueeze(-2), [-1]))[0])
        filtered = torch.stack(forward, -2)
        marginals = _normalised(filtered + torch.stack(backward[::-1], -2))[0].exp()
        filtered = filtered.exp()
    dtype = log_likelihood.dtype
    names = "log_initial, log_transition or log_likelihood are"
    marginals, filtered, total = (check_result(one.to(dtype), names) for one in (marginals, filtered, total))
    return ChainRecord(marginals, filtered, total)


def chain_graph(
    log_initial: Float[Tensor, "*#batch k"],
    log_transition: Float[Tensor, "*#batch k k"],
    log_likelihood: Float[Tensor, "*#batch steps k"],
) -> FactorGraph:
    """The same chain as a factor graph, for :func:`attnlib.message_passing.belief_propagation`.

    It has a table for each step and one for each pair of steps.

    Arguments, shapes and errors are those of :func:`forward_backward`.

    >>> half = torch.tensor([0.5, 0.5]).log()
    >>> chain_graph(half, torch.stack([half, half]), torch.zeros(4, 2)).edges
    10
    """
    initial, transition, likelihood = _check_chain(log_initial, log_transition, log_likelihood)
    check_visible(log_likelihood=log_likelihood)
    dtype, (steps, k) = log_likelihood.dtype, likelihood.shape[-2:]
    first = torch.nn.functional.pad(initial.unsqueeze(-2), (0, 0, 0, steps - 1))
    place = torch.arange(steps, device=likelihood.device)
    scopes, tables = [place[:, None]], [(likelihood + first).to(dtype)]
    if steps > 1:
        scopes.append(torch.stack([place[:-1], place[1:]], -1))
        tables.append(transition.unsqueeze(-3).expand(*transition.shape[:-2], steps - 1, k, k).to(dtype))
    return FactorGraph((k,) * steps, scopes, tables)


def _normalised(logs: Tensor) -> tuple[Tensor, Tensor]:
    """Logarithms of numbers that sum to one along the last axis, and the logarithm of what they summed to."""
    total = log_sum(logs, [-1])
    return logs - torch.where(total > -torch.inf, total, 0.0).unsqueeze(-1), total


def _check_chain(log_initial: Tensor, log_transition: Tensor, log_likelihood: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tables in single precision or better, with one batch; raise unless they fit."""
    named = {"log_initial": log_initial, "log_transition": log_transition, "log_likelihood": log_likelihood}
    check_floating(**named)
    if log_likelihood.ndim < 2 or 0 in log_likelihood.shape[-2:]:
        raise ValueError(
            f"log_likelihood has shape {tuple(log_likelihood.shape)}; expected [*batch, steps, k], both at least 1"
        )
    k = log_likelihood.shape[-1]
    for name, own in (("log_initial", (k,)), ("log_transition", (k, k))):
        tensor = named[name]
        if tensor.ndim < len(own) or tuple(tensor.shape[tensor.ndim - len(own) :]) != own:
            shape = f"[*batch, {', '.join(map(str, own))}], as log_likelihood has {k} states"
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected {shape}")
    check_logarithms(**named)
    try:
        batch = torch.broadcast_shapes(log_initial.shape[:-1], log_transition.shape[:-2], log_likelihood.shape[:-2])
    except RuntimeError:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in named.items())
        raise ValueError(f"{shapes} have batch axes that do not fit; expected ones that broadcast") from None
    return (
        widened(log_initial).expand(*batch, k),
        widened(log_transition).expand(*batch, k, k),
        widened(log_likelihood).expand(*batch, *log_likelihood.shape[-2:]),
    )
