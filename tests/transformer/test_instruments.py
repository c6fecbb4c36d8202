"""Instruments for heads, against matrices written out, loops, enumeration of all states, and heads that are known."""

import itertools
import math

import pytest
import torch
from helpers.draw import close, mask_of, normal

from attnlib import random_energy, softmax, spectral_radius
from attnlib.transformer import (
    antisymmetric_share,
    arrow_estimate,
    lyapunov_exponent,
    symmetric_share,
    thermometer,
    value_kinds,
)
from attnlib.transformer.energy_law import participation_law


def exactly(*numbers):
    """Numbers in double precision: one as a scalar."""
    found = torch.tensor(numbers, dtype=torch.float64)
    return found[0] if len(numbers) == 1 else found


# The symmetric share


def share_of(form):
    """By the form itself, split in two."""
    S, A = (form + form.mT) / 2, (form - form.mT) / 2
    return S.square().sum((-2, -1)) / (S.square() + A.square()).sum((-2, -1))


@pytest.mark.parametrize("d", [1, 3, 6])
def test_symmetric_share_is_that_of_the_form(d):
    query, key = normal(2, 3, d, 6), normal(2, 3, d, 6, seed=1)
    close(symmetric_share(query, key), share_of(query.mT @ key))


def test_forms_with_and_without_an_energy():
    query, turn = normal(3, 5), normal(3, 3, seed=1)
    close(symmetric_share(query, query), exactly(1.0))
    close(symmetric_share(query, (turn + turn.mT) @ query), exactly(1.0))
    close(symmetric_share(query, (turn - turn.mT) @ query), exactly(0.0), atol=1e-7)
    close(symmetric_share(0 * query, query), exactly(1.0))


def test_random_forms_are_half_symmetric():
    """1/2 + 1/(2 dim), the ratio of two means, within five standard errors."""
    found = symmetric_share(normal(4000, 4, 16), normal(4000, 4, 16, seed=1))
    assert abs(found.mean() - 0.5 - 1 / 32) < 5 * found.std() / 4000**0.5


def test_symmetric_share_differentiates():
    assert torch.autograd.gradcheck(symmetric_share, (normal(2, 3, 4, grad=True), normal(2, 3, 4, seed=1, grad=True)))


# Value maps


def test_value_kinds_are_those_of_the_map_written_out():
    out, value = normal(3, 7, 4), normal(3, 4, 7, seed=1)
    found, M = value_kinds(out, value), out @ value
    trace, nuclear = torch.einsum("hii->h", M), torch.linalg.svdvals(M).sum(-1)
    close(found.store, (trace / nuclear).clamp(min=0))
    close(found.erase, (-trace / nuclear).clamp(min=0))
    close(found.size, torch.linalg.matrix_norm(M))
    close(found.store + found.walk + found.erase, torch.ones(3).double())
    values = torch.linalg.eigvals(M)
    largest = values.abs().sort(descending=True).values[:, :4]
    close(found.eigenvalues.abs(), largest, atol=1e-9)
    close(found.eigenvalues.sum(-1).real, trace)


EYE = torch.eye(6, dtype=torch.float64)
KNOWN = {
    "identity": (EYE, EYE, (1, 0, 0)),
    "a projection": (EYE[:, :2], EYE[:2], (1, 0, 0)),
    "values tied to keys": (normal(6, 3), None, (1, 0, 0)),
    "a permutation": (EYE.roll(1, 0), EYE, (0, 1, 0)),
    "from one part to another": (EYE[:, 3:], EYE[:3], (0, 1, 0)),
    "a turn by a quarter": (torch.block_diag(*[torch.tensor([[0.0, -1.0], [1.0, 0.0]]).double()] * 3), EYE, (0, 1, 0)),
    "taken away": (-EYE, EYE, (0, 0, 1)),
    "nothing": (0 * EYE, EYE, (0, 0, 1)),
    "two kept, one taken": (EYE[:, :3], torch.diag(torch.tensor([1.0, 1.0, -1.0])).double() @ EYE[:3], (1 / 3, 2 / 3, 0)),
}


@pytest.mark.parametrize("case", KNOWN)
def test_value_maps_that_are_known(case):
    out, value, shares = KNOWN[case]
    found = value_kinds(out, out.mT if value is None else value)
    close(torch.stack([found.store, found.walk, found.erase]), exactly(*shares))


# The thermometer


def test_a_posterior_reads_one():
    """Every query has the weights 1/2, 1/4, 1/4, and the right keys come just as often."""
    p = exactly(0.5, 0.25, 0.25).expand(4, 3)
    right = torch.tensor([0, 0, 1, 2])
    found = thermometer(p, right)
    close(found.ratio, exactly(1.0))
    cold, hot = (thermometer(softmax(p.log(), beta=b), right).ratio for b in (2.0, 0.5))
    assert hot < 1 < cold


