"""Attention: scores, places, masks, the average over values, and what all mixers share (chapter 2)."""

from attnlib.attention.attend import attend, attention_weights
from attnlib.attention.heads import Heads, Places, check_heads
from attnlib.attention.interface import Mixer
from attnlib.attention.masks import causal_mask, padding_mask
from attnlib.attention.mixer import SoftmaxAttention
from attnlib.attention.positions import rotary_places, sinusoids
from attnlib.attention.records import AttentionRecord
from attnlib.attention.scores import additive_scores, bilinear_scores, dot_scores

__all__ = [
    "AttentionRecord",
    "Heads",
    "Mixer",
    "Places",
    "SoftmaxAttention",
    "additive_scores",
    "attend",
    "attention_weights",
    "bilinear_scores",
    "causal_mask",
    "check_heads",
    "dot_scores",
    "padding_mask",
    "rotary_places",
    "sinusoids",
]
