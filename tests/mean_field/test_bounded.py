"""Couplings inside a bound: what is taken off, its derivatives, and mixers that train at their defaults."""

import pytest
import torch
from helpers.draw import close, normal
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from attnlib import bounded_couplings
from attnlib.mean_field import Binary, MeanFieldAttention, flat_couplings, symmetric_couplings

SYMMETRIES = [{}, {"inside": True}, {"self_coupling": True}, {"across": False}]


def drawn(scale=1.0, seed=0, **symmetries):
    return symmetric_couplings(normal(3, 4, 4, 2, 2, scale=scale, seed=seed), **symmetries)


def strength(J, across=True):
    flat = flat_couplings(J)
    return (torch.linalg.eigvalsh(flat) if across else torch.linalg.svdvals(flat)).amax(-1)


@pytest.mark.parametrize("symmetries", SYMMETRIES)
def test_the_bound_holds_with_the_symmetries_and_inside_it_nothing_changes(symmetries):
    J = drawn(**symmetries)
    J[0] *= 0.1  # one of three is inside
    found = bounded_couplings(J, 0.9, **symmetries)
    across = symmetries.get("across", True)
    assert (strength(found, across) <= 0.9 + 1e-12).all()
    close(strength(found, across)[1:], torch.full((2,), 0.9).double(), atol=1e-7)
    close(symmetric_couplings(found, **symmetries), found, atol=1e-14)
    assert torch.equal(found[0], J[0])
    assert torch.equal(bounded_couplings(J, 20.0, **symmetries), J)
    for sample in range(3):
        close(bounded_couplings(J[sample], 0.9, **symmetries), found[sample], atol=1e-13)


@pytest.mark.parametrize("symmetries", SYMMETRIES)
def test_half_precision_is_computed_in_single(symmetries):
    J = drawn(**symmetries).half()
    found = bounded_couplings(J, 0.9, **symmetries)
    assert found.dtype == torch.half
    assert torch.equal(found, bounded_couplings(J.float(), 0.9, **symmetries).half())
    assert torch.equal(bounded_couplings(J, 20.0, **symmetries), J)


def test_a_sum_over_large_couplings_does_not_overflow():
    J = 1e38 * drawn(across=False).sign().float()
    close(strength(bounded_couplings(J, 0.9, across=False), across=False), torch.full((3,), 0.9), atol=1e-5)


def test_only_what_passes_the_bound_is_taken_off():
    """With self-couplings nothing comes back: eigenvalues are cut at the bound, and modes stay."""
    J = drawn(self_coupling=True)
    values, modes = torch.linalg.eigh(flat_couplings(J))
    close(flat_couplings(bounded_couplings(J, 0.9, self_coupling=True)), (modes * values.clamp(max=0.9)[:, None]) @ modes.mT)


@pytest.mark.double
@pytest.mark.parametrize("symmetries", SYMMETRIES)
@pytest.mark.slow
def test_it_differentiates_twice(symmetries):
    raw = normal(2, 3, 3, 2, 2).requires_grad_()

    def call(raw):
        return bounded_couplings(symmetric_couplings(raw, **symmetries), 0.9, **symmetries)

    assert gradcheck(call, raw)
    assert gradgradcheck(call, raw, atol=1e-4)
    weight = normal(2, 3, 3, 2, 2, seed=1)
    (slope,) = torch.autograd.grad((call(raw) * weight).sum(), raw)
    close(torch.func.grad(lambda raw: (call(raw) * weight).sum())(raw.detach()), slope, atol=1e-9)
    close(torch.func.vmap(call)(torch.stack([raw, 2 * raw]).detach())[0], call(raw).detach(), atol=1e-12)


def test_equal_eigenvalues_have_finite_gradients():
    """Two pairs coupled by the same number beyond the bound, and two more inside."""
    J = torch.zeros(8, 8, 1, 1).double()
    for i, strong in ((0, 2.0), (2, 2.0), (4, 0.3), (6, 0.3)):
        J[i, i + 1] = J[i + 1, i] = strong
    J.requires_grad_()
    (slope,) = torch.autograd.grad(bounded_couplings(J, 0.9)[..., 0, 0].square().sum(), J)
    assert slope.isfinite().all()
    free = torch.func.grad(lambda J: bounded_couplings(J, 0.9).square().sum())(torch.zeros(3, 3, 1, 1))
    assert torch.equal(free, torch.zeros(3, 3, 1, 1))


