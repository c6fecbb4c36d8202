"""Which classifier of digits is better, with an error over runs? Five fresh seeds on each fold, rates of every length's own.

    python experiments/digit_verdicts.py [--only NAME ...] [--steps N ...] [--quick] [--output FILE]

Folds, patches and classifiers are those of ``digits.py`` and ``vector_spins.py``; every contestant that a page compares is
here, at every length that a page reports. A run is a seed and a fold, and no seed has served for a choice. On each fold all
contestants are tested on the same pictures, so their differences are paired by fold.

- ``search``: as there, on two folds of what fold 0 learns from. Searches of 300 and 3,000 steps that are on record are taken
  from there; those of 1,000 steps are made here for all, with three seeds on each fold (one where a step is slow).
- ``final``: seeds 11 to 15 on folds 0 to 4, at the rate that was best at the same length; 16 to 20, too, for one head with
  couplings learned or random, where five left the verdict open.

Contestants that are new:

- ``random, L``: one head of vector spins whose couplings stay as drawn, scaled so that their largest eigenvalue is L exactly;
  ``random, as learned`` is scaled to the largest eigenvalue that the run of ``free`` with the same seed, fold and length ended
  with (in the search: to the mean over these).
- ``equilibrium block``: the block of the deep equilibrium model, applied once or eight times in place of until nothing
  changes; and ``held``, iterated to its fixed point, with attention's output scaled down after each step of training where an
  error would grow to over 0.8 of itself in a step.

Runs of one contestant are trained together (``together.py``) and written together; a second call makes only what is missing.
What was predicted before the runs stands in ``predictions.md``.
"""

import datetime
import statistics
import warnings
from collections.abc import Iterator

import digits
import records
import together
import torch
import vector_spins
from torch import nn

from attnlib import ConvergenceWarning
from attnlib.course import recorded
from attnlib.course.models import teach_labels
from attnlib.mean_field import symmetric_couplings

TITLE = "Classifiers of handwritten digits with errors over runs: five seeds on each of five folds"
RESULTS = digits.RESULTS.with_name("digit_verdicts.json")
SETTINGS = {"folds": 5, "seeds": [11, 12, 13, 14, 15], "search_seeds": [0, 1, 2], "hold": 0.8}
SHORT, MIDDLE, LONG = digits.STEPS
LEARNED, MATCHED = "free", "random, as learned"
RANDOM = {f"random, {top}": float(top) for top in (0.5, 2, 5, 10, 15, 25, 40, 80, 160)}
ITERATED = "softmax attention, six heads, to its fixed point"
HELD = "equilibrium block, held"
SLOW = (
    ITERATED,
    HELD,
    "spherical, none",
    "spherical, neural",
    "binary, neural",
    "gaussian, neural",
    "binary, exact",
    "spherical, exact",
)
"""Contestants whose searches have one seed a fold."""
MORE = [16, 17, 18, 19, 20]
"""Seeds besides, for one head with couplings learned or random."""
PLAN = [
    *((LEARNED, steps) for steps in (MIDDLE, SHORT)),
    *((name, steps) for steps in (MIDDLE, SHORT) for name in (*RANDOM, MATCHED)),
    *(
        (name, steps)
        for steps in (MIDDLE, SHORT, LONG)
        for name in (
            "softmax attention, six heads",
            "free, six heads",
            "tanh, six heads",
            "free, six heads, one z",
            "binary, none",
            "softmax block, 16 wide",
            "softmax block, 10 wide",
            "no mixer: 64 pixels",
            "gaussian",
        )
    ),
    *((name, steps) for steps in (MIDDLE, SHORT) for name in vector_spins.CONTROLS),
    *(
        (name, steps)
        for steps in (MIDDLE, SHORT)
        for name in (
            "tanh",
            "tanh, mean only",
            "softmax",
            "softmax, mean only",
            "binary, none, asymmetric",
            "binary, none, symmetric inside",
            "binary, none, self-coupled",
            "gaussian, asymmetric",
            "binary, none, couplings as drawn",
            "binary, neural",
            "spherical, none",
        )
    ),
    (LEARNED, LONG),
    *((ITERATED, steps) for steps in (MIDDLE, SHORT)),
    ("binary, exact", SHORT),
    *((name, steps) for steps in (MIDDLE, SHORT) for name in ("gaussian, neural", "spherical, neural")),
    ("spherical, exact", SHORT),
]
"""Who is trained for how long, in the order in which it is done: the most important first."""
NAMES = tuple(dict.fromkeys(name for name, _ in PLAN))
KEYS = ("stage", "name", "rate", "steps", "fold", "seed")


