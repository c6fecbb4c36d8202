"""Which physics does a mixer carry, and does the task need it? The runs of chapter 7, pages 7a to 7c.

    python experiments/collectives.py [--axes NAME ...] [--jobs N | --dask ADDRESS] [--runs FOLDER] [--output FILE]
    python experiments/collectives.py --pilot | --time | --quick

Four tasks with exact answers (``collective_tasks.py``), contestants with floors (``collective_contestants.py``). A contestant
gets a learning rate of its own under each condition: four rates a factor of three apart, two seeds, at full length, and more
rates where the best is at an end; then five fresh seeds at its best rate, with what is changed in them when they are trained
(``collective_interventions.py``). A run whose loss or solver fails is counted, and has no score.

Every run is a file in FOLDER, named by the hash of its settings, as soon as it is done; a second call makes only what is
missing. All of them together are written to the record after each contestant. ``--pilot`` asks how long runs must be: a few
contestants at half, once and twice the length; the axes ``longer`` and ``longest`` give some all their seeds at twice and four
times. ``--time`` measures seconds a step, alone on a quiet machine; after it the axis ``seconds`` trains every contestant for
twice the time of softmax.
What was predicted stands in ``predictions.md``.
"""

import contextlib
import hashlib
import itertools
import json
import math
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import collective_contestants as contestants
import joblib
import records
import torch
from collective_interventions import judge
from collective_tasks import TASKS
from tqdm.auto import tqdm

from attnlib.transformer.training import FRESH, train_one

TITLE = "Mixers beside each other on four tasks with exact answers"
HERE = Path(__file__).parent
RESULTS = HERE.parent / "attnlib" / "course" / "data" / "results" / "collectives.json"
RUNS = HERE / "runs" / "collectives"
LADDER = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1]
FIRST = range(2, 6)
"""The rungs that all try."""
SEARCH, FRESH_SEEDS = (0, 1), (11, 12, 13, 14, 15)
STEPS = {"spins": 3000, "denoising": 4000, "hops": 4000, "markov": 4000}
BATCH = {"spins": 64, "denoising": 64, "hops": 64, "markov": 32}
TEST = {"spins": 4096, "denoising": 16384, "hops": 4096, "markov": 2048}
AXES = ("spins", "denoising", "hops", "markov", "longer", "longest", "seconds")
SECONDS = {"spins": [1.0], "denoising": [16, 1.0], "hops": [2], "markov": None}
"""Under which condition a task is also raced for equal seconds."""
PILOTS = {
    "spins": (("softmax", "linear", "softmax, 4 tied steps", "vector-spins-softmax", "softmax, 2 tied steps"), [[1.0]]),
    "denoising": (("softmax", "energy-half-steps", "energy, 4 steps"), [[16, 1.0]]),
    "hops": (("softmax", "walker, 2 steps", "softmax, 2 blocks"), [[2]]),
    "markov": (("softmax, 2 blocks", "softmax"), [[]]),
}
CROSSING = {("spins", name): [[0.01], [0.03], [0.1]] for name in ("softmax", "linear")}
"""Who is also trained for twice as long around the share where they change places, and for four times at the least."""
KEYS = ("task", "name", "condition", "stage", "rate", "seed", "steps", "batch", "test")


def setting(task: str, name: str, condition: list[float], stage: str, rate: float, seed: int, steps: int) -> dict[str, Any]:
    """What defines a run."""
    given = (task, name, condition, stage, rate, seed, steps, BATCH[task], TEST[task])
    return dict(zip(KEYS, given, strict=True))


