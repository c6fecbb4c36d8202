"""The references of assignment 7, against enumeration, quadrature, integrals over laws, descent and the package.

That every wrong answer differs from the reference does not make the reference right.
"""

import itertools
import math

import pytest
import torch
from helpers.references import References
from scipy.integrate import quad

from attnlib.course.data.denoising import noisy_queries, recall_error
from attnlib.course.data.hops import wrong_hops_score
from attnlib.mean_field import exact_ising

REFERENCES = References(7)
compare = REFERENCES.compare


def test_every_reference_is_compared():
    assert not REFERENCES.forgotten_in(__file__)


def test_floor_is_the_best_of_all_answers_to_the_fields():
    def regressed(h, p, J, q):
        m = torch.stack([exact_ising(J, row.expand(len(J), -1)).m for row in h])  # [a, b, n]
        answer = m.mean(1).requires_grad_()

        def error(answer):
            return torch.einsum("a,b,abi->", p, q, (m - answer[:, None]).square())

        (slope,) = torch.autograd.grad(error(answer), answer)
        best = answer.detach() - slope / (2 * p[:, None])  # the error is a parabola in each answer
        return error(best) / torch.einsum("a,b,abi->", p, q, m.square())

    compare("floor", regressed)


def test_readings_by_adaptive_quadrature():
    def integrated(betas, sigma, d):
        def mean(f):
            def inner(Z, beta):
                return f(math.tanh(beta * (d + sigma * d**0.5 * Z))) * math.exp(-Z * Z / 2) / math.sqrt(2 * math.pi)

            middle = -(d**0.5) / sigma  # where the weights turn over
            return [quad(inner, -9, 9, (beta,), points=[middle], epsabs=1e-12, limit=200)[0] for beta in betas.tolist()]

        error, squares, right = mean(lambda t: (1 - t) ** 2), mean(lambda t: (1 + t * t) / 2), mean(lambda t: (1 + t) / 2)
        return torch.stack([betas.new_tensor(error), betas.new_tensor(squares) / betas.new_tensor(right)], -1)

    compare("readings", integrated, atol=1e-7)


def test_readings_are_one_at_the_posterior_where_the_error_is_least_and_are_those_of_a_sample():
    reference, _ = REFERENCES["readings"]
    betas = torch.tensor([0.8, 1.0, 1.25]).double() / 1.5**2
    table = reference(betas, 1.5, 3)
    assert table[1, 1].item() == pytest.approx(1, abs=1e-9)
    assert table[1, 0] < table[[0, 2], 0].min()
    asked = noisy_queries(200_000, 1, sigma=1.5, width=3, generator=torch.Generator().manual_seed(1))
    pair = type(asked)(torch.cat([asked.memories, -asked.memories], 1), asked.query, asked.target)
    found = recall_error(pair, beta=betas[2].item())
    assert found.mean == pytest.approx(table[2, 0].item(), abs=4 * found.error)


def test_arrivals_over_all_permutations_and_all_stumbles():
    reference, calls = REFERENCES["arrivals"]
    k, T = torch.tensor([0, 1, 2, 3, 6]), torch.tensor([0, 1, 3, 4])
    for n, right in ((4, 0.7), (5, 0.35)):
        found = torch.zeros(len(k), len(T), dtype=torch.float64)
        for image in itertools.permutations(range(n)):
            step = right * torch.eye(n, dtype=torch.float64)[list(image)] + (1 - right) / n
            ends = torch.stack([torch.linalg.matrix_power(step, t)[0] for t in T.tolist()])
            path = list(itertools.accumulate(range(6), lambda place, _, f=image: f[place], initial=0))
            found += ends[:, [path[a] for a in k.tolist()]].T
        torch.testing.assert_close(reference(k, T, n, right), found / math.factorial(n))
    for k, T, n, _ in calls:
        sure = torch.tensor([[wrong_hops_score(a, b, n) for b in T.tolist()] for a in k.tolist()], dtype=torch.float64)
        torch.testing.assert_close(reference(k, T, n, 1.0), sure)


@pytest.mark.slow
def test_what_is_foreseen_is_a_ratio_of_chances_of_whole_texts():
    def chance(counts):
        """The logarithm of the chance of a text under a law of its own for each row, Dirichlet's integral."""
        k = counts.shape[-1]
        rows = math.lgamma(k) - torch.lgamma(counts.sum(-1) + k) + torch.lgamma(counts + 1).sum(-1)
        return rows.sum()

    def ratios(states, k):
        moves, hot, said = torch.zeros(k, k, dtype=torch.float64), torch.eye(k, dtype=torch.float64), []
        for now, then in itertools.pairwise(states.tolist()):
            both = []
            for more in (torch.zeros_like(hot[0]), *hot):
                after = moves + hot[now][:, None] * more
                both.append(torch.logaddexp(chance(after.sum(0)[None]), chance(after)))
            said.append((torch.stack(both[1:]) - both[0]).exp())
            moves[now, then] += 1
        return torch.stack(said)

    compare("foresee", ratios, atol=1e-8)


def test_contest_by_descent_on_the_errors_and_a_limit():
    def descended(h, x, m, train):
        def hear(x, h):
            pairs = [(i, j) for i in range(h.shape[1]) for j in range(h.shape[1]) if i != j]
            heard = torch.zeros_like(h)
            for i, j in pairs:
                heard[:, i] += (x[:, i] * x[:, j]).sum(1) / (x.shape[1] * x.shape[2]) ** 0.5 * h[:, j]
            return heard

        def best(answer, size):
            """One step of Newton's method from zero: the error is a parabola."""
            start = torch.zeros(size, dtype=h.dtype)

            def error(w):
                return (answer(w)[:train] - m[:train]).square().sum()

            w = -torch.linalg.solve(torch.func.hessian(error)(start), torch.func.grad(error)(start))
            return (answer(w)[train:] - m[train:]).square().sum() / m[train:].square().sum()

        n, heard = h.shape[1], hear(x, h)
        return torch.stack([best(lambda w: h @ w.view(n, n), n * n), best(lambda w: w[0] * h + w[1] * heard, 2)])

    compare("contest", descended)
    reference, calls = REFERENCES["contest"]
    h, x, _, train = calls[0]
    A = torch.randn(h.shape[1], h.shape[1], dtype=h.dtype, generator=torch.Generator().manual_seed(2))
    assert reference(h, x, h @ A, train)[0] < 1e-20  # what is linear in the fields is learned without an error
