"""Generated data with known answers, and loaders for real files."""

from attnlib.data.translation import (
    Corpus,
    Pair,
    generate_pairs,
    read_parallel,
    read_tab_separated,
    split_pairs,
    tokenize,
    translation_corpus,
)
from attnlib.data.vocabulary import Batch, Vocabulary, batches, make_batch

__all__ = [
    "Batch",
    "Corpus",
    "Pair",
    "Vocabulary",
    "batches",
    "generate_pairs",
    "make_batch",
    "read_parallel",
    "read_tab_separated",
    "split_pairs",
    "tokenize",
    "translation_corpus",
]
