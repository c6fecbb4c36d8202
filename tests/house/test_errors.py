"""Every bad input is a ValueError that names the argument, what came and what was expected."""

import math

import pytest
import torch
from helpers.draw import normal

from attnlib import (
    EnergyAttention,
    SoftmaxAttention,
    attend,
    attention_weights,
    causal_mask,
    descend,
    dot_scores,
    energy_step,
    hopfield_energy,
    hopfield_gradient,
    hopfield_jacobian,
    hopfield_log_density,
    hopfield_log_partition,
    hopfield_mixture_weights,
    hopfield_sample,
    hopfield_update,
    padding_mask,
    smooth_max,
    softmax,
    softmax_jacobian,
)

pytestmark = pytest.mark.usefixtures("unchecked")

Q, K, V = normal(2, 3, 4), normal(2, 5, 4, seed=1), normal(2, 5, 6, seed=2)
S = normal(2, 5)
NAN, INF = torch.tensor(math.nan), math.inf
ALL = torch.ones(2, 3, 5, dtype=torch.bool)
HOLE = ALL.clone()
HOLE[0, 1] = False
EMPTY = r'mask has a row that allows nothing; expected one True per row, or empty="zero"'


def spoiled(tensor, value=math.nan):
    tensor = tensor.clone()
    tensor.view(-1)[-1] = value
    return tensor


