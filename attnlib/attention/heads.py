"""What a mixer gets to mix: queries, keys and values per head, with the temperature, the mask and the bias."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.autocast import autocasting
from attnlib._core.checks import Scalar, check_broadcast, check_floating, check_kind, check_number
from attnlib._core.numerics import Mask, differentiable, widened
from attnlib._core.values import check_result

Places = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Puts places into queries and keys, ``[*batch, heads, n, d]`` and ``[*batch, heads, m, d]``: for example ``rotary_places``."""


@dataclass(frozen=True)
class Heads:
    """What a mixer mixes, head by head, checked and ready.

    Query ``[*batch, heads, n, d]``, key and value ``[*batch, heads, m, d]``; beta, a number or ``[heads, 1]``; ``score_bias``,
    None or what broadcasts to ``[*batch, heads, n, m]``; ``dropout``, 0 unless the module is training; and ``seen``, the mask
    and the causal order, for a kernel that can tell them apart. A mixer's ``split`` has looked at the values; types, shapes,
    dtypes and devices are checked here, since a kernel may read beyond a tensor that is too short.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit each other.

    >>> from attnlib.attention import SoftmaxAttention
    >>> heads = SoftmaxAttention(8, heads=2, causal=True).split(torch.zeros(1, 3, 8))
    >>> heads.query.shape, round(heads.beta, 2)
    (torch.Size([1, 2, 3, 4]), 0.5)
    >>> heads.mask
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """

    query: Float[Tensor, "*batch heads n d"]
    key: Float[Tensor, "*batch heads m d"]
    value: Float[Tensor, "*batch heads m d"]
    beta: Scalar
    seen: Mask
    score_bias: Float[Tensor, "..."] | None = None
    dropout: float | int = 0.0

    def __post_init__(self) -> None:
        check_floating(query=self.query, key=self.key, value=self.value)
        query, key, value = self.query.shape, self.key.shape, self.value.shape
        alike = len(query) >= 3 and (*query[:-2], query[-1:]) == (*key[:-2], key[-1:])
        if not alike or key != value or 0 in key[-2:]:
            shapes = f"query has shape {tuple(query)}, key {tuple(key)}, value {tuple(value)}"
            raise ValueError(f"{shapes}; expected [*batch, heads, n, d], [*batch, heads, m, d] twice, m and d at least 1")
        check_kind("seen", self.seen, Mask, "the Mask that a mixer's split makes")
        device, scores = self.query.device, (*query[:-1], key[-2])
        if self.seen.allowed is not None:
            check_broadcast("seen.allowed", self.seen.allowed, scores, device)
        like = {} if autocasting(device) else {"query": self.query}  # where autocast is on, dtypes may differ
        if self.score_bias is not None:
            check_broadcast("score_bias", self.score_bias, scores, device)
            check_floating(score_bias=self.score_bias, **like)
        if isinstance(self.beta, Tensor):
            check_broadcast("beta", self.beta, (query[-3], 1), device)
            check_floating(beta=self.beta, **like)
        else:
            check_number("beta", self.beta, above=0)
        if check_number("dropout", self.dropout, least=0) >= 1:
            raise ValueError(f"dropout is {self.dropout}; expected a number in [0, 1)")

    @property
    def mask(self) -> Bool[Tensor, "..."] | None:
        """What may be attended to, with the causal order; it broadcasts to ``[*batch, heads, n, m]``. None is everything.

        Every row of it allows something: what a token that may attend to nothing returns is not the mixer's business.
        """
        return self.seen.whole(self.query.shape[-2], self.key.shape[-2], self.query.device)

    def widened(self) -> "Heads":
        """The same in single precision or better."""
        query, key, value = widened(self.query), widened(self.key), widened(self.value)
        beta = widened(self.beta) if isinstance(self.beta, Tensor) else self.beta
        score_bias = None if self.score_bias is None else widened(self.score_bias)
        return replace(self, query=query, key=key, value=value, beta=beta, score_bias=score_bias)


def placed(places: Places, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys with places; raise unless they keep their shapes, dtypes and devices."""

    def kinds(tensors: object) -> list[object]:
        pair = tensors if isinstance(tensors, tuple | list) else [tensors]
        return [(tuple(t.shape), t.dtype, t.device) if isinstance(t, Tensor) else type(t).__name__ for t in pair]

    both = places(query, key)
    if kinds(both) != kinds((query, key)):
        raise ValueError(f"places returned {kinds(both)}; expected {kinds((query, key))}")
    for tensor in both:
        check_result(tensor, "what places returned, or x and context, are")
    return both[0], both[1]


def check_heads(heads: Heads) -> Heads:
    """Return heads ``[*batch, heads, n, d]`` ready to be mixed: of tensors that a gradient can pass through, where one may.

    Every mixer of the package begins its :meth:`Mixer.mix` with it. Raises ValueError unless it is a :class:`Heads`.

    >>> from attnlib.attention import SoftmaxAttention
    >>> check_heads(SoftmaxAttention(8, heads=2).split(torch.zeros(1, 3, 8))).query.shape
    torch.Size([1, 2, 3, 4])
    """
    check_kind("heads", heads, Heads, "Heads, as a mixer's split returns them")
    tensors = (heads.query, heads.key, heads.value, heads.score_bias)
    usual = torch.compiler.is_compiling() or not any(tensor is not None and tensor.is_inference() for tensor in tensors)
    if usual or not torch.is_grad_enabled():
        return heads
    query, key, value = (differentiable(tensor) for tensor in (heads.query, heads.key, heads.value))
    score_bias = None if heads.score_bias is None else differentiable(heads.score_bias)
    return replace(heads, query=query, key=key, value=value, score_bias=score_bias)
