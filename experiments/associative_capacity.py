"""How much do associative memories hold? Recall against load, and basins against noise, with error bars.

    python experiments/associative_capacity.py [--jobs N] [--dask N] [--quick] [--only everyone] [--cache DIR] [--output FILE]

Random patterns throughout. Three measurements:

- ``load``: a stored pattern is its own cue. It counts as kept when its recall overlaps with it by more than 0.9, and as exact
  when not a spin is wrong. Powers 2 and 3, asynchronous sweeps in random order.
- ``half``: the load at which half of the patterns are kept, between the two loads where the share passes one half.
- ``everyone``: the exponential memory, synchronous sweeps. For cues with k wrong spins, the share of patterns recalled without
  an error, the share of pattern sets in which *every* pattern is, and the number of patterns at which half of the sets are.

A set of patterns is one draw. Patterns of one set share their fate, so every interval is a 95 % bootstrap over sets.

``--only everyone`` measures the last part anew and keeps the others from the record. ``--cache`` remembers the cases that are
done, so that a run which was stopped goes on where it was.
"""

import contextlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import joblib
import numpy as np
import records
import torch
from digits import rounded

from attnlib.course.models import storage_sweep

TITLE = "Capacity and basins of associative memories, random patterns"
RESULTS = Path(__file__).parents[1] / "attnlib" / "course" / "data" / "results"
KEPT = 0.9
"""Overlap above which a pattern counts as kept."""
PROBES = 20
"""Patterns of a set that are tried in the measurement of the load."""
RESAMPLES = 1000

LOADS = {  # degree, d: loads m / d^(degree - 1), sets of patterns per load
    (2, 50): (np.linspace(0.06, 0.36, 16), 150),
    (2, 100): (np.linspace(0.06, 0.30, 13), 100),
    (2, 200): (np.linspace(0.08, 0.26, 10), 60),
    (2, 400): (np.linspace(0.11, 0.21, 11), 30),
    (2, 800): (np.linspace(0.12, 0.19, 8), 15),
    (3, 50): (np.linspace(0.02, 0.24, 12), 60),
    (3, 100): (np.linspace(0.02, 0.18, 9), 30),
}
DIMENSIONS, FLIPS = (20, 22, 24, 26), (0, 1, 2, 3, 4)
LARGEST = 13.0
"""Sets of at most 2 to this power of patterns."""
SETS = 400
"""Sets of patterns for every number of patterns of the exponential memory."""
SEEDS = (
    "trial s of each point draws from seed s, s = 0, 1, ..., sets - 1; in the part everyone "
    "from (100 d + flips) 10^8 + 10^4 m + s; the bootstrap draws from seed 0"
)


def bootstrap(sets: np.ndarray, statistic: Callable[[np.ndarray], float]) -> list[float]:
    """A 95 % interval of a statistic of sets ``[cases, sets]``, each case's sets drawn anew with replacement."""
    draws = np.random.default_rng(0)
    cases = np.arange(len(sets))[:, None]
    found = [statistic(sets[cases, draws.integers(sets.shape[1], size=sets.shape)]) for _ in range(RESAMPLES)]
    return [rounded(q) for q in np.nanquantile(found, (0.025, 0.975))]


def crossing(x: np.ndarray, share: np.ndarray) -> float:
    """Where the share first falls through one half, on a straight line between its neighbours; NaN if it never does."""
    below = np.flatnonzero((share[1:] < 0.5) & (share[:-1] >= 0.5))
    if len(below) == 0:
        return math.nan
    i = below[0]
    return float(x[i] + (share[i] - 0.5) / (share[i] - share[i + 1]) * (x[i + 1] - x[i]))


def mean(sets: np.ndarray) -> float:
    """The mean over everything."""
    return float(sets.mean())


def share(sets: np.ndarray) -> dict[str, object]:
    """A share over sets ``[sets]``, with its interval."""
    return {"share": rounded(sets.mean()), "interval": bootstrap(sets[None], mean)}


def load_curve(degree: int, d: int, loads: Sequence[float], sets: int, jobs: int | None) -> tuple[list[dict], dict]:
    """Shares of patterns kept and exact at each load, and the load that keeps half."""
    counts = [max(1, round(load * d ** (degree - 1))) for load in loads]
    trials = [
        {"d": d, "m": m, "degree": degree, "probes": min(m, PROBES), "seed": seed} for m in counts for seed in range(sets)
    ]
    overlaps = storage_sweep(trials, jobs=jobs)
    kept = np.array([(o > KEPT).double().mean().item() for o in overlaps]).reshape(len(counts), sets)
    exact = np.array([(o == 1).double().mean().item() for o in overlaps]).reshape(len(counts), sets)
    points = [
        {"degree": degree, "d": d, "m": m, "sets": sets, "probes": min(m, PROBES), "kept": share(k), "exact": share(e)}
        for m, k, e in zip(counts, kept, exact)
    ]
    x = np.array(counts) / d ** (degree - 1)
    half = {
        "degree": degree,
        "d": d,
        "load": rounded(crossing(x, kept.mean(1))),
        "interval": bootstrap(kept, lambda s: crossing(x, s.mean(1))),
    }
    return points, half


