"""Bugs that were found once, each as a user met it. What a mixer must do stands in ``mixer_suite.py``."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.draw import close, mask_of, normal
from helpers.samples import sample
from torch.func import jvp, vmap

import attnlib
from attnlib import (
    EnergyAttention,
    SoftmaxAttention,
    additive_scores,
    attend,
    attention_weights,
    classical_energy,
    classical_local_field,
    classical_recall,
    dense_energy,
    energy_step,
    entropy,
    find_fixed_points,
    freezing_scale,
    hopfield_energy,
    hopfield_gradient,
    hopfield_update,
    no_value_checks,
    online_softmax,
    random_energy,
    softmax,
    sparsemax,
)
from attnlib.course.data import flip_spins, random_patterns
from attnlib.course.models import Seq2Seq, teach

ROOT = Path(attnlib.__file__).parent


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_single_precision_finds_the_same_places_of_rest(beta, request):
    """Two starts in one minimum stopped further apart than what was merged: one valley was counted twice."""
    for seed in sample(range(200), 0.15, request.config.getoption("tier")):
        memory, starts = normal(5, 2, seed=seed), normal(20, 2, seed=1000 + seed)
        exact = find_fixed_points(starts, memory, beta=beta, on_failure="warn")
        found = find_fixed_points(starts.float(), memory.float(), beta=beta, on_failure="warn")
        assert found.points.dtype == torch.float32
        assert len(found.points) == len(exact.points), seed
        close(found.points.double(), exact.points, atol=1e-5)


def test_an_energy_step_goes_through_the_transforms():
    """They raised "energy returned a constant"."""
    memory, state = normal(5, 3), normal(4, 2, 3, seed=1)

    def step(one):
        return energy_step(lambda s: hopfield_energy(s, memory), one, step_size=0.5)

    by_hand = hopfield_update(state, memory.expand(4, 5, 3), step_size=0.5)
    close(vmap(step)(state), by_hand, atol=1e-12)
    direction = normal(2, 3, seed=2)
    _, along = jvp(step, (state[0],), (direction,))
    ahead, behind = (step(state[0] + sign * 1e-6 * direction) for sign in (1, -1))
    close(along, (ahead - behind) / 2e-6, atol=1e-8)


def test_an_energy_may_touch_its_state_and_still_be_constant():
    with pytest.raises(ValueError, match="energy returned a constant"):
        energy_step(lambda s: (0 * s.detach()).sum(-1), normal(2, 3))
    still = energy_step(lambda s: s.square().sum(-1), torch.zeros(2, 3))  # a gradient of zero is not a constant
    assert torch.equal(still, torch.zeros(2, 3))


@pytest.mark.parametrize("shift", [0.0, 1e6, -1e6])
def test_the_shares_of_parts_sum_to_one(shift):
    """In single precision the logarithms of large partition functions rounded away what the parts are worth: 1.017."""
    scores, values = normal(8, 3, 2).float(), normal(8, 2, 1, seed=1).float()
    ones = [(s + shift, torch.ones(2, 1)) for s in scores]
    close(online_softmax(ones).average, torch.ones(3, 1), atol=1e-6)
    parts = [(s + shift, v) for s, v in zip(scores, values)]
    whole = attend_to_all(torch.cat([s for s, _ in parts], -1), torch.cat(list(values)))
    close(online_softmax(parts).average.double(), whole, atol=1e-5)


def attend_to_all(scores, value):
    return torch.softmax(scores.double(), -1) @ value.double()


def test_one_rule_for_a_tensor_beta():
    """It was a column for attention and a row for energies."""
    state, memory, beta = normal(2, 3, 4), normal(2, 5, 4, seed=1), torch.tensor([0.5, 1.0, 2.0]).double()
    update = hopfield_update(state, memory, beta=beta)
    close(attend(state, memory, memory, beta=beta), update, atol=1e-12)
    close(attention_weights(state, memory, beta=beta) @ memory, update, atol=1e-12)
    close(softmax(state @ memory.mT, beta=beta) @ memory, update, atol=1e-12)
    close(state - hopfield_gradient(state, memory, beta=beta), update, atol=1e-12)
    for wrong in (beta[:, None], beta[None, :, None]):
        for function in (softmax, sparsemax):
            with pytest.raises(ValueError, match="beta has shape"):
                function(state @ memory.mT, beta=wrong)


def test_a_mask_is_copied_only_along_axes_it_has(monkeypatch):
    """A mask for all members of a batch was copied for each: 1,065 MiB instead of 91."""
    handed, real = [], torch.nn.functional.scaled_dot_product_attention

    def spy(*tensors, attn_mask=None, **settings):
        handed.append(attn_mask.untyped_storage().nbytes())
        return real(*tensors, attn_mask=attn_mask, **settings)

    monkeypatch.setattr("attnlib._core.fused.scaled_dot_product_attention", spy)
    mask = mask_of(30, 40)
    for batch in ((), (7,), (7, 2), (3, 7, 2), (2, 1, 7, 2)):
        query, key = normal(*batch, 30, 4), normal(*batch, 40, 4)
        attend(query, key, key, mask=mask)
        assert handed[-1] == 30 * 40, batch
    SoftmaxAttention(4, heads=2, dtype=torch.float64)(normal(7, 30, 4), normal(7, 40, 4), mask)
    assert handed[-1] == 30 * 40


def test_training_for_one_step():
    """The cosine divided by zero."""
    model = Seq2Seq(9, 8, hidden=4, embedding=4)
    words = torch.tensor([[4, 5, 6]])

    class Batch:
        source, given, wanted, mask = words, words, words, words > 0

    assert len(teach(model, lambda: [Batch()], 1)) == 1


def test_an_energy_of_ones_own_where_a_token_sees_nothing():
    """It was advised to pass empty="zero", which it had."""
    module = EnergyAttention(4, energy=lambda s, x, beta, mask: hopfield_energy(s, x, beta=beta, mask=mask), empty="zero")
    x, mask = torch.randn(2, 3, 4), mask_of(2, 3, 3)
    mask[1, 2] = False
    assert torch.equal(module(x, mask=mask)[1, 2], torch.zeros(4))


@pytest.mark.usefixtures("unchecked")
def test_what_are_no_spins_are_not_turned():
    for wrong in (torch.tensor([True, False]), torch.tensor([1, 1], dtype=torch.uint8)):
        with pytest.raises(ValueError, match="state has dtype"):
            flip_spins(wrong, 1)
    for wrong in (torch.tensor([1.0, math.nan]), torch.tensor([1.0, 0.5])):
        with pytest.raises(ValueError, match="state has entries other than -1 and 1"):
            flip_spins(wrong, 1)


def test_an_empty_batch_of_networks():
    state, J = torch.ones(0, 2, 3), torch.zeros(0, 3, 3)
    assert classical_energy(state, J).shape == (0, 2)
    assert classical_local_field(state, J).shape == (0, 2, 3)
    assert classical_recall(state, J).state.shape == (0, 2, 3)


def test_a_model_too_cold_to_integrate_is_refused():
    with pytest.raises(ValueError, match=r"sigma is 10000\.0; expected numbers between 0 and 40"):
        random_energy(100, 1e4)


def test_extreme_temperatures():
    scores = torch.tensor([[1.0, 0.5, 1.0]])
    close(sparsemax(scores, beta=1e300), torch.tensor([[0.5, 0.0, 0.5]]), atol=0.0)
    query, key = normal(3, 4).float(), normal(5, 4, seed=1).float()
    cold = attend(query, key, key, beta=math.inf)
    close(attend(query, key, key, beta=torch.tensor(1e38)), cold, atol=0.0)
    close(attend(query, key, key, beta=torch.tensor([1e38, 3e38, 1e30])), cold, atol=0.0)


def test_additive_scores_in_half_precision_keep_their_bound():
    query, key, weight = (torch.full(shape, 300.0).half() for shape in ((1, 4), (2, 4), (3, 4)))
    found = additive_scores(query, key, weight, weight, torch.ones(3).half())
    assert torch.equal(found, torch.full((1, 2), 3.0).half())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_beyond_half_precision_are_finite(dtype):
    """A finite tensor whose sum overflows is finite."""
    x = torch.full((1, 300, 4), 300.0, dtype=dtype)
    close(SoftmaxAttention(4, bare=True)(x), x, atol=1.0)
    assert hopfield_energy(x[0] / 10, x[0, :1] / 10).isfinite().all()
    assert SoftmaxAttention(4, bare=True).explain(x).scores.isfinite().all()


def test_float16_on_a_processor_without_a_kernel_for_it():
    query = torch.tensor([[200.0] * 4, [-200, 200, 200, 3]]).half()
    close(attend(query, query, query, beta=1e-4).double(), attend(*3 * [query.double()], beta=1e-4), atol=0.2)


@pytest.mark.usefixtures("unchecked")
def test_errors_speak_of_what_was_passed():
    """An energy complained of scores to someone who passed a state, and an entropy of -8.8 was returned."""
    with pytest.raises(ValueError, match="state has entries up to 1e\\+30 and memory up to 1e\\+30; expected"):
        hopfield_energy(torch.full((1, 2), 1e30), torch.full((1, 2), 1e30))
    with pytest.raises(ValueError, match="weights has a row that does not sum to one; expected"):
        entropy(torch.tensor([3.0, 4.0]))
    with pytest.raises(ValueError, match=r"query or key are too large: the result overflows torch\.float16"):
        attnlib.dot_scores(torch.full((1, 2), 300.0).half(), torch.full((1, 2), 300.0).half())
    with pytest.raises(ValueError, match="mask is on meta; expected cpu"):
        softmax(torch.zeros(2), mask=torch.ones(2, dtype=torch.bool, device="meta"))
    with pytest.raises(ValueError, match="beta is on meta; expected cpu"):
        softmax(torch.zeros(2, 3), beta=torch.ones(2, device="meta"))


@pytest.mark.usefixtures("unchecked")
def test_numbers_of_numpy_are_numbers():
    assert freezing_scale(np.int64(10)) == freezing_scale(10)
    assert torch.equal(softmax(torch.zeros(3), beta=np.float32(2)), softmax(torch.zeros(3)))
    assert random_patterns(np.int32(2), 3).shape == (2, 3)
    assert SoftmaxAttention(np.int64(4), heads=np.int64(2))(torch.zeros(1, 2, 4)).shape == (1, 2, 4)


def test_a_dense_energy_in_half_precision_is_that_of_single():
    spins = random_patterns(3, 64, generator=torch.Generator().manual_seed(0))
    half = dense_energy(spins.half(), spins.half(), degree=3)
    close(half.float(), dense_energy(spins, spins, degree=3), atol=0.05)


@pytest.mark.usefixtures("unchecked")
def test_inside_no_value_checks_values_are_not_looked_at():
    broken = torch.full((2, 3), math.nan)
    with no_value_checks():
        assert softmax(broken).isnan().all()
        with pytest.raises(ValueError, match="mask has dtype"):
            softmax(torch.zeros(3), mask=torch.ones(3))
    with pytest.raises(ValueError, match="scores has non-finite entries"):
        softmax(broken)


FACTORIES = {"arange", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "randperm", "tensor", "zeros"}


def places_without_a_device(path):
    """Calls that make a tensor without saying where, outside of constructors (which make parameters where torch says)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node not in inside:
            makes = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch" and node.func.attr in FACTORIES
            if makes and "device" not in {keyword.arg for keyword in node.keywords}:
                yield f"{path.name}:{node.lineno} torch.{node.func.attr}"


CHAPTERS = ["softmax", "attention", "hopfield", "mean_field", "free_energy", "message_passing", "kinetic", "transformer"]


@pytest.mark.parametrize("package", CHAPTERS)
def test_tensors_are_made_where_the_input_is(package):
    """Decoding on a GPU failed: the beam was made on the processor."""
    assert not [place for path in sorted((ROOT / package).glob("*.py")) for place in places_without_a_device(path)]


def test_the_search_for_devices_finds_what_it_looks_for(tmp_path):
    (tmp_path / "a.py").write_text("import torch\nx = torch.zeros(3)\ny = torch.ones(2, device=x.device)\n")
    assert list(places_without_a_device(tmp_path / "a.py")) == ["a.py:2 torch.zeros"]
