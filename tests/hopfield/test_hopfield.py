import math

import pytest
import torch
from helpers.draw import (
    batches,
    close,
    derivatives,
    dtypes,
    examples,
    mask_of,
    normal,
    ordinary_betas,
    parameter_check,
    seeds,
    sizes,
)
from hypothesis import given
from hypothesis import strategies as st
from torch import distributions
from torch.autograd import gradcheck, gradgradcheck
from torch.func import jacrev

from attnlib import (
    EnergyAttention,
    SoftmaxAttention,
    attend,
    descend,
    energy_step,
    hopfield_energy,
    hopfield_gradient,
    hopfield_jacobian,
    hopfield_log_density,
    hopfield_log_partition,
    hopfield_mixture_weights,
    hopfield_sample,
    hopfield_update,
)

MASK = torch.tensor([[True, False, True], [False, True, True]])


def pair(batch, n, m, d, seed=0, scale=1.0, grad=False):
    state = normal(*batch, n, d, seed=seed, scale=scale, grad=grad)
    return state, normal(*batch, m, d, seed=seed + 1, scale=scale, grad=grad)


def quadratic_in_memory(state, memory, *, beta, mask):
    """An energy that is not Hopfield's: the mean squared distance to the memories."""
    return beta * (state[..., :, None, :] - memory[..., None, :, :]).square().sum(-1).mean(-1)


# The energy, its gradient, its minimisation


@given(sizes, sizes, sizes, ordinary_betas, st.booleans(), seeds)
@pytest.mark.double
def test_the_energy_is_the_formula(n, m, d, beta, masked, seed):
    state, memory = pair((), n, m, d, seed)
    mask = mask_of(n, m, seed=seed) if masked else torch.ones(n, m, dtype=torch.bool)
    energy = hopfield_energy(state, memory, beta=beta, mask=mask)
    for i in range(n):
        dots = [float(memory[j] @ state[i]) for j in range(m) if mask[i, j]]
        total = math.fsum(math.exp(beta * (dot - max(dots))) for dot in dots)
        expected = float(state[i] @ state[i]) / 2 - max(dots) - math.log(total) / beta
        assert energy[i].item() == pytest.approx(expected, abs=1e-11)


@given(batches, sizes, sizes, sizes, st.one_of(ordinary_betas, st.just(math.inf)), st.booleans(), seeds)
@pytest.mark.double
def test_the_closed_gradient_is_the_gradient(batch, n, m, d, beta, masked, seed):
    state, memory = pair(batch, n, m, d, seed)
    mask = mask_of(*batch, n, m, seed=seed) if masked else None
    argument = state.clone().requires_grad_()
    (expected,) = torch.autograd.grad(hopfield_energy(argument, memory, beta=beta, mask=mask).sum(), argument)
    for twice in (False, True):
        gradient = hopfield_gradient(state, memory, beta=beta, mask=mask, twice_differentiable=twice)
        close(gradient, expected, atol=1e-11)
    step = 1e-6
    for axis in range(d):
        shift = step * torch.eye(d, dtype=torch.float64)[axis]
        rise = hopfield_energy(state + shift, memory, beta=beta, mask=mask)
        rise = rise - hopfield_energy(state - shift, memory, beta=beta, mask=mask)
        close(rise / (2 * step), expected[..., axis], atol=1e-4, rtol=1e-4)


@given(batches, sizes, sizes, ordinary_betas, st.floats(-3, 3), st.booleans(), seeds)
def test_one_update_is_one_step(batch, n, m, beta, step_size, masked, seed):
    state, memory = pair(batch, n, m, 3, seed)
    mask = mask_of(*batch, n, m, seed=seed) if masked else None
    settings = {"beta": beta, "mask": mask}
    new = hopfield_update(state, memory, step_size=step_size, **settings)
    by_autograd = energy_step(lambda s: hopfield_energy(s, memory, **settings), state, step_size=step_size)
    close(new, by_autograd, atol=1e-10)
    close(hopfield_update(state, memory, **settings), attend(state, memory, memory, **settings), atol=1e-12)
    assert not state.requires_grad
    assert not memory.requires_grad


