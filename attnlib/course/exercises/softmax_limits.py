"""Exercises of page 1, softmax and its limits."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw
from attnlib.course.exercises._exercise import Exercise, Mistake
from attnlib.course.exercises._parts import Parts


def _rows() -> list[tuple[Tensor, float]]:
    return [(draw(4, 5, seed=seed), beta) for seed, beta in ((0, 0.7), (1, 2.5))]


def _variance(scores: Tensor, weights: Tensor) -> Tensor:
    mean = (weights * scores).sum(-1, keepdim=True)
    return (weights * (scores - mean).square()).sum(-1)


ENTROPY_SLOPE: Exercise[[Tensor, float]] = Exercise(
    reference=lambda s, b: -b * _variance(s, torch.softmax(b * s, -1)),
    inputs=_rows,
    mistakes={
        "no beta": Mistake(
            "A factor beta is missing: H contains beta times the mean score, and the slope of the mean score is the variance.",
            lambda s, b: -_variance(s, torch.softmax(b * s, -1)),
        ),
        "plus sign": Mistake(
            "The sign is turned: a larger beta is colder, and cooling lowers the entropy.",
            lambda s, b: b * _variance(s, torch.softmax(b * s, -1)),
        ),
        "variance of beta s": Mistake(
            "You took the variance of beta times the scores, which puts two more factors of beta in.",
            lambda s, b: -b * _variance(b * s, torch.softmax(b * s, -1)),
        ),
        "plain variance": Mistake(
            "The variance is taken under the weights p, not over all keys alike.",
            lambda s, b: -b * s.var(-1, unbiased=False),
        ),
        "second moment": Mistake(
            "You took the mean square of the scores; subtract the square of their mean.",
            lambda s, b: -b * (torch.softmax(b * s, -1) * s.square()).sum(-1),
        ),
    },
)


def _gap(scores: Tensor) -> Tensor:
    best = scores.topk(2, -1).values
    return best[:, 0] - best[:, 1]


SCALE: Exercise[[Tensor, float]] = Exercise(
    reference=lambda s, t: math.log((s.shape[-1] - 1) * t / (1 - t)) / _gap(s),
    inputs=lambda: [(draw(4, 5, seed=2), 0.9), (draw(3, 7, seed=3), 0.99)],
    mistakes={
        "two scores": Mistake(
            "That is enough for two scores. In the worst case all m - 1 others are as good as the second.",
            lambda s, t: math.log(t / (1 - t)) / _gap(s),
        ),
        "counts itself": Mistake(
            "Only the m - 1 others compete with the best score; you counted the best one too.",
            lambda s, t: math.log(s.shape[-1] * t / (1 - t)) / _gap(s),
        ),
        "whole range": Mistake(
            "The gap that counts is between the two best scores, not between the best and the worst.",
            lambda s, t: math.log((s.shape[-1] - 1) * t / (1 - t)) / (s.amax(-1) - s.amin(-1)),
        ),
        "asymptotic": Mistake(
            "You solved (m - 1) exp(-beta D) = 1 - target, which holds near one only. Use the odds target / (1 - target).",
            lambda s, t: math.log((s.shape[-1] - 1) / (1 - t)) / _gap(s),
        ),
        "times the gap": Mistake(
            "A larger gap needs a smaller scale: divide by the gap.",
            lambda s, t: math.log((s.shape[-1] - 1) * t / (1 - t)) * _gap(s),
        ),
    },
)


def _stream(
    scores: Parts,
    values: Parts,
    shift: Callable[[Tensor, Tensor], Tensor] = torch.maximum,
    start: float = -math.inf,
    rescales: bool = True,
) -> Tensor:
    """Stream over the parts; ``shift`` takes the last shift and the part's largest score and returns the next shift."""
    top = scores[0].new_tensor(start)
    total = weighted = torch.zeros_like(top)
    for s, v in zip(scores, values, strict=True):
        new_top = shift(top, s.max())
        rescale = torch.exp(top - new_top) if rescales else torch.ones_like(top)
        factors = torch.exp(s - new_top)
        total, weighted, top = rescale * total + factors.sum(), rescale * weighted + factors @ v, new_top
    return weighted / total


def _two_passes(scores: Parts, values: Parts) -> Tensor:
    top = torch.stack([s.max() for s in scores]).max()
    factors = torch.stack([torch.exp(s - top) for s in scores])
    return torch.stack([f @ v for f, v in zip(factors, values, strict=True)]).sum(0) / factors.sum()


def _mean_of_parts(scores: Parts, values: Parts) -> Tensor:
    alone = [torch.softmax(part, -1) @ value for part, value in zip(scores, values, strict=True)]
    return torch.stack(alone).mean(0)


