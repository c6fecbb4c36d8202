"""Attention: scores, places, masks, the average over values, and softmax attention as a module (chapter 2)."""

import math
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attnlib._checks import (
    Empty,
    Scalar,
    check_beta,
    check_choice,
    check_count,
    check_finite,
    check_floating,
    check_states,
    usable_rows,
)
from attnlib.softmax import _softmax, _wide

_COLD = 1e20
"""Beyond this inverse temperature a fused kernel's product of beta and a score may overflow; the explicit formula does not."""


def dot_scores(query: Float[Tensor, "*batch n d"], key: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch n m"]:
    r"""Scores ``s_ij = q_i . k_j``, unscaled: the inverse temperature comes with the softmax.

    Takes ``[*batch, n, d]`` and ``[*batch, m, d]``, returns ``[*batch, n, m]``.

    Raises:
        ValueError: shapes that do not fit, different dtypes, non-finite entries.

    Source: Luong et al. 2015, eq. (8), "dot".
    """
    check_states("query", query, "key", key)
    return query @ key.mT


def bilinear_scores(
    query: Float[Tensor, "*batch n d"], key: Float[Tensor, "*batch m c"], weight: Float[Tensor, "d c"]
) -> Float[Tensor, "*batch n m"]:
    r"""Scores ``s_ij = q_i . W k_j``: a learned comparison of two spaces, which may have different widths.

    Takes ``[*batch, n, d]``, ``[*batch, m, c]`` and ``[d, c]``, returns ``[*batch, n, m]``. With ``W = 1`` these are
    :func:`dot_scores`, and with ``W = A^T B`` the dot products of ``A q`` and ``B k``: the query and key maps of a transformer.

    Raises:
        ValueError: shapes that do not fit, different dtypes, non-finite entries.

    Source: Luong et al. 2015, eq. (8), "general".
    """
    check_states("query", query, "key", key, one_width=False)
    _check_weight("weight", weight, (query.shape[-1], key.shape[-1]), query)
    return query @ weight @ key.mT


def additive_scores(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m c"],
    weight_query: Float[Tensor, "h d"],
    weight_key: Float[Tensor, "h c"],
    vector: Float[Tensor, "h"],
) -> Float[Tensor, "*batch n m"]:
    r"""Scores ``s_ij = v . tanh(W_q q_i + W_k k_j)``: a small network compares; no score exceeds ``|v_1| + ... + |v_h|``.

    Takes ``[*batch, n, d]``, ``[*batch, m, c]``, ``[h, d]``, ``[h, c]`` and ``[h]``, returns ``[*batch, n, m]``. Holds
    ``[*batch, n, m, h]`` numbers on the way.

    Raises:
        ValueError: shapes that do not fit, different dtypes, non-finite entries.

    Source: Bahdanau et al. 2015, appendix A.1.2.
    """
    check_states("query", query, "key", key, one_width=False)
    _check_weight("vector", vector, vector.shape if vector.ndim == 1 else ("h",), query)
    _check_weight("weight_query", weight_query, (len(vector), query.shape[-1]), query)
    _check_weight("weight_key", weight_key, (len(vector), key.shape[-1]), query)
    hidden = (query @ weight_query.mT)[..., :, None, :] + (key @ weight_key.mT)[..., None, :, :]
    return hidden.tanh() @ vector


def _check_weight(name: str, weight: Tensor, shape: tuple[int | str, ...], like: Tensor) -> None:
    if tuple(weight.shape) != tuple(shape):
        raise ValueError(f"{name} has shape {tuple(weight.shape)}; expected {tuple(shape)}")
    check_floating(**{"query": like, name: weight})
    check_finite(**{name: weight})


def sinusoids(
    n: int,
    dim: int,
    *,
    base: float | int = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "{n} {dim}"]:
    r"""Encode places 0 to n - 1 by the hands of dim / 2 clocks, each slower than the one before: ``[n, dim]``.

    .. math:: p_{t, 2i} = \sin \omega_i t, \qquad p_{t, 2i+1} = \cos \omega_i t, \qquad \omega_i = \mathrm{base}^{-2i/d}

    A shift of t turns every hand by its own angle, so ``p_s . p_t`` depends on ``t - s`` alone. The dtype is torch's default
    unless given.

    Raises:
        ValueError: n or dim that are not integers of at least 1, an odd dim, a base that is not finite and above 1.

    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoids(2, 4, base=100)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0998, 0.9950]])
    """
    check_count("n", n)
    check_count("dim", dim, least=2)
    if dim % 2:
        raise ValueError(f"dim is {dim}; expected an even number, a sine and a cosine for each frequency")
    if not 1 < base < math.inf:
        raise ValueError(f"base is {base}; expected a finite number above 1")
    frequency = base ** -(torch.arange(0, dim, 2, dtype=torch.float64, device=device) / dim)
    angle = torch.arange(n, dtype=torch.float64, device=device)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).to(dtype or torch.get_default_dtype())


