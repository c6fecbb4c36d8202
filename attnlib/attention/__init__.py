"""Attention: scores, places, masks, the average over values, mixers, and the networks it came from (chapter 2)."""

from attnlib.attention.alignment import alignment_error_rate, bleu, links
from attnlib.attention.attend import attend, attention_weights
from attnlib.attention.evaluation import Evaluation, Judging, evaluate
from attnlib.attention.heads import Heads, Places
from attnlib.attention.masks import causal_mask, padding_mask
from attnlib.attention.memory import Hops, MemoryNetwork, multi_hop
from attnlib.attention.mixer import Mixer
from attnlib.attention.pictures import PatchClassifier, patches
from attnlib.attention.positions import rotary_places, sinusoids
from attnlib.attention.scores import additive_scores, bilinear_scores, dot_scores
from attnlib.attention.seq2seq import DecodingRecord, Seq2Seq
from attnlib.attention.softmax_attention import AttentionRecord, SoftmaxAttention
from attnlib.attention.training import Teaching, teach, teach_labels

__all__ = [
    "AttentionRecord",
    "DecodingRecord",
    "Evaluation",
    "Heads",
    "Hops",
    "Judging",
    "MemoryNetwork",
    "Mixer",
    "PatchClassifier",
    "Places",
    "Seq2Seq",
    "SoftmaxAttention",
    "Teaching",
    "additive_scores",
    "alignment_error_rate",
    "attend",
    "attention_weights",
    "bilinear_scores",
    "bleu",
    "causal_mask",
    "dot_scores",
    "evaluate",
    "links",
    "multi_hop",
    "padding_mask",
    "patches",
    "rotary_places",
    "sinusoids",
    "teach",
    "teach_labels",
]
