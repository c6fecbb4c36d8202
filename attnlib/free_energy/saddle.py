"""The potential whose minimum is the free energy of coupled vector spins, with its gradient and its exact Hessian.

N spins with D components each and fixed lengths, ``|s_i|^2 = D``. Each length is a delta function, each delta function an
integral over a number z_i; the spins are then Gaussian and can be integrated out. What is left, ``exp(D phi(z))``, is dominated
by its saddle point when D is large. On the real axis that is the one minimum of phi.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_field, check_floating
from attnlib._core.values import check_result, refuted
from attnlib.free_energy.system import Resolved, Spins, check_spins, resolved


def saddle_potential(
    z: Float[Tensor, "..."],
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
) -> Float[Tensor, "*batch"]:
    r"""The potential of the numbers z that keep N vector spins at their lengths: convex, with one minimum.

    .. math:: \varphi(z) = \frac\beta2 \sum_i z_i - \frac12 \ln\det V + \frac{\beta}{2D} \mathrm{Tr}\, H^T V^{-1} H,
        \qquad V = \mathrm{diag}(z) - J

    It is defined where V is positive definite, and grows without bound towards the border of that region.

    Args:
        z: where, broadcast to ``[*batch, n]``.
        J: couplings between spins, ``[*batch, n, n]``, symmetric with a zero diagonal.
        h: fields, broadcast to ``[*batch, n, d]``, where d is the number of components D; default none.
        beta: inverse temperature, a number or one for each system, ``[*batch]``; finite and above 0.

    Returns:
        The potential, ``[*batch]``.

    Raises:
        ValueError: shapes that do not fit, non-finite entries, mixed dtypes, asymmetric or self-coupled J, ``beta <= 0``, a z
            for which V is not positive definite. (A positive determinant is not enough: two eigenvalues may be negative.)

    Source: Bal 2021, Transformers from Spin Models; the couplings J and the numbers t there are half of ours.

    >>> J = torch.tensor([[0.0, 0.5], [0.5, 0.0]])
    >>> saddle_potential(torch.tensor([1.0, 1.0]), J)
    tensor(1.1438)
    """
    spins, at = _checked(z, J, h, beta)
    with working(J):
        shift = _log(spins) * spins.n / 2
        return check_result((at.potential + shift).to(J.dtype), "z, J, h or beta are")


def saddle_gradient(
    z: Float[Tensor, "..."],
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
) -> Float[Tensor, "*batch n"]:
    r"""The gradient of :func:`saddle_potential`, ``[*batch, n]``: zero where every spin has the right length on average.

    .. math:: \frac{\partial\varphi}{\partial z_i} = \frac\beta2 - \frac12 (V^{-1})_{ii}
        - \frac{\beta}{2D} (V^{-1} H H^T V^{-1})_{ii}

    Arguments, shapes (``J [*batch, n, n]``) and errors are those of :func:`saddle_potential`.

    >>> saddle_gradient(torch.tensor([1.0, 1.0]), torch.zeros(2, 2))
    tensor([0., 0.])
    """
    spins, at = _checked(z, J, h, beta)
    with working(J):
        return check_result((spins.column() * at.gradient()).to(J.dtype), "J, h or beta are")


def saddle_hessian(
    z: Float[Tensor, "..."],
    J: Float[Tensor, "*batch n n"],
    h: Float[Tensor, "..."] | None = None,
    *,
    beta: Scalar = 1.0,
) -> Float[Tensor, "*batch n n"]:
    r"""The Hessian of :func:`saddle_potential`, ``[*batch, n, n]``: positive definite, so there is one minimum.

    .. math:: \frac{\partial^2\varphi}{\partial z_i \partial z_j} = \frac12 (V^{-1} \circ V^{-1})_{ij}
        + \frac\beta D \big( V^{-1} \circ (V^{-1} H H^T V^{-1}) \big)_{ij}

    The second product is one of entries, too. (As a matrix product ``V^-1 V^-1 H H^T V^-1`` of which only the diagonal is
    kept, as it has been printed, it has the right row sums and wrong entries, so it serves a single z for all spins: see the
    errata.)
    Arguments, shapes (``J [*batch, n, n]``) and errors are those of :func:`saddle_potential`.

    >>> saddle_hessian(torch.tensor([1.0, 1.0]), torch.tensor([[0.0, 0.5], [0.5, 0.0]]))
    tensor([[0.8889, 0.2222],
            [0.2222, 0.8889]])
    """
    spins, at = _checked(z, J, h, beta)
    with working(J):
        return check_result((_square(spins) * at.hessian()).to(J.dtype), "J, h or beta are")


def _checked(z: Tensor, J: Tensor, h: Tensor | None, beta: Scalar) -> tuple[Spins, Resolved]:
    spins = check_spins(J, h, beta)
    check_floating(z=z, J=J)
    check_field("z", z, (*spins.batch, spins.n), J)
    with working(J):
        where = spins.column() * z.to(spins.couplings.dtype).expand(*spins.batch, spins.n)
        at = resolved(spins.couplings, spins.fields, check_result(where, "z or beta are"))
        if refuted(lambda: at.inside.all()):
            raise ValueError(
                "z is outside the domain, for this J and beta: diag(z) - J is not positive definite; expected larger z"
            )
        return spins, at


def _log(spins: Spins) -> Tensor:
    return torch.as_tensor(spins.beta, dtype=spins.couplings.dtype, device=spins.couplings.device).log()


def _square(spins: Spins) -> Scalar:
    column = spins.column(2)
    return column * column