@given(sizes, sizes, sizes, st.floats(0.01, 50), st.floats(1e-3, 2), st.sampled_from([0.1, 1, 10]), st.booleans(), seeds)
@examples(100)
@pytest.mark.double
def test_descent_lemma(n, m, d, beta, step_size, scale, masked, seed):
    state, memory = pair((), n, m, d, seed, scale)
    mask = mask_of(n, m, seed=seed) if masked else None
    before = hopfield_energy(state, memory, beta=beta, mask=mask)
    gradient = hopfield_gradient(state, memory, beta=beta, mask=mask)
    after = hopfield_energy(
        hopfield_update(state, memory, beta=beta, step_size=step_size, mask=mask), memory, beta=beta, mask=mask
    )
    promised = step_size * (1 - step_size / 2) * gradient.square().sum(-1)
    slack = 1e-12 * (1 + state.square().sum(-1) + memory.square().sum(-1).max())
    assert bool((after <= before - promised + slack).all())


def test_the_lemma_is_tight_and_fails_beyond_two():
    state, memory = torch.tensor([[3.0]], dtype=torch.float64), torch.tensor([[1.0]], dtype=torch.float64)
    change = {}
    for step_size in (0.5, 2, 2.1):
        new = hopfield_update(state, memory, step_size=step_size)
        change[step_size] = (hopfield_energy(new, memory) - hopfield_energy(state, memory)).item()
    assert change[0.5] == pytest.approx(-0.5 * 0.75 * 4)
    assert change[2] == pytest.approx(0, abs=1e-12)
    assert change[2.1] == pytest.approx(2.1 * 0.05 * 4)


@given(batches, sizes, sizes, ordinary_betas, seeds)
@pytest.mark.double
def test_the_jacobian_is_the_derivative_of_the_update(batch, n, m, beta, seed):
    state, memory = pair(batch, n, m, 3, seed)
    jacobian = hopfield_jacobian(state, memory, beta=beta)
    identity = torch.eye(3, dtype=torch.float64)
    for states, memories, matrices in zip(state.reshape(-1, n, 3), memory.reshape(-1, m, 3), jacobian.reshape(-1, n, 3, 3)):
        update = lambda s, x=memories: hopfield_update(s, x, beta=beta, twice_differentiable=True)  # noqa: E731
        gradient = lambda s, x=memories: hopfield_gradient(s, x, beta=beta, twice_differentiable=True)  # noqa: E731
        apart = torch.eye(n, dtype=torch.float64)[:, None, :, None]  # a state's update depends on no other state
        close(jacrev(update)(states), apart * matrices[:, :, None], atol=1e-10)
        close(jacrev(gradient)(states), apart * (identity - matrices)[:, :, None], atol=1e-10)
    close(jacobian, jacobian.mT, atol=1e-12)
    assert torch.linalg.eigvalsh(jacobian).min() > -1e-10


@pytest.mark.double
@pytest.mark.slow
def test_a_small_error_shrinks_by_the_largest_eigenvalue():
    memory = normal(4, 3, scale=0.8)
    fixed = descend(lambda s: hopfield_energy(s, memory), normal(1, 3, seed=1), steps=300).states[-1]
    close(hopfield_update(fixed, memory), fixed, atol=1e-12)
    rate, direction = (part[0] for part in torch.linalg.eigh(hopfield_jacobian(fixed, memory)))
    nearby = fixed + 1e-6 * direction[:, -1]
    shrunk = (hopfield_update(nearby, memory) - fixed).norm() / 1e-6
    assert shrunk.item() == pytest.approx(rate[-1].item(), rel=1e-4)
    assert 0 < rate[-1].item() < 1


@given(sizes, sizes, seeds)
def test_at_zero_temperature_a_state_goes_to_the_best_memory(n, m, seed):
    state, memory = pair((2,), n, m, 3, seed)
    scores = torch.einsum("bnd,bmd->bnm", state, memory)
    best = torch.take_along_dim(memory, scores.argmax(-1, keepdim=True), dim=1)
    close(hopfield_update(state, memory, beta=math.inf), best, atol=1e-12)
    close(hopfield_energy(state, memory, beta=math.inf), state.square().sum(-1) / 2 - scores.amax(-1), atol=1e-12)
    for beta in (1e8, 1e300):
        close(hopfield_energy(state, memory, beta=beta), hopfield_energy(state, memory, beta=math.inf), atol=1e-7)


