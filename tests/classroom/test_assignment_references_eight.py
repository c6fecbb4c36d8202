"""The references of assignment 8, against the package, maps that numbers make, films, fifty digits and quadrature.

That every wrong answer differs from the reference does not make the reference right.
"""

import itertools
import math
from decimal import Decimal, localcontext

import torch
from helpers.references import References
from scipy.integrate import quad
from scipy.optimize import brentq

from attnlib.kinetic import exact_kinetic, moments_step, spin_states, transition_matrix

REFERENCES = References(8)
compare = REFERENCES.compare


def test_every_reference_is_compared():
    assert not REFERENCES.forgotten_in(__file__)


def test_arrow_is_the_package_s_and_a_spin_that_is_held_is_a_drive():
    def produced(J, x, beta):
        if x[0] < 100:
            return exact_kinetic(J, x, beta=beta, updates="single").entropy_production
        free = exact_kinetic(J[1:, 1:], x[1:] + J[1:, 0], beta=beta, updates="single")
        return free.entropy_production * (len(x) - 1) / len(x)

    compare("arrow", produced)


def test_one_site_at_a_time_symmetric_couplings_have_an_arrow_by_their_diagonal_alone():
    reference, _ = REFERENCES["arrow"]
    J = torch.tensor([[0.0, 0.7, -0.4], [0.7, 0.0, 0.5], [-0.4, 0.5, 0.0]]).double()
    x = torch.tensor([0.2, -0.1, 0.3]).double()
    assert reference(J, x, 1.0).abs() < 1e-15
    assert reference(J + torch.diag(torch.tensor([0.6, 0.0, 0.3]).double()), x, 1.0) > 1e-3


def test_apart_by_the_maps_that_numbers_make():
    def mapped(J, x, beta, steps):
        n, S = len(x), spin_states(len(x), dtype=x.dtype)
        up = torch.sigmoid(2 * beta * (x + S @ J.T))  # [states, n]
        borders = torch.cat([torch.zeros(1, n), up.sort(0).values, torch.ones(1, n)]).double()
        between, widths = (borders[1:] + borders[:-1]) / 2, borders.diff(dim=0)  # a number within each, and its chance
        M = torch.zeros(len(S) ** 2, len(S) ** 2, dtype=x.dtype)
        from_here = torch.arange(len(S) ** 2).reshape(len(S), len(S))
        for cell in itertools.product(range(len(S) + 1), repeat=n):
            u = torch.stack([between[place, i] for i, place in enumerate(cell)])
            chance = math.prod(widths[place, i].item() for i, place in enumerate(cell))
            if chance:
                to = ((u < up) * 2 ** torch.arange(n)).sum(1)  # one number moves every state
                M[from_here, to[:, None] * len(S) + to] += chance
        apart = (S[:, None] != S[None]).any(-1).flatten().double()
        start = torch.zeros(len(S) ** 2).double()
        start[from_here[-1, 0]] = 1
        return torch.stack([start @ torch.linalg.matrix_power(M, t) @ apart for t in steps.tolist()])

    reference, calls = REFERENCES["apart"]
    small = [call for call in calls if len(call[1]) < 4]
    few = [(J[:3, :3], x[:3], beta, steps) for J, x, beta, steps in calls if len(x) == 4]
    assert small
    for arguments in small + few:
        torch.testing.assert_close(reference(*arguments), mapped(*arguments), atol=1e-12, rtol=1e-9)


def test_apart_of_four_spins_by_films():
    reference, calls = REFERENCES["apart"]
    generator = torch.Generator().manual_seed(4)
    for J, x, beta, steps in (call for call in calls if len(call[1]) == 4):
        films = torch.stack([torch.ones(200_000, 4), -torch.ones(200_000, 4)]).double()
        found = []
        for _ in range(int(steps.max()) + 1):
            found.append((films[0] != films[1]).any(-1).double().mean())
            u = torch.rand(200_000, 4, generator=generator, dtype=torch.float64)
            films = torch.where(u < torch.sigmoid(2 * beta * (x + films @ J.T)), 1.0, -1.0).double()
        expected = reference(J, x, beta, steps)
        error = (expected * (1 - expected) / 200_000).sqrt()
        assert (torch.stack(found)[steps] - expected).abs().le(4.5 * error + 1e-12).all()


