"""Graphs as lists of edges, and the masks of attention as graphs: who passes a message to whom.

``edge_index [2, edges]`` is what graph libraries call by this name. Its first row holds the source of each edge and its second
row the target: a message travels from source to target. In the words of attention the source is a key, the target a query, and
an edge from j to i is a True at ``mask[i, j]``.
"""

import torch
from jaxtyping import Bool, Int, Integer
from torch import Tensor

from attnlib._core.checks import WHOLE, check_count, check_device, check_flag, check_tensors
from attnlib._core.values import check_visible, looking, verdict


def complete_edges(
    n: int, m: int | None = None, *, self_loops: bool = True, device: torch.device | str | None = None
) -> Int[Tensor, "2 edges"]:
    """Every query sees every key: the graph of attention without a mask, ``[2, n * m]``.

    Args:
        n, m: number of queries and of keys; default as many keys as queries.
        self_loops: keep the edges from a node to itself; default True.
        device: where to put it.

    Raises:
        ValueError: a number that is not an integer of at least 1, a flag that is none.

    >>> complete_edges(3, self_loops=False)
    tensor([[1, 2, 0, 2, 0, 1],
            [0, 0, 1, 1, 2, 2]])
    """
    n = check_count("n", n)
    m = n if m is None else check_count("m", m)
    check_flag(self_loops=self_loops)
    check_device(device)
    source = torch.arange(m, device=device).repeat(n)
    target = torch.arange(n, device=device).repeat_interleave(m)
    edges = torch.stack([source, target])
    return edges if self_loops else _pick(edges, source != target)


def causal_edges(n: int, *, device: torch.device | str | None = None) -> Int[Tensor, "2 edges"]:
    """Each node sees itself and those before it: the graph of a causal mask, ``[2, n (n + 1) / 2]``.

    Raises ValueError unless n is an integer of at least 1.

    >>> causal_edges(3)
    tensor([[0, 0, 1, 0, 1, 2],
            [0, 1, 1, 2, 2, 2]])
    """
    n = check_count("n", n)
    check_device(device)
    return torch.tril_indices(n, n, device=device).flip(0)


def window_edges(
    n: int, reach: int, *, causal: bool = False, device: torch.device | str | None = None
) -> Int[Tensor, "2 edges"]:
    """Each node sees itself and those at most ``reach`` places away, ``[2, edges]``: a number of edges linear in n.

    Args:
        n: number of nodes in a row.
        reach: how far a node sees; 0 is itself only.
        causal: only itself and those before it.
        device: where to put it.

    Raises:
        ValueError: numbers that are not integers in range, a flag that is none.

    >>> window_edges(4, 1)
    tensor([[0, 1, 0, 1, 2, 1, 2, 3, 2, 3],
            [0, 0, 1, 1, 1, 2, 2, 2, 3, 3]])
    """
    n = check_count("n", n)
    reach = min(check_count("reach", reach, least=0), n - 1)
    check_flag(causal=causal)
    check_device(device)
    offsets = torch.arange(-reach, 1 if causal else reach + 1, device=device)
    target = torch.arange(n, device=device)[:, None].expand(n, len(offsets))
    source = target + offsets
    return _pick(torch.stack([source, target]).flatten(1), ((source >= 0) & (source < n)).flatten())


def grid_edges(
    height: int, width: int, *, self_loops: bool = True, device: torch.device | str | None = None
) -> Int[Tensor, "2 edges"]:
    """Pixels of an image and their neighbours above, below, left and right, ``[2, edges]``; pixel (y, x) is ``y * width + x``.

    Args:
        height, width: size of the image.
        self_loops: a pixel also sees itself; default True.
        device: where to put it.

    Raises:
        ValueError: sizes that are not integers of at least 1, a flag that is none.

    >>> grid_edges(2, 2, self_loops=False)
    tensor([[1, 2, 0, 3, 0, 3, 1, 2],
            [0, 0, 1, 1, 2, 2, 3, 3]])
    """
    height, width = check_count("height", height), check_count("width", width)
    check_flag(self_loops=self_loops)
    check_device(device)
    target = torch.arange(height * width, device=device)[:, None]
    moves = torch.tensor([(-1, 0), (0, -1), *([(0, 0)] if self_loops else []), (0, 1), (1, 0)], device=device)
    y, x = target // width + moves[:, 0], target % width + moves[:, 1]
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    return _pick(torch.stack([y * width + x, target.expand_as(y)]).flatten(1), inside.flatten())


