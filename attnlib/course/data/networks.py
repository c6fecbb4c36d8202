"""Trained networks in records, read back as tensors: tables of whole numbers in 8 or 16 bits and a scale, or of halves."""

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib.course.data.stories import WORDS
from attnlib.course.models.memory import MemoryNetwork

_WIDTHS = {1: torch.int8, 2: torch.int16}
"""Types of whole numbers by their bytes."""


def unpacked(table: Mapping[str, Any], *shape: int) -> Float[Tensor, "..."]:
    """A table of a record, ``{"scale": number, "parts": base64}``, in float64 and of this shape.

    One size of the shape may be -1. The default is what the table says under ``"shape"``; then a number has 8 or 16 bits, by
    how many bytes there are. Where a shape is given it has 8. Raises KeyError for a table of another kind, and RuntimeError for
    a shape that does not fit.

    >>> unpacked({"scale": 0.5, "parts": "AQL/"}, 3)
    tensor([ 0.5000,  1.0000, -0.5000], dtype=torch.float64)
    """
    parts, size = bytearray(base64.b64decode(table["parts"])), 1
    if not shape:
        shape = tuple(table["shape"])
        size = len(parts) // max(1, torch.Size(shape).numel())
    return table["scale"] * torch.frombuffer(parts, dtype=_WIDTHS[size]).double().reshape(shape)


def network_weights(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Tensor]:
    """What ``load_state_dict`` of a network takes, from the tables of a record that say their shapes. Errors as above.

    >>> network = torch.nn.Linear(2, 1)
    >>> bias = {"scale": 1, "parts": "AA==", "shape": [1]}
    >>> tables = {"weight": {"scale": 0.5, "parts": "AQI=", "shape": [1, 2]}, "bias": bias}
    >>> network.load_state_dict(network_weights(tables)), network.weight.data
    (<All keys matched successfully>, tensor([[0.5000, 1.0000]]))
    """
    return {name: unpacked(table) for name, table in tables.items()}


def halves(name: str, table: Mapping[str, Any]) -> Float[Tensor, "..."]:
    """A table of numbers in half precision, ``{"shape": [...], "parts": base64}``, as it is stored: little-endian float16.

    Raises:
        ValueError: a table without a shape or parts, parts that are no base64, or not as many numbers as the shape says. It
            begins with the name.

    >>> halves("bias", {"shape": [2], "parts": "ADwAwA=="})
    tensor([ 1., -2.], dtype=torch.float16)
    """
    if not isinstance(table, Mapping) or not {"shape", "parts"} <= set(table):
        raise ValueError(f"{name} is {table!r:.40}; expected a table with its shape and its parts")
    shape, parts = tuple(table["shape"]), table["parts"]
    try:
        stored = bytearray(base64.b64decode(parts, validate=True))
    except (binascii.Error, TypeError, ValueError):
        raise ValueError(f"{name} has parts {parts!r:.40}; expected base64") from None
    if len(stored) != 2 * math.prod(shape) or not stored:
        raise ValueError(f"{name} has {len(stored)} bytes; expected two for each number of the shape {shape}")
    return torch.frombuffer(stored, dtype=torch.float16).reshape(shape)


def memory_network(record: Mapping[str, Any], hops: int, *, told: bool = False) -> MemoryNetwork:
    """A network of ``recorded("memory_networks")``, in float64 and not to be trained: with so many hops, told the facts or not.

    It can read stories about animals: rows that these do not ask for are zero. Raises ValueError where no network is of this
    kind, KeyError for another record.

    >>> from attnlib.course.data.recorded import recorded
    >>> from attnlib.course.data.stories import animal_stories
    >>> stories = animal_stories(100, depth=3)
    >>> guess = memory_network(recorded("memory_networks"), hops=3)(stories.facts, stories.question).argmax(-1)
    >>> (guess == stories.answer).double().mean() > 0.9
    tensor(True)
    """
    known = {(net["hops"], net["told"]): net["tables"] for net in record["networks"]}
    if (hops, told) not in known:
        raise ValueError(f"no network has {hops} hops and told={told}; there are {', '.join(map(str, known))}")
    tables, dim, rows, words = known[hops, told], record["dim"], record["rows"], len(record["words"])
    network = MemoryNetwork(words, WORDS, dim, hops=hops).double().requires_grad_(False)
    weights = {f"maps.{hop}": unpacked(table, -1, dim) for hop, table in enumerate(tables["maps"])}
    for name, kind in (("question", "question"), ("key", "fact"), ("value", "fact")):
        weights[f"{name}.weight"] = torch.zeros(WORDS * words, dim, dtype=torch.float64)
        weights[f"{name}.weight"][rows[kind]] = unpacked(tables[name], -1, dim)
    weights |= {"answer.weight": unpacked(tables["answer"], -1, dim), "answer.bias": unpacked(tables["bias"], -1)}
    network.load_state_dict(weights)
    return network
