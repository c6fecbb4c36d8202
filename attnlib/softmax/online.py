"""Softmax over keys that arrive in parts: what to remember of each part, and how two parts merge."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_floating, check_kind, check_number, check_tensors, check_vectors
from attnlib._core.numerics import boltzmann, capped, widened
from attnlib._core.values import check_finite, check_result
from attnlib.softmax.records import PartialSoftmax


def partial_softmax(
    scores: Float[Tensor, "*batch n m"], value: Float[Tensor, "*batch m c"], *, beta: float | int = 1.0
) -> PartialSoftmax:
    r"""Average the values of one part of the keys, and remember the logarithm of the sum of its Boltzmann factors.

    .. math:: a = \sum_j p_j v_j, \qquad p = \mathrm{softmax}(\beta s), \qquad \ln Z = \ln \sum_j e^{\beta s_j}

    Args:
        scores, value: ``[*batch, n, m]`` and ``[*batch, m, c]``, finite, of one dtype, ``m >= 1``.
        beta: a finite number above zero.

    Raises:
        ValueError: shapes that do not fit, mixed dtypes, non-finite entries, ``beta <= 0``.

    >>> scores, value = torch.tensor([[0.0, 1.0, 2.0]]), torch.eye(3)
    >>> partial_softmax(scores, value).average  # with the unit vectors as values: the weights themselves
    tensor([[0.0900, 0.2447, 0.6652]])
    """
    check_number("beta", beta, above=0)
    check_tensors(scores=scores, value=value)
    expected = (*scores.shape[:-2], scores.shape[-1] if scores.ndim else 0)
    if scores.ndim < 2 or value.ndim < 2 or value.shape[:-1] != expected:
        shapes = f"scores has shape {tuple(scores.shape)} and value {tuple(value.shape)}"
        raise ValueError(f"{shapes}; expected [*batch, n, m] and [*batch, m, c]")
    check_vectors("scores", scores)
    check_floating(scores=scores, value=value)
    check_finite(value=value)
    wide, value = widened(scores), widened(value)
    top = wide.detach().amax(-1, keepdim=True)
    log_sum = (capped(beta, wide) * (wide - top)).logsumexp(-1)
    return PartialSoftmax(check_result(boltzmann(wide, beta) @ value, "value is"), top[..., 0], log_sum, beta)


def merge(first: PartialSoftmax, second: PartialSoftmax) -> PartialSoftmax:
    r"""Softmax over both parts together: each part's average, weighted by the part's share of the partition function.

    .. math:: a = \frac{Z_1 a_1 + Z_2 a_2}{Z_1 + Z_2}, \qquad \ln Z = \ln(e^{\ln Z_1} + e^{\ln Z_2})

    The parts have the same shapes, ``[*batch, n, c]`` and ``[*batch, n]``. The order does not matter, and no exponential
    of a positive number is taken.

    Raises:
        ValueError: averages of different shapes, dtypes or devices, different temperatures.

    Source: Milakov and Gimelshein 2018, section 3.1, for the sums; here for normalised averages.

    >>> scores, value = torch.tensor([[0.0, 1.0, 2.0]]), torch.eye(3)
    >>> parts = [partial_softmax(scores[:, seen], value[seen]) for seen in (slice(0, 1), slice(1, 3))]
    >>> merge(*parts).average  # as if all three keys had come at once
    tensor([[0.0900, 0.2447, 0.6652]])
    """
    for name, part in (("first", first), ("second", second)):
        check_kind(name, part, PartialSoftmax, "a PartialSoftmax")
    check_floating(first=first.average, second=second.average)
    if first.average.shape != second.average.shape:
        shapes = f"first has averages of shape {tuple(first.average.shape)}, second of {tuple(second.average.shape)}"
        raise ValueError(f"{shapes}; expected the same shape")
    if first.beta != second.beta:
        raise ValueError(f"first has beta {first.beta}, second {second.beta}; expected the same temperature")
    top = torch.maximum(first.top, second.top)
    beta = capped(first.beta, top)
    logs = torch.stack([part.log_sum + beta * (part.top - top) for part in (first, second)], -1)
    shares = logs.softmax(-1)
    average = shares[..., :1] * first.average + shares[..., 1:] * second.average
    return PartialSoftmax(average, top, logs.logsumexp(-1), first.beta)


def online_softmax(parts: Iterable[tuple[Tensor, Tensor]], *, beta: float | int = 1.0) -> PartialSoftmax:
    """Softmax attention over keys that arrive in parts, each seen once and then forgotten.

    Args:
        parts: any iterable of scores ``[*batch, n, m]`` and values ``[*batch, m, c]``; m may differ from part to part.
        beta: a finite number above zero.

    Returns:
        The average of all values, ``[*batch, n, c]``, and the log partition function, ``[*batch, n]``.

    Raises:
        ValueError: no parts; otherwise as :func:`partial_softmax` and :func:`merge`.

    Source: Milakov and Gimelshein 2018; Rabe and Staats 2021.

    >>> scores, value = torch.tensor([[0.0, 1.0, 2.0]]), torch.eye(3)
    >>> online_softmax((scores[:, j : j + 1], value[j : j + 1]) for j in range(3)).average
    tensor([[0.0900, 0.2447, 0.6652]])
    """
    if not isinstance(parts, Iterable) or (isinstance(parts, Tensor) and not parts.ndim):
        raise ValueError(f"parts is a {type(parts).__name__}; expected an iterable of pairs of scores and values")
    check_number("beta", beta, above=0)
    total: PartialSoftmax | None = None
    for pair in parts:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"parts has a {type(pair).__name__}; expected pairs of scores and values")
        try:
            part = partial_softmax(*pair, beta=beta)
            total = part if total is None else merge(total, part)
        except ValueError as error:
            raise ValueError(f"parts has a pair that does not do: {error}") from None
    if total is None:
        raise ValueError("parts is empty; expected at least one pair of scores and values")
    return total
