"""Exercises of page 8b, what is forgotten.

It is longer than 250 lines because each of the four names its wrong answers, 33 in all, as small functions.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw, draws
from attnlib.course.exercises._exercise import Exercise, Mistake


def _chance(J: Tensor, x: Tensor, beta: float, s: Tensor) -> Tensor:
    """Of each spin to be up after these states, ``[*states, n]``."""
    return torch.sigmoid(2 * beta * (x + s @ J.mT))


def _turned(noise: Tensor, chance: Tensor) -> Tensor:
    return torch.where(noise < chance, 1.0, -1.0).to(noise)


def _swept(J: Tensor, x: Tensor, beta: float, start: Tensor, noise: Tensor) -> Tensor:
    s = start.clone()
    for i in range(len(J)):
        s[:, i] = _turned(noise[:, i], _chance(J, x, beta, s)[:, i])
    return s


def _belief_nets() -> list[tuple[Tensor, Tensor, float, Tensor, Tensor]]:
    """Causal couplings of four spins and of five, starts, and noise that is near no chance: precision decides nothing."""
    found = []
    for seed, n, beta in ((90, 4, 0.8), (91, 5, 1.3)):
        J, x, start = draws((n, n), (n,), (400, n), seed=seed)
        J, x, start = J.tril(-1), 0.5 * x, start.sign()
        noise = torch.special.ndtr(draw(400, n, seed=seed + 100))
        s, near = _swept(J, x, beta, start, noise), torch.zeros(400, dtype=torch.bool)
        near |= ((noise - _chance(J, x, beta, s)).abs() < 0.01).any(-1)
        kept = (~near).nonzero()[:60, 0]
        found.append((J, x, beta, start[kept], noise[kept]))
    return found


SWEEP: Exercise[[Tensor, Tensor, float, Tensor, Tensor]] = Exercise(
    reference=_swept,
    inputs=_belief_nets,
    mistakes={
        "parallel or reversed": Mistake(
            "Each of your spins felt the start: you moved all at once, or the last one first. A sweep begins with the first, "
            "and shows each spin those that have moved.",
            lambda J, x, b, s, u: _turned(u, _chance(J, x, b, s)),
        ),
        "twice in parallel": Mistake(
            "Two steps of all spins at once are not a sweep: with n tokens it takes n steps, and ends in another law.",
            lambda J, x, b, s, u: _turned(u, _chance(J, x, b, _turned(u, _chance(J, x, b, s)))),
        ),
        "J transposed": Mistake(
            "J[i, j] is how spin i feels spin j: the field of spin i is x[i] + sum over j of J[i, j] s[j].",
            lambda J, x, b, s, u: _swept(J.mT, x, b, s, u),
        ),
        "no drive": Mistake(
            "The drive x does not enter your fields.", lambda J, x, b, s, u: _swept(J, torch.zeros_like(x), b, s, u)
        ),
        "no beta": Mistake("The temperature does not enter your chances.", lambda J, x, b, s, u: _swept(J, x, 1.0, s, u)),
        "half the field": Mistake(
            "That is sigmoid(h) for a spin that is up. The two fields differ by 2h: sigmoid(2h).",
            lambda J, x, b, s, u: _swept(J, x, b / 2, s, u),
        ),
        "turned over": Mistake(
            "A spin is up where its number lies below its chance to be up, not above.",
            lambda J, x, b, s, u: _swept(J, x, b, s, 1 - u),
        ),
    },
)


def _kept(d: Tensor, gain: float, z: Tensor, w: Tensor, slope: Callable[[Tensor], Tensor] | None = None) -> Tensor:
    inner = (d / (2 - 2 * d)).sqrt() if slope is None else slope(d)
    return ((gain * z).tanh() * torch.erf(z * inner[:, None]) * w).sum(-1)


def _shares() -> list[tuple[Tensor, float, Tensor, Tensor]]:
    """Shares between nothing and one half, gains, and the places and weights of a normal number."""
    z = torch.linspace(-8, 8, 81, dtype=torch.float64)
    w = (-z.square() / 2).exp()
    w = w / w.sum()
    return [(torch.tensor([0.04, 0.2, 0.45], dtype=torch.float64), gain, z, w) for gain in (0.6, 1.5)]


DAMAGE: Exercise[[Tensor, float, Tensor, Tensor]] = Exercise(
    reference=_kept,
    inputs=_shares,
    mistakes={
        "difference of the fields": Mistake(
            "You took |h - h'| / 2. A spin differs where the noise falls between the two chances: |tanh h - tanh h'| / 2.",
            lambda d, g, z, w: g * (2 * d / math.pi).sqrt(),
        ),
        "independent fields": Mistake(
            "Your two fields know nothing of each other. They share all spins but those that differ: correlation 1 - 2d.",
            lambda d, g, z, w: _kept(d, g, z, w, lambda d: torch.full_like(d, 0.5**0.5)),
        ),
        "correlation 1 - d": Mistake(
            "A spin that differs takes its part away and adds it with the other sign: the correlation is 1 - 2d, not 1 - d.",
            lambda d, g, z, w: _kept(d, g, z, w, lambda d: (d / (4 - 2 * d)).sqrt()),
        ),
        "no gain": Mistake("The gain does not enter your fields.", lambda d, g, z, w: _kept(d, 1.0, z, w)),
        "gain in both": Mistake(
            "The gain stands in the tanh only: which of two fields is the larger does not depend on their size.",
            lambda d, g, z, w: _kept(d, g, z, w, lambda d: g * (d / (2 - 2 * d)).sqrt()),
        ),
        "no root": Mistake(
            "The root of d / (2 - 2d) is missing.", lambda d, g, z, w: _kept(d, g, z, w, lambda d: d / (2 - 2 * d))
        ),
        "normal for error function": Mistake(
            "Phi(x) is (1 + erf(x / sqrt 2)) / 2: the 2 in the root goes with erf.",
            lambda d, g, z, w: _kept(d, g, z, w, lambda d: (d / (1 - d)).sqrt()),
        ),
        "no half": Mistake(
            "That is the mean of |tanh h - tanh h'|. Chances are (1 + tanh h) / 2: half of it.",
            lambda d, g, z, w: 2 * _kept(d, g, z, w),
        ),
        "no mean": Mistake(
            "Weigh the places by w: they are not equally likely.",
            lambda d, g, z, w: _kept(d, g, z, torch.full_like(w, 1 / len(w))),
        ),
    },
)


def _pasts() -> list[tuple[Tensor, Tensor, float, Tensor]]:
    """Positive couplings of three spins, drive, and noise of 256 steps that is not near any chance."""
    states = torch.tensor([[2.0 * (k >> i & 1) - 1 for i in range(3)] for k in range(8)], dtype=torch.float64)
    found = []
    for seed in range(14):
        z, x = draws((3, 3), (3,), seed=300 + seed)
        J, x, beta = z.softmax(-1), 0.3 * x, (0.9, 1.2)[seed % 2]
        chances = _chance(J, x, beta, states)  # [8, 3]
        noise = torch.special.ndtr(draw(2000, 3, seed=400 + seed))
        far = ((noise[:, None] - chances).abs() > 0.005).all(1).all(1)
        found.append((J, x, beta, noise[far][:256]))
    return found


def _film(J: Tensor, x: Tensor, beta: float, rows: Tensor, stop: bool = False) -> tuple[Tensor, bool]:
    """Two films from all up and all down driven by these rows in turn: where the first is, and whether they met."""
    both = torch.stack([torch.ones_like(x), -torch.ones_like(x)])
    for row in rows:
        both = _turned(row.expand_as(both), _chance(J, x, beta, both))
        if stop and (both[0] == both[1]).all():
            break
    return both[0], bool((both[0] == both[1]).all())


def _past(J: Tensor, x: Tensor, beta: float, noise: Tensor) -> Tensor:
    now, back = x, 1
    while back < len(noise):
        now, met = _film(J, x, beta, noise[:back].flip(0))
        if met:
            break
        back *= 2
    return now


def _stopped(J: Tensor, x: Tensor, beta: float, noise: Tensor) -> Tensor:
    """From as far back as is needed, what the films are where they meet."""
    now, back = x, 1
    while back < len(noise):
        now, met = _film(J, x, beta, noise[:back].flip(0), stop=True)
        if met:
            break
        back *= 2
    return now


def _fresh(J: Tensor, x: Tensor, beta: float, noise: Tensor) -> Tensor:
    """Each time further back, with rows that have not been used."""
    now, back, used = x, 1, 0
    while used + back < len(noise):
        now, met = _film(J, x, beta, noise[used : used + back])
        if met:
            break
        used, back = used + back, 2 * back
    return now


def _appended(J: Tensor, x: Tensor, beta: float, noise: Tensor) -> Tensor:
    """The rows in the wrong order: what was drawn first drives the first step."""
    now, back = x, 1
    while back < len(noise):
        now, met = _film(J, x, beta, noise[:back])
        if met:
            break
        back *= 2
    return now


PAST: Exercise[[Tensor, Tensor, float, Tensor]] = Exercise(
    reference=_past,
    inputs=_pasts,
    mistakes={
        "forward": Mistake(
            "You went forwards until the films met. When they meet depends on where they are: that is not a draw from the law.",
            lambda J, x, b, noise: _film(J, x, b, noise, stop=True)[0],
        ),
        "first meeting": Mistake(
            "You stopped where the films met. Let them go on to the present, by the noise that is there for it.", _stopped
        ),
        "fresh noise": Mistake(
            "You took other noise when you went further back. Nearer steps keep theirs, or hard noises are thrown away.",
            _fresh,
        ),
        "wrong end": Mistake(
            "noise[0] drives the last step, into the present: what is new when you go further back comes first.", _appended
        ),
        "one step": Mistake(
            "One step from all up is not the infinite past.", lambda J, x, b, noise: _film(J, x, b, noise[:1])[0]
        ),
        "J transposed": Mistake(
            "J[i, j] is how spin i feels spin j: the fields are x + J s.", lambda J, x, b, noise: _past(J.mT, x, b, noise)
        ),
        "no drive": Mistake("The drive x does not enter your fields.", lambda J, x, b, noise: _past(J, 0 * x, b, noise)),
        "half the field": Mistake(
            "That is sigmoid(h) for a spin that is up. The two fields differ by 2h: sigmoid(2h).",
            lambda J, x, b, noise: _past(J, x, b / 2, noise),
        ),
    },
)


def _radius(matrix: Tensor) -> Tensor:
    return torch.linalg.eigvals(matrix).abs().amax()


def _couplings() -> list[tuple[Tensor, float]]:
    first, second = draws((4, 4), (5, 5), seed=93)
    return [(first, 0.6), (0.8 * second, 1.4)]


BOUND: Exercise[[Tensor, float]] = Exercise(
    reference=lambda J, b: _radius((b * J.abs()).tanh()),
    inputs=_couplings,
    mistakes={
        "signs": Mistake(
            "Without absolute values signs cancel: two spins pull a third by so much each, whichever way.",
            lambda J, b: _radius((b * J).tanh()),
        ),
        "no tanh": Mistake(
            "No neighbour moves a chance by more than tanh(beta |J|), however large J is: take the tanh of each entry.",
            lambda J, b: b * _radius(J.abs()),
        ),
        "tanh outside": Mistake(
            "The tanh is of each coupling, before you ask for eigenvalues.", lambda J, b: (b * _radius(J.abs())).tanh()
        ),
        "beta outside": Mistake("beta stands inside the tanh.", lambda J, b: b * _radius(J.abs().tanh())),
        "no beta": Mistake("The temperature does not enter your bound.", lambda J, b: _radius(J.abs().tanh())),
        "row sum": Mistake(
            "The largest row sum is a bound too, and a weaker one. The largest absolute eigenvalue was asked for.",
            lambda J, b: (b * J.abs()).tanh().sum(-1).amax(),
        ),
        "singular value": Mistake(
            "That is the largest singular value; step after step what counts is the largest absolute eigenvalue.",
            lambda J, b: torch.linalg.matrix_norm((b * J.abs()).tanh(), 2),
        ),
        "the couplings themselves": Mistake(
            "Those are eigenvalues of the couplings. Influences add up without signs, and saturate.",
            lambda J, b: b * _radius(J),
        ),
        "all eigenvalues": Mistake(
            "Return the largest of the absolute values only.",
            lambda J, b: torch.linalg.eigvals((b * J.abs()).tanh()).abs().sort().values,
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": SWEEP, "2": DAMAGE, "3": PAST, "4": BOUND}
