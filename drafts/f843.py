import torch
from attnlib.kinetic import exact_kinetic, exact_response
torch.set_default_dtype(torch.float64)
rng=torch.Generator().manual_seed(3)
def rk(a,b):
    r=[v.argsort().argsort().double() for v in (a,b)]
    return float(torch.corrcoef(torch.stack(r))[0,1])
def go(mixed,beta=.5):
    at=exact_kinetic(mixed,beta=beta,lags=5)
    chi=exact_response(mixed,beta=beta,lags=3)
    gap=chi-beta*(at.C[:,:4]-at.C[:,2:6])
    off=gap.masked_fill(torch.eye(6,dtype=torch.bool),0.)
    ep=at.entropy_production
    return [round(rk(v,ep),3) for v in (off[:,0].square().sum((1,2)), gap[:,0].square().sum((1,2)), gap.square().sum((1,2,3)), off[:,1].square().sum((1,2)), gap[:,1].square().sum((1,2)))]
for k in range(3):
    sp=3*torch.rand(100,generator=rng)
    print("0..3",go((sp[:,None,None]*torch.randn(100,6,6,generator=rng)).softmax(-1)))
for g in (1.,2.,3.):
  for k in range(3):
    print(g,go((g*torch.randn(100,6,6,generator=rng)).softmax(-1)))
