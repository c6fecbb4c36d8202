"""Contestants on a task: each with a learning rate of its own, then fresh seeds, then a table with errors over seeds."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import nn

from attnlib._core.checks import check_choice, check_count, check_flag, check_kind, check_number
from attnlib._core.training import FASTEST
from attnlib.transformer.records import Comparison, Standing, TrainingRun, merit
from attnlib.transformer.registry import mixer
from attnlib.transformer.training import Task, train_one

RATES = (3e-4, 1e-3, 3e-3, 1e-2)
"""Where the search for a learning rate begins."""

Train = Callable[..., TrainingRun]
"""From a maker, ``rate``, ``seed`` and ``steps`` to a run."""


def compare(
    contestants: Mapping[str, Callable[[], nn.Module]] | Sequence[str],
    task: Task,
    *,
    rates: Sequence[float] = RATES,
    seeds: Iterable[int] = (0, 1),
    fresh_seeds: Iterable[int] = (10, 11, 12, 13, 14),
    steps: int = 1000,
    seconds: float | int | None = None,
    widen: int = 4,
    batch: int = 64,
    test: int = 1024,
    warm_up: int | None = None,
    clip: float | int = 1.0,
    dim: int | None = None,
    tokens: int | None = None,
    heads: int | None = None,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> Comparison:
    """Train contestants on a task and say who is better, with errors over seeds.

    Each contestant is trained at every rate of a grid from ``seeds``, at the full length; where its best rate is an end of
    the grid, the grid grows there by the same factor. Then it is trained at its best rate from ``fresh_seeds``, on which
    nothing was chosen. All contestants of one seed learn from the same examples, so that differences are taken seed by seed.

    Args:
        contestants: functions without arguments that make a mixer, by name; or registered names, made by :func:`mixer` with
            ``dim``, ``tokens`` and ``heads``.
        task: a :class:`Task`.
        rates: the grid; default 3e-4, 1e-3, 3e-3, 1e-2. One rate is taken as it is.
        seeds, fresh_seeds: of the search, default two, and of the verdict, default five others.
        steps: of every run; default 1000.
        seconds: a second table, in which each contestant has as many steps as fit into this time, searched again at that
            length; default None, no such table. It depends on how busy the machine is; the first table does not.
        widen: by how many rates a grid may grow; default 4.
        dim, tokens, heads: for registered names.
        batch, test, warm_up, clip, device: of :func:`train_one`.
        progress: show a bar, where tqdm is installed.

    Returns:
        :class:`Comparison`.

    Raises:
        ValueError: no contestants, seeds of the verdict that took part in the search, settings out of range; and what
            :func:`train_one` raises.

    >>> class Mean:  # tell the mean of four numbers from each of them
    ...     def batch(self, n, generator):
    ...         x = torch.randn(n, 4, 1, generator=generator)
    ...         return x, x.mean(-2, keepdim=True).expand(x.shape)
    ...     def model(self, mixer):
    ...         return mixer
    ...     def loss(self, output, targets):
    ...         return (output - targets).square().mean()
    ...     score, better, exact = loss, "lower", 0.0
    >>> few = {"steps": 20, "batch": 8, "test": 64, "fresh_seeds": [10, 11]}
    >>> found = compare(["identity", "pool"], Mean(), dim=1, rates=[0.1], progress=False, **few)
    >>> found.best().name, found.difference("identity", "pool")[0] > 0.1
    ('pool', True)
    """
    check_kind("task", task, Task, "a Task, with batch, model, loss and score")
    makers = _makers(contestants, dim, tokens, heads)
    for name, things in (("rates", rates), ("seeds", seeds), ("fresh_seeds", fresh_seeds)):
        if not isinstance(things, Iterable) or isinstance(things, str | bytes) or getattr(things, "ndim", 1) != 1:
            raise ValueError(f"{name} is {things!r:.40}; expected numbers in a list")
    for name, size in (("dim", dim), ("tokens", tokens), ("heads", heads)):
        if size is not None:
            check_count(name, size)
    grid = sorted({check_number("rates", rate, above=0) for rate in rates})
    search, fresh = (
        [check_count(name, seed, 0) for seed in of] for name, of in (("seeds", seeds), ("fresh_seeds", fresh_seeds))
    )
    if not grid or not search or not fresh or len({*search, *fresh}) < len(search) + len(fresh):
        given = f"rates is {grid}, seeds {search}, fresh_seeds {fresh}"
        raise ValueError(f"{given}; expected some of each, no seed twice, and no fresh seed that was searched")
    steps, widen = check_count("steps", steps), check_count("widen", widen, 0)
    seconds = None if seconds is None else check_number("seconds", seconds, above=0)
    check_flag(progress=progress)
    better = getattr(task, "better", "higher")
    check_choice("task.better", better, ("higher", "lower"))
    each = {"batch": batch, "test": test, "warm_up": warm_up, "clip": clip, "device": device}
    with _bar(progress, len(makers) * (len(grid) * len(search) * (len(grid) > 1) + len(fresh))) as tick:

        def trained(make: Callable[[], nn.Module], **how: object) -> TrainingRun:
            run = train_one(make, task, **each, **how)  # type: ignore[arg-type]
            tick()
            return replace(run, model=None)

        stand = partial(_standing, train=trained, grid=grid, search=search, fresh=fresh, better=better, widen=widen)
        first = [stand(name, make, steps=steps) for name, make in makers.items()]
        second = []
        if seconds is not None:
            for one in first:
                fit = max(1, round(seconds * one.steps / max(one.seconds, 1e-9)))
                second.append(stand(one.name, makers[one.name], steps=fit))
    return Comparison(first, second, better, getattr(task, "floor", None), getattr(task, "exact", None))


def _makers(
    contestants: Mapping[str, Callable[[], nn.Module]] | Sequence[str], dim: int | None, tokens: int | None, heads: int | None
) -> dict[str, Callable[[], nn.Module]]:
    """Functions that make the contestants, by name."""
    if isinstance(contestants, str) or not isinstance(contestants, Mapping | Sequence) or not contestants:
        raise ValueError(f"contestants is {contestants!r:.60}; expected functions by name, or a list of registered names")
    if isinstance(contestants, Mapping):
        if not all(callable(make) for make in contestants.values()):
            raise ValueError(f"contestants is {contestants!r:.60}; expected functions that make a mixer")
        return dict(contestants)
    if dim is None:
        raise ValueError("dim is None; expected the width of the tokens, since contestants are registered names")
    makers = {
        name: cast("Callable[[], nn.Module]", partial(mixer, name, dim, tokens=tokens, heads=heads)) for name in contestants
    }
    with torch.random.fork_rng([]):  # a name that is wrong is said before anything is trained
        for make in makers.values():
            make()
    return makers


def _standing(
    name: str,
    make: Callable[[], nn.Module],
    *,
    steps: int,
    train: Train,
    grid: Sequence[float],
    search: Sequence[int],
    fresh: Sequence[int],
    better: str,
    widen: int,
) -> Standing:
    """One contestant: the search for its rate, then its runs."""
    found: dict[float, tuple[float, float]] = {}

    def look(rate: float) -> None:
        runs = [train(make, rate=rate, seed=seed, steps=steps) for seed in search]
        scores = [run.score for run in runs if run.succeeded]
        found[rate] = merit(scores, len(scores) / len(runs), better)

    best = grid[0]
    if len(grid) > 1:
        for rate in grid:
            look(rate)
        best = _best(found)
        for _ in range(widen):
            further = _further(sorted(found), best)
            if further is None:
                break
            look(further)
            best = _best(found)
    runs = [train(make, rate=best, seed=seed, steps=steps) for seed in fresh]
    sign = 1 if better == "higher" else -1
    searched = [(rate, sign * mean, success) for rate, (success, mean) in sorted(found.items())]
    return Standing(name, runs, searched, at_end=len(found) > 1 and best in (min(found), max(found)))


def _best(found: Mapping[float, tuple[float, float]]) -> float:
    """The rate that is best; of those that are equally good the one in the middle, so that no grid grows for nothing."""
    top = max(found.values())
    equal = sorted(rate for rate, merit in found.items() if merit == top)
    return equal[len(equal) // 2]


def _further(rates: Sequence[float], best: float) -> float | None:
    """The rate beyond an end of the grid where the best is at that end, by the factor that the grid has there."""
    if best == rates[-1]:
        beyond = rates[-1] * rates[-1] / rates[-2]
    elif best == rates[0]:
        beyond = rates[0] * rates[0] / rates[1]
    else:
        return None
    return beyond if 0 < beyond <= FASTEST else None


@contextmanager
def _bar(progress: bool, total: int) -> Iterator[Callable[[], object]]:
    """A bar of runs, where tqdm is installed and is not told to be silent; what is yielded moves it by one."""
    try:
        if not progress or os.environ.get("TQDM_DISABLE") == "1":
            raise ModuleNotFoundError
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        yield lambda: None
        return
    with tqdm(total=total, desc="runs", disable=False) as bar:

        def tick() -> None:
            bar.total = max(bar.total, bar.n + 1)  # a grid that grows has more runs than were counted
            bar.update()

        yield tick
