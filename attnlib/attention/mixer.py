"""Multi-head softmax attention as a mixer, to and from torch's own module."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnlib._core.checks import Empty, Scalar, check_flag, check_kind
from attnlib._core.numerics import attention_average, attention_weights_of
from attnlib.attention.heads import Heads, Places, check_heads
from attnlib.attention.interface import Mixer
from attnlib.attention.records import AttentionRecord


class SoftmaxAttention(Mixer):
    r"""Multi-head softmax attention.

    .. math:: \mathrm{out} = W_O \big[\mathrm{attend}(W_Q^h x,\; W_K^h c,\; W_V^h c)\big]_{h}

    Arguments, shapes and errors are those of :class:`Mixer`. With ``bare=True`` it is ``attend(x, context, context)``.

    Args:
        twice_differentiable: take the explicit formula, which can be differentiated more than once and forward, at the price
            of speed and memory.

    Source: Vaswani et al. 2017, section 3.2.

    >>> SoftmaxAttention(8, heads=2)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

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
        twice_differentiable: bool = False,
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
        check_flag(twice_differentiable=twice_differentiable)
        self.twice_differentiable = twice_differentiable

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Average each head's values, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        return attention_average(
            heads.query,
            heads.key,
            heads.value,
            heads.beta,
            heads.seen,
            heads.score_bias,
            dropout=heads.dropout,
            explicit=self.twice_differentiable,
        )

    def explain(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        *,
        score_bias: Float[Tensor, "..."] | None = None,
    ) -> AttentionRecord:
        """Output, weights, scores, queries, keys and values of a call, as in :class:`AttentionRecord`.

        What it returns carries gradients as the call's output does. Shapes and errors are those of the call.
        """
        heads = self.split(x, context, mask, score_bias)
        query, key = (t.to(torch.promote_types(t.dtype, torch.float32)) for t in (heads.query, heads.key))
        weights = attention_weights_of(heads.query, heads.key, heads.beta, heads.seen, heads.score_bias)
        output = self.merge((weights @ heads.value.to(weights.dtype)).to(heads.value.dtype), heads)
        weights = heads.seen.close(weights).to(heads.query.dtype)
        return AttentionRecord(output, weights, query @ key.mT, heads.query, heads.key, heads.value)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "SoftmaxAttention":
        """Make a mixer with a copy of the weights of torch's module, which gives the same output.

        Ours takes the batch first, whatever ``module.batch_first`` says; a query stays x, and key and value are the context.

        Raises:
            ValueError: not an ``nn.MultiheadAttention``; one with ``add_bias_kv`` or ``add_zero_attn``, or whose keys and
                values have different widths.
        """
        check_kind("module", module, nn.MultiheadAttention, "a torch.nn.MultiheadAttention")
        if module.bias_k is not None or module.add_zero_attn or module.kdim != module.vdim or module.dropout == 1:
            raise ValueError(
                f"module has add_bias_kv {module.bias_k is not None}, add_zero_attn {module.add_zero_attn}, "
                f"kdim {module.kdim}, vdim {module.vdim}, dropout {module.dropout}; "
                "expected False, False, equal widths, and a number below 1"
            )
        weight = module.out_proj.weight
        made = cls(
            module.embed_dim,
            module.kdim,
            heads=module.num_heads,
            dropout=module.dropout,
            bias=module.in_proj_bias is not None,
            device=weight.device,
            dtype=weight.dtype,
        )
        if module.in_proj_weight is not None:
            maps = module.in_proj_weight.chunk(3)
        else:
            maps = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        with torch.no_grad():
            made.to_out.load_state_dict(module.out_proj.state_dict())
            for linear, copied in zip((made.to_query, made.to_key, made.to_value), maps, strict=True):
                linear.weight.copy_(copied)
            if module.in_proj_bias is not None:
                for linear, copied in zip(
                    (made.to_query, made.to_key, made.to_value), module.in_proj_bias.chunk(3), strict=True
                ):
                    linear.bias.copy_(copied)
        return made.train(module.training)

    def to_torch(self) -> nn.MultiheadAttention:
        """Make torch's module, with the batch first, with a copy of these weights.

        Its masks go with the call and are True where attention is forbidden, the opposite of ours.

        Raises:
            ValueError: what torch's module cannot do: a bare module, heads wider or narrower than ``dim / heads``, another
                beta, a causal order or places of its own.
        """
        standard = {
            "bare": (self.bare, False),
            "heads * head_dim": (self.heads * self.head_dim, self.dim),
            "beta": (None if self.log_beta is not None else self.beta, self.head_dim**-0.5),
            "causal": (self.causal, False),
            "places": (self.places, None),
        }
        for name, (own, wanted) in standard.items():
            if own != wanted:
                raise ValueError(f"{name} is {own}; expected {wanted}, which is all that nn.MultiheadAttention does")
        weight, bias = self.to_out.weight, self.to_out.bias is not None
        made = nn.MultiheadAttention(
            self.dim,
            self.heads,
            dropout=self.dropout,
            bias=bias,
            kdim=self.context_dim,
            vdim=self.context_dim,
            batch_first=True,
            device=weight.device,
            dtype=weight.dtype,
        )
        maps = (self.to_query, self.to_key, self.to_value)
        with torch.no_grad():
            made.out_proj.load_state_dict(self.to_out.state_dict())
            if made.in_proj_weight is not None:
                made.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
            else:
                for target, linear in zip((made.q_proj_weight, made.k_proj_weight, made.v_proj_weight), maps, strict=True):
                    target.copy_(linear.weight)
            if bias:
                made.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))
        return made.train(self.training)
