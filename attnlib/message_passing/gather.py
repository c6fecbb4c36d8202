"""Attention on a graph as functions: each node averages what those that point at it pass on, at a cost linear in the edges."""

import math

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import (
    WHOLE,
    Empty,
    Scalar,
    check_beta,
    check_choice,
    check_count,
    check_field,
    check_floating,
    check_states,
    check_tensors,
)
from attnlib._core.numerics import widened
from attnlib._core.values import check_finite, check_result, looking, verdict
from attnlib.message_passing.edges import Edges, edge_dots, edge_softmax, edge_sums
from attnlib.message_passing.graphs import verdict_range


def edge_attention(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m d"],
    value: Float[Tensor, "*batch m c"],
    edge_index: Integer[Tensor, "2 edges"],
    *,
    beta: Scalar | None = None,
    edge_bias: Float[Tensor, "..."] | None = None,
    empty: Empty = "zero",
) -> Float[Tensor, "*batch n c"]:
    r"""Average the values that reach each node along edges, with Boltzmann weights of the scores.

    .. math:: \mathrm{out}_i = \sum_{j \to i} p_{ji} v_j, \qquad p_{ji} \propto \exp \beta (q_i \cdot k_j + b_{ji})

    The same as :func:`attnlib.attention.attend` with the mask of the edges, without an ``[n, m]`` matrix: time and memory are
    linear in the edges. All messages are computed from the states as they are before any is changed. At ``beta = 0`` it is
    the mean over the neighbours. It differentiates as often as you like.

    A node that no edge points at gathers nothing. What is returned for it is zero, so that a node that adds what it gathers to
    its data keeps its data. An edge from a node to itself is an edge like any other. Where no value can be seen (compiling,
    under ``vmap``) edges are not looked at, and one that is there twice counts twice. Torch's kernels for sparse matrices read
    where an index says, so they get only edges that were looked at: inside ``no_value_checks`` rows are gathered, which takes
    twice as long at 100,000 edges.

    Args:
        query, key, value: ``[*batch, n, d]``, ``[*batch, m, d]``, ``[*batch, m, c]``, of one floating dtype, finite.
        edge_index: ``[2, edges]``, the row of the key above the row of the query, each edge once; in any order, and quickest
            as :func:`merge_edges` orders it. The same graph for the whole batch.
        beta: inverse temperature, default ``d ** -0.5``; a number in ``[0, inf]`` or a finite tensor that broadcasts to
            ``[*batch, n]``.
        edge_bias: ``b``, one number for each edge, broadcasts to ``[*batch, edges]``; default none. It stands inside beta.
        empty: a node that no edge points at gets ``"zero"`` (default), or is an ``"error"``.

    Returns:
        ``[*batch, n, c]``.

    Raises:
        ValueError: shapes that do not fit, mixed or integer dtypes, non-finite entries, negative or NaN beta, an index out of
            range, an edge that is there twice, and with ``empty="error"`` a node that no edge points at.

    Source: Vaswani et al. 2017, eq. (1), on the edges of a graph as in Velickovic et al. 2018, eq. (3).

    >>> ring = torch.tensor([[1, 2, 0], [0, 1, 2]])  # each node has one neighbour, which gets all the weight
    >>> state = torch.eye(3)
    >>> edge_attention(state, state, state, ring)
    tensor([[0., 1., 0.],
            [0., 0., 1.],
            [1., 0., 0.]])
    """
    check_states("query", query, "key", key)
    check_tensors(value=value)
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(f"value has shape {tuple(value.shape)}; expected {(*key.shape[:-1], 'c')}, one row per key")
    check_floating(query=query, value=value)
    if value is not key:
        check_finite(value=value)
    edges, weights = _weigh(query, key, edge_index, beta, edge_bias, empty)
    with working(value):
        gathered = edge_sums(weights, widened(value), edges)
    return fill_empty(gathered, edges, None, empty).to(value.dtype)


def edge_weights(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m d"],
    edge_index: Integer[Tensor, "2 edges"],
    *,
    beta: Scalar | None = None,
    edge_bias: Float[Tensor, "..."] | None = None,
    empty: Empty = "zero",
) -> Float[Tensor, "*batch edges"]:
    """The weights of :func:`edge_attention`, one for each edge, ``[*batch, edges]``, in the order of ``edge_index``.

    Those of the edges that reach one node sum to one. Arguments and errors are those of :func:`edge_attention`.

    >>> edge_index = torch.tensor([[0, 1, 0], [0, 0, 1]])
    >>> edge_weights(torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.eye(2), edge_index, beta=1)
    tensor([0.8808, 0.1192, 1.0000])
    """
    check_states("query", query, "key", key)
    edges, weights = _weigh(query, key, edge_index, beta, edge_bias, empty)
    return edges.give_back(weights).to(query.dtype)


