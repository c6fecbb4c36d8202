import torch
from attnlib.course.data.spins import blind_floor
torch.set_default_dtype(torch.float64); torch.set_num_threads(2)
for s in (1,2,3):
    rng=torch.Generator().manual_seed(s)
    print([round(blind_floor(c,draws=8000 if c>.1 else 2000,inner=4,generator=rng).mean,4) for c in (.01,.03,.1,.3,1.0)])
