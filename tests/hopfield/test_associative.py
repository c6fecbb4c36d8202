import itertools
import math

import pytest
import torch
from helpers.draw import batches, close, examples, normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.data import flip_spins
from attnlib.hopfield import (
    classical_energy,
    classical_local_field,
    classical_recall,
    dense_energy,
    dense_local_field,
    dense_recall,
    hebb_weights,
    hopfield_update,
)

degrees = st.sampled_from([2, 3, 4, 5, "exp"])
modes = st.sampled_from(["asynchronous", "synchronous"])


def spins(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randint(2, shape, generator=generator).to(dtype) - 1


def couplings(*batch, d, seed=0):
    """Symmetric couplings without self-coupling, of no particular origin."""
    upper = normal(*batch, d, d, seed=seed).triu(1)
    return upper + upper.mT


def everything(d):
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=d)), dtype=torch.float64)


def turned(state, k, value):
    state = state.clone()
    state[..., k] = value
    return state


def by_values(energy, state):
    """Half the difference of the energies of both values of each spin, by trying them."""
    d = state.shape[-1]
    return torch.stack([(energy(turned(state, k, -1)) - energy(turned(state, k, 1))) / 2 for k in range(d)], dim=-1)


# Energies and local fields against their definitions


@given(batches, sizes, sizes, seeds)
def test_hebb_counts_agreements(batch, m, d, seed):
    patterns = spins(*batch, m, d, seed=seed)
    weights = hebb_weights(patterns)
    close(weights, weights.mT, atol=0)
    for x, w in zip(patterns.reshape(-1, m, d), weights.reshape(-1, d, d), strict=True):
        for j, k in itertools.product(range(d), repeat=2):
            agree = sum(1 if x[i, j] == x[i, k] else -1 for i in range(m))
            assert w[j, k].item() == pytest.approx(0 if j == k else agree / d)


def test_hebb_takes_real_patterns_and_returns_what_the_energy_accepts():
    weights = hebb_weights(normal(7, 31).float())
    assert classical_energy(torch.ones(1, 31), weights).isfinite().all()


@given(batches, sizes, sizes, st.booleans(), seeds)
def test_classical_energy_counts_each_pair_once(batch, n, d, with_field, seed):
    state, weights = normal(*batch, n, d, seed=seed), couplings(*batch, d=d, seed=seed + 1)
    field = normal(d, seed=seed + 2) if with_field else None
    energy = classical_energy(state, weights, field)
    expected = torch.zeros_like(energy)
    for j, k in itertools.combinations(range(d), 2):
        expected -= weights[..., j, k, None] * state[..., j] * state[..., k]
    for k in range(d if with_field else 0):
        expected -= field[k] * state[..., k]
    close(energy, expected, atol=1e-12)


@given(batches, sizes, sizes, st.booleans(), seeds)
def test_classical_field_is_the_negative_gradient_and_half_the_cost_of_turning(batch, n, d, with_field, seed):
    state, weights = spins(*batch, n, d, seed=seed), couplings(*batch, d=d, seed=seed + 1)
    field = normal(n, d, seed=seed + 2) if with_field else None
    felt = classical_local_field(state, weights, field)
    argument = state.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(classical_energy(argument, weights, field).sum(), argument)
    close(felt, -gradient, atol=1e-12)
    close(felt, by_values(lambda s: classical_energy(s, weights, field), state), atol=1e-12)


@given(batches, sizes, sizes, st.integers(1, 7), degrees, seeds)
@pytest.mark.double
def test_dense_energy_is_the_formula(batch, n, m, d, degree, seed):
    state, memory = normal(*batch, n, d, seed=seed), normal(*batch, m, d, seed=seed + 1)
    energy = dense_energy(state, memory, degree=degree)
    for s, x, e in zip(state.reshape(-1, n, d), memory.reshape(-1, m, d), energy.reshape(-1, n), strict=True):
        for i in range(n):
            overlaps = [math.fsum((s[i] * row).tolist()) for row in x]
            if degree == "exp":
                expected = -math.log(math.fsum(math.exp(z) for z in overlaps))
            else:
                expected = -math.fsum((z / d) ** degree for z in overlaps) * d / degree
            assert e[i].item() == pytest.approx(expected, abs=1e-10)


