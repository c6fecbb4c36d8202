"""Vector spins at the saddle point, against the factorisations that no Newton step can do without.

One z for each spin: Newton's method makes a Cholesky factor of V, its inverse, the product with the fields, the overlaps of the
means and the solution with the Hessian, as many times as it has steps. One z for all: one eigendecomposition of the couplings
serves all members of the batch. Each is compared with exactly these.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlib.free_energy import saddle_point, spherical_point
from attnlib.free_energy.system import uphill
from benchmarks.harness import Case, Contestant, Entry

WIDTH, BATCH, FIELDS = 128, 16, 32
SIZES = (32, 128, 256)


def system(n: int, width: int, batch: int) -> tuple[Tensor, Tensor]:
    """Draw couplings ``[n, n]`` with a largest eigenvalue of a half, and normalised fields ``[batch, n, width]``."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(n, n, generator=generator, dtype=torch.float64).triu(1) / (4 * n**0.5)
    fields = torch.randn(batch, n, width, generator=generator, dtype=torch.float64)
    return drawn + drawn.mT, torch.nn.functional.layer_norm(fields, (width,))


def each(n: int, width: int, batch: int) -> dict[str, Contestant]:
    """One z for each spin: our solver, and its factorisations alone, at the z where they end."""
    J, h = system(n, width, batch)
    J = J.expand(batch, n, n).contiguous()
    found = saddle_point(J, h)
    V = torch.diag_embed(found.z) - J
    going = [found.iterations > step for step in range(int(found.iterations.max()))]  # each sample has steps of its own
    parts = [(V[some], h[some], found.z[some]) for some in going]

    def bound() -> tuple[Tensor, ...]:
        ends = []
        for part, field, z in parts:
            factor = torch.linalg.cholesky_ex(part).L
            chi, m = torch.cholesky_inverse(factor), torch.cholesky_solve(field, factor)
            ends.append(uphill(chi * (chi / 2 + m @ m.mT / width), z))
        return tuple(ends)

    return {"ours": lambda: (saddle_point(J, h).m,), "bound": bound}


def shared(n: int, width: int, fields: int) -> dict[str, Contestant]:
    """One z for all spins: our solver for all fields, and the eigendecomposition with the two products."""
    J, h = system(n, width, fields)

    def bound() -> tuple[Tensor, ...]:
        _, vectors = torch.linalg.eigh(J)
        return (vectors @ (vectors.mT @ h),)

    return {"ours": lambda: (spherical_point(J, h).m,), "bound": bound}


def cases(quick: bool) -> Iterator[Case]:
    """Forward, in double precision; quick: small sizes."""
    sizes, width, batch, fields = ((6, 10), 3, 2, 2) if quick else (SIZES, WIDTH, BATCH, FIELDS)
    with torch.no_grad():
        for n in sizes:
            yield Case({"n": n, "components": width, "batch": batch}, "one z for each spin", each(n, width, batch))
        for n in sizes:
            yield Case({"n": n, "components": width, "fields": fields}, "one z for all spins", shared(n, width, fields))


ENTRY = Entry(
    title="Vector spins at the saddle point, float64",
    contestants={
        "ours": "attnlib.free_energy.saddle_point or spherical_point, checks included",
        "bound": "lower bound: the factorisations, inverses and products of as many steps; or one eigendecomposition",
    },
    reference="ours",
    cases=cases,
    bounds=("bound",),
)
