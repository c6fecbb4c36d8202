"""Exercises of page 7c, collectives of spins.

It is longer than 250 lines because each of the five names its wrong answers, forty in all, as small functions.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _walkers() -> list[tuple[Tensor, Tensor, Tensor, Tensor, float, int]]:
    """States, facts and the maps of two or three blocks; more steps than blocks, and fewer."""
    x, key, value, maps = draws((3, 4), (5, 4), (5, 2), (2, 4, 2), seed=80)
    other, keys, values, more = draws((2, 3), (4, 3), (4, 5), (3, 3, 5), seed=81)
    return [(x, key, value, maps, 1.5, 3), (other, keys, values, more, 0.8, 2)]


def _read(x: Tensor, key: Tensor, value: Tensor, beta: float) -> Tensor:
    return (beta * x @ key.mT).softmax(-1) @ value


def _walk(
    x: Tensor,
    key: Tensor,
    value: Tensor,
    maps: Tensor,
    beta: float,
    steps: int,
    *,
    carried: float = 0.0,
    which: Callable[[int], int] = lambda t: 0,
) -> Tensor:
    for t in range(steps):
        x = carried * x + _read(x, key, value, beta) @ maps[which(t)].mT
    return x


def _stored(x: Tensor, key: Tensor, value: Tensor, maps: Tensor, beta: float, steps: int) -> Tensor:
    for _ in range(steps):
        x = _read(x, key, key, beta)
    return x


WALK: Exercise[[Tensor, Tensor, Tensor, Tensor, float, int]] = Exercise(
    reference=_walk,
    inputs=_walkers,
    mistakes={
        "untied": Mistake(
            "Your steps go round all maps. A tied walk has one map, maps[0], at every step.",
            lambda x, k, v, W, b, T: _walk(x, k, v, W, b, T, which=lambda t: t % len(W)),
        ),
        "untied, then the last": Mistake(
            "Your steps have maps of their own until none is left. A tied walk has one map, maps[0], at every step.",
            lambda x, k, v, W, b, T: _walk(x, k, v, W, b, T, which=lambda t: min(t, len(W) - 1)),
        ),
        "the last map": Mistake(
            "You walk by the last map: the first was asked for.",
            lambda x, k, v, W, b, T: _walk(x, k, v, W, b, T, which=lambda t: -1),
        ),
        "residual carried": Mistake(
            "You carry the state past the step: the place where you were stays in the sum. A walker is where it was led.",
            lambda x, k, v, W, b, T: _walk(x, k, v, W, b, T, carried=1.0),
        ),
        "one step": Mistake(
            "That is one step: the state that was read asks again.", lambda x, k, v, W, b, T: _walk(x, k, v, W, b, 1)
        ),
        "one step more": Mistake("That is a step too many.", lambda x, k, v, W, b, T: _walk(x, k, v, W, b, T + 1)),
        "keys read": Mistake(
            "You read the keys: that goes down an energy and stays at a memory. To walk, read the values, through the map.",
            _stored,
        ),
        "beta left out": Mistake("beta multiplies the scores.", lambda x, k, v, W, b, T: _walk(x, k, v, W, 1.0, T)),
    },
)


def _hops() -> list[tuple[Tensor, Tensor, int]]:
    """Counts of hops asked for and walked, with differences of both signs, none, and above the number of places."""
    return [(torch.tensor([1, 2, 3, 4, 12]), torch.tensor([2, 3, 4]), 8), (torch.tensor([0, 6, 9]), torch.tensor([1, 6]), 5)]


def _divides(apart: Tensor, length: Tensor) -> Tensor:
    return apart % length == 0


def _scores(k: Tensor, T: Tensor, n: int, rule: Callable[[Tensor, Tensor], Tensor] = _divides, limit: int = 0) -> Tensor:
    apart = (k[:, None] - T)[..., None]
    return rule(apart, torch.arange(1, (limit or n) + 1)).double().sum(-1) / n


SCORES: Exercise[[Tensor, Tensor, int]] = Exercise(
    reference=_scores,
    inputs=_hops,
    mistakes={
        "at chance": Mistake(
            "A wrong number of hops is not a guess: it is right on every cycle whose length divides k - T.",
            lambda k, T, n: torch.where(k[:, None] == T, 1.0, 1 / n).double(),
        ),
        "never": Mistake(
            "A wrong number of hops is right wherever the cycle comes round in between.",
            lambda k, T, n: (k[:, None] == T).double(),
        ),
        "no difference": Mistake(
            "Where k = T every walk is right: each length divides zero.",
            lambda k, T, n: _scores(k, T, n, lambda apart, length: (apart % length == 0) & (apart != 0)),
        ),
        "one way": Mistake(
            "A walk that went too far comes round as well: the sign of k - T does not matter.",
            lambda k, T, n: _scores(k, T, n, lambda apart, length: (apart % length == 0) & (apart >= 0)),
        ),
        "multiples": Mistake(
            "The length must divide the difference; you asked whether the difference divides the length.",
            lambda k, T, n: _scores(k, T, n, lambda apart, length: (apart == 0) | (length % apart.abs().clamp(min=1) == 0)),
        ),
        "cycles longer than n": Mistake(
            "You counted lengths above the number of places. No cycle is longer than n.",
            lambda k, T, n: torch.where(k[:, None] == T, 1.0, _scores(k, T, n, limit=1000)),
        ),
        "whole lengths": Mistake(
            "You asked for cycles of the length k - T alone. Shorter ones whose length divides it come round too.",
            lambda k, T, n: _scores(k, T, n, lambda apart, length: (apart.abs() == length) | (apart == 0)),
        ),
        "turned": Mistake("Rows are k, columns T.", lambda k, T, n: _scores(T, k, n)),
        "count": Mistake("Divide by n: each length is equally likely.", lambda k, T, n: n * _scores(k, T, n)),
    },
)


def _chains() -> list[tuple[Tensor, int, float]]:
    """Chains with a state that has not come before at first, and another smoothing."""
    return [(torch.tensor([1, 1, 0, 1, 2, 0, 1, 1]), 3, 1.0), (torch.tensor([0, 2, 0, 3, 3, 0, 2]), 4, 0.5)]


def _counts(states: Tensor, k: int) -> Tensor:
    """How often each state has followed each before the place is left, ``[length - 1, k, k]``."""
    one = one_hot(states, k).double()
    pairs = one[:-1, :, None] * one[1:, None, :]
    return pairs.cumsum(0) - pairs


def _bigram(
    states: Tensor, k: int, alpha: float, *, late: bool = False, all_of_it: bool = False, turned: bool = False
) -> Tensor:
    seen = _counts(states, k)
    one = one_hot(states, k).double()
    if late or all_of_it:
        seen = seen + one[:-1, :, None] * one[1:, None, :]
    if all_of_it:
        seen = seen[-1:].expand(len(states) - 1, k, k)
    rows = (seen.mT if turned else seen)[torch.arange(len(states) - 1), states[:-1]] + alpha
    return rows / rows.sum(-1, keepdim=True)


def _unigram(states: Tensor, k: int, alpha: float) -> Tensor:
    seen = one_hot(states[:-1], k).double().cumsum(0) + alpha
    return seen / seen.sum(-1, keepdim=True)


def _row(states: Tensor, k: int) -> Tensor:
    return _counts(states, k)[torch.arange(len(states) - 1), states[:-1]]


BIGRAM: Exercise[[Tensor, int, float]] = Exercise(
    reference=_bigram,
    inputs=_chains,
    mistakes={
        "not smoothed": Mistake(
            "These are bare counts: a state that has not come before divides zero by zero. The prior adds alpha to each count.",
            lambda s, k, a: _bigram(s, k, 0.0),
        ),
        "not smoothed, else uniform": Mistake(
            "You use the prior only where nothing was counted. It is there at every place: add alpha to each count.",
            lambda s, k, a: torch.where(_row(s, k).sum(-1, keepdim=True) > 0, _bigram(s, k, 0.0), 1 / k),
        ),
        "unigram": Mistake(
            "You counted how often each state has come. Count how often each has followed the present one.", _unigram
        ),
        "knows what it says": Mistake(
            "The pair that is to be said is among your counts. Count what came before.",
            lambda s, k, a: _bigram(s, k, a, late=True),
        ),
        "knows the future": Mistake(
            "Your counts are those of the whole chain. At each place only what came before is known.",
            lambda s, k, a: _bigram(s, k, a, all_of_it=True),
        ),
        "turned": Mistake(
            "You counted what came before the present state; what followed it was asked for.",
            lambda s, k, a: _bigram(s, k, a, turned=True),
        ),
        "alpha below once": Mistake(
            "Each of k counts gets alpha, so that their sum gets k alpha: your chances do not sum to one.",
            lambda s, k, a: (_row(s, k) + a) / (_row(s, k).sum(-1, keepdim=True) + a),
        ),
        "one for alpha": Mistake("You added one to each count; the prior adds alpha.", lambda s, k, a: _bigram(s, k, 1.0)),
        "likeliest law": Mistake(
            "You added alpha - 1, which gives the likeliest law. The chance of the next state is the mean over all laws.",
            lambda s, k, a: _bigram(s, k, a - 1),
        ),
    },
)


def _texts() -> list[tuple[Tensor, int, float]]:
    """States with repetitions, and strengths of the second head that leave something to the other places."""
    return [(torch.tensor([0, 1, 0, 2, 0, 1, 1]), 3, 2.0), (torch.tensor([2, 2, 1, 3, 2, 1]), 4, 1.3)]


def _heads(
    states: Tensor,
    k: int,
    beta: float,
    *,
    shift: int = 1,
    causal: bool = True,
    said: int = 0,
    strict: bool = False,
) -> Tensor:
    """Each place looks for places whose predecessor was in its own state, and reads what stands there."""
    n, place = len(states), torch.arange(len(states))
    key = states.roll(shift)
    hit = (states[:, None] == key).double()
    hit[:, :shift] = 0.0
    seen = (place < place[:, None] + (not strict)) if causal else torch.ones(n, n).bool()
    if strict:
        seen = seen | ((place[:, None] == 0) & (place == 0))
    weights = (beta * hit).masked_fill(~seen, -torch.inf).softmax(-1)
    return weights @ one_hot(states.roll(said), k).double()


INDUCTION: Exercise[[Tensor, int, float]] = Exercise(
    reference=lambda s, k, b: _heads(s, k, b),
    inputs=_texts,
    mistakes={
        "no shift": Mistake(
            "Your second head looks for places in its own state. It looks for places that came after one.",
            lambda s, k, b: _heads(s, k, b, shift=0),
        ),
        "reads what it found": Mistake(
            "You read the state that matched, which you know already. Read the one that stands after it.",
            lambda s, k, b: _heads(s, k, b, said=1),
        ),
        "looks ahead": Mistake(
            "A place may look at itself and back, not ahead.", lambda s, k, b: _heads(s, k, b, causal=False)
        ),
        "not at itself": Mistake(
            "A place may look at itself too: what stands there may have followed its like.",
            lambda s, k, b: _heads(s, k, b, strict=True),
        ),
        "round the corner": Mistake(
            "Rolling lets the first place follow the last. It follows nothing: its score is zero.",
            lambda s, k, b: _rolled(s, k, b),
        ),
        "two back": Mistake(
            "Your first head looks two places back: one was asked for.", lambda s, k, b: _heads(s, k, b, shift=2)
        ),
        "beta left out": Mistake("beta multiplies the score of a match.", lambda s, k, b: _heads(s, k, 1.0)),
        "matches alone": Mistake(
            "You averaged over the matches alone. At a finite beta the other places keep a weight, that of score zero.",
            lambda s, k, b: _heads(s, k, 1e3),
        ),
    },
)


def _rolled(states: Tensor, k: int, beta: float) -> Tensor:
    hit = (states[:, None] == states.roll(1)).double()
    return (beta * hit).masked_fill(torch.ones_like(hit).triu(1) > 0, -torch.inf).softmax(-1) @ one_hot(states, k).double()


def _columns(first: Callable[[Tensor], Tensor], second: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda n: torch.stack([first(n.double()), second(n.double())], -1)


CEILING: Exercise[[Tensor]] = Exercise(
    reference=_columns(lambda n: 2 / n, lambda n: 3 / n),
    inputs=lambda: [(torch.tensor([4, 5, 6]),), (torch.tensor([3, 7]),)],
    mistakes={
        "all places": Mistake(
            "That is a guess among all places. Where f(q) leads is not everywhere alike: it cannot be f(q) again.",
            _columns(lambda n: 1 / n, lambda n: 1 / n),
        ),
        "no fixed point": Mistake(
            "You left out that f(q) may be q. Then f(f(q)) is known, and that happens once in n.",
            _columns(lambda n: 1 / (n - 1), lambda n: 2 / (n - 1)),
        ),
        "start left out": Mistake(
            "f(f(q)) may be q: a place that leads to q is still free, as far as f(q) tells.",
            _columns(lambda n: 1 / n + (n - 1) / n / (n - 2), lambda n: 3 / n),
        ),
        "no pairs": Mistake(
            "Where the place that leads to q is f(q) itself, the answer is known to be q.",
            _columns(lambda n: 2 / n, lambda n: 1 / n + (n - 1) / n / (n - 2)),
        ),
        "exchanged": Mistake("The columns are exchanged: f(q) alone comes first.", _columns(lambda n: 3 / n, lambda n: 2 / n)),
        "all known": Mistake(
            "Knowing f(q) is not knowing f(f(q)): the fact at f(q) has not been read.",
            _columns(lambda n: n / n, lambda n: n / n),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": WALK, "2": SCORES, "3": BIGRAM, "4": INDUCTION, "5": CEILING}
