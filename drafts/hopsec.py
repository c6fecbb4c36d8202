import sys,json,statistics as st
sys.path.insert(0,"/work/main/experiments"); sys.path.insert(0,"/work/main")
from pathlib import Path
import collectives as c
F=Path("/tmp/collect_runs"); T=json.loads((F/"timing.txt").read_text())
b=c.bought(T); R=c.known(F)
C=c.SECONDS
for task in sys.argv[1:]:
    cond=C[task]
    for n,s in b[task].items():
        a=[r['score'] for r in R if r['task']==task and r['name']==n and r['stage']=='final' and r['condition']==cond and r['steps']==s]
        o=[r['score'] for r in R if r['task']==task and r['name']==n and r['stage']=='final' and r['condition']==cond and r['steps']==c.STEPS[task]]
        f=lambda v:(len(v), round(st.mean(v),4) if v and None not in v else v)
        print(f"{n:32}{s:6d}", f(a), f(o))
