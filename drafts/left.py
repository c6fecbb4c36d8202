"""What collectives still wants on spins."""
import sys, math
sys.path.insert(0, "/work/tmp/cnew/experiments"); sys.path.insert(0, "/work/tmp/cnew")
from pathlib import Path
import collectives as c
import collective_contestants as cc
F = Path("/tmp/collect_runs")
runs = c.known(F)
print(len(runs), "runs")
for axis in sys.argv[1:] or ("spins", "denoising", "hops", "markov"):
    for task, name in c.places(axis):
        w = c.wanted(runs, axis, {}, task, name)
        if w:
            cpu = [r["cpu_seconds"] for r in runs if r["task"] == task and r["name"] == name and "cpu_seconds" in r]
            conds = {}
            for j in w: conds.setdefault(tuple(j["condition"]), []).append(j["stage"])
            print(task, name, {k: (len(v), v[0]) for k, v in conds.items()}, "cpu", round(sum(cpu)/len(cpu)) if cpu else None, "have", len(cpu))
