"""The references of chapter 7's exercises, against enumeration, quadrature, limits and the package.

That every wrong answer differs from the reference does not make the reference right.
"""

import itertools
import math
import statistics

import pytest
import torch
from torch import nn

from attnlib.course.data.hops import hop_questions, informed_guess
from attnlib.course.data.spins import blind_floor, context_couplings
from attnlib.course.exercises import verdict
from attnlib.course.exercises._draw import draw
from attnlib.course.exercises.collectives_of_spins import BIGRAM, CEILING, INDUCTION, SCORES, WALK
from attnlib.course.exercises.one_block_many_mixers import BLOCKS, COUPLINGS, CROSSING, FLOOR, MEMBER
from attnlib.course.exercises.one_step_or_many import FACTOR, FREEZING, RECALL, SINK, THERMOMETER
from attnlib.course.exercises.under_the_instruments import EXERCISES, EXPONENT, FREEZE, SHARE, SILENCE, STORE
from attnlib.mean_field import exact_ising
from attnlib.transformer import Block, symmetric_share, thermometer, value_kinds


def compare(exercise, independent, atol=1e-10):
    """Reference and independent answer on all inputs."""
    for arguments in exercise.inputs():
        torch.testing.assert_close(exercise.reference(*arguments), independent(*arguments), atol=atol, rtol=1e-9)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# Page 7a


def test_the_floor_is_what_two_with_the_same_fields_differ_by():
    def by_pairs(m):
        pairs = list(itertools.combinations(range(m.shape[1]), 2))
        apart = torch.stack([(m[:, a] - m[:, b]).square().mean() / 2 for a, b in pairs])
        return apart.mean() / m.square().mean()

    compare(FLOOR, by_pairs)


def test_the_floor_of_a_sum_is_the_share_of_the_part_that_is_not_seen():
    seen, hidden = (torch.randn(20_000, n, 2, generator=generator(n), dtype=torch.float64) for n in (1, 3))
    assert FLOOR.reference(2 * seen + hidden).item() == pytest.approx(1 / 5, rel=0.02)


@pytest.mark.slow
def test_the_floor_is_that_of_the_page():
    h = 0.5**0.5 * torch.randn(300, 1, 10, generator=generator(3), dtype=torch.float64)
    J = context_couplings(torch.randn(300, 8, 10, 4, generator=generator(4), dtype=torch.float64), context=1.0)
    m = exact_ising(J.flatten(0, 1), h.expand(300, 8, 10).flatten(0, 1)).m.unflatten(0, (300, 8))
    page = blind_floor(1.0, draws=300, inner=8, generator=generator(5))
    assert FLOOR.reference(m).item() == pytest.approx(page.mean, abs=6 * page.error)


def test_couplings_pair_by_pair():
    def pairs(x, J0, lam, g):
        J = torch.zeros_like(J0)
        for i, j in itertools.permutations(range(len(x)), 2):
            own = g * sum(a * b for a, b in zip(x[i], x[j], strict=True)) / math.sqrt(x.shape[1] * len(x))
            J[i, j] = math.sqrt(1 - lam) * J0[i, j] + math.sqrt(lam) * own
        return J

    compare(COUPLINGS, pairs)


class Linear(nn.Module):
    def __init__(self, A, dim):
        super().__init__()
        self.A, self.dim = A, dim

    def forward(self, x):
        return self.A @ x


def test_both_sides_of_the_norm_are_those_of_the_package():
    def package(x, A):
        return torch.stack([Block(Linear(A, x.shape[1]), norm=side, dtype=x.dtype)(x) for side in ("before", "after")])

    compare(BLOCKS, package)


def test_curves_are_equal_where_they_cross():
    def on(line, lam, curve):
        k = int((lam[1:-1] <= line).sum())
        t = (line.log() - lam[k].log()) / (lam[k + 1].log() - lam[k].log())
        return ((1 - t) * curve[k].log() + t * curve[k + 1].log()).exp()

    for lam, a, b in CROSSING.inputs():
        at = CROSSING.reference(lam, a, b)
        assert on(at, lam, a).item() == pytest.approx(on(at, lam, b).item(), rel=1e-12)


