import torch
from attnlib.course import recorded
from attnlib.course.data.collective_runs import CollectiveRuns
r=CollectiveRuns(recorded("collectives"),"spins")
for n in ("linear","softmax","vector-spins","softmax, 2 tied steps","softmax, 4 tied steps","energy","places","mean-field","identity","pool"):
    for c in (0.01,1.0):
        print(n,c,"as",[round(float(v),4) for v in r.measured(n,"as it is",condition=c)],"places",[round(float(v),3) for v in r.measured(n,"places shuffled",condition=c)],"contents",[round(float(v),3) for v in r.measured(n,"contents shuffled",condition=c)])
for k in ("as it is","slope on J0","norm over J0","with J0"): print(k,r.measured("bare, exact",k,condition=.01))
for f in("0.25","0.5","2.0"): print(f,(r.measured("softmax","heat",f,condition=1.0)/r.measured("softmax","as it is",condition=1.0)))
for a,b in (("energy","softmax"),("softmax","vector-spins-softmax"),("vector-spins-softmax","softmax"),("vector-spins-softmax-total","softmax"),("softmax","vector-spins-softmax-total"),("energy-half-steps","energy"),("energy-half-steps","softmax"),("softmax, no residual","softmax"),("softmax, no network","softmax"),("softmax, norm before","softmax"),("softmax, norm after","softmax")):
    e=r.loss_to(a,b,1.0); print(a,"to",b,f"{e.mean:.4f}±{e.error:.4f} ({e.errors:.1f})")
for c in (.01,.03,.1,.3,1.):
    print(c,{a:f"{r.loss_to(a,'softmax',c).mean:.3f}±{r.loss_to(a,'softmax',c).error:.3f}" for a in("energy","vector-spins-softmax","energy-half-steps")})
