import torch, warnings
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
warnings.simplefilter("ignore")
from attnlib.course.data.spins import *
from attnlib.mean_field import *
import attnlib.mean_field as mf
g=torch.Generator().manual_seed(78)
s=spin_systems(800,context=0.01,generator=g); W=s.m.square().mean(-1)
J0=fixed_couplings()
t=tap(J0.expand(800,10,10).contiguous(),s.h,max_steps=300,on_failure="warn")
print("plain TAP with J0:",share((t.m-s.m).square().mean(-1),W), t.converged.double().mean())
from attnlib.mean_field import MeanFieldAttention, Binary
one=MeanFieldAttention(1,sites=10,prior=Binary(),bound=None,on_failure="warn",bare=True,beta=1.0,onsager="exact",dtype=torch.float64)
with torch.no_grad():
    one.couplings.copy_(J0[None,...,None,None]); m=one(s.h[...,None])[...,0]
print("layer exact with J0:",share((m-s.m).square().mean(-1),W))
e=exact_ising(J0.expand(800,10,10).contiguous(),s.h).m
print("exact with J0:",share((e-s.m).square().mean(-1),W))
s1=spin_systems(800,context=1.0,generator=g); W=s1.m.square().mean(-1)
for ms in (300,3000):
    t=tap(s1.J,s1.h,max_steps=ms,on_failure="warn"); ok=t.converged
    err=(t.m-s1.m).square().mean(-1)
    print(ms,"TAP at 1: all",share(err,W),"solved",ok.double().mean().item(),share(err[ok],W[ok]),"unsolved",share(err[~ok],W[~ok]), "share of error from unsolved",(err[~ok].sum()/err.sum()).item())
