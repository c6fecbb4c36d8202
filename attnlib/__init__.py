"""attnlib: attention as the response of a physical system to data.

One module per concept, named as the chapters of the course name it. Importing the package loads torch and numpy and
nothing heavier; figures, graphs and widgets come with the extra ``attnlib[book]``.
"""

from importlib.metadata import PackageNotFoundError, version

from attnlib.attention import (
    AttentionRecord,
    SoftmaxAttention,
    attend,
    attention_weights,
    causal_mask,
    dot_scores,
    padding_mask,
)
from attnlib.claims import ClaimError, claim
from attnlib.hopfield import (
    Descent,
    EnergyAttention,
    descend,
    energy_step,
    hopfield_energy,
    hopfield_gradient,
    hopfield_jacobian,
    hopfield_log_density,
    hopfield_log_partition,
    hopfield_mixture_weights,
    hopfield_sample,
    hopfield_update,
)
from attnlib.softmax import smooth_max, softmax, softmax_jacobian

try:
    __version__ = version("attnlib")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "AttentionRecord",
    "ClaimError",
    "Descent",
    "EnergyAttention",
    "SoftmaxAttention",
    "attend",
    "attention_weights",
    "causal_mask",
    "claim",
    "descend",
    "dot_scores",
    "energy_step",
    "hopfield_energy",
    "hopfield_gradient",
    "hopfield_jacobian",
    "hopfield_log_density",
    "hopfield_log_partition",
    "hopfield_mixture_weights",
    "hopfield_sample",
    "hopfield_update",
    "padding_mask",
    "smooth_max",
    "softmax",
    "softmax_jacobian",
]
