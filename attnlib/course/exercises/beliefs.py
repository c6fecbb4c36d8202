"""Exercises of page 6b, beliefs and attention.

It is longer than 250 lines because each of the five names its wrong answers, thirty-two in all, as small functions.
"""

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _pairs() -> list[tuple[Tensor, Tensor]]:
    """Fields and couplings of both signs, weak and strong."""
    fields, couplings = draws((7,), (7,), seed=62)
    return [(fields, couplings), (2 * fields.flip(0), 0.3 * couplings)]


MESSAGE: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda x, J: torch.atanh(torch.tanh(J) * torch.tanh(x)),
    inputs=_pairs,
    mistakes={
        "average, not field": Mistake(
            "That is the average that a spin would have if it heard only this: turn it into a field with artanh.",
            lambda x, J: torch.tanh(J) * torch.tanh(x),
        ),
        "naive mean field": Mistake(
            "J tanh(x) is the field of naive mean field, right where J is small. A message knows that two spins are never more "
            "than equal: tanh(J) inside artanh.",
            lambda x, J: J * torch.tanh(x),
        ),
        "coupling without tanh": Mistake(
            "The coupling stands inside a tanh too.", lambda x, J: torch.atanh((J * torch.tanh(x)).clamp(-0.999, 0.999))
        ),
        "field without tanh": Mistake(
            "The field stands inside a tanh too: it turns into an average before it is passed on.",
            lambda x, J: torch.tanh(J) * x,
        ),
        "with its own field": Mistake(
            "You added the field x of the one who tells: only what follows for the other is passed on.",
            lambda x, J: x + torch.atanh(torch.tanh(J) * torch.tanh(x)),
        ),
    },
)


def _rows() -> list[tuple[Tensor, Tensor]]:
    """Couplings of a row, one fewer than its fields."""
    first, second, third, fourth = draws((5,), (6,), (3,), (4,), seed=63)
    return [(first, second), (1.5 * third, fourth)]


def _passed(J: Tensor, h: Tensor, *, own: bool = True, carried: bool = True) -> Tensor:
    told, u = [], torch.zeros_like(h[0])
    for t in range(len(J)):
        cavity = (h[t] if own else torch.zeros_like(h[t])) + (u if carried else 0.0)
        u = torch.atanh(torch.tanh(J[t]) * torch.tanh(cavity))
        told.append(u)
    return torch.stack(told)


def _first_only(J: Tensor, h: Tensor) -> Tensor:
    return _passed(J, torch.cat([h[:1], torch.zeros_like(h[1:])]))


def _late(J: Tensor, h: Tensor) -> Tensor:
    """The field of the spin that listens, not of the one that tells."""
    return _passed(J, h[1:].clone())


def _means(J: Tensor, h: Tensor) -> Tensor:
    told, u = [], torch.zeros_like(h[0])
    for t in range(len(J)):
        u = J[t] * torch.tanh(h[t] + u)
        told.append(u)
    return torch.stack(told)


FORWARD: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_passed,
    inputs=_rows,
    mistakes={
        "neighbours only": Mistake(
            "Each of your messages knows one spin. Add what it was told by the one before to its field.",
            lambda J, h: _passed(J, h, carried=False),
        ),
        "first field only": Mistake(
            "Only the field of the first spin travels in your answer; each spin adds its own.", _first_only
        ),
        "field of the listener": Mistake(
            "What spin t tells t + 1 holds the field of t, not that of t + 1, which knows its own.", _late
        ),
        "naive mean field": Mistake("J tanh(x) is right for weak couplings only: artanh(tanh J tanh x).", _means),
        "added up": Mistake(
            "You added the messages up along the row. What t - 1 said is in the field of t, and passes its coupling too.",
            lambda J, h: _passed(J, h, carried=False).cumsum(0),
        ),
        "to the left": Mistake(
            "These are the messages that go left. Begin at the first spin.",
            lambda J, h: _passed(J.flip(0), h.flip(0)).flip(0),
        ),
    },
)


