"""Exercises of page 5b, where z sticks."""

import math

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _many(beta: Tensor, g: float, *, power: int = 2, stuck: float = 2.0) -> Tensor:
    return torch.where(beta * g < 1, 1 / beta + beta * g**power, stuck * g)


MANY: Exercise[[Tensor, float]] = Exercise(
    reference=_many,
    inputs=lambda: [(0.3 * torch.arange(1, 9, dtype=torch.float64), g) for g in (0.7, 1.6)],
    mistakes={
        "never stuck": Mistake(
            "Below the critical temperature z stays where it is. Your z rises again as the spins cool.",
            lambda beta, g: 1 / beta + beta * g**2,
        ),
        "stuck everywhere": Mistake("Above the critical temperature z is not stuck.", lambda beta, g: 2 * g + 0 * beta),
        "g not squared": Mistake("The eigenvalues' variance is g squared.", lambda beta, g: _many(beta, g, power=1)),
        "stuck at g": Mistake("The largest eigenvalue is 2 g.", lambda beta, g: _many(beta, g, stuck=1.0)),
        "stuck from beta = 1 on": Mistake(
            "The critical temperature is g, so that beta_c = 1 / g.",
            lambda beta, g: torch.where(beta < 1, 1 / beta + beta * g**2, 2.0 * g),
        ),
    },
)


def _couplings() -> list[Tensor]:
    found = []
    for n, seed in ((5, 0), (7, 1)):
        upper = draws((n, n), seed=seed)[0].triu(1) / n**0.5
        found.append(upper + upper.mT)
    return found


def _levels() -> list[tuple[Tensor, float, float]]:
    spectra = [torch.linalg.eigvalsh(J) for J in _couplings()]
    return [(values, values[-1].item() + gap, beta) for values, gap, beta in zip(spectra, (0.2, 1.1), (0.6, 2.5), strict=True)]


def _shares(values: Tensor, z: float, beta: float) -> Tensor:
    return 1 / (len(values) * beta * (z - values))


SHARES: Exercise[[Tensor, float, float]] = Exercise(
    reference=_shares,
    inputs=_levels,
    mistakes={
        "not divided by the number of spins": Mistake(
            "All spins together have the length N: divide by their number.", lambda v, z, b: _shares(v, z, b) * len(v)
        ),
        "no beta": Mistake("A mode fluctuates the less the colder it is: divide by beta.", lambda v, z, b: _shares(v, z, 1.0)),
        "beta times": Mistake("Divide by beta: cold modes fluctuate less.", lambda v, z, b: _shares(v, z, 1 / b)),
        "stiffness": Mistake("That is a mode's stiffness. It fluctuates by one over it.", lambda v, z, b: b * (z - v)),
        "normalised": Mistake(
            "You made the shares add up to one. At a z that is not the solution they need not.",
            lambda v, z, b: _shares(v, z, b) / _shares(v, z, b).sum(),
        ),
    },
)


def _common(J: Tensor, beta: float) -> Tensor:
    values = torch.linalg.eigvalsh(J)
    low, high = values[-1], values[-1] + 1 / beta
    for _ in range(60):
        z = (low + high) / 2
        low, high = (z, high) if (1 / (z - values)).mean() > beta else (low, z)
    return (low + high) / 2


COMMON: Exercise[[Tensor, float]] = Exercise(
    reference=_common,
    inputs=lambda: list(zip(_couplings(), (0.6, 2.5), strict=True)),
    mistakes={
        "the sum in place of the mean": Mistake(
            "The sum rule has the mean over all modes: your spins share one length among all of them.",
            lambda J, b: _common(J, b / len(J)),
        ),
        "beta on the other side": Mistake("The mean of 1 / (z - lambda) is beta.", lambda J, b: _common(J, 1 / b)),
        "the largest eigenvalue": Mistake(
            "That is where z would stick for many spins. For a few it stays above.", lambda J, b: torch.linalg.eigvalsh(J)[-1]
        ),
        "the end of the interval": Mistake(
            "At the largest eigenvalue plus 1 / beta the mean is still below beta: halve the interval.",
            lambda J, b: torch.linalg.eigvalsh(J)[-1] + 1 / b,
        ),
        "many random spins": Mistake(
            "That is the formula for many random spins. These are a few: use their eigenvalues.",
            lambda J, b: torch.tensor(1 / b + b if b < 1 else 2.0, dtype=J.dtype),
        ),
    },
)


def _arrows() -> list[tuple[Tensor, Tensor]]:
    cases = []
    for J, seed in zip(_couplings(), (2, 3), strict=True):
        drawn = draws((len(J), 3), seed=seed)[0]
        unit = drawn / drawn.norm(dim=1, keepdim=True)
        cosines = (unit @ unit.mT).fill_diagonal_(1.0)
        cases.append((cosines.clamp(-1, 1), J))
    return cases


ROUNDED: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda X, J: (J * X.asin()).sum() / math.pi,
    inputs=_arrows,
    mistakes={
        "the arrows' own energy": Mistake(
            "That is what the arrows gain, before they are cut into signs.", lambda X, J: (J * X).sum() / 2
        ),
        "each pair twice": Mistake(
            "Each pair counts once: half of the sum over i and j.", lambda X, J: 2 * (J * X.asin()).sum() / math.pi
        ),
        "no two over pi": Mistake(
            "The mean product of two signs is 2 / pi times the arc sine: 1 for equal arrows.",
            lambda X, J: (J * X.asin()).sum() / 2,
        ),
        "the angle itself": Mistake(
            "The angle over pi is the chance that the signs differ: the mean of their product is 1 - 2 angle / pi.",
            lambda X, J: (J * X.acos()).sum() / math.pi,
        ),
        "signs of the cosines": Mistake(
            "A plane cuts at random: two signs agree more often the smaller the angle.", lambda X, J: (J * X.sign()).sum() / 2
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": MANY, "2": SHARES, "3": COMMON, "4": ROUNDED}
