"""What is changed in a trained network to see what it rests on: couplings, places, contents, heat, steps, heads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.attention import AttentionRecord, Mixer
from attnlib.course.data.denoising import recall_error
from attnlib.course.data.hops import PLACES
from attnlib.course.data.spins import fixed_couplings
from attnlib.mean_field import MeanFieldAttention, symmetric_couplings
from attnlib.softmax import entropy, relative_spread
from attnlib.transformer import Stack, thermometer

HEATS = (0.25, 0.5, 2.0)
STEPS = (1, 2, 3, 4, 6, 8)
WALKS = range(1, 7)


def mixers(model: nn.Module) -> list[Mixer]:
    """The mixers of a network, in their order."""
    return [module for module in model.modules() if isinstance(module, Mixer)]


@contextmanager
def heated(model: nn.Module, factor: float) -> Iterator[None]:
    """With beta of all mixers times a factor."""
    before = [one._number for one in mixers(model)]
    for one in mixers(model):
        one._number *= factor
    try:
        yield
    finally:
        for one, number in zip(mixers(model), before, strict=True):
            one._number = number


@contextmanager
def without(mixer: Mixer, heads: list[int]) -> Iterator[None]:
    """With the mean over batch and tokens in place of what these heads say."""
    mix = mixer.mix

    def ablated(split: object) -> Tensor:
        said = mix(split).clone()
        for head in heads:
            said[:, head] = said[:, head].mean((0, 1))
        return said

    mixer.mix = ablated
    try:
        yield
    finally:
        del mixer.mix


@contextmanager
def seen(mixer: Mixer) -> Iterator[list[AttentionRecord]]:
    """What a mixer explains of each call: its weights, scores, queries, keys and values."""
    records: list[AttentionRecord] = []

    def look(module: Mixer, given: tuple[Tensor, ...], more: dict[str, Tensor]) -> None:
        records.append(module.explain(*given, **more))

    handle = mixer.register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield records
    finally:
        handle.remove()


def heads_of(record: object, beta: float) -> dict[str, list[float]]:
    """Each head's entropy over ln m, spread over sqrt(2 ln m), and Y2, as means over queries."""
    weights, scores = record.weights, getattr(record, "scores", None)
    m = torch.tensor(float(weights.shape[-1]))
    found = {"entropy": entropy(weights) / m.log(), "Y2": weights.square().sum(-1)}
    if scores is not None and (weights > 0).all():
        found["spread"] = relative_spread(scores, beta=beta)
    return {name: value.mean((0, 2)).tolist() for name, value in found.items()}


def temperatures(weights: Tensor, right: Tensor) -> dict[str, list[float]]:
    """Of weights ``[batch, heads, 1, m]`` with right keys ``[batch]``: U of each head, and what the right key gets."""
    heads = weights.unbind(1)
    target = [p[:, 0].gather(-1, right[:, None]).mean().item() for p in heads]
    return {"U": [thermometer(p, right[:, None]).ratio.item() for p in heads], "target": target}


def judge(model: nn.Module, task: object, n: int, generator: torch.Generator) -> dict[str, object]:
    """All that is measured on one trained network, with what it scores as it is."""
    inputs, targets = task.batch(n, generator)
    score: Callable[..., float] = lambda given=inputs, **how: float(task.score(model(given, **how), targets))  # noqa: E731
    with torch.no_grad():
        found: dict[str, object] = {"as it is": score()}
        if softmaxes(model):
            found["heat"] = {}
            for factor in HEATS:
                with heated(model, factor):
                    found["heat"][str(factor)] = score()
        stack = model.stack
        if isinstance(stack, Stack) and stack.tied:
            found["steps"] = {str(steps): score(steps=steps) for steps in STEPS}
        energies = [one for one in mixers(model) if hasattr(one, "steps")]
        if energies:
            now = energies[0].steps
            found["steps down"] = {}
            for steps in STEPS:
                for one in energies:
                    one.steps = steps
                found["steps down"][str(steps)] = score()
            for one in energies:
                one.steps = now
        if softmaxes(model):
            found["heads"] = [_heads(model, one, score, inputs) for one in mixers(model)]
        own = {"Spins": spins, "Denoising": denoising, "Hops": hops, "Markov": markov}[type(task).__name__]
        return found | own(model, task, inputs, targets, score)


def softmaxes(model: nn.Module) -> bool:
    """Whether all mixers have weights of a softmax."""
    return bool(mixers(model)) and all(one.has_weights and one.has_keys for one in mixers(model))


