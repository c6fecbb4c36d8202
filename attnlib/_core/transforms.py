"""What torch does to a call besides computing it: the transforms of ``torch.func``, and derivatives in forward mode."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor
from torch.autograd import forward_ad


def transforming() -> bool:
    """Whether a transform of ``torch.func`` is at work, which sees through no autograd function that closes over tensors."""
    return bool(getattr(torch._C, "_are_functorch_transforms_active", lambda: False)())


def in_forward_mode() -> bool:
    """Whether forward derivatives are being taken, by ``torch.func`` or without it."""
    if torch.compiler.is_compiling() or getattr(forward_ad, "_current_level", -1) < 0:
        return False
    return bool(torch._C._is_fwd_grad_enabled())


def beneath(tensor: Tensor) -> Tensor:
    """What lies under the wrappers of ``torch.func``, whose values can be looked at: to end a loop, not to compute with."""
    while transforming() and torch._C._functorch.is_functorch_wrapped_tensor(tensor):  # pyright: ignore[reportAttributeAccessIssue]
        tensor = torch._C._functorch.get_unwrapped(tensor)  # pyright: ignore[reportAttributeAccessIssue]
    return tensor


def nested() -> list[str]:
    """The transforms of ``torch.func`` at work, from the outermost one: "Vmap", "Grad", "Jvp", "Functionalize"."""
    stack = torch._C._functorch.get_interpreter_stack() if transforming() else None  # pyright: ignore[reportAttributeAccessIssue]
    return [str(level.key()).rpartition(".")[2] for level in stack or ()]


def only_forward(*tensors: Tensor) -> bool:
    """Whether one forward derivative, in many directions at once perhaps, is all that is taken of what leads to tensors."""
    if not in_forward_mode() or (torch.is_grad_enabled() and any(beneath(tensor).requires_grad for tensor in tensors)):
        return False
    kinds = nested()
    return not kinds or (kinds[-1] == "Jvp" and set(kinds[:-1]) <= {"Vmap"})


def orders(*tensors: Tensor) -> int:
    """How many derivatives may be taken of what leads to tensors: one, or two, or one more than transforms that nest."""
    if torch.compiler.is_compiling():
        return 2
    return 1 if only_forward(*tensors) else max(2, 1 + sum(kind in {"Grad", "Jvp"} for kind in nested()))


def no_tangents() -> AbstractContextManager[object]:
    """Inside this block nothing has forward derivatives, as inside ``torch.no_grad`` nothing has backward ones."""
    return forward_ad._set_fwd_grad_enabled(False) if in_forward_mode() else nullcontext()


def no_derivatives() -> AbstractContextManager[object]:
    """Inside this block nothing has derivatives of either kind.

    A function, not a generator: torch 2.6 cannot trace through a context that is a generator, and compiles what this returns.
    """
    return _neither_kind() if in_forward_mode() else torch.no_grad()


@contextmanager
def _neither_kind() -> Iterator[None]:
    with torch.no_grad(), no_tangents():
        yield
