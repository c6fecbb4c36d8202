"""The benchmarks run, compare like with like, and their committed results are complete. No test looks at a time."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import course
import numpy as np
import pytest
import torch

ROOT = course.ROOT
sys.path.insert(0, str(ROOT))  # the benchmarks are not installed with the package

from benchmarks import energy_step, memory  # noqa: E402
from benchmarks.__main__ import entries, main, place  # noqa: E402
from benchmarks.harness import check_agreement, summarise, time_rounds  # noqa: E402

FIELDS = {
    *("name", "title", "unit", "reference", "bounds", "contestants", "cases"),
    *("quick", "command", "date", "threads", "processor", "versions"),
}
NAMES = sorted(entries())


def committed(name):
    return json.loads(place(name, entries()[name]).read_text())


def check_complete(result, name):
    entry = entries()[name]
    more = {"apart": entry.apart, "freed_memory_is_kept": entry.keep_memory}
    assert set(result) == FIELDS | {key for key, wanted in more.items() if wanted}
    assert result["name"] == name
    assert result["contestants"] == entry.contestants
    assert (result["reference"], tuple(result["bounds"])) == (entry.reference, entry.bounds)
    assert tuple(result.get("apart", ())) == entry.apart
    assert {result["reference"], *result["bounds"]} <= set(result["contestants"])
    assert (result["unit"], result["threads"]) == ("seconds of processor time", 1)
    assert set(result["versions"]) == {"python", "torch", "numpy", "attnlib"}
    assert result["processor"].strip()
    assert result["command"].startswith(f"python -m benchmarks {name}")
    assert set().union(*(case["results"] for case in result["cases"])) == set(result["contestants"])
    for case in result["cases"]:
        assert set(case) == {"sizes", "measures", "rounds", "results"}
        assert case["rounds"] >= 5
        assert {result["reference"]} < set(case["results"])
        for row in case["results"].values():
            assert set(row) == {"median", "quartiles", "ratio", "ratio_interval"}
            assert 0 < row["quartiles"][0] <= row["median"] <= row["quartiles"][1] < math.inf
            assert 0 < row["ratio_interval"][0] <= row["ratio"] <= row["ratio_interval"][1] < math.inf
        assert case["results"][result["reference"]]["ratio_interval"] == [1, 1]


@pytest.mark.slow
def test_quick_run_writes_a_complete_result_and_a_table(tmp_path):
    target = tmp_path / "new folder" / "result.json"
    command = [sys.executable, "-m", "benchmarks", "energy_step", "--quick", "--output", str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=7200, check=True)
    result = json.loads(target.read_text())
    check_complete(result, "energy_step")
    assert result["quick"]
    assert f"written to {target}" in done.stdout
    assert all(done.stdout.count(f"  {name} ") == len(result["cases"]) for name in result["contestants"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["nonsense"], "no benchmark is called nonsense"), ([NAMES[0], NAMES[0], "--output", "x"], "2 are asked for")],
)
def test_command_line_refuses(arguments, complaint, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_committed_result_is_complete_and_from_a_full_run(name):
    result = committed(name)
    check_complete(result, name)
    assert not result["quick"]


@pytest.mark.parametrize("name", NAMES)
def test_committed_ratios_follow_from_the_medians(name):
    result = committed(name)
    for case in result["cases"]:
        base = case["results"][result["reference"]]["median"]
        for contestant, row in case["results"].items():
            assert row["ratio"] == pytest.approx(row["median"] / base, rel=0.15), (contestant, case["sizes"])


@pytest.mark.parametrize("name", NAMES)
def test_committed_bounds_lie_below_everything_else(name):
    result = committed(name)
    for case in result["cases"]:
        ratios = {contestant: row["ratio"] for contestant, row in case["results"].items()}
        bounds = [ratios.pop(contestant) for contestant in result["bounds"]]
        assert not bounds or max(bounds) < min(ratios.values()), case["sizes"]


def test_committed_closed_form_costs_what_fused_attention_costs():
    ratios = {
        (case["measures"], case["sizes"]["n"]): case["results"]["closed_form"]["ratio"]
        for case in committed("energy_step")["cases"]
    }
    passes = ("forward", "forward + backward")
    assert set(ratios) == {(measures, n) for measures in passes for n in (32, 128, 512)}
    assert all(ratio < 1.5 for ratio in ratios.values())
    assert all(ratio <= 1.1 for (_, n), ratio in ratios.items() if n >= 128)


@pytest.mark.slow
def test_energy_step_contestants_agree_in_values_and_gradients():
    bounds = energy_step.ENTRY.bounds
    for case in energy_step.cases(quick=True):
        plain = case.contestants["plain"]()
        assert len(plain) == (1 if case.measures == "forward" else 3)
        assert all(result.isfinite().all() and result.abs().max() > 0.1 for result in plain)
        for name in set(case.contestants) - set(bounds):
            for result, wanted in zip(case.contestants[name](), plain, strict=True):
                torch.testing.assert_close(result, wanted, atol=2e-5, rtol=2e-5)


def test_only_the_steps_with_an_explicit_formula_differentiate_twice():
    state, memory, pull = energy_step.tensors(32)
    curvatures = {}
    for name, step in energy_step.steps(state, memory).items():
        (slope,) = torch.autograd.grad(step(), state, pull, create_graph=True)
        if name in ("fused", "closed_form", "module"):
            with pytest.raises(RuntimeError, match=r"derivative|twice_differentiable=True"):
                torch.autograd.grad(slope, memory, pull)
        else:
            (curvatures[name],) = torch.autograd.grad(slope, memory, pull)
    assert set(curvatures) == {"twice_differentiable", "plain", "autograd"}
    assert curvatures["plain"].abs().max() > 0.1
    for curvature in curvatures.values():
        torch.testing.assert_close(curvature, curvatures["plain"], atol=2e-5, rtol=2e-5)


def test_lower_bound_computes_the_products(monkeypatch):
    monkeypatch.setattr(energy_step, "SCORES_AT_ONCE", 3 * 32 * 32)  # 64 heads, three at a time: the last piece is smaller
    state, memory, pull = (tensor.detach().flatten(0, 1) for tensor in energy_step.tensors(32))
    scores, slopes = state @ memory.mT, pull @ memory.mT
    wanted = scores @ memory, slopes @ memory, slopes.mT @ state + scores.mT @ pull
    (forward,) = energy_step.products(state, memory)()
    torch.testing.assert_close(forward, wanted[0], atol=1e-3, rtol=1e-4)
    for result, product in zip(energy_step.products(state, memory, pull)(), wanted, strict=True):
        torch.testing.assert_close(result, product, atol=1e-3, rtol=1e-4)


def test_rounds_interleave_and_change_order():
    calls = []
    contestants = {name: lambda name=name: (calls.append(name), ())[1] for name in "abcd"}
    times = time_rounds(contestants, seconds=60, most=20)
    rounds = ["".join(calls[start : start + 4]) for start in range(0, len(calls), 4)]
    assert len(rounds) == 20
    assert all(sorted(order) == list("abcd") for order in rounds)
    assert len(set(rounds)) > 5
    assert all(len(times[name]) == 20 and (times[name] >= 0).all() for name in "abcd")
    assert len(time_rounds(contestants, seconds=0)["a"]) == 5


def test_ratios_do_not_see_what_slows_a_whole_round():
    drift = np.random.default_rng(1).uniform(1, 30, size=101)
    cut_in = np.where(np.arange(101) % 7 == 0, 40.0, 1.0)
    summary = summarise({"reference": drift, "twice": 2 * drift, "disturbed": 3 * drift * cut_in}, "reference")
    assert summary["twice"]["ratio"] == 2
    assert summary["twice"]["ratio_interval"] == [2, 2]
    assert summary["disturbed"]["ratio"] == 3
    assert summary["reference"]["median"] == pytest.approx(np.median(drift), rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(lambda: (torch.ones(3) * 1.001,), AssertionError), (lambda: (), ValueError), (lambda: (torch.ones(2),), AssertionError)],
)
def test_contestants_that_compute_something_else_are_refused(wrong, error):
    contestants = {"reference": lambda: (torch.ones(3),), "same": lambda: (torch.ones(3),), "wrong": wrong}
    check_agreement(contestants, "reference", bounds=("wrong",))
    with pytest.raises(error, match="wrong"):
        check_agreement(contestants, "reference")


linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux: it resets the high-water mark")
MODULES = ("softmax_attention", "causal", "energy_one_step")

FORKED = """
import os
import sys