def _heads(model: nn.Module, mixer: Mixer, score: Callable[..., float], inputs: object) -> dict[str, object]:
    with seen(mixer) as records:
        model(inputs)
    found: dict[str, object] = {"each step": [heads_of(record, mixer.beta) for record in records]}
    found["without"] = []
    for head in range(mixer.heads):
        with without(mixer, [head]):
            found["without"].append(score())
    return found


def spins(model: nn.Module, task: object, x: Tensor, m: Tensor, score: Callable[..., float]) -> dict[str, object]:
    """Places and contents shuffled; and J0 in place of couplings that a bare layer has learned."""
    order = torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(3))
    places = float(task.score(model(x[:, order]), m[:, order]))
    contents = score(torch.cat([x[..., :1], x[:, order, 1:]], -1))
    found: dict[str, object] = {"places shuffled": places, "contents shuffled": contents}
    found["contents turned over"] = score(torch.cat([x[..., :1], -x[..., 1:]], -1))
    if isinstance(model.stack, MeanFieldAttention):
        J0 = fixed_couplings().float()
        learned = symmetric_couplings(model.stack.couplings)[0, ..., 0, 0]
        found["slope on J0"] = float((learned * J0).sum() / J0.square().sum())
        found["norm over J0"] = float(learned.norm() / J0.norm())
        before = model.stack.couplings.clone()
        model.stack.couplings.copy_(J0[None, ..., None, None])
        found["with J0"] = score()
        model.stack.couplings.copy_(before)
    return found


def denoising(model: nn.Module, task: object, inputs: object, targets: Tensor, score: object) -> dict[str, object]:
    """Bayes on the same questions, the trained beta in its units, and the thermometer as it is, heated and cooled."""
    asked = task.asked
    bayes = recall_error(asked, beta=task.sigma**-2).mean
    found: dict[str, object] = {"Bayes": bayes, "excess": score() / bayes - 1}
    if model.form != "context" or not softmaxes(model):
        return found
    mixer = mixers(model)[0]
    bilinear = mixer.beta * mixer.to_query.weight.mT @ mixer.to_key.weight
    found["beta sigma^2"] = float(bilinear.diagonal().mean() * task.sigma**2)
    found["thermometer"] = {}
    for factor in (0.5, 1.0, 2.0):
        with heated(model, factor), seen(mixer) as records:
            model(inputs)
        found["thermometer"][str(factor)] = [temperatures(one.weights, asked.target) for one in records]
    return found


def hops(model: nn.Module, task: object, inputs: object, targets: Tensor, score: object) -> dict[str, object]:
    """For tied blocks: what each number of steps scores on each number of hops, and the thermometer at each step."""
    stack, asked = model.stack, task.asked
    if not isinstance(stack, Stack) or not stack.tied:
        return {}
    answers = torch.stack([asked.answer(k) for k in WALKS])
    walks = [[float(v) for v in (model(inputs, steps=T).argmax(-1) == answers).float().mean(1)] for T in WALKS]
    found: dict[str, object] = {"steps by hops": walks}
    if softmaxes(model) and model.form == "context":
        mixer = mixers(model)[0]
        with seen(mixer) as records:
            model(inputs, steps=4)
        places = [asked.answer(k) for k in range(4)]
        found["thermometer"] = [temperatures(one.weights, place) for one, place in zip(records, places, strict=True)]
        found["thermometer, keys behind"] = [
            temperatures(one.weights, asked.image.argsort(-1).gather(1, place[:, None])[:, 0])
            for one, place in zip(records, places, strict=True)
        ]
        assert records[0].weights.shape[-1] == PLACES
    return found


def markov(model: nn.Module, task: object, x: Tensor, targets: Tensor, score: Callable[..., float]) -> dict[str, object]:
    """Which heads of the first block weigh the predecessor, what ablations cost there, and what each place costs."""
    logits = model(x)
    by_place = F.cross_entropy(logits.mT, targets, reduction="none").mean(0)
    found: dict[str, object] = {"by place": by_place[[0, 1, 3, 7, 15, 31, 62]].tolist()}
    if not softmaxes(model):
        return found
    first = mixers(model)[0]
    with seen(first) as records:
        model(x)
    back = records[0].weights.diagonal(-1, -2, -1).mean((0, 2))
    found["weight on the predecessor"] = back.tolist()
    order = back.argsort(descending=True).tolist()
    found["without those that look back"] = []
    for count in range(1, len(order) + 1):
        with without(first, order[:count]):
            found["without those that look back"].append(score())
    return found
