"""Attention on a graph, as a mixer."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor
from torch.nn.functional import dropout as drop

from attnlib._core.autocast import working
from attnlib._core.checks import Empty, Scalar, check_field, check_tensors
from attnlib._core.numerics import attention_average, attention_weights_of, filled
from attnlib._core.values import check_result
from attnlib.attention import Heads, Mixer, Places, check_heads
from attnlib.message_passing.edges import Edges, edge_dots, edge_softmax, edge_sums
from attnlib.message_passing.gather import fill_empty
from attnlib.message_passing.graphs import check_edges
from attnlib.message_passing.records import GraphRecord


class GraphAttention(Mixer):
    r"""Multi-head softmax attention along the edges of a graph, at a cost linear in the edges.

    .. math:: \mathrm{out}_i = W_O \Big[\sum_{j \to i} p^h_{ji}\, W_V^h x_j\Big]_h, \qquad
        p^h_{ji} \propto \exp \beta \big( W_Q^h x_i \cdot W_K^h x_j + b_{ji} \big)

    The graph is an ``edge_index [2, edges]``, the source of each edge above its target, given with the call, or here for all
    calls; the same for the whole batch. A mask is a graph too: with an ``edge_index`` an edge is used where the mask allows it,
    and without one the mask is the graph and the result that of softmax attention. A ``score_bias`` is read at the edges.

    A node that nothing reaches gathers zeros by default, so that it keeps its data where it adds what it gathers (with
    ``bias=True`` the offset of the last map is added all the same). Edges from a node to itself are edges like any other; one
    that is there twice is refused, see :func:`merge_edges`.

    Args:
        empty: a node that nothing reaches gets ``"zero"`` (default), or is an ``"error"``.
        edge_index: a graph for all calls that bring none; kept as a buffer, and saved with the weights. A module that loads
            such weights takes their graph over, also where it had none, or another; from weights without one it keeps its own.
            With no graph at all every node hears every other, and printing the module says so.

    The other arguments are those of :class:`attnlib.attention.Mixer`.

    Raises:
        ValueError: as :class:`attnlib.attention.Mixer`; also an ``edge_index`` of another shape or dtype, out of range, or with
            an edge that is there twice, and an ``edge_bias`` without one.

    Source: Vaswani et al. 2017 on the edges of a graph; Shi et al. 2021 for the same layer in graph learning.

    >>> ring = torch.tensor([[1, 2, 0], [0, 1, 2]])
    >>> GraphAttention(8, heads=2)(torch.zeros(1, 3, 8), edge_index=ring).shape
    torch.Size([1, 3, 8])
    """

    edge_index: Tensor | None

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        heads: int = 1,
        head_dim: int | None = None,
        beta: Scalar | None = None,
        learn_beta: bool = False,
        causal: bool = False,
        dropout: float | int = 0.0,
        bias: bool = False,
        bare: bool = False,
        places: Places | None = None,
        empty: Empty = "zero",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        edge_index: Integer[Tensor, "2 edges"] | None = None,
    ) -> None:
        super().__init__(
            dim,
            context_dim,
            heads=heads,
            head_dim=head_dim,
            beta=beta,
            learn_beta=learn_beta,
            causal=causal,
            dropout=dropout,
            bias=bias,
            bare=bare,
            places=places,
            empty=empty,
            device=device,
            dtype=dtype,
        )
        if edge_index is not None:
            most = torch.iinfo(torch.int32).max  # how many nodes there are, the call says
            edge_index = check_edges(edge_index, most, most, sizes="a graph may have")
            if edge_index.is_meta and torch.empty(0, device=device).device.type != "meta":
                raise ValueError("edge_index is on meta; expected a device that holds values")
            edge_index = edge_index.to(device, copy=True)
        self.register_buffer("edge_index", edge_index)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any, **named: Any) -> None:
        """A saved graph may have any number of edges; where none was saved the module keeps its own."""
        saved = state_dict.get(prefix + "edge_index", self.edge_index)
        if saved is not None:
            state_dict = {**state_dict, prefix + "edge_index": saved}
        if saved is not None and (self.edge_index is None or self.edge_index.shape != saved.shape):
            beside = next((kept for kept in (self.edge_index, *self.parameters()) if kept is not None), saved)
            self.edge_index = torch.empty_like(saved, device=beside.device)
        super()._load_from_state_dict(state_dict, prefix, *rest, **named)

    def forward(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        score_bias: Float[Tensor, "..."] | None = None,
        edge_index: Integer[Tensor, "2 edges"] | None = None,
        edge_bias: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch n dim"]:
        """Gather along the edges: see the class for shapes and errors.

        ``edge_bias``, one number an edge, broadcasts to ``[*batch, edges]``, or carries heads, ``[*batch, heads, edges]``.
        """
        heads = self.split(x, context, mask, score_bias)
        edges = self._edges(heads, edge_index, edge_bias)
        if edges is None:
            return self.merge(self.mix(heads), heads)
        mixed, _, _ = self._along(heads, edges, edge_bias)
        return self.merge(mixed, heads)

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Average each head's values over all that its mask allows, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        return attention_average(
            heads.query, heads.key, heads.value, heads.beta, heads.seen, heads.score_bias, dropout=heads.dropout
        )

    def explain(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        score_bias: Float[Tensor, "..."] | None = None,
        edge_index: Integer[Tensor, "2 edges"] | None = None,
        edge_bias: Float[Tensor, "..."] | None = None,
    ) -> GraphRecord:
        """Output, weights and scores of a call, as in :class:`GraphRecord`, without dropout.

        What it returns carries gradients as the call's output does. Shapes and errors are those of the call.
        """
        heads = self.split(x, context, mask, score_bias)
        edges = self._edges(heads, edge_index, edge_bias)
        dtype = heads.query.dtype
        if edges is None:
            wide = heads.widened()
            weights = attention_weights_of(heads.query, heads.key, heads.beta, heads.seen, heads.score_bias)
            mixed, scores = (weights @ wide.value.to(weights.dtype)).to(heads.value.dtype), wide.query @ wide.key.mT
            weights = heads.seen.close(weights)
        else:
            mixed, weights, scores = self._along(heads, edges, edge_bias, dropping=False)
            if heads.seen.rows is not None:  # what an opened row of the mask would have given
                rows = heads.seen.rows.expand(*heads.query.shape[:-1], 1)[..., 0]
                weights = torch.where(rows.index_select(-1, edges.target), weights, 0.0)
            weights, scores = edges.give_back(weights), edges.give_back(scores)
        return GraphRecord(self.merge(mixed, heads), weights.to(dtype), scores, heads.query, heads.key, heads.value)

    def _edges(self, heads: Heads, edge_index: Tensor | None, edge_bias: Tensor | None) -> Edges | None:
        """The edges of a call, checked, with what is given for each of them; None where the mask is the graph."""
        edge_index = self.edge_index if edge_index is None else edge_index
        if edge_index is None:
            if edge_bias is not None:
                raise ValueError("edge_bias is given without an edge_index; expected both, or a score_bias")
            return None
        check_tensors(edge_index=edge_index)
        if edge_index.device != heads.query.device:
            raise ValueError(f"edge_index is on {edge_index.device}; expected {heads.query.device}")
        edges = Edges.of(edge_index, heads.query.shape[-2], heads.key.shape[-2])
        if edge_bias is not None:
            shape = (*heads.query.shape[:-3], edges.count)
            check_tensors(edge_bias=edge_bias)
            carries = edge_bias.ndim > len(shape)
            check_field("edge_bias", edge_bias, (*shape[:-1], self.heads, edges.count) if carries else shape, heads.query)
        return edges

    def _along(
        self, heads: Heads, edges: Edges, edge_bias: Tensor | None, *, dropping: bool = True
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What each node gathers ``[*batch, heads, n, d]``, and weights and scores ``[*batch, heads, edges]``."""
        heads = check_heads(heads)
        with working(heads.query):
            wide = heads.widened()
            size = (*heads.query.shape[:-1], heads.key.shape[-2])
            dots = edge_dots(wide.query, wide.key.to(wide.query.dtype), edges)
            scores, mask = dots, self._usable(heads, edges, size)
            if wide.score_bias is not None:
                scores = scores + wide.score_bias.expand(size)[..., edges.target, edges.source].to(scores.dtype)
            if edge_bias is not None:
                bias = edge_bias.to(scores.dtype)
                bias = bias.unsqueeze(-2) if 1 < edge_bias.ndim < scores.ndim else bias
                scores = scores + (bias if bias.ndim == 0 or bias.shape[-1] == 1 else edges.arrange(bias))
            check_result(scores if mask is None else filled(scores, mask), "x, context, score_bias or edge_bias are")
            weights = edge_softmax(scores, wide.beta, edges, mask)
            dropped = drop(weights, heads.dropout) if heads.dropout and dropping else weights
            gathered = edge_sums(dropped.to(wide.value.dtype), wide.value, edges)
            gathered = fill_empty(gathered, edges, mask, self.empty, "edge_index and mask let nothing reach node {} of x")
        return gathered.to(heads.value.dtype), weights, dots

    def _usable(self, heads: Heads, edges: Edges, size: tuple[int, ...]) -> Tensor | None:
        """Which edges the mask and the causal order leave, ``[*batch, heads, edges]``; None if all."""
        if heads.seen.causal:
            return (edges.source <= edges.target + (size[-1] - size[-2])).expand(*size[:-2], -1)
        if heads.seen.allowed is None:
            return None
        return heads.seen.allowed.expand(size)[..., edges.target, edges.source]

    def extra_repr(self) -> str:
        """Sizes, inverse temperature and the graph's edges, for printing."""
        graph = "all, unless a call says which" if self.edge_index is None else self.edge_index.shape[1]
        return f"{super().extra_repr()}, edges={graph}"
