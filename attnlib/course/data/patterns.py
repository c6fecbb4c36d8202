"""Random patterns to store, and spoiled cues to recall them with."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_count, check_dtype, check_floating, check_generator
from attnlib._core.values import check_signs


def random_patterns(
    m: int, d: int, *, generator: torch.Generator | None = None, dtype: torch.dtype | None = None
) -> Float[Tensor, "m d"]:
    """Draw m patterns ``[m, d]`` of independent fair spins, -1 or 1, on the generator's device.

    Raises ValueError unless ``m, d >= 1`` and the dtype is a floating one.

    >>> patterns = random_patterns(2, 6, generator=torch.Generator().manual_seed(0))
    >>> patterns.shape, patterns.abs().unique()
    (torch.Size([2, 6]), tensor([1.]))
    """
    shape = check_count("m", m), check_count("d", d)
    check_generator(generator)
    dtype = check_dtype(dtype)
    device = None if generator is None else generator.device
    return 2 * torch.randint(2, shape, generator=generator, device=device).to(dtype) - 1


def flip_spins(
    state: Float[Tensor, "*batch d"], flips: int, *, generator: torch.Generator | None = None
) -> Float[Tensor, "*batch d"]:
    """Turn exactly ``flips`` random spins of each row ``[*batch, d]``.

    Raises ValueError unless the state consists of -1 and 1 and ``0 <= flips <= d``.

    >>> (flip_spins(torch.ones(2, 10), 3) == -1).sum(-1)  # in each row other ones
    tensor([3, 3])
    """
    flips = check_count("flips", flips, least=0)
    check_floating(state=state)
    check_signs("state", state)
    check_generator(generator)
    if state.ndim == 0 or flips > state.shape[-1]:
        raise ValueError(f"flips is {flips} and state has shape {tuple(state.shape)}; expected [*batch, d] with d >= flips")
    device = None if generator is None else generator.device
    chosen = (
        torch.rand(state.shape, dtype=torch.float32, generator=generator, device=device)
        .argsort(-1)[..., :flips]
        .to(state.device)
    )
    return state * torch.ones_like(state).scatter(-1, chosen, -1)
