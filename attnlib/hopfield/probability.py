"""The Hopfield energy as a probability model: a mixture of Gaussians with exact weights, density and samples."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import (
    Scalar,
    check_beta,
    check_count,
    check_generator,
    check_number,
    check_rows,
    check_states,
    check_tensors,
)
from attnlib._core.numerics import boltzmann, soft_maximum, widened
from attnlib._core.values import check_products, check_result
from attnlib.hopfield.energy import hopfield_energy


def hopfield_mixture_weights(memory: Float[Tensor, "*batch m d"], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch m"]:
    r"""Weights of the Gaussian mixture ``exp(-beta E) / Z``: longer memories weigh more.

    .. math:: w_i = \mathrm{softmax}_i(\beta |x_i|^2 / 2)

    The component with weight ``w_i`` has mean ``x_i`` and covariance ``1/beta`` times the identity.
    Takes ``[*batch, m, d]`` and a beta that broadcasts to ``[*batch]``; returns ``[*batch, m]``.
    Raises ValueError on non-finite memories and ``beta <= 0``.

    >>> hopfield_mixture_weights(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))  # the longer memory weighs more
    tensor([0.1824, 0.8176])
    """
    beta = _check(memory, beta)
    return boltzmann(widened(memory).square().sum(-1) / 2, beta).to(memory.dtype)


def hopfield_log_partition(memory: Float[Tensor, "*batch m d"], *, beta: Scalar = 1.0) -> Float[Tensor, "*batch"]:
    r"""Logarithm of the partition function of :func:`hopfield_energy`, in closed form.

    .. math:: \ln \int e^{-\beta E(\xi)}\, d\xi = \frac d2 \ln \frac{2\pi}{\beta} + \ln \sum_i e^{\beta |x_i|^2 / 2}

    Takes ``[*batch, m, d]`` and a beta that broadcasts to ``[*batch]``; returns ``[*batch]``.
    Raises ValueError on non-finite memories and ``beta <= 0``.

    >>> import math
    >>> memory = torch.zeros(1, 2)  # one memory at the origin: a Gaussian in the plane, whose integral is 2 pi / beta
    >>> hopfield_log_partition(memory, beta=2), round(math.log(math.pi), 4)
    (tensor(1.1447), 1.1447)
    """
    beta = _check(memory, beta)
    squares = widened(memory).square().sum(-1)
    log_volume = math.log(2 * math.pi) - (beta.to(squares.dtype).log() if isinstance(beta, Tensor) else math.log(beta))
    log_sum = (beta.to(squares.dtype) if isinstance(beta, Tensor) else beta) * soft_maximum(squares / 2, beta)
    return check_result((memory.shape[-1] / 2 * log_volume + log_sum).to(memory.dtype), "beta and memory are")


def hopfield_log_density(
    state: Float[Tensor, "*batch n d"], memory: Float[Tensor, "*batch m d"], *, beta: float | int = 1.0
) -> Float[Tensor, "*batch n"]:
    r"""Normalised log-density ``-beta E(state) - ln Z``: exact, so memories can be fitted to data by gradient ascent.

    Takes ``[*batch, n, d]`` and ``[*batch, m, d]``, returns ``[*batch, n]`` in nats. Errors as :func:`hopfield_energy`.

    >>> state, memory = torch.tensor([[0.0], [1.0]]), torch.zeros(1, 1)
    >>> hopfield_log_density(state, memory)  # one memory: the standard normal density
    tensor([-0.9189, -1.4189])
    """
    beta = check_number("beta", beta, above=0)
    check_states("state", state, "memory", memory)
    wide, patterns = widened(state), widened(memory)
    energy, log_partition = hopfield_energy(wide, patterns, beta=beta), hopfield_log_partition(patterns, beta=beta)
    return check_result((-beta * energy - log_partition[..., None]).to(state.dtype), "beta, state and memory are")


def hopfield_sample(
    memory: Float[Tensor, "m d"], count: int, *, beta: float | int = 1.0, generator: torch.Generator | None = None
) -> Float[Tensor, "count d"]:
    """Draw independent states from ``exp(-beta E) / Z``: pick a memory by its mixture weight, add noise of variance 1/beta.

    Takes memories ``[m, d]``, returns ``[count, d]``. Raises ValueError on bad memories, ``beta <= 0``, ``count < 1``.

    >>> memory = torch.tensor([[3.0, 0.0], [0.0, 3.0]])
    >>> states = hopfield_sample(memory, 1000, beta=100, generator=torch.Generator().manual_seed(0))
    >>> near = torch.cdist(states, memory).amin(-1)
    >>> states.shape, (near < 0.5).all()
    (torch.Size([1000, 2]), tensor(True))
    """
    count = check_count("count", count)
    beta = check_number("beta", beta, above=0)
    check_tensors(memory=memory)
    if memory.ndim != 2:
        raise ValueError(f"memory has shape {tuple(memory.shape)}; expected [m, d]")
    check_generator(generator)
    weights = hopfield_mixture_weights(memory, beta=beta)
    picked = torch.multinomial(weights, count, replacement=True, generator=generator)
    noise = torch.randn(count, memory.shape[-1], dtype=memory.dtype, device=memory.device, generator=generator)
    return check_result(memory[picked] + noise / math.sqrt(beta), "1/beta is")


def _check(memory: Tensor, beta: Scalar) -> Scalar:
    check_rows("memory", memory)
    check_products("memory", memory, "memory", memory)
    return check_beta(beta, like=memory, shape=memory.shape[:-2])