@given(batches, sizes, sizes, dtypes, st.sampled_from([1e-3, 1, 1e3, 1e30, math.inf]), st.sampled_from([1.0, 50.0]), seeds)
def test_half_precision_stays_finite_and_keeps_its_dtype(batch, n, m, dtype, beta, scale, seed):
    state = normal(*batch, n, 4, seed=seed, dtype=dtype, scale=scale)
    memory = normal(*batch, m, 4, seed=seed + 1, dtype=dtype, scale=scale)
    results = [hopfield_energy(state, memory, beta=beta), hopfield_update(state, memory, beta=beta, step_size=0.5)]
    results.append(hopfield_gradient(state, memory, beta=beta))
    if beta <= 1e3:
        results.append(hopfield_mixture_weights(memory, beta=beta))
        close(results[-1].double().sum(-1), torch.ones(batch, dtype=torch.float64), atol=2e-2)
    if scale * beta <= 50:
        results += [hopfield_jacobian(state, memory, beta=beta), hopfield_log_partition(memory, beta=beta)]
        results.append(hopfield_log_density(state, memory, beta=beta))
    assert all(result.dtype == dtype for result in results)
    assert all(bool(torch.isfinite(result).all()) for result in results)


def test_integers_are_taken_as_numbers():
    state, memory = pair((), 2, 3, 4)
    assert torch.equal(
        hopfield_update(state, memory, beta=2, step_size=1), hopfield_update(state, memory, beta=2.0, step_size=1.0)
    )
    assert torch.equal(hopfield_update(state, memory, step_size=2), hopfield_update(state, memory, step_size=2.0))
    assert torch.equal(hopfield_log_partition(memory, beta=2), hopfield_log_partition(memory, beta=2.0))
    assert torch.equal(hopfield_log_partition(memory, beta=torch.tensor(2)), hopfield_log_partition(memory, beta=2.0))
    x = normal(1, 2, 4)
    one, other = EnergyAttention(4, bare=True, step_size=2, beta=1), EnergyAttention(4, bare=True, step_size=2.0, beta=1.0)
    assert torch.equal(one(x), other(x))


def test_a_temperature_for_each_state():
    state, memory = pair((2,), 3, 4, 5)
    beta = torch.tensor([[0.5], [3.0]], dtype=torch.float64)
    for function in (hopfield_energy, hopfield_gradient, hopfield_update, hopfield_jacobian):
        rows = torch.stack([function(state[i], memory[i], beta=beta[i].item()) for i in range(2)])
        close(function(state, memory, beta=beta), rows, atol=1e-12)
    for function in (hopfield_mixture_weights, hopfield_log_partition):
        rows = torch.stack([function(memory[i], beta=beta[i].item()) for i in range(2)])
        close(function(memory, beta=beta[:, 0]), rows, atol=1e-12)


@pytest.mark.parametrize("function", [hopfield_energy, hopfield_gradient, hopfield_update])
@pytest.mark.parametrize("beta", [1.0, math.inf])
def test_a_state_that_feels_nothing_is_an_error_or_keeps_the_quadratic_term(function, beta):
    state, memory = pair((), 2, 3, 4, grad=True)
    mask = torch.tensor([[False, False, False], [True, False, True]])
    with pytest.raises(ValueError, match="mask has a row that allows nothing"):
        function(state, memory, beta=beta, mask=mask)
    result = function(state, memory, beta=beta, mask=mask, empty="zero")
    alone = {hopfield_energy: state[0].square().sum() / 2, hopfield_gradient: state[0], hopfield_update: 0 * state[0]}
    close(result[0], alone[function], atol=1e-14)
    gradients = torch.autograd.grad(result.square().sum(), (state, memory))
    assert all(bool(torch.isfinite(gradient).all()) for gradient in gradients)


