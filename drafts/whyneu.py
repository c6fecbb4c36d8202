"""Run a failing search run to where it fails; keep the map and its state."""
import sys
root="/work/tmp/cnew"; sys.path.insert(0,root+"/experiments"); sys.path.insert(0,root)
import torch, collectives as c, attnlib.mean_field.mixer as mm
old=mm.fixed_point
n=[0]
def new(f,s,**k):
    n[0]+=1
    try: return old(f,s,**k)
    except Exception as e:
        if k.get("method")=="anderson" or True:
            new.last=(f,s,k,e); 
        raise
mm.fixed_point=new
rate,seed=float(sys.argv[1]),int(sys.argv[2])
job=c.setting("spins","mean-field-neural",[0.01],"search",rate,seed,3000)
f=c.run(job); print(f["failure"], n[0])
fn,s,k,e=new.last
print({a:b for a,b in k.items()}, getattr(e,"found",None) is not None)
with torch.no_grad():
    s=s.detach(); 
    bad=(~e.found.converged).flatten()
    shape=s.shape; print(shape, bad.sum())
    x=e.found.solution.detach()
    for step in (1.0,.5,.2,.05,.01):
        y=x.clone()
        for t in range(5000):
            d=fn(y)-y; y=y+step*d
        r=(fn(y)-y).abs().amax(-1).flatten()[bad]
        print("damped",step,"residual",r.tolist(),"size",y.abs().amax(-1).flatten()[bad].tolist())
    idx=bad.nonzero().flatten()[0].item()
    import itertools
    xi=x.reshape(-1,shape[-1])[idx]
    def one(v):
        z=x.reshape(-1,shape[-1]).clone(); z[idx]=v; return fn(z.reshape(shape)).reshape(-1,shape[-1])[idx]
    torch.save((xi,),"/tmp/neu_state.pt")
J=torch.autograd.functional.jacobian(one,xi)
ev=torch.linalg.eigvals(J.double()); print("eigs at best",ev[ev.abs().argsort(descending=True)][:5])
print("residual at best",(one(xi)-xi).norm()/xi.norm(), xi.shape)
# Newton from here
v=xi.clone()
for t in range(50):
    J=torch.autograd.functional.jacobian(one,v); d=torch.linalg.solve(torch.eye(len(v))-J,one(v)-v)
    # backtracking
    r0=(one(v)-v).norm(); a=1.0
    while a>1e-6 and (one(v+a*d)-(v+a*d)).norm()>r0: a/=2
    v=v+a*d
    print(t,round(a,4),float((one(v)-v).norm())); 
    if (one(v)-v).norm()<1e-6*v.norm() or a<1e-6: break
J=torch.autograd.functional.jacobian(one,v); ev=torch.linalg.eigvals(J.double()); print("eigs",ev[ev.abs().argsort(descending=True)][:6])
