"""Sentence pairs for translation: a generated German-English corpus with gold alignments, and loaders for real files."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnlib._checks import check_count
from attnlib.attention.seq2seq import BOS, EOS, PAD, UNKNOWN
from attnlib.data._grammar import Speaker


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation, as tokens; the alignment is a set of (target position, source position)."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Corpus:
    """Pairs for training, validation and test; no sentence of either language stands in two of them."""

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]


def generate_pairs(size: int, *, seed: int = 0, longest: int = 14) -> list[Pair]:
    """Say ``size`` sentences in German (source) and English (target), no two with the same words in either language.

    Every English word is aligned with the German words that say it: ``opens`` with ``macht`` and ``auf``, ``apple`` and
    ``tree`` with ``Apfelbaum``. Deterministic in the seed. Sentences begin in lower case, as after true-casing.

    Args:
        size: how many pairs.
        seed: of Python's random generator.
        longest: sentences with more tokens than this, on either side, are not kept.

    Raises:
        ValueError: a size below 1, or a longest below 8 (some kinds of sentence would not fit).
    """
    check_count("size", size)
    check_count("longest", longest, least=8)
    speaker, pairs, seen = Speaker(random.Random(seed)), [], (set(), set())
    while len(pairs) < size:
        german, english = speaker.sentence()
        source, target = (tuple(word for word, _ in side) for side in (german, english))
        if max(len(source), len(target)) > longest or source in seen[0] or target in seen[1]:
            continue
        seen[0].add(source)
        seen[1].add(target)
        links = ((i, j) for i, (_, said) in enumerate(english) for j, (_, meant) in enumerate(german) if said & meant)
        pairs.append(Pair(source, target, frozenset(links)))
    return pairs


def translation_corpus(size: int = 24_000, *, seed: int = 0, validation: int = 1000, test: int = 1000) -> Corpus:
    """The generated corpus of page 2b: ``size`` distinct pairs, of which ``validation`` and ``test`` are held out.

    Raises ValueError unless something is left to train on.
    """
    check_count("size", size)
    return split_pairs(generate_pairs(size, seed=seed), validation=validation, test=test, seed=seed)


def split_pairs(pairs: Sequence[Pair], *, validation: int, test: int, seed: int = 0) -> Corpus:
    """Shuffle and split pairs so that no sentence, in either language, stands on two sides of the split.

    Sentences that share a source or a target go to the same side, so a held-out part can be a little larger than asked.

    Raises:
        ValueError: counts below 1, or too few pairs: nothing would be left to train on.
    """
    check_count("validation", validation)
    check_count("test", test)
    groups = _groups(pairs)
    random.Random(seed).shuffle(groups)
    parts: list[list[Pair]] = [[], [], []]
    for group in groups:
        part = 0 if len(parts[0]) < validation else 1 if len(parts[1]) < test else 2
        parts[part].extend(group)
    if not parts[2]:
        raise ValueError(f"pairs has {len(pairs)} pairs; expected more than validation {validation} + test {test}")
    return Corpus(train=parts[2], validation=parts[0], test=parts[1])


def _groups(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs that are connected by equal sources or equal targets, in order of their first member."""
    parent = list(range(len(pairs)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first: dict[tuple[str, tuple[str, ...]], int] = {}
    for index, pair in enumerate(pairs):
        for key in (("source", pair.source), ("target", pair.target)):
            parent[root(index)] = root(first.setdefault(key, index))
    groups: dict[int, list[Pair]] = {}
    for index, pair in enumerate(pairs):
        groups.setdefault(root(index), []).append(pair)
    return list(groups.values())


def tokenize(text: str) -> tuple[str, ...]:
    """Split into lower-case words and punctuation marks. Any text will do; errors are those of ``str.lower``.

    >>> tokenize("Macht Anna's Hund die Tür auf?")
    ('macht', "anna's", 'hund', 'die', 'tür', 'auf', '?')
    """
    return tuple(re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", text.lower()))


def read_tab_separated(path: str | Path, *, source_column: int = 1, target_column: int = 0) -> list[Pair]:
    """Read sentence pairs from a UTF-8 file with a pair a line and tabs between columns; further columns are ignored.

    The default columns are those of the English-German files made from Tatoeba: English first, German second. Sentences are
    split by :func:`tokenize`; there is no gold alignment.

    Raises:
        ValueError: bytes that are not UTF-8, a line with too few columns, an empty line or sentence, an empty file; the message
            names file and line.
    """
    check_count("source_column", source_column, least=0)
    check_count("target_column", target_column, least=0)
    if source_column == target_column:
        raise ValueError(f"source_column and target_column are both {source_column}; expected two columns")
    pairs, wanted = [], max(source_column, target_column) + 1
    for number, line in enumerate(_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < wanted:
            raise ValueError(f"{path}, line {number} has {len(columns)} columns; expected at least {wanted}, between tabs")
        source, target = (_sentence(columns[column], path, number) for column in (source_column, target_column))
        pairs.append(Pair(source, target))
    return pairs


def read_parallel(source_path: str | Path, target_path: str | Path) -> list[Pair]:
    """Read sentence pairs from two UTF-8 files: line n of one translates line n of the other.

    Raises:
        ValueError: bytes that are not UTF-8, an empty line, an empty file, files of different length; the message names file
            and line.
    """
    sides = [
        [_sentence(line, path, number) for number, line in enumerate(_lines(path), start=1)]
        for path in (source_path, target_path)
    ]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"{source_path} has {len(sides[0])} lines, {target_path} {len(sides[1])}; expected equally many")
    return [Pair(source, target) for source, target in zip(*sides, strict=True)]


def _lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 file, without a byte order mark; only a line feed, alone or after a carriage return, ends one."""
    lines = []
    for number, line in enumerate(Path(path).read_bytes().removesuffix(b"\n").split(b"\n"), start=1):
        try:
            lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            bad = line[error.start]
            raise ValueError(f"{path}, line {number} has the byte 0x{bad:02x}, which is not UTF-8; expected UTF-8") from None
    if lines == [""]:
        raise ValueError(f"{path} is empty; expected at least one line")
    return lines


def _sentence(text: str, path: str | Path, number: int) -> tuple[str, ...]:
    tokens = tokenize(text)
    if not tokens:
        raise ValueError(f"{path}, line {number} is empty or has an empty sentence; expected words")
    return tokens


class Vocabulary:
    """Numbers for words: four special tokens first, then words by falling count, equal counts in alphabetical order.

    Args:
        sentences: tokens to count.
        least: words that occur fewer times become ``<unk>``.

    Raises:
        ValueError: a least below 1; no word that occurs so often.
    """

    def __init__(self, sentences: Iterable[Sequence[str]], *, least: int = 1) -> None:
        check_count("least", least)
        counts = Counter(word for sentence in sentences for word in sentence)
        kept = sorted((word for word in counts if counts[word] >= least), key=lambda word: (-counts[word], word))
        if not kept:
            raise ValueError(f"sentences has no word that occurs {least} times; expected at least one")
        self.words = ("<pad>", "<bos>", "<eos>", "<unk>", *kept)
        self.numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, sentence: Sequence[str]) -> list[int]:
        """The numbers of the words of a sentence; unknown ones become ``UNKNOWN``, so that no word is an error.

        Errors are those of iterating over the sentence.
        """
        return [self.numbers.get(word, UNKNOWN) for word in sentence]

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
    """

    source: Int[Tensor, "batch m"]
    mask: Bool[Tensor, "batch m"]
    given: Int[Tensor, "batch n"]
    wanted: Int[Tensor, "batch n"]
    pairs: tuple[Pair, ...]


def make_batch(pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary) -> Batch:
    """Encode and pad pairs. Raises ValueError if there are none."""
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
