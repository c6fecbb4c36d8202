"""What a mixer gets to mix: queries, keys and values per head, with the temperature, the mask and the bias."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._checks import Scalar
from attnlib._numerics import Mask

Places = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Puts places into queries and keys, ``[*batch, heads, n, d]`` and ``[*batch, heads, m, d]``: for example ``rotary_places``."""


@dataclass(frozen=True)
class Heads:
    """What a mixer mixes, head by head, checked and ready.

    Query ``[*batch, heads, n, d]``, key and value ``[*batch, heads, m, d]``; beta, a number or ``[heads, 1]``; ``score_bias``,
    None or what broadcasts to ``[*batch, heads, n, m]``; ``dropout``, 0 unless the module is training; and ``seen``, the mask
    and the causal order, for a kernel that can tell them apart.
    """

    query: Float[Tensor, "*batch heads n d"]
    key: Float[Tensor, "*batch heads m d"]
    value: Float[Tensor, "*batch heads m d"]
    beta: Scalar
    seen: Mask
    score_bias: Float[Tensor, "..."] | None = None
    dropout: float | int = 0.0

    @property
    def mask(self) -> Bool[Tensor, "..."] | None:
        """What may be attended to, the causal order included: broadcasts to ``[*batch, heads, n, m]``, or None for everything.

        Every row of it allows something: what a token that may attend to nothing returns is not the mixer's business.
        """
        return self.seen.whole(self.query.shape[-2], self.key.shape[-2], self.query.device)