def script(name: str):
    """The script that a contestant comes from."""
    return digits if name in digits.NAMES else vector_spins


def classifier(name: str, top: float | None) -> nn.Module:
    """The classifier of a name, drawn from torch's generator; with random couplings scaled to a largest eigenvalue."""
    if top is None:
        return script(name).classifier(name, script(name).SETTINGS)
    model = vector_spins.classifier("free, as drawn", vector_spins.SETTINGS)
    with torch.no_grad():
        J = symmetric_couplings(model.mixer.couplings[..., None, None])[0, ..., 0, 0]
        model.mixer.couplings.mul_(top / torch.linalg.eigvalsh(J)[-1])
    return model


def best_rate(name: str, tried: list[dict], steps: int) -> tuple[float | None, list[float]]:
    """As ``digits.searched``; the stronger random couplings are, the higher the rates that their maps want."""
    return digits.searched(name, tried, steps, 100.0 if name in (*RANDOM, MATCHED) else 3.0)


def seeds_of(name: str, settings: dict[str, object]) -> list[int]:
    """The seeds of a contestant's final runs."""
    more = MORE if name in (LEARNED, MATCHED, *RANDOM) and settings == SETTINGS else []
    return [*settings["seeds"], *more]


def top_of(name: str, stage: str, steps: int, runs: list[dict], where: tuple[int, int]) -> float | None:
    """The largest eigenvalue that random couplings are scaled to, for the run of a fold and a seed."""
    if name != MATCHED:
        return RANDOM.get(name)
    tops = {
        (run["fold"], run["seed"]): run["largest_eigenvalue"]
        for run in runs
        if (run["stage"], run["name"], run["steps"]) == ("final", LEARNED, steps)
    }
    return statistics.mean(tops.values()) if stage == "search" else tops[where]


def searches(name: str) -> list[dict]:
    """The searches of a contestant that are on record."""
    known = [run for run in recorded(script(name).__name__)["runs"] if run["stage"] == "search"]
    return [run for run in known if run["name"] == name and run["steps"] != MIDDLE]


def due(runs: list[dict], plan: list[tuple[str, int]], settings: dict[str, object], known=searches) -> list[dict]:
    """The runs to be made together next: those of one contestant, one length and one stage."""
    have = {tuple(run[key] for key in KEYS) for run in runs}
    mine: dict[str, list[dict]] = {}
    for run in runs:
        mine.setdefault(run["name"], []).append(run)
    for name, length in plan:
        if name not in mine:
            mine[name] = []
        tried = [run for run in mine[name] if run["stage"] == "search"] + known(name)
        best, rates = None, []
        for steps in (SHORT, length):
            best, rates = best_rate(name, tried, steps)
            if best is None:
                break
        if best is None:
            seeds = settings["search_seeds"][: 1 if name in SLOW else None]
            keys = [("search", name, rate, steps, fold, seed) for rate in rates for fold in range(2) for seed in seeds]
        else:
            keys = [
                ("final", name, best, length, fold, seed)
                for seed in seeds_of(name, settings)
                for fold in range(settings["folds"])
            ]
        missing = [dict(zip(KEYS, key, strict=True)) for key in keys if key not in have]
        for job in missing:
            where = job["fold"], job["seed"]
            if (top := top_of(name, job["stage"], job["steps"], runs, where)) is not None:
                job["top"] = top
        if missing:
            return missing
    return []


def first_seed(job: dict) -> int:
    """What a run's generator starts from."""
    return 1000 * job["seed"] + job["fold"]


def restrain(name: str, mixer: object, settings: dict[str, object]) -> None:
    """What is done after each step of training to a mixer, or to those of runs that are trained together."""
    if name in digits.MEAN_FIELD:
        mixer.stabilise(digits.SETTINGS["most"])
    if name == HELD:
        mixer.hold(settings["hold"])


