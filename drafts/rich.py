import sys; sys.path.insert(0,"/work/main")
import torch; torch.set_num_threads(1)
from attnlib.course.data.spins import spin_systems
import warnings; warnings.simplefilter("ignore")
torch.manual_seed(0)
s=spin_systems(40000,context=1.0,generator=torch.Generator().manual_seed(3),dtype=torch.float32)
h,x,m=s.h,s.x,s.m
X=(x.sum(1,keepdim=True)-x); H=h.sum(1,keepdim=True)-h
def fit(inp,steps=4000):
    inp=inp.flatten(0,1).float(); y=m.flatten().float(); k=len(y)*3//4
    net=torch.nn.Sequential(torch.nn.Linear(inp.shape[1],96),torch.nn.GELU(),torch.nn.Linear(96,96),torch.nn.GELU(),torch.nn.Linear(96,1),torch.nn.Tanh())
    opt=torch.optim.Adam(net.parameters(),3e-3); sch=torch.optim.lr_scheduler.OneCycleLR(opt,5e-3,total_steps=steps)
    for t in range(steps):
        i=torch.randint(0,k,(2048,)); l=(net(inp[i])[:,0]-y[i]).square().mean(); opt.zero_grad(); l.backward(); opt.step(); sch.step()
    with torch.no_grad(): return float((net(inp[k:])[:,0]-y[k:]).square().mean()/y[k:].square().mean())
a=fit(h[...,None],1500); print("field",a)
p=(x*X).sum(-1)
b=fit(torch.stack([h,p,H.expand_as(h),p*H,x.square().sum(-1),X.square().sum(-1)],-1)); print("sums",b,1-b/a)
