"""Make one job of spins: onejob.py NAME INDEX (index among what is wanted at the start)."""
import sys
sys.path.insert(0, "/work/tmp/cnew/experiments"); sys.path.insert(0, "/work/tmp/cnew")
from pathlib import Path
import joblib
import collectives as c
F = Path("/tmp/collect_runs")
name, index = sys.argv[1], int(sys.argv[2])
jobs = c.wanted(c.known(F), "spins", {}, "spins", name)
print(jobs[index], flush=True)
with joblib.parallel_config(n_jobs=1):
    c.make([jobs[index]], F, None, name)
