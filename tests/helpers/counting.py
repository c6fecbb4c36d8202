"""How much a call makes torch do, counted and not timed."""

from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class _Counter(TorchDispatchMode):
    operations = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += 1
        return function(*args, **(kwargs or {}))


def operations(call: Callable[[], object]) -> int:
    """The operations of torch in a call; under a transform one on many directions at once is one."""
    with _Counter() as counter:
        call()
    return counter.operations
