"""Hidden Markov chains: forward and backward against belief propagation, enumeration and automatic differentiation."""

import math

import pytest
import torch
from helpers.draw import close, normal
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from attnlib.course.oracles import chain_graph, exact_beliefs, forward_backward
from attnlib.message_passing import belief_propagation


def chain(steps, k, batch=(2,), seed=0, forbidden=False):
    initial, transition = normal(*batch, k, seed=seed).log_softmax(-1), normal(*batch, k, k, seed=seed + 1).log_softmax(-1)
    if forbidden:
        transition = transition.masked_fill(torch.ones(k, k, dtype=torch.bool).triu(2), -math.inf)
    return initial, transition, normal(*batch, steps, k, seed=seed + 2, scale=2.0)


@given(steps=st.integers(1, 6), k=st.integers(1, 4), seed=st.integers(0, 2**31), forbidden=st.booleans())
def test_forward_backward_is_belief_propagation_is_enumeration(steps, k, seed, forbidden):
    tables = chain(steps, k, seed=seed, forbidden=forbidden)
    found, graph = forward_backward(*tables), chain_graph(*tables)
    assert graph.is_forest
    for solve in (belief_propagation, exact_beliefs):
        record = solve(graph)
        close(record.beliefs, found.marginals, atol=1e-12)
        close(record.log_partition, found.log_partition, atol=1e-10)
    for t in range(steps):  # the filter knows nothing of what comes
        close(forward_backward(*tables[:2], tables[2][:, : t + 1]).marginals[:, t], found.filtered[:, t], atol=1e-12)


@pytest.mark.slow
def test_a_long_chain_does_not_underflow():
    tables = chain(2000, 3, ())
    found = forward_backward(*tables)
    close(found.marginals.sum(-1), torch.ones(2000, dtype=torch.float64), atol=1e-12)
    assert found.log_partition.isfinite()
    still = torch.log(torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64))
    half = torch.log(torch.tensor([0.5, 0.5], dtype=torch.float64))
    nothing = forward_backward(half, still, torch.zeros(50, 2, dtype=torch.float64))
    close(nothing.marginals, torch.full((50, 2), 0.5, dtype=torch.float64), atol=1e-12)
    close(nothing.log_partition, torch.zeros((), dtype=torch.float64), atol=1e-12)


@pytest.mark.double
def test_the_chain_differentiates():
    tables = [table.requires_grad_() for table in chain(4, 3)]
    assert gradcheck(lambda *t: tuple(vars(forward_backward(*t)).values()), tables)
    slope = torch.autograd.grad(forward_backward(*tables).log_partition.sum(), tables[2])[0]
    close(slope, forward_backward(*tables).marginals, atol=1e-12)
