exec(open('/work/tmp/v3a.py').read().split("r=recorded")[0])
src=open('/work/tmp/v3a.py').read(); exec(src[src.index("def spoiled"):src.index("def right")])
import time
V=[]
for s in range(10):
    m,c=spoiled(s); v=1-m.mean(0)**2
    V.append([float((v*(k!=m)).sum()/(k!=m).sum()) for k in c[1:]]+[float(v.mean()),float((v*v).sum()/v.sum())])
print('variance of wrong pixels flips, lower, upper, noise; all; weighted',torch.tensor(V).mean(0))
def pull(xi, X, F):
    z = xi @ X.T; up, down = F(z + 2), F(z - 2)
    return (up - down) / 2 @ X + xi * (F(z) - (up + down) / 2).sum(-1, keepdim=True)
rng=torch.Generator().manual_seed(5)
for a,d,m in ((2,200,40),(3,80,430),(4,40,850)):
    t=time.time()
    for _ in range(40):
        X=random_patterns(m,d,generator=rng); pull(X,X,lambda z:z**a)
    print(a,time.time()-t)
