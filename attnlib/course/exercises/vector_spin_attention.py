"""Exercises of page 5c, attention from a free energy."""

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _systems() -> list[tuple[Tensor, Tensor, Tensor]]:
    """A z inside the domain, couplings and fields, of two sizes."""
    cases = []
    for n, d, seed in ((4, 3, 0), (5, 2, 1)):
        J, h, noise = draws((n, n), (n, d), (n,), seed=seed)
        upper = J.triu(1) / n**0.5
        J = upper + upper.mT
        cases.append((torch.linalg.eigvalsh(J)[-1] + 0.6 + noise.square(), J, h))
    return cases


def _series(z: Tensor, J: Tensor, h: Tensor, terms: int) -> Tensor:
    total = term = h / z[:, None]
    for _ in range(terms - 1):
        term = J @ term / z[:, None]
        total = total + term
    return total


def _not_divided(z: Tensor, J: Tensor, h: Tensor, terms: int) -> Tensor:
    total = term = h / z[:, None]
    for _ in range(terms - 1):
        term = J @ term
        total = total + term
    return total


def _last(z: Tensor, J: Tensor, h: Tensor, terms: int) -> Tensor:
    return _series(z, J, h, terms) - (_series(z, J, h, terms - 1) if terms > 1 else 0)


SERIES: Exercise[[Tensor, Tensor, Tensor, int]] = Exercise(
    reference=_series,
    inputs=lambda: [(*system, terms) for system, terms in zip(_systems(), (2, 4), strict=True)],
    mistakes={
        "one term too many": Mistake(
            "The first term is h / z itself: the couplings act one time less than there are terms.",
            lambda z, J, h, terms: _series(z, J, h, terms + 1),
        ),
        "the last term alone": Mistake("That is the last term. Add up all of them.", _last),
        "not divided by z": Mistake("Every term is divided by z: Z^-1 stands before each J, too.", _not_divided),
        "J with a minus": Mistake("V is Z minus J, so all terms have a plus.", lambda z, J, h, t: _series(z, -J, h, t)),
        "the whole inverse": Mistake(
            "That is the answer that the series goes to. Stop after so many terms.",
            lambda z, J, h, terms: torch.linalg.solve(torch.diag(z) - J, h),
        ),
    },
)


def _tokens() -> list[tuple[Tensor, float]]:
    return [(1.3 * h, strength) for (_, _, h), strength in zip(_systems(), (1.5, -0.7), strict=True)]


def _shares(h: Tensor, scale: float, own: bool) -> Tensor:
    scores = h @ h.mT * scale
    if not own:
        scores = scores.masked_fill(torch.eye(len(h), dtype=torch.bool), -torch.inf)
    return scores.softmax(-1)


def _coupled(h: Tensor, strength: float, *, root: bool = True, own: bool = False, halves: float = 0.5) -> Tensor:
    shares = _shares(h, h.shape[1] ** -0.5 if root else 1.0, own)
    return strength * halves * (shares + shares.mT)


def _diagonal_after(h: Tensor, strength: float) -> Tensor:
    J = _coupled(h, strength, own=True)
    return J - torch.diag(J.diagonal())


COUPLINGS: Exercise[[Tensor, float]] = Exercise(
    reference=_coupled,
    inputs=_tokens,
    mistakes={
        "coupled to itself": Mistake(
            "A spin is not its own partner: take it out of the softmax.", lambda h, g: _coupled(h, g, own=True)
        ),
        "diagonal taken off afterwards": Mistake(
            "The diagonal is zero, but it took part in the softmax: put minus infinity there before.", _diagonal_after
        ),
        "not symmetric": Mistake(
            "These couplings have no energy: take the mean with the transpose.",
            lambda h, g: g * _shares(h, h.shape[1] ** -0.5, False),
        ),
        "no half": Mistake("The mean of a matrix and its transpose has a half.", lambda h, g: _coupled(h, g, halves=1.0)),
        "no root": Mistake("Scores are divided by the square root of d.", lambda h, g: _coupled(h, g, root=False)),
        "no strength": Mistake("The strength is missing.", lambda h, g: _coupled(h, 1.0)),
    },
)


