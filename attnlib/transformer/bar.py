"""A bar that shows how far something is, where tqdm is installed."""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def with_bar(items: Sequence[Item], name: str, progress: bool) -> Iterable[Item]:
    """The items, with a bar while they are gone through; silent where tqdm is missing, or is told to be."""
    if not progress or os.environ.get("TQDM_DISABLE") == "1":
        return items
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return items
    bar: Iterable[Item] = tqdm(items, desc=name)
    return bar
