"""Transformers as collectives: one block for every mixer, blocks in a stack, and mixers beside each other (chapter 7)."""

from attnlib.transformer.block import Block
from attnlib.transformer.compare import compare
from attnlib.transformer.contestants import preset
from attnlib.transformer.examination import Examination, HeadReading, NoiseReading, NormReading, StateReading
from attnlib.transformer.examine import examine
from attnlib.transformer.feed_forward import FeedForward
from attnlib.transformer.instruments import ValueKinds, antisymmetric_share, arrow_estimate, symmetric_share, value_kinds
from attnlib.transformer.language import Embedding, LanguageModel
from attnlib.transformer.load import load
from attnlib.transformer.noise import FilmsUnderNoise, films_under_noise, nearby_starts
from attnlib.transformer.norms import norm_readings
from attnlib.transformer.records import Comparison, Standing, TrainingRun
from attnlib.transformer.registry import Contestant, Contestants, mixer, register, registered
from attnlib.transformer.stability import lyapunov_exponent
from attnlib.transformer.stack import Stack
from attnlib.transformer.thermometer import Thermometer, thermometer
from attnlib.transformer.training import Task, train_one

__all__ = [
    "Block",
    "Comparison",
    "Contestant",
    "Contestants",
    "Embedding",
    "Examination",
    "FeedForward",
    "FilmsUnderNoise",
    "HeadReading",
    "LanguageModel",
    "NoiseReading",
    "NormReading",
    "Stack",
    "Standing",
    "StateReading",
    "Task",
    "Thermometer",
    "TrainingRun",
    "ValueKinds",
    "antisymmetric_share",
    "arrow_estimate",
    "compare",
    "examine",
    "films_under_noise",
    "load",
    "lyapunov_exponent",
    "mixer",
    "nearby_starts",
    "norm_readings",
    "preset",
    "register",
    "registered",
    "symmetric_share",
    "thermometer",
    "train_one",
    "value_kinds",
]
