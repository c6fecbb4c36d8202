"""Driven vector spins sampled, all at once: what closed moments are measured against."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_count, check_field, check_floating, check_generator
from attnlib._core.numerics import widened
from attnlib._core.systems import check_system
from attnlib._core.values import check_result, check_visible, refuted
from attnlib.course.oracles.vectors import drawn_spins


@dataclass(frozen=True)
class VectorFilmRecord:
    """What was sampled: means ``m [*batch, n, d]`` and covariances by component, ``C [*batch, 2, n, n]``, with their errors.

    ``C[0]`` is of one time; ``C[1, i, j]`` of spin i with spin j a step before. ``m_error`` and ``C_error``, of the same
    shapes, are the standard errors that follow from the differences between the films, which know nothing of each other.
    ``spins [*batch, films, n, d]`` is where the films end.

    >>> from attnlib.course.oracles import vector_film
    >>> found = vector_film(torch.zeros(2, 2), torch.tensor([[0.0, 0.0], [50.0, 0.0]]), films=4, steps=50)
    >>> found.m.shape, bool(found.m[1, 0] > 1.4)  # the length of a spin is the root of 2
    (torch.Size([2, 2]), True)
    """

    m: Float[Tensor, "*batch n d"]
    C: Float[Tensor, "*batch 2 n n"]
    m_error: Float[Tensor, "*batch n d"]
    C_error: Float[Tensor, "*batch 2 n n"]
    spins: Float[Tensor, "*batch films n d"]


def vector_film(
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "*batch n d"],
    *,
    beta: Scalar = 1.0,
    films: int = 200,
    steps: int = 100,
    burn_in: int = 50,
    start: Float[Tensor, "..."] | None = None,
    generator: torch.Generator | None = None,
) -> VectorFilmRecord:
    r"""Sample driven vector spins of length ``sqrt(d)`` that all move at once, each in the field of what all were.

    .. math:: P(s_i(t + 1) \mid s(t)) \propto e^{\beta s_i(t + 1) \cdot h_i(t)}, \qquad h_i(t) = x_i + \sum_j J_{ij} s_j(t)

    Each draw is exact, as in :func:`vector_heat_bath`. The films run side by side, from random states or from a given one:
    then ``steps=1`` with ``burn_in=k`` is what they are ``k + 1`` steps later, a stack of as many blocks. Delayed covariances
    take the means of both times for the same, as they are once the films have settled.

    Args:
        J: couplings between spins, ``[*batch, n, n]``, ``J[i, j]`` how spin i feels spin j; need not be symmetric.
        x: drive, ``[*batch, n, d]`` with d of at least 2; it also says how many components there are.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        films: how many, at least 2.
        steps: how many steps are kept, at least 1.
        burn_in: how many go before them, and are not kept.
        start: in which directions the spins of all films begin, broadcast to ``[*batch, n, d]``; default anywhere.
        generator: of the starts and the draws, on the device of J.

    Returns:
        :class:`VectorFilmRecord`. No gradient passes through.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, drive of one component, counts that are too small,
            a start with spins of length 0.

    Source: Wood 1994 for the cosine.

    >>> found = vector_film(torch.zeros(1, 1), torch.tensor([[0.5, 0.0, 0.0]]), films=2000, steps=1, burn_in=1)
    >>> (found.m[0, 0] - 0.4767).abs() < 5 * found.m_error[0, 0]  # alone: exact is 0.4767
    tensor(True)
    """
    check_floating(J=J, x=x)
    system = check_system(J, None, beta, symmetric=False)
    check_visible(J=J, x=x)
    if x.ndim < 2 or x.shape[-1] < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}; expected [*batch, n, d] with at least 2 components")
    films, steps, burn_in = check_count("films", films, 2), check_count("steps", steps), check_count("burn_in", burn_in, 0)
    check_generator(generator, J)
    n, d = system.n, x.shape[-1]
    if tuple(x.shape[:-1]) != tuple(J.shape[:-1]):
        raise ValueError(f"x has shape {tuple(x.shape)} and J {tuple(J.shape)}; expected {(*J.shape[:-1], d)} of x")
    check_field("x", x, (*system.batch, n, d), J)
    with working(J), torch.no_grad():
        hot = system.beta[..., None, None] if isinstance(system.beta, Tensor) else system.beta
        couplings = system.couplings.reshape(-1, 1, n, n).double()
        drive = (hot * widened(x).expand(*system.batch, n, d)).reshape(-1, 1, n, d).double()
        if start is None:
            state = torch.randn(len(couplings), films, n, d, generator=generator, dtype=torch.float64, device=J.device)
            state *= math.sqrt(d) / state.norm(dim=-1, keepdim=True)
        else:
            state = _definite(start, J, (*system.batch, n, d)).reshape(-1, 1, n, d).repeat(1, films, 1, 1)
        m, dots = torch.zeros_like(state), state.new_zeros(*state.shape[:2], 2, n, n)
        for step in range(burn_in + steps):
            before, state = state, drawn_spins(couplings @ state + drive, generator)
            if step >= burn_in:
                m += state / steps
                dots += torch.stack([state @ state.mT, state @ before.mT], -3) / (d * steps)
        mean = m.mean(1)
        # of a film's own mean with that of the others: its expectation has no error of the mean in it
        rest = (films * mean.unsqueeze(1) - m) / (films - 1)
        C = dots - (m @ rest.mT).unsqueeze(-3) / d
        found = [mean, C.mean(1)]
        for part, whole in zip((m, C), tuple(found), strict=True):
            found.append(((part - whole.unsqueeze(1)).square().sum(1) / (films * (films - 1))).sqrt())
        found.append(state)
    shaped = (part.reshape(system.batch + part.shape[1:]).to(J.dtype) for part in found)
    return VectorFilmRecord(*(check_result(one, "films and steps are") for one in shaped))


def _definite(start: Tensor, J: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Spins of the length that spins have, in these directions, in double precision; raise where there is none."""
    check_floating(J=J, start=start)
    check_field("start", start, shape, J)
    check_visible(start=start)
    largest = start.abs().amax(-1, keepdim=True)
    if refuted(lambda: (largest > 0).all()):
        raise ValueError("start has spins of length 0; expected a direction for each")
    unit = (start / torch.where(largest > 0, largest, 1.0)).double().expand(shape)
    return unit * (shape[-1] ** 0.5 / unit.norm(dim=-1, keepdim=True))
