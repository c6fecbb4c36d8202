"""Time contestants side by side and say how they compare to one of them, the reference.

On a busy machine two timings taken a minute apart cannot be divided by each other. So every round runs all contestants
once, in an order drawn anew, and each contestant's time is divided by the reference's time in the same round: what slows
the whole round cancels. Time is processor time, of all threads of this process, so waiting while a neighbour has the core
does not count. The median over the rounds forgets the rounds in which something else went wrong.
"""

import ctypes
import datetime
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

Contestant = Callable[[], tuple[Tensor, ...]]
"""A call without arguments: it does the work and returns its results."""

FEWEST_ROUNDS, MOST_ROUNDS = 5, 200
_TRIM_THRESHOLD, _MOST_MAPPED = -1, -4
"""How mallopt numbers what it is told."""

SECONDS, QUICK_SECONDS = 45.0, 0.5
"""Time by the clock for the rounds of one case, unless all rounds are done before."""


@dataclass(frozen=True)
class Case:
    """One comparison: the sizes, what is measured in words, and the calls to time."""

    sizes: Mapping[str, int]
    measures: str
    contestants: Mapping[str, Contestant]


@dataclass(frozen=True)
class Entry:
    """One benchmark: what each contestant is, which one is the reference, which are lower bounds, and the cases.

    ``cases(quick)`` gives the cases one by one, so that one size at a time is in memory; quick means small sizes. What a
    lower bound returns is not compared with the reference.
    """

    title: str
    contestants: Mapping[str, str]
    reference: str
    cases: Callable[[bool], Iterable[Case]]
    bounds: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    """Contestants that compute something else: timed beside the others, not compared with what the reference returns."""
    on_a_page: bool = False
    """A page shows the result: it lies in the package, where the page finds it in Colab too."""
    keep_memory: bool = False
    """Freed memory stays with the process. Otherwise a contestant of large intermediates is timed with taking it anew."""


def keep_freed_memory() -> bool:
    """Tell the C library to hand no freed memory back, for the rest of the process; whether it can be told."""
    tell = getattr(ctypes.CDLL(None), "mallopt", None) if platform.system() == "Linux" else None
    return tell is not None and bool(tell(_TRIM_THRESHOLD, 2**31 - 1) and tell(_MOST_MAPPED, 0))


def time_rounds(
    contestants: Mapping[str, Contestant], *, seconds: float, fewest: int = FEWEST_ROUNDS, most: int = MOST_ROUNDS
) -> dict[str, np.ndarray]:
    """Run rounds of all contestants, each in an order of its own, until the time is used; return processor seconds per call.

    At least ``fewest`` rounds however long they take, at most ``most``.
    """
    names = list(contestants)
    order = np.random.default_rng(0)
    times: dict[str, list[float]] = {name: [] for name in names}
    start, rounds = time.perf_counter(), 0
    while rounds < fewest or (rounds < most and time.perf_counter() - start < seconds):
        for name in order.permutation(names):
            before = time.process_time()
            contestants[name]()
            times[name].append(time.process_time() - before)
        rounds += 1
    return {name: np.array(taken) for name, taken in times.items()}


def summarise(times: Mapping[str, np.ndarray], reference: str) -> dict[str, dict[str, object]]:
    """Median and quartiles of the times; median of the ratios by round, with a 95 % bootstrap interval."""
    draws = np.random.default_rng(0)
    rounds = len(times[reference])
    picked = draws.integers(rounds, size=(1000, rounds))
    summary = {}
    for name, taken in times.items():
        ratios = taken / times[reference]
        medians = np.median(ratios[picked], axis=1)
        summary[name] = {
            "median": _rounded(np.median(taken)),
            "quartiles": [_rounded(q) for q in np.quantile(taken, (0.25, 0.75))],
            "ratio": _rounded(np.median(ratios)),
            "ratio_interval": [_rounded(q) for q in np.quantile(medians, (0.025, 0.975))],
        }
    return summary


def check_agreement(contestants: Mapping[str, Contestant], reference: str, bounds: Iterable[str] = ()) -> None:
    """Raise unless all but the lower bounds return what the reference returns: only then are their times comparable.

    The calls also serve as warm-up, the lower bounds' too.
    """
    expected = contestants[reference]()
    for name, contestant in contestants.items():
        results = contestant()
        if name in bounds:
            continue
        if len(results) != len(expected):
            raise ValueError(f"{name} returned {len(results)} tensors; expected {len(expected)}, as {reference} does")
        for result, wanted in zip(results, expected):
            torch.testing.assert_close(result, wanted, atol=1e-4, rtol=1e-4, msg=lambda text, name=name: f"{name}: {text}")


def run(name: str, entry: Entry, *, quick: bool = False) -> dict[str, object]:
    """Run one entry, on one thread, and return what its JSON file holds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    kept = entry.keep_memory and keep_freed_memory()
    try:
        cases = []
        for case in entry.cases(quick):
            check_agreement(case.contestants, entry.reference, (*entry.bounds, *entry.apart))
            times = time_rounds(case.contestants, seconds=QUICK_SECONDS if quick else SECONDS)
            results = summarise(times, entry.reference)
            sizes = dict(case.sizes)
            cases.append({"sizes": sizes, "measures": case.measures, "rounds": len(times[entry.reference]), "results": results})
        return {
            "name": name,
            "title": entry.title,
            "unit": "seconds of processor time",
            "reference": entry.reference,
            "bounds": list(entry.bounds),
            **({"apart": list(entry.apart)} if entry.apart else {}),
            **({"freed_memory_is_kept": kept} if entry.keep_memory else {}),
            "contestants": dict(entry.contestants),
            "cases": cases,
            "quick": quick,
            "command": " ".join(("python -m benchmarks", name, *(("--quick",) if quick else ()))),
        } | provenance()
    finally:
        torch.set_num_threads(threads)


def provenance() -> dict[str, object]:
    """When and where something is measured."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "threads": torch.get_num_threads(),
        "processor": processor(),
        "versions": {"python": platform.python_version(), **{p: version(p) for p in ("torch", "numpy", "attnlib")}},
    }


def processor() -> str:
    """Name the processor, the number of cores and the vector instructions that torch uses."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = (line.partition(":") for line in information.read_text().splitlines())
        name = next((value.strip() for key, _, value in lines if key.strip() == "model name"), name)
    return f"{name}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}"


def table(result: Mapping[str, object]) -> str:
    """Show a result as text: one block per case, the fastest contestant first."""
    lines = [f"{result['title']} ({result['processor']}, {result['threads']} thread)"]
    for case in result["cases"]:
        sizes = ", ".join(f"{key} {number}" for key, number in case["sizes"].items())
        lines += ["", f"{case['measures']}: {sizes} ({case['rounds']} rounds)"]
        for name, row in sorted(case["results"].items(), key=lambda item: item[1]["ratio"]):
            low, high = row["ratio_interval"]
            lines.append(f"  {name:<22}{1e3 * row['median']:>10.3f} ms {row['ratio']:>8.3f}   [{low:.3f}, {high:.3f}]")
    return "\n".join(lines)


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")
