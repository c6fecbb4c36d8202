"""A record with a run for each of page 7d's networks: written after each, and it goes on where it was stopped.

Nothing to run here: ``examinations.py`` and ``driven_specimens.py`` ask for it.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import records
import torch

from attnlib.course.models.specimens import NETWORKS

Make = Callable[[str, int, Path, dict[str, Any]], dict[str, Any]]
"""A run, of a network's name and seed, the folder with its weights, and settings."""


def record(
    make: Make, results: Path, said: tuple[str, str, str], kinds: tuple[dict, dict], arguments: list[str] | None
) -> None:
    """Read the command line and make the runs that are missing, of networks whose weights are there.

    ``said`` is the record's title, what the script does, and what is small when it is quick; ``kinds`` its settings and those.
    """
    title, text, small = said
    parser = records.command(text, small)
    parser.add_argument("--weights", type=Path, metavar="FOLDER", required=True, help="where specimens.py has put its networks")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = kinds[options.quick]
    target = options.output or (None if options.quick else results)
    runs = records.earlier(target, settings).get("runs", [])
    head = records.head(results.stem, title, arguments, options.quick, records.versions("attnlib", "torch"))
    for seed in range(1, settings["seeds"] + 1):
        for network in NETWORKS:
            known = any((one["network"], one["seed"]) == (network, seed) for one in runs)
            if not known and (options.weights / f"{network}-{seed}.pt").exists():
                runs.append(make(network, seed, options.weights, settings))
                print(network, seed, file=sys.stderr, flush=True)
                records.write(head | {"settings": settings, "runs": runs}, target)
