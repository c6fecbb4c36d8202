"""Sentence pairs as numbers: vocabularies, and batches of sentences of about equal length."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnlib._core.checks import check_count, check_flag
from attnlib.course.data.translation import Pair
from attnlib.course.models.seq2seq import BOS, EOS, PAD, UNKNOWN


class Vocabulary:
    """Numbers for words: four special tokens first, then words by falling count, equal counts in alphabetical order.

    Args:
        sentences: tokens to count.
        least: words that occur fewer times become ``<unk>``.

    Raises:
        ValueError: a least below 1; no word that occurs so often.

    >>> words = Vocabulary([("der", "hund", "und", "der", "baum")])
    >>> words.encode(("der", "hund", "bellt")), words.decode([4, 6, 2])  # 3 is the unknown word, 2 the end
    ([4, 6, 3], ['der', 'hund'])
    """

    def __init__(self, sentences: Iterable[Sequence[str]], *, least: int = 1) -> None:
        check_count("least", least)
        counts = Counter(word for sentence in sentences for word in sentence)
        kept = sorted((word for word in counts if counts[word] >= least), key=lambda word: (-counts[word], word))
        if not kept:
            raise ValueError(f"sentences has no word that occurs {least} times; expected at least one")
        self.words = ("<pad>", "<bos>", "<eos>", "<unk>", *kept)
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self._whatever_case = {word.lower(): self.numbers[word] for word in reversed(kept)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, sentence: Sequence[str], *, any_case: bool = False) -> list[int]:
        """The numbers of the words of a sentence; unknown ones become ``UNKNOWN``, so that no word is an error.

        With ``any_case`` a word that is unknown as it is written is looked up with capitals and small letters taken as equal;
        of several the most frequent is meant. So German that was typed in small letters, nouns too, is understood.

        Raises ValueError unless ``any_case`` is True or False; other errors are those of iterating over the sentence.

        >>> words = Vocabulary([("der", "Hund", "schläft")])
        >>> words.decode(words.encode(("Der", "hund", "schläft"), any_case=True))
        ['der', 'Hund', 'schläft']
        """
        check_flag(any_case=any_case)
        other = self._whatever_case if any_case else {}
        return [self.numbers.get(word, other.get(word.lower(), UNKNOWN)) for word in sentence]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words up to the end token, without the special tokens. Errors are those of ``words[number]``, an IndexError."""
        words = []
        for number in numbers:
            if number == EOS:
                break
            if number not in (PAD, BOS):
                words.append(self.words[number])
        return words


@dataclass(frozen=True)
class Batch:
    """Pairs as numbers, padded: ``source`` and its ``mask`` (True: a word) are ``[batch, m]``, the target is ``[batch, n]``.

    It comes twice, ``given`` to the decoder after ``<bos>`` and ``wanted`` from it before ``<eos>``.

    >>> pairs = [Pair(("guten", "tag"), ("hello",)), Pair(("nein",), ("no",))]
    >>> batch = make_batch(pairs, Vocabulary(pair.source for pair in pairs), Vocabulary(pair.target for pair in pairs))
    >>> batch.mask
    tensor([[ True,  True],
            [ True, False]])
    """

    source: Int[Tensor, "batch m"]
    mask: Bool[Tensor, "batch m"]
    given: Int[Tensor, "batch n"]
    wanted: Int[Tensor, "batch n"]
    pairs: tuple[Pair, ...]


def make_batch(pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary) -> Batch:
    """Encode and pad pairs. Raises ValueError if there are none.

    >>> pair = Pair(("guten", "tag"), ("hello",))
    >>> batch = make_batch([pair], Vocabulary([pair.source]), Vocabulary([pair.target]))
    >>> batch.given, batch.wanted  # begin and the word; the word and end
    (tensor([[1, 4]]), tensor([[4, 2]]))
    """
    if not pairs:
        raise ValueError("pairs is empty; expected at least one pair")
    sources, targets = ([vocabulary.encode(s) for s in side] for vocabulary, side in zip((source, target), _sides(pairs)))
    padded = _pad(sources)
    return Batch(
        source=padded,
        mask=padded != PAD,
        given=_pad([[BOS, *numbers] for numbers in targets]),
        wanted=_pad([[*numbers, EOS] for numbers in targets]),
        pairs=tuple(pairs),
    )


def batches(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary, size: int, *, generator: torch.Generator | None = None
) -> Iterator[Batch]:
    """Batches of sentences of about equal length, so that little is padding.

    With a generator the pairs are shuffled before they are sorted by length, and so are the batches; without one the order is
    fixed. Each pair comes exactly once. Raises ValueError on a size below 1.

    >>> pairs = [Pair(("ja",), ("yes",)), Pair(("guten", "tag"), ("hello",)), Pair(("nein",), ("no",))]
    >>> german, english = Vocabulary(pair.source for pair in pairs), Vocabulary(pair.target for pair in pairs)
    >>> [batch.source.shape for batch in batches(pairs, german, english, size=2)]  # equal lengths together: no padding
    [torch.Size([2, 1]), torch.Size([1, 2])]
    """
    check_count("size", size)
    order = range(len(pairs)) if generator is None else torch.randperm(len(pairs), generator=generator).tolist()
    order = sorted(order, key=lambda index: (len(pairs[index].source), len(pairs[index].target)))
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    if generator is not None:
        chunks = [chunks[index] for index in torch.randperm(len(chunks), generator=generator).tolist()]
    for chunk in chunks:
        yield make_batch([pairs[index] for index in chunk], source, target)


def _sides(pairs: Sequence[Pair]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _pad(rows: list[list[int]]) -> Int[Tensor, "batch longest"]:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
