import sys,time,torch
sys.path.insert(0,sys.argv[1])
from attnlib.mean_field import naive_mean_field, adaptive_tap, tap, MeanFieldAttention, Binary
from attnlib.solve import fixed_point
torch.set_num_threads(1); torch.manual_seed(0)
J=torch.randn(20,10,10,dtype=torch.float64)*.1; J=(J+J.mT)/2; J=J-torch.diag_embed(J.diagonal(dim1=-2,dim2=-1)); h=torch.randn(20,10,dtype=torch.float64)
out=[]
t=time.process_time()
for f in (naive_mean_field,tap,adaptive_tap):
    for _ in range(20): r=f(J,h)
    out+= [r.m.sum().item(), r.iterations.sum().item(), r.residual.sum().item()]
print('solvers',time.process_time()-t)
t=time.process_time()
for method in ('damped','anderson','newton'):
    for _ in range(10): r=fixed_point(lambda z: torch.tanh(z@J[0]+h), h*0, method=method)
    out+=[r.solution.sum().item(), r.iterations.sum().item(), r.residual.sum().item()]
print('fp',time.process_time()-t)
m=MeanFieldAttention(10,prior=Binary(),bound=None,sites=10,bare=True,beta=1.0,onsager='none')
x=torch.randn(64,10,10); o=torch.optim.Adam(m.parameters(),1e-2); t=time.process_time()
for _ in range(60):
    o.zero_grad(); l=m(x).square().mean(); l.backward(); o.step(); 
out.append(l.item()); print('train',time.process_time()-t); print(out)
