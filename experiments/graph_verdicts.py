"""Which of the networks on graphs is better, with an error that knows the run and the graphs? Seeds that chose nothing.

    python experiments/graph_verdicts.py [--quick] [--output FILE]

Tasks and models are those of ``graph_classification.py``, with one control more: ``mean_of_pairs`` is ``pairs`` with queries
that are zero for good, so that all pairs talk and a learned number for the kind of a pair is all that weighs them.

- ``search``: the control at the rates of that experiment, and with its seeds. The others' runs are in that record.
- ``communities``: every model at the rate that was best at that length, on seeds that no choice has seen, for 1,200 steps; five
  models for 600, too. Run s learns from graphs of its own and is tested on 1,000 graphs of its own, the same ones for all
  models. So differences are paired by seed, and their spread over seeds knows draw, training and test graphs.
- ``karate``: the three models there at the rate that read most in that record, on a hundred seeds that it has not.

Every run is written as soon as it is done; a second call makes only what is missing. What was predicted before the runs stands
in ``predictions.md``.
"""

import sys
from collections.abc import Iterator

import graph_classification as graphs
import records
import torch

from attnlib.course import recorded

TITLE = "Networks on graphs with errors over seeds and graphs: communities, and the karate club"
RESULTS = graphs.RESULTS / "graph_verdicts.json"
MODELS = (*graphs.MODELS, graphs.CONTROL)
SHORT = ("attention", "mean", "sum", "pairs", graphs.CONTROL)
"""Models that have runs of half the length, too."""
SETTINGS = graphs.SETTINGS | {"first_seed": 201, "seeds": 10, "search_seeds": 5, "karate_seeds": 100}
QUICK = graphs.QUICK | {"first_seed": 201, "seeds": 2, "search_seeds": 1, "karate_seeds": 2}
KEYS = ("stage", "model", "rate", "seed", "steps")


def test_seed(seed: int) -> int:
    """The seed of the graphs that a run is tested on."""
    return 10_000 + seed


def best_rate(model: str, steps: str, runs: list[dict[str, object]], settings: dict[str, object]) -> float | None:
    """The rate with the best mean in the search of a length, ``"steps"`` or ``"short_steps"``; None while one is missing.

    On the karate club (``"karate_steps"``) it is the rate that reads most of the members that are asked for.
    """
    karate = steps == "karate_steps"
    rates = settings["karate_rates" if karate else "rates" if steps == "steps" else "short_rates"]
    if model == graphs.CONTROL:
        length, known = settings[steps], [run for run in runs if run["stage"] == "search"]
    else:
        before = recorded("graph_classification")
        length, known = before["settings"][steps], before["karate" if karate else "communities"]
    found = {
        rate: [run for run in known if (run["model"], run["steps"], run["rate"]) == (model, length, rate)] for rate in rates
    }
    if model == graphs.CONTROL and any(len(tried) < settings["search_seeds"] for tried in found.values()):
        return None
    by = "accuracy" if karate else "chosen_by"
    return max(found, key=lambda rate: sum(run[by] for run in found[rate]))


def jobs(runs: list[dict[str, object]], settings: dict[str, object]) -> list[dict[str, object]]:
    """What is to be run, in the order in which it is: the search, then all models seed by seed."""
    found = [
        ("search", graphs.CONTROL, rate, seed, settings[steps])
        for steps, rates in (("steps", "rates"), ("short_steps", "short_rates"))
        for seed in range(settings["search_seeds"])
        for rate in settings[rates]
    ]
    best = {
        (model, steps): best_rate(model, steps, runs, settings)
        for model in MODELS
        for steps in ("steps", "short_steps")
        if steps == "steps" or model in SHORT
    }
    first = settings["first_seed"]
    if None not in best.values():
        found += [
            ("communities", model, rate, seed, settings[steps])
            for seed in range(first, first + settings["seeds"])
            for (model, steps), rate in best.items()
        ]
    found += [
        ("karate", model, best_rate(model, "karate_steps", runs, settings), seed, settings["karate_steps"])
        for seed in range(first, first + settings["karate_seeds"])
        for model in graphs.MODELS[:3]
    ]
    return [dict(zip(KEYS, job, strict=True)) for job in found]


def due(runs: list[dict[str, object]], settings: dict[str, object]) -> list[dict[str, object]]:
    """The jobs that have no run yet."""
    have = {tuple(run[key] for key in KEYS) for run in runs}
    return [job for job in jobs(runs, settings) if tuple(job.values()) not in have]


def run(job: dict[str, object], settings: dict[str, object]) -> dict[str, object]:
    """Train and test one network."""
    asked = (job["model"], job["rate"], job["seed"], job["steps"], settings)
    if job["stage"] == "karate":
        return job | graphs.train_karate(*asked)
    if job["stage"] == "search":
        return job | {"chosen_by": graphs.measure(graphs.trained(*asked), 1, settings)["accuracy"]}
    found = graphs.measure(graphs.trained(*asked), test_seed(job["seed"]), settings)
    return job | {key: found[key] for key in ("accuracy", "excess", "optimum")}


def measure(result: dict, settings: dict[str, object]) -> Iterator[dict]:
    """Make what is missing, and hand over the result after every run."""
    while missing := due(result["runs"], settings):
        for job in missing:
            result["runs"].append(run(job, settings))
            print(result["runs"][-1], file=sys.stderr, flush=True)
            yield result


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure what is missing, write JSON after every run."""
    parser = records.command(__doc__.splitlines()[0], "tiny sizes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if options.quick else SETTINGS
    target = options.output or (None if options.quick else RESULTS)
    earlier = records.earlier(target, settings)
    result = {
        **records.head("graph_verdicts", TITLE, arguments, options.quick, records.versions(*graphs.PACKAGES)),
        "seeds": "run s draws its parameters from seed s, its graphs from 1000 + s, and is tested on graphs from 10000 + s",
        "settings": settings,
        "runs": earlier.get("runs", []),
    }
    for now in measure(result, settings):
        records.write(now, target)


if __name__ == "__main__":
    main()
