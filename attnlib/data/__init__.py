"""Generated data with known answers, and loaders for real files."""

from attnlib.data.translation import (
    Batch,
    Corpus,
    Pair,
    Vocabulary,
    batches,
    generate_pairs,
    make_batch,
    read_parallel,
    read_tab_separated,
    split_pairs,
    tokenize,
    translation_corpus,
)

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
