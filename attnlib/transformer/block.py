"""A transformer block around any mixer: the sum with what was there, the norm, and a network for each token by itself."""

from collections.abc import Callable
from functools import partial
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnlib._core.checks import check_choice, check_count, check_device, check_dtype, check_flag, check_kind, check_number
from attnlib._core.values import check_result
from attnlib.transformer.feed_forward import Activation, FeedForward
from attnlib.transformer.tokens import check_tokens

Norm = Literal["before", "after"] | None
"""Where tokens are normalised: before they are mixed, after the sum, or nowhere."""


class Block(nn.Module):
    r"""A transformer block: tokens are mixed and added to what was there, then each goes through a network by itself.

    .. math:: \text{before:}\quad y = x + \gamma\, \mathrm{mix}(\mathrm{LN}\,x), \qquad
        \mathrm{out} = y + \gamma\, \mathrm{ff}(\mathrm{LN}\,y)

    .. math:: \text{after:}\quad y = \mathrm{LN}\big(x + \gamma\, \mathrm{mix}(x)\big), \qquad
        \mathrm{out} = \mathrm{LN}\big(y + \gamma\, \mathrm{ff}(y)\big)

    Before is GPT-2's block, after is BERT's and ALBERT's. Without a feed-forward network the second half is left out.

    What physics calls the parts, if tokens are spins: x along the residual connection is the field on each spin; the mixer
    says who couples to whom; the norm fixes a length, so that energies are extensive; the feed-forward network corrects each
    spin locally, as an Onsager reaction would. This is a reading, not a theorem.

    Args:
        mixer: a :class:`attnlib.attention.Mixer`, or any module with ``forward(x, context=None, mask=None)`` that returns the
            shape of x. A context and a mask are handed on where they are given, so that a module that takes x alone serves too.
        dim: width of the tokens; default ``mixer.dim``, and needed only where the mixer does not say.
        norm: ``"before"`` (default), ``"after"``, or None. A context is never normalised here.
        feed_forward: the width of a :class:`FeedForward`, a module of your own, or None or 0 for none (default).
        activation: of the feed-forward network, see :class:`FeedForward`; default ``"gelu"``.
        residual: add to what was there (default); False leaves the sums out, and the step multiplies what remains.
        step: the step ``gamma``, default 1: below it, each half moves the tokens by so much less.
        epsilon: what a norm adds to the variance; default 1e-5, GPT-2's. BERT's and ALBERT's is 1e-12.
        dropout: the chance that an entry of what is added is set to zero while training.
        device, dtype: of its own parameters; default those of the mixer's first one, else torch's.

    Called with x ``[*batch, n, dim]``, maybe a context ``[*batch, m, context_dim]`` and a boolean mask, it returns
    ``[*batch, n, dim]``.

    Raises:
        ValueError: a mixer without a width, settings out of range; in the call, another width or dtype, non-finite input, a
            mixer or a network that returns another shape, a result that overflows, and what the mixer raises.

    Source: Vaswani et al. 2017 (after); Radford et al. 2019 (before; GPT-2); Devlin et al. 2019 and Lan et al. 2020 (BERT,
    ALBERT); Bal 2021, Transformers Are Secretly Collectives of Spin Systems, for the reading.

    >>> from attnlib.attention import SoftmaxAttention
    >>> Block(SoftmaxAttention(8, heads=2), feed_forward=32)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        mixer: nn.Module,
        *,
        dim: int | None = None,
        norm: Norm = "before",
        feed_forward: nn.Module | int | None = None,
        activation: Activation | Callable[[Tensor], Tensor] = "gelu",
        residual: bool = True,
        step: float | int = 1.0,
        epsilon: float | int = 1e-5,
        dropout: float | int = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_kind("mixer", mixer, nn.Module, "a module, such as a Mixer")
        own = getattr(mixer, "dim", None)
        if dim is None and not isinstance(own, int):
            raise ValueError(f"mixer is a {type(mixer).__name__} without a width; expected one with an attribute dim, or dim=")
        self.dim = check_count("dim", cast("int", own) if dim is None else dim)
        if isinstance(own, int) and own != self.dim:
            raise ValueError(f"dim is {dim}; expected {own}, the mixer's, or None")
        self.context_dim = getattr(mixer, "context_dim", self.dim)
        check_choice("norm", norm, ("before", "after", None))
        check_flag(residual=residual)
        self.norm, self.residual, self.step = norm, residual, check_number("step", step)
        self.dropout = check_number("dropout", dropout, least=0)
        if self.dropout >= 1:
            raise ValueError(f"dropout is {dropout}; expected a number in [0, 1)")
        epsilon = check_number("epsilon", epsilon, above=0)
        first = next((p for p in mixer.parameters() if p.is_floating_point()), None)
        device = first.device if device is None and first is not None else device
        dtype = first.dtype if dtype is None and first is not None else dtype
        self.mixer = mixer
        if isinstance(feed_forward, nn.Module):
            self.feed_forward: nn.Module | None = feed_forward
        else:
            width = 0 if feed_forward is None else check_count("feed_forward", feed_forward, 0)
            network = partial(FeedForward, self.dim, activation=activation, device=device, dtype=dtype)
            self.feed_forward = network(width) if width else None
        check_device(device)
        check_dtype(dtype)
        self.mixer_norm = nn.LayerNorm(self.dim, epsilon, device=device, dtype=dtype) if norm else None
        both = norm and self.feed_forward is not None
        self.feed_forward_norm = nn.LayerNorm(self.dim, epsilon, device=device, dtype=dtype) if both else None

    def forward(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        **more: object,
    ) -> Float[Tensor, "*batch n dim"]:
        """Mix, add, and correct each token: see the class for shapes and errors.

        ``more`` goes to the mixer as it is: the ``score_bias`` of a :class:`attnlib.attention.Mixer`, for example.
        """
        x = check_tokens(x, self.dim, None if self.mixer_norm is None else self.mixer_norm.weight)
        given = {name: t for name, t in (("context", context), ("mask", mask)) if t is not None} | more
        y = self._half(x, "mixer", self.mixer, self.mixer_norm, given)
        if self.feed_forward is not None:
            y = self._half(y, "feed_forward", self.feed_forward, self.feed_forward_norm, {})
        return check_result(y, "x, or what the mixer or the parameters make of it, are")

    def _half(self, x: Tensor, name: str, part: nn.Module, norm: nn.Module | None, given: dict[str, object]) -> Tensor:
        """One half of the block: what a part makes of x, added to it, and the norm on its side."""
        made = part(norm(x) if norm is not None and self.norm == "before" else x, **given)
        if not isinstance(made, Tensor) or made.shape != x.shape:
            came = f"shape {tuple(made.shape)}" if isinstance(made, Tensor) else f"a {type(made).__name__}"
            raise ValueError(f"{name} returned {came}; expected a tensor of x's shape, {tuple(x.shape)}")
        made = nn.functional.dropout(made, self.dropout, self.training) if self.dropout else made
        made = made if self.step == 1 else self.step * made
        made = x + made if self.residual else made
        return norm(made) if norm is not None and self.norm == "after" else made

    def extra_repr(self) -> str:
        """Width, the side of the norm, the sum and the step, for printing."""
        return f"dim={self.dim}, norm={self.norm!r}, residual={self.residual}, step={self.step:g}, dropout={self.dropout:g}"
