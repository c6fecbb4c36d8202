"""attnlib: attention as the response of a physical system to data.

One module per concept, named as the chapters of the course name it. Importing the package loads torch and numpy and
nothing heavier; figures, graphs and widgets come with the extra ``attnlib[book]``.
"""

from importlib.metadata import PackageNotFoundError, version

from attnlib._checks import (
    ConvergenceError,
    ConvergenceWarning,
)
from attnlib.associative import (
    Recall,
    classical_energy,
    classical_local_field,
    classical_recall,
    dense_energy,
    dense_local_field,
    dense_recall,
    hebb_weights,
)
from attnlib.attention import (
    AttentionRecord,
    SoftmaxAttention,
    additive_scores,
    attend,
    attention_weights,
    bilinear_scores,
    causal_mask,
    dot_scores,
    padding_mask,
    sinusoids,
)
from attnlib.claims import ClaimError, claim
from attnlib.hopfield import (
    Descent,
    EnergyAttention,
    FixedPoints,
    descend,
    energy_step,
    find_fixed_points,
    hopfield_energy,
    hopfield_gradient,
    hopfield_jacobian,
    hopfield_log_density,
    hopfield_log_partition,
    hopfield_mixture_weights,
    hopfield_sample,
    hopfield_update,
)
from attnlib.memory import (
    Hops,
    MemoryNetwork,
    multi_hop,
)
from attnlib.seq2seq import (
    DecodingRecord,
    Seq2Seq,
    alignment_error_rate,
)
from attnlib.softmax import (
    PartialSoftmax,
    RandomEnergy,
    effective_number,
    entropy,
    freezing_scale,
    freezing_width,
    online_softmax,
    partial_softmax,
    participation_ratio,
    random_energy,
    smooth_max,
    softmax,
    softmax_jacobian,
    softmax_jacobian_norm,
    sparsemax,
)
from attnlib.storage import (
    flip_spins,
    random_patterns,
    storage_sweep,
    storage_trial,
)

try:
    __version__ = version("attnlib")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "AttentionRecord",
    "ClaimError",
    "ConvergenceError",
    "ConvergenceWarning",
    "DecodingRecord",
    "Descent",
    "EnergyAttention",
    "FixedPoints",
    "Hops",
    "MemoryNetwork",
    "PartialSoftmax",
    "RandomEnergy",
    "Recall",
    "Seq2Seq",
    "SoftmaxAttention",
    "additive_scores",
    "alignment_error_rate",
    "attend",
    "attention_weights",
    "bilinear_scores",
    "causal_mask",
    "claim",
    "classical_energy",
    "classical_local_field",
    "classical_recall",
    "dense_energy",
    "dense_local_field",
    "dense_recall",
    "descend",
    "dot_scores",
    "effective_number",
    "energy_step",
    "entropy",
    "find_fixed_points",
    "flip_spins",
    "freezing_scale",
    "freezing_width",
    "hebb_weights",
    "hopfield_energy",
    "hopfield_gradient",
    "hopfield_jacobian",
    "hopfield_log_density",
    "hopfield_log_partition",
    "hopfield_mixture_weights",
    "hopfield_sample",
    "hopfield_update",
    "multi_hop",
    "online_softmax",
    "padding_mask",
    "partial_softmax",
    "participation_ratio",
    "random_energy",
    "random_patterns",
    "sinusoids",
    "smooth_max",
    "softmax",
    "softmax_jacobian",
    "softmax_jacobian_norm",
    "sparsemax",
    "storage_sweep",
    "storage_trial",
]
