"""What the functions of this chapter return: part of a softmax, and the random energy model at one spread."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_floating, check_number
from attnlib._core.numerics import widened
from attnlib._core.values import check_finite, check_result


@dataclass(frozen=True)
class PartialSoftmax:
    """What softmax attention over some of the keys leaves behind; nothing else is needed to add more keys.

    The average ``[*batch, n, c]``; the largest score ``top [*batch, n]``; ``log_sum [*batch, n]``, the logarithm of the sum of
    the Boltzmann factors relative to the largest; and beta. The largest score is kept apart so that large scores do not round
    away what distinguishes two parts. Half precision is kept as float32 here, so that merging does not round either.

    >>> from attnlib.softmax import partial_softmax
    >>> part = partial_softmax(torch.zeros(1, 4), torch.arange(8.0).reshape(4, 2))
    >>> part.average, part.log_partition  # the mean of the rows, and ln 4
    (tensor([[3., 4.]]), tensor([1.3863]))
    """

    average: Float[Tensor, "*batch n c"]
    top: Float[Tensor, "*batch n"]
    log_sum: Float[Tensor, "*batch n"]
    beta: float | int = 1.0

    def __post_init__(self) -> None:
        check_floating(average=self.average, top=self.top, log_sum=self.log_sum)
        shape = tuple(self.average.shape)
        if not shape or not shape[:-1] == self.top.shape == self.log_sum.shape:
            shapes = f"average has shape {shape}, top {tuple(self.top.shape)}, log_sum {tuple(self.log_sum.shape)}"
            raise ValueError(f"{shapes}; expected [*batch, n, c], [*batch, n], [*batch, n]")
        check_finite(average=self.average, top=self.top, log_sum=self.log_sum)
        check_number("beta", self.beta, above=0)

    @property
    def log_partition(self) -> Float[Tensor, "*batch n"]:
        """The logarithm of the sum of all Boltzmann factors, ``[*batch, n]``."""
        value = float(self.beta) * widened(self.top) + widened(self.log_sum)
        return check_result(value.to(self.top.dtype), "beta and the scores are")


@dataclass(frozen=True)
class RandomEnergy:
    """Averages over Gaussian scores: log_partition ``E ln Z``, entropy ``E H``, participation ``E Y2``, each ``[*batch]``.

    Also participation_variance, ``Var Y2`` from one draw of the scores to the next. Where the weights are frozen it does not
    vanish as m grows.

    >>> from attnlib.softmax import entropy, random_energy
    >>> at = random_energy(128, 3.0)  # close to where 128 scores freeze
    >>> round(at.participation.item(), 3), round(at.entropy.exp().item(), 1)
    (0.267, 8.8)
    >>> round(at.participation_variance.sqrt().item(), 3)  # the deviation is nearly as large as the mean
    0.194
    """

    log_partition: Float[Tensor, "*batch"]
    entropy: Float[Tensor, "*batch"]
    participation: Float[Tensor, "*batch"]
    participation_variance: Float[Tensor, "*batch"]
