"""Ising systems: enumeration against products and formulas, its derivatives, and sampling against enumeration."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers.draw import close, derivatives, normal
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

import attnlib
from attnlib import classical_energy
from attnlib.mean_field import exact_ising, sherrington_kirkpatrick
from attnlib.mean_field.ising import _STATES_AT_ONCE


def glass(n, systems=None, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * sherrington_kirkpatrick(n, systems, generator=generator, dtype=torch.float64)


def by_hand(J, h, beta):
    """All states one by one, with the energy of chapter 3."""
    states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=len(J))), dtype=J.dtype)
    exponent = -beta * classical_energy(states, J, h)
    p = exponent.softmax(0)
    m = p @ states
    return -exponent.logsumexp(0) / beta, m, states.mT @ (p[:, None] * states) - torch.outer(m, m)


def test_couplings_of_a_glass_have_variance_one_over_n():
    n, systems = 50, 400
    J = glass(n, systems)
    assert torch.equal(J, J.mT)
    assert (J.diagonal(dim1=-2, dim2=-1) == 0).all()
    pairs = J[:, *torch.ones(n, n).triu(1).nonzero().T]
    error = math.sqrt(2 / pairs.numel())  # of a variance of Gaussians, relative
    assert n * pairs.var().item() == pytest.approx(1, abs=4 * error)


@given(n=st.integers(1, 9), seed=st.integers(0, 2**31), beta=st.floats(0.05, 4))
def test_all_states_one_by_one(n, seed, beta):
    J, h = glass(n, seed=seed), normal(n, seed=seed + 1)
    found = exact_ising(J, h, beta=beta)
    for one, wanted in zip((found.free_energy, found.m, found.chi), by_hand(J, h, beta)):
        close(one, wanted, atol=1e-10)


def test_free_spins_and_a_pair():
    h = normal(20)
    found = exact_ising(torch.zeros(20, 20, dtype=torch.float64), h, beta=0.7)
    close(found.m, torch.tanh(0.7 * h), atol=1e-12)
    close(found.chi, torch.diag(1 - found.m**2), atol=1e-12)
    close(found.free_energy, -(2 * (0.7 * h).cosh()).log().sum() / 0.7, atol=1e-10)
    pair = exact_ising(torch.tensor([[0.0, 0.8], [0.8, 0.0]], dtype=torch.float64))
    close(pair.chi[0, 1], torch.tensor(math.tanh(0.8), dtype=torch.float64), atol=1e-14)


def test_twenty_spins_on_a_ring():
    """The transfer matrix of a ring has the eigenvalues 2 cosh K and 2 sinh K."""
    n, K = 20, 0.6
    ring = torch.diag(torch.ones(n - 1), 1).double()
    ring[0, -1] = 1
    ring = ring + ring.mT
    found = exact_ising(ring, beta=K)
    total = (2 * math.cosh(K)) ** n + (2 * math.sinh(K)) ** n
    close(found.free_energy, torch.tensor(-math.log(total) / K, dtype=torch.float64), atol=1e-9)
    t = math.tanh(K)
    wanted = [(t**r + t ** (n - r)) / (1 + t**n) for r in range(1, n)]
    close(found.chi[0, 1:], torch.tensor(wanted, dtype=torch.float64), atol=1e-11)


@pytest.mark.double
def test_magnetisations_and_covariances_are_derivatives_of_the_free_energy():
    J, h = glass(6, 2), normal(2, 6, seed=1, grad=True)
    beta = torch.tensor([0.8, 1.3], dtype=torch.float64)
    found = exact_ising(J, h, beta=beta)
    (slope,) = torch.autograd.grad(found.free_energy.sum(), h, create_graph=True)
    close(-slope, found.m, atol=1e-12)
    rows = [torch.autograd.grad(-slope[:, i].sum(), h, retain_graph=True)[0] for i in range(6)]
    close(torch.stack(rows, -2) / beta[:, None, None], found.chi, atol=1e-12)


@derivatives
@pytest.mark.double
def test_it_differentiates_in_groups_too(monkeypatch, how):
    J, h, beta = glass(3, 3), normal(3, 3, grad=True), torch.tensor([0.5, 1.0, 1.5], dtype=torch.float64).requires_grad_()
    off = torch.triu_indices(3, 3, 1)

    def everything(upper, h, beta):
        J = torch.zeros(3, 3, 3, dtype=torch.float64).index_put((torch.arange(3)[:, None], off[0], off[1]), upper)
        found = exact_ising(J + J.mT, h, beta=beta)
        return found.free_energy, found.m, found.chi

    upper = J[:, off[0], off[1]].requires_grad_()
    plain = everything(upper, h, beta)
    assert gradcheck(everything, (upper, h, beta), **how)
    monkeypatch.setattr("attnlib.mean_field.ising._STATES_AT_ONCE", 8)  # one system at a time, computed again for gradients
    for one, wanted in zip(everything(upper, h, beta), plain):
        close(one, wanted, atol=1e-14)
    assert gradcheck(everything, (upper, h, beta), **how)
    assert gradgradcheck(lambda h: exact_ising(J, h).free_energy, (h,), **how)


def test_memory_does_not_grow_with_the_number_of_systems():
    """What is kept for a gradient: not the weights of the states of every system."""
    kept = {}
    for systems in (4, 8):
        total = 0

        def pack(tensor):
            nonlocal total
            total += tensor.numel()
            return tensor

        J, h = glass(20, systems), normal(systems, 20, grad=True)
        assert _STATES_AT_ONCE < 4 * 2**20
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            exact_ising(J, h)
        kept[systems] = total
    assert kept[8] < 2**17


TWENTY = """
import time
import torch
from attnlib.mean_field import exact_ising, sherrington_kirkpatrick
from benchmarks.memory import high_water
torch.set_num_threads(1)
J = sherrington_kirkpatrick(20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
h = torch.zeros(20, dtype=torch.float64, requires_grad=True)
exact_ising(J[:3, :3])
open("/proc/self/clear_refs", "w").write("5")
before, start = high_water(), time.process_time()
exact_ising(J, h).free_energy.backward()
print(time.process_time() - start, high_water() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux, which can reset the high-water mark")
def test_twenty_spins_take_seconds_and_no_gigabyte():
    """With the gradient, in a process of its own; seconds of processor time, which others on the machine do not lengthen."""
    root = Path(attnlib.__file__).resolve().parents[1]  # this file is copied for single precision
    done = subprocess.run([sys.executable, "-c", TWENTY], cwd=root, capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    assert seconds < 10
    assert memory < 1e9


@pytest.mark.usefixtures("unchecked")
def test_what_it_refuses():
    J = glass(4)
    for wrong, words in (
        (J + torch.eye(4), "J couples a spin to itself"),
        (J.triu(), "J is not symmetric"),
        (torch.zeros(21, 21), "expected at most 20 spins"),
        (torch.zeros(2, 3), r"J has shape \(2, 3\)"),
    ):
        with pytest.raises(ValueError, match=words):
            exact_ising(wrong)
    with pytest.raises(ValueError, match="beta"):
        exact_ising(J, beta=0)


def test_couplings_of_a_glass_have_their_variance_and_spectrum():
    J = glass(200, 25)
    off = J[:, *torch.triu_indices(200, 200, 1)]
    assert abs(off.var().item() * 200 - 1) < 5 * math.sqrt(2 / off.numel())
    assert abs(torch.linalg.eigvalsh(J[0])[-1].item() - 2) < 0.15
    assert torch.equal(J, J.mT)
