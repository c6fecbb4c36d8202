"""Transformers as collectives: one block for every mixer, blocks in a stack, and mixers beside each other (chapter 7)."""

from attnlib.transformer.block import Block
from attnlib.transformer.contestants import preset
from attnlib.transformer.feed_forward import FeedForward
from attnlib.transformer.floors import IdentityMixer, LinearMixer, PlaceMixer, PoolMixer
from attnlib.transformer.registry import Contestant, Contestants, mixer, register, registered
from attnlib.transformer.stack import Stack

__all__ = [
    "Block",
    "Contestant",
    "Contestants",
    "FeedForward",
    "IdentityMixer",
    "LinearMixer",
    "PlaceMixer",
    "PoolMixer",
    "Stack",
    "mixer",
    "preset",
    "register",
    "registered",
]
