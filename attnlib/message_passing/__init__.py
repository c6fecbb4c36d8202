"""Message passing: attention on graphs, beliefs, and signals from noisy measurements (chapter 6)."""

from attnlib.message_passing.amp import amp, amp_path
from attnlib.message_passing.beliefs import belief_propagation
from attnlib.message_passing.evolution import state_evolution
from attnlib.message_passing.factors import FactorGraph, ising_graph, pairwise_graph
from attnlib.message_passing.gather import edge_attention, edge_weights, segment_softmax
from attnlib.message_passing.graphs import (
    causal_edges,
    complete_edges,
    edges_mask,
    grid_edges,
    mask_edges,
    merge_edges,
    window_edges,
)
from attnlib.message_passing.mixer import GraphAttention
from attnlib.message_passing.points import find_beliefs
from attnlib.message_passing.records import (
    AMPPath,
    AMPRecord,
    BeliefPoints,
    BeliefRecord,
    EvolutionRecord,
    GraphRecord,
)
from attnlib.message_passing.signals import Sparse

__all__ = [
    "AMPPath",
    "AMPRecord",
    "BeliefPoints",
    "BeliefRecord",
    "EvolutionRecord",
    "FactorGraph",
    "GraphAttention",
    "GraphRecord",
    "Sparse",
    "amp",
    "amp_path",
    "belief_propagation",
    "causal_edges",
    "complete_edges",
    "edge_attention",
    "edge_weights",
    "edges_mask",
    "find_beliefs",
    "grid_edges",
    "ising_graph",
    "mask_edges",
    "merge_edges",
    "pairwise_graph",
    "segment_softmax",
    "state_evolution",
    "window_edges",
]
