"""Driven spins solved exactly, by the matrix of all moves: the oracle of this chapter."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_choice, check_count
from attnlib._core.systems import all_states, check_symmetric
from attnlib._core.values import check_result
from attnlib.kinetic.elimination import stationary_law
from attnlib.kinetic.given import checked
from attnlib.kinetic.moves import MOST, Updates, felt, in_double, log_norms, moves
from attnlib.kinetic.records import KineticRecord


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
    the drive, produce none. Where one moves at a time, the diagonal must vanish, too. The ``2^n`` states are taken out one
    after another, without a subtraction: cold spins, which keep a consensus for ages, have as exact a law as hot ones.

    Args:
        J, x, beta, updates: as in :func:`transition_matrix`.
        lags: how many steps correlations reach, at least 0; default 1.

    Returns:
        :class:`KineticRecord`. It differentiates.

    Raises:
        ValueError: as :func:`transition_matrix`; spins so cold that even double precision, to which all is taken, sees no way
            from everywhere to everywhere, and so more than one stationary law; derivatives where states are kept 7e7 steps.

    Source: Nareddy and Machta 2020; Schnakenberg 1976 for the entropy production; Grassmann, Taksar and Heyman 1985 for
        the law.

    >>> J = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])  # two spins that chase each other
    >>> found = exact_kinetic(J)
    >>> found.m.abs().max() < 1e-6, found.entropy_production  # 2 (tanh 1 + tanh 1)
    (tensor(True), tensor(3.0464))
    """
    check_choice("updates", updates, ("parallel", "single"))
    lags = check_count("lags", lags, least=0)
    system = in_double(checked(J, x, beta, MOST))
    with working(J):
        P, logs = moves(system, updates)
        law = stationary_law(P)
        states = all_states(system.n, law.dtype, law.device)
        m = law @ states
        flow = law.unsqueeze(-1) * P
        ratio = torch.where(P > 0, logs - logs.mT, 0.0)  # laws cancel: what leaves a state comes back to it
        later, C = states.expand(*system.batch, *states.shape), []
        for lag in range(lags + 1):
            later = P @ later if lag else later
            C.append((later - m.unsqueeze(-2)).mT @ (law.unsqueeze(-1) * (states - m.unsqueeze(-2))))
        gap = (flow - flow.mT).abs()
        gap = torch.where(gap > 4 * torch.finfo(flow.dtype).eps * flow.maximum(flow.mT), gap, 0.0)  # less is rounding
        found = (law, m, torch.stack(C, -3), (flow * ratio).sum((-2, -1)), gap.amax((-2, -1)))
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

    >>> exact_response(torch.tensor([[0.0, 0.1], [0.0, 0.0]]))[1, 0, 1]  # weakly coupled spins: the couplings
    tensor(0.0997)
    """
    lags = check_count("lags", lags, least=0)
    system = in_double(checked(J, x, beta, MOST))
    with working(J):
        P, _ = moves(system, "parallel")
        law = stationary_law(P)
        states = all_states(system.n, law.dtype, law.device)
        expected = felt(system, states).tanh()  # of each spin after each state
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
    system = in_double(checked(J, x, beta, MOST))
    check_symmetric(J, J.detach().abs().amax() if J.numel() else 0.0)
    with working(J):
        states = all_states(system.n, system.couplings.dtype, system.couplings.device)
        weights = (states * system.fields.unsqueeze(-2)).sum(-1) + log_norms(felt(system, states)).sum(-1)
        return check_result(weights.softmax(-1).to(J.dtype), "J, x or beta are")
