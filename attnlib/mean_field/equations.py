"""Mean-field equations as a map on magnetisations (and variances), with the step that keeps its iteration stable."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnlib._core.convergence import OnFailure, report_failure
from attnlib._core.numerics import inverse_of
from attnlib._core.spectra import eigenvalues, modes_of
from attnlib._core.values import check_result, verdict
from attnlib.mean_field.cavity import as_blocks, diagonal_blocks, match, reduced, safe_start
from attnlib.mean_field.couplings import block_diagonal
from attnlib.mean_field.priors import Prior
from attnlib.mean_field.records import MeanField
from attnlib.solve import fixed_point

ReactionOf = Callable[[Tensor], tuple[Tensor | None, Tensor | None]]
"""From the magnetisations: V of each spin, and what its motion adds to ``Lambda - J``. None stands for zero."""


class Equations:
    """``m = <S>`` of each spin in its field; couplings ``[*batch, k, k]`` and fields ``[*batch, k]`` have beta in them.

    With a reaction the state is m. Without one the reaction is that of adaptive TAP, and the state is m together with the
    local covariances, from which V follows.
    """

    def __init__(self, J: Tensor, h: Tensor, prior: Prior, reaction: ReactionOf | None) -> None:
        self.J, self.h, self.prior, self.reaction = J, h, prior, reaction
        self.k, self.d, self.matrices = J.shape[-1], prior.d, prior.reaction == "matrix"
        self._warm: Tensor | None = None
        self._last: tuple[Tensor, Tensor] | None = None
        eps = torch.finfo(J.dtype).eps
        self._tolerance = 64 * eps if self.matrices else eps**0.5  # the step for numbers is Newton's

    def start(self, m: Tensor | None) -> Tensor:
        """Where to start: the answer to the fields alone, or the magnetisations given."""
        field = self._spins(self.h.detach())
        first = self.prior.mean(field).flatten(-2) if m is None else m
        if self.reaction is not None:
            return first
        return torch.cat([first, self.prior.covariance(field).flatten(-3)], -1)

    @property
    def parts(self) -> tuple[int, ...]:
        """How many numbers of a state are magnetisations, and how many local covariances, which have a size of their own."""
        return (self.k,) if self.reaction is not None else (self.k, self.k * self.d)

    def scale(self) -> Tensor:
        """How large each part of the answer to the fields alone is, ``[*batch, parts]``; 1 where it is zero."""
        free = self.start(None)
        sizes = torch.stack([part.abs().amax(-1) for part in free.split(self.parts, -1)], -1)
        return torch.where(sizes > 0, sizes, 1.0)

    def image(self, state: Tensor) -> Tensor:
        """The right side of the equations, ``[*batch, state]``."""
        V, field = self.local(state)
        m = self.prior.mean(field, V).flatten(-2)
        return m if self.reaction is not None else torch.cat([m, self.prior.covariance(field, V).flatten(-3)], -1)

    def local(self, state: Tensor) -> tuple[Tensor | None, Tensor]:
        """V of each spin, and its field ``[*batch, n, d]``."""
        m = state[..., : self.k]
        felt = applied(self.J, m) + self.h
        if self.reaction is not None:
            V, _ = self.reaction(m)
            return V, self._spins(felt if V is None else felt - self._times(V, m))
        if self._last is not None and self._last[0] is state and not torch.is_grad_enabled():
            return self._last[1], self._spins(felt - self._times(self._last[1], m))  # the step asks right after the map
        eye = torch.eye(self.d, dtype=state.dtype, device=state.device)
        floor = torch.finfo(state.dtype).tiny ** 0.4  # a spin that hardly moves has no inverse, and the same V with a bit more
        C = state[..., self.k :].unflatten(-1, (-1, self.d, self.d)) + floor * eye
        safe = safe_start(self.J, self.d, self.matrices).expand(C.shape if self.matrices else C.shape[:-2])
        warm = safe if self._warm is None or self._warm.shape != safe.shape or self._warm.device != safe.device else self._warm
        V = match(self.J, C, warm, safe, self.matrices, self._tolerance)
        if not torch.is_grad_enabled():  # a derivative is taken at one state: asked for twice, it is the same
            self._warm, self._last = V, (state, V)
        return V, self._spins(felt - self._times(V, m))

    def step(self, state: Tensor) -> Tensor:
        """A step below the bound ``2 / lambda_max``, ``[*batch]``, and the best one where the smallest eigenvalue is known."""
        values = eigenvalues(self.stiffness(state))
        largest = values[..., -1].clamp(min=1e-3)
        return (2 / (largest + values[..., 0].clamp(min=0).maximum(0.1 * largest))).clamp(max=1.0)

    def stiffness(self, state: Tensor) -> Tensor:
        """``D^(1/2) (Lambda - J) D^(1/2)`` with D the local covariances, ``[*batch, k, k]``."""
        V, field = self.local(state)
        root = block_diagonal(torch.linalg.cholesky_ex(self.prior.covariance(field, V)).L)
        matrix = -self.J
        if V is not None:
            matrix = matrix + block_diagonal(as_blocks(V, self.d, self.matrices))
        if self.reaction is not None and (moved := self.reaction(state)[1]) is not None:
            matrix = matrix + moved
        eye = torch.eye(self.k, dtype=matrix.dtype, device=matrix.device)
        found = root.mT @ matrix @ root
        return eye + (found + found.mT) / 2

    def response(self, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The response ``[*batch, k, k]``, V, and the smallest eigenvalue of the stiffness."""
        V, field = self.local(state)
        root = block_diagonal(torch.linalg.cholesky_ex(self.prior.covariance(field, V)).L)
        stiffness = self.stiffness(state)
        least = eigenvalues(stiffness.detach())[..., 0]
        factor, failed = torch.linalg.cholesky_ex(stiffness)
        stable = (failed == 0)[..., None, None]
        values, axes = modes_of(stiffness.detach())  # an unstable solution's response, with no gradient
        floor = torch.finfo(values.dtype).eps
        signed = torch.where(values.abs() > floor, values, floor)
        rough = (axes / signed.unsqueeze(-2)) @ axes.mT
        safe = torch.where(stable, factor, torch.eye(self.k, dtype=factor.dtype, device=factor.device))
        inner = torch.where(stable, inverse_of(safe), rough)
        if V is None:
            sites = (*state.shape[:-1], self.k // self.d)
            V = field.new_zeros((*sites, self.d, self.d) if self.matrices else sites)
        return root @ inner @ root.mT, V, least

    def _spins(self, components: Tensor) -> Tensor:
        return components.unflatten(-1, (self.k // self.d, self.d))

    def _times(self, V: Tensor, m: Tensor) -> Tensor:
        spins = self._spins(m)
        return ((V @ spins.unsqueeze(-1))[..., 0] if self.matrices else V.unsqueeze(-1) * spins).flatten(-2)


class Corrected(Equations):
    """The naive equations, with what a network says of each site's means, ``[..., width]``, taken off its field."""

    def __init__(self, J: Tensor, h: Tensor, prior: Prior, network: nn.Module, width: int) -> None:
        super().__init__(J, h, prior, lambda m: (None, None))
        self.network, self.width = network, width

    def image(self, state: Tensor) -> Tensor:
        """The right side of the equations, ``[*batch, k]``."""
        sites = state.unflatten(-1, (-1, self.width)).to(next(self.network.parameters()).dtype)
        trace: Tensor = self.network(sites).to(state.dtype).flatten(-2)
        return self.prior.mean(self._spins(applied(self.J, state) + self.h - trace)).flatten(-2)


def applied(J: Tensor, m: Tensor) -> Tensor:
    """``J m`` for states ``[*more, *batch, k]`` and couplings ``[*batch, k, k]``; shared ones are read once, not for each."""
    more = m.ndim + 1 - J.ndim
    if more <= 0:
        return (J @ m.unsqueeze(-1))[..., 0]
    columns = m.flatten(0, more - 1).movedim(0, -1)
    return (J @ columns).movedim(-1, 0).reshape(m.shape)


@torch.no_grad()
def safe_length(J: Tensor, variance: float, symmetric: bool) -> Tensor:
    """A step ``[...]`` for naive systems of couplings ``[..., k, k]`` that keeps below the bound whatever the magnetisations.

    It is that of :meth:`Equations.step` at the prior's own variance, the largest that a spin has. Without symmetry it is 1.
    """
    if not symmetric:
        return J.new_ones(J.shape[:-2])
    values = variance * eigenvalues(J.nan_to_num())
    largest = 1 - values[..., 0]
    return (2 / (largest + (1 - values[..., -1]).maximum(0.1 * largest))).clamp(max=1.0)


def solved(
    equations: Equations,
    start: Tensor | None,
    tolerance: float,
    max_steps: int,
    on_failure: OnFailure,
    dtype: torch.dtype,
) -> MeanField:
    """The solution of the equations with its response and the evidence."""
    found = fixed_point(
        equations.image,
        equations.start(start),
        step=equations.step,
        tolerance=tolerance,
        max_steps=max_steps,
        parts=equations.parts,
        scale=equations.scale(),
        on_failure=on_failure,
    )
    state = found.solution
    chi, V, least = equations.response(state)
    with torch.no_grad():
        reaction, field = equations.local(state.detach())
        own = equations.prior.covariance(field, reaction)
        wrong = reduced(diagonal_blocks(chi.detach(), equations.d) - own, equations.matrices)
        consistency = wrong.abs().flatten(state.ndim - 1).amax(-1)
        converged = found.converged & (
            consistency <= torch.finfo(state.dtype).eps ** 0.25 if equations.reaction is None else True
        )
    if verdict(lambda: (found.converged & ~converged).any()):
        report_failure(
            f"couplings too strong for {state.dtype}: with the V found the response misses the spins' own variances",
            iterations=int(found.iterations.max()),
            residual=float(consistency.max()),
            on_failure=on_failure,
        )
    m = state[..., : equations.k]
    parts = (m, chi, V, found.residual, consistency, least)
    m, chi, V, residual, consistency, least = (check_result(part.to(dtype), "J, h or beta are") for part in parts)
    return MeanField(m, chi, V, residual, found.iterations, converged, consistency, least)
