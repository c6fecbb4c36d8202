"""Generated data with known answers, and loaders for real files."""

from attnlib.course.data.graphs import planted_graphs
from attnlib.course.data.images import Images, digits, mnist, read_idx
from attnlib.course.data.patterns import flip_spins, random_patterns
from attnlib.course.data.translation import (
    Corpus,
    Pair,
    generate_pairs,
    read_parallel,
    read_tab_separated,
    split_pairs,
    tokenize,
    translation_corpus,
)
from attnlib.course.data.vocabulary import Batch, Vocabulary, batches, make_batch

__all__ = [
    "Batch",
    "Corpus",
    "Images",
    "Pair",
    "Vocabulary",
    "batches",
    "digits",
    "flip_spins",
    "generate_pairs",
    "make_batch",
    "mnist",
    "planted_graphs",
    "random_patterns",
    "read_idx",
    "read_parallel",
    "read_tab_separated",
    "split_pairs",
    "tokenize",
    "translation_corpus",
]
