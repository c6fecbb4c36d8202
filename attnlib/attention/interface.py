"""The mixer interface: linear maps into heads and back, the checks, and one hook for what a mixer does between them.

It is longer than 250 lines because every argument is spelled out, and explained where it stands.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnlib._core.autocast import autocasting
from attnlib._core.checks import (
    Empty,
    Scalar,
    broadcasts,
    check_beta,
    check_choice,
    check_count,
    check_device,
    check_dtype,
    check_field,
    check_flag,
    check_floating,
    check_number,
    check_tensors,
)
from attnlib._core.numerics import column, differentiable, open_mask
from attnlib._core.values import check_finite, check_result
from attnlib.attention.heads import Heads, Places, check_heads, placed


class Mixer(nn.Module):
    """What the attention modules share: linear maps into heads and back, the interface and its checks.

    A mixer takes ``x [*batch, n, dim]``, an optional ``context [*batch, m, context_dim]`` (default: x itself), an optional
    boolean ``mask`` (True: may be attended to) and an optional ``score_bias``, and returns ``[*batch, n, dim]``. Mask and bias
    broadcast to ``[*batch, n, m]`` as torch broadcasts; with one axis more than x they carry heads, ``[*batch, heads, n, m]``.

    To make a mixer, write :meth:`mix`, which gets queries, keys and values per head and returns one row per query.

    Args:
        dim: width of x and of the output.
        context_dim: width of the context; default ``dim``.
        heads, head_dim: number of heads, each with maps of its own, and their width; default 1 and ``dim // heads``.
        beta: inverse temperature, a number or a tensor ``[heads]``, one for each head; default ``head_dim ** -0.5``.
        learn_beta: make beta a parameter, one for each head, that starts at ``beta``. Its logarithm is learned, as
            ``log_beta [heads]``, so that no step of an optimiser makes it negative.
        causal: each token sees the context up to its own place; the last token sees all of it.
        dropout: the chance that a weight is set to zero while training; the others grow to keep the mean.
        bias: whether the linear maps have offsets.
        bare: leave out all linear maps (then one head, ``head_dim = context_dim = dim``).
        places: puts places into queries and keys, such as :func:`attnlib.attention.rotary_places`; default none.
        empty: a token that may attend to nothing is an ``"error"`` (default), or its heads return ``"zero"``. Where no value
            can be seen (compiling, exporting, under ``vmap``, inside ``no_value_checks``) the error is a NaN in its output.
        device, dtype: of the parameters, as in ``nn.Linear``.

    Raises:
        ValueError: sizes that are not positive integers or do not fit each other, ``beta <= 0``, a dropout outside [0, 1); in
            the call, wrong shapes, wrong dtypes, non-finite input, empty rows, a result that overflows.

    >>> class Mean(Mixer):  # every token gets the mean of all values: attention at infinite temperature
    ...     has_weights = False
    ...     def mix(self, heads):
    ...         return heads.value.mean(-2, keepdim=True).expand_as(heads.query)
    >>> Mean(2, bare=True)(torch.tensor([[[0.0, 0.0], [1.0, 2.0]]]))
    tensor([[[0.5000, 1.0000],
             [0.5000, 1.0000]]])
    """

    has_keys, has_values = True, True
    """Whether keys and values have maps of their own. Without, the queries serve as keys, and the keys as values."""

    has_weights = True
    """Whether there are weights that dropout could act on."""

    mixed_from = "x, context, score_bias"
    """What can make the result overflow."""

    alone: str | None = None
    """Why neither a context nor a score bias is taken; None where both are."""

    log_beta: Tensor | None

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
        empty: Empty = "error",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if self.alone and context_dim is not None and context_dim != dim:
            raise ValueError(f"context_dim is {context_dim!r:.40}; expected None or dim, {dim!r:.40}: a context is not taken")
        context_dim = None if self.alone else context_dim
        self.dim, self.heads = check_count("dim", dim), check_count("heads", heads)
        self.context_dim = self.dim if context_dim is None else check_count("context_dim", context_dim)
        if head_dim is None and self.dim % self.heads:
            raise ValueError(f"heads is {heads}, which does not divide dim {dim}; expected a divisor, or a head_dim")
        self.head_dim = self.dim // self.heads if head_dim is None else check_count("head_dim", head_dim)
        check_flag(learn_beta=learn_beta, causal=causal, bias=bias, bare=bare)
        if bare and (self.heads, self.head_dim, self.context_dim, bias) != (1, self.dim, self.dim, False):
            raise ValueError(
                f"bare is True with heads {heads}, head_dim {self.head_dim}, context_dim {self.context_dim}, bias {bias}; "
                f"expected 1, {dim}, {dim}, False: without maps there is nothing to split or to shift"
            )
        check_choice("empty", empty, ("error", "zero"))
        if places is not None and not callable(places):
            raise ValueError(f"places is a {type(places).__name__}; expected a function of query and key, or None")
        self.dropout = check_number("dropout", dropout, least=0)
        if self.dropout >= 1 or (self.dropout and not self.has_weights):
            raise ValueError(f"dropout is {dropout}; expected {'a number in [0, 1)' if self.has_weights else '0: no weights'}")
        self.causal, self.bare, self.places = causal, bare, places
        self.empty: Empty = empty
        check_device(device)
        check_dtype(dtype)
        self._set_beta(beta, learn_beta, device, dtype)
        if not bare:
            inner = self.heads * self.head_dim
            self.to_query = nn.Linear(self.dim, inner, bias=bias, device=device, dtype=dtype)
            if self.has_keys:
                self.to_key = nn.Linear(self.context_dim, inner, bias=bias, device=device, dtype=dtype)
            if self.has_values:
                self.to_value = nn.Linear(self.context_dim, inner, bias=bias, device=device, dtype=dtype)
            self.to_out = nn.Linear(inner, self.dim, bias=bias, device=device, dtype=dtype)

    def _set_beta(self, beta: Scalar | None, learn: bool, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        """A number stays one; a tensor is kept as its logarithm, a buffer or a parameter."""
        beta = check_beta(self.head_dim**-0.5 if beta is None else beta, shape=(self.heads,))
        if isinstance(beta, Tensor) and beta.requires_grad and not learn:
            raise ValueError("beta requires a gradient; expected learn_beta=True, which learns its logarithm from this start")
        self._number = float(beta) if not isinstance(beta, Tensor) else 0.0
        if not learn and not isinstance(beta, Tensor):
            self.log_beta = None
            return
        start = torch.as_tensor(beta, dtype=torch.float64).detach().log()
        start = start.expand(self.heads).to(device, dtype or torch.get_default_dtype(), copy=True)
        if learn:
            self.log_beta = nn.Parameter(start)
        else:
            self.register_buffer("log_beta", start)

    @property
    def beta(self) -> Scalar:
        """The inverse temperature, a number, or one for each head, ``[heads]``."""
        return self._number if self.log_beta is None else self.log_beta.exp()

    def forward(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        score_bias: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch n dim"]:
        """Mix the context into x: see the class for shapes and errors."""
        heads = self.split(x, context, mask, score_bias)
        return self.merge(self.mix(heads), heads)

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Return one row for each query, ``[*batch, heads, n, d]``: what a mixer is. To be written by each.

        Errors: a mixer without one raises NotImplementedError.
        """
        raise NotImplementedError(f"{type(self).__name__} has no mix; expected a method mix(self, heads) -> Tensor")

    def split(
        self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None, score_bias: Tensor | None = None
    ) -> Heads:
        """Check the input and apply the maps: queries, keys and values per head. Shapes and errors are those of the call."""
        for name, given in (("context", context), ("score_bias", score_bias)):
            if self.alone and given is not None:
                raise ValueError(f"{name} is given; expected None: {self.alone}")
        check_tensors(x=x)
        if x.ndim < 2 or x.shape[-1] != self.dim:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected [*batch, n, {self.dim}]")
        context = self._context(x, context)
        shape = (*x.shape[:-1], context.shape[-2])
        mask, score_bias = (self._with_heads(*named, shape) for named in (("mask", mask), ("score_bias", score_bias)))
        shape = (*shape[:-2], self.heads, *shape[-2:])
        seen = open_mask(mask, shape, self.empty, x, self.causal)
        if score_bias is not None:
            check_field("score_bias", score_bias, shape, x)
        if torch.is_grad_enabled():
            x, context = differentiable(x), differentiable(context)
        if self.bare:
            query, key = x.unsqueeze(-3), context.unsqueeze(-3)
            value = key
        else:
            # looked at before they are split, where it is quicker; a fused kernel may turn a NaN into a zero
            made = "x, context, or the parameters that make queries or keys of them, are"
            query = self._per_head(check_result(self.to_query(x), made))
            key = self._per_head(check_result(self.to_key(context), made)) if self.has_keys else query
            value = self._per_head(self.to_value(context)) if self.has_values else key
        if self.places is not None:
            query, key = placed(self.places, query, key)
            value = value if self.has_values else key
        return Heads(query, key, value, column(self.beta), seen, score_bias, self.dropout if self.training else 0.0)

    def merge(self, mixed: Float[Tensor, "*batch heads n d"], heads: Heads) -> Float[Tensor, "*batch n dim"]:
        """Put the heads side by side, ``[*batch, n, dim]``, with zeros for what attends to nothing, and map them back.

        Errors: ValueError if mixed has another shape than the heads, or if the result of finite input is not finite.
        """
        heads = check_heads(heads)
        check_tensors(mixed=mixed)
        mixed = differentiable(mixed) if torch.is_grad_enabled() else mixed
        check_floating(mixed=mixed, **({} if self.bare or autocasting(heads.query.device) else {"weight": self.to_out.weight}))
        expected = (*heads.query.shape[:-3], self.heads, heads.query.shape[-2], self.head_dim)
        if tuple(mixed.shape) != expected:
            raise ValueError(f"mixed has shape {tuple(mixed.shape)}; expected {expected}, one row for each query")
        merged = heads.seen.close(mixed).transpose(-3, -2).flatten(-2)
        result = merged if self.bare else self.to_out(merged)
        return check_result(result, f"what was mixed (from {self.mixed_from}) is")

    def _context(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Check dtypes, devices and values; the context, by default x."""
        given = {"x": x} if context is None else {"x": x, "context": context}
        if autocasting(x.device):  # the maps take any dtype then, and x and context may have different ones
            for name, tensor in given.items():
                check_floating(**{name: tensor})
        else:
            check_floating(**given, **({} if self.bare else {"weight": self.to_query.weight}))
        if context is None and self.context_dim != self.dim:
            raise ValueError(f"context is None; expected [*batch, m, {self.context_dim}], since dim is {self.dim}")
        width = (*x.shape[:-2], self.context_dim)
        if context is not None and (context.ndim != x.ndim or (*context.shape[:-2], context.shape[-1]) != width):
            expected = ", ".join(map(str, (*width[:-1], "m", width[-1])))
            raise ValueError(f"context has shape {tuple(context.shape)}; expected [{expected}]")
        limit = torch.finfo(torch.promote_types(x.dtype, torch.float32)).max ** 0.25  # its fourth power is still a number
        for name, large in zip(given, check_finite(**given), strict=True):
            if large > limit:
                raise ValueError(f"{name} has entries up to {large:.2g}; expected at most {limit:.2g}")
        rows, itself = (x, ", and x is its own context") if context is None else (context, "")
        if rows.shape[-2] == 0:
            raise ValueError(f"context has shape {tuple(rows.shape)}; expected at least one row to attend to{itself}")
        return x if context is None else context.to(x.dtype) if self.bare else context

    def _with_heads(self, name: str, tensor: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
        """A mask or a bias with an axis for heads; shape is ``[*batch, n, m]``."""
        if not isinstance(tensor, Tensor):
            return tensor
        check_tensors(**{name: tensor})
        heads = (*shape[:-2], self.heads, *shape[-2:])
        carries = tensor.ndim > len(shape)
        if not broadcasts(tensor.shape, heads if carries else shape):
            hint = "; a mask of the keys of each member is mask[:, None]" if tensor.ndim == 2 else ""
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}; expected one that broadcasts to {shape}, or with heads {heads}{hint}"
            )
        return tensor if carries or tensor.ndim < 3 else tensor.unsqueeze(-3)

    def _per_head(self, tensor: Tensor) -> Tensor:
        return tensor.unflatten(-1, (self.heads, self.head_dim)).transpose(-3, -2)

    def extra_repr(self) -> str:
        """Sizes and inverse temperature, for printing."""
        beta = f"{self._number:.4g}" if self.log_beta is None else "one per head"
        if self.log_beta is not None and not self.log_beta.is_meta:
            beta = "[" + ", ".join(f"{number:.4g}" for number in self.log_beta.detach().exp().tolist()) + "]"
        learned = ", learn_beta=True" if isinstance(self.log_beta, nn.Parameter) else ""
        return f"dim={self.dim}, heads={self.heads}, head_dim={self.head_dim}, beta={beta}{learned}, bare={self.bare}"
