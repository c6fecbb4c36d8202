"""A memory network: attention in several hops, each asking with what the last one read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnlib._core.checks import (
    WHOLE,
    Empty,
    Scalar,
    check_beta,
    check_broadcast,
    check_choice,
    check_count,
    check_flag,
    check_floating,
    check_states,
    check_tensors,
)
from attnlib._core.numerics import column, widened
from attnlib._core.values import check_finite, check_result, refuted
from attnlib.attention import attention_weights, sinusoids


@dataclass(frozen=True)
class Hops:
    """What several hops did: ``query [*batch, hops, d]``, ``weights [*batch, hops, m]``, ``reading [*batch, hops, c]``.

    >>> read = multi_hop(torch.tensor([1.0, 0.0]), torch.eye(2), torch.eye(2), [torch.eye(2)])
    >>> read.query.shape, read.weights.shape, read.reading.shape
    (torch.Size([2, 2]), torch.Size([2, 2]), torch.Size([2, 2]))
    """

    query: Float[Tensor, "*batch hops d"]
    weights: Float[Tensor, "*batch hops m"]
    reading: Float[Tensor, "*batch hops c"]


def multi_hop(
    query: Float[Tensor, "*batch d"],
    key: Float[Tensor, "*batch m d"],
    value: Float[Tensor, "*batch m c"],
    maps: Sequence[Float[Tensor, "d c"]] = (),
    *,
    keep: bool = True,
    beta: Scalar | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    empty: Empty = "error",
) -> Hops:
    r"""Attend, turn what was read into the next question, and attend again: one hop more than there are maps.

    .. math:: o^t = \sum_j a^t_j v_j, \qquad a^t_j \propto \exp(\beta\, k_j \cdot q^t), \qquad q^{t+1} = q^t + R^t o^t

    The maps turn what was found into what is to be looked for. With maps of zero every hop reads what the first one reads.

    Args:
        query: the question, ``[*batch, d]``.
        key, value: the memories, ``[*batch, m, d]`` and ``[*batch, m, c]``.
        maps: the matrices ``R``, each ``[d, c]``.
        keep: whether the old question stays in the new one; otherwise ``q' = R o``.
        beta: inverse temperature, default ``d ** -0.5``; a number in ``[0, inf]`` or a finite tensor that broadcasts to
            ``[*batch]``, one for each question.
        mask: boolean, broadcasts to ``[*batch, m]``; True means: may be attended to.
        empty: a mask that allows nothing is an ``"error"`` (default), or its readings are ``"zero"``.

    Returns:
        :class:`Hops`.

    Raises:
        ValueError: shapes that do not fit, mixed or integer dtypes, non-finite entries, and what
            :func:`~attnlib.attention.attend` raises about beta and the mask.

    Source: Sukhbaatar et al. 2015, section 2.2, with a map on what was read.

    >>> key = torch.eye(2)
    >>> turn = torch.tensor([[-1.0, 1.0], [1.0, -1.0]])  # away from what was read, towards the other
    >>> multi_hop(key[0], key, key, [turn], beta=float("inf")).weights
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_tensors(query=query, key=key, value=value)
    check_flag(keep=keep)
    if query.ndim < 1 or key.ndim < 2 or (*key.shape[:-2], key.shape[-1]) != tuple(query.shape):
        shapes = f"query has shape {tuple(query.shape)} and key {tuple(key.shape)}"
        raise ValueError(f"{shapes}; expected [*batch, d] and [*batch, m, d]")
    query = query[..., None, :]
    check_states("query", query, "key", key)
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(f"value has shape {tuple(value.shape)}; expected {(*key.shape[:-1], 'c')}, one row per key")
    check_floating(query=query, value=value)
    check_finite(value=value)
    shape = (query.shape[-1], value.shape[-1])
    if not isinstance(maps, Sequence | nn.ParameterList):
        raise ValueError(f"maps is a {type(maps).__name__}; expected a sequence of matrices")
    for matrix in maps:
        check_tensors(maps=matrix)
        if tuple(matrix.shape) != shape:
            raise ValueError(f"maps has a matrix of shape {tuple(matrix.shape)}; expected {shape}")
        check_floating(query=query, maps=matrix)
        check_finite(maps=matrix)
    if beta is not None:
        beta = column(check_beta(beta, limits=(0, math.inf), like=query, shape=query.shape[:-2]))
    if isinstance(mask, Tensor) and mask.ndim:
        check_tensors(mask=mask)
        mask = mask[..., None, :]
    kept, key, value = query.dtype, widened(key), widened(value)
    queries, weights, readings = [widened(query)], [], []
    for after in (*maps, None):
        weights.append(attention_weights(queries[-1], key, beta=beta, mask=mask, empty=empty))
        readings.append(weights[-1] @ value)
        if after is not None:
            found = readings[-1] @ widened(after).mT
            queries.append(check_result(queries[-1] + found if keep else found, "maps or value are"))
    asked, seen, read = (torch.cat(rows, -2).to(kept) for rows in (queries, weights, readings))
    return Hops(check_result(asked, "maps or value are"), seen, read)