def _questions() -> list[tuple[Tensor, Tensor, Tensor, float]]:
    """Queries, keys of different lengths, chances and a variance that is not one."""
    query, key, other, keys, odds, chances = draws((4, 3), (5, 3), (2, 6), (4, 6), (5,), (4,), seed=64)
    return [(query, 1.5 * key, odds.softmax(0), 2.5), (other, keys, (2 * chances).softmax(0), 0.4)]


def _posterior(query: Tensor, key: Tensor, prior: Tensor, variance: float, lengths: float = 0.5) -> Tensor:
    scores = (query @ key.mT - lengths * key.square().sum(-1)) / variance
    return (scores + prior.log()).softmax(-1)


POSTERIOR: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=_posterior,
    inputs=_questions,
    mistakes={
        "no lengths": Mistake(
            "Without half of each key's squared length long keys are favoured: |q - k|^2 has three terms, and one stays.",
            lambda q, k, p, v: _posterior(q, k, p, v, 0.0),
        ),
        "whole lengths": Mistake(
            "The squared length of the key counts by half: the density holds |q - k|^2 / 2.",
            lambda q, k, p, v: _posterior(q, k, p, v, 1.0),
        ),
        "standard deviation": Mistake(
            "You divided by the standard deviation; the scores are divided by the variance.",
            lambda q, k, p, v: _posterior(q, k, p, v**0.5),
        ),
        "twice the variance": Mistake(
            "The product q k is divided by the variance, not by twice the variance: the two comes from 2 q k in |q - k|^2.",
            lambda q, k, p, v: ((q @ k.mT - k.square().sum(-1) / 2) / (2 * v) + p.log()).softmax(-1),
        ),
        "no prior": Mistake("The chances of the keys are missing.", lambda q, k, p, v: _posterior(q, k, torch.ones_like(p), v)),
        "prior without logarithm": Mistake(
            "The chances multiply: add their logarithms to the scores, not the chances.",
            lambda q, k, p, v: ((q @ k.mT - k.square().sum(-1) / 2) / v + p).softmax(-1),
        ),
        "not normalised again": Mistake(
            "Multiplied by the prior after the softmax, the rows no longer sum to one.",
            lambda q, k, p, v: _posterior(q, k, torch.ones_like(p), v) * p,
        ),
        "over queries": Mistake(
            "The keys compete for a query: the softmax goes over the last axis.",
            lambda q, k, p, v: ((q @ k.mT - k.square().sum(-1) / 2) / v + p.log()).softmax(0),
        ),
    },
)


def _chains() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Chains of three and of four states, with moves that are not symmetric; the second is long."""
    start, moves, seen, other, ways, said = draws((3,), (3, 3), (5, 3), (4,), (4, 4), (9, 4), seed=65)
    return [
        (start.softmax(0), (2 * moves).softmax(-1), torch.sigmoid(2 * seen)),
        (other.softmax(0), ways.softmax(-1), torch.sigmoid(said)),
    ]


def _filter(start: Tensor, moves: Tensor, seen: Tensor, *, early: bool = False, scaled: bool = True) -> Tensor:
    known, now = [], start
    for t, said in enumerate(seen):
        now = (now @ moves if t or early else now) * said
        now = now / now.sum() if scaled else now
        known.append(now)
    return torch.stack(known)


def _smoothed(start: Tensor, moves: Tensor, seen: Tensor) -> Tensor:
    back, later = torch.ones_like(start), []
    for said in seen.flip(0):
        later.append(back)
        back = moves @ (said * back)
    both = _filter(start, moves, seen) * torch.stack(later[::-1])
    return both / both.sum(-1, keepdim=True)


def _predicted(start: Tensor, moves: Tensor, seen: Tensor) -> Tensor:
    known = _filter(start, moves, seen)
    return torch.cat([start[None], known[:-1] @ moves])


FILTER: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=_filter,
    inputs=_chains,
    mistakes={
        "moved before the first": Mistake(
            "The first state has not moved yet: start from its chances as they are.",
            lambda s, m, o: _filter(s, m, o, early=True),
        ),
        "moved against the arrows": Mistake(
            "moves leads from row to column: the chances of the next state are now @ moves.",
            lambda s, m, o: _filter(s, m.mT, o),
        ),
        "not normalised": Mistake(
            "These are the chances together with that of what was seen. Divide by their sum.",
            lambda s, m, o: _filter(s, m, o, scaled=False),
        ),
        "knows the future": Mistake(
            "Your answer uses what is seen later too. The filter knows what was seen until then, and no more.", _smoothed
        ),
        "before it is seen": Mistake(
            "These are the chances before the symbol of the same time is seen: multiply with it.", _predicted
        ),
        "no memory": Mistake(
            "Each time stands alone in your answer: move the chances of the time before.",
            lambda s, m, o: s * o / (s * o).sum(-1, keepdim=True),
        ),
    },
)


def _measurements() -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Half-way states of two problems with other numbers of measurements than of components."""
    A, noise, start, rest, B, more, begin, left = draws((6, 9), (6,), (9,), (6,), (8, 5), (8,), (5,), (8,), seed=66)
    A, B = A / 6**0.5, B / 8**0.5
    return [
        (torch.tanh(start), 1.5 * rest, A, A @ start.sign() + 0.3 * noise),
        (torch.tanh(begin), 1.2 * left, B, B @ begin.sign() + 0.5 * more),
    ]


