import torch
from attnlib.kinetic import exact_kinetic
torch.set_default_dtype(torch.float64)
for s in range(3):
    z=torch.randn(200,6,6,generator=torch.Generator().manual_seed(s))/6**.5
    c=torch.stack([exact_kinetic(z,beta=b).entropy_production for b in (2.,3.,4.,6.,10.)])
    print([int((c[i+1]<c[i]).sum()) for i in range(4)], c.mean(1), int((c[-1]<.01*c.amax(0)).sum()))
    top=c.amax(0)
    print("fell to half of top at 10:",int((c[-1]<.5*top).sum()))