def refuses(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("function", [softmax, smooth_max])
@pytest.mark.parametrize(
    ("scores", "setting", "words"),
    [
        (torch.tensor(1.0), {}, r"scores has shape \(\); expected \[\*batch, m\] with m >= 1"),
        (torch.zeros(2, 0), {}, r"scores has shape \(2, 0\); expected \[\*batch, m\] with m >= 1"),
        (torch.arange(3), {}, "scores has dtype torch.int64; expected a floating point dtype"),
        (spoiled(S), {}, "scores has non-finite entries; expected finite numbers"),
        (spoiled(S, INF), {}, "scores has non-finite entries; expected finite numbers"),
        (spoiled(S, -INF), {}, "scores has non-finite entries; expected finite numbers"),
        (S, {"beta": -1}, "beta is -1; expected"),
        (S, {"beta": math.nan}, "beta is nan; expected"),
        (S, {"beta": -math.inf}, "beta is -inf; expected"),
        (S, {"beta": NAN}, "beta is nan; expected"),
        (S, {"beta": torch.tensor(INF)}, "beta is inf; expected"),
        (S, {"beta": torch.tensor(-0.5)}, "beta is -0.5.*; expected"),
        (S, {"beta": torch.ones(3, 1)}, r"beta has (dtype|shape)"),
        (S, {"beta": torch.ones(3, 1).double()}, r"beta has shape \(3, 1\); expected one that broadcasts to \(2,"),
        (S, {"beta": torch.ones(5).double()}, r"beta has shape \(5,\); expected one that broadcasts to \(2,"),
        (S.float(), {"beta": torch.ones(1).double()}, "beta has dtype torch.float64; expected torch.float32, or a number"),
        (S, {"mask": torch.ones(2, 5)}, r"mask has dtype torch.float32; expected torch.bool \(True: may be attended to\)"),
        (S, {"mask": ALL}, r"mask has shape \(2, 3, 5\); expected one that broadcasts to \(2, 5\)"),
        (S, {"mask": torch.ones(4, dtype=torch.bool)}, r"mask has shape \(4,\); expected one that broadcasts to \(2, 5\)"),
        (S, {"mask": torch.zeros(5, dtype=torch.bool)}, EMPTY),
        (S, {"mask": torch.tensor(False)}, EMPTY),
        (S, {"mask": ALL[0, 0], "empty": "nan"}, "empty is 'nan'; expected one of 'error', 'zero'"),
    ],
)
def test_softmax_and_smooth_max(function, scores, setting, words):
    refuses(lambda: function(scores, **setting), words)


def test_the_free_energy_diverges_at_beta_zero():
    refuses(lambda: smooth_max(S, beta=0), "beta is 0; expected a finite beta > 0")
    refuses(lambda: smooth_max(S, beta=torch.zeros(())), "beta is 0.*; expected a finite beta > 0")


def test_softmax_jacobian():
    refuses(lambda: softmax_jacobian(torch.tensor(1.0)), r"weights has shape \(\)")
    refuses(lambda: softmax_jacobian(torch.zeros(2, 0)), r"weights has shape \(2, 0\)")
    refuses(lambda: softmax_jacobian(spoiled(S)), "weights has non-finite entries")
    refuses(lambda: softmax_jacobian(torch.ones(2, dtype=torch.int32)), "weights has dtype torch.int32")


STATES = [  # two arguments [*batch, n, d] and [*batch, m, d]
    (Q[0, 0], K, r"{0} has shape \(4,\) and {1} \(2, 5, 4\); expected \[\*batch, n, d\] and \[\*batch, m, d\]"),
    (Q, K[0, 0], r"{0} has shape \(2, 3, 4\) and {1} \(4,\); expected"),
    (Q, K[0], r"{0} has shape \(2, 3, 4\) and {1} \(5, 4\); expected"),
    (Q[:1], K, r"{0} has shape \(1, 3, 4\) and {1} \(2, 5, 4\); expected"),
    (Q, K[..., :3], r"{0} has shape \(2, 3, 4\) and {1} \(2, 5, 3\); expected"),
    (Q, K[:, :0], r"{1} has shape \(2, 0, 4\); expected at least one row and one column"),
    (Q[..., :0], K[..., :0], r"{1} has shape \(2, 5, 0\); expected at least one row and one column"),
    (Q.long(), K.long(), "{0} has dtype torch.int64; expected a floating point dtype"),
    (Q, K.long(), "{1} has dtype torch.int64; expected a floating point dtype"),
    (Q, K.float(), "{1} is torch.float32 on cpu, {0} is torch.float64 on cpu; expected the same dtype and device"),
    (spoiled(Q), K, "{0} has non-finite entries; expected finite numbers"),
    (Q, spoiled(K, INF), "{1} has non-finite entries; expected finite numbers"),
]
PAIRS = {
    "dot_scores": (dot_scores, "query", "key"),
    "attention_weights": (attention_weights, "query", "key"),
    "attend": (lambda q, k: attend(q, k, k), "query", "key"),
    "hopfield_energy": (hopfield_energy, "state", "memory"),
    "hopfield_gradient": (hopfield_gradient, "state", "memory"),
    "hopfield_update": (hopfield_update, "state", "memory"),
    "hopfield_jacobian": (hopfield_jacobian, "state", "memory"),
    "hopfield_log_density": (hopfield_log_density, "state", "memory"),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("first", "second", "words"), STATES)
def test_pairs_of_states(name, first, second, words):
    function, *names = PAIRS[name]
    refuses(lambda: function(first, second), words.format(*names))


MASKS = [
    (ALL.float(), "mask has dtype torch.float32; expected torch.bool"),
    (ALL[None], r"mask has shape \(1, 2, 3, 5\); expected one that broadcasts to \(2, 3, 5\)"),
    (ALL[..., :4], r"mask has shape \(2, 3, 4\); expected one that broadcasts to \(2, 3, 5\)"),
    (HOLE, EMPTY),
    (torch.zeros(3, 1, dtype=torch.bool), EMPTY),
]
MASKED = {name: PAIRS[name][0] for name in ("attention_weights", "hopfield_energy", "hopfield_gradient", "hopfield_update")}
MASKED["attend"] = lambda q, k, **settings: attend(q, k, V, **settings)


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize(("mask", "words"), MASKS)
def test_masks(name, mask, words):
    refuses(lambda: MASKED[name](Q, K, mask=mask), words)
    refuses(lambda: MASKED[name](Q, K, mask=ALL, empty=0), "empty is 0; expected one of 'error', 'zero'")


COLD_AND_HOT = torch.tensor([1.0, -1.0, 2.0], dtype=torch.float64)


@pytest.mark.parametrize("beta", [-1, -0.0001, math.nan, -INF, NAN, torch.tensor(INF), COLD_AND_HOT])
@pytest.mark.parametrize("name", ["attention_weights", "attend"])
def test_temperatures(name, beta):
    refuses(lambda: MASKED[name](Q, K, beta=beta), "(?s)beta is .*; expected 0 <= beta")


def test_temperatures_of_the_wrong_shape_or_dtype():
    for function in (attention_weights, MASKED["attend"]):
        refuses(lambda f=function: f(Q, K, beta=torch.ones(3, 4).double()), r"beta has shape \(3, 4\).*broadcasts to \(2, 3\)")
    for function in (hopfield_energy, hopfield_gradient, hopfield_update, hopfield_jacobian):
        refuses(lambda f=function: f(Q, K, beta=torch.ones(3, 1).double()), r"beta has shape \(3, 1\).*broadcasts to \(2, 3\)")
        refuses(lambda f=function: f(Q.float(), K.float(), beta=torch.ones(3).double()), "beta has dtype torch.float64")
    for function in (hopfield_mixture_weights, hopfield_log_partition):
        refuses(lambda f=function: f(K, beta=torch.ones(5).double()), r"beta has shape \(5,\).*broadcasts to \(2,\)")


@pytest.mark.parametrize("beta", [0, -1, math.nan, torch.tensor(0.0)])
def test_energies_need_a_positive_temperature(beta):
    for function in (hopfield_energy, hopfield_gradient, hopfield_update, hopfield_jacobian):
        refuses(lambda f=function: f(Q, K, beta=beta), "beta is .*; expected a finite beta > 0")
    refuses(lambda: hopfield_log_density(Q, K, beta=beta), "beta is .*; expected a (finite )?number")
    for function in (hopfield_mixture_weights, hopfield_log_partition):
        refuses(lambda f=function: f(K, beta=beta), "beta is .*; expected a finite beta > 0")
    refuses(lambda: hopfield_sample(K[0], 2, beta=beta), "beta is .*; expected a (finite )?number")


def test_probabilities_need_a_finite_temperature():
    refuses(lambda: hopfield_jacobian(Q, K, beta=INF), "beta is inf; expected a finite beta > 0")
    refuses(lambda: hopfield_log_density(Q, K, beta=INF), "beta is inf; expected a finite number above 0")
    refuses(lambda: hopfield_mixture_weights(K, beta=INF), "beta is inf; expected a finite beta > 0")
    refuses(lambda: hopfield_log_partition(K, beta=INF), "beta is inf; expected a finite beta > 0")


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (K[0, 0], r"memory has shape \(4,\); expected"),
        (K[:, :0], r"memory has shape \(2, 0, 4\); expected \[\*batch, m, d\] with m >= 1 and d >= 1"),
        (K[..., :0], r"memory has shape \(2, 5, 0\); expected \[\*batch, m, d\] with m >= 1 and d >= 1"),
        (K.long(), "memory has dtype torch.int64; expected a floating point dtype"),
        (spoiled(K), "memory has non-finite entries; expected finite numbers"),
    ],
)
def test_memories_alone(memory, words):
    refuses(lambda: hopfield_mixture_weights(memory), words)
    refuses(lambda: hopfield_log_partition(memory), words)
    if memory.ndim == 3:
        refuses(lambda: hopfield_sample(memory[-1], 3), words.replace(r"\(2, ", r"\("))


