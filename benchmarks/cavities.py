"""Means of Gaussian vector spins: one linear solve, against the iterations that it replaces.

At 17 sites of 10 components and batches of 32: naive mean field, and the equations of adaptive TAP as they stand, whose
reaction cancels.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlib.mean_field import Gaussian, gaussian_response
from attnlib.solve import fixed_point
from benchmarks.harness import Case, Contestant, Entry
from benchmarks.mean_field import BATCH, SITES, WIDTH, each, system

BATCHES = 4
TOLERANCE = 1e-5


def cavities(J: Tensor, h: Tensor, width: int) -> Tensor:
    """Iterate the equations of adaptive TAP for Gaussian vector spins, every member of the batch with reactions of its own.

    As they stand, with nothing cancelled: ``Lambda = V + C^-1``, ``chi = (Lambda - J)^-1``, ``V = Lambda - chi_ii^-1``.
    """
    batch, k = h.shape
    sites = k // width
    m, V = torch.zeros_like(h), torch.zeros(batch, sites, width, width)
    eye = torch.eye(width)
    place = torch.eye(sites)[:, None, :, None]
    for _ in range(200):
        local = eye - V  # the inverse of a spin's covariance: Sigma is the identity
        precision = ((V + local)[:, :, :, None] * place).reshape(batch, k, k)
        chi = torch.cholesky_inverse(torch.linalg.cholesky(precision - J))
        blocks = chi.unflatten(-1, (sites, width)).unflatten(-3, (sites, width)).diagonal(dim1=1, dim2=3).movedim(-1, 1)
        V = V + local - torch.cholesky_inverse(torch.linalg.cholesky(blocks))
        spins = m.unflatten(-1, (sites, width))
        felt = (m @ J + h).unflatten(-1, (sites, width)) - (V @ spins[..., None])[..., 0]
        after = torch.cholesky_solve(felt[..., None], torch.linalg.cholesky(eye - V))[..., 0].flatten(-2)
        moved = (after - m).abs().max()
        m = m + 0.7 * (after - m)
        if moved < TOLERANCE:
            return m
    raise RuntimeError(f"the cavities did not converge: {moved:.2g} is left")


def iterated(J: Tensor, fields: Tensor, width: int) -> dict[str, Contestant]:
    """Give the linear solve and the iterations that it replaces, by name."""
    prior = Gaussian(1.0, width)

    def naive(h: Tensor) -> Tensor:
        return fixed_point(lambda m: m @ J + h, torch.zeros_like(h), tolerance=TOLERANCE / 10).solution

    return {
        "ours": each(lambda h: gaussian_response(J, h, prior=prior), fields),
        "naive_iteration": each(naive, fields),
        "cavities": each(lambda h: cavities(J, h, width), fields),
    }


def cases(quick: bool) -> Iterator[Case]:
    """Forward, at the size of an image in patches; quick: a smaller one."""
    sites, width, batch, batches = (5, 3, 4, 2) if quick else (SITES, WIDTH, BATCH, BATCHES)
    with torch.no_grad():
        sizes = {"sites": sites, "components": width, "batch": batch, "batches": batches}
        yield Case(sizes, "forward", iterated(*system(sites, width, batch, batches), width))


ENTRY = Entry(
    title="Means of coupled Gaussian spins by a solve and by iterations, float32",
    contestants={
        "ours": "attnlib.mean_field.gaussian_response",
        "naive_iteration": "attnlib.solve.fixed_point of m = J m + h",
        "cavities": "the equations of adaptive TAP iterated as they stand, a reaction for each member of the batch",
    },
    reference="ours",
    cases=cases,
)
