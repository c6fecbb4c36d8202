"""Exercises of page 3c, flatland."""

import math
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw
from attnlib.course.exercises._exercise import Exercise, Mistake
from attnlib.course.oracles import potts_couplings


def _largest_other(scores: Tensor) -> Tensor:
    others = scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), -math.inf)
    return others.max(-1).values


def _star() -> Tensor:
    """Three memories of different lengths, 120 degrees apart: every score with another is negative."""
    angle = torch.arange(3, dtype=torch.float64) * (2 * math.pi / 3)
    return torch.stack([angle.cos(), angle.sin()], -1) * torch.tensor([[1.0], [0.7], [1.3]], dtype=torch.float64)


def _cosines(memory: Tensor) -> Tensor:
    unit = memory / memory.square().sum(-1, keepdim=True).sqrt()
    return unit @ unit.T


MARGIN: Exercise[[Tensor]] = Exercise(
    reference=lambda x: (x @ x.T).diagonal() - _largest_other(x @ x.T),
    inputs=lambda: [(draw(6, 2, seed=0),), (draw(9, 3, seed=1),), (_star(),)],
    mistakes={
        "itself among the others": Mistake(
            "The largest score is taken over all memories, the memory itself among them, so no margin is above zero.",
            lambda x: (x @ x.T).diagonal() - (x @ x.T).max(-1).values,
        ),
        "zero diagonal": Mistake(
            "You put 0 in place of a memory's own score. Where the others are negative, that 0 is the largest: put -inf.",
            lambda x: (x @ x.T).diagonal() - (x @ x.T).fill_diagonal_(0).max(-1).values,
        ),
        "cosines": Mistake(
            "You compared directions. Length counts: a long memory hides a short one behind it.",
            lambda x: 1 - _largest_other(_cosines(x)),
        ),
        "absolute scores": Mistake(
            "You compared absolute values. A negative score does not attract: the opposite memory hides nothing.",
            lambda x: (x @ x.T).diagonal() - _largest_other((x @ x.T).abs()),
        ),
        "distances": Mistake(
            "You compared distances. The energy compares scores, x_i . x_i with x_j . x_i.",
            lambda x: -_largest_other(-torch.cdist(x, x).square() / 2),
        ),
    },
)


def _centred(*shape: int, seed: int) -> Tensor:
    x = draw(*shape, seed=seed)
    return x - x.mean(0)


def _eigenvalues(matrix: Tensor) -> Tensor:
    return cast("Tensor", torch.linalg.eigvalsh(matrix))  # pyright: ignore[reportUnknownMemberType]


CRITICAL_BETA: Exercise[[Tensor]] = Exercise(
    reference=lambda x: 1 / _eigenvalues(x.T @ x / len(x))[-1],
    inputs=lambda: [(_centred(6, 2, seed=2),), (_centred(9, 4, seed=3),)],
    mistakes={
        "not divided": Mistake(
            "The weights at the average are 1/m each: divide the sum over the memories by their number.",
            lambda x: 1 / _eigenvalues(x.T @ x)[-1],
        ),
        "m - 1": Mistake(
            "Divide by m, not by m - 1: this is the covariance under the attention weights, not an estimate from a sample.",
            lambda x: 1 / _eigenvalues(x.T @ x / (len(x) - 1))[-1],
        ),
        "smallest eigenvalue": Mistake(
            "The average gives way in its softest direction first: take the largest eigenvalue of the covariance.",
            lambda x: 1 / _eigenvalues(x.T @ x / len(x))[0],
        ),
        "trace": Mistake(
            "That is the mean squared length, the sum of all eigenvalues. One direction gives way: take the largest.",
            lambda x: 1 / x.square().sum(-1).mean(),
        ),
    },
)


def _transition(gap: float) -> Callable[[Tensor], Tensor]:
    return lambda r: 4 * math.log(2) / (gap * r**2)


