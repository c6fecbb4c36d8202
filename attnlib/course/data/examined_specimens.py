"""What the instruments read at the specimens of page 7d: by network, by seed, and at the head that maps."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnlib.course.data._paths import at


class ExaminedSpecimens:
    """The networks of ``recorded("examinations")`` or ``recorded("driven_specimens")``, of each kind those with all seeds.

    A *mapper* is the head that most often has its largest weight on the right key, at the step at which it does. Raises
    ValueError for a record without such networks; the methods do for a network or a measurement that is not there.

    >>> one = {"network": "tied", "seed": 1, "loss": 0.5, "mapper": {"head": 2, "step": 1}, "after": {"spread": [[0.1, 0.7]]}}
    >>> found = ExaminedSpecimens({"settings": {"seeds": 2}, "runs": [one, one | {"seed": 2, "loss": 0.25}]})
    >>> found.read("tied", "loss"), found.at_mapper("tied", "spread")
    (tensor([0.5000, 0.2500], dtype=torch.float64), tensor([0.7000, 0.7000], dtype=torch.float64))
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        seeds = record.get("settings", {}).get("seeds")
        if not isinstance(seeds, int) or not isinstance(record.get("runs"), list):
            raise ValueError("record has no networks under instruments; expected one such as recorded('examinations')")
        found: dict[str, dict[int, dict[str, Any]]] = {}
        for run in record["runs"]:
            found.setdefault(run["network"], {})[run["seed"]] = run
        self._runs = {name: [by[seed] for seed in sorted(by)] for name, by in found.items() if len(by) == seeds}
        if not self._runs:
            raise ValueError(f"record has no network with all of its {seeds} seeds")

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks that have all seeds, in the order of the record."""
        return tuple(self._runs)

    def read(self, network: str, *path: str | int) -> Float[Tensor, "seeds ..."]:
        """What was measured, by its path in the record, ``[seeds, ...]``; NaN where nothing was. Errors as for the class."""
        return torch.tensor([_numbers(at(run, path)) for run in self._of(network)], dtype=torch.float64)

    def mappers(self, network: str) -> Int[Tensor, "2 seeds"]:
        """Step and head of the mapper of each seed, counted from 0: places in a grid. Errors as for the class."""
        found = [run["mapper"] if "mapper" in run else at(run, ("arrows", "mapper")) for run in self._of(network)]
        return torch.tensor([[one[name] - 1 for one in found] for name in ("step", "head")])

    def at_mapper(self, network: str, instrument: str, when: Literal["before", "after"] = "after") -> Float[Tensor, "seeds"]:
        """What an instrument read at the mapper of each seed, ``[seeds]``. Errors as for the class."""
        grids = [at(run, (when, instrument)) for run in self._of(network)]
        places = zip(*self.mappers(network).tolist(), strict=True)
        return torch.tensor([grid[step][head] for grid, (step, head) in zip(grids, places, strict=True)], dtype=torch.float64)

    def _of(self, network: str) -> list[dict[str, Any]]:
        if network not in self._runs:
            raise ValueError(f"network is {network!r}; expected one of {', '.join(map(repr, self._runs))}")
        return self._runs[network]


def _numbers(value: Any) -> Any:
    """Numbers, or lists of them, with NaN for None."""
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    if isinstance(value, dict | str):
        raise ValueError(f"path ends at {value!r:.60}; expected numbers")
    return float("nan") if value is None else value