def everyone(d: int, flips: int, largest: float, sets: int, jobs: int | None) -> dict:
    """The exponential memory: shares at growing numbers of patterns, and the number at which half of the sets come back.

    No two points share a seed, so that the errors of points, of sizes and of flips are independent.
    """
    points, whole = [], []
    for exponent in np.arange(2, largest + 0.25, 0.5):
        m = round(2**exponent)
        settings = {"d": d, "m": m, "degree": "exp", "flips": flips, "mode": "synchronous", "dtype": torch.float64}
        first = (d * 100 + flips) * 10**8 + m * 10**4
        overlaps = storage_sweep([{**settings, "seed": first + s} for s in range(sets)], jobs=jobs)
        back = torch.stack([o == 1 for o in overlaps]).double().numpy()
        whole.append(back.all(1).astype(float))
        points.append({"m": m, "sets": sets, "patterns": share(back.mean(1)), "whole_sets": share(whole[-1])})
        if whole[-1].mean() < 0.05:
            break
    x, table = np.log2([point["m"] for point in points]), np.stack(whole)
    return {
        "d": d,
        "flips": flips,
        "points": points,
        "log2_half": rounded(crossing(x, table.mean(1))),
        "interval": bootstrap(table, lambda s: crossing(x, s.mean(1))),
    }


def basins(d: int, sets: int, jobs: int | None) -> list[dict]:
    """Share of patterns recalled from ever noisier cues, with 2^(d/4) and 2^(d/2) patterns stored."""
    points = []
    for exponent in (d / 4, d / 2):
        for flips in range(10):
            m = round(2**exponent)
            settings = {"d": d, "m": m, "degree": "exp", "flips": flips, "mode": "synchronous", "dtype": torch.float64}
            trials = [{**settings, "probes": min(m, 512), "seed": seed} for seed in range(sets)]
            back = np.array([(o == 1).double().mean().item() for o in storage_sweep(trials, jobs=jobs)])
            points.append({"d": d, "m": m, "flips": flips, "sets": sets, "probes": min(m, 512), "patterns": share(back)})
    return points


def competitors(quick: bool, jobs: int | None, cache: Path | None) -> list[dict]:
    """The part ``everyone``: each number of spins, each number of wrong ones."""
    case = joblib.Memory(cache, verbose=0).cache(everyone, ignore=["jobs"])
    result = []
    for d in DIMENSIONS[:1] if quick else DIMENSIONS:
        for flips in FLIPS[2:3] if quick else FLIPS:
            found = case(d, flips, LARGEST, 8 if quick else SETS, jobs)
            result.append(found)
            print(f"d {d}, {flips} flips: log2 of the number {found['log2_half']} {found['interval']}", flush=True)
    return result


def measure(quick: bool, jobs: int | None, cache: Path | None) -> dict[str, object]:
    """Everything, or (quick) the same shape of everything in seconds."""
    curves = {key: (loads[::3], 4) for key, (loads, _) in LOADS.items() if key[1] == 50} if quick else LOADS
    result: dict[str, list] = {"load": [], "half": [], "everyone": [], "basins": []}
    for (degree, d), (loads, sets) in curves.items():
        points, half = load_curve(degree, d, loads, sets, jobs)
        result["load"] += points
        result["half"].append(half)
        print(f"degree {degree}, d {d}: half are kept at load {half['load']} {half['interval']}", flush=True)
    result["everyone"] = competitors(quick, jobs, cache)
    for d in (20,) if quick else (20, 26):
        result["basins"] += basins(d, 4 if quick else 20, jobs)
    return result


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure, write JSON."""
    parser = records.command("Capacity and basins of associative memories, with error bars.", "few trials, seconds")
    parser.add_argument("--jobs", type=int, help="trials at a time, default one")
    parser.add_argument("--dask", type=int, metavar="N", help="run on a local Dask cluster of N workers")
    parser.add_argument("--only", choices=["everyone"], help="measure this part, keep the others from the record")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="remember the cases of everyone that are done")
    options = parser.parse_args(arguments)
    if options.only and options.quick:
        parser.error("--only goes with the record, which is not quick")
    torch.set_num_threads(1)
    with contextlib.ExitStack() as stack:
        if options.dask:
            from dask.distributed import Client

            stack.enter_context(Client(n_workers=options.dask, threads_per_worker=1, dashboard_address=None))
            stack.enter_context(joblib.parallel_config(backend="dask"))
        if options.only:
            old = json.loads((RESULTS / "associative_capacity.json").read_text(encoding="utf-8"))
            measured = {**old, options.only: competitors(options.quick, options.jobs, options.cache)}
        else:
            measured = measure(options.quick, options.jobs, options.cache)
    by = records.versions("torch", "numpy", "joblib", "attnlib")
    head = records.head("associative_capacity", TITLE, arguments, options.quick, by)
    result = {**head, "seeds": SEEDS, "kept": KEPT, **measured}
    if options.only:  # the run of the other parts stays at the head of the record
        result |= {
            "seeds": SEEDS,
            "newer": {"parts": [options.only], **{name: head[name] for name in ("command", "date", "versions")}},
        }
    target = options.output or (None if options.quick else RESULTS / "associative_capacity.json")
    records.write(result, target, indent=1)
    if target:
        print(f"written to {target}")


if __name__ == "__main__":
    main()
