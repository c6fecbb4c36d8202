"""A translator judged on sentences that it has not seen: what it says, where it looks, BLEU and the alignment error rate."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from attnlib._core.values import check_visible
from attnlib.course.models.alignment import Links, alignment_error_rate, bleu, links
from attnlib.course.models.seq2seq import Seq2Seq


@runtime_checkable
class Judging(Protocol):
    """A batch to be judged on, such as ``attnlib.course.data.Batch``: numbers of words, and the pairs that they stand for.

    Shapes are its, errors are those of the model that gets it.

    >>> from attnlib.course.data import Pair, Vocabulary, make_batch
    >>> pair = Pair(("guten", "tag"), ("hello",))
    >>> batch = make_batch([pair], Vocabulary([pair.source]), Vocabulary([pair.target]))
    >>> isinstance(batch, Judging)
    True
    """

    source: Tensor
    mask: Tensor
    given: Tensor
    pairs: Sequence[Any]


@dataclass(frozen=True)
class Evaluation:
    """What a translator does with pairs, in the order in which it got them.

    ``said`` are its translations, ``found`` the links of its attention under the references (none without attention), ``bleu``
    is in percent and ``aer`` between 0 and 1, over the pairs that have gold links; it is None where there is nothing to judge.

    >>> from attnlib.course.data import Pair, Vocabulary, make_batch
    >>> pair = Pair(("guten", "tag"), ("hello",), frozenset({(0, 0)}))
    >>> german, english = Vocabulary([pair.source]), Vocabulary([pair.target])
    >>> found = evaluate(Seq2Seq(6, 5, hidden=8), [make_batch([pair], german, english)], english.decode)
    >>> len(found.said), found.aer in (0.0, 1.0)  # it has learned nothing, and one link is right or wrong
    (1, True)
    """

    pairs: tuple[Any, ...]
    said: list[list[str]]
    found: list[Links]
    bleu: float
    aer: float | None


def evaluate(model: Seq2Seq, batches: Iterable[Judging], decode: Callable[[list[int]], list[str]]) -> Evaluation:
    """Judge a translator: BLEU of what it says by greedy decoding, and the alignment error rate of where it looks.

    Each word of a reference is linked with the source word that has the largest weight when the references are given (teacher
    forcing); the end of the sentence and padding are linked with nothing.

    Args:
        model: the translator; nothing of it changes.
        batches: pairs as numbers, such as ``attnlib.course.data.batches`` makes them.
        decode: from the numbers of words to the words of the target, up to the end: ``Vocabulary.decode``.

    Returns:
        :class:`Evaluation`. BLEU is sacrebleu's, which must be installed.

    Raises:
        ValueError: a model that is not a :class:`Seq2Seq`, a decode that is not a function, no batches, or batches that the
            model cannot take.

    Source: Papineni et al. 2002 (BLEU); Och and Ney 2003 (alignment error rate).

    >>> from attnlib.course.models import teach
    >>> from attnlib.course.data import Pair, Vocabulary, make_batch
    >>> pair = Pair(("guten", "tag"), ("good", "day", "to", "you"))
    >>> german, english = Vocabulary([pair.source]), Vocabulary([pair.target])
    >>> batch = make_batch([pair], german, english)
    >>> model, _ = Seq2Seq(6, 8, hidden=8), torch.manual_seed(0)
    >>> _ = teach(model, lambda: [batch], steps=40, learning_rate=0.05)
    >>> found = evaluate(model, [batch], english.decode)
    >>> found.said, round(found.bleu), found.aer  # the pair has no gold links
    ([['good', 'day', 'to', 'you']], 100, None)
    """
    if not isinstance(model, Seq2Seq):
        raise ValueError(f"model is a {type(model).__name__}; expected a Seq2Seq")
    if not callable(decode):
        raise ValueError(f"decode is a {type(decode).__name__}; expected a function")
    if not isinstance(batches, Iterable) or isinstance(batches, Tensor):
        raise ValueError(f"batches is a {type(batches).__name__}; expected batches of pairs")
    pairs: list[Any] = []
    said: list[list[str]] = []
    found: list[Links] = []
    for batch in batches:
        if not isinstance(batch, Judging):
            raise ValueError(f"batches has a {type(batch).__name__}; expected batches of pairs")
        check_visible(source=batch.source)
        pairs += batch.pairs
        said += map(decode, model.greedy(batch.source, batch.mask).tolist())
        if model.score != "none":
            with torch.no_grad():
                weights = model.explain(batch.source, batch.given, batch.mask).weights
            found += [links(row[: len(p.target), : len(p.source)]) for row, p in zip(weights, batch.pairs, strict=True)]
    if not pairs:
        raise ValueError("batches is empty; expected at least one batch of pairs")
    judged = [(drawn, pair.alignment) for drawn, pair in zip(found, pairs, strict=False) if pair.alignment]
    error = alignment_error_rate(*map(list, zip(*judged, strict=True))) if judged else None
    return Evaluation(tuple(pairs), said, found, bleu(said, [pair.target for pair in pairs]), error)