@given(batches, sizes, sizes, st.integers(1, 7), degrees, seeds)
def test_dense_field_is_half_the_cost_of_turning(batch, n, m, d, degree, seed):
    state, memory = spins(*batch, n, d, seed=seed), spins(*batch, m, d, seed=seed + 1)
    felt = dense_local_field(state, memory, degree=degree)
    close(felt, by_values(lambda s: dense_energy(s, memory, degree=degree), state), atol=1e-10)


@given(batches, sizes, sizes, sizes, modes, seeds)
def test_degree_two_is_hebb(batch, n, m, d, mode, seed):
    state, memory = spins(*batch, n, d, seed=seed), spins(*batch, m, d, seed=seed + 1)
    weights = hebb_weights(memory)
    close(dense_energy(state, memory, degree=2), classical_energy(state, weights) - m / 2, atol=1e-12)
    close(dense_local_field(state, memory, degree=2), classical_local_field(state, weights), atol=1e-12)
    dense, classical = dense_recall(state, memory, degree=2, mode=mode), classical_recall(state, weights, mode=mode)
    close(dense.state, classical.state, atol=0)
    assert torch.equal(dense.iterations, classical.iterations)
    assert torch.equal(dense.period, classical.period)


@given(sizes, sizes, st.integers(1, 9), seeds)
def test_the_exponential_field_has_the_sign_of_attention_less_the_state(n, m, d, seed):
    state, memory = spins(n, d, seed=seed), spins(m, d, seed=seed + 1)
    attended = hopfield_update(state, memory)
    short = attended - math.tanh(1) * state
    felt = dense_local_field(state, memory, degree="exp")
    assert (short * felt)[short.abs() > 1e-12].gt(0).all()


# Recall against the plainest loop, in whole numbers


def loop(state, memory, order_of_sweeps, sweeps):
    """Hebb's network spin by spin in integers, so that a tie is a tie."""
    x, found = memory.long().tolist(), []
    for row in state.long().tolist():
        steps, rests = 0, False
        for sweep in range(sweeps):
            before = list(row)
            for k in order_of_sweeps[sweep]:
                felt = sum(p[k] * p[j] * row[j] for p in x for j in range(len(row)) if j != k)
                row[k] = row[k] if felt == 0 else (1 if felt > 0 else -1)
            rests = row == before
            if rests:
                break
            steps += 1
        found.append((row, steps, int(rests)))
    return found


@given(sizes, sizes, st.integers(1, 12), st.booleans(), st.sampled_from([torch.float32, torch.float64]), seeds)
def test_asynchronous_recall_is_the_plain_loop(n, m, d, shuffled, dtype, seed):
    state, memory = spins(n, d, seed=seed, dtype=dtype), spins(m, d, seed=seed + 1, dtype=dtype)
    draws, again, sweeps = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7), 20
    order = [torch.randperm(d, generator=draws).tolist() if shuffled else list(range(d)) for _ in range(sweeps)]
    generator = again if shuffled else None
    for found in (
        classical_recall(state, hebb_weights(memory), generator=generator, max_steps=sweeps),
        dense_recall(state, memory, degree=2, generator=again.manual_seed(7) if shuffled else None, max_steps=sweeps),
    ):
        again.manual_seed(7)
        for i, (row, steps, rests) in enumerate(loop(state, memory, order, sweeps)):
            assert found.state[i].tolist() == row
            assert (found.iterations[i].item(), found.period[i].item()) == (steps, rests)
        assert found.state.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ties_are_seen_as_ties_where_division_by_d_is_not_exact(dtype):
    memory, state = spins(6, 49, dtype=dtype), spins(40, 49, seed=1, dtype=dtype)
    whole = state.long() @ memory.T.long() @ memory.long() - 6 * state.long()
    assert (whole == 0).sum() > 50
    expected = torch.where(whole == 0, state, whole.sign().to(dtype))
    for found in (
        classical_recall(state, hebb_weights(memory), mode="synchronous", max_steps=1),
        dense_recall(state, memory, degree=2, mode="synchronous", max_steps=1),
    ):
        assert torch.equal(found.state, expected)


