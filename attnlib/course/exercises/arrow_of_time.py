"""Exercises of page 8a, the arrow of time.

It is longer than 250 lines because each of the four names its wrong answers, 39 in all, as small functions.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draws
from attnlib.course.exercises._exercise import Exercise, Mistake
from attnlib.kinetic import exact_kinetic, spin_states, transition_matrix


def _pairs() -> list[tuple[Tensor, Tensor, float]]:
    """Two spins that feel themselves, each other and a drive, at temperatures that are not one."""
    first, second, x, y = draws((2, 2), (2, 2), (2,), (2,), seed=80)
    return [(first, x, 0.6), (0.7 * second, y, 1.7)]


def _moves(J: Tensor, x: Tensor, beta: float, *, norm: bool = True) -> Tensor:
    states = spin_states(2).to(J)
    h = beta * (x + states @ J.mT)
    logs = h @ states.mT
    return (logs - torch.logaddexp(h, -h).sum(-1, keepdim=True)).exp() if norm else logs.exp()


MOVES: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=_moves,
    inputs=_pairs,
    mistakes={
        "J transposed": Mistake(
            "J[i, j] is how spin i feels spin j: the field of spin i is x[i] + sum over j of J[i, j] s[j].",
            lambda J, x, b: _moves(J.mT, x, b),
        ),
        "site by site": Mistake(
            "You move one spin at a time. Here both move at once: the chances of the two are multiplied.",
            lambda J, x, b: transition_matrix(J, x, beta=b, updates="single"),
        ),
        "no beta": Mistake("The temperature does not enter your chances.", lambda J, x, b: _moves(J, x, 1.0)),
        "beta outside the drive": Mistake(
            "beta multiplies the whole field, the drive too.", lambda J, x, b: _moves(b * J, x, 1.0)
        ),
        "no drive": Mistake("The drive x does not enter your fields.", lambda J, x, b: _moves(J, 0 * x, b)),
        "columns for rows": Mistake(
            "Rows are where a move begins, and each sums to one: the fields are those of the row's state.",
            lambda J, x, b: _moves(J, x, b).mT,
        ),
        "not normalised": Mistake(
            "Each spin's two chances sum to one: divide by 2 cosh of its field.", lambda J, x, b: _moves(J, x, b, norm=False)
        ),
        "other order": Mistake(
            "The first spin is the one that changes from a state to the next: (-,-), (+,-), (-,+), (+,+).",
            lambda J, x, b: _moves(J, x, b)[[0, 2, 1, 3]][:, [0, 2, 1, 3]],
        ),
        "half the field": Mistake(
            "That is sigmoid(h) for a spin that is up. The two fields differ by 2h: sigmoid(2h).",
            lambda J, x, b: _moves(J, x, b / 2),
        ),
        "own state left out": Mistake(
            "A spin may feel itself: the diagonal of J counts.", lambda J, x, b: _moves(J - J.diagonal().diag(), x, b)
        ),
    },
)


def _stationary() -> list[tuple[Tensor, Tensor, float]]:
    """Couplings of three and of four spins, and their correlations at lags 0 and 1."""
    few, many, x, y = draws((3, 3), (4, 4), (3,), (4,), seed=81)
    systems = ((0.8 * few, 0.6 * x, 1.3), (0.6 * many, 0.5 * y, 0.7))
    return [(J, exact_kinetic(J, drive, beta=beta).C, beta) for J, drive, beta in systems]


def _produced(J: Tensor, C: Tensor, beta: float) -> Tensor:
    return beta * ((J - J.mT) * C[1]).sum()


def _proxy(J: Tensor, C: Tensor, beta: float) -> Tensor:
    own = C[0].diagonal()
    return beta**2 / 2 * ((J - J.mT).square() * torch.outer(own, own)).sum()


PRODUCTION: Exercise[[Tensor, Tensor, float]] = Exercise(
    reference=_produced,
    inputs=_stationary,
    compare_as=lambda value: torch.where(value.abs() < 1e-6, 0.0, value),  # what sums to zero is as good as zero
    mistakes={
        "equal times": Mistake(
            "You took C(0). It is symmetric, so that its product with J - J^T sums to zero, whatever J: take one step apart.",
            lambda J, C, b: b * ((J - J.mT) * C[0]).sum(),
        ),
        "squared proxy": Mistake(
            "That is the hot limit, the square of J - J^T. The arrow has the correlation C(1) in the second place.",
            _proxy,
        ),
        "squared proxy of free spins": Mistake(
            "That is the hot limit without a drive. The arrow has the correlation C(1) in the second place.",
            lambda J, C, b: b**2 / 2 * (J - J.mT).square().sum(),
        ),
        "transposed": Mistake(
            "Your arrow is negative: C(1)[i, j] has the later spin first, as J[i, j] has the one that feels.",
            lambda J, C, b: -_produced(J, C, b),
        ),
        "each pair once": Mistake(
            "You counted each pair once. The sum goes over i and j.", lambda J, C, b: _produced(J, C, b) / 2
        ),
        "no beta": Mistake("The factor beta is missing.", lambda J, C, b: _produced(J, C, 1.0)),
        "beta squared": Mistake("beta enters once: C(1) brings the other.", lambda J, C, b: _produced(J, C, b**2)),
        "not antisymmetric": Mistake(
            "You took J for J - J^T: what goes there and back leaves no trace.", lambda J, C, b: b * (J * C[1]).sum()
        ),
        "absolute values": Mistake(
            "Signs count: a pair that runs against its couplings takes something off.",
            lambda J, C, b: b * ((J - J.mT) * C[1]).abs().sum(),
        ),
        "mean": Mistake("Sum over the pairs, do not average.", lambda J, C, b: _produced(J, C, b) / J.numel()),
        "a spin": Mistake(
            "That is the production of one spin: leave out the division by n.", lambda J, C, b: _produced(J, C, b) / len(J)
        ),
    },
)


def _six() -> list[tuple[Tensor]]:
    """Six kinds: symmetric with a diagonal, and without; weights of a tied softmax; a circulant; a chase; a causal mean."""
    z, v, ring = draws((4, 4), (4, 4), (4,), seed=82)
    even = (z + z.mT) / 2
    tied = (v @ v.mT / 2).softmax(-1)
    circle = torch.stack([ring.softmax(0).roll(k) for k in range(4)])
    causal = torch.ones(4, 4).to(z).tril()
    bare = even - even.diagonal().diag()
    return [(torch.stack([even, bare, tied, circle, z - z.mT, causal / causal.sum(-1, keepdim=True)]),)]


def _off(J: Tensor) -> Tensor:
    return (J - J.mT).abs().amax((-2, -1))


def _rather(test: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Ones where a number is not small."""
    return lambda J: (test(J) > 1e-5).to(J)