def test_weights_of_the_new_member_are_means_of_keys_that_are_on_or_off():
    def enumerated(_, x, beta, mask):
        out = torch.zeros_like(x)
        for b, i in itertools.product(range(len(x)), range(x.shape[1])):
            fields, means, Z = beta * x[b] @ x[b, i], torch.zeros(x.shape[1], dtype=x.dtype), 0.0
            for on in itertools.product((0.0, 1.0), repeat=x.shape[1]):
                s = x.new_tensor(on) * mask[i]  # a key that is hidden is never on
                weight = math.exp(fields @ s)
                means, Z = means + weight * s, Z + weight
            out[b, i] = x[b, i] + (means / Z) @ x[b] / (means / Z).sum()
        return out

    compare(MEMBER, enumerated)


# Page 7b


def test_recall_is_the_mean_of_the_posterior():
    def bayes(query, memories, sigma):
        noise = torch.distributions.Normal(memories, sigma)
        chances = noise.log_prob(query[:, None]).sum(-1).exp()
        return chances @ memories / chances.sum(-1, keepdim=True)

    compare(RECALL, bayes)


def posterior(chances, factor=1.0):
    """Weights and right keys in whole numbers of questions, so that the keys follow the chances exactly."""
    p = torch.tensor(chances, dtype=torch.float64)
    keys = torch.repeat_interleave(torch.arange(len(chances)), (p * p.sum()).long())
    weights = (factor * p.log()).softmax(0)
    return weights.expand(len(keys), -1), keys


def test_the_thermometer_reads_one_at_the_posterior_and_what_the_package_reads():
    p, t = posterior([1.0, 3.0, 6.0])
    assert THERMOMETER.reference(p, t).item() == pytest.approx(1, abs=1e-12)
    compare(THERMOMETER, lambda p, t: thermometer(p[None], t[None]).ratio)


def test_at_the_freezing_noise_one_wrong_memory_stands_as_near_as_the_right_one():
    """Counted: of K directions drawn at random about one has a cosine above that of the right memory, at any K."""
    for width, most in ((6, 3.0), (16, 3.0)):
        K = torch.tensor([300.0, 3000.0]).double()
        cosine = (1 + FREEZING.reference(K, width).square()).rsqrt()
        c = torch.linspace(-1, 1, 200_001, dtype=torch.float64)
        density = (1 - c.square()).clamp(min=0) ** ((width - 3) / 2)
        nearer = torch.stack([density[c > one].sum() for one in cosine]) / density.sum() * K
        assert (nearer > 1 / (most * width)).all()  # to a power of the width, which is what "about" leaves open
        assert (nearer < most).all()
        assert nearer[1].item() == pytest.approx(nearer[0].item(), rel=0.5)


def test_a_ghost_is_a_key_with_the_score_zero():
    def with_a_ghost(scores):
        return torch.cat([scores.new_zeros(len(scores), 1), scores], -1).softmax(-1)[:, 1:]

    compare(SINK, with_a_ghost)
    low, high = (SINK.reference(torch.full((1, 2), s, dtype=torch.float64)).sum().item() for s in (-60.0, 60.0))
    assert (low, high) == pytest.approx((0, 1), abs=1e-12)


@pytest.mark.parametrize("factor", [0.3, 1.0, 2.5])
def test_weights_of_another_temperature_are_brought_back(factor):
    assert FACTOR.reference(*posterior([2.0, 3.0, 5.0], factor)).item() == pytest.approx(1 / factor, rel=1e-9)


def test_the_package_reads_one_after_the_factor():
    for p, t in FACTOR.inputs():
        readings = [
            thermometer((b * p.log()).softmax(-1)[None], t[None]).ratio.item()
            for b in (FACTOR.reference(p, t) * torch.tensor([0.3, 1.0, 3.0])).tolist()
        ]
        assert readings[0] < readings[1] < readings[2]
        assert readings[1] == pytest.approx(1, abs=1e-6)  # the factor went through single precision


