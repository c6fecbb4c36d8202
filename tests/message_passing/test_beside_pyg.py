"""Beside PyTorch Geometric, where it is installed: what page 6a says of its layers and ours."""

import pytest
import torch
from torch.testing import assert_close

from attnlib.message_passing import GraphAttention, merge_edges, segment_softmax

WHERE = "torch_geometric is not installed: pip install torch_geometric"
layers = pytest.importorskip("torch_geometric.nn", reason=WHERE)
softmax = pytest.importorskip("torch_geometric.utils", reason=WHERE).softmax
data = pytest.importorskip("torch_geometric.data", reason=WHERE)

rng = torch.Generator().manual_seed(0)
EDGES = merge_edges(torch.randint(10, (2, 40), generator=rng))
TOKENS = torch.randn(10, 12, generator=rng, dtype=torch.float64)


def twins():
    """Our layer and theirs, of one set of maps."""
    torch.manual_seed(0)
    ours = GraphAttention(12, heads=3, bias=True, dtype=torch.float64)
    theirs = layers.TransformerConv(12, 4, heads=3, root_weight=False).double()
    with torch.no_grad():
        for mine, other in (
            (ours.to_query, theirs.lin_query),
            (ours.to_key, theirs.lin_key),
            (ours.to_value, theirs.lin_value),
        ):
            other.weight.copy_(mine.weight)
            other.bias.copy_(mine.bias)
    return ours, theirs


def test_their_transformer_layer_is_ours_without_the_last_map():
    ours, theirs = twins()
    heads = theirs(TOKENS, EDGES)
    assert_close(ours(TOKENS, edge_index=EDGES), ours.to_out(heads), atol=1e-12, rtol=0)
    assert (ours(TOKENS, edge_index=EDGES) - heads).abs().max() > 0.1


def test_what_they_call_attention_is_our_weights():
    ours, theirs = twins()
    _, (edges, weights) = theirs(TOKENS, EDGES, return_attention_weights=True)
    assert torch.equal(edges, EDGES)
    assert_close(ours.explain(TOKENS, edge_index=EDGES).weights, weights.mT, atol=1e-12, rtol=0)


def test_a_bias_that_they_add_to_scaled_scores_is_to_be_divided_by_beta():
    ours, _ = twins()
    record = ours.explain(TOKENS, edge_index=EDGES)
    bias = torch.randn(EDGES.shape[1], generator=rng, dtype=torch.float64)
    beta = 4**-0.5
    told = ours.explain(TOKENS, edge_index=EDGES, edge_bias=bias / beta).weights
    assert_close(told.mT, softmax((beta * record.scores + bias).mT, EDGES[1], num_nodes=10), atol=1e-12, rtol=0)
    assert_close(told[0], segment_softmax(beta * record.scores[0] + bias, EDGES[1], 10), atol=1e-12, rtol=0)


def test_their_gat_adds_an_edge_from_each_node_to_itself_and_we_add_none():
    torch.manual_seed(0)
    layer = layers.GATConv(12, 4).double()
    _, (edges, _) = layer(TOKENS, torch.tensor([[1], [0]]), return_attention_weights=True)
    assert {*map(tuple, edges.T.tolist())} == {(1, 0), *((i, i) for i in range(10))}
    ours, _ = twins()
    assert ours.explain(TOKENS, edge_index=torch.tensor([[1], [0]])).weights.shape[-1] == 1


def test_their_data_goes_in_and_comes_out_as_it_is():
    ours, theirs = twins()
    graph = data.Data(x=TOKENS, edge_index=EDGES)
    after = data.Data(x=ours(graph.x, edge_index=graph.edge_index), edge_index=graph.edge_index)
    assert after.validate()
    assert_close(after.x, ours.to_out(theirs(graph.x, graph.edge_index)), atol=1e-12, rtol=0)


def test_a_batch_of_theirs_is_one_long_list_of_edges():
    ours, _ = twins()
    other = merge_edges(torch.randint(6, (2, 15), generator=rng))
    tokens = torch.randn(6, 12, generator=rng, dtype=torch.float64)
    batch = data.Batch.from_data_list([data.Data(x=TOKENS, edge_index=EDGES), data.Data(x=tokens, edge_index=other)])
    apart = torch.cat([ours(TOKENS, edge_index=EDGES), ours(tokens, edge_index=other)])
    assert_close(ours(batch.x, edge_index=batch.edge_index), apart, atol=1e-12, rtol=0)