def _streams() -> list[tuple[Parts, Parts]]:
    """Ordinary scores, scores that climb by thousands from part to part, scores that fall, all far above 0, all far below."""
    ramp = torch.tensor([0.0, 1300.0, 2600.0, 4000.0], dtype=torch.float64)[:, None]
    offsets = (0 * ramp, ramp, ramp.flip(0), 5000 + 0 * ramp, -5000 + 0 * ramp)
    cases = ((draw(4, 4, seed=seed) + offset, draw(4, 4, 2, seed=10 + seed)) for seed, offset in enumerate(offsets))
    return [(Parts(scores), Parts(values)) for scores, values in cases]


STREAM: Exercise[[Parts, Parts]] = Exercise(
    reference=lambda s, v: _stream(s, v),
    inputs=_streams,
    mistakes={
        "no rescaling": Mistake(
            "When the largest score changes, the old sums were shifted by the old one: multiply both by exp(old - new).",
            lambda s, v: _stream(s, v, rescales=False),
        ),
        "latest maximum": Mistake(
            "You shift by each part's own maximum. Where that falls, exp(old - new) overflows: keep the largest score so far.",
            lambda s, v: _stream(s, v, lambda _, new: new),
        ),
        "first maximum": Mistake(
            "You shift by the first part's maximum throughout. A later, larger score overflows.",
            lambda s, v: _stream(s, v, lambda old, new: torch.where(old.isinf(), new, old)),
        ),
        "starts at zero": Mistake(
            "Your largest score starts at 0. Where all scores lie thousands below, all factors vanish: start at -inf.",
            lambda s, v: _stream(s, v, start=0.0),
        ),
        "no shift": Mistake(
            "Without a shift the exponential of a score in the thousands is infinite. Subtract the largest score so far.",
            lambda s, v: _stream(s, v, lambda _, new: 0 * new),
        ),
        "plain mean of parts": Mistake(
            "You averaged the parts with equal weights. A part counts in proportion to its sum of exponentials.",
            _mean_of_parts,
        ),
        "all at once": Mistake(
            "You take, or keep, all parts at once. Go through them one by one, for s, v in zip(scores, values), and keep sums.",
            lambda s, v: torch.softmax(s.flatten(), 0) @ v.flatten(0, 1),
        ),
        "second pass": Mistake(
            "You go back to parts that have passed. A stream arrives once: when a larger score comes, rescale the sums so far.",
            _two_passes,
        ),
    },
)

EFFECTIVE_NUMBER: Exercise[[Tensor, float]] = Exercise(
    reference=lambda s, b: 1 / torch.softmax(b * s, -1).square().sum(-1),
    inputs=_rows,
    mistakes={
        "not inverted": Mistake(
            "That is the participation ratio Y2, the chance that two draws agree. The number of keys is one over it.",
            lambda s, b: torch.softmax(b * s, -1).square().sum(-1),
        ),
        "entropy": Mistake(
            "exp(H) is a good count too, but another one: it gives small weights more say.",
            lambda s, b: (-(torch.softmax(b * s, -1) * torch.log_softmax(b * s, -1)).sum(-1)).exp(),
        ),
        "largest weight": Mistake(
            "You divided by the largest weight only; all weights take part, squared.",
            lambda s, b: 1 / torch.softmax(b * s, -1).amax(-1),
        ),
        "no beta": Mistake(
            "The scores must be multiplied by beta before the softmax.",
            lambda s, b: 1 / torch.softmax(s, -1).square().sum(-1),
        ),
    },
)


def _sparsemax(scores: Tensor, fewer: int = 0) -> Tensor:
    ordered = scores.sort(-1, descending=True).values
    threshold = (ordered.cumsum(-1) - 1) / torch.arange(1, scores.shape[-1] + 1)
    size = ((ordered > threshold).sum(-1, keepdim=True) - fewer).clamp(min=1)
    return (scores - threshold.gather(-1, size - 1)).clamp(min=0)


SPARSEMAX: Exercise[[Tensor]] = Exercise(
    reference=_sparsemax,
    inputs=lambda: [(draw(4, 5, seed=4),), (0.3 * draw(4, 6, seed=5),)],
    mistakes={
        "softmax": Mistake("That is softmax: no weight of it is zero.", lambda s: torch.softmax(s, -1)),
        "clipped and normalised": Mistake(
            "Clipping and dividing by the sum gives weights, but not the nearest: subtract one threshold, then clip.",
            lambda s: s.clamp(min=0) / s.clamp(min=0).sum(-1, keepdim=True),
        ),
        "threshold of all": Mistake(
            "Your threshold counts keys that do not survive, so the weights sum to more than one. Find who survives first.",
            lambda s: (s - (s.sum(-1, keepdim=True) - 1) / s.shape[-1]).clamp(min=0),
        ),
        "one too few": Mistake(
            "You stop one key too early: the last k with s_(k) > tau_k still survives.",
            lambda s: _sparsemax(s, fewer=1),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": ENTROPY_SLOPE, "2": SCALE, "3": STREAM, "4": EFFECTIVE_NUMBER, "5": SPARSEMAX}
