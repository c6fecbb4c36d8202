"""Eigenvalues of symmetric matrices whose entries may differ by forty powers of ten, as products of sharp weights do."""

import torch
from torch import Tensor


def eigenvalues(matrix: Tensor) -> Tensor:
    """Eigenvalues ``[*batch, n]`` of symmetric matrices ``[*batch, n, n]``, ascending."""
    return torch.linalg.eigvalsh(_dusted(matrix))


def modes_of(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues ``[*batch, n]``, ascending, and eigenvectors in columns ``[*batch, n, n]``."""
    values, vectors = torch.linalg.eigh(_dusted(matrix))
    return values, vectors


def _dusted(matrix: Tensor) -> Tensor:
    """The same but for entries that are lost beside the largest: where they are subnormal, LAPACK's iteration may not end.

    What they would add to an eigenvalue is eps times less than its rounding error. Their gradients are kept.
    """
    if matrix.numel() == 0:
        return matrix
    size = matrix.detach().abs()
    least = torch.finfo(matrix.dtype).eps ** 2 * size.amax((-2, -1), keepdim=True)
    return matrix - torch.where(size < least, matrix.detach(), 0.0)
