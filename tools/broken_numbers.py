"""Numbers in what a function returned: where they stand, another one in place of one, and who reads them."""

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor


def parts(value: Any) -> dict[str, Any]:
    """The named parts of a record, a mapping or a sequence; all items of one kind are one part."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): part for key, part in value.items()}
    if not isinstance(value, tuple | list) or not value:
        return {}
    return {"items": value[0]} if alike(value) else {str(index): part for index, part in enumerate(value)}


def alike(items: tuple | list) -> bool:
    """Whether a sequence is as long as it happens to be; a pair is two results of a function."""
    return isinstance(items, list) or (len(items) > 2 and len({type(item) for item in items}) == 1)


def numbers(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where numbers stand in what a call returned."""
    if isinstance(value, Tensor | np.ndarray | float | int):
        yield place
    for name, part in parts(value).items():
        yield from numbers(part, (*place, name))


def changed(value: Any, place: tuple[str, ...], factor: float) -> Any:
    """The same with another number at a place."""
    if not place:
        return wrong(value, factor)
    name, rest = place[0], place[1:]
    if dataclasses.is_dataclass(value):
        if not hasattr(value, name):
            return value
        new = object.__new__(type(value))
        new.__dict__.update(value.__dict__ | {name: changed(getattr(value, name), rest, factor)})
        return new
    if isinstance(value, dict):
        return {key: changed(part, rest, factor) if str(key) == name else part for key, part in value.items()}
    if isinstance(value, tuple | list):
        items = [changed(part, rest, factor) if name in ("items", str(i)) else part for i, part in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def wrong(value: Any, factor: float) -> Any:
    """Another number of the same kind. Where all is zero a factor changes nothing, and a little is added."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * factor
    x = value if isinstance(value, Tensor) else torch.from_numpy(value)
    if x.dtype == torch.bool:
        x = ~x
    elif not (x.is_floating_point() or x.is_complex()):
        x = x + 1
    else:
        x = x + (factor - 1) if empty(x) else x * factor
    return x if isinstance(value, Tensor) else x.numpy()


def empty(x: Tensor) -> bool:
    try:
        return not x.detach().any()
    except RuntimeError:  # inside a transform of torch.func nobody can look
        return False


def fields(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where the fields of a record stand, and those of a record in it."""
    if dataclasses.is_dataclass(value):
        for name, part in parts(value).items():
            yield (*place, name)
            yield from fields(part, (*place, name))


def watched(value: Any, path: str, seen: set[tuple[str, ...]], place: tuple[str, ...] = ()) -> Any:
    """The same record, which writes down what the page reads of it, and of a record in it."""
    kind = type(value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value

    def read(self: Any, name: str) -> Any:
        found = kind.__getattribute__(self, name)
        if sys._getframe(1).f_code.co_filename != path:
            return found
        seen.add((*place, name))
        return watched(found, path, seen, (*place, name))

    new = object.__new__(type(kind.__name__, (kind,), {"__getattribute__": read}))
    new.__dict__.update(value.__dict__)
    return new
