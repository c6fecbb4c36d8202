"""Naive mean field, TAP and adaptive TAP against enumeration and integrals; what each says of itself."""

import math

import pytest
import torch
from helpers.draw import close, derivatives, normal
from torch.autograd import forward_ad, gradcheck

from attnlib import ConvergenceError
from attnlib.mean_field import (
    Binary,
    Gaussian,
    Prior,
    Spherical,
    adaptive_tap,
    almeida_thouless,
    exact_ising,
    gaussian_response,
    naive_mean_field,
    sherrington_kirkpatrick,
    tap,
)

THEORIES = [naive_mean_field, tap, adaptive_tap]
theories = pytest.mark.parametrize("theory", THEORIES, ids=lambda theory: theory.__name__)


def glasses(systems, n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    J = sherrington_kirkpatrick(n, systems, generator=generator, dtype=torch.float64)
    return J, 0.3 * torch.randn(systems, n, generator=generator, dtype=torch.float64)


def errors(theory, J, h, beta):
    exact = exact_ising(J, h, beta=beta)
    found = theory(J, h, beta=beta)
    return found, (found.m - exact.m).square().mean(-1).sqrt(), (found.chi - exact.chi).square().mean((-2, -1)).sqrt()


@pytest.mark.double
@pytest.mark.parametrize("beta", [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
@pytest.mark.slow
def test_the_order_of_the_theories_in_twenty_glasses(beta):
    """Each theory leaves out a higher power of the coupling than the one before, up to the transition."""
    J, h = glasses(20, 10)
    found = {theory: errors(theory, J, h, beta) for theory in THEORIES}
    naive, plain, adaptive = (found[theory][1] for theory in THEORIES)
    if beta <= 0.5:
        assert (plain < naive).all()
        assert (adaptive < plain).sum() >= 15
    assert naive.median() > 3 * plain.median() > 3 * adaptive.median()
    responses = [found[theory][2].median() for theory in THEORIES]
    assert responses[0] > responses[1] > responses[2]
    assert found[adaptive_tap][0].consistency.max() < 1e-10
    for theory in THEORIES:
        assert found[theory][0].converged.all()


@pytest.mark.double
def test_errors_shrink_as_the_expansions_in_the_coupling_say():
    """In powers of beta: naive mean field is wrong from the second, TAP from the third (in m, with fields of order one)."""
    J, h = glasses(20, 8)
    h = h / 0.05  # beta h stays of order one
    powers = {}
    for theory in THEORIES:
        small, large = (errors(theory, J, h * 0.05 / beta, beta)[1].median() for beta in (0.02, 0.04))
        powers[theory] = math.log2(large / small)
    assert abs(powers[naive_mean_field] - 2) < 0.2
    assert abs(powers[tap] - 3) < 0.2
    assert powers[adaptive_tap] > 2.8


@pytest.mark.sweep(0.5)
@theories
def test_it_solves_its_own_equations(theory):
    J, h = glasses(5, 9)
    found = theory(J, h, beta=0.6)
    m, J, h = found.m, 0.6 * J, 0.6 * h
    V = {
        naive_mean_field: torch.zeros_like(m),
        tap: (J.square() @ (1 - m**2)[..., None])[..., 0],
        adaptive_tap: found.V,
    }[theory]
    close(V, found.V, atol=1e-8)
    close(m, torch.tanh((J @ m[..., None])[..., 0] - V * m + h), atol=1e-8)
    if theory is adaptive_tap:
        Lambda = torch.diag_embed(V + 1 / (1 - m**2))
        close(found.chi, torch.linalg.inv(Lambda - J), atol=1e-7)
        close(found.chi.diagonal(dim1=-2, dim2=-1), 1 - m**2, atol=1e-8)
    assert (found.stability > 0).all()
    assert (found.spectrum > 0).all()
    assert found.spin_glass_susceptibility.shape == (5,)


@pytest.mark.slow
@pytest.mark.double
@derivatives
@theories
def test_responses_are_derivatives_and_all_differentiates(theory, how):
    """For naive mean field and TAP chi is the derivative of m; adaptive TAP takes V as given in it."""
    J, h = glasses(2, 4)
    h, beta = h.requires_grad_(), torch.tensor([0.4, 0.7], dtype=torch.float64).requires_grad_()
    if theory is not adaptive_tap:
        found = theory(J, h, beta=beta)
        rows = [torch.autograd.grad(found.m[:, i].sum(), h, retain_graph=True)[0] for i in range(4)]
        close(torch.stack(rows, -2) / beta.detach()[:, None, None], found.chi.detach(), atol=1e-8)
    assert gradcheck(lambda h, beta: theory(J, h, beta=beta, tolerance=1e-13).m, (h, beta), atol=1e-6, **how)
    if theory is not naive_mean_field:
        assert gradcheck(lambda h: theory(J, h, beta=0.5, tolerance=1e-13).V, (h,), atol=1e-6, **how)


steps = pytest.mark.parametrize(("strength", "steps"), [(0.05, 11), pytest.param(0.5, 60, marks=pytest.mark.whole)])
"""Where no value can be seen every step is taken: few in the tier test, of couplings that need no more."""


@pytest.mark.slow
@pytest.mark.double
@theories
@steps
def test_transforms_of_torch_func_see_the_same_derivatives(theory, strength, steps):
    """They see through no implicit function, so the steps carry the derivative; also where no spin is coupled, in one step."""
    J, h = glasses(3, 5)
    J = torch.stack([strength * J[0], 0.6 * strength * J[1], 0 * J[2]])
    weights = normal(3, 5, seed=7)

    def score(h, J, weights):
        return (weights * theory(J, h, max_steps=steps).m).sum()

    leaf = h.clone().requires_grad_()
    (slope,) = torch.autograd.grad(score(leaf, J, weights), leaf)
    close(torch.func.grad(score)(h, J, weights), slope, atol=1e-8)
    close(torch.func.vmap(torch.func.grad(score))(h, J, weights), slope, atol=1e-8)


@pytest.mark.slow
@pytest.mark.double
@theories
@steps
def test_derivatives_in_forward_mode_are_those_in_reverse(theory, strength, steps):
    """Of all that is found, by fields and couplings, with and without torch.func."""
    (J,), (h,) = glasses(1, 4)
    _, (push,) = glasses(1, 4, seed=5)
    given, along = (strength * J, h), (J * J, push)

    def found(J, h):
        found = theory(J, h, max_steps=steps)
        return torch.cat([found.m, found.chi.flatten(), found.V])

    wanted = torch.autograd.functional.jvp(found, given, along)[1]
    close(torch.func.jvp(found, given, along)[1], wanted, atol=1e-8)
    with forward_ad.dual_level():
        result = found(*map(forward_ad.make_dual, given, along))
        close(forward_ad.unpack_dual(result).tangent, wanted, atol=1e-8)


@pytest.mark.slow
@derivatives
@pytest.mark.parametrize("prior", [Gaussian(torch.tensor([[1.0, 0.3], [0.3, 0.6]])), Spherical(2)], ids=repr)
def test_reactions_of_vector_spins_differentiate(prior, how):
    """With respect to the couplings too, on which V of Gaussian spins depends alone."""
    J, h = glasses(1, 4)
    J, off = (0.05 if how else 0.4) * J[0], torch.triu_indices(4, 4, 1)

    def solve(upper, h):
        J = torch.zeros(4, 4, dtype=torch.float64).index_put((off[0], off[1]), upper)
        found = adaptive_tap(J + J.mT, h, prior=prior, tolerance=1e-13)
        return found.m, found.V, found.chi

    upper = J[off[0], off[1]].requires_grad_()
    assert gradcheck(solve, (upper, h[0].requires_grad_()), atol=1e-6, **how | {"fast_mode": True})


@pytest.mark.sweep(0.5)
@theories
def test_a_system_does_not_depend_on_the_others(theory):
    J, h = glasses(4, 7)
    beta = torch.tensor([0.2, 0.5, 0.6, 0.3], dtype=torch.float64)
    together = theory(J, h, beta=beta)
    for i in range(4):
        alone = theory(J[i], h[i], beta=beta[i].item())
        close(alone.m, together.m[i], atol=1e-12)
        close(alone.chi, together.chi[i], atol=1e-8)
        assert alone.iterations == together.iterations[i]


def test_failure_is_reported():
    J, h = glasses(3, 12)
    with pytest.raises(ConvergenceError, match="3 of 3 samples did not converge in 2 steps"):
        adaptive_tap(J, h, beta=1.0, max_steps=2)


def test_the_line_where_one_valley_becomes_many():
    """Without fields m = 0 solves all; a glass of many spins loses its one valley at beta = 1."""
    J = sherrington_kirkpatrick(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    zero = torch.zeros(400, dtype=torch.float64)
    for beta in (0.5, 0.9, 1.0, 1.2):
        close(almeida_thouless(J, zero, beta=beta), torch.tensor(1 - beta**2, dtype=torch.float64), atol=0.02)
    pair = torch.tensor([[0.0, 0.5], [0.5, 0.0]])
    assert almeida_thouless(pair, torch.tensor([0.6, 0.0])) > almeida_thouless(pair, torch.zeros(2))


@pytest.mark.double
def test_the_line_moves_with_the_square_of_what_magnetisations_leave():
    """Many spins that are all magnetised by m are left with ``1 - beta^2 (1 - m^2)^2``; of a pair the closed form."""
    J = sherrington_kirkpatrick(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for beta, m in ((1.0, 0.5), (1.0, -0.7), (2.0, 0.8)):
        everywhere = torch.full((400,), m, dtype=torch.float64)
        left = torch.tensor(1 - beta**2 * (1 - m**2) ** 2, dtype=torch.float64)
        close(almeida_thouless(J, everywhere, beta=beta), left, atol=0.02)
    pair, m = torch.tensor([[0.0, 0.5], [0.5, 0.0]]).double(), torch.tensor([0.6, 0.8], dtype=torch.float64)
    close(almeida_thouless(pair, m, beta=3.0), torch.tensor(1 - 2.25 * 0.64 * 0.36, dtype=torch.float64), atol=1e-12)


class Ternary(Prior):
    """-1, 0 or 1, each a third: V changes the mean."""

    def log_partition(self, field, V=None):
        here = torch.zeros_like(field[..., 0]) if V is None else V / 2
        return torch.stack([torch.zeros_like(here), field[..., 0] + here, here - field[..., 0]]).logsumexp(0) - math.log(3)


@pytest.mark.slow
def test_a_prior_of_ones_own():
    """Three states a spin, enumerated."""
    J, h = glasses(10, 6)
    states = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)] * 6)
    exponent = torch.einsum("si,bij,sj->bs", states, J, states) / 2 + h @ states.mT
    exact = exponent.softmax(-1) @ states
    naive, adaptive = naive_mean_field(J, h, prior=Ternary()), adaptive_tap(J, h, prior=Ternary())
    wrong = [(one.m - exact).square().mean(-1).sqrt() for one in (naive, adaptive)]
    assert wrong[1].median() < wrong[0].median() / 5
    assert adaptive.consistency.max() < 1e-9


def _fields(found, J, h):
    """What each of two spins of two components feels, its own trace taken off."""
    return (J @ found.m + h).view(2, 2) - found.V[:, None] * found.m.view(2, 2)


def test_two_spins_on_circles():
    """Spins on circles of radius sqrt(2), integrated over both angles; the matrix between them is no rotation."""
    angle = torch.arange(200, dtype=torch.float64) * 2 * math.pi / 200
    circle = 2**0.5 * torch.stack([angle.cos(), angle.sin()], -1)
    between = torch.tensor([[0.4, 0.1], [-0.2, 0.3]], dtype=torch.float64)
    J = torch.zeros(4, 4, dtype=torch.float64)
    J[:2, 2:], J[2:, :2] = between, between.mT
    h = torch.tensor([0.5, 0.2, -0.3, 0.4], dtype=torch.float64)
    weights = (circle @ between @ circle.mT + (circle @ h[:2])[:, None] + circle @ h[2:]).flatten().softmax(0).view(200, 200)
    exact = torch.cat([weights.sum(1) @ circle, weights.sum(0) @ circle])
    naive, adaptive = (theory(J, h, prior=Spherical(2)) for theory in (naive_mean_field, adaptive_tap))
    assert (adaptive.m - exact).abs().max() < (naive.m - exact).abs().max() / 2  # V is one number: of the reaction, the trace
    inverse = torch.linalg.inv(Spherical(2).covariance(_fields(adaptive, J, h), adaptive.V))
    Lambda = torch.block_diag(*(inverse + adaptive.V[:, None, None] * torch.eye(2, dtype=torch.float64)))
    close(adaptive.chi, torch.linalg.inv(Lambda - J), atol=1e-8)
    traces = torch.stack([adaptive.chi[i : i + 2, i : i + 2].trace() for i in (0, 2)])
    close(traces, 2 * Spherical(2).variance(_fields(adaptive, J, h), adaptive.V), atol=1e-8)
    assert adaptive.V.shape == (2,)
    assert adaptive.consistency < 1e-9


@pytest.mark.double
def test_with_a_gaussian_prior_the_reaction_cancels():
    """The theorem: V is not zero, and the means are those without it, the solution of one linear system."""
    covariance = torch.tensor([[1.0, 0.3], [0.3, 0.6]], dtype=torch.float64)
    J, h = glasses(3, 8)
    J, prior = 0.3 * J, Gaussian(covariance)
    solved = gaussian_response(J, h[:, None], prior=prior)[:, 0]
    precision = torch.kron(torch.eye(4, dtype=torch.float64), torch.linalg.inv(covariance).contiguous())
    close(solved, torch.stack([torch.linalg.solve(precision - J[i], h[i]) for i in range(3)]), atol=1e-12)
    adaptive, naive = (theory(J, h, prior=prior, tolerance=1e-12) for theory in (adaptive_tap, naive_mean_field))
    close(adaptive.m, solved, atol=1e-10)
    close(naive.m, solved, atol=1e-10)
    assert adaptive.V.abs().amax((-3, -2, -1)).min() > 0.01
    close(adaptive.chi, torch.stack([torch.linalg.inv(precision - J[i]) for i in range(3)]), atol=1e-9)
    prefix = gaussian_response(J, h[:, None], prior=prior, causal=True)[:, 0]
    for i in range(4):
        k = 2 * i + 2
        part = gaussian_response(J[:, :k, :k], h[:, None, :k], prior=prior)[:, 0]
        close(prefix[:, k - 2 : k], part[:, k - 2 :], atol=1e-12)
    with pytest.raises(ValueError, match="is not positive definite"):
        gaussian_response(10 * J, h[:, None], prior=prior)


@pytest.mark.double
@pytest.mark.parametrize("field", [6.0, 12.0, 30.0, 100.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_reaction_of_spins_that_hardly_move(field, dtype):
    """To first order ``V_i = sum_j J_ij^2 / cosh^2(field of j)``: of the field alone, or with what neighbours add to it.

    Which of the two is the tolerance's choice, as the variances themselves are below it.
    """
    J, _ = glasses(3, 8)
    h = field * torch.tensor([1.0, -1.0] * 4, dtype=dtype)
    found, strongest = adaptive_tap(J.to(dtype), h), J.abs().sum(-1).max().item()
    close(found.m, h.sign().expand(3, 8), atol=2 * math.exp(2 * strongest - 2 * field) + 2e-7)
    alone = h.double().expand(3, 8)
    bounds = [
        (J.square() @ local.cosh().pow(-2).unsqueeze(-1))[..., 0]
        for local in (alone, alone + (J @ found.m.double().unsqueeze(-1))[..., 0])
    ]
    slack = 0.05 * torch.maximum(*bounds) + (1e-14 if dtype == torch.float32 else 1e-30)
    assert (torch.minimum(*bounds) - slack <= found.V).all()
    assert (torch.maximum(*bounds) + slack >= found.V).all()


@pytest.mark.double
def test_couplings_that_single_precision_cannot_resolve_are_not_called_solved():
    J = 1e9 * glasses(1, 4)[0]
    with pytest.raises(ConvergenceError, match=r"too strong for torch\.float32"):
        adaptive_tap(J.float(), tolerance=4e-6)
    assert adaptive_tap(J).consistency < 1e-4


@pytest.mark.usefixtures("unchecked")
def test_what_they_refuse():
    J = glasses(1, 4)[0]
    for call, words in (
        (lambda: naive_mean_field(J, prior=Spherical(3)), "prior has spins of 3 components and J has 4 rows"),
        (lambda: naive_mean_field(J, prior=3), "prior is a int; expected a Prior"),
        (lambda: adaptive_tap(J + torch.eye(4)), "J couples a spin to itself"),
        (lambda: tap(J, start=1.5 * torch.ones(4, dtype=torch.float64)), "start holds magnetisations that binary spins"),
        (lambda: tap(J, torch.zeros(3, dtype=torch.float64)), "h has shape"),
        (lambda: gaussian_response(J, torch.zeros(1, 1, 4, dtype=torch.float64), prior=Binary()), "prior is Binary"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