@given(batches, sizes, sizes, st.integers(1, 7), degrees, seeds)
def test_a_visit_takes_the_lower_of_two_energies(batch, n, m, d, degree, seed):
    state, memory = spins(*batch, n, d, seed=seed), spins(*batch, m, d, seed=seed + 1)
    found, expected = dense_recall(state, memory, degree=degree, max_steps=1).state, state.clone()
    for k in range(d):
        energies = torch.stack([dense_energy(turned(expected, k, v), memory, degree=degree) for v in (-1, 1)])
        gap, rounding = energies[0] - energies[1], 30 * torch.finfo(energies.dtype).eps * energies.abs().amax()
        expected[..., k] = torch.where(gap.abs() <= rounding, expected[..., k], gap.sign())
    close(found, expected, atol=0)


@given(st.integers(1, 4), sizes, st.integers(2, 10), degrees, st.booleans(), seeds)
@examples(20)
def test_asynchronous_energy_never_rises_and_ends_where_every_spin_is_content(n, m, d, degree, shuffled, seed):
    state, memory = spins(n, d, seed=seed), spins(m, d, seed=seed + 1)
    weights, field = couplings(d=d, seed=seed), normal(d, seed=seed + 2)
    for energy, felt, run in (
        (
            lambda s: dense_energy(s, memory, degree=degree),
            lambda s: dense_local_field(s, memory, degree=degree),
            lambda **options: dense_recall(state, memory, degree=degree, **options),
        ),
        (
            lambda s: classical_energy(s, weights, field),
            lambda s: classical_local_field(s, weights, field),
            lambda **options: classical_recall(state, weights, field, **options),
        ),
    ):
        energies = []
        for steps in range(8):
            generator = torch.Generator().manual_seed(seed) if shuffled else None
            energies.append(energy(run(max_steps=steps, generator=generator).state))
        assert torch.stack(energies).diff(dim=0).max() < 1e-10
        rest = run(max_steps=1000, generator=torch.Generator().manual_seed(seed))
        assert rest.converged.all()
        assert (rest.state * felt(rest.state)).min() > -1e-10


def test_fixed_points_are_the_local_minima():
    states, weights = everything(6), couplings(d=6, seed=3)
    energies = classical_energy(states, weights)
    minima = {
        tuple(s.tolist())
        for s, e in zip(states, energies, strict=True)
        if all(classical_energy(turned(s, k, -s[k])[None], weights) > e for k in range(6))
    }
    found = classical_recall(states, weights)
    assert found.converged.all()
    assert {tuple(s.tolist()) for s in found.state} == minima
    assert 2 <= len(minima) < 64
    assert found.iterations[[tuple(s.tolist()) in minima for s in states]].eq(0).all()


def test_two_coupled_spins_swap_for_ever():
    weights = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    state = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    found = classical_recall(state, weights, mode="synchronous")
    assert found.period.tolist() == [2, 1]
    assert found.converged.tolist() == [False, True]
    assert found.iterations.tolist() == [1, 0]
    assert found.state.tolist() == [[-1, 1], [1, 1]]
    assert classical_recall(state, weights).period.tolist() == [1, 1]


@given(st.integers(2, 7), seeds)
def test_synchronous_symmetric_networks_end_in_a_point_or_a_pair(d, seed):
    weights, states = couplings(d=d, seed=seed), everything(d)
    found = classical_recall(states, weights, mode="synchronous", max_steps=2**d + 1)
    assert set(found.period.tolist()) <= {1, 2}
    step = lambda s: torch.where(s @ weights >= 0, 1.0, -1.0).double()  # noqa: E731
    assert torch.equal(step(step(found.state)), found.state)
    assert torch.equal((step(found.state) == found.state).all(-1), found.converged)
    one = classical_recall(states, weights, mode="synchronous", max_steps=1).state
    assert torch.equal(one, step(states))


