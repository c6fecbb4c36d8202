"""Exercises of page 3b, attention is a gradient step."""

import math

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw, draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _states_and_memories() -> list[tuple[object, ...]]:
    return [(*draws((4, 3), (5, 3), seed=seed), beta) for seed, beta in ((0, 0.7), (1, 2.5))]


def _energy_inputs() -> list[tuple[object, ...]]:
    """The same, and one with scores in the thousands: their exponentials are more than float64 can hold, or less."""
    state, memory = draws((4, 3), (5, 3), seed=6)
    return [*_states_and_memories(), (30 * state, 30 * memory, 2.5)]


def _weights(state: Tensor, memory: Tensor, beta: float) -> Tensor:
    return torch.softmax(beta * state @ memory.T, -1)


def _energy(state: Tensor, memory: Tensor, beta: float) -> Tensor:
    return state.square().sum(-1) / 2 - torch.logsumexp(beta * state @ memory.T, -1) / beta


ENERGY: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=_energy,
    inputs=_energy_inputs,
    mistakes={
        "no 1/beta": Mistake(
            "The logsumexp needs a factor 1/beta in front; without it the gradient holds beta times the attended pattern.",
            lambda s, x, b: s.square().sum(-1) / 2 - torch.logsumexp(b * s @ x.T, -1),
        ),
        "no beta inside": Mistake(
            "beta also stands inside the exponential: the scores are beta times x . xi.",
            lambda s, x, b: s.square().sum(-1) / 2 - torch.logsumexp(s @ x.T, -1) / b,
        ),
        "no half": Mistake(
            "The quadratic term is half the squared length.",
            lambda s, x, b: s.square().sum(-1) - torch.logsumexp(b * s @ x.T, -1) / b,
        ),
        "plus sign": Mistake(
            "The logsumexp enters with a minus: memories attract.",
            lambda s, x, b: s.square().sum(-1) / 2 + torch.logsumexp(b * s @ x.T, -1) / b,
        ),
        "overflow": Mistake(
            "The exponential of a large score overflows, and the energy is infinite. Take the logarithm by torch.logsumexp.",
            lambda s, x, b: s.square().sum(-1) / 2 - torch.exp(b * s @ x.T).sum(-1).log() / b,
        ),
    },
)

STEP: Exercise[[Tensor, Tensor, float, float]] = Exercise(
    reference=lambda s, x, b, g: (1 - g) * s + g * _weights(s, x, b) @ x,
    inputs=lambda: [(*case, step) for case, step in zip(_states_and_memories(), (0.3, 1.6), strict=True)],
    mistakes={
        "no residual": Mistake(
            "A step of size g keeps (1 - g) of the old state; yours returns only g times the attended pattern.",
            lambda s, x, b, g: g * _weights(s, x, b) @ x,
        ),
        "full residual": Mistake(
            "You kept the whole state: state + g * attention is a step without the quadratic term of the energy.",
            lambda s, x, b, g: s + g * _weights(s, x, b) @ x,
        ),
        "uphill": Mistake(
            "The sign is turned: this step climbs. Subtract the gradient.",
            lambda s, x, b, g: (1 + g) * s - g * _weights(s, x, b) @ x,
        ),
        "exchanged": Mistake(
            "You exchanged the weights: a step of size g keeps (1 - g) of the state and adds g times the attended pattern.",
            lambda s, x, b, g: g * s + (1 - g) * _weights(s, x, b) @ x,
        ),
        "size ignored": Mistake(
            "That is the step of size 1, whatever the size: a step of size g keeps (1 - g) of the old state.",
            lambda s, x, b, g: _weights(s, x, b) @ x,
        ),
        "wrong axis": Mistake(
            "The softmax runs over the states; it must run over the memories, so that each state's weights sum to one.",
            lambda s, x, b, g: (1 - g) * s + g * torch.softmax(b * s @ x.T, 0) @ x,
        ),
    },
)

