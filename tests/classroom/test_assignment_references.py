"""The references of assignments 5 and 6, against the package, enumeration, derivatives and other formulas.

That every wrong answer differs from the reference does not make the reference right.
"""

import itertools
import math

import pytest
import torch
from helpers.references import References

from attnlib.free_energy import saddle_gradient, saddle_point, spherical_point, vector_spin_free_energy
from attnlib.mean_field import Binary, Spherical
from attnlib.message_passing import amp_path, belief_propagation, edge_attention, ising_graph, state_evolution

REFERENCES = References(5, 6)
compare = REFERENCES.compare


def test_every_reference_is_compared():
    assert not REFERENCES.forgotten_in(__file__)


# Assignment 5


def test_room_ends_where_the_factorisation_does():
    def bisected(z, J, step):
        def outside(t):
            return torch.linalg.cholesky_ex(torch.diag(z + t * step) - J).info > 0

        low, high = 0.0, 1e6
        if not outside(high):
            return torch.tensor(math.inf).double()
        for _ in range(70):
            t = (low + high) / 2
            low, high = (low, t) if outside(t) else (t, high)
        return z.new_tensor(low)

    compare("room", bisected)


def test_couplings_have_the_averages():
    reference, calls = REFERENCES["couplings"]
    for cosines, m, beta in calls:
        J = reference(cosines, m, beta)
        V = torch.linalg.inv(beta * (cosines - m @ m.T / m.shape[1]))
        found = saddle_point(J, V @ m, beta=beta)
        torch.testing.assert_close(found.overlaps, cosines, atol=1e-9, rtol=0)
        torch.testing.assert_close(found.m, m, atol=1e-9, rtol=0)


def test_specific_heat_is_a_second_derivative_of_the_free_energy():
    def derived(z, J, h, beta):
        assert saddle_gradient(z, J, h, beta=beta).abs().max() < 1e-10
        b = torch.tensor(beta, dtype=z.dtype, requires_grad=True)
        (u,) = torch.autograd.grad(b * vector_spin_free_energy(J, h, beta=b), b, create_graph=True)
        return -(beta**2) * torch.autograd.grad(u, b)[0]

    compare("specific_heat", derived)


def test_cost_of_few_components_from_the_partition_function():
    def derived(b, D):
        rows = []
        for d in D.tolist():
            field = torch.zeros(len(b), d, dtype=b.dtype)
            field[:, 0] = b * d**0.5
            field.requires_grad_()
            (mean,) = torch.autograd.grad(Spherical(d).log_partition(field).sum(), field)
            theory = saddle_point(b.new_zeros(len(b), 1, 1), field.detach()[:, None]).m[:, 0, 0]
            rows.append(d**0.5 * (theory - mean[:, 0]))
        return torch.stack(rows, 1)

    compare("cost", derived, atol=1e-8)


def test_share_along_the_hidden_direction_from_the_spherical_model():
    def solved(noise, direction, strengths, beta):
        shares = []
        for strength in strengths:
            J = noise + strength / len(direction) * torch.outer(direction, direction)
            J.fill_diagonal_(0)
            z = spherical_point(J, torch.zeros_like(J)[None, :, :1], beta=beta).z
            V = torch.diag(z.expand(len(J))) - J
            shares.append(direction @ torch.linalg.solve(V, direction) / beta / len(J) ** 2)
        return torch.stack(shares)

    compare("found", solved)


# Assignment 6


def test_gather_hears_every_member_of_a_crowd():
    def members(query, key, value, edges, counts, beta):
        who = torch.repeat_interleave(torch.arange(len(key)), counts.long())
        source, target = edges
        pairs = [(j, i) for s, i in zip(source.tolist(), target.tolist()) for j in (who == s).nonzero().flatten().tolist()]
        return edge_attention(query, key[who], value[who], torch.tensor(pairs).T, beta=beta)

    compare("gather", members)


def test_partition_function_of_a_tree():
    compare("log_partition", lambda J, h: belief_propagation(ising_graph(J, h)).log_partition)

    def enumerated(J, h):
        states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=len(h))), dtype=h.dtype)
        return torch.logsumexp(((states @ J) * states).sum(1) / 2 + states @ h, 0)

    reference, calls = REFERENCES["log_partition"]
    few = [arguments for arguments in calls if len(arguments[1]) <= 10]
    assert len(few) == 3
    for arguments in few:
        torch.testing.assert_close(reference(*arguments), enumerated(*arguments))


def test_moves_made_are_a_derivative_and_an_enumeration():
    def derived(start, moves, seen):
        logs = moves.log().requires_grad_()
        now = start.log() + seen[0].log()
        for one in seen[1:]:
            now = torch.logsumexp(now[:, None] + logs, 0) + one.log()
        return torch.autograd.grad(torch.logsumexp(now, 0), logs)[0]

    compare("moves_made", derived)
    reference, calls = REFERENCES["moves_made"]
    start, moves, seen = calls[0]
    made, total = torch.zeros_like(moves), 0.0
    for walk in itertools.product(range(len(start)), repeat=len(seen)):
        steps = list(itertools.pairwise(walk))
        chance = start[walk[0]] * math.prod(moves[i, j] for i, j in steps) * math.prod(seen[t, i] for t, i in enumerate(walk))
        total += chance
        for i, j in steps:
            made[i, j] += chance
    torch.testing.assert_close(reference(start, moves, seen), made / total)


@pytest.mark.parametrize(("column", "memory"), [(0, "previous"), (1, "none")])
def test_errors_are_those_of_approximate_message_passing(column, memory):
    reference, calls = REFERENCES["errors"]
    for A, y, x, steps in calls:
        path = amp_path(A, y, Binary(), steps=steps, onsager=memory).x
        torch.testing.assert_close(reference(A, y, x, steps)[:, column], (path - x).square().mean(-1))


def test_prediction_is_state_evolution():
    compare("predicted", lambda r, s, n: state_evolution(Binary(), 1 / r, s, steps=n, dtype=torch.float64).mse)
