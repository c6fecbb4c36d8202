"""Sentence pairs for translation: a generated German-English corpus with gold alignments, and loaders for real files."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnlib._core.checks import check_count, check_flag
from attnlib.course.data._speaker import Speaker


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation, as tokens; the alignment is a set of (target position, source position).

    >>> pair = Pair(("macht", "auf"), ("opens",), frozenset({(0, 0), (0, 1)}))  # one word says what two do
    >>> [(pair.target[i], pair.source[j]) for i, j in sorted(pair.alignment)]
    [('opens', 'macht'), ('opens', 'auf')]
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Corpus:
    """Pairs for training, validation and test; no sentence of either language stands in two of them.

    >>> corpus = translation_corpus(60, validation=5, test=5)
    >>> min(len(corpus.validation), len(corpus.test)) >= 5, len(corpus.train) + len(corpus.validation) + len(corpus.test)
    (True, 60)
    """

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]


def generate_pairs(size: int, *, seed: int = 0, longest: int = 14) -> list[Pair]:
    """Say ``size`` sentences in German (source) and English (target), no two with the same words in either language.

    Every English word is aligned with the German words that say it: ``opens`` with ``macht`` and ``auf``, ``apple`` and
    ``tree`` with ``Apfelbaum``. One German sentence in six begins with an object, and the form of an article or a pronoun says
    who acts: ``den Hund sieht der Mann`` is ``the man sees the dog``. Deterministic in the seed. Sentences begin in lower case,
    as after true-casing.

    Args:
        size: how many pairs.
        seed: of Python's random generator.
        longest: sentences with more tokens than this, on either side, are not kept.

    Raises:
        ValueError: a size below 1, or a longest below 8 (some kinds of sentence would not fit).

    >>> pair = generate_pairs(1, seed=1)[0]
    >>> " ".join(pair.source), " ".join(pair.target)
    ('mein Richter läuft weg .', 'my judge runs away .')
    """
    check_count("size", size)
    check_count("longest", longest, least=8)
    speaker = Speaker(random.Random(seed))
    pairs: list[Pair] = []
    seen: tuple[set[tuple[str, ...]], set[tuple[str, ...]]] = (set(), set())
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

    >>> corpus = translation_corpus(60, validation=5, test=5)
    >>> held_out = {pair.source for pair in corpus.validation + corpus.test}
    >>> held_out & {pair.source for pair in corpus.train}  # nothing stands on both sides
    set()
    """
    check_count("size", size)
    return split_pairs(generate_pairs(size, seed=seed), validation=validation, test=test, seed=seed)


def split_pairs(pairs: Sequence[Pair], *, validation: int, test: int, seed: int = 0) -> Corpus:
    """Shuffle and split pairs so that no sentence, in either language, stands on two sides of the split.

    Sentences that share a source or a target go to the same side, so a held-out part can be a little larger than asked.

    Raises:
        ValueError: counts below 1, or too few pairs: nothing would be left to train on.

    >>> pairs = [Pair(("ja",), ("yes",)), Pair(("ja",), ("yeah",)), Pair(("nein",), ("no",)), Pair(("doch",), ("but",))]
    >>> corpus = split_pairs(pairs, validation=1, test=1)
    >>> [part.count(pairs[0]) == part.count(pairs[1]) for part in (corpus.train, corpus.validation, corpus.test)]  # together
    [True, True, True]
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


def tokenize(text: str, *, lower: bool = True) -> tuple[str, ...]:
    """Split into words, in lower case unless ``lower`` is False, and punctuation marks. Any text will do.

    Raises ValueError unless ``lower`` is True or False; other errors are those of ``str.lower``.

    >>> tokenize("Macht Anna's Hund die Tür auf?")
    ('macht', "anna's", 'hund', 'die', 'tür', 'auf', '?')
    >>> tokenize("Der Hund schläft.", lower=False)
    ('Der', 'Hund', 'schläft', '.')
    """
    check_flag(lower=lower)
    return tuple(re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", text.lower() if lower else text))


def read_tab_separated(path: str | Path, *, source_column: int = 1, target_column: int = 0) -> list[Pair]:
    r"""Read sentence pairs from a UTF-8 file with a pair a line and tabs between columns; further columns are ignored.

    The default columns are those of the English-German files made from Tatoeba: English first, German second. Sentences are
    split by :func:`tokenize`; there is no gold alignment.

    Raises:
        ValueError: bytes that are not UTF-8, a line with too few columns, an empty line or sentence, an empty file; the message
            names file and line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "deu.txt").write_text("Good day.\tGuten Tag.\n", encoding="utf-8")
    ...     pairs = read_tab_separated(Path(folder) / "deu.txt")
    >>> pairs[0].source, pairs[0].target
    (('guten', 'tag', '.'), ('good', 'day', '.'))
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
    r"""Read sentence pairs from two UTF-8 files: line n of one translates line n of the other.

    Raises:
        ValueError: bytes that are not UTF-8, an empty line, an empty file, files of different length; the message names file
            and line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     german, english = Path(folder) / "train.de", Path(folder) / "train.en"
    ...     _ = german.write_text("Guten Tag.\n", encoding="utf-8"), english.write_text("Good day.\n", encoding="utf-8")
    ...     pairs = read_parallel(german, english)
    >>> pairs[0].source, pairs[0].target
    (('guten', 'tag', '.'), ('good', 'day', '.'))
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
