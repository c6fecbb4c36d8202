import itertools, math
from attnlib.course import recorded
from attnlib.course.live import *
from attnlib.course.live import digit_recall
best={}
for seed in (0,1,2,5):
  for sc in (.5,.6,.7,.8,.9):
    b=min(((r["evaluations"],st) for st in (0.6,.7,.8,.9,1.0,1.1,1.2,1.3) if (r:=Iteration("gaussian",sc,st,seed=seed).readout)["evaluations"]>0),default=None)
    b1=Iteration("gaussian",sc,1.0,seed=seed).readout["evaluations"]
    print("iter",seed,sc,b,b1)
print("binary 1.3", Iteration("binary",1.3,.8).readout["evaluations"])
rec=recorded("alignment_film")
for run,r in enumerate(rec["runs"]):
  for s in range(3):
    n=len(rec["sentences"][s]["gold"]); full=[];cold=[]
    for st in r["at"]:
        q=AlignmentFilm(rec,run=run,sentence=s,step=st).readout
        if q["right"]==n: full.append(st)
        if q["sentence_entropy"]<.1: cold.append((st,q["right"]))
    print("film",run,s,n,full[:2],len(full),cold[:3],max([c[1] for c in cold],default=None))
D=digit_recall.DIGITS
for deg in (2,3,10,"exp"):
    ok=[]
    for k in range(10):
        f=DigitRecall(k,D[k][:8]+"0"*8,degree=deg) if False else DigitRecall(k,D[k][:8]+"0"*8)
        f.degree=deg
        ok.append(f.readout["found"]==k)
    print("digit",deg,ok)
t=[[2.,.5],[-1.,1.5],[.5,-2.]]
for toks in (t,[[1.,0.],[1.1,0.2],[.5,-2.]],[[1.5,0.],[1.6,0.2],[1.4,-.2]]):
  for c in ("tanh","softmax"):
    for g in (1.5,2.0):
      for b in (.8,1.5,4):
        r=TokensAsFields(toks,couplings=c,strength=g,beta=b).readout
        print("tok",c,g,b,[round(math.hypot(*(x+y for x,y in zip(m,o)))/math.sqrt(2),2) for m,o in zip(r["m"],r["more"])],round(r["series"],2))
for sc in (.8,1.0):
    r=BallAndBound([-1.5],2.5,beta=1.0,step_size=sc).readout; print(r["guaranteed"][-1],r["real"][-1])
