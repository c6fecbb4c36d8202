"""An encoder-decoder for translation with global attention, after Luong et al. 2015.

It is longer than 250 lines because encoder, decoder and five scores are one network, which is read as one.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlib._core.checks import check_broadcast, check_choice, check_count, check_flag, check_number, check_tensors
from attnlib._core.values import check_result, refuted
from attnlib.attention import attention_weights
from attnlib.course.models.decoding import beam_search
from attnlib.course.models.words import check_words, kept
from attnlib.softmax import softmax

PAD, BOS, EOS, UNKNOWN = range(4)
"""The four special tokens that begin every vocabulary are padding, begin, end, and any word that it does not have."""

Score = Literal["none", "dot", "scaled_dot", "general", "additive"]
"""How a query is compared with the encoder's states."""

SCORES: tuple[Score, ...] = ("none", "dot", "scaled_dot", "general", "additive")


@dataclass(frozen=True)
class DecodingRecord:
    """What a pass over given targets did, over ``n`` target and ``m`` source positions.

    ``logits [batch, n, words]``, ``weights`` and ``scores [batch, n, m]`` (before beta), and what the score compares:
    ``query [batch, n, hidden]`` and ``key [batch, m, hidden]``.

    >>> model = Seq2Seq(10, 12, hidden=8, embedding=4)
    >>> seen = model.explain(torch.tensor([[4, 5, 6]]), given=torch.tensor([[1, 7]]))  # three words, two of the target
    >>> seen.weights.shape, seen.weights.sum(-1).detach().round(decimals=3)
    (torch.Size([1, 2, 3]), tensor([[1., 1.]]))
    """

    logits: Float[Tensor, "batch n words"]
    weights: Float[Tensor, "batch n m"]
    scores: Float[Tensor, "batch n m"]
    query: Float[Tensor, "batch n hidden"]
    key: Float[Tensor, "batch m hidden"]


