"""The references of assignments 1 to 4, against the package, enumeration, derivatives, limits and other formulas."""

import decimal
import itertools

import pytest
import torch
from helpers.references import References, coupled, fresh

from attnlib.attention import attend, rotary_places
from attnlib.hopfield import descend, hopfield_energy
from attnlib.mean_field import exact_ising, naive_mean_field, tap
from attnlib.softmax import PartialSoftmax, entropy, merge, partial_softmax, smooth_max, softmax

REFERENCES = References(1, 2, 3, 4)
compare = REFERENCES.compare


def test_every_reference_is_compared():
    assert not REFERENCES.forgotten_in(__file__)


# Assignment 1


def test_log_weights_in_fifty_decimal_digits():
    def written_out(scores, beta):
        with decimal.localcontext(prec=50):
            rows = [[decimal.Decimal(beta) * decimal.Decimal(s) for s in row] for row in scores.tolist()]
            return scores.new_tensor([[float(-sum((t - s).exp() for t in row).ln()) for s in row] for row in rows])

    compare("log_weights", written_out)


def test_heat_capacity_is_a_slope_with_temperature():
    def slopes(scores, beta):
        T = torch.full((len(scores),), 1 / beta, dtype=scores.dtype, requires_grad=True)
        scores = scores - scores[:, :1]  # the zero of energy means nothing
        p = softmax(scores, beta=1 / T)
        (of_energy,) = torch.autograd.grad(-(p * scores).sum(), T, retain_graph=True)
        (of_entropy,) = torch.autograd.grad(entropy(p).sum(), T)
        torch.testing.assert_close(of_entropy / beta, of_energy)
        return of_energy

    compare("heat_capacity", slopes)


def test_halves_merge_into_the_whole_row():
    def package(*halves):
        parts = [PartialSoftmax(o[None], top[None], Z.log()[None]) for top, Z, o in (halves[:3], halves[3:])]
        return merge(*parts).average[0]

    compare("merge", package)
    reference, _ = REFERENCES["merge"]
    scores, values = 1000 + 3 * fresh(1, 9), fresh(9, 4, seed=8)
    whole = attend(torch.ones(1, 1).double(), scores.T, values)[0]
    for cut in range(1, 9):
        parts = [partial_softmax(scores[:, seen], values[seen]) for seen in (slice(cut), slice(cut, None))]
        halves = [(part.top[0], part.log_sum[0].exp(), part.average[0]) for part in parts]
        torch.testing.assert_close(reference(*halves[0], *halves[1]), whole)


def test_participation_is_a_ratio_of_partition_functions():
    def two_copies(draws, sigmas):
        spread = torch.cat([sigmas.new_zeros(1), sigmas])[:, None, None] * draws
        agree = (torch.logsumexp(2 * spread, -1) - 2 * torch.logsumexp(spread, -1)).exp().mean(-1)
        return agree[1:] / agree[0]

    compare("collapse", two_copies)
    reference, _ = REFERENCES["collapse"]
    assert reference(fresh(10, 16), torch.tensor([0.0, 1e9]).double()).tolist() == pytest.approx([1, 16])


# Assignment 2


def test_causal_attention_is_attention_to_each_beginning():
    def beginnings(query, key, value):
        return torch.cat([attend(query[i : i + 1], key[: i + 1], value[: i + 1]) for i in range(len(query))])

    compare("causal_attention", beginnings)


def test_turns_are_powers_of_one_rotation():
    def powers(x, omega):
        step = torch.linalg.matrix_exp(torch.block_diag(*(w * omega.new_tensor([[0, -1], [1, 0]]) for w in omega)))
        return torch.stack([torch.linalg.matrix_power(step, t) @ row for t, row in enumerate(x)])

    compare("turn", powers)
    reference, _ = REFERENCES["turn"]
    x = fresh(12, 6)
    torch.testing.assert_close(reference(x, 50.0 ** (-torch.arange(3).double() / 3)), rotary_places(x, x, base=50)[0])


def test_unit_beta_from_all_tokens_of_signs():
    """A variance needs two moments, and those of signs are those of normal numbers."""

    def enumerated(W_q, W_k):
        tokens = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=len(W_q)))).double()
        return 1 / ((tokens @ W_q) @ (tokens @ W_k).T).std(unbiased=False)

    compare("unit_beta", enumerated)


