"""The runs of ``experiments/translation_scores.py``: chosen by what they were made with, read as columns."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

KINDS = {
    "dot": ("dot", False),
    "scaled dot": ("scaled_dot", False),
    "general": ("general", False),
    "additive": ("additive", False),
    "dot, normalised": ("dot", True),
    "scaled, normalised": ("scaled_dot", True),
    "none": ("none", False),
}
"""The kinds of attention: a score of :class:`attnlib.course.models.Seq2Seq`, and whether queries and keys are normalised."""

SERIES = ("early", "curve")
"""What a run measured in training: a row for each of some steps."""

CHOOSES = 0
"""The seed of the long runs whose loss chooses the rate of the others."""


class Runs:
    """Runs of an experiment, in a fixed order: chosen by their settings, read as columns.

    Args:
        runs: each a mapping from names to settings and results.
        series: names of the columns of what was measured in training, ``{"curve": ["step", "bleu"]}`` where a run's ``curve``
            has rows of a step and a BLEU.

    Raises:
        ValueError: no runs; in the methods, names that a run does not have.

    >>> runs = Runs([{"rate": 0.1, "bleu": 40}, {"rate": 0.1, "bleu": 41}, {"rate": 0.2, "bleu": 50}])
    >>> runs["bleu"], runs.where(rate=0.1)["bleu"].mean()
    (tensor([40., 41., 50.], dtype=torch.float64), tensor(40.5000, dtype=torch.float64))
    """

    def __init__(self, runs: Iterable[Mapping[str, Any]], series: Mapping[str, list[str]] | None = None) -> None:
        self._runs = tuple(runs)
        self._series = dict(series or {})
        if not self._runs or not all(isinstance(run, Mapping) for run in self._runs):
            raise ValueError("runs is empty, or has what is no mapping; expected at least one run")

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._runs)

    def __add__(self, other: "Runs") -> "Runs":
        return Runs((*self._runs, *other._runs), self._series)

    def where(self, **wanted: Any) -> "Runs":
        """The runs that have these settings, in the same order. Raises ValueError where no run has them."""
        found = [run for run in self._runs if run.items() >= wanted.items()]
        if not found:
            there = ", ".join(f"{name} {self._values(name)}" for name in wanted)
            raise ValueError(f"no run has {wanted}; there are {there}")
        return Runs(found, self._series)

    def __getitem__(self, name: str) -> Float[Tensor, "runs"]:
        """One number of each run, ``[runs]`` in float64, NaN where the record says None: there was nothing to measure.

        Raises ValueError for a name that not every run has, or under which there is no number.
        """
        values = [run.get(name, "nothing") for run in self._runs]
        if not all(isinstance(value, float | int | None) for value in values):
            raise ValueError(f"not every run has a number named {name!r}: there are {self._values(name)}")
        return torch.tensor([_number(value) for value in values], dtype=torch.float64)

    def history(self, name: str) -> tuple[Int[Tensor, "steps"], Float[Tensor, "runs steps"]]:
        """What was measured in training: after which steps ``[steps]``, and the values ``[runs, steps]`` in float64.

        A value is NaN where the record says None. Raises ValueError for a name that was not measured so, and for runs that were
        looked at after different steps.
        """
        for table, names in self._series.items():
            if name in names[1:]:
                rows = [run.get(table, []) for run in self._runs]
                if any(len(row) != len(names) for each in rows for row in each):
                    raise ValueError(f"a run has rows in {table!r} that are not of {', '.join(names)}")
                steps = [row[0] for row in rows[0]]
                if not steps or any([row[0] for row in each] != steps for each in rows):
                    raise ValueError(f"runs have {name!r} after different steps, or after none; expected the same of all")
                values = [[_number(row[names.index(name)]) for row in each] for each in rows]
                return torch.tensor(steps), torch.tensor(values, dtype=torch.float64)
        known = [each for names in self._series.values() for each in names[1:]]
        raise ValueError(f"name is {name!r}; expected one of {', '.join(map(repr, known))}")

    def _values(self, name: str) -> str:
        """What the runs have under a name, the first few of it."""
        found = dict.fromkeys(repr(run.get(name, "nothing"))[:20] for run in self._runs)
        return ", ".join([*found][:9]) + (" and more" if len(found) > 9 else "")


class TranslationRuns:
    """The record of ``experiments/translation_scores.py``, ``recorded("translation_scores")``, by kind of attention.

    ``all`` are the :class:`Runs`, by seed. ``kinds`` are names such as ``"scaled dot"`` and ``"dot, normalised"``; each stands
    for a score and for whether queries and keys are normalised.

    Raises:
        ValueError: a record of another experiment; in the methods, a kind that is not there, and settings that no run has.

    >>> from attnlib.course.data.recorded import recorded
    >>> record = TranslationRuns(recorded("translation_scores"))
    >>> len(record.kinds), len(record.block("short", "dot")), record.block("short", "dot")["seed"].tolist()
    (7, 5, [0.0, 1.0, 2.0, 3.0, 4.0])
    >>> record.finals("dot")["bleu"].mean() > record.block("short", "dot")["bleu"].mean()  # after 2,000 steps, and after 400
    tensor(True)
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        if not {"runs", "own_rates", *SERIES} <= set(record):
            raise ValueError("record has no runs by kind of attention; expected recorded('translation_scores')")
        runs = sorted(record["runs"], key=lambda run: run["seed"])
        self.all = Runs(runs, {table: record[table] for table in SERIES})
        self._rates = record["own_rates"]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention, in the order of the experiment."""
        return tuple(KINDS)

    def block(self, name: str, kind: str, hidden: int = 128, **wanted: Any) -> Runs:
        """The runs of a block of the experiment, of one kind and width; more settings, such as ``rate``, choose among them.

        Blocks and settings are described at the top of the script. Errors as for the class.
        """
        score, normalise = _of(kind)
        return self.all.where(block=name, hidden=hidden, score=score, normalise=normalise, **wanted)

    def rates(self, kind: str, hidden: int = 128) -> tuple[float, float]:
        """The learning rates that a search chose for a kind and a width: for 400 steps, and for long runs. Errors as above."""
        wanted = [hidden, *_of(kind)]
        for *found, short, long in self._rates:
            if found == wanted and long is not None:
                return short, long
        raise ValueError(f"{kind!r} of width {hidden} has no learning rates of its own; expected another kind or width")

    def finals(self, kind: str, hidden: int = 128) -> Runs:
        """The long runs of a kind and a width at the learning rate that suits long runs, of seeds that no choice has seen.

        They take 2,000 steps, and 1,000 from width 256 on. Errors as for the class.
        """
        score, normalise = _of(kind)
        _, rate = self.rates(kind, hidden)
        some = self.all.where(hidden=hidden, score=score, normalise=normalise, rate=rate)
        long = [run for run in some if run["block"] in ("long", "rates", "final") and run["seed"] != CHOOSES]
        return Runs(long, self.all._series)


def _number(value: float | int | None) -> float:
    return math.nan if value is None else float(value)


def _of(kind: str) -> tuple[str, bool]:
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join(map(repr, KINDS))}")
    return KINDS[kind]