class Seq2Seq(nn.Module):
    r"""Bidirectional LSTM encoder, LSTM decoder, attention over all encoder states, input feeding.

    The decoder starts from the encoder's last states (both directions side by side). At step t its top state :math:`h_t` asks
    the encoder states :math:`\bar h_s` and is combined with the answer:

    .. math:: c_t = \sum_s p_{ts} \bar h_s, \qquad \tilde h_t = \tanh(W_c [c_t; h_t]), \qquad \text{logits}_t = W_o \tilde h_t

    with :math:`p_{t\cdot} = \mathrm{softmax}(\beta\, \mathrm{score}(h_t, \bar h_s))`. Input feeding gives
    :math:`\tilde h_{t-1}` to the decoder's first layer beside the word.

    Args:
        source_words, target_words: sizes of the vocabularies, in which 0 to 3 are padding, begin, end, unknown.
        hidden: width of the decoder's states, even: each direction of the encoder has half.
        embedding: width of the word vectors.
        layers: LSTM layers, in the encoder and in the decoder.
        score: ``"dot"`` (beta 1), ``"scaled_dot"`` (beta ``hidden ** -0.5``), ``"general"`` (``h W k``), ``"additive"``
            (``v . tanh(W_1 h + W_2 k)``), or ``"none"``: no context at all.
        normalise: give queries and keys mean 0 and variance 1 (layer normalisation without parameters) before the score.
        input_feeding: whether the decoder sees its last combined state.

    Raises:
        ValueError: sizes that are not positive integers, an odd hidden, an unknown score; in the calls, numbers that are not
            words, masks that do not fit, an empty sentence.

    Source: Luong et al. 2015, sections 3.1 and 3.3; the additive score is that of Bahdanau et al. 2015.

    >>> model = Seq2Seq(10, 12, hidden=8, embedding=4)  # vocabularies of 10 and 12 words
    >>> model(torch.tensor([[4, 5, 6]]), torch.tensor([[1, 7]])).shape  # scores of the next word after each given one
    torch.Size([1, 2, 12])
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        *,
        hidden: int = 64,
        embedding: int = 64,
        layers: int = 1,
        score: Score = "scaled_dot",
        normalise: bool = False,
        input_feeding: bool = True,
    ) -> None:
        super().__init__()
        source_words, target_words = check_count("source_words", source_words, 4), check_count("target_words", target_words, 4)
        hidden, embedding = check_count("hidden", hidden, 2), check_count("embedding", embedding)
        layers = check_count("layers", layers)
        if hidden % 2:
            raise ValueError(f"hidden is {hidden}; expected an even number: each direction of the encoder has half")
        check_choice("score", score, SCORES)
        check_flag(normalise=normalise, input_feeding=input_feeding)
        self.score, self.normalise, self.input_feeding, self.hidden = score, normalise, input_feeding, hidden
        self.beta = hidden**-0.5 if score == "scaled_dot" else 1.0
        self.source_embedding = nn.Embedding(source_words, embedding, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_words, embedding, padding_idx=PAD)
        self.encoder = nn.LSTM(embedding, hidden // 2, layers, batch_first=True, bidirectional=True)
        fed = embedding + hidden if input_feeding else embedding
        self.cells = nn.ModuleList(nn.LSTMCell(hidden if layer else fed, hidden) for layer in range(layers))
        self.combine = nn.Linear(hidden if score == "none" else 2 * hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, target_words)
        if score in ("general", "additive"):
            self.to_query = nn.Linear(hidden, hidden, bias=False)
        if score == "additive":
            self.to_key, self.to_score = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, 1, bias=False)

    def forward(
        self, source: Int[Tensor, "batch m"], given: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch m"] | None = None
    ) -> Float[Tensor, "batch n words"]:
        """Logits of the next word after each given one (teacher forcing), ``[batch, n, words]``.

        Takes numbers of words ``[batch, m]`` and ``[batch, n]``; True in the mask ``[batch, m]`` marks words (default: what is
        not padding). Raises ValueError as the class says.
        """
        return self._logits(self._unroll(source, given, mask)[0])

    def explain(
        self, source: Int[Tensor, "batch m"], given: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch m"] | None = None
    ) -> DecodingRecord:
        """The same pass with everything that a figure needs; weights and scores are zero where there is no attention.

        Shapes and errors are those of the call; returns a :class:`DecodingRecord`.
        """
        combined, query, states, mask = self._unroll(source, given, mask)
        query, key = self._comparable(query), self._comparable(states)
        if self.score == "none":
            scores = weights = torch.zeros(*given.shape, source.shape[1], dtype=query.dtype, device=query.device)
        else:
            prepared = self._prepared(states)
            scores, weights = self._scores(query, prepared), self._weights(query, prepared, mask)
        return DecodingRecord(self._logits(combined), weights, scores, query, key)

    def greedy(
        self, source: Int[Tensor, "batch m"], mask: Bool[Tensor, "batch m"] | None = None, *, longest: int = 30
    ) -> Int[Tensor, "batch n"]:
        """The most probable word at every step, until every sentence has ended; after its end a sentence is padding.

        Takes ``[batch, m]``, returns ``[batch, n]`` with n at most ``longest``. Errors are those of :meth:`beam`.
        """
        return self.beam(source, mask, width=1, longest=longest)

    @torch.no_grad()
    def beam(
        self,
        source: Int[Tensor, "batch m"],
        mask: Bool[Tensor, "batch m"] | None = None,
        *,
        width: int = 4,
        longest: int = 30,
        length_power: float | int = 1.0,
    ) -> Int[Tensor, "batch n"]:
        """Keep the ``width`` most probable beginnings at every step; of the ends return the best per word.

        Takes ``[batch, m]``, returns ``[batch, n]``, padded after the end, with n at most ``longest``. A sentence of ``L``
        tokens (its end counts) and log-probability ``l`` is worth ``l / L ** length_power``. Width 1 is greedy decoding. No
        sentence says the token that begins one, nor padding before its end.

        Raises:
            ValueError: a width or longest below 1, and as the call.
        """
        width, longest = check_count("width", width), check_count("longest", longest)
        length_power = check_number("length_power", length_power)
        states, state, mask = self._encode(source, mask)
        if source.is_meta:
            raise ValueError("source is on meta; expected words that can be read: the next one depends on the last")
        states, mask = states.repeat_interleave(width, 0), mask.repeat_interleave(width, 0)
        prepared, feed = self._prepared(states), states.new_zeros(len(source), self.hidden)

        def step(word: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            feed, *cells = state
            pairs = list(zip(cells[0::2], cells[1::2], strict=True))
            feed, _, pairs = self._step(self.target_embedding(word), feed, pairs, states, prepared, mask)
            return self._logits(feed), [feed, *(tensor for pair in pairs for tensor in pair)]

        first = [feed, *(tensor for pair in state for tensor in pair)]
        return beam_search(step, first, begin=BOS, end=EOS, pad=PAD, width=width, longest=longest, length_power=length_power)

    def log_probability(
        self, source: Int[Tensor, "batch m"], said: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch m"] | None = None
    ) -> Float[Tensor, "batch"]:
        r"""Log-probability of translations, in nats, ``[batch]``; it differentiates in the parameters.

        .. math:: \ln P(y \mid x) = \sum_{t} \ln P(y_t \mid y_{<t}, x)

        Takes the numbers of the source's words ``[batch, m]`` and those of the translations ``[batch, n]`` as :meth:`beam`
        returns them, padded after the end, without the token that begins a sentence. Padding counts nothing.

        Raises:
            ValueError: translations that begin with padding, have the token that begins a sentence, or go on after their end
                with anything but padding, and as the call.
        """
        check_words("source", source, self.source_embedding)
        check_words("said", said, self.target_embedding)
        if len(said) != len(source):
            raise ValueError(f"said has shape {tuple(said.shape)} and source {tuple(source.shape)}; expected equal batches")
        words = said != PAD
        ended = (said == EOS) | ~words
        if refuted(lambda: words[:, 0].all() and (~words[:, 1:] | ~ended[:, :-1]).all() and (said != BOS).all()):
            raise ValueError("said has words after an end or padding, or a second beginning; expected words, then only padding")
        given = torch.cat([torch.full_like(said[:, :1], BOS), said[:, :-1]], 1)
        each = self(source, given, mask).log_softmax(-1).gather(2, kept(said)[..., None])[..., 0]
        return torch.where(words, each, 0.0).sum(1)

    def _unroll(self, source: Tensor, given: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Teacher forcing: combined states and queries ``[batch, n, hidden]``, encoder states, mask."""
        states, state, mask = self._encode(source, mask)
        check_words("given", given, self.target_embedding)
        if len(given) != len(source):
            raise ValueError(f"given has shape {tuple(given.shape)} and source {tuple(source.shape)}; expected equal batches")
        prepared, feed = self._prepared(states), states.new_zeros(len(source), self.hidden)
        combined, queries = [], []
        for word in self.target_embedding(kept(given)).unbind(1):
            feed, query, state = self._step(word, feed, state, states, prepared, mask)
            combined.append(feed)
            queries.append(query)
        return torch.stack(combined, 1), torch.stack(queries, 1), states, mask

    def _encode(self, source: Tensor, mask: Tensor | None) -> tuple[Tensor, list[tuple[Tensor, Tensor]], Tensor]:
        """Encoder states ``[batch, m, hidden]``, the decoder's first state per layer, the mask."""
        check_words("source", source, self.source_embedding)
        mask = source != PAD if mask is None else mask
        check_tensors(mask=mask)
        if mask.shape != source.shape or mask.dtype != torch.bool:
            raise ValueError(f"mask is {mask.dtype} of shape {tuple(mask.shape)}; expected torch.bool, {tuple(source.shape)}")
        check_broadcast("mask", mask, source.shape, source.device)
        lengths = mask.sum(1)
        if refuted(lambda: (lengths > 0).all()):
            raise ValueError("source has an empty sentence; expected at least one word in each, and a True in its mask")
        if refuted(lambda: (mask.cumsum(1) == torch.arange(1, mask.shape[1] + 1, device=mask.device))[mask].all()):
            raise ValueError("mask has a gap; expected the words of a sentence first, then padding")
        words = self.source_embedding(kept(source))
        if mask.is_meta or bool(mask.all()):
            states, last = self.encoder(words)
        else:
            packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
            states, last = self.encoder(packed)
            states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        both = [torch.cat([t[0::2], t[1::2]], -1) for t in last]  # [layers, batch, hidden]: the two directions side by side
        return states, list(zip(*both, strict=True)), mask

    def _step(
        self, word: Tensor, feed: Tensor, state: list[tuple[Tensor, Tensor]], states: Tensor, prepared: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, list[tuple[Tensor, Tensor]]]:
        """One word: the combined state, the query, the new state of the cells."""
        below, after = torch.cat([word, feed], -1) if self.input_feeding else word, []
        for cell, before in zip(self.cells, state, strict=True):
            below, memory = cell(below, before)
            after.append((below, memory))
        if self.score == "none":
            return self.combine(below).tanh(), below, after
        weights = self._weights(self._comparable(below)[:, None], prepared, mask)
        context = (weights @ states)[:, 0]
        return self.combine(torch.cat([context, below], -1)).tanh(), below, after

    def _logits(self, combined: Tensor) -> Tensor:
        return check_result(self.out(combined), "the parameters are")

    def _comparable(self, states: Tensor) -> Tensor:
        return F.layer_norm(states, (self.hidden,)) if self.normalise else states

    def _prepared(self, states: Tensor) -> Tensor:
        """What of the score depends on the keys alone."""
        key = self._comparable(states)
        return self.to_key(key) if self.score == "additive" else key

    def _scores(self, query: Tensor, prepared: Tensor) -> Tensor:
        if self.score == "additive":
            return self.to_score((self.to_query(query)[:, :, None] + prepared[:, None]).tanh())[..., 0]
        return (self.to_query(query) if self.score == "general" else query) @ prepared.mT

    def _weights(self, query: Tensor, prepared: Tensor, mask: Tensor) -> Tensor:
        if self.score == "additive":
            return softmax(self._scores(query, prepared), mask=mask[:, None])
        query = self.to_query(query) if self.score == "general" else query
        return attention_weights(query, prepared, beta=self.beta, mask=mask[:, None])
