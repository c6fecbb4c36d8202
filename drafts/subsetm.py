"""Make the runs on spins of some contestants, one at a time."""
import sys
sys.path.insert(0, "/work/tmp/cmain/experiments"); sys.path.insert(0, "/work/tmp/cnew")
from pathlib import Path
import joblib
import collectives as c
F = Path("/tmp/collect_runs")
for name in sys.argv[1:]:
    with joblib.parallel_config(n_jobs=1):
        while jobs := c.wanted(c.known(F), "spins", {}, "spins", name):
            c.make(jobs, F, None, name)
