"""The mixers of attnlib.mean_field run the suite that all mixers share; what is the mean-field module's own."""

import pytest
import torch
from helpers import mixers
from helpers.draw import close, normal

from attnlib.mean_field import Binary, Gaussian, MeanFieldAttention, Spherical, flat_couplings, symmetric_couplings
from attnlib.mean_field.equations import Equations


class TestMeanFieldAttention(mixers.MeanFieldAttentionSuite):
    pass


class TestMeanFieldAttentionOfAsymmetricCouplings(mixers.MeanFieldAttentionOfAsymmetricCouplingsSuite):
    pass


class TestMeanFieldAttentionByIteration(mixers.MeanFieldAttentionByIterationSuite):
    pass


class TestMeanFieldAttentionWithANetwork(mixers.MeanFieldAttentionWithANetworkSuite):
    pass


@pytest.mark.parametrize("symmetric", [True, False])
def test_stabilise_scales_each_head_by_itself(symmetric):
    """A head that is stable keeps its couplings, however far another one has gone."""
    torch.manual_seed(0)
    module = MeanFieldAttention(6, heads=3, sites=5, symmetric=symmetric, bound=None, dtype=torch.float64)
    with torch.no_grad():
        module.couplings.mul_(torch.tensor([1.0, 20.0, 50.0], dtype=torch.float64)[:, None, None, None, None])
    before, largest = module.couplings.detach().clone(), module.largest_eigenvalue()
    assert largest[0] < 0.9
    assert (largest[1:] > 1).all()
    module.stabilise(0.9)
    close(module.largest_eigenvalue(), largest.clamp(max=0.9), atol=1e-12)
    close(module.couplings[0].detach(), before[0], atol=0.0)
    close(module.couplings[1:].detach(), before[1:] * (0.9 / largest[1:])[:, None, None, None, None], atol=1e-12)


@pytest.mark.double
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("prior", [Gaussian(4.0, 3), Spherical(3)], ids=repr)
def test_couplings_begin_with_the_largest_eigenvalue_that_is_asked_for(prior, symmetric):
    """In units of what the prior lets go through, and times beta: as many random numbers have it, by themselves."""
    torch.manual_seed(0)
    settings = {"symmetric": symmetric, "onsager": "none", "bound": None, "beta": 0.7, "dtype": torch.float64}
    module = MeanFieldAttention(6, heads=2, sites=80, prior=prior, largest=0.3, **settings)
    through = module.prior.covariance(torch.zeros(1, 3, dtype=torch.float64))[0, 0, 0]
    J = flat_couplings(symmetric_couplings(0.7 * module.couplings.detach(), across=symmetric))
    top = torch.linalg.eigvalsh(J)[:, -1] if symmetric else torch.linalg.svdvals(J)[:, 0]
    close(through * top, torch.full((2,), 0.3, dtype=torch.float64), atol=0.02)
    close(module.largest_eigenvalue(), through * top, atol=1e-12)


@pytest.mark.double
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("prior", [Gaussian(4.0, 3), Spherical(3)], ids=repr)
def test_the_bound_is_in_units_of_what_the_prior_lets_through(prior, symmetric):
    """A head far beyond it is held there, whatever the variance of a free component."""
    torch.manual_seed(0)
    settings = {"symmetric": symmetric, "onsager": "none", "bound": 0.8, "dtype": torch.float64}
    module = MeanFieldAttention(6, heads=2, sites=4, prior=prior, **settings)
    with torch.no_grad():
        module.couplings.mul_(50)
    through = prior.covariance(torch.zeros(1, 3, dtype=torch.float64))[0, 0, 0]
    J = flat_couplings(module.explain(normal(4, 6)).J.detach())
    top = torch.linalg.eigvalsh(J)[:, -1] if symmetric else torch.linalg.svdvals(J)[:, 0]
    close(through * top, torch.full((2,), 0.8, dtype=torch.float64), atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"symmetric": False}, {"prior": Binary(), "onsager": "none"}])
def test_a_hidden_token_is_as_if_its_site_were_empty(settings):
    """Also the first one: couplings of the others' sites to it say nothing, in whichever triangle they stand."""
    torch.manual_seed(0)
    module = MeanFieldAttention(4, heads=4 if "prior" in settings else 2, sites=4, dtype=torch.float64, **settings)
    x, seen = normal(2, 4, 4), torch.tensor([False, True, True, True])
    alone = MeanFieldAttention(4, heads=module.heads, sites=4, dtype=torch.float64, **settings)
    alone.load_state_dict(module.state_dict())
    with torch.no_grad():
        alone.couplings[:, 0] = 0
        alone.couplings[:, :, 0] = 0
    close(module(x, mask=seen)[:, 1:], alone(x)[:, 1:], atol=1e-9)
    assert (module(x)[:, 1:] - alone(x)[:, 1:]).abs().max() > 1e-4


@pytest.mark.double
def test_where_damped_steps_stop_short_andersons_go_on(monkeypatch):
    """From there, not from the start: each evaluation of the equations counts in ``iterations``, and none is made twice."""
    asked, image = [], Equations.image
    monkeypatch.setattr(Equations, "image", lambda self, state: asked.append(state) or image(self, state))
    torch.manual_seed(0)
    settings = {"heads": 2, "sites": 5, "prior": Binary(), "onsager": "none", "bound": None, "dtype": torch.float64}
    short, long = (MeanFieldAttention(6, max_steps=steps, **settings) for steps in (40, 2000))
    with torch.no_grad():
        short.couplings.mul_(3)
        long.load_state_dict(short.state_dict())
        x = normal(3, 5, 6)
        found = short.explain(x)
        assert len(asked) == found.iterations.max() > 40
        exact = long.explain(x)
        assert 40 < exact.iterations.max() < 2000  # damped steps alone get there, too
    assert found.converged.all()
    close(found.output, exact.output, atol=1e-8)
