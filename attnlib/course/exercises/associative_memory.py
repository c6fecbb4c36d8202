"""Exercises of page 3a, associative memory."""

import math
from typing import cast

import torch
from torch import Tensor

from attnlib.course.exercises._exercise import Exercise, Mistake


def _spins(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randint(2, shape, generator=generator).double() - 1


def _hebb(patterns: Tensor) -> Tensor:
    weights = patterns.T @ patterns / patterns.shape[-1]
    return weights - torch.diag(weights.diagonal())


def _with_diagonal(patterns: Tensor) -> Tensor:
    return patterns.T @ patterns / patterns.shape[-1]


HEBB: Exercise[[Tensor]] = Exercise(
    reference=_hebb,
    inputs=lambda: [(_spins(m, d, seed=seed),) for seed, (m, d) in enumerate([(3, 8), (5, 6)])],
    mistakes={
        "with its diagonal": Mistake("A spin must not be coupled to itself: set the diagonal to zero.", _with_diagonal),
        "no scale": Mistake(
            "Divide by the number of spins d, so that the field of a stored pattern is about 1.",
            lambda x: _hebb(x) * x.shape[-1],
        ),
        "divided by m": Mistake(
            "You divide by the number of patterns; divide by the number of spins.",
            lambda x: _hebb(x) * x.shape[-1] / x.shape[-2],
        ),
        "covariance": Mistake(
            "Hebb's rule does not subtract the mean of the patterns.", lambda x: _hebb(x - x.mean(0, keepdim=True))
        ),
    },
)


def _networks() -> list[tuple[Tensor, Tensor, Tensor]]:
    fields = [torch.linspace(-1, 1, d, dtype=torch.float64) for d in (8, 6)]
    return [
        (_spins(4, d, seed=seed), _hebb(_spins(3, d, seed=seed + 10)), field)
        for seed, (d, field) in enumerate(zip((8, 6), fields, strict=True))
    ]


def _pairs(state: Tensor, weights: Tensor) -> Tensor:
    return -(state * (state @ weights)).sum(-1) / 2


ENERGY: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda s, w, h: _pairs(s, w) - s @ h,
    inputs=_networks,
    mistakes={
        "pairs twice": Mistake(
            "The double sum visits every pair twice: take half of it.", lambda s, w, h: 2 * _pairs(s, w) - s @ h
        ),
        "field upside down": Mistake(
            "A spin along its field lowers the energy: the field enters with a minus. (A threshold would enter with a plus.)",
            lambda s, w, h: _pairs(s, w) + s @ h,
        ),
        "upside down": Mistake("The sign is turned: stored patterns must lie low.", lambda s, w, h: -_pairs(s, w) + s @ h),
        "no field": Mistake("The field is missing.", lambda s, w, h: _pairs(s, w)),
    },
)


def _sweep(state: Tensor, weights: Tensor, sign: int = 1, on_tie: float | None = None, order: int = 1) -> Tensor:
    state = state.clone()
    for k in range(len(state))[::order]:
        felt = sign * (weights[k] @ state).item()
        if felt:
            state[k] = math.copysign(1, felt)
        elif on_tie is not None:
            state[k] = on_tie
    return state


def _rest(state: Tensor, weights: Tensor) -> Tensor:
    while not torch.equal(after := _sweep(state, weights), state):
        state = after
    return state


def _crowded_networks() -> list[tuple[Tensor, Tensor]]:
    """Networks in which spins often feel exactly nothing, and some in which the second sweep and the third still turn spins.

    The numbers of spins are powers of two, so that the fields are exact, and the numbers of patterns are even.
    """
    sizes = [(8, 2, seed) for seed in range(12)] + [(16, 6, seed) for seed in (1, 7, 8, 9)]
    return [(_spins(d, seed=seed), _hebb(_spins(m, d, seed=seed + 20))) for d, m, seed in sizes]