def mask_edges(mask: Bool[Tensor, "n m"]) -> Int[Tensor, "2 edges"]:
    """The edges of a mask ``[n, m]``: from key j to query i where ``mask[i, j]`` is True, ``[2, edges]``, by query, then key.

    Raises ValueError on a mask that is not boolean, has another number of axes, or is on the meta device.

    >>> mask_edges(torch.tensor([[True, False], [True, True]]))
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    check_tensors(mask=mask)
    if mask.ndim != 2 or mask.dtype != torch.bool:
        raise ValueError(f"mask is {mask.dtype} of shape {tuple(mask.shape)}; expected torch.bool, [n, m]")
    check_visible(mask=mask)
    return mask.nonzero().mT.flip(0)


def edges_mask(edge_index: Integer[Tensor, "2 edges"], n: int, m: int | None = None) -> Bool[Tensor, "n m"]:
    """The mask of a list of edges, ``[n, m]``: True at ``[i, j]`` where an edge leads from j to i.

    Args:
        edge_index: ``[2, edges]``, sources above targets.
        n, m: number of queries and of keys; default as many keys as queries.

    Raises:
        ValueError: another shape or dtype, an index out of range, an edge that is there twice.

    >>> edges_mask(torch.tensor([[0, 0, 1], [0, 1, 1]]), 2)
    tensor([[ True, False],
            [ True,  True]])
    """
    n = check_count("n", n)
    m = n if m is None else check_count("m", m)
    source, target = check_edges(edge_index, n, m, sizes="the mask is to have")
    mask = torch.zeros(n * m, dtype=torch.bool, device=source.device)
    return mask.index_fill(0, target * m + source, True).view(n, m)


def merge_edges(edge_index: Integer[Tensor, "2 edges"]) -> Int[Tensor, "2 merged"]:
    """Each edge once, ``[2, edges]``, ordered by target and then source: what attention along edges is quickest with.

    Attention refuses an edge that is there twice, since a mask has no such thing; this keeps one of each.

    Raises ValueError on another shape, a dtype that is not of whole numbers, a negative index, the meta device.

    >>> merge_edges(torch.tensor([[1, 0, 1, 1], [0, 1, 0, 1]]))
    tensor([[1, 0, 1],
            [0, 1, 1]])
    """
    edges = _check_list(edge_index)
    check_visible(edge_index=edge_index)
    if edges.numel() and edges.min() < 0:
        raise ValueError(f"edge_index has the index {int(edges.min())}; expected 0 or above")
    return torch.unique(edges.flip(0), dim=1).flip(0)


def check_edges(edge_index: Tensor, n: int, m: int, *, sizes: str = "query and key have") -> Tensor:
    """Return the edges as int64; raise unless they are ``[2, edges]`` from m sources to n targets, each there once.

    What looks at values is skipped where none can be seen.
    """
    edges = _check_list(edge_index)
    if not looking() or edges.is_meta or not edges.shape[1]:
        return edges
    for name, row, size in (("source", edges[0], m), ("target", edges[1], n)):
        span = verdict_range(row)
        if span is not None and not (span[0] >= 0 and span[1] < size):
            wrong = span[0] if span[0] < 0 else span[1]
            raise ValueError(
                f"edge_index has the {name} {wrong}, and {sizes} n = {n} and m = {m}; "
                + (f"expected 0 to {size - 1}" if size else "expected no edges")
            )
    if verdict(lambda: in_order(edges, m)) is False:
        code, _ = torch.sort(edges[1] * m + edges[0])
        again = (code[1:] == code[:-1]).nonzero()
        if len(again):
            first = int(code[again[0, 0]])
            raise ValueError(
                f"edge_index has the edge from {first % m} to {first // m} more than once; expected each once, "
                "as merge_edges makes them"
            )
    return edges


def verdict_range(row: Tensor) -> tuple[int, int] | None:
    """The least and the largest index; None where no value can be seen."""
    try:
        low, high = torch.aminmax(row)
        return int(low), int(high)
    except RuntimeError:  # under torch.func.vmap
        return None


def in_order(edges: Tensor, m: int) -> Tensor:
    """Whether edges are ordered by target and then source, each there once."""
    code = edges[1] * m + edges[0]
    return (code[1:] > code[:-1]).all()


def _check_list(edge_index: Tensor) -> Tensor:
    check_tensors(edge_index=edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.dtype not in WHOLE:
        raise ValueError(
            f"edge_index is {edge_index.dtype} of shape {tuple(edge_index.shape)}; "
            "expected whole numbers of shape [2, edges], sources above targets"
        )
    return edge_index.long()


def _pick(edges: Tensor, kept: Tensor) -> Tensor:
    if edges.is_meta:
        raise ValueError("device is meta; expected one that holds values, which say what edges there are")
    return edges[:, kept]
