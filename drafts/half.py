"""Make every other run of some contestants on spins, beside another process: half.py PARITY NAME ..."""
import sys, time
sys.path.insert(0, "/work/tmp/cnew/experiments"); sys.path.insert(0, "/work/tmp/cnew")
from pathlib import Path
import joblib
import collectives as c
F = Path("/tmp/collect_runs")
parity = int(sys.argv[1])
for name in sys.argv[2:]:
    with joblib.parallel_config(n_jobs=1):
        while jobs := c.wanted(c.known(F), "spins", {}, "spins", name):
            mine = [j for j in jobs if int(c.key_of(j)[-1], 16) % 2 == parity]
            if mine: c.make(mine[:1], F, None, name)
            else: time.sleep(5)
