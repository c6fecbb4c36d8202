"""Exercises of page 5a, the free energy of vector spins."""

import math

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _systems() -> list[tuple[Tensor, Tensor, Tensor, float]]:
    """A z inside the domain, couplings, fields and inverse temperatures, of two sizes."""
    cases = []
    for n, d, beta, seed in ((4, 3, 0.7, 0), (5, 2, 1.6, 1)):
        J, h, noise = draws((n, n), (n, d), (n,), seed=seed)
        upper = J.triu(1) / n**0.5
        J = upper + upper.mT
        cases.append((torch.linalg.eigvalsh(J)[-1] + 0.6 + noise.square(), J, h, beta))
    return cases


def _inverse(z: Tensor, J: Tensor) -> Tensor:
    return torch.linalg.inv(torch.diag(z) - J).contiguous()


def _potential(
    z: Tensor, J: Tensor, h: Tensor, beta: float, *, linear: float = 0.5, log: float = -0.5, field: float = 0.5
) -> Tensor:
    logarithm = torch.linalg.slogdet(torch.diag(z) - J)[1]
    return beta * linear * z.sum() + log * logarithm + beta * field / h.shape[1] * (h * (_inverse(z, J) @ h)).sum()


POTENTIAL: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=_potential,
    inputs=_systems,
    mistakes={
        "no half before the determinant": Mistake(
            "A Gaussian integral gives one over the square root of the determinant: its logarithm has a half.",
            lambda z, J, h, b: _potential(z, J, h, b, log=-1.0),
        ),
        "determinant with a plus": Mistake(
            "The determinant stands in the denominator of a Gaussian integral: minus a half of its logarithm.",
            lambda z, J, h, b: _potential(z, J, h, b, log=0.5),
        ),
        "no half before the sum": Mistake(
            "The multipliers enter as beta z (D - |s|^2) / 2: half of their sum.",
            lambda z, J, h, b: _potential(z, J, h, b, linear=1.0),
        ),
        "no half before the fields": Mistake(
            "Completing the square leaves half of h V^-1 h.",
            lambda z, J, h, b: _potential(z, J, h, b, field=1.0),
        ),
        "fields with a minus": Mistake(
            "Fields raise the potential: the last term has a plus.",
            lambda z, J, h, b: _potential(z, J, h, b, field=-0.5),
        ),
        "not divided by D": Mistake(
            "The potential is per component: the trace over all of them is divided by their number.",
            lambda z, J, h, b: _potential(z, J, h, b, field=0.5 * h.shape[1]),
        ),
        "divided by N": Mistake(
            "Divide the trace by the number of components, h.shape[1], not by that of spins.",
            lambda z, J, h, b: _potential(z, J, h, b, field=0.5 * h.shape[1] / h.shape[0]),
        ),
        "J with a plus": Mistake(
            "V is diag(z) minus J: couplings that agree with the spins lower the energy.",
            lambda z, J, h, b: _potential(z, -J, h, b),
        ),
    },
)


def _lengths(z: Tensor, J: Tensor, h: Tensor, thermal: float, square: float) -> Tensor:
    inverse = _inverse(z, J)
    return square * (inverse @ h).square().mean(1) + thermal * inverse.diagonal()


LENGTHS: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=lambda z, J, h, b: _lengths(z, J, h, 1 / b, 1.0),
    inputs=_systems,
    mistakes={
        "beta in the mean": Mistake(
            "The mean is V^-1 h at every temperature: there is no beta in front of it.",
            lambda z, J, h, b: _lengths(z, J, h, 1 / b, b * b),
        ),
        "no beta in the fluctuations": Mistake(
            "Fluctuations grow with the temperature: divide the diagonal of V^-1 by beta.",
            lambda z, J, h, b: _lengths(z, J, h, 1.0, 1.0),
        ),
        "times beta": Mistake(
            "Fluctuations shrink as beta grows: divide by it, do not multiply.",
            lambda z, J, h, b: _lengths(z, J, h, b, 1.0),
        ),
        "not divided by D": Mistake(
            "The square of the mean is divided by the number of components.",
            lambda z, J, h, b: _lengths(z, J, h, 1 / b, float(h.shape[1])),
        ),
        "no fluctuations": Mistake(
            "Mean and fluctuations share the length. You have the mean only.",
            lambda z, J, h, b: _lengths(z, J, h, 0.0, 1.0),
        ),
    },
)


