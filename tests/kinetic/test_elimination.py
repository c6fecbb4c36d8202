"""Stationary laws of slow chains, against closed forms that need no equation solved."""

import pytest
import torch
from helpers.draw import close, normal
from torch.autograd import gradgradcheck

from attnlib.kinetic import exact_kinetic, peretto_law, spin_states
from attnlib.kinetic.elimination import stationary_law

EVEN, DRIVE = torch.full((8, 8), 1 / 8, dtype=torch.float64), torch.full((8,), 0.02, dtype=torch.float64)
"""Eight spins that feel all alike, and a small drive."""


@pytest.mark.double
@pytest.mark.parametrize("n", [2, 5, 8])
def test_cold_spins_have_the_law_of_peretto(n):
    """Even weights and a small drive: a consensus against the drive is kept up to 10^38 steps, and the law is exact."""
    beta = torch.tensor([1.0, 3.0, 5.0, 6.0, 8.0, 20.0], dtype=torch.float64)
    J, x = torch.full((6, n, n), 1 / n, dtype=torch.float64), DRIVE[:n]
    close(exact_kinetic(J, x, beta=beta).law, peretto_law(J, x, beta=beta), rtol=1e-12, atol=0.0)


@pytest.mark.double
@pytest.mark.parametrize("updates", ["parallel", "single"])
def test_cold_spins_without_a_drive_prefer_no_side(updates):
    """Couplings of any signs without a drive: each state is as likely as the one with all spins turned."""
    weights = 2 * normal(10, 6, 6, seed=5)
    J = torch.cat([weights, weights.softmax(-1)])
    for beta in (1.0, 8.0, 30.0):
        found = exact_kinetic(J, beta=beta, updates=updates)
        close(found.law, found.law.flip(-1), rtol=1e-9, atol=0.0)
        assert found.m.abs().max() < 1e-11


def by_trees(rates: torch.Tensor) -> torch.Tensor:
    """The law of three states by the trees that lead to each of them (Freidlin and Wentzell)."""
    (_, ab, ac), (ba, _, bc), (ca, cb, _) = rates
    trees = torch.stack([ba * ca + bc * ca + ba * cb, ab * cb + ac * cb + ab * ca, ac * bc + ab * bc + ac * ba])
    return trees / trees.sum()


@pytest.mark.double
def test_a_law_is_exact_however_rare_the_moves():
    """Three states whose moves are 10^20 to 10^-50 apart, against the sum over trees; and more states than one block."""
    for seed in range(5):
        rates = 10.0 ** (20 * normal(3, 3, seed=seed))
        close(stationary_law(rates), by_trees(rates), rtol=1e-13, atol=0.0)
    P = normal(2, 77, 77, seed=9).softmax(-1)
    law = stationary_law(P)
    close((law.unsqueeze(-2) @ P).squeeze(-2), law, atol=1e-15)


@pytest.mark.double
def test_states_that_are_never_entered_have_no_share():
    """A drive of 500 up, or down, underflows all ways back: there is one law, on one state."""
    drives = torch.tensor([[500.0, 500.0, 500.0], [-500.0, -500.0, -500.0], [500.0, -500.0, 0.0]], dtype=torch.float64)
    found = exact_kinetic(normal(3, 3, seed=2).expand(3, 3, 3), drives)
    wanted = torch.zeros(3, 8, dtype=torch.float64)
    wanted[0, 7] = wanted[1, 0] = 1.0
    close(found.law[:2], wanted[:2], atol=1e-15)
    close(found.m[2, :2], torch.tensor([1.0, -1.0], dtype=torch.float64), atol=1e-15)


@pytest.mark.double
def test_the_law_differentiates_in_every_way():
    J, x = 0.6 * normal(3, 3, seed=0), 0.4 * normal(3, seed=1)

    def law(J, x):
        return exact_kinetic(J, x, beta=0.9).law

    tensors = (J.requires_grad_(), x.requires_grad_())
    assert gradgradcheck(law, tensors)
    by_rows = torch.func.jacrev(law)(J, x)
    close(torch.func.jacfwd(law)(J, x), by_rows, atol=1e-14)
    J8, x8 = EVEN, DRIVE.clone().requires_grad_()
    theirs, ours = (f(J8, x8, beta=2.4) for f in (peretto_law, lambda *a, **b: exact_kinetic(*a, **b).law))
    close(*(torch.autograd.grad(found[-1], x8)[0] for found in (ours, theirs)), rtol=1e-10, atol=0.0)


@pytest.mark.double
def test_a_derivative_that_rounding_would_fill_is_refused():
    """The law of cold spins is exact; a small change reaches it through all steps that they remember, 10^20 here."""
    J, x = EVEN, DRIVE.clone().requires_grad_()
    found = exact_kinetic(J, x, beta=8.0)
    close(found.m, (spin_states(8, dtype=J.dtype).mT * peretto_law(J, x.detach(), beta=8.0)).sum(-1), rtol=1e-13, atol=0.0)
    with pytest.raises(ValueError, match="too large to differentiate"):
        found.m.sum().backward()
