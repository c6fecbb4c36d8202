"""Interventions on a transformer that is running: one head, or all of them, weigh by another rule, or say their mean.

A rule makes weights of a mixer's scores ``[*batch, heads, n, m]``, beta included, of its keys in the same units, and of what is
visible. Between the tokens of one text, where maps have no biases, the transpose of the scores is what ``W_K^T W_Q`` would
give, and their symmetric part is what the symmetric part of ``W_Q^T W_K`` would.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnlib._core.checks import check_count, check_number
from attnlib.attention import Heads, SoftmaxAttention
from attnlib.softmax import sparsemax
from attnlib.transformer import LanguageModel

Rule = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Weights of scores ``[*batch, heads, n, m]``, of keys ``[*batch, heads, m, d]`` and of which keys each query sees."""


def at_beta(factor: float | int) -> Rule:
    """Softmax with its inverse temperature times a factor.

    Raises:
        ValueError: a factor that is not above zero.

    >>> scores, seen = torch.tensor([[[0.0, math.log(2)]]]), torch.ones(1, 1, 2, dtype=torch.bool)
    >>> at_beta(2)(scores, torch.zeros(1, 2, 1), seen)  # one to four, where beta itself gives one to two
    tensor([[[0.2000, 0.8000]]])
    """
    times = check_number("factor", factor, above=0)
    return lambda scores, keys, seen: _softmax(times * scores, seen)