@given(st.integers(2, 4), sizes, st.integers(2, 8), degrees, modes, seeds)
@examples(20)
def test_a_probe_does_not_feel_the_others(n, m, d, degree, mode, seed):
    state, memory = spins(2, n, d, seed=seed), spins(2, m, d, seed=seed + 1)
    together = dense_recall(state, memory, degree=degree, mode=mode)
    weights = hebb_weights(memory)
    pairwise = classical_recall(state, weights, normal(2, n, d, seed=seed), mode=mode)
    for b, i in itertools.product(range(2), range(n)):
        alone = dense_recall(state[b, i : i + 1], memory[b], degree=degree, mode=mode)
        assert torch.equal(alone.state[0], together.state[b, i])
        assert (alone.iterations.item(), alone.period.item()) == (
            together.iterations[b, i].item(),
            together.period[b, i].item(),
        )
        field = normal(2, n, d, seed=seed)[b, i : i + 1]
        alone = classical_recall(state[b, i : i + 1], weights[b], field, mode=mode)
        assert torch.equal(alone.state[0], pairwise.state[b, i])


@given(sizes, sizes, st.integers(2, 9), degrees, modes, seeds)
def test_turning_the_same_spins_of_everything_changes_nothing(n, m, d, degree, mode, seed):
    state, memory, gauge = spins(n, d, seed=seed), spins(m, d, seed=seed + 1), spins(d, seed=seed + 2)
    plain = dense_recall(state, memory, degree=degree, mode=mode)
    gauged = dense_recall(gauge * state, gauge * memory, degree=degree, mode=mode)
    assert torch.equal(gauged.state, gauge * plain.state)


def test_what_has_come_to_rest_stays_and_the_callers_tensors_too():
    state, memory = spins(20, 30), spins(3, 30, seed=1)
    kept = state.clone()
    state.requires_grad_()
    first = dense_recall(state, memory.requires_grad_(), degree=3)
    pairs = classical_recall(state, hebb_weights(memory), memory.mean(0))
    assert not pairs.state.requires_grad
    assert torch.equal(state.detach(), kept)
    assert state.requires_grad
    assert not first.state.requires_grad
    again = dense_recall(first.state, memory, degree=3)
    assert torch.equal(again.state, first.state)
    assert again.iterations.eq(0).all()
    untouched = dense_recall(state, memory, degree=3, max_steps=0)
    assert torch.equal(untouched.state, kept)
    assert untouched.period.eq(0).all()
    assert not untouched.converged.any()


def test_running_out_of_sweeps_is_told():
    chain = torch.diag(torch.tensor([3.0, 2.0, 1.0]), 1)  # the left-most spin turns its neighbour, that one the next, ...
    weights, field = chain + chain.T, torch.tensor([10.0, 0.0, 0.0, 0.0])
    state = -torch.ones(1, 4)
    found = [classical_recall(state, weights, field, mode="synchronous", max_steps=steps) for steps in range(6)]
    assert [f.period.item() for f in found] == [0, 0, 0, 0, 0, 1]
    assert [f.iterations.item() for f in found] == [0, 1, 2, 3, 4, 4]
    assert found[3].state.tolist() == [[1, 1, 1, -1]]
    assert classical_recall(state, weights, field).iterations.item() == 1  # one after the other they all turn in one sweep


