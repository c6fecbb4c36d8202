"""Transformers as collectives: one block for every mixer, blocks in a stack, and mixers beside each other (chapter 7)."""

from attnlib.transformer.block import Block
from attnlib.transformer.compare import compare
from attnlib.transformer.contestants import preset
from attnlib.transformer.feed_forward import FeedForward
from attnlib.transformer.floors import IdentityMixer, LinearMixer, PlaceMixer, PoolMixer
from attnlib.transformer.language import Embedding, LanguageModel
from attnlib.transformer.load import load
from attnlib.transformer.records import Comparison, Standing, TrainingRun
from attnlib.transformer.registry import Contestant, Contestants, mixer, register, registered
from attnlib.transformer.stack import Stack
from attnlib.transformer.training import Task, train_one

__all__ = [
    "Block",
    "Comparison",
    "Contestant",
    "Contestants",
    "Embedding",
    "FeedForward",
    "IdentityMixer",
    "LanguageModel",
    "LinearMixer",
    "PlaceMixer",
    "PoolMixer",
    "Stack",
    "Standing",
    "Task",
    "TrainingRun",
    "compare",
    "load",
    "mixer",
    "preset",
    "register",
    "registered",
    "train_one",
]
