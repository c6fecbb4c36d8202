import torch,math
from sklearn.datasets import load_digits
from attnlib.course.data import flip_spins, random_patterns
from attnlib.hopfield import classical_recall, dense_recall, hebb_weights
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
grey = torch.tensor(load_digits().data); digits = torch.where(grey > 7.5, 1.0, -1.0)
# f8
tot=0;st=0
for s in range(6):
    g=torch.Generator().manual_seed(50+s)
    memory=digits[torch.randperm(len(digits),generator=g)[:1000]]; cue=flip_spins(memory[:100],10,generator=g)
    a=dense_recall(cue,memory,degree="exp").state; w=(a!=memory[:100]).any(-1); tot+=int(w.sum()); st+=int((w&(a[:,None]==memory).all(-1).any(-1)).sum())
print('f8',st,tot)
# f6: 26 spins, 91 patterns, six wrong
for m,k,n in ((91,6,30),(8192,2,1)):
    for mode in ("synchronous","asynchronous"):
        g=torch.Generator().manual_seed(3); ok=[]
        for s in range(n):
            X=random_patterns(m,26,generator=g); c=flip_spins(X[:600],k,generator=g)
            ok.append((dense_recall(c,X,degree="exp",mode=mode).state==X[:600]).all(-1).double().mean())
        ok=torch.stack(ok); print('f6',m,k,mode,float(ok.mean()),float(ok.std()/len(ok)**.5) if n>1 else '')
# f10
def pull(xi, X, F):
    z = xi @ X.T; up, down = F(z + 2), F(z - 2)
    return (up - down) / 2 @ X + xi * (F(z) - (up + down) / 2).sum(-1, keepdim=True)
for a,d,m in ((2,200,40),(3,80,430),(4,40,850),(4,64,3500)):
    ct=math.prod(range(1,2*a-2,2))*m/d**(a-1); p=float(torch.special.ndtr(torch.tensor(-(ct**-.5))))
    g=torch.Generator().manual_seed(5); n=160 if m<3000 else 8
    w=[]
    for _ in range(n):
        X=random_patterns(m,d,generator=g); w.append((X*pull(X,X,lambda z:z**a)<-1e-9).double().mean()/p)
    w=torch.stack(w); print('f10',a,d,float(w.mean()),float(w.std()/n**.5),'sd of 40',float(w.std()/40**.5), 'ct',ct)
