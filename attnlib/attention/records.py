"""What an attention module returns when it explains itself."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class AttentionRecord:
    """What softmax attention did: tensors per head, as ``[*batch, heads, ...]``, and the module's output.

    Scores are before beta, without the bias, in single precision or better. Without dropout the output is the one of the call.

    >>> from attnlib.attention import SoftmaxAttention
    >>> seen = SoftmaxAttention(2, bare=True, causal=True).explain(torch.eye(2)[None])
    >>> seen.weights[0, 0]
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])
    """

    output: Float[Tensor, "*batch n dim"]
    weights: Float[Tensor, "*batch heads n m"]
    scores: Float[Tensor, "*batch heads n m"]
    query: Float[Tensor, "*batch heads n d"]
    key: Float[Tensor, "*batch heads m d"]
    value: Float[Tensor, "*batch heads m d"]
