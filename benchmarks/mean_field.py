"""Means of Gaussian vector spins: one linear solve, against the factorisation and the products that it needs.

At 17 sites of 10 components and batches of 32: one Cholesky factor for a whole batch. Many batches one after another, as in
training: a call takes a fraction of a millisecond, and what lies between two turns must not be what is measured.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attnlib import no_value_checks
from attnlib.mean_field import Gaussian, gaussian_response, stable_scale
from benchmarks.harness import Case, Contestant, Entry

SITES, WIDTH, BATCH, BATCHES = 17, 10, 32, 64


def system(sites: int, width: int, batch: int, batches: int) -> tuple[Tensor, Tensor]:
    """Draw symmetric couplings ``[k, k]`` with a largest eigenvalue of a half, and fields ``[batches, batch, k]``."""
    generator = torch.Generator().manual_seed(0)
    k = sites * width
    drawn = torch.randn(k, k, generator=generator) * stable_scale(sites, width) * 2**0.5
    J = (drawn + drawn.mT) / 2
    within = torch.block_diag(*[torch.ones(width, width)] * sites)
    return J * (1 - within), torch.randn(batches, batch, k, generator=generator)


def solved(J: Tensor, fields: Tensor, width: int) -> dict[str, Contestant]:
    """Give every way to the means of Gaussian spins that is one linear solve for each batch of fields, by name."""
    prior, eye = Gaussian(1.0, width), torch.eye(len(J))

    def bound(h: Tensor) -> Tensor:
        L = torch.linalg.cholesky_ex(eye - J).L
        half = torch.linalg.solve_triangular(L.mT, h, upper=True, left=False)
        return torch.linalg.solve_triangular(L, half, upper=False, left=False)

    def unchecked(h: Tensor) -> Tensor:
        with no_value_checks():
            return gaussian_response(J, h, prior=prior)

    return {
        "ours": each(lambda h: gaussian_response(J, h, prior=prior), fields),
        "unchecked": each(unchecked, fields),
        "columns": each(lambda h: torch.cholesky_solve(h.mT, torch.linalg.cholesky_ex(eye - J).L).mT, fields),
        "bound": each(bound, fields),
    }


def each(solve: Callable[[Tensor], Tensor], fields: Tensor) -> Contestant:
    """Solve for one batch of fields after another."""
    return lambda: tuple(solve(h) for h in fields)


def cases(quick: bool) -> Iterator[Case]:
    """Forward, at the size of an image in patches; quick: a smaller one."""
    sites, width, batch, batches = (5, 3, 4, 2) if quick else (SITES, WIDTH, BATCH, BATCHES)
    with torch.no_grad():
        sizes = {"sites": sites, "components": width, "batch": batch, "batches": batches}
        yield Case(sizes, "forward", solved(*system(sites, width, batch, batches), width))


ENTRY = Entry(
    title="Means of coupled Gaussian spins by one solve, float32",
    contestants={
        "ours": "attnlib.mean_field.gaussian_response, its checks included",
        "unchecked": "the same inside no_value_checks: types and shapes are checked, values are not",
        "columns": "torch alone: cholesky_ex and cholesky_solve, fields as columns",
        "bound": "lower bound: torch alone, two triangular solves with fields as rows, the fastest that we know",
    },
    reference="ours",
    cases=cases,
    bounds=("bound",),
)
