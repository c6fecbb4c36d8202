import time, torch
a=time.process_time()
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
from attnlib.course.data.spins import *
from attnlib.mean_field import exact_ising, tap
print("import",time.process_time()-a)
g=torch.Generator().manual_seed(0)
def t(name,f):
    a=time.process_time(); r=f(); print(name,round(time.process_time()-a,2)); return r
t("floor 1500x8",lambda: blind_floor(1.0,draws=1500,inner=8,generator=g))
t("floor 1500x4",lambda: blind_floor(1.0,draws=1500,inner=4,generator=g))
t("floor 1500x2",lambda: blind_floor(1.0,draws=1500,inner=2,generator=g))
s=t("systems 1500",lambda: spin_systems(1500,context=0.0,generator=g))
b=context_couplings(s.x,context=1.0)
t("jvp 1500",lambda: torch.func.jvp(lambda J: exact_ising(J,s.h).m,(s.J.contiguous(),),(b,)))
def fd(e=1e-4): return (exact_ising(s.J+e*b,s.h).m-exact_ising(s.J-e*b,s.h).m)/(2*e)
t("fd",fd)
sm=spin_systems(150,context=1.0,generator=g)
t("tap 150/100",lambda: tap(sm.J,sm.h,max_steps=100,on_failure="warn"))
t("tap 150/300",lambda: tap(sm.J,sm.h,max_steps=300,on_failure="warn"))