def causal_mask(n: int, m: int | None = None, *, device: torch.device | str | None = None) -> Bool[Tensor, "queries keys"]:
    """Let query i attend to keys 0..i: a boolean ``[n, m]``, lower triangular, ``m = n`` unless given.

    With ``m > n`` the last query is aligned with the last key, as when earlier keys are cached.

    Raises:
        ValueError: a number that is not an integer of at least 1, or ``m < n`` (the first queries would see nothing).

    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    m = n if m is None else m
    check_count("n", n)
    check_count("m", m, least=n)
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


def padding_mask(lengths: Int[Tensor, "batch"], m: int) -> Bool[Tensor, "batch {m}"]:
    """Let only the first ``lengths[b]`` of m keys be attended to: a boolean ``[batch, m]``.

    Raises:
        ValueError: lengths that are not integers in ``[0, m]``.

    >>> padding_mask(torch.tensor([1, 3]), 3)
    tensor([[ True, False, False],
            [ True,  True,  True]])
    """
    check_count("m", m)
    if lengths.ndim != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(f"lengths is {lengths.dtype} of shape {tuple(lengths.shape)}; expected integers [batch]")
    if bool(((lengths < 0) | (lengths > m)).any()):
        raise ValueError(f"lengths run from {int(lengths.min())} to {int(lengths.max())}; expected 0 <= lengths <= {m}")
    return torch.arange(m, device=lengths.device) < lengths[:, None]


def attention_weights(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m d"],
    *,
    beta: Scalar | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
) -> Float[Tensor, "*batch n m"]:
    r"""The weights of :func:`attend`: ``softmax(beta q . k)`` over the keys, ``[*batch, n, m]``.

    Arguments and errors are those of :func:`attend`. Half precision is computed in float32 inside.
    """
    check_states("query", query, "key", key)
    beta = _resolve_beta(beta, query)
    rows = None if mask is None else usable_rows(mask, (*query.shape[:-1], key.shape[-2]), empty)
    weights = _weights(query, key, beta, mask).to(query.dtype)
    return weights if rows is None else torch.where(rows, weights, 0.0)


def attend(
    query: Float[Tensor, "*batch n d"],
    key: Float[Tensor, "*batch m d"],
    value: Float[Tensor, "*batch m c"],
    *,
    beta: Scalar | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
    twice_differentiable: bool = False,
) -> Float[Tensor, "*batch n c"]:
    r"""Average the values with Boltzmann weights of the scores.

    .. math:: \mathrm{attend}(q, K, V)_i = \sum_j p_{ij} v_j, \qquad p_{ij} \propto \exp(\beta\, q_i \cdot k_j)

    Args:
        query, key, value: ``[*batch, n, d]``, ``[*batch, m, d]``, ``[*batch, m, c]``, of one floating dtype, finite.
        beta: inverse temperature, default ``d ** -0.5``; a number in ``[0, inf]`` or a finite tensor that broadcasts to
            ``[*batch, n, 1]`` (one per head: ``[heads, 1, 1]``).
        mask: boolean, broadcasts to ``[*batch, n, m]``; True means: may be attended to.
        empty: a query that may attend to nothing is an ``"error"`` (default), or its result is ``"zero"``.
        twice_differentiable: torch's fused kernel is used by default and differentiates once; True takes the explicit formula,
            which differentiates as often as you like and stores the ``[*batch, n, m]`` weights.

    Returns:
        ``[*batch, n, c]``.

    Raises:
        ValueError: shapes that do not fit, mixed or integer dtypes, non-finite entries, negative or NaN beta, a mask that is
            not boolean or does not broadcast, a row of the mask with no True in it (unless ``empty="zero"``).

    Source: Vaswani et al. 2017, eq. (1), where ``beta = 1/sqrt(d_k)``.

    >>> key = torch.eye(2)
    >>> attend(torch.zeros(1, 2), key, key)
    tensor([[0.5000, 0.5000]])
    """
    check_states("query", query, "key", key)
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(f"value has shape {tuple(value.shape)}; expected {(*key.shape[:-1], 'c')}, one row per key")
    check_floating(query=query, value=value)
    if value is not key:
        check_finite(value=value)
    beta = _resolve_beta(beta, query)
    rows = None if mask is None else usable_rows(mask, (*query.shape[:-1], key.shape[-2]), empty)
    return _attend(query, key, value, beta, mask, rows, twice_differentiable)


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    beta: Scalar,
    mask: Tensor | None,
    rows: Tensor | None,
    twice_differentiable: bool,
) -> Tensor:
    """Attention without checks. The rows that may attend to nothing (False in rows) come out as zeros."""
    extreme = not isinstance(beta, Tensor) and not 0 < beta < _COLD
    if twice_differentiable or extreme or value.shape[-1] == 0:
        out = (_weights(query, key, beta, mask) @ _wide(value)).to(value.dtype)
    else:
        if rows is not None:
            mask = mask | ~rows  # what a kernel returns for an empty row differs between kernels: give it none
        if isinstance(beta, Tensor):
            out = _fused(_wide(query) * beta, _wide(key), _wide(value), mask, 1.0).to(value.dtype)
        else:
            out = _fused(query, key, value, mask, float(beta))
    return out if rows is None else torch.where(rows, out, 0.0)


def _fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Torch's fused attention, which wants exactly two batch dimensions to be fast."""
    batch = query.shape[:-2]
    mask = None if mask is None else torch.atleast_2d(mask)
    if len(batch) == 2:
        return scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    if mask is not None:
        mask = mask.expand(*batch, *mask.shape[-2:]).reshape(math.prod(batch), 1, *mask.shape[-2:])
    flat = (t.reshape(math.prod(batch), 1, *t.shape[-2:]) for t in (query, key, value))
    out = scaled_dot_product_attention(*flat, attn_mask=mask, scale=scale)
    return out.reshape(*batch, *out.shape[-2:])