def test_samples():
    refuses(lambda: hopfield_sample(K, 3), r"memory has shape \(2, 5, 4\); expected \[m, d\]")
    for count in (0, -1, 2.0, True):
        refuses(lambda c=count: hopfield_sample(K[0], c), f"count is {count}; expected an integer of at least 1")


def test_values():
    refuses(lambda: attend(Q, K, V[:, :4]), r"value has shape \(2, 4, 6\); expected \(2, 5, 'c'\), one row per key")
    refuses(lambda: attend(Q, K, V[0]), r"value has shape \(5, 6\); expected")
    refuses(lambda: attend(Q, K, V.float()), "value is torch.float32 on cpu, query is torch.float64 on cpu")
    refuses(lambda: attend(Q, K, V.long()), "value has dtype torch.int64; expected a floating point dtype")
    refuses(lambda: attend(Q, K, spoiled(V)), "value has non-finite entries")


def test_mask_makers():
    for bad in (0, -1, 2.0, True, "3"):
        refuses(lambda b=bad: causal_mask(b), f"n is {bad!r}; expected an integer of at least 1")
        refuses(lambda b=bad: padding_mask(torch.tensor([1]), b), f"m is {bad!r}; expected an integer of at least 1")
    refuses(lambda: causal_mask(3, 2), "m is 2; expected an integer of at least 3")
    refuses(
        lambda: padding_mask(torch.tensor([[1]]), 3), r"lengths is torch.int64 of shape \(1, 1\); expected integers \[batch\]"
    )
    refuses(
        lambda: padding_mask(torch.tensor([1.0]), 3), r"lengths is torch.float32 of shape \(1,\); expected integers \[batch\]"
    )
    refuses(lambda: padding_mask(torch.tensor([True]), 3), "lengths is torch.bool")
    refuses(lambda: padding_mask(torch.tensor([1, 4]), 3), "lengths run from 1 to 4; expected 0 <= lengths <= 3")
    refuses(lambda: padding_mask(torch.tensor([-1, 2]), 3), "lengths run from -1 to 2; expected 0 <= lengths <= 3")


