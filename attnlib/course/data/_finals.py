"""What the readers of recorded runs have in common: names, lengths, and an answer where something is not there."""

from collections.abc import Mapping
from typing import Any


class Finals:
    """What belongs to a name and a number of steps, complete; a base of those below, so no ValueError."""

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
