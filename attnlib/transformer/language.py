"""A model of tokens: an embedding, a stack, and a map back to tokens. What can be examined has these three parts."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnlib._core.checks import check_count, check_device, check_dtype, check_flag, check_kind, check_number, check_tensors
from attnlib._core.numerics import differentiable
from attnlib._core.values import check_result, refuted
from attnlib.transformer.stack import Stack


class LanguageModel(nn.Module):
    r"""An embedding, a stack and a readout: the three parts that a model must have to be examined.

    .. math:: \mathrm{logits} = \mathrm{readout}\big(\mathrm{stack}(\mathrm{embed}(\mathrm{tokens}))\big)

    Any module with attributes of these names can be given to :func:`attnlib.transformer.examine`; this one puts them together.

    Args:
        embed: a module that makes ``[*batch, n, dim]`` of tokens: an :class:`Embedding`, an ``nn.Linear`` of patches.
        stack: a :class:`Stack`; heads are read where its blocks have a ``mixer`` that is a :class:`attnlib.attention.Mixer`.
        readout: a module that makes logits ``[*batch, n, words]`` of the last state; None (default) where there is none, and
            then a call is an error, and :meth:`states` is not.

    Called with tokens ``[*batch, n]`` and maybe a boolean mask ``[*batch, n]``, True for what is a token and no padding, it
    returns logits ``[*batch, n, words]``.

    Raises:
        ValueError: a part that is not a module of its kind; in the call, what the parts raise, and a missing readout.

    >>> from attnlib.attention import SoftmaxAttention
    >>> from attnlib.transformer import Block, Embedding, Stack
    >>> stack = Stack(Block(SoftmaxAttention(8, heads=2), feed_forward=16), steps=3)
    >>> model = LanguageModel(Embedding(20, 8, places=10), stack, torch.nn.Linear(8, 20))
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 20])
    """

    def __init__(self, embed: nn.Module, stack: Stack, readout: nn.Module | None = None) -> None:
        super().__init__()
        check_kind("embed", embed, nn.Module, "a module")
        check_kind("stack", stack, Stack, "a Stack")
        if readout is not None:
            check_kind("readout", readout, nn.Module, "a module")
        self.embed, self.stack, self.readout = embed, stack, readout

    def forward(self, tokens: Tensor, mask: Bool[Tensor, "*batch n"] | None = None) -> Float[Tensor, "*batch n words"]:
        """Logits ``[*batch, n, words]`` of tokens ``[*batch, n]``: see the class for shapes and errors."""
        if self.readout is None:
            raise ValueError("readout is None; expected a model with a map back to tokens, or a call of states")
        x, keys = self._begin(tokens, mask)
        with _named_tokens():
            logits: Tensor = self.readout(self.stack(x, mask=keys))
        return check_result(logits, "tokens, or the parameters that make logits of them, are")

    def states(self, tokens: Tensor, mask: Bool[Tensor, "*batch n"] | None = None) -> Float[Tensor, "states *batch n dim"]:
        """The tokens' states before the first step and after each, ``[steps + 1, *batch, n, dim]``, without the last norm.

        Errors are those of the call.
        """
        x, keys = self._begin(tokens, mask)
        with _named_tokens():
            return self.stack.states(x, mask=keys)

    def _begin(self, tokens: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The first state and the mask of keys, looked at."""
        check_tensors(tokens=tokens)
        x = self.embed(differentiable(tokens) if torch.is_grad_enabled() else tokens)
        if not isinstance(x, Tensor) or x.ndim < 2 or not x.shape[-2]:
            made = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"tokens has shape {tuple(tokens.shape)}, of which embed makes {made}; expected [*batch, n, dim]")
        return check_result(x, "tokens, or the parameters of embed, are"), key_mask(mask, tuple(x.shape[:-1]))


