import torch, math
from attnlib.course.exercises import verdict
from attnlib.course.exercises.under_the_instruments import *
R=EXERCISES
def go(n,label,f):
    try: v=verdict(R[n],f); print(n,label,'| right',v.right,'|',getattr(v,'mistake',None),'|',str(v)[:150].replace('\n',' '))
    except Exception as e: print(n,label,'EXC',type(e).__name__,e)
go("1","cos A,A^T",lambda q,k:((q.T@k)*(q.T@k).T).sum()/(q.T@k).square().sum())
go("1","abs norm",lambda q,k:(q.T@k+(q.T@k).T).abs().sum()/(2*(q.T@k).abs().sum()))
go("1","key first (same)",lambda q,k:((k.T@q+(k.T@q).T).square().sum()/(4*(k.T@q).square().sum())))
go("1","right via trace",lambda q,k:.5+((q@k.T)*0+0).sum()+ (torch.trace((q.T@k)@(q.T@k)))/(2*(q.T@k).square().sum()))
go("1","nuclear norm",lambda q,k:torch.linalg.matrix_norm(q.T@k+(q.T@k).T,'nuc')/(2*torch.linalg.matrix_norm(q.T@k,'nuc')))
def f2(s,m):
    out=[]
    for r,v in zip(s,m):
        o=r[v]; out.append(o.std(correction=0)/math.sqrt(2*math.log(len(o))) if len(o)>1 else torch.tensor(0.))
    return torch.stack([x.double() for x in out]).mean()
go("2","zeros for single",f2)
def f2b(s,m):
    return torch.stack([ (r[v].max()-r[v].mean())/math.sqrt(2*math.log(v.sum())) for r,v in zip(s,m) if v.sum()>1]).mean()
go("2","max minus mean",f2b)
go("2","pooled",lambda s,m: torch.cat([r[v]-r[v].mean() for r,v in zip(s,m) if v.sum()>1]).std(correction=0)/math.sqrt(2*math.log(m.sum()/len(m))))
go("2","median",lambda s,m: torch.stack([r[v].std(correction=0)/math.sqrt(2*math.log(v.sum())) for r,v in zip(s,m) if v.sum()>1]).median())
go("2","K-1 keys",lambda s,m: torch.stack([r[v].std(correction=0)/math.sqrt(2*math.log(max(v.sum()-1,1.5))) for r,v in zip(s,m) if v.sum()>1]).mean())
go("3","value@out (same trace, svd differ)",lambda o,v:(v@o).trace()/torch.linalg.svdvals(v@o).sum())
go("3","symmetric part nuc",lambda o,v:(o@v).trace()/torch.linalg.eigvalsh((o@v+(o@v).T)/2).abs().sum())
go("3","rank",lambda o,v:(o@v).trace()/o.shape[1])
go("3","count of signs",lambda o,v:torch.linalg.eigvals(v@o).real.sign().mean())
go("4","padding zeroed",lambda r,m,o:((r[m].mean(0)-r)*m[...,None])@o.T)
go("4","out not transposed",lambda r,m,o:(r[m].mean(0)-r)@o)
go("4","median",lambda r,m,o:(r[m].median(0).values-r)@o.T)
go("4","sum over real / all",lambda r,m,o:((r*m[...,None]).sum((0,1))/(m.numel())-r)@o.T)
def e(A,x,v,b,T):
    tot=0
    v=v/v.norm()
    for t in range(b+T):
        v=(1-torch.tanh(A@x)**2)*(A@v); x=torch.tanh(A@x)
        if t>=b: tot=tot+v.norm().log()
    return tot/T
go("5","never renormalised",e)
def e2(A,x,v,b,T):
    tot=0
    for t in range(b+T):
        x=torch.tanh(A@x); v=A@((1-x**2)*v)
        if t>=b: tot=tot+v.norm().log()
        v=v/v.norm()
    return tot/T
go("5","slope before A",e2)
def e3(A,x,v,b,T):
    tot=0
    for t in range(b+T):
        x=torch.tanh(A@x); v=(1-x**2)*(A@v)
        if t>b: tot=tot+v.norm().log()
        v=v/v.norm()
    return tot/T
go("5","off by one",e3)
def e4(A,x,v,b,T):
    for t in range(b+T): x=torch.tanh(A@x)
    return torch.linalg.eigvals(torch.diag(1-x**2)@A).abs().max().log()
go("5","radius at the end",e4)
def e5(A,x,v,b,T):
    v=v/v.norm()
    for t in range(b):
        x=torch.tanh(A@x); v=(1-x**2)*(A@v); v=v/v.norm()
    w=v
    for t in range(T): x=torch.tanh(A@x); w=(1-x**2)*(A@w)
    return (w.norm().log())/T
go("5","right, another way",e5)
