"""Exercises of page 3d, energy attention."""

import math

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _masks() -> list[tuple[object, ...]]:
    """States, memories, a mask in which each state sees something, and beta.

    In the last case a state may see only one memory, whose score lies billions below those of the others.
    """
    cases: list[tuple[object, ...]] = []
    for seed, beta in ((0, 0.7), (1, 2.5)):
        state, memory, drawn = draws((4, 3), (5, 3), (4, 5), seed=seed)
        cases.append((state, memory, (drawn > 0) | torch.eye(4, 5, dtype=torch.bool), beta))
    state, memory = draws((4, 3), (5, 3), seed=10)
    state[0], memory[:, 0] = torch.tensor([1e5, 0.0, 0.0]), torch.tensor([-1e5, 0.0, 0.0, 0.0, 0.0])
    below = torch.tensor([[1, 0, 0, 0, 0], [0, 1, 1, 0, 1], [0, 1, 0, 1, 1], [0, 1, 1, 1, 1]]) > 0
    return [*cases, (state, memory, below, 0.7)]


def _masked(state: Tensor, memory: Tensor, mask: Tensor, beta: float, hidden: float = -math.inf) -> Tensor:
    scores = (beta * state @ memory.T).masked_fill(~mask, hidden)
    return state.square().sum(-1) / 2 - torch.logsumexp(scores, -1) / beta


MASKED_ENERGY: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=_masked,
    inputs=_masks,
    mistakes={
        "zero scores": Mistake(
            "A masked memory got the score 0, whose Boltzmann factor is 1: it still pulls. Its score must be minus infinity.",
            lambda s, x, k, b: _masked(s, x, k, b, 0.0),
        ),
        "-1e9": Mistake(
            "A score of -1e9 is a score like any other: where the allowed ones are lower, what is masked pulls. Use -inf.",
            lambda s, x, k, b: _masked(s, x, k, b, -1e9),
        ),
        "inverted mask": Mistake(
            "True means: may be attended to. You masked the others.",
            lambda s, x, k, b: _masked(s, x, ~k | k.all(-1, keepdim=True), b),
        ),
        "no mask": Mistake("The mask does nothing.", lambda s, x, k, b: _masked(s, x, torch.ones_like(k), b)),
        "no 1/beta": Mistake(
            "The log-sum-exp needs a factor 1/beta in front.",
            lambda s, x, k, b: s.square().sum(-1) / 2 - b * (s.square().sum(-1) / 2 - _masked(s, x, k, b)),
        ),
    },
)


def _walk(query: Tensor, key: Tensor, beta: float, step: float, steps: int) -> Tensor:
    for _ in range(steps):
        query = (1 - step) * query + step * torch.softmax(beta * query @ key.T, -1) @ key
    return query


def _frozen(query: Tensor, key: Tensor, beta: float, step: float, steps: int) -> Tensor:
    attended, state = torch.softmax(beta * query @ key.T, -1) @ key, query
    for _ in range(steps):
        state = (1 - step) * state + step * attended
    return state


def _moving_keys(query: Tensor, key: Tensor, beta: float, step: float, steps: int) -> Tensor:
    for _ in range(steps):
        query, key = _walk(query, key, beta, step, 1), _walk(key, key, beta, step, 1)
    return query


WALK: Exercise[[Tensor, Tensor, float, float, int]] = Exercise(
    reference=_walk,
    inputs=lambda: [
        (*draws((4, 3), (5, 3), seed=seed), beta, step, steps)
        for seed, beta, step, steps in ((2, 0.7, 0.3, 3), (3, 1.5, 0.8, 4))
    ],
    mistakes={
        "one step": Mistake("You took one step; take all of them.", lambda q, k, b, g, n: _walk(q, k, b, g, 1)),
        "one step more": Mistake("You took one step too many.", lambda q, k, b, g, n: _walk(q, k, b, g, n + 1)),
        "one long step": Mistake(
            "That is one step, as long as all together. The weights change on the way.",
            lambda q, k, b, g, n: _walk(q, k, b, g * n, 1),
        ),
        "old weights": Mistake("Compute the weights anew for each step, from where the state is by then.", _frozen),
        "no residual": Mistake(
            "A step of size g keeps (1 - g) of the state; yours is a full step each time.",
            lambda q, k, b, g, n: _walk(q, k, b, 1.0, n),
        ),
        "keys move too": Mistake("The keys shape the landscape and stay where they are; only the queries walk.", _moving_keys),
    },
)


