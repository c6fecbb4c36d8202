"""Attention along the edges of a graph: forward and backward, against gather, segment softmax and scatter on sorted edges.

Of width 64, at a hundred, a thousand and ten thousand nodes, which ten edges reach each. PyTorch Geometric's TransformerConv
with the same linear maps is timed beside ours: what it computes is the same, and the benchmark needs it.

Freed memory stays with the process. Forms with a row for each edge hold arrays of 25 MB, which the C library hands back after
each call and takes anew in the next: 32,000 page faults, 70 of the 100 ms that a forward pass by gather and scatter took, and
none in ours. That is a property of the allocator, not of the form.
"""

import importlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attnlib import no_value_checks
from attnlib.message_passing import GraphAttention, edge_attention, merge_edges
from benchmarks.harness import Case, Contestant, Entry

NODES, DEGREE, WIDTH = (100, 1_000, 10_000), 10, 64


def graph(nodes: int, degree: int) -> Tensor:
    """Draw about ``degree`` edges to each node, ordered by target."""
    generator = torch.Generator().manual_seed(0)
    return merge_edges(torch.randint(nodes, (2, nodes * degree), generator=generator))


def plain(query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor) -> Tensor:
    """Gather the rows at the ends of each edge, take a softmax over each target's edges, scatter."""
    source, target = edge_index
    n = len(query)
    scores = (query.index_select(0, target) * key.index_select(0, source)).sum(-1) * query.shape[-1] ** -0.5
    top = scores.new_full((n,), -torch.inf).scatter_reduce(0, target, scores.detach(), "amax")
    weights = (scores - top.index_select(0, target)).exp()
    total = weights.new_zeros(n).index_add(0, target, weights)
    weights = weights / total.index_select(0, target)
    return torch.zeros_like(query).index_add(0, target, weights[:, None] * value.index_select(0, source))


def layers(edge_index: Tensor, width: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """Give every way as a function of the nodes' states, with the same three linear maps."""
    torch.manual_seed(0)
    module = GraphAttention(width, edge_index=edge_index)
    maps = (module.to_query, module.to_key, module.to_value)
    module.to_out = nn.Identity()  # the others have no map behind
    module.to_out.weight = module.to_query.weight  # whose dtype is looked at
    shuffled = edge_index[:, torch.randperm(edge_index.shape[1])]

    def ours(x: Tensor) -> Tensor:
        return edge_attention(*(linear(x) for linear in maps), edge_index)

    def unsorted(x: Tensor) -> Tensor:
        return edge_attention(*(linear(x) for linear in maps), shuffled)

    def unchecked(x: Tensor) -> Tensor:
        with no_value_checks():
            result: Tensor = module(x)
        return result

    found: dict[str, Callable[[Tensor], Tensor]] = {
        "gather_scatter": lambda x: plain(*(linear(x) for linear in maps), edge_index),
        "ours": ours,
        "module": module,
        "unchecked": unchecked,
        "unsorted": unsorted,
    }
    found["transformer_conv"] = theirs(maps, edge_index, width)
    return found


def theirs(maps: tuple[nn.Linear, ...], edge_index: Tensor, width: int) -> Callable[[Tensor], Tensor]:
    """PyTorch Geometric's layer with our maps, a development dependency of this benchmark only."""
    conv = importlib.import_module("torch_geometric.nn").TransformerConv(width, width, bias=False, root_weight=False)
    with torch.no_grad():
        for linear, ours in zip((conv.lin_query, conv.lin_key, conv.lin_value), maps, strict=True):
            linear.weight.copy_(ours.weight)

    def call(x: Tensor) -> Tensor:
        result: Tensor = conv(x, edge_index)
        return result

    return call


def forward(call: Callable[[Tensor], Tensor], x: Tensor) -> Contestant:
    """Call it, without a graph of derivatives."""

    def run() -> tuple[Tensor, ...]:
        with torch.no_grad():
            return (call(x),)

    return run


def forward_and_backward(call: Callable[[Tensor], Tensor], x: Tensor, pull: Tensor) -> Contestant:
    """Call it, then the gradient of its product with ``pull``."""

    def run() -> tuple[Tensor, ...]:
        x.grad = None
        out = call(x)
        out.backward(pull)
        return out.detach(), x.grad

    return run


def cases(quick: bool) -> Iterator[Case]:
    """Forward, and forward + backward, at each size."""
    for nodes in (500,) if quick else NODES:
        yield from passes(nodes)


def passes(nodes: int) -> Iterator[Case]:
    """Forward, and forward + backward, on one graph."""
    edge_index = graph(nodes, DEGREE)
    generator = torch.Generator().manual_seed(1)
    x, pull = (torch.randn(nodes, WIDTH, generator=generator) for _ in range(2))
    x.requires_grad_()
    sizes = {"nodes": nodes, "edges": edge_index.shape[1], "width": WIDTH}
    calls = layers(edge_index, WIDTH)
    bound = products(calls["ours"], edge_index, x)
    yield Case(sizes, "forward", {name: forward(call, x) for name, call in calls.items()} | {"bound": bound})
    both = {name: forward_and_backward(call, x, pull) for name, call in calls.items()}
    yield Case(sizes, "forward + backward", both | {"bound": bound})


def products(_: object, edge_index: Tensor, x: Tensor) -> Contestant:
    """Do the two products at the edges, once, from states that are there: what no way can leave out."""
    nodes = len(x)
    counts = torch.bincount(edge_index[1], minlength=nodes)
    pointers = nn.functional.pad(counts.cumsum(0), (1, 0))
    matrix = torch.sparse_csr_tensor(pointers, edge_index[0], torch.zeros(edge_index.shape[1]), (nodes, nodes))

    def run() -> tuple[Tensor, ...]:
        with torch.no_grad():
            scores = torch.sparse.sampled_addmm(matrix, x, x.mT, beta=0.0)
            return (torch.sparse.mm(scores, x, "sum"),)

    return run


ENTRY = Entry(
    title="Attention along edges, float32",
    contestants={
        "gather_scatter": "gather, segment softmax and scatter written with index_select, scatter_reduce and index_add",
        "ours": "attnlib.message_passing.edge_attention, its checks included",
        "module": "attnlib.message_passing.GraphAttention",
        "unchecked": "GraphAttention inside no_value_checks: only types, shapes, dtypes and devices are looked at",
        "unsorted": "edge_attention, edges in a random order",
        "transformer_conv": "torch_geometric.nn.TransformerConv without offsets and without a map of the node itself",
        "bound": "lower bound: the two products at the edges, forward, without the maps",
    },
    reference="gather_scatter",
    cases=cases,
    bounds=("bound",),
    on_a_page=True,
    keep_memory=True,
)
