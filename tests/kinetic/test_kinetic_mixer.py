"""Attention as a driven system: the suite, one step against samples and a block by hand, moments against films of spins."""

import math

import pytest
import torch
from helpers import mixers
from helpers.draw import close, normal
from torch.autograd import gradgradcheck
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from attnlib import SoftmaxAttention
from attnlib.course.oracles import vector_film
from attnlib.kinetic import KineticAttention, moments_step, stationary_moments, vector_response


class TestKineticAttention(mixers.KineticAttentionSuite):
    pass


class TestKineticAttentionInSteps(mixers.KineticAttentionInStepsSuite):
    pass


class TestKineticAttentionWithMoments(mixers.KineticAttentionWithMomentsSuite):
    pass


def made(dim=8, **settings):
    torch.manual_seed(0)
    return KineticAttention(dim, dtype=torch.float64, **settings)


def definite(drive):
    """Spins along their drive."""
    return drive / drive.square().mean(-1, keepdim=True).sqrt()


def test_cold_and_bare_it_is_a_block_whose_norm_comes_after_the_sum():
    """What a transformer's block does with tokens that its norm has left, put together from torch's own parts."""
    x = rms_norm(normal(2, 6, 8), (8,))
    found = made(bare=True, spin_beta=1e8)(x)
    close(found, rms_norm(x + scaled_dot_product_attention(x, x, x), (8,)), atol=1e-7)
    near = made(bare=True, spin_beta=1e3)(x)
    assert 1e-5 < (near - found).abs().max() < 1e-2


def test_one_step_from_values_is_the_mean_of_spins_that_are_drawn():
    """Each spin is drawn from its density, in the field of the others' values, by weights on a circle: no Bessel function."""
    module, x = made(6, heads=3, gain="exact", spin_beta=1.3), normal(5, 6)
    record = module.explain(x)
    drive = record.drive
    h = drive + record.weights @ definite(drive)
    angle = torch.arange(4096, dtype=torch.float64) * 2 * math.pi / 4096
    spin = math.sqrt(2) * torch.stack([angle.cos(), angle.sin()], -1)
    density = torch.softmax(1.3 * h @ spin.mT, -1)
    close(record.m[1], density @ spin, atol=1e-12)
    close(module.merge(density @ spin, module.split(x)), module(x), atol=1e-12)


def test_couplings_are_the_weights_of_softmax_attention_with_the_same_maps():
    module, x = made(heads=2, causal=True), normal(2, 5, 8)
    torch.manual_seed(0)
    other = SoftmaxAttention(8, heads=2, causal=True, dtype=torch.float64)
    close(module.explain(x).weights, other.explain(x).weights, atol=1e-12)
    close(module.explain(x).drive, other.explain(x).value, atol=1e-12)


@pytest.mark.parametrize("start", ["values", "zero"])
@pytest.mark.parametrize("closure", ["naive", "moments"])
def test_steps_follow_each_other(closure, start):
    """Many steps are those of the functions, one after the other; naive, each is the response to what was there."""
    x = normal(2, 5, 8)
    module = made(heads=2, steps=3, closure=closure, start=start, spin_beta=0.8)
    record = module.explain(x)
    m = definite(record.drive) if start == "values" else torch.zeros_like(record.drive)
    C = torch.diag_embed(1 - m.square().mean(-1)).clamp(min=0.0)
    close(record.m[0], m, atol=1e-12)
    for step in range(1, 4):
        if closure == "naive":
            m = vector_response(record.drive + record.weights @ m, beta=0.8, gain="half")
        else:
            m, C, delayed = moments_step(m, C, record.weights, record.drive, beta=0.8)
        close(record.m[step], m, atol=1e-12)
    if closure == "moments":
        close(record.C, torch.stack([C, delayed], -3), atol=1e-12)
        J = record.weights
        close(record.entropy_production, 0.8 * ((J - J.mT) * delayed).sum((-2, -1)), atol=1e-12)


def test_the_first_step_is_the_same_with_and_without_the_weights_at_hand():
    """A fused kernel does not make them; two steps do, and their first is this one."""
    x, mask = normal(2, 5, 8), torch.rand(2, 5, 5, generator=torch.Generator().manual_seed(1)) < 0.6
    mask[1, 3] = False
    for causal in (False, True):
        one, two = (made(heads=2, steps=steps, causal=causal, empty="zero") for steps in (1, 2))
        heads = two.split(x, mask=mask)
        close(one(x, mask=mask), two.merge(two.explain(x, mask=mask).m[1], heads), atol=1e-12)


