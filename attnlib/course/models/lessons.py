"""Lessons without end, from data that end, and the bar that says how many have been given."""

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

from attnlib._core.extras import extra

Lesson = TypeVar("Lesson")


def endless(batches: Callable[[], Iterable[Lesson]], steps: int, progress: str) -> Iterable[Lesson]:
    """Pass over the data until so many batches were given."""

    def passes() -> Iterable[Lesson]:
        left = steps
        while left:
            before, lessons = left, batches()
            if not isinstance(lessons, Iterable):
                raise ValueError(f"batches returned a {type(lessons).__name__}; expected an iterable of batches")
            for batch in lessons:
                yield batch
                left -= 1
                if not left:
                    return
            if left == before:
                raise ValueError("batches is empty; expected at least one batch")

    if not isinstance(progress, str):
        raise ValueError(f"progress is a {type(progress).__name__}; expected a name, or an empty string")
    if not progress:
        return passes()
    with extra("a progress bar"):
        from tqdm.auto import tqdm

    silent = os.environ.get("TQDM_DISABLE") == "1"  # tqdm's bars in notebooks do not look there themselves
    return tqdm(passes(), desc=progress, total=steps, disable=silent)
