"""Run pages with other random numbers, and say which claims fail: those that hold by the luck of a draw.

    python tools/reseed_pages.py [--shift N ...] [PAGE ...]

What is claimed of random draws should hold for the next ones. Every seed that a page, or the package for it, gives to one of
torch's generators is turned into another, the same for the same shift; the page runs to its end, and claims that fail and
cells that raise an error are written down. Some must fail: a run that was recorded, made again from its seed, and a sentence
about the one draw that it shows, if it says so. The others want more draws, or another sentence, not a wider bound. A page is a
file, or the beginning of its name in ``notebooks/``; without arguments all are run, each in a process of its own, for shifts 1
and 2. Fails when a claim has failed. A page takes a minute or so, and no test runs this over the course.
"""

import argparse
import contextlib
import io
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import course
import matplotlib.pyplot as plt
import torch
from execute_notebooks import pages

import attnlib.course
from attnlib.course import claims, plots

STRIDE = 7919
"""What is a seed times this, so that the seeds of a page that counts them do not become each other."""
seed_all = torch.manual_seed


def other(seed: int, shift: int) -> int:
    """Another seed."""
    return (STRIDE * int(seed) + shift) % 2**62


class Reseeded(torch.Generator):
    """A generator that takes another seed than it is given."""

    shift = 1

    def manual_seed(self, seed: int) -> "Reseeded":
        super().manual_seed(other(seed, self.shift))
        return self


def reseed(shift: int) -> None:
    """From here on torch's seeds are others in this process."""
    Reseeded.shift = shift
    torch.Generator = Reseeded
    torch.manual_seed = lambda seed: seed_all(other(seed, shift))


def failures(path: Path) -> list[str]:
    """What fails on a page, claims and cells, in its order."""
    found: list[str] = []

    def claim(*given: Any, **named: Any) -> Any:
        try:
            return kept(*given, **named)
        except claims.ClaimError as error:
            found.append(str(error))

    kept, claims.claim, attnlib.course.claim = claims.claim, claim, claim
    space: dict[str, Any] = {"__name__": "__main__", "plots": plots}  # as set-up leaves it
    for number, cell in enumerate(course.code_cells(course.read(path))):
        if course.has_tag(cell, "setup"):
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                exec(compile(cell.source, f"{path.name}, cell {number}", "exec"), space)
        except Exception as error:
            found.append(f"cell {number} raises {type(error).__name__}: {error}")
        plt.close("all")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--shift", nargs="+", type=int, default=[1, 2], help="which other numbers; default 1 and 2")
    told = parser.parse_args(arguments)
    try:
        paths = pages(told.pages)
    except ValueError as error:
        parser.error(str(error))
    if len(paths) * len(told.shift) > 1:
        runs = [[sys.executable, __file__, str(path), "--shift", str(shift)] for path in paths for shift in told.shift]
        return max(subprocess.run(run, check=False).returncode for run in runs)
    reseed(told.shift[0])
    plt.switch_backend("agg")
    found = failures(paths[0])
    print(f"{paths[0].name}, shift {told.shift[0]}: {len(found) or 'nothing'} failed", *found, sep="\n  ", flush=True)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