# Derivatives of the functions


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("per_state", [False, True])
@derivatives
@pytest.mark.double
def test_the_energy_and_its_steps_differentiate(per_state, mask, how):
    leaves = pair((2,), 2, 3, 2, grad=True)
    beta = torch.tensor([[0.6], [2.0]] if per_state else 0.7, dtype=torch.float64, requires_grad=True)
    functions = [
        lambda s, x, b: hopfield_energy(s, x, beta=b, mask=mask),
        lambda s, x, b: hopfield_gradient(s, x, beta=b, mask=mask, twice_differentiable=True),
        lambda s, x, b: hopfield_update(s, x, beta=b, step_size=0.3, mask=mask, twice_differentiable=True),
        lambda s, x, b: energy_step(lambda t: hopfield_energy(t, x, beta=b, mask=mask), s, step_size=0.3),
    ]
    for function in functions:
        assert gradcheck(function, (*leaves, beta), **how)
        assert gradgradcheck(function, (*leaves, beta), **how)
    assert gradcheck(lambda s, x, b: hopfield_gradient(s, x, beta=b, mask=mask), (*leaves, beta), **how)
    assert gradcheck(lambda s, x, b: hopfield_update(s, x, beta=b, step_size=0.3, mask=mask), (*leaves, beta), **how)


@pytest.mark.double
def test_the_jacobian_and_the_probabilities_differentiate():
    state, memory = pair((2,), 2, 3, 2, grad=True)
    beta = torch.tensor([0.6, 2.0], dtype=torch.float64, requires_grad=True)
    checks = [
        (lambda s, x, b: hopfield_jacobian(s, x, beta=b[:, None]), (state, memory, beta)),
        (lambda x, b: hopfield_mixture_weights(x, beta=b), (memory, beta)),
        (lambda x, b: hopfield_log_partition(x, beta=b), (memory, beta)),
        (lambda s, x: hopfield_log_density(s, x, beta=0.7), (state, memory)),
    ]
    for function, leaves in checks:
        assert gradcheck(function, leaves)
        assert gradgradcheck(function, leaves)


@pytest.mark.double
def test_a_step_down_any_energy_differentiates():
    state, memory = pair((), 2, 3, 2, grad=True)
    quartic = lambda x: lambda s: ((s @ x.mT) ** 4).sum(-1) / 4 + s.square().sum(-1) / 2  # noqa: E731
    by_hand = lambda s, x: s - 0.1 * ((s @ x.mT) ** 3 @ x + s)  # noqa: E731
    step = lambda s, x: energy_step(quartic(x), s, step_size=0.1)  # noqa: E731
    close(step(state, memory), by_hand(state, memory), atol=1e-12)
    assert gradcheck(step, (state, memory))
    assert gradgradcheck(step, (state, memory))


def test_a_step_moves_only_the_argument():
    x = normal(3, 2, grad=True)
    own = energy_step(lambda s: hopfield_energy(s, x), x)
    close(own, attend(x, x, x, beta=1), atol=1e-12)
    (through,) = torch.autograd.grad(own.square().sum(), x)
    (expected,) = torch.autograd.grad(attend(x, x, x, beta=1).square().sum(), x)
    close(through, expected, atol=1e-12)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_a_step_works_in_every_grad_mode(mode):
    state, memory = pair((), 2, 3, 4)
    with mode():
        new = energy_step(lambda s: hopfield_energy(s, memory), state)
        made = descend(lambda s: hopfield_energy(s, memory), state, steps=2)
    assert not state.requires_grad
    close(new, attend(state, memory, memory, beta=1), atol=1e-12)
    close(made.states[1], new, atol=1e-12)
    outside = state.clone().requires_grad_()
    with mode():
        new = energy_step(lambda s: hopfield_energy(s, memory), outside)
    assert new.requires_grad == (mode is torch.enable_grad)
    assert outside.grad is None


