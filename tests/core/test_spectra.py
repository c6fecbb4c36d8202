"""Eigenvalues of matrices whose entries differ by forty powers of ten."""

import pytest
import torch
from helpers.draw import close, couplings
from torch.autograd import gradcheck

from attnlib._core.spectra import eigenvalues, modes_of


def star_with_dust():
    """Couplings like those that sharp weights made in a training: a star, beside an entry of 2e-44.

    LAPACK's iteration does not end over it on at least one processor.
    """
    links = {(1, spin): 0.05 for spin in (0, 2, 3, 5, 6, 7, 9)} | {(1, 8): 0.1, (3, 4): 0.05, (3, 8): 2e-44}
    J = torch.zeros(10, 10)
    for (one, other), strength in links.items():
        J[one, other] = J[other, one] = strength
    return J


def test_entries_that_are_lost_beside_the_largest_stop_no_solver():
    """Values are those of double precision, and modes diagonalise the matrix as it was given."""
    J = star_with_dust()
    exact = torch.linalg.eigvalsh(J.double())
    values, modes = modes_of(J)
    close(values, exact.float(), atol=1e-7)
    close(eigenvalues(J), exact.float(), atol=1e-7)
    close(modes * values @ modes.mT, J, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_no_entry_that_matters_is_left_out(scale):
    """At any scale the values are torch's own: what is left out is small beside the largest entry, not beside one."""
    J = couplings(3, 6) * scale
    J[:, 0, 1] = J[:, 1, 0] = 1e-10 * scale
    assert torch.equal(eigenvalues(J), torch.linalg.eigvalsh(J))
    assert torch.equal(modes_of(J)[0], torch.linalg.eigh(J)[0])


def test_gradients_pass_entries_that_are_left_out():
    """Of a value by an entry, ``2 u_i u_j``, also where the entry is zero or lost in rounding."""
    J = torch.diag(torch.arange(1.0, 4.0, dtype=torch.float64))
    J[0, 1] = J[1, 0] = 0.5
    J[0, 2] = J[2, 0] = 1e-40
    J.requires_grad_()
    assert gradcheck(lambda J: eigenvalues((J + J.mT) / 2), J)


def test_no_spins_have_no_eigenvalues():
    """An empty matrix, as torch has it."""
    assert eigenvalues(torch.zeros(2, 0, 0)).shape == (2, 0)