def test_the_thermometer_of_a_mixture_of_gaussians():
    """Eight keys, one of them the mean of what is seen: the posterior is a softmax at the inverse variance, and no other."""
    keys = normal(8, 3)
    right = torch.randint(8, (40_000,), generator=torch.Generator().manual_seed(1))
    seen = keys[right] + 0.8 * normal(40_000, 3, seed=2)
    energy = -torch.cdist(seen, keys).square() / 2
    for factor, sign in ((1.0, 0), (1.3, 1), (0.7, -1)):
        found = thermometer(softmax(energy, beta=factor / 0.64), right)
        away = (found.ratio - 1) / found.error
        assert abs(away) < 4 if sign == 0 else sign * away > 10


@pytest.mark.parametrize("together", [True, False], ids=["texts", "queries"])
def test_the_error_of_the_thermometer_is_what_repetition_shows(together):
    """Queries of one text share their right key: their number says nothing of the error, that of the texts does."""
    generator = torch.Generator().manual_seed(0)
    p = exactly(0.6, 0.3, 0.1)
    ratios, errors = [], []
    for _ in range(400):
        right = torch.multinomial(p, 60, replacement=True, generator=generator)
        right = right[:, None].expand(60, 5) if together else right[None]
        found = thermometer(p.expand(*right.shape, 3), right)
        ratios.append(found.ratio)
        errors.append(found.error)
    assert abs(torch.stack(errors).mean() / torch.stack(ratios).std() - 1) < 0.1


def test_queries_without_a_right_key_do_not_count():
    weights, right = softmax(normal(2, 5, 4)), torch.tensor([[1, -1, 3, 0, -1], [-1, -1, 2, 2, 1]])
    total = [(p.square().sum(), p[k]) for p, k in zip(weights.reshape(-1, 4), right.flatten()) if k >= 0]
    found = thermometer(weights, right)
    assert found.queries == len(total) == 6
    close(found.ratio, sum(y for y, _ in total) / sum(t for _, t in total))
    spoiled = weights.clone()
    spoiled[0, 1] = 1 / 5
    close(thermometer(spoiled, right).error, found.error)
    assert thermometer(weights[0, :1], right[0, :1]).error.isnan()


# The arrow


def entropy_production(J):
    """Of spins that are updated together without drive, in nats a step: all states, the stationary law, both directions."""
    n = len(J)
    s = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=n))).double()
    h = s @ J.mT
    log_p = (s[None] * h[:, None] - (2 * h.cosh()).log()[:, None]).sum(-1)  # from a row to a column
    P = log_p.exp()
    pi = torch.linalg.matrix_power(P, 1000)[0]
    flow = pi[:, None] * P
    return (flow * (flow / flow.mT).log()).sum()


def test_arrow_is_the_entropy_production_of_weak_couplings():
    """By enumeration of 32 states; what is left falls as the square of the couplings."""
    p = softmax(2 * normal(5, 5))
    ratios = [entropy_production(size * p) / size**2 / 5 / arrow_estimate(p) for size in (0.2, 0.1)]
    assert abs(ratios[1] - 1) < 0.02
    assert 3 < (ratios[0] - 1) / (ratios[1] - 1) < 5


def test_arrow_of_two_spins_and_of_reversible_weights():
    J = normal(2, 2)
    J = J - torch.diag(J.diagonal())
    size = 1e-3
    exact = size * (J[0, 1] - J[1, 0]) * (torch.tanh(size * J[0, 1]) - torch.tanh(size * J[1, 0]))
    close(arrow_estimate(J) * 2 * size**2 / exact, exactly(1.0), atol=1e-5)
    close(entropy_production(0.3 * J), 0.3 * (J[0, 1] - J[1, 0]) * (torch.tanh(0.3 * J[0, 1]) - torch.tanh(0.3 * J[1, 0])))
    close(arrow_estimate(J + J.mT), exactly(0.0))


def test_antisymmetric_share_by_loops():
    scores, mask = normal(2, 5, 5), mask_of(2, 5, seed=3) | torch.tensor([True, True, True, False, False])
    for one, kept, found in zip(scores, mask, antisymmetric_share(scores, mask=mask)):
        rows = kept.nonzero()[:, 0].tolist()
        c = {}
        for i in rows:
            mean = sum(one[i, k] for k in rows if k != i) / (len(rows) - 1)
            c |= {(i, j): one[i, j] - mean for j in rows if j != i}
        close(found, sum((c[i, j] - c[j, i]) ** 2 for i, j in c) / (4 * sum(x**2 for x in c.values())))


