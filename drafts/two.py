"""Make the runs of mean-field-neural on spins: share 1 first, then 0.1; one.py PARITY of 2, or 'all'."""
import sys, time
sys.path.insert(0, "/work/tmp/cnew/experiments"); sys.path.insert(0, "/work/tmp/cnew")
from pathlib import Path
import joblib
import collectives as c
F = Path("/tmp/collect_runs")
with joblib.parallel_config(n_jobs=1):
    while jobs := c.wanted(c.known(F), "spins", {}, "spins", "mean-field-neural"):
        jobs = [j for j in jobs if j["condition"] == [1.0]]; jobs.sort(key=lambda j: -j["seed"])
        if not jobs: break
        if sys.argv[1] != "all":
            mine = [j for j in jobs if int(c.key_of(j)[-1], 16) % 2 == int(sys.argv[1])]
            if not mine: time.sleep(5); continue
            jobs = mine
        c.make(jobs[:1], F, None, "neural")
