"""Means of Gaussian vector spins: one linear solve, against what it needs and against the iterations that it replaces.

At 17 sites of 10 components and batches of 32, a few one after another as in training: one Cholesky factor for a whole batch,
against the factorisation and the products alone, against naive mean field, and against the iteration over cavities, whose
reaction cancels.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attnlib import no_value_checks
from attnlib.mean_field import Gaussian, fixed_point, gaussian_response, stable_scale
from benchmarks.harness import Case, Contestant, Entry

SITES, WIDTH, BATCH, BATCHES = 17, 10, 32, 4
TOLERANCE = 1e-5


def system(sites: int, width: int, batch: int, batches: int) -> tuple[Tensor, Tensor]:
    """Draw symmetric couplings ``[k, k]`` with a largest eigenvalue of a half, and fields ``[batches, batch, k]``."""
    generator = torch.Generator().manual_seed(0)
    k = sites * width
    drawn = torch.randn(k, k, generator=generator) * stable_scale(sites, width) * 2**0.5
    J = (drawn + drawn.mT) / 2
    within = torch.block_diag(*[torch.ones(width, width)] * sites)
    return J * (1 - within), torch.randn(batches, batch, k, generator=generator)


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


def gaussian(sites: int, width: int, batch: int, batches: int) -> dict[str, Contestant]:
    """Give every way to the means of Gaussian spins in all batches of fields, by name."""
    J, fields = system(sites, width, batch, batches)
    prior, eye = Gaussian(1.0, width), torch.eye(len(J))

    def each(solve: Callable[[Tensor], Tensor]) -> Contestant:
        return lambda: tuple(solve(h) for h in fields)

    def bound(h: Tensor) -> Tensor:
        L = torch.linalg.cholesky_ex(eye - J).L
        half = torch.linalg.solve_triangular(L.mT, h, upper=True, left=False)
        return torch.linalg.solve_triangular(L, half, upper=False, left=False)

    def unchecked(h: Tensor) -> Tensor:
        with no_value_checks():
            return gaussian_response(J, h, prior=prior)

    return {
        "ours": each(lambda h: gaussian_response(J, h, prior=prior)),
        "unchecked": each(unchecked),
        "naive_iteration": each(
            lambda h: fixed_point(lambda m: m @ J + h, torch.zeros_like(h), tolerance=TOLERANCE / 10).solution
        ),
        "cavities": each(lambda h: cavities(J, h, width)),
        "columns": each(lambda h: torch.cholesky_solve(h.mT, torch.linalg.cholesky_ex(eye - J).L).mT),
        "bound": each(bound),
    }


def cases(quick: bool) -> Iterator[Case]:
    """Forward, at the size of an image in patches; quick: a smaller one."""
    sites, width, batch, batches = (5, 3, 4, 2) if quick else (SITES, WIDTH, BATCH, BATCHES)
    with torch.no_grad():
        sizes = {"sites": sites, "components": width, "batch": batch, "batches": batches}
        yield Case(sizes, "forward", gaussian(sites, width, batch, batches))


ENTRY = Entry(
    title="Means of coupled Gaussian spins, float32",
    contestants={
        "ours": "attnlib.mean_field.gaussian_response, its checks included",
        "unchecked": "the same inside no_value_checks: types and shapes are checked, values are not",
        "naive_iteration": "attnlib.mean_field.fixed_point of m = J m + h",
        "cavities": "the equations of adaptive TAP iterated as they stand, a reaction for each member of the batch",
        "columns": "torch alone, as one would write it: a Cholesky factor and cholesky_solve, fields as columns",
        "bound": "lower bound: torch alone, the same with fields as rows, the fastest that we know",
    },
    reference="ours",
    cases=cases,
    bounds=("bound",),
)
