import torch,time
from attnlib.kinetic import exact_kinetic
torch.set_default_dtype(torch.float64); torch.set_num_threads(1)
for shape in ((600,6,6),(20,6,6),(8,8),(100,6,6)):
    J=torch.randn(shape).softmax(-1)
    best=9
    for _ in range(3):
        t=time.process_time(); exact_kinetic(J); best=min(best,time.process_time()-t)
    print(shape,"%.3f"%best)