# Page 7c


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_a_sharp_walker_goes_along_the_permutation(steps):
    asked = hop_questions(6, generator=generator(7))
    places = torch.eye(8, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(8, 8, generator=generator(8), dtype=torch.float64)).Q  # the code of what is read
    maps = torch.stack([turn.mT, torch.zeros_like(turn)])
    for image, start, answer in zip(asked.image, asked.start, asked.answer(steps), strict=True):
        reached = WALK.reference(places[start][None], places, places[image] @ turn.mT, maps, 1e3, steps)
        assert reached.argmax().item() == answer


def test_a_walker_step_by_step():
    def written_out(x, key, value, maps, beta, steps):
        W = maps[0]
        for _ in range(steps):
            weights = [[math.exp(beta * (row @ k).item()) for k in key] for row in x]
            x = torch.stack([sum(w / sum(ws) * (W @ v) for w, v in zip(ws, value, strict=True)) for ws in weights])
        return x

    compare(WALK, written_out)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_scores_of_wrong_hops_over_all_permutations(n):
    k, T = torch.tensor([0, 1, 2, 3, 5, 9]), torch.tensor([1, 3, 4])
    hits = torch.zeros(len(k), len(T), dtype=torch.float64)
    for image in itertools.permutations(range(n)):
        path = list(itertools.accumulate(range(9), lambda place, _, f=image: f[place], initial=0))
        hits += torch.tensor([[path[a] == path[b] for b in T] for a in k])
    torch.testing.assert_close(SCORES.reference(k, T, n), hits / math.factorial(n))


def evidence(counts, alpha):
    """The logarithm of the chance of such a sequence, all laws taken together: Dirichlet's integral."""
    k, n = counts.shape[-1], counts.sum(-1)
    ends = torch.lgamma(torch.tensor(k * alpha).double()) - torch.lgamma(n + k * alpha)
    return ends + (torch.lgamma(counts + alpha) - torch.lgamma(torch.tensor(alpha).double())).sum(-1)


def test_the_bigram_is_a_ratio_of_evidences():
    def ratios(states, k, alpha):
        rows, counts = [], torch.zeros(k, k, dtype=torch.float64)
        for t, a in enumerate(states[:-1]):
            more = counts[a] + torch.eye(k, dtype=torch.float64)
            rows.append((evidence(more, alpha) - evidence(counts[a], alpha)).exp())
            counts[a, states[t + 1]] += 1
        return torch.stack(rows)

    compare(BIGRAM, ratios)


def test_the_bigram_of_two_states_by_quadrature():
    states, alpha = torch.tensor([0, 1, 0, 0, 1, 1, 0, 1]), 2.0
    found, p = BIGRAM.reference(states, 2, alpha), (torch.arange(20_000).double() + 0.5) / 20_000
    for t in range(len(states) - 1):
        after = [int(states[s + 1]) for s in range(t) if states[s] == states[t]]
        law = p ** (alpha - 1 + after.count(0)) * (1 - p) ** (alpha - 1 + after.count(1))
        assert found[t, 0].item() == pytest.approx((law @ p / law.sum()).item(), abs=1e-7)


def test_induction_place_by_place_and_at_both_ends_of_beta():
    def loops(states, k, beta):
        s, rows = states.tolist(), []
        for i in range(len(s)):
            weights = [math.exp(beta * (j > 0 and s[j - 1] == s[i])) for j in range(i + 1)]
            rows.append([sum(w for w, b in zip(weights, s, strict=False) if b == c) / sum(weights) for c in range(k)])
        return torch.tensor(rows, dtype=torch.float64)

    compare(INDUCTION, loops)
    states = torch.tensor([0, 1, 0, 2, 0, 1, 0])
    assert INDUCTION.reference(states, 3, 0.0)[-1].tolist() == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert INDUCTION.reference(states, 3, 60.0)[-1].tolist() == pytest.approx([0, 2 / 3, 1 / 3])  # what has followed 0


def test_what_one_reading_may_know_over_all_permutations():
    def visited(n):
        return torch.tensor([[informed_guess(2, back=back, places=k) for back in (0, 1)] for k in n.tolist()]).double()

    compare(CEILING, visited, atol=1e-6)