class MemoryNetwork(nn.Module):
    r"""Answer questions about a list of facts by several hops of soft attention.

    A sentence is the sum of its words' embeddings; a word has one for each place in the sentence. Facts have embeddings as
    keys and others as values, the question has its own. The last reading goes through a linear map to a score for each word.
    Nothing in this network tells one order of the facts from another, unless places are added to the keys.

    Args:
        vocabulary: number of words.
        words: words in a sentence, those that fill up included.
        dim: width of queries, keys and values.
        hops: number of hops, each but the last with a map of its own.
        places: ``"none"`` (default), ``"sinusoids"``, or ``"learned"`` for places that are parameters.
        most: largest number of facts, needed by learned places only.
        keep: whether a hop keeps the question and adds to it, as in :func:`multi_hop`.

    The call takes ``facts [batch, m, words]`` and ``question [batch, words]``, numbers of words, and a boolean mask
    ``[batch, m]`` (True: may be attended to); it returns scores ``[batch, vocabulary]``.

    Raises:
        ValueError: sizes that are not positive integers, an unknown kind of places; in the call, wrong shapes or dtypes,
            numbers that are not of words, more facts than there are places, a mask that allows nothing.

    Source: Sukhbaatar et al. 2015.

    >>> facts, question = torch.zeros(1, 6, 3, dtype=torch.long), torch.zeros(1, 3, dtype=torch.long)
    >>> MemoryNetwork(10, 3, 8, hops=2)(facts, question).shape
    torch.Size([1, 10])
    """

    def __init__(
        self,
        vocabulary: int,
        words: int,
        dim: int,
        *,
        hops: int = 1,
        places: Literal["none", "sinusoids", "learned"] = "none",
        most: int | None = None,
        keep: bool = True,
    ) -> None:
        super().__init__()
        vocabulary, words = check_count("vocabulary", vocabulary), check_count("words", words)
        dim, hops = check_count("dim", dim), check_count("hops", hops)
        check_choice("places", places, ("none", "sinusoids", "learned"))
        check_flag(keep=keep)
        most = check_count("most", most) if most is not None else None
        self.vocabulary, self.words, self.hops, self.places, self.keep = vocabulary, words, hops, places, keep
        self.question, self.key, self.value = (nn.Embedding(words * vocabulary, dim) for _ in range(3))
        for embedding in (self.question, self.key, self.value):
            nn.init.normal_(embedding.weight, std=0.5)
        if places == "sinusoids" and dim % 2:
            raise ValueError(f"dim is {dim}; expected an even number, a sine and a cosine for each frequency")
        if places == "learned":
            if most is None:
                raise ValueError('most is None; expected an integer of at least 1, since places is "learned"')
            self.place = nn.Parameter(0.5 * torch.randn(most, dim))
        self.maps = nn.ParameterList(torch.randn(dim, dim) * (3 * dim) ** -0.5 for _ in range(hops - 1))
        self.answer = nn.Linear(dim, vocabulary)

    def forward(
        self,
        facts: Int[Tensor, "batch m words"],
        question: Int[Tensor, "batch words"],
        mask: Bool[Tensor, "batch m"] | None = None,
    ) -> Float[Tensor, "batch vocabulary"]:
        """Score every word as an answer: see the class for shapes and errors."""
        return check_result(self.answer(self.explain(facts, question, mask).reading[:, -1]), "the parameters are")

    def explain(
        self,
        facts: Int[Tensor, "batch m words"],
        question: Int[Tensor, "batch words"],
        mask: Bool[Tensor, "batch m"] | None = None,
    ) -> Hops:
        """Queries, weights and readings of every hop, ``[batch, hops, ...]``. Shapes and errors are those of the call."""
        check_tensors(facts=facts, question=question)
        batch, m = facts.shape[:2] if facts.ndim == 3 else (len(question) if question.ndim else 1, 1)
        for name, numbers, shape in (("facts", facts, (batch, m, self.words)), ("question", question, (batch, self.words))):
            if tuple(numbers.shape) != shape or m == 0:
                sizes = "[batch, m, words]" if name == "facts" else "[batch, words]"
                raise ValueError(
                    f"{name} has shape {tuple(numbers.shape)}; expected {sizes} with {batch} stories, m >= 1, as many in facts"
                )
            if numbers.dtype not in WHOLE:
                raise ValueError(f"{name} has dtype {numbers.dtype}; expected integers, the numbers of words")
            check_broadcast(name, numbers, shape, self.key.weight.device)
            if refuted(((numbers >= 0) & (numbers < self.vocabulary)).all):
                low, high = int(numbers.min()), int(numbers.max())
                raise ValueError(f"{name} has numbers from {low} to {high}; expected 0 <= number < {self.vocabulary}")
        key, value = self._sentence(self.key, facts), self._sentence(self.value, facts)
        if self.places == "learned":
            if m > len(self.place):
                raise ValueError(f"facts has shape {tuple(facts.shape)}; expected at most {len(self.place)} facts a story")
            key = key + self.place[:m]
        elif self.places == "sinusoids":
            key = key + sinusoids(m, key.shape[-1], dtype=key.dtype, device=key.device)
        if isinstance(mask, Tensor) and tuple(mask.shape) != (batch, m):
            raise ValueError(f"mask has shape {tuple(mask.shape)}; expected {(batch, m)}")
        return multi_hop(self._sentence(self.question, question), key, value, list(self.maps), keep=self.keep, mask=mask)

    def _sentence(self, embedding: nn.Embedding, numbers: Tensor) -> Tensor:
        places = torch.arange(self.words, device=numbers.device) * self.vocabulary
        return embedding(numbers + places).sum(-2)
