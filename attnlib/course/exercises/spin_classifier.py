"""Exercises of page 4c, one spin reads digits."""

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw
from attnlib.course.exercises._exercise import Exercise, Mistake


def _cut(x: Tensor, height: int = 2, width: int = 4) -> Tensor:
    """Pieces row by row, each with axes of its own: ``[batch, rows, columns, height, width]``."""
    return x.reshape(-1, 8 // height, height, 8 // width, width).transpose(2, 3)


PIECES: Exercise[[Tensor]] = Exercise(
    reference=lambda x: _cut(x).reshape(-1, 8, 8),
    inputs=lambda: [(draw(3, 8, 8, seed=0),), (draw(1, 8, 8, seed=1),)],
    mistakes={
        "rows of pixels": Mistake(
            "Your pieces are the rows of the picture. A piece has two of them, half as wide: bring its axes together first.",
            lambda x: x.reshape(-1, 8, 8),
        ),
        "tall pieces": Mistake(
            "Your pieces are four pixels high and two wide. They should be two high and four wide.",
            lambda x: _cut(x, 4, 2).reshape(-1, 8, 8),
        ),
        "column by column": Mistake(
            "Your pieces go down the columns. They should go along the rows: left, right, left, right.",
            lambda x: _cut(x).transpose(1, 2).reshape(-1, 8, 8),
        ),
        "pixels column by column": Mistake(
            "Inside a piece your pixels go down its columns. They should go along its two rows.",
            lambda x: _cut(x).mT.reshape(-1, 8, 8),
        ),
    },
)


def _error(d: Tensor) -> Tensor:
    return torch.maximum(d.var() / d.numel(), d.mean(1).var() / len(d)).sqrt()


def _differences(seed: int, shared: float, folds: int = 5, seeds: int = 4) -> Tensor:
    """Differences ``[folds, seeds]`` whose folds have a part in common of a given size."""
    return 0.1 * draw(folds, seeds, seed=seed) + shared * draw(folds, 1, seed=seed + 1)


OVER_RUNS: Exercise[[Tensor]] = Exercise(
    reference=_error,
    inputs=lambda: [
        (_differences(2, 0.5),),
        (_differences(4, 0.0),),
        (_differences(8, 0.0, folds=4, seeds=6),),
    ],
    mistakes={
        "spread": Mistake(
            "That is the standard deviation of a run. The error of the mean is smaller: divide by the root of how many count.",
            lambda d: d.std(),
        ),
        "divided twice": Mistake(
            "You divided the standard deviation by the number of runs. The variance is divided by it, and the root comes last.",
            lambda d: torch.maximum(d.std() / d.numel(), d.mean(1).std() / len(d)),
        ),
        "runs alone": Mistake(
            "You counted every run for itself. Where runs of a fold move together, the folds' own term is larger.",
            lambda d: d.std() / d.numel() ** 0.5,
        ),
        "folds alone": Mistake(
            "You counted folds only. Where runs of a fold have nothing in common, the runs' own term is larger.",
            lambda d: d.mean(1).std() / len(d) ** 0.5,
        ),
        "seeds in place of folds": Mistake(
            "You took means over folds. The pictures are shared by the runs of a fold, which are the rows of d.",
            lambda d: torch.maximum(d.var() / d.numel(), d.mean(0).var() / d.shape[1]).sqrt(),
        ),
        "both": Mistake(
            "You added the two terms. Each is an estimate of the same variance: take the larger.",
            lambda d: (d.var() / d.numel() + d.mean(1).var() / len(d)).sqrt(),
        ),
        "without correction": Mistake(
            "You divided the squares by their number. The mean was fitted to them: divide by one less.",
            lambda d: torch.maximum(d.var(correction=0) / d.numel(), d.mean(1).var(correction=0) / len(d)).sqrt(),
        ),
        "variance": Mistake(
            "That is the square of the error. Take the root.",
            lambda d: torch.maximum(d.var() / d.numel(), d.mean(1).var() / len(d)),
        ),
    },
)


def _coupled(n: int, seed: int, top: float) -> Tensor:
    """Symmetric couplings ``[n, n]`` without a diagonal, with a largest eigenvalue that is given."""
    J = draw(n, n, seed=seed)
    J = (J + J.T) * (1 - torch.eye(n, dtype=J.dtype))
    return top * J / torch.linalg.eigvalsh(J)[-1]


def _with_values(J: Tensor, change: Tensor) -> Tensor:
    modes = torch.linalg.eigh(J)[1]
    return modes @ torch.diag(change) @ modes.T


def _only_the_first(J: Tensor, most: float) -> Tensor:
    values = torch.linalg.eigvalsh(J)
    return _with_values(J, torch.cat([values[:-1], values[-1:].clamp(max=most)]))


CLIPPED: Exercise[[Tensor, float]] = Exercise(
    reference=lambda J, most: _with_values(J, torch.linalg.eigvalsh(J).clamp(max=most)),
    inputs=lambda: [(_coupled(6, 7, 3.0), 0.5), (_coupled(5, 8, 0.9), 0.95)],
    mistakes={
        "all modes scaled": Mistake(
            "You scaled all modes, as stabilise does. Only those above the bound are to lose what passes it.",
            lambda J, most: J * torch.clamp(most / torch.linalg.eigvalsh(J)[-1], max=1.0),
        ),
        "only the first mode": Mistake(
            "You clipped the largest eigenvalue alone. Others may pass the bound too.",
            _only_the_first,
        ),
        "modes removed": Mistake(
            "Modes above the bound should stay, at the bound. You took them out.",
            lambda J, most: _with_values(J, torch.where(torch.linalg.eigvalsh(J) > most, 0.0, torch.linalg.eigvalsh(J))),
        ),
        "both ends": Mistake(
            "You clipped negative eigenvalues too. They are no danger to the energy: leave them.",
            lambda J, most: _with_values(J, torch.linalg.eigvalsh(J).clamp(-most, most)),
        ),
        "entries": Mistake(
            "You clipped the entries of J. The bound is on its eigenvalues.",
            lambda J, most: J.clamp(max=most),
        ),
    },
)


def _scores(n: int, seed: int) -> Tensor:
    S = draw(n, n, seed=seed)
    return S + S.T


STATIONARY: Exercise[[Tensor]] = Exercise(
    reference=lambda S: torch.softmax(torch.logsumexp(S, dim=-1), dim=0),
    inputs=lambda: [(_scores(5, 9),), (_scores(4, 10),)],
    mistakes={
        "uniform": Mistake(
            "The uniform distribution stays only where all denominators are equal.",
            lambda S: torch.full_like(S[0], 1 / len(S)),
        ),
        "not normalised": Mistake(
            "These are the denominators: right in proportion. Divide by their sum.",
            lambda S: S.exp().sum(-1),
        ),
        "inverse": Mistake(
            "You took 1 / Z. A token with a large denominator is reached often, not seldom.",
            lambda S: torch.softmax(-torch.logsumexp(S, dim=-1), dim=0),
        ),
        "square root": Mistake(
            "That is proportional to the root of Z, the top mode of the symmetrised matrix. The distribution is its square.",
            lambda S: torch.softmax(torch.logsumexp(S, dim=-1) / 2, dim=0),
        ),
        "one step": Mistake(
            "That is where one step from the uniform distribution leads. It moves on.",
            lambda S: torch.softmax(S, dim=-1).mean(0),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": PIECES, "2": OVER_RUNS, "3": CLIPPED, "4": STATIONARY}