def _pairs() -> list[tuple[Tensor, Tensor, float]]:
    cases = []
    for (z, J, h), strength in zip(_systems(), (1.5, -0.7), strict=True):
        chi = torch.linalg.inv(torch.diag(z) - J)
        m = chi @ h
        cases.append((h, (m @ m.mT + h.shape[1] * chi).contiguous(), strength))
    return cases


def _second(
    h: Tensor, pairs: Tensor, strength: float, *, n: bool = True, inner: float = 0.5, outer: float = 0.5, own: bool = False
) -> Tensor:
    d = h.shape[1]
    weights = pairs * strength / (len(h) ** 0.5 if n else 1.0) / (h @ h.mT / d**inner).cosh() ** 2
    return (weights if own else weights - torch.diag(weights.diagonal())) @ h / d**outer


def _values_only(h: Tensor, pairs: Tensor, strength: float) -> Tensor:
    J = strength / len(h) ** 0.5 * (h @ h.mT / h.shape[1] ** 0.5).tanh()
    weights = pairs * (J - torch.diag(J.diagonal()))
    return weights @ h / h.shape[1] ** 0.5


SECOND: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=_second,
    inputs=_pairs,
    mistakes={
        "coupled to itself": Mistake(
            "A spin is not coupled to itself: its own weight is zero.", lambda h, p, g: _second(h, p, g, own=True)
        ),
        "couplings for their slopes": Mistake(
            "The response has the derivative of tanh, one over cosh squared, not tanh itself.", _values_only
        ),
        "half of it": Mistake(
            "A pair stands twice in the sum, as m n and as n m: that takes the half away.",
            lambda h, p, g: _second(h, p, g) / 2,
        ),
        "no root of n": Mistake(
            "The couplings are divided by the square root of n.", lambda h, p, g: _second(h, p, g, n=False)
        ),
        "no root of d at the end": Mistake(
            "A score is a product over the square root of d: so is its derivative.", lambda h, p, g: _second(h, p, g, outer=0.0)
        ),
        "no root of d in the scores": Mistake(
            "Scores are divided by the square root of d.", lambda h, p, g: _second(h, p, g, inner=0.0)
        ),
    },
)


def _solutions() -> list[tuple[Tensor, Tensor, Tensor]]:
    cases = []
    for (z, J, h), seed in zip(_systems(), (3, 4), strict=True):
        chi = torch.linalg.inv(torch.diag(z) - J).contiguous()
        cases.append((chi, chi @ h, draws(tuple(h.shape), seed=seed)[0]))
    return cases


def _backward(chi: Tensor, m: Tensor, g: Tensor, *, fields: float = 1.0, sign: float = -1.0, d: float | None = None) -> Tensor:
    d = m.shape[1] if d is None else d
    straight = chi @ g
    hessian = chi * (chi / 2 + fields * m @ m.mT / d)
    at = torch.linalg.solve(hessian, sign * (straight * m).sum(1))
    return straight + chi @ (at[:, None] * m) / d


BACKWARD: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=_backward,
    inputs=_solutions,
    mistakes={
        "z held fixed": Mistake(
            "That is the answer at fixed z. A field moves z too, since the lengths are fixed.", lambda chi, m, g: chi @ g
        ),
        "wrong sign": Mistake(
            "What z does goes against the field: a minus before the solution with the Hessian.",
            lambda chi, m, g: _backward(chi, m, g, sign=1.0),
        ),
        "Hessian without fields": Mistake(
            "The Hessian has a second part, chi times m m^T over d, entry by entry.",
            lambda chi, m, g: _backward(chi, m, g, fields=0.0),
        ),
        "not divided by d": Mistake(
            "Lengths are per component: divide by d = m.shape[1].", lambda chi, m, g: _backward(chi, m, g, d=1.0)
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": SERIES, "2": COUPLINGS, "3": SECOND, "4": BACKWARD}
