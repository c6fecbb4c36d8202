"""Driven spins solved exactly, by the matrix of all moves: the oracle of this chapter."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_choice, check_count, check_floating
from attnlib._core.systems import System, check_system
from attnlib._core.values import check_result, refuted
from attnlib.kinetic.records import KineticRecord

MOST = 12
"""The largest number of spins: sixteen million moves."""

Updates = Literal["parallel", "single"]
"""Who moves in a step: ``"parallel"``, every spin, as in a layer; ``"single"``, one spin, drawn at random."""


def spin_states(n: int, *, like: Tensor) -> Float[Tensor, "states n"]:
    """All states of n spins of plus and minus one, ``[2^n, n]``: bit i of a state's number says whether spin i is up.

    Args:
        n: how many spins, at most 12.
        like: a tensor whose dtype and device they get.

    Raises:
        ValueError: more than 12 spins, or none; a tensor that is not of real numbers.

    >>> spin_states(2, like=torch.zeros(1))
    tensor([[-1., -1.],
            [ 1., -1.],
            [-1.,  1.],
            [ 1.,  1.]])
    """
    check_floating(like=like)
    if check_count("n", n) > MOST:
        raise ValueError(f"n is {n}; expected at most {MOST}: there are 2 ** n states")
    numbers = torch.arange(2**n, device=like.device)
    return ((numbers[:, None] >> torch.arange(n, device=like.device) & 1) * 2 - 1).to(like.dtype)


def transition_matrix(
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    updates: Updates = "parallel",
) -> Float[Tensor, "*batch states states"]:
    r"""The probabilities of all moves of driven spins, from the state of the row to that of the column.

    .. math:: P(s \to s') = \prod_i \frac{e^{\beta s'_i h_i(s)}}{2 \cosh \beta h_i(s)}, \qquad h_i(s) = x_i + \sum_j J_{ij} s_j

    All spins move at once, each in the field of what all were: a step of a layer, whose attention is J. With
    ``updates="single"`` one of them, drawn at random, moves, and the rest stay.

    Args:
        J: couplings ``[*batch, n, n]``, ``J[i, j]`` how spin i feels spin j; need not be symmetric, and spins may feel
            themselves. At most 12 spins: the matrix has ``4^n`` entries.
        x: drive, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        updates: ``"parallel"`` (default) or ``"single"``.

    Returns:
        ``[*batch, 2^n, 2^n]``; each row sums to 1. States are ordered as in :func:`spin_states`.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, more than 12 spins, ``beta <= 0``.

    Source: Peretto 1984; Nareddy and Machta 2020 for both kinds of updates.

    >>> transition_matrix(torch.tensor([[0.5]]))  # one spin that feels itself
    tensor([[0.7311, 0.2689],
            [0.2689, 0.7311]])
    """
    check_choice("updates", updates, ("parallel", "single"))
    system = check_system(J, x, beta, MOST, symmetric=False, field_name="x")
    with working(J):
        return _moves(system, updates)[0].to(J.dtype)


def exact_kinetic(
    J: Float[Tensor, "*batch n n"],
    x: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    updates: Updates = "parallel",
    lags: int = 1,
) -> KineticRecord:
    r"""The stationary state of up to 12 driven spins: its law, correlations in time, and entropy production.

    .. math:: \pi = \pi P, \qquad
        e_p = \sum_{s s'} \pi_s P(s \to s') \ln \frac{\pi_s P(s \to s')}{\pi_{s'} P(s' \to s)}

    Where all move at once, this is ``beta sum_ij (J_ij - J_ji) C[1, i, j]``: symmetric couplings, whatever their diagonal and
    the drive, produce none. Where one moves at a time, the diagonal must vanish, too. One linear equation of ``2^n`` unknowns.

    Args:
        J, x, beta, updates: as in :func:`transition_matrix`.
        lags: how many steps correlations reach, at least 0; default 1.

    Returns:
        :class:`KineticRecord`. It differentiates.

    Raises:
        ValueError: as :func:`transition_matrix`; spins so cold that in this precision they do not get from everywhere to
            everywhere, and so have more than one stationary law.

    Source: Nareddy and Machta 2020; Schnakenberg 1976 for the entropy production.

    >>> J = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])  # two spins that chase each other
    >>> found = exact_kinetic(J)
    >>> found.m.abs().max() < 1e-6, found.entropy_production  # 2 (tanh 1 + tanh 1)
    (tensor(True), tensor(3.0464))
    """
    check_choice("updates", updates, ("parallel", "single"))
    lags = check_count("lags", lags, least=0)
    system = check_system(J, x, beta, MOST, symmetric=False, field_name="x")
    with working(J):
        P, logs = _moves(system, updates)
        law = _stationary(P)
        states = spin_states(system.n, like=law)
        m = law @ states
        flow = law.unsqueeze(-1) * P
        ratio = torch.where(P > 0, logs - logs.mT, 0.0)  # laws cancel: what leaves a state comes back to it
        later, C = states.expand(*system.batch, *states.shape), []
        for lag in range(lags + 1):
            later = P @ later if lag else later
            C.append((later - m.unsqueeze(-2)).mT @ (law.unsqueeze(-1) * (states - m.unsqueeze(-2))))
        found = (law, m, torch.stack(C, -3), (flow * ratio).sum((-2, -1)), (flow - flow.mT).abs().amax((-2, -1)))
    return KineticRecord(*(check_result(one.to(J.dtype), "J, x or beta are") for one in found))


def exact_response(
    J: Float[Tensor, "*batch n n"], x: Float[Tensor, "..."] | None = None, *, beta: Scalar = 1.0, lags: int = 1
) -> Float[Tensor, "*batch lags n n"]:
    r"""How the means answer, some steps later, to a drive that acted once: linear response without a free energy.

    .. math:: \chi_{ij}(\tau) = \frac{\partial \langle s_i(t + \tau) \rangle}{\partial x_j(t)}
        = \beta \big[ C_{ij}(\tau) - \langle s_i(t + \tau) \tanh \beta h_j(t - 1) \rangle_c \big]

    Time t is that of the state which the drive acts on, by way of ``h(t - 1) = x(t) + J s(t - 1)``. It holds for any couplings;
    where they are symmetric it is ``beta (C(tau) - C(tau + 2))``, the fluctuation-dissipation theorem of parallel updates.

    Args:
        J, x, beta: as in :func:`transition_matrix`; all spins move at once.
        lags: the largest ``tau``, at least 0; default 1.

    Returns:
        ``[*batch, lags + 1, n, n]``.

    Raises:
        ValueError: as :func:`exact_kinetic`.

    Source: the score identity; see Aguilera, Moosavi and Shimazaki 2021 for kinetic Ising systems.

    >>> exact_response(torch.tensor([[0.0, 0.1], [0.0, 0.0]]))[1]  # weakly coupled spins: the couplings
    tensor([[0.0000, 0.0993],
            [0.0000, 0.0000]])
    """
    lags = check_count("lags", lags, least=0)
    system = check_system(J, x, beta, MOST, symmetric=False, field_name="x")
    with working(J):
        P, _ = _moves(system, "parallel")
        law = _stationary(P)
        states = spin_states(system.n, like=law)
        expected = _felt(system, states).tanh()  # of each spin after each state
        later, found = states.expand(*system.batch, *states.shape), []
        for _ in range(lags + 1):
            after = P @ later  # of spins one step later still
            m = (law.unsqueeze(-2) @ later).mT
            now = later.mT @ (law.unsqueeze(-1) * states) - m @ m.mT
            told = after.mT @ (law.unsqueeze(-1) * expected) - m @ m.mT
            found.append(now - told)
            later = after
        chi = torch.stack(found, -3)
        chi = chi * (system.beta[..., None, None, None] if isinstance(system.beta, Tensor) else system.beta)
    return check_result(chi.to(J.dtype), "J, x or beta are")


def peretto_law(
    J: Float[Tensor, "*batch n n"], x: Float[Tensor, "..."] | None = None, *, beta: Scalar = 1.0
) -> Float[Tensor, "*batch states"]:
    r"""The equilibrium of spins that move all at once, with symmetric couplings: not that of chapter 4.

    .. math:: \pi_s \propto \prod_i e^{\beta x_i s_i}\, 2 \cosh \beta h_i(s), \qquad h_i(s) = x_i + \sum_j J_{ij} s_j

    Two successive states together have the Gibbs law of a doubled system, in which each spin feels those of the other state.

    Args:
        J: couplings ``[*batch, n, n]``, symmetric, of at most 12 spins; the diagonal may be anything.
        x: drive, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.

    Returns:
        Probabilities, ``[*batch, 2^n]``, ordered as in :func:`spin_states`.

    Raises:
        ValueError: as :func:`transition_matrix`, and couplings that are not symmetric.

    Source: Peretto 1984.

    >>> peretto_law(torch.zeros(1, 1), torch.tensor([0.5]))
    tensor([0.2689, 0.7311])
    """
    system = check_system(J, x, beta, MOST, symmetric=False, field_name="x")
    slack = 8 * torch.finfo(J.dtype).eps * J.detach().abs().amax()
    if refuted(lambda: (J - J.mT).abs().amax() <= slack):
        raise ValueError("J is not symmetric; expected J[i, j] == J[j, i]")
    with working(J):
        states = spin_states(system.n, like=system.couplings)
        weights = (states * system.fields.unsqueeze(-2)).sum(-1) + _log_norms(_felt(system, states)).sum(-1)
        return check_result(weights.softmax(-1).to(J.dtype), "J, x or beta are")


def _felt(system: System, states: Tensor) -> Tensor:
    """Local fields with beta multiplied in, ``[*batch, states, n]``."""
    return states @ system.couplings.mT + system.fields.unsqueeze(-2)


def _log_norms(fields: Tensor) -> Tensor:
    """``ln 2 cosh`` of fields of any size."""
    return fields.abs() + torch.log1p(torch.exp(-2 * fields.abs()))


def _moves(system: System, updates: Updates) -> tuple[Tensor, Tensor]:
    """Chances of all moves ``[*batch, states, states]``, and their logarithms; zero where there is no such move."""
    states = spin_states(system.n, like=system.couplings)
    fields = _felt(system, states)
    if updates == "parallel":
        logs = fields @ states.mT - _log_norms(fields).sum(-1, keepdim=True)
        return logs.exp(), logs
    size, n = states.shape
    flips = -states * fields - _log_norms(fields)  # of the one that was drawn
    number = torch.arange(size, device=states.device).unsqueeze(-1)
    target = (number ^ (1 << torch.arange(n, device=states.device))).expand(flips.shape)
    logs = torch.zeros_like(flips[..., :1]).expand(*flips.shape[:-1], size).scatter(-1, target, flips)
    P = torch.zeros_like(logs).scatter(-1, target, flips.exp() / n)
    return P + torch.diag_embed(1 - P.sum(-1)), logs


def _stationary(P: Tensor) -> Tensor:
    """The law that P leaves as it is, ``[*batch, states]``: one row of the equations is replaced by its norm."""
    size = P.shape[-1]
    eye = torch.eye(size, dtype=P.dtype, device=P.device)
    A = torch.cat([(eye - P.mT)[..., :-1, :], torch.ones_like(P[..., :1, :])], -2)
    law, failed = torch.linalg.solve_ex(A, eye[-1].expand(P.shape[:-1]).unsqueeze(-1))
    law = law.squeeze(-1)
    slack = torch.finfo(P.dtype).eps ** 0.5
    with torch.no_grad():
        wrong = ((law.unsqueeze(-2) @ P).squeeze(-2) - law).abs().amax(-1)
        bad = (failed != 0) | ~(wrong <= slack) | ~(law.amin(-1) >= -slack) | ~(law.amax(-1) <= 1 + slack)
    if refuted(lambda: not bad.any()):
        raise ValueError(
            f"J, x or beta are too large for {P.dtype}: the spins are frozen, and have more than one stationary law"
        )
    law = law.clamp(min=0.0)
    return law / law.sum(-1, keepdim=True)
