import time,torch
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
from attnlib.course.data.spins import blind_floor
for d,i in ((2000,4),(1500,4),(2000,3),(2000,2),(1000,4)):
    a=time.process_time(); r=[blind_floor(c,draws=d,inner=i,generator=torch.Generator().manual_seed(0)) for c in (.01,.3,1.)]
    print(d,i,[f"{x.mean:.4f}±{x.error/x.mean:.3f}" for x in r],round((time.process_time()-a)/3,2))
