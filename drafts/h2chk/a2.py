import torch, warnings, numpy as np
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
from attnlib.course.data.spins import *
g=torch.Generator().manual_seed(77)
tr=spin_systems(6000,context=1.0,generator=g); te=spin_systems(6000,context=1.0,generator=g)
def steps(s,p,reaction):
    T=(len(p)-1)//3
    m=torch.tanh(p[0]*s.h); prev=torch.zeros_like(m)
    for t in range(T):
        a,b,c=p[1+3*t:4+3*t]
        f=a*s.h+b*torch.einsum("bij,bj->bi",s.J,m)
        if reaction: f=f-c*prev*torch.einsum("bij,bj->bi",s.J**2,1-m**2)
        m,prev=torch.tanh(f),m
    return m
from scipy.optimize import minimize
for T in (1,2,4):
    for reac in (False,True):
        def fun(p):
            q=torch.tensor(p,requires_grad=True); l=((steps(tr,q,reac)-tr.m)**2).mean(); l.backward(); return l.item(), q.grad.numpy()
        best=None
        for st in (1.0,0.5):
            r=minimize(fun,np.full(3*T+1,st),jac=True,method="BFGS",options={"maxiter":200})
            if best is None or r.fun<best.fun: best=r
        miss=((steps(te,torch.tensor(best.x),reac)-te.m)**2).mean(-1); e=share(miss,te.m.square().mean(-1))
        print(T,reac,f"{e.mean:.4f}±{e.error:.4f}",np.round(best.x,2))
some=spin_systems(1500,context=1.0,generator=g)
ev=torch.linalg.eigvalsh(some.J)[:,-1]; print("largest eigenvalue J at 1:",ev.mean(),ev.std()); print("J0:",torch.linalg.eigvalsh(fixed_couplings())[-1], torch.linalg.eigvalsh(fixed_couplings())[0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for ms in (300,):
        for l in (1.0,0.01):
            s=spin_systems(600,context=l,generator=g)
            print(l,ms,spin_references(s,max_steps=ms))
