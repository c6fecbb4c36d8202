import torch,time
from attnlib.kinetic import exact_kinetic, peretto_law
from attnlib.kinetic.elimination import stationary_law
torch.set_default_dtype(torch.float64)
for n in (2,5,6,8):
    for b in (3.,5.,6.,8.,20.):
        J=torch.ones(n,n)/n; x=torch.full((n,),.02)
        t=time.perf_counter()
        f=exact_kinetic(J,x,beta=b); g=peretto_law(J,x,beta=b)
        print(n,b,float(f.m[0]),float((f.law-g).abs().max()), float(((f.law-g)/g).abs().max()), "%.3f"%(time.perf_counter()-t))
torch.manual_seed(0)
for n in (10,12):
    J=torch.randn(n,n); t=time.perf_counter(); f=exact_kinetic(J); print(n,"%.2f"%(time.perf_counter()-t))
J=torch.randn(200,8,8); t=time.perf_counter(); f=exact_kinetic(J); print("200x8","%.2f"%(time.perf_counter()-t))
x=torch.zeros(8)
for b in (8.,40.):
    J=torch.randn(10,8,8).softmax(-1); print(b, exact_kinetic(J,beta=b).m.abs().max())