def test_a_descent_keeps_what_happened():
    state, memory = pair((2,), 3, 4, 5)
    path = descend(lambda s: hopfield_energy(s, memory, beta=2), state, steps=6, step_size=0.7)
    assert path.states.shape == (7, 2, 3, 5)
    assert path.energies.shape == path.gradient_norms.shape == (7, 2, 3)
    assert torch.equal(path.states[0], state)
    for before, after in zip(path.states, path.states[1:]):
        close(after, hopfield_update(before, memory, beta=2, step_size=0.7), atol=1e-12)
    close(path.energies, torch.stack([hopfield_energy(s, memory, beta=2) for s in path.states]), atol=1e-12)
    norms = torch.stack([hopfield_gradient(s, memory, beta=2).norm(dim=-1) for s in path.states])
    close(path.gradient_norms, norms, atol=1e-12)
    assert bool((path.energies.diff(dim=0) < 0).all())
    assert not path.states.requires_grad
    assert descend(lambda s: hopfield_energy(s, memory), state, steps=0).states.shape == (1, 2, 3, 5)


# The probability model


@given(sizes, st.floats(0.3, 8), seeds)
@pytest.mark.double
def test_the_partition_function_in_one_dimension_by_quadrature(m, beta, seed):
    memory = normal(m, 1, seed=seed)
    reach = memory.abs().max().item() + 12 / math.sqrt(beta)
    line = torch.linspace(-reach, reach, 4001, dtype=torch.float64)
    integral = torch.trapezoid(torch.exp(-beta * hopfield_energy(line[:, None], memory, beta=beta)), line)
    close(hopfield_log_partition(memory, beta=beta), integral.log(), atol=1e-9)
    density = hopfield_log_density(line[:, None], memory, beta=beta).exp()
    assert torch.trapezoid(density, line).item() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("beta", [0.5, 1, 3.0])
def test_the_partition_function_in_two_dimensions_by_quadrature(beta):
    memory = normal(4, 2, seed=7)
    line = torch.linspace(-1, 1, 301, dtype=torch.float64) * (memory.abs().max() + 9 / math.sqrt(beta))
    plane = torch.cartesian_prod(line, line)

    def integrate(values):
        return torch.trapezoid(torch.trapezoid(values.reshape(301, 301), line), line)

    integral = integrate(torch.exp(-beta * hopfield_energy(plane, memory, beta=beta)))
    close(hopfield_log_partition(memory, beta=beta), integral.log(), atol=1e-9)
    density = hopfield_log_density(plane, memory, beta=beta).exp()
    close(integrate(density), torch.tensor(1.0, dtype=torch.float64), atol=1e-9)
    # The mean of the density is the mean of the memories, each with its mixture weight.
    mean = torch.stack([integrate(density * plane[:, axis]) for axis in range(2)])
    close(mean, hopfield_mixture_weights(memory, beta=beta) @ memory, atol=1e-9)


@given(sizes, sizes, st.floats(0.2, 8), seeds)
@pytest.mark.double
def test_the_density_is_a_gaussian_mixture_and_attention_its_denoiser(m, d, beta, seed):
    state, memory = pair((), 3, m, d, seed)
    squares = [sum(x * x for x in row) for row in memory.tolist()]
    factors = torch.tensor([math.exp(beta * (s - max(squares)) / 2) for s in squares], dtype=torch.float64)
    close(hopfield_mixture_weights(memory, beta=beta), factors / factors.sum(), atol=1e-12)
    component = distributions.Independent(distributions.Normal(memory, beta**-0.5), 1)
    mixture = distributions.MixtureSameFamily(distributions.Categorical(probs=factors), component)
    close(hopfield_log_density(state, memory, beta=beta), mixture.log_prob(state), atol=1e-9)
    # The posterior mean of the memory behind a state, by Bayes' rule.
    joint = factors * torch.exp(-beta / 2 * (state[:, None] - memory).square().sum(-1))
    posterior = joint / joint.sum(-1, keepdim=True)
    close(hopfield_update(state, memory, beta=beta), posterior @ memory, atol=1e-9)


def test_mixture_weights_are_ratios_of_densities_far_apart():
    memory = 8 * torch.tensor([[1.0, 0.0], [-0.6, 0.85], [-0.5, -0.88]], dtype=torch.float64)
    density = hopfield_log_density(memory, memory).exp()  # at its own centre each component is alone
    weights = hopfield_mixture_weights(memory)
    close(density / density[0], weights / weights[0], atol=0.0, rtol=1e-9)
    assert weights.max() / weights.min() > 1.5


