import torch,math
import torch.nn.functional as F
from attnlib import attend, hopfield_energy, hopfield_log_density, hopfield_mixture_weights
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
def course(n,spread,seed,steps=7):
    clouds=spread*torch.randn(n,6,4,generator=torch.Generator().manual_seed(seed)); e=[]
    for _ in range(steps+1):
        e.append(hopfield_energy(clouds,clouds).sum(-1)); clouds=attend(clouds,clouds,clouds,beta=1)
    return torch.stack(e).diff(dim=0)
for spread in (1.6,.5):
    for s in range(6):
        d=course(1000,spread,s); print('f3',spread,s,[round(float((d.amax(0)>t).double().mean()),3) for t in (1e-9,.01,.1)],[round(x,3) for x in (d>1e-9).double().mean(1).tolist()])
d=course(1000,1.6,0,59); print('59',float((d.amax(0)>1e-9).double().mean()))
# f11
K=torch.randn(9,4,generator=torch.Generator().manual_seed(1)); Q=torch.randn(3,4,generator=torch.Generator().manual_seed(2)); v=torch.randn(4,generator=torch.Generator().manual_seed(3))
sm=lambda q,k: torch.softmax(q@k.T,-1)
print('f11',float((sm(Q,K+v)-sm(Q,K)).abs().max()),float((sm(Q+v,K)-sm(Q,K)).abs().max()))
# f12
cs=[];tang=[];full=[]
for s in range(20):
    X=F.normalize(torch.randn(100,8,3,generator=torch.Generator().manual_seed(s)),dim=-1)
    Z=torch.exp(X@X.mT).sum(-1); p=attend(X,X,X,beta=1.0); t=p-(p*X).sum(-1,keepdim=True)*X
    c=lambda a,b: float(torch.stack([torch.corrcoef(torch.stack([x,y]))[0,1] for x,y in zip(a,b)]).mean())
    full.append(c(Z,p.norm(dim=-1))); tang.append(c(Z,t.norm(dim=-1)))
print('f12',sum(full)/20,sum(tang)/20)
# f1
def ring(n,g):
    angle=2*torch.pi*torch.rand(n,generator=g); radius=2+0.3*torch.randn(n,generator=g)
    return torch.stack([radius*angle.cos(),radius*angle.sin()],-1)
cool=lambda s: min(10.0,0.3*(10/0.3)**(s/400))
def fit(data,beta_at,steps=600,start=None,seed=1):
    if start is None: start=0.3*torch.randn(5,16,2,generator=torch.Generator().manual_seed(seed))
    memory,data=start.clone().requires_grad_(),data.expand(5,-1,-1)
    o=torch.optim.Adam([memory],lr=0.03)
    for s in range(steps+1):
        last=memory.detach().clone()
        o.zero_grad(); (-hopfield_log_density(data,memory,beta=beta_at(s)).mean()).backward(); o.step()
    return last
for r in range(4):
    g=torch.Generator().manual_seed(100+r); seen=ring(500,g); un=ring(5000,g).expand(5,-1,-1)
    ld=lambda m: hopfield_log_density(un,m,beta=10.0).mean(-1)
    a=fit(seen,cool,seed=r+1); b=fit(seen,lambda s:10.0,seed=r+1)
    start=torch.stack([seen[torch.randperm(500,generator=g)[:16]] for _ in range(5)]); c=fit(seen,lambda s:10.0,start=start)
    dead=lambda m:(hopfield_mixture_weights(m,beta=10.0)<1e-4).sum(-1).tolist()
    rd=un.norm(dim=-1); truth=(torch.distributions.Normal(2.,.3).log_prob(rd)-(2*torch.pi*rd).log()).mean(-1)
    print('f1',r,'cool-data',[round(x,3) for x in (ld(a)-ld(c)).tolist()],'cool-cold',[round(x,3) for x in (ld(a)-ld(b)).tolist()],dead(a),dead(b),dead(c),'short',[round(float(x),3) for x in (truth-ld(a))],[round(float(x),3) for x in (truth-ld(c))])