# Page 7d


@pytest.mark.parametrize("number", EXERCISES)
def test_each_wrong_answer_of_page_7d_is_named(number):
    exercise = EXERCISES[number]
    assert verdict(exercise, exercise.reference).right
    assert {name: verdict(exercise, mistake.answer).mistake for name, mistake in exercise.mistakes.items()} == {
        name: name for name in exercise.mistakes
    }


def test_the_symmetric_share_is_what_the_transpose_leaves():
    def by_entries(query, key):
        form = [[sum(q * k for q, k in zip(a, b, strict=True)) for b in key.T.tolist()] for a in query.T.tolist()]
        pairs = [(form[i][j], form[j][i]) for i in range(len(form)) for j in range(len(form))]
        whole = sum(a * a for a, _ in pairs)
        return torch.tensor((whole + sum(a * b for a, b in pairs)) / (2 * whole), dtype=torch.float64)

    compare(SHARE, by_entries)
    compare(SHARE, symmetric_share)


def test_the_spread_of_each_query_among_the_keys_that_it_sees():
    def query_by_query(scores, seen):
        rows = [[s for s, yes in zip(row, line, strict=True) if yes] for row, line in zip(scores.tolist(), seen, strict=True)]
        found = [statistics.pstdev(row) / math.sqrt(2 * math.log(len(row))) for row in rows if len(row) > 1]
        return torch.tensor(statistics.mean(found), dtype=torch.float64)

    compare(FREEZE, query_by_query)


def test_scores_at_their_freezing_spread_read_one():
    scores = draw(2000, 64, seed=8)
    scores = (scores - scores.mean(-1, keepdim=True)) / scores.std(-1, keepdim=True, correction=0)
    seen = torch.ones(2000, 64, dtype=torch.bool)
    seen[:, 32:] = False
    alone = FREEZE.reference(math.sqrt(2 * math.log(64)) * scores, torch.ones_like(seen))
    assert alone.item() == pytest.approx(1, abs=1e-12)
    half = FREEZE.reference(math.sqrt(2 * math.log(32)) * scores, seen)  # 32 of 64, drawn at random
    assert half.item() == pytest.approx(1, abs=0.02)


def test_what_a_value_map_stores_and_erases():
    compare(STORE, lambda out, value: (kinds := value_kinds(out, value)).store - kinds.erase)
    few = torch.linalg.qr(draw(6, 3, seed=9)).Q
    for map_out, share in ((few, 1), (-2 * few, -1), (torch.linalg.qr(torch.cat([few, draw(6, 3, seed=10)], 1)).Q[:, 3:], 0)):
        assert STORE.reference(map_out, few.mT).item() == pytest.approx(share, abs=1e-12)


def test_a_silent_head_says_the_same_to_all_tokens_and_no_less_on_average():
    for read, real, out in SILENCE.inputs():
        before = read @ out.mT
        said = (before + SILENCE.reference(read, real, out))[real]
        assert (said - said[0]).abs().max() < 1e-12
        assert (said.mean(0) - before[real].mean(0)).abs().max() < 1e-12


def test_the_exponent_is_what_two_copies_say():
    def by_copies(A, x, v, before, steps):
        small, sizes = 1e-7, []
        v = small * v / v.norm()
        for _ in range(before + steps):
            x, other = torch.tanh(A @ x), torch.tanh(A @ (x + v))
            sizes.append(math.log((other - x).norm().item() / small))
            v = small * (other - x) / (other - x).norm()
        return torch.tensor(statistics.mean(sizes[before:]), dtype=torch.float64)

    compare(EXPONENT, by_copies, atol=1e-5)


def test_the_exponent_of_a_fixed_point_is_the_slope_there():
    A = torch.tensor([[0.5, 0.0], [0.0, -0.8]], dtype=torch.float64)
    zero, v = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    assert EXPONENT.reference(A, zero, v, 60, 10).item() == pytest.approx(math.log(0.8), abs=1e-12)