from benchmarks.memory import measure

for name in sys.argv[2:]:
    if not os.fork():
        print(name, measure(name, int(sys.argv[1])), flush=True)
        os._exit(0)
    os.wait()
"""
"""Measures each contestant in a process of its own, and imports torch once for all."""


@linux
@pytest.mark.slow
def test_no_module_keeps_a_square_matrix():
    """At a quarter of the benchmark's size, where an [n, n] matrix for each head would take six times the memory."""
    exact = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", FORKED, str(memory.N // 4), "fused", *MODULES, "explicit"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **exact}, capture_output=True, text=True, check=True)
    least = {name: int(taken) for name, taken in map(str.split, done.stdout.splitlines())}
    for name in MODULES:
        assert least[name] <= 1.1 * least["fused"], least
    assert least["explicit"] > 4 * least["fused"], least


@linux
@pytest.mark.whole
def test_memory_is_that_of_fused_attention():
    """No module keeps an [n, n] matrix."""
    least = {name: memory.measure_apart(name, memory.N) for name in ("fused", *MODULES)}
    for name in MODULES:
        assert least[name] <= 1.1 * least["fused"], least


def test_the_speed_table_of_page_3d_is_the_recorded_one():
    page = (ROOT / "notebooks" / "03d_energy_attention.ipynb").read_text(encoding="utf-8")
    record = json.loads((ROOT / "benchmarks" / "results" / "energy_step.json").read_text(encoding="utf-8"))
    cases = {(case["sizes"]["n"], case["measures"]): case["results"] for case in record["cases"]}
    columns = [(n, measures) for n in (32, 128, 512) for measures in ("forward", "forward + backward")]
    for name in ("closed_form", "module", "plain", "autograd", "products"):
        assert " | ".join(f"{cases[at][name]['ratio']:.2f}" for at in columns) in page
