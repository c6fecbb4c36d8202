import time, torch, re
import torch._dynamo
torch.set_num_threads(1); torch.set_default_dtype(torch.float64)
from torch import nn
rng=torch.Generator().manual_seed(0)
from attnlib.course.data.spins import *
from attnlib.transformer import Block, mixer, register, registered, train_one
t=open("/work/tmp/brief/h2_07a.txt").read()
def cell(i):
    m=re.search(r"#%%== code "+i+r" .*\n((?:(?!#%%== ).*\n)*)",t); return m[1]
exec(cell("cell-44"));exec(cell("cell-45"));exec(cell("cell-45-a"))
for steps,batch,test in ((80,32,1024),(80,32,256),(60,32,512),(80,16,256)):
    for name in ("linear","softmax","boltzmann"):
        a=time.process_time()
        rng.manual_seed(0)
        r=train_one(lambda: Block(mixer(name,32,tokens=10,heads=4),feed_forward=64,norm=None),SpinTask(),rate=.03,seed=0,steps=steps,batch=batch,test=test)
        print(steps,batch,test,name,round(r.score,3),round(time.process_time()-a,2))