def test_heads_are_attention_that_is_blind_to_the_rest():
    def blind(query, key, value, heads):
        beta, found = (heads / query.shape[-1]) ** 0.5, 0
        for head in range(heads):
            seen, shown = (torch.arange(x.shape[-1]) * heads // x.shape[-1] == head for x in (query, value))
            found = found + attend(query * seen, key, value * shown, beta=beta)
        return found

    compare("in_heads", blind)
    reference, _ = REFERENCES["in_heads"]
    torch_heads = torch.nn.MultiheadAttention(8, 4, bias=False, dtype=torch.float64)
    torch_heads.load_state_dict({name: torch.eye(8).repeat(len(p) // 8, 1) for name, p in torch_heads.named_parameters()})
    tokens = fresh(3, 8), fresh(5, 8, seed=8), fresh(5, 8, seed=9)
    torch.testing.assert_close(reference(*tokens, 4), torch_heads(*tokens)[0])


def test_largest_weight_is_a_difference_of_free_energies():
    def differences(query, key, widths, power):
        curve = []
        for w in widths.tolist():
            scores = (query[:, None] * key * (torch.arange(query.shape[-1]) < w)).sum(-1)
            beta = 1 / w**power
            curve.append((beta * (scores.amax(-1) - smooth_max(scores, beta=beta))).exp().mean())
        return torch.stack(curve)

    compare("largest_weight", differences)


# Assignment 3


def test_energy_is_that_of_a_mixture_of_gaussians():
    def mixture(state, memory, beta):
        return -torch.logsumexp(beta / 2 * (memory**2 - (state[:, None] - memory) ** 2).sum(-1), -1) / beta

    compare("energy", mixture)
    compare("energy", lambda state, memory, beta: hopfield_energy(state, memory, beta=beta))


def test_descent_follows_a_gradient():
    def followed(state, memory, beta, gamma, steps):
        return descend(lambda x: hopfield_energy(x, memory, beta=beta), state, steps=steps, step_size=gamma).states[-1]

    compare("descend", followed)


def test_curvatures_are_second_derivatives():
    def derived(state, memory, beta):
        return torch.linalg.eigvalsh(torch.func.hessian(lambda x: hopfield_energy(x[None], memory, beta=beta)[0])(state))

    compare("curvatures", derived)


def test_unstable_spins_do_not_raise_the_energy_when_they_turn():
    def turned_one_by_one(patterns):
        """The energy is minus a sum of squared overlaps: whole numbers."""
        spins = patterns.long()
        before = spins @ spins.T
        after = before[:, :, None] - 2 * spins[:, None] * spins
        return (after.square().sum(1) >= before.square().sum(1, keepdim=True)).sum(-1)

    compare("unstable", turned_one_by_one)
    reference, _ = REFERENCES["unstable"]
    for m, d in ((40, 61), (12, 12), (4, 6)):  # with fields of zero
        patterns = torch.where(fresh(m, d) > 0, 1.0, -1.0).double()
        assert torch.equal(reference(patterns), turned_one_by_one(patterns))


def test_recall_is_a_descent_that_ends_on_the_pattern():
    def followed(patterns, spoilt, betas, steps):
        shares = []
        for beta in betas.tolist():
            walk = descend(lambda x, beta=beta: hopfield_energy(x, patterns, beta=beta), spoilt, steps=steps)
            overlap = (torch.copysign(torch.ones_like(spoilt), walk.states[-1]) * patterns).sum(-1)
            shares.append((overlap == patterns.shape[-1]).double().mean())
        return torch.stack(shares)

    compare("recalled", followed)


# Assignment 4


def test_exact_means_are_derivatives_of_the_free_energy():
    def log_partition(J, h, beta):
        """One spin after the other summed over: what it leaves is a field on the rest."""
        if not len(h):
            return h.sum()
        ends = [beta * s * h[0] + log_partition(J[1:, 1:], h[1:] + s * J[0, 1:], beta) for s in (1, -1)]
        return torch.logsumexp(torch.stack(ends), 0)

    compare("exact", lambda J, h, beta: torch.func.grad(log_partition, 1)(J, h, beta) / beta)
    compare("exact", lambda J, h, beta: exact_ising(J, h, beta=beta).m)


def test_naive_steps_follow_the_slope_of_the_energy():
    def stepped(J, h, beta, alpha, steps):
        slope = torch.func.grad(lambda m: -(m @ J.triu() @ m) - h @ m)  # each pair once
        m = torch.zeros_like(h)
        for _ in range(steps):
            m = m + alpha * (2 * torch.sigmoid(-2 * beta * slope(m)) - 1 - m)
        return m

    compare("naive", stepped)
    reference, _ = REFERENCES["naive"]
    J, h = coupled(9, 0.5)
    torch.testing.assert_close(reference(J, h, 0.7, 0.3, 300), naive_mean_field(J, h, beta=0.7).m, atol=1e-9, rtol=0)


def test_tap_step_is_the_slope_of_a_free_energy():
    def derived(m, J, h, beta):
        def coupling(m):
            free = 1 - m.square()
            return beta * (m @ J @ m / 2 + h @ m) + beta**2 / 4 * (free @ J.square() @ free)

        return torch.tanh(torch.func.grad(coupling)(m))

    compare("tap_step", derived)


def test_tap_step_misses_the_exact_means_by_a_third_order():
    reference, _ = REFERENCES["tap_step"]
    J, h = coupled(7, 1.0)
    weak = (0.02 * J, 0.01 * J)
    misses = [(reference(m, J, h, 1.3) - m).norm() for J, m in ((J, exact_ising(J, h, beta=1.3).m) for J in weak)]
    assert misses[0] / misses[1] == pytest.approx(8, rel=0.03)


def test_response_is_the_inverse_of_what_fields_the_means_ask_for():
    def fields(m, J, beta):
        return torch.atanh(m) - beta * J @ m

    compare("response", lambda m, J, beta: torch.linalg.inv(torch.func.jacrev(fields)(m, J, beta)))
    compare("response", lambda m, J, beta: naive_mean_field(J, fields(m, J, beta) / beta, beta=beta, start=m).chi, atol=1e-8)


def test_errors_are_those_of_the_solved_theories():
    def solved(J, h, betas, means):
        J = J.expand(len(betas), *J.shape)
        torch.testing.assert_close(exact_ising(J, h, beta=betas).m, means)
        theories = torch.stack([theory(J, h, beta=betas).m for theory in (naive_mean_field, tap)], 1)
        return (theories - means[:, None]).square().mean(-1).sqrt()

    compare("errors", solved)
