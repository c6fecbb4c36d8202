"""Results of the experiments that take too long for a page: the scripts lie in ``experiments/``, their files here."""

import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib._core.checks import check_floating
from attnlib._core.values import check_finite

_FOLDER = files("attnlib.course.data") / "results"
"""Inside the package, so that a page finds them in Colab too."""


def recorded(name: str) -> dict[str, Any]:
    """Read what an experiment measured, with the command, the date, the seeds and the versions behind it.

    Takes the name of a script in ``experiments/``, such as ``"associative_capacity"``, or of a benchmark that a page shows.
    Raises ValueError for another name.

    >>> found = recorded("associative_capacity")
    >>> found["title"], found["command"]
    ('Capacity and basins of associative memories, random patterns', 'python experiments/associative_capacity.py')
    """
    known = sorted(path.name.removesuffix(".json") for path in _FOLDER.iterdir() if path.name.endswith(".json"))
    if name not in known:
        raise ValueError(f"name is {name!r}; expected one of {', '.join(map(repr, known))}")
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def lead(one: Bool[Tensor, "n"], other: Bool[Tensor, "n"]) -> Float[Tensor, ""]:
    r"""How many standard errors one classifier is ahead of another, by the pictures that just one of them misreads.

    .. math:: \frac{b - a}{\sqrt{a + b}}

    with a pictures that only the first misreads, and b that only the other does. Of two that are equally good each such picture
    is a fair coin, and the number has mean zero and variance one. It is 0 where no picture decides.

    Args:
        one, other: what each misreads, true or false for each picture ``[n]``.

    Raises:
        ValueError: tensors that are not of bool, or not of one shape ``[n]``.

    Source: McNemar 1947.

    >>> one, other = torch.tensor([True, False, False, False]), torch.tensor([False, True, True, True])
    >>> lead(one, other)
    tensor(1., dtype=torch.float64)
    """
    for name, wrong in (("one", one), ("other", other)):
        if not isinstance(wrong, Tensor) or wrong.dtype != torch.bool or wrong.ndim != 1:
            raise ValueError(f"{name} is {wrong!r:.40}; expected a tensor of bool, one for each picture")
    if one.shape != other.shape:
        raise ValueError(f"other has shape {tuple(other.shape)}; expected that of one, {tuple(one.shape)}")
    a, b = (one & ~other).sum().double(), (other & ~one).sum().double()
    return (b - a) / (a + b).clamp(min=1).sqrt()


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


class _Finals:
    """What belongs to a name and a number of steps, complete."""

    _runs: Mapping[tuple[str, int], Any]
    complete: str

    @property
    def names(self) -> tuple[str, ...]:
        """Those that have runs, in the order of the record."""
        return tuple(dict.fromkeys(name for name, _ in self._runs))

    def lengths(self, name: str) -> tuple[int, ...]:
        """The numbers of steps for which a name has runs; none for a name that is not there, so no ValueError."""
        return tuple(sorted(steps for known, steps in self._runs if known == name))

    def _of(self, name: str, steps: int) -> Any:
        if (name, steps) not in self._runs:
            known = self.lengths(name)
            expected = f"one of {', '.join(map(str, known))}" if known else f"a name among {', '.join(map(repr, self.names))}"
            raise ValueError(f"there are no runs of {name!r} with {steps} steps on all {self.complete}; expected {expected}")
        return self._runs[name, steps]


class FoldedRuns(_Finals):
    """The final runs of a record such as ``recorded("digits")``: every name trained on each fold, each picture tested once.

    A name has runs of a length where all folds are there. Raises ValueError for a record without such runs; the methods do for
    a name, a length or a key that is not there.

    >>> runs = FoldedRuns(recorded("digits"))
    >>> runs.lengths("gaussian"), runs.shares("gaussian", 300).shape, runs.wrong("gaussian", 300).shape
    ((300, 1000, 3000), torch.Size([5]), torch.Size([1797]))
    """

    complete = "folds"

    def __init__(self, record: Mapping[str, Any]) -> None:
        folds = record.get("settings", {}).get("folds")
        if not isinstance(folds, int) or not isinstance(record.get("runs"), list):
            raise ValueError("record has no runs on folds; expected one such as recorded('digits')")
        found: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
        for run in record["runs"]:
            if run["stage"] == "final":
                found.setdefault((run["name"], run["steps"]), {})[run["fold"]] = run
        self._runs = {key: [runs[fold] for fold in range(folds)] for key, runs in found.items() if len(runs) == folds}
        if not self._runs:
            raise ValueError("record has no name with runs on all folds")

    def finals(self, name: str, steps: int) -> list[dict[str, Any]]:
        """The runs of a name and a length, fold by fold. Errors as for the class."""
        found: list[dict[str, Any]] = self._of(name, steps)
        return found

    def wrong(self, name: str, steps: int) -> Bool[Tensor, "pictures"]:
        """What is misread, true or false for each picture tested, ``[pictures]``, fold after fold. Errors as for the class."""
        parts = []
        for run in self.finals(name, steps):
            part = torch.zeros(run["tested"], dtype=torch.bool)
            part[run["wrong"]] = True
            parts.append(part)
        return torch.cat(parts)

    def shares(self, name: str, steps: int) -> Float[Tensor, "folds"]:
        """The share of pictures read on each fold, ``[folds]``. Errors as for the class."""
        return torch.tensor([1 - len(run["wrong"]) / run["tested"] for run in self.finals(name, steps)], dtype=torch.float64)

    def ahead(self, one: str, other: str, steps: int) -> Float[Tensor, ""]:
        """How many standard errors one is ahead of another, over all folds, ``[]``: :func:`lead`. Errors as for the class."""
        return lead(self.wrong(one, steps), self.wrong(other, steps))

    def median(self, name: str, steps: int, key: str) -> float:
        """The median over folds of what the runs recorded under a key. Errors as for the class."""
        runs = self.finals(name, steps)
        if any(key not in run for run in runs):
            raise ValueError(f"key is {key!r}; expected one of {', '.join(map(repr, runs[0]))}")
        return statistics.median(run[key] for run in runs)


class SeededRuns(_Finals):
    """The final runs of a record such as ``recorded("digit_verdicts")``: every name with all seeds on each fold.

    A name has runs of a length where all seeds are there on all folds; it may have more seeds than others. On a fold all are
    tested on the same pictures, so that differences are taken fold by fold, between runs of the seeds that both have. Raises
    ValueError for a record without such runs; the methods do for a name, a length or a key that is not there.

    >>> runs = SeededRuns(recorded("digit_verdicts"))
    >>> runs.misread("gaussian", 1000).shape, runs.ahead("binary, none", "gaussian", 1000).runs
    (torch.Size([5, 5]), 25)
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