def test_a_spin_that_sees_nobody_feels_its_drive_alone():
    x, mask = normal(4, 8), torch.ones(4, 4, dtype=torch.bool)
    mask[2] = False
    module = made(steps=3, empty="zero")
    record = module.explain(x, mask=mask)
    close(record.m[3, 0, 2], vector_response(record.drive[0, 2:3], gain="half")[0], atol=1e-12)
    assert not module(x, mask=mask)[2].any()


@pytest.mark.whole
def test_moments_are_nearer_to_films_of_spins_than_means_alone():
    """At 64 components: naive is a third off, moments by no more than the films are."""
    x, off = 0.3 * normal(8, 64, seed=3), {}
    films = None
    for closure in ("naive", "moments"):
        record = made(64, steps=60, closure=closure, start="zero", beta=0.02, spin_beta=2.0).explain(x)
        if films is None:
            J, drive = record.weights[0].detach(), record.drive[0].detach()
            films = vector_film(J, drive, beta=2.0, films=4000, steps=1, burn_in=60, generator=torch.Generator().manual_seed(0))
        off[closure] = ((record.m[-1, 0] - films.m).norm() / films.m.norm()).item()
    noise = (films.m_error.norm() / films.m.norm()).item()
    assert off["moments"] < 1.5 * noise  # what is left is the films' own error
    assert off["naive"] > 8 * noise


def test_after_many_steps_it_is_at_rest():
    x = normal(5, 8)
    record = made(steps=300, closure="moments").explain(x)
    found = stationary_moments(record.weights[0].detach(), record.drive[0].detach(), tolerance=1e-13)
    close(record.m[-1, 0], found.m, atol=1e-10)
    close(record.C[0, 0], found.C[0], atol=1e-10)
    close(record.entropy_production[0], found.entropy_production, atol=1e-9)


def test_the_first_tokens_move_as_if_the_rest_were_not_there():
    """Which is why keys and values of a causal stack can be kept."""
    x = normal(2, 7, 8)
    module = made(heads=2, steps=4, closure="moments", causal=True)
    whole, part = module.explain(x), module.explain(x[:, :4])
    close(whole.m[:, :, :, :4], part.m, atol=1e-12)
    close(whole.C[..., :4, :4], part.C, atol=1e-12)


@pytest.mark.parametrize("settings", [{"twice_differentiable": True}, {"steps": 2, "closure": "moments"}, {"gain": "exact"}])
def test_second_derivatives(settings):
    module, x = made(4, heads=2, **({"twice_differentiable": True} | settings)), normal(3, 4, grad=True)
    assert gradgradcheck(module, (x,))


def test_a_token_of_zeros_has_a_spin_that_points_anywhere():
    x = normal(4, 8)
    x[1] = 0.0
    for closure in ("naive", "moments"):
        module = made(steps=2, closure=closure, bare=True)
        module(x.requires_grad_()).square().sum().backward()
        assert bool(torch.isfinite(x.grad).all())
        record = module.explain(x.detach())
        assert not record.m[0, 0, 1].any()
        x = x.detach()


def test_dropout_drops_the_same_weights_in_all_steps():
    module, x = made(steps=3, dropout=0.5), normal(6, 8)
    record = module.train().explain(x)
    m = definite(record.drive)
    for _ in range(3):
        m = vector_response(record.drive + record.weights @ m, gain="half")
    assert (record.weights == 0).any()
    close(record.m[-1], m, atol=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"steps": 0}, "steps is 0; expected an integer of at least 1"),
        ({"closure": "tap"}, "closure is 'tap'"),
        ({"start": "keys"}, "start is 'keys'"),
        ({"spin_beta": 0}, "spin_beta is 0"),
        ({"gain": "twice"}, "gain is 'twice'"),
        ({"gain": "exact", "head_dim": 1}, "gain is 'exact' with head_dim 1; expected a head_dim of at least 2"),
    ],
)
def test_what_is_wrong_is_said(settings, said):
    with pytest.raises(ValueError, match=said):
        made(**settings)
