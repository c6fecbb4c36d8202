"""A noisy query among memories: the best answer is a softmax, so that every other number of steps can be held against it."""

import dataclasses
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlib._core.checks import check_count, check_generator, check_number
from attnlib.course.data.seeds import Estimate, over_runs

WIDTH = 8
"""How many components a memory has."""


@dataclasses.dataclass(frozen=True)
class NoisyQueries:
    """Memories and a noisy copy of one of them: what :func:`noisy_queries` returns, so no ValueError.

    ``memories [count, K, d]``, each with the squared length d; ``query [count, d]``; ``target [count]``, which memory it is.

    >>> asked = noisy_queries(5, 4, sigma=0.5, generator=torch.Generator().manual_seed(0))
    >>> asked.truth.shape
    torch.Size([5, 8])
    """

    memories: Float[Tensor, "count K d"]
    query: Float[Tensor, "count d"]
    target: Int[Tensor, "count"]

    @property
    def truth(self) -> Float[Tensor, "count d"]:
        """The memory that the query is a copy of, ``[count, d]``."""
        return self.memories[torch.arange(len(self.target)), self.target]


def noisy_queries(
    count: int,
    memories: int,
    *,
    sigma: float | int,
    width: int = WIDTH,
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float64,
) -> NoisyQueries:
    r"""Draw memories on a sphere, and a query that is one of them with noise on it.

    .. math:: |x_j|^2 = d, \qquad q = x_t + \sigma \eta, \qquad P(t = j \mid q) = \mathrm{softmax}_j(q \cdot x_j / \sigma^2)

    All memories are equally long, so that the posterior is a softmax of scores, at ``beta = 1/sigma^2``.

    Args:
        count, memories: how many questions, and memories in each.
        sigma: the noise on each component.
        width: d.
        generator: where random numbers come from; default torch's own.
        dtype: of vectors.

    Returns:
        :class:`NoisyQueries`.

    Raises:
        ValueError: counts that are not integers of at least 1, a negative noise.

    Source: Smart, Bietti and Sengupta 2025, In-context denoising with one-layer transformers.

    >>> asked = noisy_queries(2, 3, sigma=0.0, generator=torch.Generator().manual_seed(0))
    >>> bool((asked.query == asked.truth).all())
    True
    """
    count, memories, width = check_count("count", count), check_count("memories", memories), check_count("width", width)
    check_generator(generator)
    drawn = torch.randn(count, memories, width, generator=generator, dtype=dtype)
    drawn = drawn * (width**0.5 / drawn.norm(dim=-1, keepdim=True))
    target = torch.randint(memories, (count,), generator=generator)
    noise = check_number("sigma", sigma, least=0) * torch.randn(count, width, generator=generator, dtype=dtype)
    return NoisyQueries(drawn, drawn[torch.arange(count), target] + noise, target)


def recalled(
    asked: NoisyQueries, *, beta: float | int, steps: int = 1, step_size: float | int = 1.0
) -> Float[Tensor, "count d"]:
    r"""What is recalled by steps down the Hopfield energy, ``[count, d]``; one whole step is one step of attention.

    .. math:: \xi \leftarrow (1 - \gamma)\, \xi + \gamma \sum_j \mathrm{softmax}_j(\beta\, \xi \cdot x_j)\, x_j, \quad \xi_0 = q

    Args:
        asked: from :func:`noisy_queries`.
        beta: the inverse temperature; ``1/sigma^2`` makes one whole step the posterior mean.
        steps, step_size: how many, and gamma.

    Raises:
        ValueError: fewer steps than one, numbers that are not finite.

    >>> asked = noisy_queries(100, 4, sigma=0.1, generator=torch.Generator().manual_seed(0))
    >>> bool((recalled(asked, beta=100.0) - asked.truth).abs().max() < 1e-6)
    True
    """
    beta, gamma, state = check_number("beta", beta), check_number("step_size", step_size), asked.query
    columns = asked.memories.mT.contiguous()  # a product with columns takes half of the time of one with rows
    for _ in range(check_count("steps", steps)):
        scores = beta * (asked.memories @ state[..., None])[..., 0]
        weights = (scores - scores.amax(-1, keepdim=True)).exp()  # torch's softmax takes thrice as long in rows so short
        mean = (columns @ weights[..., None])[..., 0] / weights.sum(-1, keepdim=True)
        state = (1 - gamma) * state + gamma * mean
    return state


def recall_error(
    asked: NoisyQueries, *, beta: float | int, steps: int = 1, step_size: float | int = 1.0, scale: float | int = 1.0
) -> Estimate:
    """The mean squared error of a component of what is recalled, with its standard error over questions.

    Args:
        asked, beta, steps, step_size: as in :func:`recalled`.
        scale: what is recalled is multiplied with this before it is compared.

    Raises:
        ValueError: as :func:`recalled`; fewer than two questions.

    >>> asked = noisy_queries(1000, 1, sigma=1.0)
    >>> recall_error(asked, beta=1.0).mean < 1e-20  # there is one memory, so nothing to be found out
    True
    """
    answer = check_number("scale", scale) * recalled(asked, beta=beta, steps=steps, step_size=step_size)
    return over_runs((answer - asked.truth).square().mean(-1))


def freezing_noise(memories: int, width: int = WIDTH) -> float:
    r"""The noise below which one memory holds the weight, and above which many share it, where K and d are large.

    .. math:: (1 + 1 / \sigma^2)^{d/2} = K

    The right memory stands at the cosine ``1/sqrt(1 + sigma^2)`` from the query; of K memories on a sphere about
    ``K (1 - c^2)^(d/2)`` stand as near as c. At this noise it is one. Scores are not Gaussian there, so that the law of
    :func:`attnlib.softmax.freezing_scale`, on their standard deviation ``sqrt(d (1 + sigma^2)) / sigma^2``, puts it too high.

    Args:
        memories, width: K, at least 2, and d.

    Raises:
        ValueError: fewer than two memories, a width below 1, so many memories for it that the noise is below all numbers.

    Source: Shannon 1949, Communication in the presence of noise: above it, K exceeds the capacity of d noisy components.

    >>> round(freezing_noise(16), 3), round(freezing_noise(64), 3)
    (1.0, 0.74)
    """
    nats = math.log(check_count("memories", memories, 2))
    exponent = 2 * nats / check_count("width", width)
    if exponent > 700:
        raise ValueError(f"memories is {memories} at a width of {width}; expected fewer, or a greater width")
    return math.expm1(exponent) ** -0.5
