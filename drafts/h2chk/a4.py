import torch
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
from attnlib.course.data.spins import *
from attnlib.mean_field import exact_ising
g=torch.Generator().manual_seed(79)
s=spin_systems(3000,context=0.01,generator=g); t=spin_systems(3000,context=0.01,generator=g); J0=fixed_couplings()
A=torch.zeros(10,10,requires_grad=True)
def sym(): 
    B=A.triu(1); return B+B.T
opt=torch.optim.LBFGS([A],max_iter=60,line_search_fn="strong_wolfe")
def loss():
    opt.zero_grad(); l=(exact_ising(sym().expand(3000,10,10).contiguous(),s.h).m-s.m).square().mean(); l.backward(); return l
opt.step(loss)
J=sym().detach(); print("exact theory: slope",((J*J0).sum()/J0.square().sum()).item(),"norm",(J.norm()/J0.norm()).item())
print("error",share((exact_ising(J.expand(3000,10,10).contiguous(),t.h).m-t.m).square().mean(-1),t.m.square().mean(-1)),"with J0",share((exact_ising(J0.expand(3000,10,10).contiguous(),t.h).m-t.m).square().mean(-1),t.m.square().mean(-1)))
