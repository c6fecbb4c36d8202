"""The transformers that page 7d examines: they learn the language of joinings, and a head may find where a token comes from."""

from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnlib._core.checks import check_choice, check_tensors
from attnlib.attention import SoftmaxAttention, sinusoids
from attnlib.course.data.joining import ARROW, Joinings, Language
from attnlib.transformer import Block, Embedding, LanguageModel, Stack

NETWORKS = ("tied", "untied", "causal")
"""One block applied again and again, which fills gaps; blocks of their own; and one block that says the next token."""


def specimen(
    network: str = "tied",
    language: Language | None = None,
    *,
    dim: int = 128,
    heads: int = 8,
    steps: int = 8,
    feed_forward: int = 256,
) -> LanguageModel:
    """A network of tokens before it is trained: places on clocks to begin with, softmax attention, norm after the sum.

    Args:
        network: one of :data:`NETWORKS`.
        language: whose tokens it reads; default :class:`attnlib.course.data.joining.Language` as it is.
        dim, heads, steps, feed_forward: width, heads of a block, how many blocks or how often the one, width of its network.

    Raises:
        ValueError: another network, and what its parts raise.

    >>> sum(parameter.numel() for parameter in specimen("tied").parameters())
    143386
    """
    check_choice("network", network, NETWORKS)
    language = Language() if language is None else language

    def block() -> Block:
        attention = SoftmaxAttention(dim, heads=heads, causal=network == "causal")
        return Block(attention, norm="after", feed_forward=feed_forward)

    stack = Stack([block() for _ in range(steps)]) if network == "untied" else Stack(block(), steps=steps)
    embed = Embedding(language.size, dim, places=language.width, norm=True)
    assert embed.places is not None
    with torch.no_grad():
        embed.places.weight.copy_(sinusoids(language.width, dim, base=100))
    return LanguageModel(embed, stack, nn.Linear(dim, language.size))


@torch.no_grad()
def weights_of(
    model: LanguageModel, tokens: Int[Tensor, "count n"], real: Bool[Tensor, "count n"]
) -> Float[Tensor, "steps count heads n n"]:
    """The weights of every head at every step, for tokens of which ``real`` are no filling. Errors are those of the model."""
    states = model.states(tokens, real)
    found = []
    for step, x in enumerate(states[:-1]):
        block = model.stack.blocks[0 if model.stack.tied else step]
        found.append(cast("SoftmaxAttention", block.mixer).explain(x, mask=real[:, None]).weights)
    return torch.stack(found)


def mapped(
    weights: Float[Tensor, "*steps count heads n n"], keys: Bool[Tensor, "count n n"], rows: Bool[Tensor, "count n"]
) -> Float[Tensor, "*steps heads"]:
    """How often a head's largest weight is on a right key, among these rows: a share for each step and head, NaN without rows.

    Raises:
        ValueError: shapes that do not fit.

    >>> weights, keys = torch.tensor([[[[0.4, 0.6], [0.3, 0.7]]]]), torch.tensor([[[False, True], [True, False]]])
    >>> mapped(weights, keys, torch.tensor([[True, True]]))
    tensor([0.5000], dtype=torch.float64)
    """
    check_tensors(weights=weights, keys=keys, rows=rows)
    if weights.ndim < 4 or keys.shape != (*weights.shape[-4:-3], *weights.shape[-2:]) or rows.shape != keys.shape[:2]:
        shapes = f"weights has shape {tuple(weights.shape)}, keys {tuple(keys.shape)}, rows {tuple(rows.shape)}"
        raise ValueError(f"{shapes}; expected [*steps, count, heads, n, m], [count, n, m] and [count, n]")
    best = weights.argmax(-1, keepdim=True)  # [*steps, count, heads, n, 1]
    right = keys[:, None].expand(weights.shape).gather(-1, best)[..., 0]
    right = right.movedim(-2, -3)[..., rows]  # [*steps, heads, rows]
    return right.double().mean(-1)


def rows_of(strings: Joinings, hidden: Bool[Tensor, "count n"]) -> dict[str, tuple[Tensor, Tensor]]:
    """Which rows to look at, and their right keys, ``[count, n, n]`` and ``[count, n]``, by name.

    ``hidden``: tokens of the product that are hidden, with a copy that is seen. ``shown``: those that are seen. ``several``:
    those of them with more than one token of the same name before the arrow. ``back``: hidden tokens of the parts with a copy
    that is seen. ``next``: what a causal network is about to say, looked for where it stood.
    """
    tokens, keys = strings.tokens, strings.keys
    before = torch.arange(tokens.shape[-1]) < (tokens == ARROW).int().argmax(-1, keepdim=True)
    twins = ((tokens[:, :, None] == tokens[:, None]) & before[:, None]).sum(-1)
    seen, known = keys & ~hidden[:, None], keys.any(-1)
    back = keys.mT & ~hidden[:, None]
    ahead = keys.roll(-1, 1)
    ahead[:, -1] = False
    return {
        "hidden": (seen, hidden & seen.any(-1)),
        "shown": (keys, ~hidden & known),
        "several": (keys, ~hidden & known & (twins > 1)),
        "back": (back, hidden & back.any(-1)),
        "next": (ahead, ahead.any(-1)),
    }
