import torch,time,sys
from attnlib.course.data.spins import spin_systems, fixed_couplings, blind_floor
from attnlib.mean_field import exact_ising
torch.set_default_dtype(torch.float64); torch.set_num_threads(1)
J0 = fixed_couplings().triu(1)
for N in (6000,):
  out=[]; t=time.process_time()
  for s in range(2):
    few=spin_systems(N, context=.01, generator=torch.Generator().manual_seed(s))
    pairs=torch.zeros(10,10,requires_grad=True)
    search=torch.optim.LBFGS([pairs],max_iter=30,line_search_fn="strong_wolfe")
    def missed():
        search.zero_grad(); J=pairs.triu(1)+pairs.triu(1).mT
        off=(exact_ising(J.expand(N,10,10).contiguous(),few.h).m-few.m).square().mean(); off.backward(); return off
    search.step(missed)
    out.append(float((pairs.detach()*J0).sum()/J0.square().sum()))
  print(N,[round(o,3) for o in out], (time.process_time()-t)/2)
t=time.process_time(); print(blind_floor(.3,draws=2000,inner=4,generator=torch.Generator().manual_seed(1))); print(time.process_time()-t)
