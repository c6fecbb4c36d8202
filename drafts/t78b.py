import torch
from attnlib.course.data.spins import blind_floor
torch.set_default_dtype(torch.float64); torch.set_num_threads(2)
for s in range(6):
    print(blind_floor(.3,draws=8000,inner=4,generator=torch.Generator().manual_seed(s)))
