"""Results of the experiments that take too long for a page: the scripts lie in ``experiments/``, their files here."""

import json
import statistics
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnlib.course.data._finals import Finals

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


class FoldedRuns(Finals):
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
