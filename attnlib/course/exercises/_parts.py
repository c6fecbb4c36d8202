"""Inputs that arrive part by part, for exercises on streams: who looks at all parts at once is seen."""

import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn, cast, final

import torch
from torch import Tensor

from attnlib.course.exercises._exercise import Misuse


@final
@dataclass(eq=False)
class Parts:
    """A tensor ``[parts, ...]`` that hands out one part after the other, each for as long as you stay with it.

    A loop, and an index ``[k]``, give plain tensors. ``len``, ``shape``, ``dtype``, ``device``, ``size``, ``new_zeros`` and its
    kind are free, and so is another dtype. Every other use needs all parts at once, and going back needs a second pass. Who
    keeps the parts, as ``list(parts)`` does, takes them at once too: it is seen when two of those before the last one are alive
    as the next is asked for. One may be alive, because a number such as ``parts[0][0]`` is a view that keeps its part.

    Raises:
        Misuse: ``"all at once"`` or ``"second pass"``.
    """

    _numbers: Tensor
    _last: int = 0
    _handed: list[tuple[int, "weakref.ref[Tensor]"]] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Tensor]:
        for k in range(len(self)):
            yield self[k]

    def __getitem__(self, index: object) -> Tensor:
        if isinstance(index, tuple) and index and isinstance(index[0], int):
            return self[index[0]][index[1:]]
        if not isinstance(index, int):
            raise Misuse("all at once")
        part = range(len(self))[index]  # counts from the end where it is negative; IndexError beyond
        if part < self._last:
            raise Misuse("second pass")
        if part > self._last and self._kept() > 1:
            gc.collect()  # frees what only a cycle of references holds
            if self._kept() > 1:
                raise Misuse("all at once")
        self._last = part
        handed = self._numbers[part].clone()
        self._handed.append((part, weakref.ref(handed)))
        return handed

    def _kept(self) -> int:
        """How many of the parts before the last one are still alive."""
        return len({part for part, handed in self._handed if part < self._last and handed() is not None})

    @property
    def shape(self) -> torch.Size:
        """As a tensor's."""
        return self._numbers.shape

    @property
    def dtype(self) -> torch.dtype:
        """As a tensor's."""
        return self._numbers.dtype

    @property
    def device(self) -> torch.device:
        """As a tensor's."""
        return self._numbers.device

    @property
    def ndim(self) -> int:
        """As a tensor's."""
        return self._numbers.ndim

    def size(self, dim: int | None = None) -> int | torch.Size:
        """As a tensor's."""
        return self.shape if dim is None else self.shape[dim]

    def clone(self) -> "Parts":
        """A stream of the same parts that starts again."""
        return Parts(self._numbers)

    def to(self, dtype: torch.dtype) -> "Parts":
        """A stream of the parts in another dtype."""
        return Parts(self._numbers.to(dtype))

    def float(self) -> "Parts":
        """A stream of the parts in float32."""
        return self.to(torch.float32)

    def double(self) -> "Parts":
        """A stream of the parts in float64."""
        return self.to(torch.float64)

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        if name.startswith("_"):  # what copying and inspection look for
            raise AttributeError(name)
        if name.startswith("new_"):
            return cast("Callable[..., Tensor]", getattr(self._numbers, name))
        raise Misuse("all at once")

    @classmethod
    def __torch_function__(cls, *call: object) -> NoReturn:
        """Torch calls this where a function is given the parts for a tensor."""
        raise Misuse("all at once")

    def _whole(self, *_: object) -> NoReturn:
        raise Misuse("all at once")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _whole
    __matmul__ = __rmatmul__ = __pow__ = __neg__ = __abs__ = __array__ = _whole
