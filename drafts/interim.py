"""Write the record from the runs that are there, without contestants that are not through."""
import sys, json, argparse
sys.path.insert(0,"/work/main/experiments"); sys.path.insert(0,"/work/main")
from pathlib import Path
import collectives as c
F=Path("/tmp/collect_runs")
OUT=set(sys.argv[1].split(",")) if len(sys.argv)>1 and sys.argv[1] else set()
sec = sys.argv[2].split(",") if len(sys.argv)>2 else []  # tasks of axis seconds to keep
timing=json.loads((F/"timing.txt").read_text())
b=c.bought(timing)
old=c.known
def keep(r):
    if r["name"] in OUT and r["task"]=="spins": return False
    if r["steps"] in (c.STEPS[r["task"]], 2*c.STEPS[r["task"]]) or r["stage"]=="pilot" or r["task"] not in sec:
        return r["steps"] in (c.STEPS[r["task"]], 2*c.STEPS[r["task"]]) or r["stage"]=="pilot"
    return True
c.known=lambda f:[r for r in old(f) if keep(r)]
o=argparse.Namespace(runs=F,quick=False,output=None)
c.gather(o, ["--runs","/tmp/collect_runs"], timing)
r=json.load(open(c.RESULTS)); print(r["command"], r["date"], len(r["runs"]), r["versions"])
