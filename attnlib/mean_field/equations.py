"""Mean-field equations as a map on magnetisations (and variances), with the step that keeps its iteration stable."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnlib._convergence import OnFailure
from attnlib._values import check_result
from attnlib.mean_field.cavity import as_blocks, block_diagonal, diagonal_blocks, inverted, match, reduced, safe_start
from attnlib.mean_field.priors import Prior
from attnlib.mean_field.responses import MeanField
from attnlib.mean_field.solve import fixed_point

Reaction = Callable[[Tensor], tuple[Tensor | None, Tensor | None]]
"""From the magnetisations: V of each spin, and what its motion adds to ``Lambda - J``. None stands for zero."""


class Equations:
    """``m = <S>`` of each spin in its field; couplings ``[*batch, k, k]`` and fields ``[*batch, k]`` have beta in them.

    With a reaction the state is m. Without one the reaction is that of adaptive TAP, and the state is m together with the
    local variances, from which Lambda follows.
    """

    def __init__(self, J: Tensor, h: Tensor, prior: Prior, reaction: Reaction | None) -> None:
        self.J, self.h, self.prior, self.reaction = J, h, prior, reaction
        self.k, self.d, self.matrices = J.shape[-1], prior.d, prior.reaction == "matrix"
        self._warm: Tensor | None = None
        eps = torch.finfo(J.dtype).eps
        self._tolerance = 64 * eps if self.matrices else eps**0.5  # the step for numbers is Newton's

    def start(self, m: Tensor | None) -> Tensor:
        """Where to start: the answer to the fields alone, or the magnetisations given."""
        field = self._spins(self.h.detach())
        first = self.prior.mean(field).flatten(-2) if m is None else m
        if self.reaction is not None:
            return first
        return torch.cat([first, reduced(self.prior.covariance(field), self.matrices).reshape(*first.shape[:-1], -1)], -1)

    def image(self, state: Tensor) -> Tensor:
        """The right side of the equations, ``[*batch, state]``."""
        _, V, field = self.local(state)
        m = self.prior.mean(field, V).flatten(-2)
        if self.reaction is not None:
            return m
        c = self._variances(field, V)
        return torch.cat([m, c.reshape(*m.shape[:-1], -1)], -1)

    def local(self, state: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """Lambda (of adaptive TAP, otherwise m), V, and the field at each spin ``[*batch, n, d]``."""
        m = state[..., : self.k]
        felt = (self.J @ m.unsqueeze(-1))[..., 0] + self.h
        if self.reaction is not None:
            V, _ = self.reaction(m)
            return m, V, self._spins(felt if V is None else felt - self._times(V, m))
        shape = (*m.shape[:-1], self.k // self.d, *((self.d, self.d) if self.matrices else ()))
        c = state[..., self.k :].reshape(shape)
        warm = self._warm
        if warm is None or warm.shape != c.shape or warm.device != c.device:
            warm = safe_start(self.J, c, self.d, self.matrices)
        precision = match(self.J, c, warm, self.d, self.matrices, self._tolerance)
        self._warm = precision.detach()
        V = precision - inverted(c, self.matrices)
        return precision, V, self._spins(felt - self._times(V, m))

    def step(self, state: Tensor) -> Tensor:
        """A step below the bound ``2 / lambda_max``, ``[*batch]``, and the best one where the smallest eigenvalue is known."""
        values = torch.linalg.eigvalsh(self.stiffness(state))
        largest = values[..., -1].clamp(min=1e-3)
        return (2 / (largest + values[..., 0].clamp(min=0).maximum(0.1 * largest))).clamp(max=1.0)

    def stiffness(self, state: Tensor) -> Tensor:
        """``D^(1/2) (Lambda - J) D^(1/2)`` with D the local covariances, ``[*batch, k, k]``."""
        _, V, field = self.local(state)
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
        _, V, field = self.local(state)
        root = block_diagonal(torch.linalg.cholesky_ex(self.prior.covariance(field, V)).L)
        stiffness = self.stiffness(state)
        least = torch.linalg.eigvalsh(stiffness.detach())[..., 0]
        factor, failed = torch.linalg.cholesky_ex(stiffness)
        stable = (failed == 0)[..., None, None]
        values, axes = torch.linalg.eigh(stiffness.detach())  # an unstable solution's response, with no gradient
        floor = torch.finfo(values.dtype).eps
        signed = torch.where(values.abs() > floor, values, floor)
        rough = (axes / signed.unsqueeze(-2)) @ axes.mT
        safe = torch.where(stable, factor, torch.eye(self.k, dtype=factor.dtype, device=factor.device))
        inner = torch.where(stable, torch.cholesky_inverse(safe), rough)
        if V is None:
            sites = (*state.shape[:-1], self.k // self.d)
            V = field.new_zeros((*sites, self.d, self.d) if self.matrices else sites)
        return root @ inner @ root.mT, V, least

    def _variances(self, field: Tensor, V: Tensor | None) -> Tensor:
        return self.prior.covariance(field, V) if self.matrices else self.prior.variance(field, V)

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
        return self.prior.mean(self._spins((self.J @ state.unsqueeze(-1))[..., 0] + self.h - trace)).flatten(-2)


def solved(
    equations: Equations,
    start: Tensor | None,
    tolerance: float,
    max_steps: int,
    on_failure: OnFailure,
    dtype: torch.dtype,
) -> MeanField:
    """The solution of the equations with its response and the evidence."""
    first = equations.start(start)
    found = fixed_point(
        equations.image, first, step=equations.step, tolerance=tolerance, max_steps=max_steps, on_failure=on_failure
    )
    state = found.solution
    chi, V, least = equations.response(state)
    with torch.no_grad():
        _, reaction, field = equations.local(state.detach())
        own = equations._variances(field, reaction)
        blocks = reduced(diagonal_blocks(chi.detach(), equations.d), equations.matrices)
        consistency = (blocks - own).abs().flatten(state.ndim - 1).amax(-1)
    m = state[..., : equations.k]
    parts = (m, chi, V, found.residual, consistency, least)
    m, chi, V, residual, consistency, least = (check_result(part.to(dtype), "J, h or beta are") for part in parts)
    return MeanField(m, chi, V, residual, found.iterations, found.converged, consistency, least)
