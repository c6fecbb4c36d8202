"""A mean over runs with an error that knows what runs share, and recorded runs with several seeds on each fold."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_floating
from attnlib._core.values import check_finite
from attnlib.course.data._finals import Finals


@dataclass(frozen=True)
class Estimate:
    """A mean over runs, its standard error, and how many runs there are; what :func:`over_runs` returns, so no ValueError.

    >>> Estimate(0.5, 0.25, 4).errors
    2.0
    """

    mean: float
    error: float
    runs: int

    @property
    def errors(self) -> float:
        """The mean in standard errors; infinite, with its sign, where all runs agree, and 0 where they agree on zero."""
        return self.mean / self.error if self.error else math.copysign(math.inf, self.mean) if self.mean else 0.0


def over_runs(values: Float[Tensor, "..."]) -> Estimate:
    r"""The mean over runs and its standard error, where runs come in groups that share something, such as a fold's pictures.

    .. math:: \mathrm{error}^2 = \max\bigg(\frac{\mathrm{Var}_{gr}\, d_{gr}}{G R},\;
        \frac{\mathrm{Var}_g\, \bar d_g}{G}\bigg), \qquad \bar d_g = \frac1R \sum_r d_{gr}

    Runs of a group that have nothing in common count one by one; where they move together, the group counts as one. The larger
    of the two errors is taken. To compare two, give the differences of runs of the same group. Folds also share what they learn
    from, which no error over folds can see: a verdict needs more than two errors.

    Args:
        values: one number for each run, ``[runs]``, or ``[groups, runs]``; at least two runs, or two groups.

    Raises:
        ValueError: values that are not floating and finite, of another shape, or too few.

    Source: Nadeau and Bengio 2003 on what the spread over folds leaves out.

    >>> over_runs(torch.tensor([1.0, 2.0, 3.0, 2.0]))
    Estimate(mean=2.0, error=0.4082..., runs=4)
    >>> over_runs(torch.tensor([[1.0, 1.0], [3.0, 3.0]]))  # two groups that differ, and nothing else
    Estimate(mean=2.0, error=1.0, runs=4)
    """
    check_floating(values=values)
    check_finite(values=values)
    least = 2 if values.ndim == 1 or (values.ndim == 2 and values.shape[1]) else 0
    if not least or len(values) < least:
        raise ValueError(
            f"values has shape {tuple(values.shape)}; expected [runs] or [groups, runs], at least two of the first"
        )
    values = values.double()
    spread = values.var() / values.numel()
    if values.ndim == 2:
        spread = spread.maximum(values.mean(1).var() / len(values))
    return Estimate(values.mean().item(), spread.sqrt().item(), values.numel())


class SeededRuns(Finals):
    """The final runs of a record such as ``recorded("digit_verdicts")``: every name with all seeds on each fold.

    A name has runs of a length where all seeds are there on all folds; it may have more seeds than others. On a fold all are
    tested on the same pictures, so that differences are taken fold by fold, between runs of the seeds that both have. Raises
    ValueError for a record without such runs; the methods do for a name, a length or a key that is not there.

    >>> from attnlib.course import recorded
    >>> runs = SeededRuns(recorded("digit_verdicts"))
    >>> runs.misread("free", 1000).shape, runs.ahead("free", "random, 2", 1000).runs
    (torch.Size([5, 10]), 50)
    """

    complete = "folds with all seeds"

    def __init__(self, record: Mapping[str, Any]) -> None:
        settings = record.get("settings", {})
        folds, seeds = settings.get("folds"), settings.get("seeds")
        if not isinstance(folds, int) or not isinstance(seeds, list) or not isinstance(record.get("runs"), list):
            raise ValueError("record has no runs of seeds on folds; expected one such as recorded('digit_verdicts')")
        found: dict[tuple[str, int], dict[int, list[dict[str, Any]]]] = {}
        for run in record["runs"]:
            if run["stage"] == "final":
                found.setdefault((run["name"], run["steps"]), {}).setdefault(run["seed"], []).append(run)
        self._runs = {}
        for key, by_seed in found.items():
            whole = {seed: sorted(runs, key=lambda run: run["fold"]) for seed, runs in by_seed.items() if len(runs) == folds}
            if set(whole) >= set(seeds):
                self._runs[key] = dict(sorted(whole.items()))
        if not self._runs:
            raise ValueError("record has no name with runs of all seeds on all folds")

    def seeds(self, name: str, steps: int) -> tuple[int, ...]:
        """The seeds of a name's runs of a length. Errors as for the class."""
        return tuple(self._of(name, steps))

    def values(self, name: str, steps: int, key: str) -> Float[Tensor, "folds seeds"]:
        """What the runs recorded under a key, ``[folds, seeds]``; NaN where a run has broken down. Errors as for the class."""
        by_seed = self._of(name, steps)
        known = [run for runs in by_seed.values() for run in runs if "failed" not in run]
        if any(not isinstance(run.get(key), int | float) for run in known):
            numbers = [name for name, value in known[0].items() if isinstance(value, int | float)]
            raise ValueError(f"key is {key!r}; expected one of {', '.join(map(repr, numbers))}")
        found = [[math.nan if "failed" in run else float(run[key]) for run in runs] for runs in by_seed.values()]
        return torch.tensor(found, dtype=torch.float64).mT

    def misread(self, name: str, steps: int) -> Float[Tensor, "folds seeds"]:
        """The share of pictures that each run misreads, ``[folds, seeds]``. Errors as for the class."""
        return self._misread(name, steps, self.seeds(name, steps))

    def mean(self, name: str, steps: int) -> Estimate:
        """The mean share of pictures misread: :func:`over_runs`, groups are folds. Errors as for the class."""
        return over_runs(self.misread(name, steps))

    def ahead(self, one: str, other: str, steps: int) -> Estimate:
        """By how much one misreads a smaller share than another, by :func:`over_runs`. Errors as for the class."""
        theirs = self.seeds(other, steps)
        both = tuple(seed for seed in self.seeds(one, steps) if seed in theirs)
        return over_runs(self._misread(other, steps, both) - self._misread(one, steps, both))

    def _misread(self, name: str, steps: int, seeds: tuple[int, ...]) -> Tensor:
        found = [[len(run["wrong"]) / run["tested"] for run in self._of(name, steps)[seed]] for seed in seeds]
        return torch.tensor(found, dtype=torch.float64).mT