def _weights(query: Tensor, key: Tensor, beta: Scalar, mask: Tensor | None) -> Tensor:
    return _softmax(_wide(query) @ _wide(key).mT, beta, mask)


def _resolve_beta(beta: Scalar | None, query: Tensor) -> Scalar:
    if beta is None:
        return query.shape[-1] ** -0.5
    check_beta(beta, limits=True, like=query, shape=(*query.shape[:-1], 1))
    return beta


@dataclass(frozen=True)
class AttentionRecord:
    """What softmax attention did: tensors per head, as ``[batch, heads, ...]``, and the module's output."""

    query: Float[Tensor, "batch heads n d"]
    key: Float[Tensor, "batch heads m d"]
    value: Float[Tensor, "batch heads m d"]
    scores: Float[Tensor, "batch heads n m"]
    weights: Float[Tensor, "batch heads n m"]
    output: Float[Tensor, "batch n dim"]


class Mixer(nn.Module):
    """What the attention modules share: linear maps into heads and back, the mixer interface, and its checks.

    A mixer takes ``x [batch, n, dim]``, an optional ``context [batch, m, context_dim]`` (default: x itself) and an optional
    boolean ``mask``, ``[batch, m]`` or ``[batch, n, m]`` (True: may be attended to), and returns ``[batch, n, dim]``.

    Args:
        dim: width of x and of the output.
        context_dim: width of the context; default ``dim``.
        heads: number of heads, each with maps of its own.
        head_dim: width of a head; default ``dim // heads``.
        beta: inverse temperature; default ``head_dim ** -0.5``.
        bare: leave out all linear maps (then one head, ``head_dim = context_dim = dim``).
        bias: whether the linear maps have offsets.
        empty: a query that may attend to nothing is an ``"error"`` (default), or its heads return ``"zero"``.
        twice_differentiable: take formulas that can be differentiated more than once, at the price of speed and memory.

    Raises:
        ValueError: sizes that are not positive integers or do not fit each other, ``beta <= 0``; in the call, wrong shapes,
            wrong dtypes, non-finite input, empty rows.
    """

    has_values = True
    """Whether values have a map of their own; otherwise the keys serve as values."""

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        heads: int = 1,
        head_dim: int | None = None,
        beta: float | int | None = None,
        bare: bool = False,
        bias: bool = False,
        empty: Empty = "error",
        twice_differentiable: bool = False,
    ) -> None:
        super().__init__()
        context_dim = dim if context_dim is None else context_dim
        for name, number in (("dim", dim), ("context_dim", context_dim), ("heads", heads)):
            check_count(name, number)
        if head_dim is None and dim % heads:
            raise ValueError(f"heads is {heads}, which does not divide dim {dim}; expected a divisor, or a head_dim")
        head_dim = dim // heads if head_dim is None else head_dim
        check_count("head_dim", head_dim)
        if bare and (heads, head_dim, context_dim, bias) != (1, dim, dim, False):
            raise ValueError(
                f"bare is True with heads {heads}, head_dim {head_dim}, context_dim {context_dim}, bias {bias}; "
                f"expected 1, {dim}, {dim}, False: without maps there is nothing to split or to shift"
            )
        check_choice("empty", empty, ("error", "zero"))
        self.dim, self.context_dim, self.heads, self.head_dim = dim, context_dim, heads, head_dim
        self.beta = head_dim**-0.5 if beta is None else beta
        check_beta(self.beta)
        self.bare, self.empty, self.twice_differentiable = bare, empty, twice_differentiable
        inner = heads * head_dim
        if not bare:
            self.to_query = nn.Linear(dim, inner, bias=bias)
            self.to_key = nn.Linear(context_dim, inner, bias=bias)
            if self.has_values:
                self.to_value = nn.Linear(context_dim, inner, bias=bias)
            self.to_out = nn.Linear(inner, dim, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch n dim"],
        context: Float[Tensor, "batch m context_dim"] | None = None,
        mask: Bool[Tensor, "batch m"] | Bool[Tensor, "batch n m"] | None = None,
    ) -> Float[Tensor, "batch n dim"]:
        """Mix the context into x: see the class for shapes and errors."""
        query, key, value, mask, rows = self._split(x, context, mask)
        return self._merge(self._mix(query, key, value, mask, rows))

    def _mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, rows: Tensor | None) -> Tensor:
        raise NotImplementedError

    def _split(
        self, x: Tensor, context: Tensor | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
        """Check the input, apply the maps and give each head its own axis."""
        if x.ndim != 3 or x.shape[-1] != self.dim:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected [batch, n, {self.dim}]")
        check_floating(x=x)
        if not self.bare and not torch.is_autocast_enabled(x.device.type):
            check_floating(weight=self.to_query.weight, x=x)
        check_finite(x=x)
        if context is None:
            if self.context_dim != self.dim:
                raise ValueError(f"context is None; expected [batch, m, {self.context_dim}], since dim is {self.dim}")
            context = x
        else:
            if context.ndim != 3 or (len(context), context.shape[-1]) != (len(x), self.context_dim):
                raise ValueError(f"context has shape {tuple(context.shape)}; expected [{len(x)}, m, {self.context_dim}]")
            check_floating(x=x, context=context)
            check_finite(context=context)
        if context.shape[1] == 0:
            raise ValueError(f"context has shape {tuple(context.shape)}; expected at least one row to attend to")
        rows = None
        if mask is not None:
            mask, rows = self._head_mask(mask, (len(x), x.shape[1], context.shape[1]))
        if self.bare:
            query, key = x[:, None], context[:, None]
            return query, key, key, mask, rows
        query, key = self._heads(self.to_query(x)), self._heads(self.to_key(context))
        value = self._heads(self.to_value(context)) if self.has_values else key
        return query, key, value, mask, rows

    def _head_mask(self, mask: Tensor, shape: tuple[int, int, int]) -> tuple[Tensor, Tensor | None]:
        batch, n, m = shape
        if tuple(mask.shape) not in ((batch, m), (batch, n, m)):
            raise ValueError(f"mask has shape {tuple(mask.shape)}; expected {(batch, m)} or {(batch, n, m)}")
        mask = mask[:, None, None] if mask.ndim == 2 else mask[:, None]
        return mask, usable_rows(mask, (batch, 1, n, m), self.empty)

    def _heads(self, tensor: Tensor) -> Tensor:
        return rearrange(tensor, "batch n (heads d) -> batch heads n d", heads=self.heads)

    def _merge(self, tensor: Tensor) -> Tensor:
        merged = rearrange(tensor, "batch heads n d -> batch n (heads d)")
        return merged if self.bare else self.to_out(merged)

    def extra_repr(self) -> str:
        """Sizes and inverse temperature, for printing."""
        return f"dim={self.dim}, heads={self.heads}, head_dim={self.head_dim}, beta={self.beta:.4g}, bare={self.bare}"


class SoftmaxAttention(Mixer):
    r"""Multi-head softmax attention.

    .. math:: \mathrm{out} = W_O \big[\mathrm{attend}(W_Q^h x,\; W_K^h c,\; W_V^h c)\big]_{h}

    Arguments, shapes and errors are those of :class:`Mixer`. With ``bare=True`` it is ``attend(x, context, context)``.

    Source: Vaswani et al. 2017, section 3.2.

    >>> SoftmaxAttention(8, heads=2)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def _mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, rows: Tensor | None) -> Tensor:
        return _attend(query, key, value, self.beta, mask, rows, self.twice_differentiable)

    def explain(
        self,
        x: Float[Tensor, "batch n dim"],
        context: Float[Tensor, "batch m context_dim"] | None = None,
        mask: Bool[Tensor, "batch m"] | Bool[Tensor, "batch n m"] | None = None,
    ) -> AttentionRecord:
        """Queries, keys, values, scores, weights and output of a call, as in :class:`AttentionRecord`.

        Shapes and errors are those of the call.
        """
        query, key, value, mask, rows = self._split(x, context, mask)
        scores = query @ key.mT
        weights = _weights(query, key, self.beta, mask).to(query.dtype)
        weights = weights if rows is None else torch.where(rows, weights, 0.0)
        return AttentionRecord(query, key, value, scores, weights, self._merge(weights @ value))
