"""Exercises of page 2a, why divide by the square root of d."""

import math

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw, draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _masked_inputs() -> list[tuple[Tensor, ...]]:
    """Two ordinary masks, and one where a query may only look at a key whose score lies billions below those of the others."""
    rows = [[1, 0, 1, 1, 0], [0, 1, 1, 0, 1], [1, 1, 0, 0, 1], [1, 0, 0, 1, 0]]
    masks = (torch.ones(4, 5).tril(1) > 0, torch.tensor(rows) > 0)
    query, key, value = draws((4, 3), (5, 3), (5, 2), seed=2)
    query[0], key[:, 0] = torch.tensor([1e5, 0.0, 0.0]), torch.tensor([-1e5, 0.0, 0.0, 0.0, 0.0])
    below = torch.tensor([[1, 0, 0, 0, 0], [0, 1, 1, 0, 1], [0, 1, 0, 1, 1], [0, 1, 1, 1, 1]]) > 0
    return [
        *((*draws((4, 3), (5, 3), (5, 2), seed=seed), mask) for seed, mask in enumerate(masks)),
        (query, key, value, below),
    ]


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, divisor: float | int = 0, fill: float = -torch.inf) -> Tensor:
    """Attention with its scores divided by sqrt(d) or another number, and ``fill`` where the mask is False."""
    scores = q @ k.T / (divisor or math.sqrt(q.shape[1]))
    return torch.softmax(scores.masked_fill(~mask, fill), -1) @ v


