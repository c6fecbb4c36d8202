"""What training contestants returns: a run, the standing of one contestant, a comparison of all."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import nn

from attnlib._core.checks import check_flag


@dataclass(frozen=True)
class TrainingRun:
    """One training: its seed, rate and steps, the losses, and the score on examples that it has not seen.

    ``succeeded`` is False where the task says so of the score, or where the run failed; then ``failure`` says why, and the
    score is NaN. ``seconds`` are those of the training alone, ``parameters`` how many numbers were learnt, ``model`` the
    trained model; a run of a comparison has none.

    >>> run = TrainingRun(seed=0, rate=0.01, steps=2, losses=(1.0, 0.5), score=0.9, succeeded=True)
    >>> run.losses[-1], run.failure
    (0.5, '')
    """

    seed: int
    rate: float
    steps: int
    losses: tuple[float, ...] = field(repr=False)
    score: float
    succeeded: bool
    failure: str = ""
    seconds: float = field(default=0.0, compare=False)
    parameters: int = 0
    model: nn.Module | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Standing:
    """How one contestant stands: its rate, where that was searched, and its runs from fresh seeds.

    ``searched`` lists ``(rate, mean score, share of success)``, in the order of the rates; ``at_end`` is True where the best
    rate is still the last one of the grid. Means and errors are over the runs that succeeded, and ``success`` is their share:
    a run that failed is counted, not averaged away.

    >>> from attnlib.transformer import Standing, TrainingRun
    >>> runs = [TrainingRun(seed, 0.01, 100, (), score, score > 0.5) for seed, score in enumerate((0.9, 0.7, 0.1))]
    >>> standing = Standing("mine", runs, ())
    >>> round(standing.mean, 3), round(standing.error, 3), round(standing.success, 3)
    (0.8, 0.1, 0.667)
    """

    name: str
    runs: Sequence[TrainingRun]
    searched: Sequence[tuple[float, float, float]] = ()
    at_end: bool = False

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores of the runs that succeeded."""
        return tuple(run.score for run in self.runs if run.succeeded)

    @property
    def mean(self) -> float:
        """Their mean; NaN where none succeeded."""
        return mean_and_error(self.scores)[0]

    @property
    def error(self) -> float:
        """The standard error of the mean, over seeds; NaN with fewer than two runs that succeeded."""
        return mean_and_error(self.scores)[1]

    @property
    def success(self) -> float:
        """The share of runs that succeeded."""
        return sum(run.succeeded for run in self.runs) / len(self.runs)

    @property
    def rate(self) -> float:
        """The learning rate of its runs."""
        return self.runs[0].rate

    @property
    def steps(self) -> int:
        """The steps of each run."""
        return self.runs[0].steps

    @property
    def seconds(self) -> float:
        """The median time of a run."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why runs failed, each reason once."""
        return tuple(dict.fromkeys(run.failure for run in self.runs if run.failure))


