"""One block on two hops for longer, and a walker with a path past its mixer and nothing else changed.

    python experiments/more_hops.py [--jobs N] [--quick] [--output FILE]

Is it a matter of length that one block does not learn two hops? Softmax and four half steps of energy attention, contestants of
``collectives.py`` that are applied once, for four times as many batches. And is it the path past its mixer that keeps a walker
from walking? ``walker with a residual path, 2 steps`` has its norm before the mixer and a network too; here the path is all.
Each gets rates, two seeds by which the best of them is chosen, the lowest of equals, and five fresh seeds. Of tied ones: what T
steps score on T hops, and how often a third step keeps the answer to two.

The file is written after every run. Where it is already there, with the same settings, only what is missing is trained.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import collective_contestants as contestants
import joblib
import records
import torch
from collective_tasks import Hops
from torch import nn
from tqdm.auto import tqdm
from walkers import RESULTS, walks

from attnlib.attention import SoftmaxAttention
from attnlib.transformer import Block, Stack
from attnlib.transformer.training import FRESH, train_one

TITLE = "One block on two hops for longer, and a walker with a path past its mixer alone"
PATH = "walker with a path alone, 2 steps"
LONGER = {"steps": 16_000, "rates": [0.003, 0.01], "seeds": [11, 12, 13, 14, 15]}
SETTINGS: dict[str, Any] = {
    "contestants": {
        PATH: {"steps": 4000, "rates": [0.001, 0.003, 0.01], "seeds": [16, 17, 18, 19, 20]},
        "energy-half-steps": LONGER,
        "softmax": LONGER,
    },
    "search": [0, 1],
    "batch": 64,
    "test": 4096,
}
SHORT = {"steps": 3, "rates": [0.003, 0.01], "seeds": [11]}
QUICK = SETTINGS | {"contestants": {PATH: SHORT, "softmax": SHORT}, "test": 64}

Job = tuple[str, float, int]
"""A contestant, a rate, a seed."""
Run = Callable[[Job, dict[str, Any]], dict[str, Any]]
"""What trains one network under the settings, and looks at it."""


def made(name: str) -> nn.Module:
    """The stack of a contestant, with fresh parameters."""
    if name != PATH:
        return contestants.made("hops", name)
    return Stack(Block(SoftmaxAttention(32, heads=4), **{**contestants.WALK, "residual": True}), steps=2)


def run(job: Job, settings: dict[str, Any]) -> dict[str, Any]:
    """Train one network and look at it."""
    torch.set_num_threads(1)
    name, rate, seed = job
    task, steps = Hops([2], "context"), settings["contestants"][name]["steps"]
    how = {"steps": steps, "batch": settings["batch"], "test": settings["test"]}
    trained = train_one(lambda: made(name), task, rate=rate, seed=seed, **how)
    found: dict[str, Any] = {"name": name, "rate": rate, "seed": seed, "score": trained.score}
    if trained.model.stack.tied:
        inputs, targets = task.batch(settings["test"], torch.Generator().manual_seed(FRESH + seed))
        model = trained.model.eval()
        with torch.no_grad():
            found |= walks(model, task, inputs)
            found["kept"] = float((model(inputs, steps=3).argmax(-1) == targets).float().mean())
    return records.rounded(found, ("rate",))


def wanted(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Job]:
    """What is missing: searches, and of contestants that have all of them, or one rate, the fresh seeds at the best rate."""
    scores = {(row["name"], row["rate"], row["seed"]): row["score"] for row in rows}
    jobs: list[Job] = []
    pick = min if settings.get("better") == "lower" else max
    for name, how in settings["contestants"].items():
        seeds = settings["search"] if len(how["rates"]) > 1 else []
        search = {rate: [(name, rate, seed) for seed in seeds] for rate in how["rates"]}
        missing = [job for jobs_of in search.values() for job in jobs_of if job not in scores]
        if not missing:
            best = pick(how["rates"], key=lambda rate, of=search: sum(scores[job] for job in of[rate]))
            missing = [(name, best, seed) for seed in how["seeds"] if (name, best, seed) not in scores]
        jobs += missing
    return jobs


def make_record(
    name: str, doc: str, title: str, run: Run, settings: dict[str, Any], quick: dict[str, Any], arguments: list[str] | None
) -> None:
    """Read the command line, train who is missing, and write the record after every run."""
    parser = records.command(doc.splitlines()[0], "three steps from one seed")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time, each on one core")
    options = parser.parse_args(arguments)
    settings = quick if options.quick else settings
    target: Path | None = options.output or (None if options.quick else RESULTS / f"{name}.json")
    head = records.head(name, title, arguments, options.quick, records.versions("torch", "attnlib"))
    rows: list[dict[str, Any]] = records.earlier(target, settings, head["versions"]).get("rows", [])
    while missing := wanted(rows, settings):
        parallel = joblib.Parallel(n_jobs=options.jobs, return_as="generator_unordered", batch_size=1)
        for found in tqdm(parallel(joblib.delayed(run)(job, settings) for job in missing), total=len(missing), disable=None):
            rows.append(found)
            rows.sort(key=lambda row: (list(settings["contestants"]).index(row["name"]), row["rate"], row["seed"]))
            records.write(head | {"settings": settings, "rows": rows}, target)


def main(arguments: list[str] | None = None) -> None:
    """Make what is missing of this script's record."""
    make_record("more_hops", __doc__, TITLE, run, SETTINGS, QUICK, arguments)


if __name__ == "__main__":
    main()