def _scaled(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.T / math.sqrt(query.shape[1])


ATTEND: Exercise[[Tensor, Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda q, k, v, a: _attend(q, k, v, a),
    inputs=_masked_inputs,
    mistakes={
        "no scale": Mistake("The scores are not scaled: divide by sqrt(d).", lambda q, k, v, a: _attend(q, k, v, a, 1.0)),
        "divided by d": Mistake(
            "You divided by d. The standard deviation of a score is sqrt(d).",
            lambda q, k, v, a: _attend(q, k, v, a, q.shape[1]),
        ),
        "number of keys": Mistake(
            "You divided by the square root of the number of keys. A score is a sum over d entries: divide by sqrt(d).",
            lambda q, k, v, a: _attend(q, k, v, a, math.sqrt(len(k))),
        ),
        "inverted mask": Mistake(
            "The mask is turned round: True is where attention is allowed, so put -inf where it is False.",
            lambda q, k, v, a: _attend(q, k, v, ~a),
        ),
        "-1e9": Mistake(
            "A score of -1e9 is a score like any other: where the allowed ones are lower, what is masked wins. Use -inf.",
            lambda q, k, v, a: _attend(q, k, v, a, fill=-1e9),
        ),
        "no mask": Mistake(
            "The mask has no effect: put -inf where it is False.",
            lambda q, k, v, a: _attend(q, k, v, torch.ones_like(a)),
        ),
        "mask after softmax": Mistake(
            "You masked the weights after the softmax, so a row no longer sums to one. Mask the scores, before it.",
            lambda q, k, v, a: (torch.softmax(_scaled(q, k), -1) * a) @ v,
        ),
        "zero scores": Mistake(
            "A masked score of 0 still has the factor exp(0) = 1. It must be -inf.",
            lambda q, k, v, a: _attend(q, k, v, a, fill=0.0),
        ),
        "wrong axis": Mistake(
            "The softmax runs over the queries; it must run over the keys, so that each query's weights sum to one.",
            lambda q, k, v, a: torch.softmax(_scaled(q, k).masked_fill(~a, -torch.inf), 0) @ v,
        ),
    },
)


def _hidden(query: Tensor, key: Tensor, weight_query: Tensor, weight_key: Tensor) -> Tensor:
    return (query @ weight_query.T)[:, None] + key @ weight_key.T


ADDITIVE: Exercise[[Tensor, Tensor, Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda q, k, wq, wk, v: _hidden(q, k, wq, wk).tanh() @ v,
    inputs=lambda: [draws((4, 3), (5, 2), (6, 3), (6, 2), (6,), seed=seed) for seed in (2, 3)],
    mistakes={
        "no tanh": Mistake(
            "Without the tanh the score is a sum of two separate terms: no query prefers another key than the rest do.",
            lambda q, k, wq, wk, v: _hidden(q, k, wq, wk) @ v,
        ),
        "tanh of each": Mistake(
            "The tanh acts on the sum of both maps. Of each separately, the score is again two separate terms.",
            lambda q, k, wq, wk, v: ((q @ wq.T).tanh()[:, None] + (k @ wk.T).tanh()) @ v,
        ),
        "product": Mistake(
            "The maps are added, not multiplied.", lambda q, k, wq, wk, v: ((q @ wq.T)[:, None] * (k @ wk.T)).tanh() @ v
        ),
        "vector inside": Mistake(
            "The vector v weighs the hidden units after the tanh, not before.",
            lambda q, k, wq, wk, v: (_hidden(q, k, wq, wk) @ v).tanh(),
        ),
    },
)


def _positive(*shape: int, seed: int) -> Tensor:
    return draws(shape, seed=seed)[0].abs() + 0.5


VARIANCE: Exercise[[Tensor, Tensor, Tensor, Tensor, int]] = Exercise(
    reference=lambda a, s, b, t, d: d * (s**2 * t**2 + a**2 * t**2 + s**2 * b**2),
    inputs=lambda: [
        (draw(4, seed=n), _positive(4, seed=n + 10), draw(4, seed=n + 20), _positive(4, seed=n + 30), d)
        for n, d in ((4, 5), (5, 64))
    ],
    mistakes={
        "no means": Mistake(
            "That holds for means of zero. A mean of one side is multiplied with the fluctuations of the other.",
            lambda a, s, b, t, d: d * s**2 * t**2,
        ),
        "second moment": Mistake(
            "That is d times the mean square of a product; take off the square of its mean.",
            lambda a, s, b, t, d: d * (s**2 + a**2) * (t**2 + b**2),
        ),
        "keys' fluctuations only": Mistake(
            "That is the variance over keys for a fixed query, on average. Here both vary: a term is missing.",
            lambda a, s, b, t, d: d * (s**2 * t**2 + a**2 * t**2),
        ),
        "standard deviation": Mistake(
            "You returned the standard deviation; the variance is its square.",
            lambda a, s, b, t, d: (d * (s**2 * t**2 + a**2 * t**2 + s**2 * b**2)).sqrt(),
        ),
        "width squared": Mistake(
            "Variances of independent terms add: d of them, not d squared.",
            lambda a, s, b, t, d: d**2 * (s**2 * t**2 + a**2 * t**2 + s**2 * b**2),
        ),
    },
)

MATCH: Exercise[[int, int, Tensor]] = Exercise(
    reference=lambda d, n, b: 1 / (1 + n * torch.exp(b**2 * d / 2 - b * d)),
    inputs=lambda: [(d, n, torch.tensor([0.1, 0.25, 0.7], dtype=torch.float64)) for d, n in ((16, 30), (9, 5))],
    mistakes={
        "quiet noise": Mistake(
            "The mean of exp(score) over the noise is not 1 but exp(beta^2 d / 2).",
            lambda d, n, b: 1 / (1 + n * torch.exp(-b * d)),
        ),
        "no half": Mistake(
            "E exp(x) = exp(variance / 2): a half is missing.", lambda d, n, b: 1 / (1 + n * torch.exp(b**2 * d - b * d))
        ),
        "variance beta": Mistake(
            "The noise has standard deviation beta sqrt(d), so its variance holds beta squared.",
            lambda d, n, b: 1 / (1 + n * torch.exp(b * d / 2 - b * d)),
        ),
        "beta squared": Mistake(
            "The score of the match is beta |q|^2: beta enters it once. Only the variance of the noise holds its square.",
            lambda d, n, b: 1 / (1 + n * torch.exp(b**2 * d / 2 - b**2 * d)),
        ),
        "length": Mistake(
            "The match has the score beta |q|^2 = beta d, not beta sqrt(d).",
            lambda d, n, b: 1 / (1 + n * torch.exp(b**2 * d / 2 - b * math.sqrt(d))),
        ),
        "odds": Mistake(
            "These are odds, match against noise. The weight is odds / (1 + odds).",
            lambda d, n, b: torch.exp(b * d - b**2 * d / 2) / n,
        ),
    },
)


def _spread_inputs() -> list[tuple[Tensor, ...]]:
    """Queries and keys with means of their own, so that offsets matter."""
    return [tuple(3 * t + 2 for t in draws((4, 6), (7, 6), seed=seed)) for seed in (6, 7)]


BETA: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda q, k: (q @ k.T).var(-1, correction=0).mean() ** -0.5,
    inputs=_spread_inputs,
    mistakes={
        "sqrt(d)": Mistake(
            "1/sqrt(d) assumes variances of one. Measure the scores.", lambda q, k: q.new_tensor(1 / math.sqrt(q.shape[1]))
        ),
        "all scores": Mistake(
            "That is the variance of all scores together. What a query's scores share is invisible: take it over keys.",
            lambda q, k: (q @ k.T).var(correction=0) ** -0.5,
        ),
        "over queries": Mistake(
            "That is the variance over queries; the softmax runs over keys.",
            lambda q, k: (q @ k.T).var(0, correction=0).mean() ** -0.5,
        ),
        "no root": Mistake(
            "Scores times beta have beta squared times the variance: take the square root.",
            lambda q, k: 1 / (q @ k.T).var(-1, correction=0).mean(),
        ),
        "variance": Mistake(
            "That is the variance of the scores. Beta is the number that makes it one: one over its square root.",
            lambda q, k: (q @ k.T).var(-1, correction=0).mean(),
        ),
        "standard deviation": Mistake(
            "That is the standard deviation of the scores. Beta divides by it.",
            lambda q, k: (q @ k.T).var(-1, correction=0).mean().sqrt(),
        ),
        "mean deviation": Mistake(
            "You averaged standard deviations; the exercise asks that the averaged variance be one.",
            lambda q, k: 1 / (q @ k.T).std(-1, correction=0).mean(),
        ),
        "sample variance": Mistake(
            "You divided by m - 1; the exercise asks for population variances, divided by m.",
            lambda q, k: (q @ k.T).var(-1).mean() ** -0.5,
        ),
        "mean square": Mistake(
            "That is the mean square of the scores, offsets included. Take off each query's mean first.",
            lambda q, k: (q @ k.T).square().mean() ** -0.5,
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": ATTEND, "2": ADDITIVE, "3": VARIANCE, "4": MATCH, "5": BETA}
