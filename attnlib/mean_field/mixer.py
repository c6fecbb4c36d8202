"""Attention as the response of vector spins with learned couplings, as a mixer.

It is longer than 250 lines because every argument is spelled out, and explained where it stands.
"""

from functools import partial
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnlib._core.autocast import working
from attnlib._core.checks import Empty, Scalar, check_beta, check_choice, check_count, check_flag, check_number
from attnlib._core.convergence import ConvergenceError, OnFailure
from attnlib._core.numerics import differentiable
from attnlib._core.systems import apart_by, together_by
from attnlib._core.values import check_result
from attnlib.attention import Heads, Mixer, Places, check_heads
from attnlib.mean_field.bounded import bounded_couplings, strongest
from attnlib.mean_field.couplings import flat_couplings, stable_scale, symmetric_couplings
from attnlib.mean_field.equations import Corrected, Equations, safe_length
from attnlib.mean_field.gaussian import means
from attnlib.mean_field.priors import Prior, check_prior
from attnlib.mean_field.records import MeanFieldRecord
from attnlib.mean_field.vectors import Gaussian
from attnlib.solve import FixedPoint, Method, fixed_point

Onsager = Literal["exact", "none", "neural"]
"""What is taken off a spin's field for its own trace on the others: adaptive TAP's term, nothing, or what a network says."""


