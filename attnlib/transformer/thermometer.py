"""The thermometer of a head whose right key is known: is it as sure as it is right?"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlib._core.checks import check_floating, check_tensors
from attnlib._core.numerics import widened
from attnlib._core.values import check_finite, check_visible


@dataclass(frozen=True)
class Thermometer:
    """What a thermometer reads: the ratio U and its standard error, both ``[]``, and the number of queries it was read at.

    Above one: the weights are too cold, more certain than right. Below: too hot. The error is NaN where one sample is all.

    >>> thermometer(torch.tensor([[[0.5, 0.5], [0.5, 0.5]]]), torch.tensor([[0, 1]])).ratio  # never sure, and right to be so
    tensor(1.)
    """

    ratio: Float[Tensor, ""]
    error: Float[Tensor, ""]
    queries: int


def thermometer(weights: Float[Tensor, "*texts n m"], right_keys: Int[Tensor, "*texts n"]) -> Thermometer:
    r"""Whether a head is as sure of itself as it is right: one, if its weights are the posterior of the right key.

    .. math:: U = \frac{\mathbb E \sum_j p_j^2}{\mathbb E\, p_{\mathrm{right}}}

    If the weights are the posterior, a second key drawn from them is distributed like the right one, so that both means are
    equal, at every temperature of the data. With weights ``p^b`` of a posterior U is above one for b > 1, below it for b
    between 0 and 1, and one at both.

    The standard error is that of a ratio of means. Its samples are the texts, whose queries are not independent,
    where two or more of them have a right key; else the queries.

    Args:
        weights: ``[*texts, n, m]``, at least 0; those of a query with a right key add up to one.
        right_keys: the right key of each query, ``[*texts, n]``, from 0 to m - 1; -1 where there is none.

    Returns:
        :class:`Thermometer`, without gradients. The ratio is infinite where no right key has weight.

    Raises:
        ValueError: shapes that do not fit, weights that are no probabilities, keys outside, no right key at all.

    Source: Nishimori 1980, the identity for inference with known parameters; the ratio estimator of Cochran 1977, chapter 6.

    >>> seen = torch.tensor([[[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]])
    >>> thermometer(seen, torch.tensor([[0, 1, 1, -1]])).ratio  # too sure: right twice of three times, at .9
    tensor(1.2947)
    """
    check_floating(weights=weights)
    check_tensors(right_keys=right_keys)
    check_visible(weights=weights, right_keys=right_keys)
    if weights.ndim < 2 or weights.shape[:-1] != right_keys.shape or not weights.shape[-1]:
        shapes = f"weights has shape {tuple(weights.shape)}, right_keys {tuple(right_keys.shape)}"
        raise ValueError(f"{shapes}; expected [*texts, n, m] with m >= 1 and [*texts, n]")
    if right_keys.is_floating_point() or right_keys.dtype == torch.bool or right_keys.is_complex():
        raise ValueError(f"right_keys is {right_keys.dtype}; expected whole numbers")
    right_keys = right_keys.long()  # torch does not compare unsigned numbers of 16 bits and more
    check_finite(weights=weights)
    if weights.numel() and (weights < 0).any():
        raise ValueError("weights has entries below 0; expected probabilities")
    known = right_keys >= 0
    if not known.any() or (right_keys >= weights.shape[-1]).any() or (right_keys < -1).any():
        raise ValueError(
            f"right_keys has no key, or some outside 0 to {weights.shape[-1] - 1}; expected -1 where there is none"
        )
    p = widened(weights).detach()
    if ((p.sum(-1) - 1).abs()[known] > 0.02).any():
        raise ValueError("weights has rows that do not add up to one; expected probabilities")
    right = p.gather(-1, right_keys.clamp(min=0).unsqueeze(-1))[..., 0]
    pairs = torch.stack([p.square().sum(-1), right]) * known
    ratio = pairs[0].sum() / pairs[1].sum()
    sums = pairs.reshape(2, -1, pairs.shape[-1]).sum(-1) if pairs.ndim > 2 else pairs[:, None].sum(-1)
    told = known.reshape(-1, known.shape[-1]).any(-1)
    samples = sums[:, told] if told.sum() > 1 else pairs[:, known]
    count = samples.shape[-1]
    spread = (samples[0] - ratio * samples[1]).square().sum()
    error = (spread * count / (count - 1)).sqrt() / pairs[1].sum() if count > 1 else torch.full_like(ratio, torch.nan)
    return Thermometer(ratio.to(weights.dtype), error.to(weights.dtype), int(known.sum()))
