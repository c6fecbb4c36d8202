# independent: own enumeration, own draws, numpy
import numpy as np, sys
rs=np.random.default_rng(5)
N,d,g=10,4,1.2
S=np.array(np.meshgrid(*[[-1.,1.]]*N,indexing="ij")).reshape(N,-1).T  # 1024,N
iu=np.triu_indices(N,1); SS=S[:,iu[0]]*S[:,iu[1]]
def means(J,h,chunk=2000):
    out=[]
    for a in range(0,len(h),chunk):
        e=J[a:a+chunk][:,iu[0],iu[1]]@SS.T+h[a:a+chunk]@S.T
        e-=e.max(1,keepdims=True); w=np.exp(e); w/=w.sum(1,keepdims=True); out.append(w@S)
    return np.concatenate(out)
from attnlib.course.data.spins import fixed_couplings, context_couplings
J0=fixed_couplings().numpy()
print("J0 var*N/g2",(J0[iu]**2).mean()*N/g**2, "sym",np.abs(J0-J0.T).max())
def Jof(x,l):
    J=np.sqrt(1-l)*J0+np.sqrt(l)*g*np.einsum("bid,bjd->bij",x,x)/np.sqrt(d*N)
    J[:,range(N),range(N)]=0; return J
n=8000
for l in (.01,.03,.1,.3,1.):
    h=rs.normal(0,.5**.5,(n,N)); a=means(Jof(rs.normal(size=(n,N,d)),l),h); b=means(Jof(rs.normal(size=(n,N,d)),l),h)
    num=((a-b)**2).mean(1)/2; den=(a**2).mean(1); F=num.mean()/den.mean(); e=(num-F*den).std()/den.mean()/n**.5
    num1=((np.tanh(h)-a)**2).mean(1); T=num1.mean()/den.mean()
    print(l,f"F {F:.4f}±{e:.4f} tanh(h) {T:.3f} Em2 {den.mean():.4f}")
# shuffled contents, lambda=1: exact reader
pi=[6,0,3,7,8,5,1,9,2,4]
h=rs.normal(0,.5**.5,(n,N)); x=rs.normal(size=(n,N,d)); a=means(Jof(x,1.),h); b=means(Jof(x[:,pi],1.),h)
num=((a-b)**2).mean(1); den=(a**2).mean(1); r=num.mean()/den.mean(); print("exact reader, contents permuted:",r,"±",(num-r*den).std()/den.mean()/n**.5,"per token",((a-b)**2).mean(0)/den.mean())
# places shuffled at 0.01: exact network with places' couplings
for l in (.01,):
    x=rs.normal(size=(n,N,d)); J=Jof(x,l); m=means(J,h)
    hp=h[:,pi]; xp=x[:,pi]; ans=means(Jof(xp,l),hp); # what an exact knower of places says of reordered tokens
    num=((ans-m[:,pi])**2).mean(1); den=(m**2).mean(1); r=num.mean()/den.mean(); print("exact place-knower, places permuted, lambda",l,r,"±",(num-r*den).std()/den.mean()/n**.5)
    ov=(ans*m[:,pi]).mean()/den.mean(); print("overlap",ov)