@given(sizes, sizes, sizes, st.floats(0.2, 8), seeds)
def test_the_gradient_of_the_likelihood_with_respect_to_the_memories(n, m, d, beta, seed):
    data, memory = pair((), n, m, d, seed)
    memory.requires_grad_()
    (gradient,) = torch.autograd.grad(hopfield_log_density(data, memory, beta=beta).mean(), memory)
    memory = memory.detach()
    share = torch.softmax(beta * data @ memory.T, -1)
    weight = torch.softmax(beta * memory.square().sum(-1) / 2, -1)
    close(gradient, beta * (share.T @ data / n - weight[:, None] * memory), atol=1e-10)


def test_samples_have_the_moments_of_the_mixture():
    memory, beta, count = normal(3, 2, seed=3), 2.5, 100_000
    squares = memory.square().sum(-1)
    weight = torch.exp(beta * squares / 2) / torch.exp(beta * squares / 2).sum()
    mean = (weight[:, None] * memory).sum(0)
    second = torch.einsum("i,ia,ib->ab", weight, memory, memory) + torch.eye(2, dtype=torch.float64) / beta
    generator = torch.Generator().manual_seed(0)
    sample = hopfield_sample(memory, count, beta=beta, generator=generator)
    assert sample.dtype == memory.dtype
    assert sample.shape == (count, 2)
    products = torch.einsum("na,nb->nab", sample, sample)
    for values, exact in ((sample, mean), (products, second)):
        error = values.std(0) / math.sqrt(count)
        assert bool(((values.mean(0) - exact).abs() < 4 * error).all())
        assert error.max() < 0.02
    again = hopfield_sample(memory, count, beta=beta, generator=torch.Generator().manual_seed(0))
    assert torch.equal(again, sample)


# The modules


@given(sizes, sizes, sizes, st.sampled_from([1, 2]), ordinary_betas, st.booleans(), seeds)
def test_bare_energy_attention_is_bare_softmax_attention(batch, n, m, dim, beta, masked, seed):
    x, context = normal(batch, n, dim, seed=seed), normal(batch, m, dim, seed=seed + 1)
    mask = mask_of(batch, n, m, seed=seed) if masked else None
    expected = SoftmaxAttention(dim, bare=True, beta=beta, twice_differentiable=True)(x, context, mask)
    for closed in (True, False):
        close(EnergyAttention(dim, bare=True, beta=beta, closed_form=closed)(x, context, mask), expected, atol=1e-10)


@pytest.mark.parametrize("closed", [True, False])
def test_cross_attention_at_full_size_in_single_precision(closed):
    x, memory = normal(1, 8, 512).float(), normal(1, 32, 512, seed=1).float()
    energy, softmax = EnergyAttention(512, bare=True, closed_form=closed), SoftmaxAttention(512, bare=True)
    assert (energy(x, memory) - softmax(x, memory)).abs().max() < 1e-6


