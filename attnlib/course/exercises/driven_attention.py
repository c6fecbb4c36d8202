"""Exercises of page 8c, attention as a driven system.

It is longer than 250 lines because each of the six names its wrong answers, 53 in all, as small functions.
"""

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw, draws
from attnlib.course.exercises._exercise import Exercise, Mistake

# 1. The gain in half-integers


def _strengths() -> list[tuple[Tensor, float, int]]:
    """Fields from none to strong, for few components and many, at temperatures that are not one."""
    return [
        (torch.tensor([0.0, 0.3, 1.7, 9.0], dtype=torch.float64), 0.6, 4),
        (torch.tensor([0.1, 2.5], dtype=torch.float64), 1.4, 16),
    ]


def _gain(k: Tensor, beta: float, less: float, more: float) -> Tensor:
    """A square root of the form that bounds ratios of Bessel functions."""
    return 2 * beta / (1 - less + ((1 + more) ** 2 + 4 * beta**2 * k).sqrt())


GAIN: Exercise[[Tensor, float, int]] = Exercise(
    reference=lambda k, b, d: _gain(k, b, 1 / d, 1 / d),
    inputs=_strengths,
    mistakes={
        "many components": Mistake(
            "That is the gain of infinitely many components. Both terms have a 1/d.", lambda k, b, d: _gain(k, b, 0.0, 0.0)
        ),
        "signs changed over": Mistake(
            "The 1/d is taken off outside the root and added inside: yours is the other way round.",
            lambda k, b, d: _gain(k, b, -1 / d, -1 / d),
        ),
        "radius of the sources": Mistake(
            "That has d/2 - 1 in both places, the radius of the sources. It is off by 2/d where fields are weak.",
            lambda k, b, d: _gain(k, b, 2 / d, -2 / d),
        ),
        "outside only": Mistake("Inside the root it is (1 + 1/d)^2.", lambda k, b, d: _gain(k, b, 1 / d, 0.0)),
        "inside only": Mistake("Outside the root it is 1 - 1/d.", lambda k, b, d: _gain(k, b, 0.0, 1 / d)),
        "not squared": Mistake(
            "Inside the root 1 + 1/d is squared.",
            lambda k, b, d: 2 * b / (1 - 1 / d + (1 + 1 / d + 4 * b**2 * k).sqrt()),
        ),
        "length for k": Mistake(
            "k is |h|^2 / d already: take no root and multiply by nothing.", lambda k, b, d: _gain(k.sqrt(), b, 1 / d, 1 / d)
        ),
        "square of the field": Mistake(
            "You multiplied by d. k is the square of the field by component.", lambda k, b, d: _gain(d * k, b, 1 / d, 1 / d)
        ),
        "half the gain": Mistake(
            "A weak field turns a spin by beta. Yours is half of it: 2 beta above.",
            lambda k, b, d: _gain(k, b, 1 / d, 1 / d) / 2,
        ),
        "a quarter inside": Mistake("The four in front of beta^2 k is missing.", lambda k, b, d: _gain(k / 4, b, 1 / d, 1 / d)),
        "beta not squared": Mistake("Inside the root beta is squared.", lambda k, b, d: _gain(k / b, b, 1 / d, 1 / d)),
    },
)

# 2. A step of the moments


def _states() -> list[tuple[Tensor, Tensor, Tensor, Tensor, float]]:
    """Means, covariances with a diagonal of ``1 - q``, couplings that are not symmetric, drive, and beta."""
    found = []
    for n, d, beta, seed in ((3, 5, 0.7, 90), (4, 3, 1.4, 91)):
        m, root, J, x = draws((n, d), (n, n), (n, n), (n, d), seed=seed)
        m = 0.4 * m
        own = 1 - m.square().mean(-1)
        C = root @ root.mT
        size = (own / C.diagonal()).sqrt()
        found.append((m, size[:, None] * C * size, 0.8 * J, x, beta))
    return found


