"""Interventions on a running transformer, each against a network that has the change in its weights, or against a limit."""

import pytest
import torch

from attnlib.attention import SoftmaxAttention
from attnlib.course.models import interventions
from attnlib.course.models.interventions import at_beta, watched
from attnlib.transformer import Block, Embedding, LanguageModel, Stack, examine

RULES = ("symmetric", "antisymmetric", "transposed", "sparse", "hard", "ghost", "two_half_steps")


def a_model(*, tied: bool = True, causal: bool = False, beta: float | None = None) -> LanguageModel:
    """A small network in double precision with scores that spread."""
    torch.manual_seed(3)
    blocks = [
        Block(SoftmaxAttention(12, heads=3, causal=causal, beta=beta), norm="after", feed_forward=16)
        for _ in range(1 if tied else 4)
    ]
    stack = Stack(blocks[0], steps=4) if tied else Stack(blocks)
    model = LanguageModel(Embedding(9, 12, places=6), stack, torch.nn.Linear(12, 9)).double()
    for block in blocks:
        block.mixer.to_query.weight.data *= 6
    return model.eval()


TOKENS = torch.tensor([[3, 1, 4, 1, 5, 2], [2, 7, 1, 8, 0, 0]])
REAL = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_without_an_intervention_it_is_the_model(tied, causal):
    model = a_model(tied=tied, causal=causal)
    seen = watched(model, TOKENS, REAL)
    torch.testing.assert_close(seen.logits, model(TOKENS, REAL))
    torch.testing.assert_close(seen.states, model.states(TOKENS, REAL))
    mixer = model.stack.blocks[0].mixer
    torch.testing.assert_close(seen.weights[0], mixer.explain(model.embed(TOKENS), mask=REAL[:, None]).weights)
    assert "mix" not in mixer.__dict__


@pytest.mark.parametrize("causal", [False, True])
def test_exchanged_maps_are_the_transpose(causal):
    model, other = a_model(causal=causal), a_model(causal=causal)
    mixer = other.stack.blocks[0].mixer
    query, key = (linear.weight.data.clone() for linear in (mixer.to_query, mixer.to_key))
    mixer.to_query.weight.data[4:8], mixer.to_key.weight.data[4:8] = key[4:8], query[4:8]  # the second head alone
    seen = watched(model, TOKENS, REAL, interventions.transposed, head=1)
    torch.testing.assert_close(seen.logits, other(TOKENS, REAL))


@pytest.mark.parametrize(("rule", "sign"), [(interventions.symmetric, 1), (interventions.antisymmetric, -1)])
def test_parts_of_the_form(rule, sign):
    """The form's part has at most twice the rank: a head of twice the width holds it."""
    model = a_model()
    mixer = model.stack.blocks[0].mixer
    x = model.embed(TOKENS)
    wide = []
    for head in range(3):
        query, key = (linear.weight.data[4 * head : 4 * head + 4] for linear in (mixer.to_query, mixer.to_key))
        form = query.T @ key
        scores = mixer.beta * x @ ((form + sign * form.T) / 2) @ x.mT
        wide.append(scores.masked_fill(~REAL[:, None], -torch.inf).softmax(-1))
    seen = watched(model, TOKENS, REAL, rule, at=0)
    torch.testing.assert_close(seen.weights[0], torch.stack(wide, 1))
    torch.testing.assert_close(seen.states[0], x)


def test_another_beta_is_another_beta():
    seen = watched(a_model(beta=0.5), TOKENS, REAL, at_beta(3))
    torch.testing.assert_close(seen.logits, a_model(beta=1.5)(TOKENS, REAL))


def test_a_hard_choice_is_the_cold_limit():
    cold = watched(a_model(), TOKENS, REAL, at_beta(1e7))
    torch.testing.assert_close(watched(a_model(), TOKENS, REAL, interventions.hard).logits, cold.logits)