def test_antisymmetric_share_asks_for_a_token_in_each_text():
    scores, mask = normal(2, 3, 3), torch.tensor([[True, True, False], [False, False, False]])
    with pytest.raises(ValueError, match="mask leaves no token of a text"):
        antisymmetric_share(scores, mask=mask)


def test_antisymmetric_share_sees_what_softmax_sees():
    scores = normal(6, 6)
    close(antisymmetric_share(scores + normal(6, 1, seed=1)), antisymmetric_share(scores))
    assert antisymmetric_share(scores + scores.mT) > 0.01  # rows of unequal sums: the normalisation has an arrow
    close(antisymmetric_share(scores - scores.mT - (scores - scores.mT).mean(-1, keepdim=True)) > 0.5, torch.tensor(True))
    draws = antisymmetric_share(normal(500, 12, 12))
    assert abs(draws.mean() - 0.5) < 0.02


def test_the_two_arrows_agree_when_it_is_hot():
    """Weights of others only, at a small beta: their arrow is that of the scores, to first order."""
    n, beta = 7, 1e-4
    scores = normal(n, n)
    others = ~torch.eye(n, dtype=torch.bool)
    p = softmax(scores, beta=beta, mask=others)
    mean = torch.where(others, scores, 0.0).sum(-1, keepdim=True) / (n - 1)
    whole = torch.where(others, scores - mean, 0.0).square().sum()
    first = 4 * whole * antisymmetric_share(scores) * beta**2 / (n - 1) ** 2 / (2 * n)
    close(arrow_estimate(p) / first, exactly(1.0), atol=1e-3)


# Lyapunov exponents


def test_of_a_linear_map_it_is_the_logarithm_of_the_spectral_radius():
    A = normal(6, 6)
    A = A + A.mT  # real eigenvalues, the largest apart
    found = lyapunov_exponent(lambda z: z @ A.mT / 4, normal(6), steps=50, burn_in=400)
    close(found, (torch.linalg.eigvalsh(A).abs().max() / 4).log())
    turn = 0.5 * torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
    close(lyapunov_exponent(lambda z: z @ turn.mT, normal(3, 2), steps=7, burn_in=0), exactly(*[math.log(0.5)] * 3))


def test_along_a_trajectory_it_is_that_of_the_product_of_jacobians():
    W = 2 * normal(4, 4)
    step = lambda z: torch.tanh(z @ W.mT)  # noqa: E731
    z, product = normal(4, seed=1), torch.eye(4).double()
    first = torch.randn(4, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    v = first / first.norm()
    for _ in range(9):
        product, z = torch.func.jacrev(step)(z) @ product, step(z)
    found = lyapunov_exponent(step, normal(4, seed=1), steps=9, burn_in=0, generator=torch.Generator().manual_seed(5))
    close(found, (product @ v).norm().log() / 9)


def test_at_a_fixed_point_it_is_the_logarithm_of_the_radius_there():
    W = 0.12 * (normal(5, 5) + normal(5, 5).mT)
    step = lambda z: torch.tanh(z @ W.mT + 0.4)  # noqa: E731
    z = normal(2, 5, seed=1)
    for _ in range(500):
        z = step(z)
    close(lyapunov_exponent(step, z, burn_in=500), spectral_radius(step, z, tolerance=1e-12).log(), atol=1e-8)


def test_samples_do_not_see_each_other_and_nothing_is_minus_infinity():
    A = torch.tensor([[2.0, 0.0], [0.0, 0.0]]).double()
    alone = lyapunov_exponent(lambda z: z @ A, torch.ones(1, 2).double())
    close(alone, exactly(math.log(2.0))[None])
    assert lyapunov_exponent(lambda z: 0 * z, torch.ones(2).double()) == -math.inf
    with pytest.raises(ValueError, match=r"function returned shape \(3, 1\); expected \(3, 2\)"):
        lyapunov_exponent(lambda z: z[..., :1], torch.ones(3, 2))
    with pytest.raises(ValueError, match="function's values are"):
        lyapunov_exponent(lambda z: z * 1e30, torch.ones(3, 2))


# The law of random energies at many spreads


def test_the_table_of_random_energies():
    generator = torch.Generator().manual_seed(0)
    keys = torch.randint(1, 65, (60,), generator=generator)
    sigma = 4 * torch.rand(60, generator=generator, dtype=torch.float64)
    exact = [random_energy(int(m), s).participation for m, s in zip(keys, sigma)]
    close(participation_law(sigma, keys), torch.stack(exact), atol=1e-3)
    close(participation_law(torch.zeros(2).double(), torch.tensor([1, 9])), exactly(1, 1 / 9))


@pytest.mark.slow
def test_the_table_of_random_energies_far_out():
    sigma = exactly(7.0, 9.7, 20.0, 30.0)
    close(participation_law(sigma, torch.full((4,), 20)), random_energy(20, sigma).participation, atol=2e-3)