def symmetric(scores: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
    """With the symmetric part of the form between tokens alone.

    >>> symmetric(torch.tensor([[0.0, 3.0], [-3.0, 0.0]]), torch.zeros(2, 1), torch.ones(2, 2, dtype=torch.bool))
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    return _softmax((scores + scores.mT) / 2, seen)


def antisymmetric(scores: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
    """With the antisymmetric part alone.

    >>> antisymmetric(torch.tensor([[1.0, 3.0], [3.0, 0.0]]), torch.zeros(2, 1), torch.ones(2, 2, dtype=torch.bool))
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    return _softmax((scores - scores.mT) / 2, seen)


def transposed(scores: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
    """With queries and keys exchanged; who sees whom stays.

    >>> scores = torch.tensor([[0.0, math.log(3)], [0.0, 0.0]])
    >>> transposed(scores, torch.zeros(2, 1), torch.ones(2, 2, dtype=torch.bool))
    tensor([[0.5000, 0.5000],
            [0.7500, 0.2500]])
    """
    return _softmax(scores.mT, seen)


def sparse(scores: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
    """Sparsemax in place of softmax.

    >>> sparse(torch.tensor([[0.0, 0.5, 2.0]]), torch.zeros(3, 1), torch.tensor([[True, True, False]]))
    tensor([[0.2500, 0.7500, 0.0000]])
    """
    low = scores.masked_fill(~seen, math.inf).amin(-1, keepdim=True)
    return sparsemax(torch.where(seen, scores, low - 4.0)).masked_fill(~seen, 0.0)


def hard(scores: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
    """The key with the largest score, and no other.

    >>> hard(torch.tensor([[0.0, 0.5, 2.0]]), torch.zeros(3, 1), torch.tensor([[True, True, False]]))
    tensor([[0., 1., 0.]])
    """
    best = scores.masked_fill(~seen, -math.inf).argmax(-1)
    return torch.nn.functional.one_hot(best, scores.shape[-1]).to(scores.dtype)


def ghost(scores: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
    """Softmax with a ghost key of score zero, whose value is nothing: weights add up to less than one.

    >>> ghost(torch.zeros(1, 3), torch.zeros(3, 1), torch.ones(1, 3, dtype=torch.bool))
    tensor([[0.2500, 0.2500, 0.2500]])
    """
    shown = scores.masked_fill(~seen, -math.inf)
    top = shown.amax(-1, keepdim=True).clamp(min=0.0)
    raised = (shown - top).exp()
    return raised / (raised.sum(-1, keepdim=True) + (-top).exp())


def two_half_steps(scores: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
    """What two half steps down the query's energy read: a third of it at the query, the rest half a step on.

    A half step leads from q to ``(q + sum_j p_j(q) k_j) / 2``. After two of them a quarter is what was read at first, a half
    what was read then, and a quarter the query, which is carried past a head anyway.

    >>> keys, seen = torch.eye(2) * 4, torch.ones(1, 2, dtype=torch.bool)
    >>> two_half_steps(torch.tensor([[1.0, 0.0]]), keys, seen)[0, 0] > torch.tensor([1.0, 0.0]).softmax(-1)[0]
    tensor(True)
    """
    first = _softmax(scores, seen)
    then = _softmax((scores + first @ (keys @ keys.mT)) / 2, seen)
    return (first + 2 * then) / 3


def _softmax(scores: Tensor, seen: Tensor) -> Tensor:
    return scores.masked_fill(~seen, -math.inf).softmax(-1)


@dataclass(frozen=True)
class Watched:
    """What a model did. What :func:`watched` returns: no ValueError.

    ``weights [steps, count, heads, n, n]``; ``values [steps, heads, d]``, the mean over tokens of what each head read;
    ``states [steps + 1, count, n, dim]``; and ``logits [count, n, words]``.

    >>> from attnlib.course.data.joining import Language
    >>> from attnlib.course.models.specimens import specimen
    >>> text = Language().draw(2)
    >>> seen = watched(specimen("tied"), text.tokens, text.real)
    >>> seen.states.shape, seen.logits.shape
    (torch.Size([9, 2, 35, 128]), torch.Size([2, 35, 26]))
    """

    weights: Float[Tensor, "steps count heads n n"]
    values: Float[Tensor, "steps heads d"]
    states: Float[Tensor, "states count n dim"]
    logits: Float[Tensor, "count n words"]


@torch.no_grad()
def watched(
    model: LanguageModel,
    tokens: Int[Tensor, "count n"],
    real: Bool[Tensor, "count n"],
    rule: Rule | None = None,
    *,
    silent: Float[Tensor, "steps heads d"] | None = None,
    head: int | None = None,
    at: int | None = None,
    steps: int | None = None,
) -> Watched:
    """Run a model whose blocks mix by softmax attention, and maybe intervene.

    Args:
        model: a :class:`attnlib.transformer.LanguageModel`.
        tokens, real: texts, and what of them is no filling.
        rule: what makes weights of scores; default softmax.
        silent: in place of what a head reads, this, the same to every token: ``values`` of a run without an intervention.
        head: whose rule it is, counted from 0; default all heads.
        at: at which step, counted from 0; default at each.
        steps: how many steps a tied block takes; default as many as in training.

    Raises:
        ValueError: a head or a step that is not there, and what the model raises.

    >>> from attnlib.course.data.joining import Language
    >>> from attnlib.course.models.specimens import specimen
    >>> model, text = specimen("tied"), Language().draw(1)
    >>> hot = watched(model, text.tokens, text.real, at_beta(1e-9), head=2, at=0)
    >>> (hot.weights[0, 0, 2, 0, text.real[0]] * text.real.sum()).round().unique()  # each key the same
    tensor([1.])
    """
    stack = model.stack
    steps = stack.steps if steps is None else check_count("steps", steps, 1, None if stack.tied else stack.steps)
    mixers = [cast("SoftmaxAttention", stack.blocks[0 if stack.tied else step].mixer) for step in range(steps)]
    chosen = range(mixers[0].heads) if head is None else [check_count("head", head, 0, mixers[0].heads - 1)]
    if at is not None:
        check_count("at", at, 0, steps - 1)
    x, states = model.embed(tokens), []
    weights, values = [], []
    for step, mixer in enumerate(mixers):
        here = list(chosen) if at in (None, step) else []

        def mix(heads: Heads, here: list[int] = here, step: int = step) -> Tensor:
            made = _weighed(heads, rule if here else None, here)
            read = made @ heads.value
            weights.append(made)
            values.append((read * real[:, None, :, None]).sum((0, 2)) / real.sum())
            if silent is not None and here:
                read[:, here] = silent[step, here][:, None]
            return read

        states.append(x)
        mixer.__dict__["mix"] = mix
        try:
            x = stack.step(x, step, mask=real[:, None])
        finally:
            del mixer.__dict__["mix"]
    states.append(x)
    x = x if stack.norm is None else stack.norm(x)
    assert model.readout is not None
    return Watched(torch.stack(weights), torch.stack(values), torch.stack(states), model.readout(x))


def _weighed(heads: Heads, rule: Rule | None, chosen: list[int]) -> Tensor:
    """Weights of all heads, of which the chosen ones follow a rule."""
    scale = heads.beta**0.5
    keys = scale * heads.key
    scores = (scale * heads.query) @ keys.mT
    seen = torch.ones((), dtype=torch.bool) if heads.mask is None else heads.mask
    seen = seen.expand(scores.shape)
    made = _softmax(scores, seen)
    if rule is not None:
        made[:, chosen] = rule(scores[:, chosen], keys[:, chosen], seen[:, chosen])
    return made
