import sys; sys.path.insert(0, "/work/tmp/cnew/experiments"); sys.path.insert(0, "/work/tmp/cnew")
from pathlib import Path
import json, collectives as c
F=Path("/tmp/collect_runs"); runs=c.known(F); t=json.loads((F/"timing.txt").read_text())
tot=0
for task,name in c.places("seconds"):
    w=c.wanted(runs,"seconds",t,task,name)
    if w:
        s=sum(j["steps"]*t[f"{task}: {name}"] for j in w); tot+=s*13/8
        print(task,name,len(w),w[0]["steps"],round(s/len(w)))
print(tot/3600)