class PairedRuns(Finals):
    """The runs of one task in a record such as ``recorded("graph_verdicts")``: every name from the same seeds.

    Runs of a seed share what they learn from and what they are tested on, so that differences are taken seed by seed. A seed
    counts where all names have all their lengths; so a record that is not finished gives whole seeds. Raises ValueError for a
    record without two of them; the methods do for a name, a length or a key that is not there.

    >>> from attnlib.course import recorded
    >>> runs = PairedRuns(recorded("graph_verdicts"), "karate")
    >>> len(runs.seeds), runs.values("mean", 100, "accuracy").shape
    (100, torch.Size([100]))
    >>> runs.difference("sum", "attention", 100, "accuracy").errors > 5
    True
    """

    complete = "seeds"

    def __init__(self, record: Mapping[str, Any], task: str) -> None:
        found: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
        for run in record.get("runs", []):
            if run.get("stage") == task:
                found.setdefault((run["model"], run["steps"]), {})[run["seed"]] = run
        shared = set.intersection(*(set(by_seed) for by_seed in found.values())) if found else set()
        if len(shared) < 2:
            raise ValueError(f"record has {len(shared)} whole seeds of {task!r}; expected two or more")
        self.seeds = tuple(sorted(shared))
        self._runs = {key: [by_seed[seed] for seed in self.seeds] for key, by_seed in found.items()}

    def values(self, name: str, steps: int, key: str) -> Float[Tensor, "seeds"]:
        """What the runs recorded under a key, ``[seeds]``. Errors as for the class."""
        runs = self._of(name, steps)
        if not isinstance(runs[0].get(key), int | float):
            numbers = [name for name, value in runs[0].items() if isinstance(value, int | float)]
            raise ValueError(f"key is {key!r}; expected one of {', '.join(map(repr, numbers))}")
        return torch.tensor([run[key] for run in runs], dtype=torch.float64)

    def mean(self, name: str, steps: int, key: str) -> Estimate:
        """The mean of a key and its error, by :func:`over_runs`. Errors as for the class."""
        return over_runs(self.values(name, steps, key))

    def difference(self, one: str, other: str, steps: int, key: str) -> Estimate:
        """What one has more of than another, seed by seed, by :func:`over_runs`. Errors as for the class."""
        return over_runs(self.values(one, steps, key) - self.values(other, steps, key))
