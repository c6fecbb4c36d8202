"""Attention as the exact response of a free energy: vector spins of fixed length, as a mixer.

It is longer than 250 lines because every argument is spelled out, and explained where it stands.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnlib._core.autocast import working
from attnlib._core.checks import Empty, Scalar, check_choice, check_count, check_number
from attnlib._core.convergence import OnFailure
from attnlib._core.numerics import differentiable
from attnlib._core.systems import together_by
from attnlib._core.values import check_finite, refuted
from attnlib.attention import Heads, Mixer, Places, check_heads
from attnlib.free_energy.feedback import Slopes, couplings_and_slopes, feedback
from attnlib.free_energy.newton import solved
from attnlib.free_energy.records import VectorSpinRecord
from attnlib.free_energy.spectral import solved as spherical
from attnlib.free_energy.system import default_tolerance, overlaps_of, precise, resolved
from attnlib.mean_field import stable_scale, symmetric_couplings

Couplings = Literal["free", "tanh", "softmax"]
"""What couples the spins: learned numbers for each pair of places, or a function of their fields."""

Response = Literal["full", "mean"]
"""All of ``-dF/dh_i``, or ``<s_i>`` alone, without what the motion of the couplings adds."""

Lengths = Literal["each", "total"]
"""What is fixed: the length of every spin, by a z for each; or the sum of all squared lengths, by one z."""

Evidence = tuple[Tensor, Tensor, Tensor]
"""Residual, iterations and whether it converged."""

Solved = tuple[Tensor, Tensor, Tensor | None, Evidence]
"""z, means and, where they are at hand, covariances."""


class VectorSpinAttention(Mixer):
    r"""Attention as a derivative of a free energy: tokens are fields on vector spins of fixed length, outputs their responses.

    .. math:: \mathrm{out}_i = -W_O \frac{dF}{dh_i}, \qquad
        -\frac{dF}{dh_i} = \langle s_i \rangle
        + \frac12 \sum_{mn} \langle s_m \cdot s_n \rangle \frac{\partial J_{mn}}{\partial h_i}, \qquad h_i = W_Q x_i

    Each head is a system of its own, with one spin of ``head_dim`` components for each token, and is solved at the saddle
    point of :func:`saddle_point`: ``<s> = (diag(z) - J)^-1 h``, so that to lowest order a token keeps its own field, as along a
    residual connection, and to all orders it hears from the others. The tokens are expected normalised, as before attention
    in a transformer: then fields are of order one for each component.

    With ``couplings="free"`` each pair of places has one learned number, and it matters where a token stands. ``"tanh"`` and
    ``"softmax"`` make the couplings from the fields by :func:`field_couplings`, with a learned kernel and strength for each
    head: the module is then equivariant under permutations, and takes any number of tokens.

    There are no keys, values or scores: a context and a score bias are refused, and so is dropout. A mask takes spins away:
    each token answers in the system of the tokens that it may see. That is one system for each member where the mask is the
    same for all queries, and one for each query, at n times the cost, where it is not; so too with the causal order. A token
    that may not see itself is in no system of its own, and its response is zero.

    Args:
        sites: the largest number of tokens; needed for free couplings, which belong to places.
        couplings: ``"free"`` (default), ``"tanh"`` or ``"softmax"``.
        response: ``"full"`` (default) or ``"mean"``; the same for free couplings.
        largest: the largest eigenvalue that ``beta J`` starts with where there are many sites; default 0.5. With few it starts
            lower: at 9 sites and 0.5 with 0.38, give or take 0.06. No value is too large: z follows.
        tolerance, max_steps, on_failure: of :func:`saddle_point`.
        lengths: ``"each"`` (default), a z for each spin as in :func:`saddle_point`; or ``"total"``, one z for all spins of a
            system, as in :func:`spherical_point`: free couplings without a mask are then diagonalised once for the whole batch.
            Compiled for training under torch 2.6, its loop wants ``torch._functorch.config.ban_recompute_used_far_apart``
            set to False: that version's partitioner takes nine times as long for each step. Later ones do not.

    The other arguments are those of :class:`attnlib.attention.Mixer`; context_dim can only be dim. Called with x
    ``[*batch, n, dim]`` and maybe a mask, it returns ``[*batch, n, dim]``.

    Raises:
        ValueError: as :class:`attnlib.attention.Mixer`; also a context, a score bias, more tokens than sites.
        ConvergenceError: a solution is not found, and ``on_failure`` is ``"error"``.

    Source: Bal 2021, Transformers from Spin Models and Transformers Are Secretly Collectives of Spin Systems.

    >>> VectorSpinAttention(8, heads=2, couplings="softmax")(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    has_keys, has_values, has_weights = False, False, False
    alone = "couplings belong to pairs of x's own tokens"
    mixed_from = "x, or the couplings,"

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        sites: int | None = None,
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
        couplings: Couplings = "free",
        response: Response = "full",
        largest: float | int = 0.5,
        tolerance: float | int | None = None,
        max_steps: int = 100,
        on_failure: OnFailure = "error",
        lengths: Lengths = "each",
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
        check_choice("couplings", couplings, ("free", "tanh", "softmax"))
        check_choice("response", response, ("full", "mean"))
        check_choice("on_failure", on_failure, ("error", "warn"))
        check_choice("lengths", lengths, ("each", "total"))
        self.form: Couplings = couplings
        self.response: Response = response
        self.lengths: Lengths = lengths
        self.sites = None if sites is None else check_count("sites", sites)
        largest = check_number("largest", largest, above=0)
        self.tolerance = None if tolerance is None else check_number("tolerance", tolerance, above=0)
        self.max_steps = check_count("max_steps", max_steps)
        self.on_failure: OnFailure = on_failure
        beta = self.beta.detach() if isinstance(self.beta, Tensor) else self.beta
        if couplings == "free":
            if self.sites is None:
                raise ValueError("sites is None; expected the largest number of tokens, since couplings are free")
            self.couplings = nn.Parameter(torch.empty(self.heads, self.sites, self.sites, device=device, dtype=dtype))
            with torch.no_grad():
                std = stable_scale(self.sites, 1, largest=largest) * 2**0.5
                nn.init.normal_(self.couplings, std=std).div_(beta[:, None, None] if isinstance(beta, Tensor) else beta)
        else:
            d = self.head_dim
            self.kernel = nn.Parameter(torch.empty(self.heads, d, d, device=device, dtype=dtype))
            self.strength = nn.Parameter(torch.empty(self.heads, device=device, dtype=dtype))
            with torch.no_grad():
                nn.init.normal_(self.kernel, std=(2 / d) ** 0.5)
                self.strength.fill_(largest).div_(beta)
        start = self.couplings if couplings == "free" else self.strength
        if refuted(lambda: torch.isfinite(start).all()):
            raise ValueError(f"largest / beta is too large for {start.dtype}; expected a smaller largest, or a larger beta")

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Respond to each head's fields, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        if not heads.query.shape[-2]:
            return heads.query
        m, more, *_ = self._respond(heads)
        return (m + more).to(heads.query.dtype)

    def explain(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> VectorSpinRecord:
        """Output, fields, means, second terms, couplings, z and the evidence of a call, as in :class:`VectorSpinRecord`.

        What it returns carries gradients as the call's output does. Shapes and errors are those of the call.
        """
        heads = self.split(x, context, mask)
        m, more, z, (residual, iterations, converged) = self._respond(heads)
        if residual.ndim > m.ndim - 2:  # one system for each query, or for each member
            residual, iterations, converged = residual.amax(-1), iterations.amax(-1), converged.all(-1)
        with working(x):
            h, beta = self._fields(heads)
            J = (beta * self._couplings(h)[0]).expand(*m.shape[:-1], m.shape[-2])
        parts = (t.to(x.dtype) for t in (m, more, h, J, z, residual))
        m, more, h, J, z, residual = parts
        return VectorSpinRecord(self.merge(m + more, heads), m, more, h, J, z, residual, iterations, converged)

    def _fields(self, heads: Heads) -> tuple[Tensor, Scalar]:
        """Fields ``[*batch, heads, n, d]`` in single precision or better, and beta beside them."""
        query, n = heads.query, heads.query.shape[-2]
        if heads.key.shape != query.shape or heads.score_bias is not None:
            raise ValueError("key and score_bias are not the query and None; expected these: sites have couplings, not scores")
        if self.sites is not None and n > self.sites:
            raise ValueError(f"x has {n} tokens, a query each; expected at most {self.sites}, one for each site")
        h = query.to(torch.promote_types(query.dtype, torch.float32))
        return h, heads.beta.to(h.dtype)[..., None] if isinstance(heads.beta, Tensor) else float(heads.beta)

    def _couplings(self, h: Tensor, there: Tensor | None = None) -> tuple[Tensor, Slopes | None, Tensor | None]:
        """Couplings for fields ``[..., n, d]``, of spins that are there ``[..., n]``; and their slopes and the kernel."""
        n = h.shape[-2]
        if self.form == "free":
            raw = differentiable(self.couplings)[:, :n, :n].to(h.dtype)
            J = symmetric_couplings(raw[..., None, None])[..., 0, 0]
            if there is not None:
                kept = there.to(h.dtype)
                J = J.unsqueeze(-3) * kept.unsqueeze(-1) * kept.unsqueeze(-2)
            return J, None, None
        kernel, strength = (differentiable(t).to(h.dtype) for t in (self.kernel, self.strength))
        strength = strength[:, None, None]
        if there is not None:
            kernel, strength = kernel.unsqueeze(-3), strength.unsqueeze(-3)
        J, slopes = couplings_and_slopes(h, kernel, self.form, strength, there)
        return J, slopes, kernel

    def _respond(self, heads: Heads) -> tuple[Tensor, Tensor, Tensor, Evidence]:
        """Means and second terms ``[*batch, heads, n, d]``, beta z, and residual, iterations, converged of each system."""
        query, (n, d) = heads.query, heads.query.shape[-2:]
        with working(query):
            h, beta = self._fields(heads)
            mask = heads.mask
            if mask is not None:
                mask = differentiable(mask).expand(*query.shape[:-2], mask.shape[-2] if mask.ndim > 1 else 1, n)
                h = h.unsqueeze(-3) * mask.unsqueeze(-1).to(h.dtype)
                beta = beta.unsqueeze(-3) if isinstance(beta, Tensor) else beta
            J, slopes, kernel = self._couplings(h, mask)
            J, fields = beta * J, beta * h
            limit = torch.finfo(h.dtype).max ** 0.25 / n
            hot = max(check_finite(**{"x times beta": fields, "couplings times beta": J}))
            if hot > limit:
                raise ValueError(
                    f"x, the couplings (see largest) or beta are too large, up to {hot:.2g}; expected at most {limit:.2g}"
                )
            J, fields = precise(J, fields, hot)
            tolerance = default_tolerance(h.dtype) if self.tolerance is None else self.tolerance
            z, m, chi, evidence = self._solved(J, fields, tolerance, mask)
            more = torch.zeros_like(h)
            if slopes is not None and kernel is not None and self.response == "full":
                chi = resolved(J, fields, z).chi if chi is None else chi
                more = feedback(h, d * (overlaps_of(m) + chi).to(h.dtype), kernel, slopes)
            if mask is not None:
                m, z, more = (together_by(mask, t.flatten(-2), t.shape[-1]) for t in (m, z.unsqueeze(-1), more))
                z = z.squeeze(-1)
            return m, more, z, evidence

    def _solved(self, J: Tensor, h: Tensor, tolerance: float, there: Tensor | None) -> Solved:
        """Solve couplings that broadcast to ``[*batch, n, n]`` in fields ``[*batch, n, d]``, with one z or with many."""
        whole = J.expand(*h.shape[:-1], h.shape[-2])
        if self.lengths == "each":
            point = solved(whole, h, None, tolerance, self.max_steps, self.on_failure)
            return point.z, point.m, point.chi, (point.residual, point.iterations, point.converged)
        if there is None and J.ndim == 3:  # the same for all of the batch: a system for each head, in many fields
            together = h.reshape(-1, *h.shape[-3:]).transpose(0, 1)
            found = spherical(J, together, tolerance, self.max_steps, self.on_failure)
            m = found[1].transpose(0, 1).reshape(h.shape)
            z, residual, iterations, converged = (t.mT.reshape(h.shape[:-2]) for t in (found[0], *found[2:]))
        else:
            there = None if there is None else there.expand(h.shape[:-1])
            found = spherical(whole, h.unsqueeze(-3), tolerance, self.max_steps, self.on_failure, there)
            m = found[1].squeeze(-3)
            z, residual, iterations, converged = (t.squeeze(-1) for t in (found[0], *found[2:]))
        return z.unsqueeze(-1).expand(h.shape[:-1]), m, None, (residual, iterations, converged)

    def extra_repr(self) -> str:
        """Sizes and what couples the spins, for printing."""
        own = f"sites={self.sites}, couplings={self.form!r}, response={self.response!r}, lengths={self.lengths!r}"
        return f"{super().extra_repr()}, {own}"
