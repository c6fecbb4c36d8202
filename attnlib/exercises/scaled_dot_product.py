"""Exercises of page 2a, why divide by the square root of d."""

import torch
from torch import Tensor

from attnlib.exercises._check import Exercise, Mistake


def _draws(*shapes: tuple[int, ...], seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def _masked_inputs() -> list[tuple[Tensor, ...]]:
    masks = (torch.ones(4, 5).tril(1) > 0, torch.tensor([[1, 0, 1, 1, 0]] * 4) > 0)
    return [(*_draws((4, 3), (5, 3), (5, 2), seed=seed), mask) for seed, mask in enumerate(masks)]


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, beta: float) -> Tensor:
    return torch.softmax((beta * query @ key.T).masked_fill(~mask, -torch.inf), -1) @ value


ATTEND = Exercise(
    reference=lambda q, k, v, a: _attend(q, k, v, a, q.shape[1] ** -0.5),
    inputs=_masked_inputs,
    mistakes={
        "no scale": Mistake("The scores are not scaled: divide by sqrt(d).", lambda q, k, v, a: _attend(q, k, v, a, 1.0)),
        "divided by d": Mistake(
            "You divided by d. The standard deviation of a score is sqrt(d).",
            lambda q, k, v, a: _attend(q, k, v, a, 1 / q.shape[1]),
        ),
        "no mask": Mistake(
            "The mask has no effect: put -inf where it is False.",
            lambda q, k, v, a: _attend(q, k, v, torch.ones_like(a), q.shape[1] ** -0.5),
        ),
        "mask after softmax": Mistake(
            "You masked the weights after the softmax, so a row no longer sums to one. Mask the scores, before it.",
            lambda q, k, v, a: (torch.softmax(q @ k.T / q.shape[1] ** 0.5, -1) * a) @ v,
        ),
        "zero scores": Mistake(
            "A masked score of 0 still has the factor exp(0) = 1. It must be -inf.",
            lambda q, k, v, a: torch.softmax(q @ k.T / q.shape[1] ** 0.5 * a, -1) @ v,
        ),
        "wrong axis": Mistake(
            "The softmax runs over the queries; it must run over the keys, so that each query's weights sum to one.",
            lambda q, k, v, a: torch.softmax((q @ k.T / q.shape[1] ** 0.5).masked_fill(~a, -1e300), 0) @ v,
        ),
    },
)


def _hidden(query: Tensor, key: Tensor, weight_query: Tensor, weight_key: Tensor) -> Tensor:
    return (query @ weight_query.T)[:, None] + key @ weight_key.T


ADDITIVE = Exercise(
    reference=lambda q, k, wq, wk, v: _hidden(q, k, wq, wk).tanh() @ v,
    inputs=lambda: [tuple(_draws((4, 3), (5, 2), (6, 3), (6, 2), (6,), seed=seed)) for seed in (2, 3)],
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
    return _draws(shape, seed=seed)[0].abs() + 0.5


VARIANCE = Exercise(
    reference=lambda a, s, b, t, d: d * (s**2 * t**2 + a**2 * t**2 + s**2 * b**2),
    inputs=lambda: [
        (_draws((4,), seed=n)[0], _positive(4, seed=n + 10), _draws((4,), seed=n + 20)[0], _positive(4, seed=n + 30), d)
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

MATCH = Exercise(
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
        "length": Mistake(
            "The match has the score beta |q|^2 = beta d, not beta sqrt(d).",
            lambda d, n, b: 1 / (1 + n * torch.exp(b**2 * d / 2 - b * d**0.5)),
        ),
        "odds": Mistake(
            "These are odds, match against noise. The weight is odds / (1 + odds).",
            lambda d, n, b: torch.exp(b * d - b**2 * d / 2) / n,
        ),
    },
)


def _spread_inputs() -> list[tuple[Tensor, Tensor]]:
    """Queries and keys with means of their own, so that offsets matter."""
    return [tuple(3 * t + 2 for t in _draws((4, 6), (7, 6), seed=seed)) for seed in (6, 7)]


BETA = Exercise(
    reference=lambda q, k: (q @ k.T).var(-1, correction=0).mean() ** -0.5,
    inputs=_spread_inputs,
    mistakes={
        "sqrt(d)": Mistake(
            "1/sqrt(d) assumes variances of one. Measure the scores.", lambda q, k: torch.tensor(q.shape[1] ** -0.5).to(q.dtype)
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

EXERCISES = {"1": ATTEND, "2": ADDITIVE, "3": VARIANCE, "4": MATCH, "5": BETA}
