"""A sample of the many cases that one test goes through: what the mark ``sweep`` is for cases that pytest counts one by one."""

import zlib
from collections.abc import Callable, Iterable
from math import ceil
from typing import TypeVar

Case = TypeVar("Case")


def sample(cases: Iterable[Case], share: float, tier: str, name: Callable[[Case], str] = str) -> list[Case]:
    """The cases that a tier runs, in their order: all in the last, this share in ``test``, an eighth of that in ``check``.

    At least one of any. Which ones, a hash of their names says, so that they are the same everywhere.
    """
    cases = list(cases)
    if tier == "all":
        return cases
    number = ceil(share * len(cases) / (8 if tier == "check" else 1))
    order = sorted(range(len(cases)), key=lambda place: (zlib.crc32(name(cases[place]).encode()), place))
    return [cases[place] for place in sorted(order[:number])]
