"""Fixed points and their gradients: this package's solver beside torchdeq, and beside differentiation through the steps.

All solve ``z = tanh(z W + x)`` to the same tolerance and return the gradients of a weighted sum with respect to W and x.
torchdeq (0.1.0, of 2023, its newest release) is needed for this entry alone: ``pip install --no-deps torchdeq``.
"""

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType

import torch
from torch import Tensor

from attnlib.solve import fixed_point
from benchmarks.harness import Case, Contestant, Entry

TOLERANCE = 2e-6


def torchdeq() -> ModuleType:
    """The package, or an error that says how to get it."""
    try:
        return importlib.import_module("torchdeq")
    except ImportError as error:
        raise ImportError("this benchmark needs torchdeq: pip install --no-deps torchdeq") from error


def solvers(batch: int, k: int, rate: float) -> dict[str, Contestant]:
    """Give every solver of ``z = tanh(z W + x)``, with the gradient of a weighted sum with respect to W and x."""
    generator = torch.Generator().manual_seed(1)
    W = torch.randn(k, k, generator=generator)
    W = (rate * W / torch.linalg.matrix_norm(W, 2)).requires_grad_()
    x, pull = (torch.randn(batch, k, generator=generator) for _ in range(2))
    x.requires_grad_()

    def run(solve: Callable[[Callable[[Tensor], Tensor], Tensor], Tensor]) -> Contestant:
        def call() -> tuple[Tensor, ...]:
            found = solve(lambda z: torch.tanh(z @ W + x), torch.zeros_like(x))
            return (found.detach(), *torch.autograd.grad(found, (W, x), pull))

        return call

    def unrolled(function: Callable[[Tensor], Tensor], z: Tensor) -> Tensor:
        while True:
            after = function(z)
            if (after - z).abs().max() < TOLERANCE:
                return after
            z = after

    ways = {
        "ours": lambda f, z: fixed_point(f, z, tolerance=TOLERANCE / 2).solution,
        "ours_anderson": lambda f, z: fixed_point(f, z, method="anderson", tolerance=TOLERANCE / 2).solution,
        "unrolled": unrolled,
    }
    settings = {"f_max_iter": 400, "b_max_iter": 400, "f_tol": TOLERANCE, "b_tol": TOLERANCE, "ift": True}
    for name, solver in (("torchdeq", "fixed_point_iter"), ("torchdeq_anderson", "anderson")):
        deq = torchdeq().get_deq(f_solver=solver, b_solver=solver, f_stop_mode="abs", b_stop_mode="abs", **settings)
        ways[name] = lambda f, z, deq=deq: deq(f, z)[0][-1]
    return {name: run(way) for name, way in ways.items()}


def cases(quick: bool) -> Iterator[Case]:
    """Maps that contract well and badly, forward and backward."""
    for batch, k in ((8, 16),) if quick else ((32, 64), (128, 256)):
        for percent in (50, 90):
            sizes = {"batch": batch, "unknowns": k, "norm_percent": percent}
            yield Case(sizes, "forward + backward", solvers(batch, k, percent / 100))


ENTRY = Entry(
    title="Fixed points of tanh(z W + x) and their gradients, float32",
    contestants={
        "ours": "attnlib.solve.fixed_point, damped",
        "ours_anderson": "attnlib.solve.fixed_point, Anderson",
        "unrolled": "the plain iteration, differentiated through its steps",
        "torchdeq": "torchdeq's fixed point iteration with implicit differentiation",
        "torchdeq_anderson": "torchdeq's Anderson acceleration with implicit differentiation",
    },
    reference="torchdeq",
    cases=cases,
)