@pytest.mark.usefixtures("unchecked")
def test_what_is_refused():
    for call, message in (
        (lambda: bounded_couplings(drawn(), 0.0), "bound is 0.0"),
        (lambda: bounded_couplings(torch.zeros(3, 3), 1.0), r"J has shape \(3, 3\)"),
        (lambda: MeanFieldAttention(4, sites=3, bound=-1.0), "bound is -1.0"),
        (lambda: MeanFieldAttention(4, sites=3, largest=2.0), "largest is 2.0 and bound 0.95; expected largest within"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert MeanFieldAttention(4, sites=3, largest=2.0, bound=None).largest_eigenvalue() > 0


@pytest.mark.parametrize(
    "settings", [{}, {"symmetric": False}, {"prior": Binary(), "onsager": "none", "symmetric_inside": True}]
)
def test_a_mixer_keeps_its_couplings_inside_the_bound(settings):
    module = MeanFieldAttention(4, sites=5, heads=2, dtype=torch.float64, **settings)
    x = normal(2, 3, 4)
    free = MeanFieldAttention(4, sites=5, heads=2, bound=None, dtype=torch.float64, **settings)
    free.load_state_dict(module.state_dict())
    assert torch.equal(module(x), free(x))  # as drawn it is inside
    with torch.no_grad():
        module.couplings[1] *= 30
    close(module.largest_eigenvalue()[1], torch.tensor(0.95).double(), atol=1e-6)
    module(x).sum().backward()
    assert module.couplings.grad.isfinite().all()
    shown = module.explain(x).J
    blocks = module.explain(normal(2, 5, 4)).J
    assert torch.equal(shown, blocks[:, :3, :3])  # a pair's coupling does not depend on how many tokens there are
    module.stabilise(0.5)
    close(module.largest_eigenvalue()[1], torch.tensor(0.5).double(), atol=1e-12)


class Block(nn.Module):
    def __init__(self, mixer, kinds=10, dim=32):
        super().__init__()
        self.embed, self.mixer, self.out = nn.Embedding(kinds, dim), mixer, nn.Linear(dim, kinds)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))

    def forward(self, symbols):
        x = self.embed(symbols)
        return self.out(self.norms[1](x + self.mixer(self.norms[0](x)))).mT


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("settings", [{}, pytest.param({"prior": Binary(), "onsager": "none"}, marks=pytest.mark.whole)])
def test_a_plain_block_trains_at_the_defaults(settings):
    """Each place is to say what stands at another one. Without a bound couplings pass the edge: Gaussians have no state."""

    def trained(**bound):
        torch.manual_seed(0)
        model = Block(MeanFieldAttention(32, sites=16, heads=2, **settings, **bound))
        optimiser, order = torch.optim.AdamW(model.parameters(), 0.01), torch.randperm(16)
        for _ in range(30):
            symbols = torch.randint(10, (16, 16))
            loss = nn.functional.cross_entropy(model(symbols), symbols[:, order])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return loss.item(), model.mixer.largest_eigenvalue().max()

    loss, largest = trained()
    assert loss < 1.9  # from ln 10, and where no place knows another it stays there
    assert largest < 0.951
    if settings:
        assert trained(bound=None)[1] > 1.1  # binary spins have one, and training goes on
    else:
        with pytest.raises(ValueError, match="couplings of MeanFieldAttention"):
            trained(bound=None)


def test_slow_steps_are_followed_by_andersons_before_an_error():
    """A mode at the bound: damped steps take off a twentieth each, and in 60 of them no eleven digits."""
    module = MeanFieldAttention(
        1, sites=6, bare=True, beta=1.0, prior=Binary(), onsager="none", max_steps=60, dtype=torch.float64
    )
    with torch.no_grad():
        module.couplings.fill_(1.0)
    found = module.explain(torch.full((1, 6, 1), 0.01).double())
    assert found.converged.all()
    coupling = found.J[0, 0, 1].item()
    m = found.m.flatten()
    close(m, torch.tanh(5 * coupling * m + 0.01), atol=1e-9)


def test_who_else_is_in_the_batch_does_not_matter_where_andersons_steps_follow():
    """One member arrives by damped steps, the other does not: the first is what it is alone, digit by digit."""
    module = MeanFieldAttention(
        1, sites=6, bare=True, beta=1.0, prior=Binary(), onsager="none", max_steps=60, dtype=torch.float64
    )
    with torch.no_grad():
        module.couplings.fill_(1.0)
    x = torch.tensor([[3.0], [0.01]]).double().expand(2, 6)[..., None]
    both, alone = module.explain(x), module.explain(x[:1])
    assert both.iterations[1] > 60 > alone.iterations
    assert torch.equal(both.m[0], alone.m[0])
    assert both.iterations[0] == alone.iterations[0]


def test_small_fields_are_answered_as_precisely_as_large_ones():
    """With adaptive TAP the state holds variances of order one too; the answer to a small field is linear in it."""
    module = MeanFieldAttention(2, sites=4, bare=True, beta=1.0, prior=Binary())
    with torch.no_grad():
        module.couplings.mul_(1.5)
    x = normal(1, 4, 2, dtype=torch.float32)
    close(1e7 * module(1e-7 * x), 1e4 * module(1e-4 * x), atol=1e-3)