def _moved(
    m: Tensor, C: Tensor, J: Tensor, x: Tensor, beta: float, *, inside: float = 1.0, outside: bool = False, reset: bool = True,
    own: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The later means beside the later covariances, ``[n, d + n]``."""
    h, felt = x + J @ m, J @ C @ J.mT
    width = felt.diagonal() if own is None else own
    k = h.square().mean(-1)
    root = (1 + 4 * beta**2 * (k + inside * width)).sqrt()
    a = 2 * beta / (1 + root + (4 * beta**2 * width if outside else 0))
    later = a[:, None] * felt * a
    m = a[:, None] * h
    if reset:
        later = later - later.diagonal().diag() + (1 - m.square().mean(-1)).diag()
    return torch.cat([m, later], -1)


def _alone(J: Tensor, C: Tensor) -> Tensor:
    return J.square() @ C.diagonal()


MOMENTS: Exercise[[Tensor, Tensor, Tensor, Tensor, float]] = Exercise(
    reference=_moved,
    inputs=_states,
    mistakes={
        "diagonal not reset": Mistake(
            "Your diagonal is what comes through the couplings. A spin has its own length: 1 - |m'|^2 / d on the diagonal.",
            lambda m, C, J, x, b: _moved(m, C, J, x, b, reset=False),
        ),
        "fluctuation outside the root": Mistake(
            "The fluctuation stands inside the root, beside k, as the epsilon of a norm does.",
            lambda m, C, J, x, b: _moved(m, C, J, x, b, inside=0.0, outside=True),
        ),
        "no fluctuation": Mistake(
            "Those are naive means: the fluctuation diag(J C J^T) belongs beside k.",
            lambda m, C, J, x, b: _moved(m, C, J, x, b, inside=0.0),
        ),
        "independent spins": Mistake(
            "You took the others for independent, sum J^2 C_jj. They have covariances: diag(J C J^T).",
            lambda m, C, J, x, b: _moved(m, C, J, x, b, own=_alone(J, C)),
        ),
        "J transposed": Mistake(
            "J[i, j] is how spin i feels spin j: J m, and J C J^T.", lambda m, C, J, x, b: _moved(m, C, J.mT, x, b)
        ),
        "no drive": Mistake("The drive x does not enter your fields.", lambda m, C, J, x, b: _moved(m, C, J, 0 * x, b)),
        "no beta": Mistake("The temperature does not enter your gains.", lambda m, C, J, x, b: _moved(m, C, J, x, 1.0)),
        "old diagonal": Mistake(
            "The diagonal is that of the later means: 1 - |m'|^2 / d, not of m.",
            lambda m, C, J, x, b: torch.cat([
                _moved(m, C, J, x, b)[:, : m.shape[1]],
                (found := _moved(m, C, J, x, b, reset=False)[:, m.shape[1]:]) - found.diagonal().diag()
                + (1 - m.square().mean(-1)).diag(),
            ], -1),
        ),
        "no gains on covariances": Mistake(
            "Off the diagonal J C J^T is multiplied with the gains of both spins.",
            lambda m, C, J, x, b: torch.cat([
                (found := _moved(m, C, J, x, b))[:, : m.shape[1]],
                (felt := J @ C @ J.mT) - felt.diagonal().diag() + found[:, m.shape[1]:].diagonal().diag(),
            ], -1),
        ),
    },
)  # fmt: skip

# 3. The root of TAP


def _glasses() -> list[tuple[Tensor, Tensor, Tensor, float]]:
    """Means, couplings, drive, beta."""
    found = []
    for n, beta, seed in ((4, 0.8, 92), (5, 1.3, 93)):
        m, J, x = draws((n,), (n, n), (n,), seed=seed)
        found.append((0.9 * m.tanh(), 0.6 * J, 0.7 * x, beta))
    return found


def _root(g: Tensor, width: Tensor) -> Tensor:
    low, high = -torch.ones_like(g), torch.ones_like(g)
    for _ in range(60):
        middle = (low + high) / 2
        above = middle > (g - width * middle).tanh()
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return (low + high) / 2


def _felt(m: Tensor, J: Tensor, x: Tensor, b: float) -> tuple[Tensor, Tensor]:
    """What TAP reads: fields and reaction, with beta and beta^2."""
    return b * (x + J @ m), b**2 * (J.square() @ (1 - m.square()))


def _repeated(g: Tensor, width: Tensor) -> Tensor:
    """Plus in place of minus: the state that is reached from the naive one."""
    m = g.tanh()
    for _ in range(500):
        m = (g + width * m).tanh()
    return m


TAP: Exercise[[Tensor, Tensor, Tensor, float]] = Exercise(
    reference=lambda m, J, x, b: _root(*_felt(m, J, x, b)),
    inputs=_glasses,
    mistakes={
        "the mean before": Mistake(
            "Your reaction acts on the mean before the step. It acts on the new one, on both sides: find the root.",
            lambda m, J, x, b: ((f := _felt(m, J, x, b))[0] - f[1] * m).tanh(),
        ),
        "plus": Mistake(
            "What a spin does to the others comes back and is taken off: minus.",
            lambda m, J, x, b: _repeated(*_felt(m, J, x, b)),
        ),
        "beta once": Mistake(
            "The reaction has beta^2: once for the spin, once for what answers it.",
            lambda m, J, x, b: _root((f := _felt(m, J, x, b))[0], f[1] / b),
        ),
        "naive": Mistake("That is naive mean field, without the reaction.", lambda m, J, x, b: _felt(m, J, x, b)[0].tanh()),
        "variance of the new mean": Mistake(
            "The others fluctuate as they were before the step: 1 - m_j^2 of the old means, summed over j.",
            lambda m, J, x, b: _root(b * (x + J @ m), b**2 * (J.square() @ (1 - _root(*_felt(m, J, x, b)).square()))),
        ),
        "couplings not squared": Mistake(
            "The variance of a field has the squares of the couplings.",
            lambda m, J, x, b: _root(b * (x + J @ m), b**2 * (J.abs() @ (1 - m.square()))),
        ),
        "both ways": Mistake(
            "You took J_ij J_ji, the reaction of equilibrium. Here it is J_ij^2: what i feels, whoever feels i.",
            lambda m, J, x, b: _root(b * (x + J @ m), b**2 * ((J * J.mT) @ (1 - m.square()))),
        ),
        "own variance": Mistake(
            "The variances are those of the others, j.",
            lambda m, J, x, b: _root(b * (x + J @ m), b**2 * J.square().sum(-1) * (1 - m.square())),
        ),
        "once": Mistake(
            "You put the naive mean into the reaction, once. The new mean stands on both sides: go on until it agrees.",
            lambda m, J, x, b: ((f := _felt(m, J, x, b))[0] - f[1] * f[0].tanh()).tanh(),
        ),
    },
)

# 4. A cold block


def _tokens() -> list[tuple[Tensor, Tensor]]:
    """Attention weights, and values that are neither as long as spins nor of mean zero."""
    z, v, w, u = draws((4, 4), (4, 6), (3, 3), (3, 5), seed=94)
    return [(z.softmax(-1), 1.7 * v + 0.4), ((2 * w).softmax(-1), 0.6 * u - 0.3)]


def _rms(x: Tensor) -> Tensor:
    return x / x.square().mean(-1, keepdim=True).sqrt()


def _layer(x: Tensor) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / x.var(-1, correction=0, keepdim=True).sqrt()


COLD: Exercise[[Tensor, Tensor]] = Exercise(
    reference=lambda p, v: _rms(v + p @ _rms(v)),
    inputs=_tokens,
    mistakes={
        "no norm": Mistake("Spins have a length: what comes out is normalised.", lambda p, v: v + p @ _rms(v)),
        "no residual": Mistake("The drive v is missing beside attention.", lambda p, v: _rms(p @ _rms(v))),
        "norm before the sum": Mistake(
            "That is a norm before the sum, a stream that grows. A spin's mean has its norm after it.",
            lambda p, v: v + _rms(p @ _rms(v)),
        ),
        "drive of length one": Mistake(
            "The drive keeps its length; only what the others are is as long as a spin.",
            lambda p, v: _rms(_rms(v) + p @ _rms(v)),
        ),
        "values as they are": Mistake(
            "The others are spins at the start: values scaled to |s|^2 = d before they are averaged.",
            lambda p, v: _rms(v + p @ v),
        ),
        "unit length": Mistake(
            "Spins have |s|^2 = d, not 1.", lambda p, v: (h := v + p @ _rms(v)) / h.norm(dim=-1, keepdim=True)
        ),
        "mean taken off": Mistake(
            "That is LayerNorm. A spin has a length and no mean to be taken off.", lambda p, v: _layer(v + p @ _rms(v))
        ),
        "weights transposed": Mistake(
            "p[i, j] is how much token i takes of token j: p times values.", lambda p, v: _rms(v + p.mT @ _rms(v))
        ),
        "over tokens": Mistake(
            "You normalised each component over the tokens. A spin is a row.",
            lambda p, v: (h := v + p @ _rms(v)) / h.square().mean(0).sqrt(),
        ),
    },
)

# 5. Stein's equation


def _driven() -> list[tuple[Tensor, Tensor, float]]:
    """Couplings that are not symmetric, gains, and beta; the spectral radius of G J is below one."""
    found = []
    for n, beta, seed in ((3, 0.8, 95), (4, 1.6, 96)):
        J, a = draw(n, n, seed=seed) / n**0.5, 0.4 + 0.4 * torch.sigmoid(draw(n, seed=seed + 10))
        found.append((J, a, beta))
    return found


def _series(K: Tensor, noise: Tensor) -> Tensor:
    """``sum_k K^k noise K^T^k``, by a linear equation."""
    n = len(K)
    return torch.linalg.solve(torch.eye(n * n).to(K) - torch.kron(K, K), noise.flatten()).reshape(n, n)


def _stein(J: Tensor, a: Tensor, b: float) -> Tensor:
    return _series(a[:, None] * J, a.diag() / b)


STEIN: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=_stein,
    inputs=_driven,
    mistakes={
        "chapter 5's inverse": Mistake(
            "That is one layer in equilibrium. Where all move at once covariances obey C = (GJ) C (GJ)^T + G / beta.",
            lambda J, a, b: torch.linalg.inv((1 / a).diag() - J) / b,
        ),
        "inverse of the doubled graph": Mistake(
            "That is right where J is symmetric. Else (GJ)^k G (J^T G)^k has no such sum: solve the Stein equation.",
            lambda J, a, b: torch.linalg.inv((1 / a).diag() - J @ a.diag() @ J) / b,
        ),
        "inverse with a transpose": Mistake(
            "(GJ) C (GJ)^T has C in the middle, and an inverse cannot put it there: solve the Stein equation.",
            lambda J, a, b: torch.linalg.inv((1 / a).diag() - J @ a.diag() @ J.mT) / b,
        ),
        "gains on the wrong side": Mistake(
            "The gain is that of the spin that turns: G J, not J G.", lambda J, a, b: _series(J * a, a.diag() / b)
        ),
        "J transposed": Mistake(
            "C' = (GJ) C (GJ)^T: the transpose comes second.", lambda J, a, b: _series((a[:, None] * J).mT, a.diag() / b)
        ),
        "one term": Mistake(
            "That is one step. Go on: fluctuations of fluctuations, until nothing is added.",
            lambda J, a, b: a.diag() / b + (K := a[:, None] * J) @ a.diag() @ K.mT / b,
        ),
        "no gain on the noise": Mistake(
            "A spin alone has the variance G / beta, not 1 / beta.",
            lambda J, a, b: _series(a[:, None] * J, torch.eye(len(J)).to(J) / b),
        ),
        "no beta": Mistake("The variance of a spin alone is a gain over beta.", lambda J, a, b: b * _stein(J, a, b)),
    },
)

# 6. What delayed correlations lose


def _tables() -> list[tuple[Tensor, int, float]]:
    """Participation of scores of several spreads, how many tokens, and a gain."""
    return [
        (torch.tensor([0.03, 0.12, 0.5], dtype=torch.float64), 64, 0.41),
        (torch.tensor([0.2, 1.0], dtype=torch.float64), 16, 0.6),
    ]


def _whole(Y2: Tensor, n: int, a: float) -> Tensor:
    """All orders, and what the loss itself adds to the correlations."""
    r = a * a / (1 - a * a)
    return r / (n * Y2 + 2 * r + r * r).sqrt()


LOST: Exercise[[Tensor, int, float]] = Exercise(
    reference=lambda Y2, n, a: a * a / (n * Y2).sqrt(),
    alternatives=(_whole,),
    inputs=_tables,
    mistakes={
        "one gain": Mistake(
            "Two gains stand in a covariance of equal times, a_i a_j: the loss has a squared.",
            lambda Y2, n, a: a / (n * Y2).sqrt(),
        ),
        "no root": Mistake("Weights have the mean square Y2 / n. Their size is its root.", lambda Y2, n, a: a * a / (n * Y2)),
        "no size of a weight": Mistake(
            "a^2 / n is the covariance. Divide by the size of a weight, the root of Y2 / n.",
            lambda Y2, n, a: torch.full_like(Y2, a * a / n),
        ),
        "even weights": Mistake(
            "You took weights for 1/n. The sharper they are, the less is lost.", lambda Y2, n, a: torch.full_like(Y2, a * a)
        ),
        "participation over tokens": Mistake(
            "n stands with Y2: a covariance is of size 1/n, a weight of size sqrt(Y2 / n).",
            lambda Y2, n, a: a * a * (Y2 / n).sqrt(),
        ),
        "no number of tokens": Mistake(
            "A covariance of equal times is a^2 / n: the number of tokens is missing.", lambda Y2, n, a: a * a / Y2.sqrt()
        ),
        "growing with participation": Mistake(
            "Sharper weights are larger beside what is lost: divide by the root of n Y2.",
            lambda Y2, n, a: a * a * (n * Y2).sqrt(),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": GAIN, "2": MOMENTS, "3": TAP, "4": COLD, "5": STEIN, "6": LOST}
