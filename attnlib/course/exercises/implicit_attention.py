"""Exercises of page 4b, deep implicit attention."""

import torch
from torch import Tensor

from attnlib.course.exercises._draw import draw
from attnlib.course.exercises._exercise import Exercise, Mistake


def _couplings(n: int, d: int, seed: int, strength: float = 0.4) -> Tensor:
    """Couplings ``[n, n, d, d]``, symmetric across sites and so weak that a Gaussian system of variance 2 is stable."""
    J = draw(n, n, d, d, seed=seed)
    J = (J + J.transpose(0, 1).mT) * (1 - torch.eye(n, dtype=J.dtype))[:, :, None, None]
    flat = J.permute(0, 2, 1, 3).reshape(n * d, n * d)
    return strength * J / torch.linalg.eigvalsh(flat)[-1]


def _flat(J: Tensor) -> Tensor:
    n, d = J.shape[0], J.shape[-1]
    return J.permute(0, 2, 1, 3).reshape(n * d, n * d)


FLAT: Exercise[[Tensor]] = Exercise(
    reference=_flat,
    inputs=lambda: [(draw(4, 4, 3, 3, seed=0),), (draw(2, 2, 5, 5, seed=1),)],
    mistakes={
        "reshaped as it is": Mistake(
            "The axes are in the order i, j, a, b: merged as they are, a row mixes two spins. Bring a behind i first.",
            lambda J: J.reshape(J.shape[0] * J.shape[-1], -1),
        ),
        "components first": Mistake(
            "Your row is a * n + i. It should be i * d + a: the components of one spin lie next to each other.",
            lambda J: J.permute(2, 0, 3, 1).reshape(J.shape[0] * J.shape[-1], -1),
        ),
        "blocks transposed": Mistake(
            "Each block is turned: in row i * d + a stands J_ij^ba in place of J_ij^ab.",
            lambda J: _flat(J.mT),
        ),
        "sites exchanged": Mistake(
            "Block (i, j) of yours is J_ji.",
            lambda J: _flat(J.transpose(0, 1)),
        ),
    },
)


def _symmetric(n: int, seed: int, top: float) -> Tensor:
    """Couplings ``[n, n]`` whose largest eigenvalue is given, and whose smallest is further from zero."""
    J = draw(n, n, seed=seed)
    J = (J + J.T) * (1 - torch.eye(n, dtype=J.dtype))
    values = torch.linalg.eigvalsh(J)
    J = J if -values[0] > values[-1] else -J
    return top * J / torch.linalg.eigvalsh(J)[-1]


def _longest_step(J: Tensor) -> Tensor:
    values = torch.linalg.eigvalsh(J)
    return torch.where(values[-1] < 1, 2 / (1 - values[0]), 0.0)


LONGEST_STEP: Exercise[[Tensor]] = Exercise(
    reference=_longest_step,
    inputs=lambda: [(_symmetric(5, 2, 0.8),), (_symmetric(6, 3, 0.3),), (_symmetric(4, 4, 1.3),)],
    mistakes={
        "by the largest eigenvalue": Mistake(
            "A long step fails first where the factor 1 - step * (1 - mu) is most negative: at the smallest eigenvalue.",
            lambda J: torch.where(torch.linalg.eigvalsh(J)[-1] < 1, 2 / (1 - torch.linalg.eigvalsh(J)[-1]), 0.0),
        ),
        "no edge": Mistake(
            "With an eigenvalue of 1 or more no step helps: then the answer is 0.",
            lambda J: 2 / (1 - torch.linalg.eigvalsh(J)[0]),
        ),
        "of J, not of 1 - J": Mistake(
            "The error is multiplied by 1 - step * (1 - mu): the bound is on 1 - J, not on J.",
            lambda J: torch.where(torch.linalg.eigvalsh(J)[-1] < 1, -2 / torch.linalg.eigvalsh(J)[0], 0.0),
        ),
        "one, not two": Mistake(
            "That is the step that makes the worst factor zero. It may go on to -1: twice as far.",
            lambda J: torch.where(torch.linalg.eigvalsh(J)[-1] < 1, 1 / (1 - torch.linalg.eigvalsh(J)[0]), 0.0),
        ),
        "the best step": Mistake(
            "That is the quickest step, in the middle of the window. The longest is 2 / (1 - smallest eigenvalue).",
            lambda J: torch.where(
                torch.linalg.eigvalsh(J)[-1] < 1,
                2 / (2 - torch.linalg.eigvalsh(J)[0] - torch.linalg.eigvalsh(J)[-1]),
                0.0,
            ),
        ),
    },
)