@pytest.mark.parametrize("step_size", [math.nan, INF, -INF])
def test_step_sizes(step_size):
    words = f"step_size is {step_size}; expected a finite number"
    refuses(lambda: hopfield_update(Q, K, step_size=step_size), words)
    refuses(lambda: energy_step(lambda s: s.sum(-1), Q, step_size=step_size), words)
    refuses(lambda: descend(lambda s: s.sum(-1), Q, steps=2, step_size=step_size), words)
    refuses(lambda: EnergyAttention(4, step_size=step_size), words)


DOWN = {"energy_step": energy_step, "descend": lambda energy, state: descend(energy, state, steps=2)}


@pytest.mark.parametrize("name", DOWN)
@pytest.mark.parametrize(
    ("energy", "state", "words"),
    [
        (lambda s: s.sum(-1), Q[0, 0], r"state has shape \(4,\); expected \[\*batch, n, d\] with d >= 1"),
        (lambda s: s.sum(-1), Q[..., :0], r"state has shape \(2, 3, 0\); expected \[\*batch, n, d\] with d >= 1"),
        (lambda s: s.sum(-1), Q.long(), "state has dtype torch.int64; expected a floating point dtype"),
        (lambda s: s.sum(-1), spoiled(Q), "state has non-finite entries; expected finite numbers"),
        (lambda s: s.sum(), Q, r"energy returned shape \(\); expected \(2, 3\)"),
        (lambda s: s, Q, r"energy returned shape \(2, 3, 4\); expected \(2, 3\)"),
        (lambda s: torch.zeros(2, 3), Q, "energy returned a constant; expected a differentiable function of the state"),
        (lambda s: s.detach().sum(-1), Q, "energy returned a constant; expected"),
        (lambda s: torch.ones(2, 3, requires_grad=True) * 2, Q, "energy returned a constant; expected"),
    ],
)
def test_steps_down_an_energy(name, energy, state, words):
    refuses(lambda: DOWN[name](energy, state), words)


def test_numbers_of_steps():
    for steps in (-1, 1.0, True):
        refuses(
            lambda s=steps: descend(lambda x: x.sum(-1), Q, steps=s), f"steps is {steps}; expected an integer of at least 0"
        )
    for steps in (0, -1, 1.0, True):
        refuses(lambda s=steps: EnergyAttention(4, steps=s), f"steps is {steps}; expected an integer of at least 1")


@pytest.mark.parametrize("kind", [SoftmaxAttention, EnergyAttention])
@pytest.mark.parametrize(
    ("sizes", "setting", "words"),
    [
        ((0,), {}, "dim is 0; expected an integer of at least 1"),
        ((4.0,), {}, "dim is 4.0; expected an integer of at least 1"),
        ((4, 0), {}, "context_dim is 0; expected an integer of at least 1"),
        ((4,), {"heads": 0}, "heads is 0; expected an integer of at least 1"),
        ((4,), {"heads": True}, "heads is True; expected an integer of at least 1"),
        ((4,), {"head_dim": 0}, "head_dim is 0; expected an integer of at least 1"),
        ((4,), {"head_dim": 1.5}, "head_dim is 1.5; expected an integer of at least 1"),
        ((4,), {"heads": 3}, "heads is 3, which does not divide dim 4; expected a divisor, or a head_dim"),
        ((4,), {"bare": True, "heads": 2}, "bare is True with heads 2.*expected 1, 4, 4, False"),
        ((4,), {"bare": True, "head_dim": 2}, "bare is True with heads 1, head_dim 2"),
        ((4, 5), {"bare": True}, "bare is True.*context_dim 5"),
        ((4,), {"bare": True, "bias": True}, "bare is True.*bias True"),
        ((4,), {"empty": "skip"}, "empty is 'skip'; expected one of 'error', 'zero'"),
        ((4,), {"beta": 0}, "beta is 0; expected a finite beta > 0"),
        ((4,), {"beta": -1.0}, "beta is -1.0; expected a finite beta > 0"),
        ((4,), {"beta": INF}, "beta is inf; expected a finite beta > 0"),
        ((4,), {"beta": math.nan}, "beta is nan; expected a finite beta > 0"),
    ],
)
def test_the_settings_of_a_module(kind, sizes, setting, words):
    refuses(lambda: kind(*sizes, **setting), words)