class MeanFieldAttention(Mixer):
    r"""Attention as a collective response: tokens are fields on vector spins, outputs are magnetisations.

    .. math:: m_i = \langle S \rangle_{a_i + \beta h_i}, \qquad a_i = \beta \sum_j J_{ij} m_j - r_i, \qquad
        h_i = W_Q x_i, \qquad \mathrm{out}_i = W_O\, m_i

    Each head is a system of its own, with one spin of ``head_dim`` components for each token and couplings
    ``J [sites, sites, head_dim, head_dim]`` that are learned for each pair of places. The reaction ``r_i`` is what a spin's own
    trace on its neighbours feeds back: ``V_i m_i`` of adaptive TAP (``"exact"``), nothing (``"none"``), or what a network makes
    of ``m_i`` (``"neural"``). With a Gaussian prior V cancels: one linear solve, factorised once for the whole batch.

    There are no keys, values or scores: a context and a score bias are refused, and so is dropout. Fewer tokens than sites
    use the couplings of the first places. A mask takes spins away: each token answers in the system of the tokens that it may
    see, as if the others were not there. That is one system for each member where the mask is the same for all queries, and one
    for each query where it is not. A token that may not see itself is in no system of its own, and its means are zero. The
    causal order costs no more than none with a Gaussian prior, whose Cholesky factor holds those of all prefixes.

    Args:
        sites: the largest number of tokens.
        prior: what a spin is; default ``Gaussian(1.0, head_dim)``. Its spins may also have fewer components, which divide
            ``head_dim``: ``Binary()`` makes each component an Ising spin.
        onsager: which reaction, as above; default ``"exact"``.
        symmetric, symmetric_inside, self_coupling: which symmetries the couplings are given, as
            :func:`symmetric_couplings` says; default symmetric across sites, without self-coupling. Without the symmetry there
            is no Gibbs measure, and no exact reaction but the Gaussian prior's.
        largest: the largest eigenvalue that ``beta J`` starts with, times the prior's variance; default 0.5.
        bound: what that eigenvalue never exceeds; default 0.95. Below 1 the system is stable. Where the parameters of a head
            go further in training, the modes beyond the bound lose what passes it, as :func:`bounded_couplings` says, and
            gradients know it; inside the bound nothing is changed, not a bit. None: the couplings are what the parameters say.
        method, tolerance, max_steps, on_failure: of :func:`attnlib.solve.fixed_point`, where there is something to iterate.
            Before an error ``"damped"`` steps are followed by as many of Anderson's, from where they ended.

    The other arguments are those of :class:`attnlib.attention.Mixer`; context_dim can only be dim.

    Raises:
        ValueError: as :class:`attnlib.attention.Mixer`; also a context, a score bias, more tokens than sites, a Gaussian system
            whose couplings make it unstable, an exact reaction for asymmetric ones.
        ConvergenceError: the iteration stops short, and ``on_failure`` is ``"error"``.

    Source: Bal 2021, Deep Implicit Attention, with an exact solution where that has an iteration.

    >>> MeanFieldAttention(8, sites=5, heads=2)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    has_keys, has_values, has_weights = False, False, False
    alone = "couplings belong to pairs of x's own places"
    mixed_from = "x, or the couplings,"

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        sites: int,
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
        prior: Prior | None = None,
        onsager: Onsager = "exact",
        symmetric: bool = True,
        symmetric_inside: bool = False,
        self_coupling: bool = False,
        largest: float | int = 0.5,
        bound: float | int | None = 0.95,
        method: Method = "damped",
        tolerance: float | int | None = None,
        max_steps: int = 200,
        on_failure: OnFailure = "error",
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
        self.sites, d = check_count("sites", sites), self.head_dim
        check_flag(symmetric=symmetric, symmetric_inside=symmetric_inside, self_coupling=self_coupling)
        check_choice("onsager", onsager, ("exact", "none", "neural"))
        check_choice("method", method, ("damped", "anderson", "newton"))
        check_choice("on_failure", on_failure, ("error", "warn"))
        self.prior = check_prior(Gaussian(1.0, d) if prior is None else prior)
        if d % self.prior.d:
            raise ValueError(f"prior has spins of {self.prior.d} components; expected a divisor of head_dim, {d}")
        self.linear = isinstance(self.prior, Gaussian) and onsager != "neural"
        if onsager == "exact" and not symmetric and not self.linear:
            raise ValueError("symmetric is False; expected True for an exact reaction: without it there is no Gibbs measure")
        self.onsager = onsager
        self.method: Method = method
        self.symmetries = {"across": symmetric, "inside": symmetric_inside, "self_coupling": self_coupling}
        self.tolerance = None if tolerance is None else check_number("tolerance", tolerance, above=0)
        self.max_steps = check_count("max_steps", max_steps)
        self.bound = None if bound is None else check_number("bound", bound, above=0)
        largest = check_number("largest", largest, above=0)
        if self.bound is not None and largest > self.bound:
            raise ValueError(f"largest is {largest} and bound {bound}; expected largest within the bound, or bound=None")
        self.on_failure: OnFailure = on_failure
        free = self.prior.covariance(torch.zeros(1, self.prior.d, dtype=torch.float64))
        self._variance = torch.linalg.eigvalsh(free).max().item()
        scale = stable_scale(self.sites, d, largest=largest) * (2**0.5 if symmetric else 1.0)
        self.couplings = nn.Parameter(torch.empty(self.heads, self.sites, self.sites, d, d, device=device, dtype=dtype))
        with torch.no_grad():
            beta = self.beta if not isinstance(self.beta, Tensor) else self.beta.detach()[:, None, None, None, None]
            nn.init.normal_(self.couplings, std=scale / self._variance).div_(beta)
        check_result(self.couplings, "largest or the inverse of beta, and so the couplings, are")
        self.reaction: nn.Sequential | None = None
        if onsager == "neural":
            last = nn.Linear(2 * d, d, device=device, dtype=dtype)
            self.reaction = nn.Sequential(nn.Linear(d, 2 * d, device=device, dtype=dtype), nn.Tanh(), last)
            nn.init.zeros_(last.weight)  # it starts as naive mean field
            nn.init.zeros_(last.bias)

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Respond to each head's fields, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        if not heads.query.shape[-2]:
            return heads.query
        return check_result(self._respond(heads)[0], "heads (query or beta) or the couplings are")

    def explain(
        self,
        x: Float[Tensor, "*batch n dim"],
        context: Float[Tensor, "*batch m context_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> MeanFieldRecord:
        """Output, fields, means, couplings and the evidence of a call, as in :class:`MeanFieldRecord`.

        What it returns carries gradients as the call's output does. Shapes and errors are those of the call.
        """
        heads = self.split(x, context, mask)
        m, J, (residual, iterations, converged) = self._respond(heads)
        if residual.ndim > m.ndim - 2:  # one system for each query, or for each member
            residual, iterations, converged = residual.amax(-1), iterations.amax(-1), converged.all(-1)
        norms = J.square().sum((-2, -1)).sqrt()
        evidence = (t.expand(m.shape[:-2]) for t in (residual, iterations, converged))
        return MeanFieldRecord(self.merge(m, heads), m, heads.query, J, norms, *evidence)

    def _couplings(self, n: int) -> Tensor:
        """Couplings of the first n sites, as bounded in the system of all, ``[heads, n, n, d, d]``."""
        if self.bound is None:
            return self._unbounded(n)
        return bounded_couplings(self._unbounded(self.sites), self.bound / self._variance, **self.symmetries)[:, :n, :n]

    def _unbounded(self, n: int) -> Tensor:
        """What the parameters say, with symmetries and beta, ``[heads, n, n, d, d]``, in single precision or better."""
        raw = differentiable(self.couplings)[:, :n, :n]
        J = symmetric_couplings(raw, **self.symmetries).to(torch.promote_types(raw.dtype, torch.float32))
        beta = self.beta.to(J.dtype)[:, None, None, None, None] if isinstance(self.beta, Tensor) else self.beta
        return check_result(beta * J, "beta or the couplings are")

    def _respond(self, heads: Heads) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Means ``[*batch, heads, n, d]``, the couplings, and residual, iterations and converged of each system."""
        query, (n, d) = heads.query, heads.query.shape[-2:]
        if heads.key.shape != query.shape or heads.score_bias is not None:
            raise ValueError("key and score_bias are not the query and None; expected these: sites have couplings, not scores")
        if n > self.sites:
            raise ValueError(f"x has {n} tokens, a query each; expected at most {self.sites}, one for each site")
        with working(query):
            blocks = self._couplings(n)
            J = flat_couplings(blocks)
            beta = check_beta(heads.beta, like=J, shape=query.shape[:-1])
            beta = beta.to(J.dtype)[..., None] if isinstance(beta, Tensor) and beta.ndim else beta
            fields = (beta * query.to(J.dtype)).flatten(-2)
            prefixes = heads.seen.causal and self.linear and self.symmetries["across"]
            mask = None if prefixes else heads.mask
            if mask is None:
                m, evidence = self._solve(J, fields, J, prefixes)
                return m.unflatten(-1, (n, d)).to(query.dtype), blocks, evidence
            apart, systems, mask = apart_by(mask, J, fields, query.shape[:-2], n)
            m, evidence = self._solve(apart, systems, J.unsqueeze(-3), False)
            return together_by(mask, m, d).to(query.dtype), blocks, evidence

    def _solve(self, J: Tensor, h: Tensor, whole: Tensor, prefixes: bool) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Means of systems, ``[..., k]`` for fields ``[..., k]``, and the evidence of each; ``whole`` has all couplings."""
        if self.linear:
            zero, names = h.new_zeros(h.shape[:-1]), "the couplings of MeanFieldAttention (see bound) or beta are"
            width, prior = self.head_dim if prefixes else 0, cast("Gaussian", self.prior)
            m = means(J, h, prior, names, symmetric=self.symmetries["across"], width=width)
            return m, (zero, zero.long(), zero == 0)
        if self.reaction is not None:
            equations: Equations = Corrected(J, h, self.prior, self.reaction, self.head_dim)
        else:
            equations = Equations(J, h, self.prior, None if self.onsager == "exact" else lambda m: (None, None))
        length = safe_length(whole, self._variance, self.symmetries["across"])
        solve = partial(
            fixed_point,
            equations.image,
            step=equations.step if self.onsager == "exact" else lambda m: length.expand(m.shape[:-1]),
            tolerance=self.tolerance,
            max_steps=self.max_steps,
            parts=equations.parts,
            scale=equations.scale(),
        )
        start = equations.start(None)
        try:
            found = solve(start, method=self.method, on_failure=self.on_failure)
            iterations = found.iterations
        except ConvergenceError as error:
            if self.method != "damped" or error.found is None:
                raise
            first = cast("FixedPoint", error.found)
            found = solve(first.solution, method="anderson")  # those that have arrived stay where they are
            iterations = first.iterations + torch.where(first.converged, 0, found.iterations)
        return found.solution[..., : h.shape[-1]], (found.residual, iterations, found.converged)

    @torch.no_grad()
    def largest_eigenvalue(self) -> Float[Tensor, "heads"]:
        """The largest eigenvalue of ``beta J`` times the prior's variance, ``[heads]``: a Gaussian system is stable below 1.

        For asymmetric couplings it is the largest singular value. Errors: ValueError on couplings that are not finite.
        """
        return strongest(flat_couplings(self._couplings(self.sites)), self.symmetries["across"]) * self._variance

    @torch.no_grad()
    def stabilise(self, most: float | int = 0.95) -> None:
        """Scale each head's parameters down, in place, until :meth:`largest_eigenvalue` is at most this, also without a bound.

        A projection to follow a step of training with ``bound=None``. Shapes stay. Errors: ValueError unless ``most > 0``.
        """
        now = strongest(flat_couplings(self._unbounded(self.sites)), self.symmetries["across"]) * self._variance
        shrink = (check_number("most", most, above=0) / now.clamp(min=1e-30)).clamp(max=1.0)
        self.couplings.mul_(shrink.to(self.couplings.dtype)[:, None, None, None, None])

    def extra_repr(self) -> str:
        """Sizes, prior and reaction, for printing."""
        return f"{super().extra_repr()}, sites={self.sites}, prior={self.prior}, onsager={self.onsager!r}"