def test_a_ghost_is_one_key_more():
    scores, keys = torch.randn(2, 3, 5, 6, dtype=torch.float64), torch.zeros(2, 3, 6, 4, dtype=torch.float64)
    seen = REAL[:, None, None].expand(scores.shape)
    open_scores = torch.cat([scores.masked_fill(~seen, -torch.inf), torch.zeros_like(scores[..., :1])], -1)
    torch.testing.assert_close(interventions.ghost(scores, keys, seen), open_scores.softmax(-1)[..., :-1])


def test_sparsemax_leaves_out_and_hides():
    scores = torch.tensor([[[[2.0, 1.5, -1.0, 9.0]]]])
    weights = interventions.sparse(
        scores, torch.zeros(1, 1, 4, 2), torch.tensor([True, True, True, False]).expand(scores.shape)
    )
    torch.testing.assert_close(weights, torch.tensor([[[[0.75, 0.25, 0.0, 0.0]]]]))


def test_two_half_steps_are_those_of_the_energy():
    """A head whose values are its keys ends, with a quarter of the query, where two half steps of gradient descent end."""
    q, k = torch.randn(5, 3, dtype=torch.float64), torch.randn(7, 3, dtype=torch.float64)
    z = q.clone()
    for _ in range(2):
        z.requires_grad_()
        energy = (z.square().sum(-1) / 2 - (z @ k.T).logsumexp(-1)).sum()
        z = (z - 0.5 * torch.autograd.grad(energy, z)[0]).detach()
    weights = interventions.two_half_steps((q @ k.T)[None, None], k[None, None], torch.ones(1, 1, 5, 7, dtype=torch.bool))
    torch.testing.assert_close(q / 4 + 0.75 * weights[0, 0] @ k, z)


@pytest.mark.parametrize("name", RULES)
def test_rules_see_what_is_visible_alone(name):
    model = a_model(causal=True)
    seen = watched(model, TOKENS, REAL, getattr(interventions, name))
    assert seen.weights.triu(1).abs().max() == 0
    assert seen.weights[:, 1, :, :4, 4:].abs().max() == 0
    again = TOKENS.clone()
    again[:, 3:] = 6
    torch.testing.assert_close(watched(model, again, REAL, getattr(interventions, name)).logits[:, :3], seen.logits[:, :3])


@pytest.mark.slow
@pytest.mark.parametrize("tied", [False, True])
def test_a_silent_head_costs_what_the_examination_says(tied):
    model = a_model(tied=tied)
    targets = torch.where(REAL, TOKENS, -100)
    found = examine(model, TOKENS, mask=REAL, targets=targets, progress=False)
    whole = watched(model, TOKENS, REAL)
    seen = watched(model, TOKENS, REAL, silent=whole.values, head=2, at=1)
    loss = torch.nn.functional.cross_entropy(seen.logits.flatten(0, 1), targets.flatten()).item()
    assert loss - found.loss == pytest.approx(found.grid("ablation")[1, 2].item(), abs=1e-6)


def test_one_head_at_one_step_and_no_other():
    model = a_model()
    whole = watched(model, TOKENS, REAL)
    seen = watched(model, TOKENS, REAL, interventions.hard, head=1, at=2)
    torch.testing.assert_close(seen.states[:3], whole.states[:3])
    torch.testing.assert_close(seen.weights[2, :, [0, 2]], whole.weights[2, :, [0, 2]])
    assert not torch.allclose(seen.weights[2, :, 1], whole.weights[2, :, 1])
    assert not torch.allclose(seen.states[3], whole.states[3])


def test_a_tied_block_goes_on():
    model = a_model()
    torch.testing.assert_close(
        watched(model, TOKENS, REAL, steps=7).states, model.stack.states(model.embed(TOKENS), mask=REAL[:, None], steps=7)
    )


@pytest.mark.parametrize("wrong", [{"head": 3}, {"at": 4}, {"steps": 0}, {"head": -1}])
def test_errors(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        watched(a_model(), TOKENS, REAL, interventions.hard, **wrong)
    with pytest.raises(ValueError, match="factor"):
        at_beta(0)
