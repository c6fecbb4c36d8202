"""Final runs of mixers beside each other: who was raced on a task, under which condition, and what each fresh seed gave."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_choice
from attnlib.course.data._paths import at
from attnlib.course.data.seeds import Estimate, over_runs

Condition = Sequence[float | int] | float | int | None


class CollectiveRuns:
    """The final runs of one task in ``recorded("collectives")``: every contestant from the same fresh seeds.

    A condition is a number, or some in a list, as the record has them; None where a task has only one. The
    score of a run that has broken down is NaN. ``race`` says how long all were trained: for as many ``"steps"``, for
    ``"longer"`` or ``"longest"``, twice or four times as many, or for as many ``"seconds"``, twice those of softmax. Raises
    ValueError for another race or a record without such runs; the methods do for a contestant, a condition or a measurement
    that is not there.

    >>> one = {"task": "hops", "name": "softmax", "condition": [2], "stage": "final", "steps": 9, "score": 0.5, "seed": 11}
    >>> record = {"settings": {"seeds": [11, 12], "steps": {"hops": 9}}, "runs": [one, one | {"seed": 12, "score": 0.7}]}
    >>> CollectiveRuns(record, "hops").score("softmax", 2)
    tensor([0.5000, 0.7000], dtype=torch.float64)
    """

    def __init__(self, record: Mapping[str, Any], task: str, race: str = "steps") -> None:
        check_choice("race", race, ("steps", "longer", "longest", "seconds"))
        seeds = record.get("settings", {}).get("seeds")
        if not seeds or not isinstance(record.get("runs"), list):
            raise ValueError("record has no runs of fresh seeds; expected one such as recorded('collectives')")
        self.seeds, belongs = tuple(seeds), _entry(record["settings"], task, race)
        found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        for run in record["runs"]:
            if run["task"] == task and run["stage"] == "final" and belongs(run):
                found.setdefault((run["name"], json.dumps(run["condition"])), {})[run["seed"]] = run
        self._runs = {key: [by[seed] for seed in self.seeds] for key, by in found.items() if set(by) >= set(self.seeds)}
        if not self._runs:
            raise ValueError(f"record has no contestant of {task!r} with all of its seeds")

    @property
    def names(self) -> tuple[str, ...]:
        """The contestants that have all seeds under some condition, in the order of the record."""
        return tuple(dict.fromkeys(name for name, _ in self._runs))

    def conditions(self, name: str) -> tuple[tuple[float | int, ...], ...]:
        """Under which conditions a contestant has all seeds, ascending; none for a name that is not there, so no ValueError."""
        return tuple(sorted(tuple(json.loads(condition)) for known, condition in self._runs if known == name))

    def score(self, name: str, condition: Condition = None) -> Float[Tensor, "seeds"]:
        """What each run scored on fresh examples, ``[seeds]``; NaN where it has broken down. Errors as for the class."""
        return torch.tensor(
            [math.nan if run["score"] is None else run["score"] for run in self._of(name, condition)], dtype=torch.float64
        )

    def mean(self, name: str, condition: Condition = None) -> Estimate:
        """The mean score and its error over seeds, by :func:`attnlib.course.data.seeds.over_runs`.

        Errors as for the class, and for a failed run.
        """
        return over_runs(self.score(name, condition))

    def learned(self, name: str, condition: Condition = None) -> int:
        """How many of the runs have succeeded, by what the task calls success. Errors as for the class."""
        return sum(bool(run["succeeded"]) for run in self._of(name, condition))

    def loss_to(self, one: str, other: str, condition: Condition = None) -> Estimate:
        """By which share one's error is above another's, seed by seed: 0.1 is ten per cent. Errors as for the class."""
        return over_runs(self.score(one, condition) / self.score(other, condition) - 1)

    def measured(self, name: str, *path: str | int, condition: Condition = None) -> Float[Tensor, "seeds ..."]:
        """What was measured on the trained networks, by its path in the record, ``[seeds, ...]``. Errors as for the class."""
        found = [at(run.get("after", {}), path) for run in self._of(name, condition)]
        return torch.tensor(found, dtype=torch.float64)

    def _of(self, name: str, condition: Condition) -> list[dict[str, Any]]:
        asked = [] if condition is None else list(condition) if isinstance(condition, Sequence) else [condition]
        for (known, under), runs in self._runs.items():
            if known == name and json.loads(under) == asked:
                return runs
        here = self.conditions(name)
        names = ", ".join(map(repr, self.names))
        expected = f"a condition among {', '.join(map(str, here))}" if here else f"a name among {names}"
        raise ValueError(f"there are no runs of {name!r} under {asked} with all seeds; expected {expected}")


def _entry(settings: Mapping[str, Any], task: str, race: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a run belongs to a race."""
    if race == "seconds":
        known = settings.get("seconds", {"conditions": {}, "steps": {}})
        condition, bought = known["conditions"].get(task), known["steps"].get(task, {})
        return lambda run: run["condition"] == condition and run["steps"] == bought.get(run["name"])
    length = settings["steps"].get(task, 0) * {"longer": 2, "longest": 4}.get(race, 1)
    return lambda run: run["steps"] == length
