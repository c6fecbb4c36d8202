"""The network that each token goes through by itself."""

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attnlib._core.checks import check_choice, check_count, check_device, check_dtype, check_flag
from attnlib._core.values import check_result
from attnlib.transformer.tokens import check_tokens

Activation = Literal["gelu", "gelu_tanh", "relu", "silu", "tanh"]
"""The nonlinear functions that go by a name; ``"gelu_tanh"`` is GPT-2's and ALBERT's ``gelu_new``."""

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
    "tanh": torch.tanh,
}


class FeedForward(nn.Module):
    r"""Two linear maps with a nonlinear function between them, for each token by itself.

    .. math:: \mathrm{ff}(x) = W_2\, \sigma(W_1 x + b_1) + b_2

    Args:
        dim: width of the tokens, in and out.
        width: what they are between the maps.
        activation: ``"gelu"`` (default), ``"gelu_tanh"``, ``"relu"``, ``"silu"``, ``"tanh"``, or a function of a tensor.
        bias: whether the maps have offsets; default True.
        device, dtype: of the parameters, as in ``nn.Linear``.

    Called with x ``[*batch, n, dim]``, it returns ``[*batch, n, dim]``.

    Raises:
        ValueError: sizes that are not positive integers, an unknown activation; in the call, another width or dtype, non-finite
            input, a result that overflows.

    Source: Vaswani et al. 2017, section 3.3; Hendrycks and Gimpel 2016 for the Gaussian error linear unit and its tanh form.

    >>> FeedForward(8, 32, activation="relu")(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        dim: int,
        width: int,
        *,
        activation: Activation | Callable[[Tensor], Tensor] = "gelu",
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.dim, self.width = check_count("dim", dim), check_count("width", width)
        check_flag(bias=bias)
        if not callable(activation):
            check_choice("activation", activation, get_args(Activation))
        check_device(device)
        check_dtype(dtype)
        self.activation = activation
        self.inner = nn.Linear(self.dim, self.width, bias=bias, device=device, dtype=dtype)
        self.outer = nn.Linear(self.width, self.dim, bias=bias, device=device, dtype=dtype)

    def forward(self, x: Float[Tensor, "*batch n dim"]) -> Float[Tensor, "*batch n dim"]:
        """Each token by itself: see the class for shapes and errors."""
        bend = self.activation if callable(self.activation) else _ACTIVATIONS[self.activation]
        x = check_tokens(x, self.dim, self.inner.weight)
        return check_result(self.outer(bend(self.inner(x))), "x or the parameters are")

    def extra_repr(self) -> str:
        """The nonlinear function, for printing."""
        name = self.activation if isinstance(self.activation, str) else type(self.activation).__name__
        return f"activation={getattr(self.activation, '__name__', name)!r}"
