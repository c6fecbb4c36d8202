"""Compiled fixed points and saddle points. Run by test_traced.py, without the run-time checks of shapes."""

import pytest
import torch
from helpers.draw import close, normal

from attnlib.free_energy import saddle_point
from attnlib.solve import fixed_point


@pytest.mark.parametrize("at_solution", [False, True], ids=["from zero", "from the solution"])
@pytest.mark.parametrize(("method", "steps"), [("damped", 16), ("anderson", 10), ("newton", 4)])
def test_a_compiled_fixed_point_has_its_derivatives(method, steps, at_solution):
    matrix, offset, weights = 0.1 * normal(3, 3), normal(4, 3, seed=1, grad=True), normal(4, 3, seed=2)

    def solve(offset, start):
        return fixed_point(lambda z: (z @ matrix.mT + offset).tanh(), start, method=method, max_steps=steps).solution

    start = solve(offset.detach(), torch.zeros(4, 3, dtype=torch.float64)) * at_solution
    torch.compiler.reset()
    found = torch.compile(solve, fullgraph=True, backend="aot_eager")(offset, start)
    expected = solve(offset, start)
    close(found, expected, atol=1e-10)
    (slope,), (wanted,) = (torch.autograd.grad((weights * z).sin().sum(), offset) for z in (found, expected))
    close(slope, wanted, atol=1e-9)


def test_a_compiled_saddle_point_has_its_derivatives_from_a_start_at_the_solution():
    upper, h = normal(4, 4).triu(1) / 3, normal(4, 2, seed=1, grad=True)
    J, weights = upper + upper.mT, normal(4, seed=2)
    start = saddle_point(J, h.detach()).z

    def solve(h):
        return saddle_point(J, h, start=start, max_steps=2).z

    torch.compiler.reset()
    found, expected = torch.compile(solve, fullgraph=True, backend="aot_eager")(h), solve(h)
    close(found, expected, atol=1e-10)
    (slope,), (wanted,) = (torch.autograd.grad((weights * z).sin().sum(), h) for z in (found, expected))
    close(slope, wanted, atol=1e-9)
