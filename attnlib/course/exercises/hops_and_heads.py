"""Exercises of page 2c, hops and heads."""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from attnlib.course.exercises._draw import draw, draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _read(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.softmax(key @ query, 0) @ value


HOP: Exercise[[Tensor, Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda q, k, v, R: q + R @ _read(q, k, v),
    inputs=lambda: [draws((3,), (5, 3), (5, 3), (3, 3), seed=seed) for seed in (0, 1)],
    mistakes={
        "forgets the question": Mistake(
            "You dropped the old question: the next query is q + R o, not R o.", lambda q, k, v, R: R @ _read(q, k, v)
        ),
        "no map": Mistake("What was read goes through the map R before it is added.", lambda q, k, v, R: q + _read(q, k, v)),
        "transposed map": Mistake(
            "The map is transposed: R @ o takes a reading of width c to a query of width d.",
            lambda q, k, v, R: q + R.T @ _read(q, k, v),
        ),
        "no softmax": Mistake(
            "The scores are used as weights. Take their softmax over the memories first.",
            lambda q, k, v, R: q + R @ ((k @ q) @ v),
        ),
        "reads keys": Mistake("A hop compares with the keys and reads the values.", lambda q, k, v, R: q + R @ _read(q, k, k)),
        "scaled": Mistake(
            "You divided the scores by sqrt(d); the exercise asks for inverse temperature 1.",
            lambda q, k, v, R: q + R @ _read(q / math.sqrt(len(q)), k, v),
        ),
    },
)


def _attend(query: Tensor, key: Tensor, value: Tensor, width: int | None = None, axis: int = -1) -> Tensor:
    """Attention with its scores divided by the root of their width, or of another number."""
    scores = query @ key.mT / math.sqrt(width or query.shape[1])
    return torch.softmax(scores, axis) @ value


def _heads(query: Tensor, key: Tensor, value: Tensor, heads: int, width: int | None = None, axis: int = -1) -> Tensor:
    chunks = zip(query.chunk(heads, -1), key.chunk(heads, -1), value.chunk(heads, -1), strict=True)
    return torch.cat([_attend(q, k, v, width, axis) for q, k, v in chunks], -1)


def _every_other(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """Heads made of columns that lie apart, put back in their places."""
    out = torch.empty_like(value)
    for h in range(heads):
        columns = slice(h, None, heads)
        out[:, columns] = _attend(query[:, columns], key[:, columns], value[:, columns])
    return out


HEADS: Exercise[[Tensor, Tensor, Tensor, int]] = Exercise(
    reference=lambda q, k, v, h: _heads(q, k, v, h),
    inputs=lambda: [(*draws((4, 6), (4, 6), (4, 6), seed=seed), heads) for seed, heads in ((2, 2), (3, 3))],
    mistakes={
        "width of the token": Mistake(
            "You scaled by the width of the whole token. The scores of a head are sums over its own d / heads columns.",
            lambda q, k, v, h: _heads(q, k, v, h, q.shape[1]),
        ),
        "no scale": Mistake(
            "The scores are not scaled: divide them by the square root of a head's width.",
            lambda q, k, v, h: _heads(q, k, v, h, 1),
        ),
        "number of heads": Mistake(
            "You divided by the square root of the number of heads. A head's scores are sums over d / heads columns.",
            lambda q, k, v, h: _heads(q, k, v, h, h),
        ),
        "one head": Mistake(
            "That is one head of full width: each chunk needs a softmax of its own.",
            lambda q, k, v, h: _attend(q, k, v),
        ),
        "every other column": Mistake(
            "Your heads take every h-th column; the exercise asks for chunks of neighbouring columns.", _every_other
        ),
        "wrong axis": Mistake(
            "The softmax runs over the queries; it must run over the keys, so that each query's weights sum to one.",
            lambda q, k, v, h: _heads(q, k, v, h, axis=0),
        ),
    },
)


def _frequencies(d: int) -> Tensor:
    return 10_000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)


OVERLAP: Exercise[[Tensor, int]] = Exercise(
    reference=lambda t, d: torch.cos(t[:, None] * _frequencies(d)).sum(-1),
    inputs=lambda: [(torch.arange(5, dtype=torch.float64), 8), (torch.tensor([1.0, 3.0, 20.0], dtype=torch.float64), 6)],
    mistakes={
        "sine": Mistake(
            "The product of two places is a cosine of the difference.",
            lambda t, d: torch.sin(t[:, None] * _frequencies(d)).sum(-1),
        ),
        "d clocks": Mistake(
            "There are d / 2 clocks, one for each pair of a sine and a cosine; yours counts d.",
            lambda t, d: torch.cos(t[:, None] * 10_000.0 ** -(torch.arange(d, dtype=torch.float64) / d)).sum(-1),
        ),
        "half the exponent": Mistake(
            "The exponent of clock i is -2i/d: the slowest clock nearly reaches 1/10000, yours stops at its square root.",
            lambda t, d: torch.cos(t[:, None] * _frequencies(d).sqrt()).sum(-1),
        ),
        "mean": Mistake(
            "An inner product is a sum over the clocks, not their mean.",
            lambda t, d: torch.cos(t[:, None] * _frequencies(d)).mean(-1),
        ),
    },
)


def _log_likelihoods(scores: Tensor, tokens: Tensor) -> Tensor:
    return (torch.log_softmax(scores, -1) * one_hot(tokens, scores.shape[-1])).sum(-1)


def _texts() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(4)
    return [(draw(n, 5, seed=n), torch.randint(5, (n,), generator=generator)) for n in (6, 9)]


LOSS: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda s, t: -_log_likelihoods(s[:-1], t[1:]).mean(),
    inputs=_texts,
    mistakes={
        "predicts itself": Mistake(
            "Each position is scored on its own token, which it has seen. It must predict the next one.",
            lambda s, t: -_log_likelihoods(s, t).mean(),
        ),
        "predicts the past": Mistake(
            "Shifted the wrong way: position t predicts token t + 1, not t - 1.",
            lambda s, t: -_log_likelihoods(s[1:], t[:-1]).mean(),
        ),
        "wrap-around": Mistake(
            "The last position is scored on the first token: rolling wraps around. Leave the last position out.",
            lambda s, t: -_log_likelihoods(s, t.roll(-1)).mean(),
        ),
        "last only": Mistake(
            "That is the loss of the last prediction alone: average over all of them.",
            lambda s, t: -_log_likelihoods(s[-2:-1], t[-1:]).mean(),
        ),
        "sum": Mistake("The loss is a mean over positions, not a sum.", lambda s, t: -_log_likelihoods(s[:-1], t[1:]).sum()),
        "sign": Mistake(
            "The sign is turned: a loss is minus the log-likelihood.", lambda s, t: _log_likelihoods(s[:-1], t[1:]).mean()
        ),
        "no logarithm": Mistake(
            "These are mean scores, not log-probabilities: normalise them with log_softmax over the words.",
            lambda s, t: -(s[:-1] * one_hot(t[1:], s.shape[-1])).sum(-1).mean(),
        ),
    },
)


def _exponent(x: Tensor, w: Tensor) -> Tensor:
    return x @ w.T - x.square().sum(-1, keepdim=True) / 2


def _features(x: Tensor, w: Tensor) -> Tensor:
    return _exponent(x, w).exp() / math.sqrt(len(w))


_WRONG_FEATURES: dict[str, Mistake[[Tensor, Tensor]]] = {
    "no length": Mistake(
        "Without the factor exp(-|x|^2 / 2) the mean of the product is exp(|q + k|^2 / 2), too large by the lengths.",
        lambda x, w: (x @ w.T).exp() / math.sqrt(len(w)),
    ),
    "no half": Mistake(
        "Half the squared length is taken off: E exp(w . x) = exp(|x|^2 / 2).",
        lambda x, w: (x @ w.T - x.square().sum(-1, keepdim=True)).exp() / math.sqrt(len(w)),
    ),
    "sum": Mistake(
        "The inner product of r features sums r estimates: divide by their number.", lambda x, w: _exponent(x, w).exp()
    ),
    "divided twice": Mistake(
        "Both sides are divided by r, so that their product is too small by r: each side takes the square root.",
        lambda x, w: _exponent(x, w).exp() / len(w),
    ),
    "plus sign": Mistake(
        "The length is taken off, not added: -|x|^2 / 2.",
        lambda x, w: (x @ w.T + x.square().sum(-1, keepdim=True) / 2).exp() / math.sqrt(len(w)),
    ),
}


def _mirrored(mistake: Mistake[[Tensor, Tensor]]) -> Mistake[[Tensor, Tensor]]:
    """The same mistake with -w, which is as good a draw as w."""
    return Mistake(f"{mistake.message} (That your w has the other sign does no harm.)", lambda x, w: mistake.answer(x, -w))


FEATURES: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_features,
    inputs=lambda: [draws((4, 3), (7, 3), seed=seed) for seed in (5, 6)],
    # The inner products are what the task asks for: features may change places or sign, and -w is as good a draw as w.
    alternatives=(lambda x, w: _features(x, -w),),
    compare_as=lambda features: features @ features.mT,
    mistakes={
        **_WRONG_FEATURES,
        **{f"{name}, with -w": _mirrored(mistake) for name, mistake in _WRONG_FEATURES.items()},
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": HOP, "2": HEADS, "3": OVERLAP, "4": LOSS, "5": FEATURES}