def _scaled(J: Tensor) -> Tensor:
    """How far each is from rows of a symmetric matrix times numbers: products around all triangles, there and back."""
    there = torch.einsum("...ij,...jk,...ki->...ijk", J, J, J)
    back = torch.einsum("...ik,...kj,...ji->...ijk", J, J, J)
    one_way = ((J == 0) != (J.mT == 0)).any(-1).any(-1)
    return (there - back).abs().amax((-3, -2, -1)) + one_way


ARROW: Exercise[[Tensor]] = Exercise(
    reference=_rather(_off),
    inputs=_six,
    mistakes={
        "symmetric up to row scaling": Mistake(
            "You let a factor for each row pass, and with it a tied softmax. The norms Z_i of its rows make the arrow.",
            _rather(_scaled),
        ),
        "real eigenvalues": Mistake(
            "A tied softmax has real eigenvalues, and a causal mask too. Both have an arrow: ask for J = J^T.",
            _rather(lambda J: torch.linalg.eigvals(J).imag.abs().amax(-1)),
        ),
        "normal": Mistake(
            "You asked whether J and J^T commute. A circulant does, and so does a chase; both run in one direction.",
            _rather(lambda J: (J @ J.mT - J.mT @ J).abs().amax((-2, -1))),
        ),
        "diagonal": Mistake(
            "Where all move at once a spin may feel itself, and there is no arrow. You want single moves.",
            _rather(lambda J: torch.maximum(_off(J), J.diagonal(dim1=-2, dim2=-1).abs().amax(-1))),
        ),
        "equal column sums": Mistake(
            "You compared row sums with column sums. A circulant has the same, and an arrow.",
            _rather(lambda J: (J.sum(-1) - J.sum(-2)).abs().amax(-1)),
        ),
        "no arrow": Mistake("You marked those without an arrow.", lambda J: 1 - _rather(_off)(J)),
        "all": Mistake("Symmetric couplings have none, with a diagonal or without.", lambda J: torch.ones(len(J)).to(J)),
    },
)