SELF_ATTENTION: Exercise[[Tensor, float]] = Exercise(
    reference=lambda x, b: x - _weights(x, x, b) @ x - _weights(x, x, b).T @ x,
    inputs=lambda: [(draw(5, 3, seed=seed), beta) for seed, beta in ((2, 0.5), (3, 1.4))],
    mistakes={
        "fixed keys": Mistake(
            "You differentiated the tokens as queries only. Each token is also a key in every other token's energy.",
            lambda x, b: x - _weights(x, x, b) @ x,
        ),
        "factor two": Mistake(
            "The two terms are equal only when P is symmetric, and here it is not: rows are normalised, columns are not.",
            lambda x, b: x - 2 * _weights(x, x, b) @ x,
        ),
        "no confinement": Mistake(
            "The quadratic term contributes x itself.",
            lambda x, b: -_weights(x, x, b) @ x - _weights(x, x, b).T @ x,
        ),
    },
)


def _log_partition(memory: Tensor, beta: float) -> Tensor:
    volume = memory.shape[-1] / 2 * math.log(2 * math.pi / beta)
    return volume + torch.logsumexp(beta * memory.square().sum(-1) / 2, -1)


LOG_PARTITION: Exercise[[Tensor, float]] = Exercise(
    reference=_log_partition,
    inputs=lambda: [(draw(5, 3, seed=seed), beta) for seed, beta in ((4, 0.5), (5, 1.4))],
    mistakes={
        "no volume": Mistake(
            "The Gaussian integral gives a factor (2 pi / beta)^(d/2) that is missing.",
            lambda x, b: torch.logsumexp(b * x.square().sum(-1) / 2, -1),
        ),
        "variance beta": Mistake(
            "The variance of each component is 1/beta, not beta: the volume factor is (2 pi / beta)^(d/2).",
            lambda x, b: x.shape[-1] / 2 * math.log(2 * math.pi * b) + torch.logsumexp(b * x.square().sum(-1) / 2, -1),
        ),
        "one dimension": Mistake(
            "The volume factor comes once for each of the d dimensions.",
            lambda x, b: math.log(2 * math.pi / b) / 2 + torch.logsumexp(b * x.square().sum(-1) / 2, -1),
        ),
        "no half": Mistake(
            "Completing the square leaves beta |x|^2 / 2 in the exponent: a half is missing.",
            lambda x, b: x.shape[-1] / 2 * math.log(2 * math.pi / b) + torch.logsumexp(b * x.square().sum(-1), -1),
        ),
    },
)


def _log_likelihoods(state: Tensor, memory: Tensor, beta: float) -> Tensor:
    return -beta * (state[:, None] - memory).square().sum(-1) / 2


DENOISE: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=lambda s, x, b: torch.softmax(_log_likelihoods(s, x, b), -1) @ x,
    inputs=_states_and_memories,
    mistakes={
        "plain attention": Mistake(
            "That is plain attention, whose prior favours long memories. Equal priors ask for beta (x . xi - |x|^2 / 2).",
            lambda s, x, b: _weights(s, x, b) @ x,
        ),
        "variance beta": Mistake(
            "Noise of variance 1/beta has the log-density -beta |xi - x|^2 / 2; yours divides by beta.",
            lambda s, x, b: torch.softmax(_log_likelihoods(s, x, 1 / b), -1) @ x,
        ),
        "no half": Mistake(
            "The exponent of a Gaussian has a half: -beta |xi - x|^2 / 2.",
            lambda s, x, b: torch.softmax(2 * _log_likelihoods(s, x, b), -1) @ x,
        ),
        "beta on one term": Mistake(
            "beta multiplies the whole score, x . xi - |x|^2 / 2; yours leaves it off |x|^2 / 2.",
            lambda s, x, b: torch.softmax(b * s @ x.T - x.square().sum(-1) / 2, -1) @ x,
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": ENERGY, "2": STEP, "3": SELF_ATTENTION, "4": LOG_PARTITION, "5": DENOISE}