@dataclass(frozen=True)
class Comparison:
    """Contestants beside each other after equally many steps, and, where it was asked for, after equally many seconds.

    Printing it shows both tables: mean and error over seeds, how many runs succeeded, how far behind the best, rate, steps,
    seconds, parameters. ``better`` says which scores are good; ``floor`` and ``exact`` are the task's, where it has them.

    >>> from attnlib.transformer import Comparison, Standing, TrainingRun
    >>> def standing(name, *scores):
    ...     return Standing(name, [TrainingRun(seed, 0.01, 9, (), score, True) for seed, score in enumerate(scores)])
    >>> found = Comparison([standing("a", 0.5, 0.6), standing("b", 0.8, 0.7)], floor=0.1)
    >>> found.best().name, [round(number, 3) for number in found.difference("b", "a")]
    ('b', [0.2, 0.1])
    >>> print(found)
    higher is better, floor 0.1
    <BLANKLINE>
    equal steps
    name  score          succeeded  behind the best  rate  steps  seconds  parameters
    a     0.550 ± 0.050  2 of 2     0.20 ± 0.10      0.01  9      0.0      0
    b     0.750 ± 0.050  2 of 2                      0.01  9      0.0      0
    """

    equal_steps: Sequence[Standing]
    equal_seconds: Sequence[Standing] = ()
    better: str = "higher"
    floor: float | None = None
    exact: float | None = None

    def standing(self, name: str, *, seconds: bool = False) -> Standing:
        """How one contestant stands, after equal steps or seconds. No shapes. Errors: ValueError on an unknown name."""
        return self._named("name", name, seconds)

    def difference(self, first: str, second: str, *, seconds: bool = False) -> tuple[float, float]:
        """The mean of first's score minus second's, seed by seed, and its standard error over seeds.

        Taken over the seeds at which both succeeded; NaN where there are none, and an error of NaN where there is one. No
        shapes. Errors: ValueError on an unknown name.
        """
        pair = [self._named(*named, seconds) for named in (("first", first), ("second", second))]
        ours, theirs = ({run.seed: run.score for run in one.runs if run.succeeded} for one in pair)
        return mean_and_error([ours[seed] - theirs[seed] for seed in ours if seed in theirs])

    def best(self, *, seconds: bool = False) -> Standing:
        """The contestant that most often succeeds, and of those the one with the best mean. No shapes.

        Errors are those of an empty table: a ValueError.
        """
        return max(self._table(seconds), key=lambda one: merit(one.scores, one.success, self.better))

    def rows(self, *, seconds: bool = False) -> list[tuple[str, ...]]:
        """The table as text, a row for each contestant and its head first. No shapes; errors are those of :meth:`best`."""
        best = self.best(seconds=seconds)
        rows: list[tuple[str, ...]] = [
            ("name", "score", "succeeded", "behind the best", "rate", "steps", "seconds", "parameters")
        ]
        for one in self._table(seconds):
            pair = (best.name, one.name) if self.better == "higher" else (one.name, best.name)
            behind = "" if one is best else with_error(*self.difference(*pair, seconds=seconds))
            rate = f"{one.rate:.2g}" + (" (end of its grid)" if one.at_end else "")
            score, succeeded = with_error(one.mean, one.error), f"{sum(r.succeeded for r in one.runs)} of {len(one.runs)}"
            rows.append(
                (one.name, score, succeeded, behind, rate, str(one.steps), f"{one.seconds:.1f}", str(one.runs[0].parameters))
            )
        return rows

    def _table(self, seconds: bool) -> Sequence[Standing]:
        check_flag(seconds=seconds)
        table = self.equal_seconds if seconds else self.equal_steps
        if not table:
            raise ValueError(f"seconds is {seconds}; expected {not seconds}: that table is empty")
        return table

    def _named(self, argument: str, name: str, seconds: bool) -> Standing:
        table = self._table(seconds)
        for one in table:
            if isinstance(name, str) and one.name == name:
                return one
        raise ValueError(f"{argument} is {name!r:.40}; expected one of {', '.join(one.name for one in table)}")

    def __repr__(self) -> str:
        known = [f"{name} {value:.4g}" for name, value in (("floor", self.floor), ("exact", self.exact)) if value is not None]
        lines = [", ".join([f"{self.better} is better", *known])]
        for seconds, title in ((False, "equal steps"), (True, "equal seconds")):
            table = self.equal_seconds if seconds else self.equal_steps
            if table:
                rows = self.rows(seconds=seconds)
                widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
                lines += ["", title]
                lines += ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
                lines += [f"{one.name} failed: {reason}" for one in table for reason in one.failures]
        return "\n".join(lines)


def mean_and_error(numbers: Sequence[float]) -> tuple[float, float]:
    """The mean, and its standard error; NaN where there are too few numbers."""
    mean = statistics.fmean(numbers) if numbers else math.nan
    return mean, statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan


def merit(scores: Sequence[float], success: float, better: str) -> tuple[float, float]:
    """What is compared: the share of success first, then the mean of the scores that there are."""
    mean = mean_and_error(scores)[0] * (1 if better == "higher" else -1)
    return success, -math.inf if math.isnan(mean) else mean


def with_error(mean: float, error: float) -> str:
    """A mean with its error, to the digits that the error leaves."""
    if math.isnan(mean):
        return "none"
    if math.isnan(error):
        return f"{mean:.4g}"
    digits = min(8, max(0, 1 - math.floor(math.log10(error)))) if error > 0 else 4
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
