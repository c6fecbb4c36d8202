"""Make the runs of an axis, two at a time: sub2.py AXIS"""
import sys
sys.path.insert(0, "/work/tmp/cmain/experiments"); sys.path.insert(0, "/work/tmp/cmain")
from pathlib import Path
import joblib
import collectives as c
F = Path("/tmp/collect_runs")
for task, name in c.places(sys.argv[1]):
    with joblib.parallel_config(n_jobs=int(sys.argv[2])):
        while jobs := c.wanted(c.known(F), sys.argv[1], {}, task, name):
            c.make(jobs, F, None, name)
