"""Where a failing search run fails: how the failed system moves on, and the map's largest eigenvalue there."""
import sys
root="/work/tmp/cnew"; sys.path.insert(0,root+"/experiments"); sys.path.insert(0,root)
import torch, collectives as c, attnlib.mean_field.mixer as mm
from attnlib.solve import fixed_point as fp0
old=mm.fixed_point; box={}
def new(f,s,**k):
    box["n"]=box.get("n",0)+1
    try: return old(f,s,**k)
    except Exception as e:
        box["last"]=(f,s,k,e); raise
mm.fixed_point=new
rate,seed=float(sys.argv[1]),int(sys.argv[2])
f=c.run(c.setting("spins","mean-field-neural",[0.01],"search",rate,seed,3000))
fn,s,k,e=box["last"]; print("rate",rate,"seed",seed,"calls",box["n"],f["failure"][-130:])
bad=(~e.found.converged).flatten(); x=e.found.solution.detach(); w=x.shape[-1]
length=k["step"](x) if callable(k["step"]) else k["step"]
with torch.no_grad():
    for name,st in (("own",length[...,None]),("1",1.0)):
        y=x.clone(); done=None
        for t in range(1,20001):
            d=fn(y)-y; y=y+st*d
            r=(d.abs().amax(-1)/y.abs().amax(-1)).flatten()[bad].max()
            if r<2.4e-5: done=t; break
        print("step",name,"done",done,"moved",(y-x).abs().amax(-1).flatten()[bad].tolist(),"residual",float(r))
        if done: z=y.clone()
    print("length there",length.flatten()[bad].tolist() if length.numel()==bad.numel() else length.shape)
for idx in bad.nonzero().flatten().tolist():
    def one(v,base):
        q=base.reshape(-1,w).clone(); q[idx]=v; return fn(q.reshape(base.shape)).reshape(-1,w)[idx]
    for what,base in (("stall",x),("end",z)):
        J=torch.autograd.functional.jacobian(lambda v: one(v,base),base.reshape(-1,w)[idx]); ev=torch.linalg.eigvals(J.double())
        print(what,"largest",[round(float(a.real),4) for a in ev[ev.abs().argsort(descending=True)][:3]])
