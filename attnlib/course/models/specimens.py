"""The transformers that page 7d examines: they learn the language of joinings, and a head may find where a token comes from."""

from collections.abc import Mapping
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnlib._core.checks import check_choice, check_tensors
from attnlib.attention import SoftmaxAttention, sinusoids
from attnlib.course.data.joining import ARROW, Joinings, Language
from attnlib.course.data.networks import halves
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
        network: one of ``NETWORKS``, "tied", "untied", "causal".
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


def trained_specimen(record: Mapping[str, Any], *, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """The network of ``recorded("specimen_weights")``, as it reads and not to be trained: in eval mode, without gradients.

    Args:
        record: what ``recorded("specimen_weights")`` returns. Its numbers are in half precision; they are widened.
        dtype: float32 (default) or float64.

    Raises:
        ValueError: another dtype; a record without a network, its sizes and its tensors; a tensor that is missing, that the
            network has no place for, of another shape than its place, or with numbers that are not finite.

    >>> from attnlib.course.data.recorded import recorded
    >>> model, text = trained_specimen(recorded("specimen_weights")), Language().draw(1)
    >>> model(text.tokens, text.real).shape
    torch.Size([1, 35, 26])
    """
    check_choice("dtype", dtype, (torch.float32, torch.float64))
    missing = [name for name in ("network", "sizes", "tensors") if not isinstance(record, Mapping) or name not in record]
    if missing:
        raise ValueError(f'record has no {missing[0]}; expected what recorded("specimen_weights") returns')
    model = specimen(record["network"], **record["sizes"])
    places, tensors = model.state_dict(), {name: halves(name, table) for name, table in record["tensors"].items()}
    for name, place in places.items():
        if name not in tensors:
            raise ValueError(f"record has no tensor {name}; expected one of the shape {tuple(place.shape)}")
        if tensors[name].shape != place.shape:
            raise ValueError(f"{name} has the shape {tuple(tensors[name].shape)}; expected {tuple(place.shape)}")
        if not tensors[name].isfinite().all():
            raise ValueError(f"{name} has numbers that are not finite; expected those of a network")
    surplus = sorted(set(tensors) - set(places))
    if surplus:
        raise ValueError(f"record has a tensor {surplus[0]}; expected none that the network has no place for")
    model.load_state_dict(tensors)  # which widens them
    return model.to(dtype).requires_grad_(requires_grad=False).eval()


@torch.no_grad()
def weights_of(
    model: LanguageModel, tokens: Int[Tensor, "count n"], real: Bool[Tensor, "count n"]
) -> Float[Tensor, "steps count heads n n"]:
    """The weights of every head at every step, for tokens of which ``real`` are no filling. Errors are those of the model.

    >>> text = Language().draw(2)
    >>> weights_of(specimen("tied", heads=4, steps=3), text.tokens, text.real).shape
    torch.Size([3, 2, 4, 35, 35])
    """
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

    >>> text = Language().draw(100)
    >>> keys, rows = rows_of(text, torch.zeros_like(text.real))["shown"]  # with nothing hidden
    >>> bool(keys[rows].any(-1).all()), bool(rows[~text.real].any())
    (True, False)
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