def _hessian(z: Tensor, J: Tensor, h: Tensor, thermal: float, square: float) -> Tensor:
    inverse = _inverse(z, J)
    m = inverse @ h
    return inverse * (thermal * inverse + square / h.shape[1] * m @ m.mT)


def _summed_rows(z: Tensor, J: Tensor, h: Tensor, b: float) -> Tensor:
    whole, first = _hessian(z, J, h, 0.5, b), _hessian(z, J, h, 0.5, 0.0)
    return first + torch.diag((whole - first).sum(1))


HESSIAN: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=lambda z, J, h, b: _hessian(z, J, h, 0.5, b),
    inputs=_systems,
    mistakes={
        "rows summed": Mistake(
            "The second product is one of entries. The diagonal of a matrix product in its place has only the right row sums.",
            _summed_rows,
        ),
        "matrix products": Mistake(
            "The circle multiplies entry by entry. You took matrix products.",
            lambda z, J, h, b: (
                _inverse(z, J) @ (_inverse(z, J) / 2 + b / h.shape[1] * (_inverse(z, J) @ h) @ (_inverse(z, J) @ h).mT)
            ),
        ),
        "no fields": Mistake("The fields' part is missing.", lambda z, J, h, b: _hessian(z, J, h, 0.5, 0.0)),
        "half of the fields": Mistake(
            "Two inverses are differentiated in the fields' part, so its half is gone.",
            lambda z, J, h, b: _hessian(z, J, h, 0.5, b / 2),
        ),
        "no half": Mistake("The first product has a half.", lambda z, J, h, b: _hessian(z, J, h, 1.0, b)),
        "with a minus": Mistake(
            "The potential is convex: its Hessian is positive.", lambda z, J, h, b: -_hessian(z, J, h, 0.5, b)
        ),
    },
)


def _solve(J: Tensor, h: Tensor, thermal: float, square: float) -> Tensor:
    """Newton's method for ``thermal (V^-1)_ii + square |m_i|^2 / d = 1``, inside the domain, until its steps are rounding."""
    d, small, last = h.shape[1], torch.finfo(h.dtype).eps ** 0.5, math.inf

    def potential(z: Tensor) -> Tensor:
        return (
            z.sum() - thermal * torch.linalg.slogdet(torch.diag(z) - J)[1] + square / d * (h * (_inverse(z, J) @ h)).sum()
        ) / 2

    z = J.abs().sum(1) + 1 + h.norm(dim=1)
    for _ in range(200):
        slope = (1 - _lengths(z, J, h, thermal, square)) / 2
        step, t = -torch.linalg.solve(_hessian(z, J, h, thermal / 2, square), slope), 1.0
        while t > 1e-12:
            trial = z + t * step
            if torch.linalg.eigvalsh(torch.diag(trial) - J)[0] > 0 and potential(trial) <= potential(z):
                break
            t /= 2
        size = float(step.norm() / z.norm())
        if t <= 1e-12 or last / 2 <= size < small:
            return z
        z, last = z + t * step, size
    return z


SADDLE: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=lambda J, h, b: _solve(J, h, 1 / b, 1.0),
    inputs=lambda: [(J, h, beta) for _, J, h, beta in _systems()],
    mistakes={
        "at beta one": Mistake(
            "beta is missing: the fluctuations are the diagonal of V^-1 divided by it.", lambda J, h, b: _solve(J, h, 1.0, 1.0)
        ),
        "no fields": Mistake(
            "That is the minimum without fields: the means are part of each length.",
            lambda J, h, b: _solve(J, 0 * h, 1 / b, 1.0),
        ),
        "not divided by D": Mistake(
            "The square of the mean is divided by the number of components.",
            lambda J, h, b: _solve(J, h, 1 / b, float(h.shape[1])),
        ),
        "beta in the mean": Mistake(
            "The mean is V^-1 h at every temperature: there is no beta in front of it.",
            lambda J, h, b: _solve(J, h, 1 / b, b * b),
        ),
        "no couplings": Mistake(
            "That is the answer for each spin on its own: the couplings are missing.",
            lambda J, h, b: _solve(0 * J, h, 1 / b, 1.0),
        ),
        "J with a plus": Mistake("V is diag(z) minus J.", lambda J, h, b: _solve(-J, h, 1 / b, 1.0)),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": POTENTIAL, "2": LENGTHS, "3": HESSIAN, "4": SADDLE}
