"""Training, by teacher forcing or from labels."""

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnlib._core.checks import WHOLE, check_count, check_generator, check_tensors
from attnlib._core.training import learn
from attnlib._core.values import check_result, refuted
from attnlib.course.models.lessons import endless
from attnlib.course.models.seq2seq import PAD, Seq2Seq
from attnlib.course.models.words import check_words


@runtime_checkable
class Teaching(Protocol):
    """A batch to learn from, such as ``attnlib.course.data.Batch``: shapes are its, errors are those of the model that gets it.

    >>> from attnlib.course.data import Pair, Vocabulary, make_batch
    >>> pair = Pair(("guten", "tag"), ("hello",))
    >>> batch = make_batch([pair], Vocabulary([pair.source]), Vocabulary([pair.target]))
    >>> isinstance(batch, Teaching)
    True
    """

    source: Tensor
    mask: Tensor
    given: Tensor
    wanted: Tensor


def teach(
    model: Seq2Seq,
    batches: Callable[[], Iterable[Teaching]],
    steps: int,
    *,
    learning_rate: float = 3e-3,
    clip: float | int = 1.0,
    warm_up: int | None = None,
    progress: str = "",
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Train by teacher forcing: Adam, a learning rate that rises in a straight line and then falls to zero along a cosine.

    Args:
        model: trained in place.
        batches: called at the start of every pass over the data.
        steps: how many batches to learn from.
        learning_rate: its highest value.
        clip: the gradient's norm is cut to this.
        warm_up: how many steps the learning rate rises for; default a twentieth of them, 0 for none.
        progress: name of a progress bar (needs tqdm); none is shown if empty.
        watch: called with the number of steps done, before the first and after each.

    Returns:
        The mean negative log-probability per word, step by step, in nats.

    Raises:
        ValueError: steps below 1, a learning rate or clip that is not above 0, a warm-up longer than all steps; batches that
            are empty, or that the model cannot take.

    >>> from attnlib.course.data import Pair, Vocabulary, make_batch
    >>> pair = Pair(("guten", "tag"), ("hello",))
    >>> batch = make_batch([pair], Vocabulary([pair.source]), Vocabulary([pair.target]))
    >>> _ = torch.manual_seed(0)
    >>> losses = teach(Seq2Seq(6, 5, hidden=8, embedding=4), lambda: [batch], steps=30, learning_rate=0.05)
    >>> len(losses), losses[-1] < losses[0] / 4
    (30, True)
    """
    if not isinstance(model, Seq2Seq):
        raise ValueError(f"model is a {type(model).__name__}; expected a Seq2Seq")
    steps = check_count("steps", steps)
    for name, function in (("batches", batches), ("watch", watch)):
        if not callable(function) and (function is not None or name == "batches"):
            raise ValueError(f"{name} is a {type(function).__name__}; expected a function")

    def loss_of(batch: Teaching) -> Tensor:
        return _loss(model, batch)

    return learn(model, endless(batches, steps, progress), loss_of, "batches", steps, learning_rate, clip, watch, warm_up)


def teach_labels(
    model: nn.Module,
    inputs: Float[Tensor, "samples *shape"],
    labels: Int[Tensor, "samples"],
    steps: int,
    *,
    batch: int = 32,
    learning_rate: float = 3e-3,
    clip: float | int = 1.0,
    warm_up: int | None = None,
    generator: torch.Generator | None = None,
    progress: str = "",
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Train a classifier on labelled inputs, with the optimiser and the schedule of :func:`teach`.

    Args:
        model: trained in place; it takes ``[batch, *shape]`` and returns logits ``[batch, classes]``.
        inputs: ``[samples, *shape]``, such as pictures.
        labels: whole numbers from 0, ``[samples]``.
        steps: how many batches to learn from.
        batch: samples in a batch; every pass over the data has an order of its own, and leaves out what is too few for one.
        generator: of the orders; default torch's own.
        learning_rate, clip, warm_up, progress, watch: as in :func:`teach`.

    Returns:
        The mean negative log-probability of a label, step by step, in nats.

    Raises:
        ValueError: shapes that do not fit, labels that are not classes, no samples, settings out of range; and what the model
            raises.

    >>> _ = torch.manual_seed(0)
    >>> inputs = torch.randn(64, 2)
    >>> losses = teach_labels(torch.nn.Linear(2, 2), inputs, (inputs[:, 0] > 0).long(), steps=60, learning_rate=0.1)
    >>> len(losses), losses[-1] < losses[0] / 2
    (60, True)
    """
    if not isinstance(model, nn.Module):
        raise ValueError(f"model is a {type(model).__name__}; expected a module")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError("model has no parameters; expected something to train")
    check_tensors(inputs=inputs, labels=labels)
    if inputs.ndim < 1 or labels.ndim != 1 or len(inputs) != len(labels) or not len(labels):
        shapes = f"inputs has shape {tuple(inputs.shape)} and labels {tuple(labels.shape)}"
        raise ValueError(f"{shapes}; expected [samples, *shape] and [samples]")
    where = next(model.parameters()).device
    if inputs.device != where or labels.device != where:
        raise ValueError(f"inputs is on {inputs.device}, labels on {labels.device}; expected {where}, where the model is")
    if labels.dtype not in WHOLE:
        raise ValueError(f"labels has dtype {labels.dtype}; expected whole numbers")
    steps, size = check_count("steps", steps), min(check_count("batch", batch), len(labels))
    check_generator(generator)
    if watch is not None and not callable(watch):
        raise ValueError(f"watch is a {type(watch).__name__}; expected a function")

    def chosen() -> Iterable[Tensor]:
        device = None if generator is None else generator.device
        order = torch.randperm(len(labels), generator=generator, device=device).to(labels.device)
        return (order[start : start + size] for start in range(0, len(order) - size + 1, size))

    def loss_of(rows: Tensor) -> Tensor:
        logits, wanted = model(inputs[rows].detach()), labels[rows].long()
        if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(rows):
            came = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
            raise ValueError(f"model returned {came}; expected logits [batch, classes]")
        if refuted(lambda: ((wanted >= 0) & (wanted < logits.shape[-1])).all()):
            raise ValueError(f"labels has {wanted.min()} to {wanted.max()}; expected classes from 0 to {logits.shape[-1] - 1}")
        return check_result(F.cross_entropy(logits, wanted), "the loss is")

    return learn(model, endless(chosen, steps, progress), loss_of, "inputs", steps, learning_rate, clip, watch, warm_up)


def _loss(model: Seq2Seq, batch: Teaching) -> Tensor:
    """The mean negative log-probability of the words that are wanted."""
    if not isinstance(batch, Teaching):
        raise ValueError(f"batch is a {type(batch).__name__}; expected something with source, mask, given, wanted")
    logits = model(batch.source, batch.given, batch.mask)
    check_words("wanted", batch.wanted, model.target_embedding)
    if batch.wanted.shape != batch.given.shape:
        raise ValueError(f"wanted has shape {tuple(batch.wanted.shape)}; expected that of given, {tuple(batch.given.shape)}")
    if refuted(lambda: (batch.wanted != PAD).any()):
        raise ValueError("wanted is nothing but padding; expected a word")
    return check_result(F.cross_entropy(logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=PAD), "the loss is")
