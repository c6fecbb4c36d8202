"""How much a call makes torch do: operations, and processor time."""

import time
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


def seconds(call: Callable[[], object], times: int = 3) -> float:
    """Processor time of a call, the least of a few."""
    spent = []
    for _ in range(times):
        begin = time.process_time()
        call()
        spent.append(time.process_time() - begin)
    return min(spent)