def _estimate(x: Tensor, z: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """The next estimate, and the slope of its denoiser."""
    tau2 = z.square().mean()
    after = torch.tanh((x + A.mT @ z) / tau2)
    return after, (1 - after.square()) / tau2


def _residual(x: Tensor, z: Tensor, A: Tensor, y: Tensor, factor: float = 1.0) -> Tensor:
    after, slope = _estimate(x, z, A)
    return y - A @ after + factor * slope.sum() / len(y) * z


def _same_time(x: Tensor, z: Tensor, A: Tensor, y: Tensor) -> Tensor:
    after, slope = _estimate(x, z, A)
    return (y - A @ after) / (1 - slope.sum() / len(y))


def _without_noise(x: Tensor, z: Tensor, A: Tensor, y: Tensor) -> Tensor:
    after, slope = _estimate(x, z, A)
    return y - A @ after + slope.sum() * z.square().mean() / len(y) * z


def _other_mean(x: Tensor, z: Tensor, A: Tensor, y: Tensor) -> Tensor:
    after, slope = _estimate(x, z, A)
    return y - A @ after + slope.mean() * z


def _not_squared(x: Tensor, z: Tensor, A: Tensor, y: Tensor) -> Tensor:
    tau = z.square().mean().sqrt()
    after = torch.tanh((x + A.mT @ z) / tau)
    return y - A @ after + ((1 - after.square()) / tau).sum() / len(y) * z


STEP: Exercise[[Tensor, Tensor, Tensor, Tensor]] = Exercise(
    reference=_residual,
    inputs=_measurements,
    mistakes={
        "no memory": Mistake(
            "Onsager's term is missing: add the previous residual, times the mean slope of the denoiser, times n / m.",
            lambda x, z, A, y: _residual(x, z, A, y, 0.0),
        ),
        "wrong sign": Mistake("Onsager's term is added, not taken off.", lambda x, z, A, y: _residual(x, z, A, y, -1.0)),
        "same time": Mistake("The memory is of the previous residual z, not of the one that is being computed.", _same_time),
        "slope without the noise": Mistake("The slope of tanh(r / tau2) by r has a factor 1 / tau2.", _without_noise),
        "mean over components": Mistake(
            "The mean slope is multiplied by n / m: the sum over components, divided by the number of measurements.",
            _other_mean,
        ),
        "standard deviation": Mistake("The denoiser divides by the variance tau2, not by its root.", _not_squared),
        "estimate not moved": Mistake(
            "You took y - A x of the old x: compute the next estimate first.",
            lambda x, z, A, y: y - A @ x + _estimate(x, z, A)[1].sum() / len(y) * z,
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": MESSAGE, "2": FORWARD, "3": POSTERIOR, "4": FILTER, "5": STEP}