def _maps() -> list[tuple[object, ...]]:
    """Key and value maps ``[head_dim, dim]`` with ``head_dim >= dim``, and the output map ``[dim, head_dim]``."""
    return [draws((7, 5), (7, 5), (5, 7), seed=4), draws((6, 6), (6, 6), (6, 6), seed=5)]


UNDO: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda key, value, out: out @ value @ torch.linalg.pinv(key),
    inputs=_maps,
    mistakes={
        "keys not undone": Mistake(
            "You undid the value map, so keys stay keys. The pseudo-inverse is that of the key map.",
            lambda key, value, out: out @ value @ torch.linalg.pinv(value),
        ),
        "transposed": Mistake(
            "The transpose undoes a map only if its columns are orthonormal. Take the pseudo-inverse.",
            lambda key, value, out: out @ value @ key.T,
        ),
        "keys for values": Mistake(
            "You undid the value map and applied the key map: exchange them.",
            lambda key, value, out: out @ key @ torch.linalg.pinv(value),
        ),
    },
)


def _quadratic_step(state: Tensor, memory: Tensor, beta: float, step: float) -> Tensor:
    return (1 - step) * state + step * beta * (state @ memory.T) @ memory


LINEAR: Exercise[[Tensor, Tensor, float, float]] = Exercise(
    reference=_quadratic_step,
    inputs=lambda: [(*draws((4, 3), (5, 3), seed=seed), beta, step) for seed, beta, step in ((6, 0.4, 0.3), (7, 1.3, 1.6))],
    mistakes={
        "softmax": Mistake(
            "That is softmax attention. The square has no normaliser: each memory pulls with its own score.",
            lambda s, x, b, g: (1 - g) * s + g * torch.softmax(b * s @ x.T, -1) @ x,
        ),
        "no beta": Mistake(
            "The pull of each memory is beta times its score.", lambda s, x, b, g: _quadratic_step(s, x, 1.0, g)
        ),
        "half": Mistake(
            "The derivative of a square brings a factor of two, which cancels the half.",
            lambda s, x, b, g: _quadratic_step(s, x, b / 2, g),
        ),
        "no residual": Mistake("A step of size g keeps (1 - g) of the state.", lambda s, x, b, g: g * b * (s @ x.T) @ x),
        "uphill": Mistake(
            "The sign is turned: this step climbs. Subtract the gradient.", lambda s, x, b, g: _quadratic_step(s, x, b, -g)
        ),
    },
)


def _lost(key: Tensor, value: Tensor) -> Tensor:
    return (value - value @ torch.linalg.pinv(key) @ key).square().sum() / value.square().sum()


LOST: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_lost,
    inputs=lambda: [draws((2, 6), (3, 6), seed=8), draws((4, 9), (4, 9), seed=9)],
    mistakes={
        "not squared": Mistake(
            "That is the share of the length. The mean square that is lost is its square.",
            lambda key, value: _lost(key, value).sqrt(),
        ),
        "what is kept": Mistake(
            "That is the share that is kept; asked for is what is lost.", lambda key, value: 1 - _lost(key, value)
        ),
        "keys outside values": Mistake(
            "You measured what the keys read outside the values' directions; exchange the two.",
            lambda key, value: _lost(value, key),
        ),
        "a count of directions": Mistake(
            "1 - head_dim / dim is the mean over random maps. Compute it for these.",
            lambda key, value: torch.tensor(1 - key.shape[0] / key.shape[1]).to(key),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": MASKED_ENERGY, "2": WALK, "3": LINEAR, "4": UNDO, "5": LOST}