@pytest.mark.parametrize(("degree", "d"), [(30, 600), ("exp", 5000)])
@pytest.mark.slow
def test_nothing_overflows(degree, d):
    memory = spins(4, d, dtype=torch.float32)
    cue = flip_spins(memory, d // 5, generator=torch.Generator().manual_seed(0))
    assert dense_energy(cue, memory, degree=degree).isfinite().all()
    assert dense_local_field(cue, memory, degree=degree).isfinite().all()
    for mode in ("synchronous", "asynchronous"):
        assert torch.equal(dense_recall(cue, memory, degree=degree, mode=mode).state, memory)


# What they refuse


S, X, W = spins(3, 4), spins(5, 4, seed=1), couplings(d=4)
BROKEN = torch.full((3, 4), math.nan, dtype=torch.float64)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("state", "J", "h", "words"),
    [
        (S[0], W, None, r"state has shape \(4,\) and J \(4, 4\); expected"),
        (S, W[:, :3], None, r"state has shape \(3, 4\) and J \(4, 3\); expected"),
        (S, W[:3], None, r"J has shape \(3, 4\); expected \[\*batch, d, d\]"),
        (S, W.triu(), None, r"J is not symmetric; expected J\[j, k\] == J\[k, j\]"),
        (S, W + torch.eye(4).double(), None, "J couples a spin to itself; expected a zero diagonal"),
        (S, W * math.inf, None, "J has non-finite entries"),
        (BROKEN, W, None, "state has non-finite entries"),
        (S.float(), W, None, "J is torch.float64 on cpu, state is torch.float32"),
        (S.long(), W, None, "state has dtype torch.int64"),
        (S, W, torch.zeros(3).double(), r"h has shape \(3,\); expected one that broadcasts to \(3, 4\)"),
        (S, W, torch.zeros(2, 3, 4).double(), r"h has shape \(2, 3, 4\); expected one that broadcasts to \(3, 4\)"),
        (S, W, torch.zeros(4), "h is torch.float32 on cpu; expected torch.float64 on cpu"),
        (S, W, BROKEN, "h has non-finite entries"),
    ],
)
@pytest.mark.double
def test_classical_networks_refuse(state, J, h, words):
    for function in (classical_energy, classical_local_field, classical_recall):
        with pytest.raises(ValueError, match=words):
            function(state, J, h)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("state", "memory", "degree", "words"),
    [
        (S[0], X, 2, r"state has shape \(4,\) and memory \(5, 4\); expected"),
        (S, X[:, :3], 2, r"state has shape \(3, 4\) and memory \(5, 3\); expected"),
        (S, X[:0], 2, r"memory has shape \(0, 4\); expected at least one row"),
        (S, X.float(), 2, "memory is torch.float32 on cpu"),
        (BROKEN, X, 2, "state has non-finite entries"),
        (S, X, 1, "degree is 1; expected an integer of at least 2"),
        (S, X, 2.0, "degree is 2.0; expected an integer of at least 2"),
        (S, X, True, "degree is True; expected an integer of at least 2"),
        (S, X, "cubic", "degree is 'cubic'; expected \"exp\" or an integer of at least 2"),
    ],
)
@pytest.mark.double
def test_dense_networks_refuse(state, memory, degree, words):
    for function in (dense_energy, dense_local_field, dense_recall):
        with pytest.raises(ValueError, match=words):
            function(state, memory, degree=degree)


@pytest.mark.usefixtures("unchecked")
def test_only_spins_are_turned():
    half = S / 2
    for call in (
        lambda: classical_recall(half, W),
        lambda: dense_recall(half, X, degree=2),
        lambda: dense_local_field(half, X, degree="exp"),
    ):
        with pytest.raises(ValueError, match="state has entries other than -1 and 1; expected spins"):
            call()
    for function in (dense_recall, dense_local_field):
        with pytest.raises(ValueError, match="memory has entries other than -1 and 1; expected spins"):
            function(S, 0 * X, degree=3)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.double
def test_settings_of_a_recall():
    for run in (lambda **o: classical_recall(S, W, **o), lambda **o: dense_recall(S, X, degree="exp", **o)):
        with pytest.raises(ValueError, match="mode is 'parallel'; expected one of 'asynchronous', 'synchronous'"):
            run(mode="parallel")
        for steps in (-1, 1.0, True):
            with pytest.raises(ValueError, match=f"max_steps is {steps}; expected an integer of at least 0"):
                run(max_steps=steps)


@pytest.mark.usefixtures("unchecked")
def test_hebb_refuses():
    for patterns, words in (
        (X[0], r"patterns has shape \(4,\); expected \[\*batch, m, d\] with m >= 1 and d >= 1"),
        (X[:0], r"patterns has shape \(0, 4\); expected"),
        (X.long(), "patterns has dtype torch.int64"),
        (BROKEN, "patterns has non-finite entries"),
    ):
        with pytest.raises(ValueError, match=words):
            hebb_weights(patterns)
