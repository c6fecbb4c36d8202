"""The references of page 8c's exercises, against the package, films, and sums of powers."""

import math

import pytest
import torch
from helpers.draw import normal

from attnlib.course.exercises import verdict
from attnlib.course.exercises.driven_attention import COLD, GAIN, LOST, MOMENTS, STEIN, TAP
from attnlib.course.oracles import vector_film
from attnlib.kinetic import (
    KineticAttention,
    closure_step,
    moments_step,
    stationary_moments,
    vector_response,
)


def compare(exercise, independent, atol=1e-10):
    """Reference and independent answer on all inputs."""
    for arguments in exercise.inputs():
        torch.testing.assert_close(exercise.reference(*arguments), independent(*arguments), atol=atol, rtol=1e-9)


def test_the_gain_is_that_of_the_package():
    def packaged(k, beta, d):
        h = k.sqrt()[:, None].expand(-1, d).clone()
        h[k == 0] = 1e-9
        return vector_response(h, beta=beta, gain="half")[:, 0] / h[:, 0]

    compare(GAIN, packaged, atol=1e-8)


def test_the_gain_lies_between_the_exact_one_and_two_in_d():
    for k, beta, d in GAIN.inputs():
        h = k.sqrt()[:, None].expand(-1, d).clone()
        h[k == 0] = 1e-9
        exact = vector_response(h, beta=beta)[:, 0] / h[:, 0]
        assert ((GAIN.reference(k, beta, d) / exact - 1).abs() < 0.2 / d).all()


def test_a_moment_step_is_that_of_the_package():
    def packaged(m, C, J, x, beta):
        return torch.cat(moments_step(m, C, J, x, beta=beta, gain="limit")[:2], -1)

    compare(MOMENTS, packaged)


def test_a_moment_step_is_what_many_components_do():
    """From definite spins twice: the second step's mean, within the errors of 400 films of 400 components."""
    J, x, d = 0.8 * normal(3, 3, seed=1), normal(3, 400, seed=2), 400
    start = normal(3, 400, seed=3)
    start = start / start.square().mean(-1, keepdim=True).sqrt()
    state = torch.cat([start, torch.zeros(3, 3).double()], -1)
    for _ in range(2):
        state = MOMENTS.reference(state[:, :d], state[:, d:], J, x, 1.0)
    seen = vector_film(J, x, films=400, steps=1, burn_in=1, start=start, generator=torch.Generator().manual_seed(0))
    along = (seen.m * state[:, :d]).mean(-1) / state[:, :d].square().mean(-1)
    assert (along - 1).abs().max() < 0.01


def test_the_root_is_that_of_the_package_and_solves_its_equation():
    def packaged(m, J, x, beta):
        return closure_step(m, torch.diag(1 - m.square()), J, x, beta=beta, closure="tap")[0]

    compare(TAP, packaged)
    for m, J, x, beta in TAP.inputs():
        found = TAP.reference(m, J, x, beta)
        width = J.square() @ (1 - m.square())
        torch.testing.assert_close((beta * (x + J @ m) - beta**2 * width * found).tanh(), found, atol=1e-12, rtol=0)


def test_a_cold_block_is_the_mixer_of_the_package():
    """With weights put in: those of a mixer whose scores are logarithms of them."""

    def packaged(p, v):
        mixer = KineticAttention(v.shape[1], bare=True, spin_beta=1e7, dtype=torch.float64)
        heads = mixer.split(v[None])
        assert torch.equal(heads.value[0, 0], v)
        drive = heads.value
        felt = p @ mixer._begin(drive)
        return mixer._respond(drive, felt)[0, 0]

    compare(COLD, packaged, atol=1e-6)


def test_the_covariance_is_a_sum_of_powers():
    def summed(J, a, beta):
        K, found = a[:, None] * J, torch.zeros_like(J)
        term = a.diag() / beta
        for _ in range(2000):
            found, term = found + term, K @ term @ K.mT
        return found

    compare(STEIN, summed)


def test_the_covariance_is_that_of_moments_at_rest():
    J, x = normal(4, 4, seed=6) / 2, normal(4, 8, seed=7)
    found = stationary_moments(J, x, beta=0.9, gain="limit", tolerance=1e-13)
    a = (found.m / (x + J @ found.m)).mean(-1)
    torch.testing.assert_close(STEIN.reference(J, a, 0.9), found.C[0], atol=1e-9, rtol=0)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_that_of_moments_at_rest(seed):
    """Both of 400 tokens with independent scores and a drive of equal length, beta 1/2."""
    n, generator = 400, torch.Generator().manual_seed(seed)
    J = torch.randn(n, n, generator=generator, dtype=torch.float64).softmax(-1)
    x = torch.randn(n, 600, generator=generator, dtype=torch.float64)
    x = x / x.square().mean(-1, keepdim=True).sqrt()
    found = stationary_moments(J, x, beta=0.5, gain="limit")
    a = (found.m / (x + J @ found.m)).mean().item()
    plain = a * J * found.C[0].diagonal()
    lost = ((plain - found.C[1]).square().sum() / found.C[1].square().sum()).sqrt()
    Y2 = J.square().sum(-1).mean()[None]
    assert LOST.alternatives[0](Y2, n, a).item() == pytest.approx(lost.item(), rel=0.02)
    assert LOST.reference(Y2, n, a).item() == pytest.approx(lost.item(), rel=0.15)


def normalised(p, v):
    """By another function than the reference's."""
    unit = torch.nn.functional.normalize
    return unit(v + v.shape[1] ** 0.5 * p @ unit(v)) * math.sqrt(v.shape[1])


def test_answers_of_other_forms_are_right():
    for name, answer in (
        ("8c.1", lambda k, b, d: 2 * b * d / (d - 1 + ((d + 1) ** 2 + 4 * b**2 * k * d**2).sqrt())),
        ("8c.4", normalised),
        ("8c.6", lambda Y2, n, a: a**2 / n / (Y2 / n).sqrt()),
    ):
        assert verdict(name, answer).right, name