def _solution(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, a state that is a solution for some input, and a gradient."""
    W = draw(4, 4, seed=seed)
    return 0.7 * W / torch.linalg.matrix_norm(W, 2), torch.tanh(draw(4, seed=seed + 10)), draw(4, seed=seed + 20)


def _eye(z: Tensor) -> Tensor:
    return torch.eye(len(z), dtype=z.dtype, device=z.device)


def _gradient(W: Tensor, z: Tensor, g: Tensor) -> Tensor:
    slope = 1 - z.square()
    return slope * torch.linalg.solve((_eye(z) - slope[:, None] * W).T, g)


GRADIENT: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=_gradient,
    inputs=lambda: [_solution(5), _solution(6)],
    mistakes={
        "one step": Mistake(
            "That is the gradient through one step. The solution moves too: solve with 1 - D W.",
            lambda W, z, g: (1 - z.square()) * g,
        ),
        "not transposed": Mistake(
            "A gradient goes backward through the transposed matrix, and W is not symmetric.",
            lambda W, z, g: (1 - z.square()) * torch.linalg.solve(_eye(z) - (1 - z.square())[:, None] * W, g),
        ),
        "no slope outside": Mistake(
            "The input passes through the tanh as well: the last factor D is missing.",
            lambda W, z, g: torch.linalg.solve((_eye(z) - (1 - z.square())[:, None] * W).T, g),
        ),
        "no slope inside": Mistake(
            "The Jacobian of tanh(W z + x) is D W with D = 1 - z^2, not W.",
            lambda W, z, g: (1 - z.square()) * torch.linalg.solve((_eye(z) - W).T, g),
        ),
        "plus sign": Mistake(
            "dz = D W dz + D dx gives 1 - D W, with a minus.",
            lambda W, z, g: (1 - z.square()) * torch.linalg.solve((_eye(z) + (1 - z.square())[:, None] * W).T, g),
        ),
    },
)


def _precision(J: Tensor, inverse: Tensor) -> Tensor:
    return torch.block_diag(*[inverse] * J.shape[0]) - _flat(J)


def _means(matrix: Tensor, h: Tensor) -> Tensor:
    return torch.linalg.solve(matrix, h.flatten(1).T).T.reshape(h.shape)


def _covariance(d: int, seed: int) -> Tensor:
    A = draw(d, d, seed=seed)
    return A @ A.T / d + torch.eye(d, dtype=A.dtype)


def _gaussian_systems() -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for n, d, seed in ((4, 3, 30), (3, 2, 40)):
        Sigma = _covariance(d, seed)
        strong = 0.6 / torch.linalg.eigvalsh(Sigma)[-1].item()
        found.append((_couplings(n, d, seed + 1, strong), draw(5, n, d, seed=seed + 2), Sigma))
    return found


RESPONSE: Exercise[[Tensor, Tensor, Tensor]] = Exercise(
    reference=lambda J, h, Sigma: _means(_precision(J, torch.linalg.inv(Sigma)), h),
    inputs=_gaussian_systems,
    mistakes={
        "covariance, not precision": Mistake(
            "Sigma stands inverted in the energy: the matrix is Sigma^-1 - J.",
            lambda J, h, Sigma: _means(_precision(J, Sigma), h),
        ),
        "no prior": Mistake(
            "You took the identity for Sigma^-1.",
            lambda J, h, Sigma: _means(_precision(J, torch.eye(len(Sigma), dtype=J.dtype)), h),
        ),
        "plus J": Mistake(
            "Couplings align spins: the energy has a minus, so the matrix is Sigma^-1 minus J.",
            lambda J, h, Sigma: _means(_precision(-J, torch.linalg.inv(Sigma)), h),
        ),
        "one step": Mistake(
            "That is one step from m = 0, Sigma h. The others answer too: solve the whole system.",
            lambda J, h, Sigma: h @ Sigma,
        ),
        "reshaped as it is": Mistake(
            "J merged without a change of axes mixes spins: see the first exercise.",
            lambda J, h, Sigma: _means(
                torch.block_diag(*[torch.linalg.inv(Sigma)] * J.shape[0]) - J.reshape(h[0].numel(), -1), h
            ),
        ),
    },
)


def _diagonal(matrix: Tensor, d: int) -> Tensor:
    n = matrix.shape[0] // d
    return torch.stack([matrix[i * d : (i + 1) * d, i * d : (i + 1) * d] for i in range(n)])


def _reaction(J: Tensor, Sigma: Tensor) -> Tensor:
    inverse = torch.linalg.inv(Sigma)
    own = torch.linalg.inv(_diagonal(torch.linalg.inv(_precision(J, inverse)), len(Sigma)))
    return (inverse - own).contiguous()


REACTION: Exercise[[Tensor, Tensor]] = Exercise(
    reference=_reaction,
    inputs=lambda: [(J, Sigma) for J, _, Sigma in _gaussian_systems()],
    mistakes={
        "sign": Mistake(
            "The sign is turned: C_i = (Sigma^-1 - V_i)^-1, so V_i is Sigma^-1 less the inverse of the covariance.",
            lambda J, Sigma: -_reaction(J, Sigma),
        ),
        "inverse of the matrix's block": Mistake(
            "The block on the diagonal of Sigma^-1 - J is Sigma^-1 itself. Invert the whole matrix first, then take blocks.",
            lambda J, Sigma: torch.linalg.inv(Sigma) - _diagonal(_precision(J, torch.linalg.inv(Sigma)), len(Sigma)),
        ),
        "covariance, not precision": Mistake(
            "You took the difference of covariances; V_i is a difference of their inverses.",
            lambda J, Sigma: Sigma - _diagonal(torch.linalg.inv(_precision(J, torch.linalg.inv(Sigma))), len(Sigma)),
        ),
        "lowest order": Mistake(
            "That is V to second order in J, sum_j J_ij Sigma J_ji, as in TAP. The whole response is needed.",
            lambda J, Sigma: torch.einsum("ijab,bc,jicd->iad", J, Sigma, J),
        ),
    },
)

EXERCISES: dict[str, Exercise[...]] = {
    "1": FLAT,
    "2": LONGEST_STEP,
    "3": GRADIENT,
    "4": RESPONSE,
    "5": REACTION,
}
