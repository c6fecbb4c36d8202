import torch
from attnlib.kinetic import stationary_moments
torch.set_default_dtype(torch.float64)
def wandering(K,steps=9000):
    f=stationary_moments(K,torch.zeros(64,1),beta=2.,gain="limit",max_steps=steps)
    C=f.C; g=C[1].diagonal()/(K@C[0]).diagonal()
    return float(1-torch.linalg.eigvals(g[:,None]*K).abs().max())
for s in range(3):
    P=torch.randn(64,64,generator=torch.Generator().manual_seed(s)).softmax(-1)
    w=wandering(P)
    sink=(P.log()+4*(torch.arange(64)==0)).softmax(-1)
    pi=torch.linalg.matrix_power(sink,200)[0]; v=wandering(sink)
    print(v/w, float(pi.square().sum()*64), float(pi[0]), v*2/float(pi.square().sum()))
