"""Where a mean-field theory stops to hold: the distance from the Almeida-Thouless line."""

from jaxtyping import Float
from torch import Tensor

from attnlib._core.autocast import working
from attnlib._core.checks import Scalar, check_field, check_floating
from attnlib._core.spectra import eigenvalues
from attnlib._core.systems import check_system
from attnlib._core.values import check_result


def almeida_thouless(J: Float[Tensor, "*batch n n"], m: Float[Tensor, "..."], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch"]:
    r"""Distance of Ising magnetisations from the Almeida-Thouless line: above 0 one valley, below 0 many, and TAP fails.

    .. math:: 1 - \lambda_{\max}\big[ \beta^2 (1 - m_i^2)\, J_{ij}^2\, (1 - m_j^2) \big]

    For a Sherrington-Kirkpatrick glass of many spins this is ``1 - beta^2 mean((1 - m^2)^2)``.

    Takes couplings ``[*batch, n, n]``, magnetisations that broadcast to ``[*batch, n]`` and a beta, a number or ``[*batch]``;
    returns ``[*batch]``. Raises ValueError as :func:`attnlib.mean_field.exact_ising`.

    Source: de Almeida and Thouless 1978; the matrix is that of Plefka 1982.

    >>> almeida_thouless(torch.tensor([[0.0, 0.5], [0.5, 0.0]]), torch.zeros(2))
    tensor(0.7500)
    """
    system = check_system(J, None, beta)
    check_floating(J=J, m=m)
    check_field("m", m, (*system.batch, system.n), J)
    with working(J):
        free = 1 - m.to(system.couplings.dtype).clamp(-1, 1).square().expand(*system.batch, system.n)
        matrix = free.unsqueeze(-1) * system.couplings.square() * free.unsqueeze(-2)
        largest = eigenvalues(matrix)[..., -1]
    return check_result((1 - largest).to(J.dtype), "J or beta are")
