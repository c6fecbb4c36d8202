"""The examination of a transformer: every instrument of the course, head by head and step by step."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from attnlib._core.checks import check_flag, check_kind, check_tensors
from attnlib._core.values import check_visible
from attnlib.transformer.ablation import next_tokens, standard_loss
from attnlib.transformer.bar import with_bar
from attnlib.transformer.examination import Examination, StateReading
from attnlib.transformer.noise import nearby_starts
from attnlib.transformer.partners import read_noises, sizes
from attnlib.transformer.reading import read
from attnlib.transformer.run import Run, is_causal
from attnlib.transformer.stack import Stack

BEFORE, STEPS = 20, 60
"""Steps of a tied block before and in the mean of its exponent."""


def examine(
    model: nn.Module,
    tokens: Tensor,
    right_keys: Int[Tensor, "*batch n"] | None = None,
    *,
    mask: Bool[Tensor, "*batch n"] | None = None,
    targets: Int[Tensor, "*batch n"] | None = None,
    loss: Callable[[Tensor], Tensor] | None = None,
    noises: Sequence[float | int] = (),
    ablate: bool = True,
    progress: bool = True,
) -> Examination:
    r"""Put a transformer under the instruments of the course: each head at each step, each state, and the iteration as a whole.

    A model has three parts, attributes of these names: ``embed``, a module that makes ``[*batch, n, dim]`` of tokens;
    ``stack``, a :class:`Stack`; and ``readout``, a module that makes logits of its output, or None. :class:`LanguageModel`
    puts them together, :func:`load` makes one of a saved transformer. A head is read where a block has a ``mixer`` that is a
    :class:`attnlib.attention.Mixer` and whose ``explain`` returns weights between tokens. Of other blocks only states are read.

    What is read: :func:`attnlib.softmax.relative_spread`, each query with as many keys as it sees, and ``Y2`` beside
    :func:`attnlib.softmax.random_energy` at its spread (those that see one key are left out); :func:`thermometer`;
    :func:`symmetric_share` and :func:`value_kinds` of the maps as they are, without the gains of norms;
    :func:`arrow_estimate` and :func:`antisymmetric_share`; the states' changes, lengths and cosines; for a tied stack
    :func:`lyapunov_exponent`, which goes on beyond the last step, 20 steps before its mean and 60 in it. An ablation replaces
    what a head returns before the map out by its mean over all tokens, at one step, and is the loss then less the loss before.
    Of each norm of a block, what its epsilon is worth: :class:`NormReading`.

    With ``noises`` a tied block goes on for 300 steps, its input shaken: :func:`films_under_noise` of the first eight texts, 16
    noises and the last 100 steps, and :func:`nearby_starts`, the last 200. The second start of a text is the next one in the
    batch with tokens at the same places; where there is none, the text itself, backwards.

    Args:
        model: as above. It is run as it is, without gradients, in ``eval`` mode, and left in the mode it was in.
        tokens: what ``embed`` takes, ``[*batch, n]`` or with more axes; n at least 2.
        right_keys: the key that a head ought to find, for each query ``[*batch, n]``; -1 where there is none. Default: none.
        mask: ``[*batch, n]``, True for what is a token and no padding; default all are. Padding counts nowhere.
        targets: the token that is to be read out at each place, ``[*batch, n]``, -100 where nothing is asked. The loss is then
            the mean cross entropy. By default the next token where all heads are causal, else there is no loss.
        loss: a function of the logits in its place, which returns one number.
        noises: sizes of noise, each at least 0, for a tied stack: a row for each. Default: none, since it takes long.
        ablate: measure what ablations cost, where there is a loss: half the model for each head and step, several heads of
            short texts in one call.
        progress: show a bar, where tqdm is installed.

    Returns:
        :class:`Examination`, numbers without gradients.

    Raises:
        ValueError: a model without these parts, tokens of less than two, shapes that do not fit, noises for a stack that is not
            tied, and what the parts raise.

    Source: the instruments say theirs; ablation by the mean: Wang et al. 2023 (arXiv 2211.00593).

    >>> from attnlib.attention import SoftmaxAttention
    >>> from attnlib.transformer import Block, Embedding, LanguageModel, Stack
    >>> stack = Stack(Block(SoftmaxAttention(8, heads=2, causal=True)), steps=3)
    >>> found = examine(LanguageModel(Embedding(9, 8), stack, torch.nn.Linear(8, 9)), torch.tensor([[3, 1, 4, 1, 5]]))
    >>> [row.step for row in found.heads], found.lyapunov < 10
    ([1, 1, 2, 2, 3, 3], True)
    """
    check_flag(ablate=ablate, progress=progress)
    embed, stack, readout = _parts(model)
    noises = sizes(noises, tied=stack.tied)
    training = model.training
    with torch.no_grad():
        try:
            model.eval()
            run = _start(embed, stack, readout, tokens, mask)
            right = _asked("right_keys", right_keys, run)
            targets = _asked("targets", targets, run)
            if targets is None and is_causal(stack) and tokens.ndim == run.batch_axes + 1:
                targets = next_tokens(tokens.reshape(run.real.shape), run.real)
            if loss is not None:
                if not callable(loss):
                    raise ValueError(f"loss is a {type(loss).__name__}; expected a function of logits, or None")
                run.loss = loss
            elif targets is not None:
                run.loss = standard_loss(targets)
            run.go()
            rows = []
            for seen in with_bar(run.looks, "heads", progress):
                found = read(seen, run.real, right)
                if ablate and run.has_loss:
                    costs = run.ablations(seen)
                    found = [replace(row, ablation=cost) for row, cost in zip(found, costs, strict=True)]
                rows += found
            exponent = _exponent(run) if stack.tied else None
            noisy = read_noises(embed, run, tokens, noises, progress=progress)
        finally:
            model.train(training)
    return Examination(tuple(rows), _states(run), run.whole, exponent, tuple(run.norms), noisy)


def _parts(model: nn.Module) -> tuple[Callable[[Tensor], Tensor], Stack, Callable[[Tensor], Tensor] | None]:
    """The three parts of a model; raise where it lacks one."""
    check_kind("model", model, nn.Module, "a module with embed, stack and readout, such as a LanguageModel")
    embed, stack, readout = (getattr(model, name, None) for name in ("embed", "stack", "readout"))
    if not callable(embed) or not isinstance(stack, Stack) or not (readout is None or callable(readout)):
        kinds = [type(part).__name__ for part in (embed, stack, readout)]
        raise ValueError(f"model has embed, stack and readout {kinds}; expected a module, a Stack, and a module or None")
    return cast("Callable[[Tensor], Tensor]", embed), stack, cast("Callable[[Tensor], Tensor] | None", readout)


def _start(
    embed: Callable[[Tensor], Tensor],
    stack: Stack,
    readout: Callable[[Tensor], Tensor] | None,
    tokens: Tensor,
    mask: Tensor | None,
) -> Run:
    """A run before its first step: states ``[batch, n, dim]``, and what is a token."""
    check_tensors(tokens=tokens)
    check_visible(tokens=tokens)
    x = embed(tokens)
    check_tensors(x=x)
    lead = tuple(x.shape[:-1])
    if x.ndim < 2 or lead[-1] < 2 or 0 in x.shape or tuple(tokens.shape[: len(lead)]) != lead:
        came = f"tokens has shape {tuple(tokens.shape)}, of which embed makes {tuple(x.shape)}"
        raise ValueError(f"{came}; expected [*batch, n] with n at least 2, and [*batch, n, dim]")
    flat = x.reshape(-1, *x.shape[-2:])
    real = torch.ones(flat.shape[:-1], dtype=torch.bool, device=x.device)
    if mask is not None:
        check_tensors(mask=mask)
        check_visible(mask=mask)
        if mask.dtype != torch.bool or tuple(mask.shape) != lead:
            raise ValueError(f"mask is {mask.dtype} of shape {tuple(mask.shape)}; expected booleans {lead}")
        real = mask.reshape(real.shape).to(x.device)
        if (real.sum(-1) < 2).any():
            raise ValueError("mask leaves less than two tokens of a text; expected at least two, all else being padding")
    return Run(stack, readout, flat, real, mask is not None, lead)


def _asked(name: str, numbers: Tensor | None, run: Run) -> Tensor | None:
    """Right keys or targets as ``[batch, n]``, none at padding."""
    if numbers is None:
        return None
    check_tensors(**{name: numbers})
    check_visible(**{name: numbers})
    whole = not (numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool)
    if not whole or tuple(numbers.shape) != run.lead:
        raise ValueError(f"{name} is {numbers.dtype} of shape {tuple(numbers.shape)}; expected whole numbers {run.lead}")
    nothing = -1 if name == "right_keys" else -100
    return torch.where(run.real, numbers.long().reshape(run.real.shape).to(run.real.device), nothing)


def _states(run: Run) -> tuple[StateReading, ...]:
    """A row for each state: means over tokens, and over pairs of tokens of a text."""
    real = run.real
    pairs = (real[:, None] & real[:, :, None]) & ~torch.eye(real.shape[-1], dtype=torch.bool, device=real.device)
    found, before = [], None
    for step, state in enumerate(x.double() for x in run.states):
        length = state.norm(dim=-1)
        unit = state / torch.where(length > 0, length, 1.0).unsqueeze(-1)
        change = None
        if before is not None:
            past = before.norm(dim=-1)
            change = float(((state - before).norm(dim=-1) / torch.where(past > 0, past, 1.0))[real].mean())
        cosine = float((unit @ unit.mT)[pairs].mean())
        found.append(StateReading(step, change, cosine, float(length[real].mean()) / state.shape[-1] ** 0.5))
        before = state
    return tuple(found)


def _exponent(run: Run) -> float:
    """The exponent of a tied block from the first state on, mean over texts; what padding does is left out."""
    try:
        growth = nearby_starts(run.stack, run.states[0], mask=run.real if run.masked else None, steps=BEFORE + STEPS)
    except ValueError as error:
        raise ValueError(f"tokens cannot go on for {BEFORE + STEPS} steps of model, for its exponent: {error}") from error
    return float(growth[BEFORE:].double().mean())
