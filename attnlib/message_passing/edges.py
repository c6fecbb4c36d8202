"""Attention along edges: scores where there is an edge, a softmax over the edges that reach a node, a sum of what they carry.

Everything is linear in the number of edges. Two operations carry the whole weight: dot products of the rows at the ends of each
edge, and sums of rows weighted by edge. Each is the derivative of the other, and on a processor both are kernels for sparse
matrices, which keep no row per edge. Elsewhere, and where torch traces, they are gather and scatter.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnlib._core.checks import Scalar
from attnlib._core.numerics import capped, differentiable, filled, is_limit
from attnlib._core.transforms import in_forward_mode, transforming
from attnlib._core.values import looking, verdict
from attnlib.message_passing.graphs import check_edges, in_order


@dataclass(frozen=True)
class Edges:
    """Edges from m sources to n targets, and whether they are ordered by target; ``order`` leads back to the caller's list."""

    source: Tensor
    target: Tensor
    n: int
    m: int
    ordered: bool
    order: Tensor | None = None
    _known: dict[Any, Any] = field(default_factory=dict)

    @staticmethod
    def of(edge_index: Tensor, n: int, m: int) -> "Edges":
        """Check a list of edges, and order it where its values can be seen."""
        edges = differentiable(check_edges(edge_index, n, m))  # indices are kept for gradients
        ordered = verdict(lambda: in_order(edges, m))
        if ordered is None or edges.is_meta:
            return Edges(edges[0], edges[1], n, m, False)
        if ordered:
            return Edges(edges[0], edges[1], n, m, True)
        code, order = torch.sort(edges[1] * m + edges[0])
        return Edges(code % m, code // m, n, m, True, order)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.source.shape[0]

    def arrange(self, numbers: Tensor) -> Tensor:
        """Numbers of the caller's edges, ``[*batch, edges]``, in the order of these."""
        return numbers if self.order is None else numbers.index_select(-1, self.order)

    def give_back(self, numbers: Tensor) -> Tensor:
        """Numbers of these edges, ``[*batch, edges]``, in the order of the caller's."""
        return numbers if self.order is None else numbers.index_select(-1, torch.argsort(self.order))

    def rows(self, numbers: Tensor) -> Tensor:
        """Sums over the edges that reach each target, ``[*batch, n]``, of numbers ``[*batch, edges]``."""
        return numbers.new_zeros(*numbers.shape[:-1], self.n).index_add(-1, self.target, numbers)

    def matrix(self, batch: int) -> "Pattern":
        """The pattern of the sparse matrix that does the same for each member of a batch, block by block."""
        if batch not in self._known:
            offsets = torch.arange(batch, device=self.source.device)[:, None]
            columns, rows = self.source, self.target
            if batch > 1:
                columns, rows = (columns + self.m * offsets).flatten(), (rows + self.n * offsets).flatten()
            self._known[batch] = Pattern.of(rows, columns, batch * self.n, batch * self.m)
        pattern: Pattern = self._known[batch]
        return pattern


@dataclass(frozen=True)
class Pattern:
    """Where a sparse matrix has entries, by rows: pointers ``[rows + 1]`` and the column of each entry."""

    pointers: Tensor
    columns: Tensor
    rows_of: Tensor
    shape: tuple[int, int]
    _known: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(rows: Tensor, columns: Tensor, height: int, width: int) -> "Pattern":
        """The pattern of entries that are ordered by row."""
        counts = torch.bincount(rows, minlength=height)
        return Pattern(torch.nn.functional.pad(counts.cumsum(0), (1, 0)), columns, rows, (height, width))

    def filled(self, values: Tensor) -> Tensor:
        """The matrix with these entries."""
        return torch.sparse_csr_tensor(self.pointers, self.columns, values, self.shape, check_invariants=False)

    @property
    def transposed(self) -> tuple["Pattern", Tensor]:
        """The pattern of the transposed matrix, and which entry of this one each of its entries is."""
        if "transposed" not in self._known:
            columns, order = torch.sort(self.columns, stable=True)
            pattern = Pattern.of(columns, self.rows_of.index_select(0, order), *reversed(self.shape))
            self._known["transposed"] = pattern, order
        found: tuple[Pattern, Tensor] = self._known["transposed"]
        return found


class Dots(torch.autograd.Function):
    """Dot products of rows of a ``[rows, d]`` and b ``[columns, d]`` at the entries of a pattern, ``[entries]``."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, pattern: Pattern) -> Tensor:
        """One product of matrices, sampled where there is an entry. Shapes and errors: those of the class, none."""
        ctx.save_for_backward(a, b)
        ctx.pattern = pattern
        with _silence():
            empty = pattern.filled(a.new_zeros(len(pattern.columns)))
            return torch.sparse.sampled_addmm(empty, a, b.mT, beta=0.0).values()

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        """Sums, which can be differentiated again."""
        a, b = ctx.saved_tensors
        pattern: Pattern = ctx.pattern
        of_a = Sums.apply(slopes[0], b, pattern) if ctx.needs_input_grad[0] else None
        of_b = _turned(slopes[0], a, pattern) if ctx.needs_input_grad[1] else None
        return of_a, of_b, None


class Sums(torch.autograd.Function):
    """Sums of the rows of b ``[columns, d]``, weighted by the entries of a pattern ``[entries]``: ``[rows, d]``."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, b: Tensor, pattern: Pattern) -> Tensor:
        """One product with a sparse matrix. Shapes and errors: those of the class, none."""
        ctx.save_for_backward(weights, b)
        ctx.pattern = pattern
        with _silence():
            return torch.sparse.mm(pattern.filled(weights), b, "sum")

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        """Dot products and sums, which can be differentiated again."""
        weights, b = ctx.saved_tensors
        pattern: Pattern = ctx.pattern
        of_weights = Dots.apply(slopes[0], b, pattern) if ctx.needs_input_grad[0] else None
        of_b = _turned(weights, slopes[0], pattern) if ctx.needs_input_grad[1] else None
        return of_weights, of_b, None


@contextmanager
def _silence() -> Iterator[None]:
    """Torch says that these matrices are new, 2.11 that they go unchecked: no business of whoever asks for attention."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse (CSR tensor support|invariant checks)")
        yield


def _turned(weights: Tensor, a: Tensor, pattern: Pattern) -> Tensor:
    """Sums with the transposed matrix."""
    other, order = pattern.transposed
    found: Tensor = Sums.apply(weights.index_select(0, order), a, other)
    return found


def compact(edges: Edges, like: Tensor) -> bool:
    """Whether the kernels for sparse matrices can be used."""
    plain = like.device.type == "cpu" and like.dtype in (torch.float32, torch.float64)
    return (
        plain
        and edges.ordered
        and edges.count > 0
        and like.numel() > 0
        and looking()
        and not (transforming() or in_forward_mode())
    )


def edge_dots(query: Tensor, key: Tensor, edges: Edges) -> Tensor:
    """Dot products of queries ``[*batch, n, d]`` and keys ``[*batch, m, d]`` at the ends of each edge, ``[*batch, edges]``."""
    if not compact(edges, query):
        return (query.index_select(-2, edges.target) * key.index_select(-2, edges.source)).sum(-1)
    batch = math.prod(query.shape[:-2])
    found: Tensor = Dots.apply(_flat(query), _flat(key), edges.matrix(batch))
    return found.view(*query.shape[:-2], edges.count)


def edge_sums(weights: Tensor, value: Tensor, edges: Edges) -> Tensor:
    """What reaches each target, ``[*batch, n, c]``: values ``[*batch, m, c]`` times weights ``[*batch, edges]``, summed."""
    if not compact(edges, value):
        carried = weights.unsqueeze(-1) * value.index_select(-2, edges.source)
        return carried.new_zeros(*carried.shape[:-2], edges.n, carried.shape[-1]).index_add(-2, edges.target, carried)
    batch = math.prod(value.shape[:-2])
    found: Tensor = Sums.apply(weights.reshape(-1), _flat(value), edges.matrix(batch))
    return found.view(*value.shape[:-2], edges.n, value.shape[-1])


def edge_softmax(scores: Tensor, beta: Scalar, edges: Edges, mask: Tensor | None = None) -> Tensor:
    """Softmax over the edges that reach each target of beta times the scores, both ``[*batch, edges]``; masked edges get 0.

    A tensor beta is one for each target, ``[*batch, n]``, or has one column.
    """
    least = torch.finfo(scores.dtype).min
    place = edges.target.expand(scores.shape)
    top = scores.new_full((*scores.shape[:-1], edges.n), least)
    top = top.scatter_reduce(-1, place, filled(scores.detach(), mask), "amax").index_select(-1, edges.target)
    if is_limit(beta, 0):
        exponent = 0 * scores
    elif is_limit(beta, math.inf):
        exponent = filled(0 * scores, scores >= top)
    else:
        exponent = scores - top
        if isinstance(beta, Tensor):
            exponent = exponent.clamp(min=least)  # a temperature of zero times infinity is NaN
            if beta.ndim and beta.shape[-1] > 1:
                beta = beta.index_select(-1, edges.target)
        exponent = capped(beta, scores) * exponent
    weights = filled(exponent, mask).exp()
    total = edges.rows(weights)
    total = torch.where(total > 0, total, 1.0)  # where no edge may be used
    return weights / total.index_select(-1, edges.target)


def _flat(rows: Tensor) -> Tensor:
    return differentiable(rows).reshape(-1, rows.shape[-1]).contiguous()
