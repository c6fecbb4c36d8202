"""Who has learned two hops, has that network learned to walk? Tied blocks without a residual path, of four heads and of one.

    python experiments/walkers.py --runs FOLDER [--quick] [--output FILE]

The walkers of ``collectives.py``, trained on two hops alone, from more seeds: each at the rate that the search there, whose
runs lie in FOLDER, has found best. Of each network: what T steps score on T hops, by the likeliest place and by the
least likely one; what weight each head gives the right fact at the first step and at the second; and what two hops lose when a
head says its mean in place of what it reads, at one of the two steps only.

The file is written after every run. Where it is already there, with the same settings, only what is missing is trained.
"""

import statistics
from pathlib import Path
from typing import Any

import collective_contestants as contestants
import collectives
import records
import torch
from collective_interventions import mixers, seen, without
from collective_tasks import Hops
from torch import Tensor
from tqdm.auto import tqdm

from attnlib.transformer.training import FRESH, train_one

TITLE = "Walkers of four heads and of one"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results"
NAMES = {4: "walker, 2 steps", 1: "walker with one head, 2 steps"}
WALKS = (1, 2, 3, 4, 6, 8)
SETTINGS: dict[str, Any] = {"seeds": [11, 25], "walks": WALKS, "steps": 4000, "batch": 64, "test": 4096}


def best_rate(runs: list[dict[str, Any]], name: str, steps: int) -> float:
    """The rate whose two searches of this length score most on two hops, the lowest of equals. ValueError if there are none."""
    scores: dict[float, list[float]] = {}
    for run in runs:
        if (run["task"], run["name"], run["stage"], run["steps"]) == ("hops", name, "search", steps):
            scores.setdefault(run["rate"], []).append(run["score"])
    return max(sorted(scores), key=lambda rate: statistics.mean(scores[rate]))


def walks(model: torch.nn.Module, task: Hops, inputs: object) -> dict[str, list[float]]:
    """How often T hops lead to the place that is likeliest after T steps, and to the one that is least likely."""
    ends = [(model(inputs, steps=steps), task.asked.answer(steps)) for steps in WALKS]
    right = lambda said, true: float((said == true).float().mean())  # noqa: E731
    return {
        "walks": [right(end.argmax(-1), true) for end, true in ends],
        "least": [right(end.argmin(-1), true) for end, true in ends],
    }


def targets_of(model: torch.nn.Module, task: Hops, inputs: object) -> list[list[float]]:
    """The weight of the fact about the place that has been reached, at each of two steps: ``[2][heads]``."""
    with seen(mixers(model)[0]) as records_:
        model(inputs, steps=2)
    places = [task.asked.answer(step)[:, None, None, None] for step in (0, 1)]
    pairs = zip(records_, places, strict=True)
    return [one.weights.take_along_dim(place, -1).mean((0, 2, 3)).tolist() for one, place in pairs]


def costs(model: torch.nn.Module, inputs: tuple[Tensor, Tensor], targets: Tensor) -> list[list[float]]:
    """What two hops lose when a head says its mean at the first step only, and at the second: ``[2][heads]``."""
    mixer, (x, context) = mixers(model)[0], model.prepared(inputs)
    whole = float((model(inputs).argmax(-1) == targets).float().mean())
    found: list[list[float]] = [[], []]
    for head in range(mixer.heads):
        for changed in (0, 1):
            state = x
            for step in (0, 1):
                if step == changed:
                    with without(mixer, [head]):
                        state = model.stack.step(state, step, context)
                else:
                    state = model.stack.step(state, step, context)
            found[changed].append(whole - float((model.read(state).argmax(-1) == targets).float().mean()))
    return found


def run(heads: int, seed: int, rate: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Train one walker and look at it."""
    torch.set_num_threads(1)
    task = Hops([2], contestants.form("hops", NAMES[heads]))
    how = {key: settings[key] for key in ("steps", "batch", "test")}
    trained = train_one(lambda: contestants.made("hops", NAMES[heads]), task, rate=rate, seed=seed, **how)
    inputs, targets = task.batch(settings["test"], torch.Generator().manual_seed(FRESH + seed))
    model = trained.model.eval()
    with torch.no_grad():
        found: dict[str, Any] = walks(model, task, inputs) | {"targets": targets_of(model, task, inputs)}
        found["costs"] = costs(model, inputs, targets)
    return records.rounded({"heads": heads, "seed": seed, "rate": rate, "score": trained.score} | found, ("rate",))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and train who is missing."""
    parser = records.command(__doc__.splitlines()[0], "three steps from two seeds")
    parser.add_argument("--runs", type=Path, required=True, metavar="FOLDER", help="where the searches of collectives.py are")
    options = parser.parse_args(arguments)
    settings = SETTINGS | ({"seeds": [11, 12], "steps": 3, "test": 64} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS / "walkers.json")
    searched = collectives.known(options.runs)
    settings |= {"rates": {str(heads): best_rate(searched, name, settings["steps"]) for heads, name in NAMES.items()}}
    settings = records.rounded(settings, ("rates",))
    head = records.head("walkers", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    rows: list[dict[str, Any]] = records.earlier(target, settings, head["versions"]).get("rows", [])
    first, last = settings["seeds"]
    jobs = [(heads, seed) for heads in NAMES for seed in range(first, last + 1)]
    have = {(row["heads"], row["seed"]) for row in rows}
    for heads, seed in tqdm([job for job in jobs if job not in have], desc="walkers", disable=None):
        rows.append(run(heads, seed, settings["rates"][str(heads)], settings))
        records.write(head | {"settings": settings, "rows": rows}, target)


if __name__ == "__main__":
    main()
