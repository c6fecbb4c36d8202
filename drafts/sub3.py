"""Make the runs of axis seconds, one at a time: sub3.py TASK ..."""
import sys
sys.path.insert(0, "/work/tmp/cnew/experiments"); sys.path.insert(0, "/work/tmp/cnew")
from pathlib import Path
import json, joblib
import collectives as c
F = Path("/tmp/collect_runs"); T = json.loads((F / "timing.txt").read_text())
for want in sys.argv[1:]:
    for task, name in c.places("seconds"):
        if task != want: continue
        with joblib.parallel_config(n_jobs=1):
            while jobs := c.wanted(c.known(F), "seconds", T, task, name):
                c.make(jobs, F, None, name)
