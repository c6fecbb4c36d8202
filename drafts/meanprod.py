import sys; sys.path.insert(0,"/work/main")
import torch


from attnlib.course.data.spins import spin_systems
g=torch.Generator().manual_seed(5)
s=spin_systems(20000,context=1.0,generator=g)
h,x,m=s.h,s.x,s.m; n=h.shape[1]; print(h.shape,x.shape)
def basis(h,zs):
    t=torch.tanh(h); b=[t,t**3,t**5,h]
    d=1-t**2
    for z in zs: b+=[d*z, d*d*z, t*t*z, d*t*z*z, t*z*z, d*z**3]
    return torch.stack([q.flatten() for q in b],1).double()
def err(B):
    k=len(B)//2; y=m.flatten().double(); w=torch.linalg.lstsq(B[:k],y[:k,None]).solution
    r=(y[k:]-(B[k:]@w)[:,0]); 
    return float(r.square().mean()/y[k:].square().mean())
e0=err(basis(h,[]))
X=x.mean(1,keepdim=True); H=h.mean(1,keepdim=True)
z1=(x*X).sum(-1)*H
oth=(x*(n*X-x)).sum(-1)*(n*H-h)
xh=(x*(x*h[...,None]).sum(1,keepdim=True)).sum(-1)-(x*x).sum(-1)*h
print("bound",e0,"product of means",err(basis(h,[z1])),"of others' sums",err(basis(h,[oth])),"sum of products",err(basis(h,[xh])))