SWEEP: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_sweep,
    inputs=_crowded_networks,
    mistakes={
        "all at once": Mistake(
            "You turn all spins at once. Each spin must see the changes made before its turn.",
            lambda s, w: torch.where(w @ s == 0, s, (w @ s).sign()),
        ),
        "two sweeps": Mistake(
            "You swept twice: stop after the last spin has had its turn.", lambda s, w: _sweep(_sweep(s, w), w)
        ),
        "until nothing changes": Mistake(
            "You sweep until nothing changes. The exercise asks for one sweep: each spin has one turn.", _rest
        ),
        "backwards": Mistake(
            "You start at the last spin. The order counts: start at the first.", lambda s, w: _sweep(s, w, order=-1)
        ),
        "uphill": Mistake(
            "Your spins follow the sign of the gradient and climb. The field is minus the gradient.",
            lambda s, w: _sweep(s, w, sign=-1),
        ),
        "zero on a tie": Mistake(
            "The sign of zero is zero, and a spin has no such value: where the field is zero, keep the spin.",
            lambda s, w: _sweep(s, w, on_tie=0.0),
        ),
        "up on a tie": Mistake(
            "Where the field is zero, keep the spin; yours becomes +1.", lambda s, w: _sweep(s, w, on_tie=1.0)
        ),
        "down on a tie": Mistake(
            "Where the field is zero, keep the spin; yours becomes -1.", lambda s, w: _sweep(s, w, on_tie=-1.0)
        ),
    },
)


def _gain(state: Tensor, memory: Tensor, degree: int, own: bool = True) -> Tensor:
    """How much larger the sum of powers is for a spin of +1 than for -1."""
    rest = (state @ memory.T)[:, :, None] - own * state[:, None] * memory
    return ((rest + memory) ** degree - (rest - memory) ** degree).sum(1)


def _follow(gain: Tensor, state: Tensor) -> Tensor:
    return torch.where(gain == 0, state, gain.sign())


DENSE: Exercise[[Tensor, Tensor, int]] = Exercise(
    reference=lambda s, x, a: _follow(_gain(s, x, a), s),
    inputs=lambda: [(_spins(6, 7, seed=seed), _spins(9, 7, seed=seed + 30), a) for seed, a in enumerate((2, 3, 4))],
    mistakes={
        "counts itself": Mistake(
            "Take the spin's own contribution out of the overlap before you try both values.",
            lambda s, x, a: _follow(_gain(s, x, a, own=False), s),
        ),
        "zero on a tie": Mistake(
            "Where both values are equally good the sign is zero, which is no spin: keep the spin as it is.",
            lambda s, x, a: _gain(s, x, a).sign(),
        ),
        "uphill": Mistake(
            "The energy is minus the sum of powers: prefer the value with the larger sum.",
            lambda s, x, a: _follow(-_gain(s, x, a), s),
        ),
    },
)


def _tail(variance: Tensor) -> Tensor:
    """Chance that Gaussian noise of a variance exceeds one: Phi(-1/sigma)."""
    return cast("Tensor", torch.special.ndtr(-variance.rsqrt()))  # pyright: ignore[reportUnknownMemberType]


def _odd_product(last: int) -> int:
    return math.prod(range(1, last + 1, 2))


def _patterns(d: int, m: int, power: int) -> Tensor:
    """Number of patterns over a power of the number of spins."""
    return torch.tensor(m / math.pow(d, power), dtype=torch.float64)


CROSSTALK: Exercise[[int, int, int]] = Exercise(
    reference=lambda d, m, a: _tail(_odd_product(2 * a - 3) * _patterns(d, m, a - 1)),
    inputs=lambda: [(100, 14, 2), (50, 300, 3), (40, 2000, 4)],
    mistakes={
        "scaling only": Mistake(
            "The power of d is right, the constant is missing: the noise is (2a - 3)!! times stronger.",
            lambda d, m, a: _tail(_patterns(d, m, a - 1)),
        ),
        "wrong moment": Mistake(
            "The noise is the variance of z to the power a - 1, which is (2a - 3)!!; (2a - 1)!! belongs to the power a.",
            lambda d, m, a: _tail(_odd_product(2 * a - 1) * _patterns(d, m, a - 1)),
        ),
        "one power too many": Mistake(
            "The capacity grows like d to the power a - 1, not a.",
            lambda d, m, a: _tail(_odd_product(2 * a - 3) * _patterns(d, m, a)),
        ),
        "both tails": Mistake(
            "Only noise against the pattern does harm: one tail of the Gaussian, not two.",
            lambda d, m, a: 2 * _tail(_odd_product(2 * a - 3) * _patterns(d, m, a - 1)),
        ),
        "no root": Mistake(
            "Divide by the standard deviation of the noise, not by its variance.",
            lambda d, m, a: _tail((_odd_product(2 * a - 3) * _patterns(d, m, a - 1)).square()),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": HEBB, "2": ENERGY, "3": SWEEP, "4": DENSE, "5": CROSSTALK}