def segment_softmax(
    scores: Float[Tensor, "*batch edges"], target: Integer[Tensor, "edges"], n: int, *, beta: Scalar = 1.0
) -> Float[Tensor, "*batch edges"]:
    r"""Softmax over the entries that belong to one target, for all targets at once.

    .. math:: p_e = \frac{e^{\beta s_e}}{\sum_{f:\, t(f) = t(e)} e^{\beta s_f}}

    The largest score of each target is taken off first, so that no exponential overflows.

    Args:
        scores: ``[*batch, edges]``, finite.
        target: where each entry belongs, whole numbers from 0 to n - 1, ``[edges]``, in any order.
        n: number of targets.
        beta: inverse temperature, a number in ``[0, inf]`` or a tensor that broadcasts to ``[*batch, n]``.

    Returns:
        ``[*batch, edges]``.

    Raises:
        ValueError: shapes that do not fit, non-finite scores, a target out of range, negative or NaN beta.

    >>> segment_softmax(torch.tensor([0.0, 1.0, 5.0]), torch.tensor([0, 0, 1]), 2)
    tensor([0.2689, 0.7311, 1.0000])
    """
    check_floating(scores=scores)
    check_tensors(target=target)
    n = check_count("n", n)
    if target.ndim != 1 or target.dtype not in WHOLE or target.device != scores.device:
        raise ValueError(
            f"target is {target.dtype} of shape {tuple(target.shape)} on {target.device}; "
            f"expected whole numbers of shape [edges] on {scores.device}, where scores is"
        )
    if scores.ndim < 1 or scores.shape[-1] != len(target):
        raise ValueError(f"scores has shape {tuple(scores.shape)}; expected [*batch, {len(target)}], one for each target")
    check_finite(scores=scores)
    beta = check_beta(beta, limits=(0, math.inf), like=scores, shape=(*scores.shape[:-1], n))
    if looking() and target.numel():
        low, high = verdict_range(target) or (0, 0)
        if low < 0 or high >= n:
            raise ValueError(f"target has the index {low if low < 0 else high}, and n is {n}; expected 0 to {n - 1}")
    place = target.long()
    edges = Edges(place, place, n, n, False)
    return edge_softmax(widened(scores), wide_beta(beta), edges).to(scores.dtype)


def wide_beta(beta: Scalar) -> Scalar:
    """An inverse temperature in single precision or better."""
    return widened(beta) if isinstance(beta, Tensor) and beta.is_floating_point() else beta


def fill_empty(
    gathered: Tensor, edges: Edges, mask: Tensor | None, empty: Empty, names: str = "edge_index lets nothing reach node {}"
) -> Tensor:
    """Raise where a target gathers nothing, unless zeros are wanted; where no value can be seen, put NaN there.

    Gathered is ``[*batch, n, c]``; a mask says which edges may be used, ``[*batch, edges]``.
    """
    if empty == "zero":
        return gathered
    used = torch.ones_like(edges.target, dtype=torch.bool) if mask is None else mask
    reached = edges.rows(used.to(gathered.dtype)) > 0
    full = verdict(lambda: reached.all())
    if full is False:
        first = [int(index[0]) for index in torch.atleast_1d(~reached).nonzero(as_tuple=True)][-1]
        raise ValueError(f'{names.format(first)}; expected an edge to each, or empty="zero"')
    return gathered if full else torch.where(reached.unsqueeze(-1), gathered, math.nan)


def _weigh(
    query: Tensor, key: Tensor, edge_index: Tensor, beta: Scalar | None, edge_bias: Tensor | None, empty: Empty
) -> tuple[Edges, Tensor]:
    """Check what both functions take beside their states; the edges, and their weights in single precision or better."""
    shape = (*query.shape[:-1], key.shape[-2])
    beta = check_beta(query.shape[-1] ** -0.5 if beta is None else beta, limits=(0, math.inf), like=query, shape=shape[:-1])
    check_choice("empty", empty, ("error", "zero"))
    check_tensors(edge_index=edge_index)
    if edge_index.device != query.device:
        raise ValueError(f"edge_index is on {edge_index.device}; expected {query.device}")
    edges = Edges.of(edge_index, query.shape[-2], key.shape[-2])
    if edge_bias is not None:
        check_field("edge_bias", edge_bias, (*query.shape[:-2], edges.count), query)
    with working(query):
        scores = edge_dots(widened(query), widened(key), edges)
        if edge_bias is not None:
            bias = widened(edge_bias)
            scores = scores + (bias if bias.ndim == 0 or bias.shape[-1] == 1 else edges.arrange(bias))
        weights = edge_softmax(scores, wide_beta(beta), edges)
    fill_empty(query, edges, None, empty)
    return edges, check_result(weights, "query, key or edge_bias are")
