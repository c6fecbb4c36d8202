import sys,json; sys.path.insert(0,"/work/main/experiments"); sys.path.insert(0,"/work/main")
from pathlib import Path
import collectives as c
F=Path("/tmp/collect_runs"); T=json.loads((F/"timing.txt").read_text()); b=c.bought(T); R=c.known(F)
task=sys.argv[1]; cond=c.SECONDS[task]
for n,s in b[task].items():
    for st in (c.STEPS[task],s):
        a=sorted([(r['seed'],r['score'],r['rate']) for r in R if r['task']==task and r['name']==n and r['stage']=='final' and r['condition']==cond and r['steps']==st])
        if a: print(f"{n:36}{st:6d}", a[0][2], [x[1] for x in a])
