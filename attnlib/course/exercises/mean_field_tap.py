"""Exercises of page 4a, from mean field to adaptive TAP."""

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _system(n: int, seed: int, *others: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Couplings ``[n, n]`` that are symmetric and unlike each other, fields ``[n]``, and other normal numbers."""
    J, h, *rest = draws((n, n), (n,), *others, seed=seed)
    upper = J.triu(1) / n**0.5
    return (upper + upper.mT, h, *rest)


def _states() -> list[tuple[object, ...]]:
    cases: list[tuple[object, ...]] = []
    for n, seed in ((5, 0), (7, 1)):
        J, h, noise = _system(n, seed, (4, n))
        cases.append((noise.sign(), J, h))
    return cases


ENERGY: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda s, J, h: -(s @ J * s).sum(-1) / 2 - s @ h,
    inputs=_states,
    mistakes={
        "pairs twice": Mistake(
            "The sum over i and j meets each pair twice. Halve it, or sum over i < j only.",
            lambda s, J, h: -(s @ J * s).sum(-1) - s @ h,
        ),
        "plus signs": Mistake(
            "Both terms have a minus: an energy is low where coupled spins agree and follow their fields.",
            lambda s, J, h: (s @ J * s).sum(-1) / 2 + s @ h,
        ),
        "plus signs, pairs twice": Mistake(
            "Two slips: both terms have a minus, and the sum over i and j meets each pair twice.",
            lambda s, J, h: (s @ J * s).sum(-1) + s @ h,
        ),
        "field against the spin": Mistake(
            "The field enters with a minus too: a spin along its field lowers the energy.",
            lambda s, J, h: -(s @ J * s).sum(-1) / 2 + s @ h,
        ),
        "no field": Mistake("The fields are missing.", lambda s, J, h: -(s @ J * s).sum(-1) / 2),
    },
)


def _magnetised() -> list[tuple[Tensor, Tensor, Tensor, float]]:
    cases = []
    for n, seed, beta in ((5, 2, 0.7), (7, 3, 1.6)):
        J, h, noise = _system(n, seed, (n,))
        cases.append((noise.tanh(), J, h, beta))
    return cases


def _tap(m: Tensor, J: Tensor, h: Tensor, beta: float, V: Tensor) -> Tensor:
    return torch.tanh(beta * (J @ m + h) - V * m)


def _free(m: Tensor) -> Tensor:
    return 1 - m.square()


TAP_STEP: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=lambda m, J, h, b: _tap(m, J, h, b, b**2 * J.square() @ _free(m)),
    inputs=_magnetised,
    mistakes={
        "no reaction": Mistake(
            "That is naive mean field: the reaction V_i m_i is missing.",
            lambda m, J, h, b: torch.tanh(b * (J @ m + h)),
        ),
        "wrong sign": Mistake(
            "The reaction is taken off; with a plus the echo is counted twice.",
            lambda m, J, h, b: _tap(m, J, h, b, -(b**2) * J.square() @ _free(m)),
        ),
        "beta once": Mistake(
            "V has a factor beta squared: one beta for the way to the neighbour, one for the way back.",
            lambda m, J, h, b: _tap(m, J, h, b, b * J.square() @ _free(m)),
        ),
        "J once": Mistake(
            "The echo passes the bond twice, so J enters squared.",
            lambda m, J, h, b: _tap(m, J, h, b, b**2 * J @ _free(m)),
        ),
        "own variance": Mistake(
            "The echo comes back from the neighbours: 1 - m^2 is theirs and stands inside the sum over j.",
            lambda m, J, h, b: _tap(m, J, h, b, b**2 * J.square().sum(-1) * _free(m)),
        ),
        "no variance": Mistake(
            "A neighbour that is nearly frozen hardly answers: each term of V needs the factor 1 - m_j^2.",
            lambda m, J, h, b: _tap(m, J, h, b, b**2 * J.square().sum(-1)),
        ),
        "no m": Mistake(
            "The reaction is V_i times m_i: a spin without magnetisation has no echo.",
            lambda m, J, h, b: torch.tanh(b * (J @ m + h) - b**2 * J.square() @ _free(m)),
        ),
        "beta outside": Mistake(
            "beta multiplies the field h as well as the couplings.",
            lambda m, J, h, b: torch.tanh(b * J @ m + h - b**2 * (J.square() @ _free(m)) * m),
        ),
    },
)


def _responding() -> list[tuple[object, ...]]:
    return [(m, 1 + m.roll(1).square(), J, beta / 2) for m, J, _, beta in _magnetised()]


def _response(diagonal: Tensor, J: Tensor) -> Tensor:
    return torch.linalg.inv(torch.diag(diagonal) - J).contiguous()


RESPONSE: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=lambda m, V, J, b: _response(V + 1 / _free(m), b * J),
    inputs=_responding,
    mistakes={
        "prior's variance": Mistake(
            "You used the variance of a spin on which nothing acts, 1. The local variance is 1 - m^2.",
            lambda m, V, J, b: _response(V + 1, b * J),
        ),
        "variance not inverted": Mistake(
            "Lambda holds one over the variance: a spin that is free to move gives way.",
            lambda m, V, J, b: _response(V + _free(m), b * J),
        ),
        "no V": Mistake("Lambda is V + 1/(1 - m^2); V is missing.", lambda m, V, J, b: _response(1 / _free(m), b * J)),
        "sign of V": Mistake(
            "V stiffens the response: it is added in Lambda.", lambda m, V, J, b: _response(1 / _free(m) - V, b * J)
        ),
        "sign of J": Mistake(
            "The couplings are subtracted from Lambda.", lambda m, V, J, b: _response(V + 1 / _free(m), -b * J)
        ),
        "no beta": Mistake("beta multiplies J.", lambda m, V, J, b: _response(V + 1 / _free(m), J)),
        "not inverted": Mistake(
            "That is the stiffness; the response is its inverse.",
            lambda m, V, J, b: torch.diag(V + 1 / _free(m)) - b * J,
        ),
        "single sites": Mistake(
            "That is each spin by itself: no spin answers to another's field. The couplings belong into the inverse.",
            lambda m, V, J, b: torch.diag(_free(m)),
        ),
    },
)


def _fields() -> list[tuple[object, ...]]:
    weak, strong = draws((4, 6), (3, 9), seed=4)
    return [(0.3 * weak,), (5 * strong,)]


def _norm(b: Tensor, square: Tensor) -> Tensor:
    return 2 * b / (1 + torch.sqrt(1 + 4 * square))


SOFT_NORM: Exercise[[Tensor]] = Exercise(
    reference=lambda b: _norm(b, b.square().mean(-1, keepdim=True)),
    inputs=_fields,
    mistakes={
        "not divided by D": Mistake(
            "Under the root stands |b|^2 / D, the mean of the squares, not their sum.",
            lambda b: _norm(b, b.square().sum(-1, keepdim=True)),
        ),
        "component by component": Mistake(
            "The length of the whole vector counts, not each component by itself.",
            lambda b: _norm(b, b.square()),
        ),
        "wrong axis": Mistake(
            "The mean runs over the components of a spin, the last axis.",
            lambda b: _norm(b, b.square().mean(0, keepdim=True)),
        ),
        "no four": Mistake("Under the root stands 4 |b|^2 / D.", lambda b: _norm(b, b.square().mean(-1, keepdim=True) / 4)),
        "no root": Mistake(
            "The root is missing: in a strong field the length must stop growing, at sqrt(D).",
            lambda b: 2 * b / (2 + 4 * b.square().mean(-1, keepdim=True)),
        ),
        "hard norm": Mistake(
            "That is RMS norm, the limit of strong fields. A weak field passes unchanged.",
            lambda b: b / b.square().mean(-1, keepdim=True).sqrt(),
        ),
        "no two": Mistake(
            "The numerator is 2 b: a weak field passes unchanged.", lambda b: _norm(b, b.square().mean(-1, keepdim=True)) / 2
        ),
    },
)


def _matched(J: Tensor, c: Tensor, target: Tensor, steps: int = 500) -> Tensor:
    V = torch.zeros_like(c)
    for _ in range(steps):
        V = V + (1 / target - 1 / _response(V + 1 / c, J).diagonal()) / 2
    return V


def _variances() -> list[tuple[object, ...]]:
    return [(J, _free(m), beta / 3) for m, J, _, beta in _magnetised()]


REACTION: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=lambda J, c, b: _matched(b * J, c, c),
    inputs=_variances,
    mistakes={
        "Onsager's": Mistake(
            "That is TAP's reaction. Let the response decide: its diagonal has to be c, which yours misses.",
            lambda J, c, b: b**2 * J.square() @ c,
        ),
        "one step": Mistake(
            "One step is not enough: the response changes with V. Repeat until the diagonal is c.",
            lambda J, c, b: _matched(b * J, c, c, steps=1),
        ),
        "prior's variance": Mistake(
            "The variance in Lambda and on the diagonal is the local one, c; you used 1, that of a spin left alone.",
            lambda J, c, b: _matched(b * J, torch.ones_like(c), torch.ones_like(c)),
        ),
        "no beta": Mistake("beta multiplies J.", lambda J, c, b: _matched(J, c, c)),
        "Lambda": Mistake("That is Lambda = V + 1/c; take 1/c off.", lambda J, c, b: _matched(b * J, c, c) + 1 / c),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": ENERGY, "2": TAP_STEP, "3": RESPONSE, "4": SOFT_NORM, "5": REACTION}
