"""Words as numbers: the checks of what a network gets."""

import torch
from torch import Tensor, nn

from attnlib._core.checks import check_broadcast, check_tensors
from attnlib._core.numerics import differentiable
from attnlib._core.values import refuted


def check_words(name: str, numbers: Tensor, embedding: nn.Embedding) -> None:
    """Raise unless these are numbers of words ``[batch, words]`` that the embedding has."""
    check_tensors(**{name: numbers})
    words = embedding.num_embeddings
    if numbers.ndim != 2 or 0 in numbers.shape or numbers.dtype != torch.long:
        raise ValueError(f"{name} is {numbers.dtype} of shape {tuple(numbers.shape)}; expected torch.int64, [batch, words]")
    check_broadcast(name, numbers, numbers.shape, embedding.weight.device)
    if refuted(lambda: ((numbers >= 0) & (numbers < words)).all()):
        raise ValueError(f"{name} runs from {int(numbers.min())} to {int(numbers.max())}; expected 0 to {words - 1}")


def kept(numbers: Tensor) -> Tensor:
    """Numbers that autograd can keep for the way back."""
    return differentiable(numbers) if torch.is_grad_enabled() else numbers