class Embedding(nn.Module):
    r"""What a token is and where it stands, as a vector: the sum of learned vectors, maybe normalised and widened.

    .. math:: x_i = W\, \mathrm{LN}\big(u_{\mathrm{token}_i} + v_i + w\big) + b

    Args:
        vocabulary, dim: number of tokens, and the width of their vectors.
        places: number of places that have a vector v, which is the longest text; default None, no places.
        kind: add the vector w of a kind, the same for all tokens, as BERT does for its first sentence; default False.
        norm: normalise the sum; default False.
        widened: widen it by a linear map to so many components, as ALBERT does; default None, no map.
        epsilon: what the norm adds to the variance; default 1e-5.
        device, dtype: of the parameters, as in ``nn.Linear``.

    Called with whole numbers ``[*batch, n]``, it returns ``[*batch, n, dim]``, or of the width ``widened``.

    Raises:
        ValueError: sizes that are not positive integers; in the call, tokens that are not whole numbers below ``vocabulary``,
            more of them than there are places, tokens on another device than the words, and vectors that are not finite.

    Source: Radford et al. 2019 (words and places), Devlin et al. 2019 (kinds and norm), Lan et al. 2020 (widened).

    >>> Embedding(20, 4, places=10, widened=8)(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        vocabulary: int,
        dim: int,
        *,
        places: int | None = None,
        kind: bool = False,
        norm: bool = False,
        widened: int | None = None,
        epsilon: float | int = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_device(device)
        check_dtype(dtype)
        check_flag(kind=kind, norm=norm)
        self.vocabulary, self.dim = check_count("vocabulary", vocabulary), check_count("dim", dim)
        self.longest = None if places is None else check_count("places", places)
        self.words = nn.Embedding(self.vocabulary, self.dim, device=device, dtype=dtype)
        self.places = None
        if self.longest is not None:
            self.places = nn.Embedding(self.longest, self.dim, device=device, dtype=dtype)
        self.kind = nn.Parameter(torch.zeros(self.dim, device=device, dtype=dtype)) if kind else None
        epsilon = check_number("epsilon", epsilon, above=0)
        self.norm = nn.LayerNorm(self.dim, epsilon, device=device, dtype=dtype) if norm else None
        self.widen = None
        if widened is not None:
            self.widen = nn.Linear(self.dim, check_count("widened", widened), device=device, dtype=dtype)

    def forward(self, tokens: Int[Tensor, "*batch n"]) -> Float[Tensor, "*batch n dim"]:
        """Vectors ``[*batch, n, dim]`` of tokens ``[*batch, n]``: see the class for shapes and errors."""
        check_tokens("tokens", tokens, self.vocabulary)
        n, device = tokens.shape[-1], self.words.weight.device
        if tokens.device != device:
            raise ValueError(f"tokens is on {tokens.device} and words on {device}; expected one device")
        if self.longest is not None and n > self.longest:
            raise ValueError(f"tokens has {n} of them in a row; expected at most {self.longest}, which have places")
        tokens = tokens.long()  # which alone can be looked up everywhere
        x: Tensor = self.words(differentiable(tokens) if torch.is_grad_enabled() else tokens)
        if self.places is not None:
            x = x + self.places(torch.arange(n, device=tokens.device))
        x = check_result(x if self.kind is None else x + self.kind, "tokens, or the vectors of their words and places, are")
        x = x if self.norm is None else self.norm(x)
        return x if self.widen is None else self.widen(x)


@contextmanager
def _named_tokens() -> Iterator[None]:
    """What the stack or the readout refuses, said of what the caller gave."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"of these tokens, {error}") from error


def key_mask(mask: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """A mask of tokens, of the shape ``[*batch, n]``, as one of keys, ``[*batch, 1, n]``."""
    if mask is None:
        return None
    check_tensors(mask=mask)
    if mask.dtype != torch.bool or tuple(mask.shape) != shape:
        raise ValueError(f"mask is {mask.dtype} of shape {tuple(mask.shape)}; expected booleans {shape}")
    return mask.unsqueeze(-2)


def check_tokens(name: str, tokens: Tensor, vocabulary: int | None = None) -> None:
    """Raise unless they are whole numbers ``[*batch, n]`` from 0 on, below the vocabulary."""
    check_tensors(**{name: tokens})
    whole = not (tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool)
    if not whole or tokens.ndim < 1:
        raise ValueError(f"{name} is {tokens.dtype} of shape {tuple(tokens.shape)}; expected whole numbers [*batch, n]")
    most = torch.iinfo(tokens.dtype).max if vocabulary is None else vocabulary - 1
    if tokens.numel() and refuted(lambda: ((tokens >= 0) & (tokens <= most)).all()):
        raise ValueError(f"{name} has numbers from {int(tokens.min())} to {int(tokens.max())}; expected 0 to {most}")