@given(
    st.integers(1, 2),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([1, 2, 3]),
    st.integers(1, 3),
    st.floats(0.1, 2),
    st.sampled_from(["self", "cross"]),
    st.sampled_from(["no", "keys", "pairs"]),
    st.booleans(),
    seeds,
)
@examples(60)
@pytest.mark.double
def test_closed_form_and_automatic_differentiation_agree(batch, n, m, heads, steps, step_size, kind, masked, bare, seed):
    setting = {"heads": 1 if bare else heads, "bare": bare, "steps": steps, "step_size": step_size, "bias": not bare}
    torch.manual_seed(seed)
    closed = EnergyAttention(6, **setting, twice_differentiable=True).double()
    automatic = EnergyAttention(6, **setting, closed_form=False).double()
    fused = EnergyAttention(6, **setting).double()
    automatic.load_state_dict(closed.state_dict())
    fused.load_state_dict(closed.state_dict())
    x, context = normal(batch, n, 6, seed=seed), normal(batch, m, 6, seed=seed + 1)
    m = n if kind == "self" else m
    mask = {"no": None, "keys": mask_of(batch, 1, m, seed=seed), "pairs": mask_of(batch, n, m, seed=seed)}[masked]

    def derivatives(module, orders):
        leaves = [x.clone().requires_grad_()] + ([context.clone().requires_grad_()] if kind == "cross" else [])
        out = module(*leaves, mask=mask)
        leaves += module.parameters()
        found = [out]
        value = out.square().sum()
        for order in range(orders):
            last = order == orders - 1
            gradients = torch.autograd.grad(value, leaves, create_graph=not last)
            found += gradients
            value = sum(g.pow(2).sum() for g in gradients)
        return [t.detach() for t in found]

    twice, expected = derivatives(closed, 2), derivatives(automatic, 2)
    once = derivatives(fused, 1)
    assert len(twice) == len(expected)
    for a, b in zip(twice, expected):
        close(a, b, atol=1e-10, rtol=1e-10)
    for a, b in zip(once, expected):
        close(a, b, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("setting", [{"heads": 2, "bias": True}, {"bare": True}, {"heads": 2, "steps": 2, "step_size": 0.5}])
@derivatives
@pytest.mark.double
def test_energy_attention_differentiates(setting, masked, closed, how):
    module = EnergyAttention(2, **setting, closed_form=closed, twice_differentiable=True).double()
    x, context = normal(1, 2, 2, grad=True), normal(1, 3, 2, seed=1, grad=True)
    mask = MASK[None] if masked else None
    for check in (gradcheck, gradgradcheck):
        assert parameter_check(module, check, x, context, how=how, mask=mask)
        assert parameter_check(module, check, x, how=how)
    if closed:
        fused = EnergyAttention(2, **setting).double()
        assert parameter_check(fused, gradcheck, x, context, how=how, mask=mask)


@pytest.mark.double
def test_energy_attention_takes_any_energy():
    module = EnergyAttention(4, heads=2, energy=quadratic_in_memory, beta=0.3, step_size=0.5).double()
    x, context = normal(2, 3, 4, grad=True), normal(2, 5, 4, seed=1, grad=True)
    query, key = module.to_query(x), module.to_key(context)
    by_hand = module.to_out(query - 0.5 * 0.3 * 2 * (query - key.mean(1, keepdim=True)))
    close(module(x, context), by_hand, atol=1e-12)
    assert not module.closed_form
    small = EnergyAttention(2, heads=2, energy=quadratic_in_memory, steps=2, step_size=0.4).double()
    leaves = normal(1, 2, 2, grad=True), normal(1, 3, 2, seed=1, grad=True)
    assert parameter_check(small, gradcheck, *leaves)
    assert parameter_check(small, gradgradcheck, *leaves)


@pytest.mark.parametrize("closed", [True, False])
def test_explain_shows_the_descent_that_the_call_makes(closed):
    module = EnergyAttention(4, heads=2, steps=3, step_size=0.5, closed_form=closed).double()
    x, context, mask = normal(2, 3, 4), normal(2, 5, 4, seed=1), mask_of(2, 3, 5)
    path = module.explain(x, context, mask)
    assert path.states.shape == (4, 2, 2, 3, 2)
    merged = path.states[-1].transpose(1, 2).flatten(2)
    close(module.to_out(merged), module(x, context, mask), atol=1e-12)
    close(path.output, module(x, context, mask), atol=1e-12)
    assert bool((path.energies.diff(dim=0) <= 1e-12).all())
    keys = module.to_key(context).unflatten(-1, (2, 2)).transpose(1, 2)
    close(2 * path.states[3] - path.states[2], path.weights @ keys, atol=1e-12)
    leaves = list(module.parameters())
    for found in (path.output, path.states):  # what explain returns differentiates as the call does
        assert found.requires_grad
    expected = torch.autograd.grad(module(x, context, mask).square().sum(), leaves)
    for a, b in zip(torch.autograd.grad(path.output.square().sum(), leaves), expected):
        close(a, b, atol=1e-12)
    with torch.no_grad():
        assert not module.explain(x, context, mask).states.requires_grad
