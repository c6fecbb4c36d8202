"""Priors of vector spins: Gaussian, whose length is free, and spherical, whose length is fixed."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.bessel import log_bessel, ratio, ratio_and_slope
from attnlib._core.checks import check_count, check_floating, check_number
from attnlib._core.numerics import inverse_of
from attnlib._core.values import check_finite, check_result, refuted
from attnlib.mean_field.priors import Prior, Reaction


class Gaussian(Prior):
    r"""Gaussian spins of mean zero.

    .. math:: \langle S \rangle = (\Sigma^{-1} - V)^{-1} b, \qquad \mathrm{Cov}(S) = (\Sigma^{-1} - V)^{-1}

    Args:
        covariance: ``Sigma``, a number for spins with one component, or a positive definite matrix ``[d, d]``; default 1.
        d: number of components where the covariance is a number, which then multiplies the identity; default 1.

    Raises:
        ValueError: a covariance that is not a positive number or a symmetric, positive definite matrix; a matrix that is not
            ``[d, d]``. Shapes of the calls are those of :class:`Prior`.

    >>> Gaussian(2.0).mean(torch.tensor([[0.5]]))
    tensor([[1.]])
    """

    reaction: Reaction = "matrix"

    def __init__(self, covariance: float | int | Float[Tensor, "d d"] = 1.0, d: int | None = None) -> None:
        if isinstance(covariance, Tensor):
            check_floating(covariance=covariance)
            if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1] or covariance.shape[0] == 0:
                raise ValueError(f"covariance has shape {tuple(covariance.shape)}; expected a number or [d, d]")
            check_finite(covariance=covariance)
            super().__init__(covariance.shape[0])
            if d is not None and d != self.d:
                raise ValueError(f"d is {d!r:.40} and covariance has shape {tuple(covariance.shape)}; expected [d, d]")
            wide = covariance.double()
            asymmetry = (wide - wide.mT).abs()
            if refuted(lambda: (asymmetry <= 8 * torch.finfo(covariance.dtype).eps * wide.abs().max()).all()):
                raise ValueError("covariance is not symmetric; expected a symmetric, positive definite matrix")
            factor, failed = torch.linalg.cholesky_ex((wide + wide.mT) / 2)
            if refuted(lambda: failed == 0):
                raise ValueError("covariance is not positive definite; expected a symmetric, positive definite matrix")
            self._precision: Tensor | float = torch.cholesky_inverse(factor)
        else:
            super().__init__(1 if d is None else d)
            self._precision = 1 / check_number("covariance", covariance, least=1e-15)

    def precision(self, like: Float[Tensor, "..."]) -> Float[Tensor, "d d"]:
        """``Sigma^-1 [d, d]``, of the dtype and device of another tensor. Errors: ValueError if that is no floating tensor."""
        check_floating(like=like)
        if isinstance(self._precision, Tensor):
            return self._precision.to(like)
        return self._precision * torch.eye(self.d, dtype=like.dtype, device=like.device)

    def _add_precision(self, matrix: Tensor) -> Tensor:
        """Add ``Sigma^-1`` to the blocks on the diagonal of ``[*batch, n * d, n * d]``, in place."""
        if isinstance(self._precision, Tensor):
            blocks = matrix.unflatten(-1, (-1, self.d)).unflatten(-3, (-1, self.d)).diagonal(dim1=-4, dim2=-2)
            blocks += self._precision.to(matrix)[..., None]
        else:
            matrix.diagonal(dim1=-2, dim2=-1).add_(self._precision)
        return matrix

    def _tilted(self, field: Tensor, V: Tensor | None) -> tuple[Tensor, Tensor]:
        """Cholesky factor of ``Sigma^-1 - V``, and its product with the mean, as a column."""
        matrix = self.precision(field) if V is None else self.precision(field) - (V + V.mT) / 2
        factor = torch.linalg.cholesky_ex(matrix).L
        return factor.expand(*field.shape, self.d), field.unsqueeze(-1)

    def log_partition(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``(b (Sigma^-1 - V)^-1 b - ln det(1 - Sigma V)) / 2``, ``[*batch, n]``. Errors: ValueError on other shapes."""
        self.check_fields(field, V)
        factor, column = self._tilted(field, V)
        whitened = torch.linalg.solve_triangular(factor, column, upper=False)[..., 0]
        value = whitened.square().sum(-1) / 2
        if V is None:
            return value
        before = torch.linalg.cholesky_ex(self.precision(field)).L.diagonal().log().sum()
        return value + before - factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def mean(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``(Sigma^-1 - V)^-1 b``, ``[*batch, n, d]``. Errors: ValueError on other shapes."""
        self.check_fields(field, V)
        factor, column = self._tilted(field, V)
        return torch.cholesky_solve(column, factor)[..., 0]

    def covariance(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``(Sigma^-1 - V)^-1``, ``[*batch, n, d, d]``. Errors: ValueError on other shapes."""
        self.check_fields(field, V)
        return inverse_of(self._tilted(field, V)[0])


class Spherical(Prior):
    r"""Vector spins of fixed length, uniform on the sphere ``|S|^2 = d`` in d dimensions.

    .. math:: \langle S \rangle = \sqrt d\, \frac{I_{d/2}(z)}{I_{d/2-1}(z)}\, \frac{b}{|b|}, \qquad z = \sqrt d\, |b|

    Along the field the variance is d times the derivative of the ratio of Bessel functions, across it ``sqrt(d)`` times the
    ratio by ``|b|``. In many dimensions the mean is ``2 b / (1 + sqrt(1 + 4 |b|^2 / d))``, a soft RMS norm. The length is
    fixed, so V is a number and changes no mean.

    Args:
        d: number of components, at least 2 (with one it is :class:`Binary`).

    Raises:
        ValueError: d is not an integer of at least 2. Shapes of the calls are those of :class:`Prior`.

    Source: the von Mises-Fisher distribution; Mardia and Jupp 2000, section 9.3.

    >>> Spherical(3).mean(torch.tensor([[0.5, 0.0, 0.0]]))
    tensor([[0.4767, 0.0000, 0.0000]])
    """

    def __init__(self, d: int) -> None:
        super().__init__(check_count("d", d, least=2))
        self._order = self.d / 2 - 1

    def _square(self, field: Tensor, V: Tensor | None) -> Tensor:
        self.check_fields(field, V)
        return check_result(self.d * field.square().sum(-1), "field is")

    def log_partition(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """``ln Z``, ``[*batch, n]``. Errors: ValueError on other shapes."""
        value = log_bessel(self._order, self._square(field, V))
        return value if V is None else value + self.d * V / 2

    def mean(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """The mean, ``[*batch, n, d]``, shorter than ``sqrt(d)``. Errors: ValueError on other shapes."""
        return self.d * ratio(self._order, self._square(field, V)).unsqueeze(-1) * field

    def covariance(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """The covariance, ``[*batch, n, d, d]``. Errors: ValueError on other shapes."""
        x = self._square(field, V)
        across, along = ratio_and_slope(self._order, x)
        eye = torch.eye(self.d, dtype=field.dtype, device=field.device)
        bend = torch.where(x > 0, (along - across) / torch.where(x > 0, x, 1.0), 0.0)  # times b b^T, which is zero with x
        outer = field.unsqueeze(-1) * field.unsqueeze(-2)
        return self.d * (across[..., None, None] * eye + self.d * bend[..., None, None] * outer)

    def variance(self, field: Float[Tensor, "*batch n d"], V: Float[Tensor, "..."] | None = None) -> Tensor:
        """Mean variance of the components, ``[*batch, n]``. Errors: ValueError on other shapes."""
        across, along = ratio_and_slope(self._order, self._square(field, V))
        return (self.d - 1) * across + along