def test_a_closed_form_is_known_for_one_energy_only():
    words = "closed_form is True; expected False or None with an energy other than hopfield_energy"
    refuses(lambda: EnergyAttention(4, energy=lambda s, x, **_: s.sum(-1), closed_form=True), words)


def test_modules_report_an_energy_of_the_wrong_kind():
    module = EnergyAttention(4, bare=True, energy=lambda s, x, **_: s.sum())
    refuses(lambda: module(Q.float()), r"energy returned shape \(\); expected \(2, 1, 3\)")


X, C = Q, normal(2, 5, 6, seed=3)
KEYS, PAIRWISE = torch.ones(2, 5, dtype=torch.bool), ALL


@pytest.mark.parametrize("kind", [SoftmaxAttention, EnergyAttention])
@pytest.mark.parametrize(
    ("x", "context", "mask", "words"),
    [
        (X[0], C, None, r"context has shape \(2, 5, 6\); expected \[m, 6\]"),
        (X[None], C, None, r"context has shape \(2, 5, 6\); expected \[1, 2, m, 6\]"),
        (X[..., :3], C, None, r"x has shape \(2, 3, 3\); expected \[\*batch, n, 4\]"),
        (X.long(), C, None, "x has dtype torch.int64; expected a floating point dtype"),
        (X.float(), C.float(), None, "weight is torch.float64 on cpu, x is torch.float32 on cpu; expected the same dtype"),
        (spoiled(X), C, None, "x has non-finite entries"),
        (X, None, None, r"context is None; expected \[\*batch, m, 6\], since dim is 4"),
        (X, C[0], None, r"context has shape \(5, 6\); expected \[2, m, 6\]"),
        (X, C[:1], None, r"context has shape \(1, 5, 6\); expected \[2, m, 6\]"),
        (X, K, None, r"context has shape \(2, 5, 4\); expected \[2, m, 6\]"),
        (X, C[:, :0], None, r"context has shape \(2, 0, 6\); expected at least one row to attend to"),
        (X, C.float(), None, "context is torch.float32 on cpu, x is torch.float64 on cpu"),
        (X, C.long(), None, "context has dtype torch.int64"),
        (X, spoiled(C), None, "context has non-finite entries"),
        (
            X,
            C,
            KEYS,
            r"mask has shape \(2, 5\); expected one that broadcasts to \(2, 3, 5\), or with heads \(2, 2, 3, 5\); a mask",
        ),
        (X, C, KEYS[0, :4], r"mask has shape \(4,\); expected one that broadcasts to \(2, 3, 5\)"),
        (X, C, PAIRWISE[:1, :2], r"mask has shape \(1, 2, 5\); expected one that broadcasts to \(2, 3, 5\)"),
        (X, C, PAIRWISE[:, None].expand(2, 3, 3, 5), r"mask has shape \(2, 3, 3, 5\); expected .* with heads \(2, 2, 3, 5\)"),
        (X, C, PAIRWISE.float(), "mask has dtype torch.float32; expected torch.bool"),
        (X, C, ~KEYS[:, None], EMPTY),
        (X, C, HOLE, EMPTY),
    ],
)
def test_the_call_of_a_module(kind, x, context, mask, words):
    module = kind(4, 6, heads=2).double()
    refuses(lambda: module(x, context, mask), words)
    refuses(lambda: module.explain(x, context, mask), words)


@pytest.mark.parametrize("kind", [SoftmaxAttention, EnergyAttention])
def test_a_module_attends_to_itself_only_if_there_is_something(kind):
    refuses(lambda: kind(4).double()(X[:, :0]), r"context has shape \(2, 0, 4\); expected at least one row to attend to")
