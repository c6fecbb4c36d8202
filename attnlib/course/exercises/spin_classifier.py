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


def _counts(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    return (one & ~other).sum().double(), (other & ~one).sum().double()


def _lead(one: Tensor, other: Tensor) -> Tensor:
    a, b = _counts(one, other)
    return (b - a) / (a + b).clamp(min=1).sqrt()


def _lead_of_totals(one: Tensor, other: Tensor) -> Tensor:
    a, b = one.sum().double(), other.sum().double()
    return (b - a) / (a + b).clamp(min=1).sqrt()


def _undecided(one: Tensor, other: Tensor) -> Tensor:
    a, b = _counts(one, other)
    return (b - a) / (a + b).sqrt()


def _misread(seed: int, share: float) -> Tensor:
    return draw(40, seed=seed) > share


LEAD: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_lead,
    inputs=lambda: [
        (_misread(2, 0.8), _misread(3, 0.2)),
        (_misread(4, 0.1), _misread(5, 0.9)),
        (_misread(6, 0.5), _misread(6, 0.5)),
    ],
    mistakes={
        "sign": Mistake(
            "The sign is turned: the first is ahead where the other misreads more.",
            lambda one, other: -_lead(one, other),
        ),
        "pictures that both misread": Mistake(
            "You counted all that each misreads. Pictures that both misread decide nothing, and leave the root too large.",
            _lead_of_totals,
        ),
        "no standard error": Mistake(
            "That is the difference. Divide it by its standard deviation, the root of the number of pictures that decide.",
            lambda one, other: _counts(one, other)[1] - _counts(one, other)[0],
        ),
        "root of all pictures": Mistake(
            "You divided by the root of all pictures. Only those count that just one of the two misreads.",
            lambda one, other: (_counts(one, other)[1] - _counts(one, other)[0]) / len(one) ** 0.5,
        ),
        "nothing decides": Mistake(
            "Where both misread the same pictures you divide by zero. Then nobody is ahead: 0.",
            _undecided,
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

EXERCISES: dict[str, Exercise[...]] = {"1": PIECES, "2": LEAD, "3": CLIPPED, "4": STATIONARY}
