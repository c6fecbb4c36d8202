"""Alignments and translations judged: links drawn by attention, the alignment error rate, BLEU."""

from collections.abc import Sequence, Set
from numbers import Integral

from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_rows
from attnlib._core.extras import extra
from attnlib._core.values import check_visible

Links = frozenset[tuple[int, int]]
"""An alignment, as pairs of (target position, source position)."""


def links(weights: Float[Tensor, "n m"]) -> Links:
    """The alignment that attention draws: each target position with the source position of its largest weight.

    Takes finite weights ``[n, m]``. Raises ValueError for others, or where there are no positions.

    >>> sorted(links(torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])))  # word 2 of the target is word 0 of the source
    [(0, 0), (1, 1), (2, 0)]
    """
    check_rows("weights", weights)
    check_visible(weights=weights)
    if weights.ndim != 2:
        raise ValueError(f"weights has shape {tuple(weights.shape)}; expected [n, m]")
    return frozenset(enumerate(weights.argmax(-1).tolist()))


def alignment_error_rate(found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None) -> float:
    r"""The alignment error rate of a set of sentences, between 0 and 1.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    with the links found A, the sure links S and the possible ones P (default: the sure ones), counted over all sentences.

    Raises:
        ValueError: sequences of different length, a sure link that is not possible, nothing to compare.

    Source: Och and Ney 2003, section 6.1.

    >>> alignment_error_rate([frozenset({(0, 0), (1, 2)})], [frozenset({(0, 0), (1, 1)})])
    0.5
    """
    possible = sure if possible is None else possible
    for name, sentences in (("found", found), ("sure", sure), ("possible", possible)):
        if not _listed(sentences) or not all(_linked(pairs) for pairs in sentences):
            raise ValueError(f"{name} is {sentences!r:.60}; expected a sequence of sets of pairs of positions")
    if not len(found) == len(sure) == len(possible):
        raise ValueError(
            f"found, sure, possible have {len(found)}, {len(sure)}, {len(possible)} sentences; expected equally many"
        )
    if any(not s <= p for s, p in zip(sure, possible, strict=True)):
        raise ValueError("sure has a link that is not possible; expected every sure link among the possible ones")
    size = sum(map(len, found)) + sum(map(len, sure))
    if not size:
        raise ValueError("found and sure have no links; expected at least one")
    return 1 - sum(len(a & s) + len(a & p) for a, s, p in zip(found, sure, possible, strict=True)) / size


def bleu(translations: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Corpus BLEU of tokenised sentences, in percent, by sacrebleu (which must be installed) and without another tokenisation.

    Raises ValueError unless there are equally many translations and references, at least one, each a sequence of words.

    >>> said = ["the", "cat", "sat", "on", "the", "mat"]
    >>> round(bleu([said], [said])), round(bleu([said], [["a", "cat", "sat", "on", "the", "mat"]]))
    (100, 76)
    """
    for name, sentences in (("translations", translations), ("references", references)):
        if not _listed(sentences) or not all(_listed(words) and all(isinstance(w, str) for w in words) for words in sentences):
            raise ValueError(f"{name} is {sentences!r:.60}; expected a sequence of sequences of words")
    if not translations or len(translations) != len(references):
        raise ValueError(
            f"translations has {len(translations)} sentences, references {len(references)}; expected equally many, at least one"
        )
    with extra("attnlib.course.models.bleu"):
        from sacrebleu.metrics.bleu import BLEU

    joined = [" ".join(sentence) for sentence in translations], [" ".join(sentence) for sentence in references]
    return BLEU(tokenize="none", force=True).corpus_score(joined[0], [joined[1]]).score


def _listed(thing: object) -> bool:
    """Whether it is a sequence of things, which a string is not."""
    return isinstance(thing, Sequence) and not isinstance(thing, str | bytes)


def _linked(pairs: object) -> bool:
    """Whether it is a set of pairs of whole numbers."""
    return isinstance(pairs, Set) and all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(place, Integral) for place in pair) for pair in pairs
    )
