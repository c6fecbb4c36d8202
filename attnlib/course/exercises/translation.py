"""Exercises of page 2b, translation."""

import math

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw, draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _scores() -> list[tuple[Tensor, float]]:
    """More keys than queries, and fewer."""
    return [(2 * draw(n, m, seed=n) + 1, beta) for n, m, beta in ((4, 6, 0.4), (7, 3, 2.0))]


SPREAD: Exercise[[Tensor, float]] = Exercise(
    reference=lambda s, b: b * s.std(-1, correction=0) / math.sqrt(2 * math.log(s.shape[-1])),
    inputs=_scores,
    mistakes={
        "no beta": Mistake(
            "The softmax sees beta times the scores, and so must the spread.",
            lambda s, b: s.std(-1, correction=0) / math.sqrt(2 * math.log(s.shape[-1])),
        ),
        "not centred": Mistake(
            "That is the size of the scores. A constant added to all of them changes it, and changes no weight: centre first.",
            lambda s, b: b * s.square().mean(-1).sqrt() / math.sqrt(2 * math.log(s.shape[-1])),
        ),
        "no root": Mistake(
            "The threshold is the square root of 2 ln T.",
            lambda s, b: b * s.std(-1, correction=0) / (2 * math.log(s.shape[-1])),
        ),
        "number of queries": Mistake(
            "T is the number of keys, the length of the sentence that is read: the last axis of the scores, not the first.",
            lambda s, b: b * s.std(-1, correction=0) / math.sqrt(2 * math.log(s.shape[0])),
        ),
        "sample deviation": Mistake(
            "You divided by T - 1; the exercise asks for the population standard deviation, divided by T.",
            lambda s, b: b * s.std(-1) / math.sqrt(2 * math.log(s.shape[-1])),
        ),
        "no threshold": Mistake(
            "That is the spread itself. Divide it by the freezing spread, the square root of 2 ln T.",
            lambda s, b: b * s.std(-1, correction=0),
        ),
        "no logarithm": Mistake(
            "The threshold grows with the logarithm of T: it is the square root of 2 ln T.",
            lambda s, b: b * s.std(-1, correction=0) / math.sqrt(2 * s.shape[-1]),
        ),
        "variance": Mistake(
            "That is the variance; the spread is its square root.",
            lambda s, b: (b * s).var(-1, correction=0) / math.sqrt(2 * math.log(s.shape[-1])),
        ),
        "divided by beta": Mistake(
            "beta multiplies the scores, and so their spread.",
            lambda s, b: s.std(-1, correction=0) / b / math.sqrt(2 * math.log(s.shape[-1])),
        ),
        "all queries at once": Mistake(
            "That is the spread over the whole matrix: each query has a softmax, and a spread, of its own.",
            lambda s, b: b * s.std(correction=0).expand(len(s)) / math.sqrt(2 * math.log(s.shape[-1])),
        ),
        "wrong axis": Mistake(
            "The spread is over the keys, for each query: the last axis.",
            lambda s, b: b * s.std(0, correction=0) / math.sqrt(2 * math.log(s.shape[0])),
        ),
    },
)


def _entropy(scores: Tensor, beta: float) -> Tensor:
    log_weights = torch.log_softmax(beta * scores, -1)
    return -(log_weights.exp() * log_weights).sum(-1) / math.log(scores.shape[-1])


ENTROPY: Exercise[[Tensor, float]] = Exercise(
    reference=_entropy,
    inputs=lambda: [*_scores(), (torch.tensor([[0.0, 900.0, 0.0], [1.0, 1.0, 1.0]], dtype=torch.float64), 1.0)],
    mistakes={
        "nats": Mistake(
            "Divide by ln T: one must mean uniform, whatever the length of the sentence.",
            lambda s, b: _entropy(s, b) * math.log(s.shape[-1]),
        ),
        "number of queries": Mistake(
            "A uniform row has the entropy ln T, where T is the number of keys, not of queries.",
            lambda s, b: _entropy(s, b) * math.log(s.shape[-1]) / math.log(s.shape[0]),
        ),
        "no minus": Mistake(
            "Entropy is not negative: a minus is missing.",
            lambda s, b: -_entropy(s, b),
        ),
        "zero times infinity": Mistake(
            "A weight of zero gave 0 * log 0 = NaN. Take log_softmax instead of the logarithm of the softmax.",
            lambda s, b: -(torch.softmax(b * s, -1) * torch.softmax(b * s, -1).log()).sum(-1) / math.log(s.shape[-1]),
        ),
        "no beta": Mistake(
            "The weights are softmax(beta * scores); yours have no beta.",
            lambda s, b: _entropy(s, 1.0),
        ),
    },
)


def _alignments() -> list[tuple[Tensor, Tensor]]:
    cases: list[tuple[Tensor, Tensor]] = []
    for seed in (2, 3):
        weights, gold = draws((5, 7), (5, 7), seed=seed)
        cases.append((weights.softmax(-1), (gold > 0.6) | torch.eye(5, 7).bool()))
    return cases


def _hits(weights: Tensor, gold: Tensor) -> Tensor:
    return gold[torch.arange(len(weights)), weights.argmax(-1)].double().sum()


