"""What the mapper sends to a browser: strings by rule, what a head's scores lack in them, all numbers in 12 bits."""

import base64
import math
from typing import Any

import torch
from torch import Tensor

from attnlib.course.data.joining import ARROW, MASK, Language, Template, hide
from attnlib.course.live._figure import FigureError
from attnlib.course.models.specimens import trained_specimen, weights_of

STEPS = 8
STRINGS, DRAWN, SHARE, LEAST = 3, 5 * 10**9, 0.2, 3
"""So many strings are sent: the first that are drawn from this seed with a fifth hidden, each with a template of its own, which
hold at least three hidden tokens of the product with one copy that is seen."""


def strings() -> list[tuple[list[int], list[int], list[list[int]]]]:
    """What is sent: of each string its tokens without filling, the places that are hidden, and the origins of its product."""
    generator = torch.Generator().manual_seed(DRAWN)
    language = Language()
    found: dict[Template, tuple[list[int], list[int], list[list[int]]]] = {}
    drawn = language.draw(200, generator=generator)
    _, hidden = hide(drawn.tokens, SHARE, generator=generator)
    seen = drawn.keys & ~hidden[:, None]
    enough = (hidden & (seen.sum(-1) == 1)).sum(-1) >= LEAST
    for index in enough.nonzero()[:, 0].tolist():
        length = int(drawn.real[index].sum())
        tokens = drawn.tokens[index, :length].tolist()
        origins = [drawn.keys[index, row].nonzero()[:, 0].tolist() for row in range(tokens.index(ARROW) + 1, length - 1)]
        template = language.forms[int(drawn.form[index])][0]
        found.setdefault(template, (tokens, hidden[index].nonzero()[:, 0].tolist(), origins))
    return list(found.values())[:STRINGS]


def packed(numbers: Tensor) -> dict[str, Any]:
    """Numbers from 0 on in 12 bits: whole ones, two in three bytes, times a power of two, the least that the largest allows."""
    flat = numbers.flatten().double()
    unit = 2.0 ** math.ceil(math.log2(max(flat.max().item(), 2.0**-30) / 4095))
    whole = (flat / unit).round().int().tolist()
    pairs = zip(whole[::2], [*whole[1::2], 0], strict=False)
    parts = b"".join((first << 12 | second).to_bytes(3, "big") for first, second in pairs)
    return {"unit": unit, "size": len(whole), "parts": base64.b64encode(parts).decode()}


def unpacked(table: dict[str, Any]) -> Tensor:
    """What was packed, rounded to the half of a unit: ``[size]`` in float64."""
    parts, whole = base64.b64decode(table["parts"]), []
    for place in range(0, len(parts), 3):
        three = int.from_bytes(parts[place : place + 3], "big")
        whole += [three >> 12, three & 4095]
    return table["unit"] * torch.tensor(whole[: table["size"]], dtype=torch.float64)


def lacks(record: dict[str, Any], head: int) -> list[Tensor]:
    """What each key lacks to the best of its row, in nats, string by string: ``[steps, tokens of the product, tokens]``."""
    model, found = trained_specimen(record, dtype=torch.float64), []
    for tokens, hidden, origins in strings():
        shown = torch.tensor([[MASK if place in hidden else token for place, token in enumerate(tokens)]])
        weights = weights_of(model, shown, torch.ones_like(shown, dtype=torch.bool))[:, 0, head - 1]
        logs = weights[:, len(tokens) - 1 - len(origins) : -1].clamp(min=1e-300).log()
        found.append(logs.amax(-1, keepdim=True) - logs)
    return found


def sent(record: dict[str, Any]) -> dict[str, Any]:
    """All that the browser needs of the record. Raises FigureError for a record of something else."""
    if not isinstance(record, dict) or not {"tensors", "curve", "measured", "settings"} <= set(record):
        raise FigureError(f'record is {record!r:.40}; expected what recorded("specimen_weights") returns')
    measured, curve, settings = record["measured"], record["curve"], record["settings"]
    mapper, shares = measured["mapper"], torch.tensor(measured["mapping"], dtype=torch.float64)
    if len(shares) != STEPS:
        raise FigureError(f"record has a network of {len(shares)} steps; expected {STEPS}")
    given = []
    for (tokens, hidden, origins), each in zip(strings(), lacks(record, mapper["head"]), strict=True):
        one = {"tokens": tokens, "hidden": hidden, "origins": origins}
        right = [keys[0] if len(keys) == 1 else -1 for keys in copies(one)]
        given.append(one | {"right": right, "lacks": packed(each)})
    return {
        "head": mapper["head"],
        "step": mapper["step"],
        "count": settings["strings"],
        "shares": packed(shares),
        "log2_betas": settings["log2_betas"],
        "U": packed(torch.tensor(curve["U"])),
        "target": packed(torch.tensor(curve["target"])),
        "strings": given,
    }


def copies(given: dict[str, Any]) -> list[list[int]]:
    """Of each token of the product the copies that are seen, where it is hidden; else none."""
    first = len(given["tokens"]) - 1 - len(given["origins"])
    return [
        [key for key in keys if key not in given["hidden"]] if first + row in given["hidden"] else []
        for row, keys in enumerate(given["origins"])
    ]
