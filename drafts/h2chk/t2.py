import time, torch, warnings
torch.set_num_threads(1); torch.set_default_dtype(torch.float64); warnings.simplefilter("ignore")
from attnlib.course.data.spins import *
from attnlib.mean_field import exact_ising, tap
def iterated(s, gains, reaction):
    m, old = (gains[0, 0] * s.h).tanh(), torch.zeros_like(s.h)
    for a, b, c in gains[1:]:
        field = a * s.h + b * (s.J @ m[..., None])[..., 0]
        if reaction:
            heard = (s.J.square() @ (1 - m.square())[..., None])[..., 0]
            field = field - c * heard * old
        m, old = field.tanh(), m
    return m
def fitted(steps, reaction, train, test,it=100):
    gains = torch.ones(steps + 1, 3, requires_grad=True)
    search = torch.optim.LBFGS([gains], max_iter=it, line_search_fn="strong_wolfe")
    def loss():
        search.zero_grad()
        off = (iterated(train, gains, reaction) - train.m).square().mean()
        off.backward()
        return off
    search.step(loss)
    missed = (iterated(test, gains.detach(), reaction) - test.m).square().mean(-1)
    return share(missed, test.m.square().mean(-1))
for seed in (0,1):
    g=torch.Generator().manual_seed(seed)
    tr=spin_systems(2000,context=1.0,generator=g); te=spin_systems(4000,context=1.0,generator=g)
    for it in (40,100):
        a=time.process_time()
        th={(T,r):fitted(T,r,tr,te,it) for T in(1,2,4) for r in(False,True) if T>1 or not r}
        print(seed,it,{k:f"{v.mean:.3f}±{v.error:.3f}" for k,v in th.items()},"cpu",round(time.process_time()-a,2))
g=torch.Generator().manual_seed(3)
for l in (1.0,.01):
    sm=spin_systems(600,context=l,generator=g); a=time.process_time()
    f=tap(sm.J,sm.h,max_steps=100,on_failure="warn"); e=(f.m-sm.m).square().mean(-1); W=sm.m.square().mean(-1); ok=f.converged
    print("tap",l,share(e,W),ok.double().mean(),share(e[ok],W[ok]),"cpu",time.process_time()-a)
# exact fit of J
J0=fixed_couplings()
for n,it in ((300,12),(300,25),(600,15)):
    s=spin_systems(n,context=0.01,generator=g); a=time.process_time()
    A=torch.zeros(10,10,requires_grad=True); opt=torch.optim.LBFGS([A],max_iter=it,line_search_fn="strong_wolfe")
    sym=lambda: A.triu(1)+A.triu(1).mT
    def loss():
        opt.zero_grad(); l=(exact_ising(sym().expand(n,10,10).contiguous(),s.h).m-s.m).square().mean(); l.backward(); return l
    opt.step(loss); J=sym().detach(); print(n,it,"slope",((J*J0).sum()/J0.square().sum()).item(),"norm",(J.norm()/J0.norm()).item(),"cpu",time.process_time()-a)