TRANSITION: Exercise[[Tensor]] = Exercise(
    reference=_transition(1.5),
    inputs=lambda: [(torch.tensor(r, dtype=torch.float64),) for r in (0.7, 1.0, 2.3)],
    mistakes={
        "orthogonal": Mistake(
            "That holds for orthogonal memories. Here the score with another memory is -r^2 / 2, not 0: the gap is larger.",
            _transition(1.0),
        ),
        "half the gap": Mistake(
            "The gap is r^2 minus (-r^2 / 2), which is more than r^2.",
            _transition(0.5),
        ),
        "loss of stability": Mistake(
            "That is where the average gives way, K = N. Equal depth comes before, at K = 2 (N - 1) ln(N - 1) / (N - 2).",
            lambda r: 3 / (1.5 * r**2),
        ),
        "appearance": Mistake(
            "That is where a single pattern appears, at the least K(s). Equal depth comes at a larger beta.",
            lambda r: potts_couplings(3).spinodal / (1.5 * r**2),
        ),
        "length": Mistake(
            "K is beta times the squared length: you divided by the length.",
            lambda r: 4 * math.log(2) / (1.5 * r),
        ),
    },
)


def _odds(beta: Tensor, n: int, d: int) -> Tensor:
    return (n - 1) * (1 + 2 * beta - beta**2) ** (-d / 2)


ODDS: Exercise[[Tensor, int, int]] = Exercise(
    reference=_odds,
    inputs=lambda: [(torch.tensor(b, dtype=torch.float64), n, d) for b, n, d in ((0.3, 8, 10), (0.125, 5, 64))],
    mistakes={
        "no fluctuations": Mistake(
            "You put |x|^2 = d and x_i . x_j = 0, their means. The mean of an exponential is more than that of its exponent.",
            lambda b, n, d: (n - 1) * torch.exp(-b * d),
        ),
        "fixed length": Mistake(
            "You let the scores with others fluctuate, not the token's own length: |x_i|^2 varies too.",
            lambda b, n, d: (n - 1) * torch.exp(-b * d + b**2 * d / 2),
        ),
        "itself": Mistake(
            "A token has n - 1 others.",
            lambda b, n, d: n / (n - 1) * _odds(b, n, d),
        ),
        "expanded": Mistake(
            "That is the approximation for large d. Keep the factor of each component as it is.",
            lambda b, n, d: (n - 1) * torch.exp(-b * d + 1.5 * b**2 * d),
        ),
    },
)


def _new_differences(x: Tensor, beta: float, step: float, *, scale: float | int = 1.0) -> Tensor:
    delta = x - x.mean(0)
    return (1 - step) * delta + step * beta * scale * delta @ delta.T @ delta / len(x)


NEW_DIFFERENCES: Exercise[[Tensor, float, float]] = Exercise(
    reference=_new_differences,
    inputs=lambda: [(draw(5, 3, seed=4), 0.7, 0.4), (2 + draw(8, 2, seed=5), 1.5, 0.9)],
    mistakes={
        "no residual": Mistake(
            "A step of size g keeps (1 - g) of each difference; yours holds only what attention adds.",
            lambda x, b, g: _new_differences(x, b, g) - (1 - g) * (x - x.mean(0)),
        ),
        "full residual": Mistake(
            "You kept the whole difference. A step of size g keeps (1 - g) of it.",
            lambda x, b, g: _new_differences(x, b, g) + g * (x - x.mean(0)),
        ),
        "no mean": Mistake(
            "C is the covariance of the differences: divide the sum over the tokens by their number.",
            lambda x, b, g: _new_differences(x, b, g, scale=len(x)),
        ),
        "no beta": Mistake(
            "The deviation of the weights from uniform is beta times the deviation of the scores: a factor beta is missing.",
            lambda x, b, g: _new_differences(x, b, g, scale=1 / b),
        ),
        "not centred": Mistake(
            "Take the differences from the mean before the covariance; yours contains the mean itself.",
            lambda x, b, g: (1 - g) * (x - x.mean(0)) + g * b * (x - x.mean(0)) @ x.T @ x / len(x),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": MARGIN, "2": CRITICAL_BETA, "3": TRANSITION, "4": ODDS, "5": NEW_DIFFERENCES}
