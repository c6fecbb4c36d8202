from attnlib.course.live.graph_lab import *
e=some_edges()
n=0;tot=0
for seed in range(60):
    for node in range(10):
        r=GraphLab(e,node=node,beta=ROOT,seed=seed).readout
        if len(r["neighbours"])>=3:
            tot+=1; n+=r["effective"]>=1.5
print("eff>=1.5 at root",n,tot)
for node in range(10):
    r=GraphLab(e,node=node,beta=UNIT).readout; print(node,r["neighbours"],[round(s,2) for s in r["scores"]],[round(w,2) for w in r["weights"]],round(r["effective"],2), round(r["spread"],2))
