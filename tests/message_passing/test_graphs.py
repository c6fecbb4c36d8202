"""Attention on graphs: along edges, under a mask and node by node; lists of edges; what it costs."""

import copy
import math
import subprocess
import sys
from pathlib import Path

import course
import pytest
import torch
from helpers.draw import close, mask_of, normal, ordinary_betas, seeds
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from attnlib import attend, attention_weights, causal_mask
from attnlib.message_passing import (
    GraphAttention,
    causal_edges,
    complete_edges,
    edge_attention,
    edge_weights,
    edges_mask,
    grid_edges,
    mask_edges,
    merge_edges,
    segment_softmax,
    window_edges,
)


def by_nodes(query, key, value, edge_index, beta):
    """One node after the other, with plain lists of who points at it."""
    rows = []
    for i in range(len(query)):
        sources = [int(j) for j, target in edge_index.mT.tolist() if target == i]
        weights = torch.softmax(torch.stack([beta * query[i] @ key[j] for j in sources]), 0) if sources else []
        rows.append(sum((w * value[j] for w, j in zip(weights, sources)), torch.zeros_like(value[0])))
    return torch.stack(rows)


def graph_of(n, m, seed, chance=0.4):
    """A random mask, possibly with empty rows, and its edges in a random order."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(n, m, generator=generator) < chance
    edges = mask_edges(mask)
    return mask, edges[:, torch.randperm(edges.shape[1], generator=generator)]


@given(n=st.integers(1, 6), m=st.integers(1, 7), seed=seeds, beta=ordinary_betas)
def test_node_by_node_masked_and_sparse_are_one(n, m, seed, beta):
    query, key, value = normal(n, 3, seed=seed), normal(m, 3, seed=seed + 1), normal(m, 2, seed=seed + 2)
    mask, edges = graph_of(n, m, seed)
    found = edge_attention(query, key, value, edges, beta=beta)
    close(found, attend(query, key, value, beta=beta, mask=mask, empty="zero"), atol=1e-12)
    close(found, by_nodes(query, key, value, edges, beta), atol=1e-12)
    weights = edge_weights(query, key, edges, beta=beta)
    dense = attention_weights(query, key, beta=beta, mask=mask, empty="zero")
    close(weights, dense[edges[1], edges[0]], atol=1e-12)
    assert torch.equal(edges_mask(edges, n, m), mask)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,)])
def test_batches_share_the_graph(batch):
    query, key, value = normal(*batch, 5, 3), normal(*batch, 4, 3, seed=1), normal(*batch, 4, 2, seed=2)
    mask, edges = graph_of(5, 4, 0)
    bias = normal(*batch, edges.shape[1], seed=3)
    beta = normal(*batch, 5, seed=4).abs() + 0.1
    dense = torch.zeros(*batch, 5, 4, dtype=torch.float64)
    dense[..., edges[1], edges[0]] = bias
    wanted = attend(query, key, value, beta=beta, mask=mask, score_bias=dense, empty="zero")
    close(edge_attention(query, key, value, edges, beta=beta, edge_bias=bias), wanted, atol=1e-12)


@pytest.mark.parametrize("beta", [0, math.inf, 1e-300, 1e38])
def test_limits_of_beta(beta):
    query, key, value = normal(5, 3), normal(4, 3, seed=1), normal(4, 2, seed=2)
    mask, edges = graph_of(5, 4, 0)
    found = edge_attention(query, key, value, edges, beta=beta)
    close(found, attend(query, key, value, beta=beta, mask=mask, empty="zero"), atol=1e-12)
    if beta == 0:
        count = mask.sum(1, keepdim=True)
        close(found, mask.double() @ value / count.clamp(min=1), atol=1e-12)


@pytest.mark.double
def test_it_differentiates_twice():
    _, edges = graph_of(3, 4, 1)
    query, key, value = normal(2, 3, 2, grad=True), normal(2, 4, 2, seed=1, grad=True), normal(2, 4, 2, seed=2, grad=True)
    bias = normal(2, edges.shape[1], seed=3, grad=True)
    beta = torch.tensor(0.7, dtype=torch.float64).requires_grad_()

    def call(query, key, value, bias, beta):
        return edge_attention(query, key, value, edges, beta=beta, edge_bias=bias)

    assert gradcheck(call, (query, key, value, bias, beta))
    assert gradgradcheck(call, (query, key, value, bias, beta))
    assert gradcheck(lambda q, k: edge_weights(q, k, edges), (query, key))
    assert gradcheck(lambda s: segment_softmax(s, edges[1], 3), (bias,))


def test_sparse_kernels_and_gather_and_scatter_give_the_same(monkeypatch):
    _, edges = graph_of(6, 5, 2)
    states = [normal(2, 3, rows, 4, seed=rows, grad=True) for rows in (6, 5, 5)]
    results = []
    for kernels in (True, False):
        if not kernels:
            monkeypatch.setattr("attnlib.message_passing.edges.compact", lambda edges, like: False)
        out = edge_attention(*states, edges)
        results.append([out, *torch.autograd.grad(out.square().sum(), states)])
    for a, b in zip(*results):
        close(a, b, atol=1e-12)
    vmapped = torch.func.vmap(lambda q, k, v: edge_attention(q, k, v, edges))(*(t.detach() for t in states))
    close(vmapped, results[0][0].detach(), atol=1e-12)


def test_beta_is_that_of_attention_where_none_is_given():
    query, key, value = normal(6, 3), normal(5, 3, seed=1), normal(5, 2, seed=2)
    mask, edges = graph_of(6, 5, 2)
    close(edge_attention(query, key, value, edges), attend(query, key, value, mask=mask, empty="zero"), atol=1e-12)
    dense = attention_weights(query, key, mask=mask, empty="zero")
    close(edge_weights(query, key, edges), dense[edges[1], edges[0]], atol=1e-12)


def test_isolated_nodes_self_loops_and_no_edges():
    state = normal(4, 3)
    edges = torch.tensor([[0, 1, 1], [0, 0, 2]])  # node 0 sees itself and 1, node 2 sees 1, nothing reaches 1 and 3
    out = edge_attention(state, state, state, edges)
    assert torch.equal(out[[1, 3]], torch.zeros(2, 3, dtype=torch.float64))
    close(out[2], state[1], atol=1e-14)
    assert (out[0] - state[1]).abs().max() > 0.01  # its own value counts
    nowhere = torch.zeros(2, 0, dtype=torch.int64)
    assert torch.equal(edge_attention(state, state, state, nowhere), torch.zeros_like(state))
    with pytest.raises(ValueError, match="edge_index lets nothing reach node 1; expected an edge to each"):
        edge_attention(state, state, state, edges, empty="error")


@pytest.mark.usefixtures("unchecked")
def test_edges_that_are_refused():
    state = normal(3, 2)
    for edges, words in (
        (torch.tensor([[0, 0], [1, 1]]), "edge from 0 to 1 more than once; expected each once, as merge_edges"),
        (torch.tensor([[2, 0, 2], [1, 0, 1]]), "edge from 2 to 1 more than once"),
        (torch.tensor([[0, 3], [0, 0]]), "has the source 3, and query and key have n = 3 and m = 3; expected 0 to 2"),
        (torch.tensor([[0, 0], [0, -1]]), "has the target -1"),
        (torch.zeros(3, 2, dtype=torch.int64), r"of shape \(3, 2\); expected whole numbers of shape \[2, edges\]"),
        (torch.zeros(2, 2), "is torch.float32"),
    ):
        with pytest.raises(ValueError, match=words):
            edge_attention(state, state, state, edges)
    with pytest.raises(ValueError, match="target has the index 3, and n is 3"):
        segment_softmax(torch.zeros(2), torch.tensor([0, 3]), 3)


@given(n=st.integers(1, 6), m=st.integers(1, 6), seed=seeds)
def test_merging_keeps_one_of_each_in_order(n, m, seed):
    mask, edges = graph_of(n, m, seed)
    again = torch.cat([edges, edges.flip(1)], 1).int()
    merged = merge_edges(again)
    assert torch.equal(merged, mask_edges(mask))
    assert merged.dtype == torch.int64


def test_usual_graphs_are_the_usual_masks():
    assert torch.equal(edges_mask(complete_edges(3, 5), 3, 5), torch.ones(3, 5, dtype=torch.bool))
    assert torch.equal(edges_mask(complete_edges(4, self_loops=False), 4), ~torch.eye(4, dtype=torch.bool))
    assert torch.equal(edges_mask(causal_edges(5), 5), causal_mask(5))
    place = torch.arange(7)
    distance = (place[:, None] - place).abs()
    for reach in (0, 2, 9):
        assert torch.equal(edges_mask(window_edges(7, reach), 7), distance <= reach)
        assert torch.equal(edges_mask(window_edges(7, reach, causal=True), 7), causal_mask(7) & (distance <= reach))
    y, x = torch.arange(12) // 4, torch.arange(12) % 4
    steps = (y[:, None] - y).abs() + (x[:, None] - x).abs()
    assert torch.equal(edges_mask(grid_edges(3, 4), 12), steps <= 1)
    assert torch.equal(edges_mask(grid_edges(3, 4, self_loops=False), 12), steps == 1)
    for edges in (complete_edges(3, 5), causal_edges(5), window_edges(7, 2), grid_edges(3, 4)):
        assert torch.equal(merge_edges(edges), edges)  # in the order that is quickest


@given(seed=seeds, edges=st.integers(1, 30), n=st.integers(1, 5), scale=st.sampled_from([1.0, 1e4]))
def test_segment_softmax_is_a_softmax_of_each_segment(seed, edges, n, scale):
    scores = normal(2, edges, seed=seed, scale=scale)
    target = torch.randint(n, (edges,), generator=torch.Generator().manual_seed(seed))
    beta = normal(2, n, seed=seed + 1).abs() + 0.1
    for one in (0.7, 0, math.inf, beta):
        found = segment_softmax(scores, target, n, beta=one)
        for i in range(n):
            column = one[:, i] if isinstance(one, torch.Tensor) else one
            of_node = scores[:, target == i]
            if of_node.numel():
                close(found[:, target == i], attend_weights(of_node, column), atol=1e-12)


def attend_weights(scores, beta):
    if isinstance(beta, torch.Tensor):
        return (beta[:, None] * scores).softmax(-1)
    if beta == math.inf:
        top = (scores == scores.amax(-1, keepdim=True)).double()
        return top / top.sum(-1, keepdim=True)
    return (beta * scores).softmax(-1)


# The module


def test_the_module_on_edges_is_the_module_under_their_mask():
    module = GraphAttention(8, heads=2, dtype=torch.float64, learn_beta=True, bias=True)
    mask, edges = graph_of(6, 6, 3)
    x, extra = normal(2, 6, 8), mask_of(2, 2, 6, 6, seed=5)
    bias = normal(2, 2, 6, 6, seed=6)
    wanted = module(x, mask=mask & extra, score_bias=bias)
    found = module(x, mask=extra, score_bias=bias, edge_index=edges)
    close(found, wanted, atol=1e-12)
    seen = module.explain(x, mask=extra, score_bias=bias, edge_index=edges)
    dense = module.explain(x, mask=mask & extra, score_bias=bias)
    close(seen.output, wanted, atol=1e-12)
    close(seen.weights, dense.weights[..., edges[1], edges[0]], atol=1e-12)
    close(seen.scores, dense.scores[..., edges[1], edges[0]], atol=1e-12)
    per_edge = bias[..., edges[1], edges[0]]
    close(module(x, mask=extra, edge_index=edges, edge_bias=per_edge), wanted, atol=1e-12)
    close(module(x, edge_index=edges, edge_bias=per_edge[0, 0]), module(x, mask=mask, score_bias=bias[0, 0] * mask), atol=1e-12)


def test_a_graph_of_its_own():
    edges = window_edges(6, 1)
    own = GraphAttention(8, heads=2, dtype=torch.float64, edge_index=edges)
    weights = {name: kept for name, kept in own.state_dict().items() if name != "edge_index"}
    plain = GraphAttention(8, heads=2, dtype=torch.float64)
    plain.load_state_dict(weights)
    x = normal(2, 6, 8)
    close(own(x), plain(x, edge_index=edges), atol=0.0)
    close(own(x, edge_index=causal_edges(6)), plain(x, mask=causal_mask(6)), atol=1e-12)
    assert "edges=16" in repr(own)
    assert "edges=all" in repr(plain)
    causal = GraphAttention(8, heads=2, dtype=torch.float64, causal=True)
    causal.load_state_dict(weights)
    close(causal(x, edge_index=edges), plain(x, edge_index=window_edges(6, 1, causal=True)), atol=1e-12)
    with pytest.raises(ValueError, match="edge_bias is given without an edge_index; expected both"):
        plain(x, edge_bias=torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize("graph", [None, causal_edges(6), window_edges(6, 1)], ids=["none", "another", "the same"])
@pytest.mark.parametrize("bare", [False, True])
def test_a_saved_module_keeps_its_graph(graph, bare, tmp_path):
    """Whatever graph the module had that loads it, and from a device without values."""
    own, x = (
        GraphAttention(8, heads=1 if bare else 2, bare=bare, edge_index=window_edges(6, 1)),
        normal(2, 6, 8, dtype=torch.float32),
    )
    torch.save(own.state_dict(), tmp_path / "saved.pt")
    saved = torch.load(tmp_path / "saved.pt", weights_only=True)
    other = GraphAttention(8, heads=1 if bare else 2, bare=bare, edge_index=graph)
    for module in (other, copy.deepcopy(other).to("meta").to_empty(device="cpu")):
        module.load_state_dict(saved)
        close(module(x), own(x), atol=0.0)
    own.load_state_dict({name: kept for name, kept in saved.items() if name != "edge_index"})  # no graph: it keeps its own
    close(own(x), other(x), atol=0.0)


def test_relabelling_the_nodes_relabels_the_result():
    module, x = GraphAttention(8, heads=2, dtype=torch.float64), normal(6, 8)
    _, edges = graph_of(6, 6, 4)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    where = torch.argsort(order)
    close(module(x[order], edge_index=where[edges]), module(x, edge_index=edges)[order], atol=1e-12)


# Cost


COST = """
import ctypes
import sys
import torch
from attnlib.message_passing import edge_attention
from benchmarks.memory import high_water
torch.set_num_threads(1)

