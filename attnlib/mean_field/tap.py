"""Mean-field theories of spins with couplings: naive, TAP, and adaptive TAP for any prior.

All solve ``m = <S>`` of single spins in an effective field, and differ in what a spin's own trace on its neighbours costs:

    a_i = beta sum_j J_ij m_j - V_i m_i,    V = 0 (naive),    V_i = beta^2 sum_j J_ij^2 (1 - m_j^2) (TAP),    or V from chi
"""

import dataclasses

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_field
from attnlib._core.convergence import OnFailure, check_solver
from attnlib._core.systems import System, check_system
from attnlib._core.transforms import in_forward_mode
from attnlib._core.values import refuted
from attnlib.mean_field.equations import Equations, ReactionOf, solved
from attnlib.mean_field.gaussian import factorised, precision_of
from attnlib.mean_field.priors import Binary, Prior, check_prior
from attnlib.mean_field.records import MeanField
from attnlib.mean_field.vectors import Gaussian


def naive_mean_field(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    prior: Prior | None = None,
    start: Float[Tensor, "..."] | None = None,
    tolerance: float | int | None = None,
    max_steps: int = 2000,
    on_failure: OnFailure = "error",
) -> MeanField:
    r"""Each spin in the mean field of the others, as if they did not notice it.

    .. math:: m_i = \tanh \beta \Big( \sum_j J_{ij} m_j + h_i \Big) \quad\text{for Ising spins}

    The same as minimising the free energy over distributions in which all spins are independent. Steps are damped by the bound
    that keeps them stable: with ``D`` the local variances, ``2 / lambda_max(D^(1/2) (D^-1 + V - J) D^(1/2))``.

    Args:
        J: couplings ``[*batch, n, n]``, symmetric with a zero diagonal. With a prior of vector spins each consecutive d rows
            are one spin (:func:`attnlib.mean_field.flat_couplings`).
        h: fields, broadcast to ``[*batch, n]``; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.
        prior: what a spin is; default ``Binary()``.
        start: magnetisations to start from, broadcast to ``[*batch, n]``; default the answer to the fields alone.
            Those of binary spins lie between -1 and 1.
        tolerance: largest residual, relative to the largest magnetisation, or to that of the spins alone in their fields where
            it is larger; default the dtype's precision to the power 2/3.
        max_steps: steps allowed to each system.
        on_failure: a system that does not converge is an ``"error"`` (default), a ``ConvergenceError`` that carries iterations
            and residual; or ``"warn"``, and its best state is returned, marked.

    Returns:
        :class:`MeanField`; m, chi and V differentiate with respect to J, h and beta.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled J, ``beta <= 0``,
            another prior, settings out of range, Gaussian spins with couplings that are too strong for them to have a state.

    >>> naive_mean_field(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.tensor([0.5, 0.0])).m
    tensor([0.5629, 0.2743])
    """
    system, prior = check_system(J, h, beta), check_prior(Binary() if prior is None else prior)
    return _solve(J, system, prior, lambda m: (None, None), start, tolerance, max_steps, on_failure)


def tap(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    start: Float[Tensor, "..."] | None = None,
    tolerance: float | int | None = None,
    max_steps: int = 2000,
    on_failure: OnFailure = "error",
) -> MeanField:
    r"""Ising spins with Onsager's reaction: what a spin did to its neighbours is taken off what they do to it.

    .. math:: m_i = \tanh \Big( \beta \sum_j J_{ij} m_j + \beta h_i - \beta^2 m_i \sum_j J_{ij}^2 (1 - m_j^2) \Big)

    Right for many spins with weak independent couplings, as in the Sherrington-Kirkpatrick model. Arguments, shapes
    (``J [*batch, n, n]``), results and errors are those of :func:`naive_mean_field`; the spins are binary.

    Source: Thouless, Anderson and Palmer 1977.

    >>> tap(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.tensor([0.5, 0.0])).m
    tensor([0.4497, 0.1856])
    """
    system = check_system(J, h, beta)
    squares = system.couplings.square()

    def reaction(m: Tensor) -> tuple[Tensor, Tensor]:
        V = (squares @ (1 - m.square()).unsqueeze(-1))[..., 0]
        return V, -2 * squares * m.unsqueeze(-1) * m.unsqueeze(-2)  # how V moves with m

    return _solve(J, system, Binary(), reaction, start, tolerance, max_steps, on_failure)


def adaptive_tap(
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
    prior: Prior | None = None,
    start: Float[Tensor, "..."] | None = None,
    tolerance: float | int | None = None,
    max_steps: int = 2000,
    on_failure: OnFailure = "error",
) -> MeanField:
    r"""Spins with the reaction that this very system calls for, whatever its couplings: V follows from the linear response.

    .. math:: m_i = \langle S \rangle_{a_i + \beta h_i, V_i}, \qquad a_i = \beta \sum_j J_{ij} m_j - V_i m_i, \qquad
        \chi = (\Lambda - \beta J)^{-1}, \quad \Lambda_i = V_i + \Sigma_i^{-1}, \quad \chi_{ii} = \Sigma_i

    ``Sigma_i`` is the covariance of a single spin under its measure. So the response has on its diagonal exactly what each spin
    says of itself. For spins of d components whose V is a number (spherical ones) the traces of both are matched, in double
    precision inside: cold ones are beta times as stiff along their means as across.

    Arguments, shapes (``J [*batch, n, n]``), results and errors are those of :func:`naive_mean_field`; couplings so strong that
    the dtype cannot tell the diagonal of chi from other ones count as not converged.

    Source: Opper and Winther 2001.

    >>> found = adaptive_tap(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.tensor([0.5, 0.0]))
    >>> found.m, found.converged
    (tensor([0.4638, 0.1962]), tensor(True))
    """
    system, prior = check_system(J, h, beta), check_prior(Binary() if prior is None else prior)
    return _solve(J, system, prior, None, start, tolerance, max_steps, on_failure)


def _solve(
    J: Tensor,
    system: System,
    prior: Prior,
    reaction: ReactionOf | None,
    start: Tensor | None,
    tolerance: float | int | None,
    max_steps: int,
    on_failure: OnFailure,
) -> MeanField:
    check_prior(prior, system.n)
    couplings, fields = system.couplings, system.fields
    tolerance, max_steps = check_solver(tolerance, max_steps, on_failure, default=torch.finfo(couplings.dtype).eps ** (2 / 3))
    if reaction is None and prior.reaction == "number" and prior.d > 1:  # V is what stiffnesses of beta and beta^2 leave
        couplings, fields = couplings.double(), fields.double()
    if start is not None:
        check_field("start", start, (*system.batch, system.n), J)
        beyond = start
        if isinstance(prior, Binary) and refuted(lambda: (beyond.abs() <= 1).all()):
            raise ValueError("start holds magnetisations that binary spins do not have; expected values between -1 and 1")
        start = start.detach().to(couplings.dtype).expand(*system.batch, system.n)
    alone = not system.batch and in_forward_mode()  # torch makes a float32 number in forward mode a float64 one: have axes
    if alone:
        couplings, fields, start = couplings[None], fields[None], None if start is None else start[None]
    with working(J):
        if isinstance(prior, Gaussian):
            factorised(precision_of(couplings, prior), "J or beta")  # without it there is no state to find
        equations = Equations(couplings, fields, prior, reaction)
        found = solved(equations, start, tolerance, max_steps, on_failure, J.dtype)
        return MeanField(*(getattr(found, part.name)[0] for part in dataclasses.fields(found))) if alone else found