def key_of(run: dict[str, Any]) -> str:
    """The name of a run's file: a hash of its settings."""
    text = json.dumps({key: run[key] for key in KEYS}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(job: dict[str, Any], keep: Path | None = None) -> dict[str, Any]:
    """Train one network, and where it is a final one, change it and look."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    task = TASKS[job["task"]](job["condition"], contestants.form(job["task"], job["name"]))
    how = {key: job[key] for key in ("rate", "seed", "steps", "batch", "test")}
    begin = time.process_time()
    try:
        done = train_one(lambda: contestants.made(job["task"], job["name"]), task, **how)
    except ValueError as error:  # in the first step
        return job | {"failure": str(error)[:200], "score": None, "succeeded": False}
    tenth = max(1, len(done.losses) // 10)
    curve = [
        statistics.mean(done.losses[start : start + tenth]) for start in range(0, tenth * 10, tenth) if done.losses[start:]
    ]
    score = None if math.isnan(done.score) else done.score
    found = {"score": score, "succeeded": done.succeeded, "failure": done.failure[:200], "numbers": done.parameters}
    found |= {"curve": curve, "cpu_seconds": time.process_time() - begin}
    if job["stage"] == "final" and not done.failure:
        generator = torch.Generator().manual_seed(FRESH + job["seed"])
        found["after"] = judge(done.model.eval(), task, min(job["test"], 2048), generator)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            torch.save(done.model.state_dict(), keep / f"{key_of(job)}.pt")
    return records.rounded(job | found, KEYS)


# --- the plan ---


def places(axis: str) -> list[tuple[str, str]]:
    """The contestants of an axis, ``(task, name)``, in the order in which they are raced."""
    if axis == "longer":
        return [(task, name) for task, (names, _) in PILOTS.items() for name in names]
    if axis == "longest":
        return list(CROSSING)
    tasks = contestants.CONTESTANTS if axis == "seconds" else {axis: contestants.CONTESTANTS[axis]}
    return [(task, name) for task, names in tasks.items() for name in names]


def wanted(runs: list[dict[str, Any]], axis: str, timing: dict[str, float], task: str, name: str) -> list[dict[str, Any]]:
    """What a contestant wants next: searches that are open, then fresh seeds; nothing when all is there."""
    have = {key_of(one): one for one in runs}
    conditions, steps = contestants.conditions(task, name), STEPS[task]
    if axis == "longer":
        conditions, steps = PILOTS[task][1] + CROSSING.get((task, name), []), 2 * steps
    if axis == "longest":
        conditions, steps = CROSSING[task, name][:1], 4 * steps
    if axis == "seconds":
        conditions, steps = ([SECONDS[task]], bought(timing)[task][name]) if name in bought(timing)[task] else ([], 0)
    jobs = [job for condition in conditions for job in _next(have, task, name, condition, steps)]
    return [job for job in jobs if key_of(job) not in have]


def bought(timing: dict[str, float]) -> dict[str, dict[str, int]]:
    """How many steps twice the time of softmax buys, by task and contestant: at most four times as many, at least a hundred."""
    found: dict[str, dict[str, int]] = {task: {} for task in STEPS}
    for task, name in places("seconds"):
        if f"{task}: {name}" in timing and SECONDS[task] in contestants.conditions(task, name):
            steps = round(STEPS[task] * 2 * timing[f"{task}: softmax"] / timing[f"{task}: {name}"], -2)
            found[task][name] = int(max(100, min(4 * STEPS[task], steps)))
    return found


def _next(have: dict[str, dict[str, Any]], task: str, name: str, condition: list[float], steps: int) -> list[dict]:
    """Rates that are still to be tried, or the fresh seeds at the best."""
    one = TASKS[task].better == "lower"

    def search(place: int) -> list[dict[str, Any]]:
        return [setting(task, name, condition, "search", LADDER[place], seed, steps) for seed in SEARCH]

    def scores(place: int) -> list[float | None]:
        return [have[key]["score"] for key in map(key_of, search(place)) if key in have]

    def loss(place: int) -> float:
        return math.inf if None in scores(place) else statistics.mean(scores(place)) * (1 if one else -1)

    tried = [place for place in range(len(LADDER)) if len(scores(place)) == len(SEARCH) or None in scores(place)]
    missing = [place for place in FIRST if place not in tried]
    if not missing:
        best = min(tried, key=loss)
        missing = [place for place in (best - 1, best + 1) if 0 <= place < len(LADDER) and place not in tried]
    if missing:
        return [job for place in missing for job in search(place)]
    if loss(best) == math.inf:  # at each rate a run has broken down, so none is best
        return []
    return [setting(task, name, condition, "final", LADDER[best], seed, steps) for seed in FRESH_SEEDS]


def pilots() -> list[dict[str, Any]]:
    """A few contestants at three lengths, each at two rates, from one seed of the search."""
    found = []
    for task, (names, conditions) in PILOTS.items():
        for name, condition, factor, place in itertools.product(names, conditions, (0.5, 1, 2), (3, 4)):
            found.append(setting(task, name, condition, "pilot", LADDER[place], 0, round(STEPS[task] * factor)))
    return found


def timed(steps: int = 10, repeats: int = 5) -> dict[str, float]:
    """Seconds a step of each contestant: what four times the steps take longer, of the least of a few repeats in turn.

    The difference leaves out what a run spends once, on its parameters and its test.
    """
    least: dict[tuple[str, int], float] = {}
    for _ in range(repeats):
        for task, names in contestants.CONTESTANTS.items():
            for name, length in itertools.product(names, (steps, 4 * steps)):
                condition = contestants.conditions(task, name)[-1]
                job = setting(task, name, condition, "time", 1e-3, 0, length) | {"test": 600}
                place, spent = (f"{task}: {name}", length), run(job).get("cpu_seconds", math.inf)
                least[place] = min(spent, least.get(place, math.inf))
    places = {place for place, length in least if length == steps and least[place, length] < math.inf}
    return {place: (least[place, 4 * steps] - least[place, steps]) / (3 * steps) for place in sorted(places)}


# --- the record ---


def known(folder: Path) -> list[dict[str, Any]]:
    """All runs that are there."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def make(jobs: list[dict[str, Any]], folder: Path, keep: Path | None, label: str) -> None:
    """Make runs by as many processes as joblib was told to take, each written to its file."""
    kept = lambda job: keep if keep and job["name"].startswith("walker") and job["seed"] == FRESH_SEEDS[0] else None  # noqa: E731
    made = joblib.Parallel(return_as="generator_unordered", batch_size=1)(joblib.delayed(run)(job, kept(job)) for job in jobs)
    for found in tqdm(made, total=len(jobs), desc=label, disable=None, mininterval=10):
        records.write(found, folder / f"{key_of(found)}.json")
        print(*(found[key] for key in (*KEYS[:7], "score", "failure")), file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and make what is missing."""
    parser = records.command(__doc__.splitlines()[0], "runs of three steps, in a folder that --runs names")
    parser.add_argument("--axes", nargs="+", choices=AXES, default=AXES)
    parser.add_argument("--runs", type=Path, default=RUNS, metavar="FOLDER", help="where each run is written")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time, each on one core")
    parser.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler, or a number of workers for a local cluster")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to keep the weights of one walker of each kind")
    parser.add_argument("--pilot", action="store_true", help="only ask how long runs must be")
    parser.add_argument("--time", action="store_true", help="only measure seconds a step")
    options = parser.parse_args(arguments)
    if options.quick and options.runs == RUNS:
        parser.error("--quick needs a folder of its own: --runs FOLDER")
    if options.quick:
        STEPS.update(dict.fromkeys(STEPS, 3))
        TEST.update(dict.fromkeys(TEST, 600))
    clock = options.runs / "timing.txt"
    if options.time:
        clock.parent.mkdir(parents=True, exist_ok=True)
        clock.write_text(json.dumps(records.rounded(timed()), indent=1), encoding="utf-8")
        return
    with contextlib.ExitStack() as stack:
        if options.dask:
            from dask.distributed import Client  # an extra, wanted only here

            local = {"n_workers": int(options.dask), "threads_per_worker": 1, "dashboard_address": None}
            stack.enter_context(Client(**local) if options.dask.isdigit() else Client(options.dask))
            stack.enter_context(joblib.parallel_config(backend="dask"))
        else:
            stack.enter_context(joblib.parallel_config(n_jobs=options.jobs))
        if options.pilot:
            done = {key_of(one) for one in known(options.runs)}
            make([job for job in pilots() if key_of(job) not in done], options.runs, None, "pilot")
            return
        timing = json.loads(clock.read_text(encoding="utf-8")) if clock.exists() else {}
        for axis in options.axes:
            for task, name in places(axis):
                while jobs := wanted(known(options.runs), axis, timing, task, name):
                    make(jobs, options.runs, options.keep, f"{axis}, {name}")
                    gather(options, arguments, timing)
    gather(options, arguments, timing)


def gather(options: Any, arguments: list[str] | None, timing: dict[str, float]) -> None:
    """Write all runs as one record."""
    settings = {"steps": STEPS, "batch": BATCH, "test": TEST, "search": SEARCH, "seeds": FRESH_SEEDS, "ladder": LADDER}
    settings |= {"seconds": {"conditions": SECONDS, "steps": bought(timing)}}
    head = records.head("collectives", TITLE, arguments, options.quick, records.versions("torch", "attnlib"))
    result = head | {"settings": settings | {"sizes": contestants.SIZES}, "timing": timing, "runs": known(options.runs)}
    records.write(result, options.output or (None if options.quick else RESULTS))


if __name__ == "__main__":
    main()