def test_known_is_what_is_gained_about_the_input():
    def gained(J, inputs, p, x, beta, steps):
        def entropy(law):
            return torch.special.entr(law).sum(-1)

        P, said = transition_matrix(J, x, beta=beta), []
        law = torch.stack([exact_kinetic(J, drive, beta=beta).law for drive in inputs])
        for t in steps.tolist():
            both = p[:, None] * (law @ torch.linalg.matrix_power(P, t))  # chance of input and state
            state = both.sum(0)
            said.append(entropy(p) - (state * entropy((both / state.clamp(min=1e-300)).T)).sum())
        return torch.stack(said)

    compare("known", gained)


def test_with_a_causal_mask_nothing_is_known_after_as_many_steps_as_spins():
    reference, calls = REFERENCES["known"]
    J, inputs, p, x, beta, _ = calls[0]
    causal, n = J.tril(-1), len(x)
    left = reference(causal, inputs, p, x, beta, torch.tensor([0, n - 1, n]))
    assert left[0] > left[1] > 1e-6
    assert left[2].abs() < 1e-12


def test_consensus_solves_its_equations_to_fifty_digits_and_is_where_the_moments_rest():
    def solved(betas, N):
        rows = []
        for b in map(Decimal, betas.tolist()):

            def step(c, b=b):
                v = (1 + (N - 1) * c) / N
                gain = 2 * b / (1 + (1 + 4 * b * b * v).sqrt())
                return gain * gain * v, gain

            low, high = Decimal(0), Decimal(1)
            for _ in range(160):
                c = (low + high) / 2
                low, high = (c, high) if step(c)[0] > c else (low, c)
            rows.append([float(c), float((1 - step(c)[1]).ln())])
        return torch.tensor(rows).double()

    with localcontext(prec=50):
        compare("consensus", solved, atol=1e-6)
    reference, _ = REFERENCES["consensus"]
    for beta in (0.8, 1.0, 1.6):
        J, C = torch.ones(5, 5).double() / 5, torch.eye(5).double()
        m = torch.zeros(5, 7).double()
        for _ in range(400):
            m, C, _ = moments_step(m, C, J, beta=beta, gain="limit")
        torch.testing.assert_close(C[0, 1], reference(torch.tensor([beta], dtype=torch.float64), 5)[0, 0], atol=1e-10, rtol=0)


def test_contest_by_the_law_of_two_steps_a_root_finder_and_quadrature():
    def raced(J, x, s, beta):
        n, S = len(x), spin_states(len(x), dtype=x.dtype)
        start = torch.zeros(2**n).double()
        start[(s == S).all(1)] = 1
        P = transition_matrix(J, x, beta=beta)
        once = start @ P
        m, exact = once @ S, once @ P @ S
        g, spread = x + J @ m, (J.square() @ (1 - m.square())).sqrt()
        answers = []
        for rule in ("naive", "TAP", "Gaussian"):
            row = []
            for a, b in zip(g.tolist(), spread.tolist(), strict=True):
                if rule == "naive":
                    row.append(math.tanh(beta * a))
                elif rule == "TAP":
                    row.append(brentq(lambda t, a=a, b=b: math.tanh(beta * a - (beta * b) ** 2 * t) - t, -1, 1, xtol=1e-14))
                else:

                    def inner(z, a=a, b=b):
                        return math.tanh(beta * (a + b * z)) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

                    row.append(quad(inner, -9, 9, points=[min(9.0, max(-9.0, -a / b))], epsabs=1e-12, limit=200)[0])
            answers.append(row)
        return (torch.tensor(answers).double() - exact).norm(dim=-1) / exact.norm()

    compare("contest", raced, atol=1e-7)
