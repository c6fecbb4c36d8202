"""Transformers as collectives: one block for every mixer, blocks in a stack, and mixers beside each other (chapter 7)."""

from attnlib.transformer.block import Block
from attnlib.transformer.compare import compare
from attnlib.transformer.contestants import preset
from attnlib.transformer.feed_forward import FeedForward
from attnlib.transformer.records import Comparison, Standing, TrainingRun
from attnlib.transformer.registry import Contestant, Contestants, mixer, register, registered
from attnlib.transformer.stack import Stack
from attnlib.transformer.training import Task, train_one

__all__ = [
    "Block",
    "Comparison",
    "Contestant",
    "Contestants",
    "FeedForward",
    "Stack",
    "Standing",
    "Task",
    "TrainingRun",
    "compare",
    "mixer",
    "preset",
    "register",
    "registered",
    "train_one",
]