def _systems() -> list[tuple[Tensor, Tensor, Tensor, Tensor, float, int]]:
    """Moves, law, states and fields of three spins and of two, at lags 0, 1 and 2."""
    J, K, x, y = draws((3, 3), (2, 2), (3,), (2,), seed=83)
    found = []
    for couplings, drive, beta, lag in ((J, x, 0.8, 1), (J, x, 0.8, 2), (1.2 * K, 0.7 * y, 1.3, 1), (J, 0.5 * x, 1.1, 0)):
        P = transition_matrix(couplings, drive, beta=beta)
        states = spin_states(len(couplings)).to(P)
        law = exact_kinetic(couplings, drive, beta=beta).law
        found.append((P, law, states, drive + states @ couplings.mT, beta, lag))
    return found


def _joint(P: Tensor, law: Tensor, later: Tensor, earlier: Tensor, lag: int) -> Tensor:
    """The mean of later quantities, in rows, times earlier ones, so many steps apart."""
    return (torch.linalg.matrix_power(P, lag) @ later).mT @ (law[:, None] * earlier)


def _response(P: Tensor, law: Tensor, s: Tensor, h: Tensor, b: float, lag: int) -> Tensor:
    return b * (_joint(P, law, s, s, lag) - _joint(P, law, s, (b * h).tanh(), lag + 1))


def _lagged(P: Tensor, law: Tensor, s: Tensor, lag: int) -> Tensor:
    m = law @ s
    return _joint(P, law, s, s, lag) - torch.outer(m, m)


RESPONSE: Exercise[[Tensor, Tensor, Tensor, Tensor, float, int]] = Exercise(
    reference=_response,
    inputs=_systems,
    mistakes={
        "correlation": Mistake(
            "beta C(tau) is chapter 4's theorem at equal times. Take off what the drive's own step foresaw of the spin.",
            lambda P, law, s, h, b, lag: b * _lagged(P, law, s, lag),
        ),
        "one step further": Mistake(
            "You took C(tau + 1) off. It is the foreseen spin tanh(beta h), not the spin before, that is taken off.",
            lambda P, law, s, h, b, lag: b * (_lagged(P, law, s, lag) - _lagged(P, law, s, lag + 1)),
        ),
        "symmetric couplings": Mistake(
            "C(tau) - C(tau + 2) is right where J is symmetric. Here it is not: the foreseen spin does not average to that.",
            lambda P, law, s, h, b, lag: b * (_lagged(P, law, s, lag) - _lagged(P, law, s, lag + 2)),
        ),
        "same time": Mistake(
            "The field that foresaw s(t) is that of the state before: tau + 1 steps lie between it and s(t + tau).",
            lambda P, law, s, h, b, lag: b * (_joint(P, law, s, s, lag) - _joint(P, law, s, (b * h).tanh(), lag)),
        ),
        "no beta in front": Mistake(
            "The factor beta in front is missing.", lambda P, law, s, h, b, lag: _response(P, law, s, h, b, lag) / b
        ),
        "no beta inside": Mistake(
            "The spin that is foreseen is tanh(beta h).",
            lambda P, law, s, h, b, lag: b * (_joint(P, law, s, s, lag) - _joint(P, law, s, h.tanh(), lag + 1)),
        ),
        "no tanh": Mistake(
            "A field is not yet a mean: tanh(beta h).",
            lambda P, law, s, h, b, lag: b * (_joint(P, law, s, s, lag) - _joint(P, law, s, b * h, lag + 1)),
        ),
        "transposed": Mistake(
            "chi[i, j] is how spin i answers to a drive on spin j: the later spin comes first.",
            lambda P, law, s, h, b, lag: _response(P, law, s, h, b, lag).mT,
        ),
        "wrong sign": Mistake(
            "Your spins turn against the drive.", lambda P, law, s, h, b, lag: -_response(P, law, s, h, b, lag)
        ),
        "half connected": Mistake(
            "You took the product of means off in one place only. Off both, or off none: they cancel.",
            lambda P, law, s, h, b, lag: b * (_lagged(P, law, s, lag) - _joint(P, law, s, (b * h).tanh(), lag + 1)),
        ),
        "law left out": Mistake(
            "Weigh the states by the stationary law; you took all for equally likely.",
            lambda P, law, s, h, b, lag: _response(P, torch.ones_like(law) / len(law), s, h, b, lag),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {"1": MOVES, "2": PRODUCTION, "3": ARROW, "4": RESPONSE}
