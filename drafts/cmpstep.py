import sys,time; sys.path.insert(0,sys.argv[1])
import torch; torch.set_default_dtype(torch.float64); torch.set_num_threads(1)
import warnings; warnings.simplefilter('ignore')
from attnlib.mean_field import *
from attnlib.mean_field import sherrington_kirkpatrick as sk, Spherical
g=torch.Generator().manual_seed(0)
for n,b,beta in ((12,100,.8),(200,1,.6),(12,20,2.0),(6,12,1.0),(100,5,1.2)):
    J=sk(n,b,generator=g); h=.3*torch.randn(b,n,generator=g)
    for f in (naive_mean_field,tap,adaptive_tap):
        t=time.process_time(); r=f(J,h,beta=beta,on_failure='warn'); 
        print(n,b,beta,f.__name__, int(r.iterations.max()), int(r.converged.sum()), round(time.process_time()-t,3), float(r.m.sum()))
