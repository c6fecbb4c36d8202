"""Attention as a driven system: each head's tokens are spins, softmax couples them one way, and a block is a step of theirs."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import dropout as drop

from attnlib._core.autocast import working
from attnlib._core.checks import Empty, Scalar, check_choice, check_count, check_flag, check_number
from attnlib._core.numerics import attention_average, attention_weights_of, widened
from attnlib._core.values import check_result
from attnlib.attention import Heads, Mixer, Places, check_heads
from attnlib.kinetic.records import KineticAttentionRecord
from attnlib.kinetic.rest import Moments
from attnlib.kinetic.vectors import Gain, moved, moved_by, responded

MixerClosure = Literal["naive", "moments"]
"""What stands for the spins after a step: their means, or their means and covariances."""

MixerStart = Literal["values", "zero"]
"""Where spins begin: along their drive, definite; or anywhere, with no mean."""


class KineticAttention(Mixer):
    r"""Attention as dynamics: tokens are vector spins, coupled by softmax, driven by their values, that take parallel steps.

    .. math:: m \leftarrow \phi(W_V x + p\, m), \qquad p_{ij} = \mathrm{softmax}_j(\beta\, q_i \cdot k_j), \qquad
        \mathrm{out} = W_O [m^h]_h

    Each head is a system of its own with one spin ``|s|^2 = head_dim`` for each token: its couplings are the head's attention
    weights, its drive is the token's value, and ``phi`` is the response of :func:`vector_response`. From values as definite
    spins, ``start="values"``, the first step is the exact mean. With one head and ``bare=True`` it is a block whose norm comes
    after the sum, ``RMSNorm(x + attention)``, where ``spin_beta`` is large. From the second step on means stand for spins:

    - ``closure="naive"`` takes them for spins, as a stack of blocks does, at the price of attention;
    - ``closure="moments"`` carries covariances along by :func:`moments_step`, at the price of ``n^3`` a step. What other tokens
      fluctuate stands where a norm has its epsilon.

    There is no context and no score bias: spins are x's own tokens. A token that may attend to nothing has its drive alone, and
    its output is zero, as in every mixer. Values are expected of order one for each component.

    Args:
        steps: number of steps, default 1.
        closure: ``"naive"`` (default) or ``"moments"``.
        start: ``"values"`` (default), spins along the values, as long as spins are; or ``"zero"``, spins that point anywhere:
            then the first step mixes no means.
        spin_beta: inverse temperature of the spins, finite and above 0; default 1. That of the scores is ``beta``.
        gain: ``"half"`` (default), ``"limit"`` or ``"exact"``, as in :func:`vector_response`.
        twice_differentiable: take formulas that can be differentiated more than once, at the price of speed and memory.

    The other arguments are those of :class:`attnlib.attention.Mixer`; context_dim can only be dim. Dropout acts on the weights,
    the same ones in all steps. Called with x ``[*batch, n, dim]`` and maybe a mask, it returns ``[*batch, n, dim]``.

    Raises:
        ValueError: as :class:`attnlib.attention.Mixer`; also a context, a score bias, ``steps < 1``, ``spin_beta <= 0``,
            heads of one component with the exact gain.

    Source: Bal 2023 and 2026 for a block as a step of driven vector spins; the moments are those of :func:`moments_step`.

    >>> KineticAttention(8, heads=2, steps=3, closure="moments")(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    alone = "spins are x's own tokens"
    mixed_from = "x"

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
        steps: int = 1,
        closure: MixerClosure = "naive",
        start: MixerStart = "values",
        spin_beta: float | int = 1.0,
        gain: Gain = "half",
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
        check_choice("closure", closure, ("naive", "moments"))
        check_choice("start", start, ("values", "zero"))
        check_choice("gain", gain, ("limit", "half", "exact"))
        if gain == "exact" and self.head_dim < 2:
            raise ValueError(f"gain is 'exact' with head_dim {self.head_dim}; expected a head_dim of at least 2")
        self.twice_differentiable = twice_differentiable
        self.steps, self.spin_beta = check_count("steps", steps), check_number("spin_beta", spin_beta, above=0)
        self.closure: MixerClosure = closure
        self.start: MixerStart = start
        self.gain: Gain = gain

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Let each head's spins take their steps, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        if heads.key.shape != heads.query.shape or heads.score_bias is not None:
            raise ValueError("key and score_bias are not as many as queries and None; expected these: spins are x's own tokens")
        with working(heads.query):
            if self.closure == "naive" and self.steps == 1:
                m = self._respond(widened(heads.value), _alone(heads, self._once(heads)))
            elif self.closure == "naive":
                m = self._naive(widened(heads.value), self._weights(heads))[-1]
            else:
                m = self._moments(widened(heads.value), self._weights(heads))[-1][0]
        return m.to(heads.value.dtype)

    def explain(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> KineticAttentionRecord:
        """Output, couplings, drive, and the means step by step, as in :class:`KineticAttentionRecord`.

        What it returns carries gradients as the call's output does. Shapes and errors are those of the call.
        """
        heads = self.split(x, context, mask)
        with working(heads.query):
            drive, J = widened(heads.value), self._weights(heads)
            if self.closure == "naive":
                states, C, produced = self._naive(drive, J), None, None
            else:
                path = self._moments(drive, J)
                states, C = [m for m, _, _ in path], torch.stack(path[-1][1:], -3)
                produced = self.spin_beta * ((J - J.mT) * C[..., 1, :, :]).sum((-2, -1))
        kept = heads.query.dtype
        output = self.merge(states[-1].to(kept), heads)
        m = torch.stack(states).to(kept)
        more = (None if each is None else each.to(kept) for each in (C, produced))
        return KineticAttentionRecord(output, J.to(kept), drive.to(kept), m, *more)

    def _once(self, heads: Heads) -> Tensor:
        """What each spin feels of the others at the start, without the weights where a fused kernel need not make them."""
        start = self._begin(widened(heads.value))
        found = attention_average(
            heads.query,
            heads.key,
            start.to(heads.value.dtype),
            heads.beta,
            heads.seen,
            dropout=heads.dropout,
            explicit=self.twice_differentiable,
        )
        return found.to(start.dtype)

    def _weights(self, heads: Heads) -> Tensor:
        """Couplings ``[*batch, heads, n, n]``, the same for all steps; rows of zeros for who may attend to nothing."""
        weights = _alone(heads, attention_weights_of(heads.query, heads.key, heads.beta, heads.seen))
        return drop(weights, float(heads.dropout)) if heads.dropout else weights

    def _begin(self, drive: Tensor) -> Tensor:
        """Means to begin with: along the drive and as long as a spin, however long the drive; none where that is zero."""
        if self.start == "zero":
            return torch.zeros_like(drive)
        size = drive.detach().abs().amax(-1, keepdim=True)
        unit = drive / torch.where(size > 0, size, 1.0)
        return unit * torch.where(size > 0, unit.square().mean(-1, keepdim=True), 1.0).rsqrt()

    def _respond(self, drive: Tensor, felt: Tensor) -> Tensor:
        """The mean of spins in their drive and what they feel of others."""
        return responded(
            check_result(self.spin_beta * (drive + felt), "x, beta, spin_beta, or the parameters that make values of x, are"),
            self.gain,
        )[0]

    def _naive(self, drive: Tensor, J: Tensor) -> list[Tensor]:
        """Means at the start and after each step."""
        states = [self._begin(drive)]
        for _ in range(self.steps):
            states.append(self._respond(drive, J @ states[-1]))
        return states

    def _moments(self, drive: Tensor, J: Tensor) -> list[Moments]:
        """Means and covariances at the start and after each step, and the delayed ones of the step."""
        m = self._begin(drive)
        own = (m == 0).all(-1).to(m.dtype)  # of definite spins none
        C, K, x = torch.diag_embed(own), self.spin_beta * J, self.spin_beta * drive
        path = [(m, C, torch.zeros_like(C)), moved_by(K, m, K * own.unsqueeze(-2), x, self.gain)]
        for _ in range(1, self.steps):
            m, C = path[-1][:2]
            path.append(moved(K, m, C, x, self.gain))
        return path

    def extra_repr(self) -> str:
        """Sizes, temperatures, steps and closure, for printing."""
        own = f"steps={self.steps}, closure={self.closure!r}, start={self.start!r}, spin_beta={self.spin_beta:.4g}"
        return f"{super().extra_repr()}, {own}"


def _alone(heads: Heads, rows: Tensor) -> Tensor:
    """Zeros for the tokens that may attend to nothing: others feel their spins, so no fill of the output's may stand there."""
    return rows if heads.seen.rows is None else torch.where(heads.seen.rows, rows, 0.0)