def cost(edges):
    n, generator = edges // 10, torch.Generator().manual_seed(0)
    source = torch.randint(n // 2, (n, 10), generator=generator) + torch.arange(10) * 0
    source = (source.sort(1).values + torch.arange(10)) % n  # ten different ones for each
    edge_index = torch.stack([source.flatten(), torch.arange(n).repeat_interleave(10)])
    query, key, value = (torch.randn(n, 64, generator=generator, requires_grad=True) for _ in range(3))
    edge_attention(query[:4], key[:4], value[:4], torch.tensor([[0, 1], [1, 2]])).sum().backward()
    ctypes.CDLL(None).malloc_trim(0)  # what is free but still held would be used again, and not count
    open("/proc/self/clear_refs", "w").write("5")
    before = high_water()
    edge_attention(query, key, value, edge_index).sum().backward()
    return high_water() - before

print(*map(cost, map(int, sys.argv[1:])))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux, which can reset the high-water mark")
@pytest.mark.double
@pytest.mark.parametrize("edges", [100_000, pytest.param(1_000_000, marks=pytest.mark.whole)])
def test_memory_is_linear_in_the_edges(edges):
    """Up to a million edges, forward and backward, far below 8 GB; no row is kept for each edge."""
    command = [sys.executable, "-c", COST, str(edges // 10), str(edges)]
    done = subprocess.run(command, cwd=course.ROOT, capture_output=True, text=True, check=True)
    tenth, used = map(int, done.stdout.split())
    assert used < 1e3 * edges
    assert used < 15 * tenth


def test_at_infinite_beta_equal_scores_share_and_nothing_moves():
    """A step function is flat between its jumps: no derivative is taken at a large beta in place of the limit."""
    scores = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64, requires_grad=True)
    weights = segment_softmax(scores, torch.zeros(3, dtype=torch.long), 1, beta=math.inf)
    assert weights.tolist() == [0.5, 0.5, 0.0]
    (slope,) = torch.autograd.grad(weights[0], scores)
    assert not slope.any()
