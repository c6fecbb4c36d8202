"""What a family of transformers is, to be rebuilt: its parts from the configuration, and where each parameter is stored."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn

from attnlib.transformer.feed_forward import Activation
from attnlib.transformer.language import LanguageModel
from attnlib.transformer.tensors import Configuration

ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
"""Their names of activations, and ours."""

BENDS: dict[Activation, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}
"""The same as modules, for a readout."""


@dataclass(frozen=True)
class Source:
    """Where a parameter is stored: the tensor's name, whether it lies transposed, and which of several equal parts it is."""

    name: str
    turned: bool = False
    part: int = 0
    of: int = 1
    row: int | None = None
    """One row of the tensor only."""

    def read(self, tensor: Tensor) -> Tensor:
        """The parameter, from the tensor stored under the name; raises ValueError where it cannot be cut so."""
        if self.row is not None:
            return tensor[self.row] if tensor.ndim and len(tensor) > self.row else tensor
        if tensor.ndim and tensor.shape[-1] % self.of == 0:
            tensor = tensor.chunk(self.of, -1)[self.part] if self.of > 1 else tensor
        return tensor.mT if self.turned and tensor.ndim == 2 else tensor


@dataclass(frozen=True)
class Rebuilt:
    """A model with parameters that are still to be filled, and where each of them is stored."""

    model: LanguageModel
    sources: dict[str, Source]
    twins: dict[str, str] = field(default_factory=dict)
    """Tensors that may be stored a second time: their names, and the tensor that they must be equal to."""
    ignored: str = r"(?!)"
    """A pattern of names that are no part of the model: heads for other tasks, and constants."""


@dataclass(frozen=True)
class Family:
    """A family: the prefix that its tensors may have, the old names of their ends, and how a model is rebuilt."""

    prefix: str
    rebuild: Callable[[Configuration, set[str]], Rebuilt]
    endings: tuple[tuple[str, str], ...] = ()


def linear(ours: str, theirs: str, *, turned: bool = False, part: int = 0, of: int = 1) -> dict[str, Source]:
    """Weight and bias of a linear map or a norm."""
    return {
        f"{ours}.weight": Source(f"{theirs}.weight", turned, part, of),
        f"{ours}.bias": Source(f"{theirs}.bias", False, part, of),
    }