def alone(job: dict, settings: dict[str, object]) -> dict:
    """One run by itself, with ``teach_labels``: what :func:`made` makes of it among others, but for rounding."""
    name, given = job["name"], script(job["name"]).SETTINGS | {"folds": settings["folds"]}
    learned, test = digits.split(job["fold"], given, job["stage"] == "search")
    torch.manual_seed(first_seed(job))
    model = classifier(name, job.get("top"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        losses = teach_labels(
            model,
            learned.pictures,
            learned.labels,
            job["steps"],
            batch=given["batch"],
            learning_rate=job["rate"],
            watch=lambda step: restrain(name, getattr(model, "mixer", None), settings) if step else None,
        )
    ends = losses[-50:]
    return job | {"train_loss": digits.rounded(sum(ends) / len(ends))} | script(name).judged(model, test)


def made(jobs: list[dict], settings: dict[str, object]) -> list[dict]:
    """Train and judge runs together; where one breaks down, the halves apart, and one alone has no right answers."""
    name, steps, searching = jobs[0]["name"], jobs[0]["steps"], jobs[0]["stage"] == "search"
    given = script(name).SETTINGS | {"folds": settings["folds"]}
    parts = [digits.split(job["fold"], given, searching) for job in jobs]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models, losses = together.train(
                lambda r: classifier(name, jobs[r].get("top")),
                [learned for learned, _ in parts],
                [first_seed(job) for job in jobs],
                [job["rate"] for job in jobs],
                steps,
                given["batch"],
                lambda every: restrain(name, every, settings),
            )
            found = [script(name).judged(model, test) for model, (_, test) in zip(models, parts, strict=True)]
    except ValueError as error:
        if len(jobs) > 1:
            half = len(jobs) // 2
            return made(jobs[:half], settings) + made(jobs[half:], settings)
        tested = len(parts[0][1])
        return [jobs[0] | {"tested": tested, "wrong": list(range(tested)), "failed": str(error)[:80]}]
    ends = losses[-50:].mean(0)
    return [job | {"train_loss": digits.rounded(end.item()), **one} for job, end, one in zip(jobs, ends, found, strict=True)]


def measure(result: dict, plan: list[tuple[str, int]], settings: dict[str, object], quick: bool) -> Iterator[dict]:
    """Make what is missing, and hand over the result after every batch of runs."""
    while jobs := due(result["runs"], plan, settings):
        begin = datetime.datetime.now()
        found = made([job | {"steps": 3} for job in jobs] if quick else jobs, settings)
        result["runs"] += [one | {"steps": job["steps"]} for one, job in zip(found, jobs, strict=True)]
        wrong: dict[float, int] = {}
        for one in found:
            wrong[one["rate"]] = wrong.get(one["rate"], 0) + len(one["wrong"])
        took = (datetime.datetime.now() - begin).seconds
        print(jobs[0]["stage"], jobs[0]["name"], jobs[0]["steps"], len(jobs), wrong, f"{took} s", flush=True)
        yield result


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure what is missing, write JSON after every batch of runs."""
    parser = records.command(__doc__.split("\n")[0], "three steps a run")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), help="some contestants, not all")
    parser.add_argument("--steps", nargs="+", type=int, choices=digits.STEPS, default=list(digits.STEPS), help="some lengths")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = SETTINGS | ({"seeds": [11], "search_seeds": [0]} if options.quick else {})
    target = options.output or (None if options.quick else RESULTS)
    earlier = records.earlier(target, settings)
    result = {
        **records.head("digit_verdicts", TITLE, arguments, options.quick, records.versions("torch", "scikit-learn", "attnlib")),
        "seeds": "the run of seed s and fold f draws its parameters and its batches from seed 1000 s + f",
        "settings": settings,
        "runs": earlier.get("runs", []),
    }
    plan = [(name, steps) for name, steps in PLAN if name in options.only and steps in options.steps]
    for now in measure(result, plan, settings, options.quick):
        records.write(now, target)


if __name__ == "__main__":
    main()