ALIGNMENT: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda w, g: 1 - 2 * _hits(w, g) / (len(w) + g.sum()),
    inputs=_alignments,
    mistakes={
        "precision only": Mistake(
            "That is the share of wrong links. The error rate also counts gold links that were not found: |S| is in it.",
            lambda w, g: 1 - _hits(w, g) / len(w),
        ),
        "recall only": Mistake(
            "That is the share of gold links that were not found. Wrong links count too: |A| is in the error rate.",
            lambda w, g: 1 - _hits(w, g) / g.sum(),
        ),
        "no two": Mistake(
            "Links that agree count twice, once for each side: 2 |A and S|.",
            lambda w, g: 1 - _hits(w, g) / (len(w) + g.sum()),
        ),
        "wrong axis": Mistake(
            "You took the best English word for each German one. Each English word (row) picks a German word (column).",
            lambda w, g: 1 - 2 * _hits(w.T, g.T) / (w.shape[1] + g.sum()),
        ),
        "agreement": Mistake(
            "That is one minus the error rate: 0 must mean a perfect alignment.",
            lambda w, g: 2 * _hits(w, g) / (len(w) + g.sum()),
        ),
    },
)


def _additive(query: Tensor, key: Tensor, w_query: Tensor, w_key: Tensor, v: Tensor) -> Tensor:
    return ((query @ w_query.T)[:, None] + (key @ w_key.T)[None]).tanh() @ v


ADDITIVE: Exercise[[Tensor, Tensor, Tensor, Tensor, Tensor]] = Exercise(
    reference=_additive,
    inputs=lambda: [draws((3, 4), (5, 4), (6, 4), (6, 4), (6,), seed=seed) for seed in (4, 5)],
    mistakes={
        "no tanh": Mistake(
            "Without the tanh the query adds the same number to all its scores, and the weights cannot depend on it.",
            lambda q, k, a, b, v: ((q @ a.T)[:, None] + (k @ b.T)[None]) @ v,
        ),
        "swapped maps": Mistake(
            "The maps are swapped: W_1 belongs to the queries, W_2 to the keys.",
            lambda q, k, a, b, v: _additive(q, k, b, a, v),
        ),
        "tanh outside": Mistake(
            "The tanh stands inside, on each hidden unit, before v adds them up.",
            lambda q, k, a, b, v: (((q @ a.T)[:, None] + (k @ b.T)[None]) @ v).tanh(),
        ),
        "two tanh": Mistake(
            "One tanh of the sum, not a sum of two: otherwise query and key never meet.",
            lambda q, k, a, b, v: ((q @ a.T).tanh()[:, None] + (k @ b.T).tanh()[None]) @ v,
        ),
    },
)


def _padded(query: Tensor, key: Tensor, value: Tensor, length: int) -> Tensor:
    scores = query @ key.T / math.sqrt(query.shape[-1])
    return torch.softmax(scores[:, :length], -1) @ value[:length]


def _spoiled(query: Tensor, key: Tensor, value: Tensor, length: int, inside: float | None) -> Tensor:
    scores = query @ key.T / math.sqrt(query.shape[-1])
    real = torch.arange(len(key)) < length
    if inside is None:
        return (torch.softmax(scores, -1) * real) @ value
    return torch.softmax(torch.where(real, scores, inside), -1) @ value


def _padded_inputs() -> list[tuple[Tensor, Tensor, Tensor, int]]:
    """Two ordinary sentences, and one where a query's scores with both words lie billions below those with the padding."""
    ordinary = [(*draws((3, 4), (6, 4), (6, 2), seed=seed), length) for seed, length in ((6, 4), (7, 2))]
    query, key, value = draws((3, 4), (6, 4), (6, 2), seed=8)
    query[:, 0], query[0] = 0, torch.tensor([1e5, 0.0, 0.0, 0.0])
    key[:, 0] = torch.tensor([-1e5, -1e5, 0.0, 0.0, 0.0, 0.0])
    return [*ordinary, (query, key, value, 2)]


PADDING: Exercise[[Tensor, Tensor, Tensor, int]] = Exercise(
    reference=_padded,
    inputs=_padded_inputs,
    mistakes={
        "zero scores": Mistake(
            "A score of 0 is a score like any other and gets weight. The padding's scores must be minus infinity.",
            lambda q, k, v, n: _spoiled(q, k, v, n, 0.0),
        ),
        "-1e9": Mistake(
            "A score of -1e9, or of -100, is a score like any other: where those of the words are lower, the padding wins. "
            "Use minus infinity.",
            lambda q, k, v, n: _spoiled(q, k, v, n, -1e9),
        ),
        "mask afterwards": Mistake(
            "You removed the padding after the softmax: the weights that are left do not sum to one.",
            lambda q, k, v, n: _spoiled(q, k, v, n, None),
        ),
        "no mask": Mistake(
            "The padding still takes part: only the first `length` keys are words.",
            lambda q, k, v, n: torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), -1) @ v,
        ),
        "inverted mask": Mistake(
            "You kept the padding and left the words out: the first `length` keys are words.",
            lambda q, k, v, n: torch.softmax((q @ k.T / math.sqrt(q.shape[-1]))[:, n:], -1) @ v[n:],
        ),
        "no scale": Mistake(
            "The scores are not scaled: divide by sqrt(d).",
            lambda q, k, v, n: torch.softmax((q @ k.T)[:, :n], -1) @ v[:n],
        ),
        "divided by d": Mistake(
            "The scores are divided by sqrt(d), not by d.",
            lambda q, k, v, n: torch.softmax((q @ k.T / q.shape[-1])[:, :n], -1) @ v[:n],
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": SPREAD, "2": ADDITIVE, "3": PADDING, "4": ALIGNMENT, "5": ENTROPY}
