"""Does a noisy query that is carried past the mixer keep one step of softmax from Bayes for good, or only for long?

    python experiments/longer_denoising.py [--jobs N] [--quick] [--output FILE]

The contestant `softmax` of ``collectives.py`` with its residual path, on denoising at a noise of 1, trained for four and for
sixteen times as long as there. Each length has a learning rate of its own, searched as there, and the same five fresh seeds.

The file is written after every few runs. Where it is already there, with the same settings, only what is missing is trained.
"""

from pathlib import Path
from typing import Any

import collectives
import joblib
import records

TITLE = "One step of softmax with a residual path, trained for longer"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results"
NAME, CONDITION = "softmax", [16, 1.0]
SETTINGS: dict[str, Any] = {"name": NAME, "condition": CONDITION, "steps": [16_000, 64_000]}
SETTINGS |= {"ladder": collectives.LADDER, "search": list(collectives.SEARCH), "seeds": list(collectives.FRESH_SEEDS)}


def missing(runs: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """What a length wants next: rates that are still to be tried, or the fresh seeds at the best; nothing when all is there."""
    have = {collectives.key_of(run): run for run in runs}
    jobs = collectives._next(have, "denoising", NAME, CONDITION, steps)
    return [job for job in jobs if collectives.key_of(job) not in have]


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and train what is missing."""
    parser = records.command(__doc__.splitlines()[0], "three and six steps")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time, each on one core")
    options = parser.parse_args(arguments)
    settings = SETTINGS | ({"steps": [3, 6]} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS / "longer_denoising.json")
    head = records.head("longer_denoising", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    runs: list[dict[str, Any]] = records.earlier(target, settings, head["versions"]).get("runs", [])
    for steps in settings["steps"]:
        while jobs := missing(runs, steps):
            some = jobs[: options.jobs]
            runs += joblib.Parallel(n_jobs=options.jobs)(joblib.delayed(collectives.run)(job) for job in some)
            records.write(head | {"settings": settings, "runs": runs}, target)


if __name__ == "__main__":
    main()
